"""Arrays: numpy basic indexing on what a store holds, reading and writing.

Reading `array[selection]` is uncached and blocks; it fetches only the units that the selection touches (locator.py),
many at once from a remote store, and decodes what is needed of them on all cores, the calling thread among them
(reading.py). Viewers go through chunks.ChunkLoader, which caches. What is not stored reads as the fill value.

Writing `array[selection] = values` stores whole chunks (whole shards), and parts of them without losing what others
wrote meanwhile (writing.py). Specification: v3 core "Chunk grids", "Stored representation".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from math import prod
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, Protocol
from weakref import WeakSet

import numpy as np

from zarrscope.errors import BadChunk, Refused, Unsupported, ZarrscopeError
from zarrscope.locator import Index, Locator, Payload
from zarrscope.metadata import ArrayMetadata, ChunkKeys, ExtensionReport
from zarrscope.plugins import transformed
from zarrscope.reading import read
from zarrscope.selection import Edges, Selection, select
from zarrscope.store import Buffer, ByteRange, Store, never

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zarrscope.codecs import CodecPipeline
    from zarrscope.hierarchy import Hierarchy


class Watcher(Protocol):
    """Told when an array's values were written here, so that caches let go of them."""

    def invalidate(self, array: Array) -> None: ...

    def forget_beneath(self, url: str, path: str) -> None:
        """The node at `path` of the store `url` was erased or moved, and all beneath it."""


watchers: WeakSet[Any] = WeakSet()
"""Every Watcher of this process."""


def forget_beneath(url: str, path: str) -> None:
    """Whoever remembers values of arrays at `path` or beneath it must look again: others may take their place."""
    for watcher in list(watchers):
        watcher.forget_beneath(url, path)


class Identity:
    """What two Array objects share that show the same chunks: store, path and metadata. Hashed once, compared fast."""

    __slots__ = ("_hash", "_parts")

    def __init__(self, *parts: object) -> None:
        self._parts = parts
        self._hash = hash(parts)

    def lies_beneath(self, url: str, path: str) -> bool:
        """Whether the array lies at `path` or beneath it."""
        return self._parts[0] == url and f"{self._parts[1]}/".startswith(f"{path.rstrip('/')}/")

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Identity) and self._hash == other._hash and self._parts == other._parts
        )


class Array:
    """An array node. `shape` in elements, axes in C order; see the module for reading and writing.

    An array that cannot be decoded here (`problem` says why) has its shape, metadata and attributes all the same.
    """

    kind: Literal["array"] = "array"

    def __init__(
        self,
        store: Store,
        path: str,
        metadata: ArrayMetadata,
        attributes: Mapping[str, Any] | None = None,
        *,
        warnings: tuple[str, ...] = (),
        hierarchy: Hierarchy | None = None,
    ) -> None:
        self.store = transformed(store, metadata.transformers, metadata.keys.prefix)
        self.path = path
        self.attributes: Mapping[str, Any] = attributes if attributes is not None else {}
        self.warnings = warnings
        self.hierarchy = hierarchy
        self._set_metadata(metadata)

    def _set_metadata(self, metadata: ArrayMetadata) -> None:
        self.metadata = metadata
        self._pipelines: dict[Index, CodecPipeline] = {}
        self._problem: ZarrscopeError | None = None
        self._locator: Locator | None = None
        self._identity: Identity | None = None

    # ------------------------------------------------------------------ what it is
    @property
    def name(self) -> str:
        """The last part of the path; "" for a root."""
        return self.path.rpartition("/")[2]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.metadata.shape

    @property
    def ndim(self) -> int:
        return len(self.metadata.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.metadata.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of decoded values, in native byte order. Raises Unsupported where there is none here."""
        dtype = self.metadata.dtype
        if dtype.numpy is None:
            raise self.located(
                Unsupported(
                    f"The data type {dtype.name} cannot be decoded here",
                    feature=f"data type {dtype.name}",
                    advice=dtype.advice or None,
                )
            )
        return dtype.numpy

    @property
    def nbytes(self) -> int:
        """The decoded size in bytes; for types of varying length that of the references. 0 where it is not known."""
        numpy = self.metadata.dtype.numpy
        return self.size * (numpy.itemsize if numpy is not None else self.metadata.dtype.itemsize)

    @property
    def fill_value(self) -> Any:
        """What is read where nothing is stored: a numpy scalar, or str or bytes for types of varying length."""
        fill = self.metadata.fill
        if fill.value is None:
            return b"" if self.metadata.dtype.name in ("bytes", "variable_length_bytes") else ""
        return fill.value

    @property
    def dimension_names(self) -> tuple[str | None, ...] | None:
        return self.metadata.dimension_names

    @property
    def chunks(self) -> tuple[int, ...]:
        """The shape of the unit of reading: the inner chunk of an addressable shard, else the grid's chunk."""
        return self.locator.unit_shape

    @property
    def shards(self) -> tuple[int, ...] | None:
        """The shape of a shard, or None where chunks are stored one by one."""
        return self.metadata.grid.chunk_shape if self.locator.tiers else None

    @property
    def chunk_grid_shape(self) -> tuple[int, ...]:
        """How many units of reading along each axis."""
        return self.locator.extent

    @property
    def problem(self) -> ZarrscopeError | None:
        """Why this array cannot be decoded, or None when nothing is known against it. Reads nothing."""
        try:
            self.pipeline_of(self.metadata.grid.chunk_shape)
        except ZarrscopeError:
            pass
        return self._problem

    @property
    def extensions(self) -> tuple[ExtensionReport, ...]:
        """What was found at every extension point, codecs among them, and what is done about each."""
        from zarrscope.codecs.lookup import codec_reports

        told = {report.name for report in self.metadata.extensions if report.point == "codec"}
        codecs = (report for report in codec_reports(self.metadata.codecs) if report.name not in told)
        return (*self.metadata.extensions, *codecs)

    @property
    def identity(self) -> Identity:
        if self._identity is None:
            self._identity = Identity(self.store.url, self.path, self.metadata)
        return self._identity

    def edges(self, axis: int) -> Edges:
        """Where the chunks of an axis begin and end: `chunk_of(position)`, `span(chunk)`. Not all are of `chunks`' size
        in a rectilinear grid."""
        return self.locator.edges(axis)

    @property
    def locator(self) -> Locator:
        """Where the units lie."""
        if self._locator is None:
            try:
                pipeline = self.pipeline_of(self.metadata.grid.chunk_shape)
            except ZarrscopeError:
                pipeline = None
            self._locator = Locator(self.store, self.metadata, pipeline)
        return self._locator

    def pipeline_of(self, shape: Index) -> CodecPipeline:
        """The codecs for a chunk of `shape`. Raises Unsupported, BadMetadata."""
        found = self._pipelines.get(shape)
        if found is None:
            if self._problem is not None:
                raise self._problem
            from zarrscope.codecs import ArraySpec, CodecPipeline

            try:
                if (problem := self.metadata.problem) is not None:
                    raise problem
                _ = self.dtype
                found = CodecPipeline(self.metadata.codecs, ArraySpec(shape, self.metadata.dtype, self.metadata.fill))
            except ZarrscopeError as error:
                self._problem = self.located(error)
                raise
            self._pipelines[shape] = found
        return found

    def unit_pipeline(self, shape: Index) -> CodecPipeline:
        locator = self.locator
        return locator.pipeline if locator.tiers and locator.pipeline is not None else self.pipeline_of(shape)

    def located(self, error: ZarrscopeError, key: str | None = None) -> ZarrscopeError:
        return error.located(store=self.store.url, key=key if key is not None else self.path.lstrip("/") or "/")

    # ------------------------------------------------------------------ reading
    def __getitem__(self, index: object) -> Any:
        """Numpy basic indexing: an array, or a scalar where numpy gives one. Its axes lie in memory as in the chunks.

        Raises IndexError for a caller's mistake, Unsupported, BadChunk, Unreadable, Refused (too large to fit here).
        """
        selection = select(index, self.shape)
        out = self.read(selection).reshape(selection.shape)
        return out[()] if selection.scalar else out

    def read(self, selection: Selection) -> NDArray[Any]:
        """The selected elements in the shape of `selection.extent`: one axis per axis of the array."""
        return read(self, selection)

    def _settled(self, unit: Index, payload: Payload, used: ChunkKeys) -> Payload:
        """The payload once it is known under which of the offered keys this array's chunks are.

        Where writers used several for the same metadata, the first chunk found decides for the whole array.
        """
        if payload is not None:
            if self.metadata.alternative_keys and not isinstance(payload, ZarrscopeError):
                self._use_keys(used)
            return payload
        if self.metadata.keys is used:
            chunk = self.locator.chunk_of(unit)
            for keys in self.metadata.alternative_keys:
                if self.store.get(keys.key(chunk), ByteRange(0, 1)) is not None:
                    self._use_keys(keys)
                    break
        if self.metadata.keys is not used:
            return next((found for _, found in self.locator.fetch([unit])), None)
        return None

    def _use_keys(self, keys: ChunkKeys) -> None:
        identity = self.identity
        if keys is not self.metadata.keys:
            self.warnings += (f"Chunks are stored under keys like {keys.key((0,) * self.ndim)}",)
        self._set_metadata(replace(self.metadata, keys=keys, alternative_keys=()))
        self._identity = identity  # the same chunks, for whoever cached them

    def settle_keys(self, selection: Selection) -> None:
        """Before writing: a chunk written under other keys than those that are there would hide them."""
        if self.metadata.alternative_keys and selection.size:
            at = tuple(p[0] for p in selection.positions)
            edges = [self.locator.edges(axis) for axis in range(self.ndim)]
            for unit in {(0,) * self.ndim, tuple(e.chunk_of(i) for e, i in zip(edges, at, strict=True))}:
                for _ in self.fetch([unit]):
                    pass

    def decode(self, unit: Index, data: Buffer, out: NDArray[Any] | None) -> NDArray[Any]:
        """One unit of `locator.shape_of(unit)`; in `out` when given. Raises BadChunk, Unsupported, Refused."""
        shape = self.locator.shape_of(unit)
        self.check_size(shape)
        try:
            return self.unit_pipeline(shape).decode(data, out)
        except BadChunk as error:
            if self.locator.tiers and self.store.remote and self.locator.forget(self.locator.key(unit)):
                for _, payload in self.locator.fetch([unit]):  # the remembered shard index was out of date
                    if payload is None:
                        return np.full(shape, self.fill_value, self.dtype)
                    if not isinstance(payload, ZarrscopeError):
                        return self.decode(unit, payload, out)
            raise self.failure(error, unit) from error.__cause__
        except Exception as error:
            raise self.failure(error, unit)  # noqa: B904 - it is that error, or has it as its cause

    def failure(self, error: Exception, unit: Index) -> ZarrscopeError:
        """What to raise where reading a unit met `error`: it with its place, or a BadChunk that has it as its cause."""
        if not isinstance(error, ZarrscopeError):
            made = BadChunk(f"Its bytes cannot be decoded: {type(error).__name__}: {error}", index=unit)
            made.__cause__ = error
            return self.failure(made, unit)
        if isinstance(error, BadChunk):
            error.index = unit if error.index is None else error.index
            if not error.message.startswith("Chunk "):
                error.message = f"Chunk {unit}: {error.message}"
        return self.located(error, self.locator.key(unit))

    def check_size(self, shape: Index) -> None:
        """Refuses what is too large before its memory is asked for (spec F.2)."""
        from zarrscope.codecs.kinds import MAX_CHUNK_BYTES

        size = prod(shape) * max(1, self.dtype.itemsize)
        if size > MAX_CHUNK_BYTES:
            raise self.located(
                Refused(
                    f"A chunk of shape {shape} decodes to {size / 2**30:,.1f} GiB, more than the limit of "
                    f"{MAX_CHUNK_BYTES / 2**30:g} GiB",
                    advice="If that is intended, raise zarrscope.codecs.kinds.MAX_CHUNK_BYTES.",
                )
            )

    # ------------------------------------------------------------------ units, for the loader
    def fetch(self, units: Iterable[Index], cancelled: Callable[[], bool] = never) -> Iterator[tuple[Index, Payload]]:
        """(unit, encoded bytes | None | error), in order of completion; ends early once `cancelled()`."""
        keys = self.metadata.keys
        for unit, payload in self.locator.fetch(units, cancelled):
            payload = self._settled(unit, payload, keys)
            if isinstance(payload, BadChunk) and self.locator.forget(self.locator.key(unit)):
                yield from self.locator.fetch([unit], cancelled)  # the remembered shard index was out of date
            else:
                yield unit, payload

    def decode_unit(self, unit: Index, data: bytes | memoryview) -> NDArray[Any]:
        """One unit decoded, clipped to the array's edge, read-only. Raises BadChunk, Unsupported, Refused."""
        chunk = self.decode(unit, data, None)[self._clip(unit)]
        if not chunk.flags.owndata and chunk.base is not None and chunk.nbytes * 2 < _base_bytes(chunk):
            chunk = chunk.copy()  # a small view would hold a large buffer in the cache
        elif chunk.flags.writeable:
            chunk = chunk.view()
        chunk.flags.writeable = False
        return chunk

    def unit_shape(self, unit: Index) -> tuple[int, ...]:
        """The shape of one unit, clipped to the array's edge."""
        edges = [self.locator.edges(axis).span(u) for axis, u in enumerate(unit)]
        return tuple(max(0, min(high, n) - low) for (low, high), n in zip(edges, self.shape, strict=True))

    def _clip(self, unit: Index) -> tuple[slice, ...] | EllipsisType:
        return tuple(slice(0, n) for n in self.unit_shape(unit)) or ...

    def read_chunk(self, index: Index) -> NDArray[Any]:
        """The unit at `index`, clipped to the array's edge; the fill value where nothing is stored."""
        index = tuple(int(i) for i in index)
        if len(index) != self.ndim or any(not 0 <= i < n for i, n in zip(index, self.chunk_grid_shape, strict=True)):
            raise IndexError(f"there is no chunk {index} in a grid of {self.chunk_grid_shape}")
        self.pipeline_of(self.metadata.grid.chunk_shape)
        for _, payload in self.fetch([index]):
            if isinstance(payload, ZarrscopeError):
                raise self.located(payload, self.locator.key(index))
            if payload is not None:
                return self.decode_unit(index, payload)
        return np.full(self.unit_shape(index), self.fill_value, self.dtype)

    # ------------------------------------------------------------------ writing
    def __setitem__(self, index: object, values: ArrayLike) -> None:
        """Stores `values`, broadcast as numpy does. Raises ReadOnly, Unsupported, Conflict, Unreadable."""
        from zarrscope.writing import write

        try:
            write(self, select(index, self.shape), values)
        finally:
            self._written()

    @property
    def writable(self) -> bool:
        """Whether the store and the mode it was opened in allow writing."""
        return self.store.writable and (self.hierarchy is None or self.hierarchy.writable)

    def need_writing(self) -> None:
        """Raises ReadOnly where nothing may be written."""
        from zarrscope.editing import need_understanding_above

        key = self.metadata.keys.key((0,) * self.ndim)
        self.store._need_writing(key)
        if self.hierarchy is not None:
            self.hierarchy.need_writing(key)
            need_understanding_above(self.hierarchy, self.path)

    def resize(self, shape: tuple[int, ...]) -> None:
        """Changes the extent; chunks wholly outside are erased, after the metadata says so. Raises as `save` does.

        A chunk that lies partly outside keeps what it holds there, and shows it again should the array grow back.
        """
        from zarrscope.opening import reopened
        from zarrscope.writing import erase_outside

        new = tuple(int(n) for n in shape)
        if len(new) != self.ndim or any(n < 0 for n in new):
            raise IndexError(f"an array of {self.ndim} axes cannot take the shape {new}")
        hierarchy = self.hierarchy or reopened(self.store)
        hierarchy.need_writing(hierarchy.dialect.documents(self.path)[0])
        with hierarchy.store.turn():  # who grew it back meanwhile would write chunks that are then erased
            metadata = hierarchy.resize(self.path, self.metadata, new)
            erase_outside(self, new)
        self._set_metadata(metadata)
        self._written()

    def _written(self) -> None:
        """The values changed: whoever remembers any must look again."""
        self.locator.forget()
        for watcher in list(watchers):
            watcher.invalidate(self)

    # ------------------------------------------------------------------ being an object
    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self[...], dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self.store.url, self.writable, self.path, self.metadata, dict(self.attributes))

    def __repr__(self) -> str:
        return f"<Array {self.path} {self.shape} {self.metadata.dtype.name} in {self.store.url}>"

    def _repr_html_(self) -> str:
        """For notebooks: bounded, and made of what is at hand."""
        from zarrscope import html

        return html.of(self)


def _reopened(url: str, writable: bool, path: str, metadata: ArrayMetadata, attributes: Mapping[str, Any]) -> Array:
    from zarrscope.background import keep_to_worker
    from zarrscope.stores.address import open_store

    keep_to_worker()
    return Array(open_store(url, "r+" if writable else "r"), path, metadata, attributes)


def _base_bytes(array: NDArray[Any]) -> int:
    base: Any = array
    while isinstance(getattr(base, "base", None), np.ndarray):
        base = base.base
    return int(getattr(base, "nbytes", 0))
