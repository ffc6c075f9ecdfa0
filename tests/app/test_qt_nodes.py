"""The Node menu of the window: F2 in the tree, and the dialog that shows a plan before it runs."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from qtpy.QtCore import QPoint, Qt
from qtpy.QtWidgets import QLabel, QLineEdit, QToolButton

import zarrscope
from contracts.operations import contents, example, is_whole
from narrowing import as_array
from qt_robot import QTest, QtRobot
from zarrscope.stores.local.failures import failure
from zarrscope.stores.local.store import LocalStore
from zarrscope_app.presenters.commands import COMMANDS, NODE_COMMANDS
from zarrscope_app.qt.error_bar import ErrorBar
from zarrscope_app.qt.node_form import NodeDialog


@pytest.fixture
def place(tmp_path: Path) -> Path:
    example("v3", LocalStore(tmp_path / "x.zarr", sync=False))
    return tmp_path / "x.zarr"


@pytest.fixture
def robot(qtbot: Any, place: Path) -> Iterator[QtRobot]:
    robot = QtRobot(qtbot)
    robot.open(str(place), writable=True)
    robot.wait(lambda: robot.window.tree.current_row() is not None, "a row")
    yield robot
    robot.close()


def on(robot: QtRobot, path: str) -> None:
    robot.select(path)
    robot.wait(lambda: robot.session.state.path == path and not robot.session.state.selecting, path)


def asked(robot: QtRobot, command: str) -> NodeDialog:
    """The dialog of a command."""
    robot.window.run(command)
    dialog = robot.window.nodes.dialog
    assert dialog is not None
    return dialog


def type_in(dialog: NodeDialog, id: str, text: str) -> None:
    field = dialog.rows[id].editor
    assert isinstance(field, QLineEdit)
    field.selectAll()
    QTest.keyClicks(field, text)


def test_f2_renames_in_the_tree(robot: QtRobot, place: Path) -> None:
    on(robot, "/other")
    view = robot.window.tree.view
    robot.window.menus.actions["rename-node"].trigger()
    robot.wait(lambda: bool(view.findChildren(QLineEdit)), "a field over the name")
    field = view.findChildren(QLineEdit)[0]
    assert field.text() == "other"
    field.selectAll()
    QTest.keyClicks(field, "renamed")
    QTest.keyClick(field, Qt.Key.Key_Return)
    robot.wait(lambda: robot.session.state.path == "/renamed", "the new name")
    robot.wait(lambda: "renamed" in robot.rows() and "other" not in robot.rows(), "the tree anew")
    assert is_whole(zarrscope.open(place), "/renamed", "/other")
    field_key = robot.window.menus.actions["rename-node"].shortcut().toString()
    assert field_key == "F2"


def test_deleting_shows_the_plan_and_waits_for_the_button(robot: QtRobot, place: Path) -> None:
    before = contents(LocalStore(place))
    on(robot, "/g")
    dialog = asked(robot, "remove-node")
    robot.wait(lambda: dialog.act.isEnabled(), "the plan")
    assert "g/ →" in dialog.plan.toPlainText()
    assert "to" not in dialog.rows
    assert "Can be undone" in dialog.mark.text()
    assert not dialog.act.isDefault(), "Return takes nothing away"
    dialog.reject()
    assert contents(LocalStore(place)) == before
    dialog = asked(robot, "remove-node")
    robot.wait(lambda: dialog.act.isEnabled(), "the plan")
    QTest.mouseClick(dialog.act, Qt.MouseButton.LeftButton)
    robot.wait(lambda: "g" not in robot.rows(), "the tree anew")
    assert "/g" not in zarrscope.open(place)
    undo = robot.window.jobs_bar.undo
    robot.wait(lambda: undo.isVisible() and "deleting g" in undo.text(), "a way back")
    QTest.mouseClick(undo, Qt.MouseButton.LeftButton)
    robot.wait(lambda: robot.session.state.path == "/g" and "g" in robot.rows(), "what was deleted")
    assert contents(LocalStore(place)) == before


def test_for_good_is_said_before(robot: QtRobot, place: Path) -> None:
    on(robot, "/g")
    dialog = asked(robot, "remove-node")
    QTest.mouseClick(dialog.rows["trash"].editor, Qt.MouseButton.LeftButton, pos=QPoint(8, 8))
    robot.wait(lambda: "cannot be undone" in dialog.mark.text(), "the warning")
    robot.wait(lambda: "g/zarr.json" in dialog.plan.toPlainText() or "erase" in dialog.plan.toPlainText(), "the plan")
    assert dialog.mark.font().bold()
    dialog.reject()


def test_an_array_is_made_by_a_form(robot: QtRobot, place: Path) -> None:
    on(robot, "/g")
    dialog = asked(robot, "create-array")
    assert not dialog.act.isEnabled()
    type_in(dialog, "to", "/g/new")
    type_in(dialog, "shape", "64, 512, 512")
    robot.wait(lambda: "32.0 MiB" in dialog.rows["shape"].hint.text(), "the bytes")
    type_in(dialog, "chunks", "16,256,256")
    robot.wait(lambda: "16 chunks of 2.0 MiB" in dialog.rows["chunks"].hint.text(), "16 chunks of 2.0 MiB")
    type_in(dialog, "shards", "16,256,300")
    robot.wait(lambda: "do not divide" in dialog.rows["shards"].hint.text(), "do not divide")
    type_in(dialog, "shards", "64,512,512")
    robot.wait(lambda: "1 file" in dialog.rows["shards"].hint.text(), "1 file")
    robot.wait(lambda: dialog.act.isEnabled(), "the plan")
    QTest.mouseClick(dialog.act, Qt.MouseButton.LeftButton)
    robot.wait(lambda: robot.session.state.path == "/g/new", "the array")
    made = as_array(zarrscope.open(place)["/g/new"])
    assert (made.shape, made.chunks, made.shards) == ((64, 512, 512), (16, 256, 256), (64, 512, 512))
    robot.window.run("undo-node")
    robot.wait(lambda: robot.session.state.path == "/g", "the group")
    assert "/g/new" not in zarrscope.open(place)


def test_a_place_is_typed_and_the_plan_follows(robot: QtRobot, place: Path) -> None:
    on(robot, "/other")
    dialog = asked(robot, "move-node")
    assert not dialog.act.isEnabled()
    type_in(dialog, "to", "/g/in/here")
    robot.wait(lambda: "other/ → g/in/here/" in dialog.plan.toPlainText(), "the plan")
    robot.wait(lambda: dialog.act.isEnabled(), "the button")
    QTest.mouseClick(dialog.act, Qt.MouseButton.LeftButton)
    robot.wait(lambda: robot.session.state.path == "/g/in/here", "the node at its place")
    assert is_whole(zarrscope.open(place), "/g/in/here", "/other")


def test_nothing_is_offered_where_nothing_may_be_changed(robot: QtRobot) -> None:
    actions = robot.window.menus.actions
    on(robot, "/other")
    of_images = {"add-labels", "build-levels"}
    assert all(actions[id].isEnabled() for id in NODE_COMMANDS if id not in of_images)
    assert not any(actions[id].isEnabled() for id in of_images)
    on(robot, "/")
    at_root = {"create-group", "create-array", "restore-node", "empty-trash", "convert-node", "consolidate"}
    assert {id for id in NODE_COMMANDS if actions[id].isEnabled()} == at_root
    on(robot, "/other")
    robot.session.set_writable(False)
    robot.wait(lambda: not robot.session.state.writable and not actions["remove-node"].isEnabled(), "read-only")
    assert {id for id in NODE_COMMANDS if actions[id].isEnabled()} == {"convert-node"}
    robot.window.run("rename-node")
    assert not robot.window.tree.view.findChildren(QLineEdit)


def test_no_bare_key_takes_anything_away(robot: QtRobot, place: Path) -> None:
    on(robot, "/other")
    for key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
        QTest.keyClick(robot.window.tree.view, key)
    assert not [found for found in COMMANDS if {"Del", "Delete", "Backspace"} & {*found.keys}]
    assert robot.window.nodes.dialog is None
    assert is_whole(zarrscope.open(place), "/other", "/other")


def test_a_job_says_how_it_ended(robot: QtRobot, place: Path) -> None:
    bar = robot.window.jobs_bar
    on(robot, "/g")
    robot.session.nodes.rename("/g", "other")
    robot.wait(lambda: "already" in bar.failure.sentence, "why it failed")
    assert bar.failure.sentence.startswith("Rename g: "), "what failed"
    robot.wait(lambda: not bar.isVisible(), "nothing beside it")
    QTest.mouseClick(close_button(bar.failure), Qt.MouseButton.LeftButton)
    robot.wait(lambda: not bar.failure.isVisible(), "read, and put away")
    robot.session.nodes.rename("/g", "h")
    robot.wait(lambda: bar.isVisible() and "Rename g: Done." in bar.text.text(), "that it is done")
    assert bar.undo.text() == "Undo renaming g"
    assert "/h" in zarrscope.open(place)


def close_button(bar: ErrorBar) -> QToolButton:
    """The button that closes an error bar."""
    [button] = bar.findChildren(QToolButton)
    return button


@pytest.mark.parametrize("width", [1000, 1400])
def test_the_advice_for_a_failed_job_is_shown_whole(robot: QtRobot, place: Path, width: int) -> None:
    robot.window.resize(width, 700)

    def full(*arguments: Any) -> None:
        error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise failure(error, "written", store=str(place), key="other/c/0/0", new=True)

    robot.session.jobs.run("New array", full)
    robot.wait(lambda: bool(robot.session.jobs.items) and not robot.session.jobs.running, "the failure")
    [job] = robot.session.jobs.items
    said = f"New array: {job.sentence}"
    assert "make room" in said

    def shown_whole() -> bool:
        found = [label for label in robot.window.findChildren(QLabel) if label.text() == said and label.isVisible()]
        return any(
            label.width() >= label.fontMetrics().horizontalAdvance(said)
            or (label.wordWrap() and label.height() >= label.heightForWidth(label.width()))
            for label in found
        )

    robot.wait(shown_whole, "the sentence with its advice")


def test_a_failure_stays_while_another_job_runs(robot: QtRobot, place: Path) -> None:
    bar, go_on = robot.window.jobs_bar, threading.Event()
    on(robot, "/g")
    robot.session.nodes.rename("/g", "other")
    robot.wait(lambda: "already" in bar.failure.sentence, "why it failed")
    robot.session.jobs.run("Copy", lambda report, cancelled: go_on.wait(30))
    robot.wait(lambda: bar.isVisible() and bar.text.text() == "Copy", "the running job")
    assert "already" in bar.failure.sentence
    go_on.set()
    robot.wait(lambda: bar.text.text() == "Copy: Done." and not bar.failure.isVisible(), "the later result")


def test_a_long_sentence_about_a_job_ends_with_an_ellipsis(robot: QtRobot, place: Path) -> None:
    bar, long = robot.window.jobs_bar, "copying: " + "many " * 200
    robot.session.jobs.run("Copy", lambda report, cancelled: report(0.5, long))
    robot.wait(lambda: bar.isVisible() and "Copy: Done." in bar.text.text(), "the end")
    bar.text.setText(long)
    robot.wait(lambda: bar.text.width() > 100, "the layout of the bar")
    drawn = bar.text.grab().toImage()
    bar.text.setText(bar.text.fontMetrics().elidedText(long, Qt.TextElideMode.ElideRight, bar.text.width()))
    assert bar.text.text().endswith("…")
    assert bar.text.grab().toImage() == drawn
