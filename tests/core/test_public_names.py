"""The names that `import zarrscope` offers, and the modules that it imports."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import zarrscope
from machine import ROOT
from zarrscope.stores.memory import MemoryStore

PUBLIC = [
    "Array",
    "BadChunk",
    "BadMetadata",
    "Conflict",
    "Group",
    "Hierarchy",
    "NotFound",
    "ReadOnly",
    "Refused",
    "Unreadable",
    "Unsupported",
    "ZarrscopeError",
    "as_zarr_store",
    "open",
    "open_array",
    "open_group",
]


def test_the_public_names_are_these() -> None:
    assert sorted(zarrscope.__all__) == PUBLIC
    for name in PUBLIC:
        assert getattr(zarrscope, name).__name__ == name
        assert name in dir(zarrscope)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = zarrscope.nonsense


def test_dir_shows_the_public_names_and_no_imports() -> None:
    shown = {name for name in dir(zarrscope) if not name.startswith("__")}
    assert shown == {*PUBLIC, "errors", "moving"}
    for name in ("errors", "moving"):
        assert importlib.import_module(getattr(zarrscope, name).__name__)


HIERARCHY = """children close consolidate consolidated create_array create_group dialect document dry_run erase
extensions initial_path open_node other_dialects recognition root save store tree url walk warnings writable"""
GROUP = """arrays attributes attrs children create_array create_group extensions get groups hierarchy inspect items
keys kind list_names metadata name names path problem require_array require_group warnings"""
ARRAY = """append attributes attrs blocks chunk_grid_shape chunks compressors dimension_names dtype edges extensions
fill_value filters hierarchy kind metadata name nbytes nchunks ndim oindex order path problem read_chunk resize shape
shards size store vindex warnings writable"""


def test_nodes_show_what_users_may_use_and_nothing_else() -> None:
    hierarchy = zarrscope.open(MemoryStore(), "w-")
    array = hierarchy.create_array("/a", shape=(2,), dtype="u1")
    array[...] = 1
    for thing, names in ((hierarchy, HIERARCHY), (hierarchy.root, GROUP), (array, ARRAY)):
        shown = [name for name in dir(thing) if not name.startswith("_")]
        assert shown == names.split()
        inner = [name for name in dir(thing) if name.startswith("_") and not name.endswith("_")]
        assert inner in ([], ["_nodes"], ["_stored"]), "one underscore attribute holds all that is internal"


def test_the_guide_tells_each_name_of_a_hierarchy() -> None:
    guide = (ROOT / "resources" / "docs" / "python.md").read_text(encoding="utf-8")
    table = guide.partition("## Hierarchies")[2].partition("## Nodes")[0]
    assert {*HIERARCHY.split()} == {*re.findall(r"\bh\.(\w+)", table)}


def modules_after(code: str) -> set[str]:
    """The names of all modules that a new process has imported after `code`."""
    shown = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"], capture_output=True, text=True
    )
    assert not shown.returncode, shown.stderr
    return set(shown.stdout.split())


def test_importing_pulls_in_nothing_it_does_not_need() -> None:
    loaded = modules_after("import zarrscope")
    assert "zarrscope" in loaded
    assert not loaded & {"numpy", "fsspec", "aiohttp", "numcodecs", "zstandard", "asyncio", "click", "rich", "qtpy"}


def test_opening_and_reading_locally_pulls_in_no_network_library(tmp_path: object) -> None:
    code = (
        "import zarrscope\n"
        f"h = zarrscope.open({str(tmp_path)!r} + '/x.zarr', 'w-')\n"
        "a = h.create_array('/a', shape=(4,), dtype='uint8')\n"
        "a[...] = 1\n"
        "assert a[...].sum() == 4\n"
    )
    loaded = modules_after(code)
    assert "numpy" in loaded
    assert not loaded & {"fsspec", "aiohttp", "numcodecs", "zarr", "rich", "click"}


def test_opening_and_reading_imports_no_more_than_that_takes(tmp_path: Path) -> None:
    """Every further import would delay the first plane (tests/bench/run.py "cold")."""
    hierarchy = zarrscope.open(tmp_path / "x.zarr", "w-")
    hierarchy.create_array("/a", shape=(4, 4), dtype="uint8", codecs=["bytes", "zstd"])[...] = 1
    code = f"import zarrscope\nassert zarrscope.open({str(tmp_path / 'x.zarr')!r})['/a'][...].sum() == 16\n"
    loaded = modules_after(code) - modules_after("import numpy")
    assert "zarrscope.codecs.zstd" in loaded
    assert not loaded & {"importlib.metadata", "urllib.request", "hashlib", "logging", "email", "secrets", "asyncio"}
    ours = {"dialects.v2", "dialects.n5", "dialects.drafts", "codecs.numeric", "codecs.streams", "document", "editing"}
    assert not loaded & {f"zarrscope.{name}" for name in ours}
