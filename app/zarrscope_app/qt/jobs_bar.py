"""The jobs bar at the right of the status bar: the running job, its progress and a button to cancel it; then its
result, and a button to undo it."""

from __future__ import annotations

from zarrscope_app.presenters import Job, JobsPresenter, JobState, strings
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.nodes.presenter import NodesPresenter
from zarrscope_app.qt.follow import follow
from zarrscope_app.qt.toolkit.core import QTimer
from zarrscope_app.qt.toolkit.widgets import QHBoxLayout, QProgressBar, QToolButton, QWidget

from .text import ElidedLabel, literal, tip
from .theme import Role, current_palette, icon, warning

_SHOWN = 15_000
"""Milliseconds for which the result of a job is shown; a failure is shown until the person has dismissed it."""
_WIDEST = 420


class JobsBar(QWidget):
    """Shows the running job, its progress and a button to cancel it; afterwards its result.

    It is hidden when there is no job to show. `attach` takes a jobs presenter, or None; `nodes` offers to undo an
    action.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter: JobsPresenter | None = None
        self._nodes: NodesPresenter | None = None
        self._seen = 0
        """The last job whose result was shown, or need not be shown."""
        self.text = ElidedLabel()
        self.text.setMaximumWidth(_WIDEST)
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

    def _changed(self) -> None:
        assert self._presenter is not None
        items = self._presenter.items
        running = next((job for job in items if job.state is JobState.RUNNING), None)
        ended = next((job for job in reversed(items) if job.state in (JobState.DONE, JobState.FAILED)), None)
        job = running if running is not None else ended if ended is not None and ended.id > self._seen else None
        self.setVisible(job is not None)
        self._bar.setVisible(running is not None)
        if job is not None:
            self._paint(job)
            # In Qt an empty range means "busy".
            self._bar.setRange(0, 0 if job.progress is None else 1000)
            self._bar.setValue(round((job.progress or 0.0) * 1000))

    def _paint(self, job: Job) -> None:
        running, failed = job.state is JobState.RUNNING, job.state is JobState.FAILED
        said = job.text or job.name if running else strings.ended(job.name, job.sentence, failed)
        self.text.setText(said)
        self.text.setToolTip(tip("\n".join(part for part in (said, job.details) if part)))
        palette = self.palette()
        if failed:
            palette.setColor(Role.WindowText, warning(current_palette()))
        self.text.setPalette(palette)
        label = self._nodes.undo_label if self._nodes is not None and not running and not failed else ""
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
