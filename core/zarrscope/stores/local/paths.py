"""Paths of this computer as file: addresses, and back (RFC 8089).

As pathlib, urllib.parse and urllib.request have it, without importing them where a path is plain: they take longer than
opening an array does.
"""

from __future__ import annotations

import os
import re
import sys

from zarrscope.errors import Refused

_SAFE = "/" if sys.platform != "win32" else ""

_quoted = re.compile(r"[^A-Za-z0-9_.~/-]").search
"""What is not the same in a path and in its address."""


def real_path(path: str) -> str:
    """The path without symbolic links, as os.path.realpath has it. Linux tells it at once, not folder by folder."""
    if sys.platform == "linux":
        try:
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                found = os.readlink(f"/proc/self/fd/{handle}")
            finally:
                os.close(handle)
            if found.startswith("/") and not found.endswith(" (deleted)"):
                return found
        except OSError:  # not there, or no /proc
            pass
    return os.path.realpath(path)


def file_url(path: str) -> str:
    """The address of an absolute path."""
    if not _SAFE:
        from pathlib import Path

        return Path(path).as_uri()
    if _quoted(path):
        from urllib.parse import quote_from_bytes

        return "file://" + quote_from_bytes(os.fsencode(path), _SAFE)
    return "file://" + path


def path_of(url: str) -> str:
    """The path that a file: address names. Raises Refused where that is another computer's."""
    path = url.removeprefix("file://")
    if _SAFE and path.startswith("/") and not _quoted(path):
        return path
    from urllib.parse import unquote, urlsplit

    _, host, path, _, _ = urlsplit(url.replace("?", "%3F").replace("#", "%23"))
    if host and host != "localhost" and sys.platform != "win32":
        raise Refused(f"{url!r} names another computer", advice="Write file:///path, with three slashes.")
    if _SAFE:
        return unquote(path)
    from urllib.request import url2pathname

    return url2pathname(f"//{host}{path}" if host and host != "localhost" else path)
