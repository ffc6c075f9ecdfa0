"""The panel of measurements beneath the picture: the values along a line as curves, statistics of each channel, the
progress of a measurement."""

from __future__ import annotations

import numpy as np

from zarrscope_app.presenters import Measurement, SlicePresenter
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.qt.toolkit.core import QPointF, QRectF, QSize, Qt
from zarrscope_app.qt.toolkit.gui import QColor, QGuiApplication, QPainter, QPaintEvent, QPen, QPolygonF
from zarrscope_app.qt.toolkit.widgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QProgressBar,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from .follow import follow
from .text import ElidedLabel, Label, tip
from .theme import Role, icon, mix, quiet

_MOST_POINTS = 2000
_MOST_WRAPPED = 4
"""The most channels whose statistics may take several lines each; of more of them, what does not fit is cut off."""


class MeasurePanel(QFrame):
    """The panel of measurements. `attach` takes a slice presenter, or None. It is hidden while there is
    no measurement."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter: SlicePresenter | None = None
        self._shown: Measurement | None = None
        self.title = Label()
        self.progress = QProgressBar()
        self.progress.setRange(0, 100)
        self.progress.setFixedWidth(96)
        self.progress.setTextVisible(False)
        self._copy, self._close = QToolButton(), QToolButton()
        for button, name, label, act in (
            (self._copy, "copy", "copy-all", self._copy_text),
            (self._close, "close", "close-measure", self._forget),
        ):
            button.setAutoRaise(True)
            button.setIcon(icon(name))
            button.setToolTip(LABELS[label])
            button.setAccessibleName(LABELS[label])
            button.clicked.connect(act)
        head = QHBoxLayout()
        head.addWidget(self.title, 1)
        for widget in (self.progress, self._copy, self._close):
            head.addWidget(widget)
        self.curves = _Curves()
        self._rows = QGridLayout()
        self._rows.setHorizontalSpacing(10)
        self._rows.setVerticalSpacing(0)
        self._rows.setColumnStretch(1, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 2, 8, 4)
        column.setSpacing(2)
        column.addLayout(head)
        column.addWidget(self.curves)
        column.addLayout(self._rows)
        self.hide()

    def attach(self, presenter: SlicePresenter | None) -> None:
        """Shows the measurement of another picture."""
        old, self._presenter = self._presenter, presenter
        self.hide()
        follow(old, presenter, self._changed)

    def _changed(self) -> None:
        assert self._presenter is not None
        found = self._presenter.state.measurement
        if found is self._shown:
            return
        self._shown = found
        self.setVisible(bool(found.kind))
        self.title.setText(found.sentence or found.title)
        self.title.setToolTip(tip(found.title))
        self.progress.setVisible(found.progress is not None)
        self.progress.setValue(round((found.progress or 0) * 100))
        self._copy.setEnabled(bool(found.rows))
        while (item := self._rows.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        wrapped = len(found.rows) <= _MOST_WRAPPED
        for place, row in enumerate(found.rows):
            self._rows.addWidget(Label(row.label), place, 0, Qt.AlignmentFlag.AlignTop)
            told = Label() if wrapped else ElidedLabel()
            told.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
            told.setWordWrap(wrapped)
            told.setText(row.text)
            told.setToolTip(tip(row.text))
            self._rows.addWidget(told, place, 1)
        self.curves.show_measurement(found)

    def _copy_text(self) -> None:
        clipboard = QGuiApplication.clipboard()
        if self._presenter is not None and clipboard is not None:
            clipboard.setText(self._presenter.measurement_text())

    def _forget(self) -> None:
        if self._presenter is not None:
            self._presenter.forget_measurement()


class _Curves(QWidget):
    """The values along a line: a curve for each channel, from the lowest to the highest value of all."""

    def __init__(self) -> None:
        super().__init__()
        self._found = Measurement()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(LABELS["curves"])
        self.hide()

    def sizeHint(self) -> QSize:
        return QSize(200, 84)

    def show_measurement(self, found: Measurement) -> None:
        """Draws the curves of `found`; hides if it has none."""
        self._found = found
        self.setVisible(any(row.profile is not None and len(row.profile) > 1 for row in found.rows))
        self.update()

    def paintEvent(self, event: QPaintEvent | None) -> None:
        painter = QPainter(self)
        palette = self.palette()
        area = QRectF(self.rect()).adjusted(0, 0, -1, -1)
        painter.fillRect(area, palette.color(Role.Base))
        profiles = [(QColor(*r.color), r.profile) for r in self._found.rows if r.profile is not None and len(r.profile)]
        finite = [p[np.isfinite(p)] for _, p in profiles]
        if not any(len(p) for p in finite):
            return
        low, high = min(np.min(p) for p in finite if len(p)), max(np.max(p) for p in finite if len(p))
        span = (high - low) or 1.0
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(quiet(palette, 0.7)))
        painter.drawText(area.adjusted(4, 1, -4, 0), 0, self._found.high_text)
        metrics = painter.fontMetrics()
        painter.drawText(QPointF(area.left() + 4, area.bottom() - metrics.descent()), self._found.low_text)
        end = area.right() - 4 - metrics.horizontalAdvance(self._found.length)
        painter.drawText(QPointF(end, area.bottom() - metrics.descent()), self._found.length)
        inner = area.adjusted(4, 4, -4, -metrics.height())
        for color, values in profiles:
            ink = mix(palette.color(Role.WindowText), color, 0.75)
            painter.setPen(QPen(ink, 1.2))
            every = max(1, len(values) // _MOST_POINTS)
            run: list[QPointF] = []
            for at, value in enumerate(values[::every]):
                if not np.isfinite(value):
                    painter.drawPolyline(QPolygonF(run))
                    run = []
                    continue
                x = inner.left() + at * every / max(1, len(values) - 1) * inner.width()
                run.append(QPointF(x, inner.bottom() - (value - low) / span * inner.height()))
            painter.drawPolyline(QPolygonF(run))
