"""The work that the window does for a gesture: counts of paintings, snapshots and measured rows. Nothing is timed."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import qtpy
from qtpy.QtCore import QEvent, QModelIndex, QObject, QSize
from qtpy.QtWidgets import QApplication

import zarrscope
from narrowing import not_none
from qt_robot import QtRobot
from zarrscope.runtime.threads import JobResult
from zarrscope_app.presenters import EditStatus
from zarrscope_app.presenters.image import composition, navigation, tile_manager
from zarrscope_app.presenters.nodes import presenter as nodes
from zarrscope_app.presenters.session import session as sessions
from zarrscope_app.presenters.session.view_models import facts_of
from zarrscope_app.qt import tree_model
from zarrscope_app.qt.nodes import NodeActions
from zarrscope_resources import icons

PLANES, SIDE = 5, 1200
MANY = 60


@pytest.fixture
def robot(qtbot: Any, tmp_path: Path) -> Iterator[QtRobot]:
    place = str(tmp_path / "x.zarr")
    with zarrscope.open(place, "w-") as h:
        values = np.arange(PLANES * SIDE * SIDE, dtype="u4").astype("u2").reshape(PLANES, SIDE, SIDE)
        names = ("z", "y", "x")
        made = h.create_array("/stack", shape=values.shape, dtype="u2", chunks=(1, 300, 300), dimension_names=names)
        made[...] = values
        for number in range(MANY):
            h.create_array(f"/n{number}", shape=(2,) * (1 + number % 3), dtype="u1", chunks=(1,) * (1 + number % 3))
    robot = QtRobot(qtbot)
    robot.open(place)
    robot.session.select("/stack")
    whole(robot, "/stack")
    yield robot
    robot.close()


def whole(robot: QtRobot, path: str) -> None:
    picture = robot.session.slice
    robot.wait(lambda: robot.session.state.path == path and bool(picture.frame.tiles) and picture._is_whole(), path)
    robot.wait(lambda: robot.window.tree.current_row() is not None, "the row of the node")

    def is_at_rest() -> bool:
        for _ in range(20):
            QApplication.processEvents()
        return not robot.session.owner.busy

    robot.wait(is_at_rest, "all that was begun is done: what comes late would be counted")


class Paints(QObject):
    """Counts the paintings of a widget."""

    def __init__(self, watched: QObject) -> None:
        super().__init__()
        self.count = 0
        watched.installEventFilter(self)

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        self.count += event is not None and event.type() == QEvent.Type.Paint
        return False


def test_what_changes_no_pixel_does_not_paint_the_picture(robot: QtRobot) -> None:
    picture, canvas = robot.session.slice, robot.window.image.canvas
    robot.wait(lambda: not canvas._settled.isActive(), "the picture at rest")
    QApplication.processEvents()
    paints = Paints(canvas)
    for _ in range(3):
        picture.changed.emit()
        picture.painted.emit()
        QApplication.processEvents()
    assert paints.count == 0
    picture.pin(3.0, 3.0)
    robot.wait(lambda: paints.count == 1, "the mark of the pinned pixel")


def test_painted_tiles_wait_for_the_others_of_their_layer(robot: QtRobot, monkeypatch: pytest.MonkeyPatch) -> None:
    """The jobs run one after the other when all of them have been submitted, as on a busy machine."""
    picture = robot.session.slice
    jobs: list[Any] = []
    owner = picture._tiles._owner

    def decode(work: Callable[[], Any], done: Callable[[Any], None], priority: int = 1) -> Held:
        jobs.append((work, done))
        return Held()

    monkeypatch.setattr(owner, "decode", decode)
    picture.set_index("z", 3)
    tiles = len(picture.frame.tiles)
    robot.wait(lambda: len(jobs) == tiles, "all chunks")
    told: list[int] = []
    picture._tiles._painted = lambda: told.append(picture._tiles.loading)
    for work, done in jobs:
        done(JobResult(work()))
    group = tile_manager.TOGETHER
    assert told == [*range(tiles - group, 0, -group), 0]


class Held:
    """A ticket of a job that has not run."""

    def cancel(self) -> None:
        pass


def test_a_step_of_a_slider_makes_few_states_and_enables_no_command(
    robot: QtRobot, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: Counter[str] = Counter()
    facts, enable = facts_of, NodeActions.enable
    monkeypatch.setattr(sessions, "facts_of", lambda *a: counted.update(["state"]) or facts(*a))
    monkeypatch.setattr(NodeActions, "enable", lambda *a: counted.update(["enable"]) or enable(*a))
    show_views = robot.window.tabs.show_views
    monkeypatch.setattr(robot.window.tabs, "show_views", lambda: counted.update(["views"]) or show_views())
    for index in (1, 2, 3, 4):
        robot.session.slice.set_index("z", index)
        for _ in range(200):
            QApplication.processEvents()
            if robot.session.slice._is_whole():
                break
    whole(robot, "/stack")
    assert counted["enable"] == counted["views"] == 0
    told = robot.session._told
    counted.clear()
    robot.window._status()
    assert not counted
    assert told is not None
    assert robot.session.status_text == robot.session.state.status_text


def test_the_status_is_written_once_in_each_pass_of_the_event_loop(
    robot: QtRobot, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Mock(wraps=robot.window.image.zoom_text)
    monkeypatch.setattr(robot.window.image, "zoom_text", written)
    for signal in 3 * (robot.session.slice.painted, robot.session.slice.probed):
        signal.emit()
    assert not written.called
    for _ in range(5):
        QApplication.processEvents()
    assert written.call_count == 1


def test_a_step_of_a_slider_describes_only_the_axis_that_moved(robot: QtRobot, monkeypatch: pytest.MonkeyPatch) -> None:
    before = robot.session.slice.state
    made = Mock(wraps=composition.axis_view)
    monkeypatch.setattr(navigation, "axis_view", made)
    robot.session.slice.set_index("z", 3)
    after = robot.session.slice.state
    assert [call.args[1] for call in made.call_args_list] == [0]
    assert after.axes[0].index == 3
    assert after.axes[1] is before.axes[1]
    assert after.levels is before.levels
    assert after.channels[0] is before.channels[0]
    robot.session.slice.set_levels(0, 3.0, 7.0)
    assert (robot.session.slice.state.channels[0].lo, robot.session.slice.state.channels[0].hi) == (3.0, 7.0)


def test_the_width_of_the_kinds_is_measured_from_two_rows(robot: QtRobot, monkeypatch: pytest.MonkeyPatch) -> None:
    view = robot.window.tree.view
    robot.wait(lambda: len(robot.rows()) > MANY, "all rows")
    full = super(type(view), view).sizeHintForColumn(1)
    hints: list[object] = []
    hint = view.sizeHintForIndex

    def counted(index: QModelIndex) -> QSize:
        hints.append(index)
        return hint(index)

    monkeypatch.setattr(view, "sizeHintForIndex", counted)
    view._hint = None
    assert 0 < view.sizeHintForColumn(1) <= full
    assert 1 <= len(hints) <= 2
    hints.clear()
    assert 0 < view.sizeHintForColumn(1) <= full
    assert not hints, "measured once, until a row changes"


def test_a_column_that_was_painted_without_room_is_measured_with_its_texts(robot: QtRobot) -> None:
    """The column stayed as narrow for good, because its texts were still left out when it was measured again."""
    view = robot.window.tree.view
    robot.wait(lambda: len(robot.rows()) > MANY and view.columnWidth(1) > 0, "all rows")
    full, header = view.sizeHintForColumn(1), not_none(view.header())
    header.setSectionResizeMode(header.ResizeMode.Fixed)
    header.resizeSection(0, not_none(view.viewport()).width() - 10)
    header.resizeSection(1, 10)
    view.grab()
    view._hint = None
    assert view.sizeHintForColumn(1) == full


@pytest.mark.parametrize("remembered", [True, False])
def test_a_change_in_a_group_paints_the_rows_that_look_different(
    robot: QtRobot, monkeypatch: pytest.MonkeyPatch, remembered: bool
) -> None:
    """All visible rows are painted if some of them are not remembered: a scroll may have passed more than that."""
    robot.wait(lambda: len(robot.rows()) > MANY, "all rows")
    view, model, tree = robot.window.tree.view, robot.window.tree.model, robot.session.tree
    assert model is not None
    if not remembered:
        monkeypatch.setattr(tree_model, "_MOST_PAINTED", 3)
        model._painted.clear()
    not_none(view.viewport()).repaint()
    for _ in range(20):
        QApplication.processEvents()
    painted: set[str] = set()
    note = model.note_painted

    def noted(index: Any) -> None:
        row = model.row_of(index)
        assert row is not None
        painted.add(row.path)
        note(index)

    monkeypatch.setattr(model, "note_painted", noted)
    visible = [model.row_of(index) for index in view._visible()]
    changed, *others = (row for row in visible if row is not None and row.depth and row.kind == "array")
    tree.mark(changed.path, "labels")
    robot.wait(lambda: changed.path in painted, "the row with its icon")
    for _ in range(20):
        QApplication.processEvents()
    now = tree.row(changed.id)
    assert now.icon == "labels"
    assert model._painted.get(changed.id, now) == now
    assert painted.isdisjoint(row.path for row in others) == remembered
    painted.clear()
    tree.mark(changed.path, "plate")
    robot.wait(lambda: changed.path in painted, "the row with its next icon")


def test_painting_the_tree_does_not_ask_which_node_may_be_renamed(robot: QtRobot) -> None:
    asked: list[str] = []

    def editable(path: str) -> bool:
        asked.append(path)
        return False

    robot.window.tree.editable = editable
    not_none(robot.window.tree.view.viewport()).repaint()
    assert not asked


def test_going_to_a_node_does_not_read_the_rows_of_its_group_again(
    robot: QtRobot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plate may have 384 wells, and users step from one to the next."""
    robot.wait(lambda: len(robot.rows()) > MANY, "all rows")
    model = robot.window.tree.model
    assert model is not None
    synced = Mock(wraps=model._sync)
    monkeypatch.setattr(model, "_sync", synced)
    here = robot.session.tree.find("/stack")
    assert here is not None
    assert model.include(here).isValid()
    synced.assert_not_called()


def test_the_layout_of_the_tree_does_not_ask_the_presenter_which_rows_unfold(
    robot: QtRobot, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot.wait(lambda: len(robot.rows()) > MANY, "all rows")
    asked = Mock(wraps=robot.session.tree.expandable)
    monkeypatch.setattr(robot.session.tree, "expandable", asked)
    model, view = robot.window.tree.model, robot.window.tree.view
    assert model is not None
    model.layoutChanged.emit()
    not_none(view.viewport()).repaint()
    asked.assert_not_called()


def test_painting_the_tree_looks_for_the_index_of_its_group_once(
    robot: QtRobot, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot.wait(lambda: len(robot.rows()) > MANY, "all rows")
    model, view = robot.window.tree.model, robot.window.tree.view
    assert model is not None
    looked_for = Mock(wraps=model.index_of)
    monkeypatch.setattr(model, "index_of", looked_for)
    not_none(view.viewport()).repaint()
    assert looked_for.call_count <= 4


def test_tabs_that_stay_as_they_are_are_not_laid_out_again(robot: QtRobot, monkeypatch: pytest.MonkeyPatch) -> None:
    tabs = robot.window.tabs
    tabs.show_views()
    written: list[object] = []
    for name in ("setTabText", "setTabEnabled"):
        monkeypatch.setattr(tabs, name, lambda *a: written.append(a))
    tabs.show_views()
    assert not written


def test_actions_on_nodes_are_imported_by_a_worker(qtbot: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """These modules need much of the engine; imported on the window's thread they would delay it."""
    threads: list[int] = []
    act = nodes._act

    def noted(id: str) -> Any:
        threads.append(threading.get_ident())
        return act(id)

    monkeypatch.setattr(nodes, "_act", noted)
    zarrscope.open(tmp_path / "x.zarr", "w-").close()
    robot = QtRobot(qtbot)
    robot.open(str(tmp_path / "x.zarr"))
    robot.wait(lambda: any(thread != threading.get_ident() for thread in threads), "the import")
    robot.close()


def test_the_folder_of_icons_is_listed_once() -> None:
    assert icons.names() is icons.names()


def test_tabs_behind_are_not_made_until_they_are_shown(robot: QtRobot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most nodes are seen without their form or their description: a plate has 384 wells."""
    window, session = robot.window, robot.session
    sections = Mock(wraps=session.edit._one.sections.sections)
    monkeypatch.setattr(session.edit._one.sections, "sections", sections)
    measured = Mock(wraps=session.metadata.measure)
    monkeypatch.setattr(session.metadata, "measure", measured)
    written = [Mock(wraps=paint) for paint in (window.form.model.show_fields, window.info.text.setHtml)]
    monkeypatch.setattr(window.form.model, "show_fields", written[0])
    monkeypatch.setattr(window.info.text, "setHtml", written[1])
    session.select("/n2")
    robot.wait(lambda: session.state.path == "/n2" and not session.state.selecting, "the node")
    robot.wait(lambda: session.edit.brief.status is EditStatus.READ_ONLY, "its document")
    for _ in range(20):
        QApplication.processEvents()
    assert not any(each.called for each in (sections, measured, *written))
    session.set_tab("attributes")
    robot.wait(lambda: written[0].called and sections.called, "the form")
    session.set_tab("info")
    robot.wait(lambda: written[1].called and measured.called, "the description")
    assert "n2" in window.info.text.toPlainText()


@pytest.mark.skipif(qtpy.PYSIDE6, reason="PySide6 gives Python's lock up for Qt's functions")
@pytest.mark.parametrize("part", ["tree", "fields", "values"])
def test_qt_takes_the_lock_once_to_paint_a_list(robot: QtRobot, part: str) -> None:
    """Each time that Qt takes Python's lock it may wait for a worker that computes."""
    window, session = robot.window, robot.session
    if part == "tree":
        robot.wait(lambda: len(robot.rows()) > MANY, "all rows")
        view: Any = window.tree.view
    elif part == "fields":
        session.set_tab("attributes")
        session.edit.show_way("fields")
        view = window.form.view
        robot.wait(lambda: window.form.model.size > 0 and view.isVisible(), "the fields")
    else:
        session.set_tab("values")
        view = window.values.view
        robot.wait(lambda: window.values.model.rowCount() > 0 and view.isVisible(), "the values")
    whole(robot, "/stack")
    here, direct, all_calls = sys._getframe().f_code, Counter[str](), Counter[str]()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            above = frame.f_back
            all_calls[frame.f_code.co_qualname] += 1
            direct[frame.f_code.co_qualname] += above is not None and above.f_code is here

    model = view.model()
    view.viewport().update()
    sys.setprofile(count)
    QApplication.processEvents()  # gives the lock up
    model.layoutChanged.emit()
    QApplication.processEvents()
    sys.setprofile(None)
    asked = f"{type(model).__name__}.{'index' if part == 'fields' else 'data'}"
    assert all_calls[asked] > 5, "it was painted"
    assert direct[asked] == 0
