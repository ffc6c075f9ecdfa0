"""Web servers behind a proxy that the environment names."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from contracts.http_server import serving
from zarrscope.errors import Denied, Unreadable
from zarrscope.stores import http
from zarrscope.stores.http import HTTPStore
from zarrscope.stores.proxies import proxy_of

DOCUMENT = b'{"zarr_format": 3, "node_type": "group"}'
OPTIONS: dict[str, Any] = {"attempts": 1, "pause": 0, "timeout": 20}
LOGIN = b"<!DOCTYPE html><html><title>Guests</title></html>"


class Proxy(BaseHTTPRequestHandler):
    """Serves the documents of any host, refuses tunnels, and sends guests a page that asks for a login."""

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]  # the test adds it
        body, status = DOCUMENT, 200
        if "guests" in self.path:
            body = LOGIN
        elif not self.path.endswith("/zarr.json"):
            body, status = b"", 404
        self.send_response(status)
        self.send_header("Content-Type", "text/html" if body is LOGIN else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_CONNECT(self) -> None:
        self.send_response(407, "Proxy Authentication Required")
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.asked = []
    with serving(server, "proxy") as url:
        for name in ("http_proxy", "https_proxy"):
            monkeypatch.setenv(name, url)
        for connections in http._sessions.values():  # they remember the proxy of each host
            monkeypatch.setattr(connections, "_proxies", {})
        yield server


def test_a_web_server_is_reached_by_the_proxy(proxy: Any) -> None:
    store = HTTPStore("http://no-such-host.invalid/x", **OPTIONS)
    assert store.get("zarr.json") == DOCUMENT
    assert store.get("a") is None
    assert "http://no-such-host.invalid/x/zarr.json" in proxy.asked
    store.close()


def test_a_proxy_that_asks_for_a_login_is_no_value(proxy: Any) -> None:
    store = HTTPStore("http://guests.invalid/x", **OPTIONS)
    with pytest.raises(Denied, match="a web page instead of the value"):
        store.get("zarr.json")
    store.close()


def test_a_proxy_that_refuses_is_named(proxy: Any) -> None:
    store = HTTPStore("https://no-such-host.invalid/x", **OPTIONS)
    with pytest.raises(Unreadable, match=r"the proxy refuses the connection .407 Proxy Authentication Required"):
        store.get("zarr.json")
    store.close()


def test_a_proxy_that_is_gone_is_named(proxy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    store = HTTPStore("http://no-such-host.invalid/x", **OPTIONS)
    with pytest.raises(Unreadable, match=r"the proxy 127\.0\.0\.1:1 cannot be reached"):
        store.get("zarr.json")
    store.close()


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://host/x", "http://proxy:1"),
        ("https://host:8080", "http://other:2"),
        ("http://near.example.org", None),
        ("http://127.0.0.1:80", None),
        ("http://[::1]:80", None),
        ("http://localhost", None),
    ],
)
def test_the_proxy_of_an_address(address: str, expected: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("http", "http://proxy:1"), ("https", "other:2"), ("no", "near.example.org")):
        monkeypatch.setenv(f"{name}_proxy", value)
    assert proxy_of(address) == expected


def test_a_proxy_of_another_kind_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "socks5://proxy:1")
    assert proxy_of("http://host/x") is None
