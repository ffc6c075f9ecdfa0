"""A codec pipeline: the list of codecs of one array, ready for its chunks (v3 core "Codecs"; limits: spec F).

Names, configurations, the order of kinds and the representation after each codec are checked when the pipeline is made,
so decoding need not check them. A pipeline is immutable and serves any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zarrscope.codecs import limits
from zarrscope.codecs.codec import (
    ArraySpec,
    ArrayToArray,
    ArrayToBytes,
    Buffer,
    BytesSpec,
    BytesToBytes,
    Codec,
    Elements,
    Octets,
)
from zarrscope.codecs.registry import resolve
from zarrscope.codecs.settings import Budget, CodecSettings
from zarrscope.codecs.window import DecodeWindow, window_of
from zarrscope.errors import BadChunk, BadMetadata, Unsupported, ZarrscopeError
from zarrscope.errors.visible import visible
from zarrscope.model.buffers import Arena, BytesSource, RangeReadable
from zarrscope.model.metadata import CodecSpec, Configuration
from zarrscope.runtime.tuning import TINY_BYTES

PLAIN = CodecSpec("bytes", Configuration({"endian": "little"}))


class CodecPipeline:
    """Decodes and encodes the chunks of one array by its list of codecs.

    `spec` describes a decoded chunk, `encoded` its stored form. `sharding.shard_of` tells whether the inner chunks of a
    shard can be read separately.

    Raises BadMetadata or Unsupported with a pointer that begins with `at` ("/codecs/1/configuration/level").
    `implicit`: a list without an array→bytes codec means little-endian bytes, as it did until July 2023 (spec A.7).
    """

    def __init__(
        self,
        specs: tuple[CodecSpec, ...],
        spec: ArraySpec,
        *,
        at: str = "/codecs",
        implicit: bool = False,
        budget: Budget | None = None,
    ) -> None:
        self.specs = specs
        self.spec = spec
        self.dtype = spec.numpy
        self._nbytes = spec.nbytes if spec.nbytes is not None else spec.count * 8
        self.skipped: tuple[str, ...] = ()
        """Unknown codecs that are stored with `"must_understand": false`. Reading skips them; writing is refused."""
        self._arrays: list[ArrayToArray] = []
        self._bytes: list[BytesToBytes] = []
        self._build(specs, at, implicit, budget or Budget())

    def _build(self, specs: tuple[CodecSpec, ...], at: str, implicit: bool, budget: Budget) -> None:
        try:
            budget.spend(len(specs))
        except BadMetadata as error:
            raise error.beneath(at) from None
        serializer: ArrayToBytes | None = None
        here: ArraySpec | BytesSpec = self.spec
        for i, item in enumerate(specs):
            try:
                made = self._make(item, here, budget, implicit)
            except ZarrscopeError as error:
                raise error.beneath(f"{at}/{i}") from None
            for codec in made:
                here = codec.encoded
                if isinstance(codec, ArrayToArray):
                    self._arrays.append(codec)
                elif isinstance(codec, ArrayToBytes):
                    serializer = codec
                else:
                    self._bytes.append(codec)
        if serializer is None or isinstance(here, ArraySpec):
            if not implicit or not isinstance(here, ArraySpec):
                raise BadMetadata(
                    "The codecs lack one that turns elements into bytes, such as 'bytes'"
                    + (f" (unknown and left out: {', '.join(self.skipped)})" if self.skipped else ""),
                    pointer=at,
                )
            (plain,) = self._make(PLAIN, here, budget, False)
            assert isinstance(plain, ArrayToBytes)
            serializer, here = plain, plain.encoded
        self._serializer = serializer
        order = self._order()
        self.axes = None if order is None or order == tuple(range(len(order))) else order
        """The axes in stored order, slowest first; None for C order, or if there is no such order."""
        self._batch_axes = None if order is None else tuple(1 + order.index(axis) for axis in range(len(order)))
        """The order of axes that converts a batch of stored chunks into a batch of decoded ones."""
        self.encoded: BytesSpec = here
        alone = not self._arrays and not self._bytes
        self.alone: ArrayToBytes | None = serializer if alone else None
        """The array→bytes codec, if the list contains no other codec."""

    @property
    def checksummed(self) -> bool:
        """Whether decoding a whole chunk compares its bytes, or those of its inner chunks, with a checksum."""
        return self._serializer.checksummed or any(codec.checksummed for codec in self._bytes)

    def need_encoding(self) -> None:
        """Raises Unsupported if a codec can only decode here."""
        codecs: tuple[Codec, ...] = (*self._arrays, self._serializer, *self._bytes)
        for codec in codecs:
            codec.need_encoding()

    def _order(self) -> tuple[int, ...] | None:
        """The axes in the order in which elements are stored; None where array→array codecs do more than transpose."""
        order: tuple[slice, ...] | None = tuple(slice(axis, axis + 1, 1) for axis in range(len(self.spec.shape)))
        for step in self._arrays:
            order = step.map_selection(order) if order is not None else None
        return None if order is None else tuple(part.start for part in order)

    def _make(self, item: CodecSpec, here: ArraySpec | BytesSpec, budget: Budget, implicit: bool) -> list[Codec]:
        """Makes one codec of the list, and before it the `bytes` codec if the list implies it."""
        try:
            chosen = resolve(item.name)
        except Unsupported:
            if item.must_understand:
                raise
            self.skipped += (item.name,)
            return []
        settings = CodecSettings(item.name, item.configuration, budget)
        if issubclass(chosen, BytesToBytes):
            before: list[Codec] = []
            if isinstance(here, ArraySpec):
                if not implicit:
                    raise BadMetadata(
                        f"The codec {item.name!r} takes bytes, but no codec before it gives bytes",
                        pointer="",
                    )
                before = self._make(PLAIN, here, budget, False)
                made = before[0].encoded
                assert isinstance(made, BytesSpec)
                here = made
            return [*before, self._complete(chosen(settings, here), settings)]
        if isinstance(here, BytesSpec):
            raise BadMetadata(
                f"The codec {item.name!r} takes array elements, but the codec before it gives bytes", pointer=""
            )
        return [self._complete(chosen(settings, here), settings)]

    def _complete(self, made: Codec, settings: CodecSettings) -> Codec:
        """Refuses settings that the codec does not know, because they may change the meaning of the bytes.

        Codecs of numcodecs are exempt: their writers store many settings that matter for encoding only.
        """
        unread = settings.unread()
        if unread and "." not in made.name and not made.name.startswith("imagecodecs_"):
            raise settings.unsupported(unread[0], f"the setting {unread[0]!r}")
        return made

    @property
    def codecs(self) -> tuple[Codec, ...]:
        """All codecs in the order of encoding."""
        return (*self._arrays, self._serializer, *self._bytes)

    # ------------------------------------------------------------------ decoding
    def decode(self, data: Buffer, out: Elements | None = None) -> Elements:
        """Decodes a chunk to elements of `spec.shape` and `dtype`. If `out` is given (with any strides), writes them
        into it and returns it.

        Raises BadChunk, with `codec` set to the one that failed. The content of `out` is then undefined.
        """
        if out is not None and (out.shape != self.spec.shape or out.dtype != self.dtype):
            raise ValueError(f"out is {out.dtype} {out.shape}, the chunk {self.dtype} {self.spec.shape}")
        self._check_size()
        at: Codec = self._serializer
        try:
            inner = out
            for step in self._arrays:
                inner = step.view(inner) if inner is not None else None
            for at in reversed(self._bytes[1:]):
                data = at.decode(data)
            array = None
            if self._bytes:
                at = self._bytes[0]
                if self._serializer.plain and at.decoded.size:
                    array = self._decode_in_place(data, at, inner)
                else:
                    data = at.decode(data)
            at = self._serializer
            if array is None:
                array = self._serializer.decode(data, inner)
            if inner is not None and out is not None:
                return out
            for at in reversed(self._arrays):
                array = at.decode(array)
                if array.shape != at.decoded.shape or array.dtype != at.decoded.numpy:
                    raise BadChunk(
                        f"{at.name} gave {array.dtype} {array.shape}, expected {at.decoded.numpy} {at.decoded.shape}",
                        codec=at.name,
                    )
        except Exception as error:
            raise _naming_codec(error, at)  # noqa: B904 - the error caught, or a new one caused by it
        if out is None:
            return array
        out[...] = array
        return out

    def decode_view(self, data: Buffer) -> Elements:
        """Returns the chunk's elements, read-only, as a view of `data` if they are stored uncompressed.

        Only for a pipeline without array→array codecs whose array→bytes codec needs no `fix_up`.
        """
        at: Codec = self._serializer
        try:
            for at in reversed(self._bytes):
                data = at.decode(data)
            at = self._serializer
            if self._serializer.plain and len(data) == self._serializer.encoded.size:
                return np.frombuffer(data, self.dtype).reshape(self.spec.shape)
            return self._serializer.decode(data, None)
        except Exception as error:
            raise _naming_codec(error, at)  # noqa: B904 - the error caught, or a new one caused by it

    def empty_chunk(self, memory: Octets) -> Elements:
        """Returns an array for a chunk in `memory`, with its axes in stored order, so that `decode` fills it without a
        copy."""
        spec, stored = self.spec, self._serializer.decoded
        inner: Elements | None = memory.view(self.dtype).reshape(spec.shape)
        for step in self._arrays:
            inner = step.view(inner) if inner is not None else None
        if inner is None or stored.numpy != self.dtype:
            return memory.view(self.dtype).reshape(spec.shape)
        array: Elements = memory.view(self.dtype).reshape(stored.shape)
        for at in reversed(self._arrays):
            array = at.decode(array)
        return array

    def _decode_in_place(self, data: Buffer, codec: BytesToBytes, out: Elements | None) -> Elements:
        """Decompresses directly into the memory of the elements."""
        spec = self._serializer.decoded
        target = out if out is not None and out.flags.c_contiguous else np.empty(spec.shape, spec.numpy)
        codec.decode_into(data, target.reshape(-1).view(np.uint8))
        self._serializer.fix_up(target)
        if out is not None and target is not out:
            out[...] = target
        return target

    # ------------------------------------------------------------------ decoding a part, and many
    def window(self, selection: tuple[slice, ...], covers: bool = False) -> DecodeWindow | None:
        """The part of a chunk to decode for `selection`; None if decoding the whole chunk is as fast or the only way.

        If the chunk is stored unencoded, the result may also be the whole chunk, because nothing has to be decoded.
        `covers`: whether the selection takes all elements of the chunk that lie in the array. Then a checksum at the
        end of the chunk is compared, so that a read of all elements finds all damage.
        """
        if not self._serializer.plain or not selection:
            return None
        followed: tuple[slice, ...] | None = selection
        for step in self._arrays:
            followed = step.map_selection(followed) if followed is not None else None
        if followed is None:
            return None
        window = window_of(followed, self._serializer.decoded.shape, self.dtype.itemsize)
        if not self._bytes:
            return window
        first = self._bytes[0]
        if not first.decoded.size or (covers and first.checksummed):
            return None
        return window if first.supports_partial(window.start, window.stop) else None

    def decode_window(self, source: RangeReadable, window: DecodeWindow, out: Octets) -> Elements:
        """Decodes the window of a chunk. If elements are stored unencoded, any part of the chunk can be a window.

        Raises BadChunk as `decode` does, if the decoded bytes are damaged or the chunk is truncated.
        """
        self._check_size()
        at: Codec = self._serializer
        try:
            for at in reversed(self._bytes[1:]):
                source = BytesSource(at.decode(source.read(0, source.size)))
            if self._bytes:
                at = self._bytes[0]
                at.decode_partial(source, out, window.start)
            else:
                self._serializer.check_length(source.size)
                found = source.read(window.start, window.stop)
                if len(found) != window.size:
                    self._serializer.check_length(window.start + len(found))
                out = np.frombuffer(found, np.uint8)
            at = self._serializer
            array = self._fixed_up(out.view(self._serializer.decoded.numpy).reshape(window.shape))[window.take]
            for at in reversed(self._arrays):
                array = at.decode(array)
        except Exception as error:
            raise _naming_codec(error, at)  # noqa: B904 - the error caught, or a new one caused by it
        return array

    @property
    def is_flat(self) -> bool:
        """Whether no codec moves or changes elements before they become bytes."""
        return not self._arrays and not self._serializer.needs_fix_up

    @property
    def copies_only(self) -> bool:
        """Whether elements are stored unencoded: decoding only copies the window that is asked for."""
        return self._serializer.plain and not self._bytes

    @property
    def fast(self) -> bool:
        """Whether decoding takes little longer than copying."""
        return self._serializer.plain and len(self._bytes) == 1 and self._bytes[0].fast

    @property
    def decodes_many(self) -> bool:
        """Whether the chunks are so small that `decode_many` is worth while, and the codecs allow it."""
        if self._batch_axes is None or not self._serializer.plain or not self._bytes:
            return False
        return 0 < (self._bytes[0].decoded.size or 0) <= TINY_BYTES

    @property
    def reads_blocks(self) -> bool:
        """Whether the codecs allow `read_blocks` and `decode_blocks`."""
        if self._batch_axes is None or not self._serializer.plain or len(self._bytes) != 1:
            return False
        return self._bytes[0].reads_blocks

    def decode_many(self, chunks: Sequence[Buffer], out: Octets, arena: Arena) -> Elements:
        """Decodes many chunks into one array, stacked along a new first axis, in memory of `out` or of the codec.

        Called only if `decodes_many`.

        `arena`: the memory that holds the encoded chunks, if any. Raises BadChunk.
        """
        self._check_size()
        at: Codec = self._serializer
        try:
            for at in reversed(self._bytes[1:]):
                chunks = [at.decode(data) for data in chunks]
            at = self._bytes[0]
            decoded = at.decode_many(chunks, out, arena)
            at = self._serializer
            stored = self._serializer.decoded
            array = decoded.view(stored.numpy).reshape(len(chunks), *stored.shape)
            self._serializer.fix_up(array)
        except Exception as error:
            raise _naming_codec(error, at)  # noqa: B904 - the error caught, or a new one caused by it
        return array.transpose(0, *self._batch_axes) if self.axes is not None and self._batch_axes else array

    def read_blocks(self, source: RangeReadable, window: DecodeWindow) -> object:
        """Reads the encoded blocks of a chunk that hold the window. Returns None if decoding the whole chunk is better.
        Called only if `reads_blocks`.

        Raises BadChunk.
        """
        try:
            return self._bytes[0].read_blocks(source, window.start, window.stop)
        except Exception as error:
            raise _naming_codec(error, self._bytes[0])  # noqa: B904 - the error caught, or a new one caused by it

    def decode_blocks(
        self, parts: Sequence[Any], window: DecodeWindow, memory: Callable[[int], Octets], arena: Arena
    ) -> Elements:
        """Decodes the same window of many chunks into one array, stacked along a new first axis. `parts` are results of
        `read_blocks`, one per chunk.

        `memory(size)` gives memory to decode into; its content does not matter. Raises BadChunk.
        """
        self._check_size()
        at: Codec = self._bytes[0]
        first, n, size = parts[0], len(parts), window.size
        try:
            if self._bytes[0].can_merge(parts):
                decoded = memory(n * first.size)
                self._bytes[0].decode_blocks(parts, decoded, arena)
                out = decoded.reshape(n, first.size)[:, window.start - first.start :][:, :size]
            else:
                out = np.empty((n, size), np.uint8)
                for i, part in enumerate(parts):
                    decoded = memory(part.size)
                    self._bytes[0].decode_blocks([part], decoded, arena)
                    out[i] = decoded[window.start - part.start :][:size]
            at = self._serializer
            if self._serializer.needs_fix_up:
                out = np.ascontiguousarray(out)
            array = self._fixed_up(out.view(self._serializer.decoded.numpy).reshape(n, *window.shape))
        except Exception as error:
            raise _naming_codec(error, at)  # noqa: B904 - the error caught, or a new one caused by it
        array = array[(slice(None), *window.take)]
        return array.transpose(0, *self._batch_axes) if self.axes is not None and self._batch_axes else array

    def _fixed_up(self, array: Elements) -> Elements:
        if self._serializer.needs_fix_up:
            if not array.flags.writeable:
                array = array.copy()
            self._serializer.fix_up(array)
        return array

    def _check_size(self) -> None:
        size = self._nbytes
        if size > limits.MAX_CHUNK_BYTES:
            raise BadChunk(
                f"A chunk of this array decodes to {size:,} bytes; the limit is {limits.MAX_CHUNK_BYTES:,}",
                advice=limits.how_to_allow(size),
            )

    # ------------------------------------------------------------------ encoding
    def encode(self, array: Elements) -> bytes:
        """The bytes to store. `array` has the chunk's shape; its values are cast to the array's data type."""
        return bytes(self.encode_view(array))

    def encode_view(self, array: Elements, arena: Arena | None = None) -> Buffer:
        """Returns the bytes to store. They may be a view of `array` or lie in `arena`: use them before these change."""
        if self.skipped:
            raise Unsupported(
                f"Chunks cannot be written: the codec {self.skipped[0]!r} is not known here",
                feature=f"codec {self.skipped[0]}",
            )
        array = np.asarray(array, dtype=self.dtype)
        if array.shape != self.spec.shape:
            raise ValueError(f"the elements have shape {array.shape}, the chunk {self.spec.shape}")
        for step in self._arrays:
            array = step.encode(array)
        lends = not self._bytes or self._bytes[0].accepts_views
        data: Buffer = self._serializer.encode_view(array) if lends else self._serializer.encode(array)
        for i, codec in enumerate(self._bytes):
            views = all(after.accepts_views for after in self._bytes[i + 1 : i + 2])
            if arena is None or not views or codec.max_encoded_size(len(data)) is None:
                data = codec.encode(data)  # type: ignore[arg-type]  # a view only for a codec that accepts views
            else:
                (data,) = _encoded(codec, np.frombuffer(data, np.uint8).reshape(1, -1), (0,), arena)
        return data

    def encode_many(self, chunks: Elements, which: Sequence[int], arena: Arena) -> list[Buffer]:
        """Encodes several chunks: those with the indices `which` along the first axis of `chunks` (contiguous).

        This takes the GIL less often than encoding one by one. Each result lies in `arena`, or is a copy.
        """
        if len(self._bytes) == 1 and chunks.dtype == self.dtype and not self._arrays and not self.skipped and which:
            (codec,) = self._bytes
            if self._serializer.encodes_views and codec.max_encoded_size(0) is not None:
                return _encoded(codec, chunks.reshape(len(chunks), -1).view(np.uint8), which, arena)
        lent = (self.encode_view(chunks[i], arena) for i in which)
        return [data if arena.offset(data) is not None else bytes(data) for data in lent]

    def __repr__(self) -> str:
        return visible(f"<CodecPipeline {' '.join(codec.name for codec in self.codecs)}>")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.specs, self.spec)


def _encoded(codec: BytesToBytes, chunks: Octets, which: Sequence[int], arena: Arena) -> list[Buffer]:
    """Encodes the chunks into `arena` and returns the bytes of each."""
    most = (codec.max_encoded_size(chunks.shape[1]) or 0) * len(which)
    piece, start = arena.take(most), 0
    made: list[Buffer] = []
    for size in codec.encode_many(chunks, which, piece):
        made.append(piece[start : start + size])
        start += size
    arena.leave(most - start)
    return made


def _naming_codec(error: Exception, codec: Codec) -> ZarrscopeError:
    """Turns a failure of decoding into a BadChunk that names the codec. Other errors of this package are unchanged."""
    if isinstance(error, BadChunk):
        error.codec = error.codec or codec.name
        return error
    if isinstance(error, ZarrscopeError):
        return error
    if isinstance(error, MemoryError):
        made = BadChunk(f"{codec.name}: not enough memory to decode this chunk", codec=codec.name)
    else:
        made = BadChunk(f"{codec.name} cannot decode this chunk: {error}", codec=codec.name)
    made.__cause__ = error
    return made


def _rebuild(specs: tuple[CodecSpec, ...], spec: ArraySpec) -> CodecPipeline:
    return CodecPipeline(specs, spec, implicit=True)
