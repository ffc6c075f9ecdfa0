"""The jobs bar at the right of the status bar: the job that runs, how far it is, and a way to stop it."""

from __future__ import annotations

from qtpy.QtWidgets import QHBoxLayout, QProgressBar, QToolButton, QWidget

from zarrscope_app.presenters import JobsPresenter, JobState, strings
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.qt.follow import follow

from .text import Label
from .theme import icon


class JobsBar(QWidget):
    """Shows the job that runs, with its progress and a way to stop it.

    Hidden while nothing runs. `attach` a jobs presenter, or None.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter: JobsPresenter | None = None
        self._text = Label()
        self._bar = QProgressBar()
        self._bar.setFixedWidth(96)
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(LABELS["progress"])
        cancel = QToolButton()
        cancel.setAutoRaise(True)
        cancel.setIcon(icon("close"))
        cancel.setToolTip(strings.CANCEL)
        cancel.setAccessibleName(strings.CANCEL)
        cancel.clicked.connect(self._cancel)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 8, 0)
        for widget in (self._text, self._bar, cancel):
            row.addWidget(widget)
        self.hide()

    def attach(self, presenter: JobsPresenter | None) -> None:
        """Show another session's jobs."""
        old, self._presenter = self._presenter, presenter
        follow(old, presenter, self._changed)
        if presenter is None:
            self.hide()

    def _changed(self) -> None:
        assert self._presenter is not None
        running = [job for job in self._presenter.items if job.state is JobState.RUNNING]
        self.setVisible(bool(running))
        if running:
            job = running[0]
            self._text.setText(job.text or job.name)
            # In Qt an empty range means "busy".
            self._bar.setRange(0, 0 if job.progress is None else 1000)
            self._bar.setValue(round((job.progress or 0.0) * 1000))

    def _cancel(self) -> None:
        if self._presenter is not None:
            for job in self._presenter.items:
                if job.state is JobState.RUNNING:
                    self._presenter.cancel(job.id)
                    return
