"""Another distribution, found by its entry points, adds to every registry."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope import plugins
from zarrscope.stores.memory import MemoryStore

MODULE = '''
import json
from zarrscope.dialects.v3 import V3
from zarrscope.dtype import data_type
from zarrscope.metadata import ChunkKeys, RegularGrid


def money(name, configuration):
    from dataclasses import replace
    return replace(data_type("int64"), name=name)


def halves(configuration, shape):
    return RegularGrid(tuple(-(-n // 2) for n in shape))


def dashes(configuration, prefix):
    return ChunkKeys(prefix, "chunk-", "-", "chunk")


def note(configuration):
    return "The maker left a note: " + configuration["text"]


class Suffixed(V3):
    """Zarr v3 whose documents are called node.json."""

    name = "suffixed"
    title = "Zarr v3 under another name"
    signs = ("node.json",)

    def documents(self, path):
        return tuple(key.replace("zarr.json", "node.json") for key in super().documents(path))

    def parse(self, path, documents):
        return super().parse(path, {key.replace("node.json", "zarr.json"): value for key, value in documents.items()})
'''
ENTRY_POINTS = """
    [zarrscope.data_types]
    https://example.com/money = zarrscope_sample:money

    [zarrscope.chunk_grids]
    halves = zarrscope_sample:halves

    [zarrscope.chunk_key_encodings]
    dashes = zarrscope_sample:dashes

    [zarrscope.extensions]
    note = zarrscope_sample:note

    [zarrscope.dialects]
    suffixed = zarrscope_sample:Suffixed
"""
ARRAY: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4, 3],
    "data_type": "https://example.com/money",
    "chunk_grid": {"name": "halves"},
    "chunk_key_encoding": {"name": "dashes"},
    "fill_value": 7,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    "extensions": [{"name": "note", "configuration": {"text": "hello"}}],
}


@pytest.fixture
def distribution(tmp_path: Path) -> Iterator[None]:
    (tmp_path / "zarrscope_sample.py").write_text(MODULE)
    info = tmp_path / "zarrscope_sample-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: zarrscope-sample\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(dedent(ENTRY_POINTS).lstrip())
    sys.path.insert(0, str(tmp_path))
    importlib.invalidate_caches()
    plugins.plugin.cache_clear()
    yield
    sys.path.remove(str(tmp_path))
    sys.modules.pop("zarrscope_sample", None)
    importlib.invalidate_caches()
    plugins.plugin.cache_clear()


def stored(name: str) -> MemoryStore:
    store = MemoryStore()
    store.set(name, json.dumps(ARRAY).encode())
    store.set("chunk-1-0", np.arange(4, dtype="<i8").tobytes())
    return store


@pytest.mark.usefixtures("distribution")
@pytest.mark.parametrize("name", ["zarr.json", "node.json"])
def test_every_extension_point_is_open(name: str) -> None:
    h = zarrscope.open(stored(name))
    assert h.dialect.name == ("v3" if name == "zarr.json" else "suffixed")
    array = h["/"]
    assert isinstance(array, zarrscope.Array)
    assert array.problem is None
    np.testing.assert_array_equal(array[...], [[7, 7, 7], [7, 7, 7], [0, 1, 7], [2, 3, 7]])
    assert {report.point for report in array.extensions} == {
        "data type",
        "chunk grid",
        "chunk key encoding",
        "extension",
    }
    assert any("hello" in report.advice for report in array.extensions)


def test_without_the_distribution_each_piece_is_named() -> None:
    array = zarrscope.open(stored("zarr.json"))["/"]
    assert isinstance(array, zarrscope.Array)
    refused = {report.point for report in array.extensions if report.outcome.value == "refused"}
    assert refused == {"data type", "chunk grid", "chunk key encoding", "extension"}
    with pytest.raises(zarrscope.ZarrscopeError, match=r"no Zarr hierarchy|There is no"):
        zarrscope.open(stored("node.json"))
