"""Pictures that a terminal displays itself: the protocols of kitty and iTerm2, and sixel of the VT340.

Each function returns one text that draws a picture at the cursor. See the kitty graphics protocol, iTerm2's inline
images, and the VT330/VT340 manual on sixels.
"""

from __future__ import annotations

import base64
import heapq
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from zarrscope_app.tui.characters import Rgb
from zarrscope_app.tui.terminal import Terminal

_CHUNK = 4096
"""The characters of base64 that the kitty protocol allows in one sequence."""
MOST_COLORS = 256
"""The most colours of a picture of sixels; terminals have as many or more."""
MOST_POINTS = 1 << 15
"""The most colours of a picture from which its palette is computed without averaging some of them first."""


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
    averages of similar ones. If the picture has more than MOST_POINTS colours, those with the same five highest bits
    are averaged first."""
    exact = (picture.astype(np.int32) * (1 << 16, 1 << 8, 1)).sum(axis=2)
    stated, found, weights = np.unique(exact, return_inverse=True, return_counts=True)
    numbers = found.reshape(exact.shape)
    points = np.stack([stated >> shift & 255 for shift in (16, 8, 0)], axis=1)
    if len(stated) <= MOST_COLORS:
        return points.astype(np.uint8), numbers.astype(np.uint8)
    means = points.astype(np.float64)
    if len(stated) > MOST_POINTS:
        bins, places = np.unique((points >> 3) @ (1 << 10, 1 << 5, 1), return_inverse=True)
        sums = [np.bincount(places, weights * part, len(bins)) for part in points.T]
        weights = np.bincount(places, weights, len(bins))
        means = np.stack(sums, axis=1) / weights[:, None]
        numbers = places[numbers]
    sets = _halved(means, weights)
    table = np.zeros(len(means), np.uint8)
    for number, members in enumerate(sets):
        table[members] = number
    colors = [np.average(means[members], axis=0, weights=weights[members]) for members in sets]
    return np.rint(colors).astype(np.uint8), table[numbers]


def _halved(points: npt.NDArray[np.float64], weights: npt.NDArray[Any]) -> list[npt.NDArray[np.intp]]:
    """At most MOST_COLORS sets of similar points, by median cut (Heckbert 1982): the set with the largest extent,
    weighted by its pixels, is halved, until each set is one point."""
    heap: list[tuple[float, int, npt.NDArray[np.intp]]] = [(-1.0, 0, np.arange(len(points)))]
    made = 0
    while len(heap) < MOST_COLORS and heap[0][0] < 0:
        _, _, members = heapq.heappop(heap)
        widest = int(np.ptp(points[members], axis=0).argmax())
        members = members[points[members, widest].argsort()]
        below = weights[members].cumsum()
        at = min(max(1, int(np.searchsorted(below, below[-1] / 2))), len(members) - 1)
        for half in (members[:at], members[at:]):
            made += 1
            extent = float(np.ptp(points[half], axis=0).max())
            # The square root keeps colours of few pixels, such as small bright objects, apart from each other.
            heapq.heappush(heap, (-extent * float(weights[half].sum()) ** 0.5, made, half))
    return [members for _, _, members in heap]


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
