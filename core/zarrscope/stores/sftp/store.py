"""sftp://[user@]host[:port]/path: the files beneath a folder of another machine, by SFTP.

One connection serves all stores of a login, with up to eight parallel channels (connection.py). A value is read through
one handle of its file, so a reader gets the same value even if another one is stored meanwhile. A value is written to a
temporary file, which is then renamed: a reader finds the complete old value or the complete new one.

A set with `expect` that replaces a value first creates a lock file beside it, so that writers of zarrscope by SFTP
exclude one another. A set that expects no value uses the server's own rename, which replaces no file. Programs that
write in other ways are not excluded: their changes between the comparison and the rename may be lost.

Symbolic links are followed; listings end at those that make a hierarchy endless, as in local/links.py.
`sftp://host/~/data` is a folder in the home of the user.
"""

from __future__ import annotations

import asyncio
import queue
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future
from concurrent.futures import wait as wait_for
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

from zarrscope.errors import Conflict, Refused, Unreadable, ZarrscopeError
from zarrscope.errors.confidential import conceal, public_options
from zarrscope.model.storage import ABSENT, Buffer, ByteRange, Entry, Version
from zarrscope.runtime.answers import AnswerQueue
from zarrscope.runtime.interrupts import LOOK_SECONDS, check
from zarrscope.runtime.tuning import SFTP_CHANNELS, SFTP_REMOVED_AT_ONCE
from zarrscope.runtime.waits import waiting
from zarrscope.stores.local.links import MANY, endless, no_end
from zarrscope.stores.local.names import is_temporary
from zarrscope.stores.local.temporaries import new_name
from zarrscope.stores.network import CHANCE, network, others
from zarrscope.stores.registry import Mode, StoreOptions
from zarrscope.stores.remote import RemoteStore
from zarrscope.stores.sftp import files
from zarrscope.stores.sftp.connection import shared
from zarrscope.stores.sftp.login import login_of
from zarrscope.stores.store import Store
from zarrscope.stores.whole_address import whole_address

if TYPE_CHECKING:
    from paramiko import SFTPAttributes, SFTPClient

T = TypeVar("T")


class SFTPStore(RemoteStore):
    """The files beneath sftp://[user@]host[:port]/path. The store connects when it is first used, and again after
    `close`.

    The options are those of network.Network and of login.py. Raises Refused for an unknown option.
    """

    listable = True

    def __init__(self, url: str, *, writable: bool = False, **options: Any) -> None:
        super().__init__(network(options))
        conceal(options)
        self.url = url.rstrip("/")
        self.writable = writable
        # key_filename is only the path of a private key, which is not confidential
        keys = {"key_filename": options["key_filename"]} if "key_filename" in options else {}
        self._public_options = {**public_options(others(options)), **keys, "writable": writable}
        path = url.partition("://")[2].partition("/")[2].strip("/")
        home = path == "~" or path.startswith("~/")
        self._root = path[2:] or "." if home else f"/{path}".rstrip("/")
        self._login = login_of(whole_address(url), others(options))
        self._linked: set[str] = set()
        """The prefixes of links to folders that were seen in listings."""
        self._folders: set[str] = set()
        """The keys at which the last read found a folder."""
        self._join()

    def _join(self) -> None:
        self._connection = shared(self._login, self.network)
        self._connection.users.add(self)

    def close(self) -> None:
        """Closes the connection if no other store uses it; the next request opens it again."""
        self._connection.leave(self)

    def _path(self, key: str) -> str:
        return f"{self._root}/{key}" if key else self._root or "/"

    # ------------------------------------------------------------------ requests
    def _submit(self, act: Callable[[SFTPClient], T], repeat: Callable[[], bool] = lambda: True) -> Future[T]:
        if self not in self._connection.users:
            self._join()
        return self._connection.submit(act, repeat)

    def _do(self, act: Callable[[SFTPClient], T], key: str, what: str, repeat: Callable[[], bool] = lambda: True) -> T:
        """Runs `act` for `key`, and returns its result. Its errors are raised as zarrscope's, with the message that the
        value could not be read, written, listed or removed (`what`)."""
        future = self._submit(act, repeat)
        try:
            return self._result(future, key, what)
        finally:
            future.cancel()

    def _result(self, future: Future[T], key: str, what: str) -> T:
        with waiting():
            while not wait_for([future], LOOK_SECONDS).done:
                check()  # lets the user interrupt, because the server may never answer
        try:
            return future.result()
        except ZarrscopeError as error:
            raise error.located(store=self.url, key=key or None) from error.__cause__
        except (OSError, UnicodeError) as error:
            raise self._failed(error, what, key) from error

    def _failed(self, error: OSError | UnicodeError, what: str, key: str) -> ZarrscopeError:
        if isinstance(error, UnicodeError):
            return Refused(
                "Names on this server must be in UTF-8", store=self.url, key=key, advice="Choose another name."
            )
        return files.failure(error, what).located(store=self.url, key=key or None)

    # ------------------------------------------------------------------ reading
    async def _fetch(self, key: str, part: ByteRange | None, limit: int | None) -> bytes | None:
        path = self._path(key)
        try:
            value, folder = await asyncio.wrap_future(
                self._submit(lambda channel: files.read(channel, path, part, limit))
            )
            (self._folders.add if folder else self._folders.discard)(key)
            return value
        except ZarrscopeError:
            raise
        except (OSError, UnicodeError) as error:
            raise self._failed(error, "read", key) from error

    async def _ask_for_nothing(self, key: str) -> bool:
        return False

    def _hides(self, of_nothing: object) -> bool:
        return False

    async def _readable(self, key: str) -> bool:
        return await asyncio.wrap_future(self._submit(lambda channel: files.size(channel, self._path(key)))) is not None

    def size(self, key: str) -> int | None:
        return self._do(lambda channel: files.size(channel, self._path(key)), key, "read")

    def _size_of(self, key: str) -> int | None:
        return self.size(key)

    def read_end(self, key: str, length: int) -> tuple[bytes, int] | None:
        def act(channel: SFTPClient) -> tuple[bytes, int] | None:
            found = files.read_sized(channel, self._path(key), lambda size: (max(0, size - length), size), length)
            return None if found is None or found[0] is None else (found[0], found[1])

        return self._do(act, key, "read")

    def _is_folder(self, key: str) -> bool:
        return key in self._folders  # an absent document was read before, so that nothing has to be requested

    # ------------------------------------------------------------------ listing
    def _list_dir(self, prefix: str) -> Iterator[Entry]:
        """Yields the names of one level. The targets of links are requested in parallel."""
        if message := self._endless(prefix):
            raise no_end(message, store=self.url, key=prefix)
        for some in self._levels(prefix):
            links = []
            for each in some:
                found = files.entry(each)
                if found is not None:
                    yield found
                else:
                    links.append(each.filename)
            yield from self._followed(prefix, links)

    def _levels(self, prefix: str) -> Iterator[list[SFTPAttributes]]:
        path = self._path(prefix.rstrip("/"))
        told: AnswerQueue[list[SFTPAttributes]] = AnswerQueue()
        begun: list[bool] = []
        left: list[bool] = []

        def tell(some: list[SFTPAttributes]) -> bool:
            begun.append(True)
            told.put(some)
            return not left

        future = self._submit(lambda channel: files.list_level(channel, path, tell), lambda: not begun)
        try:
            while not (future.done() and told.empty()):
                check()
                try:
                    yield told.get(timeout=0 if future.done() else LOOK_SECONDS)
                except queue.Empty:
                    continue
            self._result(future, prefix, "listed")
        finally:
            left.append(True)
            future.cancel()

    def _followed(self, prefix: str, names: Sequence[str]) -> Iterator[Entry]:
        """The entries for the links `names`, by their targets. A broken link is listed as a value; reading it raises an
        error that says so."""
        asked = [self._submit(partial(files.look, path=self._path(prefix + name))) for name in names]
        try:
            for name, future in zip(names, asked, strict=True):
                found = self._result(future, prefix + name, "listed")
                folder = found is not None and stat.S_ISDIR(found.st_mode)
                if folder:
                    self._linked.add(f"{prefix}{name}/")
                yield Entry(name, folder, None if folder or found is None else found.st_size)
        finally:
            for future in asked:
                future.cancel()

    def _endless(self, prefix: str) -> str:
        """The message of local/links.py if listing this folder would not end. Only listings show links, so nothing is
        requested for folders of which no folder above was listed as one."""
        names = prefix.split("/")[:-1] if self._linked else ()
        if not any("/".join(names[: n + 1]) + "/" in self._linked for n in range(len(names))):
            return ""

        def act(channel: SFTPClient) -> str:
            def real(path: str) -> str:
                return channel.normalize(path) or path

            return endless(real(self._root or "/"), prefix, real, lambda _, each: each in self._linked, "/")

        return self._do(act, prefix, "listed")

    def _list_prefix(self, prefix: str) -> Iterator[str]:
        if message := self._endless(prefix):
            raise no_end(message, store=self.url, key=prefix)
        return self._list_all(prefix)

    def _list_all(self, prefix: str, follow: bool = True) -> Iterator[str]:
        """Yields all keys beneath a prefix; it lists several folders in parallel. Links to folders are followed, but
        not back to a folder above; without `follow` their own names are yielded."""
        waiting = [prefix]
        running: dict[Future[list[SFTPAttributes]], str] = {}
        try:
            while waiting or running:
                while waiting and len(running) < SFTP_CHANNELS:
                    folder = waiting.pop()
                    running[self._submit(self._whole_level(folder))] = folder
                done, _ = wait_for([*running], LOOK_SECONDS, FIRST_COMPLETED)
                check()
                for future in done:
                    folder = running.pop(future)
                    level = self._result(future, folder, "listed")
                    links = [each.filename for each in level if files.entry(each) is None]
                    entries = [found for each in level if (found := files.entry(each)) is not None]
                    for found in (*entries, *self._followed(folder, links)):
                        key = folder + found.name
                        if not found.is_prefix or (found.name in links and not follow):
                            yield key
                        elif (message := self._endless(f"{key}/") if follow else "") == MANY:
                            raise no_end(message, store=self.url, key=f"{key}/")
                        elif not message:
                            waiting.append(f"{key}/")
        finally:
            for future in running:
                future.cancel()

    def _whole_level(self, folder: str) -> Callable[[SFTPClient], list[SFTPAttributes]]:
        path = self._path(folder.rstrip("/"))

        def act(channel: SFTPClient) -> list[SFTPAttributes]:
            found: list[SFTPAttributes] = []

            def tell(some: list[SFTPAttributes]) -> bool:
                found.extend(some)
                return True

            files.list_level(channel, path, tell)
            return found

        return act

    # ------------------------------------------------------------------ writing
    def _unfinished(self, key: str) -> str:
        """The path of a new temporary file in the folder of a value."""
        if ".zs-" in key and any(map(is_temporary, key.split("/"))):
            raise Refused("Names of this form are reserved for temporary files", store=self.url, key=key)
        return self._path(key).rpartition("/")[0] + "/" + new_name("")[1:]

    def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
        if expect is None:
            self._put(key, (value,))
        else:
            with self._lock_key(key):
                self._set_expected(key, value, expect)
        return Version.of(value)

    def _put(self, key: str, parts: Sequence[Buffer]) -> None:
        path, unfinished = self._path(key), self._unfinished(key)

        def act(channel: SFTPClient) -> None:
            with files.discarded_on_failure(channel, unfinished):
                files.supersede(channel, unfinished, path, files.write_new(channel, unfinished, parts))

        self._do(act, key, "written")

    def _set_expected(self, key: str, value: bytes, expect: Version) -> None:
        path, unfinished = self._path(key), self._unfinished(key)

        def write(channel: SFTPClient) -> SFTPAttributes:
            with files.discarded_on_failure(channel, unfinished):
                return files.write_new(channel, unfinished, (value,))

        written = self._do(write, key, "written")
        done = False
        try:
            if expect == ABSENT:
                if self._rename(key, unfinished, lambda channel: files.create(channel, unfinished, path)) is False:
                    self._expect(key, expect, self._get_versioned(key) or (b"", Version("gone by now")))
            else:
                with self._marked(key, float(written.st_mtime)):
                    self._expect(key, expect, self._get_versioned(key))
                    self._rename(key, unfinished, lambda channel: files.supersede(channel, unfinished, path, written))
            done = True
        finally:
            if not done:
                with suppress(ZarrscopeError):
                    self._do(lambda channel: files.discard(channel, unfinished), key, "removed")

    def _rename(self, key: str, unfinished: str, act: Callable[[SFTPClient], T]) -> T | None:
        """Runs the rename `act` once. If the connection breaks meanwhile, and the unfinished file does not exist any
        more, the rename succeeded: returns None. Otherwise raises the error."""
        try:
            return self._do(act, key, "written", lambda: False)
        except Unreadable:
            if self._do(lambda channel: files.look(channel, unfinished), key, "written") is not None:
                raise
            return None

    @property
    def _renames_within(self) -> bool:
        return True

    def _rename_within(self, keys: Sequence[tuple[str, str]], prefixes: Sequence[tuple[str, str]]) -> bool:
        if keys or len(prefixes) != 1:
            return False
        old, new = (self._path(prefix.rstrip("/")) for prefix in prefixes[0])
        self._rename(prefixes[0][0].rstrip("/"), old, lambda channel: channel.rename(old, new))
        return True

    @contextmanager
    def _marked(self, key: str, now: float) -> Iterator[None]:
        """A context in which this writer has the lock file of a value: other writers of zarrscope by SFTP that expect a
        version of that value wait. `now`: the time by the server's clock."""
        path = self._path(key)
        folder, _, name = path.rpartition("/")
        mark = f"{folder}/.zs-{sha256(name.encode()).hexdigest()[:16]}.partial"
        begun = time.monotonic()
        while not self._do(lambda channel: files.mark(channel, mark, now + time.monotonic() - begun), key, "written"):
            check()
            if time.monotonic() - begun > self.network.patience + files.MARK_SECONDS:
                raise Conflict(
                    "Another program keeps writing the same value",
                    store=self.url,
                    key=key,
                    theirs=None,
                    advice="Nothing was changed. Try again later.",
                )
            time.sleep(CHANCE.uniform(0.01, 0.05))
        try:
            yield
        finally:
            self._do(lambda channel: files.discard(channel, mark), key, "removed")

    def _erase(self, key: str) -> None:
        self._erased([key])

    def _erase_prefix(self, prefix: str) -> None:
        """Removes links to folders, not the values behind them."""
        folder = prefix.rstrip("/")
        found = self._do(lambda channel: files.look(channel, self._path(folder), follow=False), prefix, "removed")
        linked = folder and found is not None and stat.S_ISLNK(found.st_mode)
        keys = [folder] if linked else [*self._list_all(prefix, follow=False)]
        for i in range(0, len(keys), SFTP_REMOVED_AT_ONCE):
            self._erased(keys[i : i + SFTP_REMOVED_AT_ONCE])

    def _erased(self, keys: Sequence[str]) -> None:
        asked = [self._submit(partial(files.remove, path=self._path(key), root=self._root)) for key in keys]
        try:
            for key, future in zip(keys, asked, strict=True):
                self._result(future, key, "removed")
        finally:
            for future in asked:
                future.cancel()


def open_sftp(url: str, mode: Mode, options: StoreOptions) -> Store:
    """The store at `url`."""
    return SFTPStore(url, writable=mode != "r", **(options or {}))
