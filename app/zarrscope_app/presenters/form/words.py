"""The words of the form's sections: titles, names of fields, sentences about the consequences of an edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from zarrscope.errors import ZarrscopeError
from zarrscope_app.presenters.advice import capitalised
from zarrscope_app.presenters.form.view_models import Field, Way
from zarrscope_app.presenters.strings import ATTRIBUTES, clean, count, counted, percent, short
from zarrscope_app.presenters.typed_times import EXAMPLE

PIXEL_SIZE = "Pixel size"
PIXEL_SIZES = "pixel sizes"
OFFSET, OFFSETS = "offset", "offsets"
TIME_STEP = "Time step"
IMAGE_NAME = "Name"
DESCRIPTION = "description"
AXES = "Axes"
AXES_ORDER = "Their order cannot be edited: it is that of the axes of the arrays."
CHANNELS = "Channels"
LABELS = "Label colours"
PROPERTIES = "Label properties"
ADD = "add"
NEW_COLOUR = "label that gets a colour"
NEW_COLOUR_HINT = "The number of a label, such as 5: it gets the colour that the picture shows."
NEW_PROPERTY = "new property of a label"
EXAMPLE_PROPERTY = "5: area=12.5"
NEW_PROPERTY_HINT = f"Label, name and value, such as {EXAMPLE_PROPERTY}"
PLATE = "Plate"
WELL = "Well"
SERIES = "Series"
CF = "CF conventions"
DIMENSIONS = "Dimension names"
NAME = "name"
PLATE_NAME = "name of plate"
ACQUISITION = "acquisition"
ACQUISITIONS = "Acquisitions"
FIELD_COUNT = "most fields in a well"
WHOLE_NUMBER = "This must be a whole number, 0 or more."
WHOLE_COUNT = "This must be a whole number, 1 or more."
NO_TIME = f"This is not a date and time. Write it like {EXAMPLE}."
UNIT = "unit"
N5_UNITS = ("nm", "um", "µm", "mm", "m")
"""The names of units that Fiji's plugins write into N5 documents; N5 itself defines no units."""
AXIS_NAME = "name of axis"
AXIS_TYPE = "type of axis"
COLOUR = "colour"
CHANNEL_NAME = "name"
START, END = "contrast from", "contrast to"
SHOWN, HIDDEN = "shown", "hidden"
NO_UNIT = "no unit"
LINKED = "y and x alike"
WAYS: dict[Way, str] = {"image": "Image", "fields": "All fields", "json": "JSON", "document": "Whole document"}
"""The titles of the views of the attributes; see `way_title`."""
FOLDER_HAS_NONE = (
    "This folder has no attributes: each hierarchy in it has its own. Choose one in the tree; several that are "
    "selected there are edited together."
)
SAVE_OR_REVERT = "Save or revert the changes first; then the other view can be shown."
READS_VALUES = "Reading the values from which the contrast of the channels follows …"
READ_ONLY_TYPED = "Opened read-only. Type a new value: Save then opens it for writing and writes it."
WAITS = "Opened read-only. Save opens it for writing and writes the typed text."
WAITING_TEXTS = "Typed, waiting until it is open for writing:"
WAITING_ACTS = "Chosen, waiting until it is open for writing:"
NOT_SAVED = "Not saved, and not kept for the next start:"
NOT_KEPT = "Typed or chosen while this was read-only, not saved and not kept for the next start:"
_CHANGED = "Somebody else changed this meanwhile."
LOOK_FIRST = f"{_CHANGED} Look at the changes, then save again: nothing is written yet."
INVALID_TEXTS = "Typed, not valid:"
CLOSING_WAITS = (
    "Typed texts wait until this is open for writing; closing loses them. Open for writing keeps this open, and Save "
    "then writes them."
)
CLOSING_ACTS_WAIT = (
    "What you chose waits until this is open for writing; closing loses it. Open for writing keeps this open, and Save "
    "then writes it."
)
CLOSING_INVALID = (
    "A typed text is not valid, so that nothing can be saved: cancel and correct it, or discard the changes."
)
CLOSING_ELSEWHERE = (
    "Texts that were typed before this was opened for writing are not applied yet. Cancel and select their nodes to "
    "apply them, or discard them."
)
CLOSING_UNFIT = "The changes cannot be saved now. Cancel to see the reason in the form, or discard them."
ADD_AMONG_ALL = "Members are added, removed and renamed among All fields."


def acts_wait(titles: Sequence[str], *, texts: bool) -> str:
    """The sentence about the actions, and perhaps texts, that wait until a place is open for writing."""
    named = ", ".join(titles)
    if texts:
        waits = f"The typed text and {named} wait until then; only the text is kept for the next start."
    else:
        verb, those = ("waits", "it is") if len(titles) == 1 else ("wait", "they are")
        waits = f"{named} {verb} until then; {those} not kept for the next start."
    return f"Opened read-only. Save opens it for writing and writes the changes. {waits}"


def changed_meanwhile(texts: int) -> str:
    """The sentence about texts that are not applied, because their document is another one by now."""
    if texts < 2:
        return f"{_CHANGED} The text that was typed here while it was read-only waits: select this node to apply it."
    return f"{_CHANGED} {texts} texts that were typed here while it was read-only wait: select this node to apply them."


def way_title(way: Way, meaning: str) -> str:
    """The title of a view of the attributes. `meaning`: that of the view by meaning; "" for an image."""
    return (way == "image" and meaning) or WAYS[way]


def refusal(error: ZarrscopeError, most: int = 0) -> str:
    """The reason why an edit is refused, as a sentence; cut to `most` characters if that is given."""
    return clean(error.message.rstrip("."), most) + "."


def is_not_json(key: str, fault: str) -> str:
    return f"{clean(key, 80)} is not JSON. {fault}"


def not_json(key: str, fault: str, writable: bool) -> str:
    act = "Correct the text, then save it." if writable else "Open for writing to correct the text."
    return f"{is_not_json(key, fault)} {act}"


def fault_elsewhere(key: str) -> str:
    """The sentence over a node's attributes about a fault in another document or member."""
    return f"The fault of this node is in {clean(key, 80)}, not in its attributes."


def show_document(key: str) -> str:
    """The label of the button that shows the faulty document."""
    return f"Show {clean(key.rpartition('/')[2], 80)}"


def still_faulty(key: str, reason: str) -> str:
    """The sentence about a text that is JSON but describes no valid node."""
    return f"{clean(key, 80)} would still be faulty: {clean(reason.rstrip('.'), 300)}."


def not_standard(what: str) -> str:
    """The question before saving values that JSON forbids."""
    return f"{clean(what)}. Other readers may refuse the whole document. Save again to write it nevertheless."


def not_standard_line(what: str) -> str:
    """A line above the review of changes that names the non-standard JSON in the document."""
    return f"! {clean(what)}: other readers may refuse the document"


def confirm(warning: str) -> str:
    return f"{warning} Save once more to write it all the same."


def pixel_size_of(axis: str) -> str:
    return f"pixel size in {clean(axis, 40)}"


def time_step_of(axis: str) -> str:
    return f"time step in {clean(axis, 40)}"


def offset_of(axis: str) -> str:
    """The field of the place of the first pixel along an axis."""
    return f"offset in {clean(axis, 40)}"


def unit_of(axis: str) -> str:
    return f"unit of {clean(axis, 40)}"


def axis(i: int) -> str:
    return f"axis {i}"


def axis_name(i: int) -> str:
    return f"name of axis {i}"


def channel_name(i: int) -> str:
    return f"name of channel {i}"


def at_level(told: str, path: str) -> str:
    """ "pixel size z, level 0"; `path`: that of the level."""
    return f"{told}, level {clean(path, 40)}"


def of_further_image(told: str, place: int) -> str:
    return f"{told}, image {place}"


def axis_type(name: str) -> str:
    return f"type of {clean(name, 40)}"


def channel(i: int) -> str:
    return f"channel {i}"


def colour_of(i: int) -> str:
    return f"colour of channel {i}"


def start_of(i: int) -> str:
    return f"channel {i} contrast from"


def end_of(i: int) -> str:
    return f"channel {i} contrast to"


def shown(i: int) -> str:
    return f"channel {i} visibility"


def label(value: object) -> str:
    return f"label {clean(str(value), 30)}"


def has_colour(value: int) -> str:
    return f"Label {value} has a colour"


def no_label(text: str) -> str:
    return f'"{clean(text, 40)}" is no label of this image: labels are whole numbers that its data type can hold'


def opacity(octet: int) -> str:
    return f"opacity {percent(octet / 255)}"


def acquisition(id: object) -> str:
    return f"acquisition {clean(str(id), 30)}"


def part_of(row: str, name: str) -> str:
    """The label of a field that is repeated in several rows: "acquisition 7: name"."""
    return f"{row}: {name}"


def field(path: str) -> str:
    return f"field {clean(path, 40)}"


def dimension(i: int) -> str:
    return f"dimension {i}"


def name_of_dimension(i: int) -> str:
    """The field of a dimension's name."""
    return f"name of dimension {i}"


def plate(rows: int, columns: int, wells: int) -> str:
    return f"{counted(rows, 'row')} × {counted(columns, 'column')}, {counted(wells, 'well')}."


def well(fields: int) -> str:
    return f"{counted(fields, 'field')}."


WELL_NAMES = "A well has no name of its own in OME-Zarr: it is called by its row and column, such as A/1."
OF_EACH_IMAGE = (
    "Pixel sizes and channels are those of each image: choose one in the tree, or select several there to edit them "
    "together."
)


def coarser(factors: str) -> str:
    return f"This level is coarser by {factors}."


def more_rows(n: int) -> str:
    return f"{count(n)} more: see All fields."


def pixels(n: int, type: str) -> str:
    """(512, "space") → "512 pixels"; (512, "time") → "512 time points"."""
    return counted(n, "time point") if type == "time" else counted(n, "pixel")


def factor(value: Fraction) -> str:
    """A factor between levels: "×2", "×1.99"."""
    return f"×{short(float(value))}"


def followers(names: Sequence[str], factors: Sequence[Sequence[Fraction]], shown: Sequence[int]) -> str:
    """ "Levels 1 to 3 follow: ×2, ×4, ×8 in y and x; ×1 in z." — "" for a pyramid of one level."""
    if len(factors) < 2:
        return ""
    groups: dict[tuple[Fraction, ...], list[str]] = {}
    for axis in shown:
        groups.setdefault(tuple(level[axis] for level in factors[1:]), []).append(clean(names[axis], 40))
    told = [
        f"{_row(row)} in {_and(axes)}"
        for row, axes in sorted(groups.items(), key=lambda item: item[0] == _same(item[0]))
    ]
    few = {2: "Level 1 follows", 3: "Levels 1 and 2 follow"}
    levels = few.get(len(factors), f"Levels 1 to {len(factors) - 1} follow")
    return f"{levels}: {'; '.join(told)}." if told else ""


def _same(row: Sequence[Fraction]) -> tuple[Fraction, ...]:
    return (Fraction(1),) * len(row)


def _row(row: Sequence[Fraction]) -> str:
    return factor(row[0]) if len(set(row)) == 1 else ", ".join(factor(each) for each in row)


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def doubtful(path: str, axis: str, stated: Fraction, true: Fraction) -> str:
    return (
        f"Level {clean(path, 40)} states {factor(stated)} in {clean(axis, 40)}, its shape implies {factor(true)}: "
        "typing a size corrects it."
    )


def becomes_04(version: str) -> str:
    return f"OME-Zarr {clean(version, 10)} cannot state pixel sizes: setting one makes this an image of 0.4."


def no_pixel_size(problem: str) -> str:
    return f"The pixel size cannot be given as one number. {clean(problem)}."


def further_images(n: int) -> str:
    return f"{counted(n, 'further image')} of this group: see All fields."


def levels(n: int) -> str:
    return f"{count(n)} levels"


# ---------------------------------------------------------------------- requested changes
EXAMPLE_SIZES = "z=0.5,y=0.108,x=0.108"
EXAMPLE_UNITS = "um, or z=um,t=s"
EXAMPLE_AXIS = "z:name=z,type=space,unit=um"
EXAMPLE_CHANNEL = "0:name=DAPI,color=00f,window=100:4000,active=yes"


def not_understood(text: str, example: str) -> str:
    return f'"{clean(text, 80)}" is not understood. Write it like {example}'


def no_axis(wanted: str, names: Sequence[str]) -> str:
    told = ", ".join(clean(name, 40) for name in names) or "none"
    return f'There is no axis "{clean(wanted, 40)}": the image has {told}'


# ---------------------------------------------------------------------- verdicts of the specification
MOST_REMARKS = 3


def judged(version: str, findings: Sequence[tuple[str, str, str]]) -> str:
    """The verdict in one line: "OME-Zarr 0.5: valid · 1 remark: the unit should be … (/ome/…)"."""
    broken = [each for each in findings if each[0] == "must"]
    told = broken or list(findings)
    head = f"OME-Zarr {clean(version, 10)}: {counted(len(broken), 'error') if broken else 'valid'}"
    if not told:
        return f"{head}."
    remarks = "; ".join(f"{clean(message, 160)} ({clean(pointer, 120)})" for _, pointer, message in told[:MOST_REMARKS])
    more = f"; and {len(told) - MOST_REMARKS} more" if len(told) > MOST_REMARKS else ""
    return f"{head}{'' if broken else ' · ' + counted(len(told), 'remark')}: {remarks}{more}."


def summed_up(version: str, errors: int, remarks: int) -> str:
    """The verdict with the numbers of findings: "OME-Zarr 0.5: valid · 2 remarks"."""
    head = f"OME-Zarr {clean(version, 10)}: {counted(errors, 'error') if errors else 'valid'}"
    return head + (f" · {counted(remarks, 'remark')}" if remarks else "")


def finding(message: str, pointer: str) -> str:
    """A finding with its pointer: "the unit should be a unit of space (/ome/multiscales/0/axes/1/unit)"."""
    return f"{capitalised(clean(message, 240))}{f' ({clean(pointer, 160)})' if pointer else ''}"


def mends(texts: Sequence[str]) -> str:
    """The label of the button that makes the corrections: "Mend: "micrometer""."""
    return f"Mend: {clean(', '.join(texts), 40)}"


MEND_FROM_VALUES = "Mend: contrast from the coarsest level"
NO_WINDOW_FOUND = "No value could be read, and the data type has no range: type the contrast"


def mends_window(start: float, end: float, measured: bool) -> str:
    """The label of the button that states a contrast window: "Mend: contrast 104 to 1999"."""
    told = f"Mend: contrast {short(start)} to {short(end)}"
    return told if measured else f"{told}, the range of the data type"


def whole(value: float) -> str:
    """A number as JSON: 4095, 0.25."""
    return str(int(value)) if value == int(value) else repr(float(value))


def windows_added(channels: int, level: int, problem: str) -> str:
    """The sentence about contrast windows that an edit added. `problem`: the reason why the values could not be
    read."""
    if problem:
        told = f"Window of {counted(channels, 'channel')} from the range of the data type"
        return f"{told}, because the values could not be read: {clean(problem.rstrip('.'), 200)}."
    return f"Window of {counted(channels, 'channel')} from the values of level {level}."


def would_break(findings: Sequence[str]) -> str:
    told = "; ".join(clean(each, 160) for each in findings)
    return f"This edit would break the OME-Zarr specification: {told}"


# ---------------------------------------------------------------------- several nodes
NOTHING_IN_COMMON = "None of the selected nodes states an image, labels, a plate or a known convention."
NOTES_DIFFER = "The consequences differ: select one of the nodes to see them."


def attributes_of(n: int) -> str:
    """The title of the tab: "Attributes of 3"."""
    return f"{ATTRIBUTES} of {count(n)}"


def values(n: int) -> str:
    return counted(n, "value")


def in_some(stating: int, of: int) -> str:
    """How many of several nodes have a value: "in 2 of 3"; "" if all have one."""
    return "" if stating == of else f"in {count(stating)} of {count(of)}"


def of_node(path: str, said: str) -> str:
    return f"{clean(path, 80)}: {said}"


def reading(n: int) -> str:
    return f"Reading {counted(n, 'document')} …"


def several(n: int, left_out: int, unread: int) -> str:
    told = f"{counted(n, 'node')} at once: a typed value is set in all of them." if n > 1 else "1 node."
    if left_out:
        told += f" {counted(left_out, 'other selected node')} {'has' if left_out == 1 else 'have'} no such fields."
    return told + (f" {count(unread)} more could not be read." if unread else "")


def changes_in(changes: int, documents: int) -> str:
    return f"{counted(changes, 'change')} in {counted(documents, 'document')}"


def judged_all(verdicts: Mapping[str, tuple[str, bool]]) -> str:
    """The verdicts on several nodes as one text; `verdicts`: path → (verdict, whether rules are broken)."""
    told = {sentence for sentence, _ in verdicts.values() if sentence}
    if not told:
        return ""
    if len(told) == 1:
        return told.pop() if len(verdicts) == 1 else f"All {count(len(verdicts))}: {told.pop()}"
    worst = sorted(verdicts.items(), key=lambda item: not item[1][1])
    first = [of_node(path, sentence) for path, (sentence, _) in worst if sentence][:MOST_REMARKS]
    broken = sum(each for _, each in verdicts.values())
    head = f"{count(broken)} of {count(len(verdicts))} with errors." if broken else ""
    return " ".join(part for part in (head, *first) if part)


def nothing_matches(pattern: str) -> str:
    return f'No node matches "{clean(pattern, 80)}": write names between slashes, * for any name, ** for any depth'


def too_many_match(pattern: str, most: int) -> str:
    return f'More than {count(most)} nodes match "{clean(pattern, 80)}": choose fewer at once'


LONG = 80
"""Texts of more characters, and texts of several lines, are shown in a pane of their own."""


def long_value(field: Field) -> str:
    """The heading of the pane for a long text: "/note · 1,204 characters, 12 lines"; "" if the row of the field shows
    the text completely."""
    lines = field.text.count("\n") + 1
    if field.kind != "text" or (len(field.text) <= LONG and lines == 1):
        return ""
    many = f", {counted(lines, 'line')}" if lines > 1 else ""
    return f"{clean(field.pointer, 120)} · {counted(len(field.text), 'character')}{many}"


def writes(document: str, nbytes: int, before: int) -> str:
    """The line above the changes of a document: "# zarr.json: saving writes 1,240 bytes, 6 more than are stored"."""
    more = nbytes - before
    change = f", {counted(abs(more), 'byte')} {'more' if more > 0 else 'fewer'} than are stored" if more else ""
    return f"# {document}: saving writes {counted(nbytes, 'byte')}{change}"


def writes_in_all(documents: int, nbytes: int) -> str:
    return f"# In all, saving writes {counted(nbytes, 'byte')} in {counted(documents, 'document')}"
