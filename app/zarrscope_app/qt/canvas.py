"""The picture of a slice: tiles over tiles, zoomed and panned immediately; the state of each tile is drawn into it.

It paints `SlicePresenter.frame` and tells the presenter the displayed part (`viewport`) and the place of the cursor
(`hover`). Zoom and centre belong to the canvas, because other front ends need not share them.

It is a plain widget with QPainter, because tiles are ready-made RGB: one blit per tile. pyqtgraph's scene was tried; it
adds a second coordinate system and a dependency, and was not faster.
"""

from __future__ import annotations

from collections.abc import Callable

from zarrscope_app.presenters import CoalescedCall, Post, Rect, SlicePresenter, Tile, TileState
from zarrscope_app.presenters.image.blending import Blend
from zarrscope_app.presenters.image.window_level import Limits, dragged, limits_of
from zarrscope_app.qt.toolkit.core import QEvent, QLineF, QPointF, QRect, QRectF, Qt, QTimer, Signal
from zarrscope_app.qt.toolkit.gui import (
    QColor,
    QFontMetricsF,
    QGuiApplication,
    QHelpEvent,
    QImage,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from zarrscope_app.qt.toolkit.widgets import QSizePolicy, QWidget

from . import tile_images
from .canvas_notes import draw_caption, draw_reason
from .picture_tip import PictureTip
from .theme import Role, image_background, mix, quiet
from .tile_images import KeptImages, as_layer, blit, converted, draw_signs, smooth_together, version_of

_ZOOM_STEP = 1.25
_NOTCH = 120
"""The turn of one notch of a wheel, in Qt's unit."""
_SETTLE_MS = 120
_BAR_PIXELS = 140
_PIN = 7


class ImageCanvas(QWidget):
    """Draws a plane of an image; the person can zoom and pan it.

    `attach` takes a presenter, or None. `zoomed` is emitted when the magnification has changed, `hovered` when the
    cursor is over another place.
    """

    zoomed = Signal()
    moved = Signal()
    """Emitted when another part of the plane is displayed, or its magnification has changed."""
    hovered = Signal()

    def __init__(self, post: Post, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter: SlicePresenter | None = None
        self._images: KeptImages = {}
        self._others: KeptImages = {}
        """Like `_images`, for the image that is laid over the picture."""
        self._contents: object = None
        self._tip = PictureTip(self)
        """The contents for which the last painting was requested."""
        self._shape = (0, 0)
        self._aspect = 1.0
        self._zoom = 1.0
        self._center = (0.0, 0.0)
        self._fitted = True
        self._pressed: QPointF | None = None
        self._pressed_center = self._center
        self._contrast: tuple[QPointF, tuple[Limits, ...]] | None = None
        """Where a drag with the right button began, and the contrast limits then."""
        self._dragged = False
        self._turned = 0
        """The angle by which the wheel was turned with Shift since the last step."""
        self._drawn = ""
        """The measurement that dragging the mouse draws: "line", "region"; "" for panning."""
        self._rubber: Rect | None = None
        self.picked: Callable[[float, float], object] | None = None
        """Called with the place (y, x) of a click, which is then not pinned."""
        self.over: Blend | None = None
        """The image that is laid over the picture."""
        self.acts_on: SlicePresenter | None = None
        """The presenter that gestures act on and whose marks are drawn, if it is not the displayed one."""
        self.caption = ""
        """The text in the upper left corner."""
        self.scale_bars = True
        self._tell = CoalescedCall(post, self._tell_viewport)
        # Shrunken tiles are smoothed only when the view rests, because smoothing is slow.
        self._settled = QTimer(self)
        self._settled.setSingleShot(True)
        self._settled.setInterval(_SETTLE_MS)
        self._settled.timeout.connect(self.update)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(160, 120)
        self.setCursor(Qt.CursorShape.CrossCursor)

    def attach(self, presenter: SlicePresenter | None) -> None:
        """Shows another presenter's picture, fitted into the window."""
        if self._presenter is not None:
            self._presenter.painted.disconnect(self._painted)
            self._presenter.changed.disconnect(self._painted)
        self._presenter, self._contents = presenter, None
        self._images.clear()
        self._shape = (0, 0)
        self._fitted = True
        if presenter is not None:
            presenter.painted.connect(self._painted)
            presenter.changed.connect(self._painted)
            self._painted()

    @property
    def _target(self) -> SlicePresenter | None:
        return self.acts_on if self.acts_on is not None else self._presenter

    # ---------------------------------------------------------------- the view
    @property
    def is_fitted(self) -> bool:
        """Whether the whole plane is fitted into the widget; a resized widget then fits it again."""
        return self._fitted

    @property
    def zoom(self) -> float:
        """Screen pixels per element along x."""
        return self._zoom

    @property
    def center(self) -> tuple[float, float]:
        """(y, x) of the plane in the middle of the widget."""
        return self._center

    @property
    def aspect(self) -> float:
        """The height of one element of the plane divided by its width."""
        return self._aspect

    def look(self, center: tuple[float, float], zoom: float) -> None:
        """Shows the plane around `center`, with `zoom` screen pixels per element along x."""
        if (center, zoom) != (self._center, self._zoom):
            self._fitted, self._center = False, center
            self._set_zoom(zoom)

    @property
    def visible_rect(self) -> Rect:
        """The rectangle of the plane that the widget spans; it may reach beyond the plane."""
        half_w, half_h = self.width() / 2 / self._zoom, self.height() / 2 / (self._zoom * self._aspect)
        y, x = self._center
        return (y - half_h, x - half_w, y + half_h, x + half_w)

    def fit(self) -> None:
        """Shows the whole plane as large as possible."""
        height, width = self._shape
        if not height or not width:
            return
        self._fitted = True
        self._center = (height / 2, width / 2)
        self._set_zoom(min(self.width() / width, self.height() / (height * self._aspect)))

    def look_at(self, rect: Rect) -> None:
        """Shows this part of the plane as large as possible."""
        y0, x0, y1, x1 = rect
        self._fitted = False
        self._center = self._kept((y0 + y1) / 2, (x0 + x1) / 2)
        self._set_zoom(min(self.width() / (x1 - x0), self.height() / ((y1 - y0) * self._aspect)))

    def zoom_by(self, factor: float, at: QPointF | None = None) -> None:
        """Zooms around `at` (widget coordinates; None: the middle), which stays in place."""
        at = QPointF(self.rect().center()) if at is None else at
        y, x = self.to_plane(at)
        height, width = self._shape
        # The plane fills at least a quarter of the window, and a pixel at most half of it.
        least = min(self.width() / max(width, 1), self.height() / max(height * self._aspect, 1)) / 4
        most = max(64.0, min(self.width(), self.height()) / 2)
        zoom = min(max(self._zoom * factor, min(least, 1.0)), most)
        cy = y - (at.y() - self.height() / 2) / (zoom * self._aspect)
        cx = x - (at.x() - self.width() / 2) / zoom
        self._fitted = False
        self._center = self._kept(cy, cx)
        self._set_zoom(zoom)

    def to_plane(self, at: QPointF) -> tuple[float, float]:
        """(y, x) of a point of the widget, in indices of level 0."""
        y0, x0, _, _ = self.visible_rect
        return y0 + at.y() / (self._zoom * self._aspect), x0 + at.x() / self._zoom

    def to_widget(self, rect: Rect) -> QRectF:
        """A rectangle of the plane in widget coordinates."""
        y0, x0, _, _ = self.visible_rect
        sy, sx = self._zoom * self._aspect, self._zoom
        return QRectF((rect[1] - x0) * sx, (rect[0] - y0) * sy, (rect[3] - rect[1]) * sx, (rect[2] - rect[0]) * sy)

    def _kept(self, y: float, x: float) -> tuple[float, float]:
        # The middle of the window stays on the plane, so that an image cannot be moved off the screen.
        height, width = self._shape
        return min(max(y, 0.0), float(height)), min(max(x, 0.0), float(width))

    def _set_zoom(self, zoom: float) -> None:
        self._zoom = max(zoom, 1e-6)
        self._moved()
        self.zoomed.emit()

    def _moved(self) -> None:
        self._settled.start()
        self._tell.soon()
        self.update()
        self.moved.emit()

    def _tell_viewport(self) -> None:
        if self._presenter is not None and self._shape[0] and self.width() > 1:
            ratio = self.devicePixelRatioF()
            self._presenter.viewport(self.visible_rect, (round(self.height() * ratio), round(self.width() * ratio)))

    def _painted(self) -> None:
        assert self._presenter is not None
        frame = self._presenter.frame
        if frame.shape != self._shape or frame.aspect != self._aspect:
            self._shape, self._aspect = frame.shape, frame.aspect
            self.fit()
        if self._shape[0] and (rect := self._presenter.take_rect()) is not None:
            self.look_at(rect)
        if (place := self._tip.place) is not None:
            self._tip.renew(self._presenter.why(*self.to_plane(QPointF(place))))
        contents = tile_images.contents_of(self._presenter, self._target)
        covered = self.over is not None and bool(self.over.tiles)
        if contents != self._contents or covered:  # a moved slider alone changes no pixel yet
            self._contents = contents
            self.update()

    # ---------------------------------------------------------------- painting
    def paintEvent(self, event: QPaintEvent | None) -> None:
        painter = QPainter(self)
        background = image_background(self.palette())
        painter.fillRect(self.rect(), background)
        if self._presenter is None:
            return
        frame = self._presenter.frame
        height, width = self._shape
        if frame.tiles:
            plane = self.to_widget((0.0, 0.0, float(height), float(width)))
            painter.fillRect(plane, mix(background, QColor(128, 128, 128), 0.12))
        smooth = self._presenter.state.smooth
        seen: KeptImages = {}
        resting = not self._settled.isActive() and self._pressed is None
        window = QRectF(self.rect())
        marked: list[tuple[Tile, QRect]] = []
        enlarged: list[tuple[QImage, QRect]] = []
        signs: list[tuple[TileState, Rect]] = []
        for tile in frame.tiles:
            place = self.to_widget(tile.rect)
            if not place.intersects(window):
                if tile.key in self._images:
                    seen[tile.key] = self._images[tile.key]
                continue
            # Tile edges are rounded to whole pixels, equally for neighbours, so there are no seams.
            target = QRect(
                round(place.left()),
                round(place.top()),
                max(1, round(place.right()) - round(place.left())),
                max(1, round(place.bottom()) - round(place.top())),
            )
            if tile.rgb is not None and tile.rgb.size:
                bare = tile.bare is not None
                image = converted(tile, self._images, bare)
                seen[tile.key] = (version_of(tile, bare), image)
                signs += tile.marks
                shrunken = target.width() < image.width() * 0.98
                painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, shrunken and resting)
                if smooth and target.width() > image.width():
                    enlarged.append((image, target))
                    continue
                blit(painter, image, target, self.rect())
            elif tile.state is not TileState.FILL:
                marked.append((tile, target))
        if enlarged:
            smooth_together(painter, enlarged, self.rect())
        draw_signs(painter, signs, self.to_widget, window)
        for tile, target in marked:
            tile_images.mark_tile(painter, tile.state, target.intersected(self.rect()), self.palette())
        self._images = seen
        if self.over is not None and self.over.tiles and self.over.state.share:
            self._draw_over(painter, self.over, smooth)
        self._draw_measured(painter)
        self._draw_pin(painter)
        self._draw_scale_bar(painter)
        draw_caption(painter, self, self.caption)
        draw_reason(painter, self, frame.over, below=self.caption)

    def _draw_over(self, painter: QPainter, over: Blend, smooth: bool) -> None:
        """Draws another image as one layer, because its tiles overlap each other and would be blended twice."""
        places = [(tile, self.to_widget(over.place(tile.rect))) for tile in over.tiles]
        layer, self._others = as_layer(places, self._others, self.size(), self.devicePixelRatioF(), smooth)
        painter.setOpacity(over.state.share)
        painter.drawImage(0, 0, layer)
        painter.setOpacity(1.0)

    def _draw_measured(self, painter: QPainter) -> None:
        """Draws the line or rectangle that was measured, or is being drawn."""
        assert self._target is not None
        found = self._target.state.measurement
        kind, place = (self._drawn, self._rubber) if self._rubber is not None else (found.kind, found.place)
        if not kind or place is None:
            return
        box = self.to_widget(place)
        for color, width in ((QColor(0, 0, 0, 170), 3.0), (QColor(255, 255, 255), 1.0)):
            painter.setPen(QPen(color, width))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            if kind == "line":
                painter.drawLine(box.topLeft(), box.bottomRight())
            else:
                painter.drawRect(box.normalized())

    def _draw_pin(self, painter: QPainter) -> None:
        """Marks the pinned pixel: strokes around it, dark beneath light, so that they are visible on any background."""
        assert self._target is not None
        pin = self._target.state.pin
        if pin is None:
            return
        y, x = pin
        pixel = self.to_widget((y - 0.5, x - 0.5, y + 0.5, x + 0.5))
        grown = pixel.adjusted(-2, -2, 2, 2)
        strokes = [
            QLineF(grown.left() - _PIN, grown.center().y(), grown.left(), grown.center().y()),
            QLineF(grown.right(), grown.center().y(), grown.right() + _PIN, grown.center().y()),
            QLineF(grown.center().x(), grown.top() - _PIN, grown.center().x(), grown.top()),
            QLineF(grown.center().x(), grown.bottom(), grown.center().x(), grown.bottom() + _PIN),
        ]
        for color, width in ((QColor(0, 0, 0, 170), 3.0), (QColor(255, 255, 255), 1.0)):
            painter.setPen(QPen(color, width))
            for stroke in strokes:
                painter.drawLine(stroke)

    def _draw_scale_bar(self, painter: QPainter) -> None:
        assert self._presenter is not None
        if not self.scale_bars:
            return
        bar = self._presenter.scale_bar(min(_BAR_PIXELS, self.width() / 3) / self._zoom)
        if bar is None or not self._shape[0]:
            return
        length = bar.length * self._zoom
        metrics = QFontMetricsF(self.font())
        width = max(length, metrics.horizontalAdvance(bar.text)) + 16
        rows, columns = self._shape
        picture = self.to_widget((0.0, 0.0, float(rows), float(columns))).intersected(QRectF(self.rect()))
        place = picture if picture.width() >= width + 24 and picture.height() >= 70 else QRectF(self.rect())
        box = QRectF(place.right() - width - 12, place.bottom() - 46, width, 34)
        veil = QColor(self.palette().color(Role.Window))
        veil.setAlpha(190)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(veil)
        painter.drawRoundedRect(box, 4, 4)
        ink = quiet(self.palette(), 0.95)
        painter.setPen(ink)
        painter.drawText(box.adjusted(0, 2, 0, -12), Qt.AlignmentFlag.AlignCenter, bar.text)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        left = box.center().x() - length / 2
        painter.fillRect(QRectF(round(left), round(box.bottom() - 9), round(length), 3), ink)

    # ---------------------------------------------------------------- gestures
    def event(self, event: QEvent | None) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == event.Type.ToolTip and self._presenter is not None:
            self._tip.show(event.globalPos(), self._presenter.why(*self.to_plane(QPointF(event.pos()))))
            return True
        return bool(super().event(event))

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        if self._fitted:
            self.fit()
        else:
            self._moved()

    def changeEvent(self, event: QEvent | None) -> None:
        super().changeEvent(event)
        self.update()

    def wheelEvent(self, event: QWheelEvent | None) -> None:
        assert event is not None
        turns = event.angleDelta().y() or event.angleDelta().x()
        if self._presenter is None or not turns:
            return
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            # A touchpad sends many small turns for one notch of a wheel.
            self._turned = turns + (self._turned if self._turned * turns > 0 else 0)
            steps = int(self._turned / _NOTCH)
            self._turned -= steps * _NOTCH
            if steps:
                self._presenter.step(steps)
        else:
            self.zoom_by(_ZOOM_STEP ** (turns / _NOTCH), event.position())
            self._hover(event.position())
        event.accept()

    def mousePressEvent(self, event: QMouseEvent | None) -> None:
        assert event is not None
        if event.button() in (Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton):
            self._pressed, self._pressed_center, self._dragged = event.position(), self._center, False
            held = event.modifiers()
            shift, control = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier
            self._drawn = "line" if held & shift else "region" if held & control else ""
        elif event.button() == Qt.MouseButton.RightButton and self._presenter is not None:
            self._contrast = (event.position(), limits_of(self._presenter.state.channels))

    def mouseMoveEvent(self, event: QMouseEvent | None) -> None:
        assert event is not None
        at = event.position()
        if self._pressed is not None:
            moved = at - self._pressed
            if not self._dragged and moved.manhattanLength() < _drag_distance():
                return
            self._dragged = True
            if self._drawn:
                self._rubber = (*self.to_plane(self._pressed), *self.to_plane(at))
                self.update()
                self._hover(at)
                return
            self._fitted = False
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            y, x = self._pressed_center
            self._center = self._kept(y - moved.y() / (self._zoom * self._aspect), x - moved.x() / self._zoom)
            self._moved()
        elif self._contrast is not None and self._target is not None:
            begin, limits = self._contrast
            right, down = (at.x() - begin.x()) / max(self.width(), 1), (at.y() - begin.y()) / max(self.height(), 1)
            for each in dragged(limits, right, -down):
                self._target.set_levels(each.channel, each.lo, each.hi)
        self._hover(at)

    def mouseReleaseEvent(self, event: QMouseEvent | None) -> None:
        assert event is not None
        if event.button() == Qt.MouseButton.RightButton:
            self._contrast = None
            return
        clicked = self._pressed is not None and not self._dragged and event.button() == Qt.MouseButton.LeftButton
        self._pressed = None
        self.setCursor(Qt.CursorShape.CrossCursor)
        self._settled.start()
        rubber, self._rubber = self._rubber, None
        if rubber is not None and self._target is not None:
            measure = self._target.measure_line if self._drawn == "line" else self._target.measure_region
            measure(*rubber)
        if clicked and self._presenter is not None and self._target is not None:
            y, x = self.to_plane(event.position())
            for tile in reversed(self._presenter.frame.tiles):
                y0, x0, y1, x1 = tile.rect
                if tile.state is TileState.FAILED and y0 <= y < y1 and x0 <= x < x1:
                    self._presenter.retry(tile.key)
                    return
            (self.picked or self._target.pin)(y, x)
            self.hovered.emit()

    def mouseDoubleClickEvent(self, event: QMouseEvent | None) -> None:
        assert event is not None
        if event.button() == Qt.MouseButton.LeftButton:
            self.fit()

    def leaveEvent(self, event: QEvent | None) -> None:
        if self._target is not None:
            self._target.leave()
            self.hovered.emit()

    def _hover(self, at: QPointF) -> None:
        if self._target is not None:
            self._target.hover(*self.to_plane(at))
            self.hovered.emit()


def _drag_distance() -> int:
    hints = QGuiApplication.styleHints()
    return max(2, hints.startDragDistance() // 2) if hints is not None else 4
