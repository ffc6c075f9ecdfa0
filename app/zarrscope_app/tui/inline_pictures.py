"""Pictures that a terminal displays itself: the protocols of kitty and iTerm2, and sixel of the VT340.

Each function returns one text that draws a picture at the cursor. See the kitty graphics protocol, iTerm2's inline
images, and the VT330/VT340 manual on sixels.
"""

from __future__ import annotations

import base64
import heapq
import zlib

import numpy as np
import numpy.typing as npt

from zarrscope_app.tui.characters import Rgb
from zarrscope_app.tui.terminal import Terminal

_CHUNK = 4096
"""The characters of base64 that the kitty protocol allows in one sequence."""
MOST_COLORS = 256
"""The most colours of a picture of sixels; terminals have as many or more."""


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
    """The text that draws a picture as sixels, in at most MOST_COLORS colours; a pixel of it is a pixel of the
    screen."""
    colors, numbers = palette(picture)
    height, width = numbers.shape
    out = [f'\x1bP0;1;0q"1;1;{width};{height}']
    for i, color in enumerate(colors.tolist()):
        r, g, b = (round(part / 2.55) for part in color)
        out.append(f"#{i};2;{r};{g};{b}")
    across = np.arange(width)
    for top in range(0, height, 6):
        found, places = np.unique(numbers[top : top + 6], return_inverse=True)
        masks = np.zeros((len(found), width), np.uint8)
        for bit, places_of_row in enumerate(places.reshape(-1, width)):
            masks[places_of_row, across] |= 1 << bit
        out.append("$".join(map(_band, masks, found.tolist())) + "-")
    return "".join(out) + "\x1b\\"


def _band(masks: npt.NDArray[np.uint8], number: int) -> str:
    """The pixels of one colour in a band of six pixel rows, as sixel text with run-length encoding."""
    starts = np.concatenate(([0], np.flatnonzero(masks[1:] != masks[:-1]) + 1))
    lengths = np.diff(starts, append=len(masks))
    out = [f"#{number}"]
    for mask, length in zip(masks[starts].tolist(), lengths.tolist(), strict=True):
        sign = chr(63 + mask)
        out.append(f"!{length}{sign}" if length > 3 else sign * length)
    if not masks[-1]:
        del out[-1]  # nothing is drawn at the right end
    return "".join(out)


def palette(picture: Rgb) -> tuple[Rgb, npt.NDArray[np.uint8]]:
    """(colours, the number of the colour of each pixel): those of the picture, if they are at most MOST_COLORS, else
    averages of similar ones. Similar colours are found by median cut (Heckbert 1982): the set with the largest extent,
    weighted by its pixels, is halved."""
    exact = (picture.astype(np.int32) * (1 << 16, 1 << 8, 1)).sum(axis=2)
    stated, numbers = np.unique(exact, return_inverse=True)
    if len(stated) <= MOST_COLORS:
        colors = np.stack([stated >> shift & 255 for shift in (16, 8, 0)], axis=1).astype(np.uint8)
        return colors, numbers.reshape(exact.shape).astype(np.uint8)
    coarse = ((picture >> 3).astype(np.int32) * (1 << 10, 1 << 5, 1)).sum(axis=2)
    counts = np.bincount(coarse.ravel(), minlength=1 << 15)
    used = np.flatnonzero(counts)
    weights = counts[used]
    sums = [np.bincount(coarse.ravel(), picture[..., i].ravel(), 1 << 15)[used] for i in range(3)]
    means = np.stack(sums, axis=1) / weights[:, None]
    heap: list[tuple[float, int, npt.NDArray[np.intp]]] = [(0.0, 0, np.arange(len(used)))]
    made = 0
    while len(heap) < MOST_COLORS:
        _, _, members = heapq.heappop(heap)
        widest = int(np.ptp(means[members], axis=0).argmax())
        members = members[means[members, widest].argsort()]
        below = weights[members].cumsum()
        at = min(max(1, int(np.searchsorted(below, below[-1] / 2))), len(members) - 1)
        for half in (members[:at], members[at:]):
            made += 1
            extent = float(np.ptp(means[half], axis=0).max())
            # The square root keeps colours of few pixels, such as small bright objects, apart from each other.
            heapq.heappush(heap, (-extent * float(weights[half].sum()) ** 0.5, made, half))
    table = np.zeros(1 << 15, np.uint8)
    colors = np.zeros((MOST_COLORS, 3), np.uint8)
    for number, (_, _, members) in enumerate(heap):
        table[used[members]] = number
        colors[number] = np.rint(np.average(means[members], axis=0, weights=weights[members]))
    return colors, table[coarse]


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
