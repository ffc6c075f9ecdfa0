"""Panes of lines in the terminal: nothing is cut without a sign, and every problem can be read whole."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.widgets import Static

import zarrscope
from terminal_hand import Screen
from zarrscope_app.tui.app import Explorer
from zarrscope_app.tui.lines import FormLines, InfoLines, Lines, ProblemLines, _fold
from zarrscope_app.tui.sheet import Sheet


def explore(url: str, steps: Callable[[Screen], Coroutine[Any, Any, None]], **options: Any) -> None:
    async def run() -> None:
        app = Explorer(url, **options)
        async with app.run_test(size=(80, 24)) as pilot:
            screen = Screen(app, pilot)
            await screen.ready()
            await steps(screen)

    asyncio.run(run())


@pytest.fixture
def place(tmp_path: Path) -> str:
    """A group with an array of a long name, an array with a broken document, and many attributes."""
    url = str(tmp_path / "a-name-of-some-length.zarr")
    with zarrscope.open(url, mode="w-") as h:
        h["/"].attrs.update({f"member{number:02}": "x" * 200 for number in range(40)})
        h.create_array("/an-array-with-a-long-name", shape=(4, 4), dtype="uint8", chunks=(2, 2))[...] = 1
        h.create_array("/broken", shape=(4, 4), dtype="uint8", chunks=(2, 2))
    document = tmp_path / "a-name-of-some-length.zarr" / "broken" / "zarr.json"
    document.write_text(document.read_text().replace('"uint8"', '"int33"'))
    return url


def painted(lines: Lines) -> list[str]:
    """The lines of a pane, as far as the scrollbar does not cover them."""
    shown = lines.scrollable_content_region
    return [lines.render_line(y).crop(0, shown.width).text for y in range(shown.height)]


def test_the_scrollbar_covers_no_text(place: str) -> None:
    async def steps(screen: Screen) -> None:
        info = screen.app.query_one("#info", InfoLines)
        await screen.until(lambda: info.count() > info.size.height and info.show_vertical_scrollbar, "it scrolls")
        await screen.pilot.pause()
        assert any("['/']" in line for line in painted(info)), painted(info)
        screen.session.set_tab("attributes")
        form = screen.app.query_one("#attributes", FormLines)
        await screen.until(lambda: form.count() > 40 and form.show_vertical_scrollbar, "the form scrolls")
        await screen.pilot.pause()
        assert painted(form)[0].endswith("object")
        assert painted(form)[1].endswith("…   text")

    explore(place, steps)


def test_a_long_name_in_the_tree_ends_with_an_ellipsis(place: str) -> None:
    async def steps(screen: Screen) -> None:
        tree = screen.app.tree_lines
        await screen.until(lambda: tree.count() == 3, "the rows are there")
        await screen.pilot.pause()
        rows = painted(tree)
        assert rows[0].rstrip().endswith("…")
        assert rows[1].rstrip().endswith("…")
        assert rows[2].rstrip() == "    broken 2-D int33"

    explore(place, steps)


def test_the_problem_under_the_cursor_is_read_whole(place: str) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("ctrl+k")
        problems = screen.app.query_one("#problems", ProblemLines)
        await screen.until(lambda: screen.session.problems.items and not screen.session.problems.checking, "checked")
        screen.session.set_tab("problems")
        await screen.until(lambda: problems.size.width, "it is shown")
        screen.app.keyboard.focus(problems)
        (item,) = (item for item in screen.session.problems.items if item.path == "/broken")
        await screen.press("end")
        while problems.item() != item:
            await screen.press("up")
        await screen.pilot.pause()
        whole = " ".join(" ".join(painted(problems)).split())
        assert f"{item.path} {item.headline}" in whole or item.headline in whole
        await screen.press("home")
        await screen.pilot.pause()
        (line,) = (line for line in painted(problems) if "/broken" in line and line.startswith("! "))
        assert line.rstrip().endswith("…"), "one line while the cursor is elsewhere"

    explore(place, steps)


def test_a_shape_is_not_broken_and_wide_characters_are_counted_twice() -> None:
    told = [text for text, _ in _fold("  Levels  0: 1 × 2 × 3 × 32 × 48; 1: 1 × 2 × 3 × 16 × 24", 40)]
    assert told == ["  Levels  0: 1 × 2 × 3 × 32 × 48; 1:", "    1 × 2 × 3 × 16 × 24"]
    wide = "漢" * 50
    folded = [text for text, _ in _fold(wide, 20)]
    assert max(map(cell_len, folded)) <= 20
    assert "".join(part.strip() for part in folded) == wide


def test_enter_on_a_field_asks_to_open_for_writing(place: str) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("e")
        form = screen.app.query_one("#attributes", FormLines)
        await screen.until(lambda: form.count() > 40, "the form is there")
        assert "⏎" in str(screen.app.query_one("#status", Static).content)
        await screen.press("down", "enter")
        await screen.until(lambda: isinstance(screen.top, Sheet), "it asks")
        await screen.press("escape")
        assert not screen.session.state.writable
        await screen.press("x")
        await screen.until(lambda: isinstance(screen.top, Sheet), "it asks again")
        await screen.press("enter")
        await screen.until(lambda: screen.session.state.writable, "it is open for writing")

    explore(place, steps)
