"""zarr-python's own tests of stores, run on the adapter that `as_zarr_store` returns."""

from __future__ import annotations

import asyncio
import functools
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from zarr.core.buffer import Buffer, cpu
from zarr.testing.store import StoreTests

import zarrscope
from zarrscope.errors import NotFound
from zarrscope.stores.address import open_store
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store
from zarrscope.stores.wrappers import ReadOnlyStore
from zarrscope.stores.zarr_python_adapter import adapter


def run(work: Any) -> Any:
    """The result of a coroutine. Unlike asyncio.run, this does not replace the event loop of other tests."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


def awaited(test: Any) -> Any:
    """A test that pytest can run without a plug-in for coroutines."""

    @functools.wraps(test)
    def alone(*arguments: Any, **named: Any) -> None:
        run(test(*arguments, **named))

    return alone


class TheirTests(StoreTests[Any, cpu.Buffer]):
    store_cls = adapter()
    buffer_cls = cpu.Buffer

    async def set(self, store: Any, key: str, value: Buffer) -> None:
        store.store.set(key, value.to_bytes())

    async def get(self, store: Any, key: str) -> Buffer:
        return self.buffer_cls.from_bytes(store.store.get(key))

    @pytest.fixture
    def inner(self, tmp_path: Path) -> Store:
        raise NotImplementedError

    @pytest.fixture
    def store_kwargs(self, inner: Store) -> dict[str, Any]:
        return {"store": inner}

    @pytest.fixture
    def store(self, store_kwargs: dict[str, Any]) -> Any:
        return run(self.store_cls.open(**store_kwargs))

    @pytest.fixture
    def store_not_open(self, store_kwargs: dict[str, Any]) -> Any:
        return self.store_cls(**store_kwargs)

    def test_store_repr(self, store: Any) -> None:
        assert store.store.url in repr(store)

    def test_store_supports_writes(self, store: Any) -> None:
        assert store.supports_writes

    def test_store_supports_listing(self, store: Any) -> None:
        assert store.supports_listing


for name, coroutine in inspect.getmembers(StoreTests, inspect.iscoroutinefunction):
    if name.startswith("test_"):
        setattr(TheirTests, name, awaited(coroutine))


class TestMemory(TheirTests):
    @pytest.fixture
    def inner(self, tmp_path: Path) -> Store:
        return MemoryStore()


class TestFolder(TheirTests):
    @pytest.fixture
    def inner(self, tmp_path: Path) -> Store:
        return open_store(str(tmp_path / "x.zarr"), "a")


class TestSQLite(TheirTests):
    @pytest.fixture
    def inner(self, tmp_path: Path) -> Store:
        return open_store(f"sqlite://{tmp_path.as_posix()}/x.db", "a")


@pytest.mark.parametrize("form", [2, 3])
def test_zarr_python_writes_what_we_read_and_the_other_way_round(form: Any) -> None:
    store = MemoryStore()
    group = zarr.create_group(zarrscope.as_zarr_store(store), zarr_format=form)
    array = group.create_array("a", shape=(3, 4), chunks=(2, 2), dtype="i4")
    array[...] = np.arange(12).reshape(3, 4)
    ours = zarrscope.open_array(store, "/a", "r+")
    np.testing.assert_array_equal(ours[...], np.arange(12).reshape(3, 4))
    ours[0] = 9
    seen: Any = zarr.open_group(zarrscope.as_zarr_store(store), mode="r")["a"]
    assert seen[...].tolist() == [[9, 9, 9, 9], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert [name for name, _ in zarr.open_group(zarrscope.as_zarr_store(store), mode="r").members()] == ["a"]


def test_an_address_becomes_a_store(tmp_path: Path) -> None:
    made = zarrscope.as_zarr_store(tmp_path / "x.zarr")
    zarr.create_array(made, shape=(2,), dtype="u1")[...] = 7
    read = zarrscope.as_zarr_store(str(tmp_path / "x.zarr"), read_only=True)
    assert read.read_only
    assert np.asarray(zarr.open_array(read)[...]).tolist() == [7, 7]
    with pytest.raises(NotFound):
        zarrscope.as_zarr_store(tmp_path / "none", read_only=True)


def test_a_store_that_cannot_be_written_is_read_only() -> None:
    made = zarrscope.as_zarr_store(ReadOnlyStore(MemoryStore()))
    assert made.read_only
    with pytest.raises(ValueError, match="read-only"):
        made.with_read_only(False)
