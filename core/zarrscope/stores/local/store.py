"""Keys as files beneath one folder (spec B "File system store", F.8, F.9).

Promises beyond store.py:
- A set is a new file beside the old one, flushed to disk, then renamed over it: a crash at any point leaves the old
  value or the new. A put is the same without the flush: a kill leaves the old value or the new, a loss of power may
  not. The file's mode, owner, group and extended attributes (access lists are among them) are kept where the system
  lets us.
- A set with `expect`, and a turn, are correct between threads and between processes that use this class (locks.py).
- A prefix is erased at once, whatever lies beneath. What killed writers leave is no key, and goes (unfinished.py).
- No key reads or writes outside the folder, not through symbolic links either, unless `allow_outside`.
- A folder, and a name beneath a file, hold no value: None. Erasing the last key of a folder removes the folder.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress

from zarrscope.errors import Conflict, ReadOnly, Refused, Unreadable, Unsupported, ZarrscopeError
from zarrscope.reader import Reader, Room
from zarrscope.store import Buffer, ByteRange, Entry, Found, Store, Version
from zarrscope.stores.folders import movable, move_folder
from zarrscope.stores.locks import folder_lock, key_turn
from zarrscope.stores.paths import file_url, real_path
from zarrscope.stores.putting import put
from zarrscope.stores.replacing import MOST, make_folders, sync_folder
from zarrscope.stores.unfinished import (
    is_left_over,
    is_link,
    is_unfinished,
    left_over_beneath,
    new_name,
    only_left_over,
    remove,
    remove_beneath,
    sweep,
)

_NOTHING_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EISDIR}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}
_OPEN = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)

_later = threading.local()
"""`paths`: what is to be removed for good when this thread's turn is over."""

_RESERVED = r"(?i)(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])(\..*)?"
_FORBIDDEN = r'[<>:"|?*\\\x00-\x1f]'


def check_windows_name(name: str) -> None:
    """Raises Refused when Windows would take `name` for a device, a drive, a stream or another file."""
    if re.fullmatch(_RESERVED, name) or re.search(_FORBIDDEN, name) or name.endswith((" ", ".")):
        raise Refused(f"Windows cannot have a file called {name!r}", advice="Choose another name.")


class LocalStore(Store):
    """The files beneath `root`, which need not exist yet.

    `allow_outside` follows symbolic links out of the folder. `sync` False leaves it to the system when values reach the
    disk, for a set as for a put.
    """

    _windows = sys.platform == "win32"
    _positional = hasattr(os, "pread")
    """The system reads at an offset in one call. Tests force the other way too."""
    _lock_on_folder = sys.platform != "win32"
    _renames_open = sys.platform != "win32"
    _nameless = True
    """The system may have files without a name. Tests force the other way too."""
    surveys = True
    _by_handle = {os.open, os.stat} <= os.supports_dir_fd and os.scandir in os.supports_fd
    """The system finds names within an open folder, not each of them from the root. Tests force the other way too."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        writable: bool = True,
        allow_outside: bool = False,
        sync: bool = True,
    ) -> None:
        self.root = real_path(os.path.expanduser(os.fspath(root)))
        self.url = file_url(self.root)
        self.writable = writable
        self.allow_outside = allow_outside
        self.sync = sync

    # ------------------------------------------------------------------ places
    def _path(self, key: str) -> str:
        """Where the file of `key` lies, all folders on the way being inside the root. Raises Refused."""
        path = self.root
        try:
            os.fsencode(key)
        except UnicodeEncodeError:
            raise Refused(f"The key {key!r} is not text that a file name can hold", key=key) from None
        for name in key.split("/"):
            if self._windows:
                check_windows_name(name)
            if path is not self.root and not self.allow_outside and is_link(path):
                self._check_inside(path, key)
            path = f"{path}{os.sep}{name}"
        return path

    def _check_inside(self, path: str, key: str) -> None:
        real = os.path.realpath(path)
        if real != self.root and not real.startswith(self.root.rstrip(os.sep) + os.sep):
            raise Refused(
                f"A symbolic link leads out of the folder, to {real}",
                store=self.url,
                key=key,
                advice="Open that place itself, or allow links to the outside when opening this one.",
            )

    def _folder(self, prefix: str) -> str:
        """The folder of a prefix, checked like any key."""
        if not prefix:
            return self.root
        path = self._path(prefix[:-1])
        if not self.allow_outside and is_link(path):
            self._check_inside(path, prefix)
        return path

    # ------------------------------------------------------------------ reading
    def likely(self, keys: Sequence[str]) -> Sequence[str]:
        """Of those at the root. Where the folder may not be searched, `get` says so."""
        folder = self.root + os.sep
        found = [key for key in keys if "/" in key or os.access(folder + key, os.F_OK)]
        return found if found or os.access(self.root, os.X_OK) else keys

    def reader(self, room: Room) -> Reader:
        from zarrscope.stores.files import FileReader

        return FileReader(self, room)

    def _opened(self, key: str) -> tuple[int, int] | None:
        """A handle on the file of `key`, and its size; None when there is none. Raises Refused, Unreadable."""
        path = self._path(key)
        try:
            return self._open(path, key)
        except OSError as error:
            if error.errno in _NOTHING_THERE or (error.errno in _DENIED and os.path.isdir(path)):
                return None
            if error.errno == errno.ELOOP:
                raise Unreadable("Symbolic links lead round in a circle", store=self.url, key=key) from error
            raise self._failure(error, key, "read") from error

    def _get(self, key: str, part: ByteRange | None) -> bytes | None:
        found = self._opened(key)
        if found is None:
            return None
        handle, size = found
        try:
            if part is None:
                return self._read(handle, 0, size)
            start, stop = part.span(size)
            return self._read(handle, start, stop - start)
        except OSError as error:
            raise self._failure(error, key, "read") from error
        except (MemoryError, OverflowError) as error:
            raise Unreadable(f"The value is too large to hold in memory ({error})", store=self.url, key=key) from error
        finally:
            os.close(handle)

    def _open(self, path: str, key: str) -> tuple[int, int] | None:
        if ".zs-" in key and any(map(is_unfinished, key.split("/"))):
            return None
        try:
            handle = os.open(path, _OPEN | (0 if self.allow_outside else _NO_FOLLOW))
        except OSError as error:
            # Where a link is not followed, one is there but "not found" is none.
            if self.allow_outside or (_NO_FOLLOW and error.errno == errno.ENOENT) or not is_link(path):
                raise
            self._check_inside(path, key)
            handle = os.open(path, _OPEN)
        if not _NO_FOLLOW and not self.allow_outside and is_link(path):
            os.close(handle)
            self._check_inside(path, key)
            handle = os.open(path, _OPEN)
        found = os.fstat(handle)
        if stat.S_ISREG(found.st_mode):
            return handle, found.st_size
        os.close(handle)
        if stat.S_ISDIR(found.st_mode):
            return None
        raise Unreadable("This is a device or a pipe, not a file", store=self.url, key=key)

    def _read(self, handle: int, start: int, length: int) -> bytes:
        """`length` bytes from `start`, fewer when the file ends before."""
        if not self._positional and start:
            os.lseek(handle, start, os.SEEK_SET)
        pieces = []
        while length > 0:
            most = min(length, MOST)
            piece = os.pread(handle, most, start) if self._positional else os.read(handle, most)
            if not piece:
                break
            pieces.append(piece)
            start += len(piece)
            length -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _failure(self, error: OSError, key: str, act: str) -> ZarrscopeError:
        reason = error.strerror or str(error)
        if error.errno in _DENIED and act != "read":
            return ReadOnly(
                f"The file could not be {act}: {reason}",
                store=self.url,
                key=key,
                advice="Nothing was changed. Ask for the right to write there, or save a copy elsewhere.",
            )
        advice = {
            errno.EACCES: "Ask the owner for the right to read it.",
            errno.EPERM: "Ask the owner for the right to read it.",
            errno.ENOSPC: "The disk is full: make room, then try again. The old value is still there.",
            errno.EDQUOT: "Your quota is used up: make room, then try again. The old value is still there.",
            errno.EIO: "The disk or the network drive reports a fault: check it, then try again.",
            errno.EMFILE: "Too many files are open: close other programs, then try again.",
            errno.ENAMETOOLONG: "Choose a shorter name.",
        }.get(error.errno or 0, "Check that the disk or network drive is connected, then try again.")
        return Unreadable(f"The file could not be {act}: {reason}", store=self.url, key=key, advice=advice)

    # ------------------------------------------------------------------ listing
    def _list_dir(self, prefix: str) -> Iterator[Entry]:
        for entry in self._scan(self._folder(prefix), prefix):
            yield Entry(entry.name, _is_folder(entry))

    def _list_prefix(self, prefix: str) -> Iterator[str]:
        pending: list[tuple[str, str, tuple[tuple[int, int], ...]]] = [(self._folder(prefix), prefix, ())]
        while pending:
            folder, prefix, above = pending.pop()
            try:
                found = os.stat(folder)
            except OSError as error:
                if error.errno in _NOTHING_THERE:
                    continue
                raise self._failure(error, prefix, "read") from error
            here = (found.st_dev, found.st_ino)
            if here in above:  # a link leads back to a folder that we are within
                continue
            for entry in self._scan(folder, prefix):
                key = prefix + entry.name
                if entry.is_symlink() and not self.allow_outside:
                    try:
                        self._check_inside(entry.path, key)
                    except Refused:
                        continue
                if _is_folder(entry):
                    pending.append((entry.path, key + "/", (*above, here)))
                else:
                    yield key

    def _survey(self, prefix: str, names: Sequence[str], read: bool) -> Iterator[Found]:
        """One pass over the folder: what lies in it is asked of the system directly, without a walk down each key.

        A link on the way, or anything but a plain file at the end, is left to `get`, which knows what may be read.
        """
        plain = bool(_NO_FOLLOW) and not self._windows
        folder, at = self._folder(prefix), None
        if plain and self._by_handle:
            with suppress(OSError):  # the scan says why
                at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for entry in self._scan(folder if at is None else at, prefix):
                if _is_folder(entry):
                    yield self._looked_into(entry, at, not plain or entry.is_symlink(), prefix, names, read)
        finally:
            if at is not None:
                os.close(at)

    def _looked_into(
        self, entry: os.DirEntry[str], at: int | None, link: bool, prefix: str, names: Sequence[str], read: bool
    ) -> Found:
        """`at`: the folder that the entry's path begins in."""
        value: ZarrscopeError | None = None
        for name in names:
            answer = None if link else self._glimpse(f"{entry.path}/{name}", at, read)
            if answer is False:
                continue
            if answer is None:
                key = f"{prefix}{entry.name}/{name}"
                try:
                    answer = self.get(key, None if read else ByteRange(0, 1))
                except ZarrscopeError as error:
                    value = error.located(store=self.url, key=key)
                    continue
                if answer is None:
                    continue
            return Found(entry.name, name, answer if read and isinstance(answer, bytes) else None)
        return Found(entry.name, None, value)

    def _glimpse(self, path: str, at: int | None, read: bool) -> bytes | bool | None:
        """The value of a plain file (True where it is not to be read), False where there is none, None: ask `get`."""
        try:
            if not read:
                found = os.stat(path, dir_fd=at, follow_symlinks=False)
                return True if stat.S_ISREG(found.st_mode) else None
            handle = os.open(path, _OPEN | _NO_FOLLOW, dir_fd=at)
            try:
                found = os.fstat(handle)
                return self._read(handle, 0, found.st_size) if stat.S_ISREG(found.st_mode) else None
            finally:
                os.close(handle)
        except FileNotFoundError:
            return False
        except (OSError, MemoryError, OverflowError):
            return None

    def _scan(self, folder: str | int, prefix: str) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not is_unfinished(entry.name):
                        yield entry
        except OSError as error:
            if error.errno not in _NOTHING_THERE:
                raise self._failure(error, prefix, "read") from error

    # ------------------------------------------------------------------ writing
    def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
        put(self, key, (value,), expect, lasting=self.sync)
        return Version.of(value)

    def _put(self, key: str, parts: Sequence[Buffer]) -> None:
        put(self, key, parts, None, lasting=False)

    def _flush(self) -> None:
        if hasattr(os, "sync"):
            os.sync()

    def _turn(self, key: str) -> AbstractContextManager[object]:
        return key_turn(f"{self.root}{os.sep}{key}") if key else self._changing()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """The turn of those who change which nodes there are. What they remove is removed for good when it is over:
        that may take long."""
        with ExitStack() as held:
            made = self._enter(held)
            outer: list[str] | None = getattr(_later, "paths", None)
            if outer is None:
                _later.paths = []
            try:
                yield
            finally:
                if made:  # where nothing was stored after all, no folder stays
                    folder = self.root
                    with suppress(OSError):
                        for _ in made:
                            os.rmdir(folder)
                            folder = os.path.dirname(folder)
                held.close()
                if outer is None:
                    paths, _later.paths = _later.paths, None
                    for path in paths:
                        remove(path)

    def _enter(self, held: ExitStack) -> list[str]:
        """Takes the lock of the root, which is made where it is missing; what make_folders gave then."""
        for attempt in range(20):
            try:
                made = make_folders(self.root)
                held.enter_context(folder_lock(self.root, on_folder=self._lock_on_folder))
                return made
            except OSError as error:
                # Somebody whose turn ended removed the folder again that he had made.
                if not isinstance(error, FileNotFoundError) or attempt == 19:
                    raise self._failure(error, "", "written") from error
        raise AssertionError("unreachable")

    def _left_over(self, prefix: str) -> Iterator[str]:
        for path in left_over_beneath(self._folder(prefix)):
            yield os.path.relpath(path, self.root).replace(os.sep, "/")

    def _erase(self, key: str) -> None:
        path = self._path(key)
        if is_unfinished(os.path.basename(path)):
            return
        folder = os.path.dirname(path)
        try:
            with folder_lock(folder, on_folder=self._lock_on_folder, shared=True):
                if os.path.isdir(path) and not is_link(path):
                    return
                os.unlink(path)
        except OSError as error:
            if error.errno in _NOTHING_THERE:
                return
            raise self._failure(error, key, "removed") from error
        self._prune(folder)

    def _erase_prefix(self, prefix: str) -> None:
        folder = self._folder(prefix)
        try:
            if prefix and is_link(folder):
                os.unlink(folder)
            elif prefix:
                self._remove_folder(folder)
            else:
                with os.scandir(folder) as entries:
                    for entry in list(entries):
                        if entry.is_dir(follow_symlinks=False) and not is_unfinished(entry.name):
                            self._remove_folder(entry.path)
                        elif not is_unfinished(entry.name) or is_left_over(entry.path):
                            remove(entry.path)
        except OSError as error:
            if error.errno not in _NOTHING_THERE:
                raise self._failure(error, prefix, "removed") from error
        self._prune(os.path.dirname(folder) if prefix else folder)

    def _remove_folder(self, folder: str) -> None:
        """Removes a folder so that all of it is gone at once: it is renamed first, to where nobody looks.

        Not beside itself: others take every folder beside a node for a node.
        """
        if not os.path.isdir(folder):
            return
        sweep(self.root)
        aside = new_name(self.root)
        try:
            os.mkdir(aside)
            os.rename(folder, os.path.join(aside, "removed"))
        except OSError:  # it may not be renamed, or lies on another disk: file by file then
            with suppress(OSError):
                os.rmdir(aside)
            remove_beneath(folder)
            with suppress(OSError):
                os.rmdir(folder)
            return
        if self.sync:
            sync_folder(os.path.dirname(folder))
        later: list[str] | None = getattr(_later, "paths", None)
        if later is None:
            remove(aside)
        else:
            later.append(aside)

    def _size_of(self, key: str) -> int | None:
        try:
            found = os.stat(self._path(key))
        except OSError:
            return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def _folder_of(self, prefix: str) -> str | None:
        return self._folder(prefix)

    def _can_move_prefix(self, source: Store, prefix: str, to: str) -> bool:
        folder = source._folder_of(prefix)
        return folder is not None and bool(prefix and to) and movable(folder, self._folder(to))

    def _move_prefix(self, source: Store, prefix: str, to: str) -> None:
        folder = source._folder_of(prefix)
        if folder is None or not prefix or not to:
            super()._move_prefix(source, prefix, to)
            return
        try:
            move_folder(folder, self._folder(to), store=self.url, prefix=to, sync=self.sync)
        except Conflict as error:
            if any(True for _ in self.list_prefix(to)):
                raise
            # What a killed writer left there, or somebody just begins: to copy the values does not mind it.
            raise Unsupported(
                "Something unfinished lies there", feature="moving a folder", store=self.url, key=to
            ) from error
        source._moved_away(prefix)

    def _moved_away(self, prefix: str) -> None:
        self._prune(os.path.dirname(self._folder(prefix)))

    def _prune(self, folder: str) -> None:
        """Removes folders that became empty, upward, but never the root."""
        while folder != self.root and folder.startswith(self.root.rstrip(os.sep) + os.sep):
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                pass
            except OSError:
                if not only_left_over(folder):
                    return
                continue
            folder = os.path.dirname(folder)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
