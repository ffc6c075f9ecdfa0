"""Several hierarchies in the dock: one tree with a root for each; one hierarchy is in front."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from qtpy.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from qtpy.QtGui import QDropEvent
from qtpy.QtWidgets import QFileDialog

import zarrscope
from contracts.journeys import SECONDS
from zarrscope_app.napari import closing
from zarrscope_app.napari.dock import Explorer
from zarrscope_app.presenters import MemorySettings, Session
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.form.view_models import Closing


class Hand:
    """A user at a dock with two hierarchies: "one" and "two"."""

    def __init__(self, qtbot: Any, viewer: Any, folder: Path) -> None:
        self.qtbot, self.viewer, self.folder = qtbot, viewer, folder
        self.dock = Explorer(viewer, settings=MemorySettings())
        viewer.window.add_dock_widget(self.dock, name="Zarr explorer")
        self.dock.open(str(folder / "one.zarr"))
        self.wait_for("one")

    def wait(self, happened: Callable[[], object]) -> None:
        self.qtbot.waitUntil(lambda: bool(happened()), timeout=int(SECONDS * 1000))

    def wait_for(self, name: str) -> Session:
        """Returns the session in front when it is the one of this address and its rows are listed."""
        path = f"/array of {name}"
        self.wait(lambda: self.front.name == f"{name}.zarr" and self.front.hierarchy is not None)
        self.wait(lambda: path in [row.path for row in self.front.tree.rows(0, 0, 9)])
        return self.front

    @property
    def front(self) -> Session:
        assert self.dock.session is not None
        return self.dock.session

    def rows(self) -> list[str]:
        """The names of the drawn rows."""
        view, model = self.dock.tree.view, self.dock.tree.view.model()
        assert model is not None
        found: list[str] = []

        def walk(above: Any) -> None:
            for row in range(model.rowCount(above)):
                index = model.index(row, 0, above)
                found.append(str(index.data()))
                if view.isExpanded(index):
                    walk(index)

        walk(view.rootIndex())
        return found

    def click(self, name: str) -> None:
        """Clicks a row of the tree."""
        view, model = self.dock.tree.view, self.dock.tree.view.model()
        assert model is not None
        found = model.match(
            model.index(0, 0, view.rootIndex()), 0, name, 1, Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchRecursive
        )
        view.setCurrentIndex(found[0])

    def edit(self, session: Session, path: str) -> None:
        """Changes an attribute without saving it."""
        session.set_writable(True)
        self.wait(lambda: session.state.writable)
        session.select(path)
        self.wait(lambda: session.edit.field("/note") is not None)
        session.edit.edit("/note", "after")
        assert session.edit.dirty_paths == {path}

    def choose(self, label: str) -> None:
        """Chooses an entry of the menu of *Browse…*."""
        menu = self.dock.browse.menu()
        assert menu is not None
        next(action for action in menu.actions() if action.text() == LABELS[label]).trigger()


@pytest.fixture
def hand(qtbot: Any, make_napari_viewer: Any, tmp_path: Path) -> Iterator[Hand]:
    for name in ("one", "two"):
        with zarrscope.open(tmp_path / f"{name}.zarr", "w-") as hierarchy:
            array = hierarchy.create_array(
                f"/array of {name}", shape=(8, 8), dtype="uint8", chunks=(8, 8), attributes={"note": "before"}
            )
            array[...] = 1
    hand = Hand(qtbot, make_napari_viewer(show=True), tmp_path)
    yield hand
    hand.dock.stop()


def test_a_folder_is_added_beside_the_one_that_is_open(hand: Hand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(hand.folder / "two.zarr"))
    hand.choose("add-folder")
    hand.wait_for("two")
    hand.wait(lambda: hand.rows() == ["one.zarr", "array of one", "two.zarr", "array of two"])

    hand.click("array of one")
    hand.wait(lambda: hand.front.name == "one.zarr" and hand.front.state.path == "/array of one")
    assert hand.dock.address.text().endswith("one.zarr")
    assert hand.dock.info.isEnabled()
    hand.wait(lambda: hand.front.node is not None)
    hand.dock.add()
    hand.wait(lambda: len(hand.viewer.layers) == 1 and not hand.dock.adding)
    hand.click("array of two")
    hand.wait(lambda: hand.front.state.path == "/array of two" and hand.front.node is not None)
    hand.dock.add()
    hand.wait(lambda: len(hand.viewer.layers) == 2 and not hand.dock.adding)
    sources = [Path(layer.metadata["zarrscope"]["url"].rstrip("/")).name for layer in hand.viewer.layers]
    assert sources == ["one.zarr", "two.zarr"]


def test_an_address_that_is_open_is_brought_to_the_front(hand: Hand) -> None:
    one = hand.front
    hand.dock.address.setText(str(hand.folder / "two.zarr"))
    hand.choose("add-address")
    hand.wait_for("two")
    hand.dock.address.setText(str(hand.folder / "one.zarr"))
    hand.choose("add-address")
    assert hand.front is one
    assert len(hand.dock.places.sessions) == 2


def test_what_is_dropped_on_the_dock_is_a_root_each(hand: Hand) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(hand.folder / f"{name}.zarr")) for name in ("two", "one")])
    hand.dock.dropEvent(
        QDropEvent(
            QPointF(QPoint(5, 5)),
            Qt.DropAction.CopyAction,
            data,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
    )
    hand.wait(lambda: hand.rows() == ["one.zarr", "array of one", "two.zarr", "array of two"])
    assert hand.front.name == "one.zarr"


def test_a_place_is_closed_and_its_neighbour_comes(hand: Hand) -> None:
    assert hand.dock.browse.further[0].isEnabled()
    hand.dock.open(str(hand.folder / "two.zarr"), further=True)
    hand.wait_for("two")
    hand.choose("close-place")
    hand.wait_for("one")
    hand.wait(lambda: hand.rows() == ["one.zarr", "array of one"])
    hand.choose("close-place")
    assert hand.dock.session is None
    assert not hand.dock.address.text()
    assert not hand.dock.button.isEnabled()
    assert not hand.dock.browse.further[0].isEnabled()


def test_an_address_that_is_typed_takes_the_place_of_all(hand: Hand) -> None:
    hand.dock.open(str(hand.folder / "two.zarr"), further=True)
    hand.wait_for("two")
    hand.dock.open(str(hand.folder / "one.zarr"))
    hand.wait_for("one")
    assert len(hand.dock.places.sessions) == 1
    hand.wait(lambda: hand.rows() == ["one.zarr", "array of one"])


def test_closing_asks_about_the_edits_of_each_place(hand: Hand, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    answers = iter(["discard", "", "discard", "discard"])

    class Question:
        def __init__(self, question: Closing, *_: Any) -> None:
            asked.append(question.text)
            self.answer = next(answers)

        def exec(self) -> None: ...

    dropped: list[str] = []
    monkeypatch.setattr(closing, "CloseQuestion", Question)
    monkeypatch.setattr(Session, "discard_edits", lambda session: dropped.append(session.name))
    one = hand.front
    hand.dock.open(str(hand.folder / "two.zarr"), further=True)
    two = hand.wait_for("two")
    hand.edit(one, "/array of one")
    hand.edit(two, "/array of two")
    assert not hand.dock.closing.may_close(lambda: None, labels=False)
    assert len(asked) == 2
    assert not dropped, "nothing is given up before all have been asked about"
    assert hand.dock.closing.may_close(lambda: None, labels=False)
    assert dropped == ["one.zarr", "two.zarr"]
