"""Stores values as files beneath one folder (spec B "File system store", F.8, F.9).

It gives these guarantees beyond those of store.py:
- A set writes a new file beside the old one, flushes it to disk, and renames it over the old one: after a crash at any
  point, the value is the old or the new one. A put does the same without the flush, so the same is true after a killed
  process, but perhaps not after a power failure. The file's mode, owner, group and extended attributes (including
  access control lists) are kept as far as the system permits.
- A set with `expect` and a lock exclude other threads, and other processes that use this class (locks.py).
- A prefix is erased in one step, with everything beneath it. Temporary files of killed writers are not keys, and are
  removed later (temporaries.py).
- No key reads or writes outside the folder, not even through symbolic links, unless `allow_outside` is set.
- Reading the key of a folder, or a key beneath a file, returns None. Erasing the last key of a folder removes the
  folder.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice

from zarrscope.errors import Conflict, OutsideLink, Refused, Unreadable, Unsupported, ZarrscopeError
from zarrscope.model.buffers import Arena
from zarrscope.model.storage import Answer, Buffer, ByteRange, Entry, Request, ScannedChild, Version
from zarrscope.runtime.tuning import FOLDERS_AT_ONCE, SYSTEM_CALL_BYTES
from zarrscope.stores.backend import Backend, BackendEntry
from zarrscope.stores.keys import too_large
from zarrscope.stores.local.children import NO_FOLLOW, OPEN, look_into
from zarrscope.stores.local.failures import DENIED, NOTHING_THERE, broken_link, circular, failure, no_file
from zarrscope.stores.local.names import is_link, is_temporary
from zarrscope.stores.local.paths import extended, file_url, plain, real_path
from zarrscope.stores.store import Store
from zarrscope.stores.value_reader import Reader

# Methods that change something import the modules that only they need, so that reading a folder stays quick.
_SEES_LINKS = os.access in os.supports_follow_symlinks
"""Whether os.access can look at a link itself."""


class LocalStore(Store):
    """The files beneath the folder `root`, which need not exist yet.

    With `allow_outside`, symbolic links that lead out of the folder are followed. With `sync` False, a set does not
    wait until the value is on disk, as a put does not.
    """

    _windows = sys.platform == "win32"
    _positional = hasattr(os, "pread")
    """Whether the system can read at an offset in one call. Tests force both cases."""
    _lock_on_folder = sys.platform != "win32"
    _renames_open = sys.platform != "win32"
    _nameless = True
    """Whether the system may support files without a name. Tests force both cases."""
    _exchanges = True
    """Whether the system may be able to exchange two files in one step. Tests force both cases."""
    _scans_children = True
    _by_handle = {os.open, os.stat} <= os.supports_dir_fd and os.scandir in os.supports_fd
    """Whether the system can open files by their name in a folder that is open. Tests force both cases."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        writable: bool = True,
        allow_outside: bool = False,
        sync: bool = True,
    ) -> None:
        self.root = plain(real_path(os.path.expanduser(os.fspath(root))))
        self._base = extended(self.root)
        self._stem = self._base.rstrip(os.sep)
        self.url = file_url(self.root)
        self.writable = writable
        self.allow_outside = allow_outside
        self.sync = sync
        self._lost: dict[str, tuple[str, ...]] = {}
        self._spelling_ignored: bool | None = None
        """The result of `_ignores_spelling`; None: not known yet."""

    # ------------------------------------------------------------------ paths
    def _path(self, key: str) -> str:
        """The path of the file of `key`. Raises Refused if a folder in the path is a link out of the root, or the key
        cannot be a path."""
        path = self._stem
        if not key.isascii():
            try:
                os.fsencode(key)
            except UnicodeEncodeError:
                raise Refused(f"The key {key!r} cannot be the name of a file", key=key) from None
        for name in key.split("/"):
            if self._windows:
                from zarrscope.stores.local.spelling import check_windows_name

                check_windows_name(name)
            if path is not self._stem and not self.allow_outside and is_link(path):
                self._check_link(path, key)
            path = f"{path}{os.sep}{name}"
        return path

    def _check_inside(self, path: str, key: str) -> None:
        """Raises OutsideLink when the link at `path` leads out of the root."""
        real = os.path.realpath(path)
        if real != self._base and not real.startswith(self._stem + os.sep):
            raise OutsideLink(
                f"A symbolic link leads out of the folder, to {plain(real)}",
                store=self.url,
                key=key,
                advice="If you trust it, open with --follow-links (follow_links=True), or open its target itself.",
            )

    def _check_link(self, path: str, key: str) -> None:
        """Raises OutsideLink if the link leads out of the root, and Unreadable if it is broken."""
        self._check_inside(path, key)
        if not os.path.exists(path):
            raise broken_link(path, store=self.url, key=key)

    def _need_no_broken_link(self, path: str, key: str) -> None:
        """Raises Unreadable if the value was not found because its file, or a folder in the path, is a broken link."""
        while len(path) > len(self._stem):
            try:
                found = os.lstat(path)
            except OSError:
                path = os.path.dirname(path)
                continue
            if stat.S_ISLNK(found.st_mode) and not os.path.exists(path):
                raise broken_link(path, store=self.url, key=key)
            return

    def _folder(self, prefix: str) -> str:
        """The folder of a prefix, checked as the path of a key is."""
        if not prefix:
            return self._base
        path = self._path(prefix[:-1])
        if not self.allow_outside and is_link(path):
            self._check_inside(path, prefix)
        return path

    def _listed(self, prefix: str) -> str:
        """The folder of a prefix whose content is about to be listed. Raises Unreadable if a link in its path leads
        back to a folder of the path: nodes without end would lie beneath it."""
        folder = self._folder(prefix)
        if prefix:
            from zarrscope.stores.local.links import need_an_end  # here, because opening an array needs no listing

            need_an_end(self._stem, prefix, store=self.url)
        return folder

    # ------------------------------------------------------------------ reading
    def _filter_existing(self, keys: Sequence[str]) -> Sequence[str]:
        """Removes keys at the root whose file does not exist. If the folder denies access, all keys are returned, so
        that `get` raises the error."""
        folder = self._stem + os.sep
        if _SEES_LINKS:
            found = [key for key in keys if "/" in key or os.access(folder + key, os.F_OK, follow_symlinks=False)]
        else:
            found = [key for key in keys if "/" in key or os.access(folder + key, os.F_OK)]
        return found if found or os.access(self._base, os.X_OK) else keys

    def _reader(self, arena: Arena, limit: int | None = None) -> Reader:
        from zarrscope.stores.local.read import FileReader

        return FileReader(self, arena, limit)

    def _opened(self, key: str) -> tuple[int, int] | None:
        """A handle on the file of `key`, and its size; None if there is no file. Raises Refused, Unreadable."""
        path = self._path(key)
        try:
            return self._open(path, key)
        except ZarrscopeError:
            raise
        except OSError as error:
            if error.errno in NOTHING_THERE or (error.errno in DENIED and os.path.isdir(path)) or self._too_long(key):
                if self.allow_outside or not NO_FOLLOW:
                    self._need_no_broken_link(path, key)
                return None
            if error.errno == errno.ELOOP:
                raise circular(self.url, key) from error
            raise self._failure(error, key, "read") from error

    def _get(self, key: str, part: ByteRange | None, limit: int | None = None) -> bytes | None:
        found = self._opened(key)
        if found is None:
            return None
        handle, size = found
        try:
            start, stop = (0, size) if part is None else part.span(size)
            if limit is not None and stop - start > limit:
                raise too_large(stop - start, limit).located(store=self.url, key=key)
            return self._read(handle, start, stop - start)
        except ZarrscopeError:
            raise
        except OSError as error:
            raise self._failure(error, key, "read") from error
        except (MemoryError, OverflowError) as error:
            raise Unreadable(f"The value is too large to hold in memory ({error})", store=self.url, key=key) from error
        finally:
            os.close(handle)

    def _get_many_within(
        self, requests: Sequence[Request], cancelled: Callable[[], bool], limit: int | None
    ) -> Iterator[tuple[int, Answer]]:
        return self._get_many(requests, cancelled, limit)  # `_get` keeps to the limit

    def _open(self, path: str, key: str) -> tuple[int, int] | None:
        if ".zs-" in key and any(map(is_temporary, key.split("/"))):
            return None
        try:
            handle = os.open(path, OPEN | (0 if self.allow_outside else NO_FOLLOW))
        except OSError as error:
            # NO_FOLLOW refuses every link: check where this one leads, and open its target.
            if self.allow_outside or (NO_FOLLOW and error.errno == errno.ENOENT) or not is_link(path):
                raise
            self._check_link(path, key)
            handle = os.open(path, OPEN)
        if not NO_FOLLOW and not self.allow_outside and is_link(path):
            os.close(handle)
            self._check_inside(path, key)
            handle = os.open(path, OPEN)
        found = os.fstat(handle)
        if stat.S_ISREG(found.st_mode):
            return handle, found.st_size
        os.close(handle)
        if stat.S_ISDIR(found.st_mode):
            return None
        raise no_file(self.url, key)

    def _read(self, handle: int, start: int, length: int) -> bytes:
        """Reads `length` bytes from `start`, or fewer if the file ends before."""
        if not self._positional:
            os.lseek(handle, start, os.SEEK_SET)
        pieces = []
        while length > 0:
            most = min(length, SYSTEM_CALL_BYTES)
            piece = os.pread(handle, most, start) if self._positional else os.read(handle, most)
            if not piece:
                break
            pieces.append(piece)
            start += len(piece)
            length -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _too_long(self, key: str) -> bool:
        """Whether a name in the key is too long for Windows (255 characters), which reports the same error for any
        invalid name."""
        return self._windows and any(len(name.encode("utf-16-le", "replace")) > 510 for name in key.split("/"))

    def _failure(self, error: OSError, key: str, act: str) -> ZarrscopeError:
        new = not os.path.lexists(self._path(key)) if key and act == "written" else None
        return failure(error, act, store=self.url, key=key, too_long=self._too_long(key), new=new)

    # ------------------------------------------------------------------ listing
    def _list_dir(self, prefix: str) -> Iterator[Entry]:
        for entry in self._scan(self._listed(prefix), prefix):
            yield Entry(entry.name, _is_folder(entry))

    def _list_prefix(self, prefix: str) -> Iterator[str]:
        return (key for key, is_folder, error in self._walk(prefix) if not is_folder and error is None)

    def _list_with_folders(self, prefix: str) -> Iterator[BackendEntry]:
        return self._walk(prefix, strict=True)

    def _walk(self, prefix: str, strict: bool = False) -> Iterator[BackendEntry]:
        """Lists keys and folders. A broken link is listed with an error if `strict`, and as a key otherwise; reading
        that key fails."""
        from zarrscope.stores.local.links import MOST_LINKS, need_an_end

        pending: list[tuple[str, str, tuple[tuple[int, int], ...], int]] = [(self._listed(prefix), prefix, (), 0)]
        while pending:
            folder, prefix, above, links = pending.pop()
            if links > MOST_LINKS:
                need_an_end(self._stem, prefix, store=self.url)
            try:
                found = os.stat(folder)
            except OSError as error:
                if error.errno in NOTHING_THERE:
                    self._need_no_broken_link(folder, prefix)
                    continue
                raise self._failure(error, prefix, "read") from error
            here = (found.st_dev, found.st_ino)
            if here in above:  # a link led back to a folder above: a cycle
                continue
            for entry in self._scan(folder, prefix):
                key = prefix + entry.name
                if entry.is_symlink() and not self.allow_outside:
                    try:
                        self._check_inside(entry.path, key)
                    except OutsideLink as error:
                        yield BackendEntry(key, False, error)
                        continue
                if _is_folder(entry):
                    yield BackendEntry(key, True)
                    pending.append((entry.path, key + "/", (*above, here), links + entry.is_symlink()))
                elif strict and entry.is_symlink() and not os.path.exists(entry.path):
                    yield BackendEntry(key, False, broken_link(entry.path, store=self.url, key=key))
                else:
                    yield BackendEntry(key)

    def _scan_children(
        self, prefix: str, names: Sequence[str], read: bool, limit: int | None = None
    ) -> Iterator[ScannedChild]:
        folder = self._listed(prefix)
        entries = (entry for entry in self._scan(folder, prefix) if _is_folder(entry))
        while batch := list(islice(entries, FOLDERS_AT_ONCE)):
            yield from look_into(self, folder, batch, prefix, names, read, limit)

    def _scan(self, folder: str | int, prefix: str) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not is_temporary(entry.name):
                        yield entry
        except OSError as error:
            if error.errno not in NOTHING_THERE:
                raise self._failure(error, prefix, "read") from error
            if isinstance(folder, str):
                self._need_no_broken_link(folder, prefix)

    # ------------------------------------------------------------------ writing
    def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
        from zarrscope.stores.local.write import put

        put(self, key, (value,), expect, lasting=self.sync)
        return Version.of(value)

    def _put(self, key: str, parts: Sequence[Buffer]) -> None:
        from zarrscope.stores.local.write import put

        put(self, key, parts, None, lasting=False)

    def _flush(self) -> None:
        if hasattr(os, "sync"):
            os.sync()

    def _lock_key(self, key: str) -> AbstractContextManager[object]:
        if key:
            from zarrscope.stores.local.locks import key_lock

            return key_lock(f"{self._base}{os.sep}{key}")
        from zarrscope.stores.local.changes import changing

        return changing(self)

    def _claim(self, key: str) -> AbstractContextManager[bool]:
        from zarrscope.stores.local.locks import document_lock

        return document_lock(self._path(key), on_file=self._lock_on_folder)

    def _stale_temporaries(self, prefix: str) -> Iterator[str]:
        from zarrscope.stores.local.temporaries import stale_temporaries

        for path in stale_temporaries(self._folder(prefix)):
            yield os.path.relpath(path, self._base).replace(os.sep, "/")

    def _erase(self, key: str) -> None:
        from zarrscope.stores.local.changes import erase

        erase(self, key)

    def _erase_prefix(self, prefix: str) -> None:
        from zarrscope.stores.local.changes import erase_prefix

        erase_prefix(self, prefix)

    def _size_of(self, key: str) -> int | None:
        path = self._path(key)
        try:
            found = os.stat(path)
        except OSError:
            return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def _is_gone(self) -> bool:
        return not os.path.isdir(self._base)

    def _ignores_spelling(self) -> bool:
        if self._spelling_ignored is None:
            from zarrscope.stores.local.spelling import takes_another_case

            documents = ("zarr.json", ".zgroup", ".zarray", "attributes.json", "meta")
            self._spelling_ignored = takes_another_case(self._folder(""), documents)
        return self._spelling_ignored

    def _spelled(self, key: str) -> str:
        from zarrscope.stores.local.spelling import stored_spelling

        return stored_spelling(self._folder(""), key)

    def _links(self, key: str) -> int:
        path = self._path(key)
        try:
            found = os.stat(path)
        except OSError:
            return 1
        return found.st_nlink if stat.S_ISREG(found.st_mode) else 1  # each folder is the ".." of those in it

    def _is_folder(self, key: str) -> bool:
        return os.path.isdir(self._path(key))

    def _lost_rights(self, key: str) -> tuple[str, ...]:
        return self._lost.pop(key, ())

    def _folder_of(self, prefix: str) -> str | None:
        return self._folder(prefix)

    def _can_move_prefix(self, source: Backend, prefix: str, to: str) -> bool:
        from zarrscope.stores.local.rename import movable

        folder = source._folder_of(prefix)
        return folder is not None and bool(prefix and to) and movable(folder, self._folder(to))

    def _move_prefix(self, source: Backend, prefix: str, to: str) -> None:
        from zarrscope.stores.local.rename import move_folder

        folder = source._folder_of(prefix)
        if folder is None or not prefix or not to:
            super()._move_prefix(source, prefix, to)
            return
        try:
            move_folder(folder, self._folder(to), store=self.url, prefix=to, sync=self.sync)
        except Conflict as error:
            if any(True for _ in self.list_prefix(to)):
                raise
            # Temporary files are no keys: with Unsupported the caller copies the values instead.
            raise Unsupported(
                "The target folder contains temporary files", feature="moving a folder", store=self.url, key=to
            ) from error
        source._moved_away(prefix)

    def _moved_away(self, prefix: str) -> None:
        from zarrscope.stores.local.changes import prune

        prune(self, os.path.dirname(self._folder(prefix)))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
