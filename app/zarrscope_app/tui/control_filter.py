"""The last filter before a line is written to the terminal: no text can control the terminal.

Presenters clean their texts before layout; this filter catches text that did not pass through them. Textual applies it
to every line of every widget, also of widgets from other packages.
"""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from zarrscope.errors.visible import visible


class Inert(LineFilter):
    """Escapes control characters and other unsafe characters, and removes hyperlinks; a line keeps its width."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if all(s.text.isascii() and s.text.isprintable() and not s.control and not _link(s) for s in segments):
            return segments
        shown = [_inert(segment) for segment in segments if not segment.control]
        width = sum(segment.cell_length for segment in segments)
        if sum(segment.cell_length for segment in shown) == width:
            return shown
        return Segment.adjust_line_length(shown, width)


def _link(segment: Segment) -> bool:
    return segment.style is not None and segment.style.link is not None


def _inert(segment: Segment) -> Segment:
    style = segment.style
    return Segment(visible(segment.text), style.update_link(None) if style is not None and style.link else style)
