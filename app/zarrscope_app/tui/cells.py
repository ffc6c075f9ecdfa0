"""A line of a picture as Textual paints it (see characters.py).

A picture on a large terminal has ten thousand different cells. A style object for each of them would take a hundred
milliseconds per screen; the escape sequences alone take five. So a line consists of numbers (a row of a Grid), is
written as one text, and is turned into segments only when needed: for a screenshot, or a sheet over the picture.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from rich.color import Color
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.color import Color as TextualColor
from textual.filter import LineFilter
from textual.strip import Strip

from zarrscope_app.tui.characters import runs, text_of
from zarrscope_app.tui.control_filter import Inert
from zarrscope_app.tui.terminal import Colors


@lru_cache(maxsize=4096)
def _style(upper: int, lower: int) -> Style:
    return Style(color=_color(upper), bgcolor=_color(lower))


@lru_cache(maxsize=4096)
def _color(color: int) -> Color:
    return Color.from_rgb(color >> 16, color >> 8 & 255, color & 255)


class Cells(Strip):
    """One line of a picture."""

    __slots__ = ("_colors", "_line", "_made", "_text")

    def __init__(self, line: npt.NDArray[np.uint64], colors: Colors = "truecolor") -> None:
        """`line`: one row of a Grid."""
        self._line, self._colors = line, colors
        self._made: list[Segment] | None = None
        self._text: str | None = None
        super().__init__((), len(line))

    def apply_filter(self, filter: LineFilter, background: TextualColor) -> Strip:
        """Does nothing, because the characters of a picture contain no text that could control the terminal."""
        return self if isinstance(filter, Inert) else super().apply_filter(filter, background)

    def render(self, console: Console) -> str:
        if self._text is None:
            self._text = text_of(self._line, self._colors)
        return self._text

    @property
    def _segments(self) -> list[Segment]:
        if self._made is None:
            if self._colors == "mono":
                self._made = [Segment(text_of(self._line, "mono"))]
            else:
                found = runs(self._line)
                self._made = [Segment(t, _style(back if front < 0 else front, back)) for t, front, back in found]
        return self._made

    @_segments.setter
    def _segments(self, segments: list[Segment]) -> None:
        """The segments of the line; an empty list, which the base class assigns, is ignored."""
