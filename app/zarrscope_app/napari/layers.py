"""Turns the presenters' layers into napari's: converts arguments, and adds each layer completely or not at all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.view.lazy import LazyView
from zarrscope_app.presenters.image import colormaps
from zarrscope_app.presenters.layers.presenter import Layer, Layers

if TYPE_CHECKING:
    from napari.layers import Layer as NapariLayer
    from napari.utils import Colormap
    from napari.utils.colormaps import DirectLabelColormap
    from napari.viewer import Viewer

    from zarrscope.model.json_value import JSON
    from zarrscope_app.presenters import Session


def as_napari(layer: Layer) -> tuple[Any, dict[str, Any], str]:
    """The layer as (data, arguments, kind), as readers return it and `Layer.create` accepts it."""
    if layer.coordinates is not None:
        told = {"zarrscope": dict(layer.source)}
        return layer.coordinates, {"name": _untagged(layer.name), "visible": True, "metadata": told}, layer.kind
    arguments: dict[str, Any] = {
        "name": _untagged(layer.name),
        "scale": layer.scale,
        "translate": layer.translation,
        "axis_labels": _axis_labels(layer),
        "units": tuple(_unit(name) for name in layer.units),
        "visible": layer.visible,
        "multiscale": len(layer.data) > 1,
        "metadata": {"zarrscope": {**layer.source, "axes": list(layer.axis_names)}},
    }
    if layer.opacity is not None:
        arguments["opacity"] = layer.opacity
    if layer.affine is not None:
        arguments["affine"] = layer.affine
    if layer.kind == "image":
        arguments["rgb"] = False  # else napari would guess it from the shape
        arguments["contrast_limits"] = layer.contrast
        # napari has no argument for the range of the contrast sliders: planes.Watch sets it on the layer.
        arguments["metadata"]["zarrscope"]["contrast_range"] = layer.contrast_range
        arguments["metadata"]["zarrscope"]["channel"] = layer.channel
        arguments["blending"] = "additive"
        arguments["gamma"] = layer.gamma
        if layer.color is not None or layer.colormap or layer.inverted:
            arguments["colormap"] = colormap_of(layer.color or (255, 255, 255), layer.colormap, layer.inverted)
    else:
        if layer.label_colors:
            arguments["colormap"] = _label_colormap(layer.label_colors)
        if layer.label_properties:
            arguments["features"] = _features(layer.label_properties)
    return list(layer.data) if len(layer.data) > 1 else layer.data[0], arguments, layer.kind


def _axis_labels(layer: Layer) -> tuple[str, ...] | None:
    """The names of the axes that the file states, and napari's own names for the others. With None napari names them
    all, and gives the layers of a viewer the names of the layer that has its own."""
    rank = len(layer.axis_names)
    if len(layer.guessed_axes) == rank:
        return None
    names = enumerate(map(_untagged, layer.axis_names))
    return tuple(str(axis - rank) if axis in layer.guessed_axes else name for axis, name in names)


def insert(viewer: Viewer, data: object, arguments: dict[str, Any], kind: str) -> None:
    """Adds a layer to the viewer. napari reads a plane during this; if that fails, the viewer is left as it was before.

    An invisible layer reads nothing while it is inserted, so it is complete before the first read.
    """
    from napari.layers import Layer as NapariLayer

    layer = NapariLayer.create(data, {**arguments, "visible": False}, kind)
    try:
        viewer.add_layer(layer)
        layer.visible = arguments["visible"]
    except BaseException:
        if layer in viewer.layers:
            viewer.layers.remove(layer)
        raise


def source_of(layer: NapariLayer) -> dict[str, Any]:
    """The source of a layer that zarrscope made: url, path, and the range of its contrast; {} for other layers."""
    found = layer.metadata.get("zarrscope", {})
    return found if isinstance(found, dict) else {}


def views_of(layer: NapariLayer) -> list[LazyView]:
    """The levels of a layer whose data zarrscope reads, no matter which code added the layer; [] for other layers."""
    data = getattr(layer, "data", None)
    levels = list(data) if getattr(layer, "multiscale", False) and data is not None else [data]
    return [level for level in levels if isinstance(level, LazyView)]


def _untagged(text: str) -> str:
    """Text without HTML tags: napari puts names into labels and tooltips of Qt, which would interpret them."""
    return re.sub("<(?=[A-Za-z/!?])", "‹", text)


def _unit(name: str) -> str:
    """The unit of an axis for napari, which accepts only units that pint knows; other units become "pixel". Only text
    that looks like a unit is given to pint, because pint would evaluate other text as an expression."""
    import pint

    if not re.fullmatch(r"[A-Za-zµμΩÅ°_]{1,40}", name):
        return "pixel"
    try:
        pint.Unit(name)
    except Exception:  # pint or Python's tokenizer fails
        return "pixel"
    return name


NAMED = {
    (255, 255, 255): "gray",
    (255, 0, 0): "red",
    (0, 255, 0): "green",
    (0, 0, 255): "blue",
    (0, 255, 255): "cyan",
    (255, 0, 255): "magenta",
    (255, 255, 0): "yellow",
}
"""Colours for which napari has a colour map."""


INVERTED = " inverted"
"""The end of the name of an inverted colour map."""


def colormap_of(color: tuple[int, int, int], title: str, inverted: bool) -> str | Colormap:
    """napari's own colour map for a colour or a title of image/colormaps.py, if it has one; else a new one: for a
    colour, from black to it. An inverted map is a new one, too."""
    from napari.utils.colormaps import AVAILABLE_COLORMAPS, Colormap

    ramp = colormaps.ramp(title)
    known = title if ramp else NAMED.get(color, "")
    if known in AVAILABLE_COLORMAPS and not inverted:
        return known
    rgb = np.frombuffer(ramp, np.uint8).reshape(-1, 3) if ramp else np.array([(0, 0, 0), color])
    colors = np.column_stack([rgb / 255, np.ones(len(rgb))])
    name = (title if ramp else f"#{color[0]:02x}{color[1]:02x}{color[2]:02x}") + (INVERTED if inverted else "")
    return Colormap(colors[::-1] if inverted else colors, name=name)


def _label_colormap(colors: dict[int, tuple[int, int, int, int]]) -> DirectLabelColormap:
    from napari.utils.colormaps import DirectLabelColormap

    table: dict[int | None, Any] = {value: [c / 255 for c in rgba] for value, rgba in colors.items()}
    return DirectLabelColormap(color_dict={None: [0.6, 0.6, 0.6, 1], 0: [0, 0, 0, 0], **table})


def _features(properties: dict[int, dict[str, Any]]) -> dict[str, list[Any]]:
    """The properties of labels as a table by columns, with a row for each label. napari finds the label of a row in the
    column "index"."""
    names = dict.fromkeys(_untagged(name) for said in properties.values() for name in said if name != "index")
    rows = [{_untagged(name): value for name, value in said.items()} for said in properties.values()]
    return {"index": list(properties), **{name: [row.get(name) for row in rows] for name in names}}


def label_properties(features: Any) -> dict[int, dict[str, Any]]:
    """The inverse of `_features`: label → its properties as JSON holds them, without empty values. `features` is
    napari's table, by columns; without the column "index" row n belongs to label n."""
    columns = {str(name): list(features[name]) for name in features} if features is not None else {}
    rows = len(next(iter(columns.values()), ()))
    found: dict[int, dict[str, Any]] = {}
    for row, label in enumerate(columns.pop("index", range(rows))):
        told = {name: _plain(column[row]) for name, column in columns.items()}
        if told := {name: value for name, value in told.items() if value is not None}:
            found[int(label)] = told
    return found


def _plain(value: object) -> JSON:
    """A value as JSON holds it; None for a missing one."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return str(value)


def label_colors(colormap: Colormap) -> dict[int, tuple[int, int, int, int]]:
    """The colours of single labels in a colour map of napari, which may be given as a dict."""
    table = colormap.get("color_dict") if isinstance(colormap, dict) else getattr(colormap, "color_dict", None)
    found: dict[int, tuple[int, int, int, int]] = {}
    for value, color in (table or {}).items():
        if value:
            red, green, blue, alpha = (round(255 * float(part)) for part in color)
            found[int(value)] = (red, green, blue, alpha)
    return found


def renew_layers(viewer: Viewer, session: Session, layers: Layers) -> None:
    """Makes the layers of a session's hierarchy read through the store that the session opened last. Otherwise a
    changed option (denied values count as missing) would affect only layers that are added later."""
    url = session.hierarchy.url if session.hierarchy is not None else None
    ours = [layer for layer in viewer.layers if source_of(layer).get("url") == url]
    lazy = [layer for layer in ours if views_of(layer)]  # points have no lazy values

    def renewed(found: dict[int, LazyView]) -> None:
        for layer in lazy:
            if layer in viewer.layers and all(id(view) in found for view in views_of(layer)):
                levels = [found[id(view)] for view in views_of(layer)]
                layer.data = levels if layer.multiscale else levels[0]

    layers.renew(session, [view for layer in lazy for view in views_of(layer)], renewed)
