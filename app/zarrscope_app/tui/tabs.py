"""The lines that can be clicked: tabs, and sliders beneath the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.widgets import Static

from zarrscope_app.presenters import Session
from zarrscope_app.tui.entry import Painter
from zarrscope_app.tui.signs import STEP

if TYPE_CHECKING:
    from rich.text import Text

KEYS = "  [ ]"
"""The keys that go to the next tab, after the titles if there is room."""
BAR = 8
"""The width of a slider in cells."""


class TabLine(Painter, Static):
    """The titles of the tabs; a click brings one to the front."""

    def __init__(self, session: Session, *, id: str) -> None:
        super().__init__(id=id, markup=False)
        self.session = session
        self._ends: list[tuple[int, str]] = []

    def line(self) -> Text:
        """The displayed line."""
        from rich.text import Text

        line = Text(no_wrap=True)
        self._ends = []
        for tab in self.session.state.tabs:
            if tab.enabled:
                line.append(f" {tab.title} ", "reverse bold" if tab.id == self.session.state.tab else "")
                self._ends.append((line.cell_len, tab.id))
        if line.cell_len + len(KEYS) <= self.size.width:
            line.append(KEYS, "dim")
        return line

    def on_click(self, event: events.Click) -> None:
        for end, tab in self._ends:
            if event.x < end:
                self.session.set_tab(tab)
                return


class Controls(Painter, Static):
    """Sliders and channels: one line each, as far as they fit. A click on a slider moves it, the wheel steps it; a
    click on a channel shows or hides it."""

    def __init__(self, session: Session, *, id: str) -> None:
        super().__init__(id=id, markup=False)
        self.session = session
        self._sliders: list[tuple[int, int, int, str, int]] = []
        """(first column, first column of the bar, end, name of the axis, length of the axis) of each slider."""
        self._channels: list[tuple[int, int]] = []

    def line(self) -> Text:
        """The displayed line."""
        from rich.text import Text

        state = self.session.slice.state
        line = Text(no_wrap=True)
        self._sliders, self._channels = [], []
        for axis in state.axes:
            if axis.role == "slider":
                start = line.cell_len
                line.append(f" {axis.title} ", "bold reverse" if axis.name == state.current_axis else "")
                bar = line.cell_len
                at = min(BAR - 1, axis.index * BAR // max(1, axis.length))
                line.append("─" * at, "dim")
                line.append("●")
                line.append("─" * (BAR - 1 - at), "dim")
                line.append(f" {axis.text}  {axis.position}  ")
                self._sliders.append((start, bar, line.cell_len, axis.name, axis.length))
        if state.projection.text:
            line.append(f" {state.projection.text}  ", "bold")
        if line:
            line.append("\n")
        before = line.cell_len
        for number, channel in enumerate(state.channels, 1):
            line.append(f"{number}", "dim")
            r, g, b = (c // STEP * STEP for c in channel.color)
            line.append("●" if channel.visible else "○", f"rgb({r},{g},{b})")
            line.append(f"{channel.label} ", "" if channel.visible else "dim")
            line.append(f"{channel.text}  ", "dim")
            self._channels.append((line.cell_len - before, number - 1))
        return line

    def _slider(self, x: int, y: int) -> tuple[int, int, int, str, int] | None:
        return next((found for found in self._sliders if y == 0 and found[0] <= x < found[2]), None)

    def on_click(self, event: events.Click) -> None:
        x, y = event.x - self.styles.padding.left, event.y
        found, picture = self._slider(x, y), self.session.slice
        if found is not None:
            _, bar, _, axis, length = found
            picture.choose_axis(axis)
            if bar <= x < bar + BAR:
                picture.set_index(axis, (x - bar) * (length - 1) // (BAR - 1))
        elif y >= bool(self._sliders):
            for end, channel in self._channels:
                if x < end:
                    picture.set_visible(channel, not picture.state.channels[channel].visible)
                    return

    def _step(self, event: events.MouseEvent, by: int) -> None:
        found = self._slider(event.x - self.styles.padding.left, event.y)
        if found is not None:
            self.session.slice.choose_axis(found[3])
            self.session.slice.step(by)
            event.stop()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._step(event, -1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._step(event, 1)
