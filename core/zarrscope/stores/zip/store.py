"""The entries of a .zip or .ozx archive as keys (spec B "Zip store", E.8, F.24).

It gives these guarantees beyond those of store.py: Parts of uncompressed entries are read by range. Entries whose names
are not valid keys, because they could leave the archive, are neither listed nor read (`refused` has their names). Of
entries with the same name, the last counts. An entry is never decompressed beyond its declared size or beyond `limit`.
A value that is read as a whole is checked against its CRC. The store may be used from any thread.

A local archive is written by appending (writing.py): each set, erase and flush takes effect completely or not at all.
Values from `put` wait in memory, and are written at the next set, erase, flush or `close`, at the end of the program,
or when enough bytes wait; other processes see them only then.
"""

from __future__ import annotations

import os
import struct
import threading
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, suppress

from zarrscope.errors import NotFound, ReadOnly, Refused, Unreadable, ZarrscopeError
from zarrscope.model.storage import Answer, Buffer, ByteRange, Entry, Request, Version, never
from zarrscope.runtime.tuning import ARCHIVE_PENDING_BYTES, ARCHIVE_PENDING_SHARE
from zarrscope.stores.backend import Backend
from zarrscope.stores.local.failures import failure
from zarrscope.stores.local.locks import key_lock
from zarrscope.stores.local.paths import file_url
from zarrscope.stores.local.replace import flush
from zarrscope.stores.store import Store
from zarrscope.stores.zip.directory import EMPTY, parse
from zarrscope.stores.zip.entry import DirectoryIndex, ReadSteps, value_of
from zarrscope.stores.zip.order import arrangement
from zarrscope.stores.zip.ranges import ArchiveSpan, ArchiveState, LocalRanges, Ranges, RemoteFile, state_of
from zarrscope.stores.zip.writing import append_entries, changed, create, locked_folder, settle_at_exit

INFLATE_LIMIT = 1 << 28
READ_WRITE = os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_AFTER_SLASH = "0"
"""The character after "/": "a0" comes in order after all names that begin with "a/"."""


def _not_shown(names: Sequence[str]) -> str:
    """The remark that entries with these names are not shown."""
    more = " and more" if len(names) > 3 else ""
    shown = ", ".join(repr(name if len(name) <= 60 else f"{name[:60]}…") for name in names[:3])
    return f"Entries of the archive whose names could lead out of it are not shown: {shown}{more}"


class ZipStore(Store):
    """A zip archive: the file at a path, or an archive that is read through `Ranges`; then `url` is its address.

    `limit` is the largest decompressed size of an entry, in bytes. With `sync`, the operation `set` waits until the
    data are on disk.
    """

    _gathers_puts = True

    def __init__(
        self,
        source: str | os.PathLike[str] | Ranges,
        *,
        url: str = "",
        limit: int = INFLATE_LIMIT,
        writable: bool = False,
        sync: bool = True,
    ) -> None:
        self._path = os.path.abspath(os.fspath(source)) if isinstance(source, str | os.PathLike) else None
        self._ranges: Ranges | None = None if isinstance(source, str | os.PathLike) else source
        self.url = url or (file_url(self._path) if self._path else "zip")
        self.remote = self._path is None
        self.limit = limit
        self.writable = writable and self._path is not None
        self.sync = sync
        self._pending: dict[str, bytes] = {}
        """Values from `put` that are not yet in the archive. They are removed by replacing the whole mapping, so that a
        reader in another thread still finds them in the old one."""
        self._pending_bytes = 0
        self._told = False
        self._writing = threading.RLock()
        self._appending = False
        self._index: DirectoryIndex | None = None
        self._lock = threading.RLock()

    @property
    def comment(self) -> bytes:
        """The comment at the end of the archive."""
        return self._indexed().directory.comment

    @property
    def refused(self) -> tuple[str, ...]:
        """Names of entries that are not valid keys, for example because they could lead out of the archive."""
        return self._indexed().refused

    @property
    def duplicates(self) -> tuple[str, ...]:
        """Names of entries that a later entry of the same name replaces."""
        return self._indexed().duplicates

    # ------------------------------------------------------------------ the archive
    def _indexed(self) -> DirectoryIndex:
        """The current directory. The directory of a local archive is read again if the file has changed. If that fails,
        because another program is writing the file, the previous directory is returned."""
        with self._lock:
            if self._index is None:
                self._index = self._read_index(self._ranges or self._open())
                if self._index.refused:
                    self.remark = ". ".join(filter(None, (self.remark, _not_shown(self._index.refused))))
            elif (
                self._path is not None
                and not self._appending
                and (found := self._stat()) is not None
                and found != self._index.ranges.state
            ):
                with suppress(ZarrscopeError):
                    self._index = self._read_index(self._open())
            return self._index

    def _stat(self) -> ArchiveState | None:
        try:
            return state_of(os.stat(self._path or ""))
        except OSError:
            return None

    def _up_to_date(self) -> DirectoryIndex:
        """Writes the values from `put` that wait, and returns the directory."""
        if self._pending:
            self._settle()
        return self._indexed()

    def _read_index(self, ranges: Ranges) -> DirectoryIndex:
        try:
            if self.writable and not ranges.size:
                return DirectoryIndex.of(EMPTY, ranges)
            return DirectoryIndex.of(parse(ranges, further=self._path is not None), ranges)
        except ZarrscopeError as error:
            raise error.located(store=self.url) from error.__cause__
        except (OSError, MemoryError, OverflowError) as error:
            why = str(error) or "its directory does not fit into memory"
            raise Unreadable(f"The archive could not be read: {why}", store=self.url) from error

    def _open(self) -> Ranges:
        try:
            return LocalRanges(self._path or "")
        except FileNotFoundError:
            if self.writable:
                return Ranges()
            raise NotFound(f"There is no archive {self._path}", store=self.url) from None
        except OSError as error:
            raise Unreadable(f"The archive could not be read: {error.strerror}", store=self.url) from error

    # ------------------------------------------------------------------ reading
    def _get(self, key: str, part: ByteRange | None, limit: int | None = None) -> bytes | None:
        for _, answer in self._answers([(key, part)], never, limit):
            if isinstance(answer, ZarrscopeError):
                raise answer
            return answer
        return None

    def _get_many(
        self, requests: Sequence[Request], cancelled: Callable[[], bool], limit: int | None = None
    ) -> Iterator[tuple[int, Answer]]:
        if not self.remote:
            yield from super()._get_many(requests, cancelled, limit)
            return
        yield from self._answers(requests, cancelled, limit)

    def _answers(
        self, requests: Sequence[Request], cancelled: Callable[[], bool], limit: int | None
    ) -> Iterator[tuple[int, Answer]]:
        """Answers requests in rounds. Each round reads in parallel all bytes that are then known to be needed: first
        the local headers, then the bytes of the entries."""
        if cancelled():
            return
        pending = self._pending  # taken before the directory: a value that is no longer in it is in the directory
        index = self._indexed()
        waiting: list[tuple[int, ReadSteps, list[ArchiveSpan]]] = []
        for i, (key, part) in enumerate(requests):
            put = pending.get(key)
            if put is not None:
                yield i, put if part is None else part.of(put)
                continue
            member = index.entries.get(key)
            if member is None:
                yield i, None
                continue
            steps = value_of(index, member, part, limit, self.limit)
            answer, needs = self._step(steps, None, key)
            if needs is None:
                yield i, answer
            else:
                waiting.append((i, steps, needs))
        while waiting:
            spans = [span for _, _, needs in waiting for span in needs]
            owners = [n for n, (_, _, needs) in enumerate(waiting) for _ in needs]
            firsts = [owners.index(n) for n in range(len(waiting))] if len(spans) != len(waiting) else None
            came: list[dict[int, bytes]] = [{} for _ in waiting]
            again: list[tuple[int, ReadSteps, list[ArchiveSpan]]] = []
            failed: set[int] = set()
            for j, found in index.ranges.read_many(spans, cancelled):
                n = owners[j]
                i, steps, needs = waiting[n]
                if n in failed:
                    continue
                if isinstance(found, ZarrscopeError):
                    failed.add(n)
                    steps.close()
                    yield i, index.ranges.reason(found).located(store=self.url, key=requests[i][0])
                    continue
                came[n][j - (firsts[n] if firsts else j)] = found
                if len(came[n]) == len(needs):
                    pieces = [came[n].pop(k) for k in range(len(needs))]
                    answer, more = self._step(steps, pieces, requests[i][0])
                    if more is None:
                        yield i, index.ranges.reason(answer) if isinstance(answer, ZarrscopeError) else answer
                    else:
                        again.append((i, steps, more))
            if cancelled():
                return
            waiting = again

    def _step(self, steps: ReadSteps, pieces: list[bytes] | None, key: str) -> tuple[Answer, list[ArchiveSpan] | None]:
        """Continues reading one value with the bytes `pieces` (None at first). Returns (value or error, None) at the
        end, else (None, the spans to read next)."""
        try:
            return None, next(steps) if pieces is None else steps.send(pieces)
        except StopIteration as done:
            value: bytes = done.value
            return value, None
        except ZarrscopeError as error:
            return error.located(store=self.url, key=key), None
        except (OSError, ValueError, EOFError, zlib.error, struct.error, MemoryError) as error:
            failed = Unreadable(f"The entry in the archive cannot be read: {error}", store=self.url, key=key)
            failed.__cause__ = error
            return failed, None

    def _size_of(self, key: str) -> int | None:
        put = self._pending.get(key)
        if put is not None:
            return len(put)
        member = self._indexed().entries.get(key)
        return None if member is None else member.size

    # ------------------------------------------------------------------ listing
    def _list_prefix(self, prefix: str) -> Iterator[str]:
        names = self._names()[0]
        for i in range(bisect_left(names, prefix), len(names)):
            if not names[i].startswith(prefix):
                return
            yield names[i]

    def _list_dir(self, prefix: str) -> Iterator[Entry]:
        names, index, pending = self._names()
        at = bisect_left(names, prefix)
        while at < len(names) and names[at].startswith(prefix):
            name, slash, _ = names[at][len(prefix) :].partition("/")
            if slash:
                yield Entry(name, True)
                at = bisect_left(names, prefix + name + _AFTER_SLASH, at)
            else:
                put = pending.get(names[at])
                yield Entry(name, False, index.entries[names[at]].size if put is None else len(put))
                at += 1

    def _is_folder(self, key: str) -> bool:
        names = self._names()[0]
        at = bisect_left(names, f"{key}/")
        return at < len(names) and names[at].startswith(f"{key}/")

    def _names(self) -> tuple[Sequence[str], DirectoryIndex, Mapping[str, bytes]]:
        """The sorted names of all entries, the directory, and the values that wait because they cannot be written, as
        on a full disk. All others that wait are written first."""
        told = self._told
        with suppress(Unreadable, ReadOnly):
            index = self._up_to_date()
            return index.names, index, {}
        self._told = told  # the caller does not get this error
        pending = self._pending  # taken before the directory, as in `_answers`
        index = self._indexed()
        return sorted({*index.names, *pending}), index, pending

    # ------------------------------------------------------------------ writing
    def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
        self._change(key, {key: value}, expect=expect)
        return Version.of(value)

    def _put(self, key: str, parts: Sequence[Buffer]) -> None:
        """Keeps the value in memory until enough bytes wait. Each append writes a new directory, which is larger than a
        chunk if the archive has many entries."""
        value = b"".join(parts)
        with self._writing:
            if not self._pending:
                settle_at_exit(self)
            self._pending_bytes += len(value)
            self._pending[key] = value
            self._told = False
            if self._pending_bytes >= min(
                ARCHIVE_PENDING_BYTES, ARCHIVE_PENDING_SHARE * len(self._indexed().directory.data)
            ):
                self._settle()

    def _flush(self) -> None:
        self._settle()
        if self._path is not None and os.path.exists(self._path):
            handle = os.open(self._path, READ_WRITE)
            try:
                flush(handle)
            finally:
                os.close(handle)

    def _settle(self) -> None:
        """Writes the values from `put` that wait. If that fails, they are kept for the next attempt."""
        with self._writing:
            if self._pending:
                self._told = True
                self._commit(next(iter(self._pending)), self._pending, frozenset(), None, lasting=False)
                self._pending, self._pending_bytes = {}, 0

    def _lock_key(self, key: str) -> AbstractContextManager[object]:
        return key_lock(f"{self._path}{os.sep}{key}")

    def _erase(self, key: str) -> None:
        if key in self._up_to_date().entries:
            self._change(key, {}, {key})

    def _erase_prefix(self, prefix: str) -> None:
        keys = {*self._list_prefix(prefix)}
        if keys:
            self._change(prefix, {}, keys)

    def _change(
        self,
        key: str,
        added: Mapping[str, bytes],
        removed: Set[str] = frozenset(),
        *,
        expect: Version | None = None,
    ) -> None:
        """Writes the values from `put` that wait, then adds and removes entries in one step."""
        with self._writing:
            self._settle()
            self._commit(key, added, removed, expect, lasting=self.sync)

    def _commit(
        self, key: str, added: Mapping[str, bytes], removed: Set[str], expect: Version | None, *, lasting: bool
    ) -> None:
        path = os.path.realpath(self._path or "")
        try:
            with locked_folder(os.path.dirname(path)):
                self._append(path, self._prepared(path, key, added, expect), added, removed, lasting)
        except ZarrscopeError as error:
            raise error.located(store=self.url, key=key) from error.__cause__
        except OSError as error:
            raise failure(error, "written", store=self.url, key=key) from error

    def _prepared(self, path: str, key: str, added: Mapping[str, bytes], expect: Version | None) -> DirectoryIndex:
        """Checks that `key` has the expected version and that the new names are possible, makes the archive if it is
        missing, and returns its directory."""
        with self._lock:
            if self._index is not None and self._stat() != self._index.ranges.state:
                self._index = None  # read it again, without falling back: nothing is appended to a damaged archive
        index = self._indexed()
        if expect is not None:
            value = self._get(key, None)
            self._expect(key, expect, None if value is None else (value, Version.of(value)))
        for name in added:
            self._check_name(index, name)
        if index.directory is EMPTY:
            create(path, path.lower().endswith(".ozx"))
            with self._lock:
                self._index = index = self._read_index(self._open())
        return index

    def _append(
        self, path: str, index: DirectoryIndex, added: Mapping[str, bytes], removed: Set[str], lasting: bool
    ) -> None:
        handle = os.open(path, READ_WRITE)
        self._appending = True  # readers in this process then do not check whether the file has changed
        try:
            if state_of(os.fstat(handle)) != index.ranges.state:
                raise changed()
            arranged = arrangement(path, index.directory, added)
            append_entries(handle, path, index.directory, added, removed, lasting=lasting, **arranged)
            with self._lock:
                self._index = self._read_index(self._open())
        finally:
            self._appending = False
            os.close(handle)

    def _check_name(self, index: DirectoryIndex, name: str) -> None:
        """Raises Refused if one of the names would be both a file and a folder: such an archive cannot be unpacked."""
        if name in index.entries:
            return
        at = bisect_left(index.names, name + "/")
        above = name
        beneath = at < len(index.names) and index.names[at].startswith(name + "/")
        while not beneath and "/" in above:
            above = above.rpartition("/")[0]
            beneath = above in index.entries
        if beneath:
            raise Refused("A file and a folder cannot have the same name", key=name, advice="Choose another name.")

    def _renew(self, other: Backend) -> bool:
        mine, theirs = self._ranges, other._ranges if isinstance(other, ZipStore) else None
        if not isinstance(mine, RemoteFile) or not isinstance(theirs, RemoteFile) or not mine.renew(theirs):
            return False
        self.url = other.url
        return True

    def close(self) -> None:
        self._settle()
        with self._lock:
            ranges = self._ranges if self._index is None else self._index.ranges
            if ranges is not None:
                ranges.close()
            if self._path is not None:
                self._index = None
