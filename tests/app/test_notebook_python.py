"""The notebook's widget from Python: the cell that opens a place may set the view at once, and a value that the picture
does not have is refused with the reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.slides import image
from zarrscope.errors import NotFound, Refused
from zarrscope.runtime.threads import Mailbox

pytest.importorskip("anywidget")

from narrowing import as_array
from zarrscope_app.jupyter import Explorer
from zarrscope_app.presenters import MemorySettings
from zarrscope_app.presenters.session.state_text import encode_view

ROOT = Path(__file__).parents[2]
SIDE = 64
TRAITS = ("index", "axes", "clim", "selection")
REFUSED = [
    ("index", {"q": 1}, "There is no slider 'q', only z"),
    ("index", {"z": 6}, "z has the indices 0 to 5, not 6"),
    ("index", {"z": "three"}, "An index of z is an integer, not 'three'"),
    ("index", {"z": 2.5}, "An index of z is an integer, not 2.5"),
    ("axes", ["y", "q"], "There is no axis 'q', only z, y, x"),
    ("axes", ["y"], "A picture has two different axes, height and width, not ['y']"),
    ("axes", ["y", "y"], "A picture has two different axes, height and width, not ['y', 'y']"),
    ("clim", {"none": (1, 2)}, "There is no channel 'none', only DAPI, GFP"),
    ("clim", {"GFP": 5}, "The contrast limits of GFP are two numbers, (low, high), not 5"),
    ("clim", {"GFP": (1, math.inf)}, "The contrast limits of GFP are finite numbers, not (1, inf)"),
    ("selection", {"z": 3}, "The picture shows the axes y and x; a selection has one entry for each"),
    ("selection", {"y": "a", "x": 1}, "An index of y is an integer, not 'a'"),
    ("selection", {"y": (1, 2, 3), "x": (1, 2)}, "A range of y is (first, end), not (1, 2, 3)"),
    ("selection", {"y": (5, 2), "x": (1, 2)}, f"A range of y is within (0, {SIDE}), not (5, 2)"),
    ("selection", {"y": SIDE, "x": 1}, f"y has the indices 0 to {SIDE - 1}, not {SIDE}"),
]


@pytest.fixture
def place(tmp_path: Path) -> str:
    """An image of two channels and six planes of 64 × 64 pixels."""
    image(tmp_path / "a.zarr", ("DAPI", "GFP"), planes=6, side=SIDE)
    return str(tmp_path / "a.zarr")


@pytest.fixture
def widget(place: str) -> Iterator[Explorer]:
    """A widget that has just been made, and is not open yet."""
    made = Explorer(place, settings=MemorySettings(), post=Mailbox())
    yield made
    made.close()


def test_the_cell_that_opens_a_place_sets_the_view(widget: Explorer) -> None:
    """`explore` returns before the place is open; setting a trait waits for it."""
    widget.index = {"z": 3}
    assert widget.index == {"z": 3}
    widget.clim = {"DAPI": (5, 50)}
    assert widget.clim["DAPI"] == (5.0, 50.0)
    widget.axes = ["z", "x"]
    assert widget.axes == ["z", "x"]
    widget.axes = ["y", "x"]
    widget.selection = {"y": 3, "x": np.int64(4)}
    assert widget.selection == {"y": 3, "x": 4}
    widget.index = {"z": -1}
    assert widget.index == {"z": 5}, "counted from the end, as in numpy"
    assert np.array_equal(np.asarray(widget.data), np.asarray(as_array(zarrscope.open(widget.url)["/0"])[:, 5]))


def test_a_place_that_is_not_there_is_an_error_in_python_too(tmp_path: Path) -> None:
    lost = Explorer(str(tmp_path / "nothing.zarr"), settings=MemorySettings(), post=Mailbox())
    try:
        with pytest.raises(NotFound):
            lost.index = {"z": 3}
        page = lost.page()
        assert "nothing.zarr" in page.split("<code>")[0], "a saved notebook says why nothing was displayed"
        assert 'class="zs-still"' in page, "it is hidden while the widget is there"
    finally:
        lost.close()


@pytest.mark.parametrize(("name", "value", "sentence"), REFUSED)
def test_a_value_that_the_picture_does_not_have_is_refused(
    widget: Explorer, name: str, value: Any, sentence: str
) -> None:
    widget.wait()
    before = {trait: getattr(widget, trait) for trait in TRAITS}
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        setattr(widget, name, value)
    assert {trait: getattr(widget, trait) for trait in TRAITS} == before, "nothing is set"


def test_without_a_picture_the_error_says_so(tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "g.zarr"), "w-") as h:
        h.create_group("/a")
    group = Explorer(str(tmp_path / "g.zarr"), settings=MemorySettings(), post=Mailbox())
    try:
        for name, value in (
            ("index", {"z": 1}),
            ("axes", ["y", "x"]),
            ("clim", {"a": (1, 2)}),
            ("selection", {"y": 1}),
        ):
            with pytest.raises(ValueError, match="No picture is displayed"):
                setattr(group, name, value)
            assert getattr(group, name) in ({}, [])
    finally:
        group.close()


def test_dir_lists_the_names_for_users(widget: Explorer) -> None:
    """Those of the guide, not the hundred of ipywidgets and traitlets, so that completion in a cell shows few."""
    listed = [name for name in dir(widget) if not name.startswith("_")]
    guide = (ROOT / "resources/docs/notebook.md").read_text("utf-8")
    assert listed == sorted({*re.findall(r"`w\.(\w+)", guide)})
    assert all(hasattr(widget, name) for name in dir(widget))


@pytest.mark.parametrize("kind", ["widget", "hierarchy", "group", "array", "attributes", "slice"])
def test_a_cell_completes_the_names_of_an_object(widget: Explorer, kind: str) -> None:
    """IPython asks jedi, which completes no name of an object if it fails at one."""
    jedi = pytest.importorskip("jedi")
    h = zarrscope.open(widget.url)
    made = {
        "widget": lambda: widget,
        "hierarchy": lambda: h,
        "group": lambda: h["/"],
        "array": lambda: h["/0"],
        "attributes": lambda: h["/"].attributes,
        "slice": lambda: widget.data,
    }
    thing = made[kind]()
    found = {name.name for name in jedi.Interpreter("it.", [{"it": thing}]).complete(1, 3)}
    assert {name for name in dir(thing) if not name.startswith("_")} <= found


def test_a_state_that_cannot_be_shown_is_refused_and_the_view_stays(widget: Explorer, tmp_path: Path) -> None:
    widget.wait()
    before = widget.state
    image(tmp_path / "other.zarr", ("DAPI",))
    elsewhere = encode_view({"url": str(tmp_path / "other.zarr"), "path": "/", "slice": {}})
    for text, reason in (("hello", "not a view of zarrscope"), ("", "not a view"), (elsewhere, "one of another place")):
        with pytest.raises(Refused, match=reason):
            widget.state = text
        assert widget.state == before
        assert reason in widget.session.state.sentence
    widget.index = {"z": 2}
    assert widget.index == {"z": 2}


def test_the_data_of_a_projection_are_its_planes(widget: Explorer) -> None:
    widget.wait()
    widget.session.slice.project("max")
    widget.session.slice.type_range("2–4")
    assert widget.code.endswith("['/0'][:, 2:5, :, :]")
    data = widget.data
    assert data is not None
    assert data.shape == (2, 3, SIDE, SIDE)
    assert np.array_equal(np.asarray(data), eval(widget.code, {"zarrscope": zarrscope}))
