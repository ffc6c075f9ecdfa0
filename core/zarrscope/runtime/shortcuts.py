"""Native shortcuts: quicker ways past a Python library or past several system calls. Each has a plain way beside it.

A shortcut is loaded when it is first needed, and tests itself then on data whose answer is known. If it cannot be
loaded or its answer is wrong, it stays unused and says why (`zarrscope --version`). The environment variable
ZARRSCOPE_NATIVE=0 leaves all of them unused.

A shortcut loads where a version is installed that it was never tried with: its test decides, not the version. With
which ones it was tried is written down beside it, for whoever reads a bug report.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple, TypeVar

T = TypeVar("T")

VARIABLE = "ZARRSCOPE_NATIVE"


class NotUsable(Exception):
    """Why a shortcut is left unused: it is not there, or gave a wrong answer."""


class Shortcut(NamedTuple):
    """One shortcut, for the report."""

    name: str
    tried_with: str
    load: Callable[[], object]
    """Loads it, or gives None; called once."""
    make: Callable[[], object]
    """The function that `load` calls."""


class State(NamedTuple):
    """Whether a shortcut is used in this process, and why not."""

    name: str
    tried_with: str
    used: bool
    reason: str


_shortcuts: dict[str, Shortcut] = {}
_reasons: dict[str, str] = {}


def shortcut(name: str, *, tried_with: str) -> Callable[[Callable[[], T]], Callable[[], T | None]]:
    """Makes a shortcut of a function that loads one and tests it, and raises NotUsable where it may not be used.

    The function that comes out gives what was loaded, or None: then the plain way is to be taken.
    """

    def made(load: Callable[[], T]) -> Callable[[], T | None]:
        @cache  # it is asked for each chunk
        def loaded() -> T | None:
            _reasons.pop(name, None)
            if is_off():
                _reasons[name] = f"{VARIABLE}=0"
                return None
            try:
                return load()
            except NotUsable as error:
                _reasons[name] = str(error)
            except Exception as error:  # whatever fails in a broken library, the plain way works
                _reasons[name] = f"{type(error).__name__}: {error}"
            return None

        _shortcuts[name] = Shortcut(name, tried_with, loaded, load)
        return loaded

    return made


def is_off() -> bool:
    """Whether the environment says that no shortcut is to be used."""
    return os.environ.get(VARIABLE, "") == "0"


def need(holds: bool, reason: str) -> None:
    """Checks a condition in the self-test of a shortcut. Raises NotUsable where it does not hold."""
    if not holds:
        raise NotUsable(reason)


def states() -> Iterator[State]:
    """Every shortcut of the modules that are imported by now; each is loaded for that."""
    for name, tried_with, load, _ in _shortcuts.values():
        used = load() is not None
        yield State(name, tried_with, used, "" if used else _reasons.get(name, ""))
