"""Stores a value in a file atomically: a reader finds the complete old value or the complete new one.

If the system supports it, a new file has no name until it is complete (linux.py); otherwise it gets a temporary name
(temporaries.py) and is renamed. The folder's lock is held only for replacing an old file, or if a version is expected.
replace.py has the single steps.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from zarrscope.errors import Conflict, OutsideLink, ReadOnly, Refused, ZarrscopeError
from zarrscope.model.storage import ABSENT, Buffer, ByteRange, Version
from zarrscope.runtime.tuning import FILE_PIECE_BYTES
from zarrscope.stores.local.exchange import Changed, replace_expected
from zarrscope.stores.local.failures import UNPROTECT
from zarrscope.stores.local.linux import nameless
from zarrscope.stores.local.locks import folder_lock, mark
from zarrscope.stores.local.names import is_link, is_temporary
from zarrscope.stores.local.replace import flush, keep, make_folders, remove_made, rename_over, sync_folder, write
from zarrscope.stores.local.spelling import ONE_NAME, check_spelling
from zarrscope.stores.local.temporaries import begin, new_name, sweep

if TYPE_CHECKING:
    from .folder import Folder

MOST_TOLD = 64 << 20
"""The most bytes of another writer's value that a Conflict contains."""
ATTEMPTS = 3
"""The most attempts to replace a file that has the expected content, but that another program touches or has open."""
_NO_NAMELESS = {-errno.EOPNOTSUPP, -errno.EISDIR, -errno.EINVAL}
"""Errors of file systems that do not support files without a name."""


def put(store: Folder, key: str, parts: Sequence[Buffer], expect: Version | None, lasting: bool) -> None:
    """Stores the concatenated parts as the value of `key`. With `lasting` it waits until the value is on disk.

    Raises Conflict (the stored value is not the expected one), Refused, ReadOnly, Unreadable.
    """
    made: list[str] = []
    try:
        if expect is None and not lasting and _store_nameless(store, key, parts, made):
            return
        _put(store, key, parts, expect, lasting, made)
    except BaseException:
        remove_made(made)
        raise


def _put(
    store: Folder, key: str, parts: Sequence[Buffer], expect: Version | None, lasting: bool, made: list[str]
) -> None:
    """Like `put`, for a file that has a temporary name first. `made` gets the folders that are made, the innermost
    first."""
    path = _target(store, key)
    for attempt in range(20):
        try:
            _replace(store, path, key, parts, expect, lasting, made)
            return
        except ZarrscopeError:
            raise
        except FileNotFoundError as error:
            # Another thread or process erased a value, and removed the folder that this one had just made.
            if attempt == 19:
                raise store._failure(error, key, "written") from error
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise Refused(
                "A file and a folder cannot have the same name"
                if os.path.isdir(path)
                else "A folder of this key is a file",
                store=store.url,
                key=key,
                advice="Choose another name.",
            ) from error
        except OSError as error:
            raise store._failure(error, key, "written") from error


def _target(store: Folder, key: str) -> str:
    """The path of the file to write: that of `key`, or if that is a symbolic link, the target of the link.

    If the link leads out of the root, and `allow_outside` permits it, the link itself is replaced by a file, and its
    target stays as it is (as with git annex unlock): other links may lead to the same target, and an object of
    git-annex must not change.
    """
    path = store._path(key)
    if ".zs-" in key and any(map(is_temporary, key.split("/"))):
        raise Refused("Names of this form are reserved for temporary files", store=store.url, key=key)
    if ONE_NAME:
        check_spelling(path, key.count("/") + 1, store=store.url, key=key)
    if is_link(path):
        try:
            store._check_inside(path, key)
        except OutsideLink:
            if not store.allow_outside:
                raise
            return path
        return os.path.realpath(path)
    return path


def _store_nameless(store: Folder, key: str, parts: Sequence[Buffer], made: list[str]) -> bool:
    """Stores a value in a file that has no name until it is complete. Returns False if that is not possible. `made`
    gets the folders that are made, the innermost first.

    The reason, such as a link in the path, is not examined: `_replace` is tried next, and raises the error if it fails
    too.
    """
    ways = nameless() if store._nameless and not store.allow_outside else None
    if ways is None or ".zs-" in key:
        return False
    make, give = ways
    folder, _, name = key.rpartition("/")
    folder = f"{store.root}/{folder}" if folder else store.root
    path = f"{folder}/{name}"
    try:
        sweep(folder)
        place = os.fsencode(folder)
        handle = make(place)
        if handle == -errno.ENOENT:
            store._path(key)  # raises before a folder is made at the target of a link
            made[:0] = make_folders(folder)
            handle = make(place)
        if handle < 0:
            store._nameless = handle not in _NO_NAMELESS
            return False
        try:
            write(handle, parts)
            # Creating a file needs no lock: a writer that holds the lock compares with a file that exists already.
            error = give(handle, os.fsencode(path))
            if error != errno.EEXIST or is_link(path):
                return not error
            mark(handle)
            unfinished = new_name(folder)
            if give(handle, os.fsencode(unfinished)):
                return False
            with _gone_on_failure(unfinished):
                _supersede(store, unfinished, path, key, None)
            return True
        finally:
            os.close(handle)
    except ZarrscopeError:
        raise
    except (OSError, UnicodeEncodeError):
        return False


def _replace(
    store: Folder,
    path: str,
    key: str,
    parts: Sequence[Buffer],
    expect: Version | None,
    lasting: bool,
    made: list[str],
) -> None:
    folder = os.path.dirname(path)
    sweep(folder)
    try:
        unfinished, handle = begin(folder)
    except FileNotFoundError:
        if expect is not None:  # a hierarchy that was moved away gets no new, empty folder in its former place
            _expected(store, key, expect)
        made[:0] = make_folders(folder)
        unfinished, handle = begin(folder)
    with _gone_on_failure(unfinished):
        try:
            write(handle, parts)
            if lasting:
                flush(handle)
            if not store._renames_open:
                os.close(handle)
                handle = -1
            _supersede(store, unfinished, path, key, expect)
        finally:
            if handle >= 0:
                os.close(handle)
    if lasting:
        for each in dict.fromkeys((folder, *map(os.path.dirname, made))):
            sync_folder(each)


def _supersede(store: Folder, unfinished: str, path: str, key: str, expect: Version | None) -> None:
    """Renames the new file `unfinished` to `path`, and gives it the mode and owner of the file that it replaces."""
    # Writers without `expect` may share the lock; a writer that compares first must hold it alone.
    with folder_lock(os.path.dirname(path), on_folder=store._lock_on_folder, shared=expect is None, key=key):
        for _ in range(ATTEMPTS):
            if is_link(path):  # a link out of the root: `_target` followed all others
                _expected(store, key, expect)
                rename_over(unfinished, path)
                return
            old = _old(store, path, key)
            found = _expected(store, key, expect)
            if old is not None:
                lost = keep(old, path, unfinished)
                if lost and expect is not None:  # a document; chunks may be millions
                    store._lost[key] = lost
            if old is None and expect == ABSENT:
                _create(store, unfinished, path, key)
            elif found is None:
                rename_over(unfinished, path)
            elif old is not None:
                try:
                    replace_expected(unfinished, path, old, found, exchanges=store._exchanges)
                except Changed:
                    continue
            else:  # the file appeared meanwhile
                continue
            return
    raise Conflict(
        "Another program has the file open for writing, or keeps replacing it",
        store=store.url,
        key=key,
        advice="Nothing was changed. Close the file in that program, then save again.",
    )


def _expected(store: Folder, key: str, expect: Version | None) -> Version | None:
    """The stored version, if it is the expected one; None if no value is stored or `expect` is None. Raises Conflict.

    The value is read piece by piece, because it may be larger than the memory."""
    if expect is None:
        return None
    version = None if (opened := store._opened(key)) is None else _version_of(store, *opened, expect)
    if version != (None if expect == ABSENT else expect):
        theirs = None if version is None else store._get(key, ByteRange(0, MOST_TOLD)) or b""
        store._expect(key, expect, None if theirs is None or version is None else (theirs, version))
    return version


def _version_of(store: Folder, handle: int, size: int, expect: Version) -> Version:
    try:
        if expect == ABSENT or not expect.may_have(size):
            return Version("theirs")
        return Version.of_pieces(lambda at: store._read(handle, at, FILE_PIECE_BYTES))
    finally:
        os.close(handle)


def _old(store: Folder, path: str, key: str) -> os.stat_result | None:
    """The stat of the file to replace; None if no file exists. Raises ReadOnly, IsADirectoryError."""
    try:
        old = os.stat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not os.access(path, os.W_OK):
        raise ReadOnly(
            "The file is write-protected",
            store=store.url,
            key=key,
            advice=f"Nothing was changed. {UNPROTECT}, or save a copy elsewhere.",
        )
    return old


def _create(store: Folder, unfinished: str, path: str, key: str) -> None:
    """Gives the new file its name only if no file has that name. On network file systems with hard links this also
    excludes writers on other computers."""
    try:
        os.link(unfinished, path)
    except FileExistsError:
        store._expect(key, ABSENT, (store._get(key, ByteRange(0, MOST_TOLD)) or b"", Version("theirs")))
        raise
    except OSError:  # this file system has no hard links
        rename_over(unfinished, path)
    else:
        os.unlink(unfinished)


@contextmanager
def _gone_on_failure(unfinished: str) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished)
        raise
