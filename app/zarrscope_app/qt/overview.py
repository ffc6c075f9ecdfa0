"""The Overview tab: the wells of a plate, the fields of a well or the images of a series, as a grid of thumbnails.

The grid fits the space, so that a plate of 384 wells is seen as a whole in a small window. Ctrl with the wheel, and the
keys + and -, make the thumbnails larger; the grid then scrolls.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from zarrscope_app.presenters.image.overview import Cell, OverviewPresenter, OverviewState, short_name
from zarrscope_app.qt.toolkit.core import QEvent, QPoint, QRect, QRectF, QSize, Qt, Signal
from zarrscope_app.qt.toolkit.gui import (
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
    QWheelEvent,
)
from zarrscope_app.qt.toolkit.widgets import QFrame, QHBoxLayout, QScrollArea, QToolTip, QVBoxLayout, QWidget

from .follow import follow
from .text import Label, tip
from .theme import Role, image_background, quiet, warning
from .tile_images import screen_image

_LEAST, _LEAST_WITH_NAME, _MOST, _LARGEST = 12, 28, 220, 880
"""Sides of a thumbnail in pixels: the least one in a plate, the least one with a name below it, the largest one that
fits the space, and the largest one by zooming."""
_GAP, _SMALL_GAP = 4, 2
"""The space between thumbnails, and between those smaller than `_LEAST_WITH_NAME`."""
_STEP = 1.25
_KEPT_PIXELS = 1 << 22
"""The most pixels of drawn thumbnails that are kept, 16 MiB, unless more are in sight."""


class OverviewPane(QWidget):
    """The Overview tab. `attach` takes an overview presenter, or None; `chosen(path)` is emitted when an image should
    be opened."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter: OverviewPresenter | None = None
        self.title, self.loading = Label(), Label()
        self.grid = _Grid()
        self.grid.chosen.connect(self.chosen)
        self.area = _Scroll(self.grid)
        head = QHBoxLayout()
        head.setContentsMargins(8, 4, 8, 0)
        head.addWidget(self.title, 1)
        head.addWidget(self.loading)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(head)
        column.addWidget(self.area, 1)

    def attach(self, presenter: OverviewPresenter | None) -> None:
        """Shows another session's images."""
        old, self._presenter = self._presenter, presenter
        self.grid.forget_drawn()
        follow(old, presenter, self._changed)

    def zoom_by(self, factor: float) -> None:
        """Makes the thumbnails larger or smaller, but not smaller than those that fit the space."""
        self.grid.zoom_by(factor)

    def fit(self) -> None:
        """Shows all thumbnails, if their least size allows it."""
        self.grid.zoom_by(0)

    def _changed(self) -> None:
        assert self._presenter is not None
        state = self._presenter.state
        self.title.setText(state.title)
        self.loading.setText(state.sentence)
        self.grid.show_state(state)


class _Scroll(QScrollArea):
    """The space of the grid, which is as large as its thumbnails need."""

    def __init__(self, grid: _Grid) -> None:
        super().__init__()
        self._grid = grid
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setWidget(grid)
        grid.walked.connect(self._show)

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._grid.set_space(self.maximumViewportSize())

    def _show(self, place: QRect) -> None:
        middle = place.center()
        self.ensureVisible(middle.x(), middle.y(), place.width(), place.height())


class _Grid(QWidget):
    chosen = Signal(str)
    walked = Signal(QRect)
    """Emits the place of a thumbnail that should be visible."""

    def __init__(self) -> None:
        super().__init__()
        self._state = OverviewState()
        self._cells: dict[tuple[int, int], Cell] = {}
        self._images: dict[tuple[str, int], tuple[object, QPixmap]] = {}
        """(Path, side) → (the thumbnail, the thumbnail as it is drawn)."""
        self._image_pixels = 0
        """The pixels of all drawn thumbnails that are kept."""
        self._drawn_as: tuple[object, ...] = ()
        """The resolution and background of the drawn thumbnails."""
        self._current = (0, 0)
        self._zoom = 1.0
        """The size of the thumbnails relative to those that fit the space."""
        self._space = QSize()
        self._geometry: tuple[int, int, int] | None = None
        """Left and upper margin and the side of a thumbnail; None until they are computed for this state and size."""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)

    def show_state(self, state: OverviewState) -> None:
        before, shown = self._state, self._cells
        self._state = state
        self._cells = {(cell.row, cell.column): cell for cell in state.cells}
        if [c.path for c in state.cells] != [c.path for c in before.cells]:
            self._zoom = 1.0
            self._current = (state.cells[0].row, state.cells[0].column) if state.cells else (0, 0)
        elif (state.title, state.rows, state.columns) == (before.title, before.rows, before.columns):
            # Thumbnails arrive one by one: painting all of a plate for each would hold the window up.
            for where, cell in self._cells.items():
                old = shown.get(where)
                if old is None or (cell.rgb is not old.rgb or (cell.name, cell.sentence) != (old.name, old.sentence)):
                    self.update(self._painted(*where))
            return
        self.setAccessibleName(state.title)
        self._lay_out_again()

    # ---------------------------------------------------------------- places
    def _named(self) -> bool:
        return any(self._state.columns)

    def _caption(self) -> int:
        return 0 if self._named() else self.fontMetrics().height()

    def _margins(self) -> tuple[int, int]:
        metrics = self.fontMetrics()
        if not self._named():
            return 8, 8
        return max((metrics.horizontalAdvance(name) for name in self._state.rows), default=0) + 16, metrics.height() + 8

    def set_space(self, space: QSize) -> None:
        """Sets the visible size, which the thumbnails fit."""
        self._space = space
        self._lay_out_again()

    def zoom_by(self, factor: float) -> None:
        """Changes the size of the thumbnails; 0 makes them fit. The current one stays visible."""
        self._zoom = max(1.0, min(self._zoom * factor, _LARGEST / self._fitting()))
        self._lay_out_again()
        if self._current in self._cells:
            self.walked.emit(self.place_of(*self._current))

    def changeEvent(self, event: QEvent | None) -> None:
        super().changeEvent(event)
        if event is not None and event.type() == QEvent.Type.FontChange:
            self._lay_out_again()

    def _lay_out_again(self) -> None:
        self._geometry = None
        left, top, side = self._laid_out()
        rows, columns = max(1, len(self._state.rows)), max(1, len(self._state.columns))
        across, down = self._pitch(side)
        self.setMinimumSize(left + columns * across, top + rows * down)
        self.update()

    def _pitch(self, side: int) -> tuple[int, int]:
        """The distances between the thumbnails of two columns, and of two rows."""
        gap = _GAP if side >= _LEAST_WITH_NAME else _SMALL_GAP
        return side + gap, side + gap + self._caption()

    def _fitting(self) -> int:
        """The side of the largest thumbnails that all fit the space, within its limits."""
        rows, columns = max(1, len(self._state.rows)), max(1, len(self._state.columns))
        left, top = self._margins()
        wide, high = (self._space.width() - left) // columns, (self._space.height() - top) // rows - self._caption()
        side = min(wide, high) - _GAP
        if side < _LEAST_WITH_NAME:
            side = min(wide, high) - _SMALL_GAP
        return max(_LEAST if self._named() else _LEAST_WITH_NAME, min(_MOST, side))

    def _laid_out(self) -> tuple[int, int, int]:
        """The margins and the side of a thumbnail: large enough to be recognised, small enough that all fit if
        possible."""
        if self._geometry is None:
            left, top = self._margins()
            self._geometry = left, top, round(self._fitting() * self._zoom)
        return self._geometry

    def place_of(self, row: int, column: int) -> QRect:
        """The rectangle in which a thumbnail is drawn."""
        left, top, side = self._laid_out()
        across, down = self._pitch(side)
        return QRect(left + column * across, top + row * down, side, side)

    def _painted(self, row: int, column: int) -> QRect:
        """The rectangle of a thumbnail with its frame and its name."""
        return self.place_of(row, column).adjusted(-2, -2, 2, 2 + self._caption())

    def _within(self, area: QRect) -> tuple[range, range]:
        """The rows and the columns that are visible in `area`."""
        left, top, side = self._laid_out()
        across, down = self._pitch(side)
        rows = range(max(0, (area.top() - top) // down), min(len(self._state.rows), (area.bottom() - top) // down + 1))
        first, end = max(0, (area.left() - left) // across), (area.right() - left) // across + 1
        return rows, range(first, min(len(self._state.columns), end))

    def _at(self, point: QPoint) -> Cell | None:
        rows, columns = self._within(QRect(point, point))
        where = next(((row, column) for row in rows for column in columns), None)
        return self._cells.get(where) if where is not None and self.place_of(*where).contains(point) else None

    # ---------------------------------------------------------------- painting
    def paintEvent(self, event: QPaintEvent | None) -> None:
        assert event is not None
        painter = QPainter(self)
        palette, metrics = self.palette(), self.fontMetrics()
        rows, columns = self._within(event.rect())
        region = event.region()
        parts = region.rectCount() > 1  # then not all of `event.rect()` is painted
        self._keep_drawn()
        painter.setPen(quiet(palette, 0.8))
        for place, name in self._headings(rows, columns):
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, name)
        found: list[tuple[Cell, QRect]] = []
        missing: list[QRect] = []
        named = self._named()
        left, top, side = self._laid_out()
        across, down = self._pitch(side)
        for row in rows:
            for column in columns:
                if parts and not region.intersects(self._painted(row, column)):
                    continue
                cell = self._cells.get((row, column))
                box = QRect(left + column * across, top + row * down, side, side)
                if cell is not None:
                    found.append((cell, box))
                elif named:
                    missing.append(box.adjusted(0, 0, -1, -1))
        # Rectangles of one kind are drawn by one call each: a plate has hundreds of cells.
        if missing:
            painter.setPen(QPen(quiet(palette, 0.4), 1, Qt.PenStyle.DotLine))
            painter.drawRects(missing)  # type: ignore[call-overload]  # PyQt6 takes any sequence, its stubs only arrays
        self._draw_loading(painter, [box for cell, box in found if cell.rgb is None and not cell.sentence])
        for cell, box in found:
            if cell.rgb is not None or cell.sentence:
                self._draw(painter, cell, box)
            if not named:
                painter.setPen(palette.color(Role.WindowText))
                beside = (self._cells.get((cell.row, cell.column + step)) for step in (-1, 1))
                said = short_name(cell, beside, lambda text: metrics.horizontalAdvance(text) <= side)
                below = QRect(box.left(), box.bottom() + 1, box.width(), metrics.height())
                painter.drawText(below, Qt.AlignmentFlag.AlignCenter, said)
        if self._current in self._cells and self.hasFocus():
            painter.setPen(QPen(palette.color(Role.Highlight), 2))
            painter.drawRect(self.place_of(*self._current).adjusted(-1, -1, 0, 0))

    def _headings(self, rows: range, columns: range) -> list[tuple[QRect, str]]:
        """The names of rows and columns with their places. Where they would touch, only each second, third … one."""
        left, top, side = self._laid_out()
        across, down = self._pitch(side)
        metrics, state = self.fontMetrics(), self._state
        widest = max((metrics.horizontalAdvance(name) for name in state.columns), default=0) + 4
        each, every = -(-widest // across), -(-metrics.height() // down)
        found = []
        for number in columns:
            if number % each == 0:
                middle = self.place_of(0, number).center().x()
                found.append((QRect(middle - widest // 2, 2, widest, top - 4), state.columns[number]))
        for number in rows:
            if number % every == 0:
                middle, high = self.place_of(number, 0).center().y(), metrics.height()
                found.append((QRect(0, middle - high // 2, left - 6, high), state.rows[number]))
        return found

    def _draw_loading(self, painter: QPainter, boxes: list[QRect]) -> None:
        """Draws the cells whose thumbnails are loading, as three dots."""
        if not boxes:
            return
        dots = []
        for box in boxes:
            middle = box.center()
            x, y = middle.x(), middle.y()
            dots += [QRect(x - 6, y, 2, 2), QRect(x, y, 2, 2), QRect(x + 6, y, 2, 2)]
        painter.setPen(Qt.PenStyle.NoPen)
        for rectangles, color in ((boxes, image_background(self.palette())), (dots, quiet(self.palette(), 0.5))):
            painter.setBrush(color)
            painter.drawRects(rectangles)  # type: ignore[call-overload]  # PyQt6 takes any sequence, its stubs only arrays
        painter.setBrush(Qt.BrushStyle.NoBrush)

    def _draw(self, painter: QPainter, cell: Cell, box: QRect) -> None:
        """Draws a thumbnail, or a cross like that of a failed tile."""
        if cell.rgb is None:
            painter.fillRect(box, image_background(self.palette()))
            painter.setPen(warning(self.palette()))
            painter.drawLine(box.topLeft(), box.bottomRight())
            painter.drawLine(box.topRight(), box.bottomLeft())
            return
        key = cell.path, box.width()
        held = self._images.get(key)
        if held is None or held[0] is not cell.rgb:
            made = self._scaled(cell.rgb, box.size())
            self._image_pixels += made.width() * made.height() if held is None else 0
            self._images[key] = held = cell.rgb, made
        painter.drawPixmap(box.topLeft(), held[1])

    def forget_drawn(self) -> None:
        """Drops the drawn thumbnails, which are made again when they are painted."""
        self._images.clear()
        self._image_pixels = 0

    def _keep_drawn(self) -> None:
        """Drops the drawn thumbnails if they have another resolution or background now, or take too much memory. They
        are kept because scaling takes longer than all else of a painting; those in sight always are, and those of the
        collection that was displayed before, because one walks from a plate to a well and back."""
        ratio = self.devicePixelRatioF()
        drawn_as = ratio, self.palette().cacheKey()
        sight = self.visibleRegion().boundingRect()
        most = max(_KEPT_PIXELS, round(2 * sight.width() * sight.height() * ratio * ratio))
        if drawn_as != self._drawn_as or self._image_pixels > most:
            self.forget_drawn()
            self._drawn_as = drawn_as

    def _scaled(self, rgb: npt.NDArray[np.uint8], size: QSize) -> QPixmap:
        """A thumbnail as it is drawn in a cell of this size."""
        ratio = self.devicePixelRatioF()
        made = QPixmap(size * ratio)
        made.setDevicePixelRatio(ratio)
        made.fill(image_background(self.palette()))
        painter = QPainter(made)
        image, box = screen_image(rgb), QRect(QPoint(), size)
        scale = min(box.width() / image.width(), box.height() / image.height())
        wide, high = image.width() * scale, image.height() * scale
        target = QRectF(box.center().x() - wide / 2 + 0.5, box.center().y() - high / 2 + 0.5, wide, high)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, scale < 1)
        painter.drawImage(target, image)
        painter.end()
        return made

    # ---------------------------------------------------------------- gestures
    def wheelEvent(self, event: QWheelEvent | None) -> None:
        assert event is not None
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.zoom_by(_STEP ** (event.angleDelta().y() / 120))
            event.accept()
        else:
            super().wheelEvent(event)

    def mousePressEvent(self, event: QMouseEvent | None) -> None:
        assert event is not None
        cell = self._at(event.position().toPoint())
        if cell is not None and event.button() == Qt.MouseButton.LeftButton:
            self._current = (cell.row, cell.column)
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent | None) -> None:
        assert event is not None
        cell = self._at(event.position().toPoint())
        left = event.button() == Qt.MouseButton.LeftButton
        if cell is not None and left and (cell.row, cell.column) == self._current:
            self.chosen.emit(cell.path)

    def event(self, event: QEvent | None) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == event.Type.ToolTip:
            cell = self._at(event.pos())
            said = "\n".join(part for part in (cell.name, cell.path, cell.sentence) if part) if cell is not None else ""
            QToolTip.showText(event.globalPos(), tip(said), self)
            return True
        return bool(super().event(event))

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        assert event is not None
        moves: dict[int, tuple[int, int]] = {
            Qt.Key.Key_Left: (0, -1), Qt.Key.Key_Right: (0, 1), Qt.Key.Key_Up: (-1, 0), Qt.Key.Key_Down: (1, 0),
        }  # fmt: skip
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._current in self._cells:
            self.chosen.emit(self._cells[self._current].path)
        elif event.key() in moves:
            self._walk(*moves[event.key()])
        else:
            super().keyPressEvent(event)

    def _walk(self, down: int, across: int) -> None:
        """Moves to the next cell in a direction, skipping missing ones."""
        row, column = self._current
        while True:
            row, column = row + down, column + across
            if not (0 <= row < len(self._state.rows) and 0 <= column < len(self._state.columns)):
                return
            if (row, column) in self._cells:
                self._current = (row, column)
                self.update()
                self.walked.emit(self.place_of(row, column))
                return
