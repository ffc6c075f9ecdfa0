"""Closes a hierarchy, or all of them with their window; asks about the running jobs and the unsaved changes of each. A
check or a comparison only reads, and ends without a question."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from zarrscope_app.presenters import Session, Workspace, strings
from zarrscope_app.presenters.jobs import JobsPresenter
from zarrscope_app.presenters.strings_jobs import JOBS_RUN, STOP_JOBS, jobs_question
from zarrscope_app.qt.form import AttributesPane
from zarrscope_app.qt.review import CloseQuestion
from zarrscope_app.qt.toolkit.core import Qt
from zarrscope_app.qt.toolkit.widgets import QMessageBox, QWidget

SECONDS_TO_STOP = 5.0
"""How long a closing window waits until stopped jobs have removed what is unfinished; the work looks for a stop after
each chunk."""


class JobsQuestion(QMessageBox):
    """The question whether the running jobs may be stopped. `exec` asks it; then `stops` tells the answer."""

    def __init__(self, question: str, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.setWindowTitle(JOBS_RUN)
        self.setIcon(QMessageBox.Icon.Question)
        self.setTextFormat(Qt.TextFormat.PlainText)  # the name of a job contains names of nodes and files
        self.setText(question)
        self.stop = self.addButton(STOP_JOBS, QMessageBox.ButtonRole.DestructiveRole)
        self.back = self.addButton(strings.CANCEL, QMessageBox.ButtonRole.RejectRole)
        self.setDefaultButton(self.back)
        self.setEscapeButton(self.back)

    @property
    def stops(self) -> bool:
        """Whether the person chose to stop the jobs."""
        return self.clickedButton() is self.stop


def may_stop(jobs: Iterable[JobsPresenter], parent: QWidget | None) -> bool:
    """Whether none of the jobs runs any more: asks about those that run, and stops them if the person agrees."""
    jobs = tuple(jobs)
    running = [job for each in jobs for job in each.running]
    if not running:
        return True
    question = JobsQuestion(jobs_question((job.name, job.progress, job.text) for job in running), parent)
    question.exec()
    stops = question.stops
    question.deleteLater()
    if stops:
        for each in jobs:
            each.cancel_all()
    return stops


class LeavingSessions:
    """Closes the hierarchies of one window. Unsaved changes that the person discards are dropped only when the
    hierarchy is really closed, because the person may answer the next question with "cancel"."""

    def __init__(self, workspace: Workspace, form: AttributesPane, window: QWidget) -> None:
        self._workspace, self._form, self._window = workspace, form, window
        self._dropped: set[Session] = set()

    def may_close_all(self) -> bool:
        """Whether the window may close now. If the person chooses to save, the window closes after saving."""
        return all(self._may_close(session, self._window.close) for session in self._workspace.sessions)

    def close_all(self) -> None:
        """Closes all hierarchies, after `may_close_all` or for a window that is deleted; waits shortly for jobs that
        are being stopped."""
        self._discard_dropped()
        self._workspace.stop_jobs(SECONDS_TO_STOP)
        self._workspace.close_all()

    def close_current(self) -> None:
        """Closes the hierarchy in front; closes the window if there is none."""
        session = self._workspace.current
        if session is None:
            self._window.close()
            return
        if self._may_close(session, lambda: self._workspace.close(session)):
            self._discard_dropped()
            self._workspace.close(session)
        self._dropped.clear()

    def _may_close(self, session: Session, close: Callable[[], object]) -> bool:
        """Whether the session may close now. If the person chooses to save, `close` is called after saving."""
        if session is self._workspace.current:
            self._form.commit()
        if session.jobs.running:
            self._workspace.bring(session)
        if not may_stop((session.jobs,), self._window):
            self._dropped.clear()
            return False
        if session.edit.when_edited(close):
            return False
        if session in self._dropped or (asked := session.edit.closing()) is None:
            return True
        self._workspace.bring(session)
        (question := CloseQuestion(asked, self._window)).exec()
        if question.answer == "discard":
            self._dropped.add(session)
            return True
        if question.answer == "save" and not asked.opens:
            session.edit.save_all(lambda trouble: self._saved(session, trouble, close))
            return False
        self._dropped.clear()
        if question.answer == "save":
            session.set_writable(True)
        return False

    def _saved(self, session: Session, trouble: str | None, close: Callable[[], object]) -> None:
        """Calls `close` after saving, or goes to `trouble`, the path of a node whose changes could not be saved."""
        if trouble is None:
            close()
        else:
            self._dropped.clear()
            session.select(trouble)
            session.set_tab("attributes")

    def _discard_dropped(self) -> None:
        """Drops edits that the person chose not to save, so that they are not offered at the next start."""
        for session in self._dropped:
            session.discard_edits()
