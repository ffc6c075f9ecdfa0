"""Faults of the window's tabs that were seen on stores of the conformance archive, light and dark, large and small."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zarrscope
from contracts.slides import image

pytestmark = pytest.mark.needs("qt", "display")


def open_image(qtbot: Any, place: Path, names: tuple[str, ...]) -> tuple[Any, Any]:
    """A window in front with an image that has a channel for each name, once its picture is there; its session."""
    from qt_robot import window_on

    image(place, names)
    window, session = window_on(qtbot, str(place))
    qtbot.waitUntil(lambda: session.node is not None and not session.state.selecting, timeout=60_000)
    qtbot.waitUntil(lambda: not session.slice.frame.loading, timeout=60_000)
    return window, session


def test_gamma_stands_in_one_column(qtbot: Any, tmp_path: Path) -> None:
    """The fields were placed by the lengths of the numbers beside them."""
    window, session = open_image(qtbot, tmp_path / "a.zarr", ("DAPI", "GFP", "RFP"))
    rows = window.channels._rows
    session.slice.set_levels(0, 0, 7)
    session.slice.set_levels(1, 12.25, 187.75)
    qtbot.waitUntil(lambda: [row.limits["hi"].text() for row in rows] == ["7", "188", "200"], timeout=60_000)
    qtbot.waitUntil(lambda: len({row.gamma.geometry().left() for row in rows}) == 1, timeout=60_000)


def test_the_text_beside_the_map_of_chunks_uses_the_room(qtbot: Any, tmp_path: Path) -> None:
    """Its sentences were wrapped after 320 pixels, with as much room to the right of them."""
    from zarrscope_app.qt.chunks import WIDEST_SIDE

    window, session = open_image(qtbot, tmp_path / "a.zarr", ("DAPI",))
    window.resize(1700, 500)  # the height limits the map
    session.set_tab("chunks")
    pane = window.tabs.pages["chunks"]
    qtbot.waitUntil(lambda: pane._side.isVisible() and pane._side.width() == WIDEST_SIDE, timeout=60_000)


def test_the_list_of_keys_names_each_and_fits_a_small_window(qtbot: Any, tmp_path: Path) -> None:
    """It was 1,360 pixels high, and its "<" was taken for HTML."""
    from qtpy.QtWidgets import QDialog, QTextBrowser

    from zarrscope_app.presenters.commands import command

    window, _ = open_image(qtbot, tmp_path / "a.zarr", ("DAPI",))
    window.resize(900, 600)
    window.run("keys")
    (box,) = [each for each in window.findChildren(QDialog) if each.windowTitle() == command("keys").label]
    shown = box.findChild(QTextBrowser).toPlainText().split("\n")
    assert [shown[shown.index(command(id).label) - 1] for id in ("brighter", "darker")] == [">", "<"]
    assert box.height() <= 600
    box.close()


def test_a_long_description_uses_the_room(qtbot: Any, tmp_path: Path) -> None:
    image(tmp_path / "a.zarr", ("DAPI",))
    told = (
        "Cells of the third passage, fixed and stained on the day after they were seeded, seen at twenty magnifications"
    )
    with zarrscope.open(str(tmp_path / "a.zarr"), "r+") as h:
        ome = h.root.attrs["ome"]
        ome["multiscales"][0]["metadata"] = {"description": told}
        h.root.attrs["ome"] = ome
    from qt_robot import window_on

    window, session = window_on(qtbot, str(tmp_path / "a.zarr"))
    window.resize(1400, 800)
    session.set_tab("attributes")
    form = window.form.sections

    def is_whole() -> bool:
        lines = [line for line in form.editors.values() if getattr(line, "text", str)() == told]
        return bool(lines) and lines[0].width() > lines[0].fontMetrics().horizontalAdvance(told)

    qtbot.waitUntil(is_whole, timeout=60_000)


def test_a_chunk_that_is_not_stored_is_sought_only_where_there_may_be_one(qtbot: Any, tmp_path: Path) -> None:
    window, session = open_image(qtbot, tmp_path / "a.zarr", ("DAPI",))
    session.set_tab("chunks")
    button = window.tabs.pages["chunks"].missing
    qtbot.waitUntil(lambda: button.isVisible() and not button.isEnabled(), timeout=60_000)
    assert button.toolTip(), "says why"
    gone = next(path for path in (tmp_path / "a.zarr" / "0" / "c").rglob("*") if path.is_file())
    gone.unlink()
    session.chunks.refresh()
    qtbot.waitUntil(button.isEnabled, timeout=60_000)


def test_a_long_pixel_size_is_seen_whole(qtbot: Any, tmp_path: Path) -> None:
    """The last digits of sizes that another program computed were cut off; the fields of a column stay alike."""
    image(tmp_path / "a.zarr", ("DAPI",))
    with zarrscope.open(str(tmp_path / "a.zarr"), "r+") as h:
        ome = h.root.attrs["ome"]
        for level in ome["multiscales"][0]["datasets"]:
            level["coordinateTransformations"][0]["scale"][2:] = [0.10833333333333334] * 2
        h.root.attrs["ome"] = ome
    from qt_robot import window_on

    window, session = window_on(qtbot, str(tmp_path / "a.zarr"))
    session.set_tab("attributes")
    form = window.form.sections
    qtbot.waitUntil(lambda: "size/2" in form.editors, timeout=60_000)
    lines: list[Any] = [form.editors[f"size/{axis}"] for axis in (1, 2, 3)]
    needed = lines[1].fontMetrics().horizontalAdvance("0.10833333333333334") + 8
    qtbot.waitUntil(lambda: lines[1].text() == "0.10833333333333334" and lines[1].width() > needed, timeout=60_000)
    qtbot.waitUntil(lambda: len({line.width() for line in lines}) == 1, timeout=60_000)


def test_an_axis_without_a_unit_says_so(qtbot: Any, tmp_path: Path) -> None:
    """The field for the unit was an empty box."""
    from qt_robot import window_on

    image(tmp_path / "a.zarr", ("DAPI",))
    with zarrscope.open(str(tmp_path / "a.zarr"), "r+") as h:
        ome = h.root.attrs["ome"]
        del ome["multiscales"][0]["axes"][1]["unit"]
        h.root.attrs["ome"] = ome
    window, session = window_on(qtbot, str(tmp_path / "a.zarr"))
    session.set_tab("attributes")
    form = window.form.sections
    qtbot.waitUntil(lambda: "unit/2" in form.editors, timeout=60_000)

    def hints() -> list[str]:
        boxes: list[Any] = [form.editors[f"unit/{axis}"] for axis in (1, 2)]
        return [box.lineEdit().placeholderText() for box in boxes]

    qtbot.waitUntil(lambda: hints() == ["no unit", ""], timeout=60_000)


def test_a_sentence_beside_the_address_leaves_it_room(qtbot: Any, tmp_path: Path) -> None:
    """In a window of 900 pixels it took half of the line."""
    from qt_robot import window_on

    place = tmp_path / "cells of the third passage, fixed on the second day and stained again.zarr"
    image(place, ("DAPI",))
    window, session = window_on(qtbot, str(place / "0"))
    window.resize(900, 600)
    qtbot.waitUntil(lambda: session.state.facts.startswith("Part of "), timeout=60_000)
    line = window.address
    qtbot.waitUntil(lambda: 0 < line.facts.width() <= line.width() * 2 // 5, timeout=60_000)
    qtbot.waitUntil(lambda: session.state.facts in line.facts.toolTip(), timeout=60_000)
    session.select("/")
    qtbot.waitUntil(lambda: not line.facts.toolTip() and line.facts.text() == session.state.facts, timeout=60_000)
    needed = line.facts.fontMetrics().horizontalAdvance(session.state.facts)
    assert needed < line.facts.width() < needed + 20, "the address has the rest again"


def test_the_folder_of_several_images_shows_no_empty_table(qtbot: Any, tmp_path: Path) -> None:
    from qt_robot import window_on

    for name in "ab":
        image(tmp_path / f"{name}.zarr", ("DAPI",))
    window, session = window_on(qtbot, str(tmp_path))
    session.set_tab("attributes")
    qtbot.waitUntil(lambda: session.edit.state.sentence.startswith("This folder"), timeout=60_000)
    qtbot.waitUntil(lambda: not window.form.view.isVisible() and window.form.isVisible(), timeout=60_000)
    assert not window.form._buttons["writable"].isVisible()
    session.select("/a.zarr")
    qtbot.waitUntil(window.form.sections.isVisible, timeout=60_000)


def test_a_document_in_one_line_is_wrapped(qtbot: Any, tmp_path: Path) -> None:
    """It was scrolled sideways for metres. Other documents keep their lines."""
    import json

    from qt_robot import window_on

    for name, indent in (("one", None), ("many", 2)):
        image(tmp_path / f"{name}.zarr", ("DAPI",))
        document = tmp_path / f"{name}.zarr" / "zarr.json"
        document.write_text(json.dumps(json.loads(document.read_text()), indent=indent))
    window, session = window_on(qtbot, str(tmp_path))
    session.set_tab("attributes")
    for name in ("one", "many"):
        session.select(f"/{name}.zarr")
        qtbot.waitUntil(
            lambda name=name: session.state.path == f"/{name}.zarr" and not session.state.selecting, timeout=60_000
        )
        qtbot.waitUntil(lambda: "json" in session.edit.state.ways, timeout=60_000)
        session.edit.show_way("json")
        text = window.form.json.text
        wrapped = text.LineWrapMode.WidgetWidth if name == "one" else text.LineWrapMode.NoWrap
        qtbot.waitUntil(
            lambda text=text, wrapped=wrapped: text.isVisible() and text.lineWrapMode() == wrapped, timeout=60_000
        )


def test_what_could_not_be_opened_is_neither_checked_nor_compared(qtbot: Any, tmp_path: Path) -> None:
    from qt_robot import window_on

    window, session = window_on(qtbot, str(tmp_path / "none.zarr"))
    pane = window.problems
    qtbot.waitUntil(lambda: bool(session.problems.count) and pane.isVisible(), timeout=60_000)
    qtbot.waitUntil(lambda: not pane.check.isEnabled() and not pane.compare.isEnabled(), timeout=60_000)
    assert "Nothing was checked" not in pane.sentence.text()


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("a sentence of a letter", []),
        ("/data/cells.zarr", ["/data/cells.zarr"]),
        ("https://example.org/a.zarr\nplease look at it\ncells.zarr", ["https://example.org/a.zarr", "cells.zarr"]),
        ("C:\\data\\a.zarr", ["C:\\data\\a.zarr"]),
    ],
)
def test_only_lines_that_look_like_an_address_are_dropped(text: str, places: list[str]) -> None:
    """A sentence that was dropped by mistake stood in the tree as a place that could not be opened."""
    from qtpy.QtCore import QMimeData, QPointF, Qt
    from qtpy.QtGui import QDropEvent

    from zarrscope_app.qt.address import dropped_places

    data = QMimeData()
    data.setText(text)
    button, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    assert dropped_places(QDropEvent(QPointF(9, 9), Qt.DropAction.CopyAction, data, button, none)) == places


def test_complex_values_stand_in_two_lines(qtbot: Any, tmp_path: Path) -> None:
    """A column of them was as wide as half the window: hardly two columns were seen."""
    from qt_robot import window_on

    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        made = h.create_array("/c", shape=(4, 4), dtype="complex128", chunks=(4, 4))
        made[...] = -1 / 3 + 1j / 7
    window, session = window_on(qtbot, str(tmp_path / "a.zarr"))
    session.select("/c")
    qtbot.waitUntil(lambda: session.state.path == "/c" and not session.state.selecting, timeout=60_000)
    session.set_tab("values")
    view, model = window.values.view, window.values.model
    qtbot.waitUntil(lambda: view.isVisible() and "\n" in str(model.index(0, 0).data()), timeout=60_000)
    assert [line[0] for line in model.index(0, 0).data().split("\n")] == ["-", "+"]
    assert view.rowHeight(0) >= 2 * view.fontMetrics().height()
