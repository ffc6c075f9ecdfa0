"""An array as it is stored: fetches, decodes, encodes and writes its chunks.

array.Array is its public interface. The lower package chunkio and the packages view, check and convert use this class.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from math import prod
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.chunkio.locator import EncodedChunk, Fetched, Locator
from zarrscope.chunkio.read import read
from zarrscope.chunkio.write_watchers import ArrayIdentity, watchers
from zarrscope.errors import BadChunk, Conflict, NotFound, Refused, Unsupported, ZarrscopeError
from zarrscope.model.metadata import ArrayMetadata, ChunkKeys, CodecSpec, pointer_in_document
from zarrscope.model.plugins import transformed
from zarrscope.model.selection import ChunkIndex, Edges, Selection
from zarrscope.model.storage import Buffer, ByteRange, never
from zarrscope.runtime.interrupts import uninterrupted, uninterrupted_steps
from zarrscope.stores.store import Store

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zarrscope.chunkio.source import CountOfChunks
    from zarrscope.codecs import CodecPipeline
    from zarrscope.model.codec_table import CodecKind
    from zarrscope.model.dtype import Element
    from zarrscope.model.scattered import CoordinateSelection, OrthogonalSelection
    from zarrscope.nodes.context import NodeContext
    from zarrscope.nodes.opened import Opened


class StoredArray:
    """The store, the metadata and the codecs of one array; an ArraySource (chunkio/source.py)."""

    def __init__(
        self,
        store: Store,
        path: str,
        metadata: ArrayMetadata,
        *,
        warnings: tuple[str, ...] = (),
        context: NodeContext | None = None,
        opened: Opened | None = None,
    ) -> None:
        self.store: Store = transformed(store, metadata.transformers, metadata.keys.prefix)
        self.documents = store
        """The store of the documents; a storage transformer applies to chunks only."""
        self.opened = opened
        self.path = path
        self.warnings = warnings
        self.context = context
        """The hierarchy in which the array was opened, if there is one."""
        self.reshaping = threading.RLock()
        """Held while this object changes its shape, so that threads which append take turns."""
        self.set_metadata(metadata)

    def set_metadata(self, metadata: ArrayMetadata) -> None:
        """Goes on with these metadata, which the documents state by now."""
        self.metadata = metadata
        self._pipelines: dict[tuple[int, ...], CodecPipeline] = {}
        self._problem: ZarrscopeError | None = None
        self._locator: Locator | None = None
        self._identity: ArrayIdentity | None = None

    # ------------------------------------------------------------------ properties
    @property
    def shape(self) -> tuple[int, ...]:
        """The number of elements along each axis, in C order."""
        return self.metadata.shape

    @property
    def ndim(self) -> int:
        """The number of axes; 0 for an array of one element."""
        return len(self.metadata.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of decoded values, in native byte order. Raises Unsupported if zarrscope does not
        support the type."""
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
    def fill_value(self) -> Element:
        """The value of elements whose chunk is not stored: a numpy scalar, or str or bytes for types of varying
        length."""
        fill = self.metadata.fill
        if fill.value is None:
            return b"" if self.metadata.dtype.name in ("bytes", "variable_length_bytes") else ""
        return fill.value

    @property
    def problem(self) -> ZarrscopeError | None:
        """The reason why this array cannot be decoded; None if none is known. Reads nothing."""
        try:
            self.grid_chunk_pipeline(self.metadata.grid.chunk_shape)
        except ZarrscopeError:
            pass
        return self._problem

    def need_sound(self) -> None:
        """Raises the first defect of the documents, if they have one: the shape may then be a placeholder."""
        if self.metadata.defects:
            raise self.located(self.metadata.defects[0].error)

    def need_encoding(self) -> None:
        """Raises `problem`, or Unsupported for a codec that can only decode here. Called before a new array is made."""
        try:
            self.grid_chunk_pipeline(self.metadata.grid.chunk_shape).need_encoding()
        except ZarrscopeError as error:
            self.located(error)
            raise

    @property
    def identity(self) -> ArrayIdentity:
        """The key of the array's chunks in the cache of viewers; equal for other objects of the same array."""
        if self._identity is None:
            self._identity = ArrayIdentity(self.store.url, self.path, self.metadata, self.store.missing_is_fill)
        return self._identity

    def edges(self, axis: int) -> Edges:
        """The chunk edges along an axis: `chunk_of(position)`, `span(chunk)`. In a rectilinear grid chunks may differ
        in size from `chunks`."""
        return self.locator.edges(axis)

    @property
    def locator(self) -> Locator:
        """The locations of the chunks."""
        if self._locator is None:
            try:
                pipeline = self.grid_chunk_pipeline(self.metadata.grid.chunk_shape)
            except ZarrscopeError:
                pipeline = None
            self._locator = Locator(self.store, self.metadata, pipeline)
        return self._locator

    def grid_chunk_pipeline(self, shape: tuple[int, ...]) -> CodecPipeline:
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
                error.pointer = pointer_in_document(self.metadata.codecs, error.pointer)
                self._problem = self.located(error)
                raise
            self._pipelines[shape] = found
        return found

    def codecs_of_kind(self, kind: CodecKind) -> tuple[CodecSpec, ...]:
        """The codecs of this kind that a chunk is stored with; in a shard, those of an inner chunk."""
        from zarrscope.model.codec_table import kind_of

        inner = self.locator.pipeline if self.locator.tiers else None
        specs = inner.specs if inner is not None else self.metadata.codecs
        return tuple(spec for spec in specs if kind_of(spec.name) == kind)

    def chunk_pipeline(self, shape: tuple[int, ...]) -> CodecPipeline:
        """The codecs of one chunk of this shape; in a shard, those of an inner chunk."""
        locator = self.locator
        return locator.pipeline if locator.tiers and locator.pipeline is not None else self.grid_chunk_pipeline(shape)

    def located(self, error: ZarrscopeError, key: str | None = None) -> ZarrscopeError:
        """Returns the error with the address of the store, and with `key` or, if that is None, the key of the array's
        document; its path if the document is not known."""
        if key is None:
            key = self.opened.keys[0] if self.opened and self.opened.keys else self.path.lstrip("/") or "/"
        return error.located(store=self.store.url, key=key)

    # ------------------------------------------------------------------ reading
    def read(self, selection: Selection, counted: CountOfChunks | None = None) -> NDArray[Any]:
        """The selected elements, in the shape `selection.extent`, which has all axes of the array. `counted` is called
        with the number of chunks that are not stored, and of all chunks that were read."""
        return read(self, selection, counted)

    def _with_chosen_keys(self, chunk: ChunkIndex, payload: EncodedChunk, used: ChunkKeys) -> EncodedChunk:
        """The encoded chunk; if `payload` is None, looked up under the other key encodings that are possible.

        Writers used several encodings for the same metadata; the first chunk found decides for the whole array.
        """
        if payload is not None:
            if self.metadata.alternative_keys and not isinstance(payload, ZarrscopeError):
                self._use_keys(used)
            return payload
        if self.metadata.keys is used:
            index = self.locator.grid_index(chunk)
            for keys in self.metadata.alternative_keys:
                if self.store.get(keys.key(index), ByteRange(0, 1)) is not None:
                    self._use_keys(keys)
                    break
        if self.metadata.keys is not used:
            return next((found for _, found in self.locator.fetch([chunk])), None)
        return None

    def _use_keys(self, keys: ChunkKeys) -> None:
        identity = self.identity
        if keys is not self.metadata.keys:
            self.warnings += (f"Chunks are stored under keys like {keys.key((0,) * self.ndim)}",)
        self.set_metadata(replace(self.metadata, keys=keys, alternative_keys=()))
        self._identity = identity  # the same array with the same chunks, so caches stay valid

    def choose_keys(self, selection: Selection | OrthogonalSelection | CoordinateSelection) -> None:
        """Chooses the key encoding before writing, because a chunk stored by another encoding would hide the others."""
        if self.metadata.alternative_keys and selection.size:
            at = tuple(int(p[0]) for p in selection.positions)
            edges = [self.locator.edges(axis) for axis in range(self.ndim)]
            for chunk in {(0,) * self.ndim, tuple(e.chunk_of(i) for e, i in zip(edges, at, strict=True))}:
                for _ in self.fetch([chunk]):
                    pass

    def decode(self, chunk: ChunkIndex, data: Buffer, out: NDArray[Any] | None) -> NDArray[Any]:
        """Decodes `data` as a chunk of shape `locator.stored_chunk_shape(chunk)`, into `out` if given. Raises BadChunk,
        Unsupported, Refused."""
        shape = self.locator.stored_chunk_shape(chunk)
        self.check_size(shape)
        try:
            return self.chunk_pipeline(shape).decode(data, out)
        except BadChunk as error:
            failed = error
            if self.locator.tiers and self.store.remote and self.locator.forget(self.locator.key(chunk)):
                for _, payload in self.locator.fetch([chunk]):  # the cached shard index may have been outdated
                    if payload is None:
                        return np.full(shape, self.fill_value, self.dtype)
                    if not isinstance(payload, ZarrscopeError) and payload != data:
                        try:
                            return self.chunk_pipeline(shape).decode(payload, out)
                        except BadChunk as again:
                            failed = again
            raise self.failure(failed, chunk) from failed.__cause__
        except Exception as error:
            raise self.failure(error, chunk)  # noqa: B904 - the error caught, or a new one caused by it

    def failure(self, error: Exception, chunk: ChunkIndex) -> ZarrscopeError:
        """The error to raise for a chunk that cannot be read: `error` with its place, or a BadChunk caused by it; the
        error of `need_unchanged` if the chunk belongs to another array."""
        if not isinstance(error, ZarrscopeError):
            made = BadChunk(f"Its bytes cannot be decoded: {type(error).__name__}: {error}", index=chunk)
            made.__cause__ = error
            return self.failure(made, chunk)
        if isinstance(error, BadChunk):
            error.index = chunk if error.index is None else error.index
            if not error.message.startswith("Chunk "):
                if (replaced := self._replaced()) is not None:
                    return replaced
                error.message = f"Chunk {chunk}: {error.message}"
        return self.located(error, self.locator.key(chunk))

    def _replaced(self) -> ZarrscopeError | None:
        """The error that says that the array was erased or replaced; None if it was not, or if that cannot be known."""
        try:
            self.need_unchanged(writing=False)
        except (NotFound, Conflict) as error:
            return error
        except ZarrscopeError:
            return None
        return None

    def check_size(self, shape: tuple[int, ...]) -> None:
        """Refuses a chunk that is too large, before allocating memory for it (spec F.2)."""
        from zarrscope.codecs.limits import MAX_CHUNK_BYTES, how_to_allow

        size = prod(shape) * max(1, self.dtype.itemsize)
        if size > MAX_CHUNK_BYTES:
            raise self.located(
                Refused(
                    f"A chunk of shape {shape} decodes to {size / 2**30:,.1f} GiB, more than the limit of "
                    f"{MAX_CHUNK_BYTES / 2**30:g} GiB",
                    advice=how_to_allow(size),
                )
            )

    @uninterrupted_steps
    def fetch(
        self, chunks: Iterable[ChunkIndex], cancelled: Callable[[], bool] = never
    ) -> Iterator[tuple[ChunkIndex, EncodedChunk]]:
        """Yields (chunk, its encoded bytes, None or an error) in order of completion; ends early once `cancelled()`."""
        for arrived in self.fetch_together(chunks, cancelled):
            yield from arrived

    @uninterrupted_steps
    def fetch_together(
        self, chunks: Iterable[ChunkIndex], cancelled: Callable[[], bool] = never
    ) -> Iterator[Sequence[Fetched]]:
        """Like `fetch`, but yields the chunks that arrive together in one list."""
        keys = self.metadata.keys
        forgotten: set[str] = set()
        for arrived in self.locator.fetch_together(chunks, cancelled):
            sound: list[Fetched] = []
            for chunk, payload in arrived:
                payload = self._with_chosen_keys(chunk, payload, keys)
                if isinstance(payload, BadChunk) and self._is_stale(chunk, forgotten):
                    yield from self.locator.fetch_together([chunk], cancelled)
                else:
                    sound.append((chunk, payload))
            if sound:
                yield sound

    def _is_stale(self, chunk: ChunkIndex, forgotten: set[str]) -> bool:
        """Whether a chunk may have failed because a cached shard index is outdated. Drops that index, once."""
        if not self.store.remote:
            return False  # indexes of local shards are not cached
        key = self.locator.key(chunk)
        if key not in forgotten:
            if not self.locator.forget(key):
                return False
            forgotten.add(key)
        return True

    def decode_chunk(self, chunk: ChunkIndex, data: bytes | memoryview) -> NDArray[Any]:
        """Decodes one chunk, clipped to the array's edge; the result is read-only. Raises BadChunk, Unsupported,
        Refused."""
        values = self.decode(chunk, data, None)[self._clip(chunk)]
        if not values.flags.owndata and values.base is not None and values.nbytes * 2 < _base_bytes(values):
            values = values.copy()  # a small view would hold a large buffer in the cache
        elif values.flags.writeable:
            values = values.view()
        values.flags.writeable = False
        return values

    def clipped_chunk_shape(self, chunk: ChunkIndex) -> tuple[int, ...]:
        """The shape of one chunk, clipped to the array's edge."""
        edges = [self.locator.edges(axis).span(u) for axis, u in enumerate(chunk)]
        return tuple(max(0, min(high, n) - low) for (low, high), n in zip(edges, self.shape, strict=True))

    def _clip(self, chunk: ChunkIndex) -> tuple[slice, ...] | EllipsisType:
        return tuple(slice(0, n) for n in self.clipped_chunk_shape(chunk)) or ...

    @uninterrupted
    def read_chunk(self, index: ChunkIndex) -> NDArray[Any]:
        """The chunk at `index`, clipped to the array's edge; the fill value if it is not stored."""
        index = tuple(int(i) for i in index)
        if len(index) != self.ndim or any(not 0 <= i < n for i, n in zip(index, self.locator.grid_shape, strict=True)):
            raise IndexError(f"there is no chunk {index} in a grid of {self.locator.grid_shape}")
        self.grid_chunk_pipeline(self.metadata.grid.chunk_shape)
        for _, payload in self.fetch([index]):
            if isinstance(payload, ZarrscopeError):
                raise self.located(payload, self.locator.key(index))
            if payload is not None:
                return self.decode_chunk(index, payload)
        self.need_unchanged(writing=False)
        return np.full(self.clipped_chunk_shape(index), self.fill_value, self.dtype)

    # ------------------------------------------------------------------ writing
    @uninterrupted
    def write(self, selection: Selection | OrthogonalSelection | CoordinateSelection, values: ArrayLike) -> None:
        """Stores `values`, broadcast to the selection as numpy does."""
        from zarrscope.chunkio.write import write

        try:
            write(self, selection, values)
        finally:
            self.notify_written()

    @uninterrupted
    def resize(self, shape: int | Sequence[int]) -> None:
        """Changes the shape, and erases chunks outside it. See Array.resize."""
        try:
            new = tuple(map(operator.index, (shape,) if hasattr(shape, "__index__") else shape))
        except TypeError:
            raise TypeError(f"shape must hold a whole number for each axis, not {shape!r}") from None
        if len(new) != self.ndim:
            axes = "1 axis" if self.ndim == 1 else f"{self.ndim} axes"
            raise ValueError(f"the array has {axes}, and the shape {new} has {len(new)}")
        if any(not 0 <= n < 1 << 63 for n in new):
            raise ValueError(f"each length must be between 0 and 2**63 - 1, unlike one in {new}")
        with self.reshaping:
            self._resize(new)

    def _resize(self, shape: tuple[int, ...]) -> None:
        from zarrscope.chunkio.write import erase_outside, keys_outside
        from zarrscope.nodes.context import context_of
        from zarrscope.nodes.edit import resize

        context = self.context or context_of(self.store)
        context.need_writing(context.dialect.documents(self.path)[0])
        self.need_chunks_for(shape)
        # Without the claim, values that an append stores meanwhile would become visible; without the lock, the chunks
        # of a writer that enlarges the array would be erased.
        with self.claim(context), context.store.lock():
            outside = keys_outside(self, shape)  # before any change, because listing them may fail
            metadata = resize(context, self.path, self.metadata, shape)
            erase_outside(self, outside, lambda: resize(context, self.path, metadata, self.shape))
        self.set_metadata(metadata)
        self.notify_written()

    def need_chunks_for(self, shape: tuple[int, ...]) -> None:
        """Raises Refused if no chunks of this array can hold that shape."""
        for axis, (length, chunk) in enumerate(zip(shape, self.metadata.grid.chunk_shape, strict=True)):
            if length and not chunk:
                raise Refused(
                    f"The array cannot grow along axis {axis}: its chunks have the length 0 there",
                    store=self.store.url,
                    advice="Create another array, with chunks of at least 1.",
                )

    def claim(self, context: NodeContext) -> AbstractContextManager[bool]:
        """Excludes other writers that change the shape; gives False if the store cannot. See Backend._claim."""
        return self.documents._claim(context.dialect.documents(self.path, "array")[0])

    @property
    def writable(self) -> bool:
        """Whether the store, and the mode in which the hierarchy was opened, allow writing."""
        return self.store.writable and (self.context is None or self.context.writable)

    def need_writing(self) -> None:
        """Raises ReadOnly if writing is not allowed."""
        from zarrscope.nodes.edit import need_understanding_above

        key = self.metadata.keys.key((0,) * self.ndim)
        self.store._need_writing(key)
        if self.context is not None:
            self.context.need_writing(key)
            need_understanding_above(self.context, self.path)

    @uninterrupted
    def need_unchanged(self, *, writing: bool) -> None:
        """Raises NotFound or Conflict if the array was erased or replaced since it was opened (opened.py).

        An array without a hierarchy is not checked.
        """
        if self.opened is not None:
            self.opened.check(self.documents, self.shape, writing=writing)

    def notify_written(self) -> None:
        """Notifies caches that values changed."""
        self.locator.forget()
        for watcher in list(watchers):
            watcher.invalidate(self)


def _base_bytes(array: NDArray[Any]) -> int:
    base: Any = array
    while isinstance(getattr(base, "base", None), np.ndarray):
        base = base.base
    return int(getattr(base, "nbytes", 0))
