"""A lazy view whose values can be set. Set values stay in memory, over the stored ones, until they are written.

Viewers paint into their data (`data[y0:y1, x0:x1] = …`, `data[ys, xs] = 7`). `Edits` keeps the painted values of one
array in blocks, and marks the painted elements; every view of the array shows them over the stored values. Nothing is
written here: convert/patching.py writes edits into the array and its coarser levels.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import product
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from zarrscope.errors import Refused
from zarrscope.errors.visible import visible
from zarrscope.model.frozen import frozen
from zarrscope.runtime.tuning import EDITED_BOX, EDITED_EDGE
from zarrscope.view.lazy import AxisIndex, LazyView, ShownAs
from zarrscope.view.lazy_calls import as_result, is_lazy
from zarrscope.view.lazy_members import IN_PLACE, MemoryOrder
from zarrscope.view.lazy_setting import READ_ONLY

if TYPE_CHECKING:
    import numpy.typing as npt
    from dask.array import Array as DaskArray
    from numpy.typing import NDArray

    from zarrscope.nodes.array import Array


@frozen
class EditedBlock:
    """A rectangular part of an array with edits: its position, its values, and a mask of the elements that were set."""

    corner: tuple[int, ...]
    values: NDArray[Any]
    was_set: NDArray[np.bool_]

    @property
    def region(self) -> tuple[slice, ...]:
        """The part of the array."""
        return tuple(slice(at, at + n) for at, n in zip(self.corner, self.values.shape, strict=True))


class Edits:
    """Elements of one array that were set but not yet written. Thread-safe: viewers read on other threads."""

    def __init__(self, shape: Sequence[int], dtype: np.dtype[Any]) -> None:
        self.shape, self.dtype = tuple(shape), dtype
        rank = len(self.shape)
        limits = (1,) * (rank - 2) + (EDITED_EDGE,) * min(rank, 2)
        self._size = tuple(max(1, min(limit, n)) for limit, n in zip(limits, self.shape, strict=True))
        self._blocks: dict[tuple[int, ...], EditedBlock] = {}
        self._shared: set[tuple[int, ...]] = set()
        """The places of blocks that a copy of these edits has, too, so they are copied before they change."""
        self._lock = threading.Lock()
        self.version = 0
        """Increases with every change."""

    def __bool__(self) -> bool:
        return bool(self._blocks)

    @property
    def blocks(self) -> list[EditedBlock]:
        """Copies of the blocks, in the order of the array."""
        with self._lock:
            found = [self._blocks[place] for place in sorted(self._blocks)]
            return [EditedBlock(block.corner, block.values.copy(), block.was_set.copy()) for block in found]

    def clear(self, version: int) -> bool:
        """Drops all edits, after they were written. Returns False, and keeps all, if there was a change after
        `version`."""
        with self._lock:
            if version != self.version:
                return False
            self._blocks.clear()
            self._shared.clear()
            return True

    def __deepcopy__(self, _: object) -> Edits:
        """The same edits, which then change independently of these. A block is copied when one of the two changes."""
        made = Edits(self.shape, self.dtype)
        with self._lock:
            made._blocks, made.version = dict(self._blocks), self.version
            self._shared, made._shared = set(self._blocks), set(self._blocks)
        return made

    def set_region(self, region: Sequence[slice], values: NDArray[Any]) -> None:
        """Sets the elements of a region (slices of step 1)."""
        starts = [part.start for part in region]
        spans = [range(part.start // n, -(-part.stop // n)) for part, n in zip(region, self._size, strict=True)]
        with self._lock:
            for place in product(*spans):
                block = self._block(place)
                inner, outer = [], []
                for at, size, part, start in zip(block.corner, block.values.shape, region, starts, strict=True):
                    lo, hi = max(at, part.start), min(at + size, part.stop)
                    inner.append(slice(lo - at, hi - at))
                    outer.append(slice(lo - start, hi - start))
                block.values[tuple(inner)] = values[tuple(outer)]
                block.was_set[tuple(inner)] = True
            self.version += 1

    def set_points(self, positions: Sequence[NDArray[Any]], values: NDArray[Any]) -> None:
        """Sets elements by their positions along each axis; `values` has one value for each."""
        if not len(positions[0]):
            return
        places = np.stack([at // n for at, n in zip(positions, self._size, strict=True)], axis=1)
        found, inverse = np.unique(places, axis=0, return_inverse=True)
        inverse = inverse.reshape(-1)
        with self._lock:
            for number, place in enumerate(found):
                block = self._block(tuple(map(int, place)))
                here = inverse == number
                index = tuple(at[here] - corner for at, corner in zip(positions, block.corner, strict=True))
                block.values[index] = values[here]
                block.was_set[index] = True
            self.version += 1

    def _block(self, place: tuple[int, ...]) -> EditedBlock:
        block = self._blocks.get(place)
        if block is None:
            corner = tuple(at * n for at, n in zip(place, self._size, strict=True))
            sides = (min(size, n - at) for size, n, at in zip(self._size, self.shape, corner, strict=True))
            shape = tuple(sides)
            block = self._blocks[place] = EditedBlock(corner, np.zeros(shape, self.dtype), np.zeros(shape, np.bool_))
        elif place in self._shared:
            self._shared.remove(place)
            block = self._blocks[place] = EditedBlock(block.corner, block.values.copy(), block.was_set.copy())
        return block

    def over(self, axes: Sequence[AxisIndex], stored: NDArray[Any]) -> NDArray[Any]:
        """A copy of the stored values at `axes` in which edited elements have their new values."""
        kept = [axis for axis in axes if not isinstance(axis, int)]
        with self._lock:
            met = [found for block in self._blocks.values() if (found := _meeting(block, axes)) is not None]
            if not met:
                return stored
            values = np.array(stored).reshape([len(axis) for axis in kept])
            for block, outer, inner in met:
                was_set, new = block.was_set[inner], block.values[inner]
                shape = [len(part) for part, axis in zip(outer, axes, strict=True) if not isinstance(axis, int)]
                index = np.ix_(*(part for part, axis in zip(outer, axes, strict=True) if not isinstance(axis, int)))
                target = values[index] if kept else values
                merged = np.where(was_set.reshape(shape), new.reshape(shape), target)
                if kept:
                    values[index] = merged
                else:
                    values = merged
        return values


def _meeting(
    block: EditedBlock, axes: Sequence[AxisIndex]
) -> tuple[EditedBlock, list[NDArray[Any]], tuple[Any, ...]] | None:
    """Returns (block, positions in the result, index in the block) of the elements of a block that `axes` select; None
    if there are none."""
    outer: list[NDArray[Any]] = []
    inner: list[NDArray[Any]] = []
    for axis, corner, size in zip(axes, block.corner, block.values.shape, strict=True):
        if isinstance(axis, int):
            if not corner <= axis < corner + size:
                return None
            outer.append(np.zeros(1, np.intp))
            inner.append(np.array([axis - corner]))
            continue
        if isinstance(axis, range) and axis.step == 1:
            lo, hi = max(axis.start, corner), min(axis.stop, corner + size)
            if lo >= hi:
                return None
            outer.append(np.arange(lo - axis.start, hi - axis.start))
            inner.append(np.arange(lo - corner, hi - corner))
            continue
        indices = np.asarray(axis)
        here = np.flatnonzero((indices >= corner) & (indices < corner + size))
        if not here.size:
            return None
        outer.append(here)
        inner.append(indices[here] - corner)
    return block, outer, np.ix_(*inner)


class EditableView(LazyView):
    """A lazy view that can be set, and shows the values that were set.

    Examples
    --------
    >>> import numpy as np, zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> array = zarrscope.open(MemoryStore(), "w-").create_array("/a", shape=(2, 3), dtype="u1")
    >>> view = EditableView(array)
    >>> view[0, 1:] = 7
    >>> np.asarray(view).tolist(), np.asarray(array).tolist()
    ([[0, 7, 7], [0, 0, 0]], [[0, 0, 0], [0, 0, 0]])
    """

    def __init__(
        self,
        array: Array,
        axes: tuple[AxisIndex, ...] | None = None,
        shown: ShownAs | None = None,
        layout: tuple[int | None, ...] | None = None,
        edits: Edits | None = None,
    ) -> None:
        super().__init__(array, axes, shown, layout)
        self.edits = Edits(array.shape, array.dtype) if edits is None else edits

    @classmethod
    def of(cls, view: LazyView) -> EditableView:
        """An editable view of the same part of the array as `view`; edits stay in memory."""
        return cls(view._array, view._axes, view._shown, view._layout)

    @property
    def copies_refuse(self) -> bool:
        return True

    def _like(self, axes: tuple[AxisIndex, ...], shown: ShownAs | None, layout: tuple[int | None, ...]) -> LazyView:
        made = EditableView(self._array, axes, shown, layout, self.edits)
        if not self._writeable:
            made.setflags(write=False)
        return made

    @property
    def _writeable(self) -> bool:
        return "_stand_in" not in self.__dict__ or bool(self.flags.writeable)

    def __getitem__(self, selection: object) -> Any:
        """As a lazy view; a list or mask gives a copy with edits of its own, as it does in numpy."""
        found = super().__getitem__(selection)
        if isinstance(found, EditableView) and not self._is_basic(selection):
            return deepcopy(found)
        return found

    def astype(self, dtype: npt.DTypeLike, order: MemoryOrder = "K", **options: Any) -> Any:
        """A copy of another type, which reads when its values are asked for, and has the edits made until now."""
        wanted = np.dtype(dtype)
        if order in ("C", "F"):
            return np.array(self, wanted, order=order)
        if wanted == self.dtype and options.get("copy") is False:
            return self
        return as_result(self.lazy().astype(wanted), self)

    def on(self, array: Array) -> LazyView:
        view = super().on(array)
        return EditableView(array, view._axes, view._shown, view._layout, self.edits)

    @property
    def _dask(self) -> DaskArray | None:
        """The view with the edits made until now, as a new dask array each time: results keep their values, and dask
        may cache results under the name of a graph."""
        return deepcopy(self)._in_dask()

    def _read(self) -> NDArray[Any]:
        return self.edits.over(self._axes, super()._read())

    def _points(self, items: list[Any], lists: list[int]) -> NDArray[Any]:
        """Reads scattered positions, as a brush does at every move, by reading their bounding box, whose chunks the
        cache keeps."""
        every = [np.asarray(item) for item in items if item is not None and not isinstance(item, slice)]
        pure = len(every) == len(items) == self.ndim and all(item.dtype.kind in "iu" and item.size for item in every)
        if not pure or any(item.min() < 0 for item in every):
            return super()._points(items, lists)
        box = tuple(slice(int(item.min()), int(item.max()) + 1) for item in every)
        if np.prod([part.stop - part.start for part in box], dtype=object) > EDITED_BOX:
            return super()._points(items, lists)
        if any(part.stop > n for part, n in zip(box, self.shape, strict=True)):
            raise IndexError(f"a list names a position that a view of {self.shape} does not have")
        values: NDArray[Any] = np.asarray(self[box])[tuple(at - p.start for at, p in zip(every, box, strict=True))]
        return values

    # ------------------------------------------------------------------ setting
    def __setitem__(self, selection: object, values: npt.ArrayLike) -> None:
        """Sets elements as numpy does, in memory only; elements that already have the value do not count as set.

        Raises Refused for values that the array's type cannot hold.
        """
        if not self._writeable:
            raise ValueError(READ_ONLY)
        values = np.asarray(values)
        held = values.astype(self._array.dtype)
        if values.dtype != held.dtype and not np.array_equal(values, held):
            raise Refused(
                f"{self._array.path} has the type {self._array.dtype}, which cannot hold these values",
                key=self._array.path,
            )
        if self._is_basic(selection):
            part = self[selection]
            self._set_part(part, np.broadcast_to(held, part.shape))
        else:
            index: Any = selection  # numpy says whether it is one
            positions = [self._positions_along(axis)[index] for axis in range(self.ndim)]
            chosen = np.broadcast_to(held, positions[0].shape).reshape(-1)
            self._set_positions([at.reshape(-1) for at in positions], chosen)

    def replace_values(self, found: Any) -> None:
        """Sets all elements to those of an array of the same shape, as numpy's `out=` does."""
        self[...] = np.asarray(found)

    def fill(self, value: npt.ArrayLike) -> None:
        self[...] = value

    @staticmethod
    def _is_basic(selection: object) -> bool:
        """Whether the index contains only integers, slices, `...` and `None`."""

        def basic(item: object) -> bool:
            if isinstance(item, bool | np.bool_):
                return False
            if item is None or item is Ellipsis or isinstance(item, slice):
                return True
            return isinstance(item, SupportsIndex) and np.ndim(np.asarray(item)) == 0

        return all(map(basic, selection if isinstance(selection, tuple) else (selection,)))

    def _positions_along(self, axis: int) -> NDArray[Any]:
        """The position of each element along one axis, broadcast to this view's shape without taking memory for it."""
        shape = [1] * self.ndim
        shape[axis] = self.shape[axis]
        return np.broadcast_to(np.arange(self.shape[axis]).reshape(shape), self.shape)

    def _set_part(self, part: LazyView, values: NDArray[Any]) -> None:
        """Sets all elements of a part whose axes are ranges."""
        if part.size:
            now = np.asarray(EditableView(self._array, part._axes, None, part._layout, self.edits))
            where = np.nonzero(np.atleast_1d(now != values))
            self._set_positions(where, np.atleast_1d(values)[where], part)

    def _set_positions(
        self, positions: Sequence[NDArray[Any]], values: NDArray[Any], part: LazyView | None = None
    ) -> None:
        """Sets elements by their positions along the axes of a part, or of this view."""
        part = self if part is None else part
        count = len(values)
        found: list[NDArray[Any]] = [np.zeros(0)] * len(part._axes)
        for axis, chosen in enumerate(part._axes):
            if isinstance(chosen, int):
                found[axis] = np.full(count, chosen)
        for place, source in enumerate(part._layout):
            if source is not None:
                found[source] = np.asarray(part._indices(source))[positions[place]]
        self.edits.set_points(found, values)

    def __deepcopy__(self, _: object) -> LazyView:
        """A view with edits of its own: a viewer that duplicates a layer paints into one of the two."""
        return EditableView(self._array, self._axes, self._shown, self._layout, deepcopy(self.edits))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the view without its edits: another process sees the stored values."""
        return LazyView, (self._array, self._axes, self._shown, self._layout)

    def _changed_by(self, name: str, other: Any) -> EditableView:
        """Sets all elements to the result of an operator that assigns, as numpy does."""
        values = np.array(self)
        self[...] = getattr(operator, name)(values, np.asarray(other) if is_lazy(other) else other)
        return self

    def __repr__(self) -> str:
        return visible(f"<EditableView of {self._array.path} {self.shape} {self.dtype}>")


def _in_place(name: str) -> Callable[[EditableView, Any], EditableView]:
    def operate(self: EditableView, other: Any) -> EditableView:
        return self._changed_by(name, other)

    return operate


for _name in IN_PLACE:
    setattr(EditableView, f"__i{_name}__", _in_place(f"__i{_name}__"))
