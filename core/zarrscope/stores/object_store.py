"""Buckets of S3, Google Cloud Storage and Azure, read and written through obstore: s3://, gs://, az:// and abfs://.

obstore (https://developmentseed.org/obstore, the Rust crate object_store) makes one request for one value, whatever its
range, and keeps connections open. A value is stored with `expect` by the service's own precondition: the e-tag on S3
and Azure, the generation on Google. The stored version is looked at besides: some services ignore preconditions.

Absent is what the service says it does not have; access denied is Denied, and what S3 means by it where listing is
denied is found out once (remote.py). A bucket that does not exist is NotFound. Whoever asks is found by trying: the
credentials in the order of credentials.py, until one of them may read; then that one is kept.

Keys that obstore takes for no path (control characters, empty parts) are Refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from zarrscope.errors import Conflict, Denied, NotFound, Refused, Unreadable, Unsupported, ZarrscopeError
from zarrscope.errors.confidential import cause, conceal, public_options
from zarrscope.model.storage import ABSENT, Buffer, ByteRange, Entry, Version
from zarrscope.stores.address_options import split_options
from zarrscope.stores.credentials import SERVICES, Login, logins
from zarrscope.stores.keys import too_large
from zarrscope.stores.network import network, others
from zarrscope.stores.remote import RemoteStore
from zarrscope.stores.service_answers import (
    ABOUT_LOGINS,
    ABOUT_VALUES,
    CONDITIONS,
    NO_BUCKET,
    code_of,
    finds_no_login,
    is_about_range,
    region_of,
    says_other_region,
    sentence,
)

T = TypeVar("T")

LONG_LISTING = 0.4
"""Seconds after which a listing of one level counts as long: four thousand names at 100 ms a request."""
_WHOLE = 64 << 20
"""Larger values go up in parts, which the service joins at once."""


class ObjectStore(RemoteStore):
    """The values beneath s3://bucket/…, gs://bucket/… or abfs://container@account…/….

    Options: those of network.Network, those of credentials.py, and any of obstore's own for the service.
    Raises Unsupported where obstore is not installed, Refused for an option that nobody knows.
    """

    listable = True

    def __init__(self, url: str, *, writable: bool = False, **options: Any) -> None:
        place, told = split_options(url)
        options = {**told, **options}
        options.pop("backend", None)
        super().__init__(network(options))
        conceal(options)
        self.url = url.rstrip("/")
        self.writable = writable
        self._public_options = {**public_options(others(options)), "writable": writable}
        self._scheme, _, self._place = place.partition("://")
        self._service = SERVICES[self._scheme]
        try:
            import obstore as package
        except ImportError as error:
            raise Unsupported(
                f"Reading from {self._scheme}:// needs a package that is not installed: obstore",
                feature=f"scheme {self._scheme}",
                store=self.url,
                advice=f"Run: pip install 'zarrscope[{self._service.name}]'",
            ) from error
        self._obstore = package
        bucket, self._prefix, named = self._service.place(self._place.rstrip("/"))
        self._bucket = bucket
        self._bucket_seen = False
        self._no_suffixes = False
        self._logins = [*logins(self._service, {**named, **others(options)})]
        self._login = 0
        """The credentials that are tried or used now."""
        self._settled = len(self._logins) == 1
        self._region_asked = False
        self._config: dict[str, Any] = {}
        self._clients: dict[int, Any] = {}

    # ------------------------------------------------------------------ who asks
    @property
    def _login_in_use(self) -> Login:
        """The credentials in use, or being tried."""
        return self._logins[self._login]

    def _client(self) -> Any:
        found = self._clients.get(self._login)
        if found is None:
            found = self._clients[self._login] = self._made(self._login_in_use)
        return found

    def _made(self, login: Login) -> Any:
        silent = timedelta(seconds=self.network.timeout)
        config = {**login.config, **self._config}
        endpoint = str(config.get("endpoint", config.get("base_url", "")))
        try:
            return self._service.client(
                self._bucket,
                prefix=self._prefix or None,
                config=config,
                client_options={
                    "connect_timeout": min(silent, timedelta(seconds=20)),
                    "read_timeout": silent,
                    "timeout": timedelta(days=1),
                    "allow_http": endpoint.startswith("http://"),
                },
                retry_config={
                    "max_retries": self.network.attempts - 1,
                    "retry_timeout": timedelta(seconds=max(1.0, self.network.patience)),
                    "backoff": {"init_backoff": timedelta(seconds=self.network.pause), "base": 2},
                },
                **({} if login.provider is None else {"credential_provider": login.provider}),
            )
        except Exception as error:
            raise Refused(
                f"The options do not open {self._service.title}: {sentence(error)}",
                store=self.url,
                advice="Look at the names of the options in the page on remote stores.",
            ) from cause(error)

    async def _asked(self, act: Callable[[Any], Awaitable[T]], key: str) -> T:
        """The result of `act(client)`, with the first credentials that the service accepts.

        Raises FileNotFoundError of what is not there; Denied, Unreadable.
        """
        while True:
            tried = self._login
            try:
                answer = await act(self._client())
            except (FileNotFoundError, ZarrscopeError, asyncio.CancelledError):
                raise
            except Exception as error:
                if type(error).__name__ in CONDITIONS:
                    raise
                if await self._other_region(error):
                    continue
                failed = self._failed(error, key)
                if isinstance(failed, Denied) and not self._settled and tried + 1 < len(self._logins):
                    if tried == self._login:
                        self._login = tried + 1
                    continue
                if isinstance(failed, Denied) and not self._settled:
                    self._login = 0  # no credentials work: the first refusal says most
                    self._settled = True
                raise failed from cause(error)
            self._settled = True
            return answer

    async def _other_region(self, error: Exception) -> bool:
        """Whether the bucket lies in another region than was asked, which is now known."""
        if self._region_asked or self._service.name != "s3" or not says_other_region(str(error)):
            return False
        self._region_asked = True
        endpoint = str(self._login_in_use.config.get("endpoint", "") or "https://s3.amazonaws.com")
        region = await asyncio.get_running_loop().run_in_executor(None, region_of, endpoint, self._bucket)
        if region is None:
            return False
        self._config["region"] = region
        self._clients.clear()
        return True

    # ------------------------------------------------------------------ reading
    async def _fetch(self, key: str, part: ByteRange | None, limit: int | None) -> bytes | None:
        try:
            found = await asyncio.wait_for(self._read(key, part, limit), self._longest(part, limit))
        except Denied as denied:
            denied.untold = denied.untold and bool(await self._answer_of_nothing())
            await self._raise_denied(denied)
            return None
        except TimeoutError as error:
            raise self._failed(error, key) from error
        if found is None:
            return None
        if self._read_before is None:
            self._read_before = key
        return found[0]

    async def _read(self, key: str, part: ByteRange | None, limit: int | None) -> tuple[bytes, Version] | None:
        """The value or its part, with its version; None where the service says that there is none."""

        async def read(client: Any) -> tuple[bytes, Version]:
            asked = part
            if asked is not None and (asked.length == 0 or (asked.start is None and self._no_suffixes)):
                meta = await self._obstore.head_async(client, key)
                asked = _within(asked, meta["size"])
                if asked.length == 0:
                    return b"", _version(meta)
            options = {} if asked is None else {"range": _range(asked)}
            found = await self._obstore.get_async(client, key, options=options)
            start, stop = found.range
            if limit is not None and stop - start > limit:
                raise too_large(stop - start, limit)
            return bytes(await found.bytes_async()), _version(found.meta)

        try:
            return await self._asked(read, key)
        except FileNotFoundError as error:
            self._check_bucket(error)
            return None
        except Unreadable as failed:
            if part is None or not is_about_range(failed):
                raise
            # The range begins beyond the end, or the service does not support it.
            size = await self._size(key)
            if size is None:
                return None
            asked = _within(part, size)
            if not asked.length:
                return b"", Version("")
            if "non-partial" in str(failed):
                if size > _WHOLE:
                    raise
                whole = await self._read(key, None, None)
                return None if whole is None else (part.of(whole[0]), whole[1])
            if asked == part:
                raise
            self._no_suffixes = self._no_suffixes or "suffix" in str(failed).lower()
            return await self._read(key, asked, limit)

    async def _head(self, key: str) -> Any:
        """Size and version of what is stored; None when absent."""
        try:
            return await self._asked(lambda client: self._obstore.head_async(client, key), key)
        except FileNotFoundError as error:
            self._check_bucket(error)
            return None

    async def _size(self, key: str) -> int | None:
        meta = await self._head(key)
        return None if meta is None else int(meta["size"])

    def size(self, key: str) -> int | None:
        """The size of the value in bytes; None when absent."""
        return self._wait(self._size(key))

    def read_end(self, key: str, length: int) -> tuple[bytes, int] | None:
        async def read(client: Any) -> tuple[bytes, int]:
            options = {"range": _range(ByteRange.last(length))}
            found = await self._obstore.get_async(client, key, options=options)
            return bytes(await found.bytes_async()), int(found.meta["size"])

        if not self._no_suffixes:
            try:
                return self._named(key, lambda: self._wait(self._asked(read, key)))
            except FileNotFoundError as error:
                self._check_bucket(error)
                return None
            except Unreadable as failed:
                if not is_about_range(failed):
                    raise
        return super().read_end(key, length)

    def _get_versioned(self, key: str, limit: int | None = None) -> tuple[bytes, Version] | None:
        return self._named(key, lambda: self._wait(self._read(key, None, limit)))

    async def _ask_for_nothing(self, key: str) -> bool | None:
        """Whether the service denies access to a key that does not exist."""
        try:
            await self._asked(lambda client: self._obstore.head_async(client, key), key)
        except FileNotFoundError:
            return False
        except Denied:
            return True
        except ZarrscopeError:
            return None
        return False

    def _hides(self, of_nothing: bool) -> bool:
        return of_nothing

    async def _readable(self, key: str) -> bool:
        try:
            return await self._size(key) is not None
        except ZarrscopeError:
            return False

    # ------------------------------------------------------------------ listing
    def _list_dir(self, prefix: str) -> Iterator[Entry]:
        """Streams one level. obstore gives it whole, after one request for each thousand names: where that takes long,
        the first folders come from a page of all keys meanwhile."""

        async def listed(client: Any) -> Any:
            level = asyncio.ensure_future(self._obstore.list_with_delimiter_async(client, prefix.rstrip("/") or None))
            done, _ = await asyncio.wait({level}, timeout=LONG_LISTING)
            return level.result() if done else level

        found, told = self._listed(listed, prefix), set[str]()
        if isinstance(found, asyncio.Future):
            level = found
            try:
                for name in self._first_folders(prefix):
                    told.add(name)
                    yield Entry(name, True)
                found = self._listed(lambda client: level, prefix)
            finally:
                level.get_loop().call_soon_threadsafe(level.cancel)
        folders = (folder.rstrip("/").rpartition("/")[2] for folder in found["common_prefixes"])
        yield from (Entry(name, True) for name in folders if name not in told)
        for each in found["objects"]:
            if each["path"].strip("/") != prefix.strip("/"):  # an empty object may stand for the folder itself
                yield Entry(each["path"].rpartition("/")[2], False, each["size"])
        if not found["objects"] and not found["common_prefixes"]:
            self._need_bucket()

    def _first_folders(self, prefix: str) -> Iterator[str]:
        """The folders beneath a prefix that a first page of keys tells of."""

        async def page(client: Any) -> Any:
            return await anext(aiter(self._obstore.list(client, prefix.rstrip("/") or None, chunk_size=1000)), ())

        keys = (each["path"] for each in self._listed(page, prefix))
        parts = (key[len(prefix) :].partition("/") for key in keys if key.startswith(prefix))
        return iter(dict.fromkeys(name for name, slash, _ in parts if name and slash))

    def _list_prefix(self, prefix: str) -> Iterator[str]:
        stream: Any = None

        async def first(client: Any) -> Any:
            nonlocal stream
            stream = self._obstore.list(client, prefix.rstrip("/") or None, chunk_size=1000)
            return await anext(aiter(stream), None)

        batch = self._listed(first, prefix)
        if batch is None:
            self._need_bucket()
        while batch:
            yield from (each["path"] for each in batch if each["path"].startswith(prefix))

            async def following() -> Any:
                return await anext(aiter(stream), None)

            batch = self._named(prefix, lambda: self._wait(following()))

    def _listed(self, act: Callable[[Any], Awaitable[T]], prefix: str) -> T | Any:
        try:
            return self._named(prefix, lambda: self._wait(self._asked(act, prefix)))
        except FileNotFoundError as error:
            raise self._no_bucket() from error
        except Unreadable as failed:
            if any(code in str(failed.__cause__ or failed) for code in NO_BUCKET):
                raise self._no_bucket() from failed.__cause__
            raise

    def _need_bucket(self) -> None:
        """Raises NotFound where nothing is listed because there is no such bucket. S3 and Azure say so themselves."""
        if self._bucket_seen or self._service.name != "gcs":
            return
        try:
            self._wait(self._size(".zarrscope-bucket"))
        except NotFound:
            raise
        except ZarrscopeError:
            return
        self._bucket_seen = True

    # ------------------------------------------------------------------ writing
    def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
        return self._named(key, lambda: self._wait(self._put_if(key, value, expect)))

    async def _put_if(self, key: str, value: bytes, expect: Version | None) -> Version:
        mode: Any = "overwrite"
        if expect is not None:
            # Most services compare themselves; some accept the condition and ignore it.
            await self._compare(key, expect)
            mode = "create" if expect == ABSENT else _conditions(expect)
        multipart = len(value) > _WHOLE and expect is None

        async def put(client: Any) -> Any:
            return await self._obstore.put_async(client, key, value, mode=mode, use_multipart=multipart)

        try:
            return _version(await self._asked(put, key))
        except FileNotFoundError as error:
            self._check_bucket(error)
            raise self._conflict(key) from cause(error)
        except Exception as error:
            if type(error).__name__ in CONDITIONS or "ConditionalRequestConflict" in str(error):
                self._expect(key, expect, await self._read(key, None, None))
                raise self._conflict(key) from cause(error)
            raise

    async def _compare(self, key: str, expect: Version) -> None:
        """Raises Conflict, with the stored value, unless the stored version is `expect`; that alone needs no value."""
        meta = await self._head(key)
        if (ABSENT if meta is None else _version(meta)) != expect:
            self._expect(key, expect, await self._read(key, None, None))

    def _conflict(self, key: str) -> Conflict:
        return Conflict(
            "Somebody else was writing or erasing the same value",
            store=self.url,
            key=key,
            theirs=None,
            advice="Compare both versions, then save again.",
        )

    def _put(self, key: str, parts: Sequence[Buffer]) -> None:
        value = bytes(parts[0]) if len(parts) == 1 else b"".join(parts)
        self._named(key, lambda: self._wait(self._put_if(key, value, None)))

    def _erase(self, key: str) -> None:
        self._named(key, partial(self._wait_erased, [key]))

    def _erase_prefix(self, prefix: str) -> None:
        keys = [*self._list_prefix(prefix)]
        for i in range(0, len(keys), 1000):
            some = keys[i : i + 1000]
            self._named(prefix, partial(self._wait_erased, some))

    def _wait_erased(self, keys: Sequence[str]) -> None:
        self._wait(self._erased(keys))

    async def _erased(self, keys: Sequence[str]) -> None:
        async def erase(client: Any) -> None:
            await self._obstore.delete_async(client, list(keys))

        try:
            await self._asked(erase, keys[0])
        except FileNotFoundError as error:
            self._check_bucket(error)

    # ------------------------------------------------------------------ failing
    def _named(self, key: str, act: Callable[[], T]) -> T:
        try:
            return act()
        except ZarrscopeError as error:
            raise error.located(store=self.url, key=key or None) from error.__cause__

    def _check_bucket(self, error: Exception) -> None:
        """Raises NotFound where `error` says that there is no such bucket."""
        if code_of(error) in NO_BUCKET:
            raise self._no_bucket() from cause(error)

    def _no_bucket(self) -> NotFound:
        return NotFound(f"There is no bucket {self._bucket!r}", store=self.url, advice="Check the address.")

    def _failed(self, error: Exception, key: str) -> ZarrscopeError:
        code, message = code_of(error), f"The request failed: {sentence(error)}"
        if isinstance(error, ValueError):
            return Refused(f"A bucket cannot be asked for the key {key!r}: {sentence(error)}", store=self.url, key=key)
        if code in NO_BUCKET:
            return self._no_bucket()
        denied = type(error).__name__ in ("PermissionDeniedError", "UnauthenticatedError")
        if denied or code in ABOUT_LOGINS or finds_no_login(str(error)):
            tried = tuple(login.name for login in self._logins[: self._login + 1])
            return Denied(
                message,
                untold=code in ABOUT_VALUES and not finds_no_login(str(error)),
                tried=tried,
                store=self.url,
                key=key or None,
                advice=f"Check the credentials. Tried: {', '.join(tried)}.",
            )
        return Unreadable(
            message, store=self.url, key=key or None, advice="Check the address and the network, then try again."
        )


def open_bucket(url: str, mode: str, options: Mapping[str, Any] | None) -> RemoteStore:
    """The store at `url`; through its fsspec file system where the option `backend` says so."""
    told = dict(options or {})
    backend = {**split_options(url)[1], **told}.get("backend", "obstore")
    told.pop("backend", None)
    if backend == "fsspec":
        from zarrscope.stores.fsspec import FsspecStore

        return FsspecStore(url, **told)
    if backend != "obstore":
        raise Refused(f"There is no backend {backend!r} for buckets", store=url, advice="Say obstore or fsspec.")
    return ObjectStore(url, writable=mode != "r", **told)


def _range(part: ByteRange) -> Any:
    if part.start is None:
        return {"suffix": part.length or 0}
    return {"offset": part.start} if part.length is None else (part.start, part.start + part.length)


def _within(part: ByteRange, size: int) -> ByteRange:
    start, stop = part.span(size)
    return ByteRange(start, stop - start)


def _version(meta: Any) -> Version:
    """The e-tag and the generation, as one text."""
    return Version(f"{meta.get('e_tag') or ''}\n{meta.get('version') or ''}")


def _conditions(version: Version) -> dict[str, str]:
    e_tag, _, generation = version.token.partition("\n")
    return {**({"e_tag": e_tag} if e_tag else {}), **({"version": generation} if generation else {})}
