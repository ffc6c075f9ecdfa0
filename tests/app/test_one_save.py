"""One Save writes the texts that were typed while a hierarchy is read-only: it opens the hierarchy for writing, applies
the texts and stores them, unless somebody needs to look first."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from contracts.slides import image, mended, stored
from zarrscope.errors import ReadOnly, Refused
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import EditStatus, Session
from zarrscope_app.presenters.form import several_saving
from zarrscope_app.presenters.session.actions import perform, review
from zarrscope_app.presenters.session.view_models import SessionStatus

SECONDS = 20
THREE = ("/a.zarr", "/b.zarr", "/c.zarr")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in "abc":
        image(tmp_path / "slides" / f"{name}.zarr", (f"channel {name}", "GFP"))
    return tmp_path / "slides"


@pytest.fixture
def opened(folder: Path, mailbox: Mailbox) -> Iterator[Callable[..., Session]]:
    made: list[Session] = []

    def opened(*paths: str, opener: Callable[..., Any] | None = None) -> Session:
        made.append(s := Session(str(folder), mailbox, path=paths[0], opener=opener))
        s.set_tab("attributes")
        mailbox.run_until(lambda: s.node is not None, SECONDS)
        s.select_several(paths)
        mailbox.run_until(lambda: bool(s.edit.state.sections), SECONDS)
        return s

    yield opened
    for each in made:
        each.edit.revert()
        each.close()


def typed(s: Session) -> None:
    s.edit.edit("size/1", "0.5")
    s.edit.edit("channel/0/label", "DAPI")
    assert s.edit.state.status is EditStatus.READ_ONLY
    assert "Save opens it for writing and writes" in s.edit.state.sentence


def settled(s: Session, mailbox: Mailbox, status: EditStatus) -> None:
    def is_settled() -> bool:
        state = s.edit.state
        return s.state.writable and state.status is status and (bool(state.changes) or status is not EditStatus.DIRTY)

    mailbox.run_until(is_settled, SECONDS)


@pytest.mark.parametrize("paths", [THREE, THREE[:1]])
def test_one_save_opens_and_writes(
    opened: Callable[..., Session], folder: Path, mailbox: Mailbox, paths: tuple[str, ...]
) -> None:
    s = opened(*paths)
    typed(s)
    perform(s, "save")
    settled(s, mailbox, EditStatus.CLEAN)
    assert mended(folder) >= {(0.5, "DAPI")}
    assert sum(ome["omero"]["channels"][0]["label"] == "DAPI" for ome in stored(folder)) == len(paths)
    assert s.edit.state.can_undo


def test_the_json_text_is_written_by_one_save(opened: Callable[..., Session], folder: Path, mailbox: Mailbox) -> None:
    s = opened("/a.zarr")
    s.edit.show_way("json")
    s.edit.edit_text(s.edit.state.text.replace("channel a", "DAPI"))
    perform(s, "save")
    settled(s, mailbox, EditStatus.CLEAN)
    assert stored(folder)[0]["omero"]["channels"][0]["label"] == "DAPI"


def test_actions_that_wait_are_written_by_one_save(
    opened: Callable[..., Session], folder: Path, mailbox: Mailbox
) -> None:
    s = opened(*THREE)
    mailbox.run_until(lambda: not s.slice.frame.loading, SECONDS)
    s.slice.set_levels(0, 10, 90)
    perform(s, "take-view")
    assert "Save opens it for writing and writes the changes." in s.edit.state.sentence
    perform(s, "save")
    settled(s, mailbox, EditStatus.CLEAN)
    assert [ome["omero"]["channels"][0]["window"]["end"] for ome in stored(folder)] == [90] * 3


@pytest.mark.parametrize("paths", [THREE, THREE[1:2]])
def test_what_others_changed_is_looked_at_before_it_is_written(
    opened: Callable[..., Session], folder: Path, mailbox: Mailbox, paths: tuple[str, ...]
) -> None:
    s = opened(*paths)
    typed(s)
    with zarrscope.open(str(folder / "b.zarr"), "r+") as h:
        h.root.attrs["note"] = "theirs"
    before = stored(folder)
    perform(s, "save")
    mailbox.run_until(lambda: "nothing is written yet" in s.edit.state.sentence, SECONDS)
    assert s.edit.state.status is EditStatus.DIRTY
    assert stored(folder) == before
    perform(s, "save")
    settled(s, mailbox, EditStatus.CLEAN)
    assert mended(folder) >= {(0.5, "DAPI")}
    with zarrscope.open(str(folder / "b.zarr")) as h:
        assert h.root.attrs["note"] == "theirs"


@pytest.mark.parametrize("paths", [THREE, THREE[:1]])
def test_an_invalid_text_keeps_all_from_being_written(
    opened: Callable[..., Session], folder: Path, mailbox: Mailbox, paths: tuple[str, ...]
) -> None:
    s = opened(*paths)
    before = stored(folder)
    s.edit.edit("size/1", "-1")
    s.edit.edit("channel/0/label", "DAPI")
    perform(s, "save")
    settled(s, mailbox, EditStatus.INVALID)
    assert stored(folder) == before


@pytest.mark.parametrize("paths", [THREE, THREE[:1]])
def test_a_text_typed_after_save_waits_for_the_next_one(
    opened: Callable[..., Session], folder: Path, mailbox: Mailbox, paths: tuple[str, ...]
) -> None:
    """The window passes each letter on: half of a number is not what a person saves."""
    s = opened(*paths)
    before = stored(folder)
    typed(s)
    perform(s, "save")
    s.edit.edit("size/1", "0.7")
    settled(s, mailbox, EditStatus.DIRTY)
    assert stored(folder) == before


@pytest.mark.parametrize("paths", [THREE, THREE[:1]])
def test_a_place_that_cannot_be_written_keeps_the_texts(
    opened: Callable[..., Session], folder: Path, mailbox: Mailbox, paths: tuple[str, ...]
) -> None:
    """Nor is anything written when the place is opened for writing later, for another reason."""
    denied = [True]

    def opener(url: str, mode: Any, **options: Any) -> Any:
        if mode == "r+" and denied[0]:
            raise Refused("You may not write here.")
        return zarrscope.open(url, mode, **options)

    s = opened(*paths, opener=opener)
    before = stored(folder)
    typed(s)
    perform(s, "save")
    mailbox.run_until(lambda: s.state.status is SessionStatus.FAILED, SECONDS)
    assert s.edit.state.waits
    denied[0] = False
    s.set_writable(False)
    mailbox.run_until(lambda: s.state.status is SessionStatus.READY and not s.state.selecting, SECONDS)
    s.set_writable(True)
    settled(s, mailbox, EditStatus.DIRTY)
    assert stored(folder) == before


@pytest.mark.parametrize("paths", [THREE, THREE[:1]])
def test_the_review_of_waiting_texts_opens_and_writes_nothing(
    opened: Callable[..., Session], folder: Path, mailbox: Mailbox, paths: tuple[str, ...]
) -> None:
    s = opened(*paths)
    before = stored(folder)
    typed(s)
    s.set_tab("image")
    review(s)
    mailbox.run_until(lambda: s.edit.diff().unified.count("DAPI") == len(paths), SECONDS)
    assert s.state.tab == "attributes"
    assert stored(folder) == before


def test_only_the_nodes_on_show_are_written(opened: Callable[..., Session], folder: Path, mailbox: Mailbox) -> None:
    s = opened("/a.zarr")
    typed(s)
    s.select("/b.zarr")
    mailbox.run_until(lambda: s.node is not None and s.edit.state.path == "/b.zarr", SECONDS)
    mailbox.run_until(lambda: bool(s.edit.state.sections), SECONDS)
    typed(s)
    perform(s, "save")
    mailbox.run_until(lambda: s.state.writable and s.edit.dirty_paths == {"/a.zarr"}, SECONDS)
    settled(s, mailbox, EditStatus.CLEAN)
    names = [json.loads((folder / f"{n}.zarr/zarr.json").read_text())["attributes"]["ome"] for n in "ab"]
    assert [ome["omero"]["channels"][0]["label"] for ome in names] == ["channel a", "DAPI"]


def test_the_node_that_cannot_be_written_is_named(
    opened: Callable[..., Session], folder: Path, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any) -> Any:
        raise ReadOnly("The file could not be written", key="b.zarr/zarr.json")

    monkeypatch.setattr(several_saving, "save_together", refused)
    s = opened(*THREE)
    before = stored(folder)
    typed(s)
    perform(s, "save")
    settled(s, mailbox, EditStatus.FAILED)
    assert s.edit.state.sentence.startswith("/b.zarr: The file could not be written")
    assert stored(folder) == before
