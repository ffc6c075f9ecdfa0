"""The dock at its usual width: nothing is elided, and until a place is open it shows only how to open one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QAbstractButton, QApplication, QPushButton

import zarrscope
from contracts.journeys import SECONDS, Shelf, labelled_image
from zarrscope_app.napari.dock import VIEWS_SHOWN, Explorer
from zarrscope_app.presenters import EditPresenter, EditStatus, Forgetful
from zarrscope_app.qt.form_model import VALUE
from zarrscope_app.qt.text import Label

WIDTHS = (300, 350)


class Docked:
    """A dock in the window of a viewer."""

    def __init__(self, qtbot: Any, viewer: Any) -> None:
        self.qtbot, self.viewer = qtbot, viewer
        self.dock = Explorer(viewer, settings=Forgetful())

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
        """Gives the dock this width, as dragging its edge does."""
        self.viewer.window._qt_window.resizeDocks([self.frame], [width], Qt.Orientation.Horizontal)
        self.wait(lambda: abs(self.dock.width() - width) < 20)

    def wait(self, happened: Callable[[], object]) -> None:
        self.qtbot.waitUntil(lambda: bool(happened()), timeout=int(SECONDS * 1000))

    def elided(self) -> list[str]:
        """The visible buttons that are narrower than their text needs."""
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
