"""The value of an edited text, made without parsing the large parts that the edit leaves as they are.

The values before and after the edit share these parts. A document of 15 MiB may take 500 MiB of memory once it is
parsed, so an edit of one small member must not cost as much again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from zarrscope.errors import BadMetadata
from zarrscope.jsondoc.grammar import LONG
from zarrscope.jsondoc.parse import parse_text
from zarrscope.jsondoc.spans import JsonSpan, long_children

Splice = tuple[int, int, str]
"""Replaces text[start:stop] by a new text."""


def spliced(text: str, splices: Sequence[Splice]) -> str:
    """The text after these replacements, which do not overlap."""
    pieces, at = [], 0
    for start, stop, new in sorted(splices):
        pieces += [text[at:start], new]
        at = stop
    return "".join([*pieces, text[at:]])


def shared_value(text: str, root: JsonSpan, splices: Sequence[Splice]) -> tuple[Any] | None:
    """The value of `spliced(text, splices)`, in a tuple; `text` is standard JSON with the value `root`.

    None if the edit leaves no large part as it is, or makes a text that is not standard JSON: it must be parsed whole.
    """
    kept = [*_left_alone(root, splices)]
    if not kept:
        return None
    mark = os.urandom(16).hex()  # random, so that no text contains it by chance or on purpose
    rest = spliced(text, [*splices, *((each.start, each.stop, f'"{mark}{i}"') for i, each in enumerate(kept))])
    notes: list[str] = []
    try:
        value = parse_text(rest, notes)
    except BadMetadata:
        return None
    if notes:
        return None
    holder = [value]
    pending: list[Any] = [holder]
    while pending:
        each = pending.pop()
        for name, item in [*each.items()] if isinstance(each, dict) else enumerate(each):
            if isinstance(item, dict | list):
                pending.append(item)
            elif isinstance(item, str) and item.startswith(mark):
                each[name] = kept[int(item[len(mark) :])].value
    return (holder[0],)


def _left_alone(span: JsonSpan, splices: Sequence[Splice]) -> Iterator[JsonSpan]:
    """The largest long objects and arrays that no replacement touches."""
    if span.kind not in ("object", "array") or span.stop - span.start <= LONG:
        return
    inside = [each for each in splices if each[1] > span.start and each[0] < span.stop]
    if not inside:
        yield span
        return
    for child in long_children(span):
        yield from _left_alone(child, inside)
