"""Looks up the entries of an archive, and reads them: decompresses their bytes, and checks size and CRC (spec E.8).

Only the local header of an entry shows where the entry's bytes begin, because the header may be longer than the
directory suggests. In a remote archive the header and the bytes are therefore requested in one range that is a little
longer than expected. Many entries are requested in parallel.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TypeAlias

from zarrscope.errors import Refused, Unreadable, Unsupported
from zarrscope.model.storage import ByteRange
from zarrscope.stores.keys import check_key, too_large
from zarrscope.stores.zip.directory import LOCAL, LOCAL_RECORD, ArchiveMember, Directory
from zarrscope.stores.zip.ranges import ArchiveSpan, Ranges

COPY = "Copy the archive again from its source."
_ENCRYPTED = 0x1
_TO_SPARE = 64
"""The number of bytes that are requested in addition, because a local header may be longer than expected: fields for
times and owners take up to 40 bytes."""
_PASSED_OVER = 1 << 16
"""A part that begins before this offset in an entry is read in one range with the header, to save a request."""

ReadSteps: TypeAlias = Generator[list[ArchiveSpan], list[bytes], bytes]
"""A generator that reads one value: it yields the spans that it needs, receives their bytes, and returns the value."""


@dataclass
class DirectoryIndex:
    """The directory of an archive as a lookup table."""

    directory: Directory
    ranges: Ranges
    entries: dict[str, ArchiveMember] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    refused: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()
    begins: dict[int, int] = field(default_factory=dict)
    """The offset of an entry's bytes, by the offset of its local header, for the headers that have been read."""

    @classmethod
    def of(cls, directory: Directory, ranges: Ranges) -> DirectoryIndex:
        """Makes the table. Of several entries with one name the last one counts; names that are no valid keys are in
        `refused`."""
        index = cls(directory, ranges)
        refused, duplicates = [], []
        for member in directory.members:
            if member.name.endswith("/"):
                continue
            try:
                check_key(member.name)
            except Refused:
                refused.append(member.name)
                continue
            if member.name in index.entries:
                duplicates.append(member.name)
            index.entries[member.name] = member
        index.refused, index.duplicates = tuple(refused), tuple(duplicates)
        index.names = sorted(index.entries)
        return index


def value_of(
    index: DirectoryIndex, member: ArchiveMember, part: ByteRange | None, limit: int | None, inflate_limit: int
) -> ReadSteps:
    """Reads the value of an entry, or a part of it. Raises TooLarge if that has more than `limit` bytes, and Refused if
    a compressed entry declares more than `inflate_limit` bytes."""
    if member.flags & _ENCRYPTED:
        raise Unsupported("The entry is encrypted", feature="zip encryption", advice="Unpack it with its password.")
    start, stop = (0, member.size) if part is None else part.span(member.size)
    if limit is not None and stop - start > limit:
        raise too_large(stop - start, limit)
    stored = member.method == zipfile.ZIP_STORED
    if stored and member.packed != member.size:
        raise Unreadable("The archive is damaged: it states two sizes for an uncompressed entry", advice=COPY)
    inflate = None if stored else _inflater(member, inflate_limit)
    first, last = (start, stop) if stored else (0, member.packed)
    checked = not stored or stop - start == member.size
    packed = yield from _packed(index, member, first, last, checked)
    if inflate is None:
        if stop - start == member.size:
            _check_crc(packed, member)
        return packed
    value = inflate(packed)
    _check_crc(value, member)
    return value[start:stop]


def _packed(index: DirectoryIndex, member: ArchiveMember, first: int, last: int, checked: bool) -> ReadSteps:
    """Reads the bytes from `first` to `last` of an entry, without decompressing them. `checked`: see ArchiveSpan."""
    ranges, end = index.ranges, index.ranges.size
    begin = index.begins.get(member.offset)
    offset, likely = member.offset, member.likely_begin
    if begin is None and not (offset >= 0 and offset + LOCAL_RECORD.size <= end):
        raise _misplaced()
    if begin is None:
        header = ArchiveSpan(offset, LOCAL_RECORD.size, checked)
        beyond = min(end, likely + last + _TO_SPARE)
        if not ranges.remote or last == first:
            (head,) = yield [header]
            body, at = b"", 0
        elif first <= _PASSED_OVER:
            (body,) = yield [ArchiveSpan(offset, max(LOCAL_RECORD.size, beyond - offset), checked)]
            head, at = body[: LOCAL_RECORD.size], offset
        else:
            at = min(likely + first, end)
            head, body = yield [header, ArchiveSpan(at, beyond - at, checked)]
        if head[:4] != LOCAL:
            raise _misplaced()
        named, extra = LOCAL_RECORD.unpack(head)[-2:]
        begin = offset + LOCAL_RECORD.size + named + extra
        if begin + member.packed > end:
            raise Unreadable("The archive is damaged: an entry extends beyond the end of the file", advice=COPY)
        index.begins[offset] = begin
        if body and at <= begin + first and begin + last <= at + len(body):
            return body[begin + first - at : begin + last - at]
    if last == first:
        return b""
    (body,) = yield [ArchiveSpan(begin + first, last - first, checked)]
    return body


def _inflater(member: ArchiveMember, limit: int) -> Callable[[bytes], bytes]:
    if member.size > limit:
        raise Refused(
            f"The compressed entry would take {member.size:,} bytes; at most {limit:,} are decompressed",
            advice="Store large entries without compression, as .ozx files do.",
        )
    inflater: object
    if member.method == zipfile.ZIP_DEFLATED:
        inflater = zlib.decompressobj(-15)
    elif member.method == zipfile.ZIP_BZIP2:
        import bz2

        inflater = bz2.BZ2Decompressor()
    else:
        name = {14: "LZMA", 93: "Zstandard", 9: "Deflate64"}.get(member.method, f"method {member.method}")
        raise Unsupported(
            f"Entries compressed with {name} cannot be read",
            feature=f"zip method {name}",
            advice="Pack the archive again without compression.",
        )

    def inflate(packed: bytes) -> bytes:
        value: bytes = inflater.decompress(packed, member.size + 1)
        if len(value) != member.size:
            raise Unreadable(
                f"The entry does not decompress to the {member.size:,} bytes that it declares", advice=COPY
            )
        return value

    return inflate


def _check_crc(value: bytes, member: ArchiveMember) -> None:
    if zlib.crc32(value) != member.crc:
        raise Unreadable("The archive is damaged: an entry's checksum does not match", advice=COPY)


def _misplaced() -> Unreadable:
    return Unreadable("The archive is damaged: an entry does not begin where its directory says", advice=COPY)
