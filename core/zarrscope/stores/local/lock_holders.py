"""Finds out which process holds the lock of a file, so that a person who waits for it knows whom to wait for.

Linux tells (/proc/locks), but only about processes of this machine that this one may see: not about a lock that another
machine holds over a network file system, nor one from outside a container. On other systems the holder leaves a note
beside the lock files of its user (locks.py), named by the device and inode of the locked file, and removes it before it
releases the lock. So a note names the holder, unless its process was killed; then it is ignored. Programs of other
users, and other programs than zarrscope, leave none here.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress

from zarrscope.errors import Unreadable
from zarrscope.runtime.process import runs
from zarrscope.runtime.waits import LockHolder

_LINE = re.compile(r"^\d+: (FLOCK|POSIX)\s+\w+\s+(READ|WRITE)\s+(\d+) ([0-9a-f]+):([0-9a-f]+):(\d+) ", re.MULTILINE)
"""A held lock in /proc/locks: its kind, the process, then the device and inode of the file. Lines of waiting processes
have "->" after the number."""


def holder_of(device: int, inode: int) -> LockHolder:
    """The process that holds the flock of a file, given its device and inode; process 0 if the system does not tell."""
    process = next((int(found[3]) for found in _held(device, inode) if found[1] == "FLOCK"), 0)
    return described(process) if process else LockHolder()


def other_writer(*paths: str) -> LockHolder:
    """Another process that has locked one of the files so that this one cannot write; process 0 if the system does not
    tell. A shared flock counts as well, a shared lock of fcntl does not: those of SQLite's readers exclude no writer.

    The files are not opened, because closing one would release this process's own locks of fcntl.
    """
    for path in paths:
        others = [found for found in _held_of(path) if int(found[3]) not in (os.getpid(), 0)]
        able = [found for found in others if found[2] == "WRITE"] or [f for f in others if f[1] == "FLOCK"]
        if able:
            return described(int(able[0][3]))
    return LockHolder()


def lockers(path: str) -> set[int]:
    """The processes that have locked a file or parts of it, for reading or writing; {} if the system does not tell."""
    return {int(found[3]) for found in _held_of(path)}


def _held_of(path: str) -> list[re.Match[str]]:
    try:
        told = os.stat(path)
    except OSError:
        return []
    return _held(told.st_dev, told.st_ino)


def _held(device: int, inode: int) -> list[re.Match[str]]:
    same = [found for found in _LINE.finditer(_text("/proc/locks")) if int(found[6]) == inode]
    # Layered file systems state another device than `stat` does.
    return [found for found in same if os.makedev(int(found[4], 16), int(found[5], 16)) == device] or same


def locked(what: str, holder: LockHolder) -> Unreadable:
    """The error of a change for which `what` stayed locked too long: "the database x.sqlite"."""
    stopped = ", which is stopped," if holder.stopped else ""
    named = f" (process {holder.process}, {holder.program})" if holder.process else ""
    return Unreadable(
        f"Another program{named}{stopped} has locked {what}",
        advice="Wait until that program is done, or close it, then try again.",
    )


def leave_note(path: str) -> None:
    """Writes a note that this process holds a lock. Nothing happens if it cannot be written."""
    with suppress(OSError), open(path, "w", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n{os.path.basename(sys.argv[0] or sys.executable)[:80]}\n")


def holder_in_note(path: str) -> LockHolder:
    """The process that left a note, if it still runs; process 0 if there is no such note."""
    process, _, program = _text(path).partition("\n")
    # Where it is unknown whether the process runs, on Windows, the next holder overwrites the note.
    if not process.isdecimal() or runs(int(process)) is False:
        return LockHolder()
    return LockHolder(int(process), program.strip())


def described(process: int) -> LockHolder:
    """A running process with the name of its program, as far as the system tells."""
    told = _text(f"/proc/{process}/stat")
    if not told:  # it has ended, or is not visible to this user
        return LockHolder(process)
    program, _, rest = told.partition("(")[2].rpartition(")")
    return LockHolder(process, program, rest.split()[0] in ("T", "t"))


def _text(path: str) -> str:
    """The text of a file of Linux, or of a note; "" if there is none."""
    try:
        with open(path, errors="replace") as file:
            return "".join(file)
    except OSError:
        return ""
