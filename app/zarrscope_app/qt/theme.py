"""Icons and colours, always from the desktop's current palette, so that light and dark themes can switch at run time.

No colour is defined here except the neutral greys around a microscope image: all others are mixed from the palette's
roles.
"""

from __future__ import annotations

from functools import lru_cache

from zarrscope_app.qt.toolkit.core import QByteArray, QRect, QRectF, QSize, Qt
from zarrscope_app.qt.toolkit.gui import (
    QColor,
    QFont,
    QFontDatabase,
    QGuiApplication,
    QIcon,
    QIconEngine,
    QImage,
    QPainter,
    QPalette,
    QPixmap,
)
from zarrscope_app.qt.toolkit.svg import QSvgRenderer
from zarrscope_resources import icons

Role = QPalette.ColorRole


_SEVERITIES = {
    "error": ((255, 112, 112), (190, 20, 30)),
    "warning": ((255, 190, 80), (150, 90, 0)),
    "info": ((110, 170, 255), (20, 90, 170)),
}
"""The name of a severity's icon → its colour in a dark theme, and in a light one."""
_host: QPalette | None = None
_quiet: dict[tuple[object, ...], QColor] = {}
"""Mixed colours: a painting asks for the same one for each row."""


def current_palette() -> QPalette:
    """The current palette: the desktop's, or that of the program that contains the dock."""
    return QGuiApplication.palette() if _host is None else _host


def follow(palette: QPalette | None) -> None:
    """Takes colours from `palette` from now on; None means the desktop's palette. The plugin passes the colours of
    napari's theme, which napari sets by a style sheet, so that the palette does not have them."""
    global _host
    _host = palette


def is_hosted() -> bool:
    """Whether the colours are those of a program that contains the dock."""
    return _host is not None


def icon(name: str) -> QIcon:
    """The icon `name` of the resources. It reads its colour when it is painted, so it follows the palette."""
    return QIcon(_Engine(name))


def signal(name: str) -> QIcon:
    """As `icon`, in the colour of the severity of which it is the sign."""
    return QIcon(_Engine(name, colored=True))


def is_dark(palette: QPalette) -> bool:
    """Whether this palette has light text on a dark background."""
    return bool(palette.color(Role.Window).lightness() < palette.color(Role.WindowText).lightness())


def quiet(palette: QPalette, strength: float = 0.62) -> QColor:
    """A text colour closer to the background: for second columns, units, hints."""
    key = palette.cacheKey(), palette.currentColorGroup(), strength
    if (made := _quiet.get(key)) is None:
        if len(_quiet) >= 32:  # after changes of the theme
            _quiet.clear()
        made = _quiet[key] = mix(palette.color(Role.Window), palette.color(Role.WindowText), strength)
    return made


def mix(one: QColor, other: QColor, share: float) -> QColor:
    """Mixes two colours: `other` laid over `one` with the opacity `share`."""
    return QColor(*(round(a + (b - a) * share) for a, b in zip(one.getRgb()[:3], other.getRgb()[:3], strict=True)))


def image_background(palette: QPalette) -> QColor:
    """The neutral grey around an image: 12 % in a dark theme, 92 % in a light one, without hue, so that colours look
    true."""
    return QColor.fromRgbF(0.12, 0.12, 0.12) if is_dark(palette) else QColor.fromRgbF(0.92, 0.92, 0.92)


def warning(palette: QPalette) -> QColor:
    """The colour of warnings, with enough contrast in light and dark themes."""
    return QColor(255, 150, 110) if is_dark(palette) else QColor(176, 56, 16)


def severity_color(name: str, palette: QPalette) -> QColor:
    """The colour of the sign of a severity; the colour of text if it has none of its own."""
    dark, light = _SEVERITIES.get(name, ((), ()))
    return QColor(*(dark if is_dark(palette) else light)) if dark else palette.color(Role.WindowText)


def link_color(palette: QPalette) -> QColor:
    """The colour of a link: lighter than the palette's in a dark theme, because some desktops use the same dark blue in
    light and dark themes."""
    return QColor(110, 170, 255) if is_dark(palette) else palette.color(Role.Link)


def added(palette: QPalette) -> QColor:
    """The colour of a line added in a diff."""
    return QColor(120, 210, 140) if is_dark(palette) else QColor(16, 112, 48)


def chosen(on: bool) -> QPalette:
    """The palette of a button: `on`, for the chosen one of several buttons, has the colours of selected text."""
    palette = QPalette(current_palette())
    if on:
        palette.setColor(Role.Button, palette.color(Role.Highlight))
        palette.setColor(Role.ButtonText, palette.color(Role.HighlightedText))
    return palette


def fixed_font() -> QFont:
    """The desktop's monospaced font, for numbers that change in place and for text of documents."""
    return QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)


@lru_cache(maxsize=256)
def _renderer(name: str, color: str) -> QSvgRenderer:
    # A node of a kind without an icon gets the icon "unknown", because an error here would end the painting.
    known = name if name in icons.names() else "unknown"
    return QSvgRenderer(QByteArray(icons.svg(known, color).encode()))


@lru_cache(maxsize=512)
def _picture(name: str, color: str, side: int, ratio: float) -> QImage:
    """An icon, drawn once for each size and colour: a tree paints about thirty of them whenever its rows change."""
    image = QImage(round(side * ratio), round(side * ratio), QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(ratio)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    _renderer(name, color).render(painter, QRectF(0, 0, side, side))
    painter.end()
    return image


class _Engine(QIconEngine):
    def __init__(self, name: str, colored: bool = False) -> None:
        super().__init__()
        self._name, self._colored = name, colored

    def paint(self, painter: QPainter | None, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        palette = current_palette()
        group = QPalette.ColorGroup.Disabled if mode == QIcon.Mode.Disabled else QPalette.ColorGroup.Active
        role = Role.HighlightedText if mode == QIcon.Mode.Selected else Role.WindowText
        side = min(rect.width(), rect.height())
        square = QRect(0, 0, side, side)
        square.moveCenter(rect.center())
        plain = not self._colored or Role.WindowText != role or group != QPalette.ColorGroup.Active
        color = (palette.color(group, role) if plain else severity_color(self._name, palette)).name()
        device = painter.device() if painter is not None else None
        if painter is None or device is None or side <= 0:
            return
        painter.drawImage(square, _picture(self._name, color, side, device.devicePixelRatioF()))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        pixmap = QPixmap(size)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self.paint(painter, QRect(0, 0, size.width(), size.height()), mode, state)
        painter.end()
        return pixmap

    def clone(self) -> QIconEngine:
        return _Engine(self._name, self._colored)
