"""Turns RGB pixels into lines of characters for a terminal, in the colours and characters that it supports.

Half blocks show two pixels in a cell, the upper one as foreground; braille shows eight dots of one colour; ASCII shows
one character as light as its pixels. Without true colour the pixels are dithered: into the cube of 6 × 6 × 6 colours
and 24 greys, into 16 colours, or into light and dark.

Numbered colours are those of ECMA-48 and ITU-T T.416 in the form that terminals use: 38;2;r;g;b and 38;5;n.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from textwrap import wrap

import numpy as np
import numpy.typing as npt
from rich.cells import cell_len

from zarrscope.model.frozen import frozen
from zarrscope_app.tui.terminal import Colors, Terminal

STEP = 4
"""Colours are rounded to multiples of this: the difference is invisible in a cell, and equal neighbours need no
sequence."""
TOLERANCE = 20
"""The `tolerance` of a CellRendering over a slow link, for planes that pass quickly."""
REST_TOLERANCE = 11
"""The tolerance of a single plane over a slow link, and of the last one after planes have passed: 4 %, which is hard to
see in a cell. A smaller one would nearly double the bytes."""
GROUND = 31
"""The grey level (0 to 255) that `SlicePresenter.picture` gives to pixels outside the image."""
_BAYER = (np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]]) + 0.5) / 16
_STRENGTH = 0.6
"""The strength of the dither into 256 colours. The full strength would not distinguish colours better, and looks
rough."""
_DARK = 24
"""Pixels darker than this (of 255) are rounded, not dithered, because dots in the background would look like data."""
_GREYISH = 10
"""If the channels of a pixel differ by less than this, it is grey: the palette of 256 colours has more greys."""
_RAMP = " .:-=+*#%@"
"""ASCII characters from dark to light."""
_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
"""The bits of the dots of a braille cell (Unicode, block U+2800)."""
_UPPER, _BLANK, _BRAILLE = 0x2580, 0x20, 0x2800
_LEVELS = np.array([0, 95, 135, 175, 215, 255])
"""The levels of each channel in the colour cube of the 256 colours."""
OFTEN_CHANGED = range(16, 22)
"""Of the 256 colours, those that some colour schemes of terminals change, though they are not among the first 16."""
_SIXTEEN = (
    (0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229),
    (127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255), (255, 0, 255), (0, 255, 255),
    (255, 255, 255),
)  # fmt: skip
"""The sixteen colours as xterm displays them; other terminals are similar."""

Rgb = npt.NDArray[np.uint8]
Grid = npt.NDArray[np.uint64]
"""An array (lines, columns) of cells. A cell is code point << 48 | foreground << 24 | background; colours are 0xRRGGBB.
"""


@frozen
class CellRendering:
    """The way in which pixels become cells; each cell has `rows` × `columns` pixels."""

    colors: Colors = "truecolor"
    signs: str = "blocks"
    tolerance: int = 0
    """Of 255: a colour that differs by at most this much from the displayed one, or from its neighbour, is replaced by
    it."""
    slow: bool = False
    """Whether an incomplete picture waits for its last chunks, because the link is slow."""

    @classmethod
    def of(cls, terminal: Terminal) -> CellRendering:
        """The rendering for a terminal; one that can display pictures itself gets half blocks, because a pane consists
        of cells."""
        signs = terminal.drawing if terminal.drawing in ("braille", "ascii") else "blocks"
        tolerance = TOLERANCE if terminal.slow and terminal.colors == "truecolor" else 0
        return cls(terminal.colors, signs, tolerance, terminal.slow)

    @property
    def rows(self) -> int:
        """The pixels of a cell from top to bottom: 4 in braille, else 2."""
        return 4 if self.signs == "braille" else 2

    @property
    def columns(self) -> int:
        """The pixels of a cell from left to right: 2 in braille, else 1."""
        return 2 if self.signs == "braille" else 1


def steadied(rgb: Rgb, before: Rgb | None, tolerance: int) -> Rgb:
    """The picture with fewer and shorter changes of colour. A cell close to the displayed one keeps its colours. In
    other cells a pixel gets the colour of its left neighbour, or else of the other pixel of its cell, or else the
    colour with the shortest sequence, whichever is close. Pixels close to black become black, and those outside the
    image keep their grey: noise of the background, and the edge of the image, would be drawn out into streaks.

    No pixel changes by more than `tolerance`. A step through a volume then takes half of the bytes.
    """
    wanted = rgb.astype(np.int16)
    found = _shortest(wanted, tolerance)
    black = (wanted <= tolerance).all(axis=2)
    found[black] = 0
    outside = (wanted == GROUND).all(axis=2)
    kept = np.zeros(rgb.shape[:2], bool)
    if before is not None and before.shape == rgb.shape:
        kept = ~outside & (np.abs(wanted - before) <= tolerance).all(axis=2)
        found[kept] = before[kept]
    kept = np.repeat(kept[0::2] & kept[1::2], 2, axis=0)  # a cell is written as a whole
    free = ~kept & ~black & ~outside
    for x in range(rgb.shape[1]):
        here, now = wanted[:, x], found[:, x]
        near = np.zeros(len(rgb), bool)
        if x:
            near = free[:, x] & (np.abs(here - found[:, x - 1]) <= tolerance).all(axis=1)
            now[near] = found[near, x - 1]
        for one, other in ((0, 1), (1, 0)):
            like = free[one::2, x] & ~near[one::2] & (near[other::2] | bool(one))
            like &= (np.abs(here[one::2] - now[other::2]) <= tolerance).all(axis=1)
            now[one::2][like] = now[other::2][like]
    steady: Rgb = found.astype(np.uint8)
    return steady


def _shortest(wanted: npt.NDArray[np.int16], tolerance: int) -> npt.NDArray[np.int16]:
    """For each colour, one that differs by at most `tolerance` and has a shorter sequence: of the 256 colours, or of
    numbers with fewer digits."""
    fewer = np.where((wanted >= 100) & (wanted <= 99 + tolerance), 99, wanted)
    fewer = np.where((wanted >= 10) & (wanted <= 9 + tolerance), 9, fewer)
    cube = _LEVELS[np.searchsorted((_LEVELS[1:] + _LEVELS[:-1]) / 2, wanted)]
    level = np.clip(np.rint((wanted.mean(axis=2, keepdims=True) - 8) / 10), 0, 23).astype(np.int64) * 10 + 8
    off_cube, off_grey = (np.abs(wanted - each).max(axis=2, keepdims=True) for each in (cube, level))
    numbered = np.where(off_grey < off_cube, level, cube)
    own = (numbered[..., :2] == 0).all(axis=2, keepdims=True)  # see OFTEN_CHANGED
    found: npt.NDArray[np.int16] = np.where(~own & (np.minimum(off_cube, off_grey) <= tolerance), numbered, fewer)
    return found.astype(np.int16)


# ---------------------------------------------------------------------- colours
def _thresholds(shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    h, w = shape[:2]
    return np.tile(_BAYER, (h // 4 + 1, w // 4 + 1))[:h, :w]


def _flat(rgb: Rgb) -> npt.NDArray[np.bool_]:
    """The pixels that are not dithered: the background, and dark ones."""
    found: npt.NDArray[np.bool_] = (rgb.max(axis=2) < _DARK) | (rgb == GROUND).all(axis=2)
    return found


def dithered_256(rgb: Rgb) -> Rgb:
    """Ordered dither into the cube of 6 × 6 × 6 colours, and for grey pixels into 24 greys."""
    threshold, flat = _thresholds(rgb.shape), _flat(rgb)
    threshold = np.where(flat, 0.5, 0.5 + (threshold - 0.5) * _STRENGTH)[..., None]
    lower = np.clip(np.searchsorted(_LEVELS, rgb, side="right") - 1, 0, 4)
    low, high = _LEVELS[lower], _LEVELS[lower + 1]
    cube = np.where((rgb - low) / (high - low) > threshold, high, low)
    light = rgb.astype(np.float64).mean(axis=2)
    level = np.clip(np.floor((light - 8) / 10 + 1 + threshold[..., 0]), 0, 24).astype(int)
    grey = np.where(level == 0, 0, level * 10 - 2)
    greyish = (rgb.max(axis=2).astype(int) - rgb.min(axis=2) < _GREYISH) & (light < 243)
    found: Rgb = np.where(greyish[..., None], grey[..., None], cube).astype(np.uint8)
    return found


@lru_cache(maxsize=1)
def _nearest_16() -> npt.NDArray[np.uint8]:
    """The nearest of the sixteen colours, as a table (16, 16, 16) indexed by four bits of red, green and blue."""
    at = np.arange(16) * 17
    found = np.stack(np.meshgrid(at, at, at, indexing="ij"), axis=-1).reshape(-1, 1, 3).astype(int)
    palette = np.array(_SIXTEEN)
    numbers: npt.NDArray[np.uint8] = ((found - palette) ** 2).sum(axis=2).argmin(axis=1).astype(np.uint8)
    return numbers.reshape(16, 16, 16)


def dithered_16(rgb: Rgb) -> Rgb:
    """Ordered dither into sixteen colours."""
    threshold = np.where(_flat(rgb), 0.0, _thresholds(rgb.shape) - 0.5)[..., None]
    moved = np.clip(rgb + threshold * 110, 0, 255).astype(int) >> 4
    found: Rgb = np.array(_SIXTEEN, np.uint8)[_nearest_16()[moved[..., 0], moved[..., 1], moved[..., 2]]]
    return found


def dithered_mono(rgb: Rgb) -> npt.NDArray[np.bool_]:
    """Ordered dither into light (True) and dark; the lightness of a pixel is that of its lightest channel."""
    light = rgb.max(axis=2) / 255
    threshold = np.where(_flat(rgb), 1.0, _thresholds(rgb.shape))
    found: npt.NDArray[np.bool_] = light > threshold
    return found


def _rounded(rgb: Rgb) -> Rgb:
    found: Rgb = (np.minimum(rgb, 255 - STEP) + STEP // 2) // STEP * STEP
    return found


def _mono(rgb: Rgb) -> Rgb:
    found: Rgb = np.repeat(dithered_mono(rgb)[..., None].astype(np.uint8) * 255, 3, axis=2)
    return found


_COLORS: dict[str, Callable[[Rgb], Rgb]] = {
    "truecolor": _rounded, "256": dithered_256, "16": dithered_16, "mono": _mono,
}  # fmt: skip


def _packed(rgb: npt.NDArray[np.uint8]) -> Grid:
    wide = rgb.astype(np.uint64)
    return (wide[..., 0] << np.uint64(16)) | (wide[..., 1] << np.uint64(8)) | wide[..., 2]


# ---------------------------------------------------------------------- signs
def cells_of(rgb: Rgb, rendering: CellRendering, *, steady: bool = False) -> Grid:
    """Turns (rows × h, columns × w, 3) pixels into (h, w) cells. `steady`: the pixels are those of `steadied`, whose
    choices rounding would undo."""
    if rendering.signs == "braille":
        return _braille(rgb, rendering)
    if rendering.signs == "ascii":
        return _ascii(rgb, rendering)
    packed = _packed(rgb if steady and rendering.colors == "truecolor" else _COLORS[rendering.colors](rgb))
    return (np.uint64(_UPPER) << np.uint64(48)) | (packed[0::2] << np.uint64(24)) | packed[1::2]


def written_over(cells: Grid, text: str) -> None:
    """Writes a text into the middle of the picture, white on black, with a margin of one cell."""
    rows, columns = cells.shape
    lines = wrap(text, min(columns - 2, 60)) if columns > 12 else []
    top = max(0, (rows - len(lines) - 2) // 2)
    wide = max(map(len, lines), default=-2) + 2
    left = (columns - wide) // 2
    for y, line in enumerate(["", *lines, ""] if lines else []):
        if top + y < rows:
            signs = [ord(sign) if cell_len(sign) == 1 else ord("?") for sign in f" {line}".ljust(wide)]
            cells[top + y, left : left + wide] = [(sign << 48) | (0xFFFFFF << 24) for sign in signs]


def _tinted(rgb: Rgb, rendering: CellRendering) -> Grid:
    """The colour of each cell at full lightness, because the character shows how light it is."""
    if rendering.colors == "mono":
        return np.full(rgb.shape[:2], 0xFFFFFF, np.uint64)
    most = np.maximum(rgb.max(axis=2, keepdims=True).astype(np.float64), 1)
    full = np.where(_flat(rgb)[..., None], 0, rgb / most * 255).astype(np.uint8)
    nearest = (full.astype(int) + 25) // 51 * 51
    if rendering.colors == "256":
        return _packed(_LEVELS[nearest // 51].astype(np.uint8))
    return _packed(dithered_16(full) if rendering.colors == "16" else nearest.astype(np.uint8))


def _braille(rgb: Rgb, rendering: CellRendering) -> Grid:
    on = dithered_mono(rgb)
    h, w = on.shape[0] // 4, on.shape[1] // 2
    dots = (on.reshape(h, 4, w, 2) * _DOTS[None, :, None, :]).sum(axis=(1, 3)).astype(np.uint64)
    sign = np.where(dots == 0, np.uint64(_BLANK), np.uint64(_BRAILLE) + dots)
    tint = _tinted(rgb.reshape(h, 4, w, 2, 3).max(axis=(1, 3)), rendering)
    return (sign << np.uint64(48)) | (np.where(dots == 0, np.uint64(0), tint) << np.uint64(24))


def _ascii(rgb: Rgb, rendering: CellRendering) -> Grid:
    pairs = rgb.reshape(rgb.shape[0] // 2, 2, rgb.shape[1], 3).astype(np.uint16)
    cells = (pairs.sum(axis=1) // 2).astype(np.uint8)
    light = np.where(_flat(cells), 0, cells.max(axis=2) / 255 * (len(_RAMP) - 1))
    signs = np.array([ord(c) for c in _RAMP], np.uint64)[np.round(light).astype(int)]
    tint = np.where(signs == _BLANK, np.uint64(0), _tinted(cells, rendering))
    found: Grid = (signs << np.uint64(48)) | (tint << np.uint64(24))
    return found


# ---------------------------------------------------------------------- sequences
@lru_cache(maxsize=65536)
def _rgb(color: int) -> tuple[str, str]:
    number = _numbers_of_256().get(color)
    told = f"2;{color >> 16};{color >> 8 & 255};{color & 255}" if number is None else f"5;{number}"
    return f"38;{told}", f"48;{told}"


@lru_cache(maxsize=1)
def _numbers_of_256() -> dict[int, int]:
    """0xRRGGBB → the number of this colour among the 256, whose sequence is shorter."""
    levels = _LEVELS.tolist()
    cube = [r << 16 | g << 8 | b for r in levels for g in levels for b in levels]
    grey = [level << 16 | level << 8 | level for level in range(8, 248, 10)]
    return {color: number for number, color in enumerate(cube + grey, 16) if number not in OFTEN_CHANGED}


@lru_cache(maxsize=512)
def _of_256(color: int) -> tuple[str, str]:
    parts = (color >> 16, color >> 8 & 255, color & 255)
    if parts[0] == parts[1] == parts[2] and parts[0] not in _LEVELS:
        number = 232 + (parts[0] - 8) // 10
    else:
        r, g, b = (int(np.searchsorted(_LEVELS, part)) for part in parts)
        number = 16 + 36 * r + 6 * g + b
    return f"38;5;{number}", f"48;5;{number}"


@lru_cache(maxsize=16)
def _of_16(color: int) -> tuple[str, str]:
    number = _SIXTEEN.index((color >> 16, color >> 8 & 255, color & 255))
    return (f"{30 + number}", f"{40 + number}") if number < 8 else (f"{82 + number}", f"{92 + number}")


SEQUENCES: dict[str, Callable[[int], tuple[str, str]]] = {"truecolor": _rgb, "256": _of_256, "16": _of_16}
"""For each number of colours, a function from 0xRRGGBB to the SGR parameters for (foreground, background)."""


def runs(line: npt.NDArray[np.uint64]) -> list[tuple[str, int, int]]:
    """The runs of equal style of one row of a Grid, each as (text, foreground, background). A half block of one colour
    becomes a blank, with the foreground -1."""
    starts = np.concatenate(([0], np.flatnonzero(line[1:] != line[:-1]) + 1))
    lengths = np.diff(starts, append=len(line))
    found = []
    for cell, length in zip(line[starts].tolist(), lengths.tolist(), strict=True):
        sign, front, back = cell >> 48, cell >> 24 & 0xFFFFFF, cell & 0xFFFFFF
        blank = sign == _BLANK or (sign == _UPPER and front == back)
        found.append(((" " if blank else chr(sign)) * length, -1 if blank else front, back))
    return found


def text_of(line: npt.NDArray[np.uint64], colors: Colors) -> str:
    """One row of a Grid, ready for the terminal; afterwards the terminal's default style applies."""
    if colors == "mono":
        return "".join(
            text.replace("▀", _HALVES[front > 0, back > 0]) if front >= 0 else ("█" if back else " ") * len(text)
            for text, front, back in runs(line)
        )
    write = SEQUENCES[colors]
    out: list[str] = []
    front = back = -1
    for text, upper, lower in runs(line):
        codes = []
        if upper >= 0 and front != upper:
            codes.append(write(upper)[0])
            front = upper
        if back != lower:
            codes.append(write(lower)[1])
            back = lower
        out.append(f"\x1b[{';'.join(codes)}m{text}" if codes else text)
    out.append("\x1b[0m")
    return "".join(out)


_HALVES = {(True, True): "█", (True, False): "▀", (False, True): "▄", (False, False): " "}
