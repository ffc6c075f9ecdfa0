"""`overwrite=True`, `data=` and `require_…` where zarr-python cannot be asked: the trash, failures, races."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from narrowing import as_array, as_group
from zarrscope.errors import Refused, Unsupported, ZarrscopeError
from zarrscope.nodes import trash
from zarrscope.stores.memory import MemoryStore


@pytest.mark.parametrize("dialect", ["v2", "v3", "n5"])
def test_what_is_overwritten_leaves_nothing_behind(dialect: str) -> None:
    store = MemoryStore()
    h = zarrscope.open(store, "w-", dialect=dialect)
    as_array(h.create_array("/g/a", shape=(8,), dtype="i4", chunks=(2,)))[...] = 7
    h.create_array("/g", data=np.arange(1, 4), overwrite=True)
    fresh = zarrscope.open(MemoryStore(), "w-", dialect=dialect)
    fresh.create_array("/g", data=np.arange(1, 4))
    assert {*store.list()} == {*fresh.store.list()}
    assert as_array(zarrscope.open(store)["/g"])[...].tolist() == [1, 2, 3]


def test_a_folder_keeps_what_is_overwritten_in_its_trash(tmp_path: Path) -> None:
    h = zarrscope.open(tmp_path / "x.zarr", "w-")
    h.create_array("/a", data=[1, 2, 3])
    h.create_group("/a", {"n": 1}, overwrite=True)
    assert as_group(h["/a"]).attributes["n"] == 1
    (thrown,) = trash.entries(h)
    trash.restore(h, thrown.id, "/old")
    assert as_array(h["/old"])[...].tolist() == [1, 2, 3]


def test_a_node_that_cannot_be_made_leaves_the_old_one() -> None:
    h = zarrscope.open(MemoryStore(), "w-", dialect="n5")
    h.create_array("/a", data=np.arange(3))
    before = {key: h.store.get(key) for key in h.store.list()}
    for wrong in ({"dtype": "complex64", "shape": (3,)}, {"data": np.arange(2), "fill_value": 5}):
        with pytest.raises(Unsupported):
            h.create_array("/a", overwrite=True, **wrong)
    with pytest.raises(ValueError, match="leave out shape"):
        h.create_array("/a", data=[1], shape=1, overwrite=True)
    with pytest.raises(Refused, match="root"):
        h.create_group("/", overwrite=True)
    assert {key: h.store.get(key) for key in h.store.list()} == before


class Full(MemoryStore):
    """Stores no chunks."""

    def _put(self, key: str, parts: Sequence[Any]) -> None:
        if "/c/" in key:
            raise zarrscope.Unreadable("The disk is full", store=self.url, key=key)
        super()._put(key, parts)


def test_an_array_whose_data_cannot_be_stored_is_erased_again() -> None:
    h = zarrscope.open(Full(), "w-")
    with pytest.raises(ZarrscopeError, match="The disk is full"):
        h.create_array("/a", data=[1, 2])
    assert "/a" not in h


def test_lists_and_stored_arrays_are_data() -> None:
    h = zarrscope.open(MemoryStore(), "w-")
    one = h.create_array("/one", data=[[1.5, 2.0], [3.0, 4.0]])
    assert (one.dtype, one[...].tolist()) == (np.dtype("f8"), [[1.5, 2], [3, 4]])
    assert as_array(h.create_array("/two", data=one, chunks=1))[...].tolist() == one[...].tolist()
    assert h.create_array("/texts", data=["a", "bc"])[...].tolist() == ["a", "bc"]
    assert h.create_array("/number", data=7)[...] == 7


def test_who_requires_a_node_that_appears_meanwhile_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    h = zarrscope.open(MemoryStore(), "w-")
    root = as_group(h.root)
    created = type(h).create_group

    def late(self: Any, path: str, *rest: Any, **more: Any) -> Any:
        created(self, path)
        return created(self, path, *rest, **more)

    monkeypatch.setattr(type(h), "create_group", late)
    assert root.require_group("g").path == "/g"
    with pytest.raises(TypeError, match="is a group"):
        root.require_array("g", shape=1, dtype="u1")
