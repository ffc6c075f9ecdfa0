"""Joined emoji in names and values: the terminal shows their parts, and no column shifts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import get_character_cell_size
from textual.pilot import Pilot

from contracts.journeys import SECONDS
from zarrscope.errors.visible import visible
from zarrscope_app.presenters import SessionStatus
from zarrscope_app.tui import emoji
from zarrscope_app.tui.app import Explorer

JOINER, SELECTOR = "\u200d", "\ufe0f"
FAMILY = JOINER.join("👨👩👧")
RAINBOW = f"\U0001f3f3{SELECTOR}{JOINER}🌈"
FLAG = "🇩🇪"
SIZES = ((80, 24), (200, 60))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (FAMILY, "👨👩👧"),
        (RAINBOW, "\U0001f3f3🌈"),
        (f"❤{SELECTOR}", "❤"),
        (f"1{SELECTOR}\u20e3", "1\u20e3"),
        (f"👩🏽{JOINER}🚀", "👩🏽🚀"),
        (f"👩{JOINER}⚕{SELECTOR} a", "👩⚕ a"),
        (FLAG, FLAG),
        ("e\u0301", "e\u0301"),
    ],
)
def test_the_parts_of_emoji_are_shown(text: str, shown: str) -> None:
    assert emoji.parts(visible(text)) == shown


@pytest.mark.parametrize(
    "text",
    [
        f"a{JOINER}b", f"👨{JOINER}", f"{JOINER}👨", f"👨{JOINER}b", f"a{SELECTOR}", f"12{SELECTOR}", "👨\u202e👩",
        "👨\u200b👩", "👨\u2066👩", "👨\n👩", "👨\x1b[2J👩", "🏴\U000e0067\U000e0062\U000e007f",
        f"👨{JOINER}{JOINER}👩",
    ],
)  # fmt: skip
def test_other_invisible_characters_stay_escaped(text: str) -> None:
    assert emoji.parts(visible(text)) == visible(text)


@pytest.fixture
def place(tmp_path: Path) -> str:
    root = tmp_path / "emoji.zarr"
    group = {"zarr_format": 3, "node_type": "group"}
    attributes = {"family": FAMILY, "flag": FLAG, "accent": "e\u0301", "forged": f"{FAMILY}\u202e\n{RAINBOW}", "z": 1}
    for folder, content in ((root, {**group, "attributes": attributes}), (root / f"{FAMILY}x", group)):
        folder.mkdir()
        (folder / "zarr.json").write_text(json.dumps(content), "utf-8")
    return str(root)


async def until(pilot: Pilot[Any], met: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not met():
            await pilot.pause(0.02)


def rows(app: Explorer) -> list[str]:
    return [strip.text for strip in app.screen._compositor.render_strips()]


@pytest.mark.parametrize("size", SIZES)
def test_names_and_values_are_readable_and_shift_nothing(place: str, size: tuple[int, int]) -> None:
    async def run() -> None:
        app = Explorer(place)
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: app.session.state.status is SessionStatus.READY)
            await until(pilot, lambda: any("👨👩👧x" in row for row in rows(app)))
            app.session.set_tab("attributes")
            while app.session.edit.state.way != "fields":
                app.session.edit.next_way()
                await pilot.pause(0.02)
            await until(pilot, lambda: any("forged" in row and "🌈" in row for row in rows(app)))
            shown = rows(app)
            for row in shown:
                assert sum(map(get_character_cell_size, row)) == size[0], row
            for name, value in (("family", "👨👩👧"), ("flag", FLAG), ("accent", "e\u0301")):
                row = next(row for row in shown if name in row)
                assert value in row
                assert "\\u" not in row.partition(name)[2]
            forged = next(row for row in shown if "forged" in row)
            assert "\\u202e" in forged
            assert JOINER not in "".join(shown)
            assert "\u202e" not in "".join(shown)

    asyncio.run(run())
