"""Refuses names that a file system cannot hold, and names that it does not distinguish from existing ones.

If a file system takes "A" and "a" for the same name (Windows, macOS), a value may be written or removed only under the
spelling that is stored: otherwise the key "A/b" would replace the value of "a/b", and erasing "A/" would erase "a/".
Reading is not checked: it finds values under any spelling that the system accepts.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence

from zarrscope.errors import Refused
from zarrscope.runtime.memo import Memo
from zarrscope.runtime.tuning import FOLDERS_REMEMBERED

if sys.platform != "win32":
    import fcntl

ONE_NAME = sys.platform in ("win32", "darwin")
"""Whether file systems of this operating system usually ignore case."""

_RESERVED = r"(?i)(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])(\..*)?"
_FORBIDDEN = r'[<>:"|?*\\\x00-\x1f]'

_right: Memo[bool] = Memo(FOLDERS_REMEMBERED)


def check_windows_name(name: str) -> None:
    """Raises Refused if Windows would take `name` for a device, a drive, a stream or another file."""
    if re.fullmatch(_RESERVED, name) or re.search(_FORBIDDEN, name) or name.endswith((" ", ".")):
        raise Refused(f"Windows cannot have a file called {name!r}", advice="Choose another name.")


def check_spelling(path: str, names: int, *, store: str, key: str) -> None:
    """Raises Refused if one of the last `names` names in `path` exists with another spelling."""
    if _is_right(path, names, store, key):
        return
    while names > 1:  # the file does not exist yet: check the nearest folder above that exists
        path, names = os.path.dirname(path), names - 1
        if path in _right:
            return
        if _is_right(path, names, store, key):
            _right.put(path, True)
            return


def _is_right(path: str, names: int, store: str, key: str) -> bool:
    """Whether something exists at `path`. Raises Refused if its stored spelling is another one."""
    try:
        there = _true_path(path)
    except OSError:
        return False
    here, asked = _names(there, names), _names(path, names)
    if here != asked and [each.casefold() for each in here] == [each.casefold() for each in asked]:
        raise Refused(
            f"On this disk {'/'.join(asked)!r} is the same name as {'/'.join(here)!r}, which exists already",
            store=store,
            key=key,
            advice="Use the existing spelling, or choose a name that differs in more than upper and lower case.",
        )
    return True


def _names(path: str, count: int) -> list[str]:
    """The last `count` names in a path, in one Unicode form: macOS may return names in another form than they were
    given."""
    import unicodedata  # only needed where the file system ignores spelling

    return [unicodedata.normalize("NFC", name) for name in path.split(os.sep)[-count:]]


def _true_path(path: str) -> str:
    """The path with the spelling that is stored on disk. Raises OSError."""
    if sys.platform == "darwin":
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return os.fsdecode(fcntl.fcntl(handle, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))
        finally:
            os.close(handle)
    os.lstat(path)  # realpath does not fail for a missing file, lstat does
    return os.path.realpath(path)


def stored_spelling(folder: str, key: str) -> str:
    """The stored spelling of `key`, a path in `folder`.

    A folder is listed only if the system finds the same file under another spelling, too.
    """
    from unicodedata import normalize

    names = []
    for name in key.split("/"):
        path = f"{folder}{os.sep}{name}"
        others = {name.swapcase(), normalize("NFC", name), normalize("NFD", name)} - {name}
        try:
            here = os.lstat(path)
            same = [other for other in others if _is_at(f"{folder}{os.sep}{other}", here)]
            if same and name not in (entries := os.listdir(folder)):
                name = next((each for each in entries if _is_at(f"{folder}{os.sep}{each}", here)), name)
        except OSError:
            pass
        names.append(name)
        folder = f"{folder}{os.sep}{name}"
    return "/".join(names)


def takes_another_case(folder: str, names: Sequence[str]) -> bool:
    """Whether the file system ignores case: whether the first of `names` that exists in `folder` is also found with
    upper and lower case swapped."""
    for name in names:
        try:
            here = os.lstat(f"{folder}{os.sep}{name}")
        except OSError:
            continue
        return _is_at(f"{folder}{os.sep}{name.swapcase()}", here)
    return False


def _is_at(path: str, file: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.lstat(path), file)
    except OSError:
        return False
