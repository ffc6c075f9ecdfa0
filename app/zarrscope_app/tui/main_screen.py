"""The screen beneath all sheets."""

from __future__ import annotations

import asyncio

from textual import events
from textual.screen import Screen


class MainScreen(Screen[None]):
    """A screen that lets the event loop do other work between the pieces of its first painting.

    Textual handles all waiting events of a screen in one step of the event loop. At the start these are several
    layouts, each with a painting; the keys and rows that arrive meanwhile would wait for all of them.
    """

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.ScreenResume):
            with self.app.batch_update():  # its styles and layout in this step, its painting in the next one
                await super().on_event(event)
        else:
            await super().on_event(event)
        await asyncio.sleep(0)
