"""Names that a file system cannot hold, or does not distinguish.

If "A" and "a" are the same name (Windows, macOS), nothing is written or removed under another spelling than the stored
one: otherwise a key "A/b" would replace the value of "a/b", and erasing "A/" would erase "a/". Reading is left to the
system.
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
    """Raises Refused when Windows would take `name` for a device, a drive, a stream or another file."""
    if re.fullmatch(_RESERVED, name) or re.search(_FORBIDDEN, name) or name.endswith((" ", ".")):
        raise Refused(f"Windows cannot have a file called {name!r}", advice="Choose another name.")


def check_spelling(path: str, names: int, *, store: str, key: str) -> None:
    """Raises Refused if one of the last `names` names of `path` exists in another spelling."""
    if _is_right(path, names, store, key):
        return
    while names > 1:  # the file is new, so check the folder that exists
        path, names = os.path.dirname(path), names - 1
        if path in _right:
            return
        if _is_right(path, names, store, key):
            _right.put(path, True)
            return


def _is_right(path: str, names: int, store: str, key: str) -> bool:
    """Whether a file exists with exactly this spelling."""
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
            advice="Spell it like that, or choose a name that differs in more than upper and lower case.",
        )
    return True


def _names(path: str, count: int) -> list[str]:
    """The names in a folder in one Unicode form: macOS lists names in another form than they were given."""
    import unicodedata  # only needed where the file system ignores spelling

    return [unicodedata.normalize("NFC", name) for name in path.split(os.sep)[-count:]]


def _true_path(path: str) -> str:
    """The path with its spelling on disk. Raises OSError."""
    if sys.platform == "darwin":
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return os.fsdecode(fcntl.fcntl(handle, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))
        finally:
            os.close(handle)
    os.lstat(path)  # realpath does not fail for a missing file, lstat does
    return os.path.realpath(path)


def stored_spelling(folder: str, key: str) -> str:
    """The spelling on disk of the file that `key` leads to in `folder`.

    A folder is listed only if the system finds the same file under another spelling.
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
    """Whether the first of `names` that exists in `folder` is also found with other upper and lower case."""
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
