"""A web server on this machine with the faults of real web servers, accidental and malicious.

`BEHAVIOURS` names each way; `hostile(name)` runs a server that answers every request for DOCUMENTS and CHUNKS so, or
only for keys that `only` picks. A behaviour writes raw bytes: nothing is between it and the client.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

PAGE = b"<!DOCTYPE html>\n<html><body>Welcome</body></html>"
LOGIN = b"<html><body><form action=login>user, password</form></body></html>"
# decompresses once to 256 KiB of data that decompress to 256 MiB
BOMB = gzip.compress(gzip.compress(bytes(1 << 26)) * 4)
ZEROS = gzip.compress(bytes(1 << 27))
"""128 KiB that decompress to 128 MiB."""


@dataclass
class Ask:
    """One request."""

    key: str
    span: str | None
    """The Range header of the request."""
    value: bytes | None
    """The answer that a correct server would give."""
    count: int
    """The number of requests for this key so far."""
    write: Callable[[bytes], Awaitable[None]]
    stop: asyncio.Event

    async def answer(self, status: str, body: bytes = b"", *headers: str, length: bool = True) -> None:
        lines = [f"HTTP/1.1 {status}", *headers, *([f"Content-Length: {len(body)}"] if length else [])]
        await self.write("\r\n".join([*lines, "", ""]).encode() + body)

    async def honest(self) -> None:
        if self.value is None:
            await self.answer("404 Not Found", b"no")
            return
        if self.span is None:
            await self.answer("200 OK", self.value)
            return
        first, last = self.part()
        if first > last:
            await self.answer("416 Range Not Satisfiable", b"", f"Content-Range: bytes */{len(self.value)}")
            return
        told = f"Content-Range: bytes {first}-{last}/{len(self.value)}"
        await self.answer("206 Partial Content", self.value[first : last + 1], told)

    def part(self) -> tuple[int, int]:
        assert self.value is not None
        assert self.span is not None
        first, _, last = self.span.removeprefix("bytes=").partition("-")
        if not first:
            return max(0, len(self.value) - int(last)), len(self.value) - 1
        return int(first), min(len(self.value) - 1, int(last)) if last else len(self.value) - 1

    async def forever(self, piece: bytes, pause: float = 0.0) -> None:
        while not self.stop.is_set():
            await self.write(piece)
            if pause:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self.stop.wait(), pause)

    async def silence(self) -> None:
        await self.stop.wait()


class Hangup(Exception):
    """Ends the connection without an answer."""


class Reset(Exception):
    """Resets the connection."""


Behaviour = Callable[[Ask], Awaitable[None]]
BEHAVIOURS: dict[str, Behaviour] = {}


def behaviour(act: Behaviour) -> Behaviour:
    BEHAVIOURS[act.__name__.replace("_", " ")] = act
    return act


def status(name: str, line: str, *headers: str, body: bytes = b"fault") -> None:
    async def act(ask: Ask) -> None:
        await ask.answer(line, body, *headers)

    BEHAVIOURS[name] = act


# ------------------------------------------------------------------------------------------- bodies without end
@behaviour
async def endless_chunked_body(ask: Ask) -> None:
    await ask.answer("200 OK", b"", "Transfer-Encoding: chunked", length=False)
    await ask.forever(b"10000\r\n" + bytes(65536) + b"\r\n")


@behaviour
async def endless_body_without_length(ask: Ask) -> None:
    await ask.answer("200 OK", b"", "Connection: close", length=False)
    await ask.forever(bytes(65536))


@behaviour
async def body_of_20_GiB(ask: Ask) -> None:
    await ask.answer("200 OK", b"", f"Content-Length: {20 << 30}", length=False)
    await ask.forever(bytes(65536))


@behaviour
async def part_of_20_GiB(ask: Ask) -> None:
    span = f"Content-Range: bytes 0-{(20 << 30) - 1}/{20 << 30}"
    await ask.answer("206 Partial Content", b"", span, f"Content-Length: {20 << 30}", length=False)
    await ask.forever(bytes(65536))


@behaviour
async def part_without_end(ask: Ask) -> None:
    first = ask.part()[0] if ask.span and ask.value is not None else 0
    span = f"Content-Range: bytes {first}-{first + 2}/10"
    await ask.answer("206 Partial Content", b"", span, "Transfer-Encoding: chunked", length=False)
    await ask.forever(b"10000\r\n" + bytes(65536) + b"\r\n")


status("gzip bomb", "200 OK", "Content-Encoding: gzip", body=ZEROS)
status("gzip bomb in gzip", "200 OK", "Content-Encoding: gzip", body=BOMB)
status("gzip in gzip, told", "200 OK", "Content-Encoding: gzip, gzip", body=BOMB)
status("brotli", "200 OK", "Content-Encoding: br", body=b"\x0b\x02\x80abc\x03")


@behaviour
async def gzip_of_the_value(ask: Ask) -> None:
    await ask.answer("200 OK", gzip.compress(ask.value or b""), "Content-Encoding: gzip")


@behaviour
async def gzip_cut_short(ask: Ask) -> None:
    await ask.answer("200 OK", gzip.compress(ask.value or b"")[:-9], "Content-Encoding: gzip")


@behaviour
async def gzip_of_parts(ask: Ask) -> None:
    """Some caches do this: the answer is a part of the compressed value."""
    packed = gzip.compress(ask.value or b"")
    if ask.span is None:
        await ask.answer("200 OK", packed, "Content-Encoding: gzip")
    else:
        told = f"Content-Range: bytes 2-4/{len(packed)}"
        await ask.answer("206 Partial Content", packed[2:5], told, "Content-Encoding: gzip")


# ------------------------------------------------------------------------------------------- slow and silent
@behaviour
async def byte_after_byte(ask: Ask) -> None:
    await ask.answer("200 OK", b"", "Transfer-Encoding: chunked", length=False)
    await ask.forever(b"1\r\n\0\r\n", 0.02)


@behaviour
async def never_an_answer(ask: Ask) -> None:
    await ask.silence()


@behaviour
async def silent_after_the_head(ask: Ask) -> None:
    await ask.answer("200 OK", b"", "Content-Length: 10", length=False)
    await ask.silence()


@behaviour
async def silent_after_half(ask: Ask) -> None:
    await ask.answer("200 OK", b"01234", "Content-Length: 10", length=False)
    await ask.silence()


@behaviour
async def head_byte_after_byte(ask: Ask) -> None:
    await ask.write(b"HTTP/1.1 200 OK\r\nX: ")
    await ask.forever(b"y", 0.02)


@behaviour
async def head_without_end(ask: Ask) -> None:
    await ask.write(b"HTTP/1.1 200 OK\r\n")
    await ask.forever(b"X-Header: " + b"y" * 1000 + b"\r\n", 0.0005)


@behaviour
async def head_of_one_endless_line(ask: Ask) -> None:
    await ask.write(b"HTTP/1.1 200 OK\r\nX: ")
    await ask.forever(b"y" * 65536)


@behaviour
async def soon_soon_soon(ask: Ask) -> None:
    await ask.forever(b"HTTP/1.1 102 Processing\r\n\r\n", 0.005)


@behaviour
async def faults_without_end(ask: Ask) -> None:
    await ask.answer("404 Not Found", b"", "Content-Type: application/xml", "Connection: close", length=False)
    await ask.forever(b"<Error>" * 1000)


# ------------------------------------------------------------------------------------------- broken
@behaviour
async def cut_short(ask: Ask) -> None:
    await ask.answer("200 OK", b"01234", "Content-Length: 10", length=False)
    raise Hangup


@behaviour
async def cut_short_chunked(ask: Ask) -> None:
    await ask.answer("200 OK", b"5\r\n01234\r\n", "Transfer-Encoding: chunked", length=False)
    raise Hangup


@behaviour
async def cut_short_then_well(ask: Ask) -> None:
    if ask.count == 1:
        await cut_short(ask)
    await ask.honest()


@behaviour
async def reset_of_the_connection(ask: Ask) -> None:
    raise Reset


@behaviour
async def hangs_up(ask: Ask) -> None:
    raise Hangup


@behaviour
async def speaks_SSH(ask: Ask) -> None:
    await ask.write(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")
    raise Hangup


@behaviour
async def bad_chunk_sizes(ask: Ask) -> None:
    await ask.answer("200 OK", b"zz\r\n01234\r\n0\r\n\r\n", "Transfer-Encoding: chunked", length=False)
    raise Hangup


@behaviour
async def negative_length(ask: Ask) -> None:
    await ask.answer("200 OK", b"01234", "Content-Length: -5", length=False)
    raise Hangup


@behaviour
async def two_lengths(ask: Ask) -> None:
    await ask.answer("200 OK", b"0123456789", "Content-Length: 5", "Content-Length: 10", length=False)
    raise Hangup


@behaviour
async def length_of_30_digits(ask: Ask) -> None:
    await ask.answer("200 OK", b"0123456789", "Content-Length: " + "9" * 30, length=False)
    raise Hangup


@behaviour
async def HTTP_1_0(ask: Ask) -> None:
    await ask.write(b"HTTP/1.0 200 OK\r\n\r\n" + (ask.value or b""))
    raise Hangup


# ------------------------------------------------------------------------------------------- statuses
for _line in (
    "204 No Content", "300 Multiple Choices", "304 Not Modified", "400 Bad Request", "401 Unauthorized",
    "402 Payment Required", "405 Method Not Allowed", "407 Proxy Authentication Required", "409 Conflict",
    "418 I'm a teapot", "451 Unavailable For Legal Reasons", "500 Internal Server Error", "501 Not Implemented",
    "502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout", "507 Insufficient Storage", "999 Odd",
    "404 Not Found", "410 Gone",
):  # fmt: skip
    status(_line, _line, body=b"" if _line[:3] in ("204", "304") else b"fault")
status("wait for a day", "503 Service Unavailable", "Retry-After: 86400")
status("wait until 2100", "429 Too Many Requests", "Retry-After: Fri, 01 Jan 2100 00:00:00 GMT")
status("wait for ever", "503 Service Unavailable", "Retry-After: " + "9" * 400)
status("wait, it does not say how long", "503 Service Unavailable", "Retry-After: soon; -1, NaN")
status("no such bucket", "404 Not Found", "Content-Type: application/xml",
       body=b'<?xml version="1.0"?><Error><Code>NoSuchBucket</Code></Error>')  # fmt: skip
status("no such container", "404 Not Found", "Content-Type: application/xml",
       body=b"<Error><Code>ContainerNotFound</Code></Error>")  # fmt: skip
status("no such key", "404 Not Found", "Content-Type: application/xml",
       body=b"<Error><Code>NoSuchKey</Code></Error>")  # fmt: skip
status("expired token", "403 Forbidden", "Content-Type: application/xml",
       body=b"<Error><Code>ExpiredToken</Code></Error>")  # fmt: skip
status("expired address", "403 Forbidden", "Content-Type: application/xml",
       body=b"<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>")  # fmt: skip


@behaviour
async def denied_where_it_is(ask: Ask) -> None:
    """403 for existing keys, 404 for missing ones."""
    await ask.answer(*("404 Not Found", b"") if ask.value is None else ("403 Forbidden", b""))


@behaviour
async def denied_alike(ask: Ask) -> None:
    """403 for everything."""
    await ask.answer("403 Forbidden", b"<Error><Code>AccessDenied</Code></Error>")


@behaviour
async def asked_too_often_once(ask: Ask) -> None:
    if ask.count == 1:
        await ask.answer("429 Too Many Requests", b"", "Retry-After: 0")
    else:
        await ask.honest()


@behaviour
async def broken_once(ask: Ask) -> None:
    if ask.count == 1:
        await ask.answer("500 Internal Server Error", b"")
    else:
        await ask.honest()


status("redirects in a circle", "302 Found", "Location: /round")
status("redirects to a file", "302 Found", "Location: file:///etc/passwd")
status("redirects to nothing", "302 Found", "Location: http://127.0.0.1:1/")
status("redirects to nonsense", "302 Found", "Location: http://[::1")
status("redirects nowhere", "302 Found")


# ------------------------------------------------------------------------------------------- other things than asked
status("a page for everything", "200 OK", "Content-Type: text/html; charset=utf-8", body=PAGE)
status("a page without a type", "200 OK", body=b"\n  " + PAGE)
status("an error in JSON for everything", "200 OK", "Content-Type: application/json", body=b'{"error": "not found"}')
status("an empty object for everything", "200 OK", "Content-Type: application/json", body=b"{}\n")
status("nothing for everything", "200 OK", body=b"")
status("an empty array for everything", "200 OK", body=b"[]")
status("null for everything", "200 OK", body=b"null")


@behaviour
async def errors_in_json_that_differ(ask: Ask) -> None:
    told = json.dumps({"detail": "Not Found", "path": ask.key}).encode()
    await ask.answer("200 OK", told, "Content-Type: application/json")


@behaviour
async def pages_that_differ(ask: Ask) -> None:
    await ask.answer("200 OK", PAGE + ask.key.encode(), "Content-Type: text/html")


@behaviour
async def a_page_in_parts(ask: Ask) -> None:
    """A server that gives out its page by range."""
    ask.value = PAGE
    if ask.span is None:
        await ask.answer("200 OK", PAGE, "Content-Type: text/html")
    else:
        first, last = ask.part()
        told = f"Content-Range: bytes {first}-{last}/{len(PAGE)}"
        await ask.answer("206 Partial Content", PAGE[first : last + 1], told, "Content-Type: text/html")


@behaviour
async def a_login_instead(ask: Ask) -> None:
    """A login page for existing keys only."""
    if ask.value is None:
        await ask.answer("404 Not Found", b"")
    else:
        await ask.answer("200 OK", LOGIN, "Content-Type: text/html")


@behaviour
async def all_is_text_html(ask: Ask) -> None:
    """A server that gives every value the content type of a page."""
    if ask.value is None:
        await ask.answer("404 Not Found", PAGE, "Content-Type: text/html")
    else:
        await ask.answer("200 OK", ask.value, "Content-Type: text/html")


@behaviour
async def no_ranges(ask: Ask) -> None:
    await ask.answer("200 OK", ask.value or b"")


@behaviour
async def another_part(ask: Ask) -> None:
    if ask.span is None:
        await ask.honest()
    else:
        await ask.answer("206 Partial Content", b"678", "Content-Range: bytes 6-8/10")


@behaviour
async def a_part_cut_short(ask: Ask) -> None:
    if ask.span is None:
        await ask.honest()
    else:
        first, last = ask.part()
        told = f"Content-Range: bytes {first}-{last}/10"
        await ask.answer("206 Partial Content", (ask.value or b"")[first:last], told)


@behaviour
async def less_than_asked(ask: Ask) -> None:
    if ask.span is None:
        await ask.honest()
    else:
        first, last = ask.part()
        await ask.answer(
            "206 Partial Content", (ask.value or b"")[first:last], f"Content-Range: bytes {first}-{last - 1}/10"
        )


@behaviour
async def a_part_without_saying_which(ask: Ask) -> None:
    if ask.span is None:
        await ask.honest()
    else:
        await ask.answer("206 Partial Content", (ask.value or b"")[:3])


@behaviour
async def parts_in_an_envelope(ask: Ask) -> None:
    body = b"--x\r\nContent-Range: bytes 0-9/10\r\n\r\n0123456789\r\n--x--"
    await ask.answer("206 Partial Content", body, "Content-Type: multipart/byteranges; boundary=x")


@behaviour
async def a_part_of_the_whole(ask: Ask) -> None:
    """206 with a part to requests for whole values."""
    if ask.span is None:
        await ask.answer("206 Partial Content", b"012", "Content-Range: bytes 0-2/10")
    else:
        await ask.honest()


@behaviour
async def no_part_pleases(ask: Ask) -> None:
    """416 to every request for a part."""
    if ask.span is None:
        await ask.honest()
    else:
        await ask.answer("416 Range Not Satisfiable", b"")


@behaviour
async def no_part_pleases_though_it_knows_better(ask: Ask) -> None:
    if ask.span is None:
        await ask.honest()
    else:
        await ask.answer("416 Range Not Satisfiable", b"", "Content-Range: bytes */10")


@behaviour
async def a_thousand_cookies(ask: Ask) -> None:
    await ask.answer("200 OK", ask.value or b"", *[f"Set-Cookie: c{i}={'x' * 20}" for i in range(100)])


# ------------------------------------------------------------------------------------------- the server
@dataclass
class Hostile:
    """A running server. `act` answers requests for the keys that `only` selects; other requests get a correct
    answer."""

    values: Mapping[str, bytes]
    act: Behaviour
    only: Callable[[str], bool] = lambda key: True
    url: str = ""
    asked: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    sent: int = 0
    """The number of bytes written to all clients."""


@contextmanager
def hostile(
    act: str | Behaviour, values: Mapping[str, bytes], only: Callable[[str], bool] = lambda key: True
) -> Iterator[Hostile]:
    """Runs the server during the `with` block; then every connection ends."""
    state = Hostile(values, BEHAVIOURS[act] if isinstance(act, str) else act, only)
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    clients: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        clients.add(task)

        async def write(data: bytes) -> None:
            writer.write(data)
            await writer.drain()
            state.sent += len(data)

        try:
            async for key, span in _requests(reader):
                state.asked.append(key)
                state.counts[key] = state.counts.get(key, 0) + 1
                ask = Ask(key, span, values.get(key), state.counts[key], write, stop)
                if state.only(key):
                    await state.act(ask)
                else:
                    await ask.honest()
        except Reset:
            writer.transport.abort()
        except (Hangup, OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            clients.discard(task)
            with suppress(Exception):
                writer.close()

    async def begin() -> asyncio.Server:
        return await asyncio.start_server(serve, "127.0.0.1", 0)

    server = loop.run_until_complete(begin())
    thread = threading.Thread(target=loop.run_forever, name="hostile-server")
    thread.start()
    state.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def end() -> None:
        stop.set()
        server.close()
        for task in list(clients):
            task.cancel()
        await asyncio.gather(*list(clients), return_exceptions=True)
        await asyncio.sleep(0)

    try:
        yield state
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _requests(reader: asyncio.StreamReader) -> AsyncIterator[tuple[str, str | None]]:
    while line := await reader.readline():
        path = line.split()[1].decode() if len(line.split()) > 1 else "/"
        span = None
        while (header := await reader.readline()) not in (b"\r\n", b""):
            name, _, text = header.decode("latin-1").partition(":")
            if name.lower() == "range":
                span = text.strip()
        yield unquote(urlsplit(path).path).lstrip("/"), span
