"""One document being edited: its history, what differs from what is stored, and how two sides are merged. Pure."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass, field
from typing import Any, Literal

from zarrscope.document import Document, pointer_of, same_json
from zarrscope.errors import ZarrscopeError
from zarrscope_app.presenters import words
from zarrscope_app.presenters.form import Change, Diff, Disagreement, Field, FieldKind

_NOWHERE: Any = object()
MAX_FIELDS = 5000


class Draft:
    """`base` is what is stored, as far as is known; `now` what is on show. Pointers are relative to `prefix`."""

    def __init__(self, document: Document, prefix: str) -> None:
        self.prefix = prefix
        self.base = document
        self.history = [document]
        self.at = 0
        self.errors: dict[str, tuple[str, str]] = {}
        """Pointer → (text as typed, why it is wrong)."""
        self.folded: dict[str, bool] = {}
        self.saving = False
        self.failure = ""
        self.note = ""
        self.theirs: Document | None = None
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

    def push(self, document: Document) -> None:
        if document.bytes == self.now.bytes:
            return
        del self.history[self.at + 1 :]
        self.history.append(document)
        self.at += 1
        self.failure = self.note = ""

    def saved(self, document: Document) -> None:
        self.base = document
        self.note = words.SAVED

    def diff(self) -> Diff:
        before, after = (d.text.splitlines() for d in (self.base, self.now))
        name = words.clean(self.base.key)
        lines = difflib.unified_diff(before, after, f"{name} (stored)", f"{name} (edited)", lineterm="")
        return Diff("\n".join(words.clean_lines(line) for line in lines), self.changes)

    # ------------------------------------------------------------------ merging
    @property
    def disagreements(self) -> tuple[Disagreement, ...]:
        """Fields that both sides changed, to different values."""
        if self.theirs is None:
            return ()
        found = []
        for mine in self.changes:
            for other in differences(self.base, self.theirs, self.prefix):
                if _related(mine.pointer, other.pointer) and (mine.pointer, mine.after) != (other.pointer, other.after):
                    top = min(mine.pointer, other.pointer, key=len)
                    found.append(
                        Disagreement(top, *(_text(d, self.prefix + top) for d in (self.base, self.now, self.theirs)))
                    )
        return tuple(dict.fromkeys(found))

    def resolve(self, whose: Literal["mine", "theirs"]) -> None:
        """`theirs` becomes the base, my changes are made to it again; where both changed a field, `whose` wins."""
        if self.theirs is None:
            return
        disputed = [d.pointer for d in self.disagreements]
        merged = self.theirs
        for change in self.changes:
            pointer, text = change.pointer, change.after
            over = next((p for p in disputed if _related(p, pointer)), None)
            if over is not None:
                if whose == "theirs":
                    continue
                pointer, text = over, _text(self.now, self.prefix + over)
            merged = _apply(merged, self.prefix + pointer, text)
        self.base, self.theirs = self.theirs, None
        self.push(merged)
        self.note = words.MERGED


def _apply(document: Document, pointer: str, text: str | None) -> Document:
    try:
        if text is None:
            return document.remove(pointer) if document.has(pointer) else document
        return document.set_text(pointer, text)
    except ZarrscopeError:
        return document  # what held the field is gone on the other side: there is no place for it


def _related(a: str, b: str) -> bool:
    return a == b or a.startswith(b + "/") or b.startswith(a + "/")


def _text(document: Document, pointer: str) -> str | None:
    return document.text_at(pointer) if document.has(pointer) else None


def differences(before: Document, after: Document, prefix: str) -> list[Change]:
    """What differs between two documents, as deep as it can be said. Pointers relative to `prefix`."""
    found: list[Change] = []

    def walk(a: Any, b: Any, pointer: str) -> None:
        if a is not _NOWHERE and b is not _NOWHERE:
            if isinstance(a, dict) and isinstance(b, dict):
                for name in dict.fromkeys([*a, *b]):
                    walk(a.get(name, _NOWHERE), b.get(name, _NOWHERE), pointer + pointer_of([name]))
                return
            if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
                for i, (one, other) in enumerate(zip(a, b, strict=True)):
                    walk(one, other, f"{pointer}/{i}")
                return
            if same_json(a, b) and (
                isinstance(a, str) or _text(before, prefix + pointer) == _text(after, prefix + pointer)
            ):
                return
        elif a is b:
            return
        found.append(
            Change(
                pointer,
                None if a is _NOWHERE else _text(before, prefix + pointer),
                None if b is _NOWHERE else _text(after, prefix + pointer),
            )
        )

    if before.bytes != after.bytes:
        walk(before.get(prefix, _NOWHERE), after.get(prefix, _NOWHERE), "")
    return found


# ---------------------------------------------------------------------- fields
@dataclass
class _Walk:
    draft: Draft
    fold_above: int
    changed: list[str]
    found: list[Field] = field(default_factory=list)

    def add(self, value: Any, pointer: str, label: str, depth: int) -> None:
        if len(self.found) >= MAX_FIELDS:
            return
        draft = self.draft
        kind = kind_of(value)
        members = len(value) if isinstance(value, dict | list) else 0
        folded = draft.folded.get(pointer, members > self.fold_above) if members else False
        text = ""
        if kind == "text":
            text = value
        elif kind in ("number", "bool", "null"):
            text = draft.now.text_at(draft.prefix + pointer)
        typed, error = draft.errors.get(pointer, (text, ""))
        summary = words.clean(text, 120)
        if kind == "list":
            summary = _short_list(value) or words.counted(members, "item")
        elif kind == "object":
            summary = words.counted(members, "member")
        changed = any(_related(pointer, p) for p in self.changed)
        self.found.append(
            Field(pointer, words.clean(label, 200), kind, typed, summary, depth, error, changed, folded, members)
        )
        if folded:
            return
        if isinstance(value, dict):
            for name, item in value.items():
                self.add(item, pointer + pointer_of([name]), name, depth + 1)
        elif isinstance(value, list):
            for i, item in enumerate(value):
                self.add(item, f"{pointer}/{i}", str(i), depth + 1)


def _short_list(value: list[Any]) -> str:
    """Short lists of numbers read better whole: [0.5, 0.108, 0.108]."""
    if len(value) <= 6 and all(isinstance(v, int | float) and not isinstance(v, bool) for v in value):
        return words.clean(json.dumps(value), 80)
    return ""


def fields(draft: Draft, fold_above: int) -> tuple[Field, ...]:
    """The form, depth first; the object of all attributes itself is the first field, at depth 0."""
    walk = _Walk(draft, fold_above, [change.pointer for change in draft.changes])
    walk.add(draft.now.get(draft.prefix, {}), "", words.ATTRIBUTES, 0)
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


def spelled(old: Field, kind: FieldKind) -> str:
    """JSON text of a field turned into another kind."""
    text = old.text.strip()
    if kind == "text":
        return json.dumps(old.text or (old.summary if old.members else ""), ensure_ascii=False)
    if kind == "number":
        return text if words.is_number(text) else "0"
    if kind == "bool":
        return "true" if text.lower() in ("true", "1", "yes") else "false"
    if kind == "null":
        return "null"
    inner = "" if old.kind in ("null", "list", "object") else (json.dumps(old.text) if old.kind == "text" else text)
    return f"[{inner}]" if kind == "list" else "{}"
