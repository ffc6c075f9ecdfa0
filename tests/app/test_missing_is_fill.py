"""A server that answers 403 for missing values: the hosts report it, and treat these values as missing only on
request.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from contracts.absence import VALUES
from contracts.hostile_http import BEHAVIOURS, Ask, hostile
from narrowing import not_none
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.cli import cli, run
from zarrscope_app.presenters import SessionStatus, Workspace
from zarrscope_app.presenters.commands import python_text


@pytest.fixture
def address() -> Iterator[str]:
    """A server that answers 403 for every missing key; the second chunk of /sparse is missing."""

    async def act(ask: Ask) -> None:
        if ask.value is None:
            await BEHAVIOURS["denied alike"](ask)
        else:
            await ask.honest()

    with hostile(act, VALUES) as server:
        yield server.url


def test_a_session_offers_to_take_as_missing_and_keeps_to_it(
    address: str, workspace: Workspace, mailbox: Mailbox
) -> None:
    session = workspace.open(f"{address}/sparse")
    mailbox.run_until(lambda: session.node is not None)
    assert session.state.offers == ()
    session.values.cells(0, 0, 4, 1)
    mailbox.run_until(lambda: "missing-is-fill" in session.state.offers)
    assert "gives the same answer for missing values" in session.state.sentence
    session.take_as_missing()
    mailbox.run_until(lambda: session.node is not None and not session.state.offers)
    mailbox.run_until(lambda: session.values.cells(0, 0, 4, 1) == [["7"], ["7"], ["0"], ["0"]])
    for change in (session.reload, session.open_anyway):
        change()
        mailbox.run_until(lambda: session.state.status is SessionStatus.READY and not session.state.selecting)
        assert not_none(session.hierarchy).store.missing_is_fill


def test_what_one_window_assumes_no_other_shows(address: str, workspace: Workspace, mailbox: Mailbox) -> None:
    assuming = workspace.open(f"{address}/sparse", missing_is_fill=True)
    mailbox.run_until(lambda: assuming.values.cells(0, 0, 4, 1) == [["7"], ["7"], ["0"], ["0"]])
    other = Workspace(mailbox)
    session = other.open(f"{address}/sparse")
    mailbox.run_until(lambda: session.node is not None)
    session.values.cells(0, 0, 4, 1)
    mailbox.run_until(lambda: "missing-is-fill" in session.state.offers)
    assert session.values.cells(2, 0, 2, 1) != [["0"], ["0"]]
    other.close_all()


def test_a_place_that_is_open_is_asked_to_assume(address: str, workspace: Workspace, mailbox: Mailbox) -> None:
    session = workspace.open(f"{address}/sparse")
    assert workspace.open(f"{address}/sparse", missing_is_fill=True) is session
    mailbox.run_until(lambda: session.node is not None)
    assert session.missing_is_fill


def test_the_verbs_of_the_applications_have_the_option() -> None:
    for verb in ("open", "tui"):
        command = cli.get_command(click.Context(cli), verb)
        assert isinstance(command, click.Command)
        assert any("--missing-is-fill" in parameter.opts for parameter in command.params), verb


def test_diff_takes_what_is_denied_for_missing_when_told_to(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import zarrscope

    near = zarrscope.open(tmp_path / "near", "w-").create_array("/sparse", shape=(4,), dtype="u1", chunks=(2,))
    near[:2] = 7
    pair = [f"{address}/sparse", str(tmp_path / "near" / "sparse"), "--values"]
    assert run(["diff", *pair]) == 1
    assert "problem" in capsys.readouterr().out
    assert run(["diff", *pair, "--missing-is-fill"]) == 0
    assert "taken as missing" in capsys.readouterr().err


def test_copied_python_assumes_the_same(address: str) -> None:
    import zarrscope

    found = eval(python_text(address, "/sparse", missing_is_fill=True), {"zarrscope": zarrscope})
    assert found[...].tolist() == [7, 7, 0, 0]
