"""The verbs create, resize, remove, move, copy and consolidate."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import zarrscope
from narrowing import as_array
from zarrscope.dialects import DIALECTS
from zarrscope_app.cli import run
from zarrscope_app.cli.nodes import remove

DIALECT_NAMES = [dialect.name for dialect in DIALECTS if dialect.name != "v1"]


@pytest.fixture
def cells(tmp_path: Path) -> str:
    made = zarrscope.open(tmp_path / "cells.zarr", "w-")
    made.create_array("/g/a", shape=(7, 11), dtype="u2", chunks=(3, 4), attributes={"n": 1})[...] = 5
    made.create_group("/labels")
    return str(tmp_path / "cells.zarr")


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr)"""
    code = run(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def files(place: str) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in Path(place).rglob("*") if path.is_file()}


@pytest.mark.parametrize("verb", ["move", "copy"])
def test_an_address_in_the_place_of_a_path_makes_no_groups(
    verb: str, cells: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(cells)
    for to in (f"{cells}/b", f"{cells}::b", "file:///other.zarr/b"):
        code, _, err = told(capsys, verb, cells, "g/a", to)
        assert code == 2
        assert "--into" in err
    assert files(cells) == before


@pytest.mark.parametrize("dialect", DIALECT_NAMES)
def test_a_dry_run_tells_the_keys_that_then_change(
    dialect: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "new")
    create = ["create", place, "g/a", "--shape", "4,6", "--dtype", "uint16", "--chunks", "2,3", "--codec", "gzip:5"]
    create += ["--dialect", dialect]
    Path(place).mkdir()
    verbs = [create, ["resize", place, "g/a", "4,2", "--yes"], ["move", place, "g/a", "h/b"], ["copy", place, "h", "i"]]
    verbs += [["remove", place, "h", "--yes"]]
    for verb in verbs:
        before = files(place)
        code, out, err = told(capsys, *verb, "--dry-run", "--json")
        assert code == 0, err
        assert files(place) == before
        shown = json.loads(out)["operations"]
        assert told(capsys, *verb, "--dry-run")[1].count("\n") == len(shown) + 1
        assert told(capsys, *verb)[0] == 0
        after = files(place)
        known = {each["key"] for each in shown}
        for key in {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}:
            sources = {each.get("source") for each in shown} - {None}
            within = [each for each in known | sources if each == key or (each.endswith("/") and key.startswith(each))]
            assert within, key
        for each in shown:
            if each["operation"] in ("set", "copy") and each["key"] in after:
                assert each["bytes"] == len(after[each["key"]])
        if verb is create:
            as_array(zarrscope.open(place, "r+")["/g/a"])[...] = 7
    found = zarrscope.open(place)
    assert {path for path, _ in found.walk()} == {"/g", "/i", "/i/b"}
    assert np.array_equal(as_array(found["/i/b"])[...], np.full((4, 2), 7))


def test_creating_says_what_it_needs(cells: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = files(cells)
    for arguments, code in (
        (["create", cells, "x", "--shape", "3"], 2),
        (["create", cells, "x", "--fill", "7"], 2),
        (["create", cells, "x", "--chunks", "3"], 2),
        (["create", cells, "x", "--axes", "y"], 2),
        (["create", cells, "x", "--attributes", "[1]"], 2),
        (["create", cells, "x", "--shape", "3,-1", "--dtype", "u1"], 2),
        (["create", cells, "x", "--shape", "3", "--dtype", "what"], 1),
        (["create", cells, "g/a"], 1),
        (["create", cells, "x", "--dialect", "v2"], 1),
        (["create", cells, "__x"], 1),
    ):
        assert told(capsys, *arguments)[0] == code, arguments
    for name, way in (("flaot32", "Did you mean float32?"), ("what", "Name one such as uint8")):
        assert way in told(capsys, "create", cells, "x", "--shape", "3", "--dtype", name)[2]
    assert files(cells) == before
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("1")
    code, _, err = told(capsys, "create", str(tmp_path / "thesis"), "x")
    assert code == 1
    assert "A new hierarchy is made only in an empty place" in err
    assert told(capsys, "create", cells, "x", "--shape", "", "--dtype", "string", "--fill", '"none"')[0] == 0
    assert as_array(zarrscope.open(cells)["/x"])[...] == "none"
    root = str(tmp_path / "root")
    assert told(capsys, "create", root, "/", "--shape", "5", "--dtype", "<f4", "--dialect", "v2", "--axes", "t")[0] == 0
    found = zarrscope.open(root).root
    assert (found.kind, found.attributes) == ("array", {"_ARRAY_DIMENSIONS": ["t"]})


@pytest.mark.parametrize("codec", ["gzip:6", "bzip2:5", "xz:1", "blosc:7", "raw"])
def test_n5_is_made_with_the_codecs_it_has(codec: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(tmp_path / "x.n5")
    arguments = ["create", place, "a", "--shape", "5,5", "--dtype", "int16", "--codec", codec, "--dialect", "n5"]
    assert told(capsys, *arguments)[0] == 0
    name, _, level = codec.partition(":")
    stored = json.loads((tmp_path / "x.n5" / "a" / "attributes.json").read_bytes())["compression"]
    assert stored["type"] == name
    assert int(level or -1) in (*stored.values(), -1)


def test_taking_data_away_asks_first(cells: str, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    before = files(cells)
    for arguments in (
        ["remove", cells, "g"],
        ["resize", cells, "g/a", "2,2"],
        ["copy", cells, "g/a", "labels", "--replace"],
    ):
        code, out, err = told(capsys, *arguments)
        assert code == 1
        assert "--yes" in err
        assert out == ""
        assert files(cells) == before

    class Terminal:
        """CliRunner's stdin is no terminal; this test simulates one."""

        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("zarrscope_app.cli.changing.sys", type("S", (), {"stdin": Terminal(), "stderr": sys.stderr}))
    for answer, gone in (("n\n", False), ("y\n", True)):
        result = CliRunner().invoke(remove, [cells, "g"], input=answer)
        assert "11 values erased" in result.output
        assert (result.exit_code == 0) is gone
        assert ("/g" not in zarrscope.open(cells)) is gone


def test_growing_and_removing_nothing_does_not_ask(cells: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "resize", cells, "g/a", "70,110")[0] == 0
    assert as_array(zarrscope.open(cells)["/g/a"]).shape == (70, 110)
    assert told(capsys, "resize", cells, "g/a", "70")[0] == 2
    assert told(capsys, "resize", cells, "labels", "70")[0] == 1
    assert told(capsys, "remove", cells, "none")[0] == 3
    assert told(capsys, "remove", cells, "/", "--yes")[0] == 1


def test_moving_into_a_group_and_into_another_hierarchy(
    cells: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = told(capsys, "move", cells, "g/a", "labels/")
    assert (code, out) == (0, "/g/a → /labels/a: at once.\n")
    other = str(tmp_path / "other.zarr")
    assert told(capsys, "create", other, "/")[0] == 0
    code, out, _ = told(capsys, "copy", cells, "labels/a", "raw/a", "--into", other, "--json")
    assert code == 0
    assert json.loads(out) == {
        "at_once": False,
        "keys": 10,
        "nbytes": sum(len(value) for key, value in files(cells).items() if key.startswith("labels/a/")),
        "notes": [],
        "path": "/labels/a",
        "to": "/raw/a",
    }
    assert zarrscope.open(other)["/raw/a"].attributes == {"n": 1}
    assert told(capsys, "move", cells, "labels/a", "raw/a", "--into", other)[0] == 1
    assert told(capsys, "move", cells, "labels/a", "raw/a", "--into", other, "--replace", "--yes")[0] == 0
    assert "/labels/a" not in zarrscope.open(cells)


@pytest.mark.parametrize("dialect", DIALECT_NAMES)
def test_groups_that_go_along_are_told(dialect: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(tmp_path / "x")
    made = zarrscope.open(place, "w-", dialect=dialect)
    for name in ("a", "b"):
        made.create_array(f"/p/{name}", shape=(2,), dtype="u1")
    made.store.erase_values(made.dialect.documents("/p"))
    sentence = "Note: /p, a group without its own document, vanishes as well: it contains nothing else.\n"
    assert "vanishes as well" not in told(capsys, "remove", place, "p/b", "--dry-run")[2], "another is left in it"
    assert told(capsys, "remove", place, "p/b", "--yes")[0] == 0
    for arguments in (["--dry-run"], [], ["--yes"]):
        assert sentence in told(capsys, "remove", place, "p/a", *arguments)[2], arguments
    assert "/p" not in zarrscope.open(place)
    made.create_array("/q/r/a", shape=(2,), dtype="u1")
    made.store.erase_values([*made.dialect.documents("/q"), *made.dialect.documents("/q/r")])
    notes = json.loads(told(capsys, "remove", place, "q/r/a", "--dry-run", "--json")[1])["notes"]
    assert [note.partition(",")[0] for note in notes] == ["/q", "/q/r"]
    code, _, err = told(capsys, "move", place, "q/r/a", "a", "--dry-run")
    assert code == 0
    assert "/q, a group" in err
    assert "/q/r, a group" in told(capsys, "move", place, "q/r/a", "a")[2]


def test_a_stale_copy_is_made_anew(cells: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = told(capsys, "consolidate", cells, "--dry-run")
    assert code == 0
    assert "set    zarr.json" in out
    assert told(capsys, "consolidate", cells)[0] == 0
    zarrscope.open(cells, "r+", consolidated=False).create_group("/late")
    assert told(capsys, "check", cells)[0] == 1
    assert json.loads(told(capsys, "consolidate", cells, "--json")[1]) == {"documents": 4}
    assert told(capsys, "check", cells)[0] == 0
    code, _, err = told(capsys, "consolidate", str(Path(cells) / "g" / "a"))
    assert code == 1
    assert "is an array" in err


def test_a_dry_run_of_attributes_tells_the_operations_beside_the_difference(
    cells: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(capsys, "consolidate", cells)[0] == 0
    before = files(cells)
    code, out, err = told(capsys, "attrs", "set", cells, "g/a", "/n", "2", "--dry-run")
    assert code == 0
    assert '+    "n": 2' in out
    assert "set    g/a/zarr.json" in err
    assert "set    zarr.json" in err, "the consolidated copy follows"
    assert files(cells) == before


@pytest.mark.parametrize("dialect", DIALECT_NAMES)
def test_what_is_copied_to_a_new_place_makes_a_hierarchy_there(
    dialect: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = zarrscope.open(tmp_path / "old", "w-", dialect=dialect)
    made.create_array("/g/a", shape=(4,), dtype="u2", codecs=["gzip"])[...] = 3
    arguments = ["copy", str(tmp_path / "old"), "g", "part/g", "--into", str(tmp_path / "new")]
    assert told(capsys, *arguments, "--dry-run")[0] == 0
    assert not (tmp_path / "new").exists()
    assert told(capsys, *arguments)[0] == 0
    found = zarrscope.open(tmp_path / "new")
    assert found.dialect.name == dialect
    assert (as_array(found["/part/g/a"])[...] == 3).all()
    assert told(capsys, "copy", str(tmp_path / "none"), "g", "x")[0] == 3


def test_without_a_node_a_hierarchy_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = str(tmp_path / "new.zarr")
    code, out, err = told(capsys, "create", new, "--dry-run")
    assert (code, not Path(new).exists()) == (0, True)
    assert "set    zarr.json" in out
    assert told(capsys, "create", new) == (0, "/: group made in a new hierarchy, Zarr v3.\n", "")
    code, out, err = told(capsys, "create", new)
    assert (code, out) == (1, "")
    assert f"zarrscope create {new} NODE" in err
    array = str(tmp_path / "an array.zarr")
    assert told(capsys, "create", array, "--shape", "4,5", "--dtype", "uint16", "--dialect", "v2")[0] == 0
    assert zarrscope.open(array).root.kind == "array"


def test_an_address_in_a_hierarchy_names_the_node_to_make(cells: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "consolidate", cells)[0] == 0
    assert told(capsys, "create", f"{cells}/labels/x") == (0, "/labels/x: group made.\n", "")
    assert told(capsys, "create", f"{cells}::labels/y", "--shape", "3", "--dtype", "u1")[0] == 0
    code, _, err = told(capsys, "create", f"{cells}::labels", "z")
    assert code == 2
    assert "name the node once" in err
    assert {path for path, _ in zarrscope.open(cells).walk()} >= {"/labels/x", "/labels/y"}, "consolidated metadata"
    assert "/z" not in zarrscope.open(cells)
