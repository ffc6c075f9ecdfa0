"""JSON pointers (RFC 6901): their parts, their text, and advice for pointers that lead to nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from zarrscope.errors import Refused
from zarrscope.errors.visible import visible

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

BESIDE = "^"
"""The beginning of a pointer that is relative to the whole document where others are relative to a value in it."""
_NAMES_TRIED = 100
"""The most members of an object that are compared with a name that it lacks."""


def tokens_of(pointer: str) -> list[str]:
    """The names and indices of an RFC 6901 pointer. Raises Refused."""
    if pointer == "":
        return []
    if not pointer.startswith("/") or re.search(r"~(?![01])", pointer):
        raise Refused(
            f"{pointer!r} is not a JSON pointer",
            pointer=pointer,
            advice='Write "/" before each name, "~1" for a "/" in a name and "~0" for a "~".',
        )
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/")]


def pointer_of(tokens: Iterable[str]) -> str:
    """The RFC 6901 pointer through these names and indices."""
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in tokens)


def is_beside(pointer: str) -> bool:
    """Whether a pointer begins with BESIDE; a JSON pointer does not."""
    return pointer.startswith(BESIDE)


def within(prefix: str, pointer: str) -> str:
    """The pointer in a document of a place that is relative to the value at `prefix`, or begins with BESIDE."""
    return pointer.removeprefix(BESIDE) if is_beside(pointer) else prefix + pointer


def index_in(token: str, count: int) -> int | None:
    """The array index that a pointer's token means, if it is below `count`."""
    if re.fullmatch(r"0|[1-9][0-9]{0,17}", token) and int(token) < count:
        return int(token)
    return None


def advice_on_missing(value: JSON, tokens: list[str]) -> str | None:
    """Names the object that lacks the first missing name, and a member of it that has this name, or one like it."""
    for at, token in enumerate(tokens):
        if isinstance(value, Mapping) and token not in value:
            names = [*islice(value, _NAMES_TRIED)]
            place = f"The object at {visible(pointer_of(tokens[:at]) or '/')} has no member {visible(repr(token))}"
            holder = next((name for name in names if isinstance(value[name], Mapping) and token in value[name]), None)
            if holder is not None:
                return f"{place}, but its member {visible(repr(holder))} has one."
            from difflib import get_close_matches

            close = get_close_matches(token, names, 1)
            return f"{place}; there is {visible(repr(close[0]))}." if close else f"{place}."
        index = index_in(token, len(value)) if isinstance(value, list) else None
        if not isinstance(value, Mapping) and index is None:
            return None
        value = value[token if index is None else index]
    return None
