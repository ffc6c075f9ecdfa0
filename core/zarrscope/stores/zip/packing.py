"""Compacts a zip archive: writes it again without erased and replaced entries. An .ozx archive gets the order that
RFC-9 of OME-Zarr requires.

The bytes of entries are copied as they are stored. The new archive is written beside the old one, and renamed over it
at the end.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress

from zarrscope.errors import Unreadable, Unsupported
from zarrscope.model.frozen import frozen
from zarrscope.runtime.tuning import ARCHIVE_PIECE_BYTES
from zarrscope.stores.local.replace import flush, keep, rename_over, sync_folder, write
from zarrscope.stores.local.temporaries import begin
from zarrscope.stores.zip.directory import (
    CENTRAL_RECORD,
    LOCAL,
    LOCAL_RECORD,
    MORE32,
    ArchiveMember,
    end_records,
    parse,
)
from zarrscope.stores.zip.order import ROOT, comment_of, is_ome, json_first
from zarrscope.stores.zip.ranges import LocalRanges, exactly, state_of
from zarrscope.stores.zip.store import ZipStore
from zarrscope.stores.zip.writing import changed, locked_folder

_ENCRYPTED, _SIZES_FOLLOW = 0x1, 0x8


@frozen
class Repacked:
    """The result of repacking, or of its dry run: the number of entries, and the size of the archive before and after,
    in bytes."""

    entries: int
    before: int
    after: int


def repack(path: str, *, dry_run: bool = False) -> Repacked:
    """Compacts the archive at `path`; with `dry_run` it only returns the result that this would have.

    Raises Conflict if another program changed the archive meanwhile, Unreadable, Unsupported, OSError; in all these
    cases it has not changed the archive.
    """
    path = os.path.realpath(path)
    with locked_folder(os.path.dirname(path)):
        ranges = LocalRanges(path)
        try:
            return _repack(path, ranges, dry_run)
        finally:
            ranges.close()


def _repack(path: str, ranges: LocalRanges, dry_run: bool) -> Repacked:
    old = parse(ranges, further=True)
    ome = is_ome(path, old.comment)
    members = list({member.name: member for member in old.members}.values())
    if ome:
        members = json_first(members)
    headers, records, at = [], [], 0
    for member in members:
        header, record = _moved(member, at)
        headers.append(header)
        records.append(record)
        at += len(header) + member.packed
    data = b"".join(records)
    comment = comment_of(old.comment, ZipStore(path).get(ROOT)) if ome else old.comment
    tail = end_records(len(members), len(data), at, comment, always_64=ome or old.is_64)
    result = Repacked(len(members), ranges.size, at + len(data) + len(tail))
    if dry_run:
        return result
    unfinished, handle = begin(os.path.dirname(path))
    try:
        try:
            for member, header in zip(members, headers, strict=True):
                write(handle, (header,))
                _copy(handle, ranges, member)
            write(handle, (data, tail))
            flush(handle)
        finally:
            os.close(handle)
        found = os.stat(path)
        if state_of(found) != ranges.state:
            raise changed()
        keep(found, path, unfinished)
        rename_over(unfinished, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished)
        raise
    sync_folder(os.path.dirname(path))
    return result


def _copy(handle: int, ranges: LocalRanges, member: ArchiveMember) -> None:
    head = exactly(ranges, member.offset, LOCAL_RECORD.size)
    if head[:4] != LOCAL:
        raise Unreadable("The archive is damaged: an entry does not begin where its directory says", key=member.name)
    named, extra = LOCAL_RECORD.unpack(head)[-2:]
    at = member.offset + LOCAL_RECORD.size + named + extra
    stop = at + member.packed
    while at < stop:
        length = min(ARCHIVE_PIECE_BYTES, stop - at)
        write(handle, (exactly(ranges, at, length),))
        at += length


def _moved(member: ArchiveMember, offset: int) -> tuple[bytes, bytes]:
    """The local header and the directory record of an entry whose local header moves to `offset`."""
    if member.flags & _ENCRYPTED:
        raise Unsupported("The entry is encrypted", feature="zip encryption", key=member.name)
    fields = list(CENTRAL_RECORD.unpack_from(member.record))
    raw = member.record[CENTRAL_RECORD.size :][: member.raw_name]
    extra = member.record[CENTRAL_RECORD.size + member.raw_name :][: member.extra]
    note = member.record[CENTRAL_RECORD.size + member.raw_name + member.extra :]
    large = max(member.size, member.packed) >= MORE32
    sizes = [member.size, member.packed] if large else []
    packed, size = (MORE32, MORE32) if large else (member.packed, member.size)
    rest = _without_numbers(extra)
    local_extra = _numbers(sizes)
    central_extra = _numbers([*sizes, offset] if offset >= MORE32 else sizes) + rest
    version = max(fields[2], 45 if central_extra != rest else 0)
    flags = member.flags & ~_SIZES_FOLLOW
    _, made, _, _, method, clock, date, crc = fields[:8]
    header = LOCAL_RECORD.pack(
        LOCAL, version, flags, method, clock, date, crc, packed, size, len(raw), len(local_extra)
    )
    record = CENTRAL_RECORD.pack(
        fields[0], made, version, flags, method, clock, date, crc, packed, size, len(raw), len(central_extra),
        len(note), 0, *fields[14:16], min(offset, MORE32),
    )  # fmt: skip
    return header + raw + local_extra, record + raw + central_extra + note


def _numbers(numbers: list[int]) -> bytes:
    return struct.pack(f"<HH{len(numbers)}Q", 1, 8 * len(numbers), *numbers) if numbers else b""


def _without_numbers(extra: bytes) -> bytes:
    """The extra data of an entry without the field of 64-bit sizes and offsets."""
    kept, at = b"", 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        if kind != 1:
            kept += extra[at : at + 4 + size]
        at += 4 + size
    return kept
