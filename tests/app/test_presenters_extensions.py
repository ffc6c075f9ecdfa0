"""The presenters' sentences about extensions, and about nodes that have documents of more than one format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contracts.journeys import DEMAND, Shelf, guarded_group
from narrowing import as_array
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import Session, SessionStatus, Workspace
from zarrscope_app.presenters.commands import command

URI = "https://example.com/zarr/"


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def at(workspace: Workspace, mailbox: Mailbox, url: str, path: str) -> Session:
    session = workspace.open(url)
    session.select(path)
    mailbox.run_until(lambda: session.state.status is not SessionStatus.OPENING and not session.state.selecting)
    return session


def extend(shelf: Shelf, key: str, *items: Any) -> None:
    document = json.loads(shelf.get(key) or b"")
    shelf.set(key, json.dumps(document | {"extensions": [*items]}).encode())


def test_info_tells_what_groups_above_declare(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    hierarchy = open_hierarchy(shelf, "a")
    hierarchy.create_array("/g/a", shape=(4,), dtype="u1")
    extend(shelf, "zarr.json", {"name": URI + "note", "must_understand": False})
    reference = {"name": URI + "note-ref", "configuration": {"reference": "../.."}, "must_understand": False}
    extend(shelf, "g/a/zarr.json", reference)
    session = at(workspace, mailbox, shelf.address, "/g/a")
    section = next(section for section in session.metadata.state.sections if section.title == "Extensions")
    own, above = section.items
    assert own.text.startswith(URI + "note-ref: not understood; may be ignored, and was.")
    assert own.text.endswith(f"It refers to the declarations of /: {URI}note.")
    assert above.label == "from above"
    assert f"{URI}note: declared by the group /" in above.text
    assert URI in session.metadata.text()


def test_declared_statistics_are_the_first_contrast(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    hierarchy = open_hierarchy(shelf, "a")
    hierarchy.create_array("/a", shape=(4, 6), dtype="uint16")[...] = np.arange(24).reshape(4, 6)
    extend(shelf, "a/zarr.json", {"name": "array-statistics", "configuration": {"min": 3, "max": 700}})
    session = at(workspace, mailbox, shelf.address, "/a")
    (channel,) = session.slice.state.channels
    assert (channel.lo, channel.hi) == (3.0, 700.0)


def test_open_anyway_is_given_up_by_opening_for_writing(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    guarded_group(shelf)
    session = at(workspace, mailbox, shelf.address, "/guarded")
    assert DEMAND in session.state.sentence
    assert session.state.offers == ("open-anyway",)
    session.open_anyway()
    mailbox.run_until(lambda: session.state.status is SessionStatus.READY and not session.state.selecting)
    assert session.state.facts == "v3 · opened anyway, read-only"
    assert not session.state.offers
    assert any("the displayed data may be wrong" in problem.headline for problem in session.problems.items)
    session.set_writable(True)
    mailbox.run_until(lambda: session.state.status is SessionStatus.READY and not session.state.selecting)
    assert session.state.writable
    assert session.state.offers == ("open-anyway",)


def test_a_demand_is_refused_in_the_words_of_the_button(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    hierarchy = open_hierarchy(shelf, "a", dialect="v3")
    hierarchy.create_group("/guarded", {})
    document = json.loads(shelf.get("guarded/zarr.json") or b"")
    shelf.set("guarded/zarr.json", json.dumps(document | {"unheard_of": {"name": "x"}}).encode())
    session = at(workspace, mailbox, shelf.address, "/guarded")
    assert session.state.offers == ("open-anyway",)
    assert command("open-anyway").label == "Open anyway, read-only"
    assert "open it anyway, read-only" in session.state.sentence


def test_chunks_that_v2_does_not_allow_are_told_and_read_when_asked(
    shelf: Shelf, workspace: Workspace, mailbox: Mailbox
) -> None:
    hierarchy = open_hierarchy(shelf, "a", dialect="v2")
    hierarchy.create_array("/a", shape=(2, 2), dtype="u1", chunks=(2, 2))[...] = 9
    document = json.loads(shelf.get("a/.zarray") or b"")
    document.pop("dimension_separator", None)
    shelf.set("a/.zarray", json.dumps(document).encode())
    shelf.set("a/0/0", shelf.get("a/0.0") or b"")
    shelf.erase("a/0.0")
    session = at(workspace, mailbox, shelf.address, "/a")
    assert any("no chunk a/0.0, but a chunk a/0/0" in warning for warning in session.metadata.state.warnings)
    assert session.state.offers == ("open-anyway",)
    assert as_array(session.node)[...].tolist() == [[0, 0], [0, 0]]
    session.open_anyway()
    mailbox.run_until(lambda: session.state.status is SessionStatus.READY and not session.state.selecting)
    assert as_array(session.node)[...].tolist() == [[9, 9], [9, 9]]
    assert not session.state.offers


def test_a_store_of_two_formats_says_which_is_shown(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    open_hierarchy(shelf, "a", dialect="draft-2020")
    shelf.set(".zgroup", b'{"zarr_format": 2}')
    session = at(workspace, mailbox, shelf.address, "/")
    assert session.state.facts.startswith("draft-2020 ")
    assert any("Documents of Zarr v2 lie beside" in problem.headline for problem in session.problems.items)
    items = [item for section in session.metadata.state.sections for item in section.items]
    assert ("Beside it", "v2") in [(item.label, item.text) for item in items]


def test_a_place_inside_a_draft_names_the_root(tmp_path: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    root = tmp_path / "draft"
    open_hierarchy(str(root), "w-", dialect="draft-2022-05").create_group("/g/h")
    session = at(workspace, mailbox, str(root / "meta" / "g"), "/")
    assert session.state.status is SessionStatus.FAILED
    assert f"It lies inside {root}" in session.state.sentence.replace("file://", "")


def test_an_array_of_an_unknown_data_type_has_a_sentence_for_a_picture(
    tmp_path: Path, workspace: Workspace, mailbox: Mailbox, caplog: pytest.LogCaptureFixture
) -> None:
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [4, 9, 9],
        "data_type": "nowhere",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 9, 9]}},
        "fill_value": 0,
        "chunk_key_encoding": {"name": "default"},
        "codecs": [{"name": "bytes"}],
        "dimension_names": ["z", "y", "x"],
    }
    (tmp_path / "a").mkdir()
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    (tmp_path / "a" / "zarr.json").write_text(json.dumps(document))
    session = at(workspace, mailbox, str(tmp_path), "/a")
    mailbox.run_until(lambda: session.state.path == "/a" and not session.state.selecting)
    assert "nowhere" in session.slice.state.sentence
    assert session.slice.state.projection.methods == ()
    assert not [record for record in caplog.records if record.name == "zarrscope"], "no callback failed"
