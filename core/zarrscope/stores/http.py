"""Values on a web server, read by range (spec B "HTTP store").

A value is the body at URL/key, by range where the server does ranges and sliced where it answers with everything. 404,
410 and 403 (S3 answers so to those who may not list) mean absent. Too many requests, server faults and broken
connections are tried again, a little later each time; what still fails is Unreadable with the status. Nothing can be
listed or written. One request per value: no HEAD before it.

2026-11-21 · Most servers are asked by wire.py; those that redirect, compress or have a name and password in their
address by aiohttp: once a server has answered so, all of its store. Connections outlive a store.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit, urlunsplit

from zarrscope.errors import Unreadable, Unsupported
from zarrscope.store import ByteRange
from zarrscope.stores.remote import IN_FLIGHT, RemoteStore
from zarrscope.stores.wire import Reply, Site, Unplain

ATTEMPTS = 4
CONNECT = 20.0
"""Seconds for a connection to be made."""
_ABSENT = (403, 404, 410)
_AGAIN = (408, 425, 429, 500, 502, 503, 504)
_TOO_MANY = (429, 503)

T = TypeVar("T")


class _Servers:
    """What one event loop has open; belongs to its thread. Stores come and go, connections stay for half a minute."""

    def __init__(self, here: asyncio.AbstractEventLoop) -> None:
        self._here = here
        self._sites: dict[tuple[str, str, int], Site] = {}
        self._session: Any = None
        self._context: Any = None

    def site(self, scheme: str, host: str, port: int) -> Site:
        found = self._sites.get((scheme, host, port))
        if found is None:
            if scheme == "https" and self._context is None:
                import ssl

                self._context = ssl.create_default_context()
            context = self._context if scheme == "https" else None
            found = self._sites[scheme, host, port] = Site(host, port, context, IN_FLIGHT)
        return found

    def session(self) -> Any:
        """For servers that do more than wire.py speaks."""
        import aiohttp

        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, limit_per_host=IN_FLIGHT, keepalive_timeout=30.0)
            self._session = aiohttp.ClientSession(connector=connector, headers={"Accept-Encoding": "identity"})
        return self._session

    async def close(self) -> None:
        for site in self._sites.values():
            site.close()
        if self._session is not None:
            await self._session.close()


_servers: dict[asyncio.AbstractEventLoop, _Servers] = {}
"""The one of the loop that runs."""


def _of_this_loop() -> _Servers:
    here = asyncio.get_running_loop()
    found = _servers.get(here)
    if found is None:
        import atexit

        _servers.clear()
        found = _servers[here] = _Servers(here)
        atexit.register(_end, here, found)
    return found


def _end(where: asyncio.AbstractEventLoop, servers: _Servers) -> None:
    if where.is_running() and where in _servers:
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(servers.close(), where).result(timeout=1.0)


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
        self._path_at = len(urlunsplit((scheme, host, "", "", "")))
        self._attempts = attempts
        self._pause = pause
        self._silence = timeout
        self._server = _server(self.url)
        """Scheme, host, port, and what to send before and after a key; None where aiohttp is to ask."""
        self._failures: tuple[type[Exception], ...] = (
            aiohttp.ClientConnectionError,
            aiohttp.ClientPayloadError,
            asyncio.TimeoutError,
            OSError,
        )
        self._client_error: type[Exception] = aiohttp.ClientError
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=min(timeout, CONNECT), sock_read=timeout)

    def _url(self, key: str) -> str:
        url = f"{self._base}/{quote(key, safe='/')}" if key else self._base
        return f"{url}?{self._query}" if self._query else url

    def _target(self, key: str) -> str:
        """As `_url`, without scheme and host."""
        return self._url(key)[self._path_at :] or "/"

    async def _fetch(self, key: str, part: ByteRange | None) -> bytes | memoryview | None:
        if part is not None and part.length == 0:
            return None if await self._once_more(key, ByteRange(0, 1), _body) is None else b""
        return await self._once_more(key, part, _body)

    def size(self, key: str) -> int | None:
        """How many bytes the value has; None when absent."""
        return self._wait(self._once_more(key, ByteRange(0, 1), _size))

    async def _once_more(
        self, key: str, part: ByteRange | None, read: Callable[[Reply, ByteRange | None], T]
    ) -> T | None:
        """Asks, and asks again after faults that may pass."""
        why, advice = "", ""
        for attempt in range(self._attempts):
            if attempt:
                await asyncio.sleep(self._pause * 2 ** (attempt - 1) * (0.75 + random.random() / 2))
            width = self.width
            try:
                reply = await self._ask(key, part)
                if reply.status in (200, 206, 416):
                    self.widen()
                    return read(reply, part)
                if reply.status in _ABSENT:
                    return None
                why, advice = f"The server answered {reply.status} {reply.reason}", _advice(reply.status)
                if reply.status not in _AGAIN:
                    break
                if reply.status in _TOO_MANY:
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

    async def _ask(self, key: str, part: ByteRange | None) -> Reply:
        most = None if part is None or part.start is None or part.length is None else part.start + part.length
        if self._server is not None:
            scheme, host, port, head = self._server
            wanted = "" if part is None else f"Range: {_range(part)}\r\n"
            request = f"GET {self._target(key)} {head}{wanted}\r\n".encode("ascii")
            try:
                return await _of_this_loop().site(scheme, host, port).ask(request, most, CONNECT, self._silence)
            except Unplain:
                self._server = None
        return await self._ask_by_aiohttp(key, part, most)

    async def _ask_by_aiohttp(self, key: str, part: ByteRange | None, most: int | None) -> Reply:
        from yarl import URL

        headers = {} if part is None else {"Range": _range(part)}
        # aiohttp follows redirects to http and https only, and no more than these.
        url = URL(self._url(key), encoded=True)
        session = _of_this_loop().session()
        async with session.get(url, headers=headers, max_redirects=5, timeout=self._timeout) as response:
            body = bytearray()
            if response.status in (200, 206):
                async for piece in response.content.iter_any():
                    body += piece
                    if most is not None and len(body) >= most:
                        break  # a server without ranges sends more than was asked for
            said = {name.lower(): value for name, value in response.headers.items()}
            return Reply(response.status, response.reason, said, bytes(body))


def _range(part: ByteRange) -> str:
    if part.start is None:
        return f"bytes=-{part.length}"
    return f"bytes={part.start}-" + ("" if part.length is None else str(part.start + part.length - 1))


def _body(reply: Reply, part: ByteRange | None) -> bytes | memoryview:
    if reply.status == 416:  # the value is there, but the range begins beyond its end
        return b""
    if part is None:
        if reply.status == 206:
            raise Unreadable("The server sent a part of the value when asked for the whole")
        return reply.body
    if reply.status == 200:
        return reply.body[slice(*part.span(len(reply.body)))]
    first = reply.headers.get("content-range", "").removeprefix("bytes ").partition("-")[0]
    if part.start is not None and first.isdigit() and int(first) != part.start:
        raise Unreadable(f"The server sent bytes from {first} when asked for those from {part.start}")
    return reply.body if part.length is None else reply.body[: part.length]


def _size(reply: Reply, part: ByteRange | None) -> int:
    total = reply.headers.get("content-range", "").rpartition("/")[2]
    if reply.status in (206, 416) and total.isdigit():
        return int(total)
    length = reply.headers.get("content-length", "")
    if reply.status == 200 and length.isdigit():
        return int(length)
    raise Unreadable("The server does not say how large the file is", advice="Download the archive, then open it.")


def _server(url: str) -> tuple[str, str, int, str] | None:
    """Scheme, host and port of `url`, and the head of a request after its target; None for what wire.py has no words
    for."""
    address = urlsplit(url)
    host, port = address.hostname, address.port or (443 if address.scheme == "https" else 80)
    plain = url.isascii() and url.isprintable() and " " not in url and "@" not in address.netloc
    if not (host and plain and address.scheme in ("http", "https")):
        return None
    said = {"Host": address.netloc, "User-Agent": "zarrscope", "Accept": "*/*", "Accept-Encoding": "identity"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in said.items())
    return address.scheme, host, port, f"HTTP/1.1\r\n{lines}"


def _advice(status: int) -> str:
    if status == 401:
        return "The server asks for a login: use an address with a token, or download the data."
    if status == 429:
        return "The server is asked too often: wait a minute, then try again."
    return "Wait, then try again." if status >= 500 else "Check the address."
