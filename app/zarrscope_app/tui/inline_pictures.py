"""Pictures that a terminal displays itself: the protocols of kitty and iTerm2, and sixel of the VT340.

Each function returns one text that draws a picture at the cursor. See the kitty graphics protocol, iTerm2's inline
images, and the VT330/VT340 manual on sixels.
"""

from __future__ import annotations

import base64
import zlib

import numpy as np
import numpy.typing as npt

from zarrscope_app.tui.characters import Rgb, dithered_256
from zarrscope_app.tui.terminal import Terminal

_CHUNK = 4096
"""The characters of base64 that the kitty protocol allows in one sequence."""


def kitty(picture: Rgb, lines: int, columns: int, number: int = 7310) -> str:
    """The text that draws a picture over `lines` and `columns` of cells. It replaces the picture with the same id
    `number`; the cursor stays."""
    height, width = picture.shape[:2]
    packed = base64.b64encode(zlib.compress(np.ascontiguousarray(picture).tobytes(), 6)).decode()
    parts = [packed[i : i + _CHUNK] for i in range(0, len(packed), _CHUNK)] or [""]
    head = f"a=T,f=24,o=z,s={width},v={height},c={columns},r={lines},i={number},p=1,q=2,C=1,"
    out = []
    for i, part in enumerate(parts):
        out.append(f"\x1b_G{head if i == 0 else ''}m={int(i < len(parts) - 1)};{part}\x1b\\")
    return "".join(out)


def kitty_removed(number: int = 7310) -> str:
    """The text that removes a picture from the screen and from the terminal's memory."""
    return f"\x1b_Ga=d,d=I,i={number},q=2\x1b\\"


def iterm2(picture: Rgb, lines: int, columns: int) -> str:
    """The text that draws a picture over `lines` and `columns` of cells."""
    from zarrscope.view.png import png

    told = png(picture)
    size = f"size={len(told)};width={columns};height={lines};preserveAspectRatio=0"
    return f"\x1b]1337;File=inline=1;{size}:{base64.b64encode(told).decode()}\x07"


def sixel(picture: Rgb) -> str:
    """The text that draws a picture as sixels, dithered into 256 colours; a pixel of it is a pixel of the screen."""
    rgb = dithered_256(picture)
    height, width = rgb.shape[:2]
    packed = (rgb[..., 0].astype(np.int64) << 16) | (rgb[..., 1].astype(np.int64) << 8) | rgb[..., 2]
    colors, numbers = np.unique(packed, return_inverse=True)
    numbers = numbers.reshape(height, width)
    out = [f'\x1bP0;1;0q"1;1;{width};{height}']
    for i, color in enumerate(colors.tolist()):
        r, g, b = (round((color >> shift & 255) / 2.55) for shift in (16, 8, 0))
        out.append(f"#{i};2;{r};{g};{b}")
    bits = (1 << np.arange(6))[:, None]
    for top in range(0, height, 6):
        band = numbers[top : top + 6]
        told = [_band(((band == number) * bits[: len(band)]).sum(axis=0), number) for number in np.unique(band)]
        out.append("$".join(told) + "-")
    return "".join(out) + "\x1b\\"


def _band(masks: npt.NDArray[np.int64], number: int) -> str:
    """The pixels of one colour in a band of six pixel rows, as sixel text with run-length encoding."""
    starts = np.concatenate(([0], np.flatnonzero(masks[1:] != masks[:-1]) + 1))
    lengths = np.diff(starts, append=len(masks))
    out = [f"#{number}"]
    for mask, length in zip(masks[starts].tolist(), lengths.tolist(), strict=True):
        sign = chr(63 + mask)
        out.append(f"!{length}{sign}" if length > 3 else sign * length)
    return "".join(out)


def through_tmux(told: str) -> str:
    """A sequence wrapped so that tmux passes it on to the terminal around it."""
    return "".join(f"\x1bPtmux;{part.replace(chr(27), chr(27) * 2)}\x1b\\" for part in _sequences(told))


def _sequences(told: str) -> list[str]:
    return [f"{part}\x1b\\" for part in told.split("\x1b\\") if part] if "\x1b_G" in told else [told]


def drawn(picture: Rgb, cells: tuple[int, int], terminal: Terminal) -> str:
    """The text that draws the picture over a number of lines and columns at the cursor, for a terminal that can display
    it. For sixel the picture must have the size of these cells in pixels."""
    if terminal.drawing == "sixel":
        told = sixel(picture)
    elif terminal.drawing == "kitty":
        told = kitty(picture, *cells)
    else:
        told = iterm2(picture, *cells)
    return through_tmux(told) if terminal.passthrough else told
