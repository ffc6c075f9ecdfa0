"""`check` finds what prevents stored chunks from being read: links, folders, lost documents, and shards whose index
gives the same bytes to two chunks.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import pytest

import zarrscope
from zarrscope.check.finding import Finding
from zarrscope.check.hierarchy import check

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX symbolic links")
DIALECTS = ("v3", "v2", "n5", "draft-2022-05", "draft-2020", "draft-2019-06", "draft-2019-05")
VALUES = np.arange(64, dtype="u2").reshape(8, 8) + 1


LITTLE = {"endian": "little"}


def made(root: Path, dialect: str) -> Path:
    """The folder of an array's chunks."""
    hierarchy = zarrscope.open(root, "a", dialect=dialect)
    hierarchy.create_group("g")
    array = hierarchy.create_array("g/a", shape=(8, 8), dtype="u2", chunks=(4, 4), separator="/")
    assert isinstance(array, zarrscope.Array)
    array[...] = VALUES
    assert found(root) == []
    return root / Path(array.metadata.keys.key((0, 0))).parent


def found(root: Path, **how: Any) -> list[Finding]:
    return [each for each in check(zarrscope.open(root), **how) if each.severity != "information"]


@posix
@pytest.mark.parametrize("dialect", ["v3", "v2", "n5"])
@pytest.mark.parametrize("target", ["outside", "nowhere"])
@pytest.mark.parametrize("what", ["chunk", "folder"])
def test_a_link_where_chunks_should_be_is_an_error(what: str, target: str, dialect: str, tmp_path: Path) -> None:
    root = tmp_path / "x.zarr"
    folder = made(root, dialect)
    place = folder / "0" if what == "chunk" else folder
    place.rename(tmp_path / "outside")
    place.symlink_to(tmp_path / target if target == "outside" else "nowhere")
    for chunks in (True, False):
        findings = found(root, chunks=chunks)
        assert [each for each in findings if each.severity != "error"] == []
        if chunks:
            (one,) = findings
            assert one.code == "chunk-link"
            assert one.key == str(place.relative_to(root))
            assert ("leads out" if target == "outside" else "link is broken") in one.message
    every = list(check(zarrscope.open(root)))
    assert not [each for each in every if each.code in ("chunk-missing", "chunks-missing")], "nothing is missing"
    if target == "outside":
        assert [each for each in check(zarrscope.open(root, follow_links=True)) if each.severity == "error"] == []


@posix
def test_a_link_for_all_chunks_or_for_the_array_is_an_error(tmp_path: Path) -> None:
    root = tmp_path / "x.zarr"
    made(root, "v3")
    (root / "g/a/c").rename(tmp_path / "chunks")
    (root / "g/a/c").symlink_to(tmp_path / "chunks")
    assert [each.code for each in found(root)] == ["chunk-link"]
    (root / "g/a").rename(tmp_path / "array")
    (root / "g/a").symlink_to(tmp_path / "array")
    assert {each.severity for each in found(root)} == {"error"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_folder_where_a_chunk_should_be_is_an_error(dialect: str, tmp_path: Path) -> None:
    root = tmp_path / "x.zarr"
    folder = made(root, dialect)
    (folder / "0").unlink()
    (folder / "0").mkdir()
    assert [(each.severity, each.code) for each in found(root)] == [("error", "chunk-folder")]
    (folder / "0/file").write_bytes(b"x")
    assert [(each.severity, each.code) for each in found(root)] == [("error", "chunk-folder")]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_array_that_lost_its_document_is_found(dialect: str, tmp_path: Path) -> None:
    root = tmp_path / "x.zarr"
    made(root, dialect)
    hierarchy = zarrscope.open(root)
    for key in hierarchy.dialect.documents("/g/a"):
        (root / key).unlink(missing_ok=True)
    findings = found(root)
    assert [(each.severity, each.code, each.path) for each in findings] == [("error", "array-lost", "/g/a")]


def test_a_link_for_all_chunks_is_found_where_chunks_are_not_looked_at(tmp_path: Path) -> None:
    for dialect, folder in (("v3", "c"), ("v3", "c/0"), ("v2", "0.0")):
        root = tmp_path / dialect / folder.replace("/", "-") / "x.zarr"
        array = zarrscope.open(root, "w-", dialect=dialect).create_array(
            "/g/a", shape=(4, 4), dtype="u1", chunks=(2, 2)
        )
        array[...] = 1
        assert found(root, chunks=False) == []
        outside = root.parent / "outside"
        (root / "g/a" / folder).rename(outside)
        (root / "g/a" / folder).symlink_to(outside)
        (one,) = found(root, chunks=False)
        assert (one.severity, one.code, one.key) == ("error", "chunk-link", f"g/a/{folder}")


def test_a_hard_linked_document_is_told(tmp_path: Path) -> None:
    zarrscope.open(tmp_path / "x", "w-").create_array("/a", shape=(2,), dtype="u1", attributes={"n": 1})
    (tmp_path / "other.json").hardlink_to(tmp_path / "x/a/zarr.json")
    (one,) = check(zarrscope.open(tmp_path / "x"), chunks=False)
    assert (one.severity, one.code, one.path, one.key) == ("information", "hard-link", "/a", "a/zarr.json")


def test_chunks_that_share_bytes_are_found_in_shards_within_shards(tmp_path: Path) -> None:
    inner = {"chunk_shape": [1], "codecs": ["bytes"], "index_codecs": [{"name": "bytes", "configuration": LITTLE}]}
    outer = {"chunk_shape": [2], "codecs": [{"name": "sharding_indexed", "configuration": inner}]}
    h = zarrscope.open(tmp_path / "x", "w-")
    codecs = [{"name": "sharding_indexed", "configuration": outer | {"index_codecs": inner["index_codecs"]}}]
    h.create_array("/a", shape=(4,), dtype="u1", chunks=(4,), codecs=codecs)[...] = [1, 2, 3, 4]
    place = tmp_path / "x/a/c/0"
    assert found(tmp_path / "x") == []
    value = place.read_bytes()
    before, after = struct.pack("<QQQQ", 0, 1, 1, 1), struct.pack("<QQQQ", 0, 2, 1, 1)
    at = value.rindex(before)
    place.write_bytes(value[:at] + after + value[at + len(after) :])
    told = [each for each in found(tmp_path / "x") if each.code == "shard-overlap"]
    assert [(each.severity, each.key) for each in told] == [("error", "a/c/0")]
    assert "inner chunks (0,) and (1,) of inner shard (1,) of shard (0,)" in told[0].message


def test_what_is_no_chunk_beside_nodes_is_no_lost_array(tmp_path: Path) -> None:
    root = tmp_path / "x.zarr"
    made(root, "v3")
    (root / "g/OME").mkdir()
    (root / "g/OME/METADATA.ome.xml").write_text("<OME/>")
    (root / "g/empty").mkdir()
    assert found(root) == []


def sharded(root: Path, entries: list[tuple[int, int]]) -> list[Finding]:
    """An array of one shard with this index; it has four inner chunks of two bytes."""
    array = zarrscope.open(root, "a").create_array("a", shape=(4,), dtype="u2", chunks=(1,), shards=(4,), codecs=[])
    assert isinstance(array, zarrscope.Array)
    index = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    checksum = struct.pack("<I", google_crc32c.value(index))
    (root / "a/c").mkdir()
    (root / "a/c/0").write_bytes(bytes(range(8)) + index + checksum)
    return found(root)


def test_inner_chunks_that_share_bytes_are_found(tmp_path: Path) -> None:
    assert sharded(tmp_path / "good", [(0, 2), (6, 2), (4, 2), (2, 2)]) == []
    (one,) = sharded(tmp_path / "part", [(0, 2), (1, 2), (4, 2), (6, 2)])
    assert (one.severity, one.code, one.key) == ("error", "shard-overlap", "a/c/0")
    assert "(0,) and (1,)" in one.message
    (one,) = sharded(tmp_path / "same", [(0, 2), (2, 2), (4, 2), (2, 2)])
    assert (one.severity, one.code) == ("warning", "shard-overlap")
    (one,) = sharded(tmp_path / "many", [(0, 2), (1, 2), (0, 2), (6, 2)])
    assert one.severity == "error"
    assert "2 pairs" in one.message
