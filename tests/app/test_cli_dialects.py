"""The command line before unknown extensions that must be understood, drafts, and documents of two dialects."""

import json
from typing import Any

import pytest

import zarrscope
from zarrscope_app.cli import run


def zs(capsys: Any, *arguments: Any) -> Any:
    """(exit code, stdout, stderr)."""
    code = run([str(a) for a in arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.fixture
def guarded(tmp_path: Any) -> Any:
    h = zarrscope.open(str(tmp_path / "d.zarr"), "w-")
    h.create_array("/a", shape=(3,), dtype="int8")[:] = [1, 2, 3]
    document = tmp_path / "d.zarr" / "a" / "zarr.json"
    form = json.loads(document.read_text()) | {"extensions": [{"name": "https://example.com/mirrored"}]}
    document.write_text(json.dumps(form))
    return tmp_path / "d.zarr"


def test_lenient_reads_what_demands_the_unknown_and_warns(capsys: Any, guarded: Any) -> None:
    code, out, err = zs(capsys, "read", guarded, "a", "--json")
    assert (code, out) == (1, "")
    assert "https://example.com/mirrored" in err
    code, out, _ = zs(capsys, "read", guarded, "a", "--json", "--lenient")
    assert (code, json.loads(out)) == (0, [1, 2, 3])
    code, out, _ = zs(capsys, "info", guarded, "a", "--lenient", "--json")
    assert any("the displayed data may be wrong" in warning for warning in json.loads(out)["warnings"])


def test_a_place_inside_a_draft_names_its_root(capsys: Any, tmp_path: Any) -> None:
    h = zarrscope.open(str(tmp_path / "draft"), "w-", dialect="draft-2020")
    h.create_array("/g/a", shape=(3,), dtype="int8")
    code, _, err = zs(capsys, "info", tmp_path / "draft" / "meta" / "root" / "g")
    assert code == 3
    assert str(tmp_path / "draft") in err
    assert "a hierarchy in Zarr v3 draft of 2020: open that one" in err


def test_a_store_of_two_dialects_says_which_is_shown(capsys: Any, tmp_path: Any) -> None:
    zarrscope.open(str(tmp_path / "two"), "w-", dialect="v2")
    zarrscope.open(str(tmp_path / "three"), "w-").create_group("/only")
    (tmp_path / "three" / "zarr.json").rename(tmp_path / "two" / "zarr.json")
    code, out, err = zs(capsys, "info", tmp_path / "two", "--json")
    assert code == 0
    assert json.loads(out)["dialect"] == "v3"
    assert "Documents of Zarr v2 lie beside those of Zarr v3" in err
