"""Writes documents as JSON that every reader accepts, and checks that the names of nodes are valid in every store."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zarrscope.dialects.reading import token
from zarrscope.errors import BadMetadata, Refused

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

INDENTED = 1 << 20
"""Documents with more characters are written without line breaks. With line breaks a list of short items would be three
times as long, and a document near the size limit for reading could not be read back."""


def document(value: Mapping[str, Any], indent: int = 2) -> bytes:
    """The bytes of a JSON document. Raises BadMetadata, with the pointer, for a value that JSON cannot hold."""
    import json

    if not is_standard_json(value):
        _check(value, "")
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if len(text) <= INDENTED:
        text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def consolidated_json(texts: Mapping[str, str]) -> str:
    """The text of a JSON object that contains documents by name, for insertion at an indentation of four blanks. Only
    the indentation of the documents changes."""
    inner = "\n" + " " * 8  # a line break in JSON text never lies within a string
    import json

    items = (f"{inner}{json.dumps(name)}: {text.replace(chr(10), inner)}" for name, text in texts.items())
    return "{" + ",".join(items) + "\n    }"


MAX_DEPTH = 500
_LEAVES = frozenset((str, bool, int, type(None)))


def is_standard_json(value: JSON) -> bool:
    """Whether a value consists of dicts, lists and the other types of JSON, not nested too deeply; if not, `_check`
    raises an error with the reason.

    For speed it visits the value level by level and builds no JSON pointers: documents may have millions of values.
    """
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        beneath: list[Any] = []
        for each in level:
            kind = type(each)
            if kind is dict:
                if not all(type(name) is str for name in each):
                    return False
                beneath.extend(each.values())
            elif kind is list:
                beneath.extend(each)
            elif kind is float:
                if not math.isfinite(each):
                    return False
            elif kind not in _LEAVES:
                return False
        if not beneath:
            return True
        level = beneath
    return False


def _check(value: object, pointer: str, depth: int = 0) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise BadMetadata(
            f"{value} is not JSON, and other readers would reject the whole document",
            pointer=pointer,
            advice='Write it as text, such as "NaN".',
        )
    if depth > MAX_DEPTH:
        raise BadMetadata(f"The value nests deeper than {MAX_DEPTH} levels", pointer="")
    if isinstance(value, Mapping):
        for name, member in value.items():
            if not isinstance(name, str):
                raise BadMetadata(f"{name!r} is not a name of a JSON member", pointer=pointer)
            _check(member, pointer + token(name), depth + 1)
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            _check(item, pointer + token(i), depth + 1)
    elif value is not None and not isinstance(value, str | bool | int | float):
        raise BadMetadata(f"A value of type {type(value).__name__} is not JSON", pointer=pointer)


def check_plain_name(name: str, title: str) -> None:
    """Raises Refused for a name that no dialect allows for a node."""
    if not name or "/" in name or not name.strip("."):
        raise Refused(
            f"{name!r} cannot be the name of a node in {title}",
            advice='A name is not empty, has no "/" and is not made of periods only.',
        )
    if "\0" in name or any(0xD800 <= ord(c) < 0xE000 for c in name):
        raise Refused(f"{name!r} has characters that no key can hold", advice="Choose another name.")
