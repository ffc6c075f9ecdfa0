"""The layers that a viewer shows now, converted to a view to send to another host, and to metadata to save.

A viewer that draws by itself (napari) provides `ShownLayer`s; `view_of_layers` puts them into the view of their
session, and `changes_of` turns them into changes for the form of their node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from zarrscope.model.frozen import frozen
from zarrscope.ome.edits import ChannelEdit, Edit, base_of, edit
from zarrscope.ome.metadata import block, color
from zarrscope.view.render import suitable_limits
from zarrscope_app.presenters.form.sections.model import Subject
from zarrscope_app.presenters.image.view_models import Rect
from zarrscope_app.presenters.strings import exact

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

NO_LAYERS = "No layer of this node is in the viewer. Select the node that the layers came from, or a layer."
NO_COLORS = "These labels are coloured by their numbers: there is no colour to save."


@frozen
class ShownLayer:
    """The display settings of one layer. `path`: the node that it came from; `channel`: the number of its channel, None
    for labels."""

    path: str
    channel: int | None
    visible: bool
    opacity: float
    contrast: tuple[float, float] | None = None
    color: tuple[int, int, int] | None = None
    """The colour; None if the colour map has more than one."""
    gamma: float = 1.0
    inverted: bool = False
    colormap: str | None = ""
    """The name of a colour map in image/colormaps.py; "" if the layer has the plain `color`, None if only napari has
    the map."""
    label_colors: Mapping[int, tuple[int, int, int, int]] = field(default_factory=dict)


def view_of_layers(
    view: Mapping[str, Any],
    layers: Sequence[ShownLayer],
    index: Mapping[str, int],
    show: tuple[str, str] | None,
    level: int | None,
    solid: Mapping[str, Any] | None = None,
    projection: Mapping[str, Any] | None = None,
    part: Rect | None = None,
) -> dict[str, Any]:
    """A copy of `view` with the settings of the viewer. `index`: the displayed index by axis; `show`: the axes of
    height and width; `level`: the locked level; `solid`: the direction in three dimensions; `projection`: as in a
    saved view; `part`: the displayed part of the plane. Settings that the viewer does not have stay unchanged."""
    shown = dict(view.get("slice") or {})
    axes = set(shown.get("index", {})) | set(shown.get("show", ()))
    if show is not None and set(show) <= axes and tuple(shown.get("show", ())) != show:
        shown["show"] = list(show)
        shown.pop("crosshair", None)
    shown.pop("rect", None)
    if part is not None:
        shown["rect"] = list(part)
    along = projection["axis"] if projection is not None else None  # the viewer has no index along it
    known = {**dict(shown.get("index", {})), **{name: at for name, at in index.items() if name in axes - {along}}}
    shown["index"] = {name: at for name, at in known.items() if name not in shown.get("show", ())}
    channels = [dict(channel) for channel in shown.get("channels", ())]
    labels = [dict(label) for label in shown.get("labels", ())]
    for layer in layers:
        if layer.channel is not None and layer.channel < len(channels) and layer.path == view.get("path"):
            told = channels[layer.channel]
            told.update(_channel(layer))
            if layer.colormap == "" and told.get("part") != "phase":
                told.pop("colormap", None)
        for label in labels:
            if layer.channel is None and label.get("path") == layer.path:
                label.update({"visible": layer.visible, "opacity": layer.opacity})
    shown["channels"] = channels
    if labels:
        shown["labels"] = labels
    shown.pop("solid", None)
    if solid is not None:
        shown["solid"] = dict(solid)
    shown.pop("projection", None)
    if projection is not None and not shown.get("solid"):
        shown["projection"] = dict(projection)
    shown.pop("level", None)
    if level is not None:
        shown["level"] = level
    return {**view, "slice": shown}


def _channel(layer: ShownLayer) -> dict[str, Any]:
    told: dict[str, Any] = {"visible": layer.visible, "gamma": layer.gamma, "inverted": layer.inverted}
    if layer.contrast is not None:
        told["lo"], told["hi"] = layer.contrast
    if layer.color is not None:
        told["color"] = list(layer.color)
    if layer.colormap is not None:
        told["colormap"] = layer.colormap
    return told


# ---------------------------------------------------------------------- into the metadata
MakesEdits = Callable[[Subject], Sequence[Edit]]
"""A change to a node's attributes: a function that computes the edits from the attributes at the time of its call."""


def changes_of(layers: Sequence[ShownLayer]) -> list[MakesEdits]:
    """Contrast, colours and visibility as changes for the form; for labels their colours."""
    found: list[MakesEdits] = []
    for layer in layers:
        if layer.channel is not None:
            found.append(_channel_change(layer, layer.channel))
        elif layer.label_colors:
            found.append(_colors_change(layer.label_colors))
    return found


def _channel_change(layer: ShownLayer, channel: int) -> MakesEdits:
    def change(subject: Subject) -> Sequence[Edit]:
        wanted = _unlike(layer, _held(subject.attributes, channel), integers=subject.facts.limits is not None)
        return subject.set_channel(channel, wanted)

    return change


def _held(attributes: JSON, channel: int) -> Mapping[str, Any]:
    """The metadata of a channel in a node's attributes; empty if the attributes do not describe the channel."""
    omero = block(attributes)[0].get("omero")
    listed = omero.get("channels") if isinstance(omero, Mapping) else None
    held = listed[channel] if isinstance(listed, list) and channel < len(listed) else None
    return held if isinstance(held, Mapping) else {}


def _unlike(layer: ShownLayer, held: Mapping[str, Any], *, integers: bool) -> ChannelEdit:
    """The settings of a layer that differ from the attributes. Equal ones are left out, so that the document keeps
    their spelling. For an image of integers, contrast limits are rounded, because a viewer's slider gives fractions."""
    stated = held.get("window")
    ends = (stated.get("start"), stated.get("end")) if isinstance(stated, Mapping) else None
    suited = (
        suitable_limits(*layer.contrast, integers=integers)
        if layer.contrast is not None and integers
        else layer.contrast
    )
    window = (_number(suited[0]), _number(suited[1])) if suited is not None else None
    same_color = layer.color is None or color(held.get("color")) == layer.color
    return ChannelEdit(
        color=None if same_color or layer.color is None else "".join(f"{part:02X}" for part in layer.color),
        window=None if layer.contrast is None or ends in (tuple(layer.contrast), suited) else window,
        active=None if (held.get("active") is not False) == layer.visible else layer.visible,
    )


def _colors_change(colors: Mapping[int, tuple[int, int, int, int]]) -> MakesEdits:
    def change(subject: Subject) -> Sequence[Edit]:
        label = block(subject.attributes)[0].get("image-label")
        at = f"{base_of(subject.attributes)}/image-label"
        listed = [{"label-value": value, "rgba": list(rgba)} for value, rgba in sorted(colors.items())]
        if isinstance(label, Mapping):
            return () if label.get("colors") == listed else (edit(f"{at}/colors", listed),)
        return (edit(at, {"colors": listed}),)

    return change


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else exact(float(value))
