"""The jobs bar at the right of the status bar: the running job, its progress and a button to cancel it; then its
result, and a button to undo it. A failed job has an error bar, because its sentence and advice need a whole line."""

from __future__ import annotations

from zarrscope_app.presenters import Job, JobsPresenter, JobState, strings
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.nodes.presenter import NodesPresenter
from zarrscope_app.qt.follow import follow
from zarrscope_app.qt.toolkit.core import QTimer
from zarrscope_app.qt.toolkit.widgets import QHBoxLayout, QProgressBar, QToolButton, QWidget

from .error_bar import ErrorBar
from .text import ElidedLabel, literal, tip
from .theme import icon

_SHOWN = 15_000
"""Milliseconds for which the result of a job is shown; a failure is shown until the person has dismissed it."""
_SHARE = 0.6
"""The most of the window's width for the text of a job."""


class JobsBar(QWidget):
    """Shows the running job, its progress and a button to cancel it; afterwards its result.

    It is hidden when there is no job to show. `attach` takes a jobs presenter, or None; `nodes` offers to undo an
    action. The host places `failure`, the error bar of a failed job, in a row of its own; `narrow` is as for that bar.
    Without `results` the bar shows no results: the host tells them at another place.
    """

    def __init__(self, narrow: bool = False, results: bool = True) -> None:
        super().__init__()
        self._results = results
        self.failure = ErrorBar(narrow)
        self._failed: Job | None = None
        """The job that the error bar shows."""
        self._presenter: JobsPresenter | None = None
        self._nodes: NodesPresenter | None = None
        self._seen = 0
        """The last job whose result was shown, or need not be shown."""
        self.text = ElidedLabel()
        self._bar = QProgressBar()
        self._bar.setFixedWidth(96)
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(LABELS["progress"])
        self.undo = QToolButton()
        self.undo.clicked.connect(self._undo)
        self.cancel = QToolButton()
        self.cancel.setAutoRaise(True)
        self.cancel.setIcon(icon("close"))
        self.cancel.clicked.connect(self._cancel)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._forget)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 8, 0)
        for widget in (self.text, self._bar, self.undo, self.cancel):
            row.addWidget(widget)
        self.hide()

    def attach(self, presenter: JobsPresenter | None, nodes: NodesPresenter | None = None) -> None:
        """Shows another session's jobs."""
        self._nodes = nodes
        old, self._presenter = self._presenter, presenter
        self._seen = self._latest_ended()
        follow(old, self._presenter, self._changed)
        if presenter is None:
            self.hide()
            self._show_failure(None)

    def _changed(self) -> None:
        assert self._presenter is not None
        items = self._presenter.items
        running = next((job for job in items if job.state is JobState.RUNNING), None)
        ended = next((job for job in reversed(items) if job.state in (JobState.DONE, JobState.FAILED)), None)
        if ended is not None and ended.id <= self._seen:
            ended = None
        failed = ended if ended is not None and ended.state is JobState.FAILED else None
        self._show_failure(failed)
        job = running if running is not None else ended if failed is None and self._results else None
        self.setVisible(job is not None)
        self._bar.setVisible(running is not None)
        if job is not None:
            self._paint(job)
            # In Qt an empty range means "busy".
            self._bar.setRange(0, 0 if job.progress is None else 1000)
            self._bar.setValue(round((job.progress or 0.0) * 1000))

    def _show_failure(self, job: Job | None) -> None:
        if job == self._failed:
            return  # its details may be unfolded
        self._failed = job
        if job is None:
            self.failure.clear()
        else:
            said = strings.ended(job.name, job.sentence, failed=True)
            self.failure.show_error(said, job.details, dismissed=self._forget)

    def _paint(self, job: Job) -> None:
        running = job.state is JobState.RUNNING
        said = job.text or job.name if running else strings.ended(job.name, job.sentence, failed=False)
        window = self.window()
        self.text.setMaximumWidth(round(_SHARE * (window or self).width()))
        self.text.setText(said)
        self.text.setToolTip(tip("\n".join(part for part in (said, job.details) if part)))
        label = self._nodes.undo_label if self._nodes is not None and not running else ""
        self.undo.setText(literal(label))
        self.undo.setVisible(bool(label))
        self.cancel.setToolTip(strings.CANCEL if running else LABELS["dismiss"])
        self.cancel.setAccessibleName(strings.CANCEL if running else LABELS["dismiss"])
        self._timer.stop()
        if job.state is JobState.DONE:
            self._timer.start(_SHOWN)

    def _forget(self) -> None:
        if self._presenter is not None:
            self._seen = self._latest_ended()
            self._changed()

    def _latest_ended(self) -> int:
        """The id of the latest job that is no longer running; 0 if there is none."""
        items = self._presenter.items if self._presenter is not None else ()
        return max((job.id for job in items if job.state is not JobState.RUNNING), default=0)

    def _undo(self) -> None:
        if self._nodes is not None:
            self._nodes.undo()

    def _cancel(self) -> None:
        if self._presenter is not None:
            for job in self._presenter.items:
                if job.state is JobState.RUNNING:
                    self._presenter.cancel(job.id)
                    return
            self._forget()
