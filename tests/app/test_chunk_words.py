"""The map of chunks names the channels of a chosen chunk."""

from __future__ import annotations

from pathlib import Path

from contracts.slides import image
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import Session
from zarrscope_app.presenters.chunks.words import held_along


def test_a_chosen_chunk_names_its_channel(tmp_path: Path, mailbox: Mailbox) -> None:
    image(tmp_path / "cells.zarr", ("DAPI", "GFP"))
    session = Session(str(tmp_path / "cells.zarr"), mailbox)
    mailbox.run_until(lambda: session.node is not None and session.slice.image is not None)
    session.chunks.look()
    mailbox.run_until(lambda: session.chunks.state.cells is not None)
    session.chunks.set_chunk("c", 1)
    session.chunks.choose(0, 0)
    chosen = session.chunks.state.chosen
    assert chosen is not None
    assert {item.label: item.text for item in chosen.items}["Holds"].startswith("c 1 (GFP), z ")
    session.close()


def test_channels_of_a_chunk_are_named_where_they_have_names() -> None:
    names = ("DAPI", "", "CD4", "CD8", "CD20")
    assert held_along("c", 2, 3, names) == "c 2 (CD4)"
    assert held_along("c", 1, 2, names) == "c 1"
    assert held_along("c", 0, 5, names) == "c 0–4 (DAPI, CD4, CD8, …)"
    assert held_along("y", 0, 5, ()) == "y 0–4"
