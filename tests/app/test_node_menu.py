"""Every action of the Node menu, on an image on disk, by mouse and keyboard: context menu, form, plan, button, undo."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QLineEdit, QScrollArea, QToolButton

import zarrscope
from contracts.operations import contents
from qt_robot import QTest, QtRobot
from zarrscope.nodes import move as moving
from zarrscope.nodes import trash
from zarrscope.stores.dry_run import DryRunStore
from zarrscope.stores.local.store import LocalStore
from zarrscope_app.presenters import JobState
from zarrscope_app.qt.node_form import NodeDialog
from zarrscope_resources.demo import make

LABELS, MASKS = "/labels/nuclei", "/labels/masks"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A multiscale image of three channels with a label image, in 3 levels each."""
    return Path(make(tmp_path_factory.mktemp("demo") / "cells.ome.zarr", "small"))


@pytest.fixture
def place(demo: Path, tmp_path: Path, robot: QtRobot) -> Path:
    place = tmp_path / "cells.ome.zarr"
    shutil.copytree(demo, place)
    robot.open(str(place), writable=True)
    robot.wait(lambda: robot.window.tree.current_row() is not None, "a row")
    robot.wait(lambda: robot.session.nodes.may("build-levels", "/"), "an open hierarchy")
    return place


def choose(robot: QtRobot, path: str, command: str) -> None:
    """Selects a node by a click, and chooses an entry of its context menu."""
    above = [path[:at] for at in range(1, len(path)) if path[at] == "/"]
    for each in above:
        robot.expand(each)
    robot.select(path)
    robot.wait(lambda: robot.session.state.path == path and not robot.session.state.selecting, path)
    robot.choose_in_menu(command)


def filled(robot: QtRobot, texts: Mapping[str, str]) -> NodeDialog:
    """Returns the open dialog with these fields filled in, when its plan is ready."""
    return robot.fill_in(texts)


def ended(robot: QtRobot, title: str) -> QToolButton:
    """Returns the button that undoes the last action, when the job has reported its result."""
    bar = robot.window.jobs_bar

    def done() -> bool:
        last = robot.session.jobs.items[-1] if robot.session.jobs.items else None
        assert last is None or last.state is not JobState.FAILED, last
        over = last is not None and last.name.startswith(title) and last.state is JobState.DONE
        return over and last is not None and last.sentence.rstrip(".") in bar.text.text()

    robot.wait(done, f"how {title} ended")
    return bar.undo


ACTIONS = [
    ("/", "create-group", {"to": "/tables"}, "/tables", "New group"),
    ("/labels", "create-array", {"to": "/labels/new", "shape": "64, 64"}, "/labels/new", "New array"),
    ("/", "add-labels", {"name": "membranes"}, "/labels/membranes", "New label image"),
    ("/", "build-levels", {"levels": "2", "factor": "4"}, "/", "Build pyramid levels"),
    (LABELS, "move-node", {"to": "/old/nuclei"}, "/old/nuclei", "Move nuclei"),
    (LABELS, "copy-node", {"to": MASKS}, MASKS, "Copy nuclei"),
    ("/2", "copy-node", {}, "/2-copy", "Copy 2"),
    (LABELS, "remove-node", {}, "/labels", "Delete nuclei"),
    ("/", "consolidate", {}, "/", "Consolidate metadata"),
]


@pytest.mark.parametrize(("path", "command", "texts", "to", "title"), ACTIONS, ids=[f"{a[1]}:{a[0]}" for a in ACTIONS])
def test_it_is_planned_done_and_undone(
    robot: QtRobot, place: Path, path: str, command: str, texts: dict[str, str], to: str, title: str
) -> None:
    before = contents(LocalStore(place))
    choose(robot, path, command)
    dialog = filled(robot, texts)
    assert dialog.plan.toPlainText()
    assert "Can be undone" in dialog.mark.text()
    assert contents(LocalStore(place)) == before, "nothing is done before the button"
    QTest.mouseClick(dialog.act, Qt.MouseButton.LeftButton)
    undo = ended(robot, title)
    robot.wait(lambda: robot.session.state.path == to, to)
    after = contents(LocalStore(place))
    assert after != before
    if command == "copy-node":
        old, new = path.strip("/"), to.strip("/")
        copied = {new + key[len(old) :]: value for key, value in before.items() if key.startswith(f"{old}/")}
        assert copied
        assert after == {**before, **copied}, "the copy, and nothing else"
    if to != "/":
        robot.wait(lambda: to.rpartition("/")[2] in robot.rows(), "the tree anew")
    QTest.mouseClick(undo, Qt.MouseButton.LeftButton)
    ended(robot, "Undo")
    assert as_values(contents(LocalStore(place))) == as_values(before)


def as_values(stored: Mapping[str, bytes | None]) -> dict[str, Any]:
    """Documents as parsed JSON, because writing a document again may change its white space; chunks as bytes."""
    return {key: json.loads(value) if key.endswith(".json") and value else value for key, value in stored.items()}


def test_a_node_is_renamed_in_the_tree(robot: QtRobot, place: Path) -> None:
    choose(robot, LABELS, "rename-node")
    view = robot.window.tree.view
    robot.wait(lambda: bool(view.findChildren(QLineEdit)), "a field over the name")
    field = view.findChildren(QLineEdit)[0]
    field.selectAll()
    QTest.keyClicks(field, "cells")
    model = robot.window.tree.model
    assert model is not None
    index = robot._index(LABELS)
    model.dataChanged.emit(index, index.siblingAtColumn(1))  # as when its size arrives
    assert field.text() == "cells"
    QTest.keyClick(field, Qt.Key.Key_Return)
    robot.wait(lambda: robot.session.state.path == "/labels/cells", "the new name")
    assert "/labels/cells/0" in zarrscope.open(place)
    assert ended(robot, "Rename nuclei").text() == "Undo renaming nuclei"


def test_it_comes_back_from_the_trash_or_is_erased_for_good(robot: QtRobot, place: Path) -> None:
    before = contents(LocalStore(place))
    for again in ("restore-node", "empty-trash"):
        choose(robot, LABELS, "remove-node")
        QTest.mouseClick(filled(robot, {}).act, Qt.MouseButton.LeftButton)
        ended(robot, "Delete nuclei")
        robot.wait(lambda: robot.session.state.path == "/labels", "the group above")
        choose(robot, "/labels", again)
        dialog = filled(robot, {})
        assert dialog.mark.font().bold() == (again == "empty-trash"), "what cannot be undone is marked before"
        QTest.mouseClick(dialog.act, Qt.MouseButton.LeftButton)
        ended(robot, "Restore from the trash" if again == "restore-node" else "Empty the trash")
        assert (contents(LocalStore(place)) == before) == (again == "restore-node")
    assert trash.entries(zarrscope.open(place)) == ()


def test_it_is_converted_beside(robot: QtRobot, place: Path, tmp_path: Path) -> None:
    before = contents(LocalStore(place))
    choose(robot, LABELS, "convert-node")
    target = tmp_path / "nuclei.zarr"
    dialog = filled(robot, {"format": "v2", "to": str(target)})
    QTest.mouseClick(dialog.act, Qt.MouseButton.LeftButton)
    ended(robot, "Convert nuclei")
    here: Any = zarrscope.open(place)[f"{LABELS}/2"]
    there: Any = zarrscope.open(target)["/2"]
    assert np.array_equal(here[...], there[...])
    assert contents(LocalStore(place)) == before


def test_no_dialog_is_shown_before_the_hierarchy_is_open(robot: QtRobot, demo: Path) -> None:
    robot.open(str(demo), writable=True)
    assert robot.session.hierarchy is None
    robot.window.run("build-levels")
    assert robot.window.nodes.dialog is None


def test_no_line_of_a_form_is_cut_where_the_screen_has_room(robot: QtRobot, place: Path) -> None:
    """The dialog grows when its notes arrive; the form scrolls only if the screen is too small for it."""
    robot.window.run("build-levels")
    dialog = robot.window.nodes.dialog
    assert dialog is not None
    (scroll,) = dialog.findChildren(QScrollArea)
    bar, inside = scroll.verticalScrollBar(), scroll.widget()
    assert bar is not None
    assert inside is not None
    robot.wait(lambda: robot.session.nodes.state.at_fault == "levels", "a plan that cannot be made")
    robot.wait(lambda: bar.maximum() == 0, "a form that needs no scrolling, with a sentence alone beneath it")
    robot.session.nodes.set_field("levels", "2")
    robot.wait(lambda: bool(dialog.plan.toPlainText()), "the plan")
    robot.wait(lambda: bar.maximum() == 0, "a form that needs no scrolling")
    for row in dialog.rows.values():
        assert row.hint.height() >= row.hint.heightForWidth(row.hint.width())
    dialog.reject()


def test_a_running_copy_shows_its_progress_and_is_cancelled(
    robot: QtRobot, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(LocalStore(place))
    copy, go_on = moving.copy, threading.Event()

    def slowly(*arguments: Any, progress: Any, cancelled: Any) -> Any:
        def told(each: moving.MoveProgress) -> None:
            progress(each)
            if each.done == 3 and not isinstance(arguments[0].store, DryRunStore):
                assert go_on.wait(30)

        return copy(*arguments, progress=told, cancelled=cancelled)

    choose(robot, LABELS, "copy-node")
    dialog = filled(robot, {"to": MASKS})
    monkeypatch.setattr(moving, "copy", slowly)
    QTest.mouseClick(dialog.act, Qt.MouseButton.LeftButton)
    bar = robot.window.jobs_bar
    robot.wait(lambda: bar.text.text() == "copying: 3 values", "the progress")
    QTest.mouseClick(bar.cancel, Qt.MouseButton.LeftButton)
    go_on.set()
    robot.wait(lambda: not robot.session.jobs.running, "the end")
    robot.wait(lambda: contents(LocalStore(place)) == before, "nothing left of the copy")
    assert robot.session.state.path == LABELS


def test_a_copy_that_is_cancelled_too_late_is_there_and_can_be_undone(
    robot: QtRobot, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(LocalStore(place))
    copy, complete, go_on = moving.copy, threading.Event(), threading.Event()

    def held(*arguments: Any, **options: Any) -> Any:
        moved = copy(*arguments, **options)
        if not isinstance(arguments[0].store, DryRunStore):
            complete.set()
            assert go_on.wait(30)
        return moved

    choose(robot, LABELS, "copy-node")
    dialog = filled(robot, {"to": MASKS})
    monkeypatch.setattr(moving, "copy", held)
    QTest.mouseClick(dialog.act, Qt.MouseButton.LeftButton)
    robot.wait(complete.is_set, "the copy")
    bar = robot.window.jobs_bar
    QTest.mouseClick(bar.cancel, Qt.MouseButton.LeftButton)
    assert [job.state for job in robot.session.jobs.items] == [JobState.CANCELLED]
    go_on.set()
    robot.wait(lambda: robot.session.state.path == MASKS, "the copy on show")
    assert [job.state for job in robot.session.jobs.items] == [JobState.DONE]
    robot.wait(lambda: "Done before it could be cancelled." in bar.text.text(), "the sentence")
    robot.wait(bar.undo.isVisible, "the button that undoes it")
    QTest.mouseClick(bar.undo, Qt.MouseButton.LeftButton)
    robot.wait(lambda: contents(LocalStore(place)) == before, "as before")
