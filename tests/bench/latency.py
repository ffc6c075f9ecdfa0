"""A web server that delays and counts its answers: HTTP/1.1 with ranges and kept connections, in its own process.

    with Slow(folder) as server:
        server.delay(0.05)               every request is answered after 50 ms, however many there are
        server.in_waves()                requests are held until no further one comes, then all answered: a round trip
        read(server.url + "/store")
        server.counts()                  {"requests": …, "waves": [[path, …], …], "bytes": …, "absent": …} since then

One thread and no dependency, so that it takes little from the cores that are measured.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Self

from bench.peers import environment

QUIET = 0.12
"""Seconds without a new request that end a wave."""
CONTROL = "/-/"
RANGE = re.compile(r"^range:\s*(\S+)", re.I | re.M)


class Slow:
    """The server as seen by the parent process."""

    module = "bench.latency"

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", self.module, str(folder)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate(timeout=20)

    def delay(self, seconds: float) -> None:
        self._control(f"delay/{seconds}")

    def in_waves(self) -> None:
        self._control("waves")

    def counts(self) -> dict[str, Any]:
        counts: dict[str, Any] = self._control("counts")
        return counts

    def _control(self, what: str) -> Any:
        with urllib.request.urlopen(self.url + CONTROL + what, timeout=20) as answer:
            return json.load(answer)


class Files:
    """The state that all connections share: the files, the waiting time, the counts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.seconds: float | None = 0.0
        """The delay of each answer; None: answers are sent in waves."""
        self._held: list[tuple[str, Callable[[], None]]] = []
        self._release: asyncio.TimerHandle | None = None
        self._contents: dict[str, bytes | None] = {}
        self.reset()

    def reset(self) -> None:
        self.counts: dict[str, Any] = {"requests": 0, "waves": [], "bytes": 0, "absent": 0}

    def control(self, what: str) -> dict[str, Any]:
        if what != "counts":
            self.seconds = float(what.partition("/")[2]) if what.startswith("delay") else None
            self.reset()
        return self.counts

    def in_turn(self, path: str, answer: Callable[[], None]) -> None:
        """Calls `answer` when its delay is over."""
        self.counts["requests"] += 1
        loop = asyncio.get_running_loop()
        if self.seconds is not None:
            loop.call_later(self.seconds, answer)
            return
        self._held.append((path, answer))
        if self._release is not None:
            self._release.cancel()
        self._release = loop.call_later(QUIET, self._answer_all)

    def _answer_all(self) -> None:
        held, self._held = self._held, []
        self.counts["waves"].append([path for path, _ in held])
        for _, answer in held:
            answer()

    def answer(self, method: str, path: str, asked: str | None) -> list[bytes | memoryview]:
        """Sends the head and the body of an answer."""
        value = self._value(path)
        if value is None:
            self.counts["absent"] += 1
            return [self.head(404, 0)]
        size = len(value)
        start, stop = _span(asked, size) if asked else (0, size)
        if start >= stop and asked:
            return [self.head(416, 0, f"Content-Range: bytes */{size}\r\n")]
        extra = f"Content-Range: bytes {start}-{stop - 1}/{size}\r\n" if asked else ""
        first = self.head(206 if asked else 200, size if method == "HEAD" else stop - start, extra, value)
        if method == "HEAD":
            return [first]
        self.counts["bytes"] += stop - start
        return [first, memoryview(value)[start:stop]]

    def head(self, status: int, length: int, extra: str = "", value: bytes | None = None) -> bytes:
        """The head of an answer, with further headers for the value."""
        return head(status, length, extra)

    def _value(self, path: str) -> bytes | None:
        """The content of a file, read once."""
        if path not in self._contents:
            file = (self.folder / path.lstrip("/")).resolve()
            there = file.is_relative_to(self.folder) and file.is_file()
            self._contents[path] = file.read_bytes() if there else None
        return self._contents[path]


def _span(asked: str, size: int) -> tuple[int, int]:
    first, _, last = asked.partition("=")[2].partition("-")
    if not first:
        return max(0, size - int(last)), size
    return int(first), min(size, int(last) + 1 if last else size)


def head(status: int, length: int, extra: str = "") -> bytes:
    said = {200: "OK", 206: "Partial Content", 404: "Not Found", 416: "Range Not Satisfiable"}[status]
    return f"HTTP/1.1 {status} {said}\r\nAccept-Ranges: bytes\r\nContent-Length: {length}\r\n{extra}\r\n".encode()


class Connection(asyncio.Protocol):
    """A connection that answers one request after the other. A protocol costs half as much as a stream."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._came = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(1 << 26)

    def data_received(self, data: bytes) -> None:
        self._came += data
        while b"\r\n\r\n" in self._came:
            text, _, self._came = self._came.partition(b"\r\n\r\n")
            self._asked(text.decode("latin-1"))

    def _asked(self, said: str) -> None:
        method, path = said.split(" ", 2)[:2]
        if path.startswith(CONTROL):
            body = json.dumps(self._files.control(path.removeprefix(CONTROL))).encode()
            self._transport.write(head(200, len(body)) + body)
            return
        path = path.partition("?")[0]
        found = RANGE.search(said)
        span = found[1] if found else None
        self._files.in_turn(path, lambda: self._transport.writelines(self._files.answer(method, path, span)))


async def serve(connection: Callable[[], Connection]) -> None:
    """Answers until the process is ended; prints the port first."""
    server = await asyncio.get_running_loop().create_server(connection, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(partial(Connection, Files(Path(sys.argv[1])))))
