"""Contrast is not measured on a level of a few pixels, with which some pyramids end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import Workspace
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
