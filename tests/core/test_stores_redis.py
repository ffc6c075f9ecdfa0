"""Redis: the store contract over fakeredis; zarr-python 2.18 on the other side."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from itertools import count

import pytest

import servers
import zarrscope
from contracts import zarr2 as other
from contracts.store import Writing
from machine import zarr2
from narrowing import as_array, as_group
from zarrscope.errors import Refused, Unreadable
from zarrscope.stores.address import open_store, parents, split_address
from zarrscope.stores.redis import RedisStore
from zarrscope.stores.store import Store

pytest.importorskip("redis")
_numbers = count()


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a server in this process."""
    fakeredis = pytest.importorskip("fakeredis")
    monkeypatch.setattr("redis.Redis.from_url", fakeredis.FakeRedis.from_url)
    return f"redis://fake-{os.getpid()}-{next(_numbers)}:6379"


class TestFakeRedis(Writing):
    @pytest.fixture(autouse=True)
    def _server(self, fake: str) -> None:
        self.url = fake

    def empty(self) -> Store:
        return RedisStore(f"{self.url}/0/p{next(_numbers)}", writable=True)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with servers.redis() as url:
        yield url


def test_addresses(fake: str) -> None:
    for text, url in (
        (fake, f"{fake}/0/zarr"),
        (f"{fake}/3", f"{fake}/3/zarr"),
        (f"{fake}/3/mine", f"{fake}/3/mine"),
    ):
        assert open_store(text).url == url
        assert open_store(open_store(text).url).url == url
    with zarrscope.open(f"{fake}/0/mine", "w-") as h:
        h.create_array("/g/a", shape=(2,), dtype="u1")[...] = [1, 2]
    for text in (f"{fake}/0/mine/g", f"{fake}/0/mine::g"):
        assert as_array(zarrscope.open(text)["/g/a" if "::" in text else "/a"]).shape == (2,)
    assert [each.store_url for each in parents(split_address(f"{fake}/0/mine/g"))][1] == f"{fake}/0/mine"
    with pytest.raises(Refused, match="'mine' is not the number"):
        open_store(f"{fake}/mine")


def test_a_password_is_in_no_pickle_and_not_shown() -> None:
    store = RedisStore("redis://ann:do-not-tell@host/0/p")
    assert "do-not-tell" not in store.url
    assert b"do-not-tell" not in pickle.dumps(store)


def test_a_server_that_is_not_there_is_told() -> None:
    with pytest.raises(Unreadable, match="request to the Redis server failed"):
        zarrscope.open(f"redis://127.0.0.1:{servers.free_port()}")


_WRITE = """
import json, sys, zarr
store = zarr.RedisStore(prefix="theirs", host="127.0.0.1", port=int(sys.argv[1]))
group = zarr.group(store, overwrite=True)
group.create_dataset("a", data=[1, 2, 3], chunks=(2,))
group["a"].attrs["unit"] = "s"
ours = zarr.open_group(zarr.RedisStore(prefix="ours", host="127.0.0.1", port=int(sys.argv[1])), mode="r")
print(json.dumps([ours["b"][...].tolist(), dict(ours["b"].attrs)]))
"""


@pytest.mark.needs("redis")
@pytest.mark.skipif(zarr2() is None, reason="no environment with zarr-python 2.18")
def test_zarr_python_2_and_we_read_one_another(server: str) -> None:
    python = zarr2()
    assert python is not None
    try:
        other.told(python, "import redis, json; print(json.dumps(1))")
    except AssertionError:
        pytest.skip("the environment with zarr-python 2.18 has no redis")
    with zarrscope.open(f"{server}/0/ours", "w-", dialect="v2") as h:
        h.create_array("/b", shape=(3,), dtype="u2", chunks=(2,))[...] = [4, 5, 6]
        h["/b"].attrs["unit"] = "m"
    assert other.told(python, _WRITE, server.rpartition(":")[2]) == [[4, 5, 6], {"unit": "m"}]
    with zarrscope.open(f"{server}/0/theirs") as h:
        assert as_array(h["/a"])[...].tolist() == [1, 2, 3]
        assert h["/a"].attributes["unit"] == "s"
        assert [child.name for child in as_group(h["/"]).children()] == ["a"]
