"""Values on a web server, read by range (spec B "HTTP store").

A value is the body at URL/key, by range where the server does ranges and sliced where it answers with everything. 404,
410 and 403 (S3 answers so to those who may not list) mean absent. Too many requests, server faults and broken
connections are tried again, a little later each time; what still fails is Unreadable with the status. Nothing can be
listed or written. One request per value: no HEAD before it.

2026-11-21 · aiohttp itself, rather than fsspec over it: one session for all stores keeps its connections when a store
is opened again, and fsspec is 30 ms more to import.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit, urlunsplit

from zarrscope.errors import Unreadable, Unsupported
from zarrscope.store import ByteRange
from zarrscope.stores.remote import IN_FLIGHT, RemoteStore

ATTEMPTS = 4
_ABSENT = (403, 404, 410)
_AGAIN = (408, 425, 429, 500, 502, 503, 504)
_TOO_MANY = (429, 503)

T = TypeVar("T")

_sessions: dict[asyncio.AbstractEventLoop, Any] = {}
"""The one of the loop that runs. Only touched on its thread."""


async def _session() -> Any:
    """The connections of all web stores: kept for half a minute, so that a store that is opened again finds them."""
    import aiohttp

    here = asyncio.get_running_loop()
    found = _sessions.get(here)
    if found is None:
        import atexit

        _sessions.clear()
        connector = aiohttp.TCPConnector(limit=0, limit_per_host=IN_FLIGHT, keepalive_timeout=30.0)
        found = aiohttp.ClientSession(connector=connector, headers={"Accept-Encoding": "identity"})
        _sessions[here] = found
        atexit.register(_end, here, found)
    return found


def _end(where: asyncio.AbstractEventLoop, session: Any) -> None:
    if where.is_running() and where in _sessions:
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(session.close(), where).result(timeout=1.0)


class HTTPStore(RemoteStore):
    """The values beneath an http:// or https:// URL; a query in it (a signed token) is sent with every key.

    `pause` is the first wait before trying again, in seconds, doubled each time. `timeout` is how long a server may
    stay silent. Raises Unsupported when aiohttp is not installed.
    """

    def __init__(self, url: str, *, attempts: int = ATTEMPTS, pause: float = 0.25, timeout: float = 60.0) -> None:
        try:
            import aiohttp
        except ImportError as error:
            raise Unsupported(
                "Reading from web servers needs a package that is not installed",
                feature="http",
                store=url,
                advice="Run: pip install 'zarrscope[http]'",
            ) from error
        super().__init__()
        scheme, host, path, self._query, _ = urlsplit(url)
        self.url = urlunsplit((scheme, host, path.rstrip("/"), self._query, ""))
        self._base = urlunsplit((scheme, host, quote(path.rstrip("/"), safe="/%:@!$&'()*+,;=~"), "", ""))
        self._attempts = attempts
        self._pause = pause
        self._failures: tuple[type[Exception], ...] = (
            aiohttp.ClientConnectionError,
            aiohttp.ClientPayloadError,
            asyncio.TimeoutError,
            ConnectionError,
        )
        self._client_error: type[Exception] = aiohttp.ClientError
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=min(timeout, 20.0), sock_read=timeout)

    def _url(self, key: str) -> str:
        url = f"{self._base}/{quote(key, safe='/')}" if key else self._base
        return f"{url}?{self._query}" if self._query else url

    async def _fetch(self, key: str, part: ByteRange | None) -> bytes | None:
        if part is not None and part.length == 0:
            return None if await self._once_more(key, ByteRange(0, 1), _body) is None else b""
        return await self._once_more(key, part, _body)

    def size(self, key: str) -> int | None:
        """How many bytes the value has; None when absent."""
        return self._wait(self._once_more(key, ByteRange(0, 1), _size))

    async def _once_more(
        self, key: str, part: ByteRange | None, read: Callable[[Any, ByteRange | None], Coroutine[Any, Any, T]]
    ) -> T | None:
        """Asks, and asks again after faults that may pass."""
        why, advice = "", ""
        for attempt in range(self._attempts):
            if attempt:
                await asyncio.sleep(self._pause * 2 ** (attempt - 1) * (0.75 + random.random() / 2))
            width = self.width
            try:
                async with self._asked(key, part) as response:
                    if response.status in (200, 206, 416):
                        self.widen()
                        return await read(response, part)
                    if response.status in _ABSENT:
                        return None
                    why, advice = f"The server answered {response.status} {response.reason}", _advice(response.status)
                    if response.status not in _AGAIN:
                        break
                    if response.status in _TOO_MANY:
                        self.narrow(width)
            except self._failures as error:
                why = f"The connection failed: {error or type(error).__name__}"
                advice = "Check the address and the network, then try again."
            except self._client_error as error:
                why, advice = f"The request failed: {error or type(error).__name__}", "Check the address."
                break
            except MemoryError as error:
                raise Unreadable("The value is too large to hold in memory", store=self.url, key=key) from error
        raise Unreadable(why, store=self.url, key=key or None, advice=advice)

    @asynccontextmanager
    async def _asked(self, key: str, part: ByteRange | None) -> AsyncIterator[Any]:
        from yarl import URL

        session = await _session()
        headers = {} if part is None else {"Range": _range(part)}
        # aiohttp follows redirects to http and https only, and no more than these.
        url = URL(self._url(key), encoded=True)
        async with session.get(url, headers=headers, max_redirects=5, timeout=self._timeout) as response:
            yield response


def _range(part: ByteRange) -> str:
    if part.start is None:
        return f"bytes=-{part.length}"
    return f"bytes={part.start}-" + ("" if part.length is None else str(part.start + part.length - 1))


async def _body(response: Any, part: ByteRange | None) -> bytes:
    if response.status == 416:  # the value is there, but the range begins beyond its end
        return b""
    if part is None:
        if response.status == 206:
            raise Unreadable("The server sent a part of the value when asked for the whole")
        whole: bytes = await response.read()
        return whole
    if response.status == 206:
        body: bytes = await response.read()
        first = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0]
        if part.start is not None and first.isdigit() and int(first) != part.start:
            raise Unreadable(f"The server sent bytes from {first} when asked for those from {part.start}")
        return body if part.length is None else body[: part.length]
    if part.start is None or part.length is None:
        return part.of(await response.read())
    stop, got = part.start + part.length, bytearray()  # a server without ranges: read no further than needed
    async for piece in response.content.iter_any():
        got += piece
        if len(got) >= stop:
            break
    return bytes(got[part.start : stop])


async def _size(response: Any, part: ByteRange | None) -> int:
    total = response.headers.get("Content-Range", "").rpartition("/")[2]
    if response.status in (206, 416) and total.isdigit():
        return int(total)
    length = response.headers.get("Content-Length", "")
    if response.status == 200 and length.isdigit():
        return int(length)
    raise Unreadable("The server does not say how large the file is", advice="Download the archive, then open it.")


def _advice(status: int) -> str:
    if status == 401:
        return "The server asks for a login: use an address with a token, or download the data."
    if status == 429:
        return "The server is asked too often: wait a minute, then try again."
    return "Wait, then try again." if status >= 500 else "Check the address."
