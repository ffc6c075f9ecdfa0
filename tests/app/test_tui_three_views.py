"""Three views in the terminal: the planes through a crosshair, opened by `V`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from textual.pilot import Pilot

from contracts.journeys import SECONDS
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope_app.presenters import SessionStatus
from zarrscope_app.presenters import strings_terminal as words
from zarrscope_app.presenters.commands import TERMINAL_KEYS, key_sheet
from zarrscope_app.tui.app import Explorer
from zarrscope_app.tui.terminal import DrawingMethod, Terminal

SHAPE = (12, 40, 60)
SIZES = ((80, 24), (200, 60))
Act = Callable[[Explorer, Pilot[Any]], Awaitable[None]]


@pytest.fixture
def volume(tmp_path: Path) -> str:
    place = str(tmp_path / "volume.zarr")
    hierarchy = open_hierarchy(place, "a")
    z, y, x = np.indices(SHAPE)
    array = hierarchy.create_array("/deep", shape=SHAPE, dtype="uint8", chunks=(4, 20, 20))
    array[...] = (z * 20 + y * 3 + x).astype(np.uint8)
    flat = hierarchy.create_array("/flat", shape=(8, 8), dtype="uint8", chunks=(8, 8))
    flat[...] = 5
    return place


async def until(pilot: Pilot[Any], met: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not met():
            await pilot.pause(0.02)


def shown(place: str, node: str, act: Act, size: tuple[int, int] = (80, 24), drawing: DrawingMethod = "blocks") -> None:
    """Shows a node, and acts once its picture is drawn."""

    async def run() -> None:
        app = Explorer(place, terminal=Terminal("truecolor", drawing))
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: app.session.state.status is SessionStatus.READY)
            app.session.select(node)
            await until(pilot, lambda: app.session.state.path == node and bool(app.session.slice.frame.shape[0]))
            await until(pilot, lambda: app.session.slice._is_whole() and app.picture.rect is not None)
            await act(app, pilot)

    asyncio.run(run())


async def opened(app: Explorer, pilot: Pilot[Any]) -> None:
    await pilot.press("V")
    await until(pilot, lambda: len(app.picture.cross.panels) == 3)
    await until(pilot, lambda: all(panel.view._is_whole() for panel in app.picture.cross.panels))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("drawing", ["blocks", "braille", "ascii"])
def test_v_shows_three_planes_and_the_picture_alone_again(
    volume: str, size: tuple[int, int], drawing: DrawingMethod
) -> None:
    async def act(app: Explorer, pilot: Pilot[Any]) -> None:
        alone = app.picture.pixels
        await opened(app, pilot)
        main, below, beside = app.picture.cross.panels
        assert main.view.frame.shape == SHAPE[1:]
        assert below.view.frame.shape == (SHAPE[0], SHAPE[2])
        assert beside.view.frame.shape == (SHAPE[1], SHAPE[0])
        assert below.top > main.height
        assert beside.left > main.width
        assert below.top + below.height == alone[0]
        assert beside.left + beside.width == alone[1]
        assert below.rect[1::2] == pytest.approx(main.rect[1::2]), "the width has the same place and scale"
        assert beside.rect[::2] == pytest.approx(main.rect[::2]), "the height has the same place and scale"
        await pilot.press("V")
        await until(pilot, lambda: not app.picture.cross.panels)
        assert app.picture.pixels == alone

    shown(volume, "/deep", act, size, drawing)


def test_the_planes_follow_the_slider_and_clicks(volume: str) -> None:
    async def act(app: Explorer, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        before = app.session.slice.index[0]
        await pilot.press("right")
        await until(pilot, lambda: app.session.slice.index[0] == before + 1)
        below = app.picture.cross.panels[1]
        await until(pilot, lambda: (below.view.state.pin or (0.0, 0.0))[0] == before + 1.5)
        _, x0, _, x1 = below.rect
        column = int((10.5 - x0) / (x1 - x0) * below.width)
        row = below.top + 1
        await pilot.click("#picture", offset=(column, -(-row // 2)))
        place = below.place(-(-row // 2) * 2, column)
        assert place is not None
        z = min(SHAPE[0] - 1, max(0, int(place[0])))
        await until(pilot, lambda: app.session.slice.index[0] == z)
        assert app.session.slice.state.pin is not None
        assert app.session.slice.state.pin[1] == int(place[1]) + 0.5

    shown(volume, "/deep", act)


def test_the_cursor_of_values_moves_the_crosshair(volume: str) -> None:
    async def act(app: Explorer, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        await pilot.press("v")
        await until(pilot, lambda: app.picture.cursor is not None)
        before = app.session.slice.state.pin
        await pilot.press(*["up"] * 6)
        await until(pilot, lambda: app.session.slice.state.pin != before)
        await pilot.press("escape")
        await until(pilot, lambda: app.picture.cursor is None)
        assert app.session.slice.state.pin is not None, "the crosshair stays"

    shown(volume, "/deep", act)


def test_a_node_without_a_third_axis_says_so(volume: str) -> None:
    async def act(app: Explorer, pilot: Pilot[Any]) -> None:
        await pilot.press("V")
        await until(pilot, lambda: any(words.NO_THIRD_AXIS in str(note.message) for note in app._notifications))
        assert not app.picture.cross.panels

    shown(volume, "/flat", act)


def test_another_node_closes_them_if_it_has_no_third_axis(volume: str) -> None:
    async def act(app: Explorer, pilot: Pilot[Any]) -> None:
        await opened(app, pilot)
        app.session.select("/flat")
        await until(pilot, lambda: app.session.slice.frame.shape == (8, 8) and app.session.slice._is_whole())
        await until(pilot, lambda: not app.picture.cross.panels and not app.picture.cross.is_open)
        rect = app.picture.rect
        assert rect is not None
        assert rect[0] <= 0 < 8 <= rect[2], "the whole plane"

    shown(volume, "/deep", act)


def test_the_sheet_of_keys_names_it_apart_from_the_value_cursor() -> None:
    keys = {label: key for key, label in key_sheet(*TERMINAL_KEYS)}
    assert keys["Three views"] == "V"
    assert keys["Value cursor on or off"] == "v"
