"""Names of files that are no UTF-8, locales that are none, and names that begin with a dash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import zarrscope
from zarrscope.stores.local.paths import file_url, path_of
from zarrscope_app.cli import run

bytes_are_kept = pytest.mark.skipif(sys.platform != "linux", reason="other systems allow no such name")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    made = tmp_path / "made.zarr"
    with zarrscope.open(str(made), "w-") as hierarchy:
        hierarchy.create_array("/x", shape=(4,), dtype="u1", chunks=(2,))[...] = 1
    return made


@bytes_are_kept
@pytest.mark.parametrize("name", [b"caf\xe9.zarr", "caf\u00e9 #1?.zarr".encode(), b"100%25.zarr"], ids=str)
def test_a_path_is_the_same_after_its_address(name: bytes) -> None:
    path = os.fsdecode(b"/data/" + name)
    assert path_of(file_url(path)) == path


@bytes_are_kept
def test_a_folder_whose_name_is_no_utf_8_is_read_and_written(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder of Latin-1, as old clusters have them."""
    named = os.fsdecode(os.fsencode(place.parent) + b"/caf\xe9.zarr")
    shutil.copytree(place, named)
    assert run(["read", f"{named}/x"]) == 0
    assert capsys.readouterr().out.startswith("[1 1 1 1]")
    assert run(["attrs", "set", named, "/", "n", "1"]) == 0
    capsys.readouterr()
    assert run(["attrs", "get", named, "/", "n"]) == 0
    assert capsys.readouterr().out == "1\n"


@bytes_are_kept
def test_names_beyond_ascii_open_where_the_locale_is_ascii(place: Path) -> None:
    named = place.with_name("\u00e4 \u00f6.zarr")
    shutil.copytree(place, named)
    ascii_only = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "zarrscope_app", "read", f"{named}/x"]
    done = subprocess.run(command, env=ascii_only, capture_output=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, b"[1 1 1 1]"), done.stderr


def test_a_file_whose_name_begins_with_a_dash_is_explained(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place.parent)
    place.rename("-cells.zarr")
    assert run(["tree", "-cells.zarr"]) == 2
    assert "-cells.zarr was taken for options. Write ./-cells.zarr" in capsys.readouterr().err
    assert run(["tree", "./-cells.zarr"]) == 0
    assert run(["tree", "-nothing"]) == 2
    assert "./" not in capsys.readouterr().err
