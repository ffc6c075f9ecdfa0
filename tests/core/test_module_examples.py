"""Each module of a codec or dialect begins with a link to its specification and an example, which this test loads."""

from __future__ import annotations

import importlib
import json
import re
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from zarrscope.codecs import ArraySpec, CodecPipeline
from zarrscope.codecs.registry import every_codec
from zarrscope.dialects import DIALECTS, detect, dialect_named
from zarrscope.model.codec_table import codec_row
from zarrscope.model.metadata import ArrayMetadata, RegularGrid

_LINK = re.compile(r"^Specification: https://\S+", re.MULTILINE)
_DOCUMENT = re.compile(r"^    (\S+) +(\{.*)$", re.MULTILINE)
_CODECS = re.compile(r'^    (\{"(?:data_type|dtype)": .*)', re.MULTILINE | re.DOTALL)

CODEC_MODULES = sorted({row.module for row in every_codec().values()} | {"zarrscope.codecs.imagecodecs"})
DIALECT_MODULES = sorted({type(dialect).__module__ for dialect in DIALECTS})


def head(module: ModuleType) -> str:
    text = module.__doc__ or ""
    assert _LINK.search(text), f"{module.__name__} opens without 'Specification: https://…'"
    return text


def documents(module: ModuleType) -> dict[str, bytes]:
    """Key → document, as typed in the docstring: a key, spaces, and JSON over one or more lines."""
    text, found = head(module), {}
    for match in _DOCUMENT.finditer(text):
        value, _ = json.JSONDecoder().raw_decode(" ".join(text[match.start(2) :].split()))
        found[match[1]] = json.dumps(value).encode()
    return found


def test_the_walk_finds_the_modules() -> None:
    assert len(CODEC_MODULES) >= 12
    assert [name.rpartition(".")[2] for name in DIALECT_MODULES] == ["drafts", "n5", "v1", "v2", "v3"]


# ------------------------------------------------------------------ codecs
def array_document(example: dict[str, Any]) -> ArrayMetadata:
    """The example as an array of one chunk, read by its dialect."""
    if "dtype" in example:
        document = {"zarr_format": 2, "shape": [4, 6], "chunks": [4, 6], "order": "C", "fill_value": None}
        dialect, key = "v2", ".zarray"
        if example["dtype"] != "|O":
            document["fill_value"] = 0
    else:
        document = {
            "zarr_format": 3,
            "node_type": "array",
            "shape": [4, 6],
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 6]}},
            "chunk_key_encoding": {"name": "default"},
            "fill_value": False if example["data_type"] == "bool" else 0,
        }
        dialect, key = "v3", "zarr.json"
    node = dialect_named(dialect).parse("/a", {f"a/{key}": json.dumps({**document, **example}).encode()})
    assert node is not None
    assert isinstance(node.metadata, ArrayMetadata)
    return node.metadata


def values(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if dtype.hasobject:
        found = np.empty((4, 6), object)
        found[...] = [[{"a": [row, None]}, "ä", column, 1.5, True, []] for row, column in enumerate("wxyz")]
        return found
    return (np.arange(24).reshape(4, 6) * 5 % 7).astype(dtype)


@pytest.mark.parametrize("name", CODEC_MODULES)
def test_the_example_of_a_codec_is_read_and_its_chunks_make_the_round_trip(name: str) -> None:
    module = importlib.import_module(name)
    match = _CODECS.search(head(module))
    assert match, f"{name} opens without an example"
    example, _ = json.JSONDecoder().raw_decode(" ".join(match[1].split()))
    metadata = array_document(example)
    rows = [codec_row(spec.name) for spec in metadata.codecs]
    ours = [
        spec.name for spec, row in zip(metadata.codecs, rows, strict=True) if row is not None and row.module == name
    ]
    if name.endswith(".imagecodecs"):
        pytest.importorskip("imagecodecs")
        ours = [spec.name for spec in metadata.codecs if spec.name.startswith("imagecodecs_")]
    assert ours, "the example shows a codec of the module"
    missing = [row for row in rows if row is not None and not row.installed]
    if missing:
        pytest.skip(f"{missing[0].name} needs {missing[0].needs}")
    assert metadata.problem is None
    dtype = metadata.dtype.numpy
    made = CodecPipeline(metadata.codecs, ArraySpec((4, 6), metadata.dtype, metadata.fill))
    assert dtype is not None
    chunk = values(dtype)
    decoded = made.decode(made.encode(chunk))
    assert np.array_equal(np.asarray(decoded), chunk)
    with pytest.raises(AssertionError):
        assert np.array_equal(np.asarray(decoded), chunk[::-1]), "the values tell one order from another"


# ------------------------------------------------------------------ dialects
EXPECTED = {
    "v3": ("v3", "/a"),
    "v2": ("v2", "/a"),
    "drafts": ("draft-2020", "/g/a"),
    "n5": ("n5", "/a"),
    "v1": ("v1", "/"),
}
"""For each module, the dialect of its example and the path of the array."""
ROOTS = {"v3": {"zarr.json": b'{"zarr_format": 3, "node_type": "group"}'}, "v2": {".zgroup": b'{"zarr_format": 2}'}}


@pytest.mark.parametrize("name", DIALECT_MODULES)
def test_the_example_of_a_dialect_is_read_and_written_again(name: str) -> None:
    module = importlib.import_module(name)
    dialect, path = EXPECTED[name.rpartition(".")[2]]
    found_documents = documents(module)
    found = detect({**found_documents, **ROOTS.get(dialect, {})})
    assert found is not None
    assert found.dialect.name == dialect
    node = found.dialect.parse(path, found_documents)
    assert node is not None
    assert isinstance(node.metadata, ArrayMetadata)
    assert node.metadata.shape == (4, 6)
    assert node.metadata.grid == RegularGrid((2, 3))
    assert node.metadata.problem is None
    key = node.metadata.keys.key((0, 1))
    assert re.search(rf"^    {re.escape(key)} +(?:the chunk|the block)", module.__doc__ or "", re.MULTILINE)
    if dialect == "v1":  # is read only
        return
    written = found.dialect.write(path, node.metadata, node.attributes)
    again = found.dialect.parse(path, written)
    assert again is not None
    assert isinstance(again.metadata, ArrayMetadata)
    assert isinstance(node.metadata, ArrayMetadata)
    for what in ("shape", "dtype", "grid", "keys", "fill", "dimension_names", "problem"):
        assert getattr(again.metadata, what) == getattr(node.metadata, what), what
    assert [spec.name for spec in again.metadata.codecs] == [spec.name for spec in node.metadata.codecs]
    assert again.attributes == node.attributes
    assert found.dialect.write(path, again.metadata, again.attributes) == written
