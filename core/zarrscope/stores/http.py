"""Values on a web server, read by range (spec B "HTTP store").

A value is the body of the response for URL/key. Each value takes one request, without a HEAD request before it. A part
of a value is requested as a range; if the server ignores the range, the part is cut from the whole value. Only the
status codes 404 and 410 mean that a value is absent. After too many requests, server faults and broken connections the
request is repeated, after pauses that double or that the server asks for (Retry-After); if that fails too, Unreadable
names the status. The store cannot write, and lists only folders that an index page or a bucket names (web_index.py).

401, 403, 407, and a web page or an error in JSON in place of a value raise Denied; if the server gives the same answer
for a key that does not exist, the error says so (remote.py). Of the headers about a value's format only
Content-Encoding is used: it was not requested, but the body is decompressed, within the same limits (body.py).

aiohttp is used directly, not through fsspec: one session for all stores keeps its connections when a store is opened
again, and importing fsspec takes 30 ms more (measured 2026-11-21).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Iterator, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote, urlsplit, urlunsplit

from zarrscope.errors import Denied, NotFound, Refused, Unreadable, Unsupported
from zarrscope.errors.installing import how_to_install
from zarrscope.model.storage import ByteRange
from zarrscope.runtime.tuning import IN_FLIGHT
from zarrscope.runtime.waits import repeating
from zarrscope.stores import web_index
from zarrscope.stores.body import (
    EMPTY,
    CutShort,
    NeedsWhole,
    begins_otherwise,
    instead_of_value,
    read_body,
    shows,
    total_of,
)
from zarrscope.stores.failed_responses import EXPIRED, NO_ACCESS, NO_BUCKET, OF_EXPIRED, advice_for, reason_of
from zarrscope.stores.local.links import no_end
from zarrscope.stores.network import Network, network, others, seconds_asked_for, told_in_words
from zarrscope.stores.proxies import proxy_of
from zarrscope.stores.registry import Mode, StoreOptions
from zarrscope.stores.remote import RemoteStore
from zarrscope.stores.store import Store

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

_ABSENT = (404, 410)
_DENIED = (401, 403, 407)
_AGAIN = (408, 425, 429, 500, 502, 503, 504)
_TOO_MANY = (429, 503)
_CONNECT = 20.0

T = TypeVar("T")
ReadResponse = Callable[["ClientResponse", str, ByteRange | None, int | None], Coroutine[Any, Any, T]]

_sessions: dict[asyncio.AbstractEventLoop, _Connections] = {}
"""The connections of each event loop. Only used on the thread of that loop."""


class _Connections:
    """The connections of all web stores on one event loop. Idle connections are kept for half a minute, so that a store
    that is opened again can reuse them; the number of parallel requests per host is limited."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session
        self._hosts: dict[str, asyncio.Semaphore] = {}
        self._proxies: dict[str, str | None] = {}

    def proxy(self, host: str) -> str | None:
        """The proxy for requests to a host, such as https://host:8080."""
        if host not in self._proxies:
            self._proxies[host] = proxy_of(host)
        return self._proxies[host]

    def host(self, name: str) -> asyncio.Semaphore:
        return self._hosts.setdefault(name, asyncio.Semaphore(IN_FLIGHT))


async def _connections() -> _Connections:
    import aiohttp

    here = asyncio.get_running_loop()
    found = _sessions.get(here)
    if found is None:
        import atexit

        _sessions.clear()
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, limit_per_host=0, keepalive_timeout=30.0),
            headers={"Accept-Encoding": "identity"},
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        found = _sessions[here] = _Connections(session)
        atexit.register(_end, here, session)
    return found


def _end(where: asyncio.AbstractEventLoop, session: ClientSession) -> None:
    if where.is_running() and where in _sessions:
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(session.close(), where).result(timeout=1.0)


@dataclass(frozen=True)
class _AbsentAnswer:
    """A server's answer for a key that does not exist. `page`: the name of the thing that the body is, such as "a web
    page"; `tag` and `size`: the e-tag and the size of the body, if the server states them."""

    status: int
    page: str = ""
    tag: str | None = None
    size: int | None = None


class _PageAnswer(NamedTuple):
    """The response to a request for a folder."""

    status: int
    kind: str
    headers: Mapping[str, str]
    body: bytes
    url: str
    """The address after redirects."""


def _bucket_page(answer: _PageAnswer | None) -> web_index.BucketPage | None:
    """The page of a bucket's listing; None if the response is none."""
    return None if answer is None or answer.status != 200 else web_index.bucket_page(answer.body)


class HTTPStore(RemoteStore):
    """The values beneath an http:// or https:// URL. A query in the URL, such as a signed token, is sent with every
    request.

    `settings`, or else `options`, are those of network.Network. Raises Unsupported if aiohttp is not installed.
    """

    def __init__(self, url: str, settings: Network | None = None, **options: Any) -> None:
        try:
            import aiohttp
        except ImportError as error:
            raise Unsupported(
                "Reading from web servers needs a package that is not installed",
                feature="http",
                store=url,
                advice=how_to_install("http"),
            ) from error
        super().__init__(settings if settings is not None else network(options))
        scheme, host, path, self._query, _ = urlsplit(url)
        self.url = urlunsplit((scheme, host, path.rstrip("/"), self._query, ""))
        self._host = f"{scheme}://{host}"
        self._base = urlunsplit((scheme, host, quote(path.rstrip("/"), safe="/%:@!$&'()*+,;=~"), "", ""))
        self._has_index: bool | None = None
        """Whether the server has index pages or bucket listings that name folders; None: not requested yet."""
        self._pages = web_index.RepeatedPages()
        self._refused: dict[str, int] = {}
        """Prefix → the status with which its index page was refused; see `_folders_refused`."""
        self._versions: dict[str, tuple[str, str, int | None]] = {}
        """The versions of the values whose ends were read, by key (`read_end`)."""
        self._failures: tuple[type[Exception], ...] = (
            aiohttp.ClientConnectionError,
            aiohttp.ClientPayloadError,
            asyncio.TimeoutError,
            ConnectionError,
            CutShort,
        )
        self._client_error: type[Exception] = aiohttp.ClientError
        silent = self.network.timeout
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=min(silent, _CONNECT), sock_read=silent)

    def _place_of(self) -> Hashable:
        parts = urlsplit(self._base)
        return parts.scheme, parts.hostname, parts.port, parts.path

    def _take(self, other: HTTPStore) -> None:
        super()._take(other)
        self._query, self._host, self._base = other._query, other._host, other._base

    def _url(self, key: str) -> str:
        url = f"{self._base}/{quote(key, safe='/')}" if key else self._base
        return f"{url}?{self._query}" if self._query else url

    async def _fetch(self, key: str, part: ByteRange | None, limit: int | None) -> bytes | None:
        if part is not None and part.length == 0:
            return None if await self._once_more(key, ByteRange(0, 1), None, self._value) is None else b""
        return await self._once_more(key, part, limit, self._value)

    async def _value(
        self, response: ClientResponse, key: str, part: ByteRange | None, limit: int | None
    ) -> bytes | None:
        try:
            body, first = await read_body(response, part, limit, self.network)
        except Unreadable as error:
            error.advice = error.own_advice or "The server breaks the rules of HTTP: download the data in another way."
            raise
        if (other := instead_of_value(response, first)) and await self._instead(response, key, first, other):
            return None
        if key in self._versions and _differ(self._versions[key], _version(response)):
            raise self._replaced()
        if self._read_before is None:
            self._read_before = key
        return body

    def size(self, key: str) -> int | None:
        """The size of the value in bytes; None when absent."""
        return self._wait(self._size(key))

    async def _size(self, key: str) -> int | None:
        return await self._once_more(key, ByteRange(0, 1), None, _size)

    def read_end(self, key: str, length: int) -> tuple[bytes, int] | None:
        async def read(
            response: ClientResponse, key: str, part: ByteRange | None, limit: int | None
        ) -> tuple[bytes, int] | None:
            if response.status == 416:  # the server does not support ranges from the end
                return b"", -1
            size = await _size(response, key, part, limit)
            self._versions[key] = _version(response)
            body = await self._value(response, key, part, limit)
            return None if body is None else (body, size)

        found = self._wait(self._once_more(key, ByteRange.last(length), length, read))
        # Not a tuple: the server sent the whole value. A size of -1: it does not support ranges from the end. In both
        # cases the size is requested first, then a range from the start.
        if isinstance(found, tuple) and found[1] >= 0:
            return found
        if found is None:
            return None

        async def sized(response: ClientResponse, key: str, part: ByteRange | None, limit: int | None) -> int:
            self._versions[key] = _version(response)
            return await _size(response, key, part, limit)

        return self._end_of(key, self._wait(self._once_more(key, ByteRange(0, 1), None, sized)), length)

    # ------------------------------------------------------------------ requests
    async def _once_more(self, key: str, part: ByteRange | None, limit: int | None, read: ReadResponse[T]) -> T | None:
        """Sends a request, and repeats it after temporary failures."""
        with repeating(self.url, key) as repeats:
            return await self._repeated(key, part, limit, read, repeats)

    async def _repeated(
        self, key: str, part: ByteRange | None, limit: int | None, read: ReadResponse[T], repeats: repeating
    ) -> T | None:
        attempts, waited = self.network.attempts, 0.0
        attempt = 0
        while True:
            attempt += 1
            width, asks_for, asker = self.width, 0.0, (self._host, self._query)
            try:
                async with self._asked(key, part) as response:
                    status = response.status
                    if status in (200, 206, 416):
                        self._widen()
                        return await read(response, key, part, limit)
                    if status in _ABSENT:
                        await self._check_bucket(response)
                        return None
                    if status in _DENIED and asker != (self._host, self._query):
                        continue  # the credentials were exchanged meanwhile (store.renew)
                    if status in _DENIED:
                        denied = await self._denial(response)
                        break
                    brief, advice = f"The server answered {status}", advice_for(status)
                    why = f"{brief} {response.reason}"
                    if status not in _AGAIN:
                        attempts = attempt
                    if status in _TOO_MANY:
                        self._narrow(width)
                        asks_for = seconds_asked_for(response.headers.get("Retry-After", ""))
            except self._failures as error:
                brief = reason_of(error)
                why = f"The connection failed: {brief}"
                advice = "Check the address and the network, then try again."
                if isinstance(error, asyncio.TimeoutError):
                    brief = "The server did not answer in time"
                    why = f"{brief}: {self.network.timeout:g} seconds of silence are allowed"
                    attempts = min(attempts, attempt + 1)
            except NeedsWhole:
                whole = await self._once_more(key, None, None, self._value)
                return whole if whole is None or part is None else part.of(whole)  # type: ignore[return-value]  # bytes, not a T: `read_end` checks for it
            except self._client_error as error:
                why, advice = f"The request failed: {reason_of(error)}", "Check the address."
                brief, attempts = "", attempt
            except MemoryError as error:
                raise Unreadable("The value is too large to hold in memory", store=self.url, key=key) from error
            pause = max(asks_for, self.network.pause_after(attempt))
            waited += pause
            if waited > self.network.patience and asks_for:
                advice = f"The server asks to wait {told_in_words(asks_for)}: try again then."
            if attempt >= attempts or waited > self.network.patience:
                raise Unreadable(why, store=self.url, key=key or None, advice=advice)
            repeats.after(brief, attempt + 1, attempts, pause, asked=asks_for > 0)
            await asyncio.sleep(pause)
        await self._raise_denied(denied.located(store=self.url, key=key or None))
        return None

    @asynccontextmanager
    async def _asked(self, key: str, part: ByteRange | None, *, beside: bool = False) -> AsyncIterator[ClientResponse]:
        """Sends one request. `beside`: the request may exceed the limit on parallel requests, because requests within
        that limit wait for its answer."""
        from yarl import URL

        connections = await _connections()
        headers = {} if part is None else {"Range": _range(part)}
        url = URL(self._url(key), encoded=True)
        async with nullcontext() if beside else connections.host(self._host):
            # The whole response head must arrive within this time.
            async with asyncio.timeout(self.network.timeout + min(self.network.timeout, _CONNECT)):
                # aiohttp follows at most `max_redirects` redirects, and only to http and https.
                response = await connections.session.get(
                    url, headers=headers, max_redirects=5, timeout=self._timeout, proxy=connections.proxy(self._host)
                )
            async with response:
                yield response

    # ------------------------------------------------------------------ index pages
    def _named_folders(self, prefix: str) -> Iterator[str] | None:
        """The folders beneath a prefix, from an index page or a bucket's listing; None if there is neither."""
        if self._has_index is False:
            return None
        folder = f"{self._base}/{quote(prefix, safe='/')}"
        self._refused.pop(prefix, None)
        answer = self._wait(self._page(folder))
        if answer is None:
            self._refused[prefix] = 0
            return None
        named = web_index.folders_in(answer.body, answer.kind, answer.url) if answer.status == 200 else None
        if named is not None:
            self._has_index = True
            if self._pages.are_many(prefix, answer.body, answer.url):
                raise no_end(web_index.REPEATED, store=self.url, key=prefix)
            return iter(named)
        if web_index.looks_like_bucket(answer.headers, answer.body):
            listing = self._wait(self._page(web_index.bucket_listing(folder)))
            first = _bucket_page(listing)
            if first is not None:
                self._has_index = True
                return self._in_bucket(folder, first)
            answer = listing if listing is not None else answer
        if answer.status in (*_DENIED, *_AGAIN) or answer.status >= 500:
            self._refused[prefix] = answer.status
            return None
        self._has_index = bool(self._has_index)  # a page without links may be the index of an empty folder
        return None

    def _folders_refused(self, prefix: str) -> int | None:
        return self._refused.get(prefix)

    def _in_bucket(self, folder: str, page: web_index.BucketPage | None) -> Iterator[str]:
        while page is not None:
            yield from page.folders
            further = web_index.bucket_listing(folder, page.following)
            page = _bucket_page(self._wait(self._page(further))) if page.following else None

    async def _page(self, url: str) -> _PageAnswer | None:
        """Requests `url`, which may be the index page of a folder or a bucket's listing; None if the request failed."""
        from yarl import URL

        connections = await _connections()
        asked = f"{url}{'&' if '?' in url else '?'}{self._query}" if self._query else url
        headers = {"Accept": "application/json, text/html;q=0.9, application/xml;q=0.8, */*;q=0.1"}
        try:
            async with asyncio.timeout(self.network.timeout + min(self.network.timeout, _CONNECT)):
                target = URL(asked, encoded=True)
                async with await connections.session.get(
                    target, headers=headers, max_redirects=5, timeout=self._timeout, proxy=connections.proxy(self._host)
                ) as response:
                    body = await response.content.read(web_index.MAX_BYTES)
                    while body and not response.content.at_eof() and len(body) < web_index.MAX_BYTES:
                        body += await response.content.read(web_index.MAX_BYTES - len(body))
                    kind = response.headers.get("Content-Type", "").lower()
                    return _PageAnswer(response.status, kind, response.headers, body, str(response.url))
        except (*self._failures, self._client_error):
            return None

    # ------------------------------------------------------------------ responses without a value
    async def _denial(self, response: ClientResponse) -> Denied:
        status = response.status
        message = f"The server answered {status} {response.reason}"
        text = await self._beginning(response)
        if any(mark in text for mark in EXPIRED):
            return Denied(message, tried=(self._told_by_address,), advice=OF_EXPIRED)
        if status != 403 or any(mark in text for mark in NO_ACCESS):
            return Denied(message, tried=(self._told_by_address,), advice=advice_for(status))
        of_nothing = await self._answer_of_nothing()
        untold = of_nothing is not None and of_nothing.status == status
        return Denied(message, untold=untold, advice=advice_for(status))

    @property
    def _told_by_address(self) -> str:
        """The name of the credentials in use, for messages: those of a web server are in the address."""
        user, query = "@" in self._host, bool(self._query)
        return f"the {'password' if user else 'token'} of the address" if user or query else "without a login"

    async def _check_bucket(self, response: ClientResponse) -> None:
        """Raises NotFound if the response says that the whole bucket is missing, not only the value."""
        if "xml" in response.headers.get("Content-Type", ""):
            text = await self._beginning(response)
            if any(mark in text for mark in NO_BUCKET):
                raise NotFound("There is no such bucket", store=self.url, advice="Check the address.")

    async def _instead(self, response: ClientResponse, key: str, first: bytes, other: str) -> bool:
        """Decides about a response that may be a web page or an error (`other`). Returns False if it is the value after
        all, and True if the value counts as absent. Raises Denied if it is one that does not mean absence."""
        empty = other in EMPTY.values()
        if empty and key.endswith(".zattrs") and self._of_nothing is None and self._asking is None:
            return False  # attributes are often empty: a further request would delay the opening of every such store
        of_nothing = await self._answer_of_nothing() or _AbsentAnswer(0)
        catches_all = bool(of_nothing.page)
        if not shows(first, other, of_nothing.page):
            if empty:
                return False
            # A part from within a page, or a value of a server that labels every file as HTML, or attributes.
            if not catches_all:
                return False
            tag = response.headers.get("ETag")
            if (tag is None or tag != of_nothing.tag) and total_of(response) != of_nothing.size:
                return False
        error = Denied(
            f"The server answered with {other} instead of the value",
            untold=catches_all,
            advice="Open the address in a browser: it may ask for a login.",
        )
        await self._raise_denied(error.located(store=self.url, key=key or None))
        return True

    async def _ask_for_nothing(self, key: str) -> _AbsentAnswer | None:
        for _ in range(2):
            try:
                async with self._asked(key, None, beside=True) as response:
                    if response.status not in _AGAIN:
                        first = await self._beginning(response)
                        if not first and not response.content.at_eof():
                            continue
                        page = instead_of_value(response, first)
                        found = _AbsentAnswer(response.status, page if response.status == 200 else "")
                        return replace(found, tag=response.headers.get("ETag"), size=total_of(response))
            except (*self._failures, self._client_error):
                pass
        return None

    def _hides(self, of_nothing: _AbsentAnswer) -> bool:
        return bool(of_nothing.page) or of_nothing.status in _DENIED

    async def _readable(self, key: str) -> bool:
        try:
            async with self._asked(key, ByteRange(0, 64), beside=True) as response:
                if response.status not in (200, 206, 416):
                    return False
                return not begins_otherwise(await self._beginning(response))
        except (*self._failures, self._client_error):
            return False

    async def _beginning(self, response: ClientResponse) -> bytes:
        """The first bytes of a response that is not a value, as far as they arrive within the time-out."""
        found = b""
        with suppress(asyncio.TimeoutError, CutShort, self._client_error):
            async with asyncio.timeout(self.network.timeout):
                while len(found) < 4096 and (piece := await response.content.read(4096 - len(found))):
                    found += piece
        return found


def _range(part: ByteRange) -> str:
    if part.start is None:
        return f"bytes=-{part.length}"
    return f"bytes={part.start}-" + ("" if part.length is None else str(part.start + part.length - 1))


async def _size(response: ClientResponse, key: str, part: ByteRange | None, limit: int | None) -> int:
    total = total_of(response)
    if total is None or response.headers.get("Content-Encoding", "identity") != "identity":
        raise Unreadable("The server does not say how large the file is", advice="Download the archive, then open it.")
    return total


def _version(response: ClientResponse) -> tuple[str, str, int | None]:
    """The version of the value, as far as the headers of a response state it: e-tag, time of the last change, size."""
    tag = response.headers.get("ETag", "").removeprefix("W/")
    return tag, response.headers.get("Last-Modified", ""), total_of(response)


def _differ(one: tuple[str, str, int | None], other: tuple[str, str, int | None]) -> bool:
    """Whether two versions differ in something that both responses state."""
    return any(a != b for a, b in zip(one, other, strict=True) if a not in ("", None) and b not in ("", None))


def open_web(url: str, mode: Mode, options: StoreOptions) -> Store:
    """The store of an http:// or https:// address."""
    if unknown := [*others(options)]:
        raise Refused(f"There is no option {unknown[0]!r} for web servers", store=url)
    return HTTPStore(url, network(options))
