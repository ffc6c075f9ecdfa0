"""Display settings of channels and labels: colour map, single channel, gamma, complex parts, outlines, opacity."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from contracts.journeys import SIDE, Shelf, brightness, labelled_image
from narrowing import as_array
from viewer import Viewer
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.view.image import default_image
from zarrscope.view.render import ChannelDisplay, render
from zarrscope_app.presenters.image import coarse_sample, colormaps
from zarrscope_app.presenters.image.display_settings import LabelStyle
from zarrscope_app.presenters.image.painting import GREY
from zarrscope_app.presenters.session.actions import perform


class PictureViewer(Viewer):
    def picture(self) -> np.ndarray:
        """The whole plane, with one pixel for each element."""
        height, width = self.slice.frame.shape
        self.slice.fit((height, width))
        self.mailbox.run()
        self.until(lambda: self.slice._tiles.settled and not self.slice.frame.loading)
        return self.slice.picture(height, width)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def view(shelf: Shelf) -> Iterator[Callable[[str], PictureViewer]]:
    made: list[PictureViewer] = []

    def make(path: str) -> PictureViewer:
        made.append(PictureViewer(shelf, path))
        return made[-1]

    yield make
    for viewer in made:
        viewer.close()


def store(shelf: Shelf, data: np.ndarray, path: str = "/a", **more: Any) -> None:
    array = open_hierarchy(shelf, "a").create_array(
        path, shape=data.shape, dtype=data.dtype, chunks=more.pop("chunks", data.shape), **more
    )
    array[...] = data


# ---------------------------------------------------------------------- colours
def test_a_colour_map_colours_by_its_own_ramp(shelf: Shelf, view: Any) -> None:
    store(shelf, np.arange(256, dtype="u1").reshape(16, 16))
    viewer = view("/a")
    viewer.slice.set_levels(0, 0, 255)
    assert "viridis" in viewer.slice.colormaps
    viewer.slice.set_colormap(0, "viridis")
    ramp = np.frombuffer(colormaps.ramp("viridis"), np.uint8).reshape(256, 3)
    assert np.array_equal(viewer.picture().reshape(256, 3), ramp)
    assert viewer.slice.state.channels[0].colormap == "viridis"
    viewer.slice.set_colormap(0, "no such map")
    assert viewer.slice.state.channels[0].colormap == "viridis"
    viewer.slice.set_color(0, (0, 255, 0))
    assert viewer.slice.state.channels[0].colormap == "", "a colour takes the place of the map"
    assert tuple(viewer.picture()[15, 15]) == (0, 255, 0)


def test_without_cmap_there_are_colours_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(colormaps, "titles", lambda: ())
    colormaps.ramp.cache_clear()
    try:
        assert colormaps.ramp("viridis") == b""
    finally:
        colormaps.ramp.cache_clear()


@pytest.mark.parametrize("kind", ["u1", "u2", "i8", "f4", "f8"])
def test_gamma_and_inversion_bend_a_colour_map_too(kind: str) -> None:
    plane = np.array([[0, 50, 100]], kind)
    ramp = bytes(range(256)) * 3
    ramp = b"".join(bytes((n, n, n)) for n in range(256))
    (straight,) = render([plane], [ChannelDisplay(lo=0, hi=100, ramp=ramp)])[..., 0]
    (bent,) = render([plane], [ChannelDisplay(lo=0, hi=100, gamma=0.5, ramp=ramp)])[..., 0]
    (turned,) = render([plane], [ChannelDisplay(lo=0, hi=100, inverted=True, ramp=ramp)])[..., 0]
    assert (straight[0], straight[2]) == (0, 255)
    assert abs(int(straight[1]) - 128) <= 1
    assert abs(int(bent[1]) - round(255 * 0.5**0.5)) <= 1
    assert (turned[0], turned[2]) == (255, 0)


def test_gamma_is_typed(shelf: Shelf, view: Any) -> None:
    store(shelf, np.zeros((4, 4), "u1"))
    viewer = view("/a")
    assert viewer.slice.type_gamma(0, "0,8") == ""
    assert viewer.slice.state.channels[0].gamma == 0.8
    assert viewer.slice.type_gamma(0, "0.5") == ""
    assert viewer.slice.state.channels[0].gamma_text == "0.5"
    assert viewer.slice.type_gamma(0, "0") == "Gamma is a number from 0.05 to 20; 1 is linear."
    assert viewer.slice.state.channels[0].gamma == 0.5
    assert viewer.slice.state.refusal.field == "gamma:0"


# ---------------------------------------------------------------------- which channels
def shown(viewer: PictureViewer) -> list[int]:
    return [i for i, channel in enumerate(viewer.slice.state.channels) if channel.visible]


def test_one_channel_alone_and_back(shelf: Shelf, view: Any) -> None:
    store(shelf, np.zeros((4, 8, 8), "u1"), dimension_names=("c", "y", "x"))
    viewer = view("/a")
    viewer.slice.set_visible(3, False)
    viewer.slice.show_alone(1)
    assert shown(viewer) == [1]
    viewer.slice.show_alone(2)
    assert shown(viewer) == [2]
    viewer.slice.show_alone(2)
    assert shown(viewer) == [0, 1, 2], "those of before, not all"
    for expected in ([0], [1], [2], [3], [0, 1, 2]):
        assert perform(viewer.session, "alone")
        assert shown(viewer) == expected
    viewer.slice.show_alone(1)
    viewer.slice.set_visible(0, True)
    assert shown(viewer) == [0, 1], "whoever shows another by hand is alone no more"


# ---------------------------------------------------------------------- contrast
def two_levels(shelf: Shelf) -> None:
    axes = [{"name": n, "type": "space"} for n in "yx"]
    datasets = [
        {"path": str(k), "coordinateTransformations": [{"type": "scale", "scale": [4.0**k] * 2}]} for k in (0, 1)
    ]
    open_hierarchy(shelf, "a").create_group(
        "/p", {"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}}
    )
    fine = np.linspace(0, 10_000, 256 * 256).reshape(256, 256).astype("u2")
    store(shelf, fine, "/p/0", chunks=(32, 32))
    store(shelf, fine[::4, ::4], "/p/1", chunks=(32, 32))


def test_auto_measures_the_coarsest_level_whatever_is_on_show(shelf: Shelf, view: Any) -> None:
    two_levels(shelf)
    viewer = view("/p")
    viewer.slice.viewport((0.0, 0.0, 8.0, 8.0), (200, 200))
    viewer.mailbox.run()
    viewer.until(lambda: viewer.slice._tiles.settled)
    viewer.slice.auto(0)
    viewer.until(lambda: (viewer.slice.state.channels[0].hi or 0) > 9_000)
    assert (viewer.slice.state.channels[0].lo or 0) < 100
    assert sum(viewer.slice.state.channels[0].histogram) == 64 * 64


def test_auto_of_a_level_that_is_too_large_takes_what_is_on_show(
    shelf: Shelf, view: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coarse_sample, "MAX_BYTES", 1000)
    two_levels(shelf)
    viewer = view("/p")
    viewer.slice.viewport((0.0, 0.0, 8.0, 8.0), (200, 200))
    viewer.mailbox.run()
    viewer.until(lambda: viewer.slice._tiles.settled)
    viewer.slice.auto()
    viewer.until(lambda: 0 < (viewer.slice.state.channels[0].hi or 0) < 5_000)


def test_auto_leaves_out_what_cannot_be_read(shelf: Shelf, view: Any) -> None:
    data = np.full((64, 64), 50, "u1")
    data[:32] = 200
    store(shelf, data, chunks=(32, 64), fill_value=255)
    shelf.failing = {"a/c/0/0"}
    viewer = view("/a")
    viewer.picture()
    viewer.slice.set_levels(0, 0, 255)
    viewer.slice.auto()
    viewer.until(lambda: viewer.slice.state.channels[0].hi != 255)
    assert viewer.slice.state.channels[0].hi == 50


# ---------------------------------------------------------------------- kinds of values
def test_each_part_of_complex_values_can_be_drawn_and_is_named(shelf: Shelf, view: Any) -> None:
    data = (np.arange(16).reshape(4, 4) * np.exp(1j * np.linspace(-3, 3, 16).reshape(4, 4))).astype("c8")
    store(shelf, data)
    viewer = view("/a")
    viewer.picture()
    channel = viewer.slice.state.channels[0]
    assert (channel.part, channel.text.split(" · ")[0]) == ("magnitude", "magnitude")
    functions: dict[str, Callable[..., np.ndarray]] = {
        "phase": np.angle,
        "real": np.real,
        "imaginary": np.imag,
        "magnitude": np.abs,
    }
    for part, function in functions.items():
        viewer.slice.set_part(part)
        viewer.picture()
        viewer.until(lambda: viewer.slice.state.channels[0].lo is not None)
        viewer.slice.set_colormap(0, "")
        assert viewer.slice.state.channels[0].part == part
        if part == "phase":
            assert viewer.slice.state.channels[0].lo == -math.pi
        values = function(data)
        viewer.slice.set_levels(0, float(values.min()), float(values.max()))
        expected = render([values.astype("f4")], [viewer.slice._channels[0].display()])
        assert np.abs(viewer.picture().astype(int) - expected).max() <= 1
    assert "real part" in dict(viewer.slice.state.channels[0].parts).values()
    for part in ("phase", "real", "imaginary", "magnitude"):
        perform(viewer.session, "part")
        assert viewer.slice.state.channels[0].part == part


def test_opacity_of_a_photograph_lets_grey_through(shelf: Shelf, view: Any) -> None:
    data = np.zeros((32, 32, 4), "u1")
    data[..., 0] = 200
    data[:16, :, 3] = 255
    store(shelf, data)
    viewer = view("/a")
    assert [c.label for c in viewer.slice.state.channels] == ["red", "green", "blue", "opacity"]
    assert viewer.slice.state.channels[3].is_alpha
    picture = viewer.picture()
    assert tuple(picture[0, 0]) == (200, 0, 0)
    assert tuple(picture[31, 0]) == (GREY, GREY, GREY)
    viewer.slice.set_visible(3, False)
    assert tuple(viewer.picture()[31, 0]) == (200, 0, 0)
    image = default_image(open_hierarchy(shelf)["/a"])
    assert image is not None
    assert [c.active for c in image.channels] == [True, True, True, False], "whoever adds channels up leaves it out"


def test_a_view_comes_back_with_its_colour_map_and_part(shelf: Shelf, view: Any) -> None:
    store(shelf, np.arange(16).reshape(4, 4).astype("c8"))
    viewer = view("/a")
    viewer.picture()
    viewer.slice.set_part("imaginary")
    viewer.slice.set_colormap(0, "magma")
    viewer.slice.set_levels(0, -3, 4)
    kept = json.loads(json.dumps(viewer.slice.view()))
    other = view("/a")
    other.picture()
    assert other.slice.restore(kept) == ()
    channel = other.slice.state.channels[0]
    assert (channel.part, channel.colormap, channel.lo, channel.hi) == ("imaginary", "magma", -3, 4)
    other.slice.restore({"channels": [{"colormap": 7, "part": "no such part"}]})
    assert (other.slice.state.channels[0].part, other.slice.state.channels[0].colormap) == ("imaginary", "magma")


# ---------------------------------------------------------------------- labels
def test_labels_as_outlines_and_one_alone(shelf: Shelf, view: Any) -> None:
    hierarchy = labelled_image(shelf)
    path = "/image/labels/cells"
    as_array(hierarchy[f"{path}/0"])[0, 40:60, 40:60] = 2
    viewer = view("/image")
    viewer.slice.set_label(path, True, 1.0)
    plain = (brightness(0),) * 3
    picture = viewer.picture()
    assert tuple(picture[50, 50]) != plain
    viewer.slice.set_outline(path, True)
    picture = viewer.picture()
    assert tuple(picture[50, 50]) == plain
    assert tuple(picture[50, 40]) != plain
    viewer.slice.set_outline(path, False)
    assert viewer.slice.type_label(path, "1") == ""
    picture = viewer.picture()
    assert tuple(picture[50, 50]) == plain
    assert tuple(picture[5, 5]) == (255, 0, 0)
    assert viewer.slice.type_label(path, "one").startswith("A label is a whole number")
    assert viewer.slice.state.labels[0].chosen_text == "1"
    assert viewer.slice.type_label(path, "") == ""
    assert tuple(viewer.picture()[50, 50]) != plain
    viewer.slice.set_label(path, True, 0.0)
    assert tuple(viewer.picture()[5, 5]) == plain
    assert viewer.picture().shape == (SIDE, SIDE, 3)


@pytest.mark.parametrize(
    ("path", "name", "shown"), [("/a/cells", "x", "cells"), ("/", "nuclei", "nuclei"), ("/", "", "labels")]
)
def test_labels_at_the_root_have_a_name(path: str, name: str, shown: str) -> None:
    """Their check box had no text."""
    array = open_hierarchy(Shelf(), "a").create_array("/a", shape=(4, 4), dtype="u1", chunks=(4, 4))
    image = default_image(array)
    assert image is not None
    assert LabelStyle(path, replace(image, name=name)).view().name == shown
