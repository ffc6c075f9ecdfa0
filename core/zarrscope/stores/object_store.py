"""Buckets of S3, Google Cloud Storage and Azure, read and written through obstore: s3://, gs://, az:// and abfs://.

obstore (https://developmentseed.org/obstore, the Rust crate object_store) sends one request for each value or range,
and keeps connections open. A set with `expect` uses the service's own precondition: the e-tag on S3 and Azure, the
generation on Google. The stored version is compared before as well, because some services ignore preconditions. Such a
set stores a random mark with the value. If its answer is lost, the mark shows whether the value was stored.

A value is absent if the service says so. If access is denied, Denied is raised. If listing is denied, S3 denies access
to absent values too; remote.py says how the store finds out whether it does. A bucket that does not exist raises
NotFound. object_requests.py chooses credentials and repeats requests.

Keys that are not valid paths for obstore (with control characters or empty parts) raise Refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from zarrscope.errors import Conflict, Denied, ReadOnly, Refused, Unreadable, ZarrscopeError
from zarrscope.errors.confidential import cause
from zarrscope.model.storage import ABSENT, Answer, AnswerView, Buffer, ByteRange, Request, Version, VersionedValue
from zarrscope.runtime.tuning import MULTIPART_BYTES
from zarrscope.stores.address_options import split_options
from zarrscope.stores.body import begins_as_page
from zarrscope.stores.keys import too_large
from zarrscope.stores.object_listings import BucketListings
from zarrscope.stores.object_puts import ManyPuts
from zarrscope.stores.object_reads import ManyReads, Sent
from zarrscope.stores.object_values import bounds, conditions, is_doubtful, is_page, range_option, version_of, within
from zarrscope.stores.puts import WhenDone
from zarrscope.stores.remote import RemoteStore
from zarrscope.stores.service_answers import CONDITIONS, is_about_range

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Client

T = TypeVar("T")
MARK = "zarrscopewrite"
"""The name of the metadata of a stored value that tells which conditional `set` stored it: another program may store an
equal value. Azure allows no hyphen in it; some proxies drop headers with underscores."""
_ONLY_READ = "Through fsspec buckets are only read: leave out backend=fsspec to write"


class ObjectStore(BucketListings):
    """The values beneath s3://bucket/…, gs://bucket/… or abfs://container@account…/….

    The options are those of network.Network, those of credentials.py, and obstore's own for the service. Raises
    Unsupported if obstore is not installed, Refused for an unknown option.
    """

    _many_puts: ManyPuts | None = None

    # ------------------------------------------------------------------ reading
    async def _fetch(self, key: str, part: ByteRange | None, limit: int | None) -> bytes | None:
        view = await self._fetch_view(key, part, limit)
        return None if view is None else bytes(view)

    def _get_views(
        self, requests: Sequence[Request], cancelled: Callable[[], bool], limit: int | None
    ) -> Iterator[tuple[int, AnswerView]]:
        if not requests or cancelled():
            return
        many = ManyReads(self, requests, limit)
        yield from self._arriving(requests, many, cancelled)

    def _get_growing(
        self, requests: list[Request], cancelled: Callable[[], bool], limit: int | None
    ) -> Iterator[tuple[int, AnswerView]]:
        return self._get_views(requests, cancelled, limit)

    def _get_many(
        self, requests: Sequence[Request], cancelled: Callable[[], bool], limit: int | None = None
    ) -> Iterator[tuple[int, Answer]]:
        for i, answer in self._get_views(requests, cancelled, limit):
            yield i, bytes(answer) if isinstance(answer, memoryview) else answer

    def _send_read(self, key: str, part: ByteRange | None, limit: int | None) -> Sent | None:
        """Sends the request for a value whose range is known. None: `_fetch_view` must read this value. Runs on the
        event loop."""
        start, stop = bounds(part, limit)
        if not self._settled or self._no_ranges or stop <= start:
            return None
        longest = self._longest(part, limit)
        try:
            future = self._obstore.get_range_async(self._client(), self._prefix + key, start=start, end=stop)
        except Exception:  # _fetch_view raises the error that says so
            return None
        if not isinstance(future, asyncio.Future):
            future = asyncio.ensure_future(future)
        until = None if longest is None else self._loop.time() + longest
        return Sent(future, until, self._login, self._found_logins, self.width)

    def _received(self, sent: Sent, key: str, part: ByteRange | None, limit: int | None) -> memoryview | None:
        """The value, if the request brought it and nothing about it needs a further look."""
        if sent.future.cancelled() or sent.future.exception() is not None:
            return None
        value = memoryview(sent.future.result())
        if is_doubtful(value, part, limit):
            return None
        self._succeeded()
        if self._read_before is None:
            self._read_before = key
        return value

    async def _fetch_view(
        self, key: str, part: ByteRange | None, limit: int | None, sent: Sent | None = None, *, versioned: bool = False
    ) -> memoryview | bytes | None:
        """Fetches as `_fetch` does, and returns obstore's own memory, because copying 128 chunks of 70 KB takes 5 ms of
        computing. `sent`: the first request, if it was sent already. `versioned`: returns a VersionedValue."""
        longest = self._longest(part, limit)
        until = None if longest is None else self._loop.time() + longest
        if sent is not None:
            until = sent.until
            if sent.future.cancelled():  # it took too long
                raise self._failed(TimeoutError(), key)
        try:
            async with asyncio.timeout_at(until):  # asyncio.wait_for would cost another task
                value = await (self._versioned_value(key, limit) if versioned else self._value(key, part, limit, sent))
        except Denied as denied:
            denied.untold = denied.untold and bool(await self._answer_of_nothing())
            await self._raise_denied(denied)
            return None
        except TimeoutError as error:
            raise self._failed(error, key) from error
        if value is not None and self._read_before is None:
            self._read_before = key
        return value

    async def _found(self, read: Callable[[Client], Awaitable[T]], key: str, sent: Sent | None = None) -> T | None:
        """Awaits `read(client)` and returns its result; None if the service says that there is no such value."""
        try:
            return await self._asked(read, key, sent=sent)
        except FileNotFoundError as error:
            self._check_bucket(error)
            return None

    async def _value(
        self, key: str, part: ByteRange | None, limit: int | None, sent: Sent | None = None
    ) -> bytes | memoryview | None:
        """The value or its part; None if the service says that it does not exist. If the range is known, one call of
        obstore reads it in 0.16 ms; separate calls for the head and the body of the response, as in `_read`, take
        0.27 ms."""
        start, stop = bounds(part, limit)
        if not self._no_ranges and stop > start:
            first = [] if sent is None else [sent.future]

            async def read(client: Client) -> memoryview:
                if first:
                    return memoryview(await first.pop())
                return memoryview(
                    await self._obstore.get_range_async(client, self._prefix + key, start=start, end=stop)
                )

            try:
                value = await self._found(read, key, sent)
                if value is None or not is_doubtful(value, part, limit):
                    return value  # in the other cases `_read` examines the headers of the response
            except Unreadable as failed:
                if not is_about_range(failed):
                    raise
                self._no_ranges = "non-partial" in str(failed)
        found = await self._read(key, part, limit)
        return None if found is None else found[0]

    async def _read(
        self, key: str, part: ByteRange | None, limit: int | None, e_tag: str | None = None
    ) -> tuple[bytes, Version] | None:
        """The value or its part, with its version; None if the service says that it does not exist. `e_tag`: of the
        version to read; if the service has another one, raises the error of `_replaced`."""

        async def read(client: Client) -> tuple[bytes, Version]:
            asked = part
            if asked is not None and (asked.length == 0 or (asked.start is None and self._no_suffixes)):
                meta = await self._obstore.head_async(client, self._prefix + key)
                asked = within(asked, meta["size"])
                if asked.length == 0:
                    return b"", version_of(meta)
            options = {} if asked is None else {"range": range_option(asked)}
            if e_tag is not None:
                options["if_match"] = e_tag
            found = await self._obstore.get_async(client, self._prefix + key, options=options)
            if e_tag is not None and found.meta["e_tag"] != e_tag:  # the service ignores the condition
                raise self._replaced()
            start, stop = found.range
            if limit is not None and stop - start > limit:
                raise too_large(stop - start, limit)
            value = bytes(await found.bytes_async())
            if start == 0 and begins_as_page(value) and is_page(found.attributes, key):
                raise Unreadable(
                    "The service sent a web page in place of the value",
                    advice="The network may ask for a login: open any web page in a browser.",
                )
            return value, version_of(found.meta)

        try:
            return await self._found(read, key)
        except Unreadable as failed:
            if part is None or not is_about_range(failed):
                raise
            # The range begins beyond the end of the value, or the service does not support this kind of range.
            size = await self._size(key)
            if size is None:
                return None
            asked = within(part, size)
            if not asked.length:
                return b"", Version("")
            if "non-partial" in str(failed):
                if size > MULTIPART_BYTES:
                    raise
                whole = await self._read(key, None, None)
                return None if whole is None else (part.of(whole[0]), whole[1])
            if asked == part:
                raise
            self._no_suffixes = self._no_suffixes or "suffix" in str(failed).lower()
            return await self._read(key, asked, limit)

    async def _head(self, key: str) -> Any:
        """The size and the version of the stored value, as obstore returns them; None when absent."""
        return await self._found(lambda client: self._obstore.head_async(client, self._prefix + key), key)

    async def _size(self, key: str) -> int | None:
        meta = await self._head(key)
        return None if meta is None else int(meta["size"])

    def size(self, key: str) -> int | None:
        """The size of the value in bytes; None when absent."""
        return self._wait(self._size(key))

    def read_end(self, key: str, length: int) -> tuple[bytes, int] | None:
        async def read(client: Client) -> tuple[bytes, int]:
            options = {"range": range_option(ByteRange.last(length))}
            found = await self._obstore.get_async(client, self._prefix + key, options=options)
            self._e_tags[key] = found.meta["e_tag"]
            return bytes(await found.bytes_async()), int(found.meta["size"])

        if not self._no_suffixes:
            try:
                return self._named(key, lambda: self._wait(self._found(read, key)))
            except Unreadable as failed:
                if not is_about_range(failed):
                    raise
        meta = self._wait(self._head(key))
        if meta is None:
            return None
        self._e_tags[key] = meta["e_tag"]
        return self._end_of(key, int(meta["size"]), length)

    def _get_unchanged(
        self, requests: Sequence[Request], cancelled: Callable[[], bool], limit: int | None
    ) -> Iterator[tuple[int, Answer]]:
        async def fetch(key: str, part: ByteRange | None, limit: int | None) -> bytes | None:
            try:
                async with asyncio.timeout(self._longest(part, limit)):
                    found = await self._read(key, part, limit, self._e_tags.get(key))
            except TimeoutError as error:
                raise self._failed(error, key) from error
            except Exception as error:
                if type(error).__name__ in CONDITIONS:
                    raise self._replaced() from cause(error)
                raise
            return None if found is None else found[0]

        return self._fetched(fetch, requests, cancelled, limit)

    def _is_replaced(self, key: str) -> bool:
        try:
            meta = self._wait(self._head(key))
        except ZarrscopeError:
            return False
        return meta is not None and self._e_tags.get(key, meta["e_tag"]) != meta["e_tag"]

    async def _versioned_value(self, key: str, limit: int | None) -> VersionedValue | None:
        found = await self._read(key, None, limit)
        if found is None:
            return None
        value = VersionedValue(found[0])
        value.version = found[1]
        return value

    def _version_of(self, value: bytes) -> Version | None:
        return value.version if isinstance(value, VersionedValue) else None

    def _get_versioned(self, key: str, limit: int | None = None) -> tuple[bytes, Version] | None:
        return self._named(key, lambda: self._wait(self._read(key, None, limit)))

    async def _ask_for_nothing(self, key: str) -> bool | None:
        """Whether the service denies access to `key`, which does not exist; None if the request failed otherwise."""
        try:
            await self._asked(lambda client: self._obstore.head_async(client, self._prefix + key), key)
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

    # ------------------------------------------------------------------ writing
    def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
        return self._named(key, lambda: self._wait(self._put_if(key, value, expect)))

    async def _put_if(self, key: str, value: bytes, expect: Version | None, sent: Sent | None = None) -> Version:
        mode: Any = "overwrite"
        if expect is not None:
            # Most services check the precondition themselves, but some accept and ignore it.
            await self._compare(key, expect)
            mode = "create" if expect == ABSENT else conditions(expect)
        multipart = len(value) > MULTIPART_BYTES and expect is None
        mark = "" if expect is None else uuid4().hex
        marked: Any = {MARK: mark} if mark else None
        first = [] if sent is None else [sent.future]

        async def put(client: Client) -> Any:
            if first:
                return await first.pop()
            return await self._obstore.put_async(
                client, self._prefix + key, value, attributes=marked, mode=mode, use_multipart=multipart
            )

        attempt, lost = 1, False
        while True:
            try:
                return version_of(await self._asked(put, key, harmless=expect is None, sent=sent))
            except FileNotFoundError as error:
                self._check_bucket(error)
                raise self._conflict(key) from cause(error)
            except Exception as error:
                if type(error).__name__ in CONDITIONS or "ConditionalRequestConflict" in str(error):
                    stored = await self._marked(key) if lost else None
                    if stored is not None and stored[1] == mark:  # the attempt before, whose answer was lost
                        return stored[0]
                    self._expect(key, expect, await self._read(key, None, None))
                    raise self._conflict(key) from cause(error)
                if expect is None or not isinstance(error, Unreadable) or isinstance(error, Denied):
                    raise
                version = await self._stored_after_all(key, expect, mark, error)
                if version is not None:
                    return version
                if attempt >= self._attempts(error.__cause__ or error, error, attempt, harmless=True, lists=False):
                    raise
                lost = True
            await asyncio.sleep(self.network.pause_after(attempt))
            attempt += 1

    async def _stored_after_all(self, key: str, expect: Version, mark: str, error: Unreadable) -> Version | None:
        """The version of the value that has this mark, if the service stored it but its answer was lost; None if the
        expected version is stored still, so that the request may be repeated. Otherwise raises `error`."""
        try:
            found = await self._marked(key)
        except ZarrscopeError:
            raise error from error.__cause__
        if found is not None and found[1] == mark:
            return found[0]
        if (ABSENT if found is None else found[0]) == expect:
            return None
        error.advice = (
            "Another program stored something else, and it is not known whether this value was stored before: open "
            "the hierarchy again, compare, then save again."
        )
        raise error

    async def _marked(self, key: str) -> tuple[Version, str] | None:
        """The version of a stored value and the mark of the `set` that stored it ("" without one); None if absent."""

        async def head(client: Client) -> tuple[Version, str]:
            found = await self._obstore.get_async(client, self._prefix + key, options={"head": True})
            told = {str(name).lower(): str(text) for name, text in found.attributes.items()}
            return version_of(found.meta), told.get(MARK, "")

        return await self._found(head, key)

    async def _compare(self, key: str, expect: Version) -> None:
        """Raises Conflict, with the stored value, unless the stored version is `expect`. The value is read only for the
        Conflict."""
        meta = await self._head(key)
        if (ABSENT if meta is None else version_of(meta)) != expect:
            self._expect(key, expect, await self._read(key, None, None))

    def _conflict(self, key: str) -> Conflict:
        return Conflict(
            "Another program was writing or erasing the same value",
            store=self.url,
            key=key,
            theirs=None,
            advice="Compare both versions, then save again.",
        )

    def _put(self, key: str, parts: Sequence[Buffer]) -> None:
        value = bytes(parts[0]) if len(parts) == 1 else b"".join(parts)
        self._named(key, lambda: self._wait(self._put_if(key, value, None)))

    def _puts_begun_at_once(self) -> int:
        return self.width

    def _begin_put(self, key: str, value: bytes, done: WhenDone) -> Callable[[], object]:
        if self._many_puts is None or self._many_puts.loop is not self._loop:  # a forked child has another event loop
            self._many_puts = ManyPuts(self)
        return self._many_puts.begin(key, value, done)

    def _send_put(self, key: str, value: bytes) -> Sent | None:
        if not self._settled or len(value) > MULTIPART_BYTES:
            return None
        try:
            future = self._obstore.put_async(self._client(), self._prefix + key, value, use_multipart=False)
        except Exception:  # _put_if raises the error that says so
            return None
        if not isinstance(future, asyncio.Future):
            future = asyncio.ensure_future(future)
        return Sent(future, None, self._login, self._found_logins, self.width)

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
        async def erase(client: Client) -> None:
            await self._obstore.delete_async(client, [self._prefix + key for key in keys])

        try:
            await self._asked(erase, keys[0])
        except FileNotFoundError as error:
            self._check_bucket(error)


def open_bucket(url: str, mode: str, options: Mapping[str, Any] | None) -> RemoteStore:
    """The store at `url`: an ObjectStore, or an FsspecStore if the option `backend` is "fsspec"."""
    told = dict(options or {})
    backend = told.pop("backend", split_options(url)[1].get("backend", "obstore"))
    if backend == "fsspec":
        from zarrscope.stores.fsspec import FsspecStore

        if mode == "w-":
            raise ReadOnly(_ONLY_READ, store=url)
        store = FsspecStore(url, **told)
        store.remark = "" if mode == "r" else _ONLY_READ
        store._only_read = f"{_ONLY_READ}."
        return store
    if backend != "obstore":
        raise Refused(f"There is no backend {backend!r} for buckets", store=url, advice="Use obstore or fsspec.")
    return ObjectStore(url, writable=mode != "r", **told)
