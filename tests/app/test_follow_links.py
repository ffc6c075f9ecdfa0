"""The option --follow-links, and the same setting in the applications."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pytest

import zarrscope
from narrowing import as_array, not_none
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.cli import cli, run
from zarrscope_app.presenters.commands import OFFERS, python_text
from zarrscope_app.presenters.session.view_models import SessionStatus
from zarrscope_app.presenters.session.workspace import Workspace

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX symbolic links")


@pytest.fixture
def linked(tmp_path: Path) -> str:
    """A hierarchy in which the document of one node and the chunk of another are links that lead out of it."""
    root = tmp_path / "a.zarr"
    hierarchy = zarrscope.open(root, "a")
    for name in ("document", "chunk"):
        array = hierarchy.create_array(name, shape=(4, 4), dtype="u1", chunks=(4, 4))
        assert isinstance(array, zarrscope.Array)
        array[...] = 5
    for key in ("document/zarr.json", "chunk/c/0/0"):
        place = tmp_path / key.replace("/", "-")
        (root / key).rename(place)
        (root / key).symlink_to(place)
    return str(root)


def verbs(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from verbs(command, (*path, name))
        else:
            yield (*path, name), command


def test_every_verb_that_opens_has_the_option() -> None:
    without = {
        name[-1]
        for name, command in verbs(cli)
        if not any("--follow-links" in parameter.opts for parameter in command.params)
    }
    assert without == {"demo", "serve"}


CALLS = {
    "ls": ("document",),
    "tree": ("document",),
    "info": ("document",),
    "read": ("chunk",),
    "render": ("chunk", "-o", "{out}.png"),
    "attrs get": ("document",),
    "attrs set": ("document", "note", "1", "--dry-run"),
    "attrs unset": ("document", "note", "--dry-run"),
    "create": ("document/b", "--dry-run"),
    "resize": ("document", "2,4", "--dry-run"),
    "copy": ("chunk", "b", "--dry-run"),
    "convert": ("{out}", "--to", "v2", "--node", "chunk"),
}


@pytest.mark.parametrize("verb", CALLS)
def test_verbs_refuse_links_and_follow_them_when_told(
    verb: str, linked: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    arguments = [*verb.split(), linked, *(each.format(out=out) for each in CALLS[verb])]
    if verb in ("attrs unset", "create"):
        assert run(arguments) == 1, "the option says nothing of what is wrong besides"
        capsys.readouterr()
        code = run([*arguments, "--follow-links"])
        assert "leads out" not in capsys.readouterr().err
        assert code in (1, 3)
        return
    code = run(arguments)
    told = capsys.readouterr().err
    if verb != "copy":  # a dry run reads no chunk
        assert code == 1
        assert "--follow-links" in told
    assert run([*arguments, "--follow-links"]) == 0, capsys.readouterr().err


def test_diff_follows_links_on_both_sides(linked: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", linked, linked, "--values"]) != 0
    assert run(["diff", linked, linked, "--values", "--follow-links"]) == 0


def test_a_session_offers_to_follow_links_and_keeps_to_it(linked: str, mailbox: Mailbox) -> None:
    assert "follow-links" in OFFERS
    workspace = Workspace(mailbox)
    session = workspace.open(linked)
    mailbox.run_until(lambda: session.state.status is SessionStatus.READY)
    assert session.state.offers == ()
    session.select("/document")
    mailbox.run_until(lambda: bool(session.state.offers))
    assert "--" not in session.state.sentence, "applications have a command, not an option"
    assert session.state.offers == ("follow-links",)  # type: ignore[comparison-overlap]  # it has changed since it was last compared
    assert "leads out" in session.state.sentence
    session.follow_links()
    mailbox.run_until(lambda: session.node is not None)
    assert as_array(session.node).path == "/document"
    assert session.state.offers == ()
    for change in (lambda: session.set_writable(True), session.reload, session.open_anyway):
        change()
        mailbox.run_until(lambda: session.state.status is SessionStatus.READY and not session.state.selecting)
        assert session.node is not None
        assert not_none(session.hierarchy).store.allow_outside
    workspace.close_all()


def test_a_chunk_that_is_a_link_is_offered_too(linked: str, mailbox: Mailbox) -> None:
    workspace = Workspace(mailbox)
    session = workspace.open(f"{linked}/chunk")
    mailbox.run_until(lambda: session.node is not None)
    session.values.cells(0, 0, 4, 4)
    mailbox.run_until(lambda: "follow-links" in session.state.offers)
    assert "leads out" in session.state.sentence
    session.follow_links()
    mailbox.run_until(lambda: session.node is not None and not session.state.offers)

    def shown() -> bool:
        return session.values.cells(0, 0, 1, 1) == [["5"]]

    mailbox.run_until(shown)
    workspace.close_all()


def test_a_workspace_opens_with_links(linked: str, mailbox: Mailbox) -> None:
    workspace = Workspace(mailbox)
    session = workspace.open(f"{linked}/document", follow_links=True)
    mailbox.run_until(lambda: session.node is not None)
    assert session.follows_links
    workspace.close_all()


def test_copied_python_opens_the_same(linked: str) -> None:
    text = python_text(linked, "/chunk", True)
    found = eval(text, {"zarrscope": zarrscope})
    assert np.array_equal(found[...], np.full((4, 4), 5))
    assert os.fspath(linked) in text


def test_info_counts_what_links_lead_to(linked: str, capsys: pytest.CaptureFixture[str]) -> None:
    size = (Path(linked) / "chunk/c/0/0").stat().st_size
    assert run(["info", linked, "chunk", "--json", "--follow-links"]) == 0
    assert json.loads(capsys.readouterr().out)["stored_nbytes"] == size
