"""The grammar that the parser (parse.py) and the scanner (spans.py) share: limits, literals, numbers, and the error
that names line and column."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from zarrscope.errors import BadMetadata

MAX_DEPTH = 512

BOM = "\ufeff"

LITERALS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
}


def integer(digits: str) -> int | float:
    """The number as int; as float if it has more digits than Python converts (sys.set_int_max_str_digits)."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def fail(text: str, at: int, message: str, pointer: str | None = None, advice: str | None = None) -> NoReturn:
    """Raises BadMetadata with the line and the column, both counted from 1, of position `at` in the text."""
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    raise BadMetadata(f"Line {line}, column {column}: {message}", pointer=pointer or None, advice=advice)


LONG = 64 << 10


@contextmanager
def without_collection(size: int) -> Iterator[None]:
    """Switches off Python's garbage collection, which takes half of the time to parse a long text: JSON
    has no cycles."""
    if size <= LONG or not gc.isenabled():
        yield
        return
    try:
        gc.disable()
        yield
    finally:
        gc.enable()


TWICE = "twice"

BEYOND = "beyond"
