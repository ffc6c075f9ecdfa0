"""Verbs for one node take the only hierarchy in a folder, an archive or an index of a web server, and name it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.http_server import folder_server, serving
from zarrscope_app.cli import run

TOLD = "zarrscope: The only hierarchy in this folder is cells.zarr.\n"


@contextmanager
def in_folder(place: Path) -> Iterator[str]:
    make(place / "cells.zarr")
    (place / "notes.txt").write_text("x")
    yield str(place)


@contextmanager
def in_archive(place: Path) -> Iterator[str]:
    make(place / "cells.zarr")
    yield shutil.make_archive(str(place), "zip", place)


@contextmanager
def at_web_server(place: Path) -> Iterator[str]:
    make(place / "cells.zarr")
    with serving(folder_server(place)) as url:
        yield url


def make(place: Path) -> None:
    """An image of one level."""
    h = zarrscope.open(place, "a")
    h.create_array("/0", shape=(8, 8), dtype="u1", chunks=(4, 4))[...] = np.arange(64).reshape(8, 8)
    named: list[Any] = [{"name": name, "type": "space"} for name in "yx"]
    scale = {"type": "scale", "scale": [1.0, 1.0]}
    levels = [{"path": "0", "coordinateTransformations": [scale]}]
    h.root.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": named, "datasets": levels}]}


@pytest.mark.parametrize("place", [in_folder, in_archive, at_web_server])
@pytest.mark.parametrize(
    "verb",
    [
        ("show", "URL", "--image", "ascii"),
        ("image", "URL"),
        ("render", "URL", "OUT.png"),
        ("export", "URL", "OUT.png"),
        ("export", "URL", "OUT.npy"),
    ],
)
def test_verbs_take_the_only_hierarchy(
    place: Callable[[Path], Any], verb: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with place(tmp_path / "data") as url:
        words = [word.replace("URL", url).replace("OUT", str(tmp_path / "out")) for word in verb]
        assert run(words) == 0
        alone = capsys.readouterr()
        assert TOLD in alone.err
        named = [f"{url}/cells.zarr" if word == url else word for word in words]
        assert run([*named, *(["--overwrite"] if verb[0] == "export" else [])]) == 0
        out, err = capsys.readouterr()
        assert TOLD not in err
        if verb[0] == "show":
            assert alone.out == out


@pytest.mark.parametrize(
    "verb",
    [
        ("ls", "URL"), ("tree", "URL"), ("info", "URL"), ("attrs", "URL"), ("stats", "URL"), ("check", "URL"),
        ("read", "URL", "0"), ("chunks", "URL", "0"), ("show", "URL", "--image", "ascii"), ("image", "URL"),
        ("render", "URL", "OUT.png"), ("export", "URL", "OUT.png"), ("diff", "URL", "ARCHIVE"),
        ("attrs", "set", "URL", "/", "note", "1"), ("create", "URL", "new"), ("consolidate", "URL"),
        ("remove", "URL", "0", "--yes"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_verbs_open_the_only_archive_of_a_folder(
    verb: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the window does."""
    make(tmp_path / "made.zarr")
    folder = tmp_path / "a folder"
    folder.mkdir()
    archive = shutil.make_archive(str(folder / "cells.zarr"), "zip", tmp_path / "made.zarr")
    words = {"URL": str(folder), "ARCHIVE": archive, "OUT.png": str(tmp_path / "out.png")}
    assert run([words.get(word, word) for word in verb]) == 0
    assert "zarrscope: The only file in this folder is cells.zarr.zip.\n" in capsys.readouterr().err


@pytest.mark.parametrize("others", [["b.zarr.zip"], ["notes.txt"]], ids=str)
def test_a_folder_with_more_than_one_archive_is_asked_about(
    others: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(tmp_path / "made.zarr")
    shutil.make_archive(str(tmp_path / "folder" / "a.zarr"), "zip", tmp_path / "made.zarr")
    for name in others:
        (tmp_path / "folder" / name).write_bytes(b"")
    assert run(["tree", str(tmp_path / "folder")]) == 3
    assert "a.zarr.zip" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["read", "chunks"])
def test_verbs_for_arrays_take_an_array(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zarrscope.open(tmp_path / "other", "a").create_array("/cells.zarr", shape=(4,), dtype="u1")
    (tmp_path / "data").mkdir()
    (tmp_path / "other" / "cells.zarr").rename(tmp_path / "data" / "cells.zarr")
    assert run([verb, str(tmp_path / "data")]) == 0
    assert TOLD in capsys.readouterr().err


def test_of_several_none_is_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path / "a.zarr")
    make(tmp_path / "b.zarr")
    assert run(["show", str(tmp_path)]) == 1
    assert f"zarrscope tree {tmp_path} shows them" in capsys.readouterr().err


def test_a_changed_image_is_the_only_one(tmp_path: Path) -> None:
    make(tmp_path / "cells.zarr")
    assert run(["image", str(tmp_path), "--name", "cells"]) == 0
    ome: Any = zarrscope.open(tmp_path / "cells.zarr").root.attributes["ome"]
    assert ome["multiscales"][0]["name"] == "cells"
