"""Closes a hierarchy, or all of them to leave the program; asks about the running jobs and the unsaved changes of
each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

from zarrscope_app.presenters import Job, Session, Workspace
from zarrscope_app.tui.sheet import Sheet


class Leaves(Protocol):
    """The members of the application that `Leaving` uses."""

    workspace: Workspace

    @property
    def session(self) -> Session:
        """The session of the hierarchy in front."""

    def show_sheet(self, sheet: Sheet, answered: Callable[[str | None], object] | None = None) -> None:
        """Shows a sheet over the screen; `answered` gets the choice, None after Esc."""

    def go_to_front(self) -> None:
        """Moves the cursor of the tree to the selected node of the hierarchy in front."""

    def exit(self, result: int | None = None, return_code: int = 0, message: str | None = None) -> None:
        """Ends the application; `return_code` is the exit code of the process."""


class Leaving:
    """Closes hierarchies of one application. Unsaved changes that the person discards are dropped only when the
    hierarchy is really closed, because the person may answer the next question with "back"."""

    def __init__(self, app: Leaves) -> None:
        self._app = app
        self._dropped: set[Session] = set()

    def review(self) -> None:
        """Shows the changes of the displayed node, to save or revert them."""
        edit = self._app.session.edit

        def answered(answer: str | None) -> None:
            if answer == "save":
                edit.save()
            elif answer == "discard":
                edit.revert()

        self._app.show_sheet(Sheet.of_diff(edit.diff().unified), answered)

    def leave(self) -> None:
        """Leaves the program; asks once for each hierarchy with running jobs or unsaved changes. A second call does
        not wait for running saves."""
        if all(self._may_close(session, self.leave) for session in self._app.workspace.sessions):
            for session in self._dropped:
                session.discard_edits()
            self._app.exit(0)

    def close(self) -> None:
        """Closes the hierarchy in front; leaves the program if it is the only one."""
        if len(self._app.workspace.sessions) == 1:
            self.leave()
        else:
            self._close(self._app.session)

    def _close(self, session: Session) -> None:
        if self._may_close(session, partial(self._close, session)):
            if session in self._dropped:
                session.discard_edits()
            self._dropped.clear()
            self._app.workspace.close(session)
            self._app.go_to_front()

    def _may_close(self, session: Session, then: Callable[[], object]) -> bool:
        """Whether a hierarchy can be closed at once. Otherwise asks, and calls `then` after the answer, unless the
        person wants to stay."""
        if running := session.jobs.running:
            self._ask_to_stop(session, running, then)
            return False
        if session in self._dropped:
            return True
        if session.edit.when_edited(then) or session.edit.when_saved(lambda _: then()):
            return False
        asked = session.edit.closing()
        if asked is None:
            return True
        self._app.workspace.bring(session)

        def answered(answer: str | None) -> None:
            if answer == "save" and asked.opens:
                self._dropped.clear()
                session.set_writable(True)
            elif answer == "save":
                session.edit.save_all(partial(self._saved, session, then))
            elif answer == "discard":
                self._dropped.add(session)
                then()
            else:
                self._dropped.clear()

        self._app.show_sheet(Sheet.of_closing(asked), answered)
        return False

    def _ask_to_stop(self, session: Session, running: Iterable[Job], then: Callable[[], object]) -> None:
        """Asks whether the jobs of a hierarchy may be stopped; then stops them, and calls `then`."""

        def answered(answer: str | None) -> None:
            if answer == "stop":
                session.jobs.cancel_all()
                then()
            else:
                self._dropped.clear()

        self._app.workspace.bring(session)
        self._app.show_sheet(Sheet.of_jobs(running), answered)

    @staticmethod
    def _saved(session: Session, then: Callable[[], object], trouble: str | None) -> None:
        """Calls `then` after saving, or goes to `trouble`, the path of a node whose changes could not be saved."""
        if trouble is None:
            then()
        else:
            session.select(trouble)
            session.set_tab("attributes")
