"""Upgrading v2 to v3 in place writes documents only; the hierarchy opens wherever the upgrade is killed."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.killed import Dying, Killed
from narrowing import as_array
from zarrscope import convert
from zarrscope.check.hierarchy import check
from zarrscope.errors import BadChunk, Conflict, Refused
from zarrscope.stores.memory import MemoryStore
from zarrscope.view.image import find_images
from zarrscope_app.cli import run

VALUES = np.arange(35).reshape(5, 7)
KINDS: dict[str, tuple[str, Any]] = {
    "c": ("i4", "C"),
    "f": (">f8", "F"),
    "b": ("?", "C"),
    "t": ("M8[ns]", "C"),
    "u": ("U5", "C"),
}


def made_by_zarr(place: Path, separator: str = ".") -> zarrscope.Hierarchy:
    """Arrays of several kinds by zarr-python, compressed in several ways."""
    import numcodecs
    import zarr

    group = zarr.open_group(place, mode="w", zarr_format=2)
    group.attrs["note"] = "grüße"
    for i, (name, (dtype, order)) in enumerate(KINDS.items()):
        compressor = [numcodecs.Blosc("lz4", 5, 1), numcodecs.GZip(1), None, numcodecs.Zstd(3), numcodecs.Blosc()][i]
        array = group.create_group("g" if name == "c" else f"g{name}").create_array(
            name, shape=(5, 7), chunks=(2, 3), dtype=dtype, order=order, compressors=compressor,
            chunk_key_encoding={"name": "v2", "separator": separator},
        )  # fmt: skip
        array[...] = VALUES.astype(dtype)
    return zarrscope.open(place, "r+")


def chunks_of(place: Path) -> dict[str, bytes]:
    documents = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
    return {str(f): f.read_bytes() for f in place.rglob("*") if f.is_file() and f.name not in documents}


@pytest.mark.parametrize("separator", [".", "/"])
def test_others_read_both_and_then_v3_alone(separator: str, tmp_path: Path) -> None:
    import tensorstore
    import zarr

    source = made_by_zarr(tmp_path, separator)
    before = chunks_of(tmp_path)
    plan = convert.plan_upgrade(source)
    assert {node.how for node in plan.nodes} == {"group", "copied"}
    assert convert.upgrade(plan).verified
    assert chunks_of(tmp_path) == before
    for zarr_format in (2, 3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            group = zarr.open_group(tmp_path, mode="r", zarr_format=zarr_format)
            assert group.attrs["note"] == "grüße"
            for name, (dtype, _) in KINDS.items():
                found: Any = group["g/c" if name == "c" else f"g{name}/{name}"]
                assert np.array_equal(found[...], VALUES.astype(dtype)), (name, zarr_format)
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(tmp_path / "g" / "c")}}
    assert np.array_equal(tensorstore.open(spec).result().read().result(), VALUES)
    made = zarrscope.open(tmp_path)
    assert made.dialect.name == "v3"
    assert not [f for f in check(made) if f.severity != "information" and f.code != "hierarchy"]

    (tmp_path / "g" / "c" / ".other").write_text("x")
    assert [f.key for f in check(made) if f.code == "stray-key"] == ["g/c/.other"]
    (tmp_path / "g" / "c" / ".other").unlink()
    convert.upgrade(convert.plan_upgrade(zarrscope.open(tmp_path, "r+")), remove=True)
    assert not list(tmp_path.rglob(".z*"))
    assert chunks_of(tmp_path) == before
    assert np.array_equal(as_array(zarrscope.open(tmp_path)["/gf/f"])[...], VALUES)


def test_ome_zarr_0_4_becomes_0_5_where_it_is() -> None:
    source = zarrscope.open(MemoryStore(), "w-")
    source.create_array("/a", shape=(40, 50), dtype="u2", chunks=(16, 16), dimension_names=["y", "x"])[...] = 7
    old = MemoryStore()
    convert.run(convert.plan(source, old, "v2", path="/a", pyramid=convert.Pyramid(2)))
    convert.upgrade(convert.plan_upgrade(zarrscope.open(old, "r+")))
    (image,) = find_images(zarrscope.open(old).root)
    assert (image.version, len(image.levels)) == ("0.5", 2)
    assert image.levels[1].array.dimension_names == ("y", "x")


def test_what_v3_has_no_words_for_is_refused_and_nothing_is_written() -> None:
    store = MemoryStore()
    for dialect, words in {"v3": "v3 already", "n5": "Only Zarr v2", "draft-2020": "Only Zarr v2"}.items():
        with pytest.raises(Refused, match=words):
            convert.plan_upgrade(zarrscope.open(MemoryStore(), "w-", dialect=dialect))
    made = zarrscope.open(store, "w-", dialect="v2")
    made.create_array("/ok", shape=(3,), dtype="u1")
    store.set("odd/.zarray", (store.get("ok/.zarray") or b"").replace(b'"|u1"', b'"|O"'))
    keys = set(store.list())
    plan = convert.plan_upgrade(made)
    with pytest.raises(Refused):
        convert.upgrade(plan)
    assert set(store.list()) == keys


def small() -> zarrscope.Hierarchy:
    made = zarrscope.open(MemoryStore(), "w-", dialect="v2")
    document = made.document("/")
    made.save("/", document.set("/k", "/"))
    for path in ("/a", "/g/b", "/g/h/c"):
        made.create_array(path, shape=(6,), dtype="u2", chunks=(2,), attributes={"k": path})[...] = np.arange(6)
    return made


@pytest.mark.parametrize("remove", [False, True])
def test_wherever_it_is_killed_it_opens_and_is_done_later(remove: bool) -> None:
    deaths = 0
    for left in range(100):
        whole = small().store
        store = Dying({key: whole.get(key) or b"" for key in whole.list()})
        store.left = left
        try:
            convert.upgrade(convert.plan_upgrade(zarrscope.open(store, "r+")), remove=remove)
            break
        except Killed:
            deaths += 1
        store.left = 10**9
        found = zarrscope.open(store)
        assert {path for path, _ in found.walk()} == {"/a", "/g", "/g/b", "/g/h", "/g/h/c"}
        assert as_array(found["/g/h/c"])[...].tolist() == [*range(6)]
        if any(key.rpartition("/")[2].startswith(".z") for key in store.list()):
            convert.upgrade(convert.plan_upgrade(zarrscope.open(store, "r+")), remove=remove)
        made = zarrscope.open(store)
        assert made.dialect.name == "v3"
        assert made["/g/b"].attributes == {"k": "/g/b"}
        assert any(".z" in key for key in store.list()) is not remove
    assert deaths >= 6


def test_a_document_of_somebody_else_is_not_overwritten() -> None:
    made = small()
    made.store.set("g/zarr.json", b"{}")
    with pytest.raises(Conflict):
        convert.upgrade(convert.plan_upgrade(zarrscope.open(made.store, "r+", dialect="v2")))
    assert made.store.get("g/zarr.json") == b"{}"
    assert [key for key in made.store.list() if key.endswith("zarr.json")] == ["g/zarr.json"]


def test_a_chunk_that_cannot_be_read_undoes_it() -> None:
    made = small()
    made.store.set("g/b/1", b"?")
    before = {key: made.store.get(key) for key in made.store.list()}
    with pytest.raises(BadChunk, match="as they were"):
        convert.upgrade(convert.plan_upgrade(zarrscope.open(made.store, "r+")))
    assert {key: made.store.get(key) for key in made.store.list()} == before


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made_by_zarr(tmp_path / "old")
    place = str(tmp_path / "old")
    before = chunks_of(tmp_path)
    assert run(["convert", place, "--to", "v3", "--in-place", "--dry-run"]) == 0
    assert not list(tmp_path.rglob("zarr.json"))
    assert run(["convert", place, "--to", "v3", "--in-place", "--remove-v2"]) == 0
    assert "all elements equal" in capsys.readouterr().out
    assert zarrscope.open(place).dialect.name == "v3"
    assert chunks_of(tmp_path) == before
    for wrong in (["--to", "v2", "--in-place"], ["--to", "v3", "--in-place", "--node", "g"], ["--remove-v2"]):
        assert run(["convert", place, *wrong]) == 2
    assert run(["convert", place, "--to", "v3", "--in-place"]) == 1  # it is v3 by now
