"""The screen beneath all sheets."""

from __future__ import annotations

import asyncio

from textual import events
from textual.screen import Screen


class MainScreen(Screen[None]):
    """A screen that lets the event loop do other work between the pieces of its first painting.

    Textual handles all waiting events of a screen in one step of the event loop. At the start these are several
    layouts, each with a painting; the keys and rows that arrive meanwhile would wait for all of them. Styles, a layout
    and its painting are therefore steps of their own.
    """

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.ScreenResume | events.Resize):
            # The lowest textual has no such choice.
            if isinstance(event, events.ScreenResume) and getattr(event, "refresh_styles", False):
                self.app.stylesheet.update(self)
                event.refresh_styles = False
                await _other_work()
            with self.app.batch_update():  # its layout in this step, its painting in the next one
                await super().on_event(event)
        else:
            await super().on_event(event)
        await _other_work()


async def _other_work() -> None:
    """Lets the event loop run timers and handle input that came meanwhile. It puts them behind everything that is ready
    already, so that one turn would bring the caller back before them."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)
