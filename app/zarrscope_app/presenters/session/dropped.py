"""Opening a place that was dropped on a window: one that is no Zarr is reported, and leaves no root in the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Protocol

from zarrscope.errors import NotFound, Refused, Unsupported
from zarrscope.nodes.detect import hierarchies_above
from zarrscope.runtime.threads import JobResult
from zarrscope.stores.address import split_address
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.session.view_models import SessionStatus

if TYPE_CHECKING:
    from psygnal import Signal

    from zarrscope_app.presenters.session.session import Session


class Places(Protocol):
    """The members of a workspace that a drop uses."""

    changed: ClassVar[Signal]
    unopened: ClassVar[Signal]
    """Emits the problem of dropped places that could not be opened, if nothing else is open."""

    @property
    def sessions(self) -> tuple[Session, ...]:
        """The open sessions."""

    @property
    def current(self) -> Session | None:
        """The session in front."""

    def open(self, url: str) -> Session:
        """Opens an address, or brings its session to the front."""

    def bring(self, session: Session) -> None:
        """Brings a session to the front."""

    def forget(self, session: Session) -> None:
        """Closes a session, and removes its address from those that were opened last."""


def enclosing_node(url: str) -> str | None:
    """The address of the innermost node that holds the file or folder at an address, such as a chunk; None if there is
    none. Waits for the store."""
    found = next(hierarchies_above(split_address(url)), None)
    return found[0].store_url if found is not None else None


class Drop:
    """The places of one drop. As soon as all of them are open or have failed: a file within a hierarchy has opened the
    hierarchy at the node to which the file belongs; any other place without a hierarchy is closed again. The place that
    is in front then shows the error, or the empty window."""

    def __init__(self, workspace: Places, urls: Sequence[str]) -> None:
        self._workspace, self.ended = workspace, False
        self._before = workspace.current
        known = workspace.sessions
        self._opened = [session for url in urls if (session := workspace.open(url)) not in known]
        self._asked: dict[Session, str | None] = {}
        """Session of a place that could not be opened → the address of the node that holds the place."""
        for session in self._opened:
            session.changed.connect(self._look)
        workspace.changed.connect(self._look)  # a person may close a place that is still being opened

    def _look(self) -> None:
        left = [session for session in self._opened if session in self._workspace.sessions]
        waits = False
        for session in left:
            waits |= session.state.status is SessionStatus.OPENING
            if _has_no_hierarchy(session) and session not in self._asked:
                waits = True
                session.owner.read(partial(enclosing_node, session.url), partial(self._asked_for, session))
        if not waits:
            self._end([session for session in left if session in self._asked])

    def _asked_for(self, session: Session, outcome: JobResult[str | None]) -> None:
        self._asked[session] = outcome.value
        self._look()

    def _end(self, failed: Sequence[Session]) -> None:
        workspace = self._workspace
        workspace.changed.disconnect(self._look)
        for session in self._opened:
            session.changed.disconnect(self._look)
        opened, self._opened, self.ended = self._opened, [], True
        for session in failed:
            if (found := self._asked[session]) is not None:
                workspace.forget(session)
                workspace.open(found)
        lost = [session for session in failed if session in workspace.sessions]
        stay = [session for session in workspace.sessions if session not in lost]
        errors = [session.error or RuntimeError() for session in lost]
        if not lost:
            return
        if not stay:
            for session in lost:
                workspace.forget(session)
            workspace.unopened.emit(_problem(errors))  # at the end, because the last close clears the error bar
            return
        liked = (workspace.current, *reversed(opened), self._before, stay[-1])
        front = next(each for each in liked if each in stay)
        for session in lost:
            workspace.forget(session)
        assert front is not None, "it is one of those that stay"
        workspace.bring(front)
        for error in errors:
            front.report(error)


def _problem(errors: Sequence[BaseException]) -> strings.Problem:
    """The problem of places that were dropped on an empty window, none of which could be opened."""
    first, *others = [strings.problem(error) for error in errors]
    more = f"{strings.counted(len(others), 'other place')} could not be opened either." if others else ""
    details = "\n".join(each.details for each in (first, *others))
    return replace(first, headline=f"{first.headline} {more}".strip(), details=details, retry=False)


def _has_no_hierarchy(session: Session) -> bool:
    """Whether there is no hierarchy that can be opened at the address, rather than no answer, or a question such as
    whether to follow links."""
    state = session.state
    answered = isinstance(session.error, NotFound | Refused | Unsupported)
    return state.status is SessionStatus.FAILED and answered and not state.offers
