"""Writes layers of a viewer as a new OME-Zarr image: image layers become its channels, label layers become its label
images. A colour image becomes three channels, and an axis of channels becomes that of the image.

`plan_image` describes the new image and refuses impossible ones; `write_image` writes the image to a new address. The
metadata that make it an image are written after all of its values, so that no reader takes an incomplete image for a
complete one. One label layer without an image is written as the root, so that every reader opens the address itself;
several are written beneath the group "labels", which lists them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import product
from secrets import token_hex
from shutil import rmtree
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

import zarrscope
from zarrscope import convert
from zarrscope.errors import Refused, Unsupported
from zarrscope.model.frozen import frozen
from zarrscope.nodes.hierarchy import Hierarchy
from zarrscope.stores.local.failures import is_full
from zarrscope.stores.local.rename import move_folder
from zarrscope_app.presenters import strings

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from zarrscope.nodes.array import Array

T = TypeVar("T")

VERSIONS = {"0.5": "v3", "0.4": "v2"}
"""The versions of OME-Zarr that are written, and the dialect of each."""
TITLE = "Save as a new image"
WRITE = "Save"
VERSION = "Version of OME-Zarr"
CHUNK = (16, 256, 256)
"""The most elements of a chunk along each of the last three axes; along other axes a chunk has one element."""
BLOCK_ROWS = 1024
"""Rows of a plane that are in memory at once, a multiple of the rows of a chunk."""
TYPES = {"t": "time", "c": "channel"}
AXES = ("t", "c", "z", "y", "x")
"""The axes of an image in the order of OME-Zarr."""
COLORS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255)}
"""The channels of a colour image."""
KINDS = ("image", "labels")
"""The kinds of layers that are written."""
NONE_SELECTED = "Select images or labels in the list of layers first."
NO_TRANSPARENCY = "its transparency is not written"
NO_GAMMA = "its gamma is not written"


@frozen
class DrawnLayer:
    """A layer as a viewer shows it. Names, scale, translation and units have one entry per axis of `data`, except for
    the last axis of a colour image; the unit "pixel" means none."""

    kind: str
    """ "image" | "labels"."""
    name: str
    data: Any
    axis_names: tuple[str, ...]
    scale: tuple[float, ...]
    translation: tuple[float, ...]
    units: tuple[str, ...]
    visible: bool = True
    rgb: bool = False
    """Whether the last axis of `data` holds red, green, blue and possibly transparency."""
    color: tuple[int, int, int] | None = None
    inverted: bool = False
    contrast: tuple[float, float] | None = None
    contrast_range: tuple[float, float] | None = None
    label_colors: Mapping[int, tuple[int, int, int, int]] = field(default_factory=dict)
    label_properties: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    """Label → its properties by name, as JSON holds them."""
    left_out: tuple[str, ...] = ()
    """Sentences about properties that the viewer shows and OME-Zarr cannot store."""


@frozen
class PlannedImage:
    """The plan of a new image; `lines` describe it in words."""

    target: str
    version: str
    channels: tuple[DrawnLayer, ...]
    labels: tuple[DrawnLayer, ...]
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    lines: tuple[str, ...]
    left_out: tuple[str, ...]
    """Sentences about the properties of layers that will not be written; `lines` contains them."""
    label_names: tuple[str, ...]
    """The name of each label image, unlike all others even where capitals are not distinguished."""

    @property
    def label_paths(self) -> tuple[str, ...]:
        """The path of each label image."""
        if len(self.labels) == 1 and not self.channels:
            return ("/",)
        return tuple(f"/labels/{name}" for name in self.label_names)


def sentence(layers: Sequence[DrawnLayer]) -> str:
    """A sentence about what will be written."""
    size = strings.size(sum(int(np.prod(layer.data.shape)) * np.dtype(layer.data.dtype).itemsize for layer in layers))
    return f"{strings.counted(len(layers), 'layer')} ({size}) will be written to a new image. Its levels are built."


def named_zarr(path: str) -> str:
    """The path that a person typed, with the end by which programs recognise the image."""
    return path if path.lower().rstrip("/").endswith(".zarr") else f"{path.rstrip('/')}.zarr"


def saved(target: str, others: Sequence[str]) -> str:
    """The sentence about a new image. `others`: the names of selected layers of other kinds."""
    told = f"Saved as {strings.clean(target)}."
    return f"{told} {other_kinds(others)}" if others else told


def other_kinds(names: Sequence[str]) -> str:
    """The sentence about layers of other kinds than KINDS."""
    named = ", ".join(f'"{strings.clean(name)}"' for name in names)
    return f"Not written, because OME-Zarr holds images and labels only: {named}."


def plan_image(
    target: str, layers: Sequence[DrawnLayer], version: str = "0.5", others: Sequence[str] = ()
) -> PlannedImage:
    """Plans a new image at `target`; reads and writes nothing. `others`: the names of selected layers of other kinds.

    Raises Refused for layers with different shapes or pixel sizes and for image layers at different positions, and
    Unsupported for layers that OME-Zarr cannot hold.
    """
    if version not in VERSIONS:
        raise Unsupported(f"OME-Zarr {version} is not written here", feature=f"OME-Zarr {version}")
    layers = tuple(map(_forward, layers))
    channels = tuple(part for layer in layers if layer.kind == "image" for part in _single_channels(layer))
    labels = tuple(layer for layer in layers if layer.kind == "labels")
    if not channels and not labels:
        raise Refused("There is no image and no label layer to write", advice="Select layers first.")
    first = (channels or labels)[0]
    for layer in (*channels, *labels):
        if tuple(layer.data.shape) != tuple(first.data.shape) or not np.allclose(layer.scale, first.scale):
            raise Refused(
                f"{_quoted(layer)} has another shape or pixel size than {_quoted(first)}",
                store=target,
                advice="Write them one by one: all channels of an image have one shape and pixel size.",
            )
        close = np.isclose(layer.translation, first.translation, atol=1e-6 * np.abs(first.scale))
        if layer.kind == "image" and not np.all(close):
            raise Refused(
                f"{_quoted(layer)} lies at another position than {_quoted(first)}",
                store=target,
                advice="Write them one by one: channels of one image lie at one position.",
            )
        if np.dtype(layer.data.dtype).kind not in ("iub" if layer.kind == "labels" else "iufb"):
            raise Unsupported(f"{_quoted(layer)} holds {layer.data.dtype}", feature=f"pictures of {layer.data.dtype}")
    names = _axis_names(first)
    axes, shape, dtype = names, tuple(first.data.shape), _common_type(channels or labels, target)
    if len(channels) > 1:
        at = sum(name == "t" for name in names[:1])
        axes, shape = (*names[:at], "c", *names[at:]), (*shape[:at], len(channels), *shape[at:])
    lines = [f"{strings.clean(target)}: OME-Zarr {version}, {strings.shape(shape)} ({', '.join(axes)}), {dtype}"]
    lines += [f"channel {_quoted(layer)}" for layer in channels]
    lines += [f"labels {_quoted(layer)}" for layer in labels]
    left_out = tuple(f"{_quoted(layer)}: {said}" for layer in layers for said in _left_out(layer))
    left_out += (other_kinds(others),) if others else ()
    names_of_labels = _unlike(labels)
    return PlannedImage(
        target, version, channels, labels, axes, shape, dtype, (*lines, *left_out), left_out, names_of_labels
    )


def _forward(layer: DrawnLayer) -> DrawnLayer:
    """The layer at the same place with positive pixel sizes: along an axis whose scale is negative, its elements are in
    reverse order. OME-Zarr does not forbid a negative scale, but takes it for the size of a pixel, and most readers
    would show the image mirrored, or elsewhere."""
    back = [axis for axis, step in enumerate(layer.scale) if step < 0]
    if not back:
        return layer
    names = layer.axis_names if len(layer.axis_names) == len(layer.scale) else tuple(map(str, range(len(layer.scale))))
    ends = [
        start + step * (n - 1) if step < 0 else start
        for start, step, n in zip(layer.translation, layer.scale, layer.data.shape, strict=False)
    ]
    return replace(
        layer,
        data=layer.data[tuple(slice(None, None, -1 if step < 0 else 1) for step in layer.scale)],
        scale=tuple(map(abs, layer.scale)),
        translation=tuple(ends),
        left_out=(*layer.left_out, reversed_axes([names[axis] for axis in back])),
    )


def reversed_axes(names: Sequence[str]) -> str:
    """A sentence about axes whose scale is negative."""
    named = " and ".join(map(strings.clean, names))
    return f"written in reverse order along {named}, with a positive pixel size, at the same place"


def last_color(title: str) -> str:
    """A sentence about a colour map with several colours."""
    return f"of its colour map {strings.clean(title)} only the last colour is written"


def _left_out(layer: DrawnLayer) -> tuple[str, ...]:
    transparent = layer.rgb and layer.data.shape[-1] > len(COLORS)
    return (*layer.left_out, NO_TRANSPARENCY) if transparent else layer.left_out


def _single_channels(layer: DrawnLayer) -> Iterator[DrawnLayer]:
    """The channels of an image layer: the three of a colour image, those of an axis of channels, else the layer."""
    if layer.rgb:
        dtype = np.dtype(layer.data.dtype)
        contrast = (0.0, 1.0 if dtype.kind in "fb" else float(np.iinfo(dtype).max))
        for number, (name, color) in enumerate(COLORS.items()):
            yield replace(
                layer,
                name=f"{layer.name}: {name}",
                data=layer.data[..., number],
                rgb=False,
                color=color,
                contrast=contrast,
                contrast_range=contrast,
            )
        return
    names = _axis_names(layer)
    if "c" not in names:
        yield layer
        return
    at = names.index("c")
    for number in range(layer.data.shape[at]):
        index = (slice(None),) * at + (number,)
        yield replace(
            layer,
            name=f"{layer.name}: {number}",
            data=layer.data[index],
            axis_names=_without(names, at),
            scale=_without(layer.scale, at),
            translation=_without(layer.translation, at),
            units=_without(layer.units, at),
        )


def _without(entries: tuple[T, ...], at: int) -> tuple[T, ...]:
    return (*entries[:at], *entries[at + 1 :])


def _common_type(layers: Sequence[DrawnLayer], target: str) -> np.dtype[Any]:
    """The type of an image with these channels. Raises Refused if none holds all of their values."""
    kinds = [np.dtype(layer.data.dtype) for layer in layers]
    found = np.result_type(*kinds)
    if found.kind == "f" and any(kind.kind in "iu" and kind.itemsize >= found.itemsize for kind in kinds):
        named = " and ".join(dict.fromkeys(map(str, kinds)))
        raise Refused(
            f"No data type holds all values of {named}",
            store=target,
            advice="Write the layers one by one, or convert one of them before.",
        )
    return found


def _unlike(labels: Sequence[DrawnLayer]) -> tuple[str, ...]:
    """A name for each label image. A name that would be taken already gets a number."""
    taken: dict[str, str] = {}
    for layer in labels:
        told = "".join(c if c.isalnum() or c in "-_." else "_" for c in layer.name).strip("._") or "labels"
        name, number = told, 1
        while name.casefold() in taken:
            number += 1
            name = f"{told}_{number}"
        taken[name.casefold()] = name
    return tuple(taken.values())


def write_image(
    plan: PlannedImage,
    progress: Callable[[float], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> str:
    """Writes the image, builds its levels, and returns the address. If it is cancelled or fails, nothing is left.

    Raises Conflict if the target exists, and the errors of reading the layers and of writing.
    """
    place = _unfinished(plan.target)
    hierarchy = zarrscope.open(place, "w-", dialect=VERSIONS[plan.version])
    try:
        with hierarchy:
            _write(hierarchy, plan, progress, cancelled)
        if place != plan.target:
            move_folder(place, plan.target, store=plan.target, prefix="")
    except BaseException as error:
        if place != plan.target:
            rmtree(place, ignore_errors=True)
            if isinstance(error, zarrscope.ZarrscopeError) and is_full(error):
                error.advice = _after_full_disk(place)
        else:
            with zarrscope.open(place, "r+") as again:
                again.store.erase_prefix("")
        raise
    return plan.target


def _after_full_disk(place: str) -> str:
    """The next step after the disk was full while a new image was written at `place`."""
    left = f"delete the incomplete folder {strings.clean(place)}, " if os.path.lexists(place) else ""
    rest = "" if left else " Nothing is left of it, and nothing was there before."
    return f"Make room, {left}then write the image again.{rest}"


def _unfinished(target: str) -> str:
    """The place to write to: for a new folder one beside it, which is renamed when it is complete, so that a program
    that is killed leaves no half image under the name."""
    if "://" in target or not target.lower().rstrip("/").endswith(".zarr") or os.path.lexists(target):
        return target
    return f"{os.path.abspath(target)}.{token_hex(4)}.part"


def _write(
    hierarchy: Hierarchy, plan: PlannedImage, progress: Callable[[float], None], cancelled: Callable[[], bool]
) -> None:
    work = [*plan.channels, *plan.labels]
    paths = plan.label_paths
    picture: Array | None = None
    for number, layer in enumerate(work):
        if number >= len(plan.channels):
            path, place = f"{paths[number - len(plan.channels)].rstrip('/')}/0", None
            array = _made(hierarchy, plan, path, _axis_names(layer), tuple(layer.data.shape), _label_dtype(layer))
        else:
            place = plan.axes.index("c") if len(plan.channels) > 1 else None
            picture = array = picture or _made(hierarchy, plan, "/0", plan.axes, plan.shape, plan.dtype)
        blocks = list(_blocks(tuple(layer.data.shape)))
        for done, block in enumerate(blocks):
            if cancelled():
                raise Refused(strings.STOPPED)
            values = np.asarray(layer.data[block]).astype(array.dtype, copy=False)
            if place is None:
                array[block] = values
            else:
                array[(*block[:place], number, *block[place:])] = values
            progress((number + (done + 1) / len(blocks)) / len(work))
    _describe(hierarchy, plan)
    for path in ["/"] if plan.channels else paths:
        try:
            rebuilding = convert.plan_rebuild(hierarchy, convert.Pyramid(), path)
        except Refused:  # no coarser levels: the image has no spatial axis that could be reduced
            continue
        convert.rebuild(rebuilding, cancelled=cancelled)


def _made(
    hierarchy: Hierarchy, plan: PlannedImage, path: str, axes: tuple[str, ...], shape: tuple[int, ...], dtype: DTypeLike
) -> Array:
    limits = (1,) * (len(shape) - len(CHUNK)) + CHUNK[-len(shape) :]
    limits = tuple(1 if name in TYPES else limit for name, limit in zip(axes, limits, strict=True))
    chunks = tuple(max(1, min(limit, n)) for limit, n in zip(limits, shape, strict=True))
    names = axes if plan.version == "0.5" else None
    return hierarchy.create_array(path, shape=shape, dtype=dtype, chunks=chunks, dimension_names=names)


def _blocks(shape: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Blocks of a few planes each, cut at the edges of chunks."""
    limits = (1,) * (len(shape) - 3) + (CHUNK[0], BLOCK_ROWS, max(shape[-1:], default=1))[-len(shape) :]
    starts = [range(0, n, max(1, limit)) for n, limit in zip(shape, limits, strict=True)]
    for corner in product(*starts):
        yield tuple(slice(at, min(at + max(1, limit), n)) for at, limit, n in zip(corner, limits, shape, strict=True))


# ---------------------------------------------------------------------- metadata
def _describe(hierarchy: Hierarchy, plan: PlannedImage) -> None:
    """Writes the metadata of the label images first and those of the image last: the image names its labels, so it must
    not appear before they exist."""
    for path, layer in zip(plan.label_paths, plan.labels, strict=True):
        about = _multiscale(plan, layer, _axis_names(layer))
        colors = [{"label-value": value, "rgba": list(rgba)} for value, rgba in layer.label_colors.items()]
        label: dict[str, Any] = {"colors": colors} if colors else {}
        if layer.label_properties:
            label["properties"] = [{**told, "label-value": value} for value, told in layer.label_properties.items()]
        if plan.channels:
            label["source"] = {"image": "../../"}
        if plan.version == "0.4":
            label = {"version": "0.4", **label}
        hierarchy[path].attrs.update(_as_attributes(plan, {**about, "image-label": label}))
    if (plan.channels and plan.labels) or len(plan.labels) > 1:
        hierarchy["/labels"].attrs.update(_as_attributes(plan, {"labels": list(plan.label_names)}))
    if plan.channels:
        about = _multiscale(plan, plan.channels[0], plan.axes)
        about["omero"] = {"channels": [_channel(layer) for layer in plan.channels]}
        hierarchy["/"].attrs.update(_as_attributes(plan, about))


def _as_attributes(plan: PlannedImage, about: dict[str, Any]) -> dict[str, Any]:
    return {"ome": {"version": "0.5", **about}} if plan.version == "0.5" else about


def _multiscale(plan: PlannedImage, layer: DrawnLayer, axes: tuple[str, ...]) -> dict[str, Any]:
    own = _axis_names(layer)
    found = [own.index(name) if name in own else None for name in axes]
    units = [None if i is None or layer.units[i] in ("", "pixel") else layer.units[i] for i in found]
    described = [
        {"name": name, "type": TYPES.get(name, "space"), **({"unit": unit} if unit else {})}
        for name, unit in zip(axes, units, strict=True)
    ]
    steps: list[dict[str, Any]] = [
        {"type": "scale", "scale": [1.0 if i is None else float(layer.scale[i]) for i in found]}
    ]
    shift = [0.0 if i is None else float(layer.translation[i]) for i in found]
    if any(shift):
        steps.append({"type": "translation", "translation": shift})
    entry: dict[str, Any] = {
        "name": layer.name.partition(":")[0] if len(plan.channels) > 1 else layer.name,
        "axes": described,
        "datasets": [{"path": "0", "coordinateTransformations": steps}],
    }
    return {"multiscales": [{"version": "0.4", **entry} if plan.version == "0.4" else entry]}


def _channel(layer: DrawnLayer) -> dict[str, Any]:
    low, high = layer.contrast or (0.0, 1.0)
    least, most = layer.contrast_range or _range_of(np.dtype(layer.data.dtype), low, high)
    red, green, blue = layer.color or (255, 255, 255)
    inverted = {"inverted": True} if layer.inverted else {}
    return {
        "label": layer.name.rpartition(": ")[2],
        "color": f"{red:02X}{green:02X}{blue:02X}",
        "active": layer.visible,
        **inverted,
        "window": {"start": float(low), "end": float(high), "min": float(least), "max": float(most)},
    }


def _range_of(dtype: np.dtype[Any], low: float, high: float) -> tuple[float, float]:
    """The range in which the contrast can be changed: the type's, so that nobody is confined to the written contrast;
    only the contrast for types whose range is no use for a slider."""
    if dtype.kind not in "iu" or dtype.itemsize > 2:
        return low, high
    return min(low, float(np.iinfo(dtype).min)), max(high, float(np.iinfo(dtype).max))


def _axis_names(layer: DrawnLayer) -> tuple[str, ...]:
    """The names of the axes that are written. The layer's own names are used if OME-Zarr allows their order: without
    "c" they are yx, zyx, tyx or tzyx. Other layers get the last names of tzyx, or tczyx if they have five axes."""
    if not 2 <= layer.data.ndim <= len(AXES):
        raise Unsupported(
            f"{_quoted(layer)} has {layer.data.ndim} axes; only pictures of two to five axes can be written",
            feature=f"pictures of {layer.data.ndim} axes",
        )
    others = [name for name in layer.axis_names if name != "c"]
    known = others in ([*"yx"], [*"zyx"], [*"tyx"], [*"tzyx"])
    if known and len(layer.axis_names) == layer.data.ndim == len(set(layer.axis_names)):
        return layer.axis_names
    return AXES if layer.data.ndim == len(AXES) else ("t", "z", "y", "x")[-layer.data.ndim :]


def _label_dtype(layer: DrawnLayer) -> np.dtype[Any]:
    dtype = np.dtype(layer.data.dtype)
    return np.dtype("uint8") if dtype.kind == "b" else dtype


def _quoted(layer: DrawnLayer) -> str:
    return f'"{strings.clean(layer.name)}"'
