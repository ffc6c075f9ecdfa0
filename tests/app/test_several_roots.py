"""Several hierarchies in one tree: each has a root, and selecting a row brings its hierarchy to the front."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from qtpy.QtCore import QMimeData, QModelIndex, QPointF, Qt, QUrl
from qtpy.QtGui import QDropEvent

from contracts.operations import example
from narrowing import not_none
from qt_robot import QTest, QtRobot
from zarrscope.runtime.threads import Mailbox
from zarrscope.stores.local.store import LocalStore
from zarrscope_app.presenters import ROOT, RootsPresenter, Session, SessionStatus, TreePresenter, Workspace


@pytest.fixture
def places(tmp_path: Path) -> list[str]:
    for name in ("one.zarr", "two.zarr", "three.zarr"):
        example("v3", LocalStore(tmp_path / name, sync=False))
    return [str(tmp_path / name) for name in ("one.zarr", "two.zarr", "three.zarr")]


def settled(session: Session) -> Callable[[], bool]:
    return lambda: session.state.status is SessionStatus.READY and not session.state.selecting


def shown_tree(workspace: Workspace) -> TreePresenter | RootsPresenter:
    assert workspace.tree is not None
    return workspace.tree


def names(tree: RootsPresenter, id: int) -> list[str]:
    return [row.name for row in tree.rows(id, 0, 100)]


def _has_rows(session: Session) -> bool:
    return session.tree.count(ROOT) > 0


def test_a_place_that_is_added_is_filtered_as_the_others(
    places: list[str], workspace: Workspace, mailbox: Mailbox
) -> None:
    one = workspace.open(places[0])
    mailbox.run_until(lambda: one.tree.count(ROOT) == 2)
    shown_tree(workspace).filter("Oth")
    assert [row.name for row in one.tree.rows(ROOT, 0, 9)] == ["other"]
    for place in places[1:]:
        added = workspace.open(place)
        tree = workspace.tree
        assert isinstance(tree, RootsPresenter)
        mailbox.run_until(settled(added))
        mailbox.run_until(partial(_has_rows, added))
        assert tree.filter_text == "Oth"
        for root in tree.ids(ROOT, 0, 9):
            assert names(tree, root) == ["other"]
    shown_tree(workspace).filter("")
    assert all(shown_tree(workspace).count(root) == 2 for root in shown_tree(workspace).ids(ROOT, 0, 9))


def test_the_window_still_shows_the_filter_after_a_place_was_added(qtbot: Any, places: list[str]) -> None:
    from qt_robot import window_on

    window, session = window_on(qtbot, places[0])
    qtbot.waitUntil(lambda: session.tree.count(ROOT) == 2, timeout=60_000)
    window.tree.filter.setText("Oth")
    window.open(places[1])
    qtbot.waitUntil(lambda: isinstance(window.workspace.tree, RootsPresenter), timeout=60_000)
    qtbot.waitUntil(lambda: shown_tree(window.workspace).flat_count == 4, timeout=60_000)
    assert window.tree.filter.text() == "Oth"
    window.tree.filter.clear()
    assert shown_tree(window.workspace).flat_count == 6


def test_the_end_key_goes_to_the_last_row_of_the_last_place(qtbot: Any, places: list[str]) -> None:
    from qt_robot import window_on

    window, session = window_on(qtbot, places[0])
    qtbot.waitUntil(lambda: session.tree.count(ROOT) == 2, timeout=60_000)
    window.open(places[1])
    qtbot.waitUntil(lambda: isinstance(window.workspace.tree, RootsPresenter), timeout=60_000)
    qtbot.waitUntil(lambda: shown_tree(window.workspace).flat_count == 6, timeout=60_000)
    tree = shown_tree(window.workspace)
    *_, place = tree.ids(ROOT, 0, 9)
    *_, last = tree.ids(place, 0, 9)
    window.tree._go_to_end()
    current = window.tree.current_row()
    assert current is not None
    assert current.id == last


def test_each_place_is_a_root_with_its_own_rows(places: list[str], workspace: Workspace, mailbox: Mailbox) -> None:
    one = workspace.open(places[0])
    mailbox.run_until(settled(one))
    assert workspace.tree is one.tree, "one place is the tree itself"
    two = workspace.open(places[1])
    mailbox.run_until(settled(two))
    tree = workspace.tree
    assert isinstance(tree, RootsPresenter)
    assert names(tree, ROOT) == ["one.zarr", "two.zarr"]
    mailbox.run_until(lambda: all(tree.count(id) == 2 for id in tree.ids(ROOT, 0, 9)))
    first, second = tree.ids(ROOT, 0, 9)
    assert names(tree, first) == names(tree, second) == ["g", "other"]
    assert len({row.id for id in (first, second) for row in tree.rows(id, 0, 9)}) == 4
    g = tree.ids(second, 0, 1)[0]
    assert (tree.path(g), tree.row(g).parent, tree.position(g)) == ("/g", second, 0)
    heard: list[int] = []
    tree.changed.connect(heard.append)
    tree.expand(g)
    mailbox.run_until(lambda: tree.count(g) == 3)
    assert g in heard
    assert not one.tree.row(1).expanded
    assert tree.find("/g") == g, "paths are those of the one in front"
    assert tree.in_front(g)
    tree.enter(tree.ids(first, 0, 1)[0])
    assert workspace.current is one
    assert workspace.tree is tree
    assert tree.find("/g") == tree.ids(first, 0, 1)[0]
    tree.filter("oth")
    assert names(tree, first) == names(tree, second) == ["other"]
    tree.filter("")
    workspace.close(one)
    assert workspace.tree is two.tree
    with pytest.raises(KeyError):
        tree.row(first)


def test_a_place_that_is_closed_leaves_the_others_as_they_are(
    places: list[str], workspace: Workspace, mailbox: Mailbox
) -> None:
    sessions = [workspace.open(place) for place in places]
    for session in sessions:
        mailbox.run_until(settled(session))
    tree = workspace.tree
    assert isinstance(tree, RootsPresenter)
    before = tree.ids(ROOT, 0, 9)
    workspace.close(sessions[0])
    assert workspace.tree is tree
    assert tree.ids(ROOT, 0, 9) == before[1:]
    again = workspace.open(places[0])
    mailbox.run_until(settled(again))
    assert workspace.tree is tree
    assert names(tree, ROOT) == ["two.zarr", "three.zarr", "one.zarr"]


@pytest.fixture
def robot(qtbot: Any, places: list[str]) -> Iterator[QtRobot]:
    robot = QtRobot(qtbot)
    robot.open(places[0])
    yield robot
    robot.close()


def shown(robot: QtRobot) -> list[tuple[str, list[str]]]:
    """The root and its children as the view shows them."""
    view, model = robot.window.tree.view, robot.window.tree.model
    assert model is not None

    def texts(above: QModelIndex) -> list[QModelIndex]:
        return [model.index(row, 0, above) for row in range(model.rowCount(above))]

    return [(str(root.data()), [str(each.data()) for each in texts(root)]) for root in texts(view.rootIndex())]


def test_the_window_shows_all_places_and_follows_into_another(robot: QtRobot, places: list[str]) -> None:
    window = robot.window
    first = robot.session
    robot.wait(lambda: shown(robot) == [("one.zarr", ["g", "other"])], "one root")
    assert isinstance(window.workspace.tree, TreePresenter)
    window.open(places[1])
    second = window.workspace.current
    assert second is not None
    assert second is not first
    robot.wait(settled(second), "the second place")
    both = [("one.zarr", ["g", "other"]), ("two.zarr", ["g", "other"])]
    robot.wait(lambda: shown(robot) == both, "two roots")
    row = window.tree.current_row
    robot.wait(lambda: (found := row()) is not None and found.name == "two.zarr", "the root in front")
    view = window.tree.view
    model = not_none(view.model())
    other = model.index(1, 0, model.index(0, 0, view.rootIndex()))
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=view.visualRect(other).center())
    robot.wait(lambda: window.workspace.current is first, "the first place in front")
    robot.wait(lambda: first.state.path == "/other", "its node")
    robot.wait(settled(first), "the node")
    assert second.state.path == "/"
    assert window.tree.view.currentIndex() == other
    assert "one.zarr" in window.windowTitle()
    window.run("close")
    robot.wait(lambda: shown(robot) == [("two.zarr", ["g", "other"])], "one root is left")
    assert window.workspace.current is second


def drop(robot: QtRobot, *places: str | Path) -> None:
    """Drops files on the window, as a file manager does."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(place)) for place in places])
    event = QDropEvent(
        QPointF(100, 100),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    robot.window.dropEvent(event)


def test_what_is_dropped_is_a_root_each(robot: QtRobot, places: list[str]) -> None:
    drop(robot, *places[1:])
    names = ["one.zarr", "two.zarr", "three.zarr"]
    robot.wait(lambda: shown(robot) == [(name, ["g", "other"]) for name in names], "three roots")


def test_a_dropped_file_that_is_no_zarr_is_reported_and_leaves_no_root(
    robot: QtRobot, places: list[str], tmp_path: Path
) -> None:
    (tmp_path / "note.txt").write_text("hello")
    window = robot.window
    drop(robot, tmp_path / "note.txt")
    robot.wait(lambda: "note.txt is a file" in window.error_bar.sentence, "the sentence")
    robot.wait(lambda: [session.name for session in window.workspace.sessions] == ["one.zarr"], "no root is left")
    assert window.workspace.current is robot.session
    robot.wait(lambda: "note.txt is a file" in window.error_bar.sentence, "the sentence over the place before")
    assert all("note.txt" not in recent.url for recent in window.workspace.recent)
    drop(robot, places[1], tmp_path / "note.txt", tmp_path / "nothing.zarr")
    robot.wait(lambda: shown(robot) == [(name, ["g", "other"]) for name in ("one.zarr", "two.zarr")], "two roots")
    second = window.workspace.current
    assert second is not None
    assert second.name == "two.zarr", "in front is the one that was opened"
    told = [problem.headline for problem in second.problems.items]
    assert any("note.txt" in each for each in told), told


def test_what_is_no_zarr_leaves_the_empty_window_as_it_was(robot: QtRobot, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("hello")
    (tmp_path / "table.csv").write_text("1,2")
    window = robot.window
    window.run("close")
    robot.wait(lambda: not window.workspace.sessions, "the start page")
    recent = window.workspace.recent
    drop(robot, tmp_path / "note.txt", tmp_path / "table.csv")
    robot.wait(lambda: "note.txt is a file" in window.error_bar.sentence, "the reason")
    robot.wait(window.welcome.isVisible, "the start page again")
    robot.wait(lambda: window.error_bar.sentence.endswith("1 other place could not be opened either."), "both")
    assert not window.workspace.sessions
    assert window.workspace.recent == recent
    window.error_bar.dismiss()
    assert not window.error_bar.sentence


def test_a_dropped_chunk_opens_the_hierarchy_at_its_array(robot: QtRobot, places: list[str]) -> None:
    chunk = next(path for path in sorted(Path(places[1]).rglob("c/*")) if path.is_file() or path.is_dir())
    while chunk.is_dir():
        chunk = sorted(chunk.iterdir())[0]
    array = "/" + chunk.relative_to(places[1]).as_posix().partition("/c/")[0]
    drop(robot, chunk)

    def is_there() -> bool:
        front = robot.window.workspace.current
        return front is not None and front.name == "two.zarr" and front.state.path == array

    robot.wait(is_there, "the array")
    robot.wait(lambda: [name for name, _ in shown(robot)] == ["one.zarr", "two.zarr"], "two roots")
    assert [session.name for session in robot.window.workspace.sessions] == ["one.zarr", "two.zarr"]
    robot.wait(lambda: not robot.window.error_bar.sentence, "no error any more")


def test_the_window_goes_to_the_next_place_and_asks_for_the_other_side(robot: QtRobot, places: list[str]) -> None:
    window, first = robot.window, robot.session
    window.open(places[1])
    second = window.workspace.current
    assert second is not None
    robot.wait(settled(second), "the second place")
    window.run("next-place")
    assert window.workspace.current is first
    window.run("next-place")
    assert window.workspace.current is second
    window.run("compare")
    assert second.state.tab == "problems"
    robot.wait(window.problems.other.hasFocus, "the line for the other side")
    window.problems.other.setText(places[0])
    window.problems.compare.click()
    assert second.problems.comparing
    window.run("compare")
    assert not second.problems.comparing, "the same command stops it"
