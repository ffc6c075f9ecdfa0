"""Hierarchies after operations, read by zarr-python 3, tensorstore and zarr-python 2.18.

One story in every dialect that others read: groups and arrays are created, stored to, resized, moved, copied, erased.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import contracts.zarr2
import zarrscope
from zarrscope.nodes import move as moving
from zarrscope.nodes.array import Array
from zarrscope.stores.local.store import LocalStore

VALUES = np.arange(1, 78, dtype="<u2").reshape(7, 11)
N5_CODECS: dict[str, list[Any]] = {
    "gzip": ["gzip"],
    "bzip2": [{"name": "numcodecs.bz2", "configuration": {"level": 5}}],
    "xz": [{"name": "numcodecs.lzma", "configuration": {"preset": 1}}],
    "blosc": [{"name": "blosc", "configuration": {"cname": "zstd", "clevel": 3, "shuffle": "shuffle"}}],
    "raw": [],
}


def told(place: Path, dialect: str, codecs: list[Any] | None = None, shards: bool = False) -> dict[str, Any]:
    """Runs all operations once at `place`, and returns the expected values by path."""
    hierarchy = zarrscope.open(LocalStore(place, sync=False), "w-", dialect=dialect)
    options: dict[str, Any] = {"shape": (7, 11), "dtype": "<u2", "chunks": (3, 4), "codecs": codecs}
    if shards:
        options |= {"shards": (6, 8)}
    for path in ("/plain", "/grown", "/shrunk", "/g/moved", "/g/in/erased", "/g/in/kept", "/copied"):
        hierarchy.create_array(path, **options, attributes={"was": path})[...] = VALUES
    hierarchy.create_group("/empty", {"n": [1, None, "µ"]})
    grown, shrunk = hierarchy["/grown"], hierarchy["/shrunk"]
    assert isinstance(grown, Array)
    assert isinstance(shrunk, Array)
    grown.resize((9, 11))
    grown[8, 3] = 9
    shrunk.resize((4, 5))
    hierarchy.erase("/g/in/erased")
    moving.rename(hierarchy, "/g", "h")
    moving.move(hierarchy, "/h/moved", "/deep/er/moved")
    moving.copy(hierarchy, "/copied", "/deep/copy")
    moving.copy(hierarchy, "/h", "/h2")
    more = np.zeros((9, 11), "<u2")
    more[:7] = VALUES
    more[8, 3] = 9
    return {
        "plain": VALUES,
        "grown": more,
        "shrunk": VALUES[:4, :5],
        "deep/er/moved": VALUES,
        "deep/copy": VALUES,
        "copied": VALUES,
        "h/in/kept": VALUES,
        "h2/in/kept": VALUES,
    }


ATTRIBUTES = {"deep/er/moved": {"was": "/g/moved"}, "deep/copy": {"was": "/copied"}, "empty": {"n": [1, None, "µ"]}}
GROUPS = {"deep", "deep/er", "empty", "h", "h/in", "h2", "h2/in"}


def by_tensorstore(place: Path, driver: str, values: Mapping[str, Any]) -> None:
    tensorstore = pytest.importorskip("tensorstore")
    for path, expected in values.items():
        kvstore = {"driver": "file", "path": str(place / path)}
        found = tensorstore.open({"driver": driver, "kvstore": kvstore}).result().read().result()
        assert np.array_equal(found.transpose() if driver == "n5" else found, expected), path


@pytest.mark.parametrize(
    ("dialect", "codecs", "shards"),
    [
        ("v3", None, False),
        ("v3", ["blosc"], False),
        ("v3", ["gzip", "crc32c"], False),
        ("v3", [], False),
        ("v3", ["zstd"], True),
        ("v2", None, False),
        ("v2", ["blosc"], False),
        ("v2", ["gzip"], False),
        ("v2", [], False),
    ],
)
def test_zarr_python_3_and_tensorstore_read_v3_and_v2(
    dialect: str, codecs: list[Any] | None, shards: bool, tmp_path: Path
) -> None:
    zarr = pytest.importorskip("zarr")
    if shards:
        codecs = ["zstd"]
    values = told(tmp_path / "x", dialect, codecs, shards)
    by_tensorstore(tmp_path / "x", "zarr3" if dialect == "v3" else "zarr", values)
    theirs = zarr.open_group(str(tmp_path / "x"), mode="r", zarr_format=int(dialect[1]))
    members = dict(theirs.members(max_depth=None))
    assert {name for name, member in members.items() if isinstance(member, zarr.Group)} == GROUPS
    assert {name for name in members if name not in GROUPS} == set(values)
    for path, expected in values.items():
        assert np.array_equal(members[path][...], expected), path
    for path, attributes in ATTRIBUTES.items():
        assert dict(members[path].attrs) == attributes


@pytest.mark.parametrize("codec", list(N5_CODECS))
def test_tensorstore_reads_n5(codec: str, tmp_path: Path) -> None:
    values = told(tmp_path / "x", "n5", N5_CODECS[codec])
    document = json.loads((tmp_path / "x" / "plain" / "attributes.json").read_bytes())
    assert document["compression"]["type"] == codec
    by_tensorstore(tmp_path / "x", "n5", values)


@pytest.mark.needs("zarr2")
@pytest.mark.parametrize(
    ("dialect", "codecs", "shards"),
    [
        ("draft-2020", ["gzip"], False),
        ("draft-2020", ["blosc"], False),
        ("draft-2020", [], False),
        ("draft-2020", ["gzip"], True),
        ("v2", None, False),
        ("v2", ["gzip"], False),
        *(("n5", codecs, False) for codecs in N5_CODECS.values()),
    ],
)
def test_zarr_2_18_reads_what_is_of_its_time(
    dialect: str, codecs: list[Any] | None, shards: bool, zarr2: Path, tmp_path: Path
) -> None:
    values = told(tmp_path / "x", dialect, codecs, shards)
    found = contracts.zarr2.read(zarr2, tmp_path / "x", dialect)
    assert {path for path, (values, _) in found.items() if values is None} == GROUPS
    assert {path: each for path, (each, _) in found.items() if each is not None} == {
        path: expected.tolist() for path, expected in values.items()
    }
    for path, attributes in ATTRIBUTES.items():
        assert found[path][1] == attributes


@pytest.mark.needs("zarr2")
@pytest.mark.parametrize("dialect", ["draft-2020", "v2"])
def test_zarr_2_18_reads_consolidated_copies(dialect: str, zarr2: Path, tmp_path: Path) -> None:
    values = told(tmp_path / "x", dialect, ["gzip"])
    zarrscope.open(tmp_path / "x", "r+").consolidate()
    hierarchy = zarrscope.open(tmp_path / "x", "r+")
    moving.rename(hierarchy, "/h2", "h3")
    code = """
import json, sys, zarr
place, dialect = sys.argv[1:]
if dialect == "v2":
    group = zarr.open_consolidated(place)
else:
    from zarr._storage.v3 import DirectoryStoreV3
    group = zarr.open_consolidated(DirectoryStoreV3(place), zarr_version=3)
print(json.dumps({name: group[name][...].tolist() for name in sys.stdin.read().split()}))
"""
    names = [path.replace("h2/", "h3/") for path in values]
    assert contracts.zarr2.told(zarr2, code, tmp_path / "x", dialect, stdin=" ".join(names)) == {
        path.replace("h2/", "h3/"): expected.tolist() for path, expected in values.items()
    }
