"""Every word, number, size and length that a person reads, in one place, so that all hosts use the same words.

Integers are always exact; floats are short by default and exact on demand; sizes are binary (3.1 GiB); lengths are in
the file's units (µm, not micrometer). Text from a file passes `clean` before it is shown, because control characters
and bidirectional overrides could otherwise rewrite a terminal or disguise a name (zarrscope.errors.visible).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from zarrscope.errors import Denied, OutsideLink, Refused, Unreadable, ZarrscopeError
from zarrscope.errors.confidential import scrub
from zarrscope.errors.visible import visible, visible_lines
from zarrscope.model.dtype import Element, Fill
from zarrscope.model.frozen import frozen
from zarrscope.model.metadata import ArrayMetadata
from zarrscope.runtime.lazy_numpy import np
from zarrscope_app.presenters.advice import advice_of, in_applications, sentence_of

# ---------------------------------------------------------------------- shared sentences
MAX_HEXADECIMAL = 4096
"""The most bytes that are shown of a document that is not text."""
EMPTY_WINDOW = "Drop a .zarr folder, a .zip or a link here, or open the demo."
UNKNOWN = "not known"
UNKNOWN_SHAPE = "shape not known"
TOO_LITTLE_MEMORY = "There is not enough memory to show this"
EMPTY_GROUP = "This group has no children."
UNLISTABLE = "This server cannot list children. Type a name into the filter and press Enter."
NOTHING_FOUND = "No match. Enter opens it as a path."
OPENING = "Opening…"
LOADING = "Loading…"
CANCELLED = "Cancelled. Refresh to try again."
LABEL_AXES = "This label image does not have the displayed axes."
NO_IMAGE = "This node has no picture. See Values or Info."
UNSAVED = "There are changes that are not saved. Save writes all of them, or none."
SAVED = "Saved."
NOTHING_TO_SAVE = "Nothing has changed."
NO_TERMINAL = "There is no terminal here to draw on. Use zarrscope tree, info, ls or render, or run it in a terminal."
READ_ONLY_FORM = "Opened read-only. Open it for writing to edit the attributes."
ATTRIBUTES = "Attributes"
SAVING = "Saving…"
WHOLE_STAYS = "These are the attributes as a whole: they keep their name and kind, and cannot be removed."
ITEM_HAS_NO_NAME = "Items of a list have a position, not a name."
AS_STORED = "The document is shown as it is stored by now; nothing of yours is left to save."
MERGED = "Merged with the changes that were stored meanwhile. Save to write the result."
NOT_A_NUMBER = "This is not a number. Use a point, no separators: 0.108 or 1e-3."
NOT_POSITIVE = "The size of a pixel is greater than zero."
NOT_A_COLOUR = "This is not a colour. Use six hexadecimal digits: 00FF7F."
FIELDS = {"unit": "unit", "axis-type": "type of axis", "pixel-size": "pixel size", "colour": "colour", "date": "date"}
"""Names of the fields of OME-Zarr for a person."""
NOT_A_BOOL = "Write true or false."
DONE = "Done."
STOPPED = "Cancelled."
TOO_LATE = "Done before it could be cancelled."
NO_TABLE = "This group has no values of its own. Choose an array or an image."
READ_ONLY = "read-only"
OPENED_ANYWAY = "opened anyway, read-only"
WRITABLE = "writable"
REFUSED_IS_MISSING = "refused counts as missing"
GROUP = "group"
IMAGE = "image"
RETRY = "Retry"
CANCEL = "Cancel"
PLANNING = "Planning…"
ROOT_STAYS = "The root is the hierarchy itself: it cannot be moved, copied or deleted. Convert… makes a copy."
OPEN_FOR_WRITING = "This place is open for reading only. Open it for writing first."
SAVE_FIRST = "Attributes there have changes that are not saved. Save or revert them first."
NEW_PLACE = "Type another place."
LOAD_ANYWAY = "Load"

UNITS = {
    "angstrom": "Å",
    "attometer": "am",
    "centimeter": "cm",
    "decimeter": "dm",
    "exameter": "Em",
    "femtometer": "fm",
    "foot": "ft",
    "gigameter": "Gm",
    "hectometer": "hm",
    "inch": "in",
    "kilometer": "km",
    "megameter": "Mm",
    "meter": "m",
    "micrometer": "µm",
    "micron": "µm",
    "mile": "mi",
    "millimeter": "mm",
    "nanometer": "nm",
    "picometer": "pm",
    "yard": "yd",
    "attosecond": "as",
    "day": "d",
    "femtosecond": "fs",
    "hour": "h",
    "microsecond": "µs",
    "millisecond": "ms",
    "minute": "min",
    "nanosecond": "ns",
    "picosecond": "ps",
    "second": "s",
    "degree": "°",
    "radian": "rad",
    "pixel": "px",
}
"""Unit names of OME-Zarr and UDUNITS → the symbols shown. A name that is not listed stays unchanged."""


def clean(text: str, limit: int = 0) -> str:
    """Returns `text` on one line, with control characters spelled out; cut to `limit` characters when given."""
    shown = visible(text)
    return shown if not limit or len(shown) <= limit else shown[: limit - 1] + "…"


def clean_lines(text: str) -> str:
    """Returns the text of a document with control characters spelled out, except line ends and tabs."""
    return visible_lines(text)


def document(data: bytes, limit: int) -> str:
    """A document as text of at most `limit` characters; if it is not UTF-8, its bytes in hexadecimal."""
    try:
        return clean_lines(data.decode("utf-8")[:limit])
    except UnicodeDecodeError:
        shown = data[: min(limit // 4, MAX_HEXADECIMAL)]
        lines = [f"{at:08x}  {shown[at : at + 16].hex(' ')}" for at in range(0, len(shown), 16)]
        return "\n".join(
            [f"{counted(len(data), 'byte', 'bytes')}, no text:", *lines, *(["…"] if shown != data else [])]
        )


# ---------------------------------------------------------------------- numbers
def count(n: int) -> str:
    """An integer with separators of thousands: 1536 → "1,536"."""
    return f"{n:,}"


def counted(n: int, noun: str, plural: str = "") -> str:
    """A number with its noun: (1, "chunk") → "1 chunk"; (4096, "chunk") → "4,096 chunks"."""
    return f"{count(n)} {noun if n == 1 else plural or noun + 's'}"


def ended(name: str, sentence: str, failed: bool) -> str:
    """The result of a job in words. The name of the job is added if the sentence alone does not say what was done."""
    return f"{name}: {sentence}" if failed or sentence == DONE else sentence


def and_more(n: int) -> str:
    """The end of a shortened list: "… and 1,536 more operations"."""
    return f"… and {counted(n, 'more operation')}"


def size(nbytes: int) -> str:
    """A size with a binary unit: 3328599655 → "3.1 GiB"; 10**600 → "about 10^600 B", which a document may claim."""
    if nbytes >= 10**30:
        return f"about 10^{len(str(nbytes)) - 1} B"
    value = float(nbytes)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"):
        if value < 1024 or unit == "EiB":
            return f"{nbytes:,} B" if unit == "B" else f"{value:.{1 if value < 100 else 0}f} {unit}"
        value /= 1024
    raise AssertionError


def shape(extent: Sequence[int]) -> str:
    """A shape as text: (1, 16, 256) → "1 × 16 × 256"; () → "one value"."""
    return " × ".join(count(n) for n in extent) if extent else "one value"


def rank(extent: Sequence[int], dtype: str) -> str:
    """The dimmed second column of the tree: "5-D uint16"."""
    return f"{len(extent)}-D {clean(dtype, 60)}"


def rank_of(metadata: ArrayMetadata) -> str:
    """The second column of the tree for an array: "5-D uint16", or only the data type if the shape is not known."""
    dtype = metadata.dtype.name
    return clean(dtype, 60) if "shape" in metadata.unread else rank(metadata.shape, dtype)


def shape_of(metadata: ArrayMetadata) -> str:
    """The shape of an array: "1 × 16 × 256", or that it is not known because the document does not state it."""
    return UNKNOWN_SHAPE if "shape" in metadata.unread else shape(metadata.shape)


def defect(error: ZarrscopeError) -> str:
    """A sentence about the fault in a document, and where it is, unless the sentence begins with the document."""
    found = problem(error)
    advice = f" {found.advice}" if found.advice else ""
    told = found.headline.removesuffix(advice)
    at, place = ("at", f"{error.pointer} in {error.key}") if error.pointer else ("in", str(error.key))
    if told.startswith(f"{place}: "):
        return found.headline
    return f"{told.removesuffix('.')} ({at} {clean(place)}).{advice}"


def short(value: float) -> str:
    """A float of at most four significant digits, without trailing zeros: 15.504 → "15.5"."""
    if not math.isfinite(value):
        return exact(value)
    if value == int(value) and abs(value) < 1e7:
        return str(int(value))
    if 1e-4 <= abs(value) < 1e7:
        digits = max(0, 3 - math.floor(math.log10(abs(value))))
        text = f"{value:.{digits}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{value:.3e}"


def unit(name: str | None) -> str:
    """The symbol of a unit: "micrometer" → "µm"; None → ""."""
    return UNITS.get(name, clean(name, 20)) if name else ""


def length(value: float, name: str | None) -> str:
    """A physical position or length: (166.4, "micrometer") → "166.4 µm"."""
    number = f"{value:.4f}".rstrip("0").rstrip(".") if 0.01 <= abs(value) < 1e6 else short(value)
    number = short(value) if len(number) > 9 else number
    symbol = unit(name)
    return f"{number}{'' if symbol in ('', '°') else ' '}{symbol}"


def seconds(value: float) -> str:
    """A duration as text: 4.2 → "4 s"; 90 → "1 min 30 s"."""
    whole = max(0, round(value))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def exact(value: object, limit: int = 200) -> str:
    """An exact value: integers with all digits, floats as the shortest text that reads back the same, strings quoted,
    bytes as text if all are printable ASCII, else in hexadecimal; structured values by field. At most `limit` long."""
    if value is None:
        return "–"
    if isinstance(value, np.ndarray):
        if value.ndim == 0 and value.dtype != object:
            value = value[()]
        else:
            return clean(np.array2string(value, threshold=20), limit)
    if isinstance(value, np.void):
        if value.dtype.names:
            return clean("(" + ", ".join(f"{n}: {exact(value[n])}" for n in value.dtype.names) + ")", limit)
        return f"0x{value.tobytes().hex()}"[:limit]
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer) and not isinstance(value, np.timedelta64):
        return str(int(value))
    if isinstance(value, np.datetime64 | np.timedelta64):
        return str(value)
    if isinstance(value, np.complexfloating):
        return _complex(value.real, value.imag)
    if isinstance(value, complex):
        return _complex(value.real, value.imag)
    if isinstance(value, float | np.floating):
        return _float(value)
    if isinstance(value, bytes):
        text = repr(bytes(value[:limit]))
        return clean(f"0x{value[: limit // 2].hex()}" if "\\" in text else text, limit)
    return clean(f'"{value}"' if isinstance(value, str) else str(value), limit)


def cell(value: object) -> str:
    """A value as a cell of a copied table: like `exact`, but texts without quotes, and infinities in the form that
    other programs read."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float | np.floating) and np.isinf(value):
        return "inf" if value > 0 else "-inf"
    return exact(value)


def _complex(real: Element, imaginary: Element) -> str:
    sign = "-" if math.copysign(1.0, imaginary) < 0 else "+"
    return f"{_float(real)}{sign}{_float(abs(imaginary))}i"


def _float(value: Element) -> str:
    if value != value:
        return "NaN"
    if value in (math.inf, -math.inf):
        return "∞" if value > 0 else "-∞"
    if isinstance(value, np.floating):
        text = np.format_float_positional(value, unique=True, trim="0")
        if len(text) <= 17:
            return text
        return min(text, np.format_float_scientific(value, unique=True, trim="-"), key=len)
    return repr(float(value))


def span(lo: float, hi: float) -> str:
    """The contrast limits beside a histogram: "120–3400"."""
    return f"{short(lo)}–{short(hi)}"


def step(index: int, extent: int) -> str:
    """The position of a slider: "31 / 63" (the last index, not the length)."""
    return f"{index} / {max(0, extent - 1)}"


def joined(*parts: str) -> str:
    """Facts side by side: "v3 · OME-Zarr 0.5 · read-only"."""
    return " · ".join(part for part in parts if part)


def time_left(value: float) -> str:
    return f"{seconds(value)} left"


def percent(fraction: float) -> str:
    return f"{fraction * 100:.0f} %"


# ---------------------------------------------------------------------- sentences about chunks and tiles
def stored_in(chunks: int, chunk_shape: Sequence[int], shards: int | None = None) -> str:
    """The meaning of chunks in words for a biologist: "Stored in 1,536 pieces (chunks) of …, packed into 24 files
    (shards)."."""
    text = f"Stored in {counted(chunks, 'piece')} ({'chunk' if chunks == 1 else 'chunks'}) of {shape(chunk_shape)}"
    if shards is not None:
        text += f", packed into {counted(shards, 'file')} ({'shard' if shards == 1 else 'shards'})"
    return text + "."


def missing_chunk(fill: Fill, key: str) -> str:
    value = exact(fill.value)
    shown = f"the fill value {value}" if fill.defined else f"{value}, as the array states no fill value"
    return f"No chunk stored here: shown as {shown}. Key {clean(key)}."


def failed_chunk(error: BaseException) -> str:
    return problem(error).headline


def too_much(chunks: int, nbytes: int) -> str:
    return f"{counted(chunks, 'chunk')}, {size(nbytes)}: zoom in, or press Load."


def tiles_loading(n: int) -> str:
    return f"{counted(n, 'tile')} loading" if n else ""


def changes(n: int) -> str:
    return counted(n, "change") if n else ""


def rescued(n: int, when: str) -> str:
    """The offer of unsaved edits: "2 changes of 2026-11-22 14:03 were not saved." """
    return f"{changes(n)} of {clean(when, 20)} {'was' if n == 1 else 'were'} not saved."


def conflict(fields: int) -> str:
    """The sentence of a conflict; short, because a line of 80 columns has the number of changes beside it."""
    if not fields:
        return "Somebody else saved changes that fit yours: merge, then save."
    return f"Somebody else changed {counted(fields, 'field')}, too. Keep yours or theirs?"


def would_lose(name: str, kind: str) -> str:
    return f'"{clean(name, 60)}" cannot become {kind} without losing its content: change or remove that first.'


def keeps_kind(name: str) -> str:
    return f'"{clean(name, 60)}" has members, which no other kind can hold: remove them first.'


def dumb_terminal(term: str) -> str:
    """The reason why nothing can be drawn on a terminal whose TERM is `term`."""
    kind = f"TERM={clean(term, 40)}" if term else "TERM is not set"
    return f"This terminal cannot place a cursor ({kind}). Use zarrscope tree, info, ls or render, or set TERM."


def too_many_cells(n: int, most: int) -> str:
    return f"{count(n)} cells are too many to copy, {count(most)} at most. Use zarrscope read."


def taken(name: str) -> str:
    return f'The name "{clean(name, 60)}" is taken.'


_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?|NaN|-?Infinity")


def is_number(text: str) -> bool:
    """Whether a text is a number as JSON spells it, or NaN, Infinity or -Infinity."""
    return _NUMBER.fullmatch(text.strip()) is not None


# ---------------------------------------------------------------------- errors
@frozen
class Problem:
    """An error or a warning in words. `headline` is one sentence; `details` is the whole text to copy into a report."""

    severity: str
    """ "error" | "warning" | "difference" (presenters/problem_rows.py has their signs)."""
    headline: str
    details: str = ""
    advice: str = ""
    place: str = ""
    """The location of the fault: key, JSON pointer within the document, URL of the store."""
    path: str = ""
    """The path of the node with the problem; "" if the problem concerns the whole session."""
    retry: bool = False
    """Whether another attempt may succeed; a host then offers one."""
    offer: str = ""
    """The id of a command that would help, or "": "follow-links" if a link leads out of the store, "missing-is-fill" if
    a server does not distinguish missing from denied keys."""
    mend: str = ""
    """The command that corrects the problem, or leads to where it can be corrected; "" if there is none."""
    tried: str = ""
    """The sources of the credentials that a service rejected; "" for any other problem."""
    part: str = ""
    """`place` without the store."""


def problem(error: BaseException, path: str = "") -> Problem:
    """Describes any error in words; one that is not a ZarrscopeError is called a fault of zarrscope."""
    if isinstance(error, ZarrscopeError):
        text = sentence_of(error.message, error.key)
        if advice := clean(scrub(advice_of(error))):
            text += f" {advice}"
        return Problem(
            "error",
            text,
            clean(f"{error.title}. {error}"),
            advice,
            clean(error.place),
            path,
            retry=not isinstance(error, Refused),
            offer=_offer(error),
            tried=clean(", ".join(error.tried)) if isinstance(error, Denied) else "",
        )
    name = type(error).__name__
    return Problem(
        "error",
        f"Something went wrong inside zarrscope ({name}). Please report it.",
        clean(scrub(f"{name}: {error}")),
        path=path,
        retry=isinstance(error, OSError | Unreadable),
    )


def _offer(error: ZarrscopeError) -> str:
    if isinstance(error, Denied) and error.untold:  # as services answer to somebody without permission, too
        return "missing-is-fill" if error.may_be_missing else "credentials"
    return "follow-links" if isinstance(error, OutsideLink) else ""


def not_added(name: str, error: BaseException, path: str) -> Problem:
    """The sentence for a layer that the viewer refused."""
    why = clean(scrub(f"{type(error).__name__}: {error}".rstrip(": ")), 300)
    return Problem("error", f'The layer "{clean(name, 60)}" cannot be added here ({why}).', why, path=path)


def unread_plane(name: str, others: int, why: str) -> str:
    """The reason `why` nothing is drawn of a layer at the displayed position: ("cells", 2, "The server answered 503.").
    `others`: how many more layers are empty."""
    more = f" and {counted(others, 'more layer')} are" if others else " is"
    return f'"{clean(name, 60)}"{more} left empty at this place: {why}'


def fell_back(name: str, advice: str, path: str) -> Problem:
    """Warns that zarrscope does not understand a data type and shows its values as those of its fallback type."""
    return warning(f"The data type {clean(name, 120)} is not understood here. {advice}", path)


def no_view(name: str, built_in: bool) -> str:
    """The reason why a view of another distribution is not shown."""
    why = "a built-in view has this name" if built_in else "it is no View, or its name is not of a-z 0-9 - _"
    return f'The view "{clean(name, 60)}" that a package adds is not shown: {why}'


def no_field(name: str, built_in: bool) -> str:
    """The reason why a form field of another distribution is not used."""
    why = "a built-in form field has this name" if built_in else "it is no FieldEditor with a known editor"
    return f'The form field "{clean(name, 60)}" that a package adds is not used: {why}'


def proposals(label: str, choices: Sequence[str]) -> str:
    """("unit", ("micrometer", "meter")) → "unit: micrometer, meter …": the text above a line of input."""
    return f"{clean(label, 60)}: {clean(', '.join(choices), 120)}" if choices else clean(label, 60)


def no_widget(title: str, error: BaseException) -> str:
    why = clean(scrub(f"{type(error).__name__}: {error}".rstrip(": ")), 300)
    return f'The view "{clean(title, 60)}" cannot be drawn here ({why})'


def warning(text: str, path: str = "", place: str = "") -> Problem:
    """A Problem of severity "warning" that has one sentence only."""
    told = clean(in_applications(text))
    return Problem("warning", told, told, path=path, place=clean(place))
