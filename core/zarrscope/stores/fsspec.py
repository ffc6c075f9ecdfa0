"""Stores that fsspec has a file system for: buckets at s3://, gs:// and abfs://, and servers at sftp://. Read-only.

Values are read by fsspec's `cat_file`, as a range if a range or a limit is given. If the file system is asynchronous
(S3, Google, Azure), values are read in parallel, otherwise (SFTP) one after the other. Each listing is requested anew,
never taken from fsspec's cache. Some file systems fail at ranges that are counted from the end of a value or begin
beyond it: then the size is requested, and a range within it is read.

A value is absent if the service says so. If access is denied, Denied is raised. If listing is denied, S3 denies access
to absent values too; remote.py says how the store finds out whether it does. A bucket that does not exist raises
NotFound.

The credentials of a bucket are tried in the order of credentials.py, each with a file system of its own; the first that
the service accepts are used from then on. Options other than those of network.py are passed to the file system, under
its own names (fsspec_logins.py).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from zarrscope.errors import Denied, NotFound, Unreadable, Unsupported, ZarrscopeError
from zarrscope.errors.confidential import cause, conceal, public_options
from zarrscope.model.storage import Answer, ByteRange, Entry, Request
from zarrscope.stores.address_options import split_options
from zarrscope.stores.fsspec_logins import FileSystemLogin, file_system_logins, logins_passed_over
from zarrscope.stores.keys import too_large
from zarrscope.stores.local.links import endless, no_end
from zarrscope.stores.network import Network, network, others
from zarrscope.stores.registry import Mode, StoreOptions
from zarrscope.stores.remote import RemoteStore
from zarrscope.stores.service_answers import ABOUT_LOGINS, ABOUT_VALUES, NO_BUCKET
from zarrscope.stores.store import Store

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

T = TypeVar("T")

_ABSENT = (FileNotFoundError, IsADirectoryError, NotADirectoryError)
_NO_LOGIN = ("NoCredentialsError", "PartialCredentialsError", "TokenRetrievalError", "UnauthorizedSSOTokenError")
_PASSING_OPTIONS_ON = ("sftp", "webdav", "dav")
"""The schemes whose file systems pass every option on to a client, which does not know that of fsspec's own cache."""
_IN_BUCKETS = ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az")


def size_of_reference(entry: object) -> int | None:
    """The number of bytes to which an entry of a file system of references leads; None if it does not state it."""
    return int(entry[2]) if isinstance(entry, list) and len(entry) == 3 else None


def within_reference(size: int, part: ByteRange | None, limit: int | None) -> ByteRange:
    """The bytes to read of a reference to `size` bytes. Raises TooLarge.

    fsspec before 2026.9 reads past the end of a reference, into the following bytes of the file."""
    if part is None and limit is not None and size > limit:
        raise too_large(size, limit)
    start, stop = (part or ByteRange(0, None)).span(size)
    return ByteRange(start, max(0, stop - start))


class FsspecStore(RemoteStore):
    """The values beneath a URL of any scheme that fsspec knows. Raises Unsupported if the package for the scheme is
    missing."""

    listable = True
    _filesystem: AbstractFileSystem
    _logins: Sequence[FileSystemLogin] = ()
    _most_tried = 0
    _passed_over: tuple[str, ...] = ()
    """The names of credentials that are incomplete or stale, for messages."""
    _disconnected = False

    def __init__(self, url: str, **options: Any) -> None:
        place, told = split_options(url)
        conceal(options)
        self.url = url.rstrip("/")
        self.network = network(options)
        scheme = place.partition("://")[0]
        found = file_system_logins(scheme, {**told, **others(options)})
        self._passed_over = logins_passed_over(scheme, {**told, **others(options)})
        try:
            with self._naming(""):
                files, root = self._made(place, found[0])
        except (ImportError, ValueError) as error:
            raise Unsupported(
                f"Reading from {scheme}:// needs a package that is not installed: {error}",
                feature=f"scheme {scheme}",
                store=url,
                advice="Install the package that fsspec names.",
            ) from cause(error)
        self._hold(files, root, self.network)
        self._use(found)
        self._public_options = public_options(others(options))
        self._bucket = self._root.partition("/")[0] if scheme in _IN_BUCKETS else ""

    def _hold(self, filesystem: AbstractFileSystem, root: str, settings: Network | None = None) -> None:
        super().__init__(settings or network())
        self._filesystem = filesystem
        self._root = root.rstrip("/")
        self._starts = "" if not root and not str(filesystem.root_marker).startswith("/") else self._root + "/"
        """The start of the path of each key. At its root, a file system of references has paths without a slash."""
        self._bucket = ""
        self._bucket_seen = False
        self._use([FileSystemLogin("", {})])
        self._disconnected = False
        self._linked: set[str] = set()
        """The prefixes of links to folders that were seen in listings."""
        self._asks_sizes = False
        """Whether the file system does not support ranges from the end."""

    def _made(self, place: str, login: FileSystemLogin) -> tuple[AbstractFileSystem, str]:
        """A file system with these credentials, and the path of the place in it."""
        import fsspec

        scheme = place.partition("://")[0]
        files, root = fsspec.core.url_to_fs(
            place,
            **({} if scheme in _PASSING_OPTIONS_ON else {"use_listings_cache": False}),
            **{**self._bounded(scheme), **login.options},
        )
        if hasattr(files, "retries"):  # s3fs repeats requests, too: by default five times
            files.retries = self.network.attempts
        return files, root

    def _bounded(self, scheme: str) -> dict[str, Any]:
        """Options that set the time-outs and attempts of `network` in the client that fsspec uses for S3."""
        if scheme not in ("s3", "s3a"):
            return {}
        silent = self.network.timeout
        times = {"connect_timeout": min(silent, 20.0), "read_timeout": silent}
        return {"config_kwargs": {**times, "retries": {"max_attempts": self.network.attempts, "mode": "standard"}}}

    # ------------------------------------------------------------------ credentials
    def _use(self, found: list[FileSystemLogin]) -> None:
        """Begins to try these credentials; the file system of this store has the first of them."""
        self._logins = found
        self._login = 0
        """The index of the credentials of the file system."""
        self._most_tried = 0
        """The index of the last credentials that were tried."""
        self._settled = len(found) == 1
        """Whether the service accepted credentials, or rejected all."""
        self._changing_login = threading.Lock()

    def _another_login(self, tried: int, *, lists: bool = False) -> bool:
        """Whether a request that was denied with the credentials of the index `tried` should be sent again with others.
        `lists`: it was for a listing, which a service may deny where it allows reading. Waits, because a file system
        may look up its credentials when it is made."""
        with self._changing_login:
            if self._settled or tried != self._login:
                return tried != self._login
            following = (tried + 1) % len(self._logins)
            with self._naming(""):
                self._filesystem, _ = self._made(split_options(self.url)[0], self._logins[following])
            self._login = following
            self._most_tried = max(self._most_tried, following)
            self._settled = following == 0 and not lists  # no credentials work: the first ones' error says most
            return following != 0

    def _answer_to(self, act: Callable[[AbstractFileSystem], T], key: str, *, lists: bool = False) -> T:
        """The result of `act` with the first credentials that the service accepts. Not for the event loop's thread."""
        while True:
            tried = self._login
            try:
                with self._naming(key):
                    answer = act(self._filesystem)
            except Denied:
                if not self._another_login(tried, lists=lists):
                    raise
            else:
                self._settled = True
                return answer

    def _place_of(self) -> Hashable:
        if not self._filesystem.async_impl:
            return None
        return type(self._filesystem), self._root, split_options(self.url)[1].get("endpoint")

    def _take(self, other: FsspecStore) -> None:
        super()._take(other)
        self._filesystem, self._logins, self._login = other._filesystem, other._logins, other._login
        self._most_tried, self._settled = other._most_tried, other._settled

    # ------------------------------------------------------------------ reading
    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        own: asyncio.AbstractEventLoop = self._filesystem.loop
        return own

    def _path(self, key: str) -> str:
        return self._starts + key if key else self._root

    async def _fetch(self, key: str, part: ByteRange | None, limit: int | None) -> bytes | None:
        tried = self._login
        try:
            value = await asyncio.wait_for(self._cat(key, part, limit), self._longest(part, limit))
        except ZarrscopeError:
            raise
        except _ABSENT as error:
            if (reason := _hidden_in(error)) is not None:
                raise self._failed(reason, key) from cause(reason)
            self._check_bucket(error)
            return None
        except Exception as error:
            if isinstance(self._failed(error, key), Denied) and (
                await asyncio.get_running_loop().run_in_executor(None, self._another_login, tried)
            ):
                return await self._fetch(key, part, limit)
            failed = self._failed(error, key)  # names all credentials that were tried meanwhile
            if not isinstance(failed, Denied):
                raise failed from cause(error)
            failed.untold = failed.untold and bool(await self._answer_of_nothing())
            await self._raise_denied(failed)
            return None
        if value is not None:
            self._settled = True
            if self._read_before is None:
                self._read_before = key
        return value

    async def _cat(self, key: str, part: ByteRange | None, limit: int | None) -> bytes | None:
        references = getattr(self._filesystem, "references", None)
        size = size_of_reference(references.get(self._path(key))) if isinstance(references, dict) else None
        return await self._cat_part(key, part if size is None else within_reference(size, part, limit), limit)

    async def _cat_part(self, key: str, part: ByteRange | None, limit: int | None) -> bytes | None:
        cat, info = self._filesystem._cat_file, self._filesystem._info
        path = self._path(key)
        if part is None and limit is None and not self.url.startswith("s3"):
            return bytes(await cat(path))
        # s3fs would first request the size of the whole value, and that response does not say why access is denied.
        asked = part if part is not None else ByteRange(0, None if limit is None else limit + 1)
        value: bytes | None = None
        failed: Exception | None = None
        if asked.length != 0 and (asked.start is not None or not self._asks_sizes):
            try:
                value = bytes(await cat(path, **_bounds_of(asked)))
            except (*_ABSENT, PermissionError, asyncio.CancelledError):
                raise
            except Exception as error:  # the range may begin beyond the end, or be counted from it: see below
                if self._is_final(error):
                    raise
                failed = error
                self._asks_sizes = self._asks_sizes or asked.start is None
        if value is None:
            try:
                found = await asyncio.wait_for(info(path), self._longest(ByteRange(0, 0), None))
            except ZarrscopeError:
                raise
            except _ABSENT:
                if failed is not None:  # the value exists: an absent one would have failed as absent before
                    raise failed from None
                raise
            if found["type"] != "file":
                return None
            start, stop = asked.span(found["size"])
            value = bytes(await cat(path, start=start, end=stop)) if stop > start else b""
        if part is None and limit is not None and len(value) > limit:
            raise too_large(None, limit)
        return value

    def _is_final(self, error: Exception) -> bool:
        """Whether `error` has nothing to do with the range, so that requesting the size first would not help."""
        return False

    async def _ask_for_nothing(self, key: str) -> bool | None:
        """Whether the service denies access to `key`, which does not exist; None if the request failed otherwise."""
        try:
            await self._filesystem._cat_file(self._path(key), start=0, end=1)
        except _ABSENT:
            return False
        except PermissionError as error:
            return _code(error) in ABOUT_VALUES
        except Exception:
            return None
        return False

    def _hides(self, of_nothing: bool) -> bool:
        return of_nothing

    async def _readable(self, key: str) -> bool:
        try:
            await self._filesystem._cat_file(self._path(key), start=0, end=1)
        except Exception:
            return False
        return True

    def _get(self, key: str, part: ByteRange | None, limit: int | None = None) -> bytes | None:
        if self._filesystem.async_impl:
            return super()._get(key, part, limit)
        path = self._path(key)
        with self._naming(key):
            try:
                if self._filesystem.isdir(path):
                    return None
                if part is None and limit is None:
                    return bytes(self._filesystem.cat_file(path))
                size = self._filesystem.info(path)["size"]
                start, stop = (0, size) if part is None else part.span(size)
                if limit is not None and stop - start > limit:
                    raise too_large(stop - start, limit)
                return bytes(self._filesystem.cat_file(path, start=start, end=stop)) if stop > start else b""
            except ZarrscopeError:
                raise
            except _ABSENT:
                return None

    def _get_many(
        self, requests: Sequence[Request], cancelled: Callable[[], bool], limit: int | None = None
    ) -> Iterator[tuple[int, Answer]]:
        if self._filesystem.async_impl:
            return super()._get_many(requests, cancelled, limit)
        return Store._get_many(self, requests, cancelled, limit)

    def size(self, key: str) -> int | None:
        """The size of the value in bytes; None when absent."""

        def size(files: AbstractFileSystem) -> int | None:
            try:
                found = files.info(self._path(key))
            except _ABSENT as error:
                if (reason := _hidden_in(error)) is not None:
                    raise reason from None
                self._check_bucket(error)
                return None
            return int(found["size"]) if found["type"] == "file" else None

        return self._answer_to(size, key)

    def close(self) -> None:
        """Closes the connection of an SFTP file system; the next request opens it again."""
        client = getattr(self._filesystem, "client", None)
        if client is not None and hasattr(self._filesystem, "ftp"):
            client.close()
            self._disconnected = True

    def _connect(self) -> None:
        if self._disconnected:
            self._filesystem._connect()
            self._disconnected = False

    # ------------------------------------------------------------------ listing
    def _list_dir(self, prefix: str) -> Iterator[Entry]:
        """Yields the names of one level. The file systems of folders list links as such, not as their targets, which
        are requested here."""
        if self._linked and (message := self._endless(prefix)):
            raise no_end(message, store=self.url, key=prefix)
        for found in self._listed(prefix, "ls"):
            name = found["name"].rstrip("/").rpartition("/")[2]
            folder = found["type"] == "directory"
            if found["type"] == "link" or found.get("islink"):
                with self._naming(prefix + name):
                    folder = self._filesystem.isdir(self._path(prefix + name))
                if folder:
                    self._linked.add(f"{prefix}{name}/")
            yield Entry(name, folder, None if folder else found["size"])

    def _endless(self, prefix: str) -> str:
        """The message of local/links.py if more than MOST_LINKS links to folders lead to this folder. File systems do
        not say where a link leads, so a circle is only seen by their number."""
        return endless(self._root, prefix, lambda path: path, lambda _, each: each in self._linked, "/")

    def _list_prefix(self, prefix: str) -> Iterator[str]:
        for found in self._listed(prefix, "find"):
            if found["type"] == "file":
                yield found["name"].lstrip("/")[len(self._root.lstrip("/")) :].lstrip("/")

    def _listed(self, prefix: str, how: str) -> list[dict[str, Any]]:
        path = self._path(prefix.rstrip("/"))
        try:
            found = self._answer_to(lambda files: getattr(files, how)(path, detail=True), prefix, lists=True)
        except ZarrscopeError:
            raise
        except (FileNotFoundError, NotADirectoryError) as error:
            with self._naming(prefix):
                self._need_bucket(error)
            return []
        if not found:
            with self._naming(prefix):
                self._need_bucket(None)
        rows = found.values() if isinstance(found, dict) else found
        # Left out: the folder itself, for which some tools store an empty object, and a file that is listed as itself.
        return [row for row in rows if row["name"].strip("/") != path.strip("/")]

    def _need_bucket(self, error: Exception | None) -> None:
        """Raises NotFound if a listing is empty because the bucket does not exist."""
        self._check_bucket(error)
        if self._bucket and not self._bucket_seen:
            try:
                self._filesystem.info(self._bucket)
            except FileNotFoundError as missing:
                raise self._no_bucket() from missing
            except Exception:
                return  # without the right to inspect the bucket nothing is known about its existence
            self._bucket_seen = True

    # ------------------------------------------------------------------ errors
    def _check_bucket(self, error: Exception | None) -> None:
        """Raises NotFound if `error` means that there is no such bucket."""
        if error is not None and _code(error) in NO_BUCKET:
            raise self._no_bucket() from cause(error)

    def _no_bucket(self) -> NotFound:
        return NotFound(f"There is no bucket {self._bucket!r}", store=self.url, advice="Check the address.")

    @contextmanager
    def _naming(self, key: str) -> Iterator[None]:
        """Translates errors of the file system to zarrscope's errors."""
        try:
            if key and self._disconnected:
                self._connect()
            yield
        except ZarrscopeError as error:
            raise error.located(store=self.url, key=key or None) from error.__cause__
        except (*_ABSENT, ImportError):
            raise
        except Exception as error:
            raise self._failed(error, key) from cause(error)

    def _failed(self, error: Exception, key: str) -> ZarrscopeError:
        message = f"The request failed: {str(error).partition(chr(10))[0] or type(error).__name__}"
        if isinstance(error, TimeoutError):
            message = f"The request failed: it took too long ({str(error) or 'time-out'})"
        denied = isinstance(error, PermissionError) or type(error).__name__ in _NO_LOGIN
        if denied or _code(error) in ABOUT_LOGINS or getattr(error, "status_code", None) in (401, 403):  # of adlfs
            tried = tuple(login.name for login in self._logins[: self._most_tried + 1] if login.name)
            tried += self._passed_over
            return Denied(
                message,
                untold=self._filesystem.async_impl and _code(error) in ABOUT_VALUES,
                tried=tried,
                store=self.url,
                key=key or None,
                advice=f"Check the credentials. Tried: {', '.join(tried)}."
                if tried
                else "Check the credentials: they come from the environment, as for the service's own tools.",
            )
        return Unreadable(
            message, store=self.url, key=key or None, advice="Check the address and the network, then try again."
        )


def _code(error: BaseException | None) -> str:
    """The service's own code for the error; "" if it has none."""
    seen = 0
    while error is not None and seen < 8:
        response = getattr(error, "response", None)
        if isinstance(response, dict):
            return str(response.get("Error", {}).get("Code", ""))
        code = getattr(error, "error_code", None)
        if code is not None:
            return str(getattr(code, "value", code))
        error, seen = error.__cause__, seen + 1
    return ""


def _bounds_of(part: ByteRange) -> dict[str, int | None]:
    if part.start is None:
        return {"start": -(part.length or 0)}
    return {"start": part.start, "end": None if part.length is None else part.start + part.length}


def open_bucket(url: str, mode: Mode, options: StoreOptions) -> Store:
    """The store at an address for whose scheme fsspec has a file system."""
    return FsspecStore(url, **(options or {}))


def _hidden_in(error: BaseException) -> Exception | None:
    """The cause of `error` if that is a refusal, which the file system reports as absence: fsspec's web file system
    does so when it requests a size. None if the value is really absent."""
    reason = error.__cause__
    status = getattr(reason, "status", None)
    refused = isinstance(status, int) and status not in (404, 410)
    return reason if refused and isinstance(reason, Exception) else None
