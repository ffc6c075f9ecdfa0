"""The attributes of a node as a form. Nothing is written before `save`, and saving keeps all bytes that were not
edited.

The presenter knows which form is displayed, that of the selected node or that of several, and provides the interface
for hosts. The forms are in node_form.py and several.py, the edited documents in drafts.py, snapshots in view_models.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from psygnal import Signal

from zarrscope.check.finding import Finding
from zarrscope.ome.edits import Edit
from zarrscope.runtime.threads import Owner
from zarrscope_app.presenters.coalesce import CoalescedCall
from zarrscope_app.presenters.commands import LABELS, command
from zarrscope_app.presenters.form.closing import closing
from zarrscope_app.presenters.form.command_lines import command_lines
from zarrscope_app.presenters.form.draft import Draft
from zarrscope_app.presenters.form.drafts import Drafts
from zarrscope_app.presenters.form.member_actions import MemberActions
from zarrscope_app.presenters.form.mending import Asked
from zarrscope_app.presenters.form.node_form import NodeForm
from zarrscope_app.presenters.form.protocol import Form
from zarrscope_app.presenters.form.put_aside import PutAside
from zarrscope_app.presenters.form.revealing import reveal, turn
from zarrscope_app.presenters.form.saving import Saver
from zarrscope_app.presenters.form.search import FormSearch
from zarrscope_app.presenters.form.sections.image import CHANNELS
from zarrscope_app.presenters.form.sections.model import Subject
from zarrscope_app.presenters.form.several import SeveralForm
from zarrscope_app.presenters.form.text_checks import BeingTyped, TextChecks
from zarrscope_app.presenters.form.view_models import Closing, Diff, EditState, EditStatus, Field, Side, Way, Whose
from zarrscope_app.presenters.form.waiting import Aside, FormAct, Waiting, WaitingAct
from zarrscope_app.presenters.node_details import NodeDetails
from zarrscope_app.presenters.signals import signal

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy

__all__ = ["EditPresenter", "EditState", "EditStatus"]

ViewChanges = Callable[[str], Sequence[Asked]]
"""The settings of the displayed picture as changes for the image at a path; () if the picture shows another node."""


class EditPresenter(MemberActions):
    """The presenter of the form. All methods run on the host's thread, and none waits for the store. After a method has
    changed something, there is a new `state`, and `changed()` is emitted once per pass of the event loop."""

    changed = signal()
    saved = Signal(str)
    """The path of a node whose document was written."""
    failed = Signal(object, str)
    """Emits (error, path of the node) when a document could not be saved."""
    unapplied = Signal(str, str)
    """Emits (path of a node, sentence) when texts for it cannot be applied before it is displayed; ("", "") when they
    are applied."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._notify = CoalescedCall(owner.post, self._tell)
        self._expected = "/"
        self._drafts = Drafts()
        self.asked_save = self._drafts.asked_save
        self._waiting = Waiting()
        self._saver = Saver(owner, self._drafts, self._refresh, self.saved.emit, self.failed.emit)
        self.tell_wait = self._saver.tell_wait
        self._one = NodeForm(owner, self._drafts, self._waiting, self._saver, self._refresh)
        self._put_aside = PutAside(owner, self._drafts, self._waiting, self._saver, self._refresh, self.unapplied.emit)
        self._several: SeveralForm | None = None
        """The form of the nodes that are selected together, displayed instead of that of one node."""
        self._left: list[SeveralForm] = []
        """Forms of earlier selections whose edits are still being made."""
        self._text_checks = TextChecks(owner)
        self.being_typed = BeingTyped(self._drafts, lambda: self._form.paths)
        self.search = FormSearch(owner, self._drafts, self._show_found, lambda: self.state)
        self._judging = False
        self._view: ViewChanges = lambda path: ()
        self._state: EditState | None = None

    @property
    def _form(self) -> Form:
        """The displayed form."""
        return self._several if self._several is not None else self._one

    # ------------------------------------------------------------------ for the session
    def show_node(self, details: NodeDetails) -> None:
        """Selects a node, whose document is then read in the background. Edits of other nodes are kept."""
        node = details.node
        assert node is not None, "the view is one of nodes that could be read"
        self._one.set_details(details)
        self.select(node.path, node.kind)

    def expect(self, path: str) -> None:
        """Prepares for a node that is being opened. If it has unsaved edits, its form is shown at once."""
        self._expected = path
        self._one.expect()
        self._to_expected()

    def _to_expected(self) -> None:
        drafts, path = self._drafts, self._expected
        if self._several is None and path in drafts.by_path and path != drafts.path:
            self._go(path)
            self._one.start()
            self._refresh()

    def note_documents(self) -> None:
        """Called before the hierarchy is opened for writing, when texts wait for that: if a document is another one by
        then, the person looks at the changes before they are saved."""
        several = self._several
        self.asked_save.note(self._drafts.selected_by_path if several is None else several.by_path)

    def _leave(self) -> None:
        """Leaves the displayed form. Documents without edits are read again on return."""
        self.asked_save.forget()
        if self._several is not None:
            self._waiting.put_aside(self._several.asked, self._several.waiting, self._drafts)
            self._left.append(self._several)
            self._show_together(None)
        busy = [form for form in self._left if not form.leave()]
        kept = {path for form in busy for path in form.paths}
        gone = {self._drafts.path, *(path for form in self._left for path in form.paths)} - kept
        self._left = busy
        self._drafts.forget_unchanged(gone)

    def _show_together(self, form: SeveralForm | None) -> None:
        self._several, self._drafts.together = form, form is not None

    def show_nothing(self, sentence: str = "") -> None:
        """Shows `sentence` in place of the form, for a node that cannot be read. Unsaved edits stay; those of this node
        are shown."""
        if self._go(self._expected):
            self._one.show_nothing(sentence)
            self._refresh()

    def attach(self, hierarchy: Hierarchy, writable: bool) -> None:
        """Sets the hierarchy, which may be the same one opened again. Drafts stay; saving compares them with the stored
        documents."""
        self._drafts.hierarchy, self._drafts.writable = hierarchy, writable
        self._drafts.forget_unchanged()
        if self._several is not None:
            self._several.show(hierarchy, self._several.asked)
            if writable:
                self._waiting.do_acts(self._several, together=True)
        self._refresh()

    def _apply_aside(self) -> None:
        """Applies what waits for nodes whose form is not displayed, if the hierarchy is open for writing by now."""
        busy = (*self._shown_together, *(form for form in self._left if form.busy))
        self._put_aside.apply({path for form in busy for path in form.asked})

    def select(self, path: str, kind: Literal["group", "array"]) -> None:
        """Shows the form of a node, unless several nodes are edited in one form."""
        goes = self._go(path)
        self._drafts.kind = kind
        if not goes:
            return
        self._one.start()
        if self._drafts.selected is None:
            self._one.load(opened=True)
        self._refresh()
        self._no_longer_told(self._waiting.here)
        self._one.type_waiting()

    def _go(self, path: str) -> bool:
        """Makes `path` the selected node. Returns False while several nodes are edited in one form, which stays."""
        alone = self._several is None
        if not alone or self._drafts.path != path:
            if alone:
                self._leave()
            self._waiting.go(self._drafts.path, path)
            self._drafts.path = path
        return alone

    def _no_longer_told(self, waiting: Aside) -> None:
        """Called when nodes are selected, whose texts are then applied."""
        if waiting.told:
            waiting.told = False
            self.unapplied.emit(waiting.paths[0], "")

    def show_several(self, paths: Sequence[str]) -> None:
        """Shows one form for several nodes. For one node, or none, shows the selected node's own form."""
        hierarchy = self._drafts.hierarchy
        if hierarchy is None or tuple(paths) == self.several or (len(paths) < 2 and self._several is None):
            return
        self._leave()
        if len(paths) < 2:
            if self._drafts.selected is None:
                self._one.load()
            self._refresh()
            return
        self._one.stop_loading()
        form = SeveralForm(self._owner, self._drafts, self._refresh, self.saved.emit)
        self._show_together(form)
        form.judge(self._judging)
        waiting = self._waiting.take_up(tuple(paths))
        form.type_again(waiting.texts)
        self._no_longer_told(waiting)
        form.show(hierarchy, paths)

    @property
    def several(self) -> tuple[str, ...]:
        """The paths of the nodes that are edited together; () while the form of one node is displayed."""
        return self._several.asked if self._several is not None else ()

    @property
    def dirty_paths(self) -> frozenset[str]:
        """The paths of all nodes of the hierarchy with unsaved edits."""
        return frozenset(self._drafts.unsaved())

    @property
    def unsaved(self) -> int:
        """The number of unsaved changes of all nodes."""
        return sum(len(draft.changes) for draft in self._drafts.by_path.values())

    @property
    def stored_findings(self) -> tuple[Finding, ...] | None:
        """The faults of the stored attributes of the displayed node; None while they are unknown."""
        return self._one.stored_findings

    def unsaved_drafts(self) -> dict[str, Draft]:
        """The drafts with unsaved changes, by node path."""
        return self._drafts.unsaved()

    def put_back(self, drafts: dict[str, Draft]) -> None:
        """Restores edits of an earlier run, for nodes without unsaved edits of their own."""
        for path, draft in drafts.items():
            if draft.dirty and path not in self.dirty_paths:
                self._drafts.by_path[path] = draft
        self._to_expected()
        self._refresh()

    def tell(self, sentence: str) -> None:
        """Shows a sentence about the whole form, not about one of its fields."""
        if (draft := self._drafts.selected) is not None:
            draft.hint = sentence
        self._refresh()

    # ------------------------------------------------------------------ snapshots
    @property
    def state(self) -> EditState:
        """The snapshot of the form, which is made when it is first asked for after a change."""
        if self._state is None:
            self._state = self._with_acts(self._with_commands(self._form.state))
        return self._state

    @property
    def brief(self) -> EditState:
        """The snapshot without fields and texts, for titles and commands while the form is not displayed."""
        return self._state if self._state is not None else self._with_acts(self._form.brief)

    def _with_acts(self, state: EditState) -> EditState:
        return self._waiting.with_acts(state, None if self._several is None else self._several.waiting)

    def _with_commands(self, state: EditState) -> EditState:
        """The state with a command beside the section of the channels, which copies the settings of the displayed
        picture."""
        if not state.sections or not self._view_changes():
            return state
        sections = [replace(s, command="take-view") if s.id == CHANNELS.id else s for s in state.sections]
        return replace(state, sections=tuple(sections))

    @property
    def title(self) -> str:
        """The title of the tab."""
        return self.brief.title

    def field(self, pointer: str) -> Field | None:
        """A member of the attributes by its pointer, or a field of a section by its id."""
        return self._form.field(pointer)

    def show_way(self, way: Way) -> None:
        """Shows another view of the attributes (form, text …); unsaved edits are the same in all of them."""
        self._one.show_way(way)

    def next_way(self) -> None:
        """Shows the next view of the attributes."""
        ways = self.state.ways
        if len(ways) < 2:
            return
        self.show_way(ways[(ways.index(self.state.way) + 1) % len(ways)])

    def judge(self, on: bool) -> None:
        """Sets whether the form is visible: then typed text is checked against OME-Zarr, in the background."""
        if self._judging != on:
            self._judging = on
            self._one.judge(on)
            if self._several is not None:
                self._several.judge(on)
            self._refresh()

    def diff(self) -> Diff:
        """The differences of the edited documents from the stored ones."""
        return self._form.diff()

    def _refresh(self) -> None:
        self._state = None
        self._one.invalidate()
        self._notify.soon()

    def _tell(self) -> None:
        if not all(draft.settled for draft in self._drafts.by_path.values()):
            _ = self.state  # finds the changes, which listeners store for the next start
        self.changed.emit()
        self._one.check()
        self._apply_aside()

    # ------------------------------------------------------------------ editing
    @property
    def busy(self) -> bool:
        """Whether an edit of a large document is being made."""
        return self._one.busy

    def when_edited(self, then: Callable[[], object]) -> bool:
        """Calls `then` when the running edits of a large document have ended; returns False if there are none."""
        busy = self._one.busy
        if busy:
            self._one.when_edited(then)
        return busy

    def edit(self, pointer: str, text: str) -> None:
        """Sets the text of a field as typed, read according to the field's kind; for lists and objects JSON text. It
        waits until the hierarchy is open for writing."""
        self._form.edit(pointer, text)

    def edit_text(self, text: str) -> None:
        """Sets the text of all attributes. A text that is not JSON stays as typed, and its faulty line is marked."""
        self._one.edit_text(text)

    def edit_json(self, pointer: str, text: str) -> None:
        """Replaces a value, and its kind, by JSON text."""
        self._one.edit_json(pointer, text)

    def undo(self) -> None:
        """Undoes the last edit, even one that was saved; the document changes when the form is saved again."""
        self._form.travel(-1)

    def redo(self) -> None:
        """Makes the edit again that `undo` took back last."""
        self._form.travel(1)

    def revert(self) -> None:
        """Drops all changes; `undo` brings them back."""
        self._form.revert()

    def fold(self, pointer: str, folded: bool) -> None:
        """Collapses or expands a list or object."""
        self._one.fold(pointer, folded)

    def reload(self) -> None:
        """Reads the document again; changes not saved are dropped."""
        drafts = self._drafts
        for path in self._form.paths:
            drafts.by_path.pop(path, None)
        if self._several is None:
            self._one.load()
            self._refresh()
        elif drafts.hierarchy is not None:
            self._several.show(drafts.hierarchy, self._several.asked)

    def try_text(self, pointer: str, text: str, report: Callable[[str], None]) -> None:
        """Checks a text that is being typed into a field of a section: calls `report(sentence)`, with "" if the text is
        valid."""
        if (ask := self._form.why_not(pointer, text)) is not None:
            self._text_checks.ask(ask, report)

    def try_json(self, text: str, report: Callable[[int, str], object]) -> None:
        """Checks a JSON text that is being typed: calls `report(line, sentence)` with the faulty line and the reason,
        or with 0 and "" if the text is valid."""
        if (draft := self._drafts.selected) is not None:
            self._text_checks.ask_json(text, draft, report)

    # ------------------------------------------------------------------ changes by meaning
    def mend(self, pointer: str) -> None:
        """Makes the correction that the finding at `pointer` offers. If the hierarchy is read-only, the correction
        waits until it is open for writing."""
        later = self._one.mend_later(pointer) if self._several is None and not self._drafts.writable else None
        title = next((each.mend for each in self.state.findings if each.pointer == pointer), "") or LABELS["mend"]
        self._when_writable(title, later or (lambda form: form.mend(pointer)))

    def _when_writable(self, title: str, act: FormAct) -> None:
        if self._drafts.writable:
            act(self._form)
        else:
            self._waiting.add(WaitingAct(title, act), self._drafts)
            self._refresh()

    def locate(self, pointer: str) -> str:
        """Shows the field of a finding, in the view that contains it. Returns its id; "" if there is none."""
        return self._form.locate(pointer)

    def take(self, path: str, changes: Sequence[Callable[[Subject], Sequence[Edit]]]) -> None:
        """Makes changes to a node's attributes as one edit, as soon as its form is displayed and can be edited."""
        self._one.semantic_edits.take(path, changes)

    def offer_view(self, view: ViewChanges) -> None:
        """Sets the function from which `take_view` gets contrast, colours and visibility."""
        self._view = view

    def _view_changes(self) -> Sequence[Asked]:
        return next((found for found in map(self._view, self._form.paths) if found), ())

    def take_view(self) -> None:
        """Copies contrast, colours and visibility of the displayed picture into the form, without saving them."""
        if changes := self._view_changes():
            self._when_writable(command("take-view").label, lambda form: form.change(changes))

    # ------------------------------------------------------------------ saving
    @property
    def saving(self) -> bool:
        """Whether any document of the hierarchy is being saved."""
        return self._saver.saving

    def save(self) -> None:
        """Saves in the background: the state is SAVING, then CLEAN, CONFLICT or FAILED. Of several nodes either all are
        saved or none."""
        self._form.save()

    @property
    def can_save_all(self) -> bool:
        """Whether `save_all` has something to save, and no error or conflict prevents it."""
        return self._saver.can_save_all

    def save_all(self, then: Callable[[str | None], object]) -> None:
        """Saves the changes of every node; calls `then(path)` with the first one that could not be saved, or None.
        If one of them has errors or a conflict, nothing is written."""
        self._saver.save_all(then)

    def when_saved(self, then: Callable[[str | None], object]) -> bool:
        """Calls `then`, as in `save_all`, when the running saves have ended; returns False if no save is running."""
        return self._saver.when_saved(then)

    def closing(self) -> Closing | None:
        """The question before the hierarchy is closed; None if nothing would be lost."""
        diff = self.diff_of_all().unified if self.dirty_paths else ""
        return closing(self._drafts, diff, self.can_save_all, self.waiting_texts, self.waiting_acts)

    @property
    def waiting_texts(self) -> list[tuple[str, str]]:
        """(path, text) of the texts that wait until the hierarchy is open for writing."""
        return [(", ".join(each.paths), text) for each in self.waiting_edits for text in each.texts.values()]

    @property
    def waiting_acts(self) -> list[tuple[str, str]]:
        """(path, title) of the actions that wait until the hierarchy is open for writing; they end with the process."""
        return [(", ".join(paths), title) for paths, title in self._waiting.all_acts(self.several)]

    @property
    def waiting_edits(self) -> list[Aside]:
        """The texts that wait until the hierarchy is open for writing, or until their nodes are selected."""
        return self._waiting.with_texts(self._drafts, {form.asked: form.waiting for form in self._shown_together})

    @property
    def unapplied_edits(self) -> list[Aside]:
        """`waiting_edits`, and the texts that are being applied to several nodes, whose documents are read first."""
        together = {form.asked: form.unapplied for form in (*self._left, *self._shown_together)}
        return self._waiting.with_texts(self._drafts, together) + self._put_aside.applied_together

    @property
    def _shown_together(self) -> tuple[SeveralForm, ...]:
        return (self._several,) if self._several is not None else ()

    def wait_again(self, edits: Sequence[Aside]) -> None:
        """Takes the waiting texts of an earlier run, and applies them if the hierarchy is open for writing."""
        self._waiting.wait_again(edits)
        self._refresh()

    def diff_of_all(self) -> Diff:
        """The differences of every document with changes, one after the other."""
        return self._drafts.diff(self._one.diff_of)

    def resolve(self, whose: Whose) -> None:
        """Merges with the stored document. A field that both sides changed gets the value that was chosen for it,
        otherwise that of the side `whose`. The status is then DIRTY or CLEAN."""
        self._form.resolve(whose)

    def command_text(self, url: str) -> str:
        """The unsaved changes of the displayed form as shell commands."""
        unsaved = self._drafts.unsaved()
        return command_lines(url, {path: unsaved[path].changes for path in self._form.paths if path in unsaved})

    def _show_found(self, pointer: str) -> None:
        if (draft := self._drafts.shown) is not None:
            reveal(draft, pointer)
            self._one.show_way("fields")

    def turn_page(self, pointer: str, by: int) -> None:
        """Shows the next or the previous page of a long list or object."""
        if (draft := self._drafts.shown) is not None and turn(draft, pointer, by):
            self._refresh()

    def choose(self, pointer: str, side: Side, path: str = "") -> None:
        """Chooses the side whose value a disputed field gets. `path`: the node of the field, if several nodes are
        edited."""
        self._saver.choose(pointer, side, path or self._drafts.path)
