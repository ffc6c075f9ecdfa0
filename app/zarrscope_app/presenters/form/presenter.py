"""The attributes of a node as a form. Nothing is written before `save`; every byte that was not edited survives it.

What a person types is checked at once: a field that is wrong keeps the text, shows its error, and blocks saving. Nodes
that have changes keep them while one looks at another node. Snapshots: form.py; comparing and merging: draft.py.
"""

from __future__ import annotations

from typing import Any, Literal

from psygnal import Signal

from zarrscope.background import Outcome, Owner, Ticket
from zarrscope.document import Document, pointer_of, tokens_of
from zarrscope.errors import Conflict, ZarrscopeError
from zarrscope_app.presenters import words
from zarrscope_app.presenters.draft import Draft, differences, fields, spelled
from zarrscope_app.presenters.form import Diff, EditState, EditStatus, Field, FieldKind
from zarrscope_app.presenters.turn import OncePerTurn

__all__ = ["EditPresenter", "EditState", "EditStatus"]

FOLD_ABOVE = 60
"""Lists and objects with more members are folded at first."""


class EditPresenter:
    """All methods on the host's thread; none waits. After each `state` is new; `changed()` comes once a turn."""

    changed = Signal()

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._turn = OncePerTurn(owner.post, self.changed.emit)
        self._hierarchy: Any = None
        self._writable = False
        self._path = "/"
        self._kind: Literal["group", "array"] = "group"
        self._drafts: dict[str, Draft] = {}
        self._loading: Ticket | None = None
        self._failure = ""
        self._state: EditState | None = None

    # ------------------------------------------------------------------ for the session
    def attach(self, hierarchy: Any, writable: bool) -> None:
        """Drafts stay: they are compared with what is stored when they are saved."""
        self._hierarchy, self._writable = hierarchy, writable
        self._drafts = {path: draft for path, draft in self._drafts.items() if draft.dirty}
        self._refresh()

    def select(self, path: str, kind: Literal["group", "array"]) -> None:
        """Shows the form of a node."""
        draft = self._drafts.get(self._path)
        if draft is not None and not draft.dirty and not draft.saving and self._path != path:
            del self._drafts[self._path]
        self._path, self._kind, self._failure = path, kind, ""
        if path not in self._drafts:
            self._load(path, kind)
        self._refresh()

    @property
    def dirty_paths(self) -> frozenset[str]:
        return frozenset(path for path, draft in self._drafts.items() if draft.dirty)

    @property
    def unsaved(self) -> int:
        """Changes that are not saved, of all nodes."""
        return sum(len(draft.changes) for draft in self._drafts.values())

    @property
    def saving(self) -> bool:
        return any(draft.saving for draft in self._drafts.values())

    def _load(self, path: str, kind: Literal["group", "array"]) -> None:
        hierarchy = self._hierarchy
        if self._loading is not None:
            self._loading.cancel()
            self._loading = None
        if hierarchy is None:
            return

        def done(outcome: Outcome[Document]) -> None:
            self._loading = None
            if outcome.error is not None:
                self._failure = words.problem(outcome.error, path).headline
            elif outcome.value is not None:
                prefix = hierarchy.dialect.attributes_at(path, kind)[1]
                self._drafts[path] = Draft(outcome.value, prefix)
            self._refresh()

        self._loading = self._owner.fetch(lambda: hierarchy.document(path), done)

    # ------------------------------------------------------------------ snapshots
    @property
    def state(self) -> EditState:
        if self._state is None:
            self._state = self._make_state()
        return self._state

    def _make_state(self) -> EditState:
        draft = self._drafts.get(self._path)
        if draft is None:
            status = EditStatus.FAILED if self._failure else EditStatus.EMPTY
            return EditState(status, self._failure or words.LOADING, path=self._path)
        found = fields(draft, FOLD_ABOVE)
        changes = len(draft.changes)
        status, sentence = self._status(draft, changes)
        return EditState(
            status,
            sentence,
            found,
            changes,
            can_save=status in (EditStatus.DIRTY, EditStatus.FAILED) and self._writable and changes > 0,
            can_undo=draft.at > 0 and not draft.saving,
            can_redo=draft.at < len(draft.history) - 1 and not draft.saving,
            conflicts=draft.disagreements if draft.theirs is not None else (),
            path=self._path,
            key=draft.now.key,
            title=f"{words.ATTRIBUTES} •" if draft.dirty else words.ATTRIBUTES,
        )

    def _status(self, draft: Draft, changes: int) -> tuple[EditStatus, str]:
        if draft.saving:
            return EditStatus.SAVING, words.SAVING
        if draft.theirs is not None:
            return EditStatus.CONFLICT, words.conflict(len(draft.disagreements))
        if draft.errors:
            return EditStatus.INVALID, next(iter(draft.errors.values()))[1]
        if draft.failure:
            return EditStatus.FAILED, draft.failure
        if changes:
            return EditStatus.DIRTY, words.changes(changes)
        if not self._writable:
            return EditStatus.READ_ONLY, words.READ_ONLY_FORM
        return EditStatus.CLEAN, draft.note

    def field(self, pointer: str) -> Field | None:
        return next((f for f in self.state.fields if f.pointer == pointer), None)

    def diff(self) -> Diff:
        draft = self._drafts.get(self._path)
        return Diff("", ()) if draft is None else draft.diff()

    def _refresh(self) -> None:
        self._state = None
        self._turn.soon()

    # ------------------------------------------------------------------ editing
    def _draft(self) -> Draft | None:
        """The draft that may be edited now."""
        draft = self._drafts.get(self._path)
        if draft is None or draft.saving or draft.theirs is not None:
            return None
        if not self._writable:
            self._refresh()
            return None
        return draft

    def _change(self, pointer: str, change: Any, text: str = "") -> bool:
        """Runs change(document, pointer in the document); an error stays with the field."""
        draft = self._draft()
        if draft is None:
            return False
        try:
            new = change(draft.now, draft.prefix + pointer)
        except ZarrscopeError as error:
            draft.errors[pointer] = (text, words.clean(error.message.rstrip(".")) + ".")
            self._refresh()
            return False
        draft.errors.pop(pointer, None)
        draft.push(new)
        self._refresh()
        return True

    def edit(self, pointer: str, text: str) -> None:
        """The text of a field as typed; read according to its kind. For lists and objects: JSON text."""
        field = self.field(pointer)
        kind: FieldKind = field.kind if field is not None else "text"
        if field is not None and field.text == text and not field.error:
            return
        if kind == "number" and not words.is_number(text):
            self._wrong(pointer, text, words.NOT_A_NUMBER)
        elif kind == "bool" and text.strip().lower() not in ("true", "false"):
            self._wrong(pointer, text, words.NOT_A_BOOL)
        elif (kind == "null" and text.strip() != "null") or kind == "text":
            self._change(pointer, lambda d, p: d.set(p, text), text)
        else:
            json_text = text.strip().lower() if kind == "bool" else text.strip()
            self._change(pointer, lambda d, p: d.set_text(p, json_text), text)

    def _wrong(self, pointer: str, text: str, why: str) -> None:
        draft = self._draft()
        if draft is not None:
            draft.errors[pointer] = (text, why)
            self._refresh()

    def edit_json(self, pointer: str, text: str) -> None:
        """Replaces a value by JSON text, its kind with it."""
        self._change(pointer, lambda d, p: d.set_text(p, text), text)

    def retype(self, pointer: str, kind: FieldKind) -> None:
        """Another kind for a field, keeping what can be kept ("5" ↔ 5)."""
        field = self.field(pointer)
        if field is not None and field.kind != kind:
            self._change(pointer, lambda d, p: d.set_text(p, spelled(field, kind)))

    def add(self, pointer: str, name: str, text: str = '""') -> str:
        """A new member of the object or list at `pointer` (a list takes any name and appends); `text` is JSON.
        Returns its pointer, "" when it could not be added (the field at `pointer` says why)."""
        draft = self._draft()
        if draft is None:
            return ""
        now = draft.now
        if pointer == "" and draft.prefix and not now.has(draft.prefix):
            now = now.add(draft.prefix, {})
        holder = now.get(draft.prefix + pointer, None)
        if isinstance(holder, list):
            new = f"{pointer}/{len(holder)}"
        else:
            new = pointer + pointer_of([name])
            if isinstance(holder, dict) and name in holder:
                self._wrong(pointer, "", words.taken(name))
                return ""
        try:
            draft.push(now.set_text(draft.prefix + new, text))
        except ZarrscopeError as error:
            self._wrong(pointer, text, words.clean(error.message))
            return ""
        draft.errors.pop(pointer, None)
        draft.folded[pointer] = False
        self._refresh()
        return new

    def rename(self, pointer: str, name: str) -> None:
        self._change(pointer, lambda d, p: d.rename(p, name), name)

    def remove(self, pointer: str) -> None:
        if self._change(pointer, lambda d, p: d.remove(p)) and (draft := self._draft()):
            draft.errors = {p: e for p, e in draft.errors.items() if not p.startswith(pointer)}
            self._refresh()

    def move(self, pointer: str, by: int) -> None:
        """Up or down among its siblings."""
        draft = self._draft()
        tokens = tokens_of(pointer)
        if draft is None or not tokens:
            return
        holder = draft.now.get(draft.prefix + pointer_of(tokens[:-1]), None)
        at = [*holder].index(tokens[-1]) if isinstance(holder, dict) else int(tokens[-1])
        if isinstance(holder, dict | list) and 0 <= at + by < len(holder):
            self._change(pointer, lambda d, p: d.move(p, at + by))

    def undo(self) -> None:
        """Takes back the last edit, also one that was saved: save again to write that."""
        self._travel(-1)

    def redo(self) -> None:
        self._travel(1)

    def _travel(self, by: int) -> None:
        draft = self._draft()
        if draft is not None and 0 <= draft.at + by < len(draft.history):
            draft.at += by
            draft.errors.clear()
            draft.failure = draft.note = ""
            self._refresh()

    def revert(self) -> None:
        """Drops all changes; `undo` brings them back."""
        draft = self._draft()
        if draft is not None and (draft.dirty or draft.errors):
            draft.push(draft.base)
            draft.errors.clear()
            self._refresh()

    def fold(self, pointer: str, folded: bool) -> None:
        draft = self._drafts.get(self._path)
        if draft is not None:
            draft.folded[pointer] = folded
            self._refresh()

    # ------------------------------------------------------------------ saving
    def save(self) -> None:
        """Writes in the background: SAVING, then CLEAN, CONFLICT or FAILED."""
        draft = self._draft()
        if draft is not None and not draft.errors and draft.dirty:
            self._save(self._path, draft, may_merge=True)

    def _save(self, path: str, draft: Draft, may_merge: bool) -> None:
        hierarchy = self._hierarchy
        document = draft.now.read_at(draft.base.version)
        draft.saving, draft.failure = True, ""

        def work() -> tuple[Document | None, Document | None]:
            """(what was saved, what is stored instead)."""
            try:
                return hierarchy.save(path, document), None
            except Conflict:
                return None, hierarchy.document(path)

        def done(outcome: Outcome[tuple[Document | None, Document | None]]) -> None:
            draft.saving = False
            saved, theirs = outcome.value or (None, None)
            if outcome.error is not None:
                draft.failure = words.problem(outcome.error, path).headline
            elif saved is not None:
                draft.saved(saved)
            elif theirs is not None:
                attributes_changed = bool(differences(draft.base, theirs, draft.prefix))
                draft.theirs = theirs
                if may_merge and not attributes_changed:  # another part of the document: nothing to ask about
                    draft.resolve("mine")
                    self._save(path, draft, may_merge=False)
            self._refresh()

        self._owner.fetch(work, done)
        self._refresh()

    def resolve(self, whose: Literal["mine", "theirs"]) -> None:
        """Merges with what is stored now; where both changed a field, this side wins. DIRTY or CLEAN afterwards."""
        draft = self._drafts.get(self._path)
        if draft is not None and draft.theirs is not None:
            draft.resolve(whose)
            self._refresh()

    def reload(self) -> None:
        """Reads the document again; changes not saved are dropped."""
        self._drafts.pop(self._path, None)
        self._load(self._path, self._kind)
        self._refresh()
