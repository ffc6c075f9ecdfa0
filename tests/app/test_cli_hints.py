"""A wrong command is answered with the right one, and a change of a long line with the changed part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import zarrscope
from contracts.http_server import web_server
from zarrscope_app.cli import cli, run
from zarrscope_app.presenters.form.line_diff import LONGEST, changed_lines


@pytest.fixture
def place(tmp_path: Path) -> str:
    url = str(tmp_path / "cells.zarr")
    with zarrscope.open(url, "w-") as hierarchy:
        hierarchy.create_array("/a", shape=(8, 8), dtype="uint8", chunks=(4, 4))[...] = 1
        hierarchy.root.attrs["unit"] = "m"
    return url


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["read", "{place}", "a", "0,2:4"], '--select "0,2:4"'),
        (["read", "{place}/a", "[0,2:4]"], '--select "0,2:4"'),
        (["export", "{place}"], "OUT"),
        (["read", "{place}", "a", "--select", "q=3"], "There is no axis 'q' in /a, which has the axes y, x."),
        (["render", "{place}", "a", "x.png", "--select", "q=3"], "There is no axis 'q' in /a"),
        (["read", "{place}", "a", "--select", "y=3,4"], "write '4' with its name, too"),
        (["read", "{place}", "a", "--select", "y=3,y=4"], "names axis 'y' twice"),
        (["read", "{place}", "a", "--select", "y=...,x=4"], "axes that are not named are whole"),
        (["export", "{place}", "a", "{place}.xyz"], "Give the name one of these endings: .png"),
        (["export", "{place}", "a", "{place}.npy", "--select", "9"], "Index 9 is outside axis y, which has 8"),
        (["render", "{place}", "a"], "the .png file to write"),
        (["render", "{place}", "a", "b", "c.png"], "NODE"),
        (["resize", "{place}", "a", "--shape", "4,4"], "resize URL NODE SHAPE"),
        (["trash", "{place}"], "empty, list, restore"),
        (["convert", "{place}", "{place}.new"], "v3, v2, n5"),
        (["attrs", "remove", "{place}", "/", "unit"], "Did you mean 'unset'?"),
        (["attrs", "get", "{place}", "unit"], "Name its node first"),
        (["rm", "{place}", "a"], "Did you mean 'remove'?"),
        (["tree", "{place}", "--dept", "1"], "Did you mean --depth?"),
        (["version"], "Did you mean '--version'?"),
        (["dump", "{place}"], "There is no command 'dump'. zarrscope --help lists them."),
        (["tree", "{place}", "--depth", "x"], "x is not a whole number."),
        (["ls", "{place}", "--timeout", "x"], "x is not a number."),
        (["attrs", "set", "{place}", "unit", "5"], "The NODE of the root is /."),
        (["convert", "{place}", "a", "{place}.new", "--to", "v2"], "A node is named in the address: SOURCE/NODE."),
    ],
)
def test_a_wrong_command_is_answered_with_a_hint(
    place: str, arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([each.replace("{place}", place) for each in arguments]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert hint in told or hint in told.replace("'", "")  # an older click quotes no option


def test_options_that_are_hardly_alike_are_not_proposed(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tree", place, "--shape"]) == 2
    assert "--help'" not in capsys.readouterr().err.partition("Error:")[2]


def test_an_empty_selection_is_named(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["read", place, "a", "--select", "20:30"]) == 0
    assert "The selection is empty: /a has the shape 8 × 8." in capsys.readouterr().err


def test_an_existing_file_is_overwritten_with_the_option(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["export", place, "a", str(tmp_path / "a.npy")]
    assert run(command) == 0
    assert run(command) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert run([*command, "--overwrite"]) == 0


@pytest.mark.parametrize("further", [[], ["--dry-run"]])
def test_an_export_into_a_missing_folder_is_told_before_its_size(
    place: str, tmp_path: Path, further: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", place, "a", str(tmp_path / "none" / "a.npy"), *further]) == 1
    told = capsys.readouterr()
    assert told.err == f"zarrscope: There is no folder {tmp_path / 'none'} to write a.npy into.\n"
    assert not told.out


def test_a_copied_node_is_announced_in_the_dialect_that_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "old.zarr")
    assert run(["create", place, "a", "--dialect", "v2", "--shape", "4", "--dtype", "uint8"]) == 0
    assert run(["export", place, "a", str(tmp_path / "new.zarr")]) == 0
    told = capsys.readouterr().err
    assert "Zarr v2" in told
    assert "Zarr v3" not in told


def test_too_many_values_are_answered_with_the_option(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["resize", place, "a", "20000,20000"]) == 0
    assert run(["read", place, "a"]) == 1
    assert "--select" in capsys.readouterr().err


def test_render_takes_the_file_as_last_argument(place: str, tmp_path: Path) -> None:
    assert run(["render", place, "a", str(tmp_path / "one.png")]) == 0
    assert run(["render", f"{place}/a", str(tmp_path / "two.png")]) == 0
    assert run(["render", place, "a", "-o", str(tmp_path / "three.png")]) == 0
    pictures = [(tmp_path / f"{name}.png").read_bytes() for name in ("one", "two", "three")]
    assert pictures[0] == pictures[1] == pictures[2]


def test_a_change_in_a_document_of_one_line_is_shown_alone() -> None:
    members = {f"member {n}": {"scale": [1.0, 0.5], "text": 'a ", {[ b'} for n in range(50)}
    before = json.dumps(members, separators=(",", ":"))
    members["member 20"]["scale"] = [1.0, 0.25]
    after = json.dumps(members, separators=(",", ":"))
    lines = [*changed_lines(before, after, "old", "new")]
    assert max(map(len, lines)) <= LONGEST
    changed = [line for line in lines[2:] if line[0] in "+-"]
    assert [line[0] + line[1:].strip() for line in changed] == ['-"scale":[1.0,0.5],', '+"scale":[1.0,0.25],']
    assert len(lines) < 14


def test_a_document_of_short_lines_is_compared_as_it_is() -> None:
    before, after = '{\n  "a": 1\n}', '{\n  "a": 2\n}'
    assert [*changed_lines(before, after, "old", "new")][:2] == ["--- old", "+++ new"]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["ls", "a", "{place}"], "The hierarchy comes before the node: zarrscope ls {place} a"),
        (["tree", "{folder}/cels.zarr"], "Did you mean {place}?"),
        (["tree", "{folder}/Cells.ZARR"], "Did you mean {place}?"),
        (["tree", "{folder}/nothing"], "The folder {folder} exists"),
        (["repack", "{folder}/cells.zip"], "There is no archive {folder}/cells.zip"),
        (["attrs", "get", "{place}", "length"], "An attribute follows its node: attrs get {place} / length"),
    ],
)
def test_a_place_that_does_not_exist_is_answered_with_the_likely_one(
    place: str, tmp_path: Path, arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def filled(text: str) -> str:
        return text.replace("{place}", place).replace("{folder}", str(tmp_path))

    assert run([filled(each) for each in arguments]) == 3
    assert filled(hint) in " ".join(capsys.readouterr().err.split())


def test_help_is_also_a_word(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "commands", {})  # no verb has been loaded yet, as in a new process
    assert run(["help"]) == 0
    assert "Looking:" in capsys.readouterr().out
    assert run(["help", "ls"]) == 0
    assert capsys.readouterr().out.startswith("Usage: zarrscope ls")
    assert run(["-V"]) == 0
    assert capsys.readouterr().out.startswith("zarrscope ")


def test_a_place_that_can_only_be_read_is_not_asked_for_a_mode(capsys: pytest.CaptureFixture[str]) -> None:
    with web_server({"zarr.json": b'{"zarr_format":3,"node_type":"group"}'}) as server:
        for verb in (
            ["create", server.url, "g"],
            ["create", f"{server.url}/g"],
            ["attrs", "set", server.url, "/", "n", "1"],
        ):
            assert run(verb) == 1
            told = capsys.readouterr().err
            assert "can only be read" in told
            assert "mode=" not in told
