"""How a JSON document is formatted, so that new values look the same: indentation, line breaks, commas, colons,
escapes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zarrscope.errors import Refused
from zarrscope.jsondoc.grammar import MAX_DEPTH
from zarrscope.jsondoc.pointers import pointer_of
from zarrscope.jsondoc.spans import JsonSpan

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

_BOM = "\ufeff"
_SURROGATE = re.compile("[\\ud800-\\udfff]")
_ESCAPED_LETTER = re.compile(r"\\u(?!00[01])")
_STYLE_SAMPLE = 2000
"""The number of values that are examined to find the style of a document."""


def escape_surrogates(text: str) -> str:
    """JSON text that UTF-8 can hold: lone surrogates become escapes."""
    try:
        text.encode()  # a tenth of the time of a search
        return text
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


_STYLE_CHILDREN = 100
"""The most children of one value that are examined."""
_STYLE_TEXT = 1 << 20
"""Examining stops when the examined values together have this many characters more than four times the length of the
text. Each value counts again as a part of its parent."""


@dataclass(frozen=True)
class Style:
    """The style of a document's text, so that new values look like their neighbours."""

    lines: bool
    """Whether each member of the outermost object is on a line of its own."""
    unit: str
    newline: str
    comma: str
    """The text after a comma within a line."""
    colon: str
    short_lists: bool
    """Whether lists of plain values are on one line, even if objects are not."""
    ascii: bool

    @classmethod
    def of(cls, text: str, root: JsonSpan, key: str) -> Style:
        """Finds the style of a document from a limited number of its values. `key` decides where these show none."""
        unit = comma = colon = None
        short = long = False
        pending, seen, budget = [root], 0, 4 * len(text) + _STYLE_TEXT
        while pending and seen < _STYLE_SAMPLE and budget > 0:
            span = pending.pop()
            seen += 1
            budget -= span.stop - span.start
            span = span.beginning(_STYLE_CHILDREN)
            pending.extend(child for child in reversed(span.children) if child.kind in ("object", "array"))
            if not span.children:
                continue
            lines = on_lines(text, span)
            if lines and unit is None:
                inner, outer = indent_at(text, begin(span, 0)), indent_at(text, span.start)
                unit = inner[len(outer) :] if inner.startswith(outer) and inner != outer else None
            if not lines and comma is None and len(span.children) > 1:
                comma = text[span.children[0].stop : begin(span, 1)].partition(",")[2]
            if colon is None and span.names:
                between = text[span.names[0].stop : span.children[0].start]
                colon = None if "\n" in between else between
            if span.kind == "array" and not any(child.kind in ("object", "array") for child in span.children):
                short, long = short or not lines, long or lines
        colon = ": " if colon is None else colon
        return cls(
            lines=on_lines(text, root.beginning(1)) if root.beginning(1).children else True,
            unit=unit if unit is not None else " " * (4 if key.rpartition("/")[2].startswith(".z") else 2),
            newline="\r\n" if "\r\n" in text else "\n",
            comma=comma if comma is not None and "\n" not in comma else colon.partition(":")[2],
            colon=colon,
            short_lists=short and not long,
            ascii=text.lstrip(_BOM).isascii() and _ESCAPED_LETTER.search(text) is not None,
        )

    def quoted(self, value: str) -> str:
        """The JSON text of a string, with the escapes that the document uses for characters beyond ASCII."""
        quoted = json.dumps(value, ensure_ascii=self.ascii)
        return escape_surrogates(quoted)

    def spelled(self, value: object, indent: str | None) -> str:
        """JSON text of a plain value; `indent` is the indentation of its line, None for one line."""
        if isinstance(value, str):
            return self.quoted(value)
        if not isinstance(value, dict | list):
            try:
                return json.dumps(value, allow_nan=False)
            except ValueError:
                raise Refused(
                    "JSON has no NaN and no infinity",
                    advice='Write the text "NaN", "Infinity" or "-Infinity", or null.',
                ) from None
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        if not value:
            return opening + closing
        if self.short_lists and isinstance(value, list) and not any(isinstance(item, dict | list) for item in value):
            indent = None
        inner = None if indent is None else indent + self.unit
        if isinstance(value, dict):
            parts = [self.quoted(name) + self.colon + self.spelled(item, inner) for name, item in value.items()]
        else:
            parts = [self.spelled(item, inner) for item in value]
        if indent is None:
            return opening + ("," + self.comma).join(parts) + closing
        line = f"{self.newline}{inner}"
        return f"{opening}{line}{(',' + line).join(parts)}{self.newline}{indent}{closing}"


def begin(parent: JsonSpan, index: int) -> int:
    """The offset at which a member (its name) or an item begins."""
    return parent.names[index].start if parent.kind == "object" else parent.children[index].start


def on_lines(text: str, span: JsonSpan) -> bool:
    """Whether each member of a non-empty object or array is on a line of its own."""
    return bool(span.children) and "\n" in text[span.start : begin(span, 0)]


def indent_at(text: str, at: int) -> str:
    """The white space at the beginning of the line that contains the offset `at`."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def plain(value: object, pointer: str, depth: int = 0) -> JSON:
    """Returns `value` in the types that json.loads gives. Raises Refused for values that JSON cannot hold."""
    if depth > MAX_DEPTH:
        raise Refused(f"The value is nested more than {MAX_DEPTH} deep", pointer=pointer)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        try:
            repr(value := int(value))
        except ValueError:
            raise Refused("The number has too many digits", pointer=pointer) from None
        return value
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise Refused(f"The name {name!r} is not text", pointer=pointer)
        return {str(name): plain(value[name], f"{pointer}{pointer_of([name])}", depth + 1) for name in value}
    if hasattr(value, "tolist"):
        return plain(value.tolist(), pointer, depth + 1)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [plain(item, f"{pointer}/{i}", depth + 1) for i, item in enumerate(value)]
    raise Refused(f"JSON cannot hold a value of type {type(value).__name__}", pointer=pointer)
