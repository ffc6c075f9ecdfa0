"""Processes: whether this one belongs to an application, and whether another one still runs.

A library must not change the process that imports it. A measure that is a decision for the whole process suits an
application only: returning freed memory of the C library to the system (memory.py). It is taken only after a call of
`own`.
"""

from __future__ import annotations

import os
import sys

_owned = False


def own() -> None:
    """Declares that this process belongs to an application. Call it in a main function, never in an
    importable module."""
    global _owned
    _owned = True


def is_owned() -> bool:
    """Whether an application called `own`."""
    return _owned


def runs(process: int) -> bool | None:
    """Whether a process of this machine exists, given its id; None on Windows, where signal 0 would end it."""
    if sys.platform == "win32":
        return None
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it belongs to another user
        return True
    return True
