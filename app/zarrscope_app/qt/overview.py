"""The Overview tab: the wells of a plate, the fields of a well or the images of a series, as a grid of thumbnails."""

from __future__ import annotations

from qtpy.QtCore import QEvent, QPoint, QRect, QRectF, Qt, Signal
from qtpy.QtGui import QHelpEvent, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from qtpy.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QToolTip, QVBoxLayout, QWidget

from zarrscope_app.presenters.image.overview import Cell, OverviewPresenter, OverviewState

from .follow import follow
from .text import Label, tip
from .theme import Role, image_background, quiet, warning
from .tile_images import screen_image

_LEAST, _MOST, _GAP = 28, 220, 4


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
        self._scroll = QScrollArea()
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidgetResizable(True)
        self._scroll.setWidget(self.grid)
        head = QHBoxLayout()
        head.setContentsMargins(8, 4, 8, 0)
        head.addWidget(self.title, 1)
        head.addWidget(self.loading)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(head)
        column.addWidget(self._scroll, 1)

    def attach(self, presenter: OverviewPresenter | None) -> None:
        """Shows another session's images."""
        old, self._presenter = self._presenter, presenter
        follow(old, presenter, self._changed)

    def _changed(self) -> None:
        assert self._presenter is not None
        state = self._presenter.state
        self.title.setText(state.title)
        self.loading.setText(state.sentence)
        self.grid.show_state(state)


class _Grid(QWidget):
    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._state = OverviewState()
        self._cells: dict[tuple[int, int], Cell] = {}
        self._images: dict[str, tuple[object, QImage]] = {}
        self._current = (0, 0)
        self._geometry: tuple[int, int, int] | None = None
        """Left and upper margin and the side of a thumbnail; None until they are computed for this state and size."""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)

    def show_state(self, state: OverviewState) -> None:
        before, shown = self._state, self._cells
        self._state = state
        self._cells = {(cell.row, cell.column): cell for cell in state.cells}
        if [c.path for c in state.cells] != [c.path for c in before.cells]:
            self._images.clear()
            self._current = (state.cells[0].row, state.cells[0].column) if state.cells else (0, 0)
        elif (state.title, state.rows, state.columns) == (before.title, before.rows, before.columns):
            # Thumbnails arrive one by one: painting all of a plate for each would hold the window up.
            for where, cell in self._cells.items():
                old = shown.get(where)
                if old is None or (cell.rgb is not old.rgb or (cell.name, cell.sentence) != (old.name, old.sentence)):
                    self.update(self._painted(*where))
            return
        self._geometry = None
        self.setAccessibleName(state.title)
        rows, columns = max(1, len(state.rows)), max(1, len(state.columns))
        left, top = self._margins()
        self.setMinimumSize(left + columns * (_LEAST + _GAP), top + rows * (_LEAST + self._caption() + _GAP))
        self.update()

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

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        self._geometry = None
        super().resizeEvent(event)

    def changeEvent(self, event: QEvent | None) -> None:
        self._geometry = None  # another font
        super().changeEvent(event)

    def _laid_out(self) -> tuple[int, int, int]:
        """The margins and the side of a thumbnail: large enough to be recognised, small enough that all fit if
        possible."""
        if self._geometry is None:
            rows, columns = max(1, len(self._state.rows)), max(1, len(self._state.columns))
            left, top = self._margins()
            wide = (self.width() - left - 8) // columns - _GAP
            high = (self.height() - top - 8) // rows - _GAP - self._caption()
            self._geometry = left, top, max(_LEAST, min(_MOST, wide, high))
        return self._geometry

    def place_of(self, row: int, column: int) -> QRect:
        """The rectangle in which a thumbnail is drawn."""
        left, top, side = self._laid_out()
        return QRect(left + column * (side + _GAP), top + row * (side + self._caption() + _GAP), side, side)

    def _painted(self, row: int, column: int) -> QRect:
        """The rectangle of a thumbnail with its frame and its name."""
        return self.place_of(row, column).adjusted(-2, -2, 2, 2 + self._caption())

    def _within(self, area: QRect) -> tuple[range, range]:
        """The rows and the columns that are visible in `area`."""
        left, top, side = self._laid_out()
        across, down = side + _GAP, side + self._caption() + _GAP
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
        state, palette, metrics = self._state, self.palette(), self.fontMetrics()
        left, top, _ = self._laid_out()
        painter.setPen(quiet(palette, 0.8))
        rows, columns = self._within(event.rect())
        region, background = event.region(), image_background(palette)
        for number in columns:
            box = self.place_of(0, number)
            name = QRect(box.left(), 2, box.width(), top - 4)
            painter.drawText(name, Qt.AlignmentFlag.AlignCenter, state.columns[number])
        for number in rows:
            box = self.place_of(number, 0)
            name = QRect(0, box.top(), left - 6, box.height())
            painter.drawText(name, Qt.AlignmentFlag.AlignCenter, state.rows[number])
        for row in rows:
            for column in columns:
                box = self.place_of(row, column)
                if not region.intersects(self._painted(row, column)):
                    continue
                cell = self._cells.get((row, column))
                if cell is not None:
                    painter.fillRect(box, background)
                    self._draw(painter, cell, box)
                elif self._named():
                    painter.setPen(QPen(quiet(palette, 0.4), 1, Qt.PenStyle.DotLine))
                    painter.drawRect(box.adjusted(0, 0, -1, -1))
                if cell is not None and not self._named():
                    painter.setPen(palette.color(Role.WindowText))
                    said = metrics.elidedText(cell.name, Qt.TextElideMode.ElideMiddle, box.width())
                    below = QRect(box.left(), box.bottom() + 1, box.width(), metrics.height())
                    painter.drawText(below, Qt.AlignmentFlag.AlignCenter, said)
        if self._current in self._cells and self.hasFocus():
            painter.setPen(QPen(palette.color(Role.Highlight), 2))
            painter.drawRect(self.place_of(*self._current).adjusted(-1, -1, 0, 0))

    def _draw(self, painter: QPainter, cell: Cell, box: QRect) -> None:
        if cell.rgb is None:
            ink = warning(self.palette()) if cell.sentence else quiet(self.palette(), 0.5)
            painter.setPen(ink)
            if cell.sentence:  # a cross like that of a failed tile; else three dots
                painter.drawLine(box.topLeft(), box.bottomRight())
                painter.drawLine(box.topRight(), box.bottomLeft())
                return
            for step in (-1, 0, 1):
                painter.fillRect(QRect(box.center().x() + 6 * step, box.center().y(), 2, 2), ink)
            return
        held = self._images.get(cell.path)
        if held is None or held[0] is not cell.rgb:
            held = (cell.rgb, screen_image(cell.rgb))
            self._images[cell.path] = held
        image = held[1]
        scale = min(box.width() / image.width(), box.height() / image.height())
        size = image.width() * scale, image.height() * scale
        target = QRectF(box.center().x() - size[0] / 2 + 0.5, box.center().y() - size[1] / 2 + 0.5, *size)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, scale < 1)
        painter.drawImage(target, image)

    # ---------------------------------------------------------------- gestures
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
                return
