"""That a path was recognised as a database is told under Information, and is no problem."""

from __future__ import annotations

from pathlib import Path

import pytest

import zarrscope
from narrowing import not_none
from zarrscope.runtime.threads import Mailbox
from zarrscope.stores.recognition import Recognition
from zarrscope_app.cli import run
from zarrscope_app.presenters import Session
from zarrscope_app.presenters.node_description import as_text

TOLD = "This is a SQLite database, so it was opened as sqlite://"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    with zarrscope.open(f"sqlite://{tmp_path.as_posix()}/x.sqlite", "w-") as h:
        h.create_array("/a", shape=(2,), dtype="u1")[...] = 7
    return tmp_path / "x.sqlite"


def test_a_database_is_no_problem(database: Path, mailbox: Mailbox) -> None:
    session = Session(str(database), mailbox)
    try:
        mailbox.run_until(lambda: session.node is not None)
        assert session.problems.title == "Problems"
        assert TOLD in as_text(session.metadata.state)
        session.problems.check()
        mailbox.run_until(lambda: not session.problems.checking)
        assert session.problems.count == 0
        assert "1 remark besides" in session.problems.sentence
    finally:
        session.close()


def test_the_kind_is_a_field_of_its_own(database: Path) -> None:
    with zarrscope.open(database) as h:
        assert h.recognition == Recognition("sqlite", TOLD)
        assert not h.warnings
        assert TOLD in h._repr_html_()
    with zarrscope.open(f"sqlite://{database.as_posix()}") as h:
        assert h.recognition is None, "the address states it"


def test_a_folder_of_hierarchies_is_no_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.zarr", "b.zarr"):
        zarrscope.open(tmp_path / "data" / name, "w-").close()
    with zarrscope.open(tmp_path / "data") as h:
        found = not_none(h.recognition)
        assert found.kind == "folder"
        assert not h.warnings
    assert run(["ls", str(tmp_path / "data")]) == 0
    assert capsys.readouterr().err == f"zarrscope: {found.sentence}.\n"
    assert run(["check", str(tmp_path / "data")]) == 0
    out, err = capsys.readouterr()
    assert "0 warnings" in err
    assert found.sentence in out


def test_verbs_that_write_tell_of_a_database_without_a_warning(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["attrs", "set", str(database), "/a", "said", "1"]) == 0
    assert f"zarrscope: {TOLD}.\n" in capsys.readouterr().err


def test_verbs_tell_of_a_database_without_a_warning(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", str(database)]) == 0
    out, err = capsys.readouterr()
    assert TOLD in out
    assert err == f"zarrscope: {TOLD}.\n"
    assert run(["check", str(database)]) == 0
    out, err = capsys.readouterr()
    assert "0 warnings" in err
    assert TOLD in out
