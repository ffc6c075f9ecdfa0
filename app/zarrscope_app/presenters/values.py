"""Exact values: under the cursor for every channel, and as a table of an array or of a level of an image."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from psygnal import Signal

from zarrscope.dialects.defects import as_far_as_read
from zarrscope.model.frozen import frozen
from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope.view.image import Image, index_above, index_at
from zarrscope.view.loader import ChunkLoader, ChunkResult, ChunkState
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.cf_times import TIME_WIDTH, cf_times
from zarrscope_app.presenters.coalesce import CoalescedCall
from zarrscope_app.presenters.failed_chunks import TellsFailedChunks
from zarrscope_app.presenters.node_details import NodeDetails, axis_names
from zarrscope_app.presenters.signals import signal

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array


@frozen
class Probe:
    """The values under the cursor. `index`: at full resolution, one number per axis of the image (-1 for the channel
    axis)."""

    index: tuple[int, ...] = ()
    index_text: str = ""
    """The index as text: "z 31 y 512 x 204"."""
    values: tuple[tuple[str, str], ...] = ()
    """(channel label, exact value); the value is "…" while it is being read."""
    text: str = ""
    """Everything in one line, for the status bar; "" while the cursor is outside the image."""
    pending: bool = False
    sentence: str = ""
    """A sentence about a chunk that is missing, failed, or cannot be decoded."""


@frozen
class Table:
    """The table without its cells, which `cells` returns. Its columns are the indices of an axis, or the fields of a
    structured data type."""

    rows: int = 0
    columns: int = 0
    row_title: str = ""
    column_title: str = ""
    column_labels: tuple[str, ...] = ()
    """The names of fields; empty if columns are numbered."""
    texts: frozenset[int] = frozenset()
    """The fields that contain text, which is read from its start; numbers are compared by their ends."""
    fixed: tuple[tuple[str, int, int], ...] = ()
    """(axis, index, length) of the axes that are not shown: set them with `set_index`."""
    sentence: str = ""
    axes: tuple[str, ...] = ()
    """The names of all axes; () if there is no choice."""
    format: str = "decimal"
    formats: tuple[str, ...] = ()
    """The formats between which a person can choose: those of numbers, and dates if the numbers are times."""
    note: str = ""
    """The reason why times are not shown as dates; "" for values that are no times."""
    numbers: bool = True
    """Whether the table contains numbers, so that a number format can be chosen."""
    widest: int = 0
    """The number of characters of the longest value of the data type; 0: not known."""
    complex: bool = False
    """Whether the values are complex numbers, which `in_two_lines` makes half as wide."""
    source: str = ""
    """The level of an image to which the values belong: "Values of level 1 (/image/1)"; "" for an array."""


NUMBER_FORMATS = ("decimal", "scientific", "hexadecimal")
DATES = "date and time"
"""The format of an array whose attributes say that its numbers are times (cf_times.py)."""
ONE_COLUMN = "one column"
"""The choice to have no column axis: the table then shows the values along one axis."""
WAITING = "…"
MAX_CELLS = 20_000
MAX_COPIED = 250_000
"""The most cells that are copied at once; for more use `zarrscope read`."""
MAX_CHUNKS = 512


class ValuesPresenter(TellsFailedChunks):
    """The table of the selected array, or of the displayed level of an image. `changed()` is emitted when another array
    or part is shown, or cells have arrived."""

    changed = signal()
    moved = Signal(int, int)
    """Emits (axis, index) when an index was set in the table: of an image an index of its finest level."""

    _image: Image | None
    """The image of which a level is shown; None for an array."""
    _level: int

    def __init__(self, owner: Owner, loader: ChunkLoader) -> None:
        super().__init__()
        self._owner, self._loader = owner, loader
        self._format = NUMBER_FORMATS[0]
        self._dates = True
        """Whether times are shown as dates."""
        self._names: tuple[str, ...] = ()
        self._notify = CoalescedCall(owner.post, self.changed.emit)
        self._ticket: Ticket | None = None
        self.show_nothing()

    def show_node(self, details: NodeDetails) -> None:
        """Shows an array, or the finest level of an image; rows and columns are the axes of the picture."""
        node, image = details.node, details.image
        assert node is not None
        array = node if node.kind == "array" else image.levels[0].array if image is not None else None
        assert array is not None, "the view is one of arrays and images"
        self.show_array(array, image.plane if image is not None else (-1, -1), axis_names(image, array))
        if node.kind == "group" and image is not None:
            self._image, self._at = image, [0] * len(image.axes)

    def show_nothing(self, sentence: str = "") -> None:
        """Shows no table, and `sentence` in its place."""
        self._show(None, sentence)

    def show_array(self, array: Array, plane: tuple[int, int] = (-1, -1), names: tuple[str, ...] = ()) -> None:
        """Shows the table of an array, or its problem if it cannot be decoded. `plane`: the axes of the array's
        picture; `names`: the names of all axes."""
        self._names = names or axis_names(None, array)
        problem = array.problem
        if problem is not None:
            self._show(None, strings.problem(problem).headline)
        else:
            self._show(array, "")
            if min(plane) >= 0 and not self._fields:
                self._rows, self._columns = plane

    def show_level(self, level: int) -> None:
        """Shows another level of the image, at the same position and along the same axes; called when the picture shows
        another one."""
        image = self._image
        if image is None or level == self._level or level >= len(image.levels):
            return
        at, rows, columns, array = self._at, self._rows, self._columns, image.levels[level].array
        problem = array.problem
        self._show(array if problem is None else None, strings.problem(problem).headline if problem is not None else "")
        self._image, self._level, self._at, self._rows, self._columns = image, level, at, rows, columns
        self._index = list(index_at(image, level, tuple(at)))

    def _show(self, array: Array | None, sentence: str) -> None:
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None
        self._array = array
        self._sentence = sentence
        self._asked: frozenset[tuple[int, ...]] = frozenset()
        self._failed: dict[tuple[int, ...], str] = {}
        rank = array.ndim if array is not None else 0
        self._fields: tuple[str, ...] = (array.dtype.names or ()) if array is not None else ()
        self._times, self._note = (
            cf_times(as_far_as_read(array.attributes), array.metadata.dtype.numpy) if array is not None else (None, "")
        )
        self._image = None
        self._level = 0
        self._at = [0] * rank
        """The index in the finest level of the image; of an array `_index`."""
        self._index = [0] * rank
        # Structured values: an axis in the rows, the fields in the columns.
        self._rows = rank - 2 if rank > 1 and not self._fields else rank - 1
        self._columns = rank - 1 if rank > 1 and not self._fields else -1
        self._notify.soon()

    def _name(self, axis: int) -> str:
        return strings.clean(self._names[axis], 40) if axis < len(self._names) else f"axis {axis}"

    @property
    def state(self) -> Table:
        """A new snapshot: the size of the table, its axes and the indices of the others. Cells are asked for one by
        one."""
        array = self._array
        if array is None:
            return Table(sentence=self._sentence)
        fixed = tuple(
            (self._name(i), self._index[i], array.shape[i])
            for i in range(array.ndim)
            if i not in (self._rows, self._columns)
        )
        return Table(
            array.shape[self._rows] if self._rows >= 0 else 1,
            len(self._fields) or (array.shape[self._columns] if self._columns >= 0 else 1),
            self._name(self._rows) if self._rows >= 0 else "",
            self._name(self._columns) if self._columns >= 0 else "",
            tuple(strings.clean(name, 60) for name in self._fields),
            _texts(array.metadata.dtype.numpy, self._fields),
            fixed,
            self._sentence or next(iter(self._failed.values()), ""),
            tuple(self._name(i) for i in range(array.ndim)) if array.ndim > 1 and not self._fields else (),
            self._shown_format,
            self._formats,
            self._note,
            getattr(array.metadata.dtype.numpy, "kind", "O") not in "OSUT",
            self._widest(),
            getattr(array.metadata.dtype.numpy, "kind", "O") == "c",
            level_text(self._level, len(self._image.levels), array.path) if self._image is not None else "",
        )

    def cells(self, row: int, column: int, rows: int, columns: int) -> list[list[str]]:
        """The exact texts of a block of cells; "…" for those that are still being read (`changed` is emitted later)."""
        table = self.state
        down = range(max(0, row), min(row + rows, table.rows))
        across = range(max(0, column), min(column + columns, table.columns))
        if self._array is None or len(down) * len(across) > MAX_CELLS:
            return [[WAITING] * len(across) for _ in down]
        array = self._array
        data: dict[tuple[int, ...], Any] = {}
        wanted: dict[tuple[int, ...], None] = {}

        def text(i: int, j: int) -> str:
            at = list(self._index)
            if self._rows >= 0:
                at[self._rows] = i
            if self._columns >= 0:
                at[self._columns] = j
            chunk = tuple(p // c for p, c in zip(at, array.chunks, strict=True))
            if chunk not in data:
                data[chunk] = self._loader.peek(array, chunk)
            if data[chunk] is None:
                if chunk in self._failed:
                    return "–"
                wanted[chunk] = None
                return WAITING
            value = data[chunk][tuple(p - k * c for p, k, c in zip(at, chunk, array.chunks, strict=True))]
            return self._spelled(value[self._fields[j]] if self._fields else value)

        found = [[text(i, j) for j in across] for i in down]
        self._read(wanted)
        return found

    def _read(self, wanted: dict[tuple[int, ...], None]) -> None:
        asked, array = frozenset(wanted), self._array
        if array is None or not wanted or asked <= self._asked or len(wanted) > MAX_CHUNKS:
            return

        path = array.path

        def came(result: ChunkResult) -> None:
            if result.state is ChunkState.FAILED and result.error is not None:
                self._failed[result.index] = strings.failed_chunk(result.error)
            self.heard(path, result)
            self._notify.soon()

        def done() -> None:
            self._asked = frozenset()

        old, self._asked = self._ticket, asked
        self._ticket = self._loader.request(self._owner, array, wanted, came, done)
        if old is not None:
            old.cancel()

    def retry(self) -> None:
        """Reads failed cells again."""
        self._failed.clear()
        self._notify.soon()

    def set_index(self, axis: str, index: int) -> None:
        """Goes to an index of an axis that is neither the rows nor the columns of the table."""
        for i in range(len(self._index)):
            if self._name(i) == axis:
                self.move(i, self._finest(i, index))
                self.moved.emit(i, self._at[i])

    def move(self, axis: int, index: int) -> None:
        """Goes to an index of an axis given by number, without a signal, because another view of the same array has
        moved. Of an image `index` is one of its finest level."""
        array, image = self._array, self._image
        shape = image.shape if image is not None else array.shape if array is not None else ()
        if axis < len(shape) and axis < len(self._index) and shape[axis]:
            self._at[axis] = max(0, min(index, shape[axis] - 1))
            here = self._at[axis] if image is None else index_at(image, self._level, tuple(self._at))[axis]
            if here != self._index[axis]:
                self._index[axis] = here
                self._notify.soon()

    def _finest(self, axis: int, index: int) -> int:
        """The index of the finest level for one of the displayed level; the present one if the level has no finer
        step."""
        image = self._image
        if image is None or index == self._index[axis]:
            return index if image is None else self._at[axis]
        at = list(self._index)
        at[axis] = index
        return index_above(image, self._level, tuple(at))[axis]

    @property
    def array(self) -> Array | None:
        """The array whose values are shown; None if there is no table."""
        return self._array

    def copy(self, row: int, column: int, rows: int, columns: int, done: Callable[[str, str], object]) -> None:
        """Reads a block of cells in the background, even cells that were never visible, and calls `done(text,
        sentence)`: lines of cells separated by tabs, or "" and the reason why there is no text."""
        table, array = self.state, self._array
        row, column = max(0, row), max(0, column)
        rows, columns = min(rows, table.rows - row), min(columns, table.columns - column)
        if array is None or rows < 1 or columns < 1:
            return
        if rows * columns > MAX_COPIED:
            done("", strings.too_many_cells(rows * columns, MAX_COPIED))
            return
        pick: list[Any] = list(self._index)
        if self._rows >= 0:
            pick[self._rows] = slice(row, row + rows)
        if self._columns >= 0:
            pick[self._columns] = slice(column, column + columns)
        spelled = self.spelling() or strings.cell
        names, turned = self._fields[column : column + columns], self._columns >= 0 and self._rows > self._columns

        def work() -> str:
            block = np.asarray(array[tuple(pick)])
            block = block.T if turned else block
            lines = block.reshape(rows, -1)
            if names:
                return "\n".join("\t".join(spelled(record[name]) for name in names) for record in lines[:, 0])
            return "\n".join("\t".join(spelled(value) for value in line) for line in lines)

        def came(outcome: JobResult[str]) -> None:
            if outcome.error is not None:
                done("", strings.problem(outcome.error).headline)
            else:
                done(outcome.get(), "")

        self._owner.read(work, came)

    def show(self, row_axis: str, column_axis: str) -> None:
        """Shows these axes as rows and columns; with `column_axis` "" a cut along one axis. If both names are equal,
        rows and columns swap."""
        names = [self._name(i) for i in range(len(self._index))]
        if self._fields or row_axis not in names or column_axis not in (*names, ""):
            return
        rows, columns = names.index(row_axis), names.index(column_axis) if column_axis else -1
        if rows == columns:
            rows, columns = (self._columns, rows) if self._rows == rows and self._columns >= 0 else (rows, self._rows)
        self._rows, self._columns = rows, columns if columns != rows else -1
        self._notify.soon()

    def set_format(self, format: str) -> None:
        """Sets how numbers are written, one of `Table.formats`. Those of numbers are exact; dates are rounded to
        microseconds."""
        if format in self._formats and format != self._shown_format:
            if self._times is not None:
                self._dates = format == DATES
            if format != DATES:
                self._format = format
            self._notify.soon()

    def next_format(self) -> None:
        """Writes numbers in the next of the formats."""
        formats = self._formats
        self.set_format(formats[(formats.index(self._shown_format) + 1) % len(formats)])

    @property
    def _formats(self) -> tuple[str, ...]:
        return (DATES, *NUMBER_FORMATS) if self._times is not None else NUMBER_FORMATS

    @property
    def _shown_format(self) -> str:
        return DATES if self._times is not None and self._dates else self._format

    def _spelled(self, value: object) -> str:
        times = self._times
        return times.text(value) if times is not None and self._dates else number(value, self._format)

    def _widest(self) -> int:
        if self._shown_format == DATES:
            return TIME_WIDTH
        assert self._array is not None
        return _widest(self._array.metadata.dtype.numpy) if self._shown_format == "decimal" else 0

    def spelling(self) -> Callable[[object], str] | None:
        """The function that writes one value in the chosen format, for copies and files; None for decimal numbers,
        which each kind of file writes in its own way."""
        times = self._times
        if times is not None and self._dates:
            return times.text
        format = self._format if self.state.numbers else NUMBER_FORMATS[0]
        return None if format == NUMBER_FORMATS[0] else lambda value: number(value, format)

    def cut(self) -> tuple[Any, ...]:
        """The selection that the table shows: an index for each axis that is not shown."""
        shown = (self._rows, self._columns)
        return tuple(slice(None) if i in shown else index for i, index in enumerate(self._index))

    def transpose(self) -> None:
        """Swaps rows and columns; needs an array of two axes or more."""
        if self._columns >= 0:
            self._rows, self._columns = self._columns, self._rows
            self._notify.soon()

    def label(self, row: int, column: int) -> tuple[str, str]:
        """The headings of a row and of a column."""
        return str(row), strings.clean(self._fields[column], 60) if self._fields else str(column)


def level_text(level: int, levels: int, path: str) -> str:
    """The level of an image to which a table belongs: "Values of level 1 (/image/1)"."""
    path = strings.clean(path, 200)
    return f"Values of level {level} ({path})" if levels > 1 else f"Values of {path}"


def _texts(dtype: np.dtype[Any] | None, fields: tuple[str, ...]) -> frozenset[int]:
    """The fields that contain text."""
    return frozenset(i for i, name in enumerate(fields) if dtype is not None and dtype[name].kind in "OSUTV")


def _widest(dtype: object) -> int:
    """The number of characters of the longest value of a data type; 0 if only the values tell."""
    kind = getattr(dtype, "kind", "O")
    if kind == "b":
        return len(str(False))
    if kind not in "iu" or not isinstance(dtype, np.dtype):
        return 0
    info = np.iinfo(dtype)
    return max(len(str(info.min)), len(str(info.max)))


_COMPLEX = re.compile(r"(.*?[^e+-])([+-][^+-]*(?:e[+-]\d+)?i)", re.IGNORECASE)


def in_two_lines(text: str) -> str:
    """The text of a complex number with the imaginary part beneath the real part; any other text as it is."""
    found = _COMPLEX.fullmatch(text)
    return text if found is None else "\n".join(found.groups())


def number(value: object, format: str) -> str:
    """A value in the chosen number format: with all its digits, with a power of ten, or as its bits."""
    if format == "scientific":
        return _scientific(value)
    if format == "hexadecimal" and isinstance(value, np.number | np.bool_):
        size = value.dtype.itemsize
        if size <= 8 and value.dtype.kind in "buif":
            bits = np.asarray(value).view(f"u{size}")
            return f"0x{int(bits):0{2 * size}x}"
    return strings.exact(value)


def _scientific(value: object) -> str:
    if isinstance(value, np.complexfloating):
        sign = "-" if np.signbit(value.imag) else "+"
        return f"{_scientific(value.real)}{sign}{_scientific(abs(value.imag))}i"
    if isinstance(value, np.floating) and np.isfinite(value):
        return np.format_float_scientific(value, unique=True, trim="-")
    if isinstance(value, np.integer) and not isinstance(value, np.timedelta64):
        return f"{Decimal(int(value)):e}"
    return strings.exact(value)
