"""The canonical vocabulary: what every dialect's documents are translated into, once, at the door.

Nothing behind the dialects knows which documents a node came from. All types here are frozen, hashable, cheap to pickle
and free of I/O. Attributes are not in here: they are the document's, kept as they stand (document.py).
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import Enum
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

from zarrscope.dtype import DataType, Fill
from zarrscope.errors import Unsupported
from zarrscope.frozen import frozen

Json = Any
"""null, bool, int, float, str, list or dict, as json.loads gives them."""


class Configuration(Mapping[str, Json]):
    """A frozen JSON object: hashable, and equal when the JSON is."""

    __slots__ = ("_members", "_text")

    def __init__(self, members: Mapping[str, Json] | None = None) -> None:
        self._text: str | None = None
        self._members: dict[str, Json] = dict(members or {})

    @property
    def text(self) -> str:
        """The same JSON in one spelling; made when two are compared, which few ever are."""
        if self._text is None:
            self._text = json.dumps(self._members, sort_keys=True, default=str)
        return self._text

    def __getitem__(self, name: str) -> Json:
        return self._members[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self.text == other.text

    def __repr__(self) -> str:
        return self.text


@frozen
class CodecSpec:
    """One named extension with its configuration (v3 core "Extension points"): a codec, or a storage transformer.

    `name` is canonical (see codecs.CODECS); `spelled` is how the document writes it, for messages.
    """

    name: str
    configuration: Configuration = field(default_factory=Configuration)
    must_understand: bool = True
    spelled: str = field(default="", compare=False)


@frozen
class RegularGrid:
    """Chunks of one shape (elements per axis); a chunk over the array's edge is whole all the same."""

    chunk_shape: tuple[int, ...]

    def extent(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """How many chunks along each axis; ceil(0/0) := 0 (spec D.8)."""
        return tuple(0 if n == 0 else -(-n // c) for n, c in zip(shape, self.chunk_shape, strict=True))

    def edges(self, axis: int, length: int) -> RegularEdges:
        """Where the chunks of one axis begin and end; `length` is the array's."""
        return RegularEdges(self.chunk_shape[axis], length)

    def shape_at(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """The decoded shape of the chunk at `index`."""
        return self.chunk_shape


class RegularEdges(NamedTuple):
    """One axis of a grid: which chunk holds a position, and what span a chunk covers."""

    size: int
    length: int

    def chunk_of(self, position: int) -> int:
        return position // self.size

    def span(self, chunk: int) -> tuple[int, int]:
        return chunk * self.size, (chunk + 1) * self.size


_NUMBERS = (int, float)

Runs = tuple[tuple[int, int], ...]
"""Chunk lengths of one axis, run-length encoded: (length, how many in a row)."""


@frozen
class RectilinearGrid:
    """Chunks whose lengths differ along an axis (zarr-extensions "rectilinear"), kept run-length encoded (spec F.22).

    Per axis one length that repeats as far as the array goes, or runs of lengths, which may reach beyond the array.
    """

    axes: tuple[int | Runs, ...]

    @property
    def chunk_shape(self) -> tuple[int, ...]:
        """The largest chunk along each axis: no chunk takes more."""
        return tuple(axis if isinstance(axis, int) else max(size for size, _ in axis) for axis in self.axes)

    def extent(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """How many chunks along each axis begin within the array."""
        lengths = enumerate(shape)
        return tuple(0 if n == 0 else self.edges(axis, n).chunk_of(n - 1) + 1 for axis, n in lengths)

    def edges(self, axis: int, length: int) -> RegularEdges | RectilinearEdges:
        runs = self.axes[axis]
        return RegularEdges(runs, length) if isinstance(runs, int) else _rectilinear(runs, length)

    def shape_at(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """The decoded shape of the chunk at `index`."""
        shape = []
        for axis, i in enumerate(index):
            low, high = self.edges(axis, 0).span(i)
            shape.append(high - low)
        return tuple(shape)


@frozen
class RectilinearEdges:
    """One axis of a rectilinear grid; `starts` and `firsts`: the position and the chunk that each run begins with."""

    runs: Runs
    length: int
    starts: tuple[int, ...]
    firsts: tuple[int, ...]

    def chunk_of(self, position: int) -> int:
        run = bisect_right(self.starts, position) - 1
        return self.firsts[run] + (position - self.starts[run]) // self.runs[run][0]

    def span(self, chunk: int) -> tuple[int, int]:
        run = bisect_right(self.firsts, chunk) - 1
        size = self.runs[run][0]
        start = self.starts[run] + (chunk - self.firsts[run]) * size
        return start, start + size


@lru_cache(maxsize=64)
def _rectilinear(runs: Runs, length: int) -> RectilinearEdges:
    starts = accumulate((size * count for size, count in runs[:-1]), initial=0)
    firsts = accumulate((count for _, count in runs[:-1]), initial=0)
    return RectilinearEdges(runs, length, tuple(starts), tuple(firsts))


ChunkGrid = RegularGrid | RectilinearGrid
"""How an array is cut into chunks; all offer extent, edges, shape_at and chunk_shape."""


@frozen
class ChunkKeys:
    """From a chunk's index to its key in the store: prefix + stem + indices joined by the separator.

    v3 default: stem "c/" (or "c."), scalar "c" · v2: stem "", scalar "0" · drafts 2020, 2022: stem "c" · n5: reverse.
    """

    prefix: str
    stem: str = "c/"
    separator: str = "/"
    scalar: str = "c"
    """What stands for the one chunk of an array without axes."""
    reverse: bool = False

    def key(self, index: tuple[int, ...]) -> str:
        if not index:
            return self.prefix + self.scalar
        return self.prefix + self.stem + self.separator.join(map(str, reversed(index) if self.reverse else index))


class Outcome(Enum):
    USED = "used"
    IGNORED = "ignored"
    FELL_BACK = "fell back"
    REFUSED = "refused"


@frozen
class ExtensionReport:
    """What was found at an extension point, and what was done about it. Presenters put it into words."""

    point: str
    name: str
    understood: bool
    required: bool
    outcome: Outcome
    advice: str = ""
    pointer: str = ""
    """Where the document says it."""
    key: str = ""
    """The document, where that is not the node's own."""
    configuration: Configuration = field(default_factory=Configuration)
    passable: bool = False
    """Opening leniently passes it over: what is shown may then be wrong, and nothing may be written."""
    fallback: str = ""
    """Of a data type: the one that the document offers in its place, and that fits. FELL_BACK: it is in use; REFUSED:
    falling back is switched off."""


@frozen
class ArrayMetadata:
    """All that is needed to read an array: shapes in elements, C order of axes."""

    shape: tuple[int, ...]
    dtype: DataType
    grid: ChunkGrid
    keys: ChunkKeys
    codecs: tuple[CodecSpec, ...]
    fill: Fill
    dialect: str
    dimension_names: tuple[str | None, ...] | None = None
    transformers: tuple[CodecSpec, ...] = ()
    extensions: tuple[ExtensionReport, ...] = ()
    alternative_keys: tuple[ChunkKeys, ...] = ()
    """Keys that other writers used where these find nothing: the first chunk found decides for the whole array."""
    lenient_keys: tuple[ChunkKeys, ...] = field(default=(), compare=False)
    """Keys that the documents do not allow, though some writers used them: read only when opened leniently."""

    kind = "array"

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def declared_range(self) -> tuple[float, float] | None:
        """The smallest and largest value as an array-statistics extension says: a first contrast window (ZEP 9)."""
        for report in self.extensions:
            low, high = report.configuration.get("min"), report.configuration.get("max")
            if report.understood and report.point == "extension" and type(low) in _NUMBERS and type(high) in _NUMBERS:
                return float(low), float(high)  # type: ignore[arg-type]
        return None

    @property
    def problem(self) -> Unsupported | None:
        """Why this array cannot be read, as far as its documents tell; None when only its codecs can tell.

        Where the chunk grid itself is unknown, `grid` is one chunk of the array's shape, and must not be used.
        """
        return _problem(self.extensions)


@frozen
class GroupMetadata:
    dialect: str
    implicit: bool = False
    """No document says so: there are only nodes beneath it."""
    extensions: tuple[ExtensionReport, ...] = ()

    kind = "group"

    @property
    def problem(self) -> Unsupported | None:
        """The extension that this group demands and that is not understood here."""
        return _problem(self.extensions)

    @property
    def listing_problem(self) -> Unsupported | None:
        """The same where it keeps the children from being told: names and kinds need no document to be understood."""
        return _problem(tuple(report for report in self.extensions if report.point != "metadata encoding"))


def _problem(reports: tuple[ExtensionReport, ...]) -> Unsupported | None:
    for report in reports:
        if report.outcome is Outcome.REFUSED:
            return Unsupported(
                f"The {report.point} {report.name!r} is not supported here",
                feature=f"{report.point} {report.name}",
                key=report.key or None,
                pointer=report.pointer,
                advice=report.advice or None,
            )
    return None
