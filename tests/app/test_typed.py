"""Text typed beside a picture, as an index, a position or contrast limits, is accepted or refused with a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from qtpy import QtTest
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QApplication

from contracts.journeys import PLANES, Shelf, labelled_image, small_image
from qt_robot import QtRobot
from viewer import Viewer
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope_app.presenters import SlicePresenter
from zarrscope_app.presenters.image import words

QTest: Any = QtTest.QTest  # PyQt6 declares its static functions as methods


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def show(shelf: Shelf) -> Iterator[Callable[[str], SlicePresenter]]:
    opened: list[Viewer] = []

    def make(path: str) -> SlicePresenter:
        opened.append(Viewer(shelf, path))
        return opened[-1].slice

    yield make
    for viewer in opened:
        viewer.close()


def axis(picture: SlicePresenter, name: str) -> Any:
    return next(a for a in picture.state.axes if a.name == name)


@pytest.mark.parametrize(("text", "index"), [("7", 7), (" 40 ", 40), ("0", 0), ("12 / 40", 12), ("+3", 3)])
def test_an_index_is_taken(shelf: Shelf, show: Any, text: str, index: int) -> None:
    small_image(shelf)
    picture = show("/image")
    assert picture.type_index("z", text) == ""
    assert picture.index[0] == index
    assert (axis(picture, "z").index_text, axis(picture, "z").end_text) == (str(index), f"/ {PLANES - 1}")
    assert picture.state.refusal.sentence == ""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("41", "z runs from 0 to 40; there is no 41."),
        ("-1", "z runs from 0 to 40; there is no -1."),
        ("1.5", "z needs a whole number from 0 to 40."),
        ("1,5", "z needs a whole number from 0 to 40."),
        ("1,000", "z runs from 0 to 40; there is no 1,000."),
        ("", "z needs a whole number from 0 to 40."),
        ("ten", "z needs a whole number from 0 to 40."),
    ],
)
def test_an_index_is_refused(shelf: Shelf, show: Any, text: str, sentence: str) -> None:
    small_image(shelf)
    picture = show("/image")
    picture.set_index("z", 5)
    assert picture.type_index("z", text) == sentence
    assert picture.index[0] == 5
    assert (picture.state.refusal.field, picture.state.refusal.text) == ("index:z", text)
    picture.step(1, "z")
    assert picture.state.refusal.sentence == "", "another index is on show: nothing is wrong any more"


@pytest.mark.parametrize(
    ("text", "index"),
    [
        *[("3", 6), ("3 µm", 6), ("3.2um", 6), ("0.003 mm", 6), ("3000 nm", 6), ("20", 40), ("2e-6 m", 4), ("0", 0)],
        *[("0,5", 1), ("3,2 µm", 6), (",5", 1), ("3200,0 nm", 6)],
    ],
)
def test_a_position_shows_the_nearest_index(shelf: Shelf, show: Any, text: str, index: int) -> None:
    small_image(shelf)
    picture = show("/image")
    picture.set_index("z", 9)
    assert picture.type_position("z", text) == ""
    assert picture.index[0] == index


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("21 µm", "z lies between 0 µm and 20 µm."),
        ("-1", "z lies between 0 µm and 20 µm."),
        ("3 s", '"s" is not a unit of z: it is measured in µm.'),
        ("3 cubits", '"cubits" is not a unit of z: it is measured in µm.'),
        ("far", "z needs a position such as 0.5 µm."),
        ("1,250 µm", "z needs a position such as 0.5 µm."),
    ],
)
def test_a_position_is_refused(shelf: Shelf, show: Any, text: str, sentence: str) -> None:
    small_image(shelf)
    picture = show("/image")
    assert picture.type_position("z", text) == sentence
    assert picture.index[0] == 0
    assert picture.state.refusal.field == "position:z"


@pytest.mark.parametrize(("text", "index"), [("7", 7), ("3.5", 7), ("3,5", 7), ("3 µm", 6)])
def test_one_line_takes_an_index_or_a_position(shelf: Shelf, show: Any, text: str, index: int) -> None:
    small_image(shelf)
    picture = show("/image")
    assert picture.type_place(text) == ""
    assert picture.index[0] == index


@pytest.mark.parametrize(
    ("end", "text", "limits"),
    [
        ("lo", "10", (10, 255)),
        ("hi", "99.7", (0, 100)),
        ("hi", "1.5", (0, 1.5)),
        ("lo", "-1e3", (-1000, 255)),
        ("lo", "300–400", (300, 400)),
        ("hi", "300-400", (300, 400)),
        ("lo", "-5 - -3", (-5, -3)),
        ("hi", "1,5", (0, 1.5)),
        ("lo", "1,5–2,5", (1.5, 2.5)),
        ("hi", "\N{MINUS SIGN},5 - 2,5e-1", (-0.5, 0.25)),
    ],
)
def test_contrast_limits_are_taken(shelf: Shelf, show: Any, end: str, text: str, limits: tuple[float, float]) -> None:
    small_image(shelf)
    picture = show("/image")
    assert picture.type_limit(0, end, text) == ""
    channel = picture.state.channels[0]
    assert (channel.lo, channel.hi) == limits
    assert (channel.lo_text, channel.hi_text) == (words.limit(limits[0]), words.limit(limits[1]))


@pytest.mark.parametrize(
    ("end", "text"),
    [
        *[("lo", "255"), ("hi", "-1"), ("hi", "0"), ("lo", "nan"), ("lo", "inf"), ("lo", "x"), ("lo", "5–4")],
        *[("lo", "1,250"), ("lo", "1,000 2,000"), ("lo", "12,345,678"), ("hi", "1,2,3")],
    ],
)
def test_contrast_limits_are_refused(shelf: Shelf, show: Any, end: str, text: str) -> None:
    small_image(shelf)
    picture = show("/image")
    assert picture.type_limit(0, end, text)
    assert (picture.state.channels[0].lo, picture.state.channels[0].hi) == (0, 255)
    assert picture.state.refusal.field == f"{end}:0"


def floats(shelf: Shelf) -> None:
    """A plane of random numbers from 0 to 1, at /floats."""
    array = open_hierarchy(shelf, "a").create_array("/floats", shape=(20, 20), dtype="f4", chunks=(20, 20))
    array[...] = np.random.default_rng(3).random((20, 20), np.float32)


@pytest.mark.parametrize(
    ("path", "dragged", "suited", "typed"),
    [
        ("/image", (47.7078, 200.3), (48, 200), (48, 200)),
        ("/image", (47.7078, 51.21), (47.7, 51.2), (47.7, 51.2)),
        ("/floats", (0.1234567, 0.7654321), (0.1235, 0.7654), (0.1234567, 0.7654321)),
        ("/floats", (1234.5678, 98765.4321), (1235, 98765), (1234.5678, 98765.4321)),
    ],
)
def test_limits_suit_the_values_by_whatever_way_they_are_set(
    shelf: Shelf,
    show: Any,
    path: str,
    dragged: tuple[float, float],
    suited: tuple[float, float],
    typed: tuple[float, float],
) -> None:
    """A window set by dragging has no insignificant digits, a typed one keeps its digits, and a wide window of integers
    has no fractions, displayed or saved."""
    small_image(shelf)
    floats(shelf)
    picture = show(path)

    def limits() -> tuple[float | None, float | None]:
        (channel,) = picture.state.channels
        return channel.lo, channel.hi

    picture.set_levels(0, *dragged)
    assert limits() == suited
    saved = picture.view()
    assert (saved["channels"][0]["lo"], saved["channels"][0]["hi"]) == suited
    assert picture.type_limit(0, "hi", "{}–{}".format(*dragged)) == ""
    assert limits() == typed
    saved["channels"][0].update(lo=dragged[0], hi=dragged[1])
    picture.set_levels(0, 1, 2)
    picture.restore(saved)
    assert limits() == typed


def test_limits_of_the_file_stay_as_they_are_until_somebody_changes_them(shelf: Shelf, show: Any) -> None:
    small_image(shelf, contrast=(10.25, 200.5))
    picture = show("/image")
    assert (picture.state.channels[0].lo, picture.state.channels[0].hi) == (10.25, 200.5)
    picture.restore(picture.view())
    assert (picture.state.channels[0].lo, picture.state.channels[0].hi) == (10.25, 200.5)
    picture.set_levels(0, 10.25, 100.5)
    assert (picture.state.channels[0].lo, picture.state.channels[0].hi) == (10, 100)


def test_a_limit_that_is_shown_shorter_than_it_is_stays_as_it_is(shelf: Shelf, show: Any) -> None:
    small_image(shelf)
    floats(shelf)
    picture = show("/floats")
    picture.state_levels(0, 0.123456789012, 1)
    assert picture.type_limit(0, "lo", picture.state.channels[0].lo_text) == ""
    assert picture.state.channels[0].lo == 0.123456789012


def test_one_line_takes_the_limits_of_any_channel(shelf: Shelf, show: Any) -> None:
    array = open_hierarchy(shelf, "a").create_array(
        "/a", shape=(2, 20, 20), dtype="u1", chunks=(1, 20, 20), dimension_names=("c", "y", "x")
    )
    array[...] = np.arange(800, dtype="u2").reshape(2, 20, 20) % 251
    picture = show("/a")
    picture.set_visible(0, False)
    assert picture.type_limits("3–9") == ""
    assert picture.type_limits("1: 4–5") == ""
    assert [(c.lo, c.hi) for c in picture.state.channels] == [(4, 5), (3, 9)]
    assert picture.type_limits("3: 4–5") == "There is no channel 3: the image has 2 channels."


# ---------------------------------------------------------------------- in the window
def typed_into(field: Any, text: str) -> None:
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)
    QApplication.processEvents()


def test_typing_in_the_window(shelf: Shelf, robot: QtRobot) -> None:
    labelled_image(shelf)
    robot.open(shelf.address)
    robot.session.select("/image")
    robot.wait(lambda: robot.session.state.path == "/image" and not robot.session.state.selecting, "the image")
    robot.wait(lambda: robot.window.image.sliders.slider("z") is not None, "the slider of z")
    row = robot.window.image.sliders._rows["z"]
    robot.wait(row.index.isVisible, "the tab with the picture: a hidden field takes no keys")
    typed_into(row.index, "4")
    robot.wait(lambda: robot.session.slice.index[0] == 4, "the typed index")
    typed_into(row.index, "400")
    assert robot.session.slice.index[0] == 4
    assert row.index.text() == "400", "it stands there to be mended"
    robot.wait(lambda: robot.sees("there is no 400."), "the sentence")
    typed_into(row.position, "1 µm")
    robot.wait(lambda: robot.session.slice.index[0] == 2, "the typed position")
    robot.wait(lambda: row.index.text() == "2", "the field follows")
    QTest.keyClick(row.index, Qt.Key.Key_Up)
    robot.wait(lambda: robot.session.slice.index[0] == 3, "one step up")
    limits = robot.window.channels._rows[0].limits
    typed_into(limits["hi"], "77")
    robot.wait(lambda: robot.session.slice.state.channels[0].hi == 77, "the typed limit")
    typed_into(limits["lo"], "1000")
    robot.wait(lambda: robot.sees("must be less than the upper one, 77"), "the sentence")
