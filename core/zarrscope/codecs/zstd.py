"""Zstandard (RFC 8878): frames one after the other, each with or without its content size (spec F.6).

Traps this file is written around: a stream reader ends in silence where a frame is cut off, one-shot calls return only
the first of several frames, and a frame may announce any size. So the frames are walked by their block headers, which
cost nothing next to decoding, wherever the size to expect is not known beforehand.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zarrscope.codecs.kinds import Buffer, BytesSpec, BytesToBytes, Octets, codec
from zarrscope.codecs.libraries import library, needed
from zarrscope.codecs.settings import Settings
from zarrscope.reader import Source

MAGIC = b"\x28\xb5\x2f\xfd"
LARGEST_BLOCK = 128 * 1024


@dataclass(frozen=True)
class Frame:
    """One frame: its place in the data, its content size where it says so, and a size that it cannot pass."""

    start: int
    stop: int
    size: int | None
    most: int


def frames(data: Buffer) -> Iterator[Frame]:
    """The frames of the data, skippable ones left out. Raises ValueError where they are cut off or are none."""
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


def _frame(data: Buffer, start: int) -> Frame:
    descriptor = _number(data, start + 4, 1)
    single = descriptor >> 5 & 1
    width = (single, 2, 4, 8)[descriptor >> 6]
    at = start + 5 + (1 - single) + (0, 1, 2, 4)[descriptor & 3]
    size = _number(data, at, width) + (256 if width == 2 else 0) if width else None
    at += width
    most, last = 0, False
    while not last:
        header = _number(data, at, 3)
        last, kind, length = bool(header & 1), header >> 1 & 3, header >> 3
        at += 3 + (1 if kind == 1 else length)
        most += LARGEST_BLOCK if kind == 2 else length
    at += 4 if descriptor & 4 else 0
    if at > len(data):
        raise ValueError("the frame is cut off")
    if size is not None and size > most:
        raise ValueError(f"the frame announces {size:,} bytes, its blocks hold at most {most:,}")
    return Frame(start, at, size, most if size is None else size)


def _is_one_block(data: Buffer, size: int) -> bool:
    """Whether the data is one frame of one block and nothing else, and announces `size` bytes: the usual tiny chunk."""
    if len(data) < 12 or data[:4] != MAGIC:
        return False
    descriptor = data[4]
    single = descriptor >> 5 & 1
    width = (single, 2, 4, 8)[descriptor >> 6]
    at = 6 - single + width
    if not width or descriptor & 3 or int.from_bytes(data[at - width : at], "little") != size - 256 * (width == 2):
        return False
    header = int.from_bytes(data[at : at + 3], "little")
    stored = 1 if header >> 1 & 3 == 1 else header >> 3
    return bool(header & 1) and at + 3 + stored + (descriptor & 4) == len(data)


def _number(data: Buffer, start: int, width: int) -> int:
    if start + width > len(data):
        raise ValueError("the frame is cut off")
    return int.from_bytes(data[start : start + width], "little")


_local = threading.local()


@codec("zstd", v3="numcodecs.zstd", v2="zstd", draft="zstd", n5="zstd", needs=("zstandard", "numcodecs"))
class Zstd(BytesToBytes):
    """Level 0 is the library's default, 3."""

    takes_views = True

    def __init__(self, settings: Settings, decoded: BytesSpec) -> None:
        super().__init__(settings, decoded)
        self.level = settings.integer("level", default=0, low=-(1 << 17), high=22)
        self.checksum = settings.boolean("checksum", default=False)

    def _expand_into(self, data: Buffer, out: Octets) -> None:
        zstandard = library("zstandard")
        if zstandard is None:
            return super()._expand_into(data, out)
        try:
            with _decompressor(zstandard).stream_reader(data, read_across_frames=True, closefd=False) as reader:
                self.check_size(_fill(reader, out), out.size)
                if reader.read(1):
                    raise self.too_long(out.size)
        except zstandard.ZstdError as error:
            raise self.damaged(error) from None
        return None

    def pays(self, start: int, stop: int) -> bool:
        """A block is decoded whole or not at all, and all before it with it."""
        blocks = -(-stop // LARGEST_BLOCK) * LARGEST_BLOCK
        return 5 * blocks <= 4 * (self.decoded.size or 0) and library("zstandard") is not None

    def part(self, source: Source, out: Octets, start: int) -> None:
        """One plane of a chunk of 64³ ("XY plane, 64^3"): only the blocks up to the last one that is needed.

        That the chunk is whole is known from the headers of its frames.
        """
        data, size = source.read(0, source.size), self.decoded.size or 0
        try:
            sizes = [frame.size for frame in frames(data)]
        except ValueError as error:
            raise self.damaged(error) from None
        zstandard = library("zstandard")
        if None in sizes or zstandard is None:
            return super().part(source, out, start)
        self.check_size(sum(known or 0 for known in sizes), size)
        skipped, done = np.empty(min(start, LARGEST_BLOCK), np.uint8), 0
        try:
            with _decompressor(zstandard).stream_reader(data, read_across_frames=True, closefd=False) as reader:
                while done < start and (found := _fill(reader, skipped[: start - done])):
                    done += found
                self.check_size(done + _fill(reader, out), start + out.size)
        except zstandard.ZstdError as error:
            raise self.damaged(error) from None
        return None

    def batch(self, chunks: Sequence[Buffer], out: Octets) -> Octets:
        """Full reads of 16³ chunks ("tiny 16^3"): one call for many, so that threads need not take turns for each.

        The call sees only the first frame of each chunk, so a chunk must be one frame and nothing else.
        """
        zstandard = library("zstandard")
        size = out.size // len(chunks)
        if zstandard is None or not all(_is_one_block(data, size) for data in chunks):
            return super().batch(chunks, out)
        sizes = np.full(len(chunks), size, np.uint64)
        try:
            found = _decompressor(zstandard).multi_decompress_to_buffer(chunks, decompressed_sizes=sizes)
            for i, part in enumerate(found):
                out[i * size : (i + 1) * size] = np.frombuffer(part, np.uint8)
        except (zstandard.ZstdError, ValueError):
            return super().batch(chunks, out)  # tells which one is damaged
        return out

    def _expand(self, data: Buffer, limit: int) -> Buffer:
        try:
            found = list(frames(data))
        except ValueError as error:
            raise self.damaged(error) from None
        if sum(frame.size or 0 for frame in found) > limit:
            raise self.too_long(limit)
        zstandard = library("zstandard")
        if zstandard is None:
            return self._with_numcodecs(data, found, limit)
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

    def _with_numcodecs(self, data: Buffer, found: list[Frame], limit: int) -> Buffer:
        zstd = needed("numcodecs.zstd")
        parts, total = [], 0
        for frame in found:
            if frame.size == 0:
                continue
            if total + frame.most > 2 * limit + LARGEST_BLOCK:
                raise self.too_long(limit)
            try:
                part = bytes(zstd.decompress(bytes(data[frame.start : frame.stop])))
            except Exception as error:
                raise self.damaged(error) from None
            parts.append(part)
            total += len(part)
            if total > limit:
                raise self.too_long(limit)
        return b"".join(parts)

    def encode(self, data: bytes) -> bytes:
        zstandard = library("zstandard")
        if zstandard is not None:
            return bytes(_compressor(zstandard, self.level or 3, self.checksum).compress(data))
        zstd = needed("numcodecs.zstd")
        return bytes(zstd.compress(data, self.level, self.checksum))


def _fill(reader: Any, out: Octets) -> int:
    """How many bytes of `out` the reader fills: fewer than there are only where the frames end."""
    done = int(reader.readinto(out))
    while 0 < done < out.size and (more := reader.readinto(out[done:])):
        done += more
    return done


def _decompressor(zstandard: Any) -> Any:
    """One per thread: making one costs more than decoding a small chunk."""
    if getattr(_local, "zstd", None) is None:
        _local.zstd = zstandard.ZstdDecompressor()
    return _local.zstd


def _compressor(zstandard: Any, level: int, checksum: bool) -> Any:
    """One per thread, of the settings last used there."""
    kept = getattr(_local, "compressor", None)
    if kept is None or kept[:2] != (level, checksum):
        made = zstandard.ZstdCompressor(level=level, write_checksum=checksum)
        kept = _local.compressor = (level, checksum, made)
    return kept[2]
