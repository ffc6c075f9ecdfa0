"""Tells temporary names and links apart from keys and folders: all that reading needs of temporaries.py."""

from __future__ import annotations

import os
import re
import stat

_TEMPORARY = r"\.zs-[0-9a-f]{16}\.partial|\.nfs[0-9a-f]{24}"


def is_temporary(name: str) -> bool:
    """Whether a file or folder of this name is temporary, and therefore neither a key nor a prefix."""
    return name.startswith((".zs-", ".nfs")) and re.fullmatch(_TEMPORARY, name) is not None


def is_link(path: str) -> bool:
    """Whether a path is a symbolic link, or a junction of Windows; False if nothing is there."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return False
    # A junction of Windows leads to another folder, as a symbolic link does.
    return stat.S_ISLNK(found.st_mode) or getattr(found, "st_reparse_tag", 0) == 0xA0000003
