"""Another program replaces or erases an array while a hierarchy is open, on every kind of store in the registry.

A read of an array that was opened before raises an error that names store and key, or gives the values of one state,
the old or the new one, never a mixture. The hierarchy shows the new state once its cached documents are forgotten, as
after a save, or else when it is opened again, as for F5.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.places import PLACES, Services
from narrowing import as_array, as_group
from zarrscope.errors import NotFound, ZarrscopeError
from zarrscope.nodes.array import Array
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.registry import STORES

State = Mapping[str, bytes]
RAW: dict[str, Any] = {"shape": (8, 8), "chunks": (4, 4), "dtype": "uint16", "codecs": []}
PACKED: dict[str, Any] = {"shape": (12, 6), "chunks": (6, 3), "dtype": "uint16", "codecs": ["gzip"]}
SMALL: dict[str, Any] = {"shape": (3, 3), "chunks": (3, 3), "dtype": "uint16", "codecs": ["zstd"]}
SHARDED: dict[str, Any] = {"shape": (16, 16), "chunks": (4, 4), "shards": (8, 8), "dtype": "uint16"}
CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any] | None]] = {
    "compressed": (RAW, PACKED), "not compressed any more": (PACKED, RAW), "smaller": (RAW, SMALL),
    "sharded": (RAW, SHARDED), "other shards": (SHARDED, {**SHARDED, "codecs": ["gzip"], "shape": (8, 24)}),
    "erased": (PACKED, None), "shards erased": (SHARDED, None),
}  # fmt: skip
SNAPSHOTS = {"reference": "a reference file is read once, when it is opened"}
"""Kinds of stores that go on showing the old state until they are opened again."""


def state(options: dict[str, Any] | None, start: int) -> tuple[State, np.ndarray[Any, Any] | None]:
    """The stored values of a hierarchy whose array counts up from `start`, and the values of the array; without one."""
    store, values = MemoryStore(), None
    h = zarrscope.open(store, "w-")
    h.create_group("/kept")
    if options is not None:
        shape: tuple[int, ...] = options["shape"]
        values = np.arange(start, start + np.prod(shape), dtype="uint16").reshape(shape)
        h.create_array("/a", **options)[...] = values
    return {key: store.get(key) or b"" for key in store.list()}, values


PARTS: dict[str, Any] = {
    "all": ..., "one chunk": np.s_[:3, :3], "one value": (1, 2), "the last": np.s_[-2:, -2:],
}  # fmt: skip


def values_or_error(array: Array, part: Any) -> np.ndarray[Any, Any] | ZarrscopeError:
    try:
        return np.asarray(array[part])
    except ZarrscopeError as error:
        return error


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", STORES)
def test_an_array_that_another_program_replaces(kind: str, change: str, services: Services, tmp_path: Path) -> None:
    before, after = CHANGES[change]
    stored, old = state(before, 0)
    new_values, new = state(after, 1000)
    assert old is not None
    with PLACES[kind](tmp_path, services, stored) as place:
        store = place.opened("r")
        h = zarrscope.open(store)
        array = h["/a"]
        assert isinstance(array, Array)
        if store.listable:
            assert {child.name for child in as_group(h["/"]).children()} == {"a", "kept"}
        np.testing.assert_array_equal(array[...], old)
        place.rewrite(new_values)
        for name, part in PARTS.items():
            got = values_or_error(array, part)
            if isinstance(got, ZarrscopeError):
                assert (got.store, got.key is None) == (store.url, False), name
            else:
                states = [each[part] for each in (old, new) if each is not None]
                assert any(np.array_equal(got, each) for each in states), f"{name}: a mixture: {got}"
        h._nodes.forget()
        shown = old if kind in SNAPSHOTS else new
        assert ("/a" in h) == (shown is not None)
        if store.listable:
            assert {child.name for child in as_group(h["/"]).children()} == (
                {"kept"} if shown is None else {"a", "kept"}
            )
        if shown is None:
            with pytest.raises(NotFound):
                h["/a"]
        else:
            np.testing.assert_array_equal(as_array(h["/a"])[...], shown)
        store.close()
        with zarrscope.open(place.opened("r")) as fresh:
            assert ("/a" in fresh) == (new is not None)
            if new is not None:
                np.testing.assert_array_equal(as_array(fresh["/a"])[...], new)
