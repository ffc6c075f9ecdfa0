"""Stores on other machines, through fsspec's asynchronous file systems and their own event loop.

`HTTPStore` reads from a web server (spec B "HTTP store"): a value is the body at URL/key, by range where the server
does ranges and sliced where it answers with everything. 404, 410 and 403 (S3 answers so to those who may not list)
mean absent. Too many requests, server faults and broken connections are tried again, a little later each time; what
still fails is Unreadable with the status. Nothing can be listed or written.
"""

from __future__ import annotations

import asyncio
import queue
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit, urlunsplit

from zarrscope.errors import NotFound, Unreadable, Unsupported, ZarrscopeError
from zarrscope.store import Answer, ByteRange, Request, Store

IN_FLIGHT = 64
ATTEMPTS = 4
_ABSENT = (403, 404, 410)
_AGAIN = (408, 425, 429, 500, 502, 503, 504)
_LOOK = 0.05
"""Seconds between looks whether a caller of get_many has lost interest."""

T = TypeVar("T")


class RemoteStore(Store):
    """What stores over an event loop share: one awaited `fetch` per request, many under way, each cancellable."""

    remote = True
    listable = False
    writable = False

    def __init__(self) -> None:
        from fsspec.asyn import get_loop

        self._loop: asyncio.AbstractEventLoop = get_loop()

    async def _fetch(self, key: str, part: ByteRange | None) -> bytes | None:
        raise NotImplementedError

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        finally:
            future.cancel()

    def _get(self, key: str, part: ByteRange | None) -> bytes | None:
        return self._wait(self._fetch(key, part))

    def _get_many(self, requests: Sequence[Request], cancelled: Callable[[], bool]) -> Iterator[tuple[int, Answer]]:
        if not requests or cancelled():
            return
        answers: queue.SimpleQueue[tuple[int, Answer]] = queue.SimpleQueue()
        todo = iter(enumerate(requests))

        async def work() -> None:
            for i, (key, part) in todo:
                try:
                    answers.put((i, await self._fetch(key, part)))
                except ZarrscopeError as error:
                    answers.put((i, error.located(store=self.url, key=key)))
                except Exception as error:
                    answers.put((i, Unreadable(f"The request failed: {error!r}", store=self.url, key=key)))

        async def all_of_it() -> None:
            await asyncio.gather(*(work() for _ in range(min(IN_FLIGHT, len(requests)))))

        running = asyncio.run_coroutine_threadsafe(all_of_it(), self._loop)
        try:
            for _ in requests:
                while True:
                    if cancelled():
                        return
                    try:
                        answer = answers.get(timeout=_LOOK)
                        break
                    except queue.Empty:
                        continue
                yield answer
        finally:
            running.cancel()


class HTTPStore(RemoteStore):
    """The values beneath an http:// or https:// URL; a query in it (a signed token) is sent with every key.

    `pause` is the first wait before trying again, in seconds, doubled each time. `timeout` is how long a server may
    stay silent. Raises Unsupported when aiohttp is not installed.
    """

    def __init__(self, url: str, *, attempts: int = ATTEMPTS, pause: float = 0.25, timeout: float = 60.0) -> None:
        try:
            import aiohttp
            from fsspec.implementations.http import HTTPFileSystem
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
        limits = aiohttp.ClientTimeout(total=None, sock_connect=min(timeout, 20.0), sock_read=timeout)

        async def client(**options: Any) -> aiohttp.ClientSession:
            options.pop("loop", None)
            connector = aiohttp.TCPConnector(limit=IN_FLIGHT)
            return aiohttp.ClientSession(
                connector=connector, timeout=limits, headers={"Accept-Encoding": "identity"}, **options
            )

        self._files = HTTPFileSystem(get_client=client, skip_instance_cache=True)

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
            try:
                async with self._asked(key, part) as response:
                    if response.status in (200, 206, 416):
                        return await read(response, part)
                    if response.status in _ABSENT:
                        return None
                    why, advice = f"The server answered {response.status} {response.reason}", _advice(response.status)
                    if response.status not in _AGAIN:
                        break
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

        session = await self._files.set_session()
        headers = {} if part is None else {"Range": _range(part)}
        # aiohttp follows redirects to http and https only, and no more than these.
        async with session.get(URL(self._url(key), encoded=True), headers=headers, max_redirects=5) as response:
            yield response

    def close(self) -> None:
        session = getattr(self._files, "_session", None)
        if session is not None:
            self._files._session = None
            self._wait(session.close())


class RemoteFile:
    """One file on a web server, read by ranges: an archive that ZipStore opens."""

    def __init__(self, url: str) -> None:
        self._store = HTTPStore(url)
        size = self._store.size("")
        if size is None:
            raise NotFound("The server has no such file", store=url, advice="Check the address.")
        self.size = size

    def read_at(self, offset: int, length: int) -> bytes:
        value = self._store._get("", ByteRange(offset, length)) if length else b""
        if value is None:
            raise Unreadable("The file is no longer there", store=self._store.url)
        return value

    def close(self) -> None:
        self._store.close()


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
