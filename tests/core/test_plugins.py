"""A distribution with entry points adds rows to every registry."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope.model import plugins
from zarrscope.stores.memory import MemoryStore

MODULE = '''
import json
from zarrscope.codecs.codec import BytesToBytes
from zarrscope.dialects.v3 import V3
from zarrscope.model.dtype import data_type
from zarrscope.model.metadata import ChunkKeys, RegularGrid
from zarrscope.stores.store import Store


def money(name, configuration):
    from dataclasses import replace
    return replace(data_type("int64"), name=name)


def halves(configuration, shape):
    return RegularGrid(tuple(-(-n // 2) for n in shape))


def dashes(configuration, prefix):
    return ChunkKeys(prefix, "chunk-", "-", "chunk")


def note(configuration):
    return "The maker left a note: " + configuration["text"]


class Negate(BytesToBytes):
    def __init__(self, settings, decoded):
        super().__init__(settings, decoded)
        self.encoded = decoded

    def _expand(self, data, limit=0):
        return bytes(255 - byte for byte in bytes(data))

    encode = _expand


class Cellar(Store):
    """Keeps what an array stores under another prefix."""

    def __init__(self, inner, configuration, prefix):
        self.inner, self.url = inner, inner.url

    def _get(self, key, part, limit=None):
        return self.inner.get("cellar/" + key, part)


def columns(configuration, ndim):
    return [{"name": "transpose", "configuration": {"order": list(range(ndim))[::-1]}}]


def backwards(data):
    return json.loads(bytes(data)[::-1])


class Suffixed(V3):
    """Zarr v3 whose documents are called node.json."""

    name = "suffixed"
    title = "Zarr v3 under another name"
    signs = ("node.json",)

    def documents(self, path, kind=None):
        return tuple(key.replace("zarr.json", "node.json") for key in super().documents(path, kind))

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

    [zarrscope.codecs]
    example.negate = zarrscope_sample:Negate

    [zarrscope.storage_transformers]
    cellar = zarrscope_sample:Cellar

    [zarrscope.memory_layouts]
    https://example.com/columns = zarrscope_sample:columns

    [zarrscope.metadata_encodings]
    https://example.com/backwards = zarrscope_sample:backwards

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


def install(folder: Path) -> None:
    (folder / "zarrscope_sample.py").write_text(MODULE)
    info = folder / "zarrscope_sample-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: zarrscope-sample\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(dedent(ENTRY_POINTS).lstrip())


@pytest.fixture
def distribution(tmp_path: Path) -> Iterator[None]:
    install(tmp_path)
    sys.path.insert(0, str(tmp_path))
    importlib.invalidate_caches()
    plugins.forget()
    yield
    sys.path.remove(str(tmp_path))
    sys.modules.pop("zarrscope_sample", None)
    importlib.invalidate_caches()
    plugins.forget()


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


SCRIPT = """
import json
import numpy as np
import zarrscope
from zarrscope.stores.memory import MemoryStore

v3, draft = MemoryStore(), MemoryStore()
v3.set("zarr.json", json.dumps({
    "zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "uint8", "fill_value": 0,
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
    "chunk_key_encoding": {"name": "default"}, "codecs": ["bytes", "example.negate"],
    "storage_transformers": [{"name": "cellar"}],
}).encode())
v3.set("cellar/c/0", bytes([255 - 1, 255 - 2]))
encoding = {"extension": "https://example.com/backwards", "type": "backwards", "metadata_key_suffix": ".nosj"}
draft.set("zarr.json", json.dumps({
    "zarr_format": "https://purl.org/zarr/spec/core/3.0", "metadata_encoding": encoding, "extensions": [],
}).encode())
draft.set("meta/a.array.nosj", json.dumps({
    "shape": [2, 2], "data_type": "uint8", "fill_value": 0, "extensions": [], "attributes": {}, "codecs": [],
    "chunk_grid": {"type": "regular", "chunk_shape": [2, 2], "separator": "/"},
    "chunk_memory_layout": {"extension": "https://example.com/columns", "type": "columns"},
}).encode()[::-1])
draft.set("data/a/c0/0", bytes([1, 2, 3, 4]))
print(zarrscope.open(v3)["/"][...].tolist(), zarrscope.open(draft)["/a"][...].tolist())
"""


def test_the_other_points_are_open_in_a_process_of_its_own(tmp_path: Path) -> None:
    install(tmp_path)
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, env=environ)
    assert done.stdout == "[1, 2] [[1, 3], [2, 4]]\n", done.stderr
    environ.pop("PYTHONPATH")
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, env=environ)
    assert done.stdout == ""
    assert "Unsupported" in done.stderr
