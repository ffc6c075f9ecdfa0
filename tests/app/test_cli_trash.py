"""The verbs `zarrscope remove --to-trash` and `zarrscope trash`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zarrscope
from contracts.operations import contents, example, is_whole
from zarrscope.stores.local.store import LocalStore
from zarrscope_app.cli import run


@pytest.fixture
def place(tmp_path: Path) -> Path:
    example("v3", LocalStore(tmp_path / "x.zarr", sync=False))
    return tmp_path / "x.zarr"


def test_a_node_goes_to_the_trash_and_comes_back(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(LocalStore(place))

    def zs(*words: Any) -> tuple[int, str, str]:
        code = run([*map(str, words)])
        return code, *capsys.readouterr()

    assert zs("remove", place, "g", "--to-trash", "--dry-run")[0] == 0
    assert contents(LocalStore(place)) == before
    assert zs("trash", "list", place)[2] == "zarrscope: The trash is empty.\n"
    assert zs("remove", place, "g", "--to-trash")[0] == 0, "what can be had again is not asked for"
    assert "/g" not in zarrscope.open(place)
    code, out, _ = zs("trash", "list", place)
    assert code == 0
    assert out.splitlines()[0].endswith("group  /g")
    code, _, told = zs("trash", "empty", place)
    assert code == 1, "what is gone for good is asked for"
    assert "Nothing was changed" in told
    assert "move" in zs("trash", "restore", place, "/g", "--dry-run")[1]
    assert zs("trash", "restore", place, "g")[0] == 0
    assert contents(LocalStore(place)) == before
    code, _, told = zs("trash", "restore", place, "g")
    assert code == 3
    assert "'g'" in told


def test_the_trash_is_emptied_when_it_is_said_so(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for node in ("g/a", "g/in"):
        assert run(["remove", str(place), node, "--to-trash"]) == 0
    assert run(["trash", "empty", str(place), "--older-than", "1", "--yes"]) == 0
    assert run(["trash", "restore", str(place), "g/in", "--to", "in/deep"]) == 0
    assert "/in/deep/b" in zarrscope.open(place)
    assert run(["trash", "empty", str(place), "--yes"]) == 0
    assert [each.name for each in place.parent.iterdir()] == ["x.zarr"]
    assert is_whole(zarrscope.open(place), "/other", "/other")
    assert run(["remove", f"memory://{place.name}", "g", "--to-trash"]) != 0
    capsys.readouterr()
