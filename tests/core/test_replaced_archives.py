"""An archive that is replaced on its server while it is open: never an old directory with new bytes, but a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servers
import zarrscope
from contracts.http_server import WebServer, web_server
from zarrscope.errors import Unreadable
from zarrscope.runtime.tuning import ARCHIVE_TAIL_BYTES
from zarrscope.stores.object_store import ObjectStore
from zarrscope.stores.zip import ranges

SIDE, SHARD, CHUNK = 1024, 512, 64
LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
Put = Callable[[bytes], None]


@pytest.fixture
def web() -> Iterator[WebServer]:
    with web_server({}) as found:
        yield found


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    with servers.s3() as url:
        servers.create_bucket(url, "replaced")
        yield url


@pytest.fixture(params=["web with e-tags", "web of another size", "S3", "Azure"])
def place(request: pytest.FixtureRequest) -> Iterator[tuple[str, dict[str, Any], Put]]:
    """The address of an archive, the options to open it, and a function that replaces it."""
    if request.param.startswith("web"):
        server: WebServer = request.getfixturevalue("web")
        server.tags = request.param == "web with e-tags"
        yield f"{server.url}/x.zip", {}, lambda value: server.values.update({"x.zip": value})
    elif request.param == "S3":
        url = request.getfixturevalue("moto")
        yield _bucket("s3", {"key": "k", "secret": "s", "endpoint": url, "region": "us-east-1"})
    else:
        if reason := servers.missing("azure"):
            pytest.skip(reason)
        with servers.azure() as url:
            servers.create_container(url, "replaced")
            told = {"account_name": "devstoreaccount1", "account_key": servers.AZURE_KEY, "endpoint": url}
            yield _bucket("az", told)


def _bucket(scheme: str, options: dict[str, Any]) -> tuple[str, dict[str, Any], Put]:
    above = ObjectStore(f"{scheme}://replaced", writable=True, **options)

    def put(value: bytes) -> None:
        above.set("x.zip", value)

    return f"{scheme}://replaced/x.zip", options, put


def archive(folder: Path, seed: int, more: int = 0) -> tuple[bytes, np.ndarray]:
    """An archive of a sharded and a plain array without compression: all have their entries at the same places."""
    file = folder / f"{seed}.zip"
    values = np.random.default_rng(seed).integers(0, 1 << 16, (SIDE, SIDE)).astype("u2")
    with zarrscope.open(str(file), "w-") as h:
        create = partial(h.create_array, shape=values.shape, dtype="u2", codecs=[LITTLE])
        create("/shards", chunks=(CHUNK, CHUNK), shards=(SHARD, SHARD))[...] = values
        create("/plain", chunks=(SHARD, SHARD))[...] = values
        if more:
            h["/"].attrs["more"] = "x" * more
    found = file.read_bytes()
    assert len(found) > 4 * ARCHIVE_TAIL_BYTES
    return found, values


@pytest.mark.parametrize("path", ["/shards", "/plain"])
def test_new_bytes_are_never_read_by_the_old_directory(
    place: tuple[str, dict[str, Any], Put], path: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url, options, put = place
    by_size = "another size" in request.node.name
    old, values = archive(tmp_path, 1)
    new, others = archive(tmp_path, 2, more=5000 if by_size else 0)
    put(old)
    with zarrscope.open(url, storage_options=options) as h:
        array = h[path]
        assert isinstance(array, zarrscope.Array)
        assert np.array_equal(array[:CHUNK, :CHUNK], values[:CHUNK, :CHUNK])
        put(new)
        for part in (np.s_[:CHUNK, CHUNK : 2 * CHUNK], np.s_[-CHUNK:, :CHUNK], np.s_[:, :]):
            # The end of the file was read with the directory, so that parts there may still be read.
            with suppress(Unreadable):
                assert np.array_equal(array[part], values[part])
        with pytest.raises(Unreadable, match="replaced on its server") as caught:
            array[...]
        assert caught.value.key
        assert "Open it again" in (caught.value.advice or "")
    with zarrscope.open(url, storage_options=options) as h:
        again = h[path]
        assert isinstance(again, zarrscope.Array)
        assert np.array_equal(again[...], others)


def test_a_directory_that_takes_two_reads_comes_from_one_file(
    place: tuple[str, dict[str, Any], Put], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of the file and the rest of the directory are separate requests."""
    url, options, put = place
    old, _ = archive(tmp_path, 1)
    new, _ = archive(tmp_path, 2, more=5000)
    put(old)
    monkeypatch.setattr(ranges, "ARCHIVE_TAIL_BYTES", 100)
    read_at = ranges.RemoteFile.read_at
    replaced: list[int] = []

    def read(self: ranges.RemoteFile, offset: int, length: int) -> bytes:
        if offset < self._from and not replaced:
            put(new)
            replaced.append(offset)
        return read_at(self, offset, length)

    monkeypatch.setattr(ranges.RemoteFile, "read_at", read)
    with pytest.raises(Unreadable, match="replaced on its server"):
        zarrscope.open(url, storage_options=options)
    assert replaced


def test_an_archive_that_stays_is_read_whole(place: tuple[str, dict[str, Any], Put], tmp_path: Path) -> None:
    url, options, put = place
    data, values = archive(tmp_path, 3)
    put(data)
    with zarrscope.open(url, storage_options=options) as h:
        if not url.startswith("az:"):  # there each put makes a new version
            put(data)
        for path in ("/shards", "/plain"):
            array = h[path]
            assert isinstance(array, zarrscope.Array)
            assert np.array_equal(array[100:700, 3:1000], values[100:700, 3:1000])
