"""Connections to a web server on which values are asked for, one after the other: the part of HTTP/1.1 that takes.

A `Site` keeps the connections to one server; `ask` sends a GET on one of them and gives the whole `Reply`. All of it
belongs to one event loop. Bodies come by their stated length, straight into the memory that is handed on, or in chunks;
what else a server may do (redirect, compress, an older HTTP, no length) is `Unplain`: http.py then asks by aiohttp.
A broken, silent or senseless connection is a ConnectionError and is never used again; so is one that was given up on.
RFC 9110, RFC 9112.

2026-11-21 · rather than aiohttp for everything: on the network's thread 128 answers of 275 KiB take 13 to 15 ms of
computing instead of 19 to 22 (tests/bench/run.py "http").
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import ssl

HEAD = 8 * 1024
"""Bytes received at once while no body is under way."""
LARGEST_HEAD = 64 * 1024
KEPT_FOR = 30.0
"""Seconds that a connection is kept without a request."""
STAGGER = 0.25
"""Seconds after which the next address of a server is tried beside the one that does not answer."""
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3})(?: ([^\r\n]*))?\r\n")
_NO_BODY = (204, 304)


class Unplain(Exception):
    """The server answers in a way that is not spoken here."""


class Reply(NamedTuple):
    """`headers` by names in lower case. `body` is cut where no more was wanted."""

    status: int
    reason: str
    headers: dict[str, str]
    body: bytes | memoryview


class Site:
    """One server: scheme, host, port; at most `most` connections. `silence` is how long it may say nothing."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext | None, most: int) -> None:
        self._host, self._port, self._context, self._most = host, port, context, most
        self._idle: deque[Wire] = deque()
        self._open = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._addresses: asyncio.Future[list[Any]] | None = None
        self._closing: asyncio.TimerHandle | None = None

    async def ask(self, request: bytes, most: int | None, connect: float, silence: float) -> Reply:
        """The reply to `request`, a GET; of its body no more than `most` bytes. Raises Unplain, ConnectionError,
        OSError, TimeoutError, MemoryError."""
        while True:
            wire = await self._wire(connect)
            used = wire.used
            try:
                reply = await wire.ask(request, most, silence)
            except ConnectionError:
                if not (used and wire.untouched):
                    raise
                continue  # the server had closed it when the request came
            except BaseException:
                wire.close()
                raise
            self._give_back(wire)
            return reply

    def close(self) -> None:
        for wire in [*self._idle]:
            wire.close()

    async def _wire(self, timeout: float) -> Wire:
        while True:
            while self._idle:
                wire = self._idle.pop()
                if not wire.closed:
                    return wire
            if self._open < self._most:
                break
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                self._next()  # who was to have it, had the turn come already
                raise
        self._open += 1
        try:
            async with asyncio.timeout(timeout):
                return await self._connect()
        except BaseException:
            self._addresses = None
            self.lost(None)
            raise

    async def _connect(self) -> Wire:
        import aiohappyeyeballs

        loop = asyncio.get_running_loop()
        if self._addresses is None or self._addresses.cancelled():
            import socket

            self._addresses = asyncio.ensure_future(loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM))
        addresses = await asyncio.shield(self._addresses)
        sock = await aiohappyeyeballs.start_connection(addresses, happy_eyeballs_delay=STAGGER)
        name = self._host if self._context is not None else None
        _, wire = await loop.create_connection(lambda: Wire(self), sock=sock, ssl=self._context, server_hostname=name)
        return wire

    def _give_back(self, wire: Wire) -> None:
        if wire.closed:
            return
        wire.since = asyncio.get_running_loop().time()
        self._idle.append(wire)
        self._next()
        if self._closing is None:
            self._closing = asyncio.get_running_loop().call_later(KEPT_FOR, self._close_idle)

    def _next(self) -> None:
        """The first of those who wait may look for a connection again."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    def lost(self, wire: Wire | None) -> None:
        """A connection less."""
        self._open -= 1
        if wire is not None and wire in self._idle:
            self._idle.remove(wire)
        self._next()

    def _close_idle(self) -> None:
        loop = asyncio.get_running_loop()
        old = loop.time() - KEPT_FOR
        while self._idle and self._idle[0].since <= old:
            self._idle.popleft().close()
        wait = self._idle[0].since - old if self._idle else KEPT_FOR
        self._closing = loop.call_later(wait, self._close_idle) if self._idle else None
        if not self._open:
            self._addresses = None  # by the next time the name may stand for others


class Wire(asyncio.BufferedProtocol):
    """One connection."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._loop = asyncio.get_running_loop()
        self._transport: Any = None
        self._answer: asyncio.Future[Reply] | None = None
        self._head = memoryview(bytearray(HEAD))
        self._came = 0
        """Bytes of the head."""
        self._status, self._reason, self._headers = 0, "", dict[str, str]()
        self._body: memoryview | None = None
        self._at = 0
        self._chunks: Chunks | None = None
        self._most: int | None = None
        self._silence = 0.0
        self._watch: asyncio.TimerHandle | None = None
        self._last = False
        """There will be no other answer on it."""
        self.since = 0.0
        """When something came, or it became idle."""
        self.used = 0
        """How many answers came by it."""
        self.untouched = True
        """Nothing came since it was asked."""
        self.closed = False

    def ask(self, request: bytes, most: int | None, silence: float) -> asyncio.Future[Reply]:
        self._answer = answer = self._loop.create_future()
        self._most, self._silence, self.untouched = most, silence, True
        self.since = self._loop.time()
        if self._watch is None:
            self._watch = self._loop.call_later(silence, self._look)
        self._transport.write(request)
        return answer

    def close(self) -> None:
        """At once; what is under way is dropped."""
        if not self.closed and self._transport is not None:
            self._transport.abort()
        self._lose(ConnectionError("the connection was closed"))

    # ------------------------------------------------------------------ what the loop calls
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        self._lose(ConnectionError(str(error) if error else "the server closed it before all had come"))

    def _lose(self, error: Exception) -> None:
        if self.closed:
            return
        self.closed = True
        if self._watch is not None:
            self._watch.cancel()
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_exception(error)
        self._site.lost(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._body is not None:
            return self._body[self._at :]
        return self._head[self._came :]

    def buffer_updated(self, count: int) -> None:
        self.since = self._loop.time()
        self.untouched = False
        try:
            if self._body is not None:
                self._at += count
                if self._at == len(self._body):
                    self._done(self._body.toreadonly())
            elif self._chunks is not None:
                self._feed(self._head[:count])
            else:
                self._came += count
                self._read_head()
        except (ConnectionError, Unplain, MemoryError) as error:
            answer, self._answer = self._answer, None
            if answer is not None and not answer.done():
                answer.set_exception(error)
            self.close()

    def _look(self) -> None:
        """Whether the server has been silent for too long."""
        self._watch = None
        if self._answer is None:
            return  # watched again with the next request
        left = self.since + self._silence - self._loop.time()
        if left > 0:
            self._watch = self._loop.call_later(left, self._look)
            return
        self._answer.set_exception(TimeoutError(f"the server said nothing for {self._silence:.0f} seconds"))
        self._answer = None
        self.close()

    # ------------------------------------------------------------------ reading
    def _read_head(self) -> None:
        if self._answer is None:
            raise ConnectionError("the server sent what nobody asked for")
        came = bytes(self._head[: self._came])
        end = came.find(b"\r\n\r\n")
        if end < 0:
            if self._came == len(self._head):
                if self._came >= LARGEST_HEAD:
                    raise ConnectionError("the head of the answer has no end")
                self._head = memoryview(bytearray(came) + bytes(self._came))
            return
        found = _STATUS.match(came)
        if found is None:
            raise Unplain("another protocol, or another version of HTTP")
        self._status, self._reason = int(found[1]), (found[2] or b"").decode("latin-1")
        rest = came[end + 4 :]
        self._came = 0
        if self._status < 200:  # the answer comes after it
            self._head[: len(rest)] = rest
            self._came = len(rest)
            if rest:
                self._read_head()
            return
        self._headers = headers = dict[str, str]()
        for line in came[found.end() : end].decode("latin-1").split("\r\n"):
            name, _, value = line.partition(":")
            name, value = name.lower(), value.strip()
            if headers.setdefault(name, value) != value and name in ("content-length", "transfer-encoding"):
                raise Unplain("a header twice")
        self._last = headers.get("connection", "").lower() == "close"
        self._begin_body(headers, rest)

    def _begin_body(self, headers: dict[str, str], rest: bytes) -> None:
        coding = headers.get("transfer-encoding")
        if 300 <= self._status < 400 or headers.get("content-encoding", "identity") != "identity":
            raise Unplain("redirected or compressed")
        if coding is not None and coding.lower() != "chunked":
            raise Unplain("another transfer coding")
        if self._status in _NO_BODY:
            self._last |= bool(rest)
            self._done(b"")
        elif coding is not None:
            self._chunks = Chunks(self._most)
            self._feed(memoryview(rest))
        else:
            stated = headers.get("content-length", "")
            if not (stated.isascii() and stated.isdigit()):
                raise Unplain("a body without a length")
            length = int(stated)
            if self._most is not None and self._most < length:
                length, self._last = self._most, True
            if len(rest) >= length:
                self._last |= len(rest) > length
                self._done(rest[:length])
                return
            try:
                body = np.empty(length, np.uint8).data
            except ValueError as error:  # more than an array can have
                raise MemoryError from error
            body[: len(rest)] = rest
            self._body, self._at = body, len(rest)

    def _feed(self, data: memoryview) -> None:
        assert self._chunks is not None
        if self._chunks.feed(data):
            self._last |= self._chunks.cut
            self._done(bytes(self._chunks.body))

    def _done(self, body: bytes | memoryview) -> None:
        answer, self._answer = self._answer, None
        self._body = self._chunks = None
        self.used += 1
        reply = Reply(self._status, self._reason, self._headers, body)
        if self._last:
            self.close()
        if answer is not None and not answer.done():
            answer.set_result(reply)


class Chunks:
    """A body in chunks (RFC 9112, 7.1): `feed` until it says that all has come, or `most` bytes have."""

    def __init__(self, most: int | None) -> None:
        self.body = bytearray()
        self.cut = False
        """More came than was wanted, or than belongs to it."""
        self._most = most
        self._raw = bytearray()
        self._left: int | None = None
        """Bytes to come of this chunk; None before its size."""
        self._ending = False

    def feed(self, data: memoryview) -> bool:
        raw = self._raw
        raw += data
        while True:
            if self._left:
                piece = raw[: self._left]
                self.body += piece
                self._left -= len(piece)
                del raw[: len(piece)]
                if self._most is not None and len(self.body) >= self._most:
                    del self.body[self._most :]
                    self.cut = True
                    return True
                if self._left:
                    return False
            line, there, rest = raw.partition(b"\r\n")
            if not there:
                if len(raw) > LARGEST_HEAD:
                    raise ConnectionError("a chunk of the answer has no size")
                return False
            raw[:] = rest
            if self._ending:  # fields after the body, up to an empty line
                if not line:
                    self.cut = bool(raw)
                    return True
            elif self._left == 0:
                if line:
                    raise ConnectionError("a chunk of the answer is longer than it says")
                self._left = None
            else:
                size = line.partition(b";")[0].strip()
                if not re.fullmatch(rb"[0-9a-fA-F]{1,15}", size):
                    raise ConnectionError("a chunk of the answer has no size")
                self._left = int(size, 16) or None
                self._ending = self._left is None
