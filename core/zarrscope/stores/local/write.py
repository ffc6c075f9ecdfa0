"""How a value comes to be stored in a file at once: whoever reads finds the old value or the new, whole.

Where the system can, a new file has no name until it is whole (linux.py); else it has an unfinished one
(unfinished.py) and is renamed. Only who takes the name of an old file, or expects something, needs the folder's lock.
LocalStore says which file a key is; the steps are in replacing.py.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from zarrscope.errors import ReadOnly, Refused
from zarrscope.store import ABSENT, Buffer, Version
from zarrscope.stores.linux import nameless
from zarrscope.stores.locks import folder_lock, mark
from zarrscope.stores.replacing import keep, make_folders, rename_over, sync_folder, write
from zarrscope.stores.unfinished import begin, is_link, is_unfinished, new_name, sweep

if TYPE_CHECKING:
    from zarrscope.stores.local import LocalStore

_NO_NAMELESS = {-errno.EOPNOTSUPP, -errno.EISDIR, -errno.EINVAL}
"""What file systems say that have no files without a name."""


def put(store: LocalStore, key: str, parts: Sequence[Buffer], expect: Version | None, lasting: bool) -> None:
    """Stores the parts, one after the other, as the value of `key`; `lasting`: on return the disk has it.

    Raises Conflict (not what is expected is stored), Refused, ReadOnly, Unreadable.
    """
    if expect is None and not lasting and _store_nameless(store, key, parts):
        return
    path = _target(store, key)
    for attempt in range(20):
        try:
            _replace(store, path, key, parts, expect, lasting)
            return
        except FileNotFoundError as error:
            # An erase in another thread or process pruned the folder that we had just made.
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


def _target(store: LocalStore, key: str) -> str:
    """The file to write: that of `key`, or the one inside the root that a symbolic link there names."""
    path = store._path(key)
    if ".zs-" in key and any(map(is_unfinished, key.split("/"))):
        raise Refused("Names like this one mark unfinished files", store=store.url, key=key)
    if is_link(path):
        if not store.allow_outside:
            store._check_inside(path, key)
        return os.path.realpath(path)
    return path


def _store_nameless(store: LocalStore, key: str, parts: Sequence[Buffer]) -> bool:
    """Stores a value in a file that has no name until it is whole; False where that could not be done.

    Whatever the reason, a link on the way among others, the longer way finds it again and says it.
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
            store._path(key)  # nothing is made where links lead
            make_folders(folder)
            handle = make(place)
        if handle < 0:
            store._nameless = handle not in _NO_NAMELESS
            return False
        try:
            write(handle, parts)
            # No lock for a name that nothing has: those who hold one compare with what they found there.
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
    except (OSError, UnicodeEncodeError):
        return False


def _replace(
    store: LocalStore, path: str, key: str, parts: Sequence[Buffer], expect: Version | None, lasting: bool
) -> None:
    folder = os.path.dirname(path)
    sweep(folder)
    made: list[str] = []
    try:
        unfinished, handle = begin(folder)
    except FileNotFoundError:
        made = make_folders(folder)
        unfinished, handle = begin(folder)
    with _gone_on_failure(unfinished):
        try:
            write(handle, parts)
            if lasting:
                os.fsync(handle)
            if not store._renames_open:
                os.close(handle)
                handle = -1
            _supersede(store, unfinished, path, key, expect)
        finally:
            if handle >= 0:
                os.close(handle)
    if lasting:
        for each in (folder, *made):
            sync_folder(each)


def _supersede(store: LocalStore, unfinished: str, path: str, key: str, expect: Version | None) -> None:
    """Gives the new file the name that the old one has, if there is one, and what else that had."""
    # Writers who expect nothing may share the folder: only those who compare first must be alone.
    with folder_lock(os.path.dirname(path), on_folder=store._lock_on_folder, shared=expect is None):
        old = _stored(store, path, key, expect)
        if old is not None:
            keep(old, path, unfinished)
        if old is None and expect == ABSENT:
            _create(store, unfinished, path, key)
        else:
            rename_over(unfinished, path)


def _stored(store: LocalStore, path: str, key: str, expect: Version | None) -> os.stat_result | None:
    """What is stored now, after comparing it with what is expected. Raises Conflict, ReadOnly."""
    if expect is not None:
        value = store._get(key, None)
        store._expect(key, expect, None if value is None else (value, Version.of(value)))
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
            advice="Nothing was changed. Remove the protection, or save a copy elsewhere.",
        )
    return old


def _create(store: LocalStore, unfinished: str, path: str, key: str) -> None:
    """Gives the new file its name only if nothing has it: across hosts as well, where the file system can."""
    try:
        os.link(unfinished, path)
    except FileExistsError:
        store._expect(key, ABSENT, (store._get(key, None) or b"", Version("theirs")))
        raise
    except OSError:  # the file system has no links, and so no file without a name that could be given one
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
