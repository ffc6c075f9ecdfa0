"""The displayed slice, for use in a program: the array, the selection, lazy data, and the code that reads them; sets
indices, axes, contrast limits and selection, and refuses those that the picture does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor, isfinite
from operator import index as as_integer
from typing import TYPE_CHECKING, Any

from zarrscope.view.lazy import LazyView
from zarrscope_app.presenters.commands import python_text
from zarrscope_app.presenters.image.saved_view import channels_are_blended

if TYPE_CHECKING:
    from typing import SupportsFloat, SupportsIndex

    from zarrscope.nodes.array import Array
    from zarrscope_app.presenters.session.session import Session

IndexSpan = int | tuple[int, int]
MOST_NAMES = 20
"""The most names of channels or axes that an error lists."""


def array_on_show(session: Session) -> Array | None:
    """The array of the picture or the table; for an image its finest level; None if no array is displayed."""
    image, node = session.slice.image, session.node
    if image is not None and image.levels:
        array: Array = image.levels[0].array
        return array
    return node if node is not None and node.kind == "array" else None


def cut_on_show(session: Session) -> tuple[int | slice, ...]:
    """The displayed selection of `array_on_show`: the plane, all channels and the range of a projection as slices, an
    index for every other axis."""
    shown = session.slice.state
    if shown.kind != "image":
        return session.values.cut()
    cuts = {"projected": slice(*shown.projection.span) if shown.projection.span else slice(None)}
    return tuple(
        axis.index if axis.role in ("slider", "fixed") else cuts.get(axis.role, slice(None)) for axis in shown.axes
    )


def data_on_show(session: Session) -> LazyView | None:
    """The displayed slice as a lazy array, height before width, which is read when its values are used; None without an
    array."""
    array = array_on_show(session)
    if array is None:
        return None
    cut = cut_on_show(session)
    view: LazyView = LazyView(array)[cut]
    roles = [axis.role for axis in session.slice.state.axes]
    kept = [axis for axis, item in enumerate(cut) if isinstance(item, slice)]
    if session.slice.state.kind == "image" and roles.index("x") < roles.index("y"):
        order = [*range(len(kept))]
        y, x = kept.index(roles.index("y")), kept.index(roles.index("x"))
        order[x], order[y] = y, x
        view = view.transpose(*order)
    return view


def code_on_show(session: Session) -> str:
    """A line of Python that reads the displayed slice, or only opens the node if no array is displayed."""
    array = array_on_show(session)
    path = session.state.path if array is None else array.path
    opened = python_text(session.url, path, session.follows_links, session.missing_is_fill)
    if array is None or array.problem is not None:
        return opened
    cut = ", ".join(map(_written, cut_on_show(session)))
    return f"{opened}[{cut or '()'}]"


def _written(item: int | slice) -> str:
    """One part of a selection as Python writes it between brackets."""
    if isinstance(item, int):
        return str(item)
    return ":" if item == slice(None) else f"{item.start}:{item.stop}"


def snippet_on_show(session: Session) -> str:
    """The code of `code_on_show` with its import, so that it runs wherever it is pasted."""
    return f"import zarrscope\n\n{code_on_show(session)}"


def selection_on_show(session: Session) -> dict[str, IndexSpan]:
    """The selection that a person made in the picture, by axis name: (start, stop) along both axes of a measured
    region, an index along both axes of a pinned pixel; {} if there is neither."""
    state = session.slice.state
    names = {axis.role: axis for axis in state.axes}
    if state.kind != "image":
        return {}
    if state.measurement.kind == "region":
        y0, x0, y1, x1 = state.measurement.place
        spans = {"y": sorted((y0, y1)), "x": sorted((x0, x1))}
        return {names[role].name: (max(0, floor(low)), min(names[role].length, ceil(high)))
                for role, (low, high) in spans.items()}  # fmt: skip
    if state.pin is not None:
        return {names["y"].name: floor(state.pin[0]), names["x"].name: floor(state.pin[1])}
    return {}


def select(session: Session, selection: Mapping[str, Any]) -> None:
    """Pins a pixel, {"y": 3, "x": 5}, or measures a region, {"y": (0, 10), "x": (5, 9)}; {} removes both.

    Raises ValueError if the axes are not those of the picture, or for a place outside of it.
    """
    picture = session.slice
    if not selection:
        picture.forget_measurement()
        picture.unpin()
        return
    _need_picture(session)
    axes = {axis.role: axis for axis in picture.state.axes if axis.role in ("y", "x")}
    y, x = axes["y"], axes["x"]
    if set(selection) != {y.name, x.name}:
        raise ValueError(f"The picture shows the axes {y.name} and {x.name}; a selection has one entry for each")
    down, across = (_span(axis.name, axis.length, selection[axis.name]) for axis in (y, x))
    picture.forget_measurement()
    if isinstance(down, int) and isinstance(across, int):
        picture.pin(down + 0.5, across + 0.5)
        return
    (y0, y1), (x0, x1) = ((span, span + 1) if isinstance(span, int) else span for span in (down, across))
    picture.measure_region(float(y0), float(x0), float(y1), float(x1))


def set_indices(session: Session, indices: Mapping[str, Any]) -> None:
    """Moves the sliders of these axes; a negative index counts from the end, as in numpy.

    Raises ValueError for an axis without a slider, and for an index outside of it; nothing is moved then.
    """
    _need_picture(session)
    lengths = {axis.name: axis.length for axis in session.slice.state.axes if axis.role == "slider"}
    found = {}
    for name, index in indices.items():
        _need("slider", name, lengths)
        found[name] = _inside(name, lengths[name], index)
    for name, index in found.items():
        session.slice.set_index(name, index)


def show_axes(session: Session, names: Sequence[str]) -> None:
    """Displays two axes as height and width. Raises ValueError for anything but two different axes of the picture."""
    _need_picture(session)
    axes = {axis.name: axis for axis in session.slice.state.axes if axis.role != "channel"}
    image = session.slice.image
    for name in names:
        if image is not None and image.channel_axis is not None and name == image.axes[image.channel_axis].name:
            raise ValueError(channels_are_blended(image))
        _need("axis", name, axes)
    if len({*names}) != 2 or len(names) != 2:
        raise ValueError(f"A picture has two different axes, height and width, not {[*names]}")
    session.slice.show(*names)


def set_limits(session: Session, limits: Mapping[str, Any]) -> None:
    """Sets the contrast limits (low, high) of channels by their labels.

    Raises ValueError for a label that no channel has, and for limits that are not two numbers; nothing is set then.
    """
    _need_picture(session)
    channels = session.slice.state.channels
    found: dict[str, tuple[float, float]] = {}
    for label, pair in limits.items():
        _need("channel", label, [channel.label for channel in channels])
        try:
            low, high = (float(limit) for limit in pair)
        except (TypeError, ValueError):
            raise ValueError(f"The contrast limits of {label} are two numbers, (low, high), not {pair!r}") from None
        if not (isfinite(low) and isfinite(high)):
            raise ValueError(f"The contrast limits of {label} are finite numbers, not {pair!r}")
        found[label] = low, high
    for number, channel in enumerate(channels):
        if channel.label in found:
            session.slice.state_levels(number, *found[channel.label])


def _need(kind: str, name: str, names: Iterable[str]) -> None:
    """Raises ValueError if there is none of this name."""
    there = [*names]
    if name not in there:
        raise ValueError(f"There is no {kind} {name!r}, only {', '.join(there[:MOST_NAMES]) or 'none'}")


def _need_picture(session: Session) -> None:
    if session.slice.state.kind != "image":
        raise ValueError("No picture is displayed")


def _inside(name: str, length: int, index: SupportsIndex) -> int:
    """An index of an axis, counted from its beginning. Raises ValueError."""
    try:
        at = as_integer(index)
    except TypeError:
        raise ValueError(f"An index of {name} is an integer, not {index!r}") from None
    if not -length <= at < length:
        raise ValueError(f"{name} has the indices 0 to {length - 1}, not {at}")
    return at + length if at < 0 else at


def _span(
    name: str, length: int, span: SupportsIndex | tuple[SupportsFloat, ...] | list[SupportsFloat]
) -> int | tuple[float, float]:
    """Checks what a caller gives for an axis: an index, returned as counted from the beginning, or a pair (first, end)
    for a range. Raises ValueError for anything else."""
    if not isinstance(span, tuple | list):
        return _inside(name, length, span)
    try:
        start, end = (float(edge) for edge in span)
    except (TypeError, ValueError):
        raise ValueError(f"A range of {name} is (first, end), not {span!r}") from None
    if not 0 <= start < end <= length:
        raise ValueError(f"A range of {name} is within (0, {length}), not {span!r}")
    return start, end
