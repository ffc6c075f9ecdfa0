"""Compares two hierarchies: nodes, canonical metadata, attributes, and on request every value.

Documents are compared by their meaning, not by their text: a v2 hierarchy equals its conversion to v3 when shapes, data
types, fill values, chunk grids, names of dimensions and attributes are equal. `strict` also compares codecs, dialects
and the documents themselves. Values are compared block by block; NaN equals NaN. The JSON pointer names the place of a
difference in attributes. Specification: reference.md A.2, H.8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count as count_from
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zarrscope.chunkio.stored_chunks import blocks_touched, index_at, is_sparse, listed
from zarrscope.dialects import dialect_named
from zarrscope.errors import BadMetadata, ZarrscopeError
from zarrscope.jsondoc.parse import parse_json
from zarrscope.jsondoc.pointers import pointer_of
from zarrscope.model.metadata import ChunkGrid
from zarrscope.model.node_path import clean_path, join_path
from zarrscope.model.selection import select
from zarrscope.model.storage import never
from zarrscope.nodes.array import Array
from zarrscope.nodes.consolidated_metadata import MAX_DEPTH
from zarrscope.nodes.detect import fetch
from zarrscope.nodes.hierarchy import Group, Hierarchy
from zarrscope.runtime.tuning import COMPARED_BYTES as BLOCK_BYTES

if TYPE_CHECKING:
    from zarrscope.model.metadata import CodecSpec


class Absent:
    """Marks a value that one side lacks. None cannot mark it, because JSON values may be None."""

    def __repr__(self) -> str:
        return "nothing"


ABSENT = Absent()


@dataclass(frozen=True)
class NodeDifference:
    """One difference at node `path`, relative to the two starting nodes. `what` names the thing that differs: "node",
    "kind", "shape", "attributes", "values" …

    `pointer` is the place within attributes or a document. `left` and `right` are JSON values, numpy scalars or text;
    ABSENT where one side has nothing. For "values", `index` is the first element in C order that differs, `left` and
    `right` are its two values, and `count` is the number of elements that differ.
    """

    path: str
    what: str
    left: object
    right: object
    pointer: str | None = None
    index: tuple[int, ...] | None = None
    count: int | None = None


def diff(
    left: Hierarchy,
    right: Hierarchy,
    left_path: str = "/",
    right_path: str = "/",
    *,
    values: bool = False,
    strict: bool = False,
    progress: Callable[[str], None] | None = None,
    cancelled: Callable[[], bool] = never,
) -> Iterator[NodeDifference]:
    """Yields every difference as it is found, with the nodes in order of their names; ends early once `cancelled()`.

    If a node cannot be opened on one side, or fails with different errors on the two sides, this is reported as a
    difference of "problem", and the comparison goes on. Raises NotFound when one of the two paths has no node.
    """
    starts = clean_path(left_path), clean_path(right_path)
    for hierarchy, path in zip((left, right), starts, strict=True):
        if path not in hierarchy:
            hierarchy.open_node(path)  # raises the reason
    sides = _Side(left, starts[0]), _Side(right, starts[1])
    return _Comparison(*sides, values, strict, progress or (lambda path: None), cancelled).node("/")


class _Side:
    def __init__(self, hierarchy: Hierarchy, start: str) -> None:
        self.hierarchy = hierarchy
        self.start = start
        self.tree = hierarchy.tree(start)

    def path(self, path: str) -> str:
        return clean_path(self.start + path)

    def open(self, path: str) -> Group | Array | ZarrscopeError:
        try:
            return self.hierarchy[self.path(path)]
        except ZarrscopeError as error:
            return error

    def names(self, node: Group) -> list[str] | ZarrscopeError:
        try:
            return sorted(child.name for child in node.names(tree=self.tree))
        except ZarrscopeError as error:
            return error

    def documents(self, node: Group | Array) -> dict[str, Any]:
        """The node's parsed documents, by a name that is the same on both sides."""
        return {name: parse_json(value, key=key) for name, (key, value) in self._stored(node).items()}

    def values(self, node: Group | Array) -> list[bytes]:
        """The node's documents as they are stored."""
        return [value for _, (_, value) in sorted(self._stored(node).items())]

    def _stored(self, node: Group | Array) -> dict[str, tuple[str, bytes]]:
        keys = dialect_named(node.metadata.dialect).documents(node.path, node.kind)
        return {str(keys.index(key)): (key, value) for key, value in fetch(self.hierarchy.store, keys).items()}


class _Comparison:
    def __init__(
        self,
        left: _Side,
        right: _Side,
        values: bool,
        strict: bool,
        progress: Callable[[str], None],
        cancelled: Callable[[], bool],
    ) -> None:
        self.left, self.right = left, right
        self.values, self.strict = values, strict
        self.progress, self.cancelled = progress, cancelled

    def node(self, path: str) -> Iterator[NodeDifference]:
        if self.cancelled():
            return
        self.progress(path)
        left, right = self.left.open(path), self.right.open(path)
        if isinstance(left, ZarrscopeError) or isinstance(right, ZarrscopeError):
            problems = [_problem(each) for each in (left, right)]
            if problems[0] != problems[1]:
                yield NodeDifference(path, "problem", problems[0], problems[1])
            return
        if left.kind != right.kind:
            yield NodeDifference(path, "kind", left.kind, right.kind)
            return
        if isinstance(left, Array) and isinstance(right, Array):
            yield from self._fields(path, left, right)
        try:
            yield from _json(path, "attributes", "", self._attributes(left), self._attributes(right))
        except BadMetadata:  # of one side, or of both
            unread = True
        else:
            unread = isinstance(left, Group) and (left.problem is not None or right.problem is not None)
        if unread and self.left.values(left) != self.right.values(right):
            yield NodeDifference(path, "problem", _problem(left.problem), _problem(right.problem))
        if self.strict:
            yield from self._documents(path, left, right)
        if isinstance(left, Array) and isinstance(right, Array):
            if self.values:
                yield from self._values(path, left, right)
            return
        assert isinstance(left, Group)
        assert isinstance(right, Group)
        yield from self._children(path, left, right)

    def _children(self, path: str, left: Group, right: Group) -> Iterator[NodeDifference]:
        names = self.left.names(left), self.right.names(right)
        if isinstance(names[0], ZarrscopeError) or isinstance(names[1], ZarrscopeError):
            problems = [_problem(each) if isinstance(each, ZarrscopeError) else ABSENT for each in names]
            yield NodeDifference(path, "problem", problems[0], problems[1])
            return
        ours, theirs = set(names[0]), set(names[1])
        if path.count("/") >= MAX_DEPTH:
            return
        for name in sorted(ours | theirs):
            below = join_path(path, name)
            if name in ours and name in theirs:
                yield from self.node(below)
            else:
                side = self.left if name in ours else self.right
                found = side.open(below)
                kind = _problem(found) if isinstance(found, ZarrscopeError) else found.kind
                ends = (kind, ABSENT) if name in ours else (ABSENT, kind)
                yield NodeDifference(below, "node", ends[0], ends[1])

    # ------------------------------------------------------------------ documents
    def _fields(self, path: str, left: Array, right: Array) -> Iterator[NodeDifference]:
        ours, theirs = _canonical(left), _canonical(right)
        for what in ours:
            if ours[what] != theirs[what]:
                yield NodeDifference(path, what, ours[what], theirs[what])
        if _exact(left) != _exact(right):
            yield NodeDifference(path, "fill value", left.fill_value, right.fill_value)
        if self.strict and left.metadata.codecs != right.metadata.codecs:
            codecs = [[_form(codec) for codec in each.metadata.codecs] for each in (left, right)]
            yield NodeDifference(path, "codecs", codecs[0], codecs[1])

    def _attributes(self, node: Group | Array) -> Mapping[str, Any]:
        """The attributes as they were before a conversion, without the one that holds dimension names: these are
        compared separately."""
        if self.strict:
            return node.attributes
        names = node.dimension_names if isinstance(node, Array) else None
        dialect = dialect_named(node.metadata.dialect)
        place = dialect.names_in if names is not None else None
        return dialect.restored({name: value for name, value in node.attributes.items() if name != place})

    def _documents(self, path: str, left: Group | Array, right: Group | Array) -> Iterator[NodeDifference]:
        dialects = left.metadata.dialect, right.metadata.dialect
        if dialects[0] != dialects[1]:
            yield NodeDifference(path, "dialect", dialects[0], dialects[1])
            return
        try:
            ours, theirs = self.left.documents(left), self.right.documents(right)
        except ZarrscopeError as error:
            yield NodeDifference(path, "problem", _problem(error), ABSENT)
            return
        for name in sorted(ours.keys() | theirs.keys()):
            yield from _json(path, "document", "", ours.get(name, ABSENT), theirs.get(name, ABSENT))

    # ------------------------------------------------------------------ values
    def _values(self, path: str, left: Array, right: Array) -> Iterator[NodeDifference]:
        if left.shape != right.shape or left.metadata.dtype.name != right.metadata.dtype.name:
            return  # this difference was already yielded
        problems = [_problem(each.problem) if each.problem else ABSENT for each in (left, right)]
        if problems != [ABSENT, ABSENT]:
            yield NodeDifference(path, "problem", problems[0], problems[1])
            return
        count = 0
        first: tuple[tuple[int, ...], Any, Any] | None = None
        block, places, apart_elsewhere = self._places(left, right)
        if apart_elsewhere is not None:
            count, first = apart_elsewhere
        for corner in places:
            if self.cancelled():
                return
            self.progress(path)
            parts = tuple(slice(at, min(at + b, n)) for at, b, n in zip(corner, block, left.shape, strict=True))
            read = [_read(each, parts) for each in (left, right)]
            ours, theirs = read
            if isinstance(ours, ZarrscopeError) or isinstance(theirs, ZarrscopeError):
                problems = [_problem(each) if isinstance(each, ZarrscopeError) else ABSENT for each in read]
                yield NodeDifference(path, "problem", problems[0], problems[1], index=corner)
                continue
            apart = unequal(ours, theirs)
            found = int(np.count_nonzero(apart))
            if found:
                count += found
                inner = np.unravel_index(int(np.argmax(apart)), apart.shape) if apart.shape else ()
                index = tuple(int(i) + at for i, at in zip(inner, corner, strict=True))
                if first is None or index < first[0]:
                    first = index, ours[inner], theirs[inner]
        if first is not None:
            yield NodeDifference(path, "values", first[1], first[2], index=first[0], count=count)

    def _places(
        self, left: Array, right: Array
    ) -> tuple[tuple[int, ...], Iterator[tuple[int, ...]], tuple[int, tuple[tuple[int, ...], Any, Any]] | None]:
        """The shape of the blocks, and the first index of each block to read: of all blocks, or in a sparse array of
        those with stored chunks.

        The third value counts the elements outside these blocks that differ, because the fill values differ, and
        describes the first of them; None if there are none.
        """
        block = _block(left, right)
        found = listed((left._stored, right._stored), self.cancelled)
        if found is None:
            return block, _corners(left.shape, block), None
        if is_sparse(found):
            block = _block(left, right, 0)
        extent = tuple(-(-n // b) for n, b in zip(left.shape, block, strict=True))
        touched = blocks_touched(
            found,
            lambda array, spans: [
                range(low // b, (high - 1) // b + 1) for (low, high), b in zip(spans, block, strict=True)
            ],
        )
        corners = (tuple(i * b for i, b in zip(place, block, strict=True)) for place in touched)
        fills = [np.full((), each.fill_value, each.dtype) for each in (left, right)]
        if not unequal(*fills).any() or len(touched) == prod(extent):
            return block, corners, None
        read = sum(
            prod(min((i + 1) * b, n) - i * b for i, b, n in zip(place, block, left.shape, strict=True))
            for place in touched
        )
        known = set(touched)
        place = next(index for n in count_from(0) if (index := index_at(n, extent)) not in known)
        first = tuple(i * b for i, b in zip(place, block, strict=True)), fills[0][()], fills[1][()]
        return block, corners, (prod(left.shape) - read, first)


def unequal(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """A mask of the elements at which two arrays of one shape and type differ; NaN equals NaN, and NaT equals NaT."""
    apart = np.asarray(left != right, bool)
    if left.dtype.kind in "fcmM":
        apart &= ~((left != left) & (right != right))  # NaN differs from itself, and nothing else does
    return apart


def _read(array: Array, parts: tuple[slice, ...]) -> NDArray[Any] | ZarrscopeError:
    try:
        return array._stored.read(select(parts, array.shape))
    except ZarrscopeError as error:
        return error


def _block(left: Array, right: Array, max_bytes: int = BLOCK_BYTES) -> tuple[int, ...]:
    """The shape of a block: whole chunks of both sides where memory allows, and more of them along the last axes."""
    shape = left.shape
    block = [max(1, min(n, max(a, b))) for n, a, b in zip(shape, left.chunks, right.chunks, strict=True)]
    size = max(1, left.dtype.itemsize)
    for axis in reversed(range(len(shape))):
        more = max_bytes // max(1, prod(block) * size)
        if more < 2:
            break
        block[axis] = max(1, min(shape[axis], block[axis] * more))
    return tuple(block)


def _corners(shape: tuple[int, ...], block: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yields the first index of each block, in C order. A generator, because a list of all blocks may not fit in
    memory."""
    if not shape:
        yield ()
        return
    for at in range(0, shape[0], block[0]):
        for rest in _corners(shape[1:], block[1:]):
            yield at, *rest


def _canonical(array: Array) -> dict[str, Any]:
    metadata = array.metadata
    names = metadata.dimension_names
    return {
        "shape": list(metadata.shape),
        "data type": str(metadata.dtype),
        "chunk grid": _grid(metadata.grid),
        "dimension names": None if names is None or not any(names) else list(names),
    }


def _grid(grid: ChunkGrid) -> list[Any]:
    axes = getattr(grid, "axes", None)
    return list(grid.chunk_shape) if axes is None else [a if isinstance(a, int) else [list(r) for r in a] for a in axes]


def _exact(array: Array) -> object:
    value = array.fill_value
    if isinstance(value, np.generic | np.ndarray):
        return "NaN" if value.dtype.kind in "fc" and bool(np.all(np.isnan(value))) else value.tobytes()
    return value


def _form(codec: CodecSpec) -> dict[str, Any]:
    return {"name": codec.name, "configuration": dict(codec.configuration)}


def _problem(error: object) -> object:
    return f"{error.title}: {error.message}" if isinstance(error, ZarrscopeError) else ABSENT


def _json(path: str, what: str, pointer: str, left: object, right: object) -> Iterator[NodeDifference]:
    """Yields a difference for each innermost place at which two JSON values differ."""
    pending = [(pointer, left, right)]
    while pending:
        pointer, left, right = pending.pop()
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            names = [*left, *(name for name in right if name not in left)]
            pairs = [(pointer_of([name]), left.get(name, ABSENT), right.get(name, ABSENT)) for name in sorted(names)]
        elif isinstance(left, list) and isinstance(right, list):
            longer = range(max(len(left), len(right)))
            pairs = [
                (f"/{i}", left[i] if i < len(left) else ABSENT, right[i] if i < len(right) else ABSENT) for i in longer
            ]
        else:
            if not _same(left, right):
                yield NodeDifference(path, what, left, right, pointer)
            continue
        pending += [(pointer + token, a, b) for token, a, b in reversed(pairs)]


def _same(left: object, right: object) -> bool:
    if isinstance(left, bool) is not isinstance(right, bool):
        return False
    return bool(left is right or left == right or (left != left and right != right))
