"""A list of codecs made ready for the chunks of one array (v3 core "Codecs"; table F of the spec for its limits).

Everything that can be known without data is settled when the pipeline is made: names, configurations, the order of
kinds, the representation after each codec. Decoding then only decodes. A pipeline is immutable and serves any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import zarrscope.codecs.kinds as limits
from zarrscope.codecs.kinds import (
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
from zarrscope.codecs.lookup import resolve
from zarrscope.codecs.settings import Budget, Settings
from zarrscope.errors import BadChunk, BadMetadata, Unsupported, ZarrscopeError
from zarrscope.metadata import CodecSpec, Configuration
from zarrscope.reader import Held, Room, Source

if TYPE_CHECKING:
    from zarrscope.codecs.sharding import Shard


class Window(NamedTuple):
    """The bytes of a chunk that a selection needs, decoded by themselves: the elements of `shape`, and what is taken.

    `shape` and `take` are in the order of axes in which the elements are stored.
    """

    start: int
    stop: int
    shape: tuple[int, ...]
    take: tuple[slice, ...]
    size: int


TINY_BYTES = 32 * 1024
"""Chunks that decode to no more than this are tiny."""
PLAIN = CodecSpec("bytes", Configuration({"endian": "little"}))


class CodecPipeline:
    """`spec` decoded, `encoded` stored; `shard` set when inner chunks can be read by their byte ranges.

    Raises BadMetadata or Unsupported with a pointer that begins with `at` ("/codecs/1/configuration/level").
    `implicit`: a list without an array→bytes codec means little-endian bytes (interim texts, spec A.7).
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
        """Codecs that are unknown but need not be understood: left out on reading; writing is refused."""
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
                    "The codecs lack the one that makes bytes of the elements, such as 'bytes'"
                    + (f" (unknown and left out: {', '.join(self.skipped)})" if self.skipped else ""),
                    pointer=at,
                )
            (plain,) = self._make(PLAIN, here, budget, False)
            assert isinstance(plain, ArrayToBytes)
            serializer, here = plain, plain.encoded
        self._serializer = serializer
        order = self._order()
        self.axes = None if order is None or order == tuple(range(len(order))) else order
        """The axes in the order in which they are stored, slowest first; None where that is C order, or none at all."""
        self._unturned = None if order is None else tuple(1 + order.index(axis) for axis in range(len(order)))
        """Where each axis is in many stored chunks, one behind the other."""
        self.encoded: BytesSpec = here
        alone = not self._arrays and not self._bytes
        self.shard: Shard | None = getattr(serializer, "shard", None) if alone else None

    def _order(self) -> tuple[int, ...] | None:
        """The axes of the elements in the order in which they are stored; None where codecs do more than turn them."""
        order: tuple[slice, ...] | None = tuple(slice(axis, axis + 1, 1) for axis in range(len(self.spec.shape)))
        for step in self._arrays:
            order = step.follow(order) if order is not None else None
        return None if order is None else tuple(part.start for part in order)

    def _make(self, item: CodecSpec, here: ArraySpec | BytesSpec, budget: Budget, implicit: bool) -> list[Codec]:
        """The codec for this place; before it the implicit serialisation where the text allows that."""
        try:
            chosen = resolve(item.name)
        except Unsupported:
            if item.must_understand:
                raise
            self.skipped += (item.name,)
            return []
        settings = Settings(item.name, item.configuration, budget)
        if issubclass(chosen, BytesToBytes):
            before: list[Codec] = []
            if isinstance(here, ArraySpec):
                if not implicit:
                    raise BadMetadata(
                        f"The codec {item.name!r} works on bytes, but no codec before it makes bytes", pointer=""
                    )
                before = self._make(PLAIN, here, budget, False)
                made = before[0].encoded
                assert isinstance(made, BytesSpec)
                here = made
            return [*before, self._complete(chosen(settings, here), settings)]
        if isinstance(here, BytesSpec):
            raise BadMetadata(
                f"The codec {item.name!r} works on elements, but a codec before it made bytes", pointer=""
            )
        return [self._complete(chosen(settings, here), settings)]

    def _complete(self, made: Codec, settings: Settings) -> Codec:
        """Refuses settings that the codec does not know, or its bytes might be read as what they are not.

        Not those of numcodecs and its kin, whose writers leave all sorts of settings there that only encoding needs.
        """
        unread = settings.unread()
        if unread and "." not in made.name and not made.name.startswith("imagecodecs_"):
            raise settings.unsupported(unread[0], f"the setting {unread[0]!r}", "Another reader may know it.")
        return made

    @property
    def codecs(self) -> tuple[Codec, ...]:
        """All codecs in the order of encoding."""
        return (*self._arrays, self._serializer, *self._bytes)

    # ------------------------------------------------------------------ decoding
    def decode(self, data: Buffer, out: Elements | None = None) -> Elements:
        """The chunk's elements, of `spec.shape` and `dtype`; in `out` (any strides) when given, which is returned.

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
                    array = self._straight(data, at, inner)
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
            raise _blamed(error, at)  # noqa: B904 - it is that error, or has it as its cause
        if out is None:
            return array
        out[...] = array
        return out

    def laid_out(self, memory: Octets) -> Elements:
        """A chunk in `memory`, its axes in the order of the stored ones, so that `decode` fills it without a copy."""
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

    def _straight(self, data: Buffer, codec: BytesToBytes, out: Elements | None) -> Elements:
        """Decompresses right into the elements' memory."""
        spec = self._serializer.decoded
        target = out if out is not None and out.flags.c_contiguous else np.empty(spec.shape, spec.numpy)
        codec.decode_into(data, target.reshape(-1).view(np.uint8))
        self._serializer.settle(target)
        if out is not None and target is not out:
            out[...] = target
        return target

    # ------------------------------------------------------------------ decoding a part, and many
    def window(self, selection: tuple[slice, ...]) -> Window | None:
        """What to decode for `selection` of a chunk; None where decoding all of it is as quick, or the only way.

        Elements stored as they are need no decoding: all of them are a window, too.
        """
        if not self._serializer.plain or not selection:
            return None
        followed: tuple[slice, ...] | None = selection
        for step in self._arrays:
            followed = step.follow(followed) if followed is not None else None
        if followed is None:
            return None
        spec = self._serializer.decoded
        shape, axis, row = spec.shape, 0, 0
        low, high = _span(followed[0])
        while high - low == 1 and axis + 1 < len(shape):
            row = row * shape[axis] + low
            axis += 1
            low, high = _span(followed[axis])
        length = prod(shape[axis + 1 :]) * self.dtype.itemsize
        start = (row * shape[axis] + low) * length
        size = (high - low) * length
        if self._bytes and (not self._bytes[0].decoded.size or not self._bytes[0].pays(start, start + size)):
            return None
        take = (*(slice(0, 1),) * axis, _shifted(followed[axis], low), *followed[axis + 1 :])
        return Window(start, start + size, ((1,) * axis + (high - low, *shape[axis + 1 :])), take, size)

    def decode_window(self, source: Source, window: Window, out: Octets) -> Elements:
        """The elements that the window takes, in memory of `out`, which is `window.size` long, or of the source.

        Raises BadChunk as `decode` does, for damage that lies in what is decoded, and wherever the chunk was cut.
        """
        self._check_size()
        at: Codec = self._serializer
        try:
            for at in reversed(self._bytes[1:]):
                source = Held(at.decode(source.read(0, source.size)))
            if self._bytes:
                at = self._bytes[0]
                at.part(source, out, window.start)
            else:
                self._serializer.check_length(source.size)
                found = source.read(window.start, window.stop)
                if len(found) != window.size:
                    self._serializer.check_length(window.start + len(found))
                out = np.frombuffer(found, np.uint8)
            at = self._serializer
            array = self._settled(out.view(self._serializer.decoded.numpy).reshape(window.shape))[window.take]
            for at in reversed(self._arrays):
                array = at.decode(array)
        except Exception as error:
            raise _blamed(error, at)  # noqa: B904 - it is that error, or has it as its cause
        return array

    @property
    def copies(self) -> bool:
        """Whether elements are stored as they are: decoding copies, and only the window that is asked for."""
        return self._serializer.plain and not self._bytes

    @property
    def quick(self) -> bool:
        """Whether decoding takes little longer than copying."""
        return self._serializer.plain and len(self._bytes) == 1 and self._bytes[0].quick

    @property
    def batches(self) -> bool:
        """Whether there is `decode_batch`, and the chunks are tiny: it is worth while for these."""
        if self._unturned is None or not self._serializer.plain or not self._bytes:
            return False
        return 0 < (self._bytes[0].decoded.size or 0) <= TINY_BYTES

    @property
    def cuts(self) -> bool:
        """Whether there are `cut` and `decode_cuts`."""
        return self._unturned is not None and self._serializer.plain and len(self._bytes) == 1 and self._bytes[0].cuts

    def decode_batch(self, chunks: Sequence[Buffer], out: Octets, room: Room) -> Elements:
        """Many chunks at once, where `batches`: an array of one axis more, in memory of `out`, or of the codec.

        `room`: where they were read to, if anywhere. Raises BadChunk.
        """
        self._check_size()
        at: Codec = self._serializer
        try:
            for at in reversed(self._bytes[1:]):
                chunks = [at.decode(data) for data in chunks]
            at = self._bytes[0]
            decoded = at.batch(chunks, out, room)
            at = self._serializer
            stored = self._serializer.decoded
            array = decoded.view(stored.numpy).reshape(len(chunks), *stored.shape)
            self._serializer.settle(array)
        except Exception as error:
            raise _blamed(error, at)  # noqa: B904 - it is that error, or has it as its cause
        return array.transpose(0, *self._unturned) if self.axes is not None and self._unturned else array

    def cut(self, source: Source, window: Window) -> Any:
        """What `decode_cuts` needs of a chunk for the window, where `cuts`; None: all of it. Raises BadChunk."""
        try:
            return self._bytes[0].cut(source, window.start, window.stop)
        except Exception as error:
            raise _blamed(error, self._bytes[0])  # noqa: B904 - it is that error, or has it as its cause

    def decode_cuts(self, cuts: Sequence[Any], window: Window, memory: Callable[[int], Octets], room: Room) -> Elements:
        """What the window takes of many chunks: an array of one axis more. `memory(size)` may be of any content.

        Raises BadChunk.
        """
        self._check_size()
        at: Codec = self._bytes[0]
        first, n, size = cuts[0], len(cuts), window.size
        try:
            if self._bytes[0].alike(cuts):
                decoded = memory(n * first.size)
                self._bytes[0].join(cuts, decoded, room)
                out = decoded.reshape(n, first.size)[:, window.start - first.start :][:, :size]
            else:
                out = np.empty((n, size), np.uint8)
                for i, cut in enumerate(cuts):
                    decoded = memory(cut.size)
                    self._bytes[0].join([cut], decoded, room)
                    out[i] = decoded[window.start - cut.start :][:size]
            at = self._serializer
            if self._serializer.settles:
                out = np.ascontiguousarray(out)
            array = self._settled(out.view(self._serializer.decoded.numpy).reshape(n, *window.shape))
        except Exception as error:
            raise _blamed(error, at)  # noqa: B904 - it is that error, or has it as its cause
        array = array[(slice(None), *window.take)]
        return array.transpose(0, *self._unturned) if self.axes is not None and self._unturned else array

    def _settled(self, array: Elements) -> Elements:
        if self._serializer.settles:
            if not array.flags.writeable:
                array = array.copy()
            self._serializer.settle(array)
        return array

    def _check_size(self) -> None:
        size = self._nbytes
        if size > limits.MAX_CHUNK_BYTES:
            raise BadChunk(
                f"A chunk of this array decodes to {size:,} bytes; the limit is {limits.MAX_CHUNK_BYTES:,}",
                advice="Read it by smaller pieces, or raise zarrscope.codecs.kinds.MAX_CHUNK_BYTES.",
            )

    # ------------------------------------------------------------------ encoding
    def encode(self, array: Elements) -> bytes:
        """The bytes to store. `array` has the chunk's shape; its values are cast to the array's data type."""
        return bytes(self.lend(array))

    def lend(self, array: Elements, room: Room | None = None) -> Buffer:
        """As `encode`; where nothing has to be done to them the bytes are the memory of `array` itself, so they are to
        be used before that changes. They may lie in `room` as well."""
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
        lends = not self._bytes or self._bytes[0].takes_views
        data: Any = self._serializer.lend(array) if lends else self._serializer.encode(array)
        for i, codec in enumerate(self._bytes):
            views = all(after.takes_views for after in self._bytes[i + 1 : i + 2])
            if room is None or not views or codec.most(len(data)) is None:
                data = codec.encode(data)
            else:
                (data,) = _encoded(codec, np.frombuffer(data, np.uint8).reshape(1, -1), (0,), room)
        return data  # type: ignore[no-any-return]

    def lend_each(self, chunks: Elements, which: Sequence[int], room: Room) -> list[Buffer]:
        """As `lend` for those asked for of many chunks, along the first axis of contiguous elements, with fewer turns
        of Python's lock. What it gives is in `room`, or nobody else's."""
        if len(self._bytes) == 1 and chunks.dtype == self.dtype and not self._arrays and not self.skipped and which:
            (codec,) = self._bytes
            if self._serializer.lends and codec.most(0) is not None:
                return _encoded(codec, chunks.reshape(len(chunks), -1).view(np.uint8), which, room)
        lent = (self.lend(chunks[i], room) for i in which)
        return [data if room.offset(data) is not None else bytes(data) for data in lent]

    def __repr__(self) -> str:
        return f"<CodecPipeline {' '.join(codec.name for codec in self.codecs)}>"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.specs, self.spec)


def _encoded(codec: BytesToBytes, chunks: Octets, which: Sequence[int], room: Room) -> list[Buffer]:
    """What the codec makes of each in `room`."""
    most = (codec.most(chunks.shape[1]) or 0) * len(which)
    piece, start = room.take(most), 0
    made: list[Buffer] = []
    for size in codec.encode_each(chunks, which, piece):
        made.append(piece[start : start + size])
        start += size
    room.leave(most - start)
    return made


def _blamed(error: Exception, codec: Codec) -> ZarrscopeError:
    """Any failure of decoding as a BadChunk that names the codec; those of the library otherwise as they are."""
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


def _span(part: slice) -> tuple[int, int]:
    """The first index that a slice of a Part takes, and the one behind the last, whatever its direction."""
    start, step = part.start, part.step
    stop = -1 if part.stop is None else part.stop
    last = start + (stop - start - (1 if step > 0 else -1)) // step * step
    return (start, last + 1) if step > 0 else (last, start + 1)


def _shifted(part: slice, by: int) -> slice:
    stop = None if part.stop is None or part.stop < by else part.stop - by
    return slice(part.start - by, stop, part.step)


def _rebuild(specs: tuple[CodecSpec, ...], spec: ArraySpec) -> CodecPipeline:
    return CodecPipeline(specs, spec, implicit=True)
