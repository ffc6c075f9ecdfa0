"""A line plot as text: the lowest and highest value of each column, in braille dots, or in ASCII."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from zarrscope_app.presenters import strings

_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
GUTTER = 11
"""The least width in terminal columns of the scale at the left."""

LineValues = npt.NDArray[np.float64]


def plotted(low: LineValues, high: LineValues, lines: int, columns: int, signs: str = "braille") -> list[str]:
    """The plot as `lines` lines of text, with the range of values at the left. NaN leaves a gap."""
    if not np.isfinite(high).any():
        return []
    bottom, top = float(np.nanmin(low)), float(np.nanmax(high))
    labels = {0: strings.short(top), lines - 1: strings.short(bottom)}
    gutter = max(GUTTER, *(len(label) + 2 for label in labels.values()))  # a number without its exponent is another one
    wide = columns - gutter
    if lines < 2 or wide < 4:
        return []
    down, across = (4, 2) if signs != "ascii" else (1, 1)
    canvas = _canvas(low, high, (bottom, top), lines * down, wide * across)
    if signs == "ascii":
        rows = ["".join("*" if on else " " for on in row) for row in canvas]
    else:
        bits = (canvas.reshape(lines, 4, wide, 2) * _DOTS[None, :, None, :]).sum(axis=(1, 3))
        rows = ["".join(chr(0x2800 + bit) if bit else " " for bit in row) for row in bits.tolist()]
    edge = "|" if signs == "ascii" else "│"
    return [f"{labels.get(y, ''):>{gutter - 2}} {edge}{row}" for y, row in enumerate(rows)]


def _canvas(
    low: LineValues, high: LineValues, limits: tuple[float, float], height: int, width: int
) -> npt.NDArray[np.bool_]:
    """A mask (height, width): set from the lowest to the highest value of each column, and connected to the column
    before."""
    bottom, top = limits
    starts = np.arange(width) * len(low) // width
    ends = np.maximum((np.arange(width) + 1) * len(low) // width, starts + 1)
    canvas = np.zeros((height, width), bool)
    before: tuple[int, int] | None = None
    for x, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        least, most = low[start:end], high[start:end]
        if not np.isfinite(most).any():
            before = None
            continue
        upper, lower = (
            round((top - float(value)) / (top - bottom) * (height - 1)) if top > bottom else height // 2
            for value in (np.nanmax(most), np.nanmin(least))
        )
        first, last = upper, lower
        if before is not None:  # no gap between neighbours
            first, last = min(upper, before[1]), max(lower, before[0])
        canvas[max(0, first) : last + 1, x] = True
        before = (upper, lower)
    return canvas
