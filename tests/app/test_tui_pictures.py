"""Snapshots of the terminal's screens. `--snapshot-update` makes them again; look at them afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from typing import Any

import numpy as np
import pytest
from pytest_textual_snapshot import SVGImageExtension  # type: ignore[import-untyped]  # it has no types
from textual.pilot import Pilot

from contracts.journeys import SECONDS, Shelf, labelled_image, tree_of_all_kinds
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.stores import memory
from zarrscope_app.presenters import SessionStatus
from zarrscope_app.presenters.session.session import Session
from zarrscope_app.tui.app import Explorer
from zarrscope_app.tui.terminal import Terminal

# syrupy 5 renamed this attribute, and pytest-textual-snapshot sets the old one: without both the files' names would
# depend on its version.
SVGImageExtension.file_extension = SVGImageExtension._file_extension = "svg"
NAME = "sample.zarr"
Before = Callable[[Pilot[Any]], Awaitable[None]]


class Sample(Shelf):
    """A store in memory whose name appears in the snapshots."""

    def __init__(self) -> None:
        super().__init__()
        memory._named.pop(self.url.removeprefix("memory://"))
        self.url = self.address = f"memory://{NAME}"
        memory._named[NAME] = self


@pytest.fixture
def shelf() -> Sample:
    return Sample()


def two_channels(shelf: Shelf) -> None:
    """Green rings around the centre, magenta stripes across: swapped, rotated or cut pictures are noticed."""
    y, x = np.mgrid[:96, :128]
    rings = 127 + 127 * np.cos(np.hypot(y - 40, x - 50) / 4)
    stripes = np.where((x + y) % 32 < 16, 2 * x, 0)
    axes = [{"name": "c", "type": "channel"}, *({"name": n, "type": "space", "unit": "micrometer"} for n in "zyx")]
    scale = [{"type": "scale", "scale": [1, 0.5, 0.25, 0.25]}]
    window = {"start": 0, "end": 255, "min": 0, "max": 255}
    colours = (("rings", "00FF00"), ("stripes", "FF00FF"))
    channels = [{"label": label, "color": color, "active": True, "window": window} for label, color in colours]
    multiscale = {"name": "cells", "axes": axes, "datasets": [{"path": "0", "coordinateTransformations": scale}]}
    hierarchy = open_hierarchy(shelf, "a")
    ome = {"version": "0.5", "multiscales": [multiscale], "omero": {"channels": channels}}
    hierarchy.create_group("/cells", {"ome": ome, "note": "fixed in formalin"})
    array = hierarchy.create_array("/cells/0", shape=(2, 9, 96, 128), dtype="uint8", chunks=(1, 1, 48, 64))
    array[...] = np.stack([rings, stripes]).astype(np.uint8)[:, None]


def _session(pilot: Pilot[Any]) -> Session:
    assert isinstance(pilot.app, Explorer)
    return pilot.app.session


async def settled(pilot: Pilot[Any]) -> None:
    """Waits until nothing has been pending for several turns, because results may cause further requests: neither what
    the picture needs nor, say, the details of a row."""
    session = _session(pilot)
    quiet = count()
    async with asyncio.timeout(SECONDS):
        while next(quiet) < 10:
            state, frame = session.state, session.slice.frame
            drawing = bool(frame.tiles) and not session.slice._is_whole()
            awaited = session.tabs.front == "image" and session.slice.state.kind == "image" and not frame.tiles
            opening = state.status is SessionStatus.OPENING or state.selecting
            if opening or awaited or frame.loading or drawing or session.owner.busy:
                quiet = count()
            await pilot.pause(0.02)


def after(*keys: str) -> Before:
    async def run(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        for key in keys:
            await pilot.press(key)
            await settled(pilot)

    return run


CASES: list[tuple[str, Callable[[Shelf], object], Sequence[str], tuple[int, int], dict[str, Any]]] = [
    ("tree", tree_of_all_kinds, (), (80, 24), {}),
    ("picture", two_channels, ("down", "enter"), (120, 36), {}),
    ("picture-256", two_channels, ("down", "enter"), (80, 24), {"terminal": Terminal("256", note="256 colours")}),
    ("picture-16", two_channels, ("down", "enter"), (80, 24), {"terminal": Terminal("16")}),
    ("picture-mono", two_channels, ("down", "enter"), (80, 24), {"terminal": Terminal("mono", "braille")}),
    ("picture-ascii", two_channels, ("down", "enter"), (80, 24), {"terminal": Terminal("256", "ascii")}),
    ("attributes", two_channels, ("down", "enter", *2 * ("right_square_bracket",)), (80, 24), {}),
    ("information", labelled_image, ("down", "enter", *4 * ("right_square_bracket",)), (80, 24), {}),
    ("keys", labelled_image, ("question_mark",), (80, 24), {}),
]


@pytest.mark.parametrize(("name", "make", "keys", "size", "options"), CASES, ids=[case[0] for case in CASES])
def test_the_screen_looks_as_before(
    name: str, make: Callable[[Shelf], object], keys: Sequence[str], size: tuple[int, int], options: dict[str, Any],
    shelf: Sample, snap_compare: Any,
) -> None:  # fmt: skip
    make(shelf)
    app = Explorer(shelf.address, **options)
    assert snap_compare(app, run_before=after(*keys), terminal_size=size)


def test_an_empty_store_says_so(shelf: Sample, snap_compare: Any) -> None:
    assert snap_compare(Explorer(shelf.address), run_before=settled, terminal_size=(80, 24))
