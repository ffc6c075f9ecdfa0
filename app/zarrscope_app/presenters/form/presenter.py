"""The attributes of a node as a form. Nothing is written before `save`; every byte that was not edited survives it.

What a person types is checked at once: a field that is wrong keeps the text, shows its error, and blocks saving. Nodes
that have changes keep them while one looks at another node. Snapshots: view_models.py; comparing and merging: draft.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from psygnal import Signal

from zarrscope.errors import Conflict, NotStandard, ZarrscopeError
from zarrscope.jsondoc.document import Document, pointer_of, tokens_of
from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.coalesce import CoalescedCall
from zarrscope_app.presenters.form.draft import Draft, differences, fields, spelled
from zarrscope_app.presenters.form.field_editors import refusal
from zarrscope_app.presenters.form.view_models import Diff, EditState, EditStatus, Field, FieldKind
from zarrscope_app.presenters.node_details import NodeDetails

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy

__all__ = ["EditPresenter", "EditState", "EditStatus"]

FOLD_ABOVE = 60
"""Lists and objects with more members are folded at first."""


class EditPresenter:
    """All methods run on the host's thread, and none waits. Each gives a new `state`; `changed()` comes coalesced."""

    changed = Signal()
    saved = Signal(str)
    """The path of a node whose document was written."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._notify = CoalescedCall(owner.post, self.changed.emit)
        self._hierarchy: Any = None
        self._writable = False
        self._path = self._expected = "/"
        self._kind: Literal["group", "array"] = "group"
        self._drafts: dict[str, Draft] = {}
        self._loading: Ticket | None = None
        self._failure = ""
        self._then: Callable[[str | None], object] | None = None
        self._state: EditState | None = None

    # ------------------------------------------------------------------ for the session
    def show_node(self, details: NodeDetails) -> None:
        node = details.node
        assert node is not None, "the view is one of nodes that could be read"
        self.select(node.path, node.kind)

    def expect(self, path: str) -> None:
        """A node that is being opened: where it has edits, they can be saved before it is open."""
        self._expected = path
        self._to_expected()

    def _to_expected(self) -> None:
        if self._expected in self._drafts and self._expected != self._path:
            self._leave()
            self._path, self._failure = self._expected, ""
            self._refresh()

    def _leave(self) -> None:
        """Another node's form comes: what has no edits is read anew when somebody returns."""
        draft = self._drafts.get(self._path)
        if draft is not None and not draft.dirty and not draft.saving:
            del self._drafts[self._path]

    def show_nothing(self, sentence: str = "") -> None:
        """A node that cannot be read has no form: its tab is shut, and the edits of others stay."""

    def attach(self, hierarchy: Hierarchy, writable: bool) -> None:
        """Drafts stay: they are compared with what is stored when they are saved."""
        self._hierarchy, self._writable = hierarchy, writable
        self._drafts = {path: draft for path, draft in self._drafts.items() if draft.dirty}
        self._refresh()

    def select(self, path: str, kind: Literal["group", "array"]) -> None:
        """Shows the form of a node."""
        if self._path != path:
            self._leave()
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

    def unsaved_drafts(self) -> dict[str, Draft]:
        """Path → what is edited and not saved."""
        return {path: draft for path, draft in self._drafts.items() if draft.dirty}

    def put_back(self, drafts: dict[str, Draft]) -> None:
        """Edits of an earlier run, which take the place of what was not edited here."""
        for path, draft in drafts.items():
            if draft.dirty and path not in self.dirty_paths:
                self._drafts[path] = draft
        self._to_expected()
        self._refresh()

    def tell(self, sentence: str) -> None:
        """Something beside the form, said there."""
        if (draft := self._drafts.get(self._path)) is not None:
            draft.hint = sentence
        self._refresh()

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

        def done(outcome: JobResult[Document]) -> None:
            self._loading = None
            if outcome.error is not None:
                self._failure = strings.problem(outcome.error, path).headline
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
            return EditState(status, self._failure or strings.LOADING, path=self._path)
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
            title=f"{strings.ATTRIBUTES} •" if draft.dirty else strings.ATTRIBUTES,
        )

    def _status(self, draft: Draft, changes: int) -> tuple[EditStatus, str]:
        if draft.saving:
            return EditStatus.SAVING, strings.SAVING
        if draft.theirs is not None:
            return EditStatus.CONFLICT, strings.conflict(len(draft.disagreements))
        if draft.errors:
            return EditStatus.INVALID, next(iter(draft.errors.values()))[1]
        if draft.failure:
            return EditStatus.FAILED, draft.failure
        if changes:
            return EditStatus.DIRTY, strings.joined(strings.changes(changes), draft.hint)
        if not self._writable:
            return EditStatus.READ_ONLY, strings.READ_ONLY_FORM
        return EditStatus.CLEAN, draft.hint or draft.note

    @property
    def title(self) -> str:
        """Of the tab."""
        return self.state.title

    def field(self, pointer: str) -> Field | None:
        return next((f for f in self.state.fields if f.pointer == pointer), None)

    def diff(self) -> Diff:
        draft = self._drafts.get(self._path)
        return Diff("", ()) if draft is None else draft.diff()

    def _refresh(self) -> None:
        self._state = None
        self._notify.soon()

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
            draft.need_object(new)
        except ZarrscopeError as error:
            draft.errors[pointer] = (text, strings.clean(error.message.rstrip(".")) + ".")
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
        if kind == "number" and not strings.is_number(text):
            self._wrong(pointer, text, strings.NOT_A_NUMBER)
        elif kind == "bool" and text.strip().lower() not in ("true", "false"):
            self._wrong(pointer, text, strings.NOT_A_BOOL)
        elif field is not None and (why := refusal(field.row, text)):
            self._wrong(pointer, text, why)
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

    def may_retype(self, pointer: str) -> bool:
        """Whether a field can be given another kind; when not, `state.sentence` says why."""
        field = self.field(pointer)
        if field is None or self._draft() is None:
            return False
        if len(field.kinds) < 2:
            self._refuse(strings.keeps_kind(field.label) if pointer else strings.WHOLE_STAYS)
        return len(field.kinds) > 1

    def retype(self, pointer: str, kind: FieldKind) -> None:
        """Another kind for a field, of its `kinds` ("5" ↔ 5); others would lose what it holds, and are refused."""
        field, draft = self.field(pointer), self._draft()
        if field is None or draft is None or field.kind == kind:
            return
        value = draft.now.get(draft.prefix + pointer)
        new = spelled(value, field.text, kind, bool(field.error)) if kind in field.kinds else None
        if new is None:
            self._refuse(strings.WHOLE_STAYS if not pointer else strings.would_lose(field.label, kind))
        else:
            text = new
            self._change(pointer, lambda d, p: d.set_text(p, text))

    def add(self, pointer: str, name: str, text: str = '""') -> str:
        """A new member of the object or list at `pointer` (a list takes any name and appends); `text` is JSON.
        Returns its pointer, "" when it could not be added (`state.sentence` says why)."""
        draft = self._draft()
        if draft is None:
            return ""
        now = draft.now
        if pointer == "" and draft.prefix:
            now = now.with_object(draft.prefix)
        holder = now.get(draft.prefix + pointer, None)
        if isinstance(holder, list):
            new = f"{pointer}/{len(holder)}"
        else:
            new = pointer + pointer_of([name])
            if isinstance(holder, dict) and name in holder:
                self._refuse(strings.taken(name))
                return ""
        try:
            draft.push(now.set_text(draft.prefix + new, text))
        except ZarrscopeError as error:
            self._refuse(strings.clean(error.message.rstrip(".")) + ".")
            return ""
        draft.errors.pop(pointer, None)
        draft.folded[pointer] = False
        self._refresh()
        return new

    def add_typed(self, pointer: str, name: str, typed: str) -> str:
        """As `add`, with a value as a person types it: JSON, and what is none is a text. What begins as JSON and is
        none is refused, for nobody means that as a text."""
        bare = typed.strip()
        try:
            json.loads(bare)
        except ValueError:
            bare = bare if bare[:1] in ("{", "[", '"') else json.dumps(typed, ensure_ascii=False)
        return self.add(pointer, name, bare)

    def takes_name(self, pointer: str, name: str) -> bool:
        """Whether the object at `pointer` can have a new member `name`; when not, `state.sentence` says why."""
        draft = self._draft()
        holder = draft.now.get(draft.prefix + pointer, None) if draft is not None else None
        if isinstance(holder, dict) and name in holder:
            self._refuse(strings.taken(name))
            return False
        return True

    def rename(self, pointer: str, name: str) -> None:
        """Another name for a member of an object; the attributes as a whole and items of lists have none to change."""
        field = self.field(pointer)
        if not pointer or (field is not None and not field.can_rename):
            self._refuse(strings.ITEM_HAS_NO_NAME if pointer else strings.WHOLE_STAYS)
            return
        if name != tokens_of(pointer)[-1] and self.takes_name(pointer_of(tokens_of(pointer)[:-1]), name):
            self._change(pointer, lambda d, p: d.rename(p, name), name)

    def remove(self, pointer: str) -> None:
        """Takes a member or an item out; the attributes as a whole stay."""
        if not pointer:
            self._refuse(strings.WHOLE_STAYS)
            return
        if self._change(pointer, lambda d, p: d.remove(p)) and (draft := self._draft()):
            draft.errors = {p: e for p, e in draft.errors.items() if not _within(p, pointer)}
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

    def _refuse(self, why: str) -> None:
        """Nothing is done, and the sentence says why."""
        draft = self._draft()
        if draft is not None:
            draft.hint = why
            self._refresh()

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
            draft.failure = draft.note = draft.hint = ""
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
                return hierarchy.save(path, document, allow_nan=draft.confirmed == document.bytes), None
            except Conflict:
                return None, hierarchy.document(path)

        def done(outcome: JobResult[tuple[Document | None, Document | None]]) -> None:
            draft.saving = False
            saved, theirs = outcome.value or (None, None)
            if isinstance(outcome.error, NotStandard):  # asked once: saving the same again says that it is meant
                draft.confirmed = document.bytes
                draft.failure = strings.not_standard(outcome.error.message)
            elif outcome.error is not None:
                draft.failure = strings.problem(outcome.error, path).headline
            elif saved is not None:
                draft.saved(saved)
                self.saved.emit(path)
            elif theirs is not None:
                attributes_changed = bool(differences(draft.base, theirs, draft.prefix))
                draft.theirs = theirs
                if may_merge and not attributes_changed:  # another part of the document: nothing to ask about
                    draft.resolve("mine")
                    self._save(path, draft, may_merge=False)
            self._refresh()
            self._settled()

        self._owner.fetch(work, done)
        self._refresh()

    def diff_of_all(self) -> Diff:
        """Of every document with changes, one after the other."""
        found = [draft.diff() for draft in self._drafts.values() if draft.dirty]
        return Diff("\n".join(diff.unified for diff in found), tuple(c for diff in found for c in diff.changes))

    @property
    def can_save_all(self) -> bool:
        """Whether `save_all` has something to save and nothing in its way."""
        drafts = [draft for draft in self._drafts.values() if draft.dirty]
        return bool(drafts) and self._writable and not any(d.errors or d.saving or d.theirs for d in drafts)

    def save_all(self, then: Callable[[str | None], object]) -> None:
        """Saves the changes of every node; `then(path)` of the first that could not be saved, `then(None)` when all
        were. With errors or a conflict in one of them nothing is written."""
        if not self.can_save_all:
            then(self._in_the_way())
            return
        self._then = then
        for path, draft in [*self._drafts.items()]:
            if draft.dirty:
                self._save(path, draft, may_merge=True)

    def when_saved(self, then: Callable[[str | None], object]) -> bool:
        """`then`, as in `save_all`, once the saves under way have ended; False when there are none to wait for."""
        if self._then is not None or not self.saving:
            return False
        self._then = then
        return True

    def _in_the_way(self) -> str | None:
        dirty = [(path, draft) for path, draft in self._drafts.items() if draft.dirty]
        found = [path for path, draft in dirty if draft.errors or draft.theirs or draft.failure]
        return found[0] if found else dirty[0][0] if dirty else None

    def _settled(self) -> None:
        """A save has ended: when it was the last, whoever waits for all of them is told."""
        if self._then is not None and not self.saving:
            then, self._then = self._then, None
            then(self._in_the_way())

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


def _within(pointer: str, above: str) -> bool:
    return pointer == above or pointer.startswith(above + "/")
