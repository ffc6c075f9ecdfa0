"""Finds the differences between two versions of a document, at the innermost values. Equal texts are skipped.

for each in differences(before, after, "/attributes"):
    print(each.pointer, each.before, each.after)
"""

from __future__ import annotations

from typing import NamedTuple

from zarrscope.jsondoc.document import Document, pointer_of, same_json
from zarrscope.jsondoc.spans import Span


class Difference(NamedTuple):
    """One value: its JSON text before and after; None where it was not there. `pointer` is relative to the prefix."""

    pointer: str
    before: str | None
    after: str | None


def differences(before: Document, after: Document, prefix: str = "") -> list[Difference]:
    """The members and items that differ, outermost first where whole values came or went.

    Numbers with different spelling differ; white space, escapes in strings and the order of members do not count.
    """
    found: list[Difference] = []
    one, other = before.text, after.text

    def text_of(text: str, span: Span | None) -> str | None:
        return None if span is None else text[span.start : span.stop]

    def walk(a: Span | None, b: Span | None, pointer: str) -> None:
        if a is not None and b is not None:
            if one[a.start : a.stop] == other[b.start : b.stop]:
                return
            if a.kind == b.kind == "object":
                mine, theirs = _members(a), _members(b)
                for name in dict.fromkeys([*mine, *theirs]):
                    walk(mine.get(name), theirs.get(name), pointer + pointer_of([name]))
                return
            if a.kind == b.kind == "array" and len(a.children) == len(b.children):
                for i, (item, changed) in enumerate(zip(a.children, b.children, strict=True)):
                    walk(item, changed, f"{pointer}/{i}")
                return
            if a.kind == b.kind != "number" and same_json(a.value, b.value):
                return
        elif a is b:
            return
        found.append(Difference(pointer, text_of(one, a), text_of(other, b)))

    if before.bytes != after.bytes:
        walk(before.span_at(prefix), after.span_at(prefix), "")
    return found


def _members(span: Span) -> dict[str, Span]:
    """The members by name; of a name that appears twice, the last member."""
    return dict(zip((name.value for name in span.names), span.children, strict=True))
