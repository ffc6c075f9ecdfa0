"""Storage transformers, which are stores over a store: two of another package, stacked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope.model import plugins
from zarrscope.model.storage import ByteRange, Version
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store

ARRAY: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4],
    "data_type": "uint8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
    "chunk_key_encoding": {"name": "default"},
    "fill_value": 0,
    "codecs": [{"name": "bytes"}],
}


class Over(Store):
    """Passes everything on; subclasses change keys or bytes."""

    def __init__(self, inner: Store, configuration: Any, prefix: str) -> None:
        self.inner, self.configuration, self.prefix, self.url = inner, configuration, prefix, inner.url

    def key(self, key: str) -> str:
        return key

    def scramble(self, value: bytes) -> bytes:
        return value

    def _get(self, key: str, part: ByteRange | None, limit: int | None = None) -> bytes | None:
        value = self.inner.get(self.key(key))
        return None if value is None else self.scramble(value) if part is None else part.of(self.scramble(value))

    def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
        return self.inner.set(self.key(key), self.scramble(value), expect)

    def _list(self) -> Iterator[str]:
        return self.inner.list()


class Elsewhere(Over):
    """Stores chunks under another prefix."""

    def key(self, key: str) -> str:
        return f"{self.configuration['where']}{key}"


class Scrambled(Over):
    """Inverts the bits of every byte; it receives the keys that the array requests."""

    def scramble(self, value: bytes) -> bytes:
        assert value is not None
        return bytes(255 - byte for byte in value)


def test_two_stacked_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    added = {"elsewhere": Elsewhere, "scrambled": Scrambled}

    class Point:
        def __init__(self, name: str) -> None:
            self.name = self.value = name

        def load(self) -> Any:
            return added[self.name]

    def points(group: str) -> list[Point]:
        return [Point(name) for name in added] if group == "zarrscope.storage_transformers" else []

    monkeypatch.setattr("importlib.metadata.entry_points", points)
    plugins.forget()
    try:
        store = MemoryStore()
        form = ARRAY | {
            "storage_transformers": ["scrambled", {"name": "elsewhere", "configuration": {"where": "over/there/"}}],
        }
        store.set("a/zarr.json", json.dumps(form).encode())
        store.set("over/there/a/c/1", bytes([252, 251]))
        array = zarrscope.open(store)["/a"]
        assert isinstance(array, zarrscope.Array)
        np.testing.assert_array_equal(array[...], [0, 0, 3, 4])
        writable = zarrscope.open(store, "r+")["/a"]
        assert isinstance(writable, zarrscope.Array)
        writable[0:2] = [1, 2]
        assert store.get("over/there/a/c/0") == bytes([254, 253])
        assert store.get("a/c/0") is None
    finally:
        plugins.forget()


def test_an_unknown_transformer_is_never_passed_over() -> None:
    form = ARRAY | {
        "storage_transformers": [{"name": "unheard-of"}],
    }
    store = MemoryStore()
    store.set("zarr.json", json.dumps(form).encode())
    array = zarrscope.open(store)["/"]
    assert isinstance(array, zarrscope.Array)
    assert "unheard-of" in str(array.problem)
    with pytest.raises(zarrscope.ZarrscopeError, match="unheard-of"):
        array[...]
