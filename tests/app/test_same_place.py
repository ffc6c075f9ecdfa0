"""Two images of the same place: index and zoom linked by physical units, and one image drawn over the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from qtpy.QtGui import QImage

from contracts.journeys import Shelf
from qt_robot import QtRobot
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.runtime.threads import Background, Mailbox
from zarrscope.view.image import Image
from zarrscope.view.loader import ChunkLoader
from zarrscope_app.presenters import Session, SessionStatus, SlicePresenter
from zarrscope_app.presenters.image.blending import Blend, Other
from zarrscope_app.presenters.image.correspondence import between, index_like, level_like
from zarrscope_app.presenters.image.linking import Link, shared_link

FINE, COARSE = "/fine", "/coarse"


def multiscale(
    hierarchy: Any, path: str, shape: tuple[int, ...], size: Any, start: Any, units: Any, levels: int
) -> None:
    """An OME-Zarr image of three axes in which each value is its z."""
    datasets = []
    for level in range(levels):
        across = tuple(n >> level if i else n for i, n in enumerate(shape))
        array = hierarchy.create_array(f"{path}/{level}", shape=across, dtype="u1", chunks=across)
        array[...] = np.arange(shape[0], dtype="u1")[:, None, None] * 10
        scale = [s * (1 << level if i else 1) for i, s in enumerate(size)]
        steps = [{"type": "scale", "scale": scale}, {"type": "translation", "translation": list(start)}]
        datasets.append({"path": str(level), "coordinateTransformations": steps})
    axes = [{"name": n, "type": "space", **({"unit": u} if u else {})} for n, u in zip("zyx", units, strict=True)]
    told = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets, "name": path}]}
    hierarchy[path].attrs.update(ome=told)


@pytest.fixture
def shelf() -> Shelf:
    """The same specimen twice: in nanometres, and in micrometres with voxels of 2 x 2 x 2 and an offset."""
    made = Shelf()
    hierarchy = open_hierarchy(made, "a")
    hierarchy.create_group(FINE)
    hierarchy.create_group(COARSE)
    multiscale(hierarchy, FINE, (20, 64, 64), (500, 100, 100), (0, 0, 0), ["nanometer"] * 3, 3)
    multiscale(hierarchy, COARSE, (10, 32, 32), (1, 0.2, 0.2), (0.25, 0.05, 0.05), ["micrometer"] * 3, 2)
    return made


class Sight:
    def __init__(self, shelf: Shelf) -> None:
        self.mailbox = Mailbox()
        background = Background(2, 1)
        self.sessions = [
            Session(shelf.address, self.mailbox, path=path, background=background, loader=ChunkLoader(background))
            for path in (FINE, COARSE)
        ]
        self.until(lambda: all(session.slice.state.kind == "image" for session in self.sessions))
        self.fine, self.coarse = (session.slice for session in self.sessions)
        self.images: list[Image] = [picture.image for picture in (self.fine, self.coarse) if picture.image is not None]

    def until(self, happened: Callable[[], bool]) -> None:
        self.mailbox.run_until(happened, 20)

    def answer(self, picture: SlicePresenter) -> None:
        """Does what a host does: shows the requested view, and reports it."""
        if (rect := picture.take_rect()) is not None:
            picture.viewport(rect, picture.painted_pixels)


@pytest.fixture
def sight(shelf: Shelf) -> Iterator[Sight]:
    made = Sight(shelf)
    yield made
    for session in made.sessions:
        session.close()


def test_places_are_found_by_units_not_by_index(sight: Sight) -> None:
    fine, coarse = sight.images
    ways = between(fine, coarse, ("y", "x"))
    assert ways is not None
    assert [round(ways[0](v), 6) for v in (0, 2, 64)] == [0, 1, 32], "edges coincide"
    assert [index_like(fine, coarse, "z", z) for z in (0, 1, 2, 19)] == [0, 0, 1, 9]
    assert index_like(coarse, fine, "z", 9) == 19
    assert index_like(fine, coarse, "t", 0) == -1
    assert [level_like(fine, level, coarse, "x") for level in (0, 1, 2)] == [0, 0, 1]
    assert level_like(coarse, 0, fine, "x") == 1


def test_who_moves_one_moves_the_other(sight: Sight) -> None:
    link = Link()
    for picture in (sight.fine, sight.coarse):
        link.join(picture)
        picture.viewport((0, 0, 64, 64), (64, 64))
    sight.fine.set_index("z", 15)
    assert sight.coarse.index[0] != 7, "they are not linked yet"
    link.set_linked(True, sight.fine)
    assert sight.coarse.index[0] == 7
    sight.answer(sight.coarse)
    sight.fine.viewport((16, 16, 48, 48), (64, 64))
    assert sight.coarse.take_rect() == pytest.approx((8, 8, 24, 24))
    sight.coarse.viewport((8, 8, 24, 24), (64, 64))
    assert sight.fine.take_rect() is None, "an answer is no gesture"
    sight.coarse.viewport((0, 0, 8, 8), (64, 64))
    assert sight.fine.take_rect() == pytest.approx((0, 0, 16, 16))
    sight.coarse.set_index("z", 9)
    assert sight.fine.index[0] == 19
    link.set_linked(False)
    sight.fine.set_index("z", 0)
    assert sight.coarse.index[0] == 9
    link.leave(sight.fine)
    link.leave(sight.coarse)


def test_a_locked_level_is_the_one_of_like_pixels(sight: Sight) -> None:
    link = Link()
    for picture in (sight.fine, sight.coarse):
        link.join(picture)
        picture.viewport((0, 0, 64, 64), (64, 64))
    link.set_linked(True, sight.fine)
    sight.coarse.lock_level(0)
    sight.until(lambda: sight.fine.locked_level == 1)
    sight.fine.lock_level(2)
    sight.until(lambda: sight.coarse.locked_level == 1)
    sight.fine.lock_level(None)
    sight.until(lambda: sight.coarse.locked_level is None)


def test_another_image_lies_where_it_belongs(sight: Sight) -> None:
    blend = Blend(sight.fine)
    sight.fine.viewport((0, 0, 64, 64), (64, 64))
    sight.fine.set_index("z", 6)
    blend.show(Other("coarse", sight.images[1]))
    assert (blend.state.name, blend.state.share_text) == ("coarse", "50 %")
    sight.until(lambda: bool(blend.tiles) and blend.other._is_whole())
    assert blend.other.index[0] == 3
    assert blend.place((0, 0, 32, 32)) == pytest.approx((0, 0, 64, 64))
    sight.fine.set_index("z", 19)
    sight.until(lambda: blend.other.index[0] == 9)
    sight.fine.show("z", "x")
    sight.until(lambda: blend.other.frame.shape == (10, 32))
    blend.set_share(3.0)
    assert blend.state.share == 1.0
    blend.show(None)
    assert (blend.tiles, blend.state.name) == ((), "")
    blend.end()


# ------------------------------------------------------------------------------------------------- the window
def shows(robot: QtRobot, path: str) -> bool:
    image = robot.session.slice.image
    return image is not None and image.path == path


@pytest.fixture
def robot(qtbot: Any, shelf: Shelf) -> Iterator[QtRobot]:
    made = QtRobot(qtbot)
    made.open(shelf.address)
    made.wait(lambda: made.session.state.status is SessionStatus.READY, "the place")
    for path in (COARSE, FINE):
        made.session.select(path)
        made.wait(partial(shows, made, path), path)
    yield made
    shared_link().set_linked(False)
    made.close()


def middle(robot: QtRobot) -> int:
    image: QImage = robot.window.image.canvas.grab().toImage()
    return image.pixelColor(image.width() // 2, image.height() // 2).red()


def test_the_window_blends_with_an_image_seen_before(robot: QtRobot) -> None:
    window, picture = robot.window, robot.session.slice
    picture.set_levels(0, 0, 255)
    picture.set_index("z", 19)
    window.run("blend")
    bar = window.image.blending
    assert [bar.choice.itemText(i) for i in range(bar.choice.count())][1:] == [f"{robot.session.name} ▸ coarse"]
    bar.choice.setCurrentIndex(1)
    bar.choice.activated.emit(1)
    blend = bar.blend
    assert blend is not None
    blend.other.set_levels(0, 0, 255)
    robot.wait(lambda: bool(blend.tiles) and blend.other._is_whole() and picture._is_whole(), "both pictures")
    robot.wait(lambda: abs(middle(robot) - (190 + 90) // 2) <= 3, "half of both")
    bar.slider.setValue(100)
    robot.wait(lambda: abs(middle(robot) - 90) <= 3, "the other alone")
    bar.slider.setValue(0)
    robot.wait(lambda: abs(middle(robot) - 190) <= 3, "the picture alone")
    window.run("blend")
    assert not bar.isVisible()
    assert blend.state.name == ""


def test_an_image_that_is_chosen_shows_the_place(robot: QtRobot) -> None:
    picture = robot.session.slice
    canvas = robot.window.image.canvas
    robot.wait(lambda: picture._is_whole() and min(picture.painted_pixels) > 0, "the picture")
    robot.window.run("link")
    picture.set_index("z", 11)
    canvas.look((16.0, 16.0), canvas.zoom * 4)
    shown = canvas.zoom
    robot.wait(lambda: picture.visible_rect[3] - picture.visible_rect[1] < 64, "the part of the plane")
    robot.session.select(COARSE)
    robot.wait(lambda: picture.index[:1] == (5,), "the index")
    robot.wait(lambda: abs(canvas.zoom - 2 * shown) < 0.01 * shown, "the zoom")
    assert canvas.center == pytest.approx((8, 8), abs=0.05)
