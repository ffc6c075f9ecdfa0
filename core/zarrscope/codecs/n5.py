"""Codecs of N5: its blocks (spec A.10), which are a header and compressed big-endian elements, and Java's LZ4 format.

Specification: https://github.com/saalfeldlab/n5 (README, "File-system specification");
n5_default: https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/n5_default

    {"data_type": "uint16", "codecs": [
        {"name": "n5_default", "configuration": {"codecs": [
            {"name": "transpose", "configuration": {"order": [1, 0]}},
            {"name": "bytes", "configuration": {"endian": "big"}},
            {"name": "gzip", "configuration": {"level": 5}}]}}]}

A block is stored as

    uint16 mode · uint16 number of axes · uint32 size per axis, fastest first · payload

The N5 dialect uses `n5_block`: the array's axes are N5's reversed, so the payload is in C order. A block at the array's
border may be smaller than the chunk; the missing elements are 0. `n5_default` is the registered codec of v3, whose axes
stay in N5's order, so its configuration must contain the transpose.
"""

from __future__ import annotations

from math import prod

import numpy as np

from zarrscope.codecs.codec import ArraySpec, ArrayToBytes, Buffer, BytesSpec, BytesToBytes, Elements, codec
from zarrscope.codecs.native import library, needed
from zarrscope.codecs.pipeline import CodecPipeline
from zarrscope.codecs.settings import CodecSettings
from zarrscope.errors import BadChunk, Unsupported, ZarrscopeError
from zarrscope.model.metadata import CodecSpec, Configuration

BIG = CodecSpec("bytes", Configuration({"endian": "big"}))
MAX_SHAPES = 256


@codec("n5_block")
class N5Block(ArrayToBytes):
    """Stores a chunk as one N5 block. The configuration holds `codecs`: at most one bytes→bytes codec."""

    reversed_axes = False
    first = -1
    """The index of the big-endian `bytes` codec in `codecs`; −1 if it is not listed, but applied before the others."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        super().__init__(settings, decoded)
        if not 1 <= len(decoded.shape) < 1 << 16 or decoded.nbytes is None:
            raise settings.unfit("stores blocks of numbers with at least one axis")
        self.block = decoded.shape[::-1] if self.reversed_axes else decoded.shape
        self.specs = (BIG, *self._compression(settings))
        self.budget = settings.budget.deeper()
        try:
            self.whole = self._pipeline(self.block, "")
        except ZarrscopeError as error:
            number, slash, rest = (error.pointer or "").removeprefix("/").partition("/")
            at = f"/{int(number) + self.first}" if number.isdigit() else ""
            error.pointer = settings.pointer("codecs") + at + slash + rest
            raise
        self.pipelines: dict[tuple[int, ...], CodecPipeline] = {self.block: self.whole}
        self.encoded = BytesSpec(None, self.whole.encoded.limit + 8 + 4 * len(decoded.shape))
        self.checksummed = self.whole.checksummed

    def _compression(self, settings: CodecSettings) -> tuple[CodecSpec, ...]:
        return settings.codecs("codecs", default=[])

    def _pipeline(self, shape: tuple[int, ...], at: str = "/codecs") -> CodecPipeline:
        spec = ArraySpec(shape, self.decoded.dtype, self.decoded.fill)
        return CodecPipeline(self.specs, spec, at=at)

    def decode(self, data: Buffer, out: Elements | None) -> Elements:
        shape, start = self._header(data)
        if out is None:
            out = np.empty(self.decoded.shape, self.decoded.numpy)
        target = out.transpose() if self.reversed_axes else out
        pipeline = self.pipelines.get(shape)
        if pipeline is None:
            pipeline = self._pipeline(shape)
            if len(self.pipelines) < MAX_SHAPES:
                self.pipelines[shape] = pipeline
        if shape != self.block:
            target[...] = np.zeros((), target.dtype)
        pipeline.decode(memoryview(data)[start:], target[tuple(map(slice, shape))])
        return out

    def _header(self, data: Buffer) -> tuple[tuple[int, ...], int]:
        """Returns the block's shape in C order and the offset of its payload."""
        axes = len(self.block)
        if len(data) < 4 + 4 * axes:
            raise BadChunk(f"{self.name}: {len(data)} bytes cannot hold the header of a block", codec=self.name)
        mode, ndim = (int.from_bytes(data[at : at + 2], "big") for at in (0, 2))
        if mode not in (0, 1) or ndim != axes:
            raise BadChunk(
                f"{self.name}: the block has mode {mode} and {ndim} axes; only mode 0 or 1 and {axes} axes can be read",
                codec=self.name,
            )
        start = 4 + 4 * axes
        sizes = np.frombuffer(data[4:start], ">u4").tolist()
        shape = tuple(sizes[::-1])
        if any(size > most for size, most in zip(shape, self.block, strict=True)):
            raise BadChunk(f"{self.name}: the block has shape {shape}, but at most {self.block} fits", codec=self.name)
        if mode == 1:
            count = int.from_bytes(data[start : start + 4], "big")
            start += 4
            if count != prod(shape) or len(data) < start:
                raise BadChunk(f"{self.name}: the block states {count:,} elements for shape {shape}", codec=self.name)
        return shape, start

    def need_encoding(self) -> None:
        self.whole.need_encoding()

    def encode(self, array: Elements) -> bytes:
        target = array.transpose() if self.reversed_axes else array
        header = np.array([0, len(self.block)], ">u2").tobytes() + np.array(self.block[::-1], ">u4").tobytes()
        return header + self.whole.encode(target)


@codec("n5_default")
class N5Default(N5Block):
    """Stores a chunk as one N5 block. The configuration holds `codecs`: a transpose that reverses all axes, big-endian
    `bytes`, and at most one compression."""

    reversed_axes = True
    first = 1

    def _compression(self, settings: CodecSettings) -> tuple[CodecSpec, ...]:
        order, *rest = settings.codecs("codecs") or (CodecSpec(""),)
        axes = len(self.decoded.shape)
        if order.name != "transpose" or [*order.configuration.get("order", [])] != [*range(axes)][::-1]:
            raise settings.fault("codecs", "must begin with a transpose that reverses all axes")
        ordered = self.decoded.dtype.itemsize > 1
        if not rest or rest[0].name != "bytes" or (ordered and rest[0].configuration.get("endian") != "big"):
            raise settings.fault("codecs", "must have the codec 'bytes' with endian 'big' after the transpose")
        if len(rest) > 2:
            raise settings.fault("codecs", "may have one compression only")
        return tuple(rest[1:])


@codec("n5.lz4")
class JavaLz4(BytesToBytes):
    """The format of lz4-java's LZ4BlockOutputStream: blocks that begin with "LZ4Block", the method, two sizes and a
    checksum (xxHash32)."""

    magic = b"LZ4Block"
    head = 21

    def __init__(self, settings: CodecSettings, decoded: BytesSpec) -> None:
        super().__init__(settings, decoded)
        self.checksummed = library("xxhash") is not None

    def _expand(self, data: Buffer, limit: int) -> Buffer:
        parts: list[bytes] = []
        total = at = 0
        while True:
            head = bytes(data[at : at + self.head])
            if len(head) < self.head or head[:8] != self.magic:
                raise self.damaged(f"no block begins at byte {at:,}")
            method = head[8] & 0xF0
            stored, size, check = (int.from_bytes(head[i : i + 4], "little") for i in (9, 13, 17))
            at += self.head
            if size == 0:
                return b"".join(parts)
            body = bytes(data[at : at + stored])
            at += stored
            total += size
            if total > limit:
                raise self.too_long(limit)
            if len(body) != stored or method not in (0x10, 0x20) or (method == 0x10 and size != stored):
                raise self.damaged("a block is cut off or of an unknown method")
            part = body if method == 0x10 else self._block(body, size)
            xxhash = library("xxhash")
            if xxhash is not None and xxhash.xxh32_intdigest(part, 0x9747B28C) & 0x0FFFFFFF != check:
                raise self.damaged("the checksum of a block does not match its bytes")
            parts.append(part)

    def _block(self, body: bytes, size: int) -> bytes:
        out = np.empty(size, np.uint8)
        try:
            needed("numcodecs.lz4").decompress(size.to_bytes(4, "little") + body, out)
        except Exception as error:
            raise self.damaged(error) from None
        return out.tobytes()

    def need_encoding(self) -> None:
        raise Unsupported(
            "N5's lz4 can only be read", feature="writing n5 lz4", advice="Choose another compression to write."
        )

    def encode(self, data: bytes) -> bytes:
        self.need_encoding()
        raise AssertionError
