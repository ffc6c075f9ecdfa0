"""A newcomer's tasks in napari's dock, each with mouse and keys and with no more gestures than napari.md says.

A gesture is a click, a double-click, a key with its modifiers, or a text typed in one go. Each task begins in a dock
that has just opened its place read-only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from qtpy import QtTest
from qtpy.QtCore import QPoint, QRect, Qt, QTimer
from qtpy.QtGui import QGuiApplication
from qtpy.QtWidgets import QApplication, QFileDialog, QWidget

import zarrscope
from contracts.slides import NAMES, image, mended, plate, stored
from napari_hand import Hand
from narrowing import as_group, not_none
from window_hand import WindowHand
from zarrscope_app.napari.menu_commands import open_attributes, open_explorer
from zarrscope_app.napari.writer import SaveDialog
from zarrscope_app.presenters import EditStatus
from zarrscope_app.presenters.layers import layer_writing
from zarrscope_app.presenters.layers.layer_commands import layer_command

GUIDE = Path(__file__).parents[2] / "resources" / "docs" / "napari.md"
QTest: Any = QtTest.QTest  # PyQt6 declares its static functions as methods
LEFT = Qt.MouseButton.LeftButton


def promised() -> dict[str, int]:
    """The gestures of each task by the guide's table."""
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \|", GUIDE.read_text("utf-8"), re.MULTILINE)
    return {task.strip(): int(count) for task, count in rows}


class Task(WindowHand):
    """A dock in napari's window, and a hand with mouse and keyboard."""

    def __init__(self, qtbot: Any, viewer: Any) -> None:
        super().__init__(qtbot)
        self.viewer = viewer
        self.dock = Hand(qtbot, viewer).dock
        self.dock.show()
        viewer.window._qt_window.activateWindow()
        self.wait(lambda: QApplication.activeWindow() is not None, "the window in front")

    def opens(self, url: str) -> None:
        """Opens a place before the task begins."""
        self.dock.open(url)
        self.wait(lambda: self.dock.session is not None and self.dock.session.node is not None, "the node")
        self.begin()

    @property
    def session(self) -> Any:
        assert self.dock.session is not None
        return self.dock.session

    def click(
        self, widget: QWidget | None, at: QPoint | None = None, keys: Any = Qt.KeyboardModifier.NoModifier
    ) -> None:
        assert widget is not None
        self.wait(lambda: widget.isVisible() and widget.isEnabled(), "the widget to take a click")
        self.gestures.append(f"click {widget.accessibleName() or type(widget).__name__}")
        QTest.mouseClick(widget, LEFT, keys, at if at is not None else widget.rect().center())
        QApplication.processEvents()

    def click_row(self, path: str, keys: Any = Qt.KeyboardModifier.NoModifier) -> None:
        """Clicks a node in the tree."""
        view, session = self.dock.tree.view, self.session

        def place() -> Any:
            """The row on the screen; without area while the view does not have it."""
            id, model = session.tree.find(path), self.dock.tree.model
            return view.visualRect(model.index_of(id)) if id is not None and model is not None else QRect()

        self.wait(
            lambda: not_none(view.viewport()).rect().contains(place().center()) and place().isValid(),
            f"{path} in the tree",
        )
        self.click(view.viewport(), place().center(), keys)

    def click_tab(self, id: str) -> None:
        tabs = self.dock.tabs
        bar = tabs.tabBar()
        self.click(bar, not_none(bar).tabRect([*tabs.pages].index(id)).center())

    def choose(self, command: str) -> None:
        """Clicks the button of the menu of layers, and an entry of the menu."""
        menu = self.dock.layer_menu.menu()
        label = layer_command(command).label
        self.gestures += ["click Layers", f"click {label}"]
        next(action for action in not_none(menu).actions() if action.text() == label).trigger()

    def added(self, count: int) -> None:
        self.wait(lambda: len(self.viewer.layers) == count and not self.dock.adding, f"{count} layers")

    def ends(self, name: str) -> None:
        """Compares the gestures with those of the guide."""
        print(f"{name}: {', '.join(self.gestures)} in {self.seconds:.1f} s")
        assert len(self.gestures) == promised()[name], self.gestures


@pytest.fixture
def task(qtbot: Any, make_napari_viewer: Any) -> Iterator[Task]:
    found = Task(qtbot, make_napari_viewer(show=True))
    yield found
    found.dock.stop()


def test_a_folder_is_opened_and_seen(task: Task, tmp_path: Path) -> None:
    image(tmp_path / "cells.zarr", ("DAPI", "GFP"))
    task.begin()
    task.click(task.dock.address)
    task.type(str(tmp_path / "cells.zarr"))
    task.press("Return")
    task.wait(task.dock.button.isEnabled, "the hierarchy")
    task.click(task.dock.button)
    task.added(2)
    task.ends("Open a folder, and add its image")


def look_for_a_channel(task: Task, folder: Path, name: str) -> None:
    image(folder / "many.zarr", NAMES)
    task.opens(str(folder / "many.zarr"))
    task.click(task.dock.part.opener)
    task.type(name)
    task.press("Return")


def test_a_channel_is_found_by_its_name(task: Task, tmp_path: Path) -> None:
    look_for_a_channel(task, tmp_path, "cd45")
    task.added(1)
    assert task.viewer.layers[0].name.endswith(": CD45")
    task.ends("Add one channel of many by its name")


def test_a_name_that_no_channel_has_is_said(task: Task, tmp_path: Path) -> None:
    look_for_a_channel(task, tmp_path, "Lamin")
    task.wait(lambda: "There is no channel Lamin" in task.dock.facts.text(), "the reason")
    assert not task.viewer.layers


def test_three_images_are_mended_saved_and_undone(task: Task, tmp_path: Path) -> None:
    """Nothing is written before the click on Save, which opens the place for writing, too."""
    folder = tmp_path / "slides"
    for name in "abc":
        image(folder / f"{name}.zarr", (f"channel {name}", "GFP"))
    before = stored(folder)
    task.opens(str(folder))
    edit, form = task.session.edit, task.dock.form
    task.click_row("/a.zarr")
    task.click_row("/c.zarr", Qt.KeyboardModifier.ShiftModifier)
    task.wait(lambda: task.dock.tree.together == ("/a.zarr", "/b.zarr", "/c.zarr"), "the three rows")
    # Until the three documents are read, the fields of the first image are still there.
    task.wait(
        lambda: (
            edit.state.title == "Attributes of 3"
            and edit.state.status is not EditStatus.EMPTY
            and "size/1" in form.sections.editors
        ),
        "the form of three",
    )
    task.click(form.sections.editors["size/1"])
    task.wait(lambda: form.sections.editors["size/1"].hasFocus(), "the field")
    task.type("0.5")
    task.press("Ctrl+Down")
    task.wait(lambda: not form.sections.editors["size/1"].hasFocus(), "the next field")
    task.type("DAPI")
    save = form._buttons["save"]
    task.wait(lambda: save.isVisible() and save.isEnabled(), "the button")
    assert stored(folder) == before, "nothing is written yet"
    task.click(save)
    task.wait(lambda: task.session.state.writable and edit.state.status is EditStatus.CLEAN, "the save")
    assert mended(folder) == {(0.5, "DAPI")}
    task.wait(lambda: task.dock.tree.together == ("/a.zarr", "/b.zarr", "/c.zarr"), "the same rows to stay selected")
    task.ends("Correct a pixel size and a channel's name in three images, and save")

    task.begin()
    for _ in range(2):
        task.wait(form._buttons["undo"].isEnabled, "undo")
        task.click(form._buttons["undo"])
    task.wait(save.isEnabled, "the button")
    task.click(save)
    task.wait(lambda: edit.state.status is EditStatus.CLEAN, "the save")
    assert stored(folder) == before
    task.ends("Undo that, and save")


def test_several_nodes_are_added_with_the_form_open(task: Task, tmp_path: Path) -> None:
    """Enter adds the selected nodes, and their common form stays."""
    for name in "ab":
        image(tmp_path / "slides" / f"{name}.zarr", ("DAPI",))
    task.opens(str(tmp_path / "slides"))
    task.click_row("/a.zarr")
    task.click_row("/b.zarr", Qt.KeyboardModifier.ShiftModifier)
    task.wait(lambda: task.session.edit.several == ("/a.zarr", "/b.zarr"), "the form of two")
    task.press("Return")
    task.added(2)
    assert task.session.edit.several == ("/a.zarr", "/b.zarr")
    task.click_row("/a.zarr")
    task.wait(lambda: task.session.edit.several == (), "the form of one")


def test_a_missing_chunk_is_found_with_the_reason(task: Task, tmp_path: Path) -> None:
    image(tmp_path / "gap.zarr", ("DAPI", "GFP"), planes=3)
    (tmp_path / "gap.zarr/0/c/1/2/1/0").unlink()
    task.opens(str(tmp_path / "gap.zarr"))
    chunks = task.dock.tabs.pages["chunks"]
    task.click_tab("chunks")
    task.wait(chunks.missing.isVisible, "the map")
    task.click(chunks.missing)
    task.wait(lambda: chunks.title.text() == "Chunk 1, 2, 1, 0", "the chunk")
    assert "the fill value 0" in chunks.about_chosen.text()
    task.ends("See which chunk is missing, and why")


def test_the_key_goes_on_to_the_next_missing_chunk(task: Task, tmp_path: Path) -> None:
    image(tmp_path / "gap.zarr", ("DAPI", "GFP"), planes=3)
    missing = {"1, 2, 1, 0", "0, 1, 0, 0"}
    for chunk in missing:
        (tmp_path / "gap.zarr/0/c" / chunk.replace(", ", "/")).unlink()
    task.opens(str(tmp_path / "gap.zarr"))
    chunks = task.dock.tabs.pages["chunks"]
    task.click_tab("chunks")
    task.wait(chunks.missing.isVisible, "the map")
    chunks.focus_map()
    found: list[str] = []

    def is_another() -> bool:
        index = chunks.title.text().removeprefix("Chunk ")
        return index in missing and index not in found

    for _ in missing:
        task.press(",")
        task.wait(is_another, "the next chunk")
        found.append(chunks.title.text().removeprefix("Chunk "))


def test_a_plate_is_walked(task: Task, tmp_path: Path) -> None:
    plate(tmp_path / "plate.zarr")
    task.opens(str(tmp_path / "plate.zarr"))
    task.click(task.dock.button)
    task.wait(task.dock.chooser.list.hasFocus, "the list of wells")
    for number in (1, 2, 3):
        if number > 1:
            task.press("Down")
        task.press("Return")
        task.added(number)
    assert [layer.name.partition(":")[0] for layer in task.viewer.layers] == ["A1", "A2", "A3"]
    task.wait(lambda: task.session.state.path == "/A/3/0", "the image of the last layers in tree and form")
    task.ends("Walk through the first three wells of a plate")


def test_a_well_is_chosen_and_its_pixel_size_corrected(task: Task, tmp_path: Path) -> None:
    """napari's menu bar is not carried out here: its three clicks are only counted."""
    task.dock.stop()
    task.dock = open_explorer(task.viewer)  # the dock that napari's menus open
    plate(tmp_path / "plate.zarr", names=NAMES)
    task.opens(str(tmp_path / "plate.zarr"))
    task.click(task.dock.part.opener)
    task.type("CD4, CD8")
    task.press("Return")
    task.wait(task.dock.chooser.list.hasFocus, "the list of wells")
    task.press("Down")
    task.press("Return")
    task.added(2)
    assert [layer.name for layer in task.viewer.layers] == ["A2: 0: CD4", "A2: 0: CD8"]
    task.ends("Add two channels of a well of a plate")

    task.begin()
    task.gestures += ["click Layers", "click Metadata", "click Attributes of a Zarr node"]
    assert open_attributes(task.viewer) is task.dock
    edit, form = task.session.edit, task.dock.form
    task.wait(
        lambda: "size/1" in form.sections.editors and task.session.state.path == "/A/2/0", "the form of the image"
    )
    task.wait(lambda: not task.session.owner.busy, "all parts of the form")
    task.click(form.sections.editors["size/1"])
    task.type("0.5")
    save = form._buttons["save"]
    task.wait(lambda: save.isVisible() and save.isEnabled(), "the button")
    task.click(save)  # opens for writing, and writes what was typed
    task.wait(lambda: edit.state.status is EditStatus.CLEAN, "the save")
    (level, *_) = as_group(zarrscope.open(str(tmp_path / "plate.zarr"))["/A/2/0"]).attributes["ome"]["multiscales"][0][
        "datasets"
    ]
    assert level["coordinateTransformations"][0]["scale"][1] == 0.5
    task.ends("Correct the pixel size of the selected layer, and save")


def test_a_crop_is_exported(task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The dialog for the name of the file is Qt's, and not carried out here: its two gestures are only counted."""
    image(tmp_path / "cells.zarr", ("DAPI",))
    task.opens(str(tmp_path / "cells.zarr"))
    task.click(task.dock.part.opener)
    task.click(task.dock.part.fields["ranges"])
    task.type("y 4-11, x 8-15")
    task.press("Return")
    task.added(1)
    target = tmp_path / "crop.zarr"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: (str(tmp_path / "crop"), ""))
    timer = QTimer()

    def agree() -> None:
        dialog = QApplication.activeModalWidget()
        if isinstance(dialog, SaveDialog) and dialog.isVisible():
            timer.stop()
            QTest.keyClick(dialog, Qt.Key.Key_Return)

    timer.timeout.connect(agree)
    timer.start(10)
    QTimer.singleShot(0, lambda: task.choose("save-layers"))
    task.wait(lambda: task.dock.facts.text() == layer_writing.saved(str(target), ()), "the image")
    task.gestures += ["'crop'", "Return", "Return"]
    (level,) = [array for _, array in as_group(zarrscope.open(str(target)).root).arrays()]
    assert level.shape[-2:] == (8, 8)
    task.ends("Export a crop")


def test_a_colleague_sees_the_view(task: Task, tmp_path: Path) -> None:
    image(tmp_path / "view.zarr", ("DAPI", "GFP"), planes=4)
    task.opens(str(tmp_path / "view.zarr"))
    task.dock.add()
    task.added(2)
    task.viewer.dims.set_current_step(0, 3)
    task.begin()
    task.choose("copy-view")
    clipboard: Callable[[], Any] = QGuiApplication.clipboard
    task.wait(lambda: clipboard().text().startswith("zarrscope:"), "the view on the clipboard")
    task.viewer.layers.clear()
    task.viewer.dims.set_current_step(0, 0)
    task.click(task.dock.address)
    task.press("Ctrl+A")
    task.press("Ctrl+V")
    task.press("Return")
    task.added(2)
    task.wait(lambda: task.viewer.dims.current_step[0] == 3, "the plane")
    task.ends("Send a colleague the view: copy here, paste there")
