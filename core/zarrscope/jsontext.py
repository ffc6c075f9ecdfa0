"""JSON text (RFC 8259): bounded parsing of untrusted documents.

`parse_json` gives the value, quickly; jsonplaces.py finds the place of each part of it. Both accept what real
hierarchies hold and the standard does not (spec F.15-F.19): a byte order mark, the tokens NaN, Infinity and -Infinity,
names that appear twice (the last wins); each is reported in a note. Everything else that breaks the standard is
BadMetadata with line and column.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from zarrscope.errors import BadMetadata

MAX_DEPTH = 512
NODE_LIMIT = 16 << 20
"""The most bytes of one node's document."""
CONSOLIDATED_LIMIT = 256 << 20

BOM = "\ufeff"
_PLACES_LIMIT = 4 << 20
"""Above this size notes and errors do without pointers: finding them is slower than reading the document."""

LITERALS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
}


class Held(bytes):
    """A document that several look at while its node is opened: it is parsed once. Nobody may change the value."""

    parsed: tuple[Any, list[str]] | None = None


def parse_json(data: bytes, *, key: str | None = None, limit: int = NODE_LIMIT, notes: list[str] | None = None) -> Any:
    """The value of a JSON document, of at most `limit` bytes and 512 levels.

    What is accepted beyond the standard is told in `notes`. An integer of more than 4300 digits becomes an infinite
    float, which no field takes for a number of its own. Raises BadMetadata with line and column.
    """
    try:
        held = data.parsed if isinstance(data, Held) and len(data) <= limit else None
        if held is None:
            text = decode_text(data, limit=limit)
            if text.startswith(BOM):
                text = text[1:]
            told: list[str] = []
            held = _parse(text, told), told
            if isinstance(data, Held):
                data.parsed = held
        if notes is not None:
            notes.extend(held[1])
        return held[0]
    except BadMetadata as error:
        raise error.located(key=key) from None


def decode_text(data: bytes, *, limit: int = NODE_LIMIT) -> str:
    """The text of a document, a byte order mark kept as its first character. Raises BadMetadata."""
    if len(data) > limit:
        raise BadMetadata(
            f"The document has {len(data):,} bytes; at most {limit:,} are read",
            advice="This is hardly metadata: check whether the key holds a chunk or a whole file.",
        )
    if data[:2] == b"\x1f\x8b":
        raise BadMetadata("The document is compressed with gzip, not JSON text", advice="Store it uncompressed.")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise BadMetadata("The document is UTF-16; JSON is UTF-8", advice="Save it again as UTF-8.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise BadMetadata(f"Not UTF-8 text at line {line}, byte {column}: 0x{data[error.start]:02x}") from None


class _Odd(Exception):
    """There is something to tell of."""


def _even(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Odd
    return found


def _odd(token: str) -> Any:
    raise _Odd


_quick = json.JSONDecoder(object_pairs_hook=_even, parse_constant=_odd)
"""Made once: that takes longer than reading a short document."""


def _parse(text: str, notes: list[str]) -> Any:
    _check_depth(text)
    try:
        return _quick.decode(text)
    except (_Odd, ValueError, RecursionError):
        return _parse_oddities(text, notes)


def _parse_oddities(text: str, notes: list[str]) -> Any:
    odd: list[str] = []

    def constant(token: str) -> Any:
        odd.append(f"{token} is not standard JSON")
        return LITERALS[token]

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            odd.append("A name appears more than once in one object; the last one counts")
        return found

    try:
        try:
            value = json.loads(text, parse_constant=constant, object_pairs_hook=members)
        except json.JSONDecodeError:
            raise
        except ValueError:
            odd.clear()
            value = json.loads(text, parse_constant=constant, object_pairs_hook=members, parse_int=integer)
    except json.JSONDecodeError as error:
        if len(text) <= _PLACES_LIMIT:
            from zarrscope.jsonplaces import scan

            scan(text)
        raise BadMetadata(f"Not JSON: {error}") from None
    except RecursionError:
        raise BadMetadata("The document is nested too deeply") from None
    if odd:
        from zarrscope.jsonplaces import scan

        notes.extend(scan(text).notes if len(text) <= _PLACES_LIMIT else dict.fromkeys(odd))
    return value


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for match in re.finditer(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[{]|[\]}]', text, re.DOTALL):
        bracket = match.group()
        if bracket in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                fail(text, match.start(), f"More than {MAX_DEPTH} objects and arrays inside one another")
        elif bracket in "]}":
            depth -= 1


def integer(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def fail(text: str, at: int, message: str, pointer: str | None = None, advice: str | None = None) -> NoReturn:
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    raise BadMetadata(f"Line {line}, column {column}: {message}", pointer=pointer or None, advice=advice)
