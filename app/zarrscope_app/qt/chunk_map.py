"""The widget that draws a map of chunks: a cell for each chunk, with colours for sizes and patterns for states."""

from __future__ import annotations

import numpy as np

from zarrscope_app.presenters.chunks.view_models import (
    ABSENT,
    FAILED,
    LOADING,
    PARTLY,
    PRESENT,
    UNTOLD,
    ChunkMap,
    InnerMap,
)
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.qt.toolkit.core import QPointF, QRectF, QSize, Qt, Signal
from zarrscope_app.qt.toolkit.gui import (
    QBrush,
    QColor,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from zarrscope_app.qt.toolkit.widgets import QSizePolicy, QWidget

from .theme import current_palette, mix, warning

_LARGEST, SMALLEST = 240.0, 8.0
"""The most and the fewest pixels along the longer and the shorter side of a cell."""
_PATTERNS = {
    ABSENT: Qt.BrushStyle.Dense7Pattern,
    PARTLY: Qt.BrushStyle.Dense5Pattern,
    LOADING: Qt.BrushStyle.HorPattern,
    FAILED: Qt.BrushStyle.DiagCrossPattern,
    UNTOLD: Qt.BrushStyle.BDiagPattern,
}
"""The fill pattern of each state of a chunk, for people who cannot distinguish the colours of the states."""
WIDEST = (1 << 24) - 1
"""Qt's QWIDGETSIZE_MAX: no limit."""
_PERIOD = 8
"""The pixels after which each of Qt's patterns repeats itself."""
PALEST = 0.35
"""The share of the accent colour in a cell of the smallest chunk."""
_MANY_CELLS = 1 << 14
"""The most cells of a map that is drawn with patterns; with more cells patterns would be too small to see."""


def hatching(color: QColor, pattern: Qt.BrushStyle) -> QBrush:
    """A brush with one of Qt's patterns that grows with the resolution of the screen. Qt draws the dots of its patterns
    one pixel wide on every screen: at 200 % they can hardly be seen."""
    tile = QImage(_PERIOD, _PERIOD, QImage.Format.Format_ARGB32_Premultiplied)
    tile.fill(0)
    painter = QPainter(tile)
    painter.fillRect(tile.rect(), QBrush(color, pattern))
    painter.end()
    return QBrush(tile)


class MapWidget(QWidget):
    """The map of the chunks, a cell for each chunk. `picked(row, column)` is emitted for a clicked cell."""

    picked = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._map: ChunkMap | InnerMap = ChunkMap()
        self._at = (0, 0)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(LABELS["chunk-map"])
        self.setMinimumSize(200, 120)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        return QSize(480, 360)

    def show_map(self, found: ChunkMap | InnerMap) -> None:
        """Paints `found` in place of the present map."""
        self._map = found
        self._at = found.chosen_cell or self._at
        self.update()

    def _cell(self) -> tuple[float, float]:
        """Height and width of a cell: in proportion, but the cells of a long narrow plane are stretched so that they
        can be clicked."""
        rows, columns = self._shape()
        most_high, most_wide = self._largest()
        high = min(most_high, (self.height() - 2) / max(1, rows))
        wide = min(most_wide, (self.width() - 2) / max(1, columns))
        scale = min(high / most_high, wide / most_wide)
        if min(most_high, most_wide) * scale >= SMALLEST:
            return most_high * scale, most_wide * scale
        return min(high, max(SMALLEST, most_high * scale)), min(wide, max(SMALLEST, most_wide * scale))

    def _shape(self) -> tuple[int, int]:
        rows, columns = self._map.cells.shape if self._map.cells is not None else (1, 1)
        return rows, columns

    def _largest(self) -> tuple[float, float]:
        """The most pixels of a cell's height and width, in proportion."""
        high = self._map.proportion
        return (_LARGEST, _LARGEST / high) if high > 1 else (_LARGEST * high, _LARGEST)

    def largest(self) -> QSize:
        """The size of the map with cells of the largest size; more space remains empty."""
        (rows, columns), (high, wide) = self._shape(), self._largest()
        return QSize(min(WIDEST, round(columns * wide) + 2), min(WIDEST, round(rows * high) + 2))

    def mousePressEvent(self, event: QMouseEvent | None) -> None:
        assert event is not None
        high, wide = self._cell()
        self._at = (int(event.position().y() // high), int(event.position().x() // wide))
        self.picked.emit(*self._at)

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        assert event is not None
        keys = Qt.Key
        steps: dict[int, tuple[int, int]] = {
            keys.Key_Up: (-1, 0),
            keys.Key_Down: (1, 0),
            keys.Key_Left: (0, -1),
            keys.Key_Right: (0, 1),
        }
        cells = self._map.cells
        if cells is None or event.key() not in (*steps, keys.Key_Return):
            super().keyPressEvent(event)
            return
        down, across = steps.get(event.key(), (0, 0))
        row, column = self._at[0] + down, self._at[1] + across
        self._at = (min(max(row, 0), cells.shape[0] - 1), min(max(column, 0), cells.shape[1] - 1))
        if self._map.step == (1, 1) or event.key() == keys.Key_Return:
            self.picked.emit(*self._at)
        self.update()

    def paintEvent(self, event: QPaintEvent | None) -> None:
        found = self._map
        if found.cells is None or found.shades is None:
            return
        painter = QPainter(self)
        palette = current_palette()  # napari's style sheet makes the accent of the widget's own grey
        base, text, accent = palette.base().color(), palette.text().color(), palette.highlight().color()
        high, wide = self._cell()
        rows, columns = found.cells.shape
        self._paint_stored(painter, base, accent, QRectF(0, 0, columns * wide, rows * high))
        for state, pattern in _PATTERNS.items() if rows * columns <= _MANY_CELLS else ():
            color = {FAILED: warning(palette), LOADING: accent}.get(state, mix(base, text, 0.35))
            brush = hatching(color, pattern)
            for row, column in np.argwhere(found.cells == state).tolist():
                painter.fillRect(QRectF(column * wide, row * high, wide, high), brush)
        if min(high, wide) >= 4:
            painter.setPen(QPen(mix(base, text, 0.25), 1))
            for row in range(rows + 1):
                painter.drawLine(QPointF(0, row * high), QPointF(columns * wide, row * high))
            for column in range(columns + 1):
                painter.drawLine(QPointF(column * wide, 0), QPointF(column * wide, rows * high))
        if self.hasFocus() or found.chosen_cell is not None:
            painter.setPen(QPen(text, 2))
            painter.drawRect(QRectF(self._at[1] * wide, self._at[0] * high, wide, high))

    def _paint_stored(self, painter: QPainter, base: QColor, accent: QColor, place: QRectF) -> None:
        """Paints the stored chunks, larger ones in a stronger colour, as one small picture that is scaled up."""
        found = self._map
        assert found.cells is not None
        assert found.shades is not None
        here = np.array([base.red(), base.green(), base.blue()], np.float32)
        full = np.array([accent.red(), accent.green(), accent.blue()], np.float32)
        stored = (found.cells == PRESENT) | (found.cells == PARTLY)
        weight = np.where(stored, PALEST + (1 - PALEST) * found.shades, 0)[..., None]
        rgb = np.ascontiguousarray((here + (full - here) * weight).astype(np.uint8))
        rows, columns = found.cells.shape
        image = QImage(rgb.tobytes(), columns, rows, columns * 3, QImage.Format.Format_RGB888)
        painter.drawImage(place, image)
