"""The XML interface of Google Cloud Storage, which obstore uses, in front of fake-gcs-server, which has only the JSON
one.

fake-gcs-server keeps the values and their generations, and checks preconditions. `interface` puts the
XML one before it.
https://cloud.google.com/storage/docs/xml-api/reference-methods
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.utils import formatdate
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit
from xml.sax.saxutils import escape

from contracts.http_server import serving

_BOUNDARY = "values"
_PASSED = ("Content-Type", "Content-Range", "ETag", "Last-Modified", "Accept-Ranges", "X-Goog-Generation")


def options(url: str) -> dict[str, Any]:
    """Options of a store with a key for which no token is requested. Without any key obstore requests one to write."""
    key = {
        "gcs_base_url": url, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": "",
    }  # fmt: skip
    return {"endpoint": url, "service_account_key": json.dumps(key)}


@contextmanager
def interface(url: str) -> Iterator[str]:
    """The address of the XML interface to the server at `url`."""
    with serving(_Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"url": url})), "service-gcs") as address:
        yield address


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512
    """As many connections may come at once as a store makes."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"  # no connection, and so no thread, outlives its request
    url: str

    def log_message(self, *_: object) -> None:
        pass

    def handle(self) -> None:
        with suppress(ConnectionError):  # requests are cancelled
            super().handle()

    def _ask(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[Any, bytes]:
        connection = HTTPConnection(urlsplit(self.url).netloc, timeout=30)
        try:
            connection.request(method, path, body or None, headers or {})
            response: HTTPResponse = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()

    def _answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if "Content-Length" not in (headers or {}):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _place(self) -> tuple[str, str, dict[str, str]]:
        """(bucket, key, query)."""
        parts = urlsplit(self.path)
        bucket, _, key = parts.path.lstrip("/").partition("/")
        asked = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        return bucket, unquote(key), asked

    def _object(self, bucket: str, key: str) -> str:
        return f"/storage/v1/b/{bucket}/o/{quote(key, safe='')}"

    def _about(self, bucket: str, key: str) -> dict[str, Any] | None:
        response, body = self._ask("GET", self._object(bucket, key))
        return json.loads(body) if response.status == 200 else None

    def _failed(self, status: int, body: bytes) -> None:
        code = {404: "NoSuchKey", 412: "PreconditionFailed"}.get(status, "InternalError")
        if b"bucket" in body.lower() and status == 404:
            code = "NoSuchBucket"
        text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message></Error>"
        self._answer(status, text.encode(), {"Content-Type": "application/xml"})

    def _has_bucket(self, bucket: str) -> bool:
        return bool(self._ask("GET", f"/storage/v1/b/{bucket}")[0].status == 200)

    def do_GET(self) -> None:
        bucket, key, asked = self._place()
        if "list-type" in asked:
            self._list(bucket, asked)
            return
        about = self._about(bucket, key)
        if about is None:
            self._failed(404, b"" if self._has_bucket(bucket) else b"bucket")
            return
        span = self.headers.get("Range")
        response, body = self._ask(
            "GET", f"{self._object(bucket, key)}?alt=media", headers={"Range": span} if span else {}
        )
        headers = {name: response.headers[name] for name in _PASSED if name in response.headers}
        headers |= {"ETag": f'"{about["etag"].strip(chr(34))}"', "x-goog-generation": str(about["generation"])}
        headers["Last-Modified"] = formatdate(usegmt=True)
        headers |= {f"x-goog-meta-{name}": text for name, text in about.get("metadata", {}).items()}
        if self.command == "HEAD":
            headers["Content-Length"] = str(about["size"])
        self._answer(response.status, body, headers)

    do_HEAD = do_GET

    def do_PUT(self) -> None:
        bucket, key, _ = self._place()
        value = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not key:
            made = json.dumps({"name": bucket}).encode()
            response, said = self._ask("POST", "/storage/v1/b?project=p", made, {"Content-Type": "application/json"})
            self._answer(response.status, said)
            return
        told = {"uploadType": "multipart", "name": key}
        if (expected := self.headers.get("x-goog-if-generation-match")) is not None:
            told["ifGenerationMatch"] = expected
        begin = "x-goog-meta-"
        more = {name[len(begin) :]: text for name, text in self.headers.items() if name.lower().startswith(begin)}
        described = json.dumps({"name": key, "metadata": more})
        head = f"--{_BOUNDARY}\r\nContent-Type: application/json\r\n\r\n{described}\r\n"
        body = f"{head}--{_BOUNDARY}\r\nContent-Type: application/octet-stream\r\n\r\n".encode()
        response, said = self._ask(
            "POST",
            f"/upload/storage/v1/b/{bucket}/o?{urlencode(told)}",
            body + value + f"\r\n--{_BOUNDARY}--\r\n".encode(),
            {"Content-Type": f"multipart/related; boundary={_BOUNDARY}"},
        )
        if response.status != 200:
            self._failed(response.status, said)
            return
        about = json.loads(said)
        headers = {"ETag": f'"{about["etag"].strip(chr(34))}"', "x-goog-generation": str(about["generation"])}
        self._answer(200, b"", headers)

    def do_DELETE(self) -> None:
        bucket, key, _ = self._place()
        response, said = self._ask("DELETE", self._object(bucket, key))
        if response.status >= 300:
            self._failed(response.status, said)
            return
        self._answer(204)

    def _list(self, bucket: str, asked: dict[str, str]) -> None:
        names = {
            "prefix": "prefix",
            "delimiter": "delimiter",
            "max-keys": "maxResults",
            "continuation-token": "pageToken",
        }
        told = {names[name]: value for name, value in asked.items() if name in names}
        response, said = self._ask("GET", f"/storage/v1/b/{bucket}/o?{urlencode(told)}")
        if response.status != 200:
            self._failed(response.status, b"bucket" if response.status == 404 else said)
            return
        found = json.loads(said)
        parts = [
            f"<Contents><Key>{escape(each['name'])}</Key><LastModified>2026-11-02T10:00:00.000Z</LastModified>"
            f"<ETag>{escape(each.get('etag', ''))}</ETag><Size>{each['size']}</Size></Contents>"
            for each in found.get("items", ())
        ]
        parts += [f"<CommonPrefixes><Prefix>{escape(p)}</Prefix></CommonPrefixes>" for p in found.get("prefixes", ())]
        if following := found.get("nextPageToken"):
            parts.append(f"<NextContinuationToken>{escape(following)}</NextContinuationToken>")
        body = f"<?xml version='1.0' encoding='UTF-8'?><ListBucketResult>{''.join(parts)}</ListBucketResult>"
        self._answer(200, body.encode(), {"Content-Type": "application/xml"})
