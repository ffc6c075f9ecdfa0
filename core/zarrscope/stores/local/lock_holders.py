"""Finds out which process holds the flock of a file, so that a person who waits for it knows whom to wait for.

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

from zarrscope.runtime.process import runs
from zarrscope.runtime.waits import LockHolder

_LINE = re.compile(r"^\d+: FLOCK\s+\w+\s+\w+\s+(\d+) ([0-9a-f]+):([0-9a-f]+):(\d+) ", re.MULTILINE)
"""A held lock in /proc/locks: the process, then the device and inode of the file. Lines of waiting processes have "->"
after the number."""


def holder_of(device: int, inode: int) -> LockHolder:
    """The process that holds the flock of a file, given its device and inode; process 0 if the system does not tell."""
    same = [found for found in _LINE.finditer(_text("/proc/locks")) if int(found[4]) == inode]
    here = [found for found in same if os.makedev(int(found[2], 16), int(found[3], 16)) == device]
    # Layered file systems state another device than `stat` does.
    process = int((here or same)[0][1]) if len(here or same) > 0 else 0
    return _described(process) if process else LockHolder()


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


def _described(process: int) -> LockHolder:
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
