"""Zstandard (RFC 8878): frames one after the other, each with or without its content size (spec F.6).

Specification: https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/zstd (RFC 8878)

    {"data_type": "uint16", "codecs": [
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "zstd", "configuration": {"level": 3, "checksum": true}}]}

libzstd decodes in one call into memory of exactly the chunk's size (czstd.py); zstandard decodes if libzstd is not
available. Three properties of zstandard need care: its stream reader ends without an error where a frame is cut off,
even within the checksum; its one-shot calls return only the first of several frames; and it trusts the content size
that a frame states.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from zarrscope.codecs import czstd
from zarrscope.codecs.codec import Buffer, BytesSpec, BytesToBytes, Octets, codec
from zarrscope.codecs.native import library, needed
from zarrscope.codecs.settings import CodecSettings
from zarrscope.model.buffers import Arena, RangeReadable
from zarrscope.runtime.named_tuple import NamedTuple

if TYPE_CHECKING:
    from ctypes import CDLL
    from types import ModuleType

    from zstandard import ZstdCompressor, ZstdDecompressionReader, ZstdDecompressor

MAGIC = b"\x28\xb5\x2f\xfd"
LARGEST_BLOCK = 128 * 1024


class ZstdFrame(NamedTuple):
    """One frame: its place in the data, its content size if the frame states it, and an upper limit of that size."""

    start: int
    stop: int
    size: int | None
    max_size: int
    window: int | None
    """The byte that states the window size in a header without a content size (see `_beginning`); None if the frame
    needs a dictionary."""
    blocks: tuple[int, ...]
    """The offset of each block in the data."""


def frames(data: Buffer) -> Iterator[ZstdFrame]:
    """The frames in the data, without skippable ones. Raises ValueError when a frame is truncated or invalid."""
    start = 0
    while start < len(data):
        magic = bytes(data[start : start + 4])
        if len(magic) == 4 and magic[1:] == b"\x2a\x4d\x18" and magic[0] >> 4 == 5:
            start += 8 + _number(data, start + 4, 4)
            if start > len(data):
                raise ValueError("a skippable frame is cut off")
            continue
        if magic != MAGIC:
            raise ValueError(f"no frame begins at byte {start:,}")
        frame = _frame(data, start)
        yield frame
        start = frame.stop


def _frame(data: Buffer, start: int) -> ZstdFrame:
    descriptor = _number(data, start + 4, 1)
    single = descriptor >> 5 & 1
    width = (single, 2, 4, 8)[descriptor >> 6]
    at = start + 5 + (1 - single) + (0, 1, 2, 4)[descriptor & 3]
    size = _number(data, at, width) + (256 if width == 2 else 0) if width else None
    window = None if descriptor & 3 else (max(0, (size or 0) - 1).bit_length() - 10) << 3 if single else data[start + 5]
    at += width
    max_size, last, blocks = 0, False, []
    while not last:
        blocks.append(at)
        header = _number(data, at, 3)
        last, kind, length = bool(header & 1), header >> 1 & 3, header >> 3
        at += 3 + (1 if kind == 1 else length)
        max_size += LARGEST_BLOCK if kind == 2 else length
    at += 4 if descriptor & 4 else 0
    if at > len(data):
        raise ValueError("the frame is cut off")
    if size is not None and size > max_size:
        raise ValueError(f"the frame states {size:,} bytes, but its blocks hold at most {max_size:,}")
    return ZstdFrame(start, at, size, max_size if size is None else size, window, tuple(blocks))


def _beginning(data: Buffer, frame: ZstdFrame, count: int) -> bytes:
    """A frame, without a content size, of the first `count` blocks of `frame`, which must have more blocks."""
    first, last, stop = frame.blocks[0], frame.blocks[count - 1], frame.blocks[count]
    header = bytes((*MAGIC, 0, max(0, frame.window or 0)))
    return b"".join((header, data[first:last], bytes((data[last] | 1,)), data[last + 1 : stop]))


def _size(data: Buffer) -> int | None:
    """The content size of the frame at the beginning of the data, if the frame states it and needs no dictionary."""
    if len(data) < 12 or data[:4] != MAGIC:
        return None
    descriptor = data[4]
    single = descriptor >> 5 & 1
    width = (single, 2, 4, 8)[descriptor >> 6]
    if not width or descriptor & 3:
        return None
    at = 6 - single
    return int.from_bytes(data[at : at + width], "little") + 256 * (width == 2)


def _joined(chunks: Sequence[Buffer], arena: Arena) -> Buffer:
    whole, at = arena.take(sum(map(len, chunks))), 0
    for data in chunks:
        whole[at : (at := at + len(data))] = data
    return whole


def _number(data: Buffer, start: int, width: int) -> int:
    if start + width > len(data):
        raise ValueError("the frame is cut off")
    return int.from_bytes(data[start : start + width], "little")


_local = threading.local()


@codec("zstd")
class Zstd(BytesToBytes):
    """Zstandard compression. Level 0 is the library's default, 3."""

    accepts_views = True

    def __init__(self, settings: CodecSettings, decoded: BytesSpec) -> None:
        super().__init__(settings, decoded)
        self.level = settings.integer("level", default=0, low=-(1 << 17), high=22)
        self.checksum = self.checksummed = settings.boolean("checksum", default=False)

    def _expand_into(self, data: Buffer, out: Octets) -> None:
        functions = czstd.functions()
        if functions is not None:
            self.check_size(self._decoded(functions, data, out), out.size)
            return
        zstandard = needed("zstandard")
        if _size(data) == out.size and _decoded_each(zstandard, (data,), out):
            return
        try:
            for _ in frames(data):
                pass  # visits every frame, because the stream reader accepts a frame whose checksum is cut off
        except ValueError as error:
            raise self.damaged(error) from None
        try:
            with _decompressor(zstandard).stream_reader(data, read_across_frames=True, closefd=False) as reader:
                self.check_size(_fill(reader, out), out.size)
                if reader.read(1):
                    raise self.too_long(out.size)
        except zstandard.ZstdError as error:
            raise self.damaged(error) from None

    def _decoded(self, functions: CDLL, data: Buffer, out: Octets) -> int:
        """Decodes into `out` and returns the number of bytes."""
        try:
            return czstd.decompress(functions, data, out)
        except czstd.ZstdFailure as error:
            raise (self.too_long(out.size) if error.too_long else self.damaged(error)) from None

    def supports_partial(self, start: int, stop: int) -> bool:
        """Whether the wanted bytes end clearly before the last block: a block can only be decoded whole, and only after
        all blocks before it."""
        blocks = -(-stop // LARGEST_BLOCK) * LARGEST_BLOCK
        return 5 * blocks <= 4 * (self.decoded.size or 0)

    def decode_partial(self, source: RangeReadable, out: Octets, start: int) -> None:
        """Decodes only the blocks up to the last one that is needed, for example for one plane of a chunk of 64³
        (benchmark "XY plane, 64^3").

        The headers of the frames show whether the chunk is whole.
        """
        data, size = source.read(0, source.size), self.decoded.size or 0
        try:
            found = list(frames(data))
        except ValueError as error:
            raise self.damaged(error) from None
        functions, stop = czstd.functions(), start + out.size
        if len(found) != 1 or found[0].size is None or found[0].window is None:
            return super().decode_partial(source, out, start)
        self.check_size(found[0].size, size)
        if functions is None:
            return self._stream_partial(data, out, start)
        wanted = -(-stop // LARGEST_BLOCK)
        while wanted < len(found[0].blocks):
            beginning = np.empty(wanted * LARGEST_BLOCK, np.uint8)
            there = self._decoded(functions, _beginning(data, found[0], wanted), beginning)
            if there >= stop:
                out[:] = beginning[start:stop]
                return None
            wanted *= 2  # some blocks are smaller than the maximum, so more of them are decoded in the next round
        return super().decode_partial(source, out, start)

    def _stream_partial(self, data: Buffer, out: Octets, start: int) -> None:
        """Decodes the beginning of a whole frame by zstandard's stream reader."""
        zstandard, beginning = needed("zstandard"), np.empty(start + out.size, np.uint8)
        try:
            with _decompressor(zstandard).stream_reader(data, closefd=False) as reader:
                self.check_size(_fill(reader, beginning), beginning.size)
        except zstandard.ZstdError as error:
            raise self.damaged(error) from None
        out[:] = beginning[start:]

    def decode_many(self, chunks: Sequence[Buffer], out: Octets, arena: Arena) -> Octets:
        """Decodes many chunks in one call, so that threads do not wait for the GIL at each chunk (benchmark "tiny
        16^3"). If a chunk does not begin with a frame of the chunk's whole size, the chunks are decoded one by one.

        If all chunks begin so and fill `out` exactly, none was cut off: a cut frame would swallow the beginning of the
        next one, and the rest would not be a valid frame.
        """
        size, functions = out.size // len(chunks), czstd.functions()
        if not all(_size(data) == size for data in chunks):
            return super().decode_many(chunks, out, arena)
        joined = _joined(chunks, arena)
        if functions is None:
            if _decoded_at_once(joined, out) or _decoded_each(needed("zstandard"), chunks, out):
                return out
            return super().decode_many(chunks, out, arena)
        try:
            if czstd.decompress(functions, joined, out) == out.size:
                return out
        except czstd.ZstdFailure:
            pass
        return super().decode_many(chunks, out, arena)  # its error names the damaged chunk

    def _expand(self, data: Buffer, limit: int) -> Buffer:
        try:
            found = list(frames(data))
        except ValueError as error:
            raise self.damaged(error) from None
        if sum(frame.size or 0 for frame in found) > limit:
            raise self.too_long(limit)
        functions = czstd.functions()
        if functions is not None:
            out = np.empty(min(limit, sum(frame.max_size for frame in found)), np.uint8)
            return out[: self._decoded(functions, data, out)].data
        zstandard = needed("zstandard")
        parts, total = [], 0
        try:
            with _decompressor(zstandard).stream_reader(data, read_across_frames=True, closefd=False) as reader:
                while part := reader.read(min(limit + 1 - total, 1 << 20)):
                    parts.append(part)
                    total += len(part)
                    if total > limit:
                        raise self.too_long(limit)
        except zstandard.ZstdError as error:
            raise self.damaged(error) from None
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def encode(self, data: bytes) -> bytes:
        zstandard = library("zstandard")
        if zstandard is not None:
            return bytes(_compressor(zstandard, self.level or 3, self.checksum).compress(data))
        zstd = needed("numcodecs.zstd")
        return bytes(zstd.compress(data, self.level, self.checksum))


def _decoded_at_once(joined: Buffer, out: Octets) -> bool:
    """Decodes frames that follow each other into `out` by one call of numcodecs: 14 µs for a chunk of 16³, where
    `_decoded_each` takes 17. Returns False, with undefined content of `out`, if the frames do not fill `out` exactly.

    numcodecs does not return how many bytes it decodes into a buffer, but refuses with ValueError a buffer shorter
    than the sum of the content sizes. So the sum is the size of `out` if numcodecs refuses one byte less and accepts
    `out`.
    """
    zstd = library("numcodecs.zstd")
    if zstd is None:
        return False
    try:
        zstd.decompress(joined, out[:-1])
    except ValueError:
        try:
            zstd.decompress(joined, out)
        except (RuntimeError, ValueError):
            return False
        return True
    except RuntimeError:
        pass
    return False


def _decoded_each(zstandard: ModuleType, chunks: Sequence[Buffer], out: Octets) -> bool:
    """Decodes chunks of one frame each into `out`. Returns False, with undefined content of `out`, if a chunk is not
    one whole frame of the expected size."""
    decompressor, at = _decompressor(zstandard), 0
    size = out.size // len(chunks)
    try:
        for data in chunks:
            found = decompressor.decompress(data, allow_extra_data=False)
            if len(found) != size:
                return False
            out[at : at + size] = np.frombuffer(found, np.uint8)
            at += size
    except zstandard.ZstdError:
        return False
    return True


def _fill(reader: ZstdDecompressionReader, out: Octets) -> int:
    """Fills `out` from the reader and returns the number of bytes: fewer than its size only if the frames end."""
    done = int(reader.readinto(out))
    while 0 < done < out.size and (more := reader.readinto(out[done:])):
        done += more
    return done


def _decompressor(zstandard: ModuleType) -> ZstdDecompressor:
    """The decompressor of the current thread: making one takes longer than decoding a small chunk."""
    if getattr(_local, "zstd", None) is None:
        _local.zstd = zstandard.ZstdDecompressor()
    made: ZstdDecompressor = _local.zstd
    return made


def _compressor(zstandard: ModuleType, level: int, checksum: bool) -> ZstdCompressor:
    """The compressor of the current thread, with the settings that it used last."""
    kept = getattr(_local, "compressor", None)
    if kept is None or kept[:2] != (level, checksum):
        kept = _local.compressor = (level, checksum, zstandard.ZstdCompressor(level=level, write_checksum=checksum))
    made: ZstdCompressor = kept[2]
    return made
