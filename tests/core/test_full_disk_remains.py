"""A change of nodes that fails on a full disk leaves nothing half: neither groups nor folders, and every former node.

The disk is a small file system of its own. Each change is tried with no room, and with a little more each time.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.full_disk import full_from
from contracts.small_disk import needs_mounts, within
from narrowing import as_array
from zarrscope.errors import Unreadable
from zarrscope.nodes import move, trash
from zarrscope.stores.memory import MemoryStore

ACTS = ("array", "group", "values", "overwrite", "copy", "copy over", "move", "trash")
SCRIPT = r"""
import json, os, sys
from pathlib import Path
import numpy as np, zarrscope
from zarrscope.errors import ZarrscopeError
from zarrscope.nodes import move, trash

disk, dialect = Path(sys.argv[1]), sys.argv[2]
place, fill = disk / "a.zarr", disk / "fill"
noise = np.random.default_rng(1).integers(1, 255, (4, 64, 64), dtype="u1")
long = {"x": "y" * 5000}

def files():
    return {str(p.relative_to(disk)): p.read_bytes() if p.is_file() else None for p in disk.rglob("*") if p != fill}

ACTS = {
    "array": lambda h: h.create_array("/new/deep/b", shape=(4, 4), dtype="u1", attributes=long),
    "group": lambda h: h.create_group("/new/deep/b", long),
    "values": lambda h: h.create_array("/new/deep/b", data=noise),
    "overwrite": lambda h: h.create_array("/g/a", data=noise, attributes=long, overwrite=True),
    "copy": lambda h: move.copy(h, "/g/a", "/copies/one/two"),
    "move": lambda h: move.move(h, "/g/a", "/copies/one/two"),
    "copy over": lambda h: move.copy(h, "/g/a", "/g/b", replace=True),
    "trash": lambda h: trash.put(h, "/g/a"),
}
told = []
for name, act in ACTS.items():
    for room in range(5):
        with zarrscope.open(place, "w-", dialect=dialect) as h:
            for path in ("/g/a", "/g/b"):
                h.create_array(path, data=noise, chunks=(1, 64, 64), attributes={"x": 1})
        before = files()
        with open(fill, "wb", buffering=0) as file:
            try:
                while True: file.write(bytes(4096))
            except OSError: pass
        os.truncate(fill, os.path.getsize(fill) - room * 4096)
        try:
            with zarrscope.open(place, "r+") as h:
                act(h)
        except ZarrscopeError as error:
            after = files()
            new = sorted(after.keys() - before.keys())
            lost = sorted(k for k, v in before.items() if k not in after or after[k] != v)
            told.append([name, room, error.errno, error.store or "", error.advice, new, lost])
        os.system(f"rm -rf {disk}/* {disk}/.a.zarr.trash")
print(json.dumps(told))
"""


@needs_mounts
@pytest.mark.parametrize("dialect", ["v3", "v2", "n5", "draft-2020"])
def test_a_change_that_fails_on_a_full_disk_leaves_everything_as_it_was(dialect: str, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    done = subprocess.run(
        within(disk, sys.executable, "-c", SCRIPT, str(disk), dialect, size="512k"),
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told: list[Any] = json.loads(done.stdout)
    assert {name for name, *_ in told} == {*ACTS}
    for name, room, _, store, advice, new, lost in told:
        assert (new, lost) == ([], []), f"{name} with room for {room} blocks"
        assert str(disk) in store
        assert "disk is full" in advice
        if name == "trash":
            assert "erase the node for good" in advice
        elif name in ("array", "group", "copy", "move"):
            assert advice.endswith("Nothing new is left.")


def test_a_group_in_which_others_made_a_node_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zarrscope.open(tmp_path / "a.zarr", "w-") as h:
        h.create_array("/a", shape=(4,), dtype="u1", chunks=(2,))[...] = 7
        full_from(monkeypatch, "copies/")
        erase = type(h.store).erase

        def meanwhile(store: Any, key: str) -> None:
            monkeypatch.undo()
            zarrscope.open(tmp_path / "a.zarr", "r+").create_group("/copies/theirs")
            erase(store, key)

        monkeypatch.setattr(type(h.store), "erase_prefix", meanwhile)
        with pytest.raises(Unreadable):
            move.copy(h, "/a", "/copies/mine")
        assert "/copies/theirs" in h
        assert as_array(h["/a"])[...].tolist() == [7] * 4


def test_a_node_that_is_overwritten_comes_back_if_the_new_one_cannot_be_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zarrscope.open(tmp_path / "a.zarr", "w-") as h:
        h.create_array("/a", shape=(4,), dtype="u1", chunks=(2,))[...] = 7
        full_from(monkeypatch, "a/c/")
        with pytest.raises(Unreadable):
            h.create_array("/a", data=[1, 2, 3], overwrite=True)
        assert as_array(h["/a"])[...].tolist() == [7] * 4
        assert trash.entries(h) == ()
    assert [path.name for path in tmp_path.iterdir()] == ["a.zarr"]


@pytest.mark.parametrize("act", [move.copy, move.move], ids=["copy", "move"])
@pytest.mark.parametrize("why", ["the disk is full", "it is cancelled", "it succeeds"])
def test_a_node_that_is_replaced_comes_back_unless_the_new_one_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: Any, why: str
) -> None:
    """Not by renaming: the new node comes from another hierarchy, in memory."""
    source = zarrscope.open(MemoryStore(), "w-")
    source.create_array("/new", data=np.arange(4, dtype="u1"), chunks=(2,))
    with zarrscope.open(tmp_path / "a.zarr", "w-") as h:
        h.create_array("/a", shape=(4,), dtype="u1", chunks=(2,))[...] = 7
        if why == "the disk is full":
            full_from(monkeypatch, "a/c/")
            with pytest.raises(Unreadable):
                act(source, "/new", "/a", h, replace=True)
        else:
            cancelled = why == "it is cancelled"
            assert act(source, "/new", "/a", h, replace=True, cancelled=lambda: cancelled).cancelled == cancelled
        assert as_array(h["/a"])[...].tolist() == ([0, 1, 2, 3] if why == "it succeeds" else [7] * 4)
        assert ("/new" in source) == (act is move.copy or why != "it succeeds")
        assert trash.entries(h) == ()
    assert [path.name for path in tmp_path.iterdir()] == ["a.zarr"]
