"""The entries of a .zip or .ozx archive as keys, read-only (spec B "Zip store", E.8, F.24).

Promises beyond store.py: entries that are not compressed are read by range; names that could leave the archive are not
listed and hold nothing (`refused` has them); of two entries with one name the last counts; an entry never inflates
beyond its declared size nor beyond `limit`; whole entries are checked against their CRC. Safe from any thread.
"""

from __future__ import annotations

import io
import os
import struct
import threading
import zipfile
import zlib
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, Protocol

from zarrscope.errors import NotFound, Refused, Unreadable, Unsupported, ZarrscopeError
from zarrscope.store import ByteRange, Entry, Store, check_key
from zarrscope.stores.paths import file_url

INFLATE_LIMIT = 1 << 28
_ENCRYPTED = 0x1
_AFTER_SLASH = "0"
"""The character after "/": the first name beyond all those beneath "a/" is "a0"."""


class Ranges(Protocol):
    """A file that is read at offsets, from any thread."""

    size: int

    def read_at(self, offset: int, length: int) -> bytes: ...

    def close(self) -> None: ...


class LocalRanges:
    """A local file, held open: an archive replaced meanwhile is still read as it was."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "rb")  # noqa: SIM115 - closed by close()
        self._lock = threading.Lock()
        self.size = os.fstat(self._file.fileno()).st_size

    def read_at(self, offset: int, length: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(self._file.fileno(), length, offset)
        with self._lock:
            self._file.seek(offset)
            return self._file.read(length)

    def close(self) -> None:
        self._file.close()


class _Stream(io.RawIOBase):
    """A Ranges as a file, for zipfile to find the central directory."""

    def __init__(self, ranges: Ranges) -> None:
        self._ranges = ranges
        self._at = 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = max(0, offset + (0, self._at, self._ranges.size)[whence])
        return self._at

    def readinto(self, buffer: Any) -> int:
        data = self._ranges.read_at(self._at, min(len(buffer), max(0, self._ranges.size - self._at)))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


class ZipStore(Store):
    """The archive at a path, or one that is read through `Ranges` (then `url` says where it is)."""

    writable = False

    def __init__(self, source: str | os.PathLike[str] | Ranges, *, url: str = "", limit: int = INFLATE_LIMIT) -> None:
        self._path = os.path.abspath(os.fspath(source)) if isinstance(source, str | os.PathLike) else None
        self._ranges: Ranges | None = None if isinstance(source, str | os.PathLike) else source
        self.url = url or (file_url(self._path) if self._path else "zip")
        self.remote = self._path is None
        self.limit = limit
        self.comment = b""
        self.refused: tuple[str, ...] = ()
        self.duplicates: tuple[str, ...] = ()
        self._entries: dict[str, zipfile.ZipInfo] | None = None
        self._names: list[str] = []
        self._lock = threading.Lock()

    # ------------------------------------------------------------------ the archive
    def _index(self) -> tuple[dict[str, zipfile.ZipInfo], Ranges]:
        with self._lock:
            if self._entries is None or self._ranges is None:
                self._ranges = self._ranges or self._open()
                try:
                    with zipfile.ZipFile(io.BufferedReader(_Stream(self._ranges), 1 << 16)) as archive:
                        self.comment = archive.comment
                        self._entries = self._sift(archive.infolist())
                except ZarrscopeError:
                    raise
                except Exception as error:  # zipfile lets struct, Unicode, overflow and other errors of bad files out
                    raise Unreadable(
                        f"The archive is damaged: {error}",
                        store=self.url,
                        advice="Copy or download it again; a broken-off copy lacks the directory at its end.",
                    ) from error
                self._names = sorted(self._entries)
            return self._entries, self._ranges

    def _open(self) -> Ranges:
        try:
            return LocalRanges(self._path or "")
        except FileNotFoundError:
            raise NotFound(f"There is no archive {self._path}", store=self.url) from None
        except OSError as error:
            raise Unreadable(f"The archive could not be read: {error.strerror}", store=self.url) from error

    def _sift(self, infos: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
        entries: dict[str, zipfile.ZipInfo] = {}
        refused, duplicates = [], []
        for info in infos:
            if info.filename.endswith("/"):
                continue
            try:
                check_key(info.filename)
            except Refused:
                refused.append(info.filename)
                continue
            if info.filename in entries:
                duplicates.append(info.filename)
            entries[info.filename] = info
        self.refused, self.duplicates = tuple(refused), tuple(duplicates)
        return entries

    # ------------------------------------------------------------------ reading
    def _get(self, key: str, part: ByteRange | None) -> bytes | None:
        entries, ranges = self._index()
        info = entries.get(key)
        if info is None:
            return None
        try:
            return self._read(info, ranges, part)
        except ZarrscopeError as error:
            raise error.located(store=self.url, key=key) from None
        except (OSError, ValueError, EOFError, zlib.error, struct.error, MemoryError) as error:
            raise Unreadable(f"The archive's entry cannot be read: {error}", store=self.url, key=key) from error

    def _read(self, info: zipfile.ZipInfo, ranges: Ranges, part: ByteRange | None) -> bytes:
        if info.flag_bits & _ENCRYPTED:
            raise Unsupported("The entry is encrypted", feature="zip encryption", advice="Unpack it with its password.")
        start, stop = (0, info.file_size) if part is None else part.span(info.file_size)
        header = ranges.read_at(info.header_offset, 30)
        if len(header) < 30 or header[:4] != b"PK\x03\x04":
            raise Unreadable("The archive is damaged: an entry does not begin where its directory says")
        begin = info.header_offset + 30 + sum(struct.unpack("<HH", header[26:30]))
        if begin + info.compress_size > ranges.size:
            raise Unreadable("The archive is damaged: an entry reaches beyond its end")
        if info.compress_type == zipfile.ZIP_STORED:
            if info.compress_size != info.file_size:
                raise Unreadable("The archive is damaged: a stored entry has two sizes")
            value = _exactly(ranges, begin + start, stop - start)
            whole = stop - start == info.file_size
        else:
            inflated = self._inflate(info, ranges, begin)
            whole, value = True, inflated
        if whole and zlib.crc32(value) != info.CRC:
            raise Unreadable("The archive is damaged: an entry's checksum does not match", advice="Copy it again.")
        return value if info.compress_type == zipfile.ZIP_STORED else value[start:stop]

    def _inflate(self, info: zipfile.ZipInfo, ranges: Ranges, begin: int) -> bytes:
        if info.file_size > self.limit:
            raise Refused(
                f"The compressed entry would take {info.file_size:,} bytes; at most {self.limit:,} are unpacked",
                advice="Store large entries without compression, as .ozx files do.",
            )
        inflater: Any
        if info.compress_type == zipfile.ZIP_DEFLATED:
            inflater = zlib.decompressobj(-15)
        elif info.compress_type == zipfile.ZIP_BZIP2:
            import bz2

            inflater = bz2.BZ2Decompressor()
        else:
            name = {14: "LZMA", 93: "Zstandard", 9: "Deflate64"}.get(info.compress_type, f"method {info.compress_type}")
            raise Unsupported(
                f"Entries compressed with {name} cannot be read",
                feature=f"zip method {name}",
                advice="Pack the archive again without compression.",
            )
        value: bytes = inflater.decompress(_exactly(ranges, begin, info.compress_size), info.file_size + 1)
        if len(value) != info.file_size:
            raise Unreadable(f"The entry does not unpack to the {info.file_size:,} bytes that it declares")
        return value

    # ------------------------------------------------------------------ listing
    def _list_prefix(self, prefix: str) -> Iterator[str]:
        self._index()
        for i in range(bisect_left(self._names, prefix), len(self._names)):
            if not self._names[i].startswith(prefix):
                return
            yield self._names[i]

    def _list_dir(self, prefix: str) -> Iterator[Entry]:
        entries, _ = self._index()
        at = bisect_left(self._names, prefix)
        while at < len(self._names) and self._names[at].startswith(prefix):
            name, slash, _ = self._names[at][len(prefix) :].partition("/")
            if slash:
                yield Entry(name, True)
                at = bisect_left(self._names, prefix + name + _AFTER_SLASH, at)
            else:
                yield Entry(name, False, entries[self._names[at]].file_size)
                at += 1

    def close(self) -> None:
        with self._lock:
            if self._ranges is not None:
                self._ranges.close()
            if self._path is not None:
                self._ranges = None
                self._entries = None


def _exactly(ranges: Ranges, offset: int, length: int) -> bytes:
    pieces = []
    while length > 0:
        piece = ranges.read_at(offset, min(length, 1 << 30))
        if not piece:
            raise Unreadable("The archive ends within an entry")
        pieces.append(piece)
        offset += len(piece)
        length -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
