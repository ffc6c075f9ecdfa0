"""The action Rename takes a name; Move takes a place."""

from __future__ import annotations

from pathlib import Path

import pytest

import zarrscope
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import Session, SessionStatus


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("", "Type another name."),
        ("a", "Type another name."),
        ("h/a", "A name contains no slash. Move gives a node another place."),
    ],
)
def test_a_node_is_renamed_by_a_name(tmp_path: Path, mailbox: Mailbox, name: str, sentence: str) -> None:
    zarrscope.open(tmp_path / "x.zarr", "a").create_group("/g/a")
    session = Session(str(tmp_path / "x.zarr"), mailbox, writable=True)
    mailbox.run_until(lambda: session.state.status is SessionStatus.READY and not session.state.selecting)
    nodes = session.nodes
    nodes.begin("rename", "/g/a")
    assert [(field.label, field.text) for field in nodes.state.fields] == [("New name", "a")]
    nodes.set_field("to", name)
    nodes.carry_out()
    assert nodes.state.field("to").error == sentence
    nodes.set_field("to", "b")
    mailbox.run_until(lambda: nodes.state.ready)
    nodes.carry_out()
    mailbox.run_until(lambda: (tmp_path / "x.zarr/g/b").exists() and not session.jobs.running)
    session.close()
