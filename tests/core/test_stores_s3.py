"""The contract of absence over an S3 service (moto) that a gate before it makes refuse requests."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import servers
import zarrscope
from aws_keys import PROFILE, forget_environment
from contracts.absence import CHUNK, VALUES, Absence
from zarrscope.errors import Denied, ReadOnly, Unreadable
from zarrscope.stores.fsspec import FsspecStore
from zarrscope.stores.object_store import ObjectStore, open_bucket
from zarrscope.stores.store import Store


class _Gate(servers.S3Gate):
    """Refuses requests as `answer` says."""

    def __init__(self) -> None:
        self.answer = "honest"

    def refusal(self, environ: Any) -> servers.S3Refusal | None:
        key = unquote(environ["PATH_INFO"]).partition("x.zarr/")[2]
        if self.answer == "expired":
            return servers.S3Refusal("400 Bad Request", "ExpiredToken")
        if key == CHUNK if self.answer == "denied chunk" else self.answer == "no listing" and key not in VALUES:
            return servers.S3Refusal("403 Forbidden", "AccessDenied")
        return None


@pytest.fixture(scope="module")
def bucket() -> Iterator[tuple[str, _Gate]]:
    gate = _Gate()
    with servers.s3(gate) as url:
        yield url, gate


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


class _Abroad(servers.S3Gate):
    """A bucket in eu-west-1: redirects requests that are signed for another region."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def refusal(self, environ: Any) -> servers.S3Refusal | None:
        name, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        self.asked.append(f"{method} {name}")
        if method == "PUT" or "/eu-west-1/" in environ.get("HTTP_AUTHORIZATION", ""):
            return None
        region = ("x-amz-bucket-region", "eu-west-1")
        return servers.S3Refusal("301 Moved Permanently", "PermanentRedirect", headers=(region,))


def test_the_region_of_a_bucket_is_asked_for_once() -> None:
    gate = _Abroad()
    with servers.s3(gate) as url:
        servers.create_bucket(url, "abroad")
        asked = gate.asked
        for name in ("a", "b"):
            told: dict[str, Any] = {"key": "k", "secret": "s", "endpoint": url}
            ObjectStore(f"s3://abroad/{name}", writable=True, region="eu-west-1", **told).set("k", name.encode())
            asked.clear()
            store = ObjectStore(f"s3://abroad/{name}", region="us-east-1", **told)
            assert store.get("k") == name.encode()
            value = f"GET /abroad/{name}/k"
            assert asked == ([value, "HEAD /abroad", value] if name == "a" else [value])


class TestS3OfObstore(TestS3OfFsspec):
    def store(self, url: str, **settings: Any) -> ObjectStore:  # type: ignore[override]  # another backend, the same calls
        return ObjectStore(url, key="k", secret="s", endpoint=self.url, attempts=1, **settings)

    @contextmanager
    def serving(self, answer: str, **settings: Any) -> Iterator[Store]:
        with super().serving("honest"):
            self.gate.answer = answer
            yield self.store("s3://bucket/x.zarr", **settings)


class _Members(servers.S3Gate):
    """A bucket whose values some may read: "nobody", only the key "GOODKEY" ("members"), or only requests without
    a signature ("public"). No request may list."""

    def __init__(self) -> None:
        self.readers = "nobody"
        self.asked: list[str] = []

    def refusal(self, environ: Any) -> servers.S3Refusal | None:
        if environ["REQUEST_METHOD"] == "PUT":
            return None
        signed = environ.get("HTTP_AUTHORIZATION", "")
        key = signed.partition("Credential=")[2].partition("/")[0]
        self.asked.append(key or "nobody's")
        environ.setdefault("HTTP_AUTHORIZATION", "AWS k:s")  # moto itself lets no unsigned request read
        if {"nobody": False, "members": key == "GOODKEY", "public": not signed}[self.readers]:
            return None
        return servers.S3Refusal("403 Forbidden", "AccessDenied" if not signed else "InvalidAccessKeyId")


def test_through_fsspec_a_bucket_is_only_read(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_environment(monkeypatch)
    with servers.s3() as url:
        servers.create_bucket(url, "shared")
        told: dict[str, Any] = {"endpoint": url, "region": "us-east-1", "key": "k", "secret": "s"}
        zarrscope.open("s3://shared/x.zarr", "w-", storage_options=told).create_group("/g")
        through = {**told, "backend": "fsspec", "skip_instance_cache": True}
        with pytest.raises(ReadOnly, match="Through fsspec buckets are only read: leave out"):
            zarrscope.open("s3://shared/new.zarr", "w-", storage_options=through)
        with zarrscope.open("s3://shared/x.zarr", "r+", storage_options=through) as h:
            assert any("leave out backend=fsspec to write" in warning for warning in h.warnings)
            with pytest.raises(ReadOnly, match="leave out backend=fsspec to write"):
                h.create_group("/h")
        assert not zarrscope.open("s3://shared/x.zarr", storage_options=through).warnings


@pytest.mark.parametrize("backend", ["obstore", "fsspec"])
def test_credentials_are_tried_in_order_until_one_may_read(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_environment(monkeypatch)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "FOREIGN")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(PROFILE.format("default", "GOODKEY"))
    gate, order = _Members(), ("the environment", "the profile default", "without credentials")
    with servers.s3(gate) as url:
        servers.create_bucket(url, "shared")
        told: dict[str, Any] = {"endpoint": url, "region": "us-east-1"}
        keys = {"key": "k", "secret": "s"}
        ObjectStore("s3://shared/x.zarr", writable=True, **told, **keys).set("a", b"value")
        more = {"skip_instance_cache": True} if backend == "fsspec" else {}
        for readers, used in (("members", "GOODKEY"), ("public", "nobody's")):
            gate.readers, gate.asked = readers, []
            store = open_bucket("s3://shared/x.zarr", "r", {**told, "backend": backend, "attempts": 1, **more})
            assert store.get("a") == b"value"
            assert gate.asked[0] == "FOREIGN"
            gate.asked = []
            assert store.get("a") == b"value"
            assert [answer for _, answer in store.get_many([("a", None), ("a", None)])] == [b"value"] * 2
            assert store.size("a") == 5
            assert set(gate.asked) == {used}, "the accepted credentials are used from then on"
        gate.readers = "nobody"
        for act in ("get", "size", "list_dir"):
            store = open_bucket("s3://shared/x.zarr", "r", {**told, "backend": backend, "attempts": 1, **more})
            with pytest.raises(Denied) as caught:
                list(store.list_dir("")) if act == "list_dir" else getattr(store, act)("a")
            assert caught.value.tried == order
            assert ", ".join(order) in str(caught.value)
        with pytest.raises(Denied) as caught:
            open_bucket("s3://shared/x.zarr", "r", {**told, **keys, "backend": backend, "attempts": 1, **more}).get("a")
        assert caught.value.tried == ("the options",)
