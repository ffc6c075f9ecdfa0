"""The contrast strip: a histogram with two handles for the contrast limits.

The widget takes plain numbers and emits two signals; it does not depend on channels. Mouse: drag a handle, or between
the handles to move both; double-click asks for automatic limits. Keyboard: Left and Right move the low handle, with
Ctrl the high one; Shift: by ten.
"""

from __future__ import annotations

from collections.abc import Sequence

from zarrscope_app.qt.toolkit.core import QPointF, QRectF, QSize, Qt, Signal
from zarrscope_app.qt.toolkit.gui import (
    QColor,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPolygonF,
)
from zarrscope_app.qt.toolkit.widgets import QSizePolicy, QWidget

from .theme import Role, mix, quiet

_MARGIN = 7.0
_GRIP = 9.0


class ContrastStrip(QWidget):
    """A histogram with two handles, for the contrast limits of a channel.

    `levels_dragged(lo, hi)` is emitted while dragging, `auto_asked()` on a double-click, `seen_empty()` when the strip
    was painted without a histogram.
    """

    levels_dragged = Signal(float, float)
    auto_asked = Signal()
    seen_empty = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._counts: tuple[float, ...] = ()
        self._range = (0.0, 1.0)
        self._levels = (0.0, 1.0)
        self._given = self._given_before = self._levels
        """The values that `show_levels` gave last, and those at the beginning of a drag."""
        self._step = 0.0
        self._note = ""
        self._color = QColor(128, 128, 128)
        self._grabbed: str | None = None
        self._grabbed_at = 0.0
        self._grabbed_levels = self._levels
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)

    def sizeHint(self) -> QSize:
        return QSize(160, 44)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, 44)

    def show_levels(
        self,
        counts: Sequence[float],
        span: tuple[float, float],
        levels: tuple[float, float],
        color: QColor,
        step: float = 0.0,
        note: str = "",
    ) -> None:
        """Draws `counts` (a histogram over `span`, heights 0 to 1) and handles at `levels`; during a drag the handles
        stay. `step` is the least change of a value by a key, `note` a text in place of a histogram."""
        fresh = tuple(counts), span, color, note
        self._given, self._step = levels, step
        if self._grabbed is None and levels != self._levels:
            self._levels = levels
            self.update()
        if fresh != (self._counts, self._range, self._color, self._note):
            self._counts, self._range, self._color, self._note = fresh
            self.update()

    @property
    def levels(self) -> tuple[float, float]:
        """The handles' values, low first."""
        return self._levels

    # ---- values and pixels

    def _span(self) -> tuple[float, float]:
        # Handles may lie outside the data's range (for example a window from the file): the axis grows to show them.
        lo, hi = min(self._range[0], self._levels[0]), max(self._range[1], self._levels[1])
        return (lo, hi) if hi > lo else (lo, lo + 1.0)

    def _x(self, value: float) -> float:
        lo, hi = self._span()
        return _MARGIN + (value - lo) / (hi - lo) * (self.width() - 2 * _MARGIN)

    def _value_per_pixel(self) -> float:
        lo, hi = self._span()
        return (hi - lo) / max(1.0, self.width() - 2 * _MARGIN)

    # ---- drawing

    def paintEvent(self, event: QPaintEvent | None) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        palette = self.palette()
        area = QRectF(self.rect()).adjusted(_MARGIN, 2, -_MARGIN, -10)
        painter.fillRect(area, palette.color(Role.Base))
        low, high = self._x(self._levels[0]), self._x(self._levels[1])
        painter.fillRect(
            QRectF(low, area.top(), high - low, area.height()), mix(palette.color(Role.Base), self._color, 0.22)
        )
        if self._counts:
            left, right = self._x(self._range[0]), self._x(self._range[1])
            step = (right - left) / len(self._counts)
            path = QPainterPath(QPointF(left, area.bottom()))
            for place, count in enumerate(self._counts):
                top = area.bottom() - min(1.0, count) * area.height()
                path.lineTo(left + place * step, top)
                path.lineTo(left + (place + 1) * step, top)
            path.lineTo(right, area.bottom())
            ink = mix(palette.color(Role.WindowText), self._color, 0.55)
            ink.setAlpha(170)
            painter.fillPath(path, ink)
        else:
            if self._note:
                painter.setPen(quiet(palette))
                elided = painter.fontMetrics().elidedText(
                    self._note, Qt.TextElideMode.ElideRight, int(area.width()) - 8
                )
                painter.drawText(area, Qt.AlignmentFlag.AlignCenter, elided)
            self.seen_empty.emit()
        painter.setPen(QPen(quiet(palette, 0.35), 1))
        painter.drawLine(QPointF(area.left(), area.bottom()), QPointF(area.right(), area.bottom()))
        if self._counts or not self._note:  # the line would cross out the text
            painter.setPen(QPen(quiet(palette, 0.8), 1.4))
            painter.drawLine(QPointF(low, area.bottom()), QPointF(high, area.top()))
        for x, which in ((low, "low"), (high, "high")):
            accent = self._grabbed == which or self.hasFocus()
            painter.setPen(QPen(palette.color(Role.Window), 1))
            painter.setBrush(palette.color(Role.Highlight if accent else Role.WindowText))
            top = area.bottom() - 1
            painter.drawPolygon(QPolygonF([QPointF(x, top), QPointF(x + 5, top + 9), QPointF(x - 5, top + 9)]))
            painter.setPen(QPen(palette.color(Role.WindowText), 1))
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))

    # ---- gestures

    def _at(self, x: float) -> str:
        low, high = self._x(self._levels[0]), self._x(self._levels[1])
        near_low, near_high = abs(x - low), abs(x - high)
        if min(near_low, near_high) <= _GRIP:
            # If both handles are at one position, the side of the pointer decides which one moves, so neither gets
            # stuck.
            if near_low == near_high:
                return "high" if x >= high else "low"
            return "low" if near_low < near_high else "high"
        if low < x < high:
            return "both"
        return "low" if x < low else "high"

    def mousePressEvent(self, event: QMouseEvent | None) -> None:
        assert event is not None
        if event.button() != Qt.MouseButton.LeftButton:
            return
        x = event.position().x()
        self._grabbed = self._at(x)
        self._grabbed_at, self._grabbed_levels, self._given_before = x, self._levels, self._given
        self.update()

    def mouseMoveEvent(self, event: QMouseEvent | None) -> None:
        assert event is not None
        x = event.position().x()
        if self._grabbed is None:
            both = self._at(x) == "both"
            self.setCursor(Qt.CursorShape.SizeAllCursor if both else Qt.CursorShape.SizeHorCursor)
            return
        moved = (x - self._grabbed_at) * self._value_per_pixel()
        low, high = self._grabbed_levels
        self._move(
            low + (moved if self._grabbed in ("low", "both") else 0),
            high + (moved if self._grabbed in ("high", "both") else 0),
        )

    def mouseReleaseEvent(self, event: QMouseEvent | None) -> None:
        if self._grabbed is not None and self._given != self._given_before:
            self._levels = self._given
        self._grabbed = None
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent | None) -> None:
        self._grabbed = None
        self.auto_asked.emit()

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        assert event is not None
        signs: dict[int, int] = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        sign = signs.get(event.key())
        if sign is None:
            super().keyPressEvent(event)
            return
        modifiers = event.modifiers()
        step = (
            sign
            * max(self._value_per_pixel(), self._step)
            * (10 if modifiers & Qt.KeyboardModifier.ShiftModifier else 1)
        )
        low, high = self._levels
        if modifiers & Qt.KeyboardModifier.ControlModifier:
            self._move(low, high + step)
        else:
            self._move(low + step, high)

    def _move(self, low: float, high: float) -> None:
        lo, hi = self._span()
        low, high = min(max(low, lo), hi), min(max(high, lo), hi)
        if low > high:
            low, high = (high, high) if self._grabbed == "low" else (low, low)
        if (low, high) != self._levels:
            self._levels = (low, high)
            self.update()
            self.levels_dragged.emit(low, high)
