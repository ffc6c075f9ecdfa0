"""The canonical metadata: every dialect translates its documents into these types when it parses them.

Code outside the dialects does not know the documents of a node. All types here are frozen, hashable, cheap to pickle
and free of I/O. Attributes are not included: they stay in the document as they are (jsondoc/document.py).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from enum import Enum
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from zarrscope.errors import BadMetadata, Unsupported
from zarrscope.errors.visible import visible
from zarrscope.model.dtype import DataType, Fill
from zarrscope.model.frozen import frozen
from zarrscope.runtime.memo import memoized
from zarrscope.runtime.named_tuple import NamedTuple

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON


class Configuration(Mapping[str, Any]):
    """A frozen JSON object: hashable, and equal to another one with the same JSON."""

    __slots__ = ("_members", "_text")

    def __init__(self, members: Mapping[str, JSON] | None = None) -> None:
        self._text: str | None = None
        self._members: dict[str, JSON] = dict(members or {})

    @property
    def text(self) -> str:
        """The JSON text in a canonical form; made only when two objects are compared."""
        if self._text is None:
            import json

            self._text = json.dumps(self._members, sort_keys=True, default=str)
        return self._text

    def __getitem__(self, name: str) -> JSON:
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
        return visible(self.text)


@frozen
class Origin:
    """JSON pointers to a codec in its document, and to those of its settings that the document stores elsewhere."""

    place: str
    settings: str
    """The JSON pointer to the object with the codec's configuration."""
    members: tuple[tuple[str, str], ...] = ()
    """(member of the configuration, its place in the document) for members with a place or a name of their own."""
    inner: tuple[Origin | None, ...] = ()
    """The origins of the codecs that the member `codecs` of the configuration lists."""

    def pointer(self, rest: str) -> str:
        """The pointer in the document to the part of the codec that `rest` names in canonical form, such as
        "/configuration/level"."""
        steps = rest.split("/")[1:]
        if not steps or steps[0] != "configuration":
            return self.place + rest
        if len(steps) > 2 and steps[1] == "codecs" and steps[2].isdigit() and int(steps[2]) < len(self.inner):
            inner = self.inner[int(steps[2])]
            return self.place if inner is None else inner.pointer("".join(f"/{step}" for step in steps[3:]))
        for member, where in self.members:
            if steps[1:2] == [member]:
                return where
        return self.settings + "".join(f"/{step}" for step in steps[1:])


@frozen
class CodecSpec:
    """One named extension with its configuration (v3 core "Extension points"): a codec, or a storage transformer.

    `name` is canonical (see codecs.CODECS); `spelled` is how the document writes it, for messages.
    """

    name: str
    configuration: Configuration = field(default_factory=Configuration)
    must_understand: bool = True
    spelled: str = field(default="", compare=False)
    origin: Origin | None = field(default=None, compare=False)
    """The place of the codec in the document, if it is not in /codecs."""


def pointer_in_document(codecs: tuple[CodecSpec, ...], pointer: str | None) -> str | None:
    """Translates a pointer into the canonical list of codecs to one into the document: in v2, /codecs/1 to /filters/0,
    for example."""
    found = re.match(r"/codecs/([0-9]+)(?=/|$)", pointer or "")
    if found is None or pointer is None or int(found[1]) >= len(codecs):
        return pointer
    origin = codecs[int(found[1])].origin
    return pointer if origin is None else origin.pointer(pointer[found.end() :])


@frozen
class RegularGrid:
    """Chunks of one shape (elements per axis); a chunk at the array's edge has the full shape, too."""

    chunk_shape: tuple[int, ...]

    def grid_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The number of chunks along each axis; 0 along an axis without elements (spec D.8)."""
        return tuple(0 if n == 0 else -(-n // c) for n, c in zip(shape, self.chunk_shape, strict=True))

    def edges(self, axis: int, length: int) -> RegularEdges:
        """The chunk edges along one axis; `length` is that of the array."""
        return RegularEdges(self.chunk_shape[axis], length)

    def shape_at(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """The decoded shape of the chunk at `index`."""
        return self.chunk_shape

    def to_json(self) -> dict[str, JSON]:
        """The grid as v3 writes it."""
        return {"name": "regular", "configuration": {"chunk_shape": [*self.chunk_shape]}}


class RegularEdges(NamedTuple):
    """The chunk edges along one axis of a regular grid: finds the chunk at a position, and the span of a chunk."""

    size: int
    length: int

    def chunk_of(self, position: int) -> int:
        """The chunk that holds the element at a position of the axis."""
        return position // self.size

    def span(self, chunk: int) -> tuple[int, int]:
        """The positions (first, after the last) of a chunk; the last chunk may reach beyond the array."""
        return chunk * self.size, (chunk + 1) * self.size


_NUMBERS = (int, float)

Runs = tuple[tuple[int, int], ...]
"""The chunk lengths along one axis, run-length encoded: (length, number of repetitions)."""


@frozen
class RectilinearGrid:
    """Chunks whose lengths differ along an axis (zarr-extensions "rectilinear"), kept run-length encoded (spec F.22).

    Each axis has one length that repeats up to the array's end, or runs of lengths, which may reach beyond the array.
    """

    axes: tuple[int | Runs, ...]

    @property
    def chunk_shape(self) -> tuple[int, ...]:
        """The length of the largest chunk along each axis."""
        return tuple(axis if isinstance(axis, int) else max(size for size, _ in axis) for axis in self.axes)

    def grid_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The number of chunks along each axis that begin within the array."""
        lengths = enumerate(shape)
        return tuple(0 if n == 0 else self.edges(axis, n).chunk_of(n - 1) + 1 for axis, n in lengths)

    def edges(self, axis: int, length: int) -> RegularEdges | RectilinearEdges:
        """The chunk edges along one axis; regular ones if the axis has one length."""
        runs = self.axes[axis]
        return RegularEdges(runs, length) if isinstance(runs, int) else _rectilinear(runs, length)

    def shape_at(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """The decoded shape of the chunk at `index`."""
        shape = []
        for axis, i in enumerate(index):
            low, high = self.edges(axis, 0).span(i)
            shape.append(high - low)
        return tuple(shape)

    def to_json(self) -> dict[str, JSON]:
        """The grid as v3 writes it."""
        shapes = [
            axis if isinstance(axis, int) else [[*run] if run[1] > 1 else run[0] for run in axis] for axis in self.axes
        ]
        return {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": shapes}}


@frozen
class RectilinearEdges:
    """One axis of a rectilinear grid; `starts` and `firsts`: the position and the chunk that each run begins with."""

    runs: Runs
    length: int
    starts: tuple[int, ...]
    firsts: tuple[int, ...]

    def chunk_of(self, position: int) -> int:
        """The chunk that holds the element at a position of the axis, found by bisection."""
        run = bisect_right(self.starts, position) - 1
        return self.firsts[run] + (position - self.starts[run]) // self.runs[run][0]

    def span(self, chunk: int) -> tuple[int, int]:
        """The positions (first, after the last) of a chunk, which may lie beyond the array."""
        run = bisect_right(self.firsts, chunk) - 1
        size = self.runs[run][0]
        start = self.starts[run] + (chunk - self.firsts[run]) * size
        return start, start + size


@memoized(64)
def _rectilinear(runs: Runs, length: int) -> RectilinearEdges:
    starts = accumulate((size * count for size, count in runs[:-1]), initial=0)
    firsts = accumulate((count for _, count in runs[:-1]), initial=0)
    return RectilinearEdges(runs, length, tuple(starts), tuple(firsts))


ChunkGrid = RegularGrid | RectilinearGrid
"""The grid that divides an array into chunks; every grid has extent, edges, shape_at, chunk_shape and to_json."""


@frozen
class ChunkKeys:
    """The rule that makes a chunk's store key from its index: prefix + stem + indices joined by the separator.

    v3 default: stem "c/" (or "c."), scalar "c" · v2: stem "", scalar "0" · drafts 2020, 2022: stem "c" · n5: reverse.
    """

    prefix: str
    stem: str = "c/"
    separator: str = "/"
    scalar: str = "c"
    """The key of the only chunk of an array without axes."""
    reverse: bool = False

    def key(self, index: tuple[int, ...]) -> str:
        """The key of a chunk of the grid, in the store; `index` is empty for an array without axes."""
        if not index:
            return self.prefix + self.scalar
        return self.prefix + self.stem + self.separator.join(map(str, reversed(index) if self.reverse else index))


class ExtensionOutcome(Enum):
    """How an extension that a document uses was handled."""

    USED = "used"
    IGNORED = "ignored"
    FELL_BACK = "fell back"
    REFUSED = "refused"


@frozen
class ExtensionReport:
    """An extension that a document uses, and how it was handled. Presenters write the text for it."""

    point: str
    name: str
    understood: bool
    required: bool
    outcome: ExtensionOutcome
    advice: str = ""
    pointer: str = ""
    """The place of the extension in the document, as a JSON pointer."""
    key: str = ""
    """The key of the document, if it is not the node's own."""
    configuration: Configuration = field(default_factory=Configuration)
    passable: bool = False
    """Whether `lenient` opening ignores it; the displayed data may then be wrong, and nothing may be written."""
    fallback: str = ""
    """The data type that the document offers in place of an unknown one. FELL_BACK: it is used; REFUSED: fallbacks are
    switched off."""


@frozen
class Defect:
    """A member of a node's document that breaks the format, or is too new for zarrscope. Such a member is not used."""

    message: str
    pointer: str
    """The place of the member in the document, as a JSON pointer."""
    key: str
    advice: str = ""
    feature: str | None = None
    """The feature that zarrscope lacks, if the document is valid but too new; None if the document is wrong."""
    store: str | None = field(default=None, compare=False)
    """The address of the store that holds the document. Dialects do not know it; NodeContext adds it."""

    def placed(self, store: str) -> Defect:
        """This defect with the address of the store."""
        return replace(self, store=store)

    @property
    def error(self) -> BadMetadata | Unsupported:
        """A new error to raise for this defect. Each call makes another one, because callers add to its place."""
        place: dict[str, Any] = {
            "store": self.store,
            "key": self.key,
            "pointer": self.pointer or None,
            "advice": self.advice or None,
        }
        if self.feature is not None:
            return Unsupported(self.message, feature=self.feature, **place)
        return BadMetadata(self.message, **place)


@frozen
class ArrayMetadata:
    """All metadata needed to read an array: shapes in elements, axes in C order."""

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
    """Other rules for chunk keys that some writers used. They are tried if no chunk has a regular key; the rule of the
    first chunk found then holds for the whole array."""
    lenient_keys: tuple[ChunkKeys, ...] = field(default=(), compare=False)
    """Rules for chunk keys that the specification forbids and some writers used; they are tried only if the hierarchy
    is opened leniently."""
    defects: tuple[Defect, ...] = ()
    """The defects of the documents, in order."""
    unread: tuple[str, ...] = ()
    """Those of "shape", "dtype", "grid", "keys", "codecs" and "fill" that the documents do not state: these attributes
    hold placeholders."""

    kind: ClassVar[Literal["array"]] = "array"

    @property
    def ndim(self) -> int:
        """The number of axes; 0 for an array of one element."""
        return len(self.shape)

    @property
    def declared_range(self) -> tuple[float, float] | None:
        """(smallest, largest) value as an array-statistics extension states them (ZEP 9); viewers use them as first
        contrast limits."""
        for report in self.extensions:
            low, high = report.configuration.get("min"), report.configuration.get("max")
            if report.understood and report.point == "extension" and type(low) in _NUMBERS and type(high) in _NUMBERS:
                return float(low), float(high)  # type: ignore[arg-type]  # both are numbers, as the line above asks
        return None

    @property
    def problem(self) -> BadMetadata | Unsupported | None:
        """The error that explains why this array cannot be read, or None. It rests on the documents alone: making the
        codecs may still fail.

        If the chunk grid is unknown, `grid` is one chunk of the array's shape, and must not be used.
        """
        return self.defects[0].error if self.defects else _problem(self.extensions)


@frozen
class GroupMetadata:
    """The metadata of a group, without its attributes."""

    dialect: str
    implicit: bool = False
    """Whether the group has no document, but nodes beneath it."""
    extensions: tuple[ExtensionReport, ...] = ()
    defects: tuple[Defect, ...] = ()
    """The defects of the document, in order."""

    kind: ClassVar[Literal["group"]] = "group"

    @property
    def problem(self) -> BadMetadata | Unsupported | None:
        """The error for a broken document, or for a demanded extension that is not understood; else None."""
        return self.defects[0].error if self.defects else _problem(self.extensions)

    @property
    def listing_problem(self) -> Unsupported | None:
        """The extension that prevents listing the children; None when names and kinds can be listed without
        understanding it."""
        return _problem(tuple(report for report in self.extensions if report.point != "metadata encoding"))


def _problem(reports: tuple[ExtensionReport, ...]) -> Unsupported | None:
    for report in reports:
        if report.outcome is ExtensionOutcome.REFUSED:
            return Unsupported(
                f"The {report.point} {report.name!r} is not supported here",
                feature=f"{report.point} {report.name}",
                key=report.key or None,
                pointer=report.pointer,
                advice=report.advice or None,
            )
    return None
