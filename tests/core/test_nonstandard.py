"""NaN, Infinity, 1e400 and repeated names in JSON are kept as spelled, reported, copied, and written only on
request.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from zarrscope.check.hierarchy import check
from zarrscope.errors import NotStandard
from zarrscope.nodes.document_keys import attributes_pointer
from zarrscope.nodes.edit import save
from zarrscope_app.cli import run

ODD = {
    "token": '"x": NaN',
    "minus": '"x": [1.50, -Infinity]',
    "beyond": '"x": 1e400',
    "far beyond": '"x": {"y": -1.0E+999}',
    "many digits": '"x": ' + "9" * 5000,
    "twice": '"x": 1.0, "x": 2.00',
    "twice within": '"x": [{"a": 1, "a": 2}]',
}


def stored(
    place: Path, dialect: str, inner: str = "", *, consolidated: bool = True
) -> tuple[zarrscope.Hierarchy, Path]:
    """A hierarchy with an array "a" that has the attributes `inner`, and the file that contains them."""
    from zarrscope.nodes.consolidated import consolidate

    hierarchy = zarrscope.open(place, "a", dialect=dialect)
    hierarchy.create_array("a", shape=(2,), dtype="i2", attributes={"note": 1})
    hierarchy.create_array("b", shape=(2,), dtype="i2", attributes={"note": 1})
    file = place / "a" / (".zattrs" if dialect == "v2" else "zarr.json")
    if inner:
        file.write_text(file.read_text().replace('"note": 1', f'"note": 1, {inner}'))
    if consolidated:
        consolidate(zarrscope.open(place, "r+")._nodes)
    return zarrscope.open(place, "r+"), file


def edited(hierarchy: Any, name: str, value: str, path: str = "/a") -> Any:
    return hierarchy.document(path).set_text(f"{attributes_pointer(hierarchy, path)}/{name}", value)


@pytest.mark.parametrize("dialect", ["v2", "v3"])
@pytest.mark.parametrize("odd", ODD)
def test_what_is_there_stays_as_it_is_spelled_beside_an_edit(odd: str, dialect: str, tmp_path: Path) -> None:
    hierarchy, file = stored(tmp_path, dialect, ODD[odd])
    before = file.read_text()
    assert ODD[odd] in before
    hierarchy.save("/a", edited(hierarchy, "note", "5"))
    assert file.read_text() == before.replace('"note": 1', '"note": 5')
    holder = tmp_path / (".zmetadata" if dialect == "v2" else "zarr.json")
    assert ODD[odd] in holder.read_text(), "the consolidated copy has it so, too"
    assert not [warning for warning in hierarchy.warnings if "stale" in warning]
    again = zarrscope.open(tmp_path)
    assert again["a"].attributes["note"] == 5
    assert again["a"].warnings, "told where it is shown"
    assert not [f for f in check(again) if f.code in ("copy-stale", "bad-metadata")]
    hierarchy.save("/b", edited(hierarchy, "note", "6", "/b"))  # another's copy, beside it
    assert ODD[odd] in holder.read_text()
    assert not [f for f in check(zarrscope.open(tmp_path)) if f.code == "copy-stale"]


@pytest.mark.parametrize("dialect", ["v2", "v3"])
@pytest.mark.parametrize("value", ["NaN", "[Infinity]", "1e400", '{"a": 1, "a": 2}', "-1e999"])
def test_an_edit_brings_it_in_only_when_that_is_asked_for(value: str, dialect: str, tmp_path: Path) -> None:
    hierarchy, file = stored(tmp_path, dialect)
    before = file.read_bytes()
    document = edited(hierarchy, "new", value)
    with pytest.raises(NotStandard, match=r"/new.*allow_nan") as caught:
        hierarchy.save("/a", document)
    assert caught.value.key is not None
    assert file.read_bytes() == before
    hierarchy.save("/a", document, allow_nan=True)
    assert value in file.read_text()
    assert not [warning for warning in hierarchy.warnings if "stale" in warning]
    assert not [f for f in check(zarrscope.open(tmp_path)) if f.code == "copy-stale"]
    # and now that it is there, edits beside it are not asked about
    hierarchy = zarrscope.open(tmp_path, "r+")
    hierarchy.save("/a", edited(hierarchy, "note", "7"))
    with pytest.raises(NotStandard):
        hierarchy.save("/a", edited(hierarchy, "more", value))


def test_moving_and_renaming_bring_nothing_in(tmp_path: Path) -> None:
    hierarchy, file = stored(tmp_path, "v2", '"x": NaN')
    hierarchy.save("/a", hierarchy.document("/a").rename("/x", "y"))
    assert '"y": NaN' in file.read_text()
    assert math.isnan(zarrscope.open(tmp_path)["a"].attributes["y"])


def test_the_rule_is_the_engines(tmp_path: Path) -> None:
    hierarchy, _ = stored(tmp_path, "v3")
    with pytest.raises(NotStandard):
        save(hierarchy._nodes, "/a", edited(hierarchy, "new", "NaN"))


@pytest.mark.parametrize("dialect", ["v2", "v3"])
@pytest.mark.parametrize("value", ["NaN", "1e400"])
def test_the_command_line_wants_it_said(value: str, dialect: str, tmp_path: Path, capsys: Any) -> None:
    _, file = stored(tmp_path, dialect)
    before = file.read_bytes()
    for more in ([], ["--dry-run"]):
        assert run(["attrs", "set", str(tmp_path), "a", "new", value, *more]) == 1
        assert "--allow-nan" in capsys.readouterr().err
    assert file.read_bytes() == before
    assert run(["attrs", "set", str(tmp_path), "a", "new", value, "--allow-nan"]) == 0
    assert f'"new": {value}' in file.read_text()
    assert run(["attrs", "set", str(tmp_path), "a", "note", "5"]) == 0
    assert not [f for f in check(zarrscope.open(tmp_path)) if f.code == "copy-stale"]


def test_ordinary_numbers_are_not_told(tmp_path: Path) -> None:
    hierarchy, _ = stored(tmp_path, "v3", '"x": [1e300, 1e-400, 1.7e308, 123e100, "9e999"]')
    assert hierarchy["a"].warnings == ()
    hierarchy.save("/a", edited(hierarchy, "y", "1e308"))
