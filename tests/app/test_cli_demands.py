"""A group with a required extension that zarrscope does not know: every verb shows the group and its sentence, and
lists nothing beneath it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import zarrscope
from zarrscope.nodes.extensions import demands_above
from zarrscope_app.cli import run
from zarrscope_app.presenters.node_details import read_details

ABOVE = "/g, above it, demands the member 'foo', which is not understood here"
SAYS = "The member 'foo' is not supported here"


@pytest.fixture
def demanding(tmp_path: Path) -> Path:
    made = zarrscope.open(tmp_path / "x", "w-")
    made.create_array("/g/kid/a", shape=(2,), dtype="u1")
    document = tmp_path / "x" / "g" / "zarr.json"
    document.write_text(json.dumps({**json.loads(document.read_text()), "foo": {"x": 1}}))
    return tmp_path / "x"


@pytest.mark.parametrize("verb", ["ls", "tree", "info"])
def test_the_group_itself_is_shown_with_its_sentence(
    verb: str, demanding: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([verb, str(demanding), "g"]) == 0
    out = capsys.readouterr().out
    assert SAYS in out
    assert "kid" not in out


@pytest.mark.parametrize("verb", ["ls", "tree", "info", "attrs"])
@pytest.mark.parametrize("node", ["g/kid", "g/kid/a"])
def test_a_node_beneath_it_says_so_when_it_is_opened_by_its_path(
    verb: str, node: str, demanding: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([verb, str(demanding), node]) == 0
    assert ABOVE in capsys.readouterr().err


def test_so_do_presenters_and_reading(demanding: Path, capsys: pytest.CaptureFixture[str]) -> None:
    details = read_details(zarrscope.open(demanding), "/g/kid/a")
    assert any(ABOVE in each for each in details.info.warnings)
    assert run(["read", str(demanding), "g/kid/a"]) == 0
    assert ABOVE in capsys.readouterr().err
    assert demands_above(zarrscope.open(demanding), "/g") == ()


@pytest.mark.parametrize("verb", ["ls", "tree"])
def test_so_it_is_from_the_group_above(verb: str, demanding: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([verb, str(demanding)]) == 0
    out = capsys.readouterr().out
    assert "g/" in out
    assert SAYS in out
    assert "kid" not in out
