"""The map of chunks: shows which chunks are stored, how large they are, which are loading and which failed.

The map is a plane of the chunk grid along two axes; along the other axes it shows the chunk that contains the displayed
index of the picture. A large plane is drawn in cells of several chunks; choosing a cell shows the chunks in it. Nothing
is listed before `look` is called.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zarrscope.check.inventory import Inventory, take_inventory
from zarrscope.errors import BadChunk
from zarrscope.nodes.internals import stored_array
from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope.view.loader import ChunkLoader
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.chunks.chosen import MOST_CELLS, ChoosesChunk
from zarrscope_app.presenters.chunks.coloring import COLORINGS, shades_of, values_of
from zarrscope_app.presenters.chunks.missing import all_stored, step_of
from zarrscope_app.presenters.chunks.view_models import (
    ABSENT,
    FAILED,
    LOADING,
    NONE_MISSING,
    PARTLY,
    PRESENT,
    UNTOLD,
    Chosen,
    ChunkMap,
    counts,
    map_text,
    proportion,
)  # fmt: skip
from zarrscope_app.presenters.coalesce import CoalescedCall
from zarrscope_app.presenters.node_details import NodeDetails, axis_names
from zarrscope_app.presenters.signals import signal

if TYPE_CHECKING:
    from zarrscope.model.selection import ChunkIndex
    from zarrscope.nodes.array import Array


class ChunksPresenter(ChoosesChunk):
    """The Chunks tab of one session."""

    changed = signal()

    _colored_by = "size"
    """The value by which the cells are coloured, an id of COLORINGS."""
    _in_front = False
    """Whether the tab of the map is in front."""
    _names: tuple[str, ...] = ()
    """The names of the axes."""
    _channels: tuple[int, tuple[str, ...]] = (-1, ())
    """The channel axis of the image, and the names of the channels that its metadata state; (-1, ()) without."""
    _shape: tuple[int, ...]
    """The shape of the finest level; the indices of the picture are indices of this level."""

    def __init__(self, owner: Owner, loader: ChunkLoader) -> None:
        self._owner, self._loader = owner, loader
        self._notify = CoalescedCall(owner.post, self.changed.emit)
        self._ticket: Ticket | None = None
        self._drawing: Ticket | None = None
        self._set((), "")

    # ------------------------------------------------------------------ for the session
    def show_node(self, details: NodeDetails) -> None:
        """Shows the chunks of an image's finest level, or of an array; nothing is read before the map is visible."""
        image, node = details.image, details.node
        if image is not None:
            found = tuple((level.path, level.array) for level in image.levels)
        else:
            found = ((node.path, node),) if node is not None and node.kind == "array" else ()
        self._set(found, "")
        self._pictured = image is not None and details.has_picture and min(image.plane) >= 0
        self._shape = found[0][1].shape if found else ()
        self._names = axis_names(image, found[0][1]) if found else ()
        stated = image.multiscale.channels if image is not None and image.multiscale is not None else ()
        axis = image.channel_axis if image is not None else None
        self._channels = (-1, ()) if axis is None else (axis, tuple(strings.clean(c.label, 40) for c in stated))
        if image is not None and min(image.plane) >= 0:
            self._rows, self._columns = image.plane
        grid = self._grid
        # the picture's axes have one chunk each: shows the axes with the most chunks instead, if others have more
        if len(grid) > 1 and grid[self._rows] == grid[self._columns] == 1 and max(grid) > 1:
            self._rows, self._columns = sorted(sorted(range(len(grid)), key=lambda axis: (-grid[axis], -axis))[:2])

    def show_nothing(self, sentence: str = "") -> None:
        """Shows no map, and `sentence` in its place."""
        self._set((), sentence)

    def _set(self, arrays: tuple[tuple[str, Any], ...], sentence: str) -> None:
        self.cancel()
        self._arrays, self._sentence, self._shape = arrays, sentence, ()
        self._level, self._pictured = 0, False
        self._index: dict[int, int] = {}
        self._failed: dict[ChunkIndex, str] = {}
        self._failed_within: dict[ChunkIndex, set[ChunkIndex]] = {}
        """Of each failed chunk or shard, the chunks of the array that other views could not read."""
        rank = arrays[0][1].ndim if arrays else 0
        self._rows, self._columns = (rank - 2 if rank > 1 else -1), rank - 1
        self._forget()

    def _forget(self) -> None:
        self._inventory: Inventory | None = None
        self._found = 0
        self._part: tuple[int, int, int, int] | None = None
        self._plane: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
        self._chosen: Chosen | None = None
        self._inside, self._inner = None, None
        self._inner_at = {}
        self._looked = self._seeking = self._none_missing = False
        self._notify.soon()

    @property
    def _array(self) -> Array | None:
        array: Array | None = self._arrays[self._level][1] if self._arrays else None
        return array

    # ------------------------------------------------------------------ listing
    def look(self) -> None:
        """Begins to list the stored chunks, once for each array; a host calls this method whenever the map becomes
        visible."""
        array = self._array
        if array is None or self._looked:
            return
        self._looked = True
        if array.metadata.unread:
            self._sentence = strings.UNKNOWN if array.problem is None else strings.problem(array.problem).headline
            return

        def progress(found: int) -> None:
            def tell() -> None:
                self._found = found
                self._notify.soon()

            self._owner.post(tell)

        def done(outcome: JobResult[Inventory]) -> None:
            self._ticket = None
            if self._array is not array:
                return
            if outcome.error is not None:
                self._sentence = strings.problem(outcome.error).headline
                self._notify.soon()
            else:
                self._inventory = outcome.get()
                self._draw()
                if self._seeking:
                    self.show_missing()

        self._ticket = self._owner.fetch(lambda cancelled: take_inventory(array, cancelled, progress), done)
        self._notify.soon()

    def bring(self, front: bool) -> None:
        """Called with whether the tab of the map is in front. When it is left, and the store cannot list, so that each
        chunk is requested, this stops; `look` goes on with it, because answers are noted. A listing goes on, because it
        would begin anew."""
        left, self._in_front = self._in_front and not front, front
        array = self._array
        if left and self._ticket is not None and array is not None and not array.store.listable:
            self._ticket.cancel()
            self._ticket = None
            self._looked = False

    def cancel(self) -> None:
        """Stops listing."""
        for ticket in (self._ticket, self._drawing):
            if ticket is not None:
                ticket.cancel()
        self._ticket = self._drawing = None

    def refresh(self) -> None:
        """Lists the stored chunks again."""
        self.cancel()
        if self._array is not None:
            stored_array(self._array).locator.forget()
        self._failed.clear()
        self._sentence = ""
        self._forget()
        self.look()

    # ------------------------------------------------------------------ displayed part
    def set_level(self, level: int) -> None:
        """Shows the chunks of another level of the image."""
        if 0 <= level < len(self._arrays) and level != self._level:
            self.cancel()
            self._level = level
            self._forget()
            self.look()

    def _name(self, axis: int) -> str:
        return strings.clean(self._names[axis], 24) if axis < len(self._names) else f"axis {axis}"

    def show(self, row_axis: str, column_axis: str) -> None:
        """Shows these axes as the rows and columns of the map. If both names are equal, rows and columns swap."""
        names = [self._name(axis) for axis in range(len(self._grid))]
        if row_axis in names and column_axis in names and len(names) > 1:
            rows, columns = names.index(row_axis), names.index(column_axis)
            if rows == columns:
                rows, columns = self._columns, self._rows
            self._rows, self._columns, self._part = rows, columns, None
            self._draw()

    @property
    def _grid(self) -> tuple[int, ...]:
        array = self._array
        return tuple(array.metadata.grid.grid_shape(array.shape)) if array is not None else ()

    def move(self, axis: int, index: int) -> None:
        """Follows the index at which the image is cut along an axis: the map shows the chunk that contains it."""
        if self._index.get(axis) != index:
            self._index[axis] = index
            if self._array is not None and axis not in (self._rows, self._columns):
                self._draw()

    def _fixed(self) -> tuple[int, ...]:
        """For each axis, the number of the chunk that contains the index at which the image is cut."""
        array = self._array
        if array is None:
            return ()
        found = []
        for axis, (length, chunks) in enumerate(zip(array.shape, self._grid, strict=True)):
            whole = self._shape[axis] if axis < len(self._shape) else length
            index = self._index.get(axis, 0) * length // max(1, whole)
            widths = array.metadata.grid.chunk_shape
            found.append(max(0, min(index // max(1, widths[axis]), chunks - 1)))
        return tuple(found)

    def _inner_index(self) -> tuple[int, ...]:
        """For each axis, the number of the chunk, in shards the inner chunk, at which the image is cut."""
        array = self._array
        if array is None:
            return ()
        widths = stored_array(array).locator.chunk_shape
        found = []
        for axis, (length, width) in enumerate(zip(array.shape, widths, strict=True)):
            whole = self._shape[axis] if axis < len(self._shape) else length
            found.append(self._index.get(axis, 0) * length // max(1, whole) // max(1, width))
        return tuple(found)

    def set_chunk(self, axis: str, chunk: int) -> None:
        """Sets the number of the displayed chunk along an axis that is not shown."""
        array = self._array
        for at in range(len(self._grid)):
            if array is not None and self._name(at) == axis:
                whole, length = self._shape[at] if at < len(self._shape) else array.shape[at], array.shape[at]
                start = chunk * array.metadata.grid.chunk_shape[at]
                self.move(at, -(-start * whole // max(1, length)))

    def color_by(self, value: str) -> None:
        """Colours the cells by another value, an id of COLORINGS."""
        if value in dict(COLORINGS):
            self._colored_by = value
            self._notify.soon()

    def show_whole(self) -> None:
        """Shows the whole plane again, after a part of it was chosen."""
        self._part = None
        self._draw()

    def _window(self) -> tuple[int, int, int, int]:
        """(first row, first column, rows, columns) of the displayed part, in chunks."""
        grid = self._grid
        rows = grid[self._rows] if self._rows >= 0 else 1
        columns = grid[self._columns] if self._columns >= 0 else 1
        return self._part or (0, 0, rows, columns)

    def _step(self) -> tuple[int, int]:
        return step_of(self._window(), MOST_CELLS)

    def _draw(self) -> None:
        """Counts the stored chunks in each cell, in the background."""
        inventory = self._inventory
        if inventory is None or not self._grid:
            self._notify.soon()
            return
        if self._drawing is not None:
            self._drawing.cancel()
        row, column, rows, columns = self._window()
        step, fixed = self._step(), self._fixed()
        axes = (self._rows, self._columns)

        def work() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
            return inventory.cut(*axes, fixed, step, (row, column), (rows, columns))

        def done(outcome: JobResult[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> None:
            self._drawing = None
            self._plane = outcome.value
            self._notify.soon()

        self._drawing = self._owner.decode(work, done)
        self._notify.soon()

    # ------------------------------------------------------------------ progress
    def live(self) -> None:
        """Repaints the map, because chunks have arrived or are being loaded."""
        if self._looked:
            self._notify.soon()

    def failed(self, error: BaseException, path: str) -> None:
        """Marks a chunk that could not be read."""
        array = self._array
        index = error.index if isinstance(error, BadChunk) else None
        if array is not None and array.path == path and index is not None and len(index) == array.ndim:
            stored = stored_array(array).locator.grid_index(tuple(index))
            self._failed[stored] = strings.failed_chunk(error)
            self._failed_within.setdefault(stored, set()).add(tuple(index))
            self.live()

    def recovered(self, path: str, index: ChunkIndex) -> None:
        """Removes the mark of a chunk that was read at last."""
        array = self._array
        if array is None or array.path != path:
            return
        stored = stored_array(array).locator.grid_index(index)
        within = self._failed_within.get(stored, set())
        within.discard(index)
        if not within:
            self._failed_within.pop(stored, None)
            self._failed.pop(stored, None)
            self.live()

    # ------------------------------------------------------------------ the snapshot
    @property
    def state(self) -> ChunkMap:
        """A new snapshot of the map, with the chunks that are known so far."""
        array = self._array
        levels = tuple(strings.clean(name, 60) for name, _ in self._arrays)
        if array is None or "grid" in array.metadata.unread:
            return ChunkMap(levels, self._level, sentence=self._sentence)
        grid, fixed, shown = self._grid, self._fixed(), (self._rows, self._columns)
        cells, shades, scale = self._cells(array, fixed)
        return ChunkMap(
            levels,
            self._level,
            tuple(self._name(axis) for axis in range(len(grid))),
            self._name(self._rows) if self._rows >= 0 else "",
            self._name(self._columns) if self._columns >= 0 else "",
            tuple((self._name(i), fixed[i], grid[i]) for i in range(len(grid)) if i not in shown and grid[i] > 1),
            cells,
            shades,
            self._window()[:2],
            self._step(),
            self._part is None,
            counts(array, self._inventory) if self._inventory is not None else (),
            self._ticket is not None,
            self._said(),
            self._chosen,
            self._place(self._chosen.index, fixed, self._window()[:2], self._step()) if self._chosen else None,
            all_stored(self._inventory),
            self._inner_map(),
            self._pictured,
            self._colored_by,
            scale,
            proportion(array, shown, self._step()),
        )

    def _said(self) -> str:
        if self._sentence:
            return self._sentence
        if self._ticket is not None:
            return f"Listing stored chunks: {strings.counted(self._found, 'chunk')} so far."
        if self._none_missing:
            return NONE_MISSING
        inventory = self._inventory
        if inventory is not None and not inventory.known:
            asked = strings.counted(inventory.total, "chunk")
            return f"This store cannot list its keys, and {asked} are too many to ask for: a click asks for one."
        if inventory is not None and not inventory.complete:
            return "Cancelled on the way: more may be stored."
        return ""

    def _cells(
        self, array: Array, fixed: ChunkIndex
    ) -> tuple[NDArray[np.uint8] | None, NDArray[np.float32] | None, tuple[tuple[float, str], ...]]:
        if self._plane is None or self._inventory is None:
            return None, None, ()
        there, sizes = self._plane
        (row, column, rows, columns), step = self._window(), self._step()
        high = np.minimum(step[0], rows - np.arange(there.shape[0]) * step[0])
        wide = np.minimum(step[1], columns - np.arange(there.shape[1]) * step[1])
        if there.shape != (-(-rows // step[0]), -(-columns // step[1])):
            return None, None, ()  # these counts are of another part of the plane; new ones are being made
        cells = np.where(there == 0, ABSENT, np.where(there < high[:, None] * wide, PARTLY, PRESENT)).astype(np.uint8)
        if not self._inventory.known:
            cells[...] = UNTOLD
        marks = [(index, FAILED) for index in self._failed]
        marks += [(index, LOADING) for index in self._under_way(array)]
        for index, state in marks:
            place = self._place(index, fixed, (row, column), step)
            if place is not None and place[0] < cells.shape[0] and place[1] < cells.shape[1]:
                cells[place] = state
        if self._colored_by != "ratio" or array.problem is not None:  # the size of an unknown type is not known
            return cells, *shades_of(there, sizes)
        values = values_of(array, (self._rows, self._columns), self._window(), step, fixed, there)
        return cells, *shades_of(there, sizes, values)

    def _under_way(self, array: Array) -> Iterable[ChunkIndex]:
        locator = stored_array(array).locator
        return {locator.grid_index(index) for index in self._loader.under_way(array)}

    def _place(
        self, index: ChunkIndex, fixed: ChunkIndex, first: tuple[int, int], step: tuple[int, int]
    ) -> tuple[int, int] | None:
        """The cell of the map in which a chunk lies; None for a chunk that is not on the displayed plane."""
        shown = (self._rows, self._columns)
        if any(i != f for axis, (i, f) in enumerate(zip(index, fixed, strict=True)) if axis not in shown):
            return None
        places = [
            (index[axis] - start) // width if axis >= 0 else 0
            for axis, start, width in zip(shown, first, step, strict=True)
        ]
        return (places[0], places[1]) if min(places) >= 0 else None

    def text(self, *, ascii_bars: bool = False) -> str:
        """The map as lines of text; `ascii_bars` as in `map_text`."""
        return map_text(self.state, ascii_bars=ascii_bars)
