"""Finds the differences between two versions of a document, at the innermost values. Equal texts are skipped.

for each in differences(before, after, "/attributes"):
    print(each.pointer, each.before, each.after)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from zarrscope.jsondoc.document import Document, same_json
from zarrscope.jsondoc.parts import common_beginning, common_end
from zarrscope.jsondoc.pointers import BESIDE, pointer_of
from zarrscope.jsondoc.spans import JsonSpan, parts_between
from zarrscope.jsondoc.unparsed import UnparsedDocument


class JsonDifference(NamedTuple):
    """One changed value: its JSON text `before` and `after`, None if the value did not exist. `pointer` is relative to
    the prefix, or begins with BESIDE."""

    pointer: str
    before: str | None
    after: str | None


def differences(
    before: Document, after: Document, prefix: str = "", beside: Sequence[str] = ()
) -> list[JsonDifference]:
    """The members and items that differ. If a whole value was added or removed, only the outermost one is listed.

    Numbers with different spelling differ; white space, escapes in strings and the order of members do not count. A
    text that is not JSON differs as a whole. `beside`: pointers of values outside the prefix that are compared, too.
    """
    if isinstance(before, UnparsedDocument) or isinstance(after, UnparsedDocument):
        return [JsonDifference("", before.text, after.text)] if before.bytes != after.bytes else []
    if before.bytes == after.bytes:
        return []
    walk = _Walk(before.text, after.text)
    walk.compare(before.span_at(prefix), after.span_at(prefix), "")
    for pointer in beside:
        walk.compare(before.span_at(pointer), after.span_at(pointer), BESIDE + pointer)
    return walk.found


class _Walk:
    """Compares the values of two texts. Not a function in `differences`, which would keep what it found until a garbage
    collection, because it would refer to itself: tens of thousands of differences that each collection visits."""

    def __init__(self, one: str, other: str) -> None:
        self.one, self.other = one, other
        self.found: list[JsonDifference] = []

    def compare(self, a: JsonSpan | None, b: JsonSpan | None, pointer: str) -> None:
        """Adds the differences between two values to `found`."""
        one, other = self.one, self.other
        if a is not None and b is not None:
            size = a.stop - a.start
            if size == b.stop - b.start and common_beginning(one, other, a.start, b.start, size) == size:
                return
            if a.kind == b.kind == "object":
                mine, theirs = map(_members, (a, b), _unlike(one, other, a, b))
                for name in dict.fromkeys([*mine, *theirs]):
                    self.compare(mine.get(name), theirs.get(name), pointer + pointer_of([name]))
                return
            if a.kind == b.kind == "array" and len(a.children) == len(b.children):
                for i in _unlike(one, other, a, b)[0]:
                    self.compare(a.children[i], b.children[i], f"{pointer}/{i}")
                return
            if a.kind == b.kind != "number" and same_json(a.value, b.value):
                return
        elif a is b:
            return
        self.found.append(JsonDifference(pointer, _text(one, a), _text(other, b)))


def _text(text: str, span: JsonSpan | None) -> str | None:
    return None if span is None else text[span.start : span.stop]


def _unlike(one: str, other: str, a: JsonSpan, b: JsonSpan) -> tuple[range, range]:
    """The indices of the parts of two objects or arrays that may differ: parts with equal text at the beginning and at
    the end are left out."""
    if a.kind == "object" and any(len(each.value) != len(each.children) for each in (a, b)):
        return range(len(a.children)), range(len(b.children))  # any member of a repeated name may have changed
    most = min(a.stop - a.start, b.stop - b.start)
    beginning = common_beginning(one, other, a.start, b.start, most)
    end = common_end(one, other, a.stop, b.stop, most - beginning)
    return parts_between(a, a.start + beginning, a.stop - end), parts_between(b, b.start + beginning, b.stop - end)


def _members(span: JsonSpan, parts: range) -> dict[str, JsonSpan]:
    """The members at these indices by name; of a name that appears twice, the last member."""
    names, children = span.names, span.children
    return {names[i].value: children[i] for i in parts}
