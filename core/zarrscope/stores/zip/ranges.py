"""Files of archives, which are read at offsets: local, remote, or of a ZipFile object."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import IO, TYPE_CHECKING, NamedTuple, TypeAlias

from zarrscope.errors import NotFound, Unreadable, ZarrscopeError
from zarrscope.model.storage import ByteRange, never
from zarrscope.runtime.tuning import ARCHIVE_TAIL_BYTES

if TYPE_CHECKING:
    import zipfile

    from zarrscope.stores.remote import RemoteStore


class ArchiveSpan(NamedTuple):
    """A range of bytes in the file."""

    offset: int
    length: int
    checked: bool = False
    """Whether the value that is made of the bytes is compared with a checksum of the directory. If not, a remote store
    must make sure that the bytes come from the file that the directory was read from."""


ArchiveState: TypeAlias = tuple[int, int, int, int]


def state_of(found: os.stat_result) -> ArchiveState:
    """A value that changes when the file is changed, as far as the system reports it."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class Ranges:
    """A file that is read at offsets, from any thread."""

    size = 0
    state: ArchiveState | None = None
    """For a local file: a value that changes when the file changes."""
    remote = False
    """Whether each read costs a round trip. Parallel reads then take as long as one."""

    def read_at(self, offset: int, length: int) -> bytes:
        """Reads up to `length` bytes: fewer at the end of the file, or if the system returns fewer in one call."""
        raise NotImplementedError  # each kind of file reads in its own way

    def read_many(
        self, spans: Sequence[ArchiveSpan], cancelled: Callable[[], bool] = never
    ) -> Iterator[tuple[int, bytes | ZarrscopeError]]:
        """Reads several spans. Yields (index of the span, bytes or error) in order of completion. Ends early once
        `cancelled()` is true."""
        for i, (offset, length, _) in enumerate(spans):
            if cancelled():
                return
            try:
                yield i, exactly(self, offset, length)
            except ZarrscopeError as error:
                yield i, error
            except OSError as error:
                yield i, Unreadable(f"The archive could not be read: {error.strerror or error}")

    def reason(self, error: ZarrscopeError) -> ZarrscopeError:
        """The reason for an error that bytes of the file caused."""
        return error

    def close(self) -> None:
        """Closes files that are held open."""


def exactly(ranges: Ranges, offset: int, length: int) -> bytes:
    """Reads exactly `length` bytes. Raises Unreadable if the file ends before."""
    pieces = []
    while length > 0:
        piece = ranges.read_at(offset, min(length, 1 << 30))
        if not piece:
            raise Unreadable("The archive ends within an entry")
        pieces.append(piece)
        offset += len(piece)
        length -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


class LocalRanges(Ranges):
    """A local file that is held open: if the archive is replaced meanwhile, the old one is still read."""

    def __init__(self, path: str) -> None:
        self._handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
        self._lock = threading.Lock()
        found = os.fstat(self._handle)
        self.state = state_of(found)
        self.size = found.st_size

    def read_at(self, offset: int, length: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(self._handle, length, offset)
        with self._lock:
            os.lseek(self._handle, offset, os.SEEK_SET)
            return os.read(self._handle, length)

    def close(self) -> None:
        with self._lock:
            handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    def __del__(self) -> None:
        """Closes the file when nothing reads it any more. Until then it stays open, even if the store has opened a
        newer one."""
        if getattr(self, "_handle", -1) >= 0:
            self.close()


class GivenRanges(Ranges):
    """The file of a zipfile.ZipFile, which is closed by the caller that opened it."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._lock: AbstractContextManager[object] = getattr(archive, "_lock", None) or threading.RLock()
        with self._lock:
            self.size = self._file().seek(0, os.SEEK_END)

    def _file(self) -> IO[bytes]:
        file = self._archive.fp
        if file is None or file.closed:
            raise Unreadable("The ZipFile is closed", advice="Open the file itself.")
        return file

    def read_at(self, offset: int, length: int) -> bytes:
        with self._lock:  # the ZipFile takes this lock, too, whenever it moves the file position
            file = self._file()
            file.seek(offset)
            return bytes(file.read(length))

    def close(self) -> None:
        """Does nothing: the caller that opened the file closes it."""


class RemoteFile(Ranges):
    """A remote file, which is read by ranges: the value of `store` at the key "".

    The end of the file, where an archive has its directory, is read first, together with the size. That takes one
    request if the server supports ranges from the end, and two if not.
    """

    remote = True

    def __init__(self, store: RemoteStore) -> None:
        self._store = store
        try:
            found = store.read_end("", ARCHIVE_TAIL_BYTES)
        except ZarrscopeError as error:
            raise error.located(store=store.url) from error.__cause__
        if found is None:
            raise NotFound("The server has no such file", store=store.url, advice="Check the address.")
        self._tail, self.size = found
        self._from = self.size - len(self._tail)

    def read_at(self, offset: int, length: int) -> bytes:
        if offset >= self._from:
            return self._tail[offset - self._from :][:length]
        if not length:
            return b""
        for _, answer in self._store._get_unchanged([("", ByteRange(offset, length))], never, length):
            if isinstance(answer, bytes):
                return answer
            raise answer if isinstance(answer, ZarrscopeError) else self._gone()
        raise self._gone()

    def read_many(
        self, spans: Sequence[ArchiveSpan], cancelled: Callable[[], bool] = never
    ) -> Iterator[tuple[int, bytes | ZarrscopeError]]:
        asked = []
        for i, (offset, length, _) in enumerate(spans):
            if cancelled():
                return
            if offset >= self._from or not length:
                yield i, self._whole(self.read_at(offset, length), length)
            else:
                asked.append(i)
        if not asked:
            return
        requests = [("", ByteRange(spans[i].offset, spans[i].length)) for i in asked]
        get = self._store._get_many if all(spans[i].checked for i in asked) else self._store._get_unchanged
        for n, answer in get(requests, cancelled, max(spans[i].length for i in asked)):
            if answer is None:
                answer = self._gone()
            yield asked[n], self._whole(answer, spans[asked[n]].length) if isinstance(answer, bytes) else answer

    def _whole(self, value: bytes, length: int) -> bytes | ZarrscopeError:
        return value if len(value) == length else Unreadable("The archive ends within an entry", store=self._store.url)

    def reason(self, error: ZarrscopeError) -> ZarrscopeError:
        return self._store._replaced() if type(error) is Unreadable and self._store._is_replaced("") else error

    def renew(self, other: RemoteFile) -> bool:
        """Takes over the credentials of `other` if that is the same file, unchanged. Returns whether it did."""
        same = (self.size, self._tail) == (other.size, other._tail)
        return same and self._store._renew(other._store)

    def _gone(self) -> Unreadable:
        return Unreadable(
            "The file is no longer there", store=self._store.url, advice="Check the address: it may have moved."
        )

    def close(self) -> None:
        self._store.close()
