"""The first screen of the terminal lets the event loop do other work in between, and imports nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from textual import events
from textual.geometry import Region

from contracts.journeys import SECONDS
from zarrscope_app.presenters import Session
from zarrscope_app.tui.app import Explorer
from zarrscope_app.tui.main_screen import MainScreen


def test_other_work_runs_between_two_events_of_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []

    async def on_event(self: object, event: events.Event) -> None:
        happened.append(type(event).__name__)
        asyncio.get_running_loop().call_later(0, happened.append, "other work")  # timers and input come last in a turn

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


def test_painting_the_tree_asks_for_the_state_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    for name in map(str, range(10)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    asked: list[None] = []
    state = vars(Session)["state"].fget

    def counted(self: Session) -> object:
        asked.append(None)
        return state(self)

    async def run() -> None:
        app = Explorer(str(tmp_path))
        async with app.run_test(size=(80, 24)):
            async with asyncio.timeout(SECONDS):
                while app.tree_lines.count() < 11:
                    await asyncio.sleep(0.01)
            monkeypatch.setattr(Session, "state", property(counted))
            strips = app.tree_lines.render_lines(Region(0, 0, app.tree_lines.size.width, 11))
            monkeypatch.undo()
            assert [strip.text.split()[1] for strip in strips[1:]] == list(map(str, range(10)))

    asyncio.run(run())
    assert len(asked) == 1


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
