"""The form of several nodes: one edit changes all of their documents, one undo reverts the edit in all of them, and
either all are saved or none.

Everything that may take long (reading, editing, merging, comparing, checking) is done in the background, one action
after the other, because there may be hundreds of nodes. Text typed meanwhile is shown as typed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from zarrscope.errors import NotStandard, ZarrscopeError
from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.edits import apply
from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.conflict import FittingFields
from zarrscope_app.presenters.form.draft import Draft, diff_together, new_act
from zarrscope_app.presenters.form.drafts import Drafts
from zarrscope_app.presenters.form.findings import field_of, mend, wrong_texts
from zarrscope_app.presenters.form.judge_of_several import JudgeOfSeveral, summed_up_all
from zarrscope_app.presenters.form.mending import Asked, mended
from zarrscope_app.presenters.form.merged import Merged, MergedNode, each_changed, edited, expected, merged
from zarrscope_app.presenters.form.section_form import with_typed
from zarrscope_app.presenters.form.sections.model import NodeFacts
from zarrscope_app.presenters.form.sections.table import fields_of
from zarrscope_app.presenters.form.several_changes import ChangedNodes, ChangesParts, change_nodes
from zarrscope_app.presenters.form.several_reading import ReadNode, read_nodes
from zarrscope_app.presenters.form.several_saving import Saved, saving, why_unsaved
from zarrscope_app.presenters.form.view_models import Diff, EditState, EditStatus, Field, FormSection, Whose

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy


class SeveralForm:
    """The form of the nodes at `paths`. `drafts` belong to the presenter, which shares them with the form of one node.
    `repaint()` requests a repaint; `saved(path)` is called for each document that was written. Call all methods on the
    host's thread."""

    def __init__(
        self, owner: Owner, drafts: Drafts, repaint: Callable[[], object], saved: Callable[[str], object]
    ) -> None:
        self._owner, self._drafts, self._repaint, self._saved = owner, drafts, repaint, saved
        self._hierarchy: Hierarchy | None = None
        self.asked: tuple[str, ...] = ()
        """The paths of the selected nodes."""
        self.paths: tuple[str, ...] = ()
        """The paths of the selected nodes whose attributes have sections in the form."""
        self._facts: dict[str, NodeFacts] = {}
        self._linked: bool | None = None
        self._loading: Ticket | None = None
        self._failure = self._hint = ""
        self._unread = 0
        self._form = Merged()
        self._expected: Merged | None = None
        """The form with the texts that wait until the hierarchy is open for writing; None before it was made."""
        self._errors: dict[str, tuple[str, str]] = {}
        self._typed: dict[str, str] = {}
        """Field → a text that is being applied, or that waits until the hierarchy is open for writing."""
        self._queue: deque[Callable[[], object]] = deque()
        self._working = self._saving = False
        self._asked_to_save = 0
        self._judge = JudgeOfSeveral(owner, repaint)

    # ------------------------------------------------------------------ nodes
    def show(self, hierarchy: Hierarchy, paths: Sequence[str]) -> None:
        """Reads the documents of these nodes; existing drafts stay."""
        self._hierarchy, self.asked, self.paths, self._failure = hierarchy, tuple(paths), (), ""
        if self._loading is not None:
            self._loading.cancel()

        def done(outcome: JobResult[dict[str, ReadNode | None]]) -> None:
            self._loading = None
            if outcome.value is None:
                self._failure = strings.problem(outcome.error or RuntimeError()).headline
                self._repaint()
                return
            found = {path: outcome.value[path] for path in paths}
            stating = {path: read for path, read in found.items() if read is not None and read.fits}
            for path, read in stating.items():
                self._facts[path] = read.facts
                self._drafts.by_path.setdefault(path, Draft(read.document, read.prefix))
            self.paths = tuple(stating)
            self._unread = sum(read is None for read in found.values())
            if not stating:
                self._failure = words.NOTHING_IN_COMMON
            self._expected = None
            waiting = {**self._typed} if self._drafts.writable else {}
            self._queue.appendleft(partial(self._apply, None))  # not at once: a form that is being made may still run
            self._queue.extend(partial(self._set, id, text) for id, text in waiting.items())
            if self._typed and not waiting:
                self._queue.append(self._expect)
            self._save_as_asked()
            self._run_next()

        self._loading = self._owner.read(partial(read_nodes, hierarchy, paths, self._owner.background), done)
        self._repaint()

    def _save_as_asked(self) -> None:
        """Saves the documents after the edits in the queue, if that was asked for before they could be edited."""
        if not self._drafts.writable:
            self._drafts.asked_save.forget()
        elif (due := self._drafts.asked_save.due(self.by_path)) == "save":
            self.save()
        elif due == "look":
            self._queue.append(partial(setattr, self, "_hint", words.LOOK_FIRST))

    @property
    def waiting(self) -> Mapping[str, str]:
        """Field → a text that waits until the hierarchy is open for writing."""
        return {} if self._drafts.writable else self._typed

    @property
    def unapplied(self) -> Mapping[str, str]:
        """Field → a text that waits, or that is not in the documents yet."""
        return self._typed

    def type_again(self, texts: Mapping[str, str]) -> None:
        """Takes up texts that were typed when these nodes were selected before; called before `show`."""
        self._typed.update(texts)

    def leave(self) -> bool:
        """Called when other nodes are selected. Returns False while edits are still being made: call `leave` again when
        `repaint` is called."""
        if self._loading is not None:
            self._loading.cancel()
            self._loading = None
        self._judge.stop()
        return not self.busy

    @property
    def busy(self) -> bool:
        """Whether an edit or a save is running."""
        return self._working or self._saving or bool(self._queue)

    @property
    def by_path(self) -> dict[str, Draft]:
        """The draft of each node that was read, by path."""
        return {path: draft for path in self.paths if (draft := self._drafts.by_path.get(path)) is not None}

    def _chosen(self) -> list[Draft]:
        return [*self.by_path.values()]

    def _parts(self) -> list[MergedNode]:
        return [
            MergedNode(path, draft.now, draft.base, draft.prefix, self._facts[path], self._linked)
            for path in self.paths
            if (draft := self._drafts.by_path.get(path)) is not None
        ]

    # ------------------------------------------------------------------ background work
    def _apply(self, change: ChangesParts | None, id: str = "", text: str = "") -> None:
        """Applies `change` to the documents in the background (None: no change), and makes the form of the resulting
        documents."""
        self._working = True
        parts = self._parts()
        known = {path: at for path, draft in self._drafts.by_path.items() if (at := draft.known) is not None}

        def done(outcome: JobResult[ChangedNodes]) -> None:
            self._working = False
            made = outcome.value
            if made is None:
                self._failure = strings.problem(outcome.error or RuntimeError()).headline
            else:
                self._adopt(made, id, text)
            self._run_next()

        self._owner.fetch(partial(change_nodes, parts, change, known), done)

    def _adopt(self, made: ChangedNodes, id: str, text: str) -> None:
        self._form = made.form
        if self._typed.get(id) == text:
            del self._typed[id]
        self._hint = "" if id else made.refusal
        if made.refusal:
            if id:
                self._errors[id] = (text, made.refusal)
            return
        self._errors.pop(id, None)
        if made.documents:
            self._failure = ""
            self._forget_notes()
        act = new_act()
        for path, document in made.documents.items():
            self._drafts.by_path[path].push(document, act)
            self._drafts.by_path[path].note_channels(self._facts[path])
        for path, known in made.diffs.items():
            self._drafts.by_path[path].know(*known)

    def _enqueue(self, act: Callable[[], object]) -> None:
        """Runs `act` when all earlier requests are done."""
        self._queue.append(act)
        if self.occupied:
            self._repaint()
        else:
            self._run_next()

    @property
    def occupied(self) -> bool:
        """Whether documents are being read, edited or saved."""
        return self._working or self._saving or self._loading is not None

    def _run_next(self) -> None:
        while self._queue and not self.occupied:
            self._queue.popleft()()
        if not self.busy:
            self._judge.look_at(self._parts())
        self._repaint()

    # ------------------------------------------------------------------ editing
    def edit(self, id: str, text: str) -> None:
        """Sets a field of all nodes; if the hierarchy is read-only, the text waits until it is open for writing."""
        field = self.field(id)
        if field is not None and field.text == text and not field.error and not field.differs:
            return
        self._typed[id] = text
        self._drafts.asked_save.forget()
        self._enqueue(partial(self._set, id, text) if self._drafts.writable else self._expect)

    def _expect(self) -> None:
        """Makes the form with the texts that wait, so that fields which follow them show their new values."""
        if self._drafts.writable:
            return
        parts, places, texts = self._parts(), self._form.places, {**self._typed}
        self._working = True

        def done(outcome: JobResult[Merged]) -> None:
            self._working = False
            self._expected = outcome.value
            self._run_next()

        self._owner.fetch(lambda: merged(expected(parts, places, texts)), done)

    def _set(self, id: str, text: str) -> None:
        if id == "linked":
            self._linked = text.strip().lower() == "true"
            self._apply(None, id, text)
            return
        places = self._form.places.get(id)
        if places is None:  # an earlier action removed the field
            self._typed.pop(id, None)
            return
        self._apply(lambda parts: edited(parts, places, text), id, text)

    def change(self, asked: Sequence[Asked]) -> None:
        """Makes changes to all nodes, as one action."""

        def made(part: MergedNode) -> Document:
            return mended(part.document, part.prefix, part.facts, asked)

        self._enqueue(lambda: self._apply(lambda parts: each_changed(parts, made)))

    def mend(self, pointer: str) -> None:
        """Makes the correction that the finding at `pointer` offers, in all nodes that have it."""

        known = {part.path: self._judge.verdict_of(part) for part in self._parts()}  # an earlier request may change it

        def made(part: MergedNode) -> Document:
            found = known.get(part.path)
            edits = (
                mend(part.subject, each) for each in (found.violations if found else ()) if each.pointer == pointer
            )
            return apply(part.document, part.prefix, next(filter(None, edits), ()))

        self._enqueue(lambda: self._apply(lambda parts: each_changed(parts, made)))

    def locate(self, pointer: str) -> str:
        """The id of the field of a finding; "" if there is none."""
        if pointer in self._errors:
            return pointer
        for part in self._parts():
            id = field_of(part.subject, pointer)
            if id:
                return next((own for own, places in self._form.places.items() if places.get(part.path) == id), "")
        return ""

    def why_not(self, id: str, text: str) -> Callable[[], str]:
        """A function that returns the reason why a text is invalid, or ""; any thread may call this function."""
        parts = [part.without_values() for part in self._parts()]
        places = self._form.places.get(id, {})

        def work() -> str:
            if id == "linked":
                return ""
            try:
                edited(parts, places, text)
            except ZarrscopeError as error:
                return words.refusal(error, 300)
            return ""

        return work

    def travel(self, by: Literal[-1, 1]) -> None:
        """Undoes (-1) or redoes (1) the latest action, in all nodes that it changed."""

        def act() -> None:
            able = [d for d in self._chosen() if 0 <= d.at + by < len(d.history)]
            if not able:
                return
            self._forget_notes()
            numbers = [d.acts[d.at] if by < 0 else d.acts[d.at + 1] for d in able]
            wanted = max(numbers) if by < 0 else min(numbers)
            for draft, number in zip(able, numbers, strict=True):
                if number == wanted:
                    draft.travel(by)
            self._errors.clear()
            self._apply(None)

        self._enqueue(act)

    def revert(self) -> None:
        """Drops the changes of all nodes, as one action."""

        def act() -> None:
            number = new_act()
            for draft in self._chosen():
                draft.push(draft.base, number)
            self._errors.clear()
            self._apply(None)

        self._enqueue(act)

    # ------------------------------------------------------------------ saving
    def save(self) -> None:
        """Writes the documents of all nodes, or none of them, as soon as the hierarchy is writable."""
        if not self._drafts.writable:
            self._drafts.asked_save.ask(self.by_path)
            return

        def act() -> None:
            self._asked_to_save -= 1
            self._save(may_merge=True)

        self._asked_to_save += 1
        self._enqueue(act)

    def _save(self, may_merge: bool) -> None:
        hierarchy = self._hierarchy
        drafts = {path: self._drafts.by_path[path] for path in self.paths if self._drafts.by_path[path].dirty}
        if hierarchy is None or not drafts or self._errors or self._in_conflict:
            return
        work = saving(hierarchy, drafts)
        self._saving, self._failure = True, ""
        self._forget_notes()
        for draft in drafts.values():
            draft.saving = True

        def done(outcome: JobResult[Saved]) -> None:
            self._saving = False
            for draft in drafts.values():
                draft.saving = False
            found = outcome.value or Saved()
            if isinstance(outcome.error, NotStandard):
                for draft in drafts.values():
                    draft.confirmed = draft.now.bytes
                self._failure = words.not_standard(outcome.error.message)
            elif outcome.error is not None:
                self._failure = why_unsaved(outcome.error, drafts)
            for path, document in found.saved.items():
                drafts[path].saved(document)
                self._saved(path)
            for path, met in found.met.items():
                drafts[path].adopt(met)
            if found.met and may_merge and not self._in_conflict:
                self._save(may_merge=False)
            elif not self._working:
                self._enqueue(lambda: self._apply(None))

        self._owner.fetch(work, done)
        self._repaint()

    def _forget_notes(self) -> None:
        """Drops what was told about the act before, of all nodes: the next act may concern only some of them."""
        for draft in self._chosen():
            draft.note = ""

    @property
    def _in_conflict(self) -> bool:
        return any(draft.theirs is not None for draft in self._chosen())

    def resolve(self, whose: Whose) -> None:
        """Merges every document in conflict. A field that both sides changed gets the value that was chosen for it,
        otherwise that of the side `whose`."""

        def act() -> None:
            copies = [(draft, draft.copy()) for draft in self._chosen() if draft.theirs is not None]
            self._working = True

            def work() -> None:
                for _, made in copies:
                    made.resolve(whose)

            def done(outcome: JobResult[None]) -> None:
                for draft, made in copies:
                    draft.adopt(made)
                self._apply(None)

            self._owner.fetch(work, done)

        self._enqueue(act)

    # ------------------------------------------------------------------ the snapshot
    def judge(self, on: bool) -> None:
        """Sets whether the form is visible."""
        self._judge.on = on
        if not self.busy:
            self._judge.look_at(self._parts())

    @property
    def state(self) -> EditState:
        """A snapshot of the form."""
        path, writable = self._drafts.path, self._drafts.writable
        if self._loading is not None or (not self.paths and not self._failure):
            return EditState(EditStatus.EMPTY, words.reading(len(self.asked)), path=path, title=self.title)
        if not self.paths:
            return EditState(EditStatus.FAILED, self._failure, path=path, title=self.title)
        drafts = self._chosen()
        sections = self.sections
        changes = sum(len(draft.changes) for draft in drafts)
        status, sentence = self._status(changes, writable)
        parts = self._parts()
        known = self._judge.verdicts(parts)
        drafted = [(path, self._drafts.by_path[path]) for path in self.paths]
        conflicts = [replace(each, path=path) for path, draft in drafted for each in draft.disagreements]
        fitting = FittingFields.of_nodes({path: draft.sides.fitting for path, draft in drafted})
        return EditState(
            status,
            sentence,
            fields_of(sections),
            changes,
            can_save=status in (EditStatus.DIRTY, EditStatus.FAILED) and writable,
            can_undo=not self._saving and any(draft.at > 0 for draft in drafts),
            can_redo=not self._saving and any(draft.at < len(draft.history) - 1 for draft in drafts),
            conflicts=tuple(conflicts),
            fitting=fitting,
            path=path,
            way="image",
            ways=("image",),
            sections=sections,
            verdict=words.judged_all({path: (each.sentence, bool(each.broken)) for path, each in known.items()}),
            valid=not any(each.broken for each in known.values()),
            findings=wrong_texts(self._errors) + self._judge.findings(parts),
            summary=summed_up_all({path: (each.summary, bool(each.broken)) for path, each in known.items()}),
            title=f"{self.title} •" if changes else self.title,
            waits=bool(self._typed) and not self._drafts.writable,
        )

    @property
    def brief(self) -> EditState:
        """The snapshot: a form of several nodes is made only while it is displayed."""
        return self.state

    @property
    def title(self) -> str:
        """The title of the tab."""
        return words.attributes_of(len(self.paths or self.asked))

    @property
    def sections(self) -> tuple[FormSection, ...]:
        """The sections, with typed text that is invalid or not yet applied."""
        typed = {**self._errors, **{id: (text, "") for id, text in self._typed.items()}}
        shown = self._expected if self._expected is not None and not self._drafts.writable else self._form
        return tuple(with_typed(section, typed) for section in shown.sections)

    def _status(self, changes: int, writable: bool) -> tuple[EditStatus, str]:
        scope = words.several(len(self.paths), len(self.asked) - len(self.paths) - self._unread, self._unread)
        disagreements = sum(len(draft.disagreements) for draft in self._chosen())
        if self._saving or self._asked_to_save:
            return EditStatus.SAVING, self._drafts.wait or strings.SAVING
        if self._in_conflict:
            return EditStatus.CONFLICT, strings.conflict(disagreements)
        if self._errors:
            return EditStatus.INVALID, next(iter(self._errors.values()))[1]
        if self._failure:
            return EditStatus.FAILED, self._failure
        if changes or (self._typed and writable):
            counted = words.changes_in(changes, sum(draft.dirty for draft in self._chosen())) if changes else ""
            return EditStatus.DIRTY, strings.joined(counted, self._hint or scope)
        if not writable:
            return EditStatus.READ_ONLY, words.WAITS if self._typed else strings.joined(strings.READ_ONLY_FORM, scope)
        notes = {draft.note for draft in self._chosen() if draft.note}  # those without a change have none
        return EditStatus.CLEAN, strings.joined(self._hint or (notes.pop() if len(notes) == 1 else ""), scope)

    def field(self, id: str) -> Field | None:
        """A field of the form by its id."""
        return next((each for each in fields_of(self.sections) if each.pointer == id), None)

    def diff(self) -> Diff:
        """The differences of all documents from the stored ones, one after the other."""
        chosen = [draft for draft in self._chosen() if draft.dirty]
        return diff_together([draft.known_diff or Diff(strings.LOADING, ()) for draft in chosen])
