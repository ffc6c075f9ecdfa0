"""A plane that cannot be read shows the reason in the middle of the picture; a key reads it again."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from contracts.journeys import Shelf
from terminal_hand import Screen
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope_app.presenters import Frame
from zarrscope_app.tui.app import Explorer
from zarrscope_app.tui.characters import CellRendering, cells_of, text_of, written_over
from zarrscope_app.tui.picture import PictureWidget
from zarrscope_app.tui.terminal import Colors


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def volume(shelf: Shelf) -> list[str]:
    """Three planes of four chunks; the keys of the last one."""
    array = open_hierarchy(shelf, "a").create_array("/a", shape=(3, 32, 32), dtype="u1", chunks=(1, 16, 16))
    array[...] = 100
    return [f"a/c/2/{y}/{x}" for y in range(2) for x in range(2)]


def told(screen: Screen) -> str:
    """The text of the picture, without the characters that draw pixels."""
    lines = screen.app.part("picture", PictureWidget)._lines
    return " ".join("".join(s.text for s in line if s.text.isascii()).strip() for line in lines).strip()


def test_a_plane_behind_a_dead_link_says_why_and_is_read_again_by_a_key(shelf: Shelf) -> None:
    last = volume(shelf)

    async def run() -> None:
        app = Explorer(shelf.address)
        async with app.run_test(size=(80, 24)) as pilot:
            screen = Screen(app, pilot)
            await screen.ready()
            screen.session.select("/a")

            def frame() -> Frame:
                return screen.session.slice.frame

            await screen.until(lambda: frame().tiles and not frame().loading, "the picture")
            screen.session.set_tab("image")
            app.keyboard.focus(app.pane)
            assert told(screen) == ""
            shelf.failing = {*last}
            await screen.press("end")
            await screen.until(lambda: "press U to read it again." in told(screen), "the reason")
            assert "503" in told(screen)
            assert "u reads failed tiles again" in app._note()
            shelf.failing = set()
            await screen.press("U")
            await screen.until(lambda: not frame().failed and not frame().loading and not told(screen), "the plane")
            assert screen.session.slice.picture(4, 4)[:, 1:3].min() > 90

            shelf.failing = {last[0]}
            screen.session.reload()
            await screen.until(lambda: frame().failed == 1, "one tile failed")
            await screen.until(lambda: not frame().loading, "the others")
            assert told(screen) == "", "the reason does not cover tiles that could be read"
            assert "u reads failed tiles again: " in app._note()
            assert last[0] in app._note()
            assert "503" in app._note()

    asyncio.run(run())


@pytest.mark.parametrize("colors", ["truecolor", "256", "16", "mono"])
@pytest.mark.parametrize("signs", ["half", "braille", "ascii"])
def test_a_text_stands_over_the_picture(colors: Colors, signs: str) -> None:
    rendering = CellRendering(signs=signs, colors=colors)
    grid = cells_of(np.full((12 * rendering.rows, 40 * rendering.columns, 3), 200, np.uint8), rendering)
    before = grid.copy()
    written_over(grid, "The server answered 503. Press U to read it again: 細")
    lines = [text_of(line, colors) for line in grid]
    found = [at for at, line in enumerate(lines) if any(word in line for word in ("server", "read it", "again"))]
    assert 4 <= found[0] <= found[-1] <= 7
    assert "?" in "".join(lines), "a sign of two columns would move the rest of its line"
    assert (grid[:3] == before[:3]).all()
    small = before[:, :10].copy()
    written_over(small, "The server answered 503.")
    assert (small == before[:, :10]).all(), "there is no room"
