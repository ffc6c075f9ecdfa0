"""The overview of plates, wells and series: positions, thumbnails, common contrast, failures, opening one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from qtpy import QtTest
from qtpy.QtCore import QPoint, QPointF, Qt
from qtpy.QtGui import QWheelEvent
from qtpy.QtWidgets import QApplication

from contracts.journeys import Shelf
from narrowing import not_none
from qt_robot import QtRobot
from viewer import Viewer
from zarrscope.nodes.hierarchy import Hierarchy
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.ome.collection import Collection, CollectionMember
from zarrscope.runtime.threads import Background, Mailbox
from zarrscope.view.image import Image
from zarrscope_app.presenters.image import overview, placing, tile_geometry
from zarrscope_app.presenters.image.overview import OverviewPresenter
from zarrscope_app.presenters.image_names import called_image
from zarrscope_app.presenters.node_details import read_details
from zarrscope_app.presenters.session.actions import perform
from zarrscope_app.qt import overview as overviews

QTest: Any = QtTest.QTest  # PyQt6 declares its static functions as methods
WELLS = {"A/1": (0, 0, 100), "A/3": (0, 2, 200), "B/2": (1, 1, 50)}


def image(hierarchy: Hierarchy, path: str, value: int, window: bool = False) -> None:
    axes = [{"name": n, "type": "space"} for n in "yx"]
    datasets = [
        {"path": str(k), "coordinateTransformations": [{"type": "scale", "scale": [2.0**k] * 2}]} for k in (0, 1)
    ]
    ome: dict[str, Any] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}
    if window:
        ome["omero"] = {"channels": [{"color": "FFFFFF", "window": {"start": 0, "end": 255, "min": 0, "max": 255}}]}
    hierarchy.create_group(path, {"ome": ome})
    for k in (0, 1):
        side = 32 >> k
        data = np.zeros((side, side), "u1")
        data[side // 2 :] = value
        hierarchy.create_array(f"{path}/{k}", shape=data.shape, dtype="u1", chunks=(16, 16))[...] = data


def plate(shelf: Shelf, window: bool = False) -> None:
    hierarchy = open_hierarchy(shelf, "a")
    wells = [{"path": p, "rowIndex": r, "columnIndex": c} for p, (r, c, _) in WELLS.items()]
    stated = {
        "name": "P1",
        "rows": [{"name": n} for n in "AB"],
        "columns": [{"name": n} for n in "123"],
        "wells": wells,
        "version": "0.5",
    }
    hierarchy.create_group("/plate", {"ome": {"version": "0.5", "plate": stated}})
    for path, (_, _, value) in WELLS.items():
        well = {"version": "0.5", "images": [{"path": "0"}, {"path": "1"}]}
        hierarchy.create_group(f"/plate/{path}", {"ome": {"version": "0.5", "well": well}})
        for i in (0, 1):
            image(hierarchy, f"/plate/{path}/{i}", value, window)


def _drawn(grid: Any) -> set[str]:
    """The paths of the thumbnails that the grid keeps as they were drawn."""
    return {path for path, _ in grid._images}


class OverviewViewer(Viewer):
    @property
    def overview(self) -> OverviewPresenter:
        found = self.session.tabs.presenters["overview"]
        assert isinstance(found, OverviewPresenter)
        return found

    def whole(self) -> dict[str, Any]:
        """The cells by name, when all have arrived."""
        self.until(lambda: bool(self.overview.state.cells) and not self.overview.state.loading)
        return {cell.name: cell for cell in self.overview.state.cells}


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def view(shelf: Shelf) -> Iterator[Callable[[str], OverviewViewer]]:
    made: list[OverviewViewer] = []

    def make(path: str) -> OverviewViewer:
        made.append(OverviewViewer(shelf, path))
        return made[-1]

    yield make
    shelf.release()
    for viewer in made:
        viewer.close()


def details(session: Any) -> dict[str, str]:
    """The second column of the rows in the tree, by path."""
    return {row.path: row.detail for row in session.tree.flat(0, session.tree.flat_count)}


def test_wells_and_fields_are_named_in_tree_and_crumbs(shelf: Shelf, view: Any) -> None:
    plate(shelf)
    viewer = view("/plate")
    session = viewer.session
    viewer.whole()
    named = {"/plate/A/1": "well A/1", "/plate/A/3": "well A/3", "/plate/A": ""}
    session.tree.expand(session.tree.find("/plate"))
    viewer.until(lambda: session.tree.find("/plate/A") is not None)
    session.tree.expand(session.tree.find("/plate/A"))
    viewer.until(lambda: named.items() <= details(session).items())
    session.select("/plate/A/1")
    viewer.whole()
    session.tree.expand(session.tree.find("/plate/A/1"))
    viewer.until(lambda: details(session).get("/plate/A/1/1") == "field 2")
    session.select("/plate/A/1/1")
    crumbs = ("plate", "A", "well A/1", "field 2")
    viewer.until(lambda: tuple(label for label, _ in session.state.crumbs)[1:] == crumbs)
    assert "well A/1 ▸ field 2" in session.bookmark_label


def test_fields_are_named_when_the_address_is_one(shelf: Shelf, view: Any) -> None:
    plate(shelf)
    viewer = view("/plate/B/2/0")
    session = viewer.session
    crumbs = ("plate", "B", "well B/2", "field 1")
    viewer.until(lambda: tuple(label for label, _ in session.state.crumbs)[1:] == crumbs)
    viewer.until(lambda: {"/plate/B/2": "well B/2", "/plate/B/2/0": "field 1"}.items() <= details(session).items())
    session.reload()
    viewer.until(lambda: tuple(label for label, _ in session.state.crumbs)[1:] == crumbs)


def test_wells_stand_where_the_plate_has_them(shelf: Shelf, view: Any) -> None:
    plate(shelf)
    viewer = view("/plate")
    assert viewer.session.state.tab == "overview"
    assert next(tab.title for tab in viewer.session.state.tabs if tab.id == "overview") == "Plate"
    viewer.whole()
    state = viewer.overview.state
    assert (state.rows, state.columns) == (("A", "B"), ("1", "2", "3"))
    assert {c.path.removeprefix("/plate/"): (c.row, c.column) for c in state.cells} == {
        path: (row, column) for path, (row, column, _) in WELLS.items()
    }
    assert state.title == "Plate P1: 3 wells"
    viewer.session.set_tab("image")
    viewer.until(lambda: not viewer.session.state.selecting)
    shown = viewer.session.slice.image
    assert shown is not None
    assert viewer.session.status_text.startswith(shown.path.removeprefix("/plate/")), "which field the picture shows"
    assert (
        viewer.overview.text().splitlines()[2:] == ["   1 2 3", " A ■ · ■", " B · ■ ·"] or "■" in viewer.overview.text()
    )


@pytest.mark.parametrize(("least", "level"), [(16, 1), (17, 0), (64, 0)])
def test_thumbnails_are_of_the_coarsest_level_that_is_large_enough_in_one_contrast(
    shelf: Shelf, view: Any, least: int, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The levels have 32 and 16 pixels along a side."""
    monkeypatch.setattr(tile_geometry, "LEAST_SIDE", least)
    plate(shelf)
    viewer = view("/plate")
    shelf.read.clear()
    cells = viewer.whole()
    assert all(f"/{level}/c/" in key for key in shelf.read if not key.startswith("plate/A/1/0/0"))
    found = {cell.path.removeprefix("/plate/"): int(cell.rgb.max()) for cell in cells.values() if cell.rgb is not None}
    assert found["A/3"] == 255
    assert abs(found["A/1"] - 128) <= 1, "half as bright as the brightest"
    assert abs(found["B/2"] - 64) <= 1


def test_a_contrast_of_the_file_is_kept(shelf: Shelf, view: Any) -> None:
    plate(shelf, window=True)
    cells = view("/plate").whole()
    found = {cell.path.removeprefix("/plate/"): int(cell.rgb.max()) for cell in cells.values() if cell.rgb is not None}
    assert found == {path: value for path, (_, _, value) in WELLS.items()}


def test_fields_of_a_well_and_images_of_a_series(shelf: Shelf, view: Any) -> None:
    plate(shelf)
    viewer = view("/plate/A/3")
    assert [cell.path for cell in viewer.whole().values()] == ["/plate/A/3/0", "/plate/A/3/1"]
    assert viewer.overview.state.title == "Well A/3: 2 fields"
    hierarchy = open_hierarchy(shelf, "a")
    hierarchy.create_group("/series", {"ome": {"version": "0.5", "bioformats2raw.layout": 3}})
    for i in range(3):
        image(hierarchy, f"/series/{i}", 10 + i)
    series = view("/series")
    assert [cell.path for cell in series.whole().values()] == [f"/series/{i}" for i in range(3)]
    assert "/series/2" in series.overview.text()
    series.session.set_tab("image")
    series.until(lambda: not series.session.state.selecting and series.session.slice.image is not None)
    assert series.session.status_text.startswith("image 0"), "a bare 0 says nothing"
    assert view("/series/0").session.state.tab == "image"


def test_an_image_of_a_series_has_one_name_everywhere(shelf: Shelf, view: Any) -> None:
    """Its own name; without one its path "0", which is never counted from 1."""
    hierarchy = open_hierarchy(shelf, "a")
    hierarchy.create_group("/s", {"ome": {"version": "0.5", "bioformats2raw.layout": 3}})
    hierarchy.create_group("/s/OME", {"ome": {"version": "0.5", "series": ["0", "1"]}})
    for i in range(2):
        image(hierarchy, f"/s/{i}", 10 + i)
    attributes = json.loads(shelf.get("s/0/zarr.json") or b"")
    attributes["attributes"]["ome"]["multiscales"][0]["name"] = "overview"
    shelf.set("s/0/zarr.json", json.dumps(attributes).encode())
    series = view("/s")
    series.whole()
    assert [cell.name for cell in series.overview.state.cells] == ["overview", "1"]
    session = series.session
    session.set_tab("image")
    series.until(lambda: not session.state.selecting and session.slice.image is not None)
    assert session.status_text.startswith("image overview")
    assert any(section.title == "Image overview" for section in session.metadata.state.sections)
    assert session.tree.titles == {"/s/0": "overview", "/s/1": ""}
    session.select("/s/0")
    series.until(lambda: session.state.crumbs[-1] == ("overview", "/s/0"))
    session.select("/s/1")
    series.until(lambda: session.state.crumbs[-1] == ("1", "/s/1"))


@pytest.mark.parametrize(
    ("name", "told"),
    [("0", "image 0"), ("image 0", "image 0"), ("Image_07", "Image_07"), ("label.png", "image label.png")],
)
def test_an_image_is_called_an_image_once(name: str, told: str) -> None:
    assert called_image(name) == told


def test_the_tree_names_the_images_of_a_series_without_their_thumbnails(shelf: Shelf, view: Any) -> None:
    hierarchy = open_hierarchy(shelf, "a")
    hierarchy.create_group("/s", {"ome": {"version": "0.5", "bioformats2raw.layout": 3}})
    hierarchy.create_group("/s/0", {"ome": {"version": "0.5", "multiscales": [{"name": "overview", "datasets": []}]}})
    for i in range(1, 3):
        image(hierarchy, f"/s/{i}", 10)
    attributes = json.loads(shelf.get("s/1/zarr.json") or b"")
    attributes["attributes"]["ome"]["multiscales"][0]["name"] = "label.png"
    shelf.set("s/1/zarr.json", json.dumps(attributes).encode())
    series = view("/")
    tree = series.session.tree
    series.until(lambda: tree.find("/s") is not None)
    tree.expand(tree.find("/s"))
    series.until(lambda: tree.find("/s/2") is not None)
    assert series.session.state.path == "/", "the series is not opened"
    rows = [tree.row(tree.find(f"/s/{i}")) for i in range(3)]
    assert [row.detail for row in rows] == ["", "label.png", ""], "the first one is no valid image"


def test_what_cannot_be_shown_says_why(shelf: Shelf, view: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plate(shelf)
    for key in list(shelf.list()):
        if key.startswith("plate/A/1/0/") or key == "plate/A/1/1/zarr.json":
            shelf.erase(key)
    shelf.failing = {f"plate/B/2/{i}/0/c/0/0" for i in (0, 1)}
    viewer = view("/plate")
    viewer.whole()
    cells = {cell.path: cell for cell in viewer.overview.state.cells}
    assert cells["/plate/A/1"].rgb is None
    assert cells["/plate/A/1"].sentence
    assert "503" in cells["/plate/B/2"].sentence
    assert cells["/plate/A/3"].rgb is not None
    monkeypatch.setattr(overview, "MAX_OVERVIEW", 10)
    small = view("/plate/A/3")
    assert all("no level small enough" in cell.sentence for cell in small.whole().values())


def test_leaving_stops_reading(shelf: Shelf, view: Any) -> None:
    plate(shelf)
    shelf.hold("chunks")
    viewer = view("/plate")
    assert viewer.overview.state.loading == 3
    viewer.session.select("/plate/A/1/0/1")
    viewer.until(lambda: viewer.session.state.path.endswith("/1") and not viewer.session.state.selecting)
    assert not viewer.overview.state.cells
    shelf.release()
    viewer.mailbox.run()
    assert not viewer.overview.state.cells


def test_thumbnails_of_a_plate_are_kept_while_one_of_its_wells_is_displayed(
    shelf: Shelf, view: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    plate(shelf)
    viewer = view("/plate")
    before = viewer.whole()
    read: list[str] = []
    thumbnail = overview._thumbnail

    def counted(image: Image) -> Any:
        read.append(image.path)
        return thumbnail(image)

    monkeypatch.setattr(overview, "_thumbnail", counted)

    def go(path: str) -> dict[str, Any]:
        viewer.session.select(path)
        viewer.until(lambda: viewer.session.state.path == path and not viewer.session.state.selecting)
        found: dict[str, Any] = viewer.whole()
        return found

    go("/plate/A/1")
    assert len(read) == 2, "the fields of the well"
    again = go("/plate")
    assert len(read) == 2
    assert {name: cell.rgb is before[name].rgb for name, cell in again.items()} == dict.fromkeys(before, True)
    go("/plate/A/1")
    viewer.overview.forget()
    read.clear()
    assert len(go("/plate")) == len(read) == 3


def test_a_local_plate_is_read_by_no_more_threads_than_cores(tmp_path: Path) -> None:
    place = tmp_path / "plate.zarr"
    hierarchy = open_hierarchy(place, "w-")
    stated = {
        "rows": [{"name": "A"}],
        "columns": [{"name": str(n)} for n in range(9)],
        "wells": [{"path": f"A/{n}", "rowIndex": 0, "columnIndex": n} for n in range(9)],
    }
    hierarchy.create_group("/plate", {"ome": {"version": "0.5", "plate": stated}})
    mailbox = Mailbox()
    background = Background(decode_threads=3)
    found = OverviewPresenter(background.owner(mailbox), Mock())
    found.show_node(read_details(open_hierarchy(place), "/plate"))
    assert len(found._tickets) == 3
    assert found.state.loading == 9


@pytest.mark.parametrize(
    ("images", "rows", "columns"), [(1, 1, 1), (3, 1, 3), (4, 2, 2), (6, 2, 3), (12, 3, 4), (40, 6, 7)]
)
def test_images_fill_a_pane_that_is_wider_than_high(images: int, rows: int, columns: int) -> None:
    """Three images stand beside each other, more in rows, in their order."""
    members = tuple(CollectionMember(f"/{n}", str(n)) for n in range(images))
    placed = placing.laid_out(Collection("images", "/", "", members), members)
    assert [(row, column) for _, row, column in placed] == [divmod(n, columns) for n in range(images)]
    assert placed[-1][1] == rows - 1


# ---------------------------------------------------------------------- in the window
def test_a_plate_of_too_many_wells(shelf: Shelf, robot: QtRobot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a few thumbnails are requested at a time; the visible ones are drawn, and the title states how many wells
    there are."""
    monkeypatch.setattr(placing, "MAX_CELLS", 1000)
    rows, columns = 40, 50
    stated = {
        "rows": [{"name": f"R{n}"} for n in range(rows)],
        "columns": [{"name": f"C{n}"} for n in range(columns)],
        "wells": [{"path": f"R{r}/C{c}", "rowIndex": r, "columnIndex": c} for r in range(rows) for c in range(columns)],
    }
    open_hierarchy(shelf, "a").create_group("/many", {"ome": {"version": "0.5", "plate": stated}})
    robot.open(shelf.address)
    robot.session.select("/many")
    found = robot.session.tabs.presenters["overview"]
    assert isinstance(found, OverviewPresenter)
    robot.wait(lambda: "2,000 wells" in found.state.title, "the plate")
    assert found.state.title.endswith("of which 1,000 are laid out")
    assert len(found._tickets) <= overview.IN_FLIGHT
    grid = robot.window.overview.grid
    robot.wait(lambda: len(grid._cells) == placing.MAX_CELLS and grid.isVisible(), "the grid")
    robot.window.run("zoom-in")
    robot.window.run("zoom-in")
    robot.wait(
        lambda: 0 < len(grid._within(grid.visibleRegion().boundingRect())[1]) < columns, "some of the wells in sight"
    )
    seen = grid._within(grid.visibleRegion().boundingRect())
    assert 0 < len(seen[0]) * len(seen[1]) < 1500
    last = (seen[0][3], seen[1][-1])
    assert grid._at(grid.place_of(*last).center()) is grid._cells[last]
    assert grid._at(grid.place_of(*last).topLeft() - QPoint(1, 1)) is None


def test_a_plate_fits_a_small_window_and_is_zoomed(shelf: Shelf, robot: QtRobot) -> None:
    rows, columns = [*"ABCDEFGHIJKLMNOP"], [str(n) for n in range(1, 25)]
    wells = [
        {"path": f"{row}/{column}", "rowIndex": r, "columnIndex": c}
        for r, row in enumerate(rows)
        for c, column in enumerate(columns)
    ]
    names = {"rows": [{"name": n} for n in rows], "columns": [{"name": n} for n in columns]}
    open_hierarchy(shelf, "a").create_group("/many", {"ome": {"version": "0.5", "plate": {**names, "wells": wells}}})
    robot.open(shelf.address)
    robot.window.resize(900, 600)
    robot.session.select("/many")
    pane = robot.window.overview
    grid, area = pane.grid, pane.area
    robot.wait(lambda: pane.isVisible() and len(grid._cells) == 384, "the plate")
    bars = area.horizontalScrollBar(), area.verticalScrollBar()
    robot.wait(lambda: not any(bar is None or bar.maximum() for bar in bars), "the whole plate")
    assert not_none(area.viewport()).rect().contains(grid.place_of(0, 0).united(grid.place_of(15, 23)))
    fitting = grid.place_of(0, 0).width()
    assert fitting >= 12

    headings = grid._headings(range(16), range(24))
    assert {"A", "P", "1"} <= {name for _, name in headings}
    for heading, name in headings:
        assert grid.fontMetrics().horizontalAdvance(name) <= heading.width(), "no name is cut off"
    across = [place for place, name in headings if name.isdigit()]
    assert not any(one.intersects(other) for one in across for other in across if one is not other)

    grid.setFocus()
    QTest.keyClick(grid, Qt.Key.Key_Plus)
    robot.wait(
        lambda: grid.place_of(0, 0).width() > fitting and all(not_none(bar).maximum() for bar in bars), "larger ones"
    )
    for _ in range(23):
        QTest.keyClick(grid, Qt.Key.Key_Right)
    place = grid.place_of(0, 23)
    robot.wait(lambda: grid.visibleRegion().boundingRect().contains(place), "the current one, which is scrolled to")
    QTest.keyClick(grid, Qt.Key.Key_0)
    robot.wait(
        lambda: grid.place_of(0, 0).width() == fitting and not any(not_none(bar).maximum() for bar in bars), "all again"
    )
    QTest.keyClick(grid, Qt.Key.Key_Minus)
    assert grid.place_of(0, 0).width() == fitting, "not smaller than what fits"
    turn(grid, 120)
    assert grid.place_of(0, 0).width() > fitting
    turn(grid, -240)
    assert grid.place_of(0, 0).width() == fitting


def turn(grid: Any, angle: int) -> None:
    """Turns the wheel with Ctrl over the middle of the grid."""
    at = QPointF(grid.visibleRegion().boundingRect().center())
    event = QWheelEvent(
        at, QPointF(grid.mapToGlobal(at.toPoint())), QPoint(), QPoint(0, angle), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.ControlModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(grid, event)


def test_walking_a_plate_in_the_window(shelf: Shelf, robot: QtRobot) -> None:
    plate(shelf)
    robot.open(shelf.address)
    robot.session.select("/plate")
    pane = robot.window.overview
    robot.wait(lambda: pane.isVisible() and len(_drawn(pane.grid)) == 3, "the thumbnails")
    assert robot.sees("Plate P1: 3 wells")
    pane.grid.setFocus()
    QTest.keyClick(pane.grid, Qt.Key.Key_Right)
    assert pane.grid._current == (0, 2), "over the missing well"
    QTest.keyClick(pane.grid, Qt.Key.Key_Return)
    robot.wait(lambda: robot.session.state.path == "/plate/A/3" and len(pane.grid._cells) == 2, "the well")
    robot.wait(lambda: len(_drawn(pane.grid)) == 5, "the fields, which stay in their places now")

    def choose() -> bool:
        if robot.session.state.path == "/plate/A/3" and pane.isVisible():
            QTest.mouseClick(pane.grid, Qt.MouseButton.LeftButton, pos=pane.grid.place_of(0, 1).center())
        return robot.session.state.path == "/plate/A/3/1"

    robot.wait(choose, "the choice")
    robot.wait(lambda: robot.session.state.path == "/plate/A/3/1" and robot.session.state.tab == "image", "the field")
    number = list(robot.window.tabs.pages).index("overview")
    robot.wait(lambda: not robot.window.tabs.isTabVisible(number), "the tab to go")


def test_one_walks_on_without_going_back_to_the_plate(shelf: Shelf, view: Any) -> None:
    plate(shelf)
    viewer = view("/plate")

    def go(command: str, path: str) -> None:
        perform(viewer.session, command)
        viewer.until(lambda: viewer.session.state.path == path and not viewer.session.state.selecting)

    go("next-image", "/plate/A/1")
    go("next-image", "/plate/A/3")
    go("previous-image", "/plate/A/1")
    viewer.session.select("/plate/A/1/0")
    viewer.until(lambda: viewer.session.node is not None and viewer.session.node.path == "/plate/A/1/0")
    go("next-image", "/plate/A/1/1")
    go("next-image", "/plate/A/3/0")
    go("next-image", "/plate/A/3/1")
    go("next-image", "/plate/B/2/0")
    go("next-image", "/plate/B/2/1")
    go("next-image", "/plate/B/2/1")
    go("previous-image", "/plate/B/2/0")
    go("previous-image", "/plate/A/3/1")
    viewer.session.select("/plate")
    viewer.until(lambda: viewer.session.state.path == "/plate" and not viewer.session.state.selecting)
    go("previous-image", "/plate/B/2")
    go("next-image", "/plate/B/2")


@pytest.mark.parametrize(
    ("start", "path"),
    [("/plate/A/1", "/plate/A/3"), ("/plate/A/1/1", "/plate/A/3/0"), ("/plate/A/1/1/0", "/plate/A/3/0")],
)
def test_one_walks_on_in_a_plate_that_was_never_shown(shelf: Shelf, view: Any, start: str, path: str) -> None:
    plate(shelf)
    viewer = view(start)
    perform(viewer.session, "next-image")
    viewer.until(lambda: viewer.session.state.path == path and not viewer.session.state.selecting)
    perform(viewer.session, "previous-image")
    back = start.removesuffix("/1/0") + "/1" if start.endswith("/1/0") else start
    viewer.until(lambda: viewer.session.state.path == back and not viewer.session.state.selecting)


def test_a_thumbnail_that_arrives_paints_its_own_cell_only(shelf: Shelf, robot: QtRobot) -> None:
    plate(shelf)
    robot.open(shelf.address)
    robot.session.select("/plate")
    grid = robot.window.overview.grid
    robot.wait(lambda: grid.isVisible() and len(_drawn(grid)) == 3, "the thumbnails")
    drawn: list[str] = []
    draw = grid._draw

    def counted(painter: Any, cell: Any, box: Any) -> None:
        drawn.append(cell.path)
        draw(painter, cell, box)

    grid._draw = counted  # type: ignore[method-assign]  # to see what is painted
    QApplication.processEvents()
    grid.repaint()
    everything = set(drawn)
    assert len(everything) == 3
    drawn.clear()
    first, *others = grid._state.cells
    assert first.rgb is not None
    grid.show_state(replace(grid._state, cells=(replace(first, rgb=first.rgb.copy()), *others)))
    robot.wait(lambda: bool(drawn), "a painting")
    assert set(drawn) == {first.path}
    drawn.clear()
    grid.show_state(replace(grid._state, title="Another plate"))
    robot.wait(lambda: set(drawn) == everything, "all anew")


def test_a_thumbnail_is_scaled_once(shelf: Shelf, robot: QtRobot, monkeypatch: pytest.MonkeyPatch) -> None:
    plate(shelf)
    robot.open(shelf.address)
    robot.session.select("/plate")
    grid = robot.window.overview.grid
    robot.wait(lambda: grid.isVisible() and len(_drawn(grid)) == 3 and not grid._state.loading, "the thumbnails")
    scaled = Mock(wraps=grid._scaled)
    monkeypatch.setattr(grid, "_scaled", scaled)
    monkeypatch.setattr(overviews, "_KEPT_PIXELS", 1)  # the visible ones are kept nevertheless
    grid.repaint()
    scaled.assert_not_called()
    grid.zoom_by(1.5)
    grid.repaint()
    assert len({id(call.args[0]) for call in scaled.call_args_list}) == scaled.call_count == 3


def test_thumbnails_are_not_scaled_again_after_a_look_at_a_well(
    shelf: Shelf, robot: QtRobot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scaling those of a plate of 384 wells takes longer than a frame."""
    plate(shelf)
    robot.open(shelf.address)
    robot.session.select("/plate")
    grid = robot.window.overview.grid
    robot.wait(lambda: grid.isVisible() and len(_drawn(grid)) == 3 and not grid._state.loading, "the thumbnails")
    scaled = Mock(wraps=grid._scaled)
    monkeypatch.setattr(grid, "_scaled", scaled)
    robot.session.select("/plate/A/3")
    robot.wait(lambda: scaled.call_count == 2 and not grid._state.loading, "the fields of the well")
    robot.session.select("/plate")
    robot.wait(lambda: len(grid._state.cells) == 3, "the plate")
    grid.repaint()
    assert scaled.call_count == 2
    robot.window.overview.attach(None)
    assert not grid._images


def test_a_wider_contrast_draws_few_thumbnails_at_a_time(
    shelf: Shelf, view: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The brightest thumbnail may arrive last, and hundreds may then have to be drawn again."""
    plate(shelf)
    viewer = view("/plate")
    viewer.whole()
    monkeypatch.setattr(overview, "DRAWN_TOGETHER", 1)
    presenter = viewer.overview
    before = {place.path: place.rgb for place in presenter._places}
    last = presenter._places[0]
    assert last.thumbnail is not None
    last.thumbnail = replace(last.thumbnail, displays=(replace(last.thumbnail.displays[0], hi=1000.0),))
    left: list[int] = []
    presenter.changed.connect(lambda: left.append(presenter.state.loading))
    presenter._arrived(last)
    presenter._notify.soon()
    viewer.until(lambda: left[-1:] == [0])
    assert left == [2, 1, 0]
    assert all(before[place.path] is not place.rgb for place in presenter._places)
    assert all(int(place.rgb.max()) < 100 for place in presenter._places if place.rgb is not None)
