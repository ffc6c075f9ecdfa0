"""Faults of the dock and its dialogs that were seen in screenshots, in napari's light and dark themes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qtpy.QtCore import QSize, Qt
from qtpy.QtGui import QIcon
from qtpy.QtWidgets import QApplication

import zarrscope
from contracts.slides import image
from napari_hand import Hand

pytestmark = pytest.mark.needs("qt", "display")


def test_no_line_of_a_preview_needs_sideways_scrolling(qtbot: Any) -> None:
    from zarrscope_app.napari.preview import PreviewDialog

    path = "/labels/" + "cells-of-the-third-passage-" * 6 + "/0"
    dialog = PreviewDialog("", "", [f"{path}: 349 elements in 1 chunk, from the level above (nearest)"], "", int, int)
    qtbot.addWidget(dialog)
    dialog.show()
    sideways: Any = dialog.plan.horizontalScrollBar()
    qtbot.waitUntil(lambda: dialog.plan.blockBoundingRect(dialog.plan.firstVisibleBlock()).height() > 0, timeout=60_000)
    assert sideways.maximum() == 0


def test_return_carries_out_a_preview(qtbot: Any) -> None:
    """Return pressed *Cancel*, the first button, in each of them."""
    from zarrscope_app.napari.preview import PreviewDialog

    done: list[str] = []
    dialog = PreviewDialog("", "", [], "Write", lambda: done.append("write"), lambda: done.append("left"))
    qtbot.addWidget(dialog)
    with qtbot.waitExposed(dialog):
        dialog.show()
    qtbot.keyClick(dialog.plan, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: bool(done), timeout=60_000)
    assert done == ["write"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_chunks_have_the_accent_of_the_theme(hand: Hand, tmp_path: Path, theme: str) -> None:
    """They were grey on grey: napari's style sheet sets a grey accent."""
    from zarrscope_app.qt.theme import current_palette

    image(tmp_path / "a.zarr", ("DAPI",))
    with zarrscope.open(str(tmp_path / "a.zarr"), "r+") as h:
        level: Any = h["/0"]
        level[...] = np.arange(level.size, dtype="u1").reshape(level.shape)  # chunks of unlike sizes would be paler
    hand.viewer.theme = theme
    hand.dock.open(str(tmp_path / "a.zarr"))
    hand.wait(lambda: hand.dock.session is not None and hand.dock.session.node is not None)
    hand.dock.show_tab("chunks")
    pane: Any = hand.dock.tabs.pages["chunks"]
    hand.wait(lambda: pane.map.isVisible() and pane._presenter.state.cells is not None)
    accent = current_palette().highlight().color()
    assert accent.saturation() > 60

    def is_painted() -> bool:
        drawn = pane.map.grab().toImage()
        colors = [drawn.pixelColor(drawn.width() // 4, y) for y in range(4, drawn.height(), 7)]
        return any(abs(one.hue() - accent.hue()) < 20 and one.saturation() > 30 for one in colors)

    hand.wait(is_painted)


def test_a_dock_of_300_pixels_shows_more_than_two_facts_about_the_chunks(hand: Hand, tmp_path: Path) -> None:
    """The map left room for two rows of the facts, and the axes of its rows and columns stood on two lines."""
    image(tmp_path / "a.zarr", ("DAPI", "GFP"))
    hand.dock.resize(300, 800)
    hand.dock.open(str(tmp_path / "a.zarr"))
    hand.wait(lambda: hand.dock.session is not None and hand.dock.session.node is not None)
    hand.dock.show_tab("chunks")
    pane: Any = hand.dock.tabs.pages["chunks"]
    pane.setFixedSize(280, 420)
    hand.wait(lambda: pane.map.isVisible() and pane._presenter.state.cells is not None and pane.counts.rowCount() > 3)
    QApplication.processEvents()
    assert pane._side.viewport().height() > 100
    assert pane.map.height() >= 60
    assert pane.rows.mapTo(pane, pane.rows.pos()).y() == pane.columns.mapTo(pane, pane.columns.pos()).y()
    assert pane.level.y() == pane.coloring.y()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_icon_that_cannot_be_pressed_is_fainter(hand: Hand, theme: str) -> None:
    """Redo without anything to redo looked like Undo beside it."""
    from zarrscope_app.qt.theme import icon

    def strength(mode: QIcon.Mode) -> int:
        drawn = icon("redo").pixmap(QSize(32, 32), mode).toImage()
        background = hand.dock.palette().window().color().lightness()
        inks = (drawn.pixelColor(x, y) for x in range(drawn.width()) for y in range(drawn.height()))
        return max(abs(ink.lightness() - background) for ink in inks if ink.alpha() == 255)

    hand.viewer.theme = theme
    assert strength(QIcon.Mode.Disabled) < 0.7 * strength(QIcon.Mode.Normal)


def test_values_have_half_of_a_dock_of_500_pixels(hand: Hand, tmp_path: Path) -> None:
    """The names took 320 pixels, and "container" was cut to "con…"."""
    zarrscope.open(str(tmp_path / "a.zarr"), "w-").create_group("/notes", {"title": "container"})
    hand.dock.open(str(tmp_path / "a.zarr"), "/notes")
    hand.wait(lambda: hand.dock.session is not None and hand.dock.session.node is not None)
    form = hand.dock.form
    form.setFixedSize(470, 400)
    header: Any = form.view.header()
    hand.wait(lambda: form.view.isVisible() and header.sectionSize(1) >= header.sectionSize(0) - 2)
    form.setFixedSize(900, 400)
    hand.wait(lambda: header.sectionSize(0) == 320)
    header.resizeSection(0, 400)
    form.setFixedSize(910, 400)
    QApplication.processEvents()
    assert header.sectionSize(0) == 400, "a width that a person has set stays"


def test_the_address_of_a_folder_is_its_path(hand: Hand, tmp_path: Path) -> None:
    """At the layer's place the dock had an address like file:///a%20b.zarr, of which only the end was to be seen."""
    place = tmp_path / "a b.zarr"
    zarrscope.open(str(place), "w-")
    hand.dock.open(place.as_uri())
    hand.wait(lambda: hand.dock.session is not None and hand.dock.session.node is not None)
    assert hand.dock.address.text() == str(place)
