"""The verb `zarrscope convert`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import zarrscope
from narrowing import as_array, as_group
from zarrscope_app.cli import run
from zarrscope_app.cli.convert import convert


@pytest.fixture
def old(tmp_path: Path) -> str:
    made = zarrscope.open(tmp_path / "old.zarr", "w-", dialect="v2")
    made.create_array("/a", shape=(10, 12), dtype="u2", chunks=(4, 5))[...] = np.arange(120).reshape(10, 12)
    made.create_array("/in/c", shape=(3,), dtype="complex64")
    return str(tmp_path / "old.zarr")


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """(exit code, stdout, stderr)"""
    code = run(["convert", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_hierarchy_is_converted(old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = told(capsys, old, str(tmp_path / "new"), "--to", "v3")
    assert code == 0
    assert "Zarr v2 → Zarr v3" in out
    assert "9 chunks copied unchanged" in out
    assert "all elements equal" in out
    assert err == ""  # no progress if stderr is not a terminal
    assert np.array_equal(as_array(zarrscope.open(tmp_path / "new")["/a"])[...], np.arange(120).reshape(10, 12))


def test_a_dry_run_writes_nothing(old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = told(capsys, old, str(tmp_path / "new"), "--to", "v3", "--dry-run")
    assert code == 0
    assert "/a" in out
    assert "Nothing was written" in err
    assert not (tmp_path / "new").exists()


def test_losses_are_findings_and_need_consent(old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = str(tmp_path / "new")
    for extra in ([], ["--dry-run"]):
        code, out, err = told(capsys, old, new, "--to", "n5", *extra)
        assert code == 1
        assert "/in/c: N5 has no data type complex64" in out
        assert "--allow-losses" in err
        assert not Path(new).exists()
    assert told(capsys, old, new, "--to", "n5", "--allow-losses")[0] == 0
    assert as_array(zarrscope.open(new)["/a"]).shape == (10, 12)


def test_the_plan_as_json(old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = str(tmp_path / "new")
    dry = told(capsys, old, new, "--to", "v3", "--dry-run", "--json")
    assert dry == told(capsys, old, new, "--to", "v3", "--dry-run", "--json")
    plan = json.loads(dry[1])["plan"]
    assert (plan["from"], plan["to"], plan["losses"]) == ("v2", "v3", [])
    assert [node["how"] for node in plan["nodes"]] == ["group", "copied", "group", "copied"]
    code, out, _ = told(capsys, old, new, "--to", "v3", "--json")
    assert code == 0
    counted = {"copied": 9, "encoded": 0, "blank": 1, "kept": 0, "assumed": 0}
    assert json.loads(out)["result"] == {**counted, "verified": True}


def test_layout_and_node(old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = str(tmp_path / "new")
    options = ["--node", "a", "--chunks", "2,3", "--shards", "4,6", "--codec", "gzip:9", "--no-verify"]
    code, out, _ = told(capsys, old, new, "--to", "v3", *options)
    assert code == 0
    assert "not compared" in out
    array = zarrscope.open(new).root
    assert (as_array(array).chunks, as_array(array).shards) == ((2, 3), (4, 6))
    document = json.loads((tmp_path / "new" / "zarr.json").read_text())
    assert document["codecs"][0]["configuration"]["codecs"][1] == {"name": "gzip", "configuration": {"level": 9}}


@pytest.mark.parametrize(
    "wrong",
    [
        ["--chunks", "4,x"],
        ["--chunks", "0"],
        ["--codec", "gzip:much"],
        ["--codec", "{"],
        ["--codec", "none", "--codec", "gzip"],
        ["--to", "v1"],
    ],
)
def test_wrong_usage_is_2(wrong: list[str], old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, old, str(tmp_path / "new"), "--to", "v3", *wrong)[0] == 2
    assert not (tmp_path / "new").exists()


def test_exit_codes_of_places(old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, str(tmp_path / "none"), str(tmp_path / "new"), "--to", "v3")[0] == 3
    assert told(capsys, old, str(tmp_path / "new"), "--to", "v3", "--node", "nothing")[0] == 3
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    code, out, err = told(capsys, old, str(tmp_path / "full"), "--to", "v3")
    assert code == 1
    assert "not empty" in err
    assert not out, "no plan of a conversion that is refused"
    code, _, err = told(capsys, old, old, "--to", "v3")
    assert code == 1
    assert "the source itself" in err


def test_help_shows_examples() -> None:
    shown: Result = CliRunner().invoke(convert, ["--help"])
    assert shown.exit_code == 0
    assert "Examples:" in shown.output
    assert "--dry-run" in shown.output


# ------------------------------------------------------------------------------------------------- pyramids
@pytest.fixture
def stack(tmp_path: Path) -> str:
    made = zarrscope.open(tmp_path / "stack.zarr", "w-", dialect="v2")
    values = np.random.default_rng(1).integers(0, 255, (6, 40, 50)).astype("u1")
    made.create_array("/a", shape=values.shape, dtype="u1", chunks=(2, 16, 16))[...] = values
    return str(tmp_path / "stack.zarr")


def test_a_plain_array_becomes_an_image(stack: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = str(tmp_path / "new")
    options = ["--pyramid", "--node", "a", "--axes", "zyx", "--levels", "3", "--factor", "z=1"]
    code, out, _ = told(capsys, stack, new, *options, "--dry-run")
    assert code == 0
    assert "built from /0 by mean" in out
    assert not Path(new).exists()
    code, out, _ = told(capsys, stack, new, "--to", "v3", *options)
    assert code == 0
    assert "all elements equal" in out
    made = zarrscope.open(new)
    assert [as_array(made[f"/{k}"]).shape for k in range(3)] == [(6, 40, 50), (6, 20, 25), (6, 10, 13)]
    code, _, err = told(capsys, stack, str(tmp_path / "other"), "--pyramid", "--node", "a")
    assert code == 1
    assert "--axes" in err


def test_levels_are_rebuilt_in_place(stack: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = str(tmp_path / "new")
    assert told(capsys, stack, new, "--pyramid", "--node", "a", "--axes", "zyx", "--levels", "2")[0] == 0
    code, out, err = told(capsys, new, "--pyramid", "--in-place", "--levels", "3", "--method", "mode", "--dry-run")
    assert code == 0
    assert "/1-2" in out
    assert "/1  is erased at the end" in out
    assert "Nothing was written" in err
    assert sorted(child.name for child in as_group(zarrscope.open(new).root).children()) == ["0", "1"]
    code, out, _ = told(capsys, new, "--pyramid", "--in-place", "--levels", "3", "--method", "mode", "--json")
    assert code == 0
    assert json.loads(out)["result"]["verified"] is True
    assert json.loads(out)["plan"]["images"][0]["erased"] == ["/1"]
    assert sorted(child.name for child in as_group(zarrscope.open(new).root).children()) == ["0", "1-2", "2"]


@pytest.mark.parametrize(
    "wrong",
    [
        ["new"],
        ["--to", "v3"],
        ["new", "--to", "v3", "--levels", "3"],
        ["new", "--to", "v3", "--axes", "zyx"],
        ["--in-place"],
        ["--pyramid"],
        ["new", "--pyramid", "--in-place"],
        ["--pyramid", "--in-place", "--to", "v2"],
        ["--pyramid", "--in-place", "--chunks", "1,1,1"],
        ["new", "--pyramid", "--levels", "0"],
        ["new", "--pyramid", "--factor", "z"],
        ["new", "--pyramid", "--factor", "0"],
        ["new", "--pyramid", "--method", "median"],
    ],
)
def test_wrong_usage_of_pyramids_is_2(
    wrong: list[str], stack: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert told(capsys, stack, *wrong)[0] == 2
    assert not (tmp_path / "new").exists()


def test_a_scheduler_that_does_not_answer(stack: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    new = str(tmp_path / "new")
    code, _, err = told(capsys, stack, new, "--to", "v3", "--scheduler", "tcp://127.0.0.1:9")
    assert code == 1
    assert "No Dask scheduler answers at tcp://127.0.0.1:9" in err
    assert not list(Path(new).rglob("*")) if Path(new).exists() else True
