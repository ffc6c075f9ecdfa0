"""A web server for tests, with or without ranges; it can hold requests, fail on demand, and records them."""

from __future__ import annotations

import hashlib
import socket
import struct
import threading
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import zarrscope

RESET = "reset"
"""As a fault: the connection breaks without an answer."""
SHORT = "short"
"""As a fault: the body breaks off before its announced length."""


class WebServer:
    """Serves `values` by key. Change the attributes at any time; `faults[key]` is used up from its front."""

    def __init__(self, values: MutableMapping[str, bytes]) -> None:
        self.values = values
        self.ranges = True
        self.tags = False
        """Whether answers state e-tags."""
        self.faults: dict[str, list[int | str]] = {}
        self.pauses: dict[str, int] = {}
        """Key → the seconds for which its requests are told to wait (429, Retry-After), while it is in here."""
        self.failing: set[str] = set()
        """Keys, or their beginnings, whose requests are answered with 503, without Retry-After."""
        self.redirects: dict[str, str] = {}
        self.asked: list[tuple[str, str | None]] = []
        """(key with its query, Range header) of each request."""
        self.closed_early = 0
        """Requests whose client hung up while the gate held them."""
        self.gate = threading.Event()
        self.gate.set()
        self.changed = threading.Condition()
        self.held = 0
        self.permits = 0
        """So many of those that the gate holds may pass, one after the other."""
        self.token = ""
        """The query that requests must have, if it is set; others are answered with 401."""
        self.connected = 0
        """Connections that were ever made."""
        self.url = ""

    def let(self, count: int) -> None:
        """Answers `count` requests although the gate is closed."""
        with self.changed:
            self.permits += count

    def may_pass(self) -> bool:
        if self.gate.is_set():
            return True
        with self.changed:
            if self.permits:
                self.permits -= 1
                return True
        return False

    def wait_held(self, count: int, timeout: float = 20.0) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self.held >= count, timeout)

    def wait_closed(self, count: int, timeout: float = 20.0) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self.closed_early >= count, timeout)


@contextmanager
def serving(server: HTTPServer, name: str = "web-server") -> Iterator[str]:
    """Runs a server on a thread of its own, and yields the server's address."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name=name)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class QuietFolder(SimpleHTTPRequestHandler):
    """Serves a folder as `python -m http.server` does, without its log."""

    def log_message(self, *_: object) -> None:
        pass


def folder_server(folder: Path) -> HTTPServer:
    """Python's own web server of a folder; see `serving`."""
    return ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietFolder, directory=str(folder)))


@contextmanager
def web_server(values: MutableMapping[str, bytes] | None = None) -> Iterator[WebServer]:
    state = WebServer({} if values is None else values)

    connections: list[socket.socket] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def setup(self) -> None:
            super().setup()
            connections.append(self.connection)
            with state.changed:
                state.connected += 1

        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            split = urlsplit(self.path)
            key = unquote(split.path).lstrip("/")
            span = self.headers.get("Range")
            with state.changed:
                state.asked.append((key + (f"?{split.query}" if split.query else ""), span))
            if not state.gate.is_set():
                self.held()
            if state.token and split.query != state.token:
                self.answer(401, b"who are you?", {})
                return
            fault = state.faults[key].pop(0) if state.faults.get(key) else None
            if fault == RESET:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
                self.close_connection = True
                return
            if any(key.startswith(each) for each in state.failing):
                self.answer(503, b"overloaded", {})
                return
            if (pause := next((s for each, s in state.pauses.items() if key.startswith(each)), None)) is not None:
                self.answer(429, b"too many", {"Retry-After": str(pause)})
                return
            if isinstance(fault, int):
                self.answer(fault, b"a fault", {})
                return
            if key in state.redirects:
                self.answer(302, b"", {"Location": state.redirects[key]})
                return
            value = state.values.get(key)
            if value is None:
                self.answer(404, b"<html>no such page</html>", {})
                return
            status, headers = 200, {"ETag": f'"{hashlib.md5(value).hexdigest()}"'} if state.tags else {}
            if span and state.ranges:
                first, _, last = span.removeprefix("bytes=").partition("-")
                start = int(first) if first else max(0, len(value) - int(last))
                stop = min(len(value), int(last) + 1) if first and last else len(value)
                if start >= len(value):
                    self.answer(416, b"", {**headers, "Content-Range": f"bytes */{len(value)}"})
                    return
                status, headers = 206, {**headers, "Content-Range": f"bytes {start}-{stop - 1}/{len(value)}"}
                value = value[start:stop]
            self.answer(status, value, headers, short=fault == SHORT)

        def held(self) -> None:
            """Waits for the gate, and notices a client that hangs up."""
            with state.changed:
                state.held += 1
                state.changed.notify_all()
            self.connection.settimeout(0.02)
            try:
                while not state.may_pass():
                    try:
                        if self.connection.recv(1, socket.MSG_PEEK) == b"":
                            break
                    except TimeoutError:
                        continue
                    except OSError:
                        break
                else:
                    return
            finally:
                self.connection.settimeout(None)
            with state.changed:
                state.closed_early += 1
                state.changed.notify_all()

        def answer(self, status: int, body: bytes, headers: dict[str, str], *, short: bool = False) -> None:
            try:
                self.send_response(status)
                for name, text in headers.items():
                    self.send_header(name, text)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if short else body)
            except OSError:
                self.close_connection = True
            if short:
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True

    class Server(ThreadingHTTPServer):
        request_queue_size = 256

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that hangs up is no fault of the test."""

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = False
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="web-server")
    thread.start()
    try:
        yield state
    finally:
        state.gate.set()
        server.shutdown()
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        server.server_close()
        thread.join()


@contextmanager
def planes_server() -> Iterator[WebServer]:
    """A server with the array /a, four planes of four chunks."""
    values: dict[str, bytes] = {}
    with zarrscope.open(values, "w-") as h:
        h.create_array("/a", shape=(4, 32, 32), dtype="u1", chunks=(1, 16, 16))[...] = 100
    with web_server(values) as found:
        yield found
