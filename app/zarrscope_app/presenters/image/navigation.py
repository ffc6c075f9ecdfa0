"""The displayed plane of an image: its two axes, and the indices along the other axes, which a person sets by steps, by
typed text or by playing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from itertools import combinations

from psygnal import Signal

from zarrscope.view.image import Image
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.image import words
from zarrscope_app.presenters.image.composition import SnapshotParts, axis_view
from zarrscope_app.presenters.image.projection import KINDS, METHODS, Projection
from zarrscope_app.presenters.image.view_models import AxisView, ProjectionView, Rect, Refusal


class Navigation(ABC):
    """The part of SlicePresenter that chooses the plane. It reads nothing, and calls `_moved` when another plane is
    chosen."""

    moved = Signal(int, int)
    """Emits (axis, index) when an index was set."""

    _image: Image | None
    _index: list[int]
    _y: int
    _x: int
    _current: int
    """The axis along which the arrow keys step; -1 if there is none."""
    _playing: int
    _travel: tuple[int, int]
    """(axis, direction) of the last step."""
    _rect: Rect
    _refusal: Refusal
    _projection: Projection | None
    _range: tuple[int, int] | None
    """The range of the projection, (start, stop); None for the whole axis."""

    @abstractmethod
    def _refresh(self) -> None:
        """Publishes a new state."""

    @abstractmethod
    def _moved(self) -> None:
        """Called when another plane is shown."""

    @abstractmethod
    def _unpin(self) -> None:
        """Unpins the pixel, after other axes were chosen."""

    @abstractmethod
    def _is_whole(self) -> bool:
        """Whether every tile of the displayed plane is painted."""

    def _stand_nowhere(self) -> None:
        self._parts = SnapshotParts()
        self._index = []
        self._before_shown: dict[int, int] = {}
        """The indices that displayed axes had when they last had a slider."""
        self._y = self._x = self._current = self._playing = -1
        self._travel = (-1, 1)
        self._rect = (0.0, 0.0, 0.0, 0.0)
        self._refusal = Refusal()
        self._projection, self._range = None, None

    def _stand_at_defaults(self, image: Image) -> None:
        """Goes to the plane that the file states as the one to show first."""
        self._y, self._x = image.plane
        self._index = [
            image.defaults.get(axis.name, 0) if i not in (self._y, self._x) else 0 for i, axis in enumerate(image.axes)
        ]

    def _choose_first_slider(self, image: Image) -> None:
        sliders = self._sliders()
        spatial = [i for i in sliders if image.axes[i].type == "space"]
        self._current = (spatial or sliders or [-1])[-1]

    def _whole_rect(self, image: Image) -> Rect:
        return (0.0, 0.0, float(image.shape[self._y]), float(image.shape[self._x]))

    # ------------------------------------------------------------------ axes
    def _axis(self, name: str) -> int:
        if self._image is not None:
            for i, axis in enumerate(self._image.axes):
                if axis.name == name:
                    return i
        return -1

    def _role(self, axis: int) -> str:
        assert self._image is not None
        if axis == self._y:
            return "y"
        if axis == self._x:
            return "x"
        if axis == self._image.channel_axis:
            return "channel"
        if self._projection is not None and axis == self._projection.axis:
            return "projected"
        return "slider" if self._image.shape[axis] > 1 else "fixed"

    def _sliders(self) -> list[int]:
        return [i for i in range(len(self._index)) if self._role(i) == "slider"]

    @property
    def third_axis(self) -> str:
        """The axis behind the displayed ones, among those with a slider: the current axis if it is spatial, else the
        last spatial axis, else any axis; "" if there is none."""
        if self._image is None or self._y < 0:
            return ""
        axes = self._image.axes
        able = [i for i in range(len(self._index)) if self._role(i) in ("slider", "projected")]
        spatial = [i for i in able if axes[i].type == "space"] or able
        at = self._current if self._current in spatial else spatial[-1] if spatial else -1
        return axes[at].name if at >= 0 else ""

    def _axis_views(self, image: Image) -> tuple[AxisView, ...]:
        keys = [(index, self._role(i), i == self._playing) for i, index in enumerate(self._index)]
        return self._parts.each(
            image, "axis", [(key, partial(axis_view, image, i, *key)) for i, key in enumerate(keys)]
        )

    @property
    def index(self) -> tuple[int, ...]:
        """The displayed index: one number for each axis of the image."""
        return tuple(self._index)

    @property
    def plane(self) -> tuple[int, int]:
        """The axes displayed as height and width; (-1, -1) without a picture."""
        return self._y, self._x

    # ------------------------------------------------------------------ position
    def set_index(self, axis: str, index: int) -> None:
        """Sets an index, clipped to the axis. Requests for the previous index are cancelled."""
        at = self._axis(axis)
        if self._image is None or at < 0:
            return
        index = max(0, min(int(index), self._image.shape[at] - 1))
        if index == self._index[at]:
            return
        self._travel = (at, 1 if index > self._index[at] else -1)
        self._index[at] = index
        self._refusal = Refusal()
        self._moved()
        self.moved.emit(at, index)

    def move(self, axis: int, index: int) -> None:
        """Like `set_index`, for the axis number `axis` of the image."""
        if axis in self._sliders() and self._image is not None:
            self.set_index(self._image.axes[axis].name, index)

    def type_index(self, axis: str, text: str) -> str:
        """Sets an index from typed text: "31". Returns the sentence that says why the text is invalid; "" if the index
        is set."""
        at = self._axis(axis)
        if self._image is None or at < 0:
            return ""
        found = words.typed_index(text, axis, self._image.shape[at])
        return self._take(f"index:{axis}", text, axis, found)

    def type_position(self, axis: str, text: str) -> str:
        """Sets the nearest index to a typed physical position, "15.5", "15.5 µm" or "0.0155 mm".

        Returns the reason why a text is invalid, like `type_index`.
        """
        at = self._axis(axis)
        if self._image is None or at < 0:
            return ""
        found = words.typed_position(text, axis, self._image, at)
        return self._take(f"position:{axis}", text, axis, found)

    def type_place(self, text: str) -> str:
        """Sets an index or a position of the current axis from typed text: a number with a unit or a fraction is a
        position."""
        if self._image is None or self._current < 0:
            return ""
        name = self._image.axes[self._current].name
        return (self.type_index if words.is_index(text) else self.type_position)(name, text)

    def _take(self, field: str, text: str, axis: str, found: int | str) -> str:
        if isinstance(found, str):
            self._refuse(Refusal(field, text, found))
            return found
        self._refuse(Refusal())
        self.set_index(axis, found)
        return ""

    def _refuse(self, refusal: Refusal) -> None:
        if refusal != self._refusal:
            self._refusal = refusal
            self._refresh()

    def step(self, by: int, axis: str | None = None) -> None:
        """Moves the index along an axis (None: the current axis) by `by`."""
        at = self._current if axis is None else self._axis(axis)
        if self._image is not None and at >= 0:
            self.set_index(self._image.axes[at].name, self._index[at] + by)

    def choose_axis(self, axis: str | int) -> None:
        """Sets the current axis, by name, or by ±1 for the next or the previous one with a slider."""
        sliders = self._sliders()
        if isinstance(axis, str):
            chosen = self._axis(axis) if self._axis(axis) in sliders else self._current
            self._range = self._range if chosen == self._current else None
            self._current = chosen
        elif sliders:
            at = sliders.index(self._current) if self._current in sliders else 0
            self._current, self._range = sliders[(at + axis) % len(sliders)], None
        self._refresh()

    def show(self, y_axis: str, x_axis: str) -> None:
        """Displays other axes as height and width. If both names are equal, a displayed axis makes height and width
        swap; another axis becomes the height, and the previous height becomes the width. An axis that is no longer
        displayed returns to the index that it had before; if it had none, it goes to its middle."""
        y, x = self._axis(y_axis), self._axis(x_axis)
        if self._image is None or y < 0 or x < 0 or self._y < 0:
            return
        if y == x:
            y, x = (self._x, x) if x == self._y else (y, self._y)
        if (y, x) == (self._y, self._x) or self._image.channel_axis in (y, x):
            return
        left = {self._y, self._x} - {y, x}
        for axis in {y, x} - {self._y, self._x}:
            self._before_shown[axis] = self._index[axis]
        for axis in left:
            self._index[axis] = self._before_shown.get(axis, self._image.shape[axis] // 2)
        self._y, self._x = y, x
        self._projection, self._range = None, None
        self._unpin()
        sliders = self._sliders()
        if self._current not in sliders:
            self._current = sliders[-1] if sliders else -1
        self._rect = self._whole_rect(self._image)
        self._moved()
        for axis in left:
            self.moved.emit(axis, self._index[axis])

    def stand_as(self, other: Navigation) -> None:
        """Shows the same plane of the same image as another presenter."""
        theirs = [*other._index], other._y, other._x, other._current, other._projection, other._range
        mine = self._index, self._y, self._x, self._current, self._projection, self._range
        if self._image is not None and self._image is other._image and mine != theirs:
            turned = (self._y, self._x) != (other._y, other._x)
            self._index, self._y, self._x, self._current, self._projection, self._range = theirs
            self._rect = self._whole_rect(self._image) if turned else self._rect
            self._moved()

    def transpose(self) -> None:
        """Swaps height and width."""
        if self._image is not None and self._y >= 0:
            axes = self._image.axes
            self.show(axes[self._x].name, axes[self._y].name)

    def roll(self) -> None:
        """Displays the next two axes as height and width: for z, y and x first y x, then z x, then z y."""
        if self._image is None or self._y < 0:
            return
        able = [i for i in range(len(self._index)) if self._role(i) in ("x", "y", "slider", "projected")]
        pairs = list(combinations(reversed(able), 2))  # (x, y) first
        pairs = [(y, x) for x, y in pairs]
        at = pairs.index((self._y, self._x)) if (self._y, self._x) in pairs else -1
        y, x = pairs[(at + 1) % len(pairs)]
        self.show(self._image.axes[y].name, self._image.axes[x].name)

    # ------------------------------------------------------------------ projecting
    def _projectable(self) -> int:
        """The axis of the projection, or the axis along which a projection would be made; -1 if there is none."""
        if self._projection is not None:
            return self._projection.axis
        image = self._image
        return self._current if image is not None and image.value_kind in KINDS else -1

    def _wanted(self, method: str) -> Projection | None:
        at = self._projectable()
        if self._image is None or at < 0:
            return None
        return Projection(at, method, *(self._range or (0, self._image.shape[at])))

    def project(self, method: str) -> None:
        """Shows the "max", "mean" or "min" along the current axis, over the typed range; "" shows a single plane again,
        and cancels running reads."""
        if method in METHODS and self._wanted(method) is not None:
            self._projection = self._wanted(method)
        elif not method and self._projection is not None:
            self._current, self._projection = self._projection.axis, None
        else:
            return
        self._playing = -1 if self._role(self._playing) == "projected" else self._playing
        self._choose_left_slider()
        self._moved()

    def project_along(self, axis: str, method: str, ends: tuple[int, int] | None) -> bool:
        """Shows a projection along an axis with a slider, over the range `ends` (start, stop), or over the whole axis.
        Returns False if there is no such projection."""
        at = self._axis(axis)
        if self._image is None or at < 0 or self._role(at) not in ("slider", "projected"):
            return False
        if self._image.value_kind not in KINDS or method not in METHODS:
            return False
        self._projection, self._range, self._current = None, ends, at
        self.project(method)
        return True

    def _choose_left_slider(self) -> None:
        if self._projection is None:
            return
        sliders = self._sliders()
        self._current = self._current if self._current in sliders else (sliders or [-1])[-1]

    def project_next(self) -> None:
        """Switches to the next display: maximum → mean → minimum → single plane."""
        order = [*METHODS, ""]
        now = self._projection.method if self._projection is not None else ""
        self.project(order[(order.index(now) + 1) % len(order)])

    def type_range(self, text: str) -> str:
        """Sets the range of the projection from typed text, "0–63", both ends included; an empty text means the whole
        axis. Returns a sentence like `type_index`."""
        at = self._projectable()
        if self._image is None or at < 0:
            return ""
        found = words.typed_range(text, self._image.axes[at].name, self._image.shape[at])
        if isinstance(found, str):
            self._refuse(Refusal("range", text, found))
            return found
        self._refuse(Refusal())
        self._range = found
        if self._projection is not None:
            self._projection = self._wanted(self._projection.method)
            self._moved()
        else:
            self._refresh()
        return ""

    def _projection_view(self) -> ProjectionView:
        wanted = self._wanted(self._projection.method if self._projection is not None else "max")
        if self._image is None or wanted is None:
            return ProjectionView()
        name, index = self._image.axes[wanted.axis].name, self._index[wanted.axis]
        key = (wanted, name, *self._cost(wanted), index if self._projection is not None else None)
        return self._parts.part(self._image, "projection", key, partial(projection_view, *key))

    @abstractmethod
    def _cost(self, projection: Projection) -> tuple[str, str]:
        """The cost of reading a projection: as a sentence, and the number of bytes alone as text."""

    # ------------------------------------------------------------------ playing
    def play(self, axis: str | None = None) -> None:
        """Starts or stops playing: `tick` then steps to the next index as soon as the picture is complete."""
        at = self._current if axis is None else self._axis(axis)
        self._playing = -1 if self._playing == at or at not in self._sliders() else at
        self._refresh()

    def tick(self) -> None:
        """Called by a host's timer while something plays (about 10 times a second): steps if the picture
        is complete."""
        if self._image is not None and self._playing >= 0 and self._is_whole():
            length = self._image.shape[self._playing]
            self.set_index(self._image.axes[self._playing].name, (self._index[self._playing] + 1) % length)


def projection_view(wanted: Projection, axis: str, cost: str, size: str, index: int | None) -> ProjectionView:
    """Describes a projection along the axis of this name, and its cost. `index`: the index of the pixel's values if the
    projection is displayed; None while it is only offered."""
    name = strings.clean(axis, 24)
    return ProjectionView(
        tuple((id, strings.joined(f"{title} of {name}", size)) for id, title in METHODS.items()),
        name,
        wanted.method if index is not None else "",
        f"{wanted.start}–{wanted.stop - 1}",
        cost,
        words.projection(wanted.method, axis, wanted.start, wanted.stop) if index is not None else "",
        words.values_of_one_plane(axis, index) if index is not None else "",
        (wanted.start, wanted.stop) if index is not None else None,
    )
