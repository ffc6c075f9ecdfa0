"""Whether this process is an application's own.

A library must not change the process that imports it. Measures that only suit an application, because they take more
memory or make a decision for the whole process, need a call of `own`: reusing the memory of results, and returning
freed memory to the system (memory.py).
"""

from __future__ import annotations

_owned = False


def own() -> None:
    """Declares that this process belongs to an application. Call it in a main function, never in an
    importable module."""
    global _owned
    _owned = True


def is_owned() -> bool:
    """Whether an application called `own`."""
    return _owned
