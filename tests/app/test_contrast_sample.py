"""Contrast is not measured on a level of a few pixels, with which some pyramids end.

Hidden channels have a histogram, too, or a text that says why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.journeys import Shelf
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import Workspace
from zarrscope_app.presenters.image import words
from zarrscope_app.presenters.image.tile_geometry import overview_of

SIDE = 96


@pytest.mark.parametrize(
    ("sides", "chosen"),
    [
        ((256, 128, 64, 32, 16), 2),
        ((96, 1), 0),
        ((32, 16), 0),
        ((10_000, 32), 1),
        ((10_000,), 0),
        ((10_000, 5_000), 1),
    ],
)
def test_a_level_that_is_neither_tiny_nor_huge_stands_for_the_plane(sides: tuple[int, ...], chosen: int) -> None:
    assert overview_of([(side, side) for side in sides]) == chosen


def test_the_last_pixel_of_a_pyramid_decides_no_contrast(
    tmp_path: Path, workspace: Workspace, mailbox: Mailbox
) -> None:
    axes = [{"name": name, "type": "space"} for name in "yx"]
    levels: list[dict[str, Any]] = [
        {"path": str(k), "coordinateTransformations": [{"type": "scale", "scale": [factor, factor]}]}
        for k, factor in enumerate((1.0, float(SIDE)))
    ]
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        h.root.attrs.put({"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}]}})
        plane = np.broadcast_to(np.arange(SIDE, dtype="u1") * 2, (SIDE, SIDE))
        h.create_array("/0", shape=plane.shape, dtype="u1", chunks=(SIDE, SIDE))[...] = plane
        h.create_array("/1", shape=(1, 1), dtype="u1", chunks=(1, 1))[...] = 7
    session = workspace.open(str(tmp_path / "a.zarr"))
    mailbox.run_until(lambda: session.slice.image is not None)

    def limits() -> tuple[float | None, float | None]:
        (channel,) = session.slice.state.channels
        return channel.lo, channel.hi

    for _ in range(2):
        session.slice.fit((400, 400))
        mailbox.run_until(lambda: limits()[1] is not None and session.slice._is_whole())
        assert (limits()[1] or 0) > SIDE
    session.slice.set_levels(0, 1, 2)
    session.slice.auto()
    mailbox.run_until(lambda: limits() != (1, 2))
    assert (limits()[1] or 0) > SIDE


# ---------------------------------------------------------------------------------------------- hidden channels
def two_channels(shelf: Shelf, side: int = 64) -> str:
    """An image of two channels, of which the second is hidden, in chunks of one channel each."""
    axes = [{"name": "c", "type": "channel"}, *({"name": name, "type": "space"} for name in "yx")]
    scale = [{"type": "scale", "scale": [1.0, 1.0, 1.0]}]
    image = {"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": scale}]}
    channels = [
        {
            "label": label,
            "color": "FFFFFF",
            "active": label == "a",
            "window": {"start": 0, "end": 90, "min": 0, "max": 99},
        }
        for label in "ab"
    ]
    h = zarrscope.open(shelf, "w-")
    h.root.attrs.put({"ome": {"version": "0.5", "multiscales": [image], "omero": {"channels": channels}}})
    array = h.create_array("/0", shape=(2, side, side), dtype="u2", chunks=(1, min(side, 64), min(side, 64)))
    array[..., :64, :64] = np.arange(2 * 64 * 64).reshape(2, 64, 64)
    return shelf.address


def test_the_histogram_of_a_hidden_channel_is_read_when_it_is_asked_for(workspace: Workspace, mailbox: Mailbox) -> None:
    shelf = Shelf()
    session = workspace.open(two_channels(shelf))
    picture = session.slice
    mailbox.run_until(lambda: picture.image is not None)
    picture.fit((100, 100))
    mailbox.run_until(lambda: bool(picture.state.channels[0].histogram))
    mailbox.run()
    assert not picture.state.channels[1].histogram
    assert "0/c/1/0/0" not in shelf.read, "it is not read unasked"
    for _ in range(3):
        picture.want_histogram(1)
    mailbox.run_until(lambda: bool(picture.state.channels[1].histogram))
    hidden = picture.state.channels[1]
    assert (hidden.visible, hidden.lo, hidden.hi, hidden.unmeasured) == (False, 0, 90, ""), (
        "the limits of the file stay"
    )
    assert sum(hidden.histogram)
    assert shelf.read.count("0/c/1/0/0") == 1
    picture.want_histogram(7)
    picture.want_histogram(0)


def test_an_empty_histogram_says_why(workspace: Workspace, mailbox: Mailbox) -> None:
    shelf = Shelf()
    address = two_channels(shelf)
    shelf.set("0/c/1/0/0", b"broken")
    picture = workspace.open(address).slice
    mailbox.run_until(lambda: picture.image is not None)
    picture.fit((100, 100))
    mailbox.run_until(lambda: bool(picture.state.channels[0].histogram))
    picture.want_histogram(1)
    mailbox.run_until(lambda: picture.state.channels[1].unmeasured == words.HISTOGRAM_UNREAD)
    large = Shelf()
    picture = workspace.open(two_channels(large, 64 * 17)).slice
    mailbox.run_until(lambda: picture.image is not None)
    picture.fit((100, 100))
    mailbox.run_until(lambda: bool(picture.state.channels[0].histogram))
    picture.want_histogram(1)
    mailbox.run_until(lambda: picture.state.channels[1].unmeasured == words.HISTOGRAM_TOO_LARGE)
    assert not [key for key in large.read if key.startswith("0/c/1/")]


@pytest.mark.needs("qt", "display")
def test_the_window_shows_the_histogram_of_a_hidden_channel(qtbot: Any) -> None:
    from qt_robot import window_on

    shelf = Shelf()
    _, session = window_on(qtbot, two_channels(shelf))
    picture = session.slice
    qtbot.waitUntil(
        lambda: len(picture.state.channels) == 2 and all(channel.histogram for channel in picture.state.channels),
        timeout=60_000,
    )
    assert not picture.state.channels[1].visible
