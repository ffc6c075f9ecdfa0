"""Records whether this process belongs to an application.

A library must not change the process that imports it. A measure that is a decision for the whole process suits an
application only: returning freed memory of the C library to the system (memory.py). It is taken only after a call of
`own`.
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
