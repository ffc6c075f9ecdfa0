"""The rules of desktop applications: every control has a name; a small screen and the keyboard suffice."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from qtpy import QtTest
from qtpy.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from qtpy.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent, QPalette
from qtpy.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QScrollBar,
    QTabBar,
    QTextBrowser,
    QWidget,
)

from contracts.journeys import Shelf, labelled_image, small_image
from narrowing import not_none
from qt_robot import QtRobot
from zarrscope_app.presenters import SessionStatus
from zarrscope_app.presenters.commands import COMMANDS, MENUS, command

QTest: Any = QtTest.QTest  # PyQt6 declares its static functions as methods
CONTROLS = (
    QAbstractButton, QAbstractItemView, QAbstractSlider, QAbstractSpinBox, QComboBox, QLineEdit, QPlainTextEdit,
    QTextBrowser,
)  # fmt: skip
PARTS = (QComboBox, QTabBar, QAbstractSpinBox, QLineEdit)
"""The parts of these widgets have names of their own."""
ALT, CTRL = Qt.KeyboardModifier.AltModifier, Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def shelf() -> Shelf:
    made = Shelf()
    labelled_image(made)
    return made


@pytest.fixture
def robot(qtbot: Any, shelf: Shelf) -> Iterator[QtRobot]:
    made = QtRobot(qtbot)
    made.open(shelf.address)
    made.session.select("/image")
    made.wait(lambda: made.session.slice.state.kind == "image", "the picture")
    yield made
    made.close()


def _in_front(robot: QtRobot, tab: str) -> bool:
    """Whether the tab is selected."""
    return robot.session.state.tab == tab and robot.window.tabs.currentWidget() is robot.window.tabs.pages[tab]


def tabs(robot: QtRobot) -> Iterator[str]:
    """Selects each tab that applies to the node, one after the other."""
    for tab in robot.session.state.tabs:
        if tab.enabled:
            robot.session.set_tab(tab.id)
            robot.wait(partial(_in_front, robot, tab.id), tab.id)
            yield tab.id


def said(widget: QWidget) -> str:
    """The name of a control for screen readers."""
    return widget.accessibleName() or (widget.text() if isinstance(widget, QAbstractButton) else "")


def test_every_control_has_a_name(robot: QtRobot) -> None:
    robot.window.run("blend")
    nameless = set()
    for tab in tabs(robot):
        for widget in robot.window.findChildren(QWidget):
            inside = any(
                isinstance(above, QComboBox | QTabBar | QAbstractSpinBox | QLineEdit) for above in _above(widget)
            )
            if not widget.isVisible() or inside or isinstance(widget, QScrollBar | QLabel):
                continue
            takes_keys = widget.focusPolicy() != Qt.FocusPolicy.NoFocus and type(widget).__module__.startswith("zarr")
            if (isinstance(widget, CONTROLS) or takes_keys) and not said(widget).strip():
                nameless.add(f"{tab}: {type(widget).__name__} {widget.toolTip()} in {type(widget.parent()).__name__}")
    assert not nameless


def _above(widget: QWidget) -> Iterator[Any]:
    above = widget.parent()
    while above is not None:
        yield above
        above = above.parent()


def test_the_scroll_bar_of_the_channels_hides_none_of_their_controls(robot: QtRobot) -> None:
    panel = robot.window.channels
    robot.wait(lambda: bool(panel._labels), "the labels")
    robot.session.slice.set_levels(0, 11111.25, 22222.75)
    bar, inside = panel.verticalScrollBar(), panel.widget()
    assert bar is not None
    assert inside is not None
    assert panel.minimumWidth() >= inside.minimumSizeHint().width() + bar.sizeHint().width()


def test_the_range_stands_beside_a_projection_alone(robot: QtRobot) -> None:
    bar, picture = robot.window.image.planes, robot.session.slice
    assert picture.state.projection.methods
    assert not bar.range.isVisible(), "one plane has no range"
    picture.project("max")
    robot.wait(bar.range.isVisible, "the range of the projection")
    picture.project("")
    robot.wait(lambda: not bar.range.isVisible(), "one plane again")


def test_the_window_fits_a_small_screen(robot: QtRobot) -> None:
    """900 x 600 points, which is also the size of a screen of 1,800 x 1,200 pixels at 200 %."""
    robot.window.run("blend")
    robot.window.run("three-views")
    robot.window.resize(900, 600)
    for tab in tabs(robot):
        QApplication.processEvents()
        least = robot.window.minimumSizeHint()
        assert (least.width() <= 900, least.height() <= 600) == (True, True), f"{tab} needs {least}"
    assert (robot.window.width(), robot.window.height()) == (900, 600)


def test_the_keyboard_is_enough_to_look(qtbot: Any, shelf: Shelf) -> None:
    robot = QtRobot(qtbot)

    def press(key: Qt.Key, held: Any = Qt.KeyboardModifier.NoModifier) -> None:
        QTest.keyClick(QApplication.focusWidget() or robot.window, key, held)
        QApplication.processEvents()

    def write(text: str) -> None:
        robot.wait(lambda: QApplication.focusWidget() is not None, "something to write into")
        QTest.keyClicks(QApplication.focusWidget(), text)

    robot.wait(robot.window.isActiveWindow, "the window in front")
    press(Qt.Key.Key_L, CTRL)
    robot.wait(robot.window.address.line.hasFocus, "the address line")
    write(shelf.address)
    press(Qt.Key.Key_Return)
    robot.wait(lambda: robot.window.workspace.current is not None, "the place")
    session = robot.window.workspace.current
    assert session is not None
    robot.session, picture = session, session.slice
    robot.wait(lambda: "image" in robot.rows(), "the tree")
    press(Qt.Key.Key_F, CTRL)
    press(Qt.Key.Key_Escape)
    robot.wait(robot.window.tree.view.hasFocus, "the tree")
    press(Qt.Key.Key_Down)
    robot.wait(lambda: picture.state.kind == "image", "the picture")
    robot.wait(robot.window.image.canvas.isVisible, "the picture on the screen")
    press(Qt.Key.Key_Return)
    robot.wait(robot.window.image.canvas.hasFocus, "the keys of the picture")
    # Another plane, one channel, its contrast, a place typed.
    before = picture.index
    press(Qt.Key.Key_Right)
    assert picture.index != before
    write("1")
    assert not picture.state.channels[0].visible
    write("1")
    write("g")
    write("0")
    press(Qt.Key.Key_Return)
    assert picture.index == before
    robot.window.image.canvas.setFocus()
    write("c")
    assert QApplication.focusWidget() is not robot.window.image.canvas
    write("7")
    press(Qt.Key.Key_Return)
    assert picture.state.channels[0].lo == 7
    # Back and forward, from tab to tab, and into the form.
    press(Qt.Key.Key_Left, ALT)
    robot.wait(lambda: session.state.path == "/" and not session.state.selecting, "the node before")
    press(Qt.Key.Key_Right, ALT)
    robot.wait(lambda: session.state.path == "/image" and picture.state.kind == "image", "the picture again")
    robot.wait(lambda: session.state.tab == "image", "its tab")
    for tab in ("values", "attributes", "chunks", "info", "problems", "image"):
        press(Qt.Key.Key_PageDown, CTRL)
        robot.wait(partial(_in_front, robot, tab), tab)
    robot.window.image.canvas.setFocus()
    write("e")
    robot.wait(lambda: session.state.tab == "attributes", "the form")
    robot.wait(lambda: robot.window.form.isAncestorOf(QApplication.focusWidget()), "the form's first field")
    robot.close()


def test_menus_and_keys_are_those_of_a_desktop(robot: QtRobot) -> None:
    assert [title.replace("&", "") for _, title in MENUS] == ["File", "Edit", "View", "Node", "Window", "Help"]
    wanted = {
        "open-file": "Ctrl+O", "open-folder": "Ctrl+Shift+O", "open-url": "Ctrl+U", "close": "Ctrl+W", "save": "Ctrl+S",
        "quit": "Ctrl+Q", "refresh": "F5", "undo": "Ctrl+Z", "redo": "Ctrl+Shift+Z", "find": "Ctrl+F",
        "rename-node": "F2", "transpose": "Ctrl+T", "roll": "Ctrl+E", "fit": "Ctrl+R", "copy-image": "Ctrl+Shift+S",
        "smooth": "I", "auto": "A", "alone": "S", "step-forward": "Right", "next-axis": "Down",
    }  # fmt: skip
    for id, keys in wanted.items():
        assert keys in command(id).keys, id
    assert not [found.id for found in COMMANDS if {"Del", "Delete", "Backspace"} & set(found.keys)]
    taken = [key for found in COMMANDS for key in found.keys]
    assert len(taken) == len(set(taken)), "one key, one command"


@pytest.mark.parametrize(
    ("offered", "taken"),
    [(("MoveAction", "CopyAction"), "CopyAction"), (("MoveAction", "LinkAction"), "LinkAction"),
     (("MoveAction",), "IgnoreAction")],
)  # fmt: skip
def test_a_dropped_file_is_never_moved(robot: QtRobot, tmp_path: Any, offered: tuple[str, ...], taken: str) -> None:
    """The program that offers files for moving deletes them when the other one has taken them."""
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path))])
    actions = Qt.DropAction.IgnoreAction
    for name in offered:
        actions |= getattr(Qt.DropAction, name)
    held = (actions, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier)
    comes, moves = QDragEnterEvent(QPoint(9, 9), *held), QDragMoveEvent(QPoint(9, 9), *held)
    drops = QDropEvent(QPointF(9, 9), *held)
    robot.window.dragEnterEvent(comes)
    robot.window.dragMoveEvent(moves)
    robot.window.dropEvent(drops)
    for event in (comes, moves, drops):
        assert event.proposedAction() == Qt.DropAction.MoveAction
        assert event.isAccepted()
        assert event.dropAction() == getattr(Qt.DropAction, taken)


def test_several_places_are_dropped_and_each_has_its_root(robot: QtRobot, tmp_path: Any) -> None:
    other = Shelf()
    small_image(other)
    data = QMimeData()
    data.setText(f"{other.address}\n")

    first = robot.session
    copied, left, plain = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    robot.window.dropEvent(QDropEvent(QPointF(9, 9), copied, data, left, plain))
    second = robot.window.workspace.current
    assert second is not None
    robot.wait(lambda: second.state.status is SessionStatus.READY, "the other place")
    assert robot.window.workspace.sessions == (first, second)
    menu = robot.window.menus.menus["window"]
    menu.aboutToShow.emit()
    assert [a.text() for a in menu.actions()][-2:] == [first.state.title, second.state.title]


def test_the_picture_is_copied_and_icons_follow_the_palette(robot: QtRobot) -> None:
    robot.wait(robot.session.slice._is_whole, "the picture")
    robot.window.run("copy-image")
    image = not_none(QApplication.clipboard()).image()
    assert image.width() >= robot.window.image.canvas.width()
    back = robot.window.image.canvas.grab().toImage().pixelColor(2, 2)
    dark = QPalette(QApplication.palette())
    for role, color in (
        (QPalette.ColorRole.Window, Qt.GlobalColor.black),
        (QPalette.ColorRole.WindowText, Qt.GlobalColor.white),
    ):
        dark.setColor(role, color)
    robot.window.image.canvas.setPalette(dark)
    assert robot.window.image.canvas.grab().toImage().pixelColor(2, 2) != back or back.lightness() < 128
