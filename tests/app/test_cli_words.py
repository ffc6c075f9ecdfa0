"""Messages of verbs from which a user learns the next step."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import machine
import zarrscope
from zarrscope.errors import Denied
from zarrscope.nodes.hierarchy import Hierarchy
from zarrscope_app.cli import explore, run
from zarrscope_app.cli.console import say
from zarrscope_app.presenters import installation


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "my cells.zarr"
    with zarrscope.open(path, "w-") as hierarchy:
        hierarchy.root.attrs["note"] = "first"
        for name in ("a", "b"):
            hierarchy.create_array(f"/{name}", shape=(4, 4), dtype="uint8")[...] = 1
    return path


def test_the_sum_of_stats_stands_in_the_columns_of_the_arrays(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["stats", str(place)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("together  2 of 2 chunks")
    assert len({line.index(" of ") for line in lines}) == 1


def test_a_name_with_a_space_is_shown_as_it_is(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", str(place)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("my cells.zarr\n")
    assert str(place) in out
    assert "%20" not in out


def test_a_conflict_shows_both_versions_and_no_change_that_was_not_made(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    save = Hierarchy.save

    def late(self: Hierarchy, *arguments: Any, **how: Any) -> object:
        monkeypatch.setattr(Hierarchy, "save", save)
        zarrscope.open(place, "r+").root.attrs["note"] = "theirs"
        return save(self, *arguments, **how)

    monkeypatch.setattr(Hierarchy, "save", late)
    assert run(["attrs", "set", str(place), "/", "note", '"mine"']) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert '-    "note": "theirs"' in said.err
    assert '+    "note": "mine"' in said.err
    assert "first" not in said.err
    assert said.err.count("run the command again") + said.err.count("Run the command again") == 1
    assert "save again" not in said.err


def test_a_change_is_shown_once_it_is_made(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["attrs", "set", str(place), "/", "note", '"mine"']) == 0
    assert '"mine"' in capsys.readouterr().out


def test_the_trash_and_consolidating_say_the_result(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["remove", str(place), "a", "--to-trash"]) == 0
    moved = capsys.readouterr().out
    assert moved.startswith("/a: moved into the trash. To restore it: zarrscope trash restore '")
    assert run(["trash", "restore", str(place), moved.split()[-1]]) == 0
    assert capsys.readouterr().out == "/a: restored from the trash.\n"
    assert run(["consolidate", str(place), "--dry-run"]) == 0
    assert "\nWould be done: 1 value set" in capsys.readouterr().out
    assert run(["consolidate", str(place)]) == 0
    assert capsys.readouterr().out.startswith("Consolidated metadata: ")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems always have a display")
def test_without_a_display_every_way_to_see_a_hierarchy_is_named(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(installation, "_is_there", lambda name: False)
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    assert run([str(place)]) == 1
    said = capsys.readouterr().err
    assert said.startswith("zarrscope: There is no display for the window. The window needs qtpy")
    assert "The terminal application needs textual" in said
    assert f"zarrscope show '{place}'" in said
    assert f"zarrscope tree '{place}'" in said


@pytest.mark.parametrize("text", ['{"zarr_format": 3,', '{"zarr_format": 3, "node_type": "array", "shape": [4,, 4]}'])
def test_a_level_that_is_not_json_is_named_with_its_fault(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.zarr"
    levels = [{"path": name} for name in ("s0", "s1")]
    with zarrscope.open(path, "w-") as hierarchy:
        hierarchy.root.attrs["ome"] = {"version": "0.5", "multiscales": [{"datasets": levels}]}
        for number, level in enumerate(levels):
            hierarchy.create_array(f"/{level['path']}", shape=(8 >> number, 8 >> number), dtype="uint8")
    (path / "s1" / "zarr.json").write_text(text, encoding="utf-8")
    assert run(["info", str(path)]) == 0
    said = "".join(capsys.readouterr())
    assert "The level /s1 is left out" in said
    assert re.search(r"s1/zarr\.json: Line 1, column \d+: ", said)
    assert "has 0 axes" not in said
    assert "is a group" not in said


def test_a_file_that_is_not_zarr_has_the_exit_code_of_what_is_not_zarr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.txt").write_text("text", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    for name in ("x.txt", "folder", "absent"):
        assert run(["tree", str(tmp_path / name)]) == 3, name
        assert capsys.readouterr().out == ""


def test_a_shell_is_advised_by_options_of_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"Denied. {Denied.UNTOLD_ADVICE}")
    said = capsys.readouterr().err
    assert "--missing-is-fill treats it as missing" in said
    assert "storage_options" in Denied.UNTOLD_ADVICE, "callers in Python need it"
    assert "storage_options" not in said


def test_a_refused_connection_names_server_and_reason(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as bound:  # bound, but not listening: connections are refused
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        assert run(["tree", f"http://127.0.0.1:{port}/x.zarr"]) == 1
    said = capsys.readouterr().err
    assert f"127.0.0.1:{port} cannot be reached: Connection refused" in said
    assert "ssl:" not in said


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff")
def test_groff_has_no_warning_about_the_man_page() -> None:
    page = machine.ROOT / "packaging" / "zarrscope.1"
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-z", "-ww", "-rLL=78n", str(page)],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("typed", "opened"),
    [
        (["a.zarr"], ["a.zarr"]),
        (["a.zarr", "b.zarr"], ["a.zarr", "b.zarr"]),
        (["a.zarr", "0"], ["a.zarr::0"]),
        (["a.zarr", "/labels/nuclei/"], ["a.zarr::labels/nuclei"]),
        (["a.zarr", "/"], ["a.zarr"]),
        (["a.zarr", "0", "b.zarr", "labels"], ["a.zarr::0", "b.zarr::labels"]),
        (["a.zarr", "https://example.org/x"], ["a.zarr", "https://example.org/x"]),
        (["https://example.org/x?token=1", "0"], ["https://example.org/x?token=1::0"]),
        (["a.zarr", "missing.zarr"], ["a.zarr", "missing.zarr"]),
        (["missing"], ["missing"]),
        (["a.zarr", "folder"], ["a.zarr", "folder"]),
    ],
)
@pytest.mark.parametrize("verb", ["tui", "open"])
def test_a_node_may_follow_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, typed: list[str], opened: list[str]
) -> None:
    """As after `show`; but an existing path, or an address, is a further place."""
    for name in ("a.zarr", "b.zarr", "folder"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    seen: list[str] = []

    def show(urls: tuple[str, ...], *_: object, **__: object) -> int:
        seen.extend(urls)
        return 0

    monkeypatch.setattr(explore, "_terminal", show)
    monkeypatch.setattr(explore, "_why_no_window", lambda: "no window")
    monkeypatch.setattr(explore, "_need_terminal", lambda *_: None)
    monkeypatch.setattr(explore, "opened", lambda url, **_: None)
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    assert run([verb, *typed]) == 0
    assert seen == opened


def test_a_place_has_one_node(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tui", "a.zarr", "0", "1"]) == 2
    assert "already has a node" in capsys.readouterr().err
