"""A verb on a node with an unusual name changes no file of another node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contracts.names import HOSTILE, Plot
from zarrscope.stores.local.store import LocalStore
from zarrscope_app.cli import run

NAMES = [*HOSTILE[:48:4], "a\\b", "\\", "a", "b", "..a", "-x", "--yes", "a::b", "a|b", " a", "a ", "%2F", "A"]


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = run(arguments)
    out, err = capsys.readouterr()
    return code, out or err  # the answer may have a note that the address was taken for a path


@pytest.mark.parametrize("dialect", ["v3", "v2"])
def test_verbs_do_what_they_do_to_the_node_of_that_name(
    dialect: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plot = Plot(dialect, LocalStore(tmp_path / "x.zarr", sync=False), [*dict.fromkeys(NAMES)])
    place = str(tmp_path / "x.zarr")

    def files() -> dict[str, bytes]:
        return {str(path.relative_to(place)): path.read_bytes() for path in Path(place).rglob("*") if path.is_file()}

    before = files()
    for path in [path for path in plot.nodes if path.count("/") == 1]:
        code, out = told(capsys, "attrs", "get", "--json", "--", place, path)
        assert code == 0, out
        assert json.loads(out)["who"] == path
        code, out = told(capsys, "attrs", "get", "--json", "--", place + path)
        assert code == 0, out
        assert json.loads(out)["who"] == path, "the same node by its own address"
        for verb in (
            ("attrs", "set", "--", place, path, "note", "1"),
            ("remove", "--yes", "--", place, path),
        ):
            code, out = told(capsys, *verb)
            assert code == 0, out
            after = files()
            changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
            assert changed <= plot.owned(path), verb
            before = after
        assert not plot.owned(path) & {*after}


def test_addresses_with_odd_characters_are_the_folders_that_exist(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a::b", "a", "b", "a|zarr3:b", " c ", "c", "d\\e", "e", "zip:f", "50%", "g#h?i"):
        Plot("v3", LocalStore(tmp_path / name, sync=False), ["a\\b", name])
        for address in (name, str(tmp_path / name), LocalStore(tmp_path / name).url):
            code, out = told(capsys, "attrs", "get", "--json", "--", address, name)
            assert code == 0, out
            assert json.loads(out)["who"] == f"/{name}"
        code, out = told(capsys, "attrs", "get", "--json", "--", f"{name}::a\\b")
        assert json.loads(out)["who"] == "/a\\b"
