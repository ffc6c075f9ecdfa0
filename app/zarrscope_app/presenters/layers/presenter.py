"""An image as layers for a viewer: one per channel, then labels, with names, positions, units, colours, contrast.

`plan` waits for the store (it opens the levels, and reads a plane of the coarsest level if the file gives no contrast):
run it as a background job, as `Layers.add` does. An image that cannot be shown as layers raises an error with the
reason; if only some of the file's information is lost, `Layer.warnings` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from zarrscope.errors import ZarrscopeError
from zarrscope.errors.confidential import without_numbers
from zarrscope.model.frozen import frozen
from zarrscope.runtime.threads import JobResult, Ticket, shared
from zarrscope.view.editable import EditableView
from zarrscope.view.image import Image, find_images
from zarrscope.view.lazy import LazyView
from zarrscope.view.loader import shared as chunk_loader
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.coalesce import Post
from zarrscope_app.presenters.image.choice import ImageChoice, SeveralImages, nothing_to_draw, one_image
from zarrscope_app.presenters.image.display_settings import LabelStyle, channel_styles
from zarrscope_app.presenters.image.placement import ImagePosition, matrix_of, place_of
from zarrscope_app.presenters.image.saved_view import Styles, restore_channels, restore_labels
from zarrscope_app.presenters.image.words import PARTS
from zarrscope_app.presenters.layers.axis_order import drawable
from zarrscope_app.presenters.layers.drawn_values import contrast_of, drawn_values, part_of_values
from zarrscope_app.presenters.layers.first_plane import ViewerCanvas, read_ahead
from zarrscope_app.presenters.layers.late_reads import LateReads
from zarrscope_app.presenters.layers.usable_levels import usable_levels
from zarrscope_app.presenters.session.session import Session
from zarrscope_app.presenters.session.state_text import encode_view
from zarrscope_app.presenters.signals import signal

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group

AS_MAGNITUDES = "Complex values are shown as their magnitudes."
AS_PARTS = {
    "phase": "Complex values are shown as their phases, in radians.",
    "real": "Complex values are shown as their real parts.",
    "imaginary": "Complex values are shown as their imaginary parts.",
}
NOT_PLACED = "its rotation, shear or affine transformation is not written"
NO_LABELS = "Labels must be integers: these are shown as an image."


@frozen
class Layer:
    """One layer for a viewer: its data, position and display settings. `data`: lazy levels, finest first, all with the
    same axes. `axis_names`, `scale`, `translation` and `units` have one entry per axis of `data`."""

    kind: str
    """ "image" | "labels" | "points". An image is never RGB: its colours are those of its channels in the file."""
    name: str
    data: tuple[LazyView, ...]
    axis_names: tuple[str, ...]
    scale: tuple[float, ...]
    translation: tuple[float, ...]
    places: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]
    """The scale and the translation of each level."""
    units: tuple[str, ...]
    """The unit of each axis, spelled as in the file ("micrometer"); "pixel" if the file names none."""
    visible: bool
    coordinates: np.ndarray[Any, Any] | None = None
    """A row for each point of a layer of points, which has no other data."""
    guessed_axes: tuple[int, ...] = ()
    """The axes whose names in `axis_names` no document states."""
    affine: np.ndarray[Any, Any] | None = None
    """A homogeneous matrix to be applied after scale and translation, such as a rotation; None if there is none."""
    channel: int | None = None
    """The number of the channel; None for labels."""
    channel_name: str = ""
    color: tuple[int, int, int] | None = None
    gamma: float = 1.0
    inverted: bool = False
    colormap: str = ""
    """The title of a colour map of image/colormaps.py; "" for `color`."""
    opacity: float | None = None
    """From 0 to 1; None uses the viewer's default opacity."""
    contrast: tuple[float, float] | None = None
    contrast_range: tuple[float, float] | None = None
    """The range in which a person can move the contrast limits: from the file, else from the integer data type, else
    from the values that were read."""
    label_colors: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)
    label_properties: dict[int, dict[str, Any]] = field(default_factory=dict)
    source: dict[str, str] = field(default_factory=dict)
    """The origin of the layer: url, path, and as "state" the text of the view with which it was opened."""
    warnings: tuple[str, ...] = ()
    """Sentences about information in the file that the layer does not show."""


def plan(node: Group | Array, view: object = None, number: int | None = None, kind: str = "") -> list[Layer]:
    """The layers of a group or an array, with the display settings in `view`, which has the form described in
    session/state_text.py. `number`: the number of the image if a document describes several. `kind`: "image" or
    "labels" instead of the kind that the file states.

    Raises SeveralImages if one has to be chosen, NotFound for a node without an image, Unsupported and TooLarge for one
    that viewers of images cannot show, and the errors of opening.
    """
    image = one_image(node, number)
    place = place_of(image)
    layers = _channels(image, place, kind)
    failed: list[str] = []
    for path in image.labels:
        # A broken label image must not hide the picture.
        try:
            for labels in find_images(image.node_at(path)):
                name = f"{_title(image)}: {_title(labels)} (labels)"
                layers.append(_layer(labels, None, "labels", name, place_of(labels, place.system), visible=False))
        except ZarrscopeError as error:
            failed.append(f"The labels {strings.clean(path)} are left out: {strings.problem(error).headline}")
    told = image.multiscale.warnings if image.multiscale is not None and place.extra is not None else ()
    layers = _as_shown(image, layers, view.get("slice") if isinstance(view, Mapping) else None)
    state = _state(image, view)
    layers = [replace(layer, source={**layer.source, "state": state}) for layer in layers]
    notes = (*(warning for warning in image.warnings if warning not in told), *failed)
    return [replace(layers[0], warnings=(*map(strings.clean, notes), *layers[0].warnings)), *layers[1:]]


def _state(image: Image, view: object) -> str:
    """The text of the view of an image; without its settings if they contain values that cannot be encoded."""
    url = image.hierarchy.url if image.hierarchy is not None else ""
    told: dict[str, Any] = {"url": without_numbers(url), "path": image.path}
    if isinstance(view, Mapping) and isinstance(view.get("slice"), dict):
        told["slice"] = view["slice"]
    try:
        return encode_view(told)
    except ValueError:
        return encode_view({"url": told["url"], "path": told["path"]})


def _as_shown(image: Image, layers: list[Layer], shown: object) -> list[Layer]:
    """The layers with the colours, contrast and visibility of the view `shown`. A view may come from a pasted text, so
    any of its values may be wrong."""
    if not isinstance(shown, Mapping) or image.plane[0] < 0:
        return layers
    styles = Styles(channel_styles(image), [LabelStyle(layer.source["path"], None) for layer in layers])
    restore_channels(styles, len(styles.channels), shown.get("channels"))
    restore_labels(styles, shown.get("labels"))
    found: list[Layer] = []
    for number, layer in enumerate(layers):
        if layer.kind == "image" and number < len(styles.channels):
            style = styles.channels[number]
            if style.parts and style.part in AS_PARTS:
                layer = _of_part(image, number, layer, style.part)
            contrast = layer.contrast if style.lo is None or style.hi is None else (style.lo, style.hi)
            color = layer.color if style.color == (255, 255, 255) and layer.color is None else style.color
            layer = replace(layer, visible=style.visible, contrast=contrast, color=color, gamma=style.gamma)
            found.append(replace(layer, inverted=style.inverted, colormap=style.colormap))
        elif (label := styles.chosen.get(layer.source["path"])) is not None:
            found.append(replace(layer, visible=label.visible, opacity=label.opacity))
        else:
            found.append(layer)
    return found


def _of_part(image: Image, number: int, layer: Layer, part: str) -> Layer:
    """A layer of complex values that shows another part of them than the magnitudes."""
    data = tuple(part_of_values(view, part) for view in layer.data)
    contrast, reach = contrast_of(image.channels[number], data)
    told = tuple(AS_PARTS[part] if warning == AS_MAGNITUDES else warning for warning in layer.warnings)
    name = layer.name.removesuffix(f"({PARTS['magnitude']})") + f"({PARTS[part]})"
    return replace(layer, name=name, data=data, contrast=contrast, contrast_range=reach, warnings=told)


def notes(layers: list[Layer]) -> tuple[str, ...]:
    """The warnings of several layers, each once."""
    return tuple(dict.fromkeys(warning for layer in layers for warning in layer.warnings))


def not_added(layer: Layer, error: BaseException) -> strings.Problem:
    """The reason why a viewer did not accept a layer, in words."""
    if isinstance(error, ZarrscopeError):
        return strings.problem(error, layer.source["path"])
    return strings.not_added(layer.name, error, layer.source["path"])


def _channels(image: Image, place: ImagePosition, kind: str) -> list[Layer]:
    kind = kind or ("labels" if image.is_label else "image")
    if kind == "labels" and len(image.channels) < 2:
        return [_layer(image, None, kind, _title(image), place, visible=True)]
    several = len(image.channels) > 1
    title = _title(image)
    stated = image.multiscale is not None and bool(image.multiscale.channels)
    return [
        _layer(
            image,
            number,
            kind,
            f"{title}: {channel.label}" if several else channel.label if stated and channel.label else title,
            place,
            visible=channel.active,
            color=channel.color,
            inverted=channel.inverted,
            channel_name=channel.label,
        )
        for number, channel in enumerate(image.channels)
    ]


def _title(image: Image) -> str:
    """The last part of the image's name, or of the address of its store if the image has no name."""
    named = image.name.strip("/").rpartition("/")[2]
    url = image.hierarchy.url if image.hierarchy is not None else ""
    return named or url.rstrip("/").rpartition("/")[2] or image.path


def _layer(image: Image, number: int | None, kind: str, name: str, place: ImagePosition, **settings: Any) -> Layer:
    axis = image.channel_axis
    fixed = {} if axis is None else {axis: number or 0}
    kept = [i for i in range(len(image.axes)) if i not in fixed]
    levels, warnings = usable_levels(image, kept)
    finest = levels[0]
    dtype = finest.array.dtype
    if kind == "labels" and dtype.kind not in "iub":
        kind, warnings = "image", (*warnings, NO_LABELS)
    data = tuple(drawn_values(level.array, _selection(len(image.axes), fixed), kind) for level in levels)
    if kind == "image" and dtype.kind in "cmM":
        warnings = (*warnings, AS_MAGNITUDES if dtype.kind == "c" else _as_counts(dtype))
        name = f"{name} ({PARTS['magnitude']})" if dtype.kind == "c" else name
    if kind == "labels" and len(data) == 1:
        data = (EditableView.of(data[0]),)  # viewers can paint only into labels of a single level
    contrast, reach = contrast_of(image.channels[number or 0], data) if kind == "image" else (None, None)
    matrix, unsaid = matrix_of(place, kept, fixed)
    order, matrix, flat = drawable(matrix, len(kept), place.system)
    own = [kept[axis] for axis in order]
    return Layer(
        kind,
        strings.clean(name),
        data if own == kept else tuple(view.transpose(order) for view in data),
        tuple(strings.clean(image.axes[i].name) for i in kept),
        tuple(finest.scale[i] for i in own),
        tuple(finest.translation[i] for i in own),
        tuple((tuple(v.scale[i] for i in own), tuple(v.translation[i] for i in own)) for v in levels),
        tuple(image.axes[i].unit or "pixel" for i in kept),
        guessed_axes=tuple(number for number, i in enumerate(kept) if image.axes[i].guessed),
        affine=matrix,
        channel=number,
        contrast=contrast,
        contrast_range=reach,
        label_properties={value: dict(said) for value, said in image.label_properties.items() if _holds(dtype, value)},
        label_colors={value: color for value, color in image.label_colors.items() if _holds(dtype, value)},
        source={"url": image.hierarchy.url if image.hierarchy is not None else "", "path": image.path},
        warnings=(*warnings, *place.warnings, *unsaid, *flat),
        **settings,
    )


def _selection(rank: int, fixed: dict[int, int]) -> tuple[int | slice, ...]:
    return tuple(fixed.get(i, slice(None)) for i in range(rank))


def _as_counts(dtype: np.dtype[Any]) -> str:
    unit, step = np.datetime_data(dtype)
    counted = unit if step == 1 else f"{step} {unit}"
    since = " since 1970-01-01" if dtype.kind == "M" else ""
    return f"Times are shown as numbers, in units of {counted}{since}."


def _holds(dtype: np.dtype[Any], value: int) -> bool:
    if dtype.kind == "b":
        return value in (0, 1)
    return dtype.kind in "iu" and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max


def _of_several(
    nodes: Sequence[Group | Array], plans: Callable[[Group | Array, Any, int | None], list[Layer]]
) -> list[Layer]:
    """The layers of several nodes. Raises the first error if no node has layers; otherwise the warnings of the first
    layer contain all errors."""
    found: list[Layer] = []
    failed: list[ZarrscopeError] = []
    for node in nodes:
        try:
            found += plans(node, None, None)
        except ZarrscopeError as error:
            failed.append(error)
    if not found:
        raise failed[0]
    told = tuple(strings.problem(error).headline for error in failed)
    return [replace(found[0], warnings=(*found[0].warnings, *told)), *found[1:]]


class UnreadPlanes:
    """The layers whose displayed plane cannot be read at present. A layer is any object of the host with a `name`."""

    changed = signal()

    def __init__(self) -> None:
        self._found: WeakKeyDictionary[Any, strings.Problem] = WeakKeyDictionary()

    def tell(self, layer: object, error: ZarrscopeError | None, path: str = "") -> bool:
        """Records the `error` of reading the displayed plane of a layer; None if the plane can be read or is no longer
        displayed. `path`: the node of the layer. Returns True if the record has changed."""
        before = self._found.pop(layer, None)
        if error is not None:
            self._found[layer] = strings.problem(error, path)
        if before == self._found.get(layer):
            return False
        self.changed.emit()
        return True

    @property
    def items(self) -> list[tuple[Any, strings.Problem]]:
        """The recorded layers, each with the reason why its displayed plane cannot be read."""
        return list(self._found.items())

    def tell_session(self, session: Session, url_of: Callable[[Any], str]) -> None:
        """Lists the problems of the layers of its hierarchy in a session that is open, because the session offers the
        command that may help; removes those of planes that can be read now. `url_of`: the address of a layer."""
        url = session.hierarchy.url if session.hierarchy is not None else None
        found = {id(layer): problem for layer, problem in self.items if problem.offer and url_of(layer) == url}
        session.problems.show_those_of("plane", found)

    @property
    def sentence(self) -> str:
        """A sentence about the planes that are not shown, and the reasons; "" if all are shown."""
        if not self._found:
            return ""
        layer, problem = next(iter(self._found.items()))
        return strings.unread_plane(str(layer.name), len(self._found) - 1, problem.headline)


class Layers:
    """Makes layers in the background for one host: `add(session, done)` for the selected node. `ended()` is emitted on
    the host's thread when layers were made, or could not be made."""

    ended = signal()

    def __init__(self, post: Post) -> None:
        self._owner = shared().owner(post)
        self.late = LateReads(self._owner)
        self._ticket: Ticket | None = None
        self.loader = chunk_loader()
        self.refusal = ""  # the reason why the last node has nothing to draw

    @property
    def busy(self) -> bool:
        """Whether layers are being made."""
        return self._ticket is not None

    def cancel(self) -> None:
        """Cancels the layers that are being made, without a callback."""
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None

    def add(
        self,
        session: Session,
        done: Callable[[list[Layer]], None],
        choose: Callable[[SeveralImages], None],
        choice: ImageChoice | None = None,
        canvas: ViewerCanvas | None = None,
        only: Callable[[list[Layer]], list[Layer]] = list,
        plans: Callable[[Group | Array, Any, int | None], list[Layer]] = plan,
        paths: Sequence[str] = (),
    ) -> None:
        """Calls `done` with the layers of the selected node, or of `choice`; if there are several images, calls
        `choose` instead. A failure becomes a problem of the session, or `refusal`. An earlier request is cancelled.

        `canvas`: the display of the viewer; the planes that it shows first are read in advance, so that the viewer does
        not wait. `only`: selects the wanted layers of the image. `plans` makes the layers of a node. `paths`: several
        nodes to add instead of the selected one; the warnings of the first layer name those that cannot be added.

        If the session has not yet read the selected node, this method opens it.
        """
        hierarchy, node, path, self.refusal = session.hierarchy, session.node, session.state.path, ""
        if hierarchy is None:
            return

        def finished(outcome: JobResult[list[Layer]]) -> None:
            self._ticket = None
            if isinstance(outcome.error, SeveralImages):
                choose(outcome.error)
            elif outcome.error is not None and nothing_to_draw(outcome.error):
                self.refusal = strings.problem(outcome.error, path).headline
            elif outcome.error is not None:
                session.problems.add(outcome.error, path, cause=("layers", path))
            else:
                session.problems.solved(("layers", path))
                assert outcome.value is not None
                told = {note: strings.warning(note, path) for note in notes(outcome.value)}
                session.problems.show_those_of(("layers", path), told)  # those of an earlier part no longer hold
                done(outcome.value)
            self.ended.emit()

        shown = session.slice.asked_view()
        view = {"slice": shown} if session.slice.by_person or "rect" in shown else None

        def planned() -> list[Layer]:
            if choice is not None:
                chosen = plans(hierarchy[choice.path], None, choice.number)
                # Fields of different wells have equal names, so the name of the chosen well precedes each layer's name.
                return chosen if choice.path == path else [replace(v, name=f"{choice.name}: {v.name}") for v in chosen]
            if len(paths) > 1:
                return _of_several([hierarchy[each] for each in paths], plans)
            return plans(node if node is not None else hierarchy[path], view, None)

        def work(cancelled: Callable[[], bool]) -> list[Layer]:
            layers = only(planned())
            for layer in layers:
                if canvas is not None and layer.data and layer.visible and not cancelled():
                    step_y, step_x = (abs(step) or 1.0 for step in layer.scale[-2:])
                    read_ahead(layer.data, canvas, cancelled, (step_y, step_x))
            return layers

        self.cancel()
        self._ticket = self._owner.read(work, finished)

    def renew(self, session: Session, views: list[LazyView], done: Callable[[dict[int, LazyView]], None]) -> None:
        """Makes views of the same arrays in the hierarchy that the session has opened now, and calls `done` with id of
        the old view → new view. An array that no longer exists, or has another shape, is left out; its layer raises an
        error when it is read."""
        hierarchy = session.hierarchy
        if hierarchy is None or not views:
            return

        def opened() -> dict[int, LazyView]:
            found: dict[int, LazyView] = {}
            for view in views:
                try:
                    array = hierarchy[view.array.path]
                    if array.kind == "array":
                        found[id(view)] = view.on(array)
                except (ZarrscopeError, ValueError):
                    continue
            return found

        self._owner.fetch(opened, lambda outcome: done(outcome.value or {}))

    def close(self) -> None:
        """Cancels the layers that are being made; `done` is not called any more."""
        self._owner.close()
