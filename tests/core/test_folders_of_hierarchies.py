"""A folder that contains several hierarchies of different formats: each node is changed in its own format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import zarrscope
from contracts.operations import contents
from zarrscope import convert
from zarrscope.convert.label_images import add_label_image
from zarrscope.convert.rebuilding import plan_rebuild, rebuild
from zarrscope.errors import Refused
from zarrscope.nodes import move, trash
from zarrscope.stores.local.store import LocalStore

FORMATS = {"old.zarr": "v2", "new.zarr": "v3"}
FOREIGN = {"v2": ("zarr.json",), "v3": (".zgroup", ".zarray", ".zattrs", ".zmetadata")}


def image(place: Path, dialect: str) -> None:
    entry = {
        "axes": [{"name": n, "type": "space", "unit": "micrometer"} for n in "yx"],
        "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [0.5, 0.5]}]}],
    }
    with zarrscope.open(place, "w-", dialect=dialect) as made:
        if dialect == "v2":
            made.root.attrs["multiscales"] = [{"version": "0.4", **entry}]
        else:
            made.root.attrs["ome"] = {"version": "0.5", "multiscales": [entry]}
        made.create_array("/0", shape=(8, 8), dtype="uint8", chunks=(4, 4))[...] = np.arange(64).reshape(8, 8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    for name, dialect in FORMATS.items():
        image(folder / name, dialect)
    return folder


def documents(folder: Path, dialect: str) -> list[str]:
    """The documents in a format other than that of the hierarchy."""
    return [str(each) for name in FOREIGN[dialect] for each in folder.rglob(name)]


@pytest.mark.parametrize("name", FORMATS)
def test_consolidated_copies_follow_an_edit(folder: Path, name: str) -> None:
    with zarrscope.open(folder / name, "r+") as h:
        h.consolidate()
    with zarrscope.open(folder, "r+") as h:
        h[f"/{name}"].attrs["note"] = "new"
        h[f"/{name}/0"].attrs["note"] = "new"
        assert not [each for each in h.warnings if "stale" in each]
    theirs: Any = zarr.open_group(str(folder / name), mode="r", use_consolidated=True)
    assert theirs["0"].attrs["note"] == "new"
    if FORMATS[name] == "v2":
        copied = json.loads((folder / name / ".zmetadata").read_text())["metadata"]
        assert copied[".zattrs"]["note"] == "new"
    assert not documents(folder / name, FORMATS[name])


def test_the_copies_that_a_group_of_v2_has_of_itself_follow_too(folder: Path) -> None:
    """A group within a hierarchy may have consolidated metadata of its own."""
    with zarrscope.open(folder / "all.zarr", "w-", dialect="v2") as h:
        h.create_group("/inner", {"note": "old"})
    with zarrscope.open(folder / "all.zarr" / "inner", "r+") as h:
        h.consolidate()
    with zarrscope.open(folder / "all.zarr", "r+") as h:
        h["/inner"].attrs["note"] = "new"
    copied = json.loads((folder / "all.zarr" / "inner" / ".zmetadata").read_text())["metadata"]
    assert copied[".zattrs"]["note"] == "new"


@pytest.mark.parametrize("name", FORMATS)
def test_nodes_are_made_in_the_format_of_the_hierarchy_around_them(folder: Path, name: str) -> None:
    dialect = FORMATS[name]
    with zarrscope.open(folder, "r+") as h:
        h.create_group(f"/{name}/tables")
        h.create_array(f"/{name}/more/extra", shape=(4,), dtype="u1")[...] = 7
        add_label_image(h, f"/{name}", "cells")
        rebuild(plan_rebuild(h, convert.Pyramid(levels=2), f"/{name}"))
        assert h[f"/{name}/labels/cells/0"].metadata.dialect == dialect
    assert not documents(folder / name, dialect)
    assert not [each for each in folder.iterdir() if each.is_file()], "the folder is no hierarchy afterwards, too"
    theirs: Any = zarr.open_group(str(folder / name), mode="r")
    assert theirs["more/extra"][...].tolist() == [7] * 4
    assert "labels/cells/0" in theirs
    assert len(theirs.attrs.asdict().get("ome", theirs.attrs.asdict())["multiscales"][0]["datasets"]) == 2


def test_a_node_beside_the_hierarchies_has_no_format_to_take(folder: Path) -> None:
    with zarrscope.open(folder, "r+") as h, pytest.raises(Refused, match="a folder of several hierarchies"):
        h.create_group("/tables")
    assert sorted(each.name for each in folder.iterdir()) == sorted(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_images_are_renamed_moved_and_copied(folder: Path, name: str) -> None:
    before = contents(LocalStore(folder / name))
    with zarrscope.open(folder, "r+") as h:
        assert move.rename(h, f"/{name}", "renamed.zarr").at_once
        move.copy(h, "/renamed.zarr", "/copy.zarr")
        move.copy(h, "/renamed.zarr/0", "/copy.zarr/1")
        move.move(h, "/copy.zarr/1", "/copy.zarr/deep/1")
        copied, renamed = h["/copy.zarr/deep/1"], h["/renamed.zarr/0"]
        assert isinstance(copied, zarrscope.Array)
        assert isinstance(renamed, zarrscope.Array)
        assert np.array_equal(copied[...], renamed[...])
        h.erase("/copy.zarr/deep")
    for each in ("renamed.zarr", "copy.zarr"):
        assert contents(LocalStore(folder / each)) == before
    assert not [each for each in folder.iterdir() if each.is_file()], "the folder is no hierarchy afterwards, too"


def test_a_node_is_not_carried_into_a_hierarchy_of_another_format(folder: Path) -> None:
    with zarrscope.open(folder, "r+") as h, pytest.raises(Refused, match="is Zarr v2, and"):
        move.copy(h, "/old.zarr/0", "/new.zarr/1")
    assert not (folder / "new.zarr" / "1").exists()


def test_what_was_removed_comes_back(folder: Path) -> None:
    before = contents(LocalStore(folder))
    with zarrscope.open(folder, "r+") as h:
        for path in ("/old.zarr/0", "/old.zarr", "/new.zarr"):
            thrown = trash.put(h, path)
            assert path not in h
            trash.restore(h, thrown.id)
    assert contents(LocalStore(folder)) == before
