"""A web server on this machine for one store, so that viewers in a browser can read data on a local disk.

It listens on 127.0.0.1 only, and every address contains a token that cannot be guessed. So neither another user of the
machine nor a web page that does not know the address can read anything. The server is read-only. It supports ranges,
and answers requests of web pages of any origin (CORS).
"""

from __future__ import annotations

import hmac
import re
import secrets
import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from zarrscope.errors import NotFound, Refused, ZarrscopeError
from zarrscope.model.storage import ByteRange
from zarrscope.stores.store import Store

IDLE_SECONDS = 60
"""Seconds after which a connection without a request is closed."""
_range = re.compile(r"bytes=(\d*)-(\d*)", re.ASCII).fullmatch


class LoopbackServer:
    """Serves `store` until `close`. `url` is "http://127.0.0.1:PORT/TOKEN"; the value of a key is at `url`/key."""

    def __init__(self, store: Store) -> None:
        self._connections: set[socket.socket] = set()
        self._guard = threading.Lock()
        token = secrets.token_urlsafe(18)

        class Handler(_Handler):
            served = store
            secret = token
            owner = self

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}/{token}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="zarrscope-loopback", daemon=True)
        self._thread.start()

    def address(self, path: str) -> str:
        """The address of a node of the store's hierarchy."""
        return "/".join([self.url, *(quote(part) for part in path.split("/") if part)])

    def opened(self, connection: socket.socket) -> None:
        """Records the connection of a browser, so that `close` can end it."""
        with self._guard:
            self._connections.add(connection)

    def ended(self, connection: socket.socket) -> None:
        """Forgets a connection that has ended."""
        with self._guard:
            self._connections.discard(connection)

    def close(self) -> None:
        """Stops the server and ends its connections."""
        self._server.shutdown()
        self._server.server_close()
        with self._guard:
            connections = [*self._connections]
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = IDLE_SECONDS
    served: Store
    secret: str
    owner: LoopbackServer

    def setup(self) -> None:
        super().setup()
        self.owner.opened(self.connection)

    def finish(self) -> None:
        self.owner.ended(self.connection)
        with suppress(OSError):  # the client has disconnected
            super().finish()

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing, because the address contains the token."""

    def handle(self) -> None:
        with suppress(ConnectionError):
            super().handle()

    def do_OPTIONS(self) -> None:
        self._answer(204, b"", {"Access-Control-Allow-Private-Network": "true"})

    def do_HEAD(self) -> None:
        self._get(body=False)

    def do_GET(self) -> None:
        self._get(body=True)

    def _key(self) -> str | None:
        """The requested key; None if the token is wrong, or the request names another host than this machine."""
        if self.headers.get("Host") not in (f"127.0.0.1:{self.owner.port}", f"localhost:{self.owner.port}"):
            return None
        token, _, key = urlsplit(self.path).path.lstrip("/").partition("/")
        if not hmac.compare_digest(unquote(token).encode("utf-8", "replace"), self.secret.encode()):
            return None
        return unquote(key)

    def _get(self, *, body: bool) -> None:
        key = self._key()
        if not key:
            self._answer(404, b"", {})
            return
        try:
            status, value, headers = self._value(key, body)
        except (NotFound, Refused):
            status, value, headers = 404, b"", {}
        except ZarrscopeError:
            status, value, headers = 502, b"", {}
        self._answer(status, value, headers)

    def _value(self, key: str, body: bool) -> tuple[int, bytes, dict[str, str]]:
        size = self.served.bulk.size_of(key)
        wanted = _range(self.headers.get("Range") or "")
        if size is None or not (wanted or not body):
            value = self.served.get(key)
            if value is None:
                raise NotFound("Nothing is stored here", key=key)
            size = len(value)
            if not wanted:
                return 200, value if body else b"", {"Content-Length": str(size)}
        if not wanted:
            return 200, b"", {"Content-Length": str(size)}
        first, last = wanted.groups()
        start = int(first) if first else max(0, size - int(last or 0))
        stop = min(size, int(last) + 1) if first and last else size
        if start >= stop or not (first or last):
            return 416, b"", {"Content-Range": f"bytes */{size}"}
        part = self.served.get(key, ByteRange(start, stop - start)) if body else b""
        if part is None:
            raise NotFound("Nothing is stored here", key=key)
        told = {"Content-Range": f"bytes {start}-{stop - 1}/{size}", "Content-Length": str(stop - start)}
        return 206, part, told

    def _answer(self, status: int, value: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
        self.send_header("Access-Control-Allow-Headers", "Range")
        self.send_header("Access-Control-Expose-Headers", "Content-Length, Content-Range, Accept-Ranges")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Content-Type", "application/octet-stream")
        for name, text in {"Content-Length": str(len(value)), **headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(value)
