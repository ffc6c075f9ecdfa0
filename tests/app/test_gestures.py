"""A newcomer's tasks in the window, each by keyboard alone and with no more gestures than looking.md says.

A gesture is a key with its modifiers, or a text typed in one go. Each task begins where the window has just opened its
place read-only, as `zarrscope PLACE` opens it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from contracts.slides import NAMES, image, mended, plate, stored
from narrowing import not_none
from zarrscope_app.presenters.chunks.presenter import ChunksPresenter
from zarrscope_app.presenters.image.overview import OverviewPresenter

pytestmark = pytest.mark.needs("qt", "display")
GUIDE = Path(__file__).parents[2] / "resources" / "docs" / "looking.md"
Open = Callable[[str], "Task"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of three images, of which the pixel sizes and a channel's name have to be corrected."""
    place = tmp_path / "slides"
    for name in ("a", "b", "c"):
        image(place / f"{name}.zarr", (f"channel {name}", "GFP"))
    return place


class Task:
    """A window that shows a place, and a hand on its keyboard."""

    def __init__(self, qtbot: Any, url: str) -> None:
        from qt_robot import window_on
        from window_hand import WindowHand

        self.window, self.session = window_on(qtbot, url)
        self.hand = WindowHand(qtbot)
        self.wait = self.hand.wait
        self.wait(lambda: self.session.node is not None and not self.session.state.selecting, "the node")
        self.wait(lambda: not self.session.slice.frame.loading, "the picture")
        if self.session.state.tab == "image":
            self.wait(self._has_focus, "the focus on the picture")
        self.hand.begin()

    def _has_focus(self) -> bool:
        """Whether the picture has the focus. A window that an earlier test left may have come to the front."""
        if not self.window.isActiveWindow():
            self.window.activateWindow()
        return self.window.image.canvas.hasFocus()

    def shows(self, path: str) -> bool:
        """Whether the tree has a row for a node, on the screen as well."""
        id, model = self.session.tree.find(path), self.window.tree.model
        return id is not None and model is not None and model.index_of(id).isValid()

    def ends(self, name: str) -> None:
        """Compares the gestures with those of the guide."""
        print(f"{name}: {', '.join(self.hand.gestures)} in {self.hand.seconds:.1f} s")
        assert len(self.hand.gestures) == promised()[name], self.hand.gestures


def promised() -> dict[str, int]:
    """The gestures of each task by the guide's table."""
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \|", GUIDE.read_text("utf-8"), re.MULTILINE)
    return {task.strip(): int(count) for task, count in rows}


@pytest.fixture
def opened(qtbot: Any) -> Open:
    return lambda url: Task(qtbot, url)


@pytest.mark.parametrize(("count", "name"), [(12, "CD45"), (30, "CD45"), (12, "CD68"), (30, "PD1")])
def test_a_channel_is_found_by_its_name(opened: Open, tmp_path: Path, count: int, name: str) -> None:
    image(tmp_path / "many.zarr", (*NAMES, *(f"marker {i}" for i in range(count - len(NAMES)))))
    task = opened(str(tmp_path / "many.zarr"))
    shown = task.session.slice
    task.hand.press("Ctrl+Shift+F")
    task.hand.type(name.lower())
    panel = task.window.channels
    assert [row.isVisible() for row in panel._rows] == [name in c.label for c in shown.state.channels]
    # A person is slower than the layout, which makes the panel as short as the rows that are left.
    task.wait(lambda: not_none(panel.widget()).height() <= not_none(panel.viewport()).height(), "the found rows")
    task.hand.press("Return")
    task.wait(lambda: [c.label for c in shown.state.channels if c.visible] == [name], "the channel alone")
    row = panel._rows[NAMES.index(name)]
    task.wait(lambda: all(r.isVisible() for r in panel._rows), "all rows")
    task.wait(lambda: row.visibleRegion().boundingRect() == row.rect(), "the whole row")
    assert task.window.image.canvas.hasFocus(), "the keys act on the picture again"
    task.ends("Find a channel by its name")


def test_a_name_that_no_channel_has_is_said(opened: Open, tmp_path: Path) -> None:
    image(tmp_path / "many.zarr", NAMES)
    task = opened(str(tmp_path / "many.zarr"))
    panel = task.window.channels
    assert panel.search.isVisible(), "with so many channels without a key"
    task.hand.press("Ctrl+Shift+F")
    task.hand.type("Lamin")
    assert panel._unknown.isVisible()
    task.hand.press("Return")
    assert sum(c.visible for c in task.session.slice.state.channels) == 3, "nothing is shown in place of it"
    task.hand.press("Esc")
    assert not panel._unknown.isVisible()
    assert all(row.isVisible() for row in panel._rows)
    assert task.window.image.canvas.hasFocus()


def test_with_few_channels_the_search_comes_when_it_is_asked_for(opened: Open, tmp_path: Path) -> None:
    image(tmp_path / "few.zarr", NAMES[:3])
    task = opened(str(tmp_path / "few.zarr"))
    assert not task.window.channels.search.isVisible()
    task.hand.press("Ctrl+Shift+F")
    assert task.window.channels.search.hasFocus()


def test_three_images_are_mended_saved_and_undone(opened: Open, folder: Path) -> None:
    """Ctrl+A leads into the common form. Nothing is written before Ctrl+S, which opens the place for writing, too."""
    from zarrscope_app.presenters import EditStatus

    before = stored(folder)
    task = opened(str(folder))
    edit = task.session.edit
    task.wait(lambda: task.shows("/c.zarr"), "the tree")
    task.hand.press("Ctrl+A")
    form = task.window.form.sections
    task.wait(lambda: "size/1" in form.editors and form.editors["size/1"].hasFocus(), "the first field")
    assert edit.state.title == "Attributes of 3"
    task.hand.type("0.5")
    task.hand.press("Ctrl+Down")
    task.hand.type("DAPI")
    assert stored(folder) == before, "nothing is written yet"
    task.hand.press("Ctrl+S")
    task.wait(lambda: task.session.state.writable and edit.state.status is EditStatus.CLEAN, "the save")
    assert mended(folder) == {(0.5, "DAPI")}
    task.ends("Correct a pixel size and a channel's name in three images, and save")

    def has_changes(count: int) -> bool:
        return bool(edit.state.changes == count)

    task.hand.begin()
    for keys, changes in (("Ctrl+Z", 3), ("Ctrl+Z", 9), ("Ctrl+S", 0)):
        task.hand.press(keys)
        task.wait(partial(has_changes, changes), "the form")
    task.wait(lambda: edit.state.status is EditStatus.CLEAN, "the save")
    assert stored(folder) == before
    task.ends("Undo that, and save")


def test_a_missing_chunk_is_found_with_the_reason(opened: Open, tmp_path: Path) -> None:
    image(tmp_path / "gap.zarr", ("DAPI", "GFP"), planes=3)
    (tmp_path / "gap.zarr/0/c/1/2/1/0").unlink()
    task = opened(str(tmp_path / "gap.zarr"))
    task.hand.press(",")
    chunks, presenter = task.window.tabs.pages["chunks"], task.session.tabs.presenters["chunks"]
    assert isinstance(presenter, ChunksPresenter)
    task.wait(lambda: "not stored" in chunks.legend.text() and chunks.title.text() == "Chunk 1, 2, 1, 0", "the chunk")
    assert "the fill value 0" in chunks.about_chosen.text()
    assert not_none(presenter.state.chosen).items[0].text == "0/c/1/2/1/0"
    task.ends("See which chunk is missing, and why")
    (tmp_path / "gap.zarr/0/c/0/0/0/0").unlink()
    presenter.refresh()
    task.wait(lambda: not task.session.owner.busy, "the chunks are listed: keys during the listing count as one")

    def is_titled(title: str) -> bool:
        return bool(chunks.title.text() == title)

    for index in ("1, 2, 1, 0", "0, 0, 0, 0", "1, 2, 1, 0"):
        task.hand.press(",")
        task.wait(partial(is_titled, f"Chunk {index}"), "the next chunk, and the first again")


def test_a_whole_array_says_that_no_chunk_is_missing(opened: Open, tmp_path: Path) -> None:
    image(tmp_path / "whole.zarr", ("DAPI",))
    task = opened(str(tmp_path / "whole.zarr"))
    task.hand.press(",")
    chunks = task.window.tabs.pages["chunks"]
    task.wait(lambda: chunks.sentence.text() == "Every chunk of this array is stored.", "the sentence")


def test_a_plate_is_walked(opened: Open, tmp_path: Path) -> None:
    plate(tmp_path / "plate.zarr")
    task = opened(str(tmp_path / "plate.zarr"))
    overview = task.session.tabs.presenters["overview"]
    assert isinstance(overview, OverviewPresenter)
    task.wait(lambda: bool(overview.state.cells) and not overview.state.loading, "the plate")

    def is_at(path: str) -> bool:
        return bool(task.session.state.path == path)

    for number in (1, 2, 3):
        task.wait(lambda: not task.session.state.selecting, "the well before")
        task.hand.press("F8")
        task.wait(partial(is_at, f"/A/{number}"), "the next well")
    task.ends("Walk through the first three wells of a plate")


def test_what_is_on_the_screen_is_exported(opened: Open, tmp_path: Path) -> None:
    image(tmp_path / "crop.zarr", ("DAPI",))
    task = opened(str(tmp_path / "crop.zarr"))
    task.session.export.folder = str(tmp_path)
    for _ in range(2):
        task.hand.press("+")
    task.hand.press("Ctrl+Shift+E")
    from zarrscope_app.qt.export_dialog import ExportDialog

    dialog = task.window.findChild(ExportDialog)
    assert dialog is not None
    dialog.activateWindow()  # as the window manager of a desktop does
    task.wait(dialog.what.hasFocus, "the dialog")
    task.hand.press("Down")
    export = task.session.export
    task.wait(lambda: export.state.what == "region" and export.state.ready and dialog.go.isEnabled(), "the size")
    target = Path(export.state.target)
    task.hand.press("Return")
    task.wait(target.exists, "the file")
    task.ends("Export a crop")


def index(task: Task) -> int:
    """The displayed index along z."""
    return next(axis.index for axis in task.session.slice.state.axes if axis.name == "z")


def test_a_colleague_sees_the_view(opened: Open, tmp_path: Path) -> None:
    from qtpy.QtGui import QGuiApplication

    image(tmp_path / "view.zarr", ("DAPI", "GFP"), planes=4)
    task = opened(str(tmp_path / "view.zarr"))
    task.session.slice.set_index("z", 3)
    task.hand.press("Ctrl+Shift+C")
    clipboard = QGuiApplication.clipboard()
    assert clipboard is not None
    task.wait(lambda: clipboard.text().startswith("zarrscope:"), "the view on the clipboard")
    task.session.slice.set_index("z", 0)
    task.hand.press("Ctrl+Shift+V")
    task.wait(lambda: index(task) == 3, "the view")
    task.ends("Send a colleague the view: copy here, paste there")
