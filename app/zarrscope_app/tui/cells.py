"""Pixels as half blocks: two to a cell, the upper one as foreground. From RGB to lines ready for a terminal.

A picture of a large terminal has ten thousand cells that are all different. A style object for each of them costs a
hundred milliseconds a screen; the escape sequences alone cost five. So a line is made of colours, written as one text,
and turned into segments only where somebody wants those: a screenshot, or a sheet over the picture.

Colours by number are those of ECMA-48 and ITU-T T.416 as terminals write them: 38;2;r;g;b and 38;5;n.
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

from zarrscope_app.tui.inert import Inert

STEP = 4
"""Colours are rounded to this much: the eye does not see it in a cell, and equal neighbours need no sequence."""
_BAYER = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]]) / 16
_FLAT = 1.5
"""Darker than so many of the 24 greys is background: rounded, for dots in it would look like data."""

Pairs = npt.NDArray[np.uint64]
"""(lines, columns): upper color << 24 | lower color, each 0xRRGGBB."""


def pairs(rgb: npt.NDArray[np.uint8], grey: bool = False) -> Pairs:
    """Turns (2h, w, 3) pixels into (h, w) cells of two pixels each."""
    picture = _greys(rgb) if grey else (np.minimum(rgb, 255 - STEP) + STEP // 2) // STEP * STEP
    wide = picture.astype(np.uint64)
    packed = (wide[..., 0] << np.uint64(16)) | (wide[..., 1] << np.uint64(8)) | wide[..., 2]
    return (packed[0::2] << np.uint64(24)) | packed[1::2]


def _greys(rgb: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Ordered dither of the brightness into 0, 18, 28 … 238: the greys of the 256-colour palette."""
    light = rgb.max(axis=2).astype(np.float32) / 255 * 23
    h, w = light.shape
    threshold = np.tile(_BAYER, (h // 4 + 1, w // 4 + 1))[:h, :w]
    threshold = np.where((light < _FLAT) | (rgb == GROUND).all(axis=2), 0.5, threshold)
    level = np.clip(np.floor(light + threshold), 0, 23).astype(np.uint8)
    grey = np.where(level == 0, 0, 8 + level * 10).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=2)


GROUND = 31
"""What `SlicePresenter.picture` holds where there is no image."""


@lru_cache(maxsize=65536)
def _rgb(color: int) -> str:
    return f"2;{color >> 16};{color >> 8 & 255};{color & 255}"


@lru_cache(maxsize=32)
def _palette(color: int) -> str:
    level = color & 255
    return f"5;{16 if level < 8 else 232 + (level - 8) // 10}"


@lru_cache(maxsize=4096)
def _style(upper: int, lower: int) -> Style:
    return Style(color=_color(upper), bgcolor=_color(lower))


@lru_cache(maxsize=4096)
def _color(color: int) -> Color:
    return Color.from_rgb(color >> 16, color >> 8 & 255, color & 255)


class Cells(Strip):
    """One line of half blocks."""

    __slots__ = ("_colors", "_made", "_text")

    def __init__(self, colors: npt.NDArray[np.uint64]) -> None:
        """`colors`: one row of Pairs."""
        self._colors = colors
        self._made: list[Segment] | None = None
        self._text: tuple[str | None, str] | None = None
        super().__init__((), len(colors))

    def _runs(self) -> list[tuple[int, int]]:
        """(pair, how many cells)."""
        row = self._colors
        starts = np.concatenate(([0], np.flatnonzero(row[1:] != row[:-1]) + 1))
        lengths = np.diff(starts, append=len(row))
        return list(zip(row[starts].tolist(), lengths.tolist(), strict=True))

    def apply_filter(self, filter: LineFilter, background: TextualColor) -> Strip:
        """Half blocks hold no text to be made inert."""
        return self if isinstance(filter, Inert) else super().apply_filter(filter, background)

    def render(self, console: Console) -> str:
        system = console.color_system
        if system not in ("truecolor", "windows", "256color"):
            return super().render(console)
        if self._text is None or self._text[0] != system:
            write = _palette if system == "256color" else _rgb
            out: list[str] = []
            front = back = -1
            for pair, length in self._runs():
                upper, lower = pair >> 24, pair & 0xFFFFFF
                if upper == lower:
                    out.append(" " * length if back == lower else f"\x1b[48;{write(lower)}m{' ' * length}")
                    back = lower
                    continue
                if front == upper:
                    sequence = "" if back == lower else f"\x1b[48;{write(lower)}m"
                elif back == lower:
                    sequence = f"\x1b[38;{write(upper)}m"
                else:
                    sequence = f"\x1b[38;{write(upper)};48;{write(lower)}m"
                out.append(sequence + "▀" * length)
                front, back = upper, lower
            out.append("\x1b[0m")
            self._text = (system, "".join(out))
        return self._text[1]

    @property
    def _segments(self) -> list[Segment]:
        if self._made is None:
            self._made = [Segment("▀" * n, _style(pair >> 24, pair & 0xFFFFFF)) for pair, n in self._runs()]
        return self._made

    @_segments.setter
    def _segments(self, segments: list[Segment]) -> None:
        """The base class sets an empty list; a line has its colours."""
