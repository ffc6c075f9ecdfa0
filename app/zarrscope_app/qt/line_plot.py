"""A 1-D array as a line: for each column of the window the range between its lowest and its highest value."""

from __future__ import annotations

from typing import Any

import numpy as np

from zarrscope_app.presenters import CoalescedCall, Post, SlicePresenter, strings
from zarrscope_app.qt.toolkit.core import QEvent, QPointF, QRectF, Qt, Signal
from zarrscope_app.qt.toolkit.gui import (
    QColor,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
    QWheelEvent,
)
from zarrscope_app.qt.toolkit.widgets import QSizePolicy, QWidget

from .theme import Role, quiet

_LEFT, _BOTTOM, _TOP, _RIGHT = 64, 24, 12, 16


class LinePlotWidget(QWidget):
    """Draws a 1-D array as a line.

    `attach` takes a presenter whose state has the kind "line". The wheel zooms along the line, dragging moves it.
    """

    hovered = Signal()

    def __init__(self, post: Post, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter: SlicePresenter | None = None
        self._span = (0.0, 1.0)
        self._length = 0
        self._pressed: tuple[float, tuple[float, float]] | None = None
        self._tell = CoalescedCall(post, self._tell_viewport)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def attach(self, presenter: SlicePresenter | None) -> None:
        """Shows another presenter's whole line."""
        if self._presenter is not None:
            self._presenter.painted.disconnect(self._painted)
            self._presenter.changed.disconnect(self._painted)
        self._presenter, self._length = presenter, 0
        if presenter is not None:
            presenter.painted.connect(self._painted)
            presenter.changed.connect(self._painted)
            self._painted()

    def fit(self) -> None:
        """Shows the whole line."""
        self._show(0.0, float(max(self._length, 1)))

    def zoom_by(self, factor: float, at: float | None = None) -> None:
        """Zooms along the line around the pixel column `at`."""
        lo, hi = self._span
        share = 0.5 if at is None else (at - _LEFT) / self._plot().width()
        pivot = lo + (hi - lo) * share
        width = min(max((hi - lo) / factor, 4.0), float(max(self._length, 4)))
        start = min(max(pivot - width * share, 0.0), max(self._length - width, 0.0))
        self._show(start, start + width)

    def _show(self, lo: float, hi: float) -> None:
        self._span = (lo, hi)
        self._tell.soon()
        self.update()

    def _tell_viewport(self) -> None:
        if self._presenter is not None and self._length:
            lo, hi = self._span
            self._presenter.viewport((0.0, lo, 1.0, hi), (1, max(1, int(self._plot().width()))))

    def _painted(self) -> None:
        assert self._presenter is not None
        state = self._presenter.state
        length = state.axes[0].length if state.kind == "line" and state.axes else 0
        if length != self._length:
            self._length = length
            self.fit()
        self.update()

    def _plot(self) -> QRectF:
        return QRectF(self.rect()).adjusted(_LEFT, _TOP, -_RIGHT, -_BOTTOM)

    def paintEvent(self, event: QPaintEvent | None) -> None:
        painter = QPainter(self)
        palette = self.palette()
        painter.fillRect(self.rect(), palette.color(Role.Base))
        line = self._presenter.line if self._presenter is not None else None
        if line is None or not len(line.low):
            return
        low = np.asarray(line.low, dtype=np.float64)
        high = np.asarray(line.high, dtype=np.float64)
        known = np.isfinite(low) & np.isfinite(high)
        if not known.any():
            return
        bottom, top = float(low[known].min()), float(high[known].max())
        room = (top - bottom) * 0.05 or abs(top) * 0.05 or 1.0
        bottom, top = bottom - room, top + room
        plot = self._plot()
        self._draw_frame(painter, plot, bottom, top)
        lo, hi = self._span
        x = plot.left() + (line.start + (np.arange(len(low)) + 0.5) * line.step - lo) / (hi - lo) * plot.width()
        scale = plot.height() / (top - bottom)
        y_low, y_high = plot.bottom() - (low - bottom) * scale, plot.bottom() - (high - bottom) * scale
        painter.setClipRect(plot)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ink = QColor(palette.color(Role.Highlight))
        for first, last in _runs(known):
            upper = [QPointF(a, b) for a, b in zip(x[first:last], y_high[first:last], strict=True)]
            lower = [QPointF(a, b) for a, b in zip(x[first:last], y_low[first:last], strict=True)]
            painter.setPen(QPen(ink, 1.4))
            painter.setBrush(ink)
            painter.drawPolygon(QPolygonF(upper + lower[::-1]))
            if plot.width() / max(last - first, 1) > 12:
                for point in upper:
                    painter.drawEllipse(point, 2.5, 2.5)

    def _draw_frame(self, painter: QPainter, plot: QRectF, bottom: float, top: float) -> None:
        palette = self.palette()
        for share in (0.0, 0.25, 0.5, 0.75, 1.0):
            y = plot.bottom() - share * plot.height()
            painter.setPen(QPen(quiet(palette, 0.15), 1))
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
            painter.setPen(quiet(palette))
            box = QRectF(0, y - 10, _LEFT - 8, 20)
            text = strings.short(bottom + share * (top - bottom))
            painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)
        lo, hi = self._span
        for share, align in ((0.0, Qt.AlignmentFlag.AlignLeft), (1.0, Qt.AlignmentFlag.AlignRight)):
            index = round(lo + share * (hi - lo)) - (1 if share else 0)
            painter.drawText(plot.adjusted(0, plot.height() + 4, 0, _BOTTOM), align, strings.count(max(0, index)))

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        self._tell.soon()

    def wheelEvent(self, event: QWheelEvent | None) -> None:
        assert event is not None
        self.zoom_by(1.25 ** (event.angleDelta().y() / 120), event.position().x())
        event.accept()

    def mousePressEvent(self, event: QMouseEvent | None) -> None:
        assert event is not None
        self._pressed = (event.position().x(), self._span)

    def mouseMoveEvent(self, event: QMouseEvent | None) -> None:
        assert event is not None
        x, plot = event.position().x(), self._plot()
        if self._pressed is not None:
            at, (lo, hi) = self._pressed
            moved = (at - x) / plot.width() * (hi - lo)
            start = min(max(lo + moved, 0.0), max(self._length - (hi - lo), 0.0))
            self._show(start, start + hi - lo)
        if self._presenter is not None:
            lo, hi = self._span
            self._presenter.hover(0.0, lo + (x - plot.left()) / plot.width() * (hi - lo))
            self.hovered.emit()

    def mouseReleaseEvent(self, event: QMouseEvent | None) -> None:
        self._pressed = None

    def mouseDoubleClickEvent(self, event: QMouseEvent | None) -> None:
        self.fit()

    def leaveEvent(self, event: QEvent | None) -> None:
        if self._presenter is not None:
            self._presenter.leave()
            self.hovered.emit()


def _runs(known: np.ndarray[Any, np.dtype[np.bool_]]) -> list[tuple[int, int]]:
    """The half-open range (start, stop) of each run of True in `known`."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], known, [False])).astype(np.int8)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
