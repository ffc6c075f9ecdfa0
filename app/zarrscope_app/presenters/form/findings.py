"""The faults of attributes, each with its field and its correction. Pure functions.

A correction is offered only if the meaning is unambiguous: "um" for micrometer, "#00f" for a colour of six digits. Each
correction is a row of MENDS: a pattern for the pointers of the findings that it corrects, and a function that returns
the edits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zarrscope.errors import Refused
from zarrscope.jsondoc.pointers import tokens_of
from zarrscope.model.frozen import frozen
from zarrscope.ome.early_versions import early_version
from zarrscope.ome.edits import ChannelEdit, Edit, colour_digits, edit, new_window, set_channel
from zarrscope.ome.metadata import TYPE_OF_NAME, Channel, number
from zarrscope.ome.units import UNITS, unit_name
from zarrscope.ome.violations import Violation
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.sections.model import Subject
from zarrscope_app.presenters.form.sections.shown_channels import ReadChannels
from zarrscope_app.presenters.form.sections.table import sections_of
from zarrscope_app.presenters.form.view_models import FieldFinding

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

MOST = 50
"""The most findings that are listed for one document."""


@frozen
class Mend:
    """A row of the table: the pointers of the findings that it corrects, and a function that returns the edits that
    correct a finding; no edits if the meaning is ambiguous."""

    pointer: re.Pattern[str]
    edits: Callable[[Subject, Violation, Sequence[str]], Sequence[Edit]]
    label: Callable[[Subject, Violation, Sequence[str]], str] | None = None
    """The label of the correction, for edits that read values; "" if none is offered. None: the label is the text of
    the edits."""


def value_at(value: object, pointer: str) -> JSON:
    """The value at a JSON pointer; None if there is none."""
    for token in tokens_of(pointer):
        if isinstance(value, Mapping):
            value = value.get(token)
        elif isinstance(value, list) and token.isdecimal() and int(token) < len(value):
            value = value[int(token)]
        else:
            return None
    return value


def _above(pointer: str) -> str:
    return pointer.rpartition("/")[0]


def _unit(subject: Subject, found: Violation, parts: Sequence[str]) -> Sequence[Edit]:
    axis = value_at(subject.attributes, _above(found.pointer))
    unit, kind = (axis.get("unit"), axis.get("type")) if isinstance(axis, Mapping) else (None, None)
    if not isinstance(unit, str) or not isinstance(kind, str):
        return ()
    meant = next((name for name in (unit_name(unit, kind), _micro(unit)) if name in UNITS.get(kind, ())), unit)
    return [edit(found.pointer, meant)] if meant != unit else ()


def _micro(unit: str) -> str:
    return "micrometer" if unit.strip().lower().rstrip("s") in ("micron", "mikron") else unit


def _type(subject: Subject, found: Violation, parts: Sequence[str]) -> Sequence[Edit]:
    axis = value_at(subject.attributes, _above(found.pointer))
    if not isinstance(axis, Mapping) or "type" in axis:
        return ()
    kind = TYPE_OF_NAME.get(str(axis.get("name")).lower())
    return [edit(found.pointer, kind)] if kind is not None else ()


def _colour(subject: Subject, found: Violation, parts: Sequence[str]) -> Sequence[Edit]:
    held = value_at(subject.attributes, found.pointer)
    try:
        digits = colour_digits(held) if isinstance(held, str) else ""
    except Refused:
        return ()
    return [edit(found.pointer, digits)] if digits else ()


def _window(subject: Subject, found: Violation, parts: Sequence[str]) -> Sequence[Edit]:
    """A channel without a window gets the one that the picture shows; if no value can be read, the range of the data
    type. Waits for the store in the first case."""
    window, limits = value_at(subject.attributes, found.pointer), subject.facts.limits
    if window is None:
        read = subject.facts.shown.read() if subject.facts.shown is not None else None
        made = _stated_window(subject, int(parts[0]), read)
        return [edit(found.pointer, made)] if made is not None else ()
    held: Mapping[str, Any] = window if isinstance(window, Mapping) else {}
    start, end = number(held.get("start")), number(held.get("end"))
    if start is None or end is None:
        return ()
    told = (words.whole(start), words.whole(end))
    try:
        return set_channel(subject.attributes, int(parts[0]), ChannelEdit(window=told), None, limits)
    except Refused:
        return ()


def _stated_window(subject: Subject, channel: int, read: ReadChannels | None) -> Mapping[str, int | float] | None:
    """The window of a channel that states none. `read`: the channels as they were read; None if nothing may be read."""
    seen = read.channels[channel] if read is not None and channel < len(read.channels) else Channel("")
    if seen.window is None and subject.facts.limits is None:
        return None
    return new_window(seen, subject.facts.limits)


def _window_label(subject: Subject, found: Violation, parts: Sequence[str]) -> str:
    if value_at(subject.attributes, found.pointer) is not None:
        edits = _window(subject, found, parts)
        return words.mends([item.text for item in edits]) if edits else ""
    shown, channel = subject.facts.shown, int(parts[0])
    if shown is not None and shown.known is None:
        return words.MEND_FROM_VALUES
    known = shown.known if shown is not None else None
    made = _stated_window(subject, channel, known)
    measured = known is not None and channel < len(known.channels) and known.channels[channel].window is not None
    return words.mends_window(made["start"], made["end"], measured) if made is not None else ""


def _version(subject: Subject, found: Violation, parts: Sequence[str]) -> Sequence[Edit]:
    owner = value_at(subject.attributes, _above(found.pointer))
    version = early_version(subject.attributes) or "0.4"
    return [edit(found.pointer, version)] if isinstance(owner, Mapping) and "version" not in owner else ()


MENDS = (
    Mend(re.compile(r".*/axes/\d+/unit"), _unit),
    Mend(re.compile(r".*/axes/\d+/type"), _type),
    Mend(re.compile(r"(?:/ome)?/omero/channels/\d+/color"), _colour),
    Mend(re.compile(r"(?:/ome)?/omero/channels/(\d+)/window"), _window, _window_label),
    Mend(re.compile(r"/(?:multiscales/\d+|plate|well|image-label)/version"), _version),
)


def mend(subject: Subject, found: Violation) -> Sequence[Edit]:
    """The edits that correct a finding; none if only a person can decide. Waits for the store if `mend_reads` says
    so."""
    for row in MENDS:
        match = row.pointer.fullmatch(found.pointer)
        if match is not None:
            return row.edits(subject, found, match.groups())
    return ()


def mend_reads(subject: Subject, found: Violation) -> bool:
    """Whether the correction of a finding reads values."""
    return _offer(subject, found) == words.MEND_FROM_VALUES


def _offer(subject: Subject, found: Violation) -> str:
    """The label of the correction; "" if only a person can decide. Reads nothing."""
    for row in MENDS:
        match = row.pointer.fullmatch(found.pointer)
        if match is not None and row.label is not None:
            return row.label(subject, found, match.groups())
    edits = mend(subject, found)
    return words.mends([item.text for item in edits]) if edits else ""


def findings_of(subject: Subject, violations: Sequence[Violation]) -> tuple[FieldFinding, ...]:
    """Violations in words: first all violations of a MUST of the specification, then the violations of a SHOULD that
    can be corrected."""
    found = []
    for each in sorted(violations, key=lambda v: v.strength != "must")[:MOST]:
        told = _offer(subject, each)
        sentence = words.finding(each.message, each.pointer)
        found.append(FieldFinding(each.pointer, sentence, each.strength == "must", told, each.advice))
    return tuple(sorted(found, key=lambda each: (not each.wrong, not each.mend)))


# ---------------------------------------------------------------------- the field that a pointer is about
_PLACES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r".*/axes/(\d+)/unit"), "unit/{0}"),
    (re.compile(r".*/axes/(\d+)/(name|type)"), "axis/{0}/{1}"),
    (re.compile(r".*/axes(?:/(\d+))?"), "axis/{0}/name"),
    (re.compile(r".*/omero/channels/(\d+)/(color|label|active)"), "channel/{0}/{1}"),
    (re.compile(r".*/omero/channels/(\d+)(?:/.*)?"), "channel/{0}/start"),
    (re.compile(r".*/multiscales/0/name"), "name"),
    (re.compile(r".*/multiscales/0/metadata/description"), "description"),
    (re.compile(r".*/multiscales/0/.*coordinateTransformations/\d+/scale/(\d+)"), "size/{0}"),
    (re.compile(r".*/multiscales/0/.*coordinateTransformations.*"), "size/0"),
    (re.compile(r".*/image-label/colors/(\d+)(?:/.*)?"), "label/{0}"),
)


def field_of(subject: Subject, pointer: str) -> str:
    """The id of the section's field for the value at a pointer; "" if there is none."""
    known = {field.pointer for section in sections_of(subject) for row in section.rows for field in row.fields}
    for pattern, id in _PLACES:
        match = pattern.fullmatch(pointer)
        if match is not None:
            wanted = id.format(*(part or "0" for part in match.groups()))
            return wanted if wanted in known else ""
    return ""


def nearest(attributes: object, pointer: str) -> str:
    """The pointer itself if `attributes` have a value there, otherwise the nearest pointer above it with a value."""
    while pointer and value_at(attributes, pointer) is None:
        pointer = _above(pointer)
    return pointer


def wrong_texts(errors: Mapping[str, tuple[str, str]]) -> tuple[FieldFinding, ...]:
    """Findings about invalid typed texts. `errors`: field → (text, reason)."""
    return tuple(FieldFinding(id, strings.clean(why, 300), True) for id, (_, why) in errors.items())
