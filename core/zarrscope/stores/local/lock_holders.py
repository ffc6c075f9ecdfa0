"""Finds out which process holds the flock of a file, so that a person who waits for it knows whom to wait for.

Only Linux tells (/proc/locks), and only about processes of this machine that this one may see: not about a lock that
another machine holds over a network file system, nor one from outside a container.
"""

from __future__ import annotations

import os
import re

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


def _described(process: int) -> LockHolder:
    told = _text(f"/proc/{process}/stat")
    if not told:  # it has ended, or is not visible to this user
        return LockHolder(process)
    program, _, rest = told.partition("(")[2].rpartition(")")
    return LockHolder(process, program, rest.split()[0] in ("T", "t"))


def _text(path: str) -> str:
    """The text of a file that only Linux has; "" if there is none."""
    try:
        with open(path, errors="replace") as file:
            return "".join(file)
    except OSError:
        return ""
