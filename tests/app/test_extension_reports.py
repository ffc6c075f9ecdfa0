"""`zarrscope info` reports extensions, as JSON and as text, and opens no address that they contain."""

from __future__ import annotations

import contextlib
import json
import socket
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from narrowing import as_array, as_group
from zarrscope_app.cli import run

STATISTICS = {"name": "array-statistics", "configuration": {"min": 1, "max": 9}}
NOTE = {"name": "https://example.com/zarr/note", "must_understand": False, "configuration": {"see": "http://a.example"}}
CODEC = {"name": "https://example.com/zarr/codec", "configuration": {"level": 1}}


@pytest.fixture
def network_cut(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every use of the network raises an error and is recorded, because the error itself might be caught."""
    asked: list[Any] = []

    def refuse(*arguments: Any, **options: Any) -> Any:
        asked.append(arguments)
        raise AssertionError(f"the network was asked for {arguments}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    return asked


def stored(folder: Path, dialect: str = "v3", **members: Any) -> str:
    h = zarrscope.open(str(folder), "w-", dialect=dialect)
    h.create_array("/a", shape=(3,), dtype="int8")[:] = [1, 2, 3]
    key = h.dialect.documents("/a")[0]
    document = folder / key
    document.write_text(json.dumps(json.loads(document.read_text()) | members))
    return str(folder)


def info(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(["info", *arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_each_extension_is_told_as_data(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    place = stored(tmp_path / "s.zarr", extensions=[STATISTICS, NOTE])
    code, out, _ = info(capsys, place, "a", "--json")
    assert code == 0
    statistics, note = (e for e in json.loads(out)["extensions"] if e["point"] == "extension")
    assert (statistics["name"], statistics["understood"], statistics["outcome"]) == ("array-statistics", True, "used")
    assert (note["name"], note["understood"], note["outcome"]) == (NOTE["name"], False, "ignored")
    assert note["required"] is False
    assert note["pointer"] == "/extensions/1"


def test_each_extension_is_told_in_words(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    place = stored(tmp_path / "s.zarr", extensions=[STATISTICS, NOTE])
    code, out, _ = info(capsys, place, "a")
    words = " ".join(out.split())
    assert code == 0
    assert "array-statistics" in words
    assert f"{NOTE['name']}: not understood; may be ignored, and was" in words


def test_an_unknown_codec_is_told_with_what_to_do(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    place = stored(tmp_path / "s.zarr", codecs=[{"name": "bytes"}, CODEC])
    _, out, _ = info(capsys, place, "a", "--json")
    (codec,) = (e for e in json.loads(out)["extensions"] if e["point"] == "codec")
    assert (codec["name"], codec["understood"], codec["outcome"]) == (CODEC["name"], False, "refused")
    assert codec["advice"]
    with pytest.raises(zarrscope.ZarrscopeError, match="example"):
        as_array(zarrscope.open(place)["/a"])[...]


URI = "https://example.com/zarr/thing"
NAMED: dict[str, dict[str, Any]] = {
    "data type": {"data_type": {"name": URI, "configuration": {}}},
    "codec": {"codecs": [{"name": "bytes"}, {"name": URI}]},
    "grid": {"chunk_grid": {"name": URI, "configuration": {}}},
    "keys": {"chunk_key_encoding": {"name": URI, "configuration": {}}},
    "transformer": {"storage_transformers": [{"name": URI}]},
    "extension": {"extensions": [{"name": URI, "configuration": {"reference": URI}}]},
    "member": {URI: {"must_understand": False}},
    "context": {"@context": "https://zarr.dev/v3/context.json"},
    "context list": {"@context": [URI, {"zarr": "https://zarr.dev/v3/"}], "zarr:data_type": "int8"},
    "phase 3": {"https://zarr.dev/v3/data_type": "int8"},
    "reference": {"attributes": {"$ref": URI, "@id": URI, "$schema": "https://json-schema.org/x"}},
}


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("name", NAMED)
def test_no_address_in_a_document_is_ever_opened(
    name: str, lenient: bool, network_cut: list[Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    place = stored(tmp_path / "s.zarr", **NAMED[name])
    info(capsys, place, "a", "--json", *(["--lenient"] if lenient else []))
    with contextlib.suppress(zarrscope.ZarrscopeError):
        hierarchy = zarrscope.open(place, lenient=lenient)
        assert [child.name for child in as_group(hierarchy["/"]).children()] == ["a"]
        as_array(hierarchy["/a"])[...]
    assert not network_cut


@pytest.mark.parametrize("dialect", ["draft-2019-05", "draft-2019-06", "draft-2020", "draft-2022-05"])
def test_no_address_in_a_draft_is_ever_opened(
    dialect: str, network_cut: list[Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The documents of the drafts name formats, codecs and extensions by URLs."""
    place = stored(tmp_path / "s", dialect, data_type={"extension": URI, "type": "x", "fallback": "i1"})
    code, out, _ = info(capsys, place, "a", "--json")
    assert code == 0
    assert URI in out
    assert as_array(zarrscope.open(place)["/a"])[...].tolist() == [1, 2, 3]
    assert not network_cut


def test_a_fallback_is_told_and_can_be_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    place = stored(tmp_path / "s", data_type={"name": URI, "fallback": "int8"})
    told = [json.loads(info(capsys, place, "a", "--json", *how)[1]) for how in ((), ("--no-fallbacks",))]
    assert [(e["outcome"], e["fallback"]) for t in told for e in t["extensions"]] == [
        ("fell back", "int8"),
        ("refused", "int8"),
    ]
    assert run(["read", place, "a"]) == 0
    assert run(["read", place, "a", "--no-fallbacks"]) == 1
    assert "switched off" in capsys.readouterr().err
