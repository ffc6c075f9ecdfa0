"""Converts between the layers of a viewer and a view: the displayed index, axes, level and part, and the display
settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor
from typing import TYPE_CHECKING, Any

import numpy as np
from qtpy.QtGui import QColor, QPalette
from qtpy.QtWidgets import QMainWindow, QWidget

from zarrscope.errors import ZarrscopeError
from zarrscope_app.napari.layers import INVERTED, label_colors, source_of
from zarrscope_app.presenters.image.colormaps import COLORMAPS
from zarrscope_app.presenters.image.oblique import turn
from zarrscope_app.presenters.image.projection import METHODS
from zarrscope_app.presenters.image.saved_view import asked_part, part_of_plane
from zarrscope_app.presenters.image.solid_and_blend import SolidAndBlend, solid_member
from zarrscope_app.presenters.image.view_models import Rect
from zarrscope_app.presenters.layers.first_plane import ViewerCanvas
from zarrscope_app.presenters.layers.shown_layers import ShownLayer
from zarrscope_app.presenters.session.state_text import decode_view
from zarrscope_app.qt.theme import quiet

if TYPE_CHECKING:
    from napari.components import Camera
    from napari.layers import Layer as NapariLayer
    from napari.utils import Colormap
    from napari.viewer import Viewer

_DISABLED = 0.4
"""The strength of the icons and texts of disabled buttons."""


def shown(layer: NapariLayer) -> ShownLayer:
    """The present display settings of a layer that zarrscope made."""
    source = source_of(layer)
    limits = getattr(layer, "contrast_limits", None)
    return ShownLayer(
        source["path"],
        source.get("channel"),
        bool(layer.visible),
        float(layer.opacity),
        (float(limits[0]), float(limits[1])) if limits is not None else None,
        one_color(layer.colormap) if limits is not None else None,
        float(getattr(layer, "gamma", 1.0)),
        limits is not None and layer.colormap.name.endswith(INVERTED),
        _title(layer.colormap) if limits is not None else "",
        label_colors(layer.colormap) if limits is None else {},
    )


def _title(colormap: Colormap) -> str | None:
    """The title of a colour map that other hosts have, too; "" for one that runs from black to one colour, None for
    others."""
    name = str(colormap.name).removesuffix(INVERTED)
    return name if name in COLORMAPS else "" if one_color(colormap) is not None else None


def one_color(colormap: Colormap) -> tuple[int, int, int] | None:
    """The colour at the end of a colour map that runs from black to one colour, or back if the map is inverted; None
    for other maps."""
    colors = np.asarray(getattr(colormap, "colors", ()), float)
    if str(getattr(colormap, "name", "")).endswith(INVERTED):
        colors = colors[::-1]
    if colors.ndim != 2 or not len(colors) or colors[0][:3].any():
        return None
    steps = np.linspace(0, 1, len(colors))[:, None]
    if not np.allclose(colors[:, :3], steps * colors[-1][:3], atol=0.02):
        return None
    red, green, blue = (round(255 * float(part)) for part in colors[-1][:3])
    return red, green, blue


def on_show(viewer: Viewer, layers: Sequence[NapariLayer]) -> tuple[dict[str, int], tuple[str, str] | None, int | None]:
    """The displayed part of one image's layers: (index by axis, axes displayed as height and width, locked level)."""
    first = layers[0]
    names, skipped = _names(first), viewer.dims.ndim - first.ndim
    index = {
        name: round((viewer.dims.point[skipped + axis] - first.translate[axis]) / first.scale[axis])
        for axis, name in enumerate(names)
    }
    height, width = (axis - skipped for axis in viewer.dims.order[-2:])
    show = (names[height], names[width]) if min(height, width) >= 0 else None
    return index, show, getattr(first, "locked_data_level", None)


def direction(viewer: Viewer) -> dict[str, Any] | None:
    """The direction from which the viewer shows a volume, as the member "solid" of a saved view; None for a plane."""
    if viewer.dims.ndisplay != 3:
        return None
    along = np.asarray(camera_of(viewer).view_direction, float)
    azimuth, elevation = np.arctan2(-along[2], along[0]), np.arcsin(np.clip(along[1], -1, 1))
    return solid_member(float(np.degrees(azimuth)), float(np.degrees(elevation)), 1.0)


def camera_of(viewer: Viewer) -> Camera:
    """The camera of a viewer. Newer versions of napari have it at `viewer.scene`, older ones at the viewer."""
    return getattr(viewer, "scene", viewer).camera


def _show_volume(viewer: Viewer, solid: object) -> None:
    """Shows the viewer's volume in three dimensions, from the direction in `solid`, the member of a saved view."""
    asked = SolidAndBlend()
    asked.restore({"solid": solid})
    if viewer.dims.ndim > 2 and (told := asked.members.get("solid")) is not None:
        viewer.dims.ndisplay = 3
        _, down, depth = turn(told["azimuth"], told["elevation"])
        camera_of(viewer).set_view_direction(tuple(map(float, depth)), tuple(map(float, -down)))


def projection(viewer: Viewer, layers: Sequence[NapariLayer]) -> dict[str, Any] | None:
    """The projection along one axis that the viewer shows, as the member of a saved view; None if there is none."""
    first = layers[0]
    method, thickness = str(getattr(first, "projection_mode", "none")), getattr(viewer.dims, "thickness", ())
    skipped = viewer.dims.ndim - first.ndim
    for axis, name in enumerate(_names(first)):
        shown = skipped + axis in viewer.dims.displayed
        if method not in METHODS or shown or not (thick := thickness[skipped + axis] / first.scale[axis]):
            continue
        middle = (viewer.dims.point[skipped + axis] - first.translate[axis]) / first.scale[axis]
        ends = (max(0, round(middle - thick / 2)), min(first.data.shape[axis] - 1, floor(middle + thick / 2 + 1e-6)))
        if ends[0] < ends[1]:
            return {"axis": name, "method": method, "range": list(ends)}
    return None


def _project(viewer: Viewer, layers: Sequence[NapariLayer], told: object) -> None:
    """Shows the projection of a view: napari projects the planes within the thickness of the slice."""
    first, names = layers[0], _names(layers[0])
    if not hasattr(viewer.dims, "thickness"):
        return  # an older napari
    thickness = [0.0] * viewer.dims.ndim
    if isinstance(told, Mapping) and told.get("axis") in names and told.get("method") in METHODS:
        axis, ends = names.index(told["axis"]), told.get("range")
        at, last = viewer.dims.ndim - first.ndim + axis, int(first.data.shape[axis]) - 1
        known = isinstance(ends, list) and len(ends) == 2 and all(type(end) is int for end in ends)
        low, high = (max(0, min(end, last)) for end in (ends if known and isinstance(ends, list) else (0, last)))
        thickness[at] = abs(high - low) * float(first.scale[axis])
        viewer.dims.set_point(at, first.scale[axis] * (low + high) / 2 + first.translate[axis])
        for layer in layers:
            if type(layer).__name__ == "Image":
                layer.projection_mode = told["method"]
    viewer.dims.thickness = tuple(thickness)


def part(viewer: Viewer, layers: Sequence[NapariLayer]) -> Rect | None:
    """The part of the plane that the camera sees, in indices of the finest level; None for the whole plane, a volume,
    or axes that the layers do not have."""
    first = layers[0]
    axes = _plane_of(viewer, first)
    if axes is None:
        return None
    camera, world = camera_of(viewer), np.asarray(viewer.dims.point, float)
    world[list(viewer.dims.order[-2:])] = camera.center[-2:]
    center = first.world_to_data(world)
    rect = []
    for side in (-0.5, 0.5):
        for axis, pixels in zip(axes, _canvas_pixels(viewer), strict=True):
            rect.append(float(center[axis]) + 0.5 + side * pixels / camera.zoom / _world_length(first, axis))
    return part_of_plane((rect[0], rect[1], rect[2], rect[3]), *(int(_shape(first)[axis]) for axis in axes))


def show_part(viewer: Viewer, layer: NapariLayer, view: Mapping[str, Any]) -> bool:
    """Moves the camera to the part of the plane that a view shows; returns False if it shows the whole plane."""
    asked, axes = asked_part(view), _plane_of(viewer, layer)
    if asked is None or axes is None:
        return False
    rect = part_of_plane(asked, *(int(_shape(layer)[axis]) for axis in axes))
    if rect is None:
        return False
    lengths = [_world_length(layer, axis) for axis in axes]
    skipped = viewer.dims.ndim - layer.ndim
    center = np.asarray(layer.world_to_data(viewer.dims.point), float)
    center[list(axes)] = (rect[0] + rect[2] - 1) / 2, (rect[1] + rect[3] - 1) / 2
    world = layer.data_to_world(center)
    height, width = _canvas_pixels(viewer)
    camera = camera_of(viewer)
    camera.center = (camera.center[0], *(float(world[axis - skipped]) for axis in viewer.dims.order[-2:]))
    camera.zoom = min(height / (rect[2] - rect[0]) / lengths[0], width / (rect[3] - rect[1]) / lengths[1])
    return True


def _plane_of(viewer: Viewer, layer: NapariLayer) -> tuple[int, int] | None:
    """The axes of a layer that are displayed as height and width; None in three dimensions, or if it lacks one."""
    height, width = (axis - (viewer.dims.ndim - layer.ndim) for axis in viewer.dims.order[-2:])
    return (height, width) if viewer.dims.ndisplay == 2 and min(height, width) >= 0 else None


def _world_length(layer: NapariLayer, axis: int) -> float:
    """The length in the world of one pixel along an axis of a layer."""
    here = np.zeros(layer.ndim)
    there = here.copy()
    there[axis] = 1
    return float(np.linalg.norm(np.subtract(layer.data_to_world(there), layer.data_to_world(here))))


def _shape(layer: NapariLayer) -> tuple[int, ...]:
    """The shape of the finest level."""
    return tuple((layer.data[0] if layer.multiscale else layer.data).shape)


def _canvas_pixels(viewer: Viewer) -> tuple[float, float]:
    """The height and width of the canvas, of which the camera's zoom is given per unit of the world."""
    canvas = getattr(viewer, "canvas", None)
    height, width = canvas.size if canvas is not None else viewer._canvas_size  # an older napari
    return float(height), float(width)


def go_to(viewer: Viewer, layers: Sequence[NapariLayer], view: Mapping[str, Any]) -> None:
    """Shows the index, axes, level and part of a view. What is invalid is ignored, because a view may come from
    elsewhere."""
    first = layers[0]
    names, skipped = _names(first), viewer.dims.ndim - first.ndim
    show, index, level = view.get("show"), view.get("index"), view.get("level")
    if isinstance(show, list) and len(show) == 2 and set(show) <= set(names) and show[0] != show[1]:
        last = [skipped + names.index(name) for name in show]
        viewer.dims.order = (*(axis for axis in range(viewer.dims.ndim) if axis not in last), *last)
    for name, at in index.items() if isinstance(index, dict) else ():
        if name in names and type(at) is int:
            axis = names.index(name)
            at = max(0, min(at, int(first.data.shape[axis]) - 1))
            viewer.dims.set_point(skipped + axis, first.scale[axis] * at + first.translate[axis])
    if isinstance(index, dict):
        _project(viewer, layers, view.get("projection"))
    _show_volume(viewer, view.get("solid"))
    show_part(viewer, first, view)
    for layer in layers:
        if type(level) is int and layer.multiscale and hasattr(layer, "locked_data_level"):
            layer.locked_data_level = max(0, min(level, len(layer.data) - 1))


def canvas_of(viewer: Viewer, dock: QWidget) -> ViewerCanvas:
    """The size of the canvas beside a dock, and the viewer's zoom and slider positions. For an empty viewer, which will
    fit the first picture and begin in the middle, zoom and positions are left out."""
    window = dock.window()
    center = window.centralWidget() if isinstance(window, QMainWindow) else None
    height, width = (center.height(), center.width()) if center is not None else (600, 800)
    if not viewer.layers:
        return ViewerCanvas(height, width)
    dims = viewer.dims
    at = [float(step) / max(1.0, count - 1) for step, count in zip(dims.current_step, dims.nsteps, strict=True)]
    return ViewerCanvas(height, width, float(camera_of(viewer).zoom), tuple(reversed(at[:-2])))


def palette_of(name: str) -> QPalette:
    """The colours of one of napari's themes."""
    from napari.utils.theme import get_theme

    theme = get_theme(name)
    palette = QPalette()
    for role, color in (
        (QPalette.ColorRole.Window, theme.background),
        (QPalette.ColorRole.Base, theme.background),
        (QPalette.ColorRole.WindowText, theme.text),
        (QPalette.ColorRole.Text, theme.text),
        (QPalette.ColorRole.Highlight, theme.current),
        (QPalette.ColorRole.HighlightedText, theme.text),
    ):
        palette.setColor(role, QColor(*color.as_rgb_tuple(alpha=False)))
    faint = quiet(palette, _DISABLED)  # setColor above made disabled buttons as bright as the others
    for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text):
        palette.setColor(QPalette.ColorGroup.Disabled, role, faint)
    return palette


def asked_view(layer: NapariLayer) -> Mapping[str, Any]:
    """The view with which the layer was opened; {} if it was opened without one."""
    try:
        found = decode_view(source_of(layer).get("state", "")).get("slice")
    except ZarrscopeError:
        return {}
    return found if isinstance(found, dict) else {}


def _names(layer: NapariLayer) -> list[str]:
    """The names of a layer's axes in a view: the layer of a file that names none has napari's own names."""
    names = [str(name) for name in layer.axis_labels]
    told = source_of(layer).get("axes", ())
    return list(told) if len(told) == len(names) else names
