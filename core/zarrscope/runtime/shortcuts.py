"""Native shortcuts: faster alternatives to a Python library or to several system calls. Each has a plain alternative.

A shortcut is loaded when it is first needed, and then tests itself on data with a known result. If it cannot be loaded
or gives a wrong result, it is not used and states the reason (`zarrscope --version`). The environment variable
ZARRSCOPE_NATIVE=0 switches all of them off.

A shortcut may also be used with library versions that it was never tried with, because its self-test decides. The
versions that it was tried with are listed beside it, for readers of a bug report.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TypeVar

from zarrscope.runtime.memo import memoized
from zarrscope.runtime.named_tuple import NamedTuple

T = TypeVar("T")

VARIABLE = "ZARRSCOPE_NATIVE"


class NotUsable(Exception):
    """The reason why a shortcut is not used: it is missing, or gave a wrong result."""


class Shortcut(NamedTuple):
    """One shortcut, for the report of `zarrscope --version`."""

    name: str
    tried_with: str
    load: Callable[[], object]
    """Returns the loaded shortcut, or None if it may not be used; cached as a memo."""
    make: Callable[[], object]
    """The function that `load` calls."""


class ShortcutState(NamedTuple):
    """Whether a shortcut is used in this process, and the reason if it is not."""

    name: str
    tried_with: str
    used: bool
    reason: str


_shortcuts: dict[str, Shortcut] = {}
_reasons: dict[str, str] = {}


def shortcut(name: str, *, tried_with: str) -> Callable[[Callable[[], T]], Callable[[], T | None]]:
    """Decorates a function that loads and tests a shortcut, and raises NotUsable if it may not be used.

    The decorated function returns the loaded shortcut, or None: then use the plain alternative.
    """

    def made(load: Callable[[], T]) -> Callable[[], T | None]:
        @memoized(1)  # because `loaded` is called for each chunk
        def loaded() -> T | None:
            _reasons.pop(name, None)
            if is_off():
                _reasons[name] = f"{VARIABLE}=0"
                return None
            try:
                return load()
            except NotUsable as error:
                _reasons[name] = str(error)
            except Exception as error:  # a broken library may fail in any way; the plain alternative is used instead
                _reasons[name] = f"{type(error).__name__}: {error}"
            return None

        _shortcuts[name] = Shortcut(name, tried_with, loaded, load)
        return loaded

    return made


def is_off() -> bool:
    """Whether the environment switches all shortcuts off."""
    return os.environ.get(VARIABLE, "") == "0"


def need(holds: bool, reason: str) -> None:
    """Checks a condition in the self-test of a shortcut. Raises NotUsable if it does not hold."""
    if not holds:
        raise NotUsable(reason)


def states() -> Iterator[ShortcutState]:
    """The state of every shortcut in the modules imported so far; loads each of them."""
    for name, tried_with, load, _ in _shortcuts.values():
        used = load() is not None
        yield ShortcutState(name, tried_with, used, "" if used else _reasons.get(name, ""))
