"""The members of the attributes as fields of a tree: a page of each long list or object. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from zarrscope.jsondoc.pointers import is_beside, pointer_of, tokens_of
from zarrscope.jsondoc.spans import JsonSpan
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form.draft import Draft
from zarrscope_app.presenters.form.field_editors import FieldPlace, choices_for, row_for
from zarrscope_app.presenters.form.pages import page_of, page_text
from zarrscope_app.presenters.form.view_models import KINDS, Field, FieldKind
from zarrscope_app.presenters.typed_times import time_text

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

MAX_FIELDS = 5000
_TOLD = 4
"""The most members of an object that the summary in its row names."""
_MISSING = object()


class _Changed:
    """A set of pointers: of the changed values, of all values that contain one, and of all values within one."""

    def __init__(self, pointers: Iterable[str]) -> None:
        self._at = set(pointers)
        self._above = {above for pointer in self._at for above in _holders(pointer)}

    def __contains__(self, pointer: str) -> bool:
        return pointer in self._at or pointer in self._above or not self._at.isdisjoint(_holders(pointer))


def _holders(pointer: str) -> list[str]:
    """The pointers of all values that contain the value at `pointer`."""
    found = []
    while pointer:
        pointer = pointer.rpartition("/")[0]
        found.append(pointer)
    return found


@dataclass
class _Walk:
    draft: Draft
    fold_above: int
    changed: _Changed
    attributes: JSON = None
    found: list[Field] = field(default_factory=list)

    def add(
        self,
        span: JsonSpan | None,
        value: JSON,
        pointer: str,
        label: str,
        depth: int,
        in_object: bool = True,
        one_of_many: bool = False,
    ) -> None:
        """`span`: the position of the value in the text of the document. `one_of_many`: whether the value is a member
        of a long list or object; a list or object is then collapsed at first."""
        draft = self.draft
        kind = kind_of(value)
        members = len(value) if isinstance(value, dict | list) else 0
        folded = draft.folded.get(pointer, one_of_many or members > self.fold_above) if members else False
        text = ""
        if kind == "text":
            text = value
        elif kind in ("number", "bool", "null") and span is not None:
            text = draft.now.text[span.start : span.stop]
        typed, error = draft.errors.get(pointer, (text, ""))
        summary = strings.clean(text, 120)
        page = page_of(draft.pages, pointer, members)
        if kind == "list":
            summary = _short_list(value) or strings.counted(members, "item")
        elif isinstance(value, dict):
            told = _short_object(value) if folded and one_of_many else ""
            summary = told or strings.counted(members, "member")
        if not folded:
            summary = strings.joined(summary, page_text(page, members))
        place = FieldPlace(tuple(tokens_of(pointer)), value, self.attributes)
        row = row_for(place)
        if row.editor == "date" and not error:
            summary = strings.joined(summary, time_text(value))
        self.found.append(
            Field(
                pointer,
                strings.clean(label, 200),
                kind,
                typed,
                summary,
                depth,
                error,
                pointer in self.changed,
                folded,
                members,
                kinds_of(value, typed if pointer in draft.errors else text, pointer, bool(error)),
                can_rename=bool(pointer) and in_object,
                can_remove=bool(pointer),
                can_move=bool(pointer),
                editor=row.editor,
                title=row.title,
                choices=choices_for(row, place),
                row=row.id,
            )
        )
        if folded or not members or span is None:
            return
        for child, item, at, name in _parts(span, value, pointer, page):
            if len(self.found) >= MAX_FIELDS:
                return
            self.add(child, item, at, name, depth + 1, isinstance(value, dict), members > self.fold_above)


def _parts(span: JsonSpan, value: JSON, pointer: str, page: range) -> list[tuple[JsonSpan, Any, str, str]]:
    """(position in the text, value, pointer, name) of the members on a page."""
    if isinstance(value, list):
        _, children = span.part(page.start, page.stop)
        return [(children[i - page.start], value[i], f"{pointer}/{i}", str(i)) for i in page]
    if len(span.children) == len(value):
        named, children = span.part(page.start, page.stop)
        spans = {name.value: child for name, child in zip(named, children, strict=True)}
    else:  # the object contains a name twice: as in Python's json, its last value is used
        every = {name.value: child for name, child in zip(span.names, span.children, strict=True)}
        spans = {name: every[name] for name in [*every][page.start : page.stop]}
    return [(child, value[name], pointer + pointer_of([name]), name) for name, child in spans.items()]


def _short_list(value: list[Any]) -> str:
    """A short list of numbers as JSON, which is easier to read as a whole: [0.5, 0.108, 0.108]; "" for any other
    list."""
    if len(value) <= 6 and all(isinstance(v, int | float) and not isinstance(v, bool) for v in value):
        return strings.clean(json.dumps(value), 80)
    return ""


def _short_object(value: dict[str, Any]) -> str:
    """The first members of an object as text: "name x · type space · …"; "" if all of these are objects or lists."""
    told = [(name, each) for name, each in islice(value.items(), _TOLD) if not isinstance(each, dict | list)]
    named = [f"{strings.clean(name, 40)} {strings.clean(_plain(each), 40)}" for name, each in told]
    return strings.joined(*named, "…" if len(value) > len(told) else "") if named else ""


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def field_at(draft: Draft, pointer: str) -> Field | None:
    """One field alone, displayed or not; quick even for a large document. None if there is no value at `pointer`."""
    value = draft.now.get(draft.prefix + pointer, _MISSING)
    if value is _MISSING:
        return None
    attributes = draft.now.get(draft.prefix, {})
    tokens = tokens_of(pointer)
    text = "" if isinstance(value, dict | list) else _plain(value)
    text, error = draft.errors.get(pointer, (text, ""))
    row = row_for(FieldPlace(tuple(tokens), value, attributes))
    return Field(
        pointer,
        tokens[-1] if tokens else strings.ATTRIBUTES,
        kind_of(value),
        text,
        strings.clean(text, 120),
        len(tokens),
        error,
        members=len(value) if isinstance(value, dict | list) else 0,
        kinds=kinds_of(value, text, pointer, bool(error)),
        can_rename=bool(tokens) and isinstance(draft.now.get(draft.prefix + pointer_of(tokens[:-1])), dict),
        can_remove=bool(tokens),
        can_move=bool(tokens),
        editor=row.editor,
        title=row.title,
        row=row.id,
    )


def fields(draft: Draft, fold_above: int) -> tuple[Field, ...]:
    """The fields of the form, depth first; the object of all attributes is the first field, at depth 0."""
    attributes = draft.now.get(draft.prefix, {})
    changed = _Changed(each.pointer for each in draft.find_changes() if not is_beside(each.pointer))
    walk = _Walk(draft, fold_above, changed, attributes)
    walk.add(draft.now.span_at(draft.prefix), attributes, "", strings.ATTRIBUTES, 0)
    return tuple(walk.found)


def kind_of(value: object) -> FieldKind:
    """The kind of field that shows a value of JSON; integers and floats are both numbers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "text"
    if isinstance(value, dict):
        return "object"
    return "list" if isinstance(value, list) else "number"


def kinds_of(value: object, text: str, pointer: str, wrong: bool = False) -> tuple[FieldKind, ...]:
    """The kinds into which a field can be converted without loss, including its own.

    The attributes as a whole must be an object, so their only kind is "object".
    """
    own = kind_of(value)
    if not pointer:
        return (own,) if own == "object" else (own, "object")
    return tuple(kind for kind in KINDS if kind == own or spelled(value, text, kind, wrong) is not None)


def spelled(value: object, text: str, kind: FieldKind, wrong: bool = False) -> str | None:
    """JSON text of a value converted to another kind; None if content would be lost.

    `text` is the field's text: strings without quotes, numbers as in the document. `wrong`: whether this text was typed
    and is invalid for the value's kind; then the text is converted, and `value` is not used.
    """
    if isinstance(value, dict | list) and not wrong:
        if not value:
            return {"text": '""', "number": "0", "bool": "false", "null": "null", "list": "[]", "object": "{}"}[kind]
        inner = value[0] if isinstance(value, list) and len(value) == 1 else None
        # Turns a list of one value back into that value.
        return json.dumps(inner, ensure_ascii=False) if inner is not None and kind_of(inner) == kind else None
    own = "text" if wrong else kind_of(value)
    if own == "null":
        return {"text": '""', "number": "0", "bool": "false", "null": "null", "list": "[]", "object": "{}"}[kind]
    bare = text.strip()
    if kind == "text":
        return json.dumps(text, ensure_ascii=False)
    if own == "text" and not bare:
        return {"number": "0", "bool": "false", "null": "null", "list": "[]", "object": "{}"}[kind]
    if kind == "list":
        return f"[{json.dumps(text, ensure_ascii=False) if own == 'text' else bare}]"
    if kind == "number":
        return {"true": "1", "false": "0"}.get(bare) if own == "bool" else bare if strings.is_number(bare) else None
    if kind == "bool":
        found = {"true": "true", "false": "false"}.get(bare.lower()) if own == "text" else None
        return found or ({"1": "true", "0": "false"}.get(bare) if own == "number" else None)
    return None
