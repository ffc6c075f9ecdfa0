"""A list of codecs made ready for the chunks of one array (v3 core "Codecs"; table F of the spec for its limits).

Everything that can be known without data is settled when the pipeline is made: names, configurations, the order of
kinds, the representation after each codec. Decoding then only decodes. A pipeline is immutable and serves any thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
)
from zarrscope.codecs.lookup import resolve
from zarrscope.codecs.settings import Budget, Settings
from zarrscope.errors import BadChunk, BadMetadata, Unsupported, ZarrscopeError
from zarrscope.metadata import CodecSpec, Configuration

if TYPE_CHECKING:
    from zarrscope.codecs.sharding import Shard

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
        self.encoded: BytesSpec = here
        alone = not self._arrays and not self._bytes
        self.shard: Shard | None = getattr(serializer, "shard", None) if alone else None

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
        except BadChunk as error:
            error.codec = error.codec or at.name
            raise
        except ZarrscopeError:
            raise
        except MemoryError as error:
            raise BadChunk(f"{at.name}: not enough memory to decode this chunk", codec=at.name) from error
        except Exception as error:
            raise BadChunk(f"{at.name} cannot decode this chunk: {error}", codec=at.name) from error
        if out is None:
            return array
        out[...] = array
        return out

    def _straight(self, data: Buffer, codec: BytesToBytes, out: Elements | None) -> Elements:
        """Decompresses right into the elements' memory."""
        spec = self._serializer.decoded
        target = out if out is not None and out.flags.c_contiguous else np.empty(spec.shape, spec.numpy)
        codec.decode_into(data, target.reshape(-1).view(np.uint8))
        self._serializer.settle(target)
        if out is not None and target is not out:
            out[...] = target
        return target

    def _check_size(self) -> None:
        size = self.spec.nbytes if self.spec.nbytes is not None else self.spec.count * 8
        if size > limits.MAX_CHUNK_BYTES:
            raise BadChunk(
                f"A chunk of this array decodes to {size:,} bytes; the limit is {limits.MAX_CHUNK_BYTES:,}",
                advice="Read it by smaller pieces, or raise zarrscope.codecs.kinds.MAX_CHUNK_BYTES.",
            )

    # ------------------------------------------------------------------ encoding
    def encode(self, array: Elements) -> bytes:
        """The bytes to store. `array` has the chunk's shape; its values are cast to the array's data type."""
        return bytes(self.lend(array))

    def lend(self, array: Elements) -> Buffer:
        """As `encode`; where nothing has to be done to them the bytes are the memory of `array` itself, so they are to
        be used before that changes."""
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
        for codec in self._bytes:
            data = codec.encode(data)
        return data  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<CodecPipeline {' '.join(codec.name for codec in self.codecs)}>"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.specs, self.spec)


def _rebuild(specs: tuple[CodecSpec, ...], spec: ArraySpec) -> CodecPipeline:
    return CodecPipeline(specs, spec, implicit=True)
