"""A conflict between two versions of a document: finds the changes of each side, and merges them as chosen for each
field. Pure functions.

A field that only one side changed keeps that change; the person chooses only if both sides changed it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import Literal, overload

from zarrscope.errors import ZarrscopeError
from zarrscope.jsondoc import differences as compare
from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.pointers import BESIDE, is_beside, pointer_of, tokens_of, within
from zarrscope.model.frozen import frozen
from zarrscope_app.presenters.form.pointer_names import NAMES, name_of
from zarrscope_app.presenters.form.view_models import Change, Disagreement, Side


class FittingFields(Sequence[Disagreement]):
    """The fields that one side alone changed, those of the other side first. Each is made when it is asked for: of a
    large document there may be tens of thousands, of which a person sees some."""

    def __init__(self, *runs: tuple[Sequence[str], Callable[[str], Disagreement]]) -> None:
        """`runs`: pointers, and a function that makes the field at one of them."""
        self.runs = runs

    def __len__(self) -> int:
        return sum(len(pointers) for pointers, _ in self.runs)

    @overload
    def __getitem__(self, index: int) -> Disagreement: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Disagreement, ...]: ...

    def __getitem__(self, index: int | slice) -> Disagreement | tuple[Disagreement, ...]:
        if isinstance(index, slice):
            return tuple(self[at] for at in range(*index.indices(len(self))))
        at = range(len(self))[index]
        for pointers, make in self.runs:
            if at < len(pointers):
                return make(pointers[at])
            at -= len(pointers)
        raise IndexError(index)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, FittingFields) and (*self,) == (*other,))

    __hash__ = None  # type: ignore[assignment]  # as of other sequences that are compared by their items

    @staticmethod
    def of_nodes(fields: Mapping[str, FittingFields]) -> FittingFields:
        """The fields of several nodes, by their paths."""
        runs = [
            [(pointers, partial(_in_node, path, make)) for pointers, make in each.runs] for path, each in fields.items()
        ]
        return FittingFields(*(run for same_side in zip_longest(*runs) for run in same_side if run is not None))


def _in_node(path: str, make: Callable[[str], Disagreement], pointer: str) -> Disagreement:
    return replace(make(pointer), path=path)


@frozen
class Sides:
    """The changes of two sides to one document."""

    disputed: tuple[Disagreement, ...]
    """Fields that both sides changed, to different values."""
    fitting: FittingFields
    """Fields that one side alone changed; `choice` names the side."""

    def chosen(self, choices: Mapping[str, Side]) -> tuple[Disagreement, ...]:
        """The disputed fields with the person's choices: pointer → side."""
        if not choices:
            return self.disputed
        chosen = {each.pointer: replace(each, choice=choices[each.pointer]) for each in self._at(choices)}
        return tuple(chosen.get(each.pointer, each) for each in self.disputed)

    def _at(self, pointers: Iterable[str]) -> list[Disagreement]:
        wanted = set(pointers)
        return [each for each in self.disputed if each.pointer in wanted]


def beside_of(prefix: str) -> tuple[str, ...]:
    """The values outside the attributes that the form edits, too. Only the dialects that keep attributes within the
    node's document have them."""
    return (NAMES,) if prefix else ()


def sides_of(base: Document, mine: Document, theirs: Document, prefix: str) -> Sides:
    """Compares both sides with their common base. Takes long for large documents."""
    own = {each.pointer: each for each in compare.differences(base, mine, prefix, beside_of(prefix))}
    other = {each.pointer: each for each in compare.differences(base, theirs, prefix, beside_of(prefix))}
    related = [(a, b) for a in own for b in _holders(a) if b in other]
    related += [(a, b) for b in other for a in _holders(b)[:-1] if a in own]
    met = {pointer for pair in related for pointer in pair}
    tops = [min(a, b, key=len) for a, b in related if (a, own[a].after) != (b, other[b].after)]

    attributes = base.get(prefix, {})

    def field(pointer: str, choice: Side | Literal[""] = "") -> Disagreement:
        before, own, other = (_text(document, within(prefix, pointer)) for document in (base, mine, theirs))
        return Disagreement(pointer, before, own, other, choice, name=name_of(pointer, attributes))

    def alone(changes: Iterable[str], choice: Side) -> tuple[list[str], Callable[[str], Disagreement]]:
        return [pointer for pointer in changes if pointer not in met], partial(field, choice=choice)

    fitting = FittingFields(alone(other, "theirs"), alone(own, "mine"))
    return Sides(tuple(map(field, dict.fromkeys(tops))), fitting)


def merge(
    theirs: Document, mine: Document, prefix: str, changes: Sequence[Change], choices: Mapping[str, Side]
) -> Document:
    """The document of the other side with my changes applied to it. `choices`: disputed field → the side whose value
    the field gets."""
    merged, done = theirs, set()
    for change in changes:
        pointer, text = change.pointer, change.after
        over = next((at for at in _holders(pointer) if at in choices), None)
        if over is not None:
            if over in done or choices[over] == "theirs":
                continue
            done.add(over)
            pointer, text = over, _text(mine, within(prefix, over))
        merged = put(merged, within(prefix, pointer), text)
    return merged


def put(document: Document, pointer: str, text: str | None) -> Document:
    """The document with the value at `pointer` set to the JSON `text`, or removed if `text` is None. Returns the
    document unchanged if the object that held the value no longer exists."""
    try:
        if text is None:
            return document.remove(pointer) if document.has(pointer) else document
        return document.set_text(pointer, text)
    except ZarrscopeError:
        return document  # the other side removed the object that held the field


def _holders(pointer: str) -> list[str]:
    """The pointers of a value and of all values that contain it, outermost first."""
    if is_beside(pointer):
        return [BESIDE + each for each in _holders(pointer.removeprefix(BESIDE))[1:]]
    tokens = tokens_of(pointer)
    return [pointer_of(tokens[:depth]) for depth in range(len(tokens) + 1)]


def _text(document: Document, pointer: str) -> str | None:
    return document.text_at(pointer) if document.has(pointer) else None
