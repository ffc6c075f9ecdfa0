"""The lines that can be clicked: tabs, and sliders beneath the picture."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from textual import events
from textual.widgets import Static

from zarrscope_app.presenters import Session, strings
from zarrscope_app.presenters import strings_terminal as words
from zarrscope_app.presenters.commands import TAB_KEYS
from zarrscope_app.tui.characters import STEP
from zarrscope_app.tui.entry import Painter

if TYPE_CHECKING:
    from rich.text import Text

    from zarrscope_app.presenters.image.view_models import ChannelView

BAR = 8
"""The width of a slider in cells."""
LINES = 6
"""The most lines of sliders and channels; app.py gives the widget no more."""


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
        shown = [tab for tab in self.session.state.tabs if tab.enabled]
        # Those of a plate are cut beside a tree in 80 columns if each has blanks of its own at both sides.
        wide = not self.size.width or sum(len(tab.title) + 2 for tab in shown) <= self.size.width
        for tab in shown:
            line.append("" if wide else " ")
            title = f" {tab.title} " if wide else tab.title
            line.append(title, "reverse bold" if tab.id == self.session.state.tab else "")
            self._ends.append((line.cell_len, tab.id))
        room = self.size.width - line.cell_len
        line.append(next((f"  {keys}" for keys in TAB_KEYS if len(keys) + 2 <= room), ""), "dim")
        return line

    def on_click(self, event: events.Click) -> None:
        for end, tab in self._ends:
            if event.x < end:
                self.session.set_tab(tab)
                return


class Controls(Painter, Static):
    """Sliders, and beneath them channels: each in as many lines as they need, none broken at the end of a line. A click
    on a slider moves it, the wheel steps it; a click on a channel shows or hides it."""

    def __init__(self, session: Session, *, id: str) -> None:
        super().__init__(id=id, markup=False)
        self.session = session
        self._width = 0
        """The width for which the lines were made; 0 before the widget has its place."""
        self._sliders: list[tuple[int, int, int, int, str, int]] = []
        """(line, first column, first column of the bar, end, name of the axis, length of the axis) of each slider."""
        self._channels: list[tuple[int, int, int, int]] = []
        """(line, first column, end, number) of each channel, counted from 0."""

    def line(self) -> Text:
        """The displayed lines."""
        from rich.text import Text

        state = self.session.slice.state
        self._width = self.size.width
        self._sliders, self._channels = [], []
        text, row, column = Text(no_wrap=True), 0, 0

        def place(item: Text) -> int:
            """Appends an item, in the next line if this one has no room for it. Returns its first column."""
            nonlocal row, column
            blanks = len(item.plain) - len(item.plain.rstrip())
            if column and self._width and column + item.cell_len - blanks > self._width:
                text.append("\n")
                row, column = row + 1, 0
            text.append_text(item)
            column += item.cell_len
            return column - item.cell_len

        for axis in state.axes:
            if axis.role == "slider":
                item = Text()
                item.append(f" {axis.title} ", "bold reverse" if axis.name == state.current_axis else "")
                bar = item.cell_len
                at = min(BAR - 1, axis.index * BAR // max(1, axis.length))
                item.append("─" * at, "dim")
                item.append("●")
                item.append("─" * (BAR - 1 - at), "dim")
                item.append(f" {strings.joined(axis.text, axis.channel)}  {axis.position}  ")
                start = place(item)
                self._sliders.append((row, start, start + bar, start + item.cell_len, axis.name, axis.length))
        if state.projection.text:
            place(Text(f" {state.projection.text}  ", "bold"))
        if text:
            text.append("\n")
            row, column = row + 1, 0
        items = {number: self._channel(number, channel) for number, channel in enumerate(state.channels)}
        left_out = self._left_out([item.cell_len for item in items.values()], LINES - row)
        for number, item in items.items():
            if number not in left_out:
                start = place(item)
                self._channels.append((row, start, start + item.cell_len, number))
        if left_out:
            place(Text(words.more_channels(len(left_out)), "dim"))
        return text

    def _channel(self, number: int, channel: ChannelView) -> Text:
        from rich.text import Text

        item = Text()
        item.append(f"{number + 1}", "dim")
        r, g, b = (c // STEP * STEP for c in channel.color)
        # Colours of channels are made for black: yellow on white would hardly be seen.
        ground = "" if self.app.current_theme.dark else " on black"
        item.append("●" if channel.visible else "○", f"rgb({r},{g},{b}){ground}")
        item.append(f"{channel.label} ", "" if channel.visible else "dim")
        item.append(f"{channel.text}  ", "dim")
        return item

    def _left_out(self, widths: list[int], lines: int) -> set[int]:
        """The numbers of the hidden channels, the last ones, for which there is no room."""
        hidden = [number for number, each in enumerate(self.session.slice.state.channels) if not each.visible]
        if not self._width:
            return set()

        def fits(count: int) -> bool:
            return self._lines(widths, set(hidden[len(hidden) - count :])) <= lines

        count = bisect_left(range(len(hidden)), True, key=fits)  # there may be thousands of channels
        return set(hidden[len(hidden) - count :])

    def _lines(self, widths: list[int], left: set[int]) -> int:
        """The number of lines of the channels that are not left out."""
        more = [len(words.more_channels(len(left)))] if left else []
        lines, column = 1, 0
        for wide in [*(wide for number, wide in enumerate(widths) if number not in left), *more]:
            if column and column + wide > self._width:
                lines, column = lines + 1, 0
            column += wide
        return lines

    def on_resize(self, _: events.Resize) -> None:
        if self.size.width != self._width and self._channels:
            self.update(self.line())

    def _slider(self, x: int, y: int) -> tuple[int, str, int] | None:
        """(first column of the bar, name of the axis, length of the axis) of the slider at a place."""
        for row, start, bar, end, axis, length in self._sliders:
            if row == y and start <= x < end:
                return bar, axis, length
        return None

    def on_click(self, event: events.Click) -> None:
        x, y = event.x - self.styles.padding.left, event.y
        found, picture = self._slider(x, y), self.session.slice
        if found is not None:
            bar, axis, length = found
            picture.choose_axis(axis)
            if bar <= x < bar + BAR:
                picture.set_index(axis, (x - bar) * (length - 1) // (BAR - 1))
        for row, start, end, channel in self._channels:
            if row == y and start <= x < end:
                picture.set_visible(channel, not picture.state.channels[channel].visible)

    def _step(self, event: events.MouseEvent, by: int) -> None:
        found = self._slider(event.x - self.styles.padding.left, event.y)
        if found is not None:
            self.session.slice.choose_axis(found[1])
            self.session.slice.step(by)
            event.stop()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._step(event, -1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._step(event, 1)
