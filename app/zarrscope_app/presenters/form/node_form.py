"""The form of one node. Its sections, its members and its JSON text are three views of the same draft.

Typed text is checked at once: an invalid field keeps its text, shows its error, and blocks saving.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from zarrscope.check.finding import Finding, violation
from zarrscope.nodes.internals import node_context
from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope_app.presenters import formats, strings
from zarrscope_app.presenters.form import json_text, words
from zarrscope_app.presenters.form.background_edits import BackgroundEdits
from zarrscope_app.presenters.form.background_view import BackgroundView, ShownFields, shown_of
from zarrscope_app.presenters.form.draft import Draft
from zarrscope_app.presenters.form.drafts import Drafts
from zarrscope_app.presenters.form.editing import DraftEditor
from zarrscope_app.presenters.form.field_tree import field_at, fields
from zarrscope_app.presenters.form.line_ends import with_own_ends
from zarrscope_app.presenters.form.members import MemberEditor
from zarrscope_app.presenters.form.mending import Asked
from zarrscope_app.presenters.form.protocol import Form
from zarrscope_app.presenters.form.saving import Saver
from zarrscope_app.presenters.form.section_form import Judge, SectionForm, is_section_field
from zarrscope_app.presenters.form.sections.model import node_facts_from
from zarrscope_app.presenters.form.sections.table import SIZE, fields_of, meaning_of
from zarrscope_app.presenters.form.semantic_edits import SemanticEdits
from zarrscope_app.presenters.form.typed_member import typed_value, why_wrong, with_member
from zarrscope_app.presenters.form.view_models import (
    Diff,
    EditState,
    EditStatus,
    Field,
    FieldKind,
    Way,
    Whose,
)
from zarrscope_app.presenters.form.waiting import FormAct, Waiting
from zarrscope_app.presenters.form.whole_text import WHOLE, judgement, read_draft, status_of, ways_of
from zarrscope_app.presenters.node_details import NodeDetails

FOLD_ABOVE = 60
"""Lists and objects with more members than this are collapsed at first."""


class NodeForm:
    """The form of the selected node among `drafts`. `repaint()` requests a repaint. No method waits for the store."""

    def __init__(
        self, owner: Owner, drafts: Drafts, waiting: Waiting, saver: Saver, repaint: Callable[[], object]
    ) -> None:
        self._owner, self._drafts, self._waiting, self._saver, self._repaint = owner, drafts, waiting, saver, repaint
        self._loading: Ticket | None = None
        self._failure = ""
        self._lacking = ""
        """The reason why the selected node has no attributes, or cannot be read; "" for a node that can have some."""
        self.faulty = ""
        """The key of the faulty document of the node; "" if none is faulty."""
        self._way: Way = "image"
        self._way_chosen = False
        self._tree: tuple[Field, ...] | None = None
        self.sections = SectionForm()
        self._judge = Judge(owner, repaint)
        self._background = BackgroundEdits(owner, self.sections, repaint)
        self._view = BackgroundView(owner, self.sections, FOLD_ABOVE, repaint)
        self._editor = DraftEditor(drafts, self._background, repaint)
        self.members = MemberEditor(self._editor, self.field, repaint)
        self.semantic_edits = SemanticEdits(drafts, self._editor, self.sections, self._judge)

    # ------------------------------------------------------------------ the document
    def set_details(self, details: NodeDetails) -> None:
        """Sets what is known about the selected node, beside its document."""
        node = details.node
        assert node is not None, "the view is one of nodes that could be read"
        self.sections.set_facts(node_facts_from(details))
        faulty = node_context(details.hierarchy).faulty_keys(node.path, node.metadata)
        self.faulty = faulty[0] if faulty else ""
        self._lacking = words.FOLDER_HAS_NONE if formats.is_folder(node) else ""

    def load(self, *, opened: bool = False) -> None:
        """Reads the document of the selected node. `opened`: as for `read_draft`."""
        self.stop_loading()
        path, kind, hierarchy = self._drafts.path, self._drafts.kind, self._drafts.hierarchy
        if hierarchy is None or self._lacking:
            return

        key = self.faulty if self._way == WHOLE else ""

        def work() -> Draft:
            draft = read_draft(hierarchy, path, kind, key, opened=opened)
            if draft.large and not draft.whole:
                self.sections.prepare(path, draft, draft.now)
            return draft

        def done(outcome: JobResult[Draft]) -> None:
            self._loading = None
            if outcome.error is not None:
                self._failure = strings.problem(outcome.error, path).headline
            elif outcome.value is not None and path not in self._drafts.unsaved():
                self._drafts.by_path[path] = outcome.value
            self._repaint()
            self.type_waiting()

        self._loading = self._owner.read(work, done)

    def stop_loading(self) -> None:
        """Stops loading, because the document is no longer needed."""
        if self._loading is not None:
            self._loading.cancel()
            self._loading = None

    def start(self) -> None:
        """Starts with another node, or with the same one again; the error of the previous node is no longer shown."""
        self._failure = ""

    def show_nothing(self, sentence: str) -> None:
        """Shows the reason why the node cannot be read, unless it has unsaved edits."""
        self.stop_loading()
        self._failure, self._lacking = "", sentence

    def expect(self) -> None:
        """Forgets the faults of the node before, because another one is being opened."""
        self._failure = self._lacking = self.faulty = ""

    def invalidate(self) -> None:
        """Called when the displayed draft, or other data about its node, may have changed: the next `state` then makes
        the fields again."""
        self._tree = None

    def check(self) -> None:
        """Checks the displayed draft in the background, if it has changed. Called after the hosts have painted it: the
        first check imports packages, and both would take turns with Python's lock."""
        if (draft := self._drafts.shown) is not None:
            text = judgement(self._drafts.hierarchy, self._drafts.path, draft) if draft.whole else None
            self._judge.look_at(draft, text)

    def judge(self, on: bool) -> None:
        """Sets whether the form is visible; typed text of a visible form is checked against the OME-Zarr specification
        in the background."""
        self._judge.on = on

    @property
    def stored_findings(self) -> tuple[Finding, ...] | None:
        """The faults of the displayed node's attributes, as a check of the hierarchy reports them; None if the document
        was not checked yet, or has unsaved edits."""
        draft = self._drafts.shown
        if draft is None or draft.whole or draft.dirty or self._judge.judged is not draft.now:
            return None
        path, key = self._drafts.path, draft.now.key
        return tuple(violation(each, path, key, draft.prefix) for each in self._judge.verdict.violations)

    # ------------------------------------------------------------------ snapshots
    @property
    def brief(self) -> EditState:
        """A new snapshot without fields and texts, for the titles and commands of a form that is not displayed."""
        draft, path = self._drafts.selected, self._drafts.path
        if draft is None:
            if self._lacking and not self._failure:
                return EditState(sentence=self._lacking, path=path, ways=())
            status = EditStatus.FAILED if self._failure else EditStatus.EMPTY
            return EditState(status, self._failure or strings.LOADING, path=path)
        changes = len(draft.changes)
        status, sentence = self._status(draft, changes)
        return EditState(
            status,
            sentence,
            changes=changes,
            can_save=status in (EditStatus.DIRTY, EditStatus.FAILED) and self._drafts.writable,
            can_undo=draft.at > 0 and not draft.saving,
            can_redo=draft.at < len(draft.history) - 1 and not draft.saving,
            path=path,
            key=draft.now.key,
            waits=bool(self._waiting) and not self._drafts.writable,
            title=f"{strings.ATTRIBUTES} •" if draft.dirty else strings.ATTRIBUTES,
        )

    @property
    def state(self) -> EditState:
        """A new snapshot of the form."""
        brief, draft = self.brief, self._drafts.selected
        if draft is None:
            return brief
        waiting = {**self._waiting.texts, **self._background.setting}
        sections = self.sections.sections(brief.path, draft, waiting, self._waiting.texts) if not draft.whole else ()
        ways = ways_of(draft, self.faulty, ("image", "fields", "json") if sections else ("fields", "json"))
        way = WHOLE if draft.whole else self._way if self._way in ways and self._way != WHOLE else "fields"
        if way == "image" and not self._way_chosen and self.sections.are_empty(brief.path, draft):
            way = "fields"
        shown = self._with_waiting(draft, way)
        return replace(
            brief,
            sentence=brief.sentence or (strings.LOADING if way != "image" and not shown.fields else ""),
            fields=fields_of(sections) if way == "image" else shown.fields,
            conflicts=draft.disagreements,
            fitting=draft.sides.fitting,
            way=way,
            ways=ways,
            meaning=meaning_of(sections),
            sections=sections if way == "image" else (),
            text=self._typed_text.get(json_text.WHOLE, shown.text),
            text_shape=None if json_text.WHOLE in self._typed_text else shown.shape,
            text_line=shown.fault.line if shown.fault is not None else 0,
            text_error=shown.fault.sentence if shown.fault is not None else "",
            verdict=self._judge.verdict.sentence if self._judge.on and not draft.whole else "",
            valid=not self._judge.verdict.broken,
            findings=self.semantic_edits.findings,
            summary=self._judge.verdict.summary if self._judge.on and not draft.whole else "",
            shows_document=words.show_document(self._elsewhere) if self._elsewhere and "document" in ways else "",
        )

    def _status(self, draft: Draft, changes: int) -> tuple[EditStatus, str]:
        if draft.whole and not draft.saving and draft.theirs is None:
            stated = status_of(draft, self._drafts.writable)
            if stated is not None and not (self._waiting and not self._drafts.writable):
                return stated
        if draft.saving:
            return EditStatus.SAVING, self._drafts.wait or strings.SAVING
        if draft.theirs is not None:
            return EditStatus.CONFLICT, strings.conflict(len(draft.disagreements))
        if draft.errors:
            return EditStatus.INVALID, next(iter(draft.errors.values()))[1]
        if draft.failure:
            return EditStatus.FAILED, draft.failure
        if changes or self._background.working:
            warning = self._judge.verdict.sentence if draft.whole and self._judge.judged is draft.now else ""
            read = words.READS_VALUES if self._background.reading else draft.added_windows
            return EditStatus.DIRTY, strings.joined(strings.changes(changes), read, warning, draft.hint)
        if not self._drafts.writable:
            sentence = words.WAITS if self._waiting else f"{strings.READ_ONLY_FORM} {self._fault}".strip()
            return EditStatus.READ_ONLY, sentence
        return EditStatus.CLEAN, draft.hint or draft.note or self._fault

    @property
    def _elsewhere(self) -> str:
        """The key of the faulty document while the attributes are shown, if the fault is not in them; otherwise ""."""
        draft = self._drafts.selected
        return self.faulty if draft is not None and not draft.whole else ""

    @property
    def _fault(self) -> str:
        return words.fault_elsewhere(self._elsewhere) if self._elsewhere else ""

    @property
    def _typed_text(self) -> dict[str, str]:
        """The whole text as it was typed, while it is being applied or if it waits and nothing was typed after it."""
        waiting = self._waiting.texts
        return {json_text.WHOLE: waiting[json_text.WHOLE]} if _is_last(waiting) else self._background.setting

    def _with_waiting(self, draft: Draft, way: Way) -> ShownFields:
        """The fields or the text of a view, with the texts that wait until the hierarchy is open for writing."""
        texts = self._waiting.texts
        if way == "image" or not texts or self._drafts.writable:
            return self._shown(draft, way)
        if draft.large:
            shown = self._shown(draft, way)
            return replace(shown, fields=tuple(_overlaid(field, texts) for field in shown.fields))
        made = draft.copy()
        if not draft.whole:
            document, refused = self.sections.expected(self._drafts.path, draft, texts)
            made.push(document)
            made.errors.update(refused)
        elif json_text.WHOLE in texts:
            made.push(json_text.edited(made, texts[json_text.WHOLE]))
        return shown_of(made, way, FOLD_ABOVE)

    def _shown(self, draft: Draft, way: Way) -> ShownFields:
        """The fields of all members, or the JSON text; of a large document, those that were last made in the
        background."""
        if draft.large:
            return self._view.look(self._drafts.path, draft, way)
        if way == "fields":
            return ShownFields(self._tree_fields(draft))
        return shown_of(draft, way, FOLD_ABOVE)

    def _tree_fields(self, draft: Draft) -> tuple[Field, ...]:
        if self._tree is None:
            self._tree = fields(draft, FOLD_ABOVE)
        return self._tree

    def field(self, pointer: str) -> Field | None:
        """A member of the attributes by its pointer, or a field of a section by its id."""
        draft = self._drafts.selected
        if draft is None:
            return None
        if pointer.startswith(json_text.LINE):
            found = self._shown(draft, "json").fields
        elif is_section_field(pointer):
            found = fields_of(self.sections.sections(self._drafts.path, draft))
        else:
            found = self._tree_fields(draft) if not draft.large else self._view.made_of(draft)
            if all(f.pointer != pointer for f in found):
                return field_at(draft, pointer) if draft.large else None
        return next((f for f in found if f.pointer == pointer), None)

    def show_way(self, way: Way) -> None:
        """Shows another view of the attributes; unsaved edits are the same in all of them."""
        draft = self._drafts.shown
        if draft is not None and draft.whole != (way == WHOLE) and (draft.whole or self.faulty):
            if draft.dirty:
                draft.hint = words.SAVE_OR_REVERT
                self._repaint()
                return
            del self._drafts.by_path[self._drafts.path]
            self._way = way
            self.load()
        self._way, self._way_chosen = way, True
        self._repaint()

    def diff(self) -> Diff:
        """The difference between the document and the stored one."""
        draft = self._drafts.selected
        return Diff("", ()) if draft is None else self.diff_of(draft)

    def diff_of(self, draft: Draft) -> Diff:
        """The difference of any draft from its stored document. For a large one it is computed in the background: until
        then a placeholder is returned, and `repaint` is called when it is ready."""
        return self._background.diff(draft) if draft.large else draft.diff()

    # ------------------------------------------------------------------ editing
    @property
    def busy(self) -> bool:
        """Whether an edit of a large document is being made."""
        return self._background.busy

    def when_edited(self, then: Callable[[], object]) -> None:
        """Calls `then` when the running edits have ended; at once if there are none."""
        self._background.in_turn(then)

    def edit(self, pointer: str, text: str) -> None:
        """Sets the text of a field as typed; it is read according to the field's kind. For lists and objects: JSON
        text."""
        draft = self._drafts.selected
        if draft is not None and pointer.startswith(json_text.LINE):
            way: Way = WHOLE if draft.whole else "json"
            before = self._typed_text.get(json_text.WHOLE, self._with_waiting(draft, way).text)
            self.edit_text(json_text.with_line(before, pointer, text))
            return
        if pointer == json_text.WHOLE:
            self.edit_text(text)
            return
        if draft is not None and not self._drafts.writable:
            self._wait(pointer, text)
            return
        field = self.field(pointer)
        if field is not None and field.kind == "text":
            text = with_own_ends(field.text, text)
        if field is None or field.text != text or field.error or self.busy:
            self._set(pointer, text, field)

    def _set(self, pointer: str, text: str, field: Field | None, *, alone: bool = False) -> None:
        """Makes the edit of one field. Unless `alone`, texts beside it that were refused are then tried again."""
        kind: FieldKind = field.kind if field is not None else "text"
        draft = self._drafts.selected
        if kind == "number" and not pointer.startswith(SIZE):  # a size may have a unit
            text = typed_value(field.editor if field is not None else "line", text)
        takes: Callable[[str], bool] = strings.is_number
        if draft is not None and is_section_field(pointer):
            takes = partial(self.sections.takes_number, self._drafts.path, draft, pointer)
        if why := why_wrong(kind, field.row if field is not None else "", text, takes):
            self._editor.wrong(pointer, text, why)
        elif is_section_field(pointer):
            if draft is not None:
                ask = partial(self.sections.edited, self._drafts.path, draft, pointer, text)
                reads = self.sections.must_read(self._drafts.path, draft, pointer)
                if self._editor.change(pointer, lambda d, p: ask(), text, reads=reads) and not alone:
                    self._background.in_turn(partial(self._try_again, draft, pointer))
        else:
            self._editor.change(pointer, lambda d, p: with_member(d, p, kind, text), text)

    def _try_again(self, draft: Draft, pointer: str) -> None:
        """Tries the refused texts of the fields beside an edited one again: the one end of a contrast window may fit
        now that the other one was typed, too."""
        row = pointer.rpartition("/")[0]
        refused = [(other, text) for other, (text, _) in draft.errors.items() if other.rpartition("/")[0] == row]
        for other, text in refused:
            if other != pointer:
                self._set(other, text, self.field(other), alone=True)

    def _wait(self, pointer: str, text: str) -> None:
        """Keeps a text until the hierarchy is open for writing."""
        self._drafts.asked_save.forget()
        self._waiting.type(pointer, text, self._drafts)
        self._repaint()

    def type_waiting(self) -> None:
        """Carries out the edits that were requested before the selected node's draft could be edited, if it can be
        edited now."""
        self.semantic_edits.take_waiting()
        if self._drafts.writable and self._drafts.selected is not None:
            self._waiting.type_texts(self.edit)
            self._waiting.do_acts(self)
            self._save_as_asked()
        elif not self._drafts.writable:
            self._drafts.asked_save.forget()

    def _save_as_asked(self) -> None:
        """Saves the document if that was asked for before it could be edited."""
        if (due := self._drafts.asked_save.due(self._drafts.selected_by_path)) == "save":
            self.save()
        elif due == "look":
            self._background.in_turn(partial(self._editor.refuse, words.LOOK_FIRST))

    def edit_text(self, text: str) -> None:
        """Sets the text of all attributes. A text that is not JSON stays as typed, and its faulty line is marked."""
        draft = self._drafts.selected
        if draft is not None and not self._drafts.writable:
            self._wait(json_text.WHOLE, text)
        elif draft is not None:
            self._editor.change(json_text.WHOLE, lambda d, p: json_text.edited(draft, text, d), text)

    def edit_json(self, pointer: str, text: str) -> None:
        """Replaces a value, and its kind, by JSON text."""
        self._editor.change(pointer, lambda d, p: d.set_text(p, text), text)

    def fold(self, pointer: str, folded: bool) -> None:
        """Collapses or expands a list or object."""
        if (draft := self._drafts.selected) is not None:
            draft.folded[pointer] = folded
            self._repaint()

    def why_not(self, pointer: str, text: str) -> Callable[[], str] | None:
        """A function that returns the reason why a text is invalid, or ""; any thread may call this function. None
        while no document can be edited."""
        draft = self._drafts.selected
        if draft is None:
            return None
        return partial(self.sections.why_not, self._drafts.path, draft, pointer, text)

    def change(self, asked: Sequence[Asked]) -> None:
        """Makes changes, all of them or none, as one step of the undo history."""
        self.semantic_edits.change(asked)

    def mend(self, pointer: str) -> None:
        """Makes the correction that the finding at `pointer` offers."""
        self.semantic_edits.mend(self.semantic_edits.found_at(pointer))

    def mend_later(self, pointer: str) -> FormAct:
        """The correction that the finding at `pointer` offers, as an action for the form of the same node."""
        found = self.semantic_edits.found_at(pointer)

        def act(form: Form) -> None:
            if isinstance(form, NodeForm):
                form.semantic_edits.mend(found)

        return act

    def locate(self, pointer: str) -> str:
        """Shows the field of a finding, in the view of the form that contains the field. Returns the id of the field;
        "" if there is none."""
        id, way = self.semantic_edits.place_of(pointer)
        if way is not None:
            self.show_way(way)
        return id

    def travel(self, by: Literal[-1, 1]) -> None:
        """Undoes the latest edit (-1), or redoes it (1)."""
        self._editor.travel(by)

    def revert(self) -> None:
        """Drops all changes, as one edit."""
        self._editor.revert()

    def save(self) -> None:
        """Saves the document after all edits that were requested before, as soon as the hierarchy is writable."""
        if self._drafts.writable:
            self._background.in_turn(self._saver.save)
        else:
            self._drafts.asked_save.ask(self._drafts.selected_by_path)

    def resolve(self, whose: Whose) -> None:
        """Merges with the stored document. A field that both sides changed gets the value that was chosen for it,
        otherwise that of the side `whose`."""
        draft = self._drafts.shown
        if draft is not None and draft.theirs is not None and draft.large:
            self._background.alter(draft, lambda made: made.resolve(whose))
        else:
            self._saver.resolve(whose)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the nodes in the form: here one, or none."""
        return (self._drafts.path,)


def _is_last(texts: dict[str, str]) -> bool:
    """Whether the whole text was typed after all other texts that wait."""
    return next(reversed(texts), "") == json_text.WHOLE


def _overlaid(field: Field, texts: Mapping[str, str]) -> Field:
    """The field with the text that waits for it."""
    text = texts.get(field.pointer)
    return field if text is None else replace(field, text=text, summary=strings.clean(text, 120), changed=True)
