"""The value of an edited text, made without parsing the large parts that the edit leaves as they are.

The values before and after the edit share these parts. A document of 15 MiB may take 500 MiB of memory once it is
parsed, so an edit of one small member must not cost as much again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from zarrscope.errors import BadMetadata
from zarrscope.jsondoc.grammar import LONG
from zarrscope.jsondoc.parse import parse_text
from zarrscope.jsondoc.spans import JsonSpan, long_children, parts_between

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

Splice = tuple[int, int, str]
"""Replaces text[start:stop] by a new text."""


def spliced(text: str, splices: Sequence[Splice]) -> str:
    """The text after these replacements, which do not overlap."""
    pieces, at = [], 0
    for start, stop, new in sorted(splices):
        pieces += [text[at:start], new]
        at = stop
    return "".join([*pieces, text[at:]])


class _Kept(NamedTuple):
    """A part `text[start:stop]` that no replacement touches: one value, or a run of items of a list."""

    start: int
    stop: int
    value: JSON
    many: bool = False


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
        if isinstance(each, list) and any(_is_marked(item, mark) for item in each):
            each[:] = _with_kept(each, mark, kept, pending)
            continue
        for name, item in [*each.items()] if isinstance(each, dict) else enumerate(each):
            if isinstance(item, dict | list):
                pending.append(item)
            elif _is_marked(item, mark):
                each[name] = kept[int(item[len(mark) :])].value
    return (holder[0],)


def _is_marked(item: object, mark: str) -> TypeGuard[str]:
    return isinstance(item, str) and item.startswith(mark)


def _with_kept(items: list[Any], mark: str, kept: Sequence[_Kept], pending: list[Any]) -> list[Any]:
    """The items of a list with the kept parts in place of their marks; `pending` gets those that may contain marks."""
    made: list[Any] = []
    for item in items:
        if _is_marked(item, mark):
            part = kept[int(item[len(mark) :])]
            made += part.value if part.many else [part.value]
            continue
        if isinstance(item, dict | list):
            pending.append(item)
        made.append(item)
    return made


def _left_alone(span: JsonSpan, splices: Sequence[Splice]) -> Iterator[_Kept]:
    """The largest long objects and arrays, and runs of items, that no replacement touches."""
    if span.kind not in ("object", "array") or span.stop - span.start <= LONG:
        return
    inside = [each for each in splices if each[1] > span.start and each[0] < span.stop]
    if not inside:
        yield _Kept(span.start, span.stop, span.value)
        return
    runs = [*_runs(span, inside)] if span.kind == "array" else []
    yield from runs
    for child in long_children(span):
        if not any(run.start <= child.start < run.stop for run in runs):
            yield from _left_alone(child, inside)


def _runs(span: JsonSpan, splices: Sequence[Splice]) -> Iterator[_Kept]:
    """The long runs of items of an array between those that replacements touch."""
    begin, children = 0, span.children
    touched = [parts_between(span, start, stop) for start, stop, _ in sorted(splices)]
    for part in [*touched, range(len(children) + 1, len(children) + 1)]:
        end = part.start - 1  # the neighbour, beside which something may be inserted, is left out
        if end > begin:
            start, stop = children[begin].start, children[end - 1].stop
            if stop - start > LONG:
                yield _Kept(start, stop, span.value[begin:end], many=True)
        begin = max(begin, part.stop + 1)
