"""The dock at its usual width elides no text, and shows only how to open a hierarchy until one is open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qtpy.QtCore import Qt
from qtpy.QtGui import QColor
from qtpy.QtWidgets import QAbstractButton, QAbstractScrollArea, QApplication, QFormLayout, QMenu, QPushButton

import zarrscope
from contracts.journeys import SECONDS, Shelf, labelled_image
from napari_hand import Hand
from zarrscope.view.image import Image
from zarrscope_app.napari.dock import VIEWS_SHOWN, Explorer
from zarrscope_app.napari.viewer_state import palette_of
from zarrscope_app.presenters import EditPresenter, EditStatus, MemorySettings
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.form.view_models import Way
from zarrscope_app.presenters.image import overview
from zarrscope_app.qt.form_model import KIND, VALUE
from zarrscope_app.qt.panes import _unbroken
from zarrscope_app.qt.text import Label
from zarrscope_app.qt.wrapped_rows import with_breaks

WIDTHS = (300, 350)


class Docked:
    """A dock in the window of a napari viewer."""

    def __init__(self, qtbot: Any, viewer: Any) -> None:
        self.qtbot, self.viewer = qtbot, viewer
        self.dock = Explorer(viewer, settings=MemorySettings())

    def show(self) -> None:
        self.frame = self.viewer.window.add_dock_widget(self.dock, name="Zarr explorer")
        self.dock.show()

    def open(self, place: str, path: str | None = None) -> EditPresenter:
        """The form of a node, open for writing."""
        self.dock.open(place, path)
        self.wait(lambda: self.dock.session is not None and self.dock.session.node is not None)
        session = self.dock.session
        assert session is not None
        session.set_writable(True)
        self.wait(lambda: session.edit.state.status is EditStatus.CLEAN and session.edit.state.fields)
        return session.edit

    def resize(self, width: int) -> None:
        """Gives the dock this width, as a user does by dragging its edge."""
        self.viewer.window._qt_window.resizeDocks([self.frame], [width], Qt.Orientation.Horizontal)
        self.wait(lambda: abs(self.dock.width() - width) < 20)

    def wait(self, happened: Callable[[], object]) -> None:
        self.qtbot.waitUntil(lambda: bool(happened()), timeout=int(SECONDS * 1000))

    def elided(self) -> list[str]:
        """The visible buttons whose text is elided."""
        QApplication.processEvents()
        shown = [button for button in self.dock.findChildren(QAbstractButton) if button.isVisibleTo(self.dock)]
        return [f"{button.text()}: {button.width()}" for button in shown if button.width() < button.sizeHint().width()]


@pytest.fixture
def docked(qtbot: Any, make_napari_viewer: Any) -> Iterator[Docked]:
    found = Docked(qtbot, make_napari_viewer(show=True))
    yield found
    found.dock.stop()


@pytest.fixture
def shelf() -> Shelf:
    shelf = Shelf()
    labelled_image(shelf)
    return shelf


def test_an_empty_dock_shows_the_address_and_how_to_open(docked: Docked) -> None:
    docked.show()
    dock = docked.dock
    shown = {button.text() for button in dock.findChildren(QAbstractButton) if button.isVisibleTo(dock)}
    assert shown - {""} == {dock.browse.text()}
    assert dock.when_open.hint.isVisibleTo(dock)
    assert not dock.tabs.isVisibleTo(dock)
    assert dock.minimumSizeHint().width() <= WIDTHS[0]
    assert docked.elided() == []


def test_no_button_is_elided_at_the_usual_width(docked: Docked, shelf: Shelf) -> None:
    docked.show()
    dock = docked.dock
    dock.open(shelf.address)
    docked.wait(lambda: dock.session is not None and dock.session.hierarchy is not None)
    session = dock.session
    assert session is not None
    assert dock.tabs.isVisibleTo(dock)
    assert not dock.when_open.hint.isVisibleTo(dock)
    for writable in (False, True):
        session.set_writable(writable)
        docked.wait(lambda: (session.edit.state.status is not EditStatus.READ_ONLY) == writable)  # noqa: B023 -- awaited
        for width in WIDTHS:
            docked.resize(width)
            for id in VIEWS_SHOWN:
                dock.show_tab(id)
                assert docked.elided() == [], (writable, width, id)


def test_diff_and_conflict_fit_a_narrow_dock(docked: Docked, tmp_path: Path) -> None:
    """No button is elided or hidden, not even in a low window, and values and notes have room."""
    place = str(tmp_path / "x.zarr")
    before = {"scale": 0.5, "name": "cells", "depth": 1}
    zarrscope.open(place, "w-").root.attrs.put(before)
    docked.show()
    dock, edit = docked.dock, docked.open(place)
    docked.resize(WIDTHS[0])
    edit.edit("/scale", "3")
    edit.edit("/name", "mine")
    dock.form.show_diff()
    assert docked.elided() == []
    header = dock.form.view.header()
    assert header is not None
    assert header.sectionSize(VALUE) >= 100
    zarrscope.open(place, "r+").root.attrs.put({**before, "scale": 7, "name": "theirs"})
    dock.form.show_diff(False)
    edit.save()
    docked.wait(lambda: edit.state.status is EditStatus.CONFLICT)
    assert not dock.form.conflict.table.alternatingRowColors(), "napari's themes have no colour for them"
    window = docked.viewer.window._qt_window
    for height in (900, 560):
        window.resize(1000, height)
        docked.resize(WIDTHS[0])
        assert docked.elided() == []
        for button in dock.form.conflict.findChildren(QPushButton):
            docked.wait(lambda: button.visibleRegion().boundingRect().size() == button.size())  # noqa: B023 -- awaited


def test_notes_of_the_form_fit_a_narrow_dock(docked: Docked, shelf: Shelf) -> None:
    docked.show()
    docked.open(shelf.address, "/image")
    form = docked.dock.form.sections
    docked.resize(WIDTHS[0])
    viewport = form.viewport()
    assert viewport is not None
    notes = [note for note in form.findChildren(Label) if note.wordWrap() and note.isVisibleTo(form)]
    assert notes
    for note in notes:
        docked.wait(lambda: note.geometry().right() <= viewport.width())  # noqa: B023 -- awaited
        docked.wait(lambda: note.height() >= note.heightForWidth(note.width()))  # noqa: B023 -- awaited


def test_a_long_name_in_a_sentence_is_broken(docked: Docked, tmp_path: Path) -> None:
    """Qt shows a label whose longest word does not fit cut off at all sides."""
    place = tmp_path / f"{'uint16_imagecodecs_tiff_' * 3}.zarr"
    zarrscope.open(str(place), "w-").create_array("/line", shape=(4,), dtype="u1", chunks=(4,))
    docked.show()
    docked.open(str(place))
    docked.resize(WIDTHS[0])
    facts = docked.dock.facts
    docked.dock.add()
    docked.wait(lambda: "holds no image" in facts.text())
    assert facts.text().startswith(place.name), "it is read without the places where it may be broken"
    docked.wait(lambda: facts.height() >= facts.heightForWidth(facts.width()))
    assert facts.minimumSizeHint().width() <= facts.width()


def test_the_counts_of_chunks_fit_a_narrow_dock(docked: Docked, tmp_path: Path) -> None:
    place = str(tmp_path / "a.zarr")
    values = np.random.default_rng(1).integers(0, 255, (100, 100)).astype("u1")
    values[:50] = np.where(np.arange(100) % 50 < 25, values[:50], 1)  # these chunks are smaller than the others
    with zarrscope.open(place, "w-") as h:
        h.create_array("/a", shape=(100, 100), dtype="u1", chunks=(50, 50), codecs=["bytes", "gzip"])[...] = values
    docked.show()
    docked.open(place, "/a")
    docked.resize(WIDTHS[0])
    docked.dock.show_tab("chunks")
    pane, session = docked.dock.tabs.pages["chunks"], docked.dock.session
    assert session is not None
    docked.wait(lambda: any(item.label == "Sizes" for item in session.chunks.state.items))
    docked.viewer.window._qt_window.resize(1000, 560)
    docked.resize(WIDTHS[0])
    inside, bar = pane._side.widget(), pane._side.verticalScrollBar()
    docked.wait(lambda: bar.isVisible() and inside.width() <= pane._side.viewport().width())
    docked.wait(lambda: pane.legend.minimumSizeHint().width() <= pane.legend.width())
    docked.wait(lambda: pane.legend.height() >= pane.legend.heightForWidth(pane.legend.width()))


def test_the_form_of_an_image_is_not_scrolled_sideways(docked: Docked, shelf: Shelf) -> None:
    """Not in the usual width of a dock, and nothing in it is cut: the last field of a channel is in sight as well."""
    docked.show()
    docked.open(shelf.address, "/image")
    form = docked.dock.form.sections
    docked.wait(lambda: form.isVisibleTo(docked.dock) and "channel/0/active" in form.editors)
    viewport, bar = form.viewport(), form.horizontalScrollBar()
    assert viewport is not None
    assert bar is not None
    for width in WIDTHS:
        docked.resize(width)
        docked.wait(lambda: bar.maximum() == 0)
        for id, editor in form.editors.items():
            right = editor.mapTo(viewport, editor.rect().topRight()).x()
            assert right < viewport.width(), (width, id)
            assert editor.width() >= editor.minimumWidth(), (width, id)


def test_all_fields_and_json_are_not_scrolled_sideways(docked: Docked, shelf: Shelf) -> None:
    """In a narrow form the kinds are in the tooltips and in the menu, and lines of JSON are wrapped."""
    docked.show()
    edit = docked.open(shelf.address, "/image")
    edit.edit("/ome/multiscales/0/name", "a very long name of an image " * 4)
    form = docked.dock.form
    areas: tuple[tuple[Way, QAbstractScrollArea], ...] = (("fields", form.view), ("json", form.json.text))
    for way, area in areas:
        edit.show_way(way)
        bar = area.horizontalScrollBar()
        assert bar is not None
        for width in (*WIDTHS, 450):
            docked.resize(width)
            docked.wait(lambda: area.isVisibleTo(docked.dock) and bar.maximum() == 0)  # noqa: B023 -- awaited
            assert form.view.isColumnHidden(KIND) == (width < 450)
    place = form.model.place_of("/ome/multiscales/0/name")
    assert place is not None
    index = form.model.at(place)
    assert "text" in index.data(Qt.ItemDataRole.ToolTipRole)


def test_the_menu_of_a_field_changes_its_kind(docked: Docked, tmp_path: Path) -> None:
    """A narrow form has no column of kinds."""
    place = str(tmp_path / "x.zarr")
    zarrscope.open(place, "w-").root.attrs.put({"depth": "5"})
    docked.show()
    edit = docked.open(place)
    docked.resize(WIDTHS[0])
    form = docked.dock.form
    place_of = form.model.place_of("/depth")
    assert place_of is not None
    form.view.setCurrentIndex(form.model.at(place_of, VALUE))
    form._menu(form.view.rect().center())
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    kinds = next(action.menu() for action in menu.actions() if action.text() == LABELS["kind"])
    assert kinds is not None
    assert [action.text() for action in kinds.actions() if action.isChecked()] == ["text"]
    next(action for action in kinds.actions() if action.text() == "number").trigger()
    menu.close()
    docked.wait(lambda: [field.kind for field in edit.state.fields if field.pointer == "/depth"] == ["number"])


def test_the_chunk_map_of_many_axes_fits_and_is_readable_in_both_themes(docked: Docked, tmp_path: Path) -> None:
    """Its controls continue on further lines, and its dimmed labels stand out from napari's background."""
    place = str(tmp_path / "five.zarr")
    with zarrscope.open(place, "w-") as h:
        h.create_array("/a", shape=(4, 3, 8, 16, 16), dtype="u1", chunks=(1, 1, 2, 8, 8))[...] = 1
    docked.show()
    dock = docked.dock
    dock.open(place, "/a")
    docked.wait(lambda: dock.session is not None and dock.session.node is not None)
    docked.resize(WIDTHS[0])
    dock.show_tab("chunks")
    chunks = dock.tabs.pages["chunks"]
    docked.wait(lambda: len(chunks._spins) == 3 and chunks.counts.rowCount() > 2)
    QApplication.processEvents()
    for control in (chunks.rows, chunks.columns, *chunks._spins.values(), chunks._refresh):
        assert control.isVisibleTo(dock)
        assert control.mapTo(chunks, control.rect().topRight()).x() < chunks.width()

    def is_readable() -> bool:
        behind = palette_of(docked.viewer.theme).window().color()
        label = chunks.counts.itemAt(0, QFormLayout.ItemRole.LabelRole).widget()
        return abs(QColor(label.styleSheet()[-7:]).lightness() - behind.lightness()) > 60

    for theme in ("dark", "light", "dark"):
        docked.viewer.theme = theme
        docked.wait(is_readable)


def test_a_narrow_description_gives_its_values_more_room(docked: Docked, shelf: Shelf) -> None:
    docked.show()
    docked.open(shelf.address, "/image")
    docked.dock.show_tab("info")
    info = docked.dock.tabs.pages["info"]
    docked.resize(WIDTHS[0])
    docked.wait(lambda: 'td width="88"' in info.text.toHtml())
    docked.viewer.window._qt_window.resize(1400, 800)
    docked.resize(600)
    docked.wait(lambda: 'td width="150"' in info.text.toHtml())


def test_labels_and_levels_of_a_narrow_description_are_not_broken(docked: Docked, shelf: Shelf) -> None:
    """Neither within a word, nor within a shape."""
    zarrscope.open(shelf.address, "r+").consolidate()
    docked.show()
    docked.open(shelf.address, "/")
    docked.dock.show_tab("info")
    info = docked.dock.tabs.pages["info"]
    docked.resize(WIDTHS[0])
    longest = info.text.fontMetrics().horizontalAdvance("Consolidated")
    docked.wait(lambda: "Consolidated" in info.text.toPlainText() and info._labels >= longest + 6)
    assert _unbroken("8 × 4") == "8\xa0×\xa04"


def test_problems_are_read_whole_in_a_narrow_dock(docked: Docked, tmp_path: Path) -> None:
    """Their rows are as high as their texts; and without problems, the sentence stands at the top."""
    place = str(tmp_path / "x.zarr")
    with zarrscope.open(place, "w-") as h:
        h.create_array("/a", shape=(8, 8), dtype="u1", chunks=(4, 4))[...] = 1
    for chunk in Path(place, "a", "c").rglob("*"):
        if chunk.is_file():
            chunk.write_bytes(b"no chunk")
    docked.show()
    dock = docked.dock
    docked.open(place)
    dock.show_tab("problems")
    problems = dock.tabs.pages["problems"]
    docked.resize(WIDTHS[0])
    docked.wait(lambda: problems.sentence.geometry().bottom() < problems.check.geometry().top() < problems.height() / 2)
    problems.check.click()
    docked.wait(lambda: problems.list.topLevelItemCount() >= 4)
    tree = problems.list
    tree.expandAll()
    for width in WIDTHS:
        docked.resize(width)
        for place in (tree.model().index(0, 0), tree.model().index(0, 0, tree.model().index(0, 0))):
            needed = tree.fontMetrics().boundingRect(
                0, 0, tree.width_of(place), 10_000, Qt.TextFlag.TextWordWrap, with_breaks(place.data())
            )
            docked.wait(lambda: tree.visualRect(place).height() >= needed.height())  # noqa: B023 -- awaited
        docked.wait(lambda: tree.visualRect(tree.model().index(0, 0)).height() > 2 * tree.fontMetrics().height())


def test_the_dock_opens_where_the_selected_layer_is_from(docked: Docked, shelf: Shelf) -> None:
    layer = docked.viewer.add_image(np.eye(4), metadata={"zarrscope": {"url": shelf.address, "path": "/image"}})
    docked.viewer.layers.selection.active = layer
    docked.show()
    docked.wait(lambda: docked.dock.session is not None and docked.dock.session.hierarchy is not None)
    assert docked.dock.session is not None
    assert docked.dock.session.state.path == "/image"


def test_the_dock_stays_empty_for_a_layer_of_another_program(docked: Docked) -> None:
    docked.viewer.add_image(np.eye(4))
    docked.show()
    QApplication.processEvents()
    assert docked.dock.session is None
    assert docked.dock.layer_menu.isVisibleTo(docked.dock), "its commands concern layers"


def test_the_dock_reads_no_thumbnails_of_a_plate(hand: Hand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It shows no overview: a plate of 384 wells on a web server would be up to 1,500 requests for nothing."""
    read: list[str] = []
    own = overview._thumbnail

    def noted(image: Image) -> Any:
        read.append(image.path)
        return own(image)

    monkeypatch.setattr(overview, "_thumbnail", noted)
    with zarrscope.open(str(tmp_path / "plate.zarr"), "w-") as h:
        wells = [{"path": f"A/{n}", "rowIndex": 0, "columnIndex": n - 1} for n in (1, 2, 3)]
        plate = {"rows": [{"name": "A"}], "columns": [{"name": str(n)} for n in (1, 2, 3)], "wells": wells}
        h["/"].attrs["ome"] = {"version": "0.5", "plate": plate}
        for well in wells:
            h.create_group(f"/{well['path']}", {"ome": {"version": "0.5", "well": {"images": [{"path": "0"}]}}})
            axes, datasets = [{"name": n, "type": "space"} for n in "yx"], [{"path": "0"}]
            image = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}
            h.create_group(f"/{well['path']}/0", {"ome": image})
            h.create_array(f"/{well['path']}/0/0", shape=(8, 8), dtype="u1")[...] = 7
    hand.dock.open(str(tmp_path / "plate.zarr"))
    session: Any = hand.dock.session
    hand.wait(lambda: session.node is not None and len(session.tabs.presenters["overview"].state.cells) == 3)
    hand.dock.add()
    hand.wait(lambda: hand.dock.chooser.choice is not None)
    hand.dock.add()
    hand.wait(lambda: len(hand.viewer.layers) == 1 and not hand.dock.adding)
    assert not session.tabs.presenters["overview"].state.loading
    assert not read
