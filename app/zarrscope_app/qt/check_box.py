"""A check box whose outline and mark are seen in light and dark themes, on and off, also while it is disabled.

Qt's style Fusion, which Linux desktops use, draws the outline with a contrast of 1.2 to 1.7 against the window; WCAG
2.1 asks for 3 (https://www.w3.org/TR/WCAG21/#non-text-contrast). Native styles, and the style sheet of a host such as
napari, keep their own indicators.
"""

from __future__ import annotations

from zarrscope_app.qt.toolkit.core import QPointF, QRectF, Qt
from zarrscope_app.qt.toolkit.gui import QPainter, QPaintEvent, QPalette, QPen, QPolygonF
from zarrscope_app.qt.toolkit.widgets import QCheckBox, QStyle, QStyleOptionButton, QStylePainter

from .theme import is_hosted, mix

_OUTLINE, _DISABLED = 0.62, 0.5
"""The share of the text's colour in the outline; both have a contrast above 3 in the palettes of the desktops."""
_TICK = ((0.22, 0.54), (0.42, 0.74), (0.78, 0.28))


class CheckBox(QCheckBox):
    """A check box; the same interface as Qt's."""

    def paintEvent(self, event: QPaintEvent | None) -> None:
        """Draws the indicator in the colours of the palette, and the rest as the style does."""
        style = self.style()
        if is_hosted() or style is None or style.objectName().lower() != "fusion":
            super().paintEvent(event)
            return
        option = QStyleOptionButton()
        self.initStyleOption(option)
        painter = QStylePainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        square = QRectF(style.subElementRect(QStyle.SubElement.SE_CheckBoxIndicator, option, self))
        self._draw_indicator(painter, square.adjusted(0.5, 0.5, -0.5, -0.5))
        text = QStyleOptionButton(option)
        text.rect = style.subElementRect(QStyle.SubElement.SE_CheckBoxContents, option, self)
        painter.drawControl(QStyle.ControlElement.CE_CheckBoxLabel, text)
        if self.hasFocus() and option.state & QStyle.StateFlag.State_KeyboardFocusChange:
            painter.setPen(QPen(self.palette().color(QPalette.ColorRole.Highlight), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            around = QRectF(style.subElementRect(QStyle.SubElement.SE_CheckBoxFocusRect, option, self))
            painter.drawRoundedRect(around.adjusted(0.5, 0.5, -0.5, -0.5), 2, 2)
        painter.end()

    def _draw_indicator(self, painter: QPainter, square: QRectF) -> None:
        palette, enabled = self.palette(), self.isEnabled()
        role, active = QPalette.ColorRole, QPalette.ColorGroup.Active
        window, text = palette.color(active, role.Window), palette.color(active, role.WindowText)
        outline = mix(window, text, _OUTLINE if enabled else _DISABLED)
        painter.setPen(QPen(outline, 1))
        painter.setBrush(palette.color(active, role.Base) if enabled else window)
        painter.drawRoundedRect(square, 2, 2)
        mark = QPen(palette.color(active, role.Text) if enabled else outline, max(2.0, square.width() / 8))
        mark.setCapStyle(Qt.PenCapStyle.RoundCap)
        mark.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        painter.setPen(mark)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        left, top, side = square.left(), square.top(), square.width()
        if self.checkState() == Qt.CheckState.Checked:
            painter.drawPolyline(QPolygonF([QPointF(left + x * side, top + y * side) for x, y in _TICK]))
        elif self.checkState() == Qt.CheckState.PartiallyChecked:
            middle = round(square.center().y())  # whole rows of pixels
            painter.drawLine(QPointF(left + 0.25 * side, middle), QPointF(left + 0.75 * side, middle))
