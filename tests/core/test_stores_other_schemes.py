"""Schemes that only fsspec knows are read and listed: FTP by a server on loopback, others by a file system that the
tests register.
"""

from __future__ import annotations

import io
import threading
import zipfile
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import _registry as registered
from fsspec.registry import known_implementations

import zarrscope
from contracts.ftp_server import FTPServer, ftp_server
from contracts.store import Reading
from narrowing import as_group
from zarrscope.errors import Denied, NotFound, ReadOnly, Unreadable, Unsupported
from zarrscope.errors.confidential import public
from zarrscope.stores.address import open_store, parents, split_address
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.other_schemes import OtherStore
from zarrscope.stores.registry import _NO_PLACES, _by_fsspec, store_kind
from zarrscope.stores.store import Store

ONCE = {"attempts": 1, "timeout": 20}
NUMBERS = count(1)


class Elsewhere(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """A file system with a scheme of its own."""

    protocol = "elsewhere"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(MemoryFileSystem._strip_protocol(path.replace("elsewhere://", "memory://")))


@pytest.fixture(scope="module", autouse=True)
def _registered() -> None:
    fsspec.register_implementation("elsewhere", Elsewhere, clobber=True)


class TestOther(Reading):
    """A file system that is not asynchronous, at a scheme of its own."""

    def filled(self, values: Mapping[str, bytes]) -> Store:
        place = f"host{next(NUMBERS)}/x.zarr"
        for key, value in values.items():
            Elsewhere().pipe_file(f"/{place}/{key}", value)
        return open_store(f"elsewhere://{place}")


def hierarchy() -> dict[str, bytes]:
    store = MemoryStore()
    with zarrscope.open(store, "w-") as h:
        h.create_array("/g/a", shape=(40,), dtype="u1", chunks=(4,))[:30] = 7
        return {key: store.get(key) or b"" for key in store.list()}


@pytest.fixture
def server() -> Iterator[FTPServer]:
    values = {f"data/x.zarr/{key}": value for key, value in hierarchy().items()}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for key, value in hierarchy().items():
            archive.writestr(key, value)
    with ftp_server({**values, "data/x.zip": packed.getvalue()}) as found:
        yield found


def test_a_hierarchy_opens_by_ftp(server: FTPServer) -> None:
    url = f"ftp://{server.host}/data/x.zarr"
    with zarrscope.open(url) as h:
        assert [child.name for child in as_group(h["/"]).children()] == ["g"]
        assert sorted(h.store.list()) == sorted(hierarchy())
        assert not h.store.writable
        array = h["/g/a"]
        assert isinstance(array, zarrscope.Array)
        assert array[...].tolist() == [7] * 30 + [0] * 10
    assert zarrscope.open_array(f"{url}::g/a")[30:].tolist() == [0] * 10
    assert zarrscope.open_array(f"ftp://{server.host}/data/x.zip/g/a")[0] == 7
    with pytest.raises(NotFound):
        zarrscope.open(f"ftp://{server.host}/data/no.zarr")


def test_it_is_said_that_it_is_only_read(server: FTPServer) -> None:
    url = f"ftp://{server.host}/data/x.zarr"
    with zarrscope.open(url, "r+") as h:
        assert any("only reads" in each for each in h.warnings)
        with pytest.raises(ReadOnly):
            h.create_group("/new")
    with pytest.raises(ReadOnly, match="ftp:// zarrscope only reads"):
        zarrscope.open(f"ftp://{server.host}/data/new.zarr", "w-")


def test_passwords_of_ftp_are_not_shown(server: FTPServer) -> None:
    h = zarrscope.open(f"ftp://ann:{server.password}@{server.host}/data/x.zarr")
    assert server.password not in h.url
    with pytest.raises(Denied, match="allows no login") as raised:
        zarrscope.open(f"ftp://ann:something-wrong@{server.host}/data/x.zarr")
    assert "something-wrong" not in str(raised.value)


@pytest.mark.parametrize("answer", ["450 Busy", "421 Too many users", "451 Local error"])
@pytest.mark.parametrize("place", ["data/x.zarr", ""])
def test_what_ftp_fails_at_is_not_absent(server: FTPServer, place: str, answer: str) -> None:
    if not place:
        server.values.update(hierarchy())
    with zarrscope.open(f"ftp://{server.host}/{place}" if place else f"ftp://{server.host}", storage_options=ONCE) as h:
        array = h["/g/a"]
        assert isinstance(array, zarrscope.Array)
        server.refused = answer
        with pytest.raises(Unreadable):
            h.store.get("zarr.json")
        assert isinstance(h.store, OtherStore)
        with pytest.raises(Unreadable):
            h.store.size("zarr.json")
        with pytest.raises(Unreadable):
            array[...]
        for prefix in ("", "g/"):
            with pytest.raises(Unreadable):
                list(h.store.list_dir(prefix))
        with pytest.raises(Unreadable):
            list(h.store.list())
        server.refused = ""
        assert array[:30].tolist() == [7] * 30


def test_a_lost_connection_is_made_again(server: FTPServer) -> None:
    store = open_store(f"ftp://{server.host}/data/x.zarr")
    assert isinstance(store, OtherStore)
    assert store.get("zarr.json")
    store._filesystem.ftp.sock.close()
    assert store.get("zarr.json")


def test_threads_take_turns_on_one_connection(server: FTPServer) -> None:
    array = zarrscope.open_array(f"ftp://{server.host}/data/x.zarr/g/a")
    found: list[list[int]] = []
    threads = [threading.Thread(target=lambda: found.append(array[...].tolist())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[7] * 30 + [0] * 10] * 6


def test_protocols_without_a_place_of_their_own_are_refused() -> None:
    for scheme in sorted(_NO_PLACES):
        assert _by_fsspec(scheme) is None, scheme
    for scheme in ("tar", "data", "dir", "git", "jupyter", "simplecache", "foo"):
        with pytest.raises(Unsupported, match=f"begin with {scheme}://"):
            split_address(f"{scheme}://x/y.zarr")
    for scheme in ("ftp", "github", "hf", "hdfs", "smb", "webdav"):
        kind = store_kind(scheme)
        assert kind is not None, scheme
        assert kind.abilities == {"read", "list"}, scheme


def test_a_missing_package_of_fsspec_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = {"class": "no_such_package.Files", "err": "Install no-such-package to access it"}
    monkeypatch.setitem(known_implementations, "nowhere", absent)
    with pytest.raises(Unsupported, match="not installed: Install no-such-package"):
        zarrscope.open("nowhere://host/x.zarr")


def test_options_that_a_file_system_needs_are_named() -> None:
    class Demanding(Elsewhere):
        protocol = "demanding"

        def __init__(self, base_url: str, **options: object) -> None:
            super().__init__(**options)

    fsspec.register_implementation("demanding", Demanding, clobber=True)
    with pytest.raises(Unsupported, match="base_url") as raised:
        zarrscope.open("demanding://host/x.zarr")
    assert "storage_options" in (raised.value.advice or "")


class Passing(Elsewhere):
    """A file system that passes its options on to a client, as that of WebDAV does."""

    protocol = "webdav"

    def __init__(self, base_url: str, **options: Any) -> None:
        def client(*, timeout: float = 5) -> None:
            """The client knows this option only."""

        client(**options)
        super().__init__()

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(MemoryFileSystem._strip_protocol(path.replace("webdav://", "memory://")))


def test_a_client_gets_only_the_options_that_were_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registered, "webdav", Passing)
    Elsewhere().pipe_file("/passing.zarr/a", b"value")
    store = open_store("webdav://passing.zarr", options={"base_url": "https://host"})
    assert store.get("a") == b"value"
    with pytest.raises(Unsupported, match="base_url"):
        open_store("webdav://passing.zarr")


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (
            OSError("Unable to load libjvm: cannot open shared object file"),
            Unsupported,
            "needs Hadoop's client libraries",
        ),
        (
            ConnectionError("(… NameResolutionError(\"Failed to resolve 'api.host' …\"))"),
            Unreadable,
            "The host api.host cannot",
        ),
    ],
)
def test_the_reason_of_a_failure_is_said_in_short(error: Exception, kind: type[Exception], told: str) -> None:
    store = OtherStore("elsewhere://host/x.zarr")
    found = store._failed(error, "")
    assert type(found) is kind
    assert told in str(found)
    assert "NameResolution" not in str(found)


class HttpResponseError(OSError):
    """As in azure.core."""

    def __init__(self, status_code: int) -> None:
        super().__init__("Server failed to authenticate the request")
        self.status_code = status_code


@pytest.mark.parametrize("status", [401, 403])
def test_an_error_of_azure_says_that_access_is_denied(status: int) -> None:
    """adlfs raises HttpResponseError of azure.core, which is no PermissionError."""
    found = OtherStore("elsewhere://host/x.zarr")._failed(HttpResponseError(status), "")
    assert isinstance(found, Denied)
    assert "credentials" in (found.advice or "")


def test_addresses_stay_as_they_are() -> None:
    assert split_address("hdfs:///user/x.zarr").store_url == "hdfs:///user/x.zarr"
    assert [each.store_url for each in parents(split_address("hdfs:///user/x.zarr"))][1] == "hdfs:///user"
    github = "github://organisation:repository@main/x.zarr"
    assert split_address(github).store_url == public(github) == github
