"""Parses text typed into the inputs beside a picture, and makes sentences about the picture. Pure functions."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from zarrscope.errors import ZarrscopeError
from zarrscope.view.image import Image
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.advice import REFRESH, asks_to_refresh
from zarrscope_app.presenters.image.projection import METHODS
from zarrscope_app.presenters.image.view_models import Measurement, Tile, TileState
from zarrscope_app.presenters.request_names import host_of, requested
from zarrscope_app.presenters.typed_numbers import typed_count, typed_length, typed_value
from zarrscope_app.presenters.units import METRES, SECONDS

MOST_PROPERTIES = 8
READING_SOLID = "Reading the volume…"
SOLID_WRITTEN = "The volume, as it stands on the screen."
NO_SOLID = "This picture has no third axis."
NO_SOLID_OF_KIND = "Only numbers have a maximum; labels, texts and times have none."
PARTS = {"magnitude": "magnitude", "phase": "phase", "real": "real part", "imaginary": "imaginary part"}
"""The parts of complex values that can be drawn."""
_NUMBER = r"[+−-]?(?:\d[\d,]*\.?\d*|[.,]\d+)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"(?P<lo>{_NUMBER})\s*(?:–|—|-|\.\.+|to|\s)\s*(?P<hi>{_NUMBER})")
_WHOLE = re.compile(r"[+-]?\d+")
EMPTY_CELL = "no image"
HISTOGRAM_LOADING = "Reading…"
HISTOGRAM_TOO_LARGE = "Too large to measure while hidden"
HISTOGRAM_UNREAD = "The values could not be read"


def limit(value: float) -> str:
    """A contrast limit as editable text: integers exactly, other numbers with six digits."""
    if not math.isfinite(value):
        return strings.exact(value)
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.6g}"


def label_value(value: str, properties: Mapping[str, Any] | None) -> str:
    """A label under the cursor, with its properties from the file: ("17", {"area": 320}) → "17 (area 320)"."""
    if not properties:
        return value
    first = list(properties.items())[:MOST_PROPERTIES]
    told = [f"{strings.clean(name, 24)} {_property(given)}" for name, given in first]
    return f"{value} ({', '.join(told)}{', …' if len(properties) > MOST_PROPERTIES else ''})"


def _property(value: object) -> str:
    return strings.clean(value, 40) if isinstance(value, str) else strings.exact(value, 40)


def projection_cost(planes: int, chunks: int, nbytes: int) -> str:
    """The cost of a projection: "64 planes: 4,096 chunks, 3.1 GiB to read"."""
    return f"{strings.counted(planes, 'plane')}: {strings.counted(chunks, 'chunk')}, {strings.size(nbytes)} to read"


def solid(axes: Sequence[str], level: int, shape: Sequence[int], step: int) -> str:
    """The caption of a volume: "Maximum of z, y, x · level 2 · 64 × 256 × 256"; `step`: every step-th voxel is
    drawn."""
    named = ", ".join(strings.clean(axis, 24) for axis in axes)
    every = f"every {step}th voxel" if step > 3 else ("", "", "every 2nd voxel", "every 3rd voxel")[step]
    return strings.joined(f"Maximum of {named}", f"level {level}", strings.shape(shape), every)


def solid_too_large(nbytes: int) -> str:
    """The reason why a volume is not read."""
    return (
        f"The coarsest level has {strings.size(nbytes)}, too much for a quick picture. "
        "Open the image in napari, or add coarser levels."
    )


def not_alike(y: str, x: str) -> str:
    """The reason why an image cannot be laid over another one."""
    return f"That image has no axes {strings.clean(y, 24)} and {strings.clean(x, 24)}, or no picture."


def projection(method: str, axis: str, start: int, stop: int) -> str:
    """The name of a projection: "maximum of z 0–63"."""
    return f"{METHODS[method]} of {strings.clean(axis, 24)} {strings.count(start)}–{strings.count(stop - 1)}"


COLLECTIONS = {"plate": "Plate", "well": "Well", "series": "Images", "images": "Images", "plates": "Plates"}
NO_IMAGE_HERE = "There is no image here"
NO_ELEMENTS = "It has no elements: the length of an axis is 0"
NO_SMALL_LEVEL = "It has no level small enough for a thumbnail"


def collection_title(kind: str, name: str, count: int, listed: int) -> str:
    """The title of a collection with `count` members: "Plate P1: 384 wells", "embryos: 2 images"."""
    noun = {"plate": "well", "well": "field", "plates": "plate"}.get(kind, "image")
    told = strings.counted(listed, noun)
    if count < listed:
        told = f"{told}, of which {count:,} are laid out"
    if kind in ("plate", "well"):  # for the others the word would be repeated
        name = f"{COLLECTIONS[kind]} {name}".strip()
    return f"{name}: {told}" if name else told


def thumbnails_loading(n: int) -> str:
    return f"{strings.counted(n, 'thumbnail')} loading" if n else ""


class Counted(Protocol):
    """Statistics of some values; NaN are counted separately (measuring.Statistics)."""

    count: int
    nan: int

    @property
    def mean(self) -> float:
        """The mean of the values without NaN."""

    @property
    def deviation(self) -> float:
        """The standard deviation of the values without NaN."""

    @property
    def low(self) -> float:
        """The lowest value."""

    @property
    def high(self) -> float:
        """The highest value."""


def statistics(found: Counted) -> str:
    """Statistics in words: "mean 120.5 · sd 12.2 · min 80 · max 200 · 1,024 values"."""
    if not found.count:
        return strings.joined("no numbers", f"{strings.count(found.nan)} NaN" if found.nan else "")
    return strings.joined(
        f"mean {strings.short(found.mean)}",
        f"sd {strings.short(found.deviation)}",
        f"min {strings.exact(found.low)}",
        f"max {strings.exact(found.high)}",
        strings.counted(found.count, "value"),
        f"{strings.count(found.nan)} NaN" if found.nan else "",
    )


def scale_of(profiles: Sequence[Any]) -> tuple[str, str]:
    """The lowest and the highest finite value of all profiles, as text."""
    finite = [value for profile in profiles for value in profile.tolist() if math.isfinite(value)]
    return (strings.short(min(finite)), strings.short(max(finite))) if finite else ("", "")


def line_length(image: Image, y: int, x: int, place: tuple[float, float, float, float]) -> str:
    """The length of a line, in the unit of its two axes, or in pixels if the units of the axes differ."""
    scale, units = image.levels[0].scale, (image.axes[y].unit, image.axes[x].unit)
    down, across = place[2] - place[0], place[3] - place[1]
    if units[0] != units[1] or units[0] in (None, "rgb"):
        return f"{strings.short(math.hypot(down, across))} px"
    return strings.length(math.hypot(down * scale[y], across * scale[x]), units[0])


def line_title(image: Image, y: int, x: int, place: tuple[float, float, float, float]) -> str:
    """The title of a measured line: "Line of 12.3 µm from y 10 x 20 to y 40 x 60"."""
    names = [strings.clean(image.axes[axis].name, 12) for axis in (y, x)]
    y0, x0, y1, x1 = (math.floor(v) for v in place)
    length = line_length(image, y, x, place)
    return f"Line of {length} from {names[0]} {y0} {names[1]} {x0} to {names[0]} {y1} {names[1]} {x1}"


def region_title(image: Image, y: int, x: int, level: int, window: tuple[int, int, int, int]) -> str:
    """The title of a measured region: "Region of 30 × 40 from y 10 x 20", with the level if it is not the finest."""
    y0, x0, y1, x1 = window
    names = [strings.clean(image.axes[axis].name, 12) for axis in (y, x)]
    title = f"Region of {strings.shape((y1 - y0, x1 - x0))} from {names[0]} {y0} {names[1]} {x0}"
    return f"{title}, at level {level}" if level else title


def measurement_lines(found: Measurement) -> str:
    """A measurement as lines of cells separated by tabs; the measurement of a line includes every value."""
    heads = [found.title, *(f"{row.label}\t{row.text}" for row in found.rows)]
    profiles = [row for row in found.rows if row.profile is not None]
    if not profiles:
        return "\n".join(heads)
    names = "\t".join(row.label for row in profiles)
    values = zip(*(row.profile for row in profiles if row.profile is not None), strict=True)
    return "\n".join([*heads, names, *("\t".join(strings.cell(v) for v in line) for line in values)])


def values_of_one_plane(axis: str, index: int) -> str:
    return f"values of {strings.clean(axis, 24)} {strings.count(index)}"


def typed_range(text: str, axis: str, length: int) -> tuple[int, int] | str:
    """The range of indices in a text, as (start, stop): "0–63" includes both ends, "" is the whole axis. If the text is
    invalid, the reason."""
    if not text.strip():
        return 0, length
    ends = _RANGE.fullmatch(text.strip())
    found = [typed_index(end, axis, length) for end in ((ends["lo"], ends["hi"]) if ends else (text, text))]
    low, high = found
    if isinstance(low, str):
        return low
    if isinstance(high, str):
        return high
    return min(low, high), max(low, high) + 1


def failed_tile(sentence: str, decodable: bool, key: str) -> str:
    """The reason why a chunk is not drawn, with its key and, if reading again may help, how to do so."""
    where = "" if key in sentence else f" Key {strings.clean(key)}."
    return f"{sentence}{where}{' Click to read it again.' if _may_help(sentence, decodable) else ''}"


def _may_help(sentence: str, decodable: bool) -> bool:
    """Whether reading a failed chunk again may help; not if its array is another one by now."""
    return decodable and not asks_to_refresh(sentence)


def may_help(failures: Sequence[Failure]) -> bool:
    """Whether reading failed tiles again may help; not if the array of all of them is another one by now."""
    return not failures or not all(asks_to_refresh(failure.sentence) for failure in failures)


def loading_tile(key: str) -> str:
    return f"Loading. Key {strings.clean(key)}."


def by_name(said: Mapping[str, tuple[str, str]], channels: int) -> str:
    """The reasons why chunks of several channels are not drawn, one line for each channel. `said`: name of a channel →
    (sentence, key of the chunk). `channels`: the number of all channels and label images.

    If all have the same sentence and key, the result is that sentence, without names. If a sentence is the same as one
    above it except for the key, its line says "the same" and names the key.
    """
    if len(said) in (0, channels) and len(set(said.values())) < 2:
        return next(iter(said.values()), ("",))[0]
    lines, told = [], set[str]()
    for name, (sentence, key) in said.items():
        alike = sentence.replace(strings.clean(key), "")
        again = f"the same. Key {strings.clean(key)}."
        lines.append(f"{strings.clean(name, 40)}: {again if alike in told else sentence}")
        told.add(alike)
    return "\n".join(lines)


def late(axes: Sequence[tuple[str, int, int]], blank: bool) -> str:
    """The sentence over a picture that still shows the previous plane: "z 11 is shown; z 12 is loading". `axes`: (name,
    shown index, index that is loading). `blank`: whether nothing of the previous plane could be read."""
    state = "could not be read" if blank else "is shown"
    if not axes:
        return f"The former plane {state}; the new one is loading"
    names = [strings.clean(name, 24) for name, _, _ in axes]
    shown = strings.joined(*(f"{name} {at}" for name, (_, at, _) in zip(names, axes, strict=True)))
    wanted = strings.joined(*(f"{name} {to}" for name, (_, _, to) in zip(names, axes, strict=True)))
    return f"{shown} {state}; {wanted} is loading"


def over(late: str, waiting: str) -> str:
    """The sentence over a picture that is incomplete: `late` about the shown plane, `waiting` about a chunk that does
    not come."""
    return f"{late}. {waiting}" if late and waiting else late or waiting


class Failure(NamedTuple):
    """The errors of a tile, summed up."""

    sentence: str
    decodable: bool
    """Whether zarrscope can decode the chunks, so that reading again may help."""
    blank: bool
    """Whether all chunks of the tile failed."""


def failed_chunk(error: BaseException) -> str:
    """The reason why a chunk failed, for a place that does not name the chunk: "c/0/1 from 10.0.0.1:8000: The server
    answered 503. Wait, then try again." """
    sentence = strings.failed_chunk(error)
    if not isinstance(error, ZarrscopeError) or not error.key:
        return sentence
    if not error.store or error.store.startswith("file:"):
        return failed_tile(sentence, False, error.key)
    named = requested(error.store, error.key)
    return f"{named.partition(' from ')[0] if host_of(error.store) in sentence else named}: {sentence}"


def failure(
    errors: Mapping[Any, tuple[str, bool]], reasons: Collection[tuple[Any, Any]], parts: Mapping[Any, Any]
) -> Failure:
    """Sums up the errors of a tile. `errors`: source → (reason, whether it can be decoded); `reasons`: the failed
    chunks as (source, chunk index); `parts`: source → its part in the tile."""
    blank = all((source, index) in reasons for source, part in parts.items() for index in part.chunks())
    return Failure(*next(iter(errors.values())), blank)


def unread(failures: Sequence[Failure], tiles: int) -> str:
    """The reason why nothing of a plane can be shown, and how to try again; "" if a part of the plane can be shown.
    `tiles`: the number of its tiles."""
    if not failures or len(failures) < tiles or not all(failure.blank for failure in failures):
        return ""
    first = failures[0]
    again = " Click or press U to read it again." if _may_help(first.sentence, first.decodable) else ""
    return f"{first.sentence}{again}"


def blank(tiles: Sequence[Tile]) -> str:
    """The reason why a plane shows nothing but its fill value; "" if a chunk of it is stored."""
    if not tiles or any(tile.state is not TileState.FILL for tile in tiles):
        return ""
    return "No chunk of this picture is stored: every value is the fill value."


def broken(failures: Sequence[Failure]) -> str:
    """The reason why the first tile failed, and the number of further reasons, which are among the problems; "" if none
    failed."""
    told = list(dict.fromkeys(failure.sentence for failure in failures))
    more = f" {strings.counted(len(told) - 1, 'more reason')} under Problems." if len(told) > 1 else ""
    return f"{told[0]}{more}" if told else ""


def tiles(loading: int, failures: Sequence[Failure]) -> str:
    """The state of the tiles: "12 tiles loading · 1 tile failed: click to read again". If their array is another one by
    now, only a refresh helps: "1 tile failed: Refresh"."""
    helps = "click to read again" if may_help(failures) else REFRESH
    broken = f"{strings.counted(len(failures), 'tile')} failed: {helps}" if failures else ""
    return strings.joined(strings.tiles_loading(loading), broken)


def typed_label(text: str) -> int | str | None:
    """The label number in a text, None for an empty text; or the reason why the text is invalid."""
    given = text.strip()
    if not given:
        return None
    return int(given) if _WHOLE.fullmatch(given) else "A label is a whole number, such as 17. Nothing: all labels."


def typed_gamma(text: str) -> float | str:
    """The gamma in a text; or the sentence that says why the text is invalid."""
    value = typed_value(text)
    return value if value is not None and 0.05 <= value <= 20 else "Gamma is a number from 0.05 to 20; 1 is linear."


def is_index(text: str) -> bool:
    """Whether a text is a whole number without a unit."""
    return typed_count(text.split("/")[0]) is not None


def typed_channel(text: str) -> tuple[int, str]:
    """("2: 120–3400") → the channel, counted from 0 (-1: the first displayed one), and the rest of the text."""
    named = re.fullmatch(r"\s*(\d+)\s*:\s*(.*)", text)
    return (int(named[1]) - 1, named[2]) if named else (-1, text)


def no_channel(number: int, count: int) -> str:
    """The sentence that refuses a channel number that is too large."""
    return f"There is no channel {number + 1}: the image has {strings.counted(count, 'channel')}."


def typed_index(text: str, axis: str, length: int) -> int | str:
    """The index in a text, or the sentence that says why the text is invalid. "31 / 63", the text of a slider,
    is accepted."""
    index = typed_count(text.split("/")[0])
    name = strings.clean(axis, 24)
    if index is None:
        return f"{name} needs a whole number from 0 to {strings.count(length - 1)}."
    if not 0 <= index < length:
        return f"{name} runs from 0 to {strings.count(length - 1)}; there is no {strings.count(index)}."
    return index


def typed_position(text: str, axis: str, image: Image, at: int) -> int | str:
    """The index nearest to the physical position in a text, or the sentence that says why the text is invalid."""
    name, own = strings.clean(axis, 24), image.axes[at].unit
    read = typed_length(text)
    if read is None:
        return f"{name} needs a position such as {strings.length(image.physical(at, 1), own)}."
    (value, given), unit = read, strings.unit(own)
    if given and given != unit:
        table = next((t for t in (METRES, SECONDS) if given in t and unit in t), None)
        if table is None:
            return f'"{strings.clean(given, 20)}" is not a unit of {name}: it is measured in {unit or "plain numbers"}.'
        value *= table[given] / table[unit]
    scale, first = image.levels[0].scale[at], image.levels[0].translation[at]
    ends = sorted((image.physical(at, 0), image.physical(at, image.shape[at] - 1)))
    half = abs(scale) / 2
    if not scale or not ends[0] - half <= value <= ends[1] + half:
        return f"{name} lies between {strings.length(ends[0], own)} and {strings.length(ends[1], own)}."
    return min(max(0, round((value - first) / scale)), image.shape[at] - 1)


def typed_limits(text: str, end: str, lo: float | None, hi: float | None) -> tuple[float, float] | str:
    """Both contrast limits after a text was typed for one of them, or for both; or the reason why the text is
    invalid."""
    given = text.strip()
    if (one := typed_value(given)) is not None:
        low, high = (one, hi) if end == "lo" else (lo, one)
    elif (both := _RANGE.fullmatch(given)) is not None:
        low, high = typed_value(both["lo"]), typed_value(both["hi"])
        if low is None or high is None:
            return strings.NOT_A_NUMBER
    else:
        return strings.NOT_A_NUMBER
    low, high = (high if low is None else low), (low if high is None else high)
    if low is None or high is None:
        return strings.NOT_A_NUMBER
    if end == "lo" and low >= high:
        return f"The lower limit must be less than the upper one, {limit(high)}. Both at once: {limit(low)}–…"
    if low >= high:
        return f"The upper limit must be greater than the lower one, {limit(low)}. Both at once: …–{limit(high)}"
    return low, high


def pixels_of_screen(blocked: str) -> str:
    """The note on a picture that is written as it is displayed. `blocked`: see Frame."""
    return f"These are the pixels of the screen: more would take {blocked.partition(':')[0]}."
