"""One document being edited: its history, its differences from the stored one, and merging of two versions. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from zarrscope.errors import Refused
from zarrscope.jsondoc import differences as compare
from zarrscope.jsondoc.document import Document, pointer_of, tokens_of
from zarrscope.jsondoc.nonstandard import brought_in
from zarrscope.jsondoc.spans import Span
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form.conflict import Sides, merge, put, sides_of
from zarrscope_app.presenters.form.field_editors import Place, choices_for, row_for
from zarrscope_app.presenters.form.line_diff import changed_lines
from zarrscope_app.presenters.form.pages import page_of, page_text
from zarrscope_app.presenters.form.view_models import (
    KINDS,
    Change,
    Diff,
    Disagreement,
    Field,
    FieldKind,
    Side,
    Whose,
)

MAX_FIELDS = 5000
_acts = count(1)


def new_act() -> int:
    """A new number for an action of a person; later actions have larger numbers."""
    return next(_acts)


class Draft:
    """`base` is the stored document, as far as is known; `now` is the displayed one. Pointers are
    relative to `prefix`."""

    def __init__(self, document: Document, prefix: str) -> None:
        self.prefix = prefix
        self.base = document
        self.history = [document]
        self.acts = [0]
        """The number of the action that made each document of the history; one action may change several drafts."""
        self.at = 0
        self.errors: dict[str, tuple[str, str]] = {}
        """Pointer → (text as typed, the reason why it is invalid)."""
        self.folded: dict[str, bool] = {}
        self.pages: dict[str, int] = {}
        """Long list or object → the position of the first displayed member."""
        self.saving = False
        self.confirmed = b""
        """The document that is not standard JSON and for which the person was asked to confirm; saving it again writes
        it."""
        self.failure = ""
        self.note = ""
        self.hint = ""
        """The reason why the last action was refused; the next action clears it."""
        self.theirs: Document | None = None
        self.choices: dict[str, Side] = {}
        """Disputed field → the chosen side."""
        self._sides: tuple[tuple[Document, Document, Document], Sides] | None = None
        self.json: tuple[Document, str] | None = None
        """A document, and its attributes as text."""
        self._diff: tuple[tuple[Document, Document], Diff] | None = None
        self._changes: tuple[tuple[Document, Document], tuple[Change, ...]] | None = None

    @property
    def now(self) -> Document:
        return self.history[self.at]

    @property
    def dirty(self) -> bool:
        return self.now.bytes != self.base.bytes or bool(self.errors)

    @property
    def changes(self) -> tuple[Change, ...]:
        at = (self.base, self.now)
        if self._changes is None or self._changes[0] != at:
            self._changes = (at, tuple(differences(self.base, self.now, self.prefix)))
        return self._changes[1]

    def push(self, document: Document, act: int = 0) -> None:
        """Displays another document; `act`: the number of the action, if it changes several drafts."""
        if document.bytes == self.now.bytes:
            return
        del self.history[self.at + 1 :], self.acts[self.at + 1 :]
        self.history.append(document)
        self.acts.append(act or new_act())
        self.at += 1
        self.failure = self.note = self.hint = ""

    def make_again(self, changes: Sequence[tuple[str, str | None]]) -> None:
        """Applies changes that were made to another version of the document: (pointer, JSON text; None: removed)."""
        made = self.now
        for pointer, after in changes:
            made = put(made, self.prefix + pointer, after)
        self.push(made)

    def need_object(self, document: Document) -> None:
        """Raises Refused if the attributes as a whole would no longer be a JSON object."""
        if isinstance(self.now.get(self.prefix, {}), dict) and not isinstance(document.get(self.prefix, {}), dict):
            raise Refused(strings.WHOLE_STAYS, key=document.key)

    def saved(self, document: Document) -> None:
        self.base = document
        self.note = strings.SAVED

    def diff(self) -> Diff:
        at = (self.base, self.now)
        if self._diff is None or self._diff[0] != at:
            self.know(*at, diff_of(*at, self.prefix))
        assert self._diff is not None
        return self._diff[1]

    @property
    def known(self) -> tuple[Document, Document] | None:
        """The two documents whose difference is known."""
        return None if self._diff is None else self._diff[0]

    def know_changes(self, base: Document, now: Document, changes: tuple[Change, ...]) -> None:
        """Stores which fields differ between two of its documents, as found in the background."""
        self._changes = ((base, now), changes)

    def know(self, base: Document, now: Document, diff: Diff) -> None:
        """Stores the difference between two of its documents, as found in the background."""
        self._diff, self._changes = ((base, now), diff), ((base, now), diff.changes)

    # ------------------------------------------------------------------ merging
    @property
    def sides(self) -> Sides:
        """In a conflict: the fields that both sides changed, and those that one side changed."""
        if self.theirs is None:
            return Sides((), ())
        at = (self.base, self.now, self.theirs)
        if self._sides is None or self._sides[0] != at:
            self._sides = (at, sides_of(*at, self.prefix))
        return self._sides[1]

    @property
    def disagreements(self) -> tuple[Disagreement, ...]:
        """Fields that both sides changed, to different values."""
        return self.sides.chosen(self.choices)

    def meet(self, stored: Document) -> bool:
        """Merges with what somebody else stored meanwhile; returns False if a person has to decide."""
        if stored.version == self.base.version:
            return True
        self.theirs = stored
        if differences(self.base, stored, self.prefix):
            return False
        self.resolve("mine")
        return True

    def choose(self, pointer: str, side: Side) -> None:
        """Chooses the side whose value a disputed field gets when both sides are merged."""
        self.choices[pointer] = side

    def resolve(self, whose: Whose) -> None:
        """`theirs` becomes the base, my changes are made to it again; where both changed a field, `whose` wins."""
        if self.theirs is None:
            return
        disputed = self.disagreements
        if whose == "chosen" and not all(each.choice for each in disputed):
            return
        choices = {each.pointer: each.choice or "mine" if whose == "chosen" else whose for each in disputed}
        merged = merge(self.theirs, self.now, self.prefix, self.changes, choices)
        self.base, self.theirs, self.choices, self._sides = self.theirs, None, {}, None
        self.push(merged)
        self.note = strings.MERGED


def diff_of(base: Document, now: Document, prefix: str) -> Diff:
    """The difference between two documents, headed by their key. Takes long for large ones."""
    name = strings.clean(base.key)
    lines = changed_lines(base.text, now.text, f"{name} (stored)", f"{name} (edited)")
    warned = [strings.not_standard_line(each) for each in brought_in(base, now)]
    told = "\n".join([*warned, *(strings.clean_lines(line) for line in lines)])
    return Diff(told, tuple(differences(base, now, prefix)))


def _related(a: str, b: str) -> bool:
    return a == b or a.startswith(b + "/") or b.startswith(a + "/")


def differences(before: Document, after: Document, prefix: str) -> list[Change]:
    """The differences between two documents, at the innermost values. Pointers are relative to `prefix`."""
    return [Change(*each) for each in compare.differences(before, after, prefix)]


# ---------------------------------------------------------------------- fields
@dataclass
class _Walk:
    draft: Draft
    fold_above: int
    changed: list[str]
    attributes: Any = None
    found: list[Field] = field(default_factory=list)

    def add(self, span: Span | None, value: Any, pointer: str, label: str, depth: int, in_object: bool = True) -> None:
        """`span`: the place of the value in the document."""
        draft = self.draft
        kind = kind_of(value)
        members = len(value) if isinstance(value, dict | list) else 0
        folded = draft.folded.get(pointer, members > self.fold_above) if members else False
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
        elif kind == "object":
            summary = strings.counted(members, "member")
        if not folded:
            summary = strings.joined(summary, page_text(page, members))
        place = Place(tuple(tokens_of(pointer)), value, self.attributes)
        row = row_for(place)
        changed = any(_related(pointer, p) for p in self.changed)
        self.found.append(
            Field(
                pointer,
                strings.clean(label, 200),
                kind,
                typed,
                summary,
                depth,
                error,
                changed,
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
        children = span.beginning(page.stop)
        if isinstance(value, dict):
            spans = {name.value: child for name, child in zip(children.names, children.children, strict=False)}
            names = [*spans][page.start : page.stop]
            inner = [(spans[name], value[name], pointer + pointer_of([name]), name) for name in names]
        else:
            inner = [(children.children[i], value[i], f"{pointer}/{i}", str(i)) for i in page]
        for child, item, at, name in inner:
            if len(self.found) >= MAX_FIELDS:
                return
            self.add(child, item, at, name, depth + 1, isinstance(value, dict))


def _short_list(value: list[Any]) -> str:
    """Whether this is a short list of numbers, which is easier to read as a whole: [0.5, 0.108, 0.108]."""
    if len(value) <= 6 and all(isinstance(v, int | float) and not isinstance(v, bool) for v in value):
        return strings.clean(json.dumps(value), 80)
    return ""


def fields(draft: Draft, fold_above: int) -> tuple[Field, ...]:
    """The fields of the form, depth first; the object of all attributes is the first field, at depth 0."""
    attributes = draft.now.get(draft.prefix, {})
    walk = _Walk(draft, fold_above, [change.pointer for change in draft.changes], attributes)
    walk.add(draft.now.span_at(draft.prefix), attributes, "", strings.ATTRIBUTES, 0)
    return tuple(walk.found)


def kind_of(value: Any) -> FieldKind:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "text"
    if isinstance(value, dict):
        return "object"
    return "list" if isinstance(value, list) else "number"


def kinds_of(value: Any, text: str, pointer: str, wrong: bool = False) -> tuple[FieldKind, ...]:
    """The kinds into which a field can be converted without loss, including its own.

    The attributes as a whole are an object, and stay one.
    """
    own = kind_of(value)
    if not pointer:
        return (own,) if own == "object" else (own, "object")
    return tuple(kind for kind in KINDS if kind == own or spelled(value, text, kind, wrong) is not None)


def spelled(value: Any, text: str, kind: FieldKind, wrong: bool = False) -> str | None:
    """JSON text of a value converted to another kind; None if content would be lost.

    `text` is the field's: strings without quotes, numbers as in the document. `wrong`: it was typed and is not valid
    for the value's kind; then it is converted as text, and `value` is not used.
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
