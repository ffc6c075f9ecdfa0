"""Actions on the nodes of one session: first the form and the plan, then a job; the result can be undone.

A plan is made in the background while the form is filled in: `state` holds its lines and a sentence, and whether the
action can be undone; `changed()` is emitted for a new one. `carry_out` runs the action as a job with progress; the
session then reads the hierarchy again and goes to the node's new path. `undo` reverts the last action, also as a job.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from zarrscope.errors import Refused
from zarrscope.model.frozen import frozen
from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.coalesce import CoalescedCall
from zarrscope_app.presenters.form.presenter import EditPresenter
from zarrscope_app.presenters.jobs import JobsPresenter, Report
from zarrscope_app.presenters.nodes import words
from zarrscope_app.presenters.nodes.acts import (
    Act,
    ActField,
    ActPlace,
    ActResult,
    FieldRefusal,
    Fields,
    PlannedAct,
    Undo,
    as_sentences,
    values,
    with_error,
)
from zarrscope_app.presenters.signals import signal

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.hierarchy import Group, Hierarchy


def _act(id: str) -> Act:
    """The action of an id. The actions, and what they need of the engine, are imported when a person first looks for
    one: an application that only shows data needs neither."""
    from zarrscope_app.presenters.nodes.table import ACTS

    return ACTS[id]


@frozen
class NodesState:
    """The planned action: its id `act`, "" if there is none. `ready`: whether the plan is complete, so that `carry_out`
    would do what `lines` say."""

    act: str = ""
    path: str = ""
    title: str = ""
    label: str = ""
    """The label of the button that carries out the action."""
    fields: Fields = ()
    sentence: str = ""
    undo: str = ""
    """How the action can be undone."""
    final: str = ""
    """The reason why the action cannot be undone, as a warning."""
    lines: tuple[str, ...] = ()
    at_fault: str = ""
    """The id of the field whose text is missing or wrong, so that there is no plan; "" if none is known."""
    danger: bool = False
    ready: bool = False
    planning: bool = False

    @property
    def to(self) -> str:
        """The new path of the node, for an action whose form has one."""
        return self.field("to").text

    @property
    def beneath(self) -> str:
        """The sentence for beneath the form: without one that the hint of a field says already."""
        return "" if self.sentence == self.field(self.at_fault).hint else self.sentence

    def field(self, id: str) -> ActField:
        """The field of this id; an empty one if the form has none."""
        return next((field for field in self.fields if field.id == id), ActField(id, ""))


class OpenHierarchy(Protocol):
    """The members of a session that NodesPresenter uses."""

    owner: Owner
    jobs: JobsPresenter
    edit: EditPresenter

    @property
    def hierarchy(self) -> Hierarchy | None:
        """The open hierarchy; None before it is open."""

    @property
    def node(self) -> Group | Array | None:
        """The selected node; None while it is being read."""

    def follow(self, path: str, to: str | None, *, moved: bool) -> None:
        """Reads everything again after an action on the node at `path`, and selects `to`. With `moved`, `to` is the new
        path of the node, None if it was erased."""


class NodesPresenter:
    """The actions of one session. All methods run on the host's thread; none waits for the store."""

    changed = signal()

    def __init__(self, session: OpenHierarchy) -> None:
        self._session = session
        self._ticket: Ticket | None = None
        self._notify = CoalescedCall(session.owner.post, self.changed.emit)
        self._undos: list[Undo] = []
        self._undoing = False
        self.state = NodesState()

    def prepare(self) -> None:
        """Imports the actions in the background, for a host that shows which of them are possible."""
        self._session.owner.fetch(partial(_act, "remove"), lambda _: None)

    # ------------------------------------------------------------------ available actions
    def may_change(self, path: str) -> bool:
        """Whether the node can be renamed, moved or erased, which needs a hierarchy that is open for writing."""
        return self.may("remove", path)

    def may(self, id: str, path: str) -> bool:
        """Whether the action can be started on the node."""
        hierarchy = self._session.hierarchy
        if hierarchy is None:
            return False
        act = _act(id)
        if path == "/" and not act.roots:
            return False
        return (bool(hierarchy.writable) or not act.writes_here) and act.fits(self._node_at(path))

    def _node_at(self, path: str) -> Group | Array | None:
        node = self._session.node
        return node if node is not None and node.path == path else None

    # ------------------------------------------------------------------ planning
    def begin(self, id: str, path: str) -> None:
        """Plans an action on a node, with the proposed values in the form."""
        act = _act(id)
        place = self._place(path)
        if place is None:
            return
        self._stop()
        state = NodesState(id, path, act.title(place), words.BUTTONS[id], danger=act.danger)
        if act.looks:
            self._put(replace(state, planning=True, sentence=strings.PLANNING))

            def done(outcome: JobResult[Fields]) -> None:
                self._ticket = None
                if outcome.error is not None:
                    headline = strings.problem(outcome.error).headline
                    self._put(replace(state, sentence=headline))
                else:
                    self._put(replace(state, fields=act.described(place, outcome.value or ())))
                    self._plan()

            self._ticket = self._session.owner.fetch(lambda: act.fields(place), done)
            return
        self._put(replace(state, fields=act.described(place, act.fields(place))))
        self._plan()

    def set_field(self, id: str, text: str) -> None:
        """Sets the value of a field as typed or chosen."""
        state = self.state
        place = self._place(state.path) if state.act else None
        if place is None or state.field(id).text == text or all(field.id != id for field in state.fields):
            return
        fields = tuple(replace(field, text=text if field.id == id else field.text, error="") for field in state.fields)
        self._put(replace(state, fields=_act(state.act).described(place, fields)))
        self._plan()

    def cancel(self) -> None:
        """Drops the planned action."""
        self._stop()
        self._put(NodesState())

    def _place(self, path: str) -> ActPlace | None:
        hierarchy = self._session.hierarchy
        return None if hierarchy is None else ActPlace(hierarchy, path, self._node_at(path))

    def _stop(self) -> None:
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None

    def _plan(self) -> None:
        self._stop()
        state, place = self.state, self._place(self.state.path)
        if place is None:
            return
        act, given = _act(state.act), values(state.fields)
        blank = replace(state, ready=False, lines=(), undo="", final="", at_fault="")
        at_fault, refused = self._refused(act, place, state)
        if refused:
            self._put(replace(blank, planning=False, sentence=refused, at_fault=at_fault))
            return
        self._put(replace(blank, planning=True, sentence=strings.PLANNING))

        def done(outcome: JobResult[PlannedAct]) -> None:
            self._ticket = None
            if outcome.error is not None or outcome.value is None:
                error = outcome.error or RuntimeError()
                at_fault = state.field(act.at_fault(error))
                found = at_fault.id if at_fault in state.fields else ""
                self._put(replace(blank, planning=False, sentence=strings.problem(error).headline, at_fault=found))
                return
            made = outcome.value
            said = {name: getattr(made, name) for name in ("lines", "sentence", "undo", "final")}
            self._put(replace(blank, ready=True, planning=False, **said))

        self._ticket = self._session.owner.fetch(lambda cancelled: act.plan(place, given, cancelled), done)

    def _refused(self, act: Act, place: ActPlace, state: NodesState) -> FieldRefusal:
        if act.writes_here and not place.hierarchy.writable:
            return "", strings.OPEN_FOR_WRITING
        if place.path == "/" and not act.roots:
            return "", strings.ROOT_STAYS
        if act.saved_first and any(_lies_beneath(path, place.path) for path in self._session.edit.dirty_paths):
            return "", strings.SAVE_FIRST
        wrong = next((field for field in state.fields if field.error), None)
        return (wrong.id, words.see_field(wrong.label)) if wrong else act.refused(place, values(state.fields))

    # ------------------------------------------------------------------ doing
    def carry_out(self) -> None:
        """Carries out the planned action as a job. If a field keeps the plan from being made, the sentence becomes the
        error of that field; otherwise does nothing while the plan is incomplete."""
        state = self.state
        if state.ready:
            self.cancel()
            self._run(state)
        elif state.at_fault and not state.field(state.at_fault).error:  # an error that was there is more precise
            error, at = state.sentence, state.at_fault
            fields = tuple(with_error(field, error) if field.id == at else field for field in state.fields)
            self._put(replace(state, fields=fields, sentence=""))

    def rename(self, path: str, name: str) -> None:
        """Gives the node another name in its group, without showing a plan, because nothing can be lost."""
        act, place = _act("rename"), self._place(path)
        if place is None or not name or name == place.name:
            return
        state = NodesState("rename", path, act.title(place), fields=(ActField("to", "", name),))
        _, refused = self._refused(act, place, state)
        if refused:
            self._session.jobs.run(state.title, lambda report, cancelled: _fail(refused))
        else:
            self._run(state)

    def _run(self, state: NodesState) -> None:
        session, place = self._session, self._place(state.path)
        if place is None:
            return
        act, given = _act(state.act), values(state.fields)

        def work(report: Report, cancelled: Callable[[], bool]) -> ActResult:
            return act.do(place, given, report, cancelled)

        def done(outcome: JobResult[ActResult]) -> str:
            if outcome.error is not None or outcome.value is None:
                return ""
            made = outcome.value
            self._done(act, state, made)
            return " ".join(part for part in (made.sentence, as_sentences(*made.notes)) if part)

        def late(outcome: JobResult[ActResult]) -> str:
            made = outcome.value
            if made is None:
                return ""
            self._done(act, state, made)  # so that the part that was done can be undone
            if made.cancelled:
                return ""
            return " ".join((strings.TOO_LATE, *filter(None, (made.sentence, as_sentences(*made.notes)))))

        def left(outcome: JobResult[ActResult]) -> str:
            if outcome.value is not None:
                return outcome.value.sentence
            headline = strings.problem(outcome.error or RuntimeError()).headline
            return "" if headline == strings.STOPPED else headline  # the work had not begun

        session.jobs.run(state.title, work, done, late, left)

    def _done(self, act: Act, state: NodesState, made: ActResult) -> None:
        """Goes to the node's new path, and remembers how to undo the action."""
        if made.undo is not None:
            self._undos.append(made.undo)
        self._notify.soon()
        if act.writes_here:
            self._session.follow(state.path, made.to, moved=made.moved)

    # ------------------------------------------------------------------ undoing
    @property
    def undo_label(self) -> str:
        """ "Undo deleting nuclei"; "" if there is nothing to undo."""
        return words.undo_title(self._undos[-1].name) if self._undos and not self._undoing else ""

    def undo(self) -> None:
        """Undoes the last action, as a job. If that is no longer possible, the job gives the reason, and the action is
        dropped."""
        session, hierarchy = self._session, self._session.hierarchy
        if not self.undo_label or hierarchy is None:
            return
        last = self._undos[-1]
        self._undoing = True

        def done(outcome: JobResult[str]) -> str:
            self._undoing = False
            if last in self._undos:
                self._undos.remove(last)
            self._notify.soon()
            if outcome.error is not None or outcome.value is None:
                return ""
            session.follow(outcome.value, outcome.value, moved=False)
            return words.undone(last.name)

        def late(outcome: JobResult[str]) -> str:
            if outcome.error is not None:  # the action stays, so that undoing it can be tried again
                self._undoing = False
                self._notify.soon()
                return ""
            told = done(outcome)
            return f"{strings.TOO_LATE} {told}" if told else ""

        session.jobs.run(words.undo_title(last.name), lambda report, cancelled: last.work(hierarchy), done, late)
        self._notify.soon()

    def _put(self, state: NodesState) -> None:
        self.state = state
        self._notify.soon()


def _fail(sentence: str) -> ActResult:
    raise Refused(sentence)


def _lies_beneath(path: str, above: str) -> bool:
    return f"{path}/".startswith(f"{above.rstrip('/')}/")
