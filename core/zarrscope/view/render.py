"""Turns planes of values into RGB pictures, with numpy alone. It keeps only small tables, and any thread may call it.

Each channel is scaled from (low, high) to (0, 1), corrected by gamma, inverted on request and multiplied by its colour;
then the channels are added up, like light. Types of one and two bytes use a table with a colour for each value (kept
for each channel's settings); values of other types are first scaled to 4,096 steps. NaN is not drawn unless it has a
colour; infinities are drawn as the ends of the scale. Complex values are drawn by their magnitude, times by their count
of units.

Guarantees: the result is a new uint8 array (h, w, 3); no input is changed; no value of any numeric type raises or
warns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zarrscope.errors import Unsupported
from zarrscope.model.frozen import frozen
from zarrscope.runtime.memo import memoized

Plane = np.ndarray[Any, Any]
Picture = np.ndarray[Any, np.dtype[np.uint8]]

STEPS = 4096
"""The steps to which values of more than two bytes are scaled: more than a screen shows, so that gamma causes no
visible bands."""

COMPLEX_PARTS: dict[str, Callable[[Plane], Plane]] = {
    "magnitude": np.abs,
    "phase": np.angle,
    "real": np.real,
    "imaginary": np.imag,
}

INTEGERS = "iub"
"""The kinds of data types with whole values."""

NOT_A_NUMBER = (122, 56, 108)
"""The colour of NaN and NaT: no channel, extreme value or missing chunk has it."""


@dataclass(frozen=True, slots=True)
class ChannelDisplay:
    """The display settings of one channel. `lo` and `hi` are values of the data; hi == lo draws a hard
    threshold there."""

    color: tuple[int, int, int] = (255, 255, 255)
    lo: float = 0.0
    hi: float = 1.0
    gamma: float = 1.0
    visible: bool = True
    inverted: bool = False
    ramp: bytes = b""
    """A colour map instead of `color`: colours of three bytes from the lowest to the highest value."""
    part: str = "magnitude"
    """The drawn part of complex values: "magnitude", "phase" (in radians, -π to π), "real", "imaginary"."""


def render(
    planes: Sequence[Plane | None], channels: Sequence[ChannelDisplay], nan: tuple[int, int, int] | None = None
) -> Picture:
    """The visible channels' planes (all of one shape (h, w)) as one picture, uint8 (h, w, 3).

    A plane may be None if its channel is not visible. `nan`: the colour of NaN in any visible channel. Raises
    Unsupported for types that are not numbers; ValueError if no plane gives the size.
    """
    shape = next((plane.shape for plane in planes if plane is not None), None)
    if shape is None:
        raise ValueError("render needs at least one plane")
    visible = sum(plane is not None and display.visible for plane, display in zip(planes, channels, strict=True))
    total: np.ndarray[Any, np.dtype[Any]] | None = None
    missing: Plane | None = None
    for plane, display in zip(planes, channels, strict=True):
        if plane is None or not display.visible:
            continue
        plane = np.ascontiguousarray(as_numbers(plane, display.part))
        if nan is not None and plane.dtype.kind in "fc":
            mask = np.isnan(plane)
            missing = mask if missing is None else missing | mask
        table, indices = _table(plane, display, narrow=visible == 1)
        light = table[indices.astype(np.intp)]  # with other integers, numpy takes three times as long
        if total is None:
            total = light
        else:
            total += light
    if total is None:
        return np.zeros((*shape, 3), np.uint8)
    lanes = total.view(np.uint8 if visible == 1 else np.uint16).reshape(*shape, 4)
    picture: Picture = np.empty((*shape, 3), np.uint8)
    for lane in range(3):  # lane by lane, because numpy copies rows of three bytes one by one
        if visible > 1:
            np.minimum(lanes[..., lane], 255, out=lanes[..., lane])
        np.copyto(picture[..., lane], lanes[..., lane], casting="unsafe")
    if missing is not None:
        picture[missing] = np.array(nan, np.uint8)
    return picture


def as_numbers(plane: Plane, part: str = "magnitude") -> Plane:
    """The plane as numbers that can be compared: bool, int, float.

    Complex values give their `part` (see ChannelDisplay), times their count of units (NaN for no time). Raises
    Unsupported for values that are neither numbers nor times.
    """
    kind = plane.dtype.kind
    if kind == "c":
        with np.errstate(all="ignore"):
            return COMPLEX_PARTS[part](plane)
    if kind in "mM":
        units = plane.view(np.int64).astype(np.float64)
        units[np.isnat(plane)] = np.nan
        return units
    if kind in "buif":
        return plane if plane.dtype.isnative else plane.astype(plane.dtype.newbyteorder("="))
    if kind == "V" and plane.dtype.names is None and plane.dtype.itemsize <= 4 and _is_float(plane.dtype):
        return plane.astype(np.float32)
    raise Unsupported(
        f"Values of type {plane.dtype} cannot be drawn as a picture",
        feature=f"picture of {plane.dtype}",
        advice="Look at the values instead: the tab Values, or zarrscope read.",
    )


def _is_float(dtype: np.dtype[Any]) -> bool:
    """Whether this is a small float of ml_dtypes (bfloat16, float8 …); numpy reports these as void, but can convert
    them."""
    return np.can_cast(dtype, np.float32, "safe")


def _table(plane: Plane, display: ChannelDisplay, narrow: bool) -> tuple[np.ndarray[Any, np.dtype[Any]], Plane]:
    """Returns (table of colours, the plane as indices into this table); `narrow`: with 8 bits for each part of a
    colour."""
    if plane.dtype.itemsize <= 2:
        name = "u1" if plane.dtype.itemsize == 1 else "u2"
        return (_narrow_value_table if narrow else _value_table)(plane.dtype.str, display), plane.view(name)
    scaled: Plane
    with np.errstate(all="ignore"):
        if plane.dtype.itemsize <= 4 and plane.dtype.kind == "f":
            scaled = plane - np.float32(display.lo)
        elif plane.dtype.kind in "iu":
            scaled = _difference(plane, display.lo)
        else:
            scaled = plane.astype(np.float64) - display.lo
        span = display.hi - display.lo
        if span > 0 and math.isfinite(span):
            scaled = scaled * scaled.dtype.type((STEPS - 1) / span)
        else:
            scaled = np.where(scaled >= 0, scaled.dtype.type(STEPS), scaled.dtype.type(-1))
        # fmin and fmax, unlike clip, return the number if the other operand is NaN.
        np.fmin(np.fmax(scaled, 0, out=scaled), STEPS - 1, out=scaled)
        steps = _narrow_step_table if narrow else _step_table
        return steps(display), np.rint(scaled, out=scaled).astype(np.uint16)


def _difference(plane: Plane, low: float) -> Plane:
    """plane - low as float32. It subtracts before converting, because nearby 64-bit integers would become equal as
    floats."""
    if plane.dtype.itemsize < 8 or not math.isfinite(low):
        return (plane.astype(np.float64) - low).astype(np.float32)
    info = np.iinfo(plane.dtype)
    whole = min(max(round(low), int(info.min)), int(info.max))
    below = plane < whole
    # Modulo 2**64 the subtraction gives the true distance as an unsigned integer, whatever the signs.
    away: Plane = (plane.view(np.uint64) - np.uint64(whole % 2**64)).astype(np.float32)
    away += np.float32(whole - low)
    away[below] = -1
    return away


@memoized(16)
def _value_table(dtype: str, display: ChannelDisplay) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """The colour of every value of a type of one or two bytes, indexed by its bits."""
    kind = np.dtype(dtype)
    bits = np.arange(256**kind.itemsize, dtype=f"u{kind.itemsize}")
    values = (bits != 0) if kind.kind == "b" else bits.view(kind)
    numbers = values.astype(np.float32)
    span = display.hi - display.lo
    with np.errstate(all="ignore"):
        level = (
            (numbers - np.float32(display.lo)) / np.float32(span)
            if span > 0
            else np.where(numbers >= display.lo, 1.0, 0.0)
        )
    return _light(level, display)


@memoized(48)
def _step_table(display: ChannelDisplay) -> np.ndarray[Any, np.dtype[np.uint64]]:
    # NaN has become step 0 before this table is used, like all values below the window.
    return _light(np.linspace(0, 1, STEPS, dtype=np.float32), display)


@memoized(16)
def _narrow_value_table(dtype: str, display: ChannelDisplay) -> np.ndarray[Any, np.dtype[np.uint32]]:
    return _narrow(_value_table(dtype, display))


@memoized(48)
def _narrow_step_table(display: ChannelDisplay) -> np.ndarray[Any, np.dtype[np.uint32]]:
    return _narrow(_step_table(display))


def _narrow(table: np.ndarray[Any, np.dtype[np.uint64]]) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """The same colours with 8 bits for each part: for one channel alone, to which nothing is added."""
    narrow = table.view(np.uint16).astype(np.uint8).view(np.uint32)
    narrow.setflags(write=False)
    return narrow


def _light(level: Plane, display: ChannelDisplay) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Packed colours of levels 0 to 1: red, green and blue in 16 bits each, so that one addition adds all three, and
    257 channels cannot overflow."""
    level = np.fmin(np.fmax(level, 0), 1).astype(np.float32)
    if display.gamma > 0 and display.gamma != 1.0:
        level = level ** np.float32(display.gamma)
    if display.inverted:
        level = 1 - level
    packed = np.zeros(level.shape, np.uint64)
    lanes = packed.view(np.uint16).reshape(*level.shape, 4)
    if display.ramp:
        colors = np.frombuffer(display.ramp, np.uint8).reshape(-1, 3)
        lanes[..., :3] = colors[np.rint(level * (len(colors) - 1)).astype(np.intp)]
        packed.setflags(write=False)
        return packed
    for lane, part in enumerate(display.color):
        lanes[..., lane] = np.rint(level * np.float32(min(255, max(0, part)))).astype(np.uint16)
    packed.setflags(write=False)
    return packed


# ---------------------------------------------------------------------- labels
def label_colors(
    plane: Plane, colors: Mapping[int, tuple[int, int, int, int]] | None = None, outline: bool = False
) -> Picture:
    """A picture of labels, uint8 (h, w, 4): one colour per value, the same in every tile and every session.

    0 is transparent unless `colors` (label value → r, g, b, a) gives it a colour. `outline` draws only the pixels that
    touch another label. Raises Unsupported for values that are not integers.
    """
    if plane.dtype.kind == "b":
        plane = plane.view(np.uint8)
    if plane.dtype.kind not in "iu":
        raise Unsupported(f"Labels are integers, these are {plane.dtype}", feature=f"labels of {plane.dtype}")
    picture: Picture = _label_palette()[_label_slot(plane)]
    picture[plane == 0] = 0
    if colors:
        info = np.iinfo(plane.dtype)
        stated = {value: rgba for value, rgba in colors.items() if info.min <= value <= info.max}
        if stated:
            values = np.array(sorted(stated), plane.dtype)
            rgba = np.array([stated[int(v)] for v in values], np.uint8)
            at = np.minimum(np.searchsorted(values, plane), len(values) - 1)
            known = values[at] == plane
            picture[known] = rgba[at[known]]
    if outline:
        picture[~_edges(plane)] = 0
    return picture


def overlay(picture: Picture, labels: Picture, opacity: float = 0.5) -> Picture:
    """Lays `labels` (h, w, 4) over `picture` (h, w, 3). Returns a new picture."""
    weight = labels[..., 3:].astype(np.uint16) * round(min(1.0, max(0.0, opacity)) * 256) // 255
    mixed = picture.astype(np.uint16) * (256 - weight) + labels[..., :3].astype(np.uint16) * weight
    return (mixed >> 8).astype(np.uint8)


def averaged(
    picture: Picture, rows: np.ndarray[Any, np.dtype[np.intp]], columns: np.ndarray[Any, np.dtype[np.intp]]
) -> Picture:
    """The averages of the blocks of a picture that begin at these rows and columns."""
    total = picture.astype(np.uint32)
    for axis, starts in enumerate((rows, columns)):
        sizes = np.diff(starts, append=picture.shape[axis])
        total = np.add.reduceat(total, starts, axis=axis) // sizes.reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
    return total.astype(np.uint8)


def _label_slot(plane: Plane) -> np.ndarray[Any, np.dtype[np.uint16]]:
    """The palette entry of each label: the low 16 bits, mixed with the high bits if there are any. Consecutive labels,
    which segmentations give to neighbouring cells, get hues a golden angle apart."""
    if plane.dtype.itemsize <= 2:
        return plane.astype(np.uint16, copy=False)
    bits: Plane = np.ascontiguousarray(plane).view(f"u{plane.dtype.itemsize}")
    stirred: Plane = bits ^ (bits >> np.asarray(16, bits.dtype)) * np.asarray(40503, bits.dtype)
    slots: Plane = stirred & np.asarray(0xFFFF, bits.dtype)
    return slots.astype(np.uint16)


@memoized(1)
def _label_palette() -> Picture:
    """65,536 vivid colours; consecutive entries differ strongly in hue."""
    n = np.arange(65536, dtype=np.float64)
    hue = (n * 0.6180339887498949 + 0.08) % 1.0
    saturation = 0.55 + 0.40 * ((n * 0.7548776662466927) % 1.0)
    value = 0.75 + 0.25 * ((n * 0.5698402909980532) % 1.0)
    palette = np.full((65536, 4), 255, np.uint8)
    for i, offset in enumerate((5.0, 3.0, 1.0)):
        k = (offset + hue * 6.0) % 6.0
        palette[:, i] = np.rint(255 * (value - value * saturation * np.clip(np.minimum(k, 4 - k), 0, 1)))
    palette.setflags(write=False)
    return palette


def _edges(plane: Plane) -> np.ndarray[Any, np.dtype[np.bool_]]:
    edges = np.zeros(plane.shape, bool)
    for axis in (0, 1):
        ahead = tuple(slice(1, None) if a == axis else slice(None) for a in (0, 1))
        behind = tuple(slice(None, -1) if a == axis else slice(None) for a in (0, 1))
        step = plane[ahead] != plane[behind]
        edges[ahead] |= step
        edges[behind] |= step
    return edges


# ---------------------------------------------------------------------- contrast
@frozen
class Histogram:
    """A histogram: the number of values in each bin.

    `counts` per bin, `edges` (one more) in data values. `not_finite` is the number of NaN and infinities, which no
    bin counts.
    """

    counts: np.ndarray[Any, np.dtype[np.int64]]
    edges: np.ndarray[Any, np.dtype[np.float64]]
    not_finite: int = 0


def auto_levels(sample: Plane, low: float = 0.5, high: float = 99.8) -> tuple[float, float]:
    """Contrast limits (lo, hi), lo < hi, from percentiles of the finite values.

    A plane that is almost constant (one value makes up nearly all of it) uses the extremes instead, so that its few
    other values are visible; a constant plane gives (0, value) or (value, value + 1).
    """
    values = _finite_values(sample)
    if not values.size:
        return 0.0, 1.0
    lo, hi = _percentiles(values, low, high)
    if not lo < hi:
        lo, hi = float(values.min()), float(values.max())
    if not lo < hi:
        lo, hi = (0.0, lo) if lo > 0 else (lo, lo + max(1.0, abs(lo) * 1e-6))
    return suitable_limits(lo, hi, integers=as_numbers(sample[:0]).dtype.kind in INTEGERS)


def _percentiles(values: Plane, *percents: float) -> list[float]:
    """The percentiles of a flat array that is not empty, linear between two values. np.percentile would import
    numpy.ma, which takes 17 ms and 2 MB, before the first picture is shown."""
    places = [(len(values) - 1) * percent / 100 for percent in percents]
    near = [(int(place), min(int(place) + 1, len(values) - 1)) for place in places]
    ordered = np.partition(values, sorted({index for pair in near for index in pair}))
    found = []
    for place, (below, above) in zip(places, near, strict=True):
        lower, step = float(ordered[below]), float(ordered[above]) - float(ordered[below])
        found.append(lower + step * (place - below))
    return found


def suitable_limits(lo: float, hi: float, *, integers: bool) -> tuple[float, float]:
    """The contrast limits rounded to multiples of `limit_step`, without meaningless digits. If lo < hi, the results
    keep this order."""
    digits = _digits(hi - lo, integers)
    return (lo, hi) if digits is None else (round(lo, digits) + 0.0, round(hi, digits) + 0.0)


def limit_step(lo: float, hi: float, *, integers: bool) -> float:
    """The smallest difference between suitable contrast limits.

    Limits of integers are whole if the window is at least 10 wide; a narrower window has one or two significant digits,
    since its edge may lie between two values. Other numbers have about four significant digits of the window's width.
    """
    digits = _digits(hi - lo, integers)
    return 0.0 if digits is None else float(10.0**-digits)


def _digits(width: float, integers: bool) -> int | None:
    """The decimals of suitable contrast limits; None for an empty or unbounded window."""
    if not (0 < width < math.inf):
        return None
    return max(0, (1 if integers else 3) - math.floor(math.log10(width)))


def histogram(sample: Plane, bins: int = 128, limits: tuple[float, float] | None = None) -> Histogram:
    """The histogram of the values, over `limits` or from the smallest to the largest one. Integers that span fewer
    values than `bins` get one bin per value."""
    numbers = as_numbers(sample).reshape(-1)
    values = _finite_values(sample)
    lost = numbers.size - values.size
    if limits is None:
        limits = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
        if numbers.dtype.kind in "biu":
            limits = (limits[0], limits[1] + 1)
            if limits[1] - limits[0] < bins:
                bins = max(1, int(limits[1] - limits[0]))
    lo, hi = limits
    if not lo < hi:
        hi = lo + max(1.0, abs(lo) * 1e-6)
    # Not np.histogram, which refuses ranges that are too narrow or too wide for distinct edges.
    with np.errstate(all="ignore"):
        place = (values.astype(np.float64) / 2 - lo / 2) / (hi / 2 - lo / 2)
        inside = place[(place >= 0) & (place <= 1)]
        edges = lo + (hi / bins - lo / bins) * np.arange(bins + 1)
    counts = np.bincount(np.minimum((inside * bins).astype(np.int64), bins - 1), minlength=bins)
    return Histogram(counts.astype(np.int64), edges.astype(np.float64), lost)


def _finite_values(sample: Plane) -> Plane:
    """The finite values as a flat array, as floats if needed. Of a large sample, a million evenly spaced values."""
    flat = as_numbers(sample).reshape(-1)
    if flat.size > 1_000_000:
        flat = flat[:: -(-flat.size // 1_000_000)]
    if flat.dtype.kind == "f":
        flat = flat[np.isfinite(flat)]
        return flat.astype(np.float32) if flat.dtype.itemsize < 4 else flat
    return flat.view(np.uint8) if flat.dtype.kind == "b" else flat


# ---------------------------------------------------------------------- tiles without data
def pattern(state: str, height: int, width: int, y: int = 0, x: int = 0) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """A mask, bool (height, width), of the pattern that marks a tile without data.

    (y, x), the place of its corner in the picture, keeps neighbouring tiles aligned. "fill": faint dots (nothing is
    stored) · "failed": crosshatch · "undecodable": diagonal hatch.
    """
    rows: Plane = np.arange(y, y + height)[:, None]
    columns: Plane = np.arange(x, x + width)[None, :]
    marks: np.ndarray[Any, np.dtype[np.bool_]]
    if state == "fill":
        marks = (rows % 12 // 2 == 2) & ((columns + rows // 12 % 2 * 6) % 12 // 2 == 2)
    elif state == "undecodable":
        marks = (rows + columns) % 12 == 0
    elif state == "failed":
        marks = ((rows + columns) % 12 == 0) | ((rows - columns) % 12 == 0)
    else:
        raise ValueError(f"no pattern for {state!r}")
    return marks
