"""The attributes of a node as a form. Nothing is written before `save`; every byte that was not edited survives it.

What a person types is checked at once: a field that is wrong keeps the text, shows its error, and blocks saving. Nodes
that have changes keep them while one looks at another node. Snapshots: view_models.py; comparing and merging: draft.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from psygnal import Signal

from zarrscope.errors import ZarrscopeError
from zarrscope.jsondoc.document import Document
from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.coalesce import CoalescedCall
from zarrscope_app.presenters.form import json_text, words
from zarrscope_app.presenters.form.acts import ActsOnMeaning
from zarrscope_app.presenters.form.behind import EditsBehind, is_large
from zarrscope_app.presenters.form.draft import Draft, fields
from zarrscope_app.presenters.form.field_editors import refusal
from zarrscope_app.presenters.form.json_text import TextFault
from zarrscope_app.presenters.form.members import EditsMembers, is_section_field
from zarrscope_app.presenters.form.saving import SavesDrafts
from zarrscope_app.presenters.form.section_form import Judge, SectionForm
from zarrscope_app.presenters.form.sections.model import surroundings_from
from zarrscope_app.presenters.form.sections.table import fields_of
from zarrscope_app.presenters.form.several import SeveralForm
from zarrscope_app.presenters.form.trying import TriesTexts
from zarrscope_app.presenters.form.view_models import Diff, EditState, EditStatus, Field, FieldKind, FormSection, Way
from zarrscope_app.presenters.node_details import NodeDetails

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy

__all__ = ["EditPresenter", "EditState", "EditStatus"]

FOLD_ABOVE = 60
"""Lists and objects with more members are folded at first."""


class EditPresenter(EditsBehind, EditsMembers, SavesDrafts, ActsOnMeaning, TriesTexts):
    """All methods run on the host's thread, and none waits. Each gives a new `state`; `changed()` comes coalesced."""

    changed = Signal()
    saved = Signal(str)
    """The path of a node whose document was written."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._notify = CoalescedCall(owner.post, self._tell)
        self._hierarchy: Hierarchy | None = None
        self._writable = False
        self._path = self._expected = "/"
        self._kind: Literal["group", "array"] = "group"
        self._drafts: dict[str, Draft] = {}
        self._loading: Ticket | None = None
        self._trying: Ticket | None = None
        self._failure = ""
        self._then: Callable[[str | None], object] | None = None
        self._sections = SectionForm()
        self._judge = Judge(owner, self._refresh)
        self._judging = False
        self._several: SeveralForm | None = None
        """The form of the nodes that are chosen together, in place of that of one."""
        self._left: list[SeveralForm] = []
        """Forms of other choices whose edits are still being made."""
        self._way: Way = "image"
        self._waiting: dict[str, str] = {}
        """Field → text typed while the place is open for reading only."""
        self._setting: dict[str, str] = {}
        self._queue: deque[Callable[[], object]] = deque()
        self._later: list[Callable[[], object]] = []
        """Acts asked for meanwhile."""
        self._state: EditState | None = None
        self._tree: tuple[Field, ...] | None = None

    # ------------------------------------------------------------------ for the session
    def show_node(self, details: NodeDetails) -> None:
        node = details.node
        assert node is not None, "the view is one of nodes that could be read"
        self._sections.surround(surroundings_from(details))
        self.select(node.path, node.kind)

    def expect(self, path: str) -> None:
        """Prepares for a node that is being opened: if it has unsaved edits, they can be saved before it is open."""
        self._expected = path
        self._to_expected()

    def _to_expected(self) -> None:
        if self._several is None and self._expected in self._drafts and self._expected != self._path:
            self._leave()
            self._path, self._failure = self._expected, ""
            self._refresh()

    def _leave(self) -> None:
        """Leaves the form on show. Documents without edits are read again on return."""
        if self._several is not None:
            self._left.append(self._several)
            self._several = None
        busy = [form for form in self._left if not form.leave()]
        kept = {path for form in busy for path in form.paths}
        gone = {self._path, *(path for form in self._left for path in form.paths)} - kept
        self._left = busy
        for path in gone:
            draft = self._drafts.get(path)
            if draft is not None and not draft.dirty and not draft.saving:
                del self._drafts[path]

    def show_nothing(self, sentence: str = "") -> None:
        """Shows no form, for a node that cannot be read. The edits of other nodes stay."""

    def attach(self, hierarchy: Hierarchy, writable: bool) -> None:
        """Takes the hierarchy, opened again perhaps. Drafts stay; saving compares them with what is stored."""
        self._hierarchy, self._writable = hierarchy, writable
        for path in [path for path, draft in self._drafts.items() if not draft.dirty]:
            del self._drafts[path]
        if self._several is not None:
            self._several.show(hierarchy, self._several.asked, writable)
            self._do_later()
        self._refresh()

    def select(self, path: str, kind: Literal["group", "array"]) -> None:
        """Shows the form of a node, unless several are chosen together."""
        if self._several is not None:
            self._path, self._kind = path, kind
            return
        if self._path != path:
            self._leave()
            self._waiting, self._later = {}, []
        self._path, self._kind, self._failure = path, kind, ""
        if path not in self._drafts:
            self._load(path, kind)
        self._refresh()
        self._type_waiting()

    def show_several(self, paths: Sequence[str]) -> None:
        """One form for several nodes: an edit is made to all of them. Of one or none: the selected node's own form."""
        if self._hierarchy is None or tuple(paths) == self.several or (len(paths) < 2 and self._several is None):
            return
        self._leave()
        if len(paths) < 2:
            if self._path not in self._drafts:
                self._load(self._path, self._kind)
            self._refresh()
            return
        if self._loading is not None:
            self._loading.cancel()
            self._loading = None
        self._several = SeveralForm(self._owner, self._drafts, self._refresh, self.saved.emit)
        self._several.judge(self._judging)
        self._several.show(self._hierarchy, paths, self._writable)

    @property
    def several(self) -> tuple[str, ...]:
        """The nodes that are edited together; () while it is one."""
        return self._several.asked if self._several is not None else ()

    @property
    def dirty_paths(self) -> frozenset[str]:
        return frozenset(path for path, draft in self._drafts.items() if draft.dirty)

    @property
    def unsaved(self) -> int:
        """Changes that are not saved, of all nodes."""
        return sum(len(draft.changes) for draft in self._drafts.values())

    def unsaved_drafts(self) -> dict[str, Draft]:
        """The drafts with unsaved changes, by node path."""
        return {path: draft for path, draft in self._drafts.items() if draft.dirty}

    def put_back(self, drafts: dict[str, Draft]) -> None:
        """Restores edits of an earlier run, for nodes without unsaved edits of their own."""
        for path, draft in drafts.items():
            if draft.dirty and path not in self.dirty_paths:
                self._drafts[path] = draft
        self._to_expected()
        self._refresh()

    def tell(self, sentence: str) -> None:
        """Shows a sentence in the form that is not about one of its fields."""
        if (draft := self._drafts.get(self._path)) is not None:
            draft.hint = sentence
        self._refresh()

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
            self._type_waiting()

        self._loading = self._owner.fetch(lambda: hierarchy.document(path), done)

    # ------------------------------------------------------------------ snapshots
    @property
    def state(self) -> EditState:
        if self._state is None:
            self._state = self._make_state()
        return self._state

    def _make_state(self) -> EditState:
        if self._several is not None:
            told = self._several.state(self._path, self._writable)
            return replace(told, sections=self._with_commands(told.sections))
        draft = self._drafts.get(self._path)
        if draft is None:
            status = EditStatus.FAILED if self._failure else EditStatus.EMPTY
            return EditState(status, self._failure or strings.LOADING, path=self._path)
        sections = self._sections.sections(self._path, draft, {**self._waiting, **self._setting})
        ways: tuple[Way, ...] = ("image", "fields", "json") if sections else ("fields", "json")
        way = self._way if self._way in ways else "fields"
        text, fault = json_text.shown(draft) if way == "json" else ("", None)
        changes = len(draft.changes)
        status, sentence = self._status(draft, changes)
        return EditState(
            status,
            sentence,
            self._fields_of(way, draft, sections, text, fault),
            changes,
            can_save=status in (EditStatus.DIRTY, EditStatus.FAILED) and self._writable,
            can_undo=draft.at > 0 and not draft.saving,
            can_redo=draft.at < len(draft.history) - 1 and not draft.saving,
            conflicts=draft.disagreements if draft.theirs is not None else (),
            path=self._path,
            key=draft.now.key,
            way=way,
            ways=ways,
            sections=self._with_commands(sections) if way == "image" else (),
            text=text,
            text_line=fault.line if fault is not None else 0,
            text_error=fault.sentence if fault is not None else "",
            verdict=self._judge.verdict.sentence if self._judging else "",
            valid=not self._judge.verdict.broken,
            findings=self._findings(draft),
            summary=self._judge.verdict.summary if self._judging else "",
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
        if changes or self._working:
            return EditStatus.DIRTY, strings.joined(strings.changes(changes), draft.hint)
        if not self._writable:
            return EditStatus.READ_ONLY, words.WAITS if self._waiting or self._later else strings.READ_ONLY_FORM
        return EditStatus.CLEAN, draft.hint or draft.note

    @property
    def title(self) -> str:
        """The title of the tab."""
        return self.state.title

    def field(self, pointer: str) -> Field | None:
        """A member of the attributes by its pointer, or a field of a section by its id."""
        if self._several is not None:
            return self._several.field(pointer)
        draft = self._drafts.get(self._path)
        if draft is None:
            return None
        if pointer.startswith(json_text.LINE):
            found = json_text.lines_of(*json_text.shown(draft))
        elif is_section_field(pointer):
            found = fields_of(self._sections.sections(self._path, draft))
        else:
            found = self._tree_fields(draft)
        return next((f for f in found if f.pointer == pointer), None)

    def _fields_of(
        self, way: Way, draft: Draft, sections: tuple[FormSection, ...], text: str, fault: TextFault | None
    ) -> tuple[Field, ...]:
        if way == "json":
            return json_text.lines_of(text, fault)
        return fields_of(sections) if way == "image" else self._tree_fields(draft)

    def _tree_fields(self, draft: Draft) -> tuple[Field, ...]:
        if self._tree is None:
            self._tree = fields(draft, FOLD_ABOVE)
        return self._tree

    def show_way(self, way: Way) -> None:
        """Shows the attributes in another way; what is edited and not saved is the same in all of them."""
        self._way = way
        self._refresh()

    def next_way(self) -> None:
        """Shows the attributes in the way after this one."""
        ways = self.state.ways
        self.show_way(ways[(ways.index(self.state.way) + 1) % len(ways)])

    def judge(self, on: bool) -> None:
        """Whether somebody sees the form: what they type is judged by the text of OME-Zarr, in the background."""
        if self._judging != on:
            self._judging = on
            if self._several is not None:
                self._several.judge(on)
            self._refresh()

    def diff(self) -> Diff:
        if self._several is not None:
            return self._several.diff()
        draft = self._drafts.get(self._path)
        if draft is None:
            return Diff("", ())
        return self._diff_behind(draft) if is_large(draft) else draft.diff()

    def _refresh(self) -> None:
        self._state = self._tree = None
        draft = self._drafts.get(self._path) if self._several is None else None
        if draft is not None and self._judging:
            self._judge.look_at(draft)
        self._notify.soon()

    def _tell(self) -> None:
        _ = self.state  # builds the state now; errors are shown by the listeners
        self.changed.emit()

    # ------------------------------------------------------------------ editing
    def _draft(self) -> Draft | None:
        """The draft that may be edited now."""
        draft = self._drafts.get(self._path) if self._several is None else None
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
        if is_large(draft):
            self._change_behind(pointer, change, text)
            return True
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
        """The text of a field as typed; read according to its kind. For lists and objects: JSON text.

        Where the place is open for reading only, the text waits until it is open for writing.
        """
        if self._several is not None:
            self._several.edit(pointer, text, self._writable)
            return
        if not self._writable and self._path in self._drafts:
            self._waiting[pointer] = text
            self._refresh()
            return
        if pointer.startswith(json_text.LINE):
            self.edit_text(json_text.with_line(json_text.shown(self._drafts[self._path])[0], pointer, text))
            return
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
        elif is_section_field(pointer):
            ask = partial(self._sections.edited, self._path, self._drafts[self._path], pointer, text)
            self._change(pointer, lambda d, p: ask(), text)
        elif (kind == "null" and text.strip() != "null") or kind == "text":
            self._change(pointer, lambda d, p: d.set(p, text), text)
        else:
            spelled = text.strip().lower() if kind == "bool" else text.strip()
            self._change(pointer, lambda d, p: d.set_text(p, spelled), text)

    def _type_waiting(self) -> None:
        """Applies what was typed, or taken from elsewhere, before the place was open for writing."""
        self._take()
        if self._writable and self._path in self._drafts:
            waiting, self._waiting = self._waiting, {}
            for pointer, text in waiting.items():
                self.edit(pointer, text)
            self._do_later()

    def _wrong(self, pointer: str, text: str, why: str) -> None:
        draft = self._draft()
        if draft is not None:
            draft.errors[pointer] = (text, why)
            self._refresh()

    def edit_text(self, text: str) -> None:
        """The text of all attributes; one that is no JSON stays as it is typed, with the line that is wrong."""
        self._change(json_text.WHOLE, lambda d, _: json_text.with_text(d, self._drafts[self._path].prefix, text), text)

    def edit_json(self, pointer: str, text: str) -> None:
        """Replaces a value by JSON text, its kind with it."""
        self._change(pointer, lambda d, p: d.set_text(p, text), text)

    def _refuse(self, why: str) -> None:
        """Refuses an edit, and shows why."""
        draft = self._draft()
        if draft is not None:
            draft.hint = why
            self._refresh()

    def undo(self) -> None:
        """Takes back the last edit, also one that was saved: save again to write that."""
        self._travel(-1)

    def redo(self) -> None:
        self._travel(1)

    def _travel(self, by: Literal[-1, 1]) -> None:
        if self._several is not None:
            self._several.travel(by)
            return

        def act() -> None:
            draft = self._draft()
            if draft is not None and 0 <= draft.at + by < len(draft.history):
                draft.at += by
                draft.errors.clear()
                draft.failure = draft.note = draft.hint = ""
                self._refresh()

        self._in_turn(act)

    def revert(self) -> None:
        """Drops all changes; `undo` brings them back."""
        if self._several is not None:
            self._several.revert()
            return

        def act() -> None:
            draft = self._draft()
            if draft is not None and (draft.dirty or draft.errors):
                draft.push(draft.base)
                draft.errors.clear()
                self._refresh()

        self._in_turn(act)

    def fold(self, pointer: str, folded: bool) -> None:
        draft = self._drafts.get(self._path)
        if draft is not None:
            draft.folded[pointer] = folded
            self._refresh()

    def reload(self) -> None:
        """Reads the document again; changes not saved are dropped."""
        if self._several is not None and self._hierarchy is not None:
            for path in self._several.paths:
                self._drafts.pop(path, None)
            self._several.show(self._hierarchy, self._several.asked, self._writable)
            return
        self._drafts.pop(self._path, None)
        self._load(self._path, self._kind)
        self._refresh()
