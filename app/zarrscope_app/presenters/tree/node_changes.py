"""Nodes renamed, moved, copied and erased: the plan first, then a job.

A plan is the act itself over a rehearsal of the store, made in the background while the new place is typed: `state`
holds its lines and a sentence, `changed()` says there is a new one. `carry_out` runs it as a job with its progress; the
session then reads the hierarchy anew and goes where the node went.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

from psygnal import Signal

from zarrscope.model.node_path import clean_path, join_path
from zarrscope.nodes import move as moving
from zarrscope.nodes.edit import vanished, vanishing
from zarrscope.nodes.internals import node_context
from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope.stores.dry_run import Operation, ordered
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.coalesce import CoalescedCall
from zarrscope_app.presenters.form.presenter import EditPresenter
from zarrscope_app.presenters.jobs import JobsPresenter, Report
from zarrscope_app.presenters.tree import operation_text

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy

Act = Literal["rename", "move", "copy", "remove"]
MOST_LINES = 200
"""So many operations of a plan are shown."""


@dataclass(frozen=True)
class NodesState:
    """What is planned. `act` None: nothing is. `ready`: `carry_out` would do what `lines` say."""

    act: Act | None = None
    path: str = ""
    to: str = ""
    title: str = ""
    label: str = ""
    """Of the button that does it."""
    sentence: str = ""
    lines: tuple[str, ...] = ()
    ready: bool = False
    planning: bool = False


class OpenHierarchy(Protocol):
    """The part of a session that this presenter needs."""

    owner: Owner
    jobs: JobsPresenter
    edit: EditPresenter

    @property
    def hierarchy(self) -> Hierarchy | None: ...

    def follow(self, path: str, to: str | None, *, moved: bool) -> None: ...


class NodesPresenter:
    """Plans and runs changes of nodes in one session. All methods run on the host's thread; none waits."""

    changed = Signal()

    def __init__(self, session: OpenHierarchy) -> None:
        self._session = session
        self._ticket: Ticket | None = None
        self._notify = CoalescedCall(session.owner.post, self.changed.emit)
        self.state = NodesState()

    def may_change(self, path: str) -> bool:
        """Whether the node can be renamed, moved or erased as the place is opened."""
        hierarchy = self._session.hierarchy
        return hierarchy is not None and bool(hierarchy.writable) and path != "/"

    # ------------------------------------------------------------------ planning
    def begin(self, act: Act, path: str) -> None:
        """Plans an act on a node. The target is at first the node's own path."""
        name = path.rpartition("/")[2]
        to = (
            ""
            if act == "remove"
            else join_path(path.rpartition("/")[0], strings.copy_name(name))
            if act == "copy"
            else path
        )
        self._put(NodesState(act, path, to, strings.node_title(act, name), strings.NODE_ACTS[act]))
        self._plan()

    def set_target(self, to: str) -> None:
        """Sets the target path while it is being typed."""
        if self.state.act is not None and to != self.state.to:
            self._put(replace(self.state, to=to))
            self._plan()

    def cancel(self) -> None:
        """Drops the plan."""
        self._stop()
        self._put(NodesState())

    def _stop(self) -> None:
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None

    def _plan(self) -> None:
        self._stop()
        state, hierarchy = self.state, self._session.hierarchy
        self._put(replace(state, ready=False, planning=True, lines=(), sentence=strings.PLANNING))
        refused = self._refused(state)
        if refused or hierarchy is None:
            self._put(replace(state, ready=False, planning=False, lines=(), sentence=refused))
            return

        def work(cancelled: Callable[[], bool]) -> tuple[tuple[Operation, ...], tuple[str, ...]]:
            log: list[Operation] = []
            notes = _do(state, hierarchy.rehearse(log), cancelled=cancelled)
            return ordered(log), notes

        def done(outcome: JobResult[tuple[tuple[Operation, ...], tuple[str, ...]]]) -> None:
            self._ticket = None
            if outcome.error is not None or outcome.value is None:
                told = strings.problem(outcome.error or RuntimeError())
                self._put(replace(state, ready=False, planning=False, lines=(), sentence=told.headline))
                return
            operations, notes = outcome.value
            shown = [operation_text.line(each, hierarchy.url) for each in operations[:MOST_LINES]]
            if len(operations) > MOST_LINES:
                shown.append(strings.and_more(len(operations) - MOST_LINES))
            sentence = " ".join(
                (operation_text.summary(operations) + ".", *(f"{strings.clean(note)}." for note in notes))
            )
            self._put(replace(state, ready=True, planning=False, lines=tuple(shown), sentence=sentence))

        self._ticket = self._session.owner.fetch(work, done)

    def _refused(self, state: NodesState) -> str:
        if not self.may_change(state.path):
            return strings.ROOT_STAYS if state.path == "/" else strings.OPEN_FOR_WRITING
        if any(_lies_beneath(path, state.path) for path in self._session.edit.dirty_paths):
            return strings.SAVE_FIRST
        if state.act != "remove" and (not state.to.strip("/") or _same(state.to, state.path)):
            return strings.NEW_PLACE
        return ""

    # ------------------------------------------------------------------ doing
    def carry_out(self) -> None:
        """Carries out the plan as a job; does nothing while the plan is not ready."""
        state = self.state
        if state.ready:
            self.cancel()
            self._run(state)

    def rename(self, path: str, name: str) -> None:
        """Gives the node another name in its group, without a plan on show: nothing can be lost."""
        to = join_path(path.rpartition("/")[0], name)
        state = NodesState("rename", path, to, strings.node_title("rename", path.rpartition("/")[2]))
        refused = "" if name == path.rpartition("/")[2] else self._refused(state)
        if refused:
            self._session.jobs.run(state.title, lambda report, cancelled: _fail(refused))
        elif name and name != path.rpartition("/")[2]:
            self._run(state)

    def _run(self, state: NodesState) -> None:
        session = self._session
        hierarchy = session.hierarchy
        assert hierarchy is not None  # `_refused` and `ready` asked whether it may be changed

        def work(report: Report, cancelled: Callable[[], bool]) -> tuple[str, ...]:
            def progress(told: moving.Progress) -> None:
                report(None, strings.carried(told.doing, told.done))

            return _do(state, hierarchy, cancelled=cancelled, progress=progress)

        def done(outcome: JobResult[tuple[str, ...]]) -> str:
            if outcome.error is not None:
                return ""
            session.follow(
                state.path, None if state.act == "remove" else clean_path(state.to), moved=state.act != "copy"
            )
            return " ".join(f"{strings.clean(note)}." for note in outcome.value or ())

        session.jobs.run(state.title, work, done)

    def _put(self, state: NodesState) -> None:
        self.state = state
        self._notify.soon()


def _do(
    state: NodesState,
    hierarchy: Hierarchy,
    *,
    cancelled: Callable[[], bool],
    progress: Callable[[moving.Progress], None] | None = None,
) -> tuple[str, ...]:
    """Carries out the act. Returns notes on what it left undone."""
    if state.act == "remove":
        above = vanishing(node_context(hierarchy), state.path)
        hierarchy.erase(state.path)
        return vanished(node_context(hierarchy), above)
    carry = moving.copy if state.act == "copy" else moving.move
    return carry(hierarchy, state.path, state.to, cancelled=cancelled, progress=progress).notes


def _fail(sentence: str) -> None:
    from zarrscope.errors import Refused

    raise Refused(sentence)


def _lies_beneath(path: str, above: str) -> bool:
    return f"{path}/".startswith(f"{above.rstrip('/')}/")


def _same(to: str, path: str) -> bool:
    return to.strip("/") == path.strip("/")
