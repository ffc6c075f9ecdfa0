"""Pixels that could not be read are not measured: a channel has its contrast from the first data that arrive."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import zarrscope
from contracts.journeys import Shelf, brightness, small_image
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import SlicePresenter, Workspace

SIDE = 64
LEFT, RIGHT = "a/c/0/0/0", "a/c/0/0/1"
"""The two chunks of the first plane."""
VALUES = np.arange(100, 100 + SIDE)

Opens = Callable[[Shelf, str], SlicePresenter]


@pytest.fixture
def shelf() -> Shelf:
    """A store with an array of two planes that states no contrast; the first plane cannot be read."""
    shelf = Shelf()
    array = zarrscope.open(shelf, "w-").create_array(
        "/a", shape=(2, SIDE, SIDE), dtype="u2", chunks=(1, SIDE, SIDE // 2), dimension_names=("z", "y", "x")
    )
    array[...] = np.broadcast_to(VALUES, array.shape)
    shelf.failing = {LEFT, RIGHT}
    return shelf


@pytest.fixture
def open_(workspace: Workspace, mailbox: Mailbox) -> Opens:
    """Opens an image at its first plane, and waits until that is painted."""

    def open_(shelf: Shelf, path: str) -> SlicePresenter:
        session = workspace.open(shelf.address)
        mailbox.run_until(lambda: session.node is not None)
        session.select(path)
        mailbox.run_until(lambda: session.slice.image is not None)
        session.slice.set_index("z", 0)
        session.slice.fit((SIDE, SIDE))
        settle(session.slice, mailbox)
        return session.slice

    return open_


def settle(picture: SlicePresenter, mailbox: Mailbox) -> None:
    """Waits until the picture is complete and everything that follows from that has run."""
    mailbox.run()
    mailbox.run_until(lambda: picture._is_whole() and picture._tiles.settled)
    while mailbox.run():
        pass


def limits(picture: SlicePresenter) -> tuple[float | None, float | None]:
    return picture.state.channels[0].lo, picture.state.channels[0].hi


def test_a_plane_that_is_read_at_the_second_attempt_has_the_contrast_of_a_first_opening(
    shelf: Shelf, open_: Opens, mailbox: Mailbox
) -> None:
    picture = open_(shelf, "/a")
    assert picture.frame.failed
    assert limits(picture) == (None, None), "there was nothing to measure"
    assert not picture.state.channels[0].histogram
    shelf.failing = set()
    picture.retry()
    settle(picture, mailbox)
    assert limits(picture) == (VALUES.min(), VALUES.max())
    assert sum(picture.state.channels[0].histogram)
    shades = picture.picture(SIDE, SIDE)[0, :, 0]
    assert (shades[0], shades[-1]) == (0, 255)
    assert len(np.unique(shades)) == SIDE, "not white"


def test_another_plane_after_one_that_failed_is_measured(shelf: Shelf, open_: Opens, mailbox: Mailbox) -> None:
    picture = open_(shelf, "/a")
    picture.set_index("z", 1)
    settle(picture, mailbox)
    assert limits(picture) == (VALUES.min(), VALUES.max())


def test_the_part_of_a_plane_that_was_read_is_measured_alone(shelf: Shelf, open_: Opens, mailbox: Mailbox) -> None:
    shelf.failing = {LEFT}
    picture = open_(shelf, "/a")
    measured = limits(picture)
    assert measured == (VALUES[SIDE // 2], VALUES.max()), "the fill value of the failed half does not count"
    assert sum(picture.state.channels[0].histogram) == SIDE * SIDE // 2
    shelf.failing = set()
    picture.retry()
    settle(picture, mailbox)
    assert limits(picture) == measured, "it was measured once"


def test_contrast_that_a_person_sets_while_the_plane_fails_stays(shelf: Shelf, open_: Opens, mailbox: Mailbox) -> None:
    picture = open_(shelf, "/a")
    picture.state_levels(0, 20, 500)
    shelf.failing = set()
    picture.retry()
    mailbox.run_until(lambda: bool(picture.state.channels[0].histogram))
    assert limits(picture) == (20, 500)
    assert sum(picture.state.channels[0].histogram) == SIDE * SIDE, "the histogram is that of the data"


def test_contrast_that_the_metadata_state_stays_and_the_histogram_comes_with_the_data(
    open_: Opens, mailbox: Mailbox
) -> None:
    shelf = Shelf()
    small_image(shelf, contrast=(3, 99))
    shelf.failing = {f"image/0/c/0/{y}/{x}" for y in range(4) for x in range(4)}
    picture = open_(shelf, "/image")
    assert limits(picture) == (3, 99)
    assert not picture.state.channels[0].histogram, "nothing was counted yet"
    shelf.failing = set()
    picture.retry()
    mailbox.run_until(lambda: bool(picture.state.channels[0].histogram))
    assert limits(picture) == (3, 99)
    (filled,) = np.flatnonzero(picture.state.channels[0].histogram)
    assert filled == brightness(0) * 64 // 256
