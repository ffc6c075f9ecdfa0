"""Each state of a tile is visible without colours, and the probe names the reason and the key."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from qtpy.QtCore import QPoint, QRectF
from qtpy.QtGui import QFontMetricsF, QHelpEvent, QImage
from qtpy.QtWidgets import QApplication, QToolTip

from contracts.journeys import Shelf
from qt_robot import QtRobot
from zarrscope.errors import Unreadable
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.runtime.threads import Mailbox
from zarrscope.view.render import pattern
from zarrscope_app.presenters import SlicePresenter, TileState, Workspace
from zarrscope_app.presenters.image import words
from zarrscope_app.presenters.image.painting import Mark, sign
from zarrscope_app.presenters.session.actions import perform
from zarrscope_app.qt.canvas import ImageCanvas
from zarrscope_app.qt.canvas_notes import place_of_reason
from zarrscope_app.qt.text import tip

SIDE, CHUNK = 96, 48


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def quarters(shelf: Shelf) -> None:
    """Four chunks: one stored, one not stored, one that cannot be read, one broken."""
    array = open_hierarchy(shelf, "a").create_array(
        "/a", shape=(SIDE, SIDE), dtype="u1", chunks=(CHUNK, CHUNK), fill_value=3
    )
    array[...] = 100
    shelf.erase("a/c/0/1")
    shelf.failing = {"a/c/1/0"}
    shelf.set("a/c/1/1", b"no chunk")


def shown(robot: QtRobot, shelf: Shelf) -> SlicePresenter:
    robot.open(shelf.address)
    robot.session.select("/a")
    picture = robot.session.slice
    robot.wait(lambda: picture._is_whole(), "the picture")
    return picture


def test_a_place_says_why_it_looks_as_it_does(robot: QtRobot, shelf: Shelf) -> None:
    quarters(shelf)
    picture = shown(robot, shelf)
    assert picture.why(10, 10) == ""
    assert picture.why(10, 60) == "No chunk stored here: shown as the fill value 3. Key a/c/0/1."
    refused = picture.why(60, 10)
    assert "503" in refused
    assert "a/c/1/0" in refused
    assert refused.endswith("Click to read it again.")
    assert "a/c/1/1" in picture.why(60, 60)
    assert picture.why(-1, 5) == ""
    picture.hover(10, 60)
    assert picture.note == "No chunk stored here: shown as the fill value 3. Key a/c/0/1."
    assert "1 tile failed: click to read again" in robot.session.state.status_text
    robot.session.set_tab("info")
    assert "tile" not in robot.session.state.status_text, "there is none to click"


def test_the_reason_stands_beside_the_number_of_failed_tiles(robot: QtRobot, shelf: Shelf) -> None:
    """Without hovering over the tile, the reason is in the status bar while no pixel is read out there, and in its
    tooltip."""
    quarters(shelf)
    picture = shown(robot, shelf)
    robot.wait(lambda: picture._tiles.settled and "503" in picture.broken, "the failure")
    assert "a/c/1/0" in picture.broken
    robot.wait(lambda: "503" in robot.window._probe.text() or bool(picture.probe.text), "the status bar")
    picture._unpin()
    robot.window._status()
    assert picture.broken in robot.window._probe.text()
    assert "503" in robot.window._view_text.toolTip()
    robot.session.set_tab("info")
    robot.wait(lambda: not robot.window._probe.text() and not robot.window._view_text.toolTip(), "no picture")
    robot.session.set_tab("image")
    shelf.failing = set()
    shelf.set("a/c/1/1", bytes(CHUNK * CHUNK))
    robot.window.run("retry-tiles")
    robot.wait(lambda: not picture.broken and "503" not in robot.window._probe.text(), "the data")


def test_the_next_step_is_readable_over_a_narrow_picture(robot: QtRobot, shelf: Shelf) -> None:
    """The reason was cut at the width of the picture, and with it the next step, which stands at its end."""
    quarters(shelf)
    shelf.failing = {f"a/c/{y}/{x}" for y in (0, 1) for x in (0, 1)}
    picture = shown(robot, shelf)
    robot.wait(lambda: "503" in picture.frame.over, "the reason")
    canvas = robot.window.findChild(ImageCanvas)
    canvas.resize(300, 300)
    place = place_of_reason(canvas, picture.frame.over)
    line = QFontMetricsF(canvas.font())
    assert line.horizontalAdvance(picture.frame.over) > place.width(), "one line would not suffice"
    assert canvas.rect().contains(place.toAlignedRect())
    drawn = canvas.grab().toImage()
    rows = [y for y in range(int(place.top()), int(place.bottom())) if _holds_ink(drawn, place, y)]
    assert rows[-1] - rows[0] > 1.5 * line.height(), "several lines"


def _holds_ink(drawn: QImage, place: QRectF, y: int) -> bool:
    grey = [drawn.pixelColor(x, y).lightness() for x in range(int(place.left()) + 2, int(place.right()) - 2)]
    return max(grey) - min(grey) > 100


def test_further_reasons_are_counted() -> None:
    def failed(sentence: str) -> words.Failure:
        return words.Failure(sentence, decodable=True, blank=True)

    assert words.broken([]) == ""
    assert words.broken([failed("a: 503."), failed("a: 503.")]) == "a: 503."
    assert words.broken([failed("a: 503."), failed("b: 503."), failed("c")]) == "a: 503. 2 more reasons under Problems."
    near = Unreadable("The file could not be read", store="file:///x.zarr", key="a/c/0", advice="Try again.")
    assert "a/c/0" in words.failed_chunk(near), "the key, where the sentence names none"


def test_a_chunk_that_is_not_here_yet_says_so(robot: QtRobot, shelf: Shelf) -> None:
    quarters(shelf)
    shelf.hold("a/c/")
    robot.open(shelf.address)
    robot.session.select("/a")
    picture = robot.session.slice
    robot.wait(lambda: picture.why(10, 10) == "Loading. Key a/c/0/0.", "the reason")
    shelf.release()
    robot.wait(lambda: picture.why(10, 10) == "", "the data")


def test_what_failed_is_read_again(robot: QtRobot, shelf: Shelf) -> None:
    quarters(shelf)
    picture = shown(robot, shelf)
    # No read may be pending: it would fail after the others were repeated.
    robot.wait(lambda: picture._tiles.settled and "503" in picture.why(60, 10), "the failure")
    shelf.failing = set()
    robot.window.run("retry-tiles")
    robot.wait(lambda: picture.why(60, 10) == "" and not picture.frame.loading, "the data")


def test_the_readout_follows_what_is_read_again(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    """It kept the former reason until the mouse moved."""
    quarters(shelf)
    session = workspace.open(f"{shelf.address}/a")
    picture = session.slice
    mailbox.run_until(lambda: session.node is not None and picture.state.kind == "image")
    picture.fit((SIDE, SIDE))
    mailbox.run_until(lambda: picture._is_whole() and "503" in picture.why(60, 10))
    picture.hover(60, 10)
    mailbox.run_until(lambda: "503" in picture.probe.text)
    shelf.failing = set()
    perform(session, "retry-tiles")
    mailbox.run_until(lambda: picture.probe.text.endswith("100") and picture.note == "")


def test_the_tooltip_follows_what_is_read_again(robot: QtRobot, shelf: Shelf) -> None:
    quarters(shelf)
    picture = shown(robot, shelf)
    canvas = robot.window.image.canvas
    robot.wait(lambda: picture._tiles.settled and "503" in picture.why(60, 10), "the failure")

    def ask() -> bool:
        at: QPoint = robot._at(60, 10)
        QApplication.sendEvent(canvas, QHelpEvent(QHelpEvent.Type.ToolTip, at, canvas.mapToGlobal(at)))
        return canvas._tip.place is not None and "503" in QToolTip.text()

    robot.wait(ask, "the tooltip")
    shelf.failing = set()
    robot.window.run("retry-tiles")
    robot.wait(lambda: picture.why(60, 10) == "" and canvas._tip.place is None, "no reason any more")


def test_a_reason_is_given_once_for_several_channels() -> None:
    said = {
        name: (f"The server answered 503 at 0/c/{i}. Click to read it again.", f"0/c/{i}")
        for i, name in enumerate("abc")
    }
    assert words.by_name(said, 3).splitlines() == [
        "a: The server answered 503 at 0/c/0. Click to read it again.",
        "b: the same. Key 0/c/1.",
        "c: the same. Key 0/c/2.",
    ]
    assert words.by_name({"a": ("Loading. Key k.", "k"), "b": ("Loading. Key k.", "k")}, 2) == "Loading. Key k."
    assert words.by_name({"b": ("Loading. Key k.", "k")}, 3) == "b: Loading. Key k.", "the other two are there"
    assert words.by_name({}, 3) == ""


def test_a_long_tooltip_is_wrapped() -> None:
    """Qt wraps HTML alone."""
    assert tip("short & <b>") == "<span style='white-space:pre-wrap'>short &amp; &lt;b&gt;</span>"
    assert tip("short") == "short"
    long = '"a" ' * 40
    assert tip(long) == f"<span style='white-space:pre-wrap'>{long}</span>"


@pytest.mark.parametrize("zoom", [0.5, 1.0, 2.0, 2.9, 8.0])
def test_dots_have_one_size_at_every_zoom(robot: QtRobot, shelf: Shelf, zoom: float) -> None:
    array = open_hierarchy(shelf, "a").create_array("/a", shape=(512, 512), dtype="u1", chunks=(64, 64))
    assert array.shape == (512, 512), "no chunk is stored"
    picture = shown(robot, shelf)
    canvas = robot.window.image.canvas
    canvas._set_zoom(zoom)
    robot.wait(lambda: picture._is_whole() and bool(picture.frame.tiles), "the picture at this zoom")
    robot.wait(lambda: dot_widths(canvas) == {2}, "dots of two pixels")


def dot_widths(canvas: Any) -> set[int]:
    """The widths of the dots in a row of the middle of a canvas, in pixels of the screen."""
    canvas.repaint()
    image = canvas.grab().toImage()
    grey = np.array(
        [
            [image.pixelColor(x, y).red() for x in range(image.width())]
            for y in range(image.height() // 2, image.height() // 2 + 12)
        ]
    )
    middle = grey[:, grey.shape[1] // 2 - 60 : grey.shape[1] // 2 + 60]
    widths = set()
    for row in middle:
        inside = row > row.min() + 20
        edges = np.flatnonzero(np.diff(inside.astype(int)))
        runs = np.diff(edges)[::2] if inside.any() and not inside[0] else np.diff(edges)[1::2]
        widths |= {int(run) for run in runs}
    return widths


def test_the_tooltip_of_the_picture(robot: QtRobot, shelf: Shelf) -> None:
    quarters(shelf)
    shown(robot, shelf)
    canvas = robot.window.image.canvas

    def ask(y: float, x: float) -> None:
        at: QPoint = robot._at(y, x)
        QApplication.sendEvent(canvas, QHelpEvent(QHelpEvent.Type.ToolTip, at, canvas.mapToGlobal(at)))

    ask(10, 60)
    robot.wait(lambda: "fill value 3. Key a/c/0/1" in QToolTip.text(), "the reason")
    ask(10, 10)
    robot.wait(lambda: "fill value" not in QToolTip.text(), "no reason where there are data")


def test_the_signs_differ_without_colours() -> None:
    pictures = {}
    for state in ("fill", "failed", "undecodable"):
        grey = sign(np.zeros((CHUNK, CHUNK, 3), np.uint8), [Mark(state, 0, 0, CHUNK, CHUNK)]).mean(axis=2)
        pictures[state] = grey > grey.min() + 20
        assert 0.02 < pictures[state].mean() < 0.4, "it can be seen, and leaves room"
    for one, other in combinations(pictures.values(), 2):
        assert (one != other).mean() > 0.02
    assert not np.array_equal(pattern("failed", 24, 24), pattern("undecodable", 24, 24))


def test_dots_can_be_switched_off(robot: QtRobot, shelf: Shelf) -> None:
    quarters(shelf)
    picture = shown(robot, shelf)
    picture.set_levels(0, 0, 255)

    def values() -> set[int]:
        (tile,) = picture.frame.tiles
        return {int(v) for v in np.unique(tile.rgb[:CHUNK, CHUNK:, 0])} if tile.rgb is not None else set()

    robot.wait(lambda: len(values()) == 2, "dots")
    robot.window.channels._dots.setChecked(False)
    robot.wait(lambda: values() == {3}, "the fill value alone")
    robot.window.run("dots")
    robot.wait(lambda: len(values()) == 2, "dots again")
    assert any(tile.state is TileState.FAILED for tile in picture.frame.tiles)
