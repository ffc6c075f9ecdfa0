"""The texts that lie over a picture at its upper edge."""

from __future__ import annotations

from zarrscope_app.qt.toolkit.core import QRectF, Qt
from zarrscope_app.qt.toolkit.gui import QColor, QFontMetricsF, QPainter
from zarrscope_app.qt.toolkit.widgets import QWidget

from .theme import Role, quiet

_CENTRED = Qt.AlignmentFlag.AlignCenter.value
_WRAPPED = _CENTRED | Qt.TextFlag.TextWordWrap.value


def draw_caption(painter: QPainter, over: QWidget, text: str) -> None:
    """Draws a text in one line at the left, shortened to the width of the widget."""
    if text:
        metrics = QFontMetricsF(over.font())
        text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, max(24.0, over.width() - 32))
        place = QRectF(8, 8, metrics.horizontalAdvance(text) + 16, metrics.height() + 6)
        _draw(painter, over, place, text, _CENTRED, 190)


def draw_reason(painter: QPainter, over: QWidget, text: str, below: str = "") -> None:
    """Draws a text in the middle, below a caption if there is one."""
    if text:
        _draw(painter, over, place_of_reason(over, text, below), text, _WRAPPED, 230)


def place_of_reason(over: QWidget, text: str, below: str = "") -> QRectF:
    """The rectangle of a text in the middle. It has as many lines as the text needs, because the next step stands at
    the end of a reason."""
    metrics = QFontMetricsF(over.font())
    room = QRectF(0, 0, max(24.0, over.width() - 48), max(metrics.height(), over.height() - 40))
    needed = metrics.boundingRect(room, _WRAPPED, text)
    width, height = min(needed.width(), room.width()) + 16, min(needed.height(), room.height()) + 6
    return QRectF((over.width() - width) / 2, 14 + (metrics.height() + 6) * bool(below), width, height)


def _draw(painter: QPainter, over: QWidget, place: QRectF, text: str, flags: int, opacity: int) -> None:
    veil = QColor(over.palette().color(Role.Window))
    veil.setAlpha(opacity)
    painter.fillRect(place, veil)
    painter.setPen(quiet(over.palette(), 0.95))
    painter.drawText(place.adjusted(7, 0, -7, 0), flags, text)
