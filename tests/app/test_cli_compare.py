"""`diff` reports which parts it compared and which it did not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import zarrscope
from zarrscope_app.cli import run


def test_diff_says_whether_values_were_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, value in (("a", 1), ("b", 2)):
        array = zarrscope.open(tmp_path / name, "a").create_array("x", shape=(4,), dtype="u1", chunks=(4,))
        assert isinstance(array, zarrscope.Array)
        array[...] = value
    places = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert run(["diff", *places]) == 0
    assert "values were not compared (--values)" in capsys.readouterr().err
    assert run(["diff", *places, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"differences": [], "same": True, "values_compared": False}
    assert run(["diff", *places, "--values", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["values_compared"] is True
    assert run(["diff", places[0], places[0], "--values"]) == 0
    assert capsys.readouterr().err == "zarrscope: No difference was found.\n"
    assert run(["diff", places[0], f"{places[1]}/x"]) == 1
    assert "Values were not compared" in capsys.readouterr().err
