"""That a path was recognised as a database is told under Information, and is no problem."""

from __future__ import annotations

from pathlib import Path

import pytest

import zarrscope
from zarrscope.runtime.threads import Mailbox
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


def test_verbs_tell_of_a_database_without_a_warning(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", str(database)]) == 0
    out, err = capsys.readouterr()
    assert TOLD in out
    assert err == f"zarrscope: {TOLD}.\n"
    assert run(["check", str(database)]) == 0
    out, err = capsys.readouterr()
    assert "0 warnings" in err
    assert TOLD in out
