"""Renaming, moving, copying and erasing: a plan, then a job, then the updated tree."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pytest

import zarrscope
from contracts.operations import VALUES, contents, example, is_whole
from narrowing import as_array
from zarrscope.errors import Refused
from zarrscope.nodes import move as moving
from zarrscope.nodes import trash
from zarrscope.nodes.document_keys import attributes_pointer
from zarrscope.ome import validate
from zarrscope.runtime.threads import JobResult, Mailbox
from zarrscope.stores.dry_run import DryRunStore
from zarrscope.stores.local.store import LocalStore
from zarrscope.view.image import find_images
from zarrscope_app.presenters import JobState, Session, SessionStatus, Workspace, strings
from zarrscope_app.presenters.jobs import Report
from zarrscope_app.presenters.nodes import words

Answer: TypeAlias = Callable[[JobResult[Any]], str] | None


@pytest.fixture
def place(tmp_path: Path) -> Path:
    example("v3", LocalStore(tmp_path / "x.zarr", sync=False))
    return tmp_path / "x.zarr"


def settled(session: Session) -> Callable[[], bool]:
    return lambda: session.state.status is SessionStatus.READY and not session.state.selecting


def opened(workspace: Workspace, mailbox: Mailbox, place: Path, path: str, *, writable: bool = True) -> Session:
    session = workspace.open(str(place), writable=writable)
    mailbox.run_until(settled(session))
    session.select(path)
    mailbox.run_until(settled(session))
    return session


def planned(session: Session, mailbox: Mailbox, act: str, path: str) -> None:
    session.nodes.begin(act, path)
    mailbox.run_until(lambda: session.nodes.state.ready)


def cancel_midway(session: Session, begun: threading.Event, cancelled: threading.Event) -> None:
    """Runs the planned action and cancels it once it has `begun`; the action waits until it is `cancelled`."""
    session.nodes.carry_out()
    assert begun.wait(30)
    session.jobs.cancel(session.jobs.items[-1].id)
    cancelled.set()


def carried_out(session: Session, mailbox: Mailbox) -> None:
    mailbox.run_until(lambda: session.nodes.state.ready)
    session.nodes.carry_out()
    mailbox.run_until(lambda: bool(session.jobs.items) and not session.jobs.running)
    mailbox.run_until(settled(session))


def test_a_plan_is_shown_and_nothing_done_until_it_is_carried_out(
    place: Path, workspace: Workspace, mailbox: Mailbox
) -> None:
    session = opened(workspace, mailbox, place, "/g/a")
    before = contents(LocalStore(place))
    session.nodes.begin("move", "/g/a")
    mailbox.run_until(lambda: not session.nodes.state.planning)
    assert session.nodes.state.sentence == strings.NEW_PLACE
    assert not session.nodes.state.ready
    session.nodes.set_field("to", "/deep/a")
    mailbox.run_until(lambda: session.nodes.state.ready)
    state = session.nodes.state
    assert state.title == "Move a"
    assert any(line.startswith("move") and "g/a/ → deep/a/" in line for line in state.lines)
    assert "moved" in state.sentence
    assert contents(LocalStore(place)) == before
    carried_out(session, mailbox)
    assert session.state.path == "/deep/a"
    assert is_whole(zarrscope.open(place), "/other", "/other")
    assert (as_array(zarrscope.open(place)["/deep/a"])[...] == VALUES).all()
    assert [job.state for job in session.jobs.items] == [JobState.DONE]


def test_erasing_tells_what_goes_and_then_shows_the_group_above(
    place: Path, workspace: Workspace, mailbox: Mailbox
) -> None:
    session = opened(workspace, mailbox, place, "/g/in/b")
    planned(session, mailbox, "remove", "/g/in")
    assert "moved" in session.nodes.state.sentence
    assert session.nodes.state.danger
    assert "trash" in session.nodes.state.undo
    assert not session.nodes.state.final
    session.nodes.set_field("trash", "")
    mailbox.run_until(lambda: session.nodes.state.ready)
    assert "erased" in session.nodes.state.sentence
    assert "cannot be undone" in session.nodes.state.final
    carried_out(session, mailbox)
    assert session.state.path == "/g"
    assert "/g/in" not in zarrscope.open(place)
    assert not session.nodes.undo_label, "what is gone for good is not offered again"


def test_a_copy_is_gone_to_and_a_rename_needs_no_plan(place: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    session = opened(workspace, mailbox, place, "/other")
    session.nodes.begin("copy", "/other")
    assert session.nodes.state.to == "/other-copy"
    carried_out(session, mailbox)
    assert session.state.path == "/other-copy"
    session.nodes.rename("/other-copy", "twin")
    mailbox.run_until(lambda: session.state.path == "/twin" and settled(session)())
    found = zarrscope.open(place)
    assert is_whole(found, "/twin", "/other")
    assert is_whole(found, "/other", "/other")
    assert "/other-copy" not in found


def test_what_may_not_be_is_said_in_a_sentence(place: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    session = opened(workspace, mailbox, place, "/g")
    for act, path, to, part in (
        ("move", "/g", "/g/in/g", "within the other"),
        ("copy", "/g", "/other", "already"),
        ("move", "/g", "/__x", "reserves"),
        ("remove", "/", "", strings.ROOT_STAYS),
        ("copy", "/g", "/g", strings.NEW_PLACE),
    ):
        session.nodes.begin(act, path)
        session.nodes.set_field("to", to)
        mailbox.run_until(lambda: not session.nodes.state.planning)
        assert part in session.nodes.state.sentence
        assert not session.nodes.state.ready
        session.nodes.carry_out()
    session.nodes.rename("/g", "other")
    mailbox.run_until(lambda: bool(session.jobs.items) and not session.jobs.running)
    assert session.jobs.items[-1].state is JobState.FAILED
    assert is_whole(zarrscope.open(place), "/g")


def test_unsaved_changes_and_read_only_places_come_first(place: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    session = opened(workspace, mailbox, place, "/g/a")
    mailbox.run_until(lambda: bool(session.edit.state.fields))
    session.edit.edit("/who", "me")
    session.nodes.begin("move", "/g")
    session.nodes.set_field("to", "/h")
    mailbox.run_until(lambda: not session.nodes.state.planning)
    assert session.nodes.state.sentence == strings.SAVE_FIRST
    session.edit.revert()
    session.nodes.set_field("to", "/h2")
    mailbox.run_until(lambda: session.nodes.state.ready)
    session.nodes.cancel()
    assert not session.nodes.state.act
    reading = opened(workspace, mailbox, place, "/g/a", writable=False)
    if reading is session:
        session.set_writable(False)
        mailbox.run_until(settled(session))
    assert not reading.nodes.may_change("/g")
    reading.nodes.begin("remove", "/g")
    mailbox.run_until(lambda: not reading.nodes.state.planning)
    assert reading.nodes.state.sentence == strings.OPEN_FOR_WRITING


@pytest.mark.parametrize("dialect", ["v3", "n5", "draft-2020"])
@pytest.mark.parametrize("act", ["remove", "move"])
def test_a_group_that_goes_along_is_told_in_the_plan_and_at_the_end(
    dialect: str, act: Literal["remove", "move"], tmp_path: Path, workspace: Workspace, mailbox: Mailbox
) -> None:
    made = zarrscope.open(tmp_path / "y", "w-", dialect=dialect)
    made.create_array("/p/a", shape=(2,), dtype="u1")
    made.store.erase_values(made.dialect.documents("/p"))
    session = opened(workspace, mailbox, tmp_path / "y", "/p/a")
    session.nodes.begin(act, "/p/a")
    if act == "move":
        session.nodes.set_field("to", "/b")
    mailbox.run_until(lambda: session.nodes.state.ready)
    assert "/p, a group without its own document, vanishes as well" in session.nodes.state.sentence
    carried_out(session, mailbox)
    assert "vanishes as well" in session.jobs.items[-1].sentence
    assert "/p" not in zarrscope.open(tmp_path / "y")


# ---------------------------------------------------------------------------------------------- undo
def filled(session: Session, mailbox: Mailbox, act: str, path: str, **given: str) -> None:
    """Fills in the form of an action and runs it."""
    session.nodes.begin(act, path)
    for id, text in given.items():
        session.nodes.set_field(id, text)
    mailbox.run_until(lambda: not session.nodes.state.planning)
    assert session.nodes.state.ready, session.nodes.state.sentence
    carried_out(session, mailbox)


def undone(session: Session, mailbox: Mailbox) -> None:
    assert session.nodes.undo_label
    session.nodes.undo()
    mailbox.run_until(lambda: not session.jobs.running)
    mailbox.run_until(settled(session))
    assert session.jobs.items[-1].state is JobState.DONE, session.jobs.items[-1]


@pytest.mark.parametrize(
    ("act", "path", "given"),
    [
        ("remove", "/g", {}),
        ("move", "/g", {"to": "/h"}),
        ("rename", "/g", {"to": "/h"}),
        ("copy", "/g", {"to": "/h"}),
        ("create-group", "/g", {"to": "/g/new"}),
        ("create-array", "/g", {"to": "/g/new", "shape": "4, 4"}),
        ("consolidate", "/g", {}),
    ],
)
def test_what_was_done_is_undone_to_the_byte(
    place: Path, workspace: Workspace, mailbox: Mailbox, act: str, path: str, given: dict[str, str]
) -> None:
    before = contents(LocalStore(place))
    session = opened(workspace, mailbox, place, path)
    filled(session, mailbox, act, path, **given)
    assert contents(LocalStore(place)) != before
    undone(session, mailbox)
    assert contents(LocalStore(place)) == before
    assert session.state.path == path
    assert not session.nodes.undo_label


def test_several_acts_are_undone_one_after_the_other(place: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    session = opened(workspace, mailbox, place, "/g/a")
    before = contents(LocalStore(place))
    filled(session, mailbox, "remove", "/g/a")
    filled(session, mailbox, "move", "/g", to="/h")
    assert session.nodes.undo_label == "Undo moving g"
    undone(session, mailbox)
    assert session.nodes.undo_label == "Undo deleting a"
    undone(session, mailbox)
    assert contents(LocalStore(place)) == before


def test_what_others_changed_is_not_undone(place: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    session = opened(workspace, mailbox, place, "/g")
    filled(session, mailbox, "remove", "/g")
    zarrscope.open(place, "r+").create_group("/g", {"new": 1})
    session.nodes.undo()
    mailbox.run_until(lambda: not session.jobs.running)
    assert session.jobs.items[-1].state is JobState.FAILED
    assert zarrscope.open(place)["/g"].attributes == {"new": 1}
    assert [each.path for each in trash.entries(zarrscope.open(place))] == ["/g"], "it is still in the trash"


# ---------------------------------------------------------------------------------------------- forms
def test_the_form_of_an_array_says_what_chunks_and_shards_mean(
    place: Path, workspace: Workspace, mailbox: Mailbox
) -> None:
    session = opened(workspace, mailbox, place, "/g")
    nodes = session.nodes
    nodes.begin("create-array", "/g")
    mailbox.run_until(lambda: not nodes.state.planning)
    assert not nodes.state.ready
    nodes.set_field("shape", "64 x 512 × 512")
    assert nodes.state.field("shape").hint == "64 × 512 × 512 values, 32.0 MiB before compression."
    assert "chosen for you" in nodes.state.field("chunks").hint
    assert "each chunk is a file of its own" in nodes.state.field("shards").hint
    nodes.set_field("chunks", "16, 256, 256")
    assert "16 chunks of 2.0 MiB" in nodes.state.field("chunks").hint
    assert "16 files" in nodes.state.field("shards").hint
    nodes.set_field("shards", "32, 512, 512")
    assert "2 files of at most 16.0 MiB, 8 chunks in each" in nodes.state.field("shards").hint
    nodes.set_field("fill", "-1")
    assert nodes.state.field("fill").error
    nodes.set_field("fill", "7")
    nodes.set_field("chunks", "16, 256")
    assert nodes.state.field("chunks").error
    nodes.set_field("chunks", "all")
    assert nodes.state.field("chunks").error == words.NO_LENGTHS
    mailbox.run_until(lambda: not nodes.state.planning)
    assert not nodes.state.ready
    nodes.set_field("chunks", "16, 256, 256")
    nodes.set_field("codec", "gzip:5")
    nodes.set_field("axes", "z, y, x")
    mailbox.run_until(lambda: nodes.state.ready)
    carried_out(session, mailbox)
    made = as_array(zarrscope.open(place)["/g/array"])
    assert (made.shape, made.chunks, made.shards) == ((64, 512, 512), (16, 256, 256), (32, 512, 512))
    assert made.dimension_names == ("z", "y", "x")
    assert made[0, 0, 0] == 7


def test_an_array_like_the_selected_one_is_proposed(place: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    session = opened(workspace, mailbox, place, "/g/a")
    session.nodes.begin("create-array", "/g/a")
    given = {field.id: field.text for field in session.nodes.state.fields}
    assert given["to"] == "/g/array"
    assert (given["shape"], given["dtype"], given["chunks"]) == ("7, 11", "uint16", "3, 4")


@pytest.mark.parametrize("dialect", ["v2", "n5", "draft-2022-05"])
def test_arrays_are_made_in_other_formats(tmp_path: Path, workspace: Workspace, mailbox: Mailbox, dialect: str) -> None:
    example(dialect, LocalStore(tmp_path / "x", sync=False))
    session = opened(workspace, mailbox, tmp_path / "x", "/g")
    filled(session, mailbox, "create-array", "/g", to="/g/new", shape="4,4", dtype="uint8", codec="gzip:5")
    assert as_array(zarrscope.open(tmp_path / "x")["/g/new"]).shape == (4, 4)


# ---------------------------------------------------------------------------------------------- images
@pytest.fixture(params=["v3", "v2"])
def image(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """An OME-Zarr image of three levels: c, y, x."""
    place = tmp_path / "image.zarr"
    h = zarrscope.open(place, "w-", dialect=request.param)
    axes = [{"name": "c", "type": "channel"}] + [{"name": name, "type": "space", "unit": "micrometer"} for name in "yx"]
    datasets = [
        {"path": str(k), "coordinateTransformations": [{"type": "scale", "scale": [1, 0.5 * 2**k, 0.5 * 2**k]}]}
        for k in range(3)
    ]
    own: dict[str, Any] = {"multiscales": [{"name": "cells", "axes": axes, "datasets": datasets}]}
    if request.param == "v3":
        own = {"ome": {"version": "0.5", **own}}
    else:
        own["multiscales"][0]["version"] = "0.4"
    document = h.document("/").set(attributes_pointer(h, "/"), own)
    h.save("/", document)
    for k in range(3):
        array = h.create_array(f"/{k}", shape=(2, 64 >> k, 48 >> k), dtype="uint16", chunks=(1, 16, 16))
        array[...] = np.arange(array.size, dtype="uint16").reshape(array.shape)
    return place


def test_a_label_image_fits_its_image_and_can_be_undone(image: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    before = contents(LocalStore(image))
    session = opened(workspace, mailbox, image, "/")
    session.nodes.begin("add-labels", "/")
    assert "4,294,967,295" in session.nodes.state.field("dtype").hint
    mailbox.run_until(lambda: session.nodes.state.ready)
    assert "3 levels as the image has, the finest 64 × 48" in session.nodes.state.sentence
    session.nodes.set_field("name", "nuclei")
    mailbox.run_until(lambda: session.nodes.state.ready)
    carried_out(session, mailbox)
    assert session.state.path == "/labels/nuclei"
    h = zarrscope.open(image)
    (found,) = find_images(h["/"])
    assert found.labels == ("/labels/nuclei",)
    (labels,) = find_images(h["/labels/nuclei"])
    assert labels.is_label
    assert [level.shape for level in labels.levels] == [(64, 48), (32, 24), (16, 12)]
    assert [level.scale for level in labels.levels] == [level.scale[1:] for level in found.levels]
    found_faults = [fault for path in ("/labels", "/labels/nuclei") for fault in validate.check(h[path].attributes)]
    assert not [fault for fault in found_faults if fault.strength == "must"]
    undone(session, mailbox)
    after = contents(LocalStore(image))
    assert {key for key in after if key.startswith("labels/nuclei")} == set()
    assert {key: after[key] for key in before} == before


def test_levels_are_built_and_the_former_ones_come_back(image: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    before = contents(LocalStore(image))
    session = opened(workspace, mailbox, image, "/")
    session.nodes.begin("build-levels", "/")
    mailbox.run_until(lambda: session.nodes.state.at_fault == "levels")
    assert "needs no other" in session.nodes.state.sentence, "it does not propose to remove the present levels"
    session.nodes.set_field("levels", "many")
    assert session.nodes.state.field("levels").error
    session.nodes.set_field("levels", "2")
    session.nodes.set_field("factor", "4")
    mailbox.run_until(lambda: session.nodes.state.ready)
    assert session.nodes.state.sentence.startswith("1 level is built in ")
    assert "2 former levels go to the trash" in session.nodes.state.sentence
    assert any(line.startswith("trash") for line in session.nodes.state.lines)
    carried_out(session, mailbox)
    (found,) = find_images(zarrscope.open(image)["/"])
    assert [level.shape for level in found.levels] == [(2, 64, 48), (2, 16, 12)]
    undone(session, mailbox)
    after = contents(LocalStore(image))
    documents = {"zarr.json", ".zattrs"}
    assert {key: value for key, value in after.items() if key not in documents} == {
        key: value for key, value in before.items() if key not in documents
    }
    (again,) = find_images(zarrscope.open(image)["/"])
    assert [level.shape for level in again.levels] == [(2, 64, 48), (2, 32, 24), (2, 16, 12)]
    assert again.levels[1].scale == (1, 1, 1)


def test_what_is_converted_is_written_beside_and_nothing_here_changes(
    place: Path, workspace: Workspace, mailbox: Mailbox
) -> None:
    before = contents(LocalStore(place))
    session = opened(workspace, mailbox, place, "/g", writable=False)
    session.nodes.begin("convert", "/g")
    session.nodes.set_field("format", "v2")
    target = place.parent / "as-v2.zarr"
    session.nodes.set_field("to", str(target))
    mailbox.run_until(lambda: session.nodes.state.ready)
    assert "all compared at the end" in session.nodes.state.sentence
    carried_out(session, mailbox)
    assert (as_array(zarrscope.open(target)["/a"])[...] == VALUES).all()
    assert contents(LocalStore(place)) == before
    assert str(target) in session.jobs.items[-1].sentence


def test_what_is_in_the_trash_comes_back_by_a_form_or_is_erased(
    place: Path, workspace: Workspace, mailbox: Mailbox
) -> None:
    before = contents(LocalStore(place))
    session = opened(workspace, mailbox, place, "/g/in")
    nodes = session.nodes
    nodes.begin("restore", "/g/in")
    mailbox.run_until(lambda: not nodes.state.planning)
    assert nodes.state.sentence == words.EMPTY_TRASH
    filled(session, mailbox, "remove", "/g/in")
    filled(session, mailbox, "remove", "/other")
    nodes.begin("restore", session.state.path)
    mailbox.run_until(lambda: nodes.state.ready)
    assert [name.split(" · ")[0] for _, name in nodes.state.field("entry").choices] == ["/other", "/g/in"]
    nodes.set_field("entry", nodes.state.field("entry").choices[1][0])
    mailbox.run_until(lambda: nodes.state.ready)
    assert any("→ g/in/" in line for line in nodes.state.lines)
    carried_out(session, mailbox)
    assert session.state.path == "/g/in"
    undone(session, mailbox)
    assert "/g/in" not in zarrscope.open(place)
    for _ in range(2):
        undone(session, mailbox)
    assert contents(LocalStore(place)) == before
    filled(session, mailbox, "remove", "/other")
    nodes.begin("empty-trash", "/")
    mailbox.run_until(lambda: nodes.state.ready)
    assert nodes.state.danger
    assert "cannot be undone" in nodes.state.final
    carried_out(session, mailbox)
    assert trash.entries(zarrscope.open(place)) == ()


def test_what_was_cancelled_too_late_is_shown_and_can_be_undone(
    place: Path, workspace: Workspace, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened(workspace, mailbox, place, "/g")
    put, done = trash.put, threading.Event()

    def slowly(hierarchy: Any, path: str) -> Any:
        thrown = put(hierarchy, path)
        if path == "/g" and "/g" not in zarrscope.open(place):
            done.set()
            assert cancelled.wait(30)
        return thrown

    cancelled = threading.Event()
    planned(session, mailbox, "remove", "/g")
    monkeypatch.setattr(trash, "put", slowly)
    cancel_midway(session, done, cancelled)
    mailbox.run_until(lambda: bool(session.nodes.undo_label))
    mailbox.run_until(settled(session))
    assert session.state.path == "/"
    monkeypatch.undo()
    undone(session, mailbox)
    assert is_whole(zarrscope.open(place), "/g")


def test_a_cancelled_copy_leaves_nothing(
    place: Path, workspace: Workspace, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(LocalStore(place))
    session = opened(workspace, mailbox, place, "/g")
    begun, cancelled = threading.Event(), threading.Event()
    copy = moving.copy

    def slowly(*arguments: Any, **options: Any) -> Any:
        if options.get("progress") is not None and not isinstance(arguments[0].store, DryRunStore):
            begun.set()
            assert cancelled.wait(30)
        return copy(*arguments, **options)

    planned(session, mailbox, "copy", "/g")
    monkeypatch.setattr(moving, "copy", slowly)
    cancel_midway(session, begun, cancelled)
    mailbox.run_until(lambda: not session.jobs.running and contents(LocalStore(place)) == before)
    mailbox.run_until(settled(session))
    assert session.state.path == "/g"
    assert not session.nodes.undo_label


def test_where_there_is_no_trash_it_is_said_before(
    place: Path, workspace: Workspace, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trash, "writable_trash", lambda store: False)
    session = opened(workspace, mailbox, place, "/g")
    for act, said in (("remove", words.FINAL_ERASE), ("copy", words.FINAL_COPY)):
        planned(session, mailbox, act, "/g")
        assert said in session.nodes.state.final
        assert not session.nodes.state.undo
        assert all(field.kind != "flag" for field in session.nodes.state.fields)
    filled(session, mailbox, "create-group", "/g", to="/g/new")
    undone(session, mailbox)
    assert "/g/new" not in zarrscope.open(place), "an empty group can be erased: nothing is lost"
    filled(session, mailbox, "create-array", "/g", to="/g/new", shape="4, 4")
    as_array(zarrscope.open(place, "r+")["/g/new"])[...] = 1
    session.nodes.undo()
    mailbox.run_until(lambda: not session.jobs.running)
    assert words.HOLDS_DATA in session.jobs.items[-1].sentence
    assert (as_array(zarrscope.open(place)["/g/new"])[...] == 1).all()


@pytest.mark.parametrize("begun", [False, True])
def test_after_an_undo_is_cancelled_everything_can_still_be_undone(
    place: Path, workspace: Workspace, mailbox: Mailbox, begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened(workspace, mailbox, place, "/g/a")
    session.nodes.rename("/g/a", "b")
    mailbox.run_until(lambda: bool(session.nodes.undo_label))
    working, free = threading.Event(), threading.Event()
    later: list[tuple[Callable[..., object], Callable[..., object]]] = []
    run = session.jobs.run

    def held(name: str, work: Callable[..., object], done: Answer, late: Answer) -> int:
        def wait(report: Report, cancelled: Callable[[], bool]) -> object:
            working.set()
            assert free.wait(30)
            return work(report, cancelled)

        return run(name, wait, done, late)

    if begun:
        monkeypatch.setattr(session.jobs, "run", held)
    else:  # no thread is free to begin it
        monkeypatch.setattr(session.jobs._owner, "fetch", lambda work, done: later.append((work, done)))
    session.nodes.undo()
    assert not begun or working.wait(30)
    session.jobs.cancel(session.jobs.items[-1].id)
    free.set()
    for work, done in later:
        with pytest.raises(Refused) as stopped:
            work(lambda: False)
        done(JobResult(error=stopped.value))
    monkeypatch.undo()
    if begun:
        mailbox.run_until(lambda: session.jobs.items[-1].state is JobState.DONE)
        assert session.jobs.items[-1].sentence.startswith(strings.TOO_LATE)
    else:
        assert session.nodes.undo_label
        assert session.jobs.items[-1].state is JobState.CANCELLED
        session.nodes.undo()
        mailbox.run_until(lambda: not session.jobs.running)
    assert not session.nodes.undo_label
    assert (place / "g" / "a").exists()
    assert not (place / "g" / "b").exists()
