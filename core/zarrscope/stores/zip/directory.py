"""Parses and writes the central directory of a zip archive (PKWARE APPNOTE 6.3.10, sections 4.3.7 to 4.3.16).

As in other programs, the last end record in the last 64 KiB of the file leads to the directory. An end record that is
cut off, or that has no directory before it, is skipped, because an interrupted write leaves such records (writing.py).
In a local file the search continues further back, because an interrupted write may have left many bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from zarrscope.errors import Unreadable, Unsupported
from zarrscope.runtime.tuning import ARCHIVE_DIRECTORY_BYTES
from zarrscope.stores.zip.ranges import Ranges, exactly

LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
END64, LOCATOR = b"PK\x06\x06", b"PK\x06\x07"
CENTRAL_RECORD = struct.Struct("<4s6H3L5H2L")
LOCAL_RECORD = struct.Struct("<4s5H3L2H")
END_RECORD = struct.Struct("<4s4H2LH")
END64_RECORD = struct.Struct("<4sQ2H2L4Q")
LOCATOR_RECORD = struct.Struct("<4sLQL")
REACH = 0xFFFF + END_RECORD.size
"""The number of bytes at the end of a file in which the end record is searched for."""
FURTHER = 1 << 28
"""The number of bytes at the end of a local file in which an end record is searched for, if the last REACH bytes
contain none."""
DIRECTORY_LIMIT = 1 << 29
"""The most bytes of a directory that are read: several million entries, which take gigabytes of memory."""
MOST_TRIED = 1 << 28
"""The number of bytes after which no further end record is tried: a hostile file may have thousands of false ones."""
MORE16, MORE32 = 0xFFFF, 0xFFFFFFFF
"""The value of a 16-bit or 32-bit field if its number does not fit: the number is then in a 64-bit field."""
IN_UTF8 = 0x800


class ArchiveMember(NamedTuple):
    """One entry of an archive. `packed`, `size`: its compressed and its decompressed size; `raw_name`, `extra`: the
    lengths of its name and its extra data in the directory, in bytes; `offset`: the offset of its local header in the
    file; `record`: its record in the directory."""

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
        """The offset of the entry's bytes if its local header has the same name and extra data as the directory."""
        return self.offset + LOCAL_RECORD.size + self.raw_name + self.extra


@dataclass(frozen=True)
class Directory:
    """The central directory of an archive.

    `start`: the offset of the directory in the file; `end`: the offset of its end record; `stop`: the end of the
    archive; `data`: the bytes of the directory; `is_64`: whether it has an end record of Zip64.

    `shift`: the number of other bytes before the archive in its file. All offsets that the archive states are too small
    by this number.
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
    """Finds and parses the directory of an archive. `further`: searches for its end record in the last FURTHER bytes.
    Raises Unreadable if there is none, Unsupported if the archive continues in other files."""
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
    """The directory of the last valid end record in `tail`, which begins at the offset `from_` of the file. `nested`:
    the archive may have other bytes before it in the file."""
    at, tried = len(tail), 0
    while (at := tail.rfind(END, 0, at)) >= 0 and tried < MOST_TRIED:
        stated = int.from_bytes(tail[at + 12 : at + 16], "little")
        tried += ARCHIVE_DIRECTORY_BYTES if ranges.remote else min(stated, ARCHIVE_DIRECTORY_BYTES)
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
        raise Unsupported(
            "The archive continues in other files",
            feature="zip in several parts",
            advice="Join the parts into one file.",
        )
    if shift and not size:
        return None  # an archive without entries behind other bytes: these are bytes of a comment, not an end record
    read = _read(ranges, start, size, shift)
    if read is None:
        return None
    members, data = read
    comment = tail[at + END_RECORD.size :][:comment_size]
    stop = end + END_RECORD.size + comment_size
    return Directory(members, comment, start, end, stop, shift, data, is_64)


def _read(ranges: Ranges, start: int, size: int, shift: int) -> tuple[tuple[ArchiveMember, ...], bytes] | None:
    """The entries of the directory of `size` bytes at `start`, and its bytes; None if these are not its records.

    An end record may state a false size, and be one of thousands in a comment. So a long directory is read in pieces,
    up to the first record that is none. Raises Unsupported for more than DIRECTORY_LIMIT bytes.
    """
    found: list[ArchiveMember] = []
    pieces: list[bytes] = []
    rest, done = b"", 0
    while done < size:
        more = ARCHIVE_DIRECTORY_BYTES if size > DIRECTORY_LIMIT else max(ARCHIVE_DIRECTORY_BYTES, done)
        length = min(size - done, more)
        pieces.append(exactly(ranges, start + done, length))
        done += length
        rest = rest + pieces[-1] if rest else pieces[-1]
        at = _members(rest, shift, found, last=done == size)
        if at is None:
            return None
        rest = rest[at:]
        if size > DIRECTORY_LIMIT:
            raise Unsupported(
                f"The directory of the archive has {size:,} bytes; at most {DIRECTORY_LIMIT:,} are read",
                feature="zip with a very long directory",
                advice="If the archive is genuine, unpack it, or put the chunks into shards, of which there are fewer.",
            )
    return tuple(found), pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _members(data: bytes, shift: int, found: list[ArchiveMember], *, last: bool) -> int | None:
    """Adds the entries of a piece `data` of a directory to `found`. Returns the number of bytes up to the end of its
    last whole record; None if these are not the records of a directory. `last`: the directory ends with this piece."""
    at, size = 0, len(data)
    header, unpack = CENTRAL_RECORD.size, CENTRAL_RECORD.unpack_from
    while at < size:
        if at + header > size:
            return None if last else at
        (mark, _, _, flags, method, _, _, crc, packed, unpacked, named, extra, comment, _, _, _, offset) = unpack(
            data, at
        )
        stop = at + header + named + extra + comment
        if mark != CENTRAL:
            return None
        if stop > size:
            return None if last else at
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
            name = raw.decode("utf-8", "replace") + "\0"  # a key with a NUL is not valid, so the name is refused
        record = data[at:stop]
        found.append(ArchiveMember(name, named, method, flags, crc, packed, unpacked, extra, offset + shift, record))
        at = stop
    return at


def _numbers(extra: bytes) -> Iterator[int] | None:
    """The 64-bit numbers in the extra data of an entry, for sizes and offsets that need more than 32 bits; None if it
    has no such field."""
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
        key="",  # no entry is at fault, so the key that was asked for is not added
        advice="Copy or download it again: an incomplete copy lacks the directory at its end.",
    )


# ---------------------------------------------------------------------- writing
def end_records(count: int, size: int, start: int, comment: bytes, *, shift: int = 0, always_64: bool = False) -> bytes:
    """The records at the end of an archive, which follow a directory of `count` entries and `size` bytes at the offset
    `start` of the file. `always_64`: a Zip64 end record is written even if it is not needed."""
    offset = start - shift
    more = b""
    if always_64 or count >= MORE16 or size >= MORE32 or offset >= MORE32:
        more = END64_RECORD.pack(END64, END64_RECORD.size - 12, 45, 45, 0, 0, count, count, size, offset)
        more += LOCATOR_RECORD.pack(LOCATOR, 0, offset + size, 1)
    few, small, near = min(count, MORE16), min(size, MORE32), min(offset, MORE32)
    return more + END_RECORD.pack(END, 0, 0, few, few, small, near, len(comment)) + comment
