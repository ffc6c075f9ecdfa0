"""Sessions, workspaces, jobs and Info: the selected node, recent addresses, restored views."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from contracts.journeys import Shelf, small_image, tree_of_all_kinds
from zarrscope.errors import Refused
from zarrscope.runtime.threads import Mailbox, shared
from zarrscope.view.image import find_images
from zarrscope_app.presenters import (
    EditStatus,
    JobsPresenter,
    JobState,
    MemorySettings,
    Session,
    SessionStatus,
    Workspace,
    strings,
)
from zarrscope_app.presenters.node_description import Info, as_text, describe
from zarrscope_app.settings import FileSettings


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def settled(session: Session) -> Callable[[], bool]:
    return lambda: session.state.status is SessionStatus.READY and not session.state.selecting


def test_the_tab_fits_the_node(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    tree_of_all_kinds(shelf)
    session = workspace.open(shelf.address)
    mailbox.run_until(settled(session))
    assert session.state.tab == "info"
    assert session.state.facts == "v3 · read-only"
    for path, tab in (("/many/img1", "image"), ("/line", "image"), ("/strange", "image"), ("/empty", "info")):
        session.select(path)
        mailbox.run_until(settled(session))
        assert (path, session.state.tab) == (path, tab)
    session.set_tab("attributes")
    session.select("/many/img2")
    mailbox.run_until(settled(session))
    assert session.state.tab == "attributes"
    session.back()
    mailbox.run_until(settled(session))
    assert session.state.path == "/empty"


def test_a_wrong_path_is_a_sentence_with_a_retry(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    tree_of_all_kinds(shelf)
    session = workspace.open(shelf.address)
    session.select("/many/img3")
    mailbox.run_until(settled(session))
    assert "/many/img3" in session.state.sentence
    assert session.state.retry
    assert session.problems.count == 1
    session.select("/many/img2")
    mailbox.run_until(settled(session))
    assert session.state.sentence == ""


def test_an_address_that_failed_can_be_retried(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    session = workspace.open(shelf.address)
    mailbox.run_until(lambda: session.state.status is SessionStatus.FAILED)
    small_image(shelf)
    session.retry()
    mailbox.run_until(settled(session))
    assert session.state.sentence == ""


def test_an_address_that_failed_is_shown_whole(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    """The advice is to check the address, of which only the last part was visible."""
    address = f"{shelf.address}/deep/er"
    session = workspace.open(address)
    mailbox.run_until(lambda: session.state.status is SessionStatus.FAILED)
    assert session.state.crumbs == ((address, "/"),)
    small_image(shelf)
    session = workspace.open(f"{shelf.address}/image")
    mailbox.run_until(settled(session))
    assert session.state.crumbs[0][0] == session.name


def test_an_address_that_failed_leaves_no_view_loading(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    session = workspace.open(shelf.address)
    mailbox.run_until(lambda: session.state.status is SessionStatus.FAILED)
    why = session.state.sentence
    assert why
    assert (session.edit.state.status, session.edit.state.sentence) == (EditStatus.EMPTY, why)
    assert session.chunks.state.sentence == why
    assert session.metadata.state.problem == why
    assert session.slice.state.sentence == why
    small_image(shelf)
    session.retry()
    mailbox.run_until(lambda: settled(session)() and bool(session.edit.state.ways[1:]))
    assert session.edit.state.status is EditStatus.READ_ONLY
    assert session.chunks.state.sentence != why
    assert session.metadata.state.problem == ""


def test_views_keep_a_node_if_its_place_cannot_be_opened_again(
    shelf: Shelf, workspace: Workspace, mailbox: Mailbox
) -> None:
    small_image(shelf)
    session = workspace.open(f"{shelf.address}/image")
    mailbox.run_until(lambda: settled(session)() and bool(session.edit.state.ways[1:]))
    shelf.failing = {"zarr.json", "image/zarr.json"}
    session.reload()
    mailbox.run_until(lambda: session.state.status is SessionStatus.FAILED)
    assert session.slice.state.axes
    assert session.edit.state.sentence != session.state.sentence
    shelf.failing = set()
    session.retry()
    mailbox.run_until(settled(session))
    assert session.slice.state.axes


def test_the_form_names_the_reason_of_a_node_that_cannot_be_read(
    shelf: Shelf, workspace: Workspace, mailbox: Mailbox
) -> None:
    tree_of_all_kinds(shelf)
    session = workspace.open(f"{shelf.address}/many/img3")
    mailbox.run_until(settled(session))
    why = session.state.sentence
    assert "/many/img3" in why
    assert (session.edit.state.sentence, session.edit.state.path) == (why, "/many/img3")
    session.select("/many/img2")
    mailbox.run_until(lambda: settled(session)() and bool(session.edit.state.ways[1:]))
    assert session.edit.state.path == "/many/img2"
    session.select("/many/img3")
    mailbox.run_until(settled(session))
    assert (session.edit.state.sentence, session.edit.state.fields) == (why, ())


def test_unsaved_edits_outlive_a_node_that_cannot_be_read(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    tree_of_all_kinds(shelf)
    session = workspace.open(f"{shelf.address}/many/img2", writable=True)
    mailbox.run_until(lambda: settled(session)() and bool(session.edit.state.ways[1:]))
    session.edit.add("", "note")
    session.select("/many/img3")
    mailbox.run_until(settled(session))
    assert session.edit.state.path == "/many/img3"
    assert session.edit.dirty_paths == {"/many/img2"}
    session.select("/many/img2")
    mailbox.run_until(settled(session))
    assert session.edit.state.changes == 1


def test_what_is_selected_while_a_place_opens_again_is_where_one_gets(
    shelf: Shelf, workspace: Workspace, mailbox: Mailbox
) -> None:
    tree_of_all_kinds(shelf)
    small_image(shelf)
    session = workspace.open(shelf.address)
    session.select("/image")
    mailbox.run_until(lambda: settled(session)() and bool(session.slice.state.axes))
    session.slice.set_levels(0, 3, 99)
    again: tuple[Callable[[], None], ...] = (
        session.reload,
        lambda: session.set_writable(True),
        session.follow_links,
        lambda: session.set_fallbacks(False),
    )
    for number, change in enumerate(again):
        change()
        path = f"/many/img{1 + number % 2}"
        session.select(path)
        assert session.state.path == path
        mailbox.run_until(settled(session))
        assert session.node is not None
        assert session.node.path == path
        assert (session.slice.state.channels[0].lo, session.slice.state.channels[0].hi) != (3, 99)
        assert session.state.facts.endswith("writable" if number else "read-only")
    session.reload()
    session.back()
    assert session.state.path == "/many/img1"
    mailbox.run_until(settled(session))
    assert session.node is not None
    assert session.node.path == "/many/img1"


def test_opening_again_before_it_is_open_loses_no_path(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    tree_of_all_kinds(shelf)
    session = workspace.open(f"{shelf.address}/many")
    session.follow_links()
    mailbox.run_until(settled(session))
    assert session.state.path == "/many", "what the address names"
    other = workspace.open(shelf.address)
    other.select("/many/img1")
    other.follow_links()
    mailbox.run_until(settled(other))
    assert other.state.path == "/many/img1", "what was selected"


def test_info_says_what_chunks_mean(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    hierarchy = tree_of_all_kinds(shelf)
    hierarchy.create_array("/sharded", shape=(64, 64), dtype="u2", chunks=(8, 8), shards=(32, 32))
    session = workspace.open(shelf.address)
    session.select("/sharded")
    mailbox.run_until(settled(session))
    text = session.metadata.text()
    assert "Stored in 64 pieces (chunks) of 8 × 8, packed into 4 files (shards)." in text
    session.metadata.load_documents()
    mailbox.run_until(lambda: bool(session.metadata.state.documents))
    ((key, document),) = session.metadata.state.documents
    assert key == "sharded/zarr.json"
    assert json.loads(document)["shape"] == [64, 64]
    session.select("/strange")
    mailbox.run_until(settled(session))
    assert "example_unknown_codec" in session.metadata.state.problem


def test_info_says_that_a_group_has_no_document(tmp_path: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    for name in "xy":
        zarrscope.open(str(tmp_path / "folder" / f"{name}.zarr"), "w-")
    session = workspace.open(str(tmp_path / "folder"))
    mailbox.run_until(settled(session))
    session.metadata.load_documents()
    mailbox.run_until(lambda: not session.metadata.state.loading and bool(session.metadata.state.undocumented))
    assert session.metadata.text().rstrip().endswith("it is there because of the nodes beneath it.")


def test_info_names_a_row_once_that_the_document_does_not_state(
    tmp_path: Path, workspace: Workspace, mailbox: Mailbox
) -> None:
    zarrscope.open(str(tmp_path / "x.zarr"), "w-").create_array("/a", shape=(4,), dtype="u1", chunks=(2,))
    document = tmp_path / "x.zarr" / "a" / "zarr.json"
    stored = json.loads(document.read_text())
    del stored["shape"]
    document.write_text(json.dumps(stored))
    session = workspace.open(str(tmp_path / "x.zarr"))
    session.select("/a")
    mailbox.run_until(settled(session))
    values = next(section for section in session.metadata.state.sections if section.title == "Values")
    assert {item.label: item.text for item in values.items}["Shape"] == strings.UNKNOWN


@pytest.mark.parametrize(
    ("dialect", "pattern", "name"), [("v3", "a/zarr.json", "name"), ("draft-2022-05", "meta/**/a.array*", "type")]
)
def test_info_invents_no_chunks_for_a_grid_that_is_not_understood(
    tmp_path: Path, workspace: Workspace, mailbox: Mailbox, dialect: str, pattern: str, name: str
) -> None:
    place = tmp_path / "x.zarr"
    zarrscope.open(str(place), "w-", dialect=dialect).create_array("/a", shape=(4,), dtype="u1", chunks=(2,))
    (document,) = place.glob(pattern)
    stored = json.loads(document.read_text())
    stored["chunk_grid"][name] = "hexagonal"
    document.write_text(json.dumps(stored))
    session = workspace.open(str(place))
    session.select("/a")
    mailbox.run_until(settled(session))
    storage = next(section for section in session.metadata.state.sections if section.title == "Storage")
    told = {item.label: item.text for item in storage.items}
    assert told["Chunks"] == strings.UNKNOWN
    assert "Keys" not in told
    assert session.metadata.state.words == "An array of 4 values, which cannot be read here."
    assert "hexagonal" in session.metadata.state.problem
    session.chunks.look()
    shown = session.chunks.state
    assert "hexagonal" in shown.sentence
    assert (shown.axes, shown.cells) == ((), None), "nothing can be chosen where nothing is shown"


def test_info_lists_the_levels_as_a_table_where_there_is_room(tmp_path: Path) -> None:
    hierarchy = zarrscope.open(str(tmp_path / "image.zarr"), "w-", dialect="v3")
    axes = [{"name": name, "type": "space"} for name in "zyx"]
    levels = [
        {"path": str(k), "coordinateTransformations": [{"type": "scale", "scale": [1.0, 2.0**k, 2.0**k]}]}
        for k in (0, 1)
    ]
    hierarchy.create_group("/a", {"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}]}})
    for k, shape in enumerate(((3, 64, 48), (3, 32, 24))):
        hierarchy.create_array(f"/a/{k}", shape=shape, dtype="uint16", chunks=(1, 32, 32), shards=(1, 64, 64))
    group = hierarchy["/a"]
    info = describe(group, find_images(group)[0])
    (told,) = (section for section in info.sections if section.title == "Levels")
    assert told.columns == ("Level", "Shape", "Chunks", "Shards", "Size")
    assert told.rows == (
        ("0", "3 × 64 × 48", "1 × 32 × 32", "1 × 64 × 64", "18.0 KiB"),
        ("1", "3 × 32 × 24", "1 × 32 × 32", "1 × 64 × 64", "4.5 KiB"),
    )
    wide = as_text(info).splitlines()
    at = wide.index("Levels")
    assert wide[at + 1] == "  Level  Shape        Chunks       Shards       Size"
    assert wide[at + 3] == "  1      3 × 32 × 24  1 × 32 × 32  1 × 64 × 64  4.5 KiB"
    narrow = as_text(info, 40).splitlines()
    assert narrow[at + 2] == "  Level 1  3 × 32 × 24 · chunks 1 × 32 × 32 · shards 1 × 64 × 64 · 4.5 KiB"


def test_documents_that_do_not_come_are_asked_for_once(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    tree_of_all_kinds(shelf)
    session = workspace.open(shelf.address)
    session.select("/many/img1")
    mailbox.run_until(settled(session))
    session.metadata.show(session._hierarchy, Info("/nothing/there"))
    told: list[bool] = []
    session.metadata.changed.connect(lambda: told.append(session.metadata.state.loading))
    session.metadata.load_documents()
    mailbox.run_until(lambda: told[-1:] == [False])
    session.metadata.load_documents()  # as a host does whenever it paints
    assert not session.metadata.state.loading


def test_values_as_a_table(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    tree_of_all_kinds(shelf)
    session = workspace.open(shelf.address)
    session.select("/many/img1")
    mailbox.run_until(settled(session))
    table = session.values
    assert (table.state.rows, table.state.columns) == (4, 6)
    assert table.cells(1, 2, 2, 3)[0][0] == "…"
    mailbox.run_until(lambda: table.cells(1, 2, 2, 3) == [["3", "4", "5"], ["9", "10", "11"]])
    table.transpose()
    assert (table.state.rows, table.state.columns) == (6, 4)
    mailbox.run_until(lambda: table.cells(2, 1, 3, 1) == [["3"], ["4"], ["5"]])


def test_what_was_opened_of_late_is_remembered(mailbox: Mailbox, shelf: Shelf) -> None:
    settings = MemorySettings()
    first = Workspace(mailbox, settings)
    for i in range(20):
        first.open(f"memory://place-{i}")
    assert first.open("memory://place-3") is first.open("memory://place-3")
    first.close_all()
    assert first.current is None
    second = Workspace(mailbox, settings)
    assert [r.url for r in second.recent][:2] == ["memory://place-19", "memory://place-18"]
    assert len(second.recent) == 12
    second.clear_recent()
    assert Workspace(mailbox, settings).recent == ()
    settings.store("recent", "{nonsense")
    assert Workspace(mailbox, settings).recent == ()


def test_a_view_comes_back(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    small_image(shelf)
    session = workspace.open(shelf.address)
    session.select("/image")
    mailbox.run_until(settled(session))
    session.slice.set_index("z", 17)
    session.slice.set_levels(0, 3, 99)
    text = workspace.view_text()
    workspace.close_all()
    again = workspace.restore(text)
    mailbox.run_until(lambda: bool(again.slice.state.axes))
    assert again.state.path == "/image"
    assert again.slice.state.axes[0].index == 17
    assert (again.slice.state.channels[0].lo, again.slice.state.channels[0].hi) == (3, 99)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"zarrscope": 1, "url": 5}', "nonsense"])
def test_a_text_from_elsewhere_restores_nothing(workspace: Workspace, text: str) -> None:
    with pytest.raises(Refused):
        workspace.restore(text)
    assert workspace.sessions == ()


def test_reload_sees_what_changed(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    hierarchy = small_image(shelf)
    session = workspace.open(shelf.address)
    session.select("/image")
    mailbox.run_until(settled(session))
    session.slice.fit((64, 64))
    mailbox.run_until(lambda: bool(session.slice.frame.tiles) and session.slice.frame.loading == 0)
    del hierarchy
    for key in [key for key in shelf.list() if key.startswith("image/0/c/0/")]:
        shelf.erase(key)
    session.reload()
    mailbox.run_until(lambda: settled(session)() and bool(session.slice.state.axes))
    session.slice.fit((64, 64))
    mailbox.run_until(
        lambda: bool(session.slice.frame.tiles) and all(t.state.value == "fill" for t in session.slice.frame.tiles)
    )


def test_jobs(mailbox: Mailbox) -> None:
    owner = shared().owner(mailbox)
    jobs = JobsPresenter(owner)
    gate = threading.Event()

    def work(report: Any, cancelled: Any) -> int:
        report(0.5, "half")
        gate.wait(10)
        return 7

    id = jobs.run("Counting", work, lambda outcome: f"Found {outcome.value}.")
    mailbox.run_until(lambda: jobs.items[0].progress == 0.5)
    assert jobs.items[0].text == "half"
    gate.set()
    mailbox.run_until(lambda: not jobs.running)
    assert jobs.items[0].sentence == "Found 7."
    jobs.dismiss(id)
    assert not jobs.items
    gate.clear()
    id = jobs.run("Counting", work)
    jobs.cancel(id)
    assert jobs.items[0].state is JobState.CANCELLED
    gate.set()
    jobs.run("Failing", lambda report, cancelled: 1 // 0)
    mailbox.run_until(lambda: not jobs.running)
    assert jobs.items[1].state is JobState.FAILED
    owner.close()


def test_settings_on_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    settings = FileSettings()
    assert settings.load("recent") is None
    settings.store("recent", "[]")
    assert FileSettings().load("recent") == "[]"
    assert [p.name for p in (tmp_path / "zarrscope").iterdir()] == ["recent.json"]
    file = tmp_path / "file"
    file.write_text("x")
    FileSettings(file).store("recent", "[]")
    assert FileSettings(file).load("recent") is None
