"""Signals without arguments, as most of the presenters have."""

from __future__ import annotations

from psygnal import Signal


def signal() -> Signal:
    """A signal without arguments, whose slots are not inspected when they are connected.

    psygnal reads the signature of each slot, to give it as many arguments as it takes: a tenth of a millisecond each,
    and a session has some eighty connections in a window. Nothing is left out where there are no arguments.
    """
    return Signal(check_nargs_on_connect=False)
