"""The Qt window: tree model, keys, stored settings, and that closing leaves no thread or widget."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from qtpy.QtCore import QItemSelectionModel, QMimeData, QPoint, QPointF, QRect, Qt, QUrl
from qtpy.QtGui import QColor, QDropEvent, QPalette, QWheelEvent
from qtpy.QtTest import QAbstractItemModelTester
from qtpy.QtWidgets import QApplication, QPlainTextEdit, QPushButton

import zarrscope
from contracts.journeys import PLANES, SIDE, Shelf, labelled_image, small_image, tree_of_all_kinds
from narrowing import not_none
from qt_robot import QTest, QtRobot
from zarrscope.stores import memory
from zarrscope_app.presenters import MemorySettings
from zarrscope_app.presenters.commands import COMMANDS, is_plain
from zarrscope_app.qt.contrast import ContrastStrip
from zarrscope_app.qt.review import CloseQuestion
from zarrscope_app.qt.theme import icon, is_dark
from zarrscope_app.qt.window import Window
from zarrscope_app.settings import FileSettings
from zarrscope_resources import icons


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    shelf = Shelf()
    yield shelf
    shelf.release()
    memory._named.pop(shelf.address.removeprefix("memory://"), None)


def image(robot: QtRobot, shelf: Shelf) -> None:
    """The image of `small_image` in a window."""
    small_image(shelf)
    robot.open(f"{shelf.address}/image")
    robot.wait(
        lambda: bool(robot.session.slice.frame.tiles) and not robot.session.slice.frame.loading, "a whole picture"
    )


# ---------------------------------------------------------------------- the tree
def test_the_tree_model_keeps_qts_rules(robot: QtRobot, shelf: Shelf) -> None:
    tree_of_all_kinds(shelf)
    robot.open(shelf.address)
    model = robot.window.tree.model
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Warning)
    # A view calls fetchMore itself, which confuses the model tester.
    tester.setUseFetchMore(False)
    robot.wait(lambda: robot.rows() == ["empty", "line", "many", "strange"], "the children of the root")
    robot.expand("/many")
    robot.wait(lambda: "img10" in robot.rows(), "the children of /many")
    QTest.keyClicks(robot.window.tree.filter, "img")
    robot.wait(lambda: robot.rows() == ["many", "img1", "img2", "img10"], "the filtered tree")
    robot.window.tree.filter.clear()
    robot.wait(lambda: "empty" in robot.rows(), "the whole tree")


def test_the_tree_goes_with_the_keyboard(robot: QtRobot, shelf: Shelf) -> None:
    tree_of_all_kinds(shelf)
    robot.open(shelf.address)
    robot.wait(lambda: "many" in robot.rows(), "the children of the root")
    view = robot.window.tree.view
    view.setFocus()
    robot.select("/line")
    QTest.keyClick(view, Qt.Key.Key_Down)
    robot.wait(lambda: robot.session.state.path == "/many", "the node below")
    QTest.keyClick(view, Qt.Key.Key_Right)
    robot.wait(lambda: "img1" in robot.rows(), "the children of /many")
    QTest.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert not_none(QApplication.clipboard()).text() == f"{shelf.address}/many"
    QTest.keyClicks(view, "stra")
    robot.wait(lambda: robot.session.state.path == "/strange", "the node whose name was typed")


def test_the_tree_folds_and_unfolds_by_keys(robot: QtRobot, tmp_path: Path) -> None:
    with zarrscope.open(tmp_path / "x.zarr", "w-") as made:
        for path in ("/a/b/c", "/a/d/e", "/f/g"):
            made.create_group(path)
    robot.open(str(tmp_path / "x.zarr"))
    robot.wait(lambda: robot.rows() == ["a", "f"], "the first rows")
    view = robot.window.tree.view
    robot.select("/a")
    view.setFocus()
    QTest.keyClicks(view, "+")
    robot.wait(lambda: robot.rows() == ["a", "b", "d", "f"], "the row unfolded")
    QTest.keyClicks(view, "-")
    robot.wait(lambda: robot.rows() == ["a", "f"], "the row folded")
    QTest.keyClicks(view, "*")
    robot.wait(lambda: robot.rows() == ["a", "b", "c", "d", "e", "f"], "all beneath the row, and nothing else")


# ---------------------------------------------------------------------- keys
def test_plain_keys_act_on_the_picture_and_not_in_text_fields(robot: QtRobot, shelf: Shelf) -> None:
    image(robot, shelf)
    canvas, picture = robot.window.image.canvas, robot.session.slice
    canvas.setFocus()

    def index() -> int:
        return picture.state.axes[0].index

    QTest.keyClick(canvas, Qt.Key.Key_Right)
    assert index() == 1
    QTest.keyClick(canvas, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert index() == 11
    QTest.keyClick(canvas, Qt.Key.Key_End)
    assert index() == PLANES - 1
    QTest.keyClick(canvas, Qt.Key.Key_Home)
    assert index() == 0
    QTest.keyClicks(canvas, "1")
    assert not picture.state.channels[0].visible
    QTest.keyClicks(canvas, "1")
    assert picture.state.channels[0].visible
    QTest.keyClicks(canvas, "y")
    assert QApplication.clipboard().text() == robot.session.state.address
    QTest.keyClicks(canvas, "/")
    field = robot.window.tree.filter
    assert field.hasFocus()
    QTest.keyClicks(field, "1ayl/")
    assert field.text() == "1ayl/"
    assert picture.state.channels[0].visible
    assert not picture.state.locked


def turn(canvas: Any, by: int, keys: Any = Qt.KeyboardModifier.NoModifier) -> None:
    """Turns the wheel over the middle of a picture; 120 is one notch."""
    middle = QPointF(canvas.rect().center())
    turned = QWheelEvent(
        middle, canvas.mapToGlobal(middle), QPoint(), QPoint(0, by), Qt.MouseButton.NoButton, keys,
        Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(canvas, turned)


def test_the_wheel_zooms_and_steps_with_shift(robot: QtRobot, shelf: Shelf) -> None:
    image(robot, shelf)
    canvas, picture = robot.window.image.canvas, robot.session.slice

    def index() -> int:
        return picture.state.axes[0].index

    zoom = canvas.zoom
    turn(canvas, 120)
    assert canvas.zoom > zoom
    turn(canvas, -120)
    assert canvas.zoom == pytest.approx(zoom)
    first = index()
    shift = Qt.KeyboardModifier.ShiftModifier
    turn(canvas, 120, shift)
    assert index() == first + 1
    for _ in range(8):  # as a touchpad reports one notch
        turn(canvas, 15, shift)
    assert index() == first + 2
    turn(canvas, 90, shift)
    turn(canvas, -90, shift)
    assert index() == first + 2, "what was turned into one direction does not count for the other"
    turn(canvas, -240, shift)
    assert index() == first
    assert canvas.zoom == pytest.approx(zoom)


def test_zoom_keeps_the_place_under_the_cursor_and_fit_brings_all_back(robot: QtRobot, shelf: Shelf) -> None:
    image(robot, shelf)
    canvas = robot.window.image.canvas
    fitted, at = canvas.zoom, QPointF(150.0, 210.0)
    before = canvas.to_plane(at)
    canvas.zoom_by(2.0, at)
    assert canvas.to_plane(at) == pytest.approx(before)
    assert canvas.zoom == pytest.approx(2 * fitted)
    canvas.setFocus()
    QTest.keyClicks(canvas, "0")
    assert canvas.zoom == pytest.approx(fitted)
    y0, x0, y1, x1 = canvas.visible_rect
    assert y0 <= 0
    assert x0 <= 0
    assert y1 >= SIDE
    assert x1 >= SIDE


def test_every_command_of_the_table_is_in_a_menu(robot: QtRobot) -> None:
    shown = set(robot.window.menus.actions) | set(robot.window.menus.menus)
    assert {found.id for found in COMMANDS if found.menu} <= shown
    plain = [key for found in COMMANDS for key in found.keys if is_plain(key)]
    assert len(plain) == len(set(plain)), "one key, one meaning"


# ---------------------------------------------------------------------- parts
def test_dragging_a_handle_of_the_contrast_strip(qtbot: Any) -> None:
    strip = ContrastStrip()
    qtbot.addWidget(strip)
    strip.resize(214, 44)
    strip.show_levels((0.0, 1.0, 0.5, 0.1), (0.0, 200.0), (50.0, 150.0), QColor(255, 0, 0))
    strip.show()
    middle = strip.height() // 2
    moved: list[tuple[float, float]] = []
    strip.levels_dragged.connect(lambda lo, hi: moved.append((lo, hi)))
    press = strip.rect().topLeft()
    press.setX(157)
    press.setY(middle)
    target = strip.rect().topLeft()
    target.setX(187)
    target.setY(middle)
    QTest.mousePress(strip, Qt.MouseButton.LeftButton, pos=press)
    QTest.mouseMove(strip, target)
    qtbot.waitUntil(lambda: bool(moved), timeout=20_000)
    QTest.mouseRelease(strip, Qt.MouseButton.LeftButton, pos=target)
    assert moved[-1] == (50.0, pytest.approx(180.0))  # type: ignore[comparison-overlap]  # approx compares with a float
    with qtbot.waitSignal(strip.auto_asked, timeout=20_000):
        QTest.mouseDClick(strip, Qt.MouseButton.LeftButton, pos=press)


def test_a_key_moves_a_handle_by_at_least_one_step(qtbot: Any) -> None:
    """A narrow range on a wide strip: a change of less than one step would be rounded to none."""
    strip = ContrastStrip()
    qtbot.addWidget(strip)
    strip.resize(1000, 44)
    strip.show_levels((), (0.0, 50.0), (10.0, 40.0), QColor(255, 0, 0), 1.0)
    QTest.keyClick(strip, Qt.Key.Key_Right)
    QTest.keyClick(strip, Qt.Key.Key_Left, Qt.KeyboardModifier.ControlModifier)
    assert strip.levels == (11.0, 39.0)


def test_labels_can_be_laid_over_the_picture(robot: QtRobot, shelf: Shelf) -> None:
    labelled_image(shelf)
    robot.open(f"{shelf.address}/image")
    robot.wait(lambda: bool(robot.session.slice.state.labels), "the label image")
    robot.wait(lambda: bool(robot.window.channels._labels), "the label's row")
    before = robot.picture()[robot.picture().shape[0] // 4, robot.picture().shape[1] // 4].copy()
    (row,) = robot.window.channels._labels.values()
    row.visible.click()
    robot.wait(
        lambda: (robot.picture()[robot.picture().shape[0] // 4, robot.picture().shape[1] // 4] != before).any(),
        "the label over the picture",
    )


def test_icons_are_drawn_in_the_palettes_colour(qtbot: Any) -> None:
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    palette = application.palette()
    try:
        for dark in (False, True):
            application.setPalette(QPalette(QColor(40, 40, 40) if dark else QColor(240, 240, 240)))
            assert is_dark(application.palette()) is dark
            ink = application.palette().color(QPalette.ColorRole.WindowText).lightness()
            for name in icons.names():
                drawn = icon(name).pixmap(32, 32).toImage()
                shades = {
                    drawn.pixelColor(x, y).lightness()
                    for x in range(drawn.width())
                    for y in range(drawn.height())
                    if drawn.pixelColor(x, y).alpha() == 255
                }
                assert shades == {ink}, name
    finally:
        application.setPalette(palette)


def test_a_dropped_folder_opens(robot: QtRobot, tmp_path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path))])
    event = QDropEvent(
        QPointF(10, 10), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    )
    robot.window.dropEvent(event)
    current = robot.window.workspace.current
    assert current is not None
    assert str(tmp_path) in current.state.url
    assert [place.url for place in robot.window.workspace.recent] in ([], [current.state.url])


# ---------------------------------------------------------------------- closing
@pytest.mark.parametrize("answer", ["cancel", "discard", "save"])
def test_closing_over_changes_asks_once(
    robot: QtRobot, shelf: Shelf, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree_of_all_kinds(shelf)
    before = shelf.get("many/zarr.json")
    robot.open(f"{shelf.address}/many", writable=True)
    robot.wait(lambda: robot.session.edit.field("/scale") is not None, "the form")
    robot.session.set_tab("attributes")
    robot.edit("/scale", "0.108")
    robot.wait(lambda: bool(robot.session.state.unsaved), "the change")
    asked: list[str] = []

    def exec_(question: CloseQuestion) -> int:
        asked.append(answer)
        question.answer = answer  # type: ignore[assignment]  # one of the answers
        return 0

    monkeypatch.setattr(CloseQuestion, "exec", exec_)
    robot.window.close()
    assert asked == [answer]
    if answer == "cancel":
        assert robot.window.isVisible()
        assert shelf.get("many/zarr.json") == before
    else:
        robot.wait(lambda: not robot.window.isVisible(), "the window to close")
        assert (b"0.108" in (shelf.get("many/zarr.json") or b"")) is (answer == "save")
        assert len(asked) == 1


@pytest.mark.parametrize("answer", ["save", "discard", "cancel"])
def test_closing_over_texts_that_wait_asks(
    robot: QtRobot, shelf: Shelf, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree_of_all_kinds(shelf)
    before = shelf.get("many/zarr.json")
    robot.open(f"{shelf.address}/many")
    robot.wait(lambda: robot.session.edit.field("/scale") is not None, "the form")
    robot.session.edit.edit("/scale", "0.108")
    asked: list[str] = []

    def exec_(question: CloseQuestion) -> int:
        asked.append(question.findChild(QPlainTextEdit).toPlainText())
        enabled = [button.text() for button in question.findChildren(QPushButton) if button.isEnabled()]
        assert enabled[0] == "Open for writing"
        question.answer = answer  # type: ignore[assignment]  # one of the answers
        return 0

    monkeypatch.setattr(CloseQuestion, "exec", exec_)
    robot.window.close()
    assert len(asked) == 1
    assert "0.108" in asked[0]
    assert robot.window.isVisible() is (answer != "discard")
    if answer == "save":
        robot.wait(lambda: bool(robot.session.edit.dirty_paths), "the text in the opened hierarchy")
        assert not_none(robot.session.edit.field("/scale")).text == "0.108"
    assert shelf.get("many/zarr.json") == before


def test_a_closed_window_is_forgotten(qtbot: Any, shelf: Shelf) -> None:
    tree_of_all_kinds(shelf)
    before = len(QApplication.allWidgets())
    gone: list[weakref.ref[Any]] = []
    for _ in range(3):
        window = Window(MemorySettings())
        window.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        window.show()
        window.open(shelf.address)
        session = window.workspace.current
        assert session is not None
        qtbot.waitUntil(lambda session=session: session.tree.count(0) == 4, timeout=20_000)
        gone += [weakref.ref(window), weakref.ref(session)]
        with qtbot.waitSignal(window.destroyed, timeout=20_000):
            window.close()
        del window, session
    gc.collect()
    QApplication.processEvents()
    assert len(QApplication.allWidgets()) <= before
    gc.collect()
    # The last window and its session are left out: the object that waited for this window to close still refers to it.
    assert [found() for found in gone[:-2]] == [None] * 4


# ---------------------------------------------------------------------- settings
def test_geometry_outlives_the_window_and_broken_settings_do_no_harm(qtbot: Any, tmp_path: Path) -> None:
    first = Window(FileSettings(tmp_path))
    qtbot.addWidget(first)
    first.show()
    first.resize(901, 633)
    first.close()
    second = Window(FileSettings(tmp_path))
    qtbot.addWidget(second)
    assert (second.width(), second.height()) == (901, 633)
    for file in tmp_path.iterdir():
        file.write_text("{ not ours")
    third = Window(FileSettings(tmp_path))
    qtbot.addWidget(third)
    assert (third.width(), third.height()) == (1200, 800)


# ---------------------------------------------------------------------- Ctrl+W, Ctrl+C
@pytest.mark.parametrize("answer", ["cancel", "discard", "save"])
def test_closing_a_place_over_changes_saves_those_of_all_nodes(
    robot: QtRobot, shelf: Shelf, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree_of_all_kinds(shelf)
    robot.open(f"{shelf.address}/many", writable=True)
    session = robot.session
    for path, pointer in (("/many", "/scale"), ("/many/img1", "")):
        session.select(path)
        robot.wait(lambda path=path: session.edit.state.path == path and bool(session.edit.state.fields), "the form")  # type: ignore[misc]  # mypy does not type the default of a lambda
        session.set_tab("attributes")
        if pointer:
            robot.edit(pointer, "0.108")
            robot.wait(lambda: bool(session.edit.dirty_paths), "the edit: Qt applies it after the Return key")
        else:
            session.edit.add("", "new", "1")
    robot.wait(lambda: len(session.edit.dirty_paths) == 2, "two nodes with changes")
    asked: list[str] = []

    def exec_(question: CloseQuestion) -> int:
        asked.append(question.findChild(QPlainTextEdit).toPlainText())
        question.answer = answer  # type: ignore[assignment]  # one of the answers
        return 0

    monkeypatch.setattr(CloseQuestion, "exec", exec_)
    QTest.keyClick(robot.window, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    if answer == "cancel":
        assert robot.window.workspace.current is session
    else:
        robot.wait(lambda: robot.window.workspace.current is None, "the place to close")
    (text,) = asked
    assert "0.108" in text
    assert '"new"' in text
    assert robot.window.isVisible()
    assert (b"0.108" in (shelf.get("many/zarr.json") or b"")) is (answer == "save")
    assert (b'"new"' in (shelf.get("many/img1/zarr.json") or b"")) is (answer == "save")


def test_a_save_that_fails_keeps_the_place_open(robot: QtRobot, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    tree_of_all_kinds(shelf)
    robot.open(f"{shelf.address}/many", writable=True)
    robot.wait(lambda: robot.session.edit.field("/scale") is not None, "the form")
    robot.session.set_tab("attributes")
    robot.edit("/scale", "0.108")
    shelf.failing.add("many/zarr.json")
    monkeypatch.setattr(CloseQuestion, "exec", lambda question: setattr(question, "answer", "save"))
    QTest.keyClick(robot.window, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    robot.wait(lambda: robot.sees("503"), "why it could not be saved")
    assert robot.window.workspace.current is robot.session
    assert not_none(robot.session.edit.field("/scale")).text == "0.108"


def test_ctrl_c_in_values_copies_the_cells(robot: QtRobot, shelf: Shelf) -> None:
    tree_of_all_kinds(shelf)
    robot.open(f"{shelf.address}/many/img1")
    robot.wait(lambda: robot.session.node is not None, "the node")
    robot.session.set_tab("values")
    view = robot.window.values.view
    robot.wait(lambda: view.isVisible() and not_none(view.model()).rowCount() == 4, "the table")
    view.setFocus()
    for row in (1, 2):
        for column in (0, 1, 2):
            not_none(view.selectionModel()).select(
                not_none(view.model()).index(row, column), QItemSelectionModel.SelectionFlag.Select
            )
    not_none(QApplication.clipboard()).clear()
    QTest.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    robot.wait(lambda: not_none(QApplication.clipboard()).text() != "", "the clipboard")
    assert not_none(QApplication.clipboard()).text() == "1\t2\t3\n7\t8\t9"


def test_a_label_image_by_itself_has_its_row_at_the_right(robot: QtRobot, shelf: Shelf) -> None:
    labelled_image(shelf)
    robot.open(f"{shelf.address}/image/labels/cells")
    robot.wait(lambda: bool(robot.window.channels._labels), "the label's row")
    assert robot.window.channels.isVisible()

    def corner() -> tuple[int, ...]:
        picture = robot.picture()
        return tuple(int(v) for v in picture[picture.shape[0] // 3, picture.shape[1] // 3])

    robot.wait(lambda: corner() == (255, 0, 0), "label 1 in the colour that the file states")
    robot.hover(3.5, 4.5)
    robot.wait(lambda: robot.sees("cells 1"), "the label's name and value")
    robot.slide("z", [5])
    robot.wait(lambda: robot.sees("z 5 y 3 x 4") and robot.sees("cells 1"), "the readout after a step")


# ---------------------------------------------------------------------- panels
def test_panels_are_moved_hidden_and_remembered(qtbot: Any, tmp_path: Path, shelf: Shelf) -> None:
    small_image(shelf)

    def opened() -> Window:
        window = Window(FileSettings(tmp_path))
        qtbot.addWidget(window)
        window.show()
        window.activateWindow()
        qtbot.waitActive(window, timeout=20_000)
        window.open(f"{shelf.address}/image")
        session = window.workspace.current
        assert session is not None
        seen = (window.channels, window.image.canvas)
        qtbot.waitUntil(
            lambda: bool(session.slice.state.channels) and all(each.isVisible() for each in seen), timeout=20_000
        )
        return window

    def places(window: Window) -> list[int]:
        """How far to the right the tree and the tabs begin."""
        return [part.mapTo(window, QPoint(0, 0)).x() for part in (window.tree, window.tabs)]

    first = opened()
    assert first.tree.width() < first.tabs.width()
    assert first.channels.x() >= 0
    first.panels.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, first.panels.panels["tree"])
    qtbot.waitUntil(lambda: places(first)[0] > places(first)[1], timeout=20_000)
    QTest.keyClicks(first.image.canvas, "\\")
    assert not first.tree.isVisible()
    QTest.keyClicks(first.image.canvas, "\\")
    assert first.tree.isVisible()
    first.panels.panels["channels"].close()  # by the button in its title bar
    assert not first.menus.actions["panel-channels"].isChecked()
    session = first.workspace.current
    assert session is not None
    session.set_tab("info")
    session.set_tab("image")
    qtbot.wait(50)
    assert not first.channels.isVisible()
    first.close()
    second = Window(FileSettings(tmp_path))
    qtbot.addWidget(second)
    second.show()
    second.open(f"{shelf.address}/image")
    session = second.workspace.current
    assert session is not None
    qtbot.waitUntil(lambda: bool(session.slice.state.channels), timeout=20_000)
    qtbot.waitUntil(lambda: places(second)[0] > places(second)[1], timeout=20_000)
    assert not second.channels.isVisible()
    second.run("panels-reset")
    qtbot.waitUntil(lambda: places(second)[0] < places(second)[1], timeout=20_000)
    qtbot.waitUntil(second.channels.isVisible, timeout=20_000)  # it appears when the image does
    second.close()


def test_keys_work_in_a_panel_that_was_taken_out(robot: QtRobot, shelf: Shelf) -> None:
    image(robot, shelf)
    panel = robot.window.panels.panels["channels"]
    panel.setFloating(True)
    robot.wait(panel.isVisible, "the panel in a window of its own")
    robot.window.image.canvas.setFocus()  # in a text field the same keys type letters
    QTest.keyClicks(robot.window.channels, "1")
    assert not robot.session.slice.state.channels[0].visible
    QTest.keyClicks(robot.window.channels, ".")
    assert not robot.session.slice.state.dots
    robot.window.run("panels-reset")
    assert not panel.isFloating()


LONG = "measured on monday in the other room"


def test_beside_a_long_name_a_sign_has_no_rest_of_its_text(
    robot: QtRobot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "…" or "2-…" would say nothing; the sign says that something is wrong, and its tooltip says what."""
    from zarrscope_app.qt.tree_view import RowPainter

    with zarrscope.open(tmp_path / "x.zarr", "w-") as made:
        for name in (LONG, "b"):
            made.create_array(f"/{name}", shape=(4, 4), dtype="u1")
            document = tmp_path / "x.zarr" / name / "zarr.json"
            document.write_text(json.dumps({**json.loads(document.read_text()), "fill_value": [1]}))
    robot.open(str(tmp_path / "x.zarr"))
    view = robot.window.tree.view

    def signed(name: str) -> bool:
        beside = robot._find(f"/{name}").siblingAtColumn(1)
        return bool(beside.data()) and beside.data(Qt.ItemDataRole.DecorationRole) is not None

    robot.wait(lambda: signed(LONG) and signed("b"), "the signs and the texts")
    painted: dict[str, str] = {}
    usual = RowPainter.initStyleOption

    def watched(painter: Any, option: Any, index: Any) -> None:
        usual(painter, option, index)
        if index.column():
            painted[index.siblingAtColumn(0).data()] = option.text

    monkeypatch.setattr(RowPainter, "initStyleOption", watched)
    painted.clear()
    not_none(view.viewport()).grab()
    assert (painted[LONG], painted["b"]) == ("", robot._find("/b").siblingAtColumn(1).data())


@pytest.mark.parametrize(("root", "name", "kept"), [("x", "a", True), ("x", LONG, False), (LONG, "a", True)])
def test_the_second_column_gives_way_to_long_names(
    robot: QtRobot, tmp_path: Path, root: str, name: str, kept: bool
) -> None:
    """A long name takes the width of both columns if the second one has no text, and beside a text as much as
    it needs; the texts beside short names stay whole."""
    with zarrscope.open(tmp_path / f"{root}.zarr", "w-") as made:
        for each in (name, "b"):
            made.create_array(f"/{each}", shape=(4, 4, 4, 4, 4), dtype="complex128")
    robot.open(str(tmp_path / f"{root}.zarr"))
    robot.wait(lambda: robot._find(f"/{name}").siblingAtColumn(1).data() == "5-D complex128", "the second column")
    view, model = robot.window.tree.view, robot.window.tree.model
    header, wide = view.header(), not_none(view.viewport()).width()
    robot.wait(lambda: not_none(header).sectionSize(0) + not_none(header).sectionSize(1) <= wide, "the columns to fit")
    needed = view.fontMetrics().horizontalAdvance("5-D complex128")
    assert not_none(header).sectionSize(1) > needed, "rows with short names show the whole text"

    def room(path: str, column: int) -> QRect:
        index = robot._find(path).siblingAtColumn(column)
        assert model is not None
        return view.room(model, index, view.visualRect(index))

    assert (room(f"/{name}", 1).width() > needed) == kept
    assert room(f"/{name}", 0).right() + 1 == room(f"/{name}", 1).left()
    assert kept or room(f"/{name}", 1).width() < wide // 4, "a rest of the text would say nothing"
    assert room("/b", 1).width() > needed
    assert room("/", 0).right() == wide - 1
