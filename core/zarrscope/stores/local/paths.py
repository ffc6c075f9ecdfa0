"""Converts local paths to `file:` URLs, and back (RFC 8089).

The results equal those of pathlib, urllib.parse and urllib.request, except that a path with a name that is no UTF-8
keeps its bytes. Plain paths are converted without these modules, because importing them takes longer than opening an
array.
"""

from __future__ import annotations

import os
import re
import sys

from zarrscope.errors import Refused
from zarrscope.runtime.interrupts import uninterrupted
from zarrscope.stores.local import linux

_SAFE = "/" if sys.platform != "win32" else ""

_quoted = re.compile(r"[^A-Za-z0-9_.~/-]").search
"""Finds a character that must be escaped in an address."""


@uninterrupted
def real_path(path: str) -> str:
    """The absolute path with all symbolic links resolved, like os.path.realpath."""
    ask = linux.real_path()
    found = ask(path) if ask is not None else None
    return os.path.realpath(path) if found is None else found


_EXTENDED, _EXTENDED_SHARE = "\\\\?\\", "\\\\?\\UNC\\"


def extended(path: str) -> str:
    """An absolute path in the form that Windows accepts at any length, with the spelling of each name unchanged.

    With a path in the usual form Windows finds no file beyond 259 characters, so existing chunks would count as
    missing.
    """
    if sys.platform != "win32" or path.startswith(_EXTENDED):
        return path
    return _EXTENDED_SHARE + path[2:] if path.startswith("\\\\") else _EXTENDED + path


def plain(path: str) -> str:
    """The path in the usual form: the reverse of `extended`."""
    if sys.platform != "win32" or not path.startswith(_EXTENDED):
        return path
    return "\\\\" + path[len(_EXTENDED_SHARE) :] if path.startswith(_EXTENDED_SHARE) else path[len(_EXTENDED) :]


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
    """The path that a file: address names. Raises Refused if it is on another computer."""
    path = url.removeprefix("file://")
    if _SAFE and path.startswith("/") and not _quoted(path):
        return path
    from urllib.parse import unquote_to_bytes, urlsplit

    _, host, path, _, _ = urlsplit(url.replace("?", "%3F").replace("#", "%23"))
    if host and host != "localhost" and sys.platform != "win32":
        raise Refused(f"{url!r} names another computer", advice="Write file:///path, with three slashes.")
    if _SAFE:
        # A name may be no UTF-8, and the locale may be ASCII alone: the bytes of the name are what the system knows.
        return os.fsdecode(unquote_to_bytes(path.encode("utf-8", "surrogateescape")))
    from urllib.request import url2pathname

    found = url2pathname(f"//{host}{path}" if host and host != "localhost" else path)
    return found + os.sep if found.endswith(":") else found  # "C:" alone is the current folder of that drive
