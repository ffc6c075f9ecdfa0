"""Appends to a zip archive: writes new entries, then a new directory, after the old content (APPNOTE 4.3).

Bytes that the old directory uses are never overwritten, so programs that have the file open can continue to read. The
four bytes that mark the new end record are written last, in one piece; until then the old content is valid. Readers
must find the old end record during the write, but they search only the last 64 KiB. So a longer write puts copies of
the old directory between its pieces, at most that far apart, each completed in the same way (`_stones`). A directory of
more than 30 KiB (about 400 entries) is too long for that: if such a write is killed, other programs report a damaged
archive, while zarrscope finds the old directory further back. The next write by zarrscope removes the remains.

If another program without zarrscope's locks writes into the file at the same time, this is noticed before the last four
bytes are written; only a write between that check and these four bytes is lost.
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
from zarrscope.stores.local.replace import flush, make_folders
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
"""A longer directory, in bytes, is not copied between the parts of a long write (see above)."""
_LEFT = (LOCAL, CENTRAL, END, END64, bytes(4))
"""How bytes may begin that an interrupted write left after the end of an archive."""
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
    """Adds and removes entries of the archive that `handle` has open and `old` describes.

    `order` arranges the entries of the directory. Raises Conflict when another program wrote into the file, OSError;
    the archive is then unchanged.
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
    begun = read_at(handle, old.stop, 4)
    if not any(mark.startswith(begun) for mark in _LEFT):
        raise Refused(
            "Bytes that do not belong to the archive follow its end",
            advice="zarrscope repack makes an archive without it.",
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
    """Writes `pieces`, which end at `target`, with copies of the old directory between them, at most STEP apart.
    Returns the beginning and the end of the last copy's end record."""
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
    """Writes the bytes from `from_` to `to` of consecutive pieces, the first of which begins at `start`."""
    for piece in pieces:
        stop = start + len(piece)
        if from_ < stop and start < to:
            first = max(from_, start)
            write(first, piece[first - start : min(to, stop) - start])
        start = stop


def _aligned(start: int, length: int, count: int, comment: bytes, old: Directory) -> int:
    """The first offset from `start` on, at which a directory can begin so that the four bytes that mark its end record
    do not cross a disk sector."""
    tail = end_records(count, length, start, comment, shift=old.shift, always_64=old.is_64)
    mark = start + length + tail.rindex(END, 0, len(tail) - len(comment))
    return start + -mark % 4


def _check_unchanged(handle: int, path: str, old: Directory, size: int) -> None:
    """Raises Conflict if the file was replaced, or another program wrote into it."""
    try:
        same = os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        same = False
    if same and os.fstat(handle).st_size == size and read_at(handle, old.start, len(old.data)) == old.data:
        return
    raise changed()


def changed() -> Conflict:
    """The error if another program changed the archive at the same time."""
    return Conflict(
        "Another program changed the archive meanwhile",
        advice="Its changes were kept. Open the archive again, then save again.",
    )


def entry(name: str, value: bytes, offset: int, shift: int = 0) -> tuple[bytes, ArchiveMember]:
    """The local header of a new entry at `offset` of the file, which its stored bytes follow; and its
    directory record."""
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
    """Bytes of an open file, fewer if it ends before."""
    os.lseek(handle, offset, os.SEEK_SET)
    pieces = []
    while length > 0 and (piece := os.read(handle, min(length, SYSTEM_CALL_BYTES))):
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)


# ---------------------------------------------------------------------- files
def create(path: str, ome: bool) -> None:
    """Makes an archive without entries, unless the path is taken. Raises OSError."""
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
    make_folders(folder)
    with folder_lock(folder):
        yield


class Settling(Protocol):
    def _settle(self) -> None: ...


_waiting: WeakSet[Settling] = WeakSet()


def settle_at_exit(store: Settling) -> None:
    """Registers the store, so that waiting values from `put` are written when the process ends."""
    _waiting.add(store)


@atexit.register
def _settle_all() -> None:
    for store in list(_waiting):
        try:
            store._settle()
        except ZarrscopeError as error:
            print(f"Values were not written: {error}", file=sys.stderr)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_waiting.clear)  # the parent process writes the waiting values
