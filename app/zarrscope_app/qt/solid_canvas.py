"""The picture in three dimensions, as the presenter draws it: dragging turns it, the wheel zooms."""

from __future__ import annotations

from zarrscope_app.presenters import SlicePresenter
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.image.solid import STEP, Solid
from zarrscope_app.qt.toolkit.core import QPointF, QRect, QRectF, Qt, Signal
from zarrscope_app.qt.toolkit.gui import (
    QColor,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
    QWheelEvent,
)
from zarrscope_app.qt.toolkit.widgets import QSizePolicy, QWidget

from .text import tip
from .theme import Role, image_background, quiet
from .tile_images import screen_image

_DEGREES_PER_PIXEL = 0.4
_MOST_PIXELS = 1000
"""The most pixels along a side of the drawn picture; in a larger widget the picture is enlarged."""
_ZOOM_STEP = 1.25
_KEYS: dict[int, tuple[float, float]] = {
    Qt.Key.Key_Left: (-STEP, 0.0),
    Qt.Key.Key_Right: (STEP, 0.0),
    Qt.Key.Key_Up: (0.0, -STEP),
    Qt.Key.Key_Down: (0.0, STEP),
}


class SolidCanvas(QWidget):
    """The picture in three dimensions. `attach` takes a slice presenter, or None; `changed` is emitted when the
    picture was opened or closed."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.solid: Solid | None = None
        self._open = False
        self._image: QImage | None = None
        self._rgb: object = None
        self._pressed: QPointF | None = None
        self.setAccessibleName(LABELS["solid"])
        self.setToolTip(tip(LABELS["solid-gestures"]))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(160, 120)
        self.setCursor(Qt.CursorShape.OpenHandCursor)

    def attach(self, presenter: SlicePresenter | None) -> None:
        """Shows another presenter's image; closed at first."""
        if self.solid is not None:
            self.solid.changed.disconnect(self._changed)
            self.solid.end()
        self.solid = Solid(presenter) if presenter is not None else None
        if self.solid is not None:
            self.solid.changed.connect(self._changed)
        self._changed()

    def toggle(self) -> None:
        """Shows the picture in three dimensions, or the plane again."""
        if self.solid is not None:
            self.solid.toggle()

    @property
    def is_open(self) -> bool:
        """Whether the picture in three dimensions is displayed in place of the plane."""
        return self.solid is not None and self.solid.state.open

    def _changed(self) -> None:
        rgb = self.solid.state.rgb if self.solid is not None else None
        if rgb is not self._rgb:
            self._rgb = rgb
            self._image = None
            if rgb is not None:
                self._image = screen_image(rgb)
        self.update()
        if self.is_open != self._open:
            self._open = self.is_open
            self.changed.emit()

    def _tell_size(self) -> None:
        if self.solid is not None and self.is_open:
            ratio = self.devicePixelRatioF()
            ratio = min(ratio, _MOST_PIXELS / max(1, self.width(), self.height()))
            self.solid.resize((round(self.height() * ratio), round(self.width() * ratio)))

    # ---------------------------------------------------------------- painting
    def paintEvent(self, event: QPaintEvent | None) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), image_background(self.palette()))
        if self.solid is None:
            return
        state = self.solid.state
        if self._image is not None:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(self.rect(), self._image)
        ink = quiet(self.palette(), 0.95)
        if state.sentence:
            painter.setPen(ink)
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(self.rect().adjusted(24, 0, -24, 0), flags, state.sentence)
        if state.text:
            self._tell(painter, state.text, ink)

    def _tell(self, painter: QPainter, text: str, ink: QColor) -> None:
        metrics = self.fontMetrics()
        said = metrics.elidedText(text, Qt.TextElideMode.ElideRight, self.width() - 40)
        box = QRect(12, 12, metrics.horizontalAdvance(said) + 16, metrics.height() + 8)
        veil = QColor(self.palette().color(Role.Window))
        veil.setAlpha(190)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(veil)
        painter.drawRoundedRect(QRectF(box), 4, 4)
        painter.setPen(ink)
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, said)

    # ---------------------------------------------------------------- gestures
    def resizeEvent(self, event: QResizeEvent | None) -> None:
        self._tell_size()

    def showEvent(self, event: QShowEvent | None) -> None:
        self._tell_size()

    def mousePressEvent(self, event: QMouseEvent | None) -> None:
        assert event is not None
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed = event.position()
            self.setCursor(Qt.CursorShape.ClosedHandCursor)

    def mouseMoveEvent(self, event: QMouseEvent | None) -> None:
        assert event is not None
        if self._pressed is not None and self.solid is not None:
            moved, self._pressed = event.position() - self._pressed, event.position()
            self.solid.turn(moved.x() * _DEGREES_PER_PIXEL, moved.y() * _DEGREES_PER_PIXEL)

    def mouseReleaseEvent(self, event: QMouseEvent | None) -> None:
        self._pressed = None
        self.setCursor(Qt.CursorShape.OpenHandCursor)

    def mouseDoubleClickEvent(self, event: QMouseEvent | None) -> None:
        if self.solid is not None:
            self.solid.fit()

    def wheelEvent(self, event: QWheelEvent | None) -> None:
        assert event is not None
        self.zoom_by(_ZOOM_STEP ** (event.angleDelta().y() / 120))
        event.accept()

    def zoom_by(self, factor: float) -> None:
        """Zooms in or out."""
        if self.solid is not None:
            self.solid.zoom_by(factor)

    def fit(self) -> None:
        """Shows the whole volume from the front."""
        if self.solid is not None:
            self.solid.fit()

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        assert event is not None
        if event.key() in _KEYS and self.solid is not None and not event.modifiers():
            self.solid.turn(*_KEYS[event.key()])
        elif event.key() == Qt.Key.Key_Escape and self.is_open:
            self.toggle()
        else:
            super().keyPressEvent(event)
