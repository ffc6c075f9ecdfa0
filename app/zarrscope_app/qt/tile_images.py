"""Draws tiles with Qt. Each tile is converted to a Qt image once; tiles are enlarged together as one picture, or laid
over another picture as one layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from zarrscope.view.render import pattern
from zarrscope_app.presenters import SlicePresenter, Tile, TileState
from zarrscope_app.presenters.image.painting import DOT, GREY, SIGN
from zarrscope_app.presenters.image.view_models import Rect
from zarrscope_app.qt.toolkit.core import QRect, QRectF, QSize, Qt
from zarrscope_app.qt.toolkit.gui import QBrush, QColor, QImage, QPainter, QPalette

from .theme import Role, warning

KeptImages = dict[tuple[int, int, int], tuple[int, QImage]]
"""Converted tiles: for the key of each tile, its version and its picture as a Qt image."""


def version_of(tile: Tile, bare: bool) -> int:
    """The version number of a tile's picture; negative for the picture without marks of missing data (`bare`)."""
    return -tile.version - 1 if bare else tile.version


def converted(tile: Tile, kept: Mapping[tuple[int, int, int], tuple[int, QImage]], bare: bool = False) -> QImage:
    """The picture of a tile, from `kept` or converted now; `bare`: without marks of missing data."""
    held = kept.get(tile.key)
    if held is not None and held[0] == version_of(tile, bare):
        return held[1]
    rgb = tile.bare if bare else tile.rgb
    assert rgb is not None
    return screen_image(rgb)


def screen_image(rgb: npt.NDArray[np.uint8]) -> QImage:
    """A Qt image from an array of red, green and blue bytes by row and column.

    The image has the screen's own format, so Qt does not convert it at each paint. Qt keeps a copy of the bytes, so
    the array may be freed.
    """
    height, width = rgb.shape[:2]
    image = QImage(rgb.data, width, height, rgb.strides[0], QImage.Format.Format_RGB888)  # type: ignore[call-overload]  # Qt takes any buffer, its stubs do not
    made: QImage = image.convertToFormat(QImage.Format.Format_RGB32)
    return made


def draw_signs(
    painter: QPainter,
    signs: Sequence[tuple[TileState, Rect]],
    to_widget: Callable[[Rect], QRectF],
    window: QRectF,
) -> None:
    """Draws the patterns for missing data at screen resolution, so that they have one size at every zoom. When the
    picture is dragged, the patterns move too."""
    areas: dict[TileState, list[QRectF]] = {}
    for state, rect in signs:
        if (area := to_widget(rect).intersected(window)).isValid():
            areas.setdefault(state, []).append(area)
    painter.setBrushOrigin(to_widget((0.0, 0.0, 0.0, 0.0)).topLeft())
    painter.setPen(Qt.PenStyle.NoPen)
    for state, found in areas.items():
        if state is TileState.FILL:
            painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_Difference)
            painter.setBrush(_dots())
            _fill(painter, found)
            painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceOver)
            continue
        failed = state is TileState.FAILED
        hatch = Qt.BrushStyle.DiagCrossPattern if failed else Qt.BrushStyle.BDiagPattern
        for brush in (
            QBrush(QColor(GREY, GREY, GREY)),
            QBrush(QColor(*SIGN) if failed else QColor(150, 150, 150), hatch),
        ):
            painter.setBrush(brush)
            _fill(painter, found)
    painter.setBrush(Qt.BrushStyle.NoBrush)


def _fill(painter: QPainter, areas: Sequence[QRectF]) -> None:
    for area in areas:  # PyQt and PySide take several at once in different forms
        painter.drawRect(area)


def mark_tile(painter: QPainter, state: TileState, area: QRect, palette: QPalette) -> None:
    """Marks a tile without a picture. The marks of single chunks are in the tiles' pictures already."""
    ink = QColor(warning(palette) if state is TileState.FAILED else palette.color(Role.WindowText))
    ink.setAlpha(150)
    if state in (TileState.LOADING, TileState.PRESENT):  # three dots look like neither data nor another mark
        ink.setAlpha(90)
        for step in (-1, 0, 1):
            painter.fillRect(QRect(area.center().x() + 8 * step - 1, area.center().y() - 1, 3, 3), ink)
        return
    failed = state is TileState.FAILED
    painter.fillRect(area, QBrush(ink, Qt.BrushStyle.DiagCrossPattern if failed else Qt.BrushStyle.BDiagPattern))


def contents_of(presenter: SlicePresenter, target: SlicePresenter | None) -> object:
    """Everything of a picture that a canvas paints, as a value to compare; `target`: the presenter of the marks."""
    frame, state = presenter.frame, presenter.state
    marks = (target.state.pin, target.state.measurement) if target is not None else None
    tiles = [(tile.key, tile.version, tile.rect, tile.state) for tile in frame.tiles]
    return id(presenter.image), frame.shape, frame.aspect, tiles, frame.over, state.smooth, marks


@lru_cache(maxsize=1)
def _dots() -> QBrush:
    image = QImage(12, 12, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(0)
    for y, x in np.argwhere(pattern("fill", 12, 12)).tolist():
        image.setPixelColor(x, y, QColor(DOT, DOT, DOT))
    return QBrush(image)


def as_layer(
    places: Sequence[tuple[Tile, QRectF]], kept: KeptImages, size: QSize, ratio: float, smooth: bool
) -> tuple[QImage, KeptImages]:
    """Returns a transparent picture with the tiles at their places, and the converted tiles for the caller to keep."""
    layer = QImage(size * ratio, QImage.Format.Format_ARGB32_Premultiplied)
    layer.setDevicePixelRatio(ratio)
    layer.fill(0)
    window = QRect(0, 0, size.width(), size.height())
    seen: KeptImages = {}
    inner = QPainter(layer)
    for tile, place in places:
        if tile.rgb is None or not tile.rgb.size or not place.intersects(QRectF(window)):
            continue
        image = converted(tile, kept)
        seen[tile.key] = (tile.version, image)
        target = rounded(place)
        inner.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, smooth or target.width() < image.width())
        blit(inner, image, target, window)
    inner.end()
    return layer, seen


def smooth_together(painter: QPainter, tiles: Sequence[tuple[QImage, QRect]], window: QRect) -> None:
    """Draws enlarged tiles as one picture: smoothed one by one, their edges would be visible. The visible pixels are
    put side by side at the resolution of the finest tile, with a border of one pixel, and enlarged together."""
    sx = max(image.width() / target.width() for image, target in tiles)
    sy = max(image.height() / target.height() for image, target in tiles)
    hull = QRect()
    for _, target in tiles:
        hull = hull.united(target)
    shown = hull.intersected(window.adjusted(-int(2 / sx) - 1, -int(2 / sy) - 1, int(2 / sx) + 1, int(2 / sy) + 1))
    # The rectangle begins and ends at pixel edges; otherwise the picture would shift while it is dragged.
    left, top = int((shown.left() - hull.left()) * sx), int((shown.top() - hull.top()) * sy)
    width = math.ceil((shown.right() + 1 - hull.left()) * sx) - left
    height = math.ceil((shown.bottom() + 1 - hull.top()) * sy) - top
    if width < 1 or height < 1:
        return
    together = QImage(width, height, QImage.Format.Format_ARGB32_Premultiplied)
    together.fill(0)
    inner = QPainter(together)
    for image, target in tiles:
        place = QRectF(
            (target.left() - hull.left()) * sx - left,
            (target.top() - hull.top()) * sy - top,
            target.width() * sx,
            target.height() * sy,
        )
        inner.drawImage(rounded(place), image)
    inner.end()
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, True)
    painter.drawImage(QRectF(hull.left() + left / sx, hull.top() + top / sy, width / sx, height / sy), together)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)


def rounded(place: QRectF) -> QRect:
    """The rectangle of whole pixels, at least one in each direction; neighbours neither overlap nor leave a gap."""
    left, top = round(place.left()), round(place.top())
    return QRect(left, top, max(1, round(place.right()) - left), max(1, round(place.bottom()) - top))


def blit(painter: QPainter, image: QImage, target: QRect, window: QRect) -> None:
    """Draws `image` over `target`, but only the source pixels within `window`: at a high zoom a tile is many times
    wider than the window, and Qt would process all of it."""
    if target.width() <= 2 * window.width() and target.height() <= 2 * window.height():
        painter.drawImage(target, image)
        return
    shown = target.intersected(window)
    sx, sy = image.width() / target.width(), image.height() / target.height()
    left, top = int((shown.left() - target.left()) * sx), int((shown.top() - target.top()) * sy)
    right = min(image.width(), int((shown.right() + 1 - target.left()) * sx) + 1)
    bottom = min(image.height(), int((shown.bottom() + 1 - target.top()) * sy) + 1)
    part = QRectF(left, top, right - left, bottom - top)
    painter.drawImage(
        QRectF(target.left() + left / sx, target.top() + top / sy, part.width() / sx, part.height() / sy), image, part
    )
