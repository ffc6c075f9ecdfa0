"""The first screen of the terminal lets the event loop do other work in between, and imports nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from textual import events

from contracts.journeys import SECONDS
from zarrscope_app.tui.app import Explorer
from zarrscope_app.tui.main_screen import MainScreen


def test_other_work_runs_between_two_events_of_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []

    async def on_event(self: object, event: events.Event) -> None:
        happened.append(type(event).__name__)
        asyncio.get_running_loop().call_soon(happened.append, "other work")

    async def run() -> None:
        app = Explorer("memory://")
        async with app.run_test() as pilot:
            screen = app.screen
            assert isinstance(screen, MainScreen)
            await pilot.pause()
            monkeypatch.setattr("textual.screen.Screen.on_event", on_event)
            screen.post_message(events.ScreenSuspend())
            screen.post_message(events.ScreenResume())
            async with asyncio.timeout(SECONDS):
                while happened.count("other work") < 2:
                    await asyncio.sleep(0.01)
            monkeypatch.undo()

    asyncio.run(run())
    first, second = (happened.index(name) for name in ("ScreenSuspend", "ScreenResume"))
    assert "other work" in happened[first:second]


def test_the_first_screen_imports_no_further_module_of_the_toolkit() -> None:
    code = """
import asyncio, sys
from textual.pilot import Pilot
from textual.drivers import headless_driver
from zarrscope_app.tui.app import Explorer

async def run():
    app = Explorer("memory://")
    before = {*sys.modules}
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
    print(sorted(m for m in {*sys.modules} - before if m.split(".")[0] in ("textual", "rich")))

asyncio.run(run())
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=6 * SECONDS)
    assert told.stdout.strip() == "[]", told.stdout
