"""Whether this process is an application's own.

A library changes nothing in the process of whoever imports it. What pays for an application only, since it costs others
memory or takes a decision that is theirs, waits for `own`: results lie in memory that is used again, and freed memory
goes back to the system (memory.py).
"""

from __future__ import annotations

_owned = False


def own() -> None:
    """Tells that this process belongs to an application. Call it in a main, never in a module that others import."""
    global _owned
    _owned = True


def is_owned() -> bool:
    """Whether an application called `own`."""
    return _owned
