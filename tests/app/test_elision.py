"""In the tree, long names and titles that share their beginning and their end can be told apart."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from contracts.slides import image
from narrowing import not_none
from zarrscope_app.presenters.elision import elided

NAMES = [f"cells of the third passage, well {well}, {when} treatment.zarr" for well in ("A1", "A2") for when in "ab"]
TITLES = ["cells of the third passage, before treatment", "cells of the third passage, after treatment"]


def shortened(texts: Sequence[str], width: int) -> list[str]:
    """Each text as it is shown beside those before and after it, in at most `width` characters."""
    beside = [[*texts[max(0, i - 1) : i], *texts[i + 1 : i + 2]] for i in range(len(texts))]
    return [elided(text, others, lambda shown: len(shown) <= width) for text, others in zip(texts, beside, strict=True)]


@pytest.mark.parametrize("width", [10, 16, 24, 40])
@pytest.mark.parametrize("texts", [NAMES, TITLES, [f"image-{i:04}-of-the-long-series.ome.zarr" for i in range(9, 12)]])
def test_neighbours_differ_and_fit(texts: list[str], width: int) -> None:
    shown = shortened(texts, width)
    assert all(len(text) <= width for text in shown), shown
    assert all(one != other for one, other in pairwise(shown)), shown


def test_a_text_without_neighbours_loses_its_middle() -> None:
    assert elided("a long name of a file", [], lambda text: len(text) <= 12) == "a long… file"
    assert elided("a long name of a file", ["another name"], lambda text: len(text) <= 12) == "a long… file"


def test_what_differs_is_shown_from_the_beginning_of_its_word() -> None:
    assert shortened(TITLES, 22) == ["cells…before treatment", "cells …after treatment"]
    assert shortened(TITLES, 16) == ["cel…before trea…", "cel…after treat…"]
    assert shortened(["y" * 20, "x" * 20], 6) == ["yyy…yy", "xxx…xx"]


@pytest.mark.parametrize("width", [0, 1, 2])
def test_without_any_room_there_is_an_ellipsis(width: int) -> None:
    assert {*shortened(NAMES[:1], width)} == {"…" if width < 2 else "c…"}


@pytest.fixture
def slides(tmp_path: Path) -> Path:
    """A folder of images with long names."""
    for name in NAMES:
        image(tmp_path / "slides" / name, ("DAPI",))
    return tmp_path / "slides"


@pytest.fixture
def series(tmp_path: Path) -> Path:
    """A series of images with long titles."""
    place = tmp_path / "series.zarr"
    with zarrscope.open(str(place), "w-") as h:
        h.root.attrs.put({"ome": {"version": "0.5", "bioformats2raw.layout": 3}})
    for number, title in enumerate(TITLES):
        image(place / str(number), ("DAPI",))
        document = place / str(number) / "zarr.json"
        stored = json.loads(document.read_text("utf-8"))
        stored["attributes"]["ome"]["multiscales"][0]["name"] = title
        document.write_text(json.dumps(stored), "utf-8")
    return place


# ---------------------------------------------------------------------- the window
@pytest.mark.needs("qt", "display")
@pytest.mark.parametrize("column", [0, 1])
def test_the_window_paints_neighbours_differently(qtbot: Any, slides: Path, series: Path, column: int) -> None:
    from qt_robot import QtRobot
    from zarrscope_app.qt.toolkit.core import Qt

    robot = QtRobot(qtbot)
    paths = ("/0", "/1") if column else [f"/{name}" for name in NAMES]
    robot.open(str(series if column else slides))
    view = robot.window.tree.view
    view.setFixedWidth(200)
    robot.wait(lambda: len(robot.rows()) >= len(paths), "the rows")
    if column:
        robot.wait(lambda: all("cells" in str(robot._find(path).siblingAtColumn(1).data()) for path in paths), "titles")
    viewport = not_none(view.viewport())
    view.setCurrentIndex(robot._find("/"))
    robot.wait(lambda: view.width() == 200, "its width")
    wide = viewport.width()

    def painted(path: str) -> Any:
        rect = view.visualRect(robot._find(path))
        rect.setLeft(60 if column else rect.left() + 30)
        rect.setRight(wide - 1)
        return viewport.grab(rect).toImage()

    pictures = [painted(path) for path in paths]
    assert all(pictures[i] != pictures[i + 1] for i in range(len(pictures) - 1)), "they look alike"
    tooltip = robot._find(paths[0]).siblingAtColumn(column).data(Qt.ItemDataRole.ToolTipRole)
    assert (TITLES[0] if column else NAMES[0]) in str(tooltip).replace("&nbsp;", " "), "the tooltip has it whole"
    robot.close()


# ---------------------------------------------------------------------- the terminal
@pytest.mark.parametrize("titled", [False, True])
def test_the_terminal_writes_neighbours_differently(slides: Path, series: Path, titled: bool) -> None:
    from terminal_hand import Screen, explore

    async def steps(screen: Screen) -> None:
        tree = screen.app.tree_lines
        await screen.until(lambda: tree.count() == (3 if titled else 5), "the rows")
        await screen.until(lambda: "cel" in tree.render_line(1).text, "the names")
        lines = [tree.render_line(y).text for y in range(1, 3 if titled else 5)]
        shown = [line.split("▸")[-1].strip() for line in lines]
        assert all(one[1:].strip() != other[1:].strip() for one, other in pairwise(shown)), shown
        assert all(text.startswith(("0 cel", "1 cel") if titled else "cel") for text in shown), shown
        if titled:
            captions = [line[26:] for line in screen.painted().split("\n") if line[26:].count("cel") == 2]
            assert captions, screen.painted()
            assert "before" in captions[0], captions
            assert "after" in captions[0], captions

    explore(str(series if titled else slides), steps)


def test_a_text_of_any_pixels_is_measured_a_few_times() -> None:
    """A scroll through thousands of long names measures each of them."""
    calls = 0

    def fits(text: str) -> bool:
        nonlocal calls
        calls += 1
        return len(text) < 20

    elided("x" * 4000 + "1" + "y" * 4000, ["x" * 4000 + "2" + "y" * 4000], fits)
    assert calls < 60
