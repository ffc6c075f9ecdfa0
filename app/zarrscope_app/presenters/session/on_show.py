"""The displayed slice, for use in a program: the array, the selection, lazy data, and the code that reads them."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor
from typing import TYPE_CHECKING, Any

from zarrscope.view.lazy import LazyView
from zarrscope_app.presenters.commands import python_text

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope_app.presenters.session.session import Session

IndexSpan = int | tuple[int, int]


def array_on_show(session: Session) -> Array | None:
    """The array of the picture or the table; for an image its finest level; None if no array is displayed."""
    image, node = session.slice.image, session.node
    if image is not None and image.levels:
        array: Array = image.levels[0].array
        return array
    return node if node is not None and node.kind == "array" else None


def cut_on_show(session: Session) -> tuple[int | slice, ...]:
    """The displayed selection of `array_on_show`: the plane and all channels as slices, an index for every other
    axis."""
    axes = session.slice.state.axes
    if session.slice.state.kind != "image":
        return session.values.cut()
    return tuple(axis.index if axis.role in ("slider", "fixed") else slice(None) for axis in axes)


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
    cut = ", ".join(str(item) if isinstance(item, int) else ":" for item in cut_on_show(session))
    return f"{opened}[{cut or '()'}]"


def selection_on_show(session: Session) -> dict[str, IndexSpan]:
    """For a measured region axis → (start, stop); for a pinned pixel axis → index; {} if there is neither."""
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

    Raises ValueError if the axes are not those of the picture.
    """
    picture = session.slice
    picture.forget_measurement()
    if not selection:
        picture.unpin()
        return
    names = {axis.role: axis.name for axis in picture.state.axes if axis.role in ("y", "x")}
    if set(selection) != set(names.values()):
        raise ValueError(f"The picture shows the axes {names.get('y')} and {names.get('x')}")
    y, x = selection[names["y"]], selection[names["x"]]
    if isinstance(y, int) and isinstance(x, int):
        picture.pin(y + 0.5, x + 0.5)
        return
    (y0, y1), (x0, x1) = ((each, each + 1) if isinstance(each, int) else each for each in (y, x))
    picture.measure_region(float(y0), float(x0), float(y1), float(x1))
