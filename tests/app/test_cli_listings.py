"""A listing whose exit code is 1 because one document could not be read still prints all other nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.http_server import web_server
from zarrscope_app.cli import run

BROKEN = "img/1/zarr.json"
LISTINGS = (["ls", "img"], ["tree"], ["stats"])


def image(place: Any) -> None:
    """An image of three levels."""
    levels = [
        {"path": str(n), "coordinateTransformations": [{"type": "scale", "scale": [2.0**n, 2.0**n]}]} for n in range(3)
    ]
    axes = [{"name": name, "type": "space"} for name in "yx"]
    with zarrscope.open(place, "w-") as h:
        h.create_group("/img", {"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}]}})
        for n in range(3):
            array = h.create_array(f"/img/{n}", shape=(64 >> n, 64 >> n), dtype="u1", chunks=(16, 16))
            array[...] = np.arange(64 >> n, dtype="u1")
        h.consolidate()


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    image(tmp_path / "x.zarr")
    return tmp_path / "x.zarr"


@pytest.fixture
def broken(whole: Path) -> Path:
    (whole / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    (whole / BROKEN).write_text("{no document")
    return whole


@pytest.mark.parametrize("more", [[], ["--json"], ["--plain"]])
@pytest.mark.parametrize("verb", LISTINGS)
def test_a_node_that_cannot_be_read(
    verb: list[str], more: list[str], whole: Path, broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([verb[0], str(broken), *verb[1:], *more]) == 1
    out, err = capsys.readouterr()
    assert "2" in out, "the level after the broken one is printed"
    assert "could not be read" in err or "is left out" in err
    if more == ["--json"]:
        json.loads(out)


@pytest.mark.parametrize("verb", LISTINGS)
def test_nothing_is_said_of_nodes_that_can_be_read(
    verb: list[str], whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([verb[0], str(whole), *verb[1:]]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("verb", [["show", "--image", "ascii"], ["render", "-o", "a.png"]])
def test_a_picture_names_the_level_that_is_left_out(
    verb: list[str], broken: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(broken.parent)
    assert run([verb[0], str(broken), "img", *verb[1:]]) == 0
    assert f"Warning: The level /img/1 is left out: {BROKEN}" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--json"], ["--plain"]])
def test_a_group_that_cannot_be_listed(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with web_server({"zarr.json": b'{"zarr_format": 3, "node_type": "group"}'}) as server:
        assert run(["tree", server.url, *more]) == 1
    out, err = capsys.readouterr()
    assert "cannot list" in out
    assert "1 node could not be read." in err
    if more == ["--json"]:
        assert json.loads(out)["children"] == []
