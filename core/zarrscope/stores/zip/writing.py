"""Appends to a zip archive: writes new entries, then a new directory, after the old content (APPNOTE 4.3).

Bytes to which the old directory refers are never overwritten, so programs that have the file open can continue to read.
The signature of the new end record (four bytes) is written last, in one piece; until then the old directory is valid.

During the write, readers must find the old end record, but they search only the last 64 KiB of the file. Therefore a
longer write puts copies of the old directory between the new entries, at most 64 KiB apart (`_stones`); the signature
of each copy's end record is written last, too. A directory of more than 30 KiB (about 400 entries) is too long for
that. If such a write is killed, other programs report a damaged archive, while zarrscope finds the old directory
further back. The next write by zarrscope removes the incomplete bytes.

If another program, which ignores zarrscope's locks, writes into the file at the same time, this is noticed before the
last four bytes are written; only a write between that check and these four bytes is lost.
"""

from __future__ import annotations

import atexit
import os
import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from typing import Protocol, TypeAlias
from weakref import WeakSet

from zarrscope.errors import Conflict, Refused, ZarrscopeError
from zarrscope.runtime.tuning import SYSTEM_CALL_BYTES
from zarrscope.stores.local.locks import folder_lock
from zarrscope.stores.local.replace import flush, make_folders, remove_made
from zarrscope.stores.local.temporaries import begin
from zarrscope.stores.zip.directory import (
    CENTRAL,
    CENTRAL_RECORD,
    END,
    END64,
    IN_UTF8,
    LOCAL,
    LOCAL_RECORD,
    MORE32,
    REACH,
    ArchiveMember,
    Directory,
    end_records,
)

STEP = REACH - 32
"""The most bytes that are written between two end records."""
LONGEST = 30_000
"""A directory of more bytes is not copied between the entries of a long write (see above)."""
_LEFT = (LOCAL, CENTRAL, END, END64, bytes(4))
"""The first bytes that an interrupted write can have left after the end of an archive, behind its padding."""
_MOST_PADDING = 3
"""The most bytes, all zero, in front of a directory that begins at a later offset (`_aligned`)."""
_PERMISSIONS = 0o100644 << 16

Order: TypeAlias = Callable[[Sequence[ArchiveMember]], Sequence[ArchiveMember]]
WriteAt: TypeAlias = Callable[[int, bytes], None]


def append_entries(
    handle: int,
    path: str,
    old: Directory,
    added: Mapping[str, bytes],
    removed: Set[str],
    *,
    order: Order | None = None,
    comment: bytes | None = None,
    lasting: bool = True,
) -> None:
    """Adds and removes entries of an archive. `handle` is a descriptor of its open file, `old` its directory.

    `order` sorts the entries of the new directory. If `lasting`, the function waits until the data are on disk. Raises
    Conflict if another program wrote into the file, and OSError if writing fails; the archive is then unchanged.
    """
    size = os.fstat(handle).st_size
    if size > old.stop:
        _remove_left(handle, old)
    try:
        _append(handle, path, old, added, removed, order, comment, lasting)
    except Conflict:
        raise
    except BaseException:
        os.ftruncate(handle, old.stop)
        raise


def _remove_left(handle: int, old: Directory) -> None:
    """Removes the bytes that a killed writer left after the end of the archive."""
    found = read_at(handle, old.stop, _MOST_PADDING + 4)
    begun = [found[padding : padding + 4] for padding in range(_MOST_PADDING + 1) if not any(found[:padding])]
    if not any(mark.startswith(first) for mark in _LEFT for first in begun):
        raise Refused(
            "The file has other bytes after the end of the archive",
            advice="zarrscope repack makes an archive without them.",
        )
    os.ftruncate(handle, old.stop)


def _append(
    handle: int,
    path: str,
    old: Directory,
    added: Mapping[str, bytes],
    removed: Set[str],
    order: Order | None,
    comment: bytes | None,
    lasting: bool,
) -> None:
    at = old.stop
    pieces: list[bytes] = []
    members = [member for member in old.members if member.name not in added and member.name not in removed]
    for name, value in added.items():
        header, member = entry(name, value, at, old.shift)
        pieces += [header, value]
        members.append(member)
        at += len(header) + len(value)
    data = b"".join(member.record for member in (order(members) if order else members))
    text = old.comment if comment is None else comment
    write = writer(handle)
    written, last, free = old.stop, old.end, at
    shortest = at + len(data) + len(text) + 128 - last
    holds_mark = any(END in piece for piece in pieces)
    if (shortest > STEP or holds_mark) and max(len(old.data), len(data)) + len(text) <= LONGEST:
        last, free = _stones(write, old, pieces, at)
        written = at
    _fill(write, pieces, old.stop, written, at)
    start = _aligned(free, len(data), len(members), text, old)
    tail = end_records(len(members), len(data), start, text, shift=old.shift, always_64=old.is_64)
    mark = tail.rindex(END, 0, len(tail) - len(text))
    write(start, data + tail[:mark] + bytes(4) + tail[mark + 4 :])
    if lasting:
        flush(handle)
    _check_unchanged(handle, path, old, start + len(data) + len(tail))
    write(start + len(data) + mark, END)
    if lasting:
        flush(handle)


def _stones(write: WriteAt, old: Directory, pieces: Sequence[bytes], target: int) -> tuple[int, int]:
    """Writes `pieces`, which begin at the end of the old archive and end at the offset `target`, in steps. Before each
    step it writes a copy of the old directory behind the bytes of that step, so that end records are at most STEP bytes
    apart. Returns the offsets at which the last copy's end record begins and ends."""
    count, length = len(old.members), len(old.data)
    size = length + 128 + len(old.comment)
    written, last, stop = old.stop, old.end, old.stop
    while written < target:
        start = _aligned(min(target, last + STEP - size), length, count, old.comment, old)
        tail = end_records(count, length, start, old.comment, shift=old.shift, always_64=old.is_64)
        mark = tail.rindex(END, 0, len(tail) - len(old.comment))
        write(start, old.data + tail[:mark] + bytes(4) + tail[mark + 4 :])
        last, stop = start + length + mark, start + length + len(tail)
        write(last, END)
        _fill(write, pieces, old.stop, written, min(start, target))
        written = min(start, target)
    return last, stop


def _fill(write: WriteAt, pieces: Sequence[bytes], start: int, from_: int, to: int) -> None:
    """Writes the bytes of the file from `from_` to `to`. They are parts of consecutive `pieces`, the first of which
    begins at the offset `start`."""
    for piece in pieces:
        stop = start + len(piece)
        if from_ < stop and start < to:
            first = max(from_, start)
            write(first, piece[first - start : min(to, stop) - start])
        start = stop


def _aligned(start: int, length: int, count: int, comment: bytes, old: Directory) -> int:
    """The first offset from `start` on at which a directory may begin: the signature of its end record must not cross
    the border of a disk sector, so that it is written in one piece."""
    tail = end_records(count, length, start, comment, shift=old.shift, always_64=old.is_64)
    mark = start + length + tail.rindex(END, 0, len(tail) - len(comment))
    return start + -mark % 4


def _check_unchanged(handle: int, path: str, old: Directory, size: int) -> None:
    """Raises Conflict if the file at `path` was replaced, or another program wrote into it. `size`: the size that the
    file must have."""
    try:
        same = os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        same = False
    if same and os.fstat(handle).st_size == size and read_at(handle, old.start, len(old.data)) == old.data:
        return
    raise changed()


def changed() -> Conflict:
    """The error for an archive that another program changed at the same time."""
    return Conflict(
        "Another program changed the archive meanwhile",
        advice="Its changes were kept. Open the archive again, then save again.",
    )


def entry(name: str, value: bytes, offset: int, shift: int = 0) -> tuple[bytes, ArchiveMember]:
    """The local header of a new, uncompressed entry at the offset `offset` of the file, and its ArchiveMember."""
    raw = name.encode()
    flags = 0 if raw.isascii() else IN_UTF8
    size, crc = len(value), zlib.crc32(value)
    now = time.localtime()
    date = (max(now.tm_year - 1980, 0) << 9) | (now.tm_mon << 5) | now.tm_mday
    clock = (now.tm_hour << 11) | (now.tm_min << 5) | (now.tm_sec // 2)
    small, place = min(size, MORE32), offset - shift
    far = place >= MORE32
    sizes = [size, size] if size >= MORE32 else []
    extra = _extra(sizes)
    central_extra = _extra([*sizes, place] if far else sizes)
    version = 45 if central_extra else 20
    header = LOCAL_RECORD.pack(LOCAL, version, flags, 0, clock, date, crc, small, small, len(raw), len(extra))
    record = CENTRAL_RECORD.pack(
        CENTRAL, 3 << 8 | version, version, flags, 0, clock, date, crc, small, small, len(raw), len(central_extra),
        0, 0, 0, _PERMISSIONS, min(place, MORE32),
    )  # fmt: skip
    record += raw + central_extra
    member = ArchiveMember(name, len(raw), 0, flags, crc, size, size, len(central_extra), offset, record)
    return header + raw + extra, member


def _extra(numbers: Sequence[int]) -> bytes:
    return struct.pack(f"<HH{len(numbers)}Q", 1, 8 * len(numbers), *numbers) if numbers else b""


def writer(handle: int) -> WriteAt:
    """A function that writes bytes at an offset of an open file."""

    def write(offset: int, value: bytes) -> None:
        view = memoryview(value)
        while view:
            if hasattr(os, "pwrite"):
                done = os.pwrite(handle, view[:SYSTEM_CALL_BYTES], offset)
            else:
                os.lseek(handle, offset, os.SEEK_SET)
                done = os.write(handle, view[:SYSTEM_CALL_BYTES])
            view, offset = view[done:], offset + done

    return write


def read_at(handle: int, offset: int, length: int) -> bytes:
    """Reads `length` bytes of an open file, or fewer if it ends before."""
    os.lseek(handle, offset, os.SEEK_SET)
    pieces = []
    while length > 0 and (piece := os.read(handle, min(length, SYSTEM_CALL_BYTES))):
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)


# ---------------------------------------------------------------------- files
def create(path: str, ome: bool) -> None:
    """Creates an archive without entries. Raises Conflict if a file with content exists at `path`, OSError."""
    folder = os.path.dirname(path)
    unfinished, handle = begin(folder)
    try:
        try:
            writer(handle)(0, end_records(0, 0, 0, b"", always_64=ome))
        finally:
            os.close(handle)
        if os.path.exists(path) and os.path.getsize(path):
            raise changed()
        os.replace(unfinished, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished)
        raise


@contextmanager
def locked_folder(folder: str) -> Iterator[None]:
    """Holds the lock of the folder of an archive, and makes the folder if it is missing."""
    made = make_folders(folder)
    try:
        with folder_lock(folder):
            yield
    except BaseException:
        remove_made(made)
        raise


class _Settling(Protocol):
    _told: bool
    """Whether a caller has already got the error of the waiting values."""

    def _settle(self) -> None: ...


_waiting: WeakSet[_Settling] = WeakSet()


def settle_at_exit(store: _Settling) -> None:
    """Registers a store whose values from `put` are still waiting, so that they are written when the process ends."""
    _waiting.add(store)


@atexit.register
def _settle_all() -> None:
    for store in list(_waiting):
        told = store._told
        try:
            store._settle()
        except ZarrscopeError as error:
            if not told:
                print(f"Values were not written: {error}", file=sys.stderr)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_waiting.clear)  # only the parent process writes the waiting values
