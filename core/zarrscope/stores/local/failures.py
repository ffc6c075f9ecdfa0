"""Turns errors of the system into zarrscope's errors, with advice."""

from __future__ import annotations

import errno
import os

from zarrscope.errors import Denied, ReadOnly, Unreadable, ZarrscopeError
from zarrscope.stores.local.paths import plain

NOTHING_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EISDIR}
DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}
OLD_VALUE = "The old value is still there."
KEPT = "A value that was there before is still there."
NO_VALUE = "This value was not stored, and there was none before."
FULL_DISK = "The disk is full: make room, then try again."
UNPROTECT = "Remove the protection, or ask for the right to write there"
FULL = (errno.ENOSPC, errno.EDQUOT)
_IN_USE = {32, 33}
"""Windows error numbers for files that are open elsewhere: sharing and lock violations."""


def failure(
    error: OSError, act: str, *, store: str, key: str, too_long: bool = False, new: bool | None = None
) -> ZarrscopeError:
    """Zarrscope's error for an error of the system. `act` is the operation that failed: "read", "written" or "removed".
    `too_long`: the name of the file is too long. `new`: whether no value was stored there before, if that is known."""
    reason = error.strerror or str(error)
    before = KEPT if new is None else NO_VALUE if new else OLD_VALUE
    if getattr(error, "winerror", None) in _IN_USE:
        return Unreadable(
            f"The file could not be {act}: another program has it open",
            store=store,
            key=key,
            advice="Nothing was changed. Close the file in that program, then try again.",
        )
    if error.errno in DENIED and act != "read":
        return ReadOnly(
            f"The file could not be {act}: {reason}",
            store=store,
            key=key,
            advice=f"Nothing was changed. {to_be_allowed(error, 'it')}, or save a copy elsewhere.",
        )
    if error.errno == errno.ENXIO:  # a socket cannot be opened
        return no_file(store, key)
    advice = {
        errno.EACCES: "Ask the owner for the right to read it.",
        errno.EPERM: "Ask the owner for the right to read it.",
        errno.ENOSPC: f"{FULL_DISK} {before}",
        errno.EDQUOT: f"Your quota is used up: make room, then try again. {before}",
        errno.EFBIG: f"The disk or a limit (ulimit -f) allows no file of this size: raise it, then try again. {before}",
        errno.EIO: "The disk or the network drive reports a fault: check it, then try again.",
        errno.EMFILE: "Too many files are open: close other programs, then try again.",
        errno.ENAMETOOLONG: "Choose a shorter name.",
    }.get(
        errno.ENAMETOOLONG if too_long else error.errno or 0,
        "Check that the disk or network drive is connected, then try again.",
    )
    kind = Denied if error.errno in DENIED else Unreadable
    failed = kind(f"The file could not be {act}: {reason}", store=store, key=key, advice=advice)
    failed.errno = error.errno or failed.errno  # callers distinguish a full disk from a broken one by this number
    return failed


def to_be_allowed(error: OSError, opened: str) -> str:
    """The advice for a change that the system forbids. `opened` names what other programs may have open."""
    if hasattr(error, "winerror"):
        return f"Close other programs that have {opened} open, or ask for the right to write there"
    # The number of the flags that chattr and chflags set, and of sticky folders; EACCES is that of the mode.
    return UNPROTECT if error.errno == errno.EPERM else "Ask for the right to write there"


def unwritten(error: OSError, path: str) -> ZarrscopeError:
    """The error for a result file that could not be written and of which nothing is left, because of an error of the
    system."""
    short = error.errno is None and " written" in str(error)  # numpy's error if the system takes only a part
    number = errno.ENOSPC if short else error.errno
    reason = "the system took only a part of the bytes" if short else error.strerror or str(error)
    kind = ReadOnly if number in DENIED else Unreadable
    advice = {
        errno.ENOSPC: f"The disk is full{' or a limit is reached' * short}: make room, or choose another place.",
        errno.EDQUOT: "Your quota is used up: make room, or choose another place.",
        errno.EFBIG: "The disk or a limit (ulimit -f) allows no file of this size: choose another place.",
        errno.ENAMETOOLONG: "Choose a shorter name.",
        **dict.fromkeys(DENIED, "Choose a folder in which you may write."),
    }.get(number or 0, "Check that the disk or network drive is connected, or choose another place.")
    left = "" if number in DENIED or number == errno.ENAMETOOLONG else " No part of the file is left."
    failed = kind(f"{path} could not be written: {reason}", advice=advice + left)
    failed.errno = number or failed.errno
    return failed


def is_full(error: BaseException) -> bool:
    """Whether a database failed because its disk is full, from the number or the words of its error."""
    number = getattr(error, "errno", None)
    return number in FULL or any(os.strerror(each) in str(error) for each in FULL)


def full_disk(error: BaseException, act: str, *, store: str, key: str | None) -> Unreadable:
    """The error for a database whose disk is full. `act`: the operation that failed, as in `failure`."""
    failed = Unreadable(f"The database could not be {act}: {error}", store=store, key=key, advice=f"{FULL_DISK} {KEPT}")
    failed.errno = errno.ENOSPC
    return failed


def no_file(store: str, key: str | None) -> Unreadable:
    """The error for a pipe, a socket or a device in the place of a file: reading one may wait without end."""
    message, advice = "This is a device, a pipe or a socket, not a file", "Remove it, or restore the file from a copy."
    return Unreadable(message, store=store, key=key, advice=advice)


def circular(store: str, key: str) -> Unreadable:
    """The error for symbolic links that lead to one another, so that no file is behind them."""
    message = "Symbolic links lead to one another in a circle"
    return Unreadable(message, store=store, key=key, advice="Remove them, or restore the file from a copy.")


def broken_link(path: str, *, store: str, key: str) -> Unreadable:
    """The error for a broken link: a value should be there, so it does not count as absent."""
    circle = False
    try:
        os.stat(path)
    except OSError as error:
        circle = error.errno == errno.ELOOP
    if circle:
        return circular(store, key)
    target = plain(os.path.realpath(path))
    advice = "Restore the target of the link, or remove the link."
    if f"{os.sep}annex{os.sep}objects{os.sep}" in target:
        advice = "The content of this file is not on this computer: run git annex get (or datalad get) in its folder."
    return Unreadable(f"A symbolic link is broken: {target} does not exist", store=store, key=key, advice=advice)
