"""A web server that answers late, and counts: HTTP/1.1 with ranges and kept connections, in a process of its own.

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
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

from bench.peers import environment

QUIET = 0.12
"""Seconds without a new request that end a wave."""
CONTROL = "/-/"


class Slow:
    """The server, from the parent's side."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "bench.latency", str(folder)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}"

    def __enter__(self) -> Slow:
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
    """What the connections share: the files, how to wait, the counts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.seconds: float | None = 0.0
        """None: in waves."""
        self._held: list[tuple[str, asyncio.Future[None]]] = []
        self._release: asyncio.TimerHandle | None = None
        self.reset()

    def reset(self) -> None:
        self.counts: dict[str, Any] = {"requests": 0, "waves": [], "bytes": 0, "absent": 0}

    def control(self, what: str) -> dict[str, Any]:
        if what != "counts":
            self.seconds = float(what.partition("/")[2]) if what.startswith("delay") else None
            self.reset()
        return self.counts

    def turn(self, path: str) -> asyncio.Future[None]:
        """Done when a request that comes now may be answered."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        if self.seconds is not None:
            loop.call_later(self.seconds, turn.set_result, None)
            return turn
        self._held.append((path, turn))
        if self._release is not None:
            self._release.cancel()
        self._release = loop.call_later(QUIET, self._answer_all)
        return turn

    def _answer_all(self) -> None:
        held, self._held = self._held, []
        self.counts["waves"].append([path for path, _ in held])
        for _, turn in held:
            turn.set_result(None)

    def answer(self, method: str, path: str, asked: str | None) -> tuple[bytes, bytes]:
        """(head, body)."""
        file = (self.folder / path.lstrip("/")).resolve()
        if not file.is_relative_to(self.folder) or not file.is_file():
            self.counts["absent"] += 1
            return _head(404, 0), b""
        size = file.stat().st_size
        start, stop = _span(asked, size) if asked else (0, size)
        if start >= stop and asked:
            return _head(416, 0, f"Content-Range: bytes */{size}\r\n"), b""
        extra = f"Content-Range: bytes {start}-{stop - 1}/{size}\r\n" if asked else ""
        if method == "HEAD":
            return _head(206 if asked else 200, stop - start, extra), b""
        with open(file, "rb") as opened:
            opened.seek(start)
            body = opened.read(stop - start)
        self.counts["bytes"] += len(body)
        return _head(206 if asked else 200, len(body), extra), body


def _span(asked: str, size: int) -> tuple[int, int]:
    first, _, last = asked.partition("=")[2].partition("-")
    if not first:
        return max(0, size - int(last)), size
    return int(first), min(size, int(last) + 1 if last else size)


def _head(status: int, length: int, extra: str = "") -> bytes:
    said = {200: "OK", 206: "Partial Content", 404: "Not Found", 416: "Range Not Satisfiable"}[status]
    return f"HTTP/1.1 {status} {said}\r\nAccept-Ranges: bytes\r\nContent-Length: {length}\r\n{extra}\r\n".encode()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, files: Files) -> None:
    """One connection, a request after the other."""
    try:
        while True:
            lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, path = lines[0].split(" ")[:2]
            if path.startswith(CONTROL):
                body = json.dumps(files.control(path.removeprefix(CONTROL))).encode()
                writer.write(_head(200, len(body)) + body)
                continue
            fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            files.counts["requests"] += 1
            await files.turn(path)
            head, body = files.answer(method, path.partition("?")[0], fields.get("range"))
            writer.write(head)
            writer.write(body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main() -> None:
    files = Files(Path(sys.argv[1]))
    server = await asyncio.start_server(lambda r, w: serve(r, w, files), "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
