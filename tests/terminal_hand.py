"""A robot for the terminal application: sends keys through Textual's pilot, and reads the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from contracts.journeys import SECONDS
from zarrscope_app.presenters import SessionStatus
from zarrscope_app.presenters.commands import COMMANDS
from zarrscope_app.tui.app import Explorer
from zarrscope_app.tui.entry import InputLine
from zarrscope_app.tui.picker import Picker


class Screen:
    """An explorer of 80 x 24 and its pilot; reads the screen."""

    def __init__(self, app: Explorer, pilot: Pilot[Any]) -> None:
        self.app, self.pilot, self.session = app, pilot, app.session

    async def until(self, happened: Callable[[], object], what: str = "") -> None:
        try:
            async with asyncio.timeout(SECONDS):
                while not happened():
                    await self.pilot.pause(0.01)
        except TimeoutError:
            pytest.fail(f"This did not happen: {what}\n{self.painted()}")

    def painted(self) -> str:
        """The characters on the screen."""
        lines = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in line) for line in lines)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def type(self, text: str) -> None:
        self.app.part("entry", InputLine).value = ""
        for character in text:
            self.app.part("entry", InputLine).paste(character)
        await self.press("enter")

    @property
    def top(self) -> Any:
        return self.app.screen

    def sheet(self) -> str:
        """The text of the dialog in front."""
        return "\n".join(str(part.content) for part in self.app.screen.query(Static))

    async def command(self, id: str) -> None:
        """Runs a command that it finds by its name."""
        label = next(c.label for c in COMMANDS if c.id == id).rstrip("…")
        await self.press("ctrl+p")
        await self.until(lambda: isinstance(self.top, Picker), "the commands are shown")
        for character in label:
            await self.press("space" if character == " " else character)
        assert self.top.found[0][0] == id
        await self.press("enter")

    async def ready(self) -> None:
        def is_open() -> bool:
            state = self.session.state
            return state.status is SessionStatus.READY and not state.selecting

        await self.until(is_open, "it is open")
        await self.pilot.pause()


def explore(
    url: str, steps: Callable[[Screen], Awaitable[None]], size: tuple[int, int] = (80, 24), **options: Any
) -> None:
    """Runs `steps` in an explorer of this size, after it has opened the address."""

    async def run() -> None:
        app = Explorer(url, **options)
        async with app.run_test(size=size) as pilot:
            screen = Screen(app, pilot)
            await screen.ready()
            await steps(screen)

    asyncio.run(run())
