"""The directory of a zip archive: parses it, and writes it (PKWARE APPNOTE 6.3.10, sections 4.3.7 to 4.3.16).

It is found as other programs find it: by the last end record in the last 64 KiB. An end record that is cut off, or that
has no directory, is skipped, because an interrupted write leaves such records (writing.py). A local file is searched
further back, because an interrupted write may have left many bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from zarrscope.errors import Unreadable, Unsupported
from zarrscope.stores.zip.ranges import Ranges, exactly

LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
END64, LOCATOR = b"PK\x06\x06", b"PK\x06\x07"
CENTRAL_RECORD = struct.Struct("<4s6H3L5H2L")
LOCAL_RECORD = struct.Struct("<4s5H3L2H")
END_RECORD = struct.Struct("<4s4H2LH")
END64_RECORD = struct.Struct("<4sQ2H2L4Q")
LOCATOR_RECORD = struct.Struct("<4sLQL")
REACH = 0xFFFF + END_RECORD.size
"""The number of last bytes of a file in which the end record is searched."""
FURTHER = 1 << 28
"""The number of last bytes of a local file in which an end record is searched that is not in the last REACH bytes."""
MORE16, MORE32 = 0xFFFF, 0xFFFFFFFF
"""The values of fields of 16 and 32 bits whose number does not fit, and is stored in a field of 64 bits."""
IN_UTF8 = 0x800


class ArchiveMember(NamedTuple):
    """One entry. `offset`: the offset of its local header in the file; `record`: its record in the directory."""

    name: str
    raw_name: int
    method: int
    flags: int
    crc: int
    packed: int
    size: int
    extra: int
    offset: int
    record: bytes

    @property
    def likely_begin(self) -> int:
        """The offset of the entry's bytes if its local header is as long as the directory suggests."""
        return self.offset + LOCAL_RECORD.size + self.raw_name + self.extra


@dataclass(frozen=True)
class Directory:
    """The central directory of an archive.

    `start`: the offset of the directory in the file; `end`: the offset of its end record; `stop`: the end of the
    archive.

    `shift`: the number of bytes before the archive in its file, by which all its offsets are too small.
    """

    members: tuple[ArchiveMember, ...]
    comment: bytes
    start: int
    end: int
    stop: int
    shift: int
    data: bytes
    is_64: bool


EMPTY = Directory((), b"", 0, 0, 0, 0, b"", False)
"""The directory of an archive that does not exist yet."""


def parse(ranges: Ranges, *, further: bool = False) -> Directory:
    """The directory of an archive. `further`: searches the end record in the last FURTHER bytes. Raises Unreadable."""
    from_ = max(0, ranges.size - REACH)
    tail = exactly(ranges, from_, ranges.size - from_) if ranges.size else b""
    found = _last(ranges, tail, from_, nested=True)
    if found is None and further:
        floor = max(0, ranges.size - FURTHER)
        while found is None and from_ > floor:
            above, from_ = from_, max(floor, from_ - (1 << 22))
            piece = exactly(ranges, from_, min(ranges.size, above + REACH) - from_)
            found = _last(ranges, piece, from_, nested=False)
    if found is None:
        raise _damaged("it has no directory at its end")
    return found


def _last(ranges: Ranges, tail: bytes, from_: int, *, nested: bool) -> Directory | None:
    """The directory of the last usable end record in `tail`. `nested`: accepts one with bytes before the archive."""
    at = len(tail)
    while (at := tail.rfind(END, 0, at)) >= 0:
        found = _ended_at(ranges, tail, from_, at)
        if found is not None and (nested or not found.shift):
            return found
    return None


def _ended_at(ranges: Ranges, tail: bytes, from_: int, at: int) -> Directory | None:
    """The directory whose end record is at offset `at` of `tail`; None if there is no valid one."""
    if len(tail) - at < END_RECORD.size:
        return None
    _, disk, first_disk, _, _, size, offset, comment_size = END_RECORD.unpack_from(tail, at)
    end = before = from_ + at
    is_64 = False
    if before >= LOCATOR_RECORD.size + END64_RECORD.size:
        more = exactly(ranges, end - LOCATOR_RECORD.size - END64_RECORD.size, LOCATOR_RECORD.size + END64_RECORD.size)
        if more[END64_RECORD.size :][:4] == LOCATOR and more[:4] == END64:
            is_64 = True
            before = end - len(more)
            _, _, _, _, disk, first_disk, _, _, size, offset = END64_RECORD.unpack_from(more)
    start = before - size
    shift = start - offset
    if start < 0 or shift < 0:
        return None
    if disk or first_disk:
        raise Unsupported("The archive continues in other files", feature="zip in several parts", advice="Join them.")
    data = exactly(ranges, start, size) if size else b""
    comment = tail[at + END_RECORD.size :][:comment_size]
    members = _members(data, shift)
    if members is None:
        return None
    stop = end + END_RECORD.size + comment_size
    return Directory(members, comment, start, end, stop, shift, data, is_64)


def _members(data: bytes, shift: int) -> tuple[ArchiveMember, ...] | None:
    """The entries that the records in `data` describe; None if these are not records of a directory."""
    found = []
    at, size = 0, len(data)
    header, unpack = CENTRAL_RECORD.size, CENTRAL_RECORD.unpack_from
    while at < size:
        if at + header > size:
            return None
        (mark, _, _, flags, method, _, _, crc, packed, unpacked, named, extra, comment, _, _, _, offset) = unpack(
            data, at
        )
        stop = at + header + named + extra + comment
        if mark != CENTRAL or stop > size:
            return None
        raw = data[at + header : at + header + named]
        if MORE32 in (packed, unpacked, offset):
            numbers = _numbers(data[at + header + named : stop - comment])
            if numbers is None:
                return None
            try:
                unpacked = next(numbers) if unpacked == MORE32 else unpacked
                packed = next(numbers) if packed == MORE32 else packed
                offset = next(numbers) if offset == MORE32 else offset
            except StopIteration:
                return None
        try:
            name = raw.decode() if flags & IN_UTF8 or raw.isascii() else raw.decode("cp437")
        except UnicodeDecodeError:
            name = raw.decode("utf-8", "replace") + "\0"  # a NUL makes it no valid key, so it is listed as refused
        record = data[at:stop]
        found.append(ArchiveMember(name, named, method, flags, crc, packed, unpacked, extra, offset + shift, record))
        at = stop
    return tuple(found)


def _numbers(extra: bytes) -> Iterator[int] | None:
    """The 64-bit numbers in the extra field, for sizes and offsets that need more than 32 bits."""
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            count = min(size, len(extra) - at - 4) // 8
            return iter(struct.unpack_from(f"<{count}Q", extra, at + 4))
        at += 4 + size
    return None


def _damaged(why: str) -> Unreadable:
    return Unreadable(
        f"The archive is damaged: {why}",
        advice="Copy or download it again; a broken-off copy lacks the directory at its end.",
    )


# ---------------------------------------------------------------------- making
def end_records(count: int, size: int, start: int, comment: bytes, *, shift: int = 0, always_64: bool = False) -> bytes:
    """The records at the end of an archive, after a directory of `size` bytes at offset `start` of the file."""
    offset = start - shift
    more = b""
    if always_64 or count >= MORE16 or size >= MORE32 or offset >= MORE32:
        more = END64_RECORD.pack(END64, END64_RECORD.size - 12, 45, 45, 0, 0, count, count, size, offset)
        more += LOCATOR_RECORD.pack(LOCATOR, 0, offset + size, 1)
    few, small, near = min(count, MORE16), min(size, MORE32), min(offset, MORE32)
    return more + END_RECORD.pack(END, 0, 0, few, few, small, near, len(comment)) + comment
