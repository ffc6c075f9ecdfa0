"""The contract of absence over a real S3 service (moto), which a gate before it makes deny."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

import pytest

import servers
from contracts.absence import CHUNK, VALUES, Absence
from zarrscope.errors import Unreadable
from zarrscope.stores.fsspec import FsspecStore
from zarrscope.stores.object_store import ObjectStore
from zarrscope.stores.store import Store


class _Gate:
    """Before moto's application: answers in its place, in S3's words."""

    def __init__(self, application: Any) -> None:
        self.application = application
        self.answer = "honest"

    def __call__(self, environ: Any, start: Any) -> Any:
        key = unquote(environ["PATH_INFO"]).partition("x.zarr/")[2]
        code = None
        if self.answer == "expired":
            code = "ExpiredToken"
        elif key == CHUNK if self.answer == "denied chunk" else self.answer == "no listing" and key not in VALUES:
            code = "AccessDenied"
        if code is None:
            return self.application(environ, start)
        body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
        status = "400 Bad Request" if code == "ExpiredToken" else "403 Forbidden"
        start(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
        return [b"" if environ["REQUEST_METHOD"] == "HEAD" else body]


@pytest.fixture(scope="module")
def bucket() -> Iterator[tuple[str, _Gate]]:
    gates: list[_Gate] = []

    def before(application: Any) -> _Gate:
        gates.append(_Gate(application))
        return gates[0]

    with servers.s3(before) as url:
        yield url, gates[0]


class TestS3OfFsspec(Absence):
    @pytest.fixture(autouse=True)
    def _bucket(self, bucket: tuple[str, _Gate], monkeypatch: pytest.MonkeyPatch) -> None:
        self.url, self.gate = bucket
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        self.gate.answer = "honest"

    def store(self, url: str, **settings: Any) -> FsspecStore:
        return FsspecStore(
            url, key="k", secret="s", endpoint_url=self.url, skip_instance_cache=True, attempts=1, **settings
        )

    @contextmanager
    def serving(self, answer: str, **settings: Any) -> Iterator[Store]:
        store = TestS3OfFsspec.store(self, "s3://bucket/x.zarr", **settings)
        if not store._filesystem.exists("bucket"):
            store._filesystem.mkdir("bucket")
        for key, value in VALUES.items():
            store._filesystem.pipe_file(f"bucket/x.zarr/{key}", value)
        self.gate.answer = answer
        try:
            yield store
        finally:
            self.gate.answer = "honest"

    @contextmanager
    def without_bucket(self) -> Iterator[Store]:
        yield self.store("s3://no-such-bucket/x.zarr")


def test_a_bucket_that_never_answers_is_asked_as_often_as_settings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        told = {"key": "k", "secret": "s", "endpoint_url": f"http://127.0.0.1:{silent.getsockname()[1]}"}
        store = FsspecStore("s3://bucket/x.zarr", **told, skip_instance_cache=True, attempts=1, timeout=0.2)
        with pytest.raises(Unreadable):
            store.get("a")
        store.close()
        silent.setblocking(False)
        asked = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                silent.accept()[0].close()
                asked += 1
    assert 1 <= asked < 8, "s3fs alone would ask five times, for the value and for what is there"


class TestS3OfObstore(TestS3OfFsspec):
    def store(self, url: str, **settings: Any) -> ObjectStore:  # type: ignore[override]  # another backend, the same calls
        return ObjectStore(url, key="k", secret="s", endpoint=self.url, attempts=1, **settings)

    @contextmanager
    def serving(self, answer: str, **settings: Any) -> Iterator[Store]:
        with super().serving("honest"):
            self.gate.answer = answer
            yield self.store("s3://bucket/x.zarr", **settings)
