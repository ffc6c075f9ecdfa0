"""Name, description, axes and channels of an OME-Zarr image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zarrscope.ome.edits import ChannelEdit, Edit, axes_at, multiscale, new_window, set_axis, set_description, set_name
from zarrscope.ome.metadata import Channel, block
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.sections.model import MOST_ROWS, Section, Subject, is_image, make_field
from zarrscope_app.presenters.form.sections.shown_channels import listed_channels
from zarrscope_app.presenters.form.view_models import Field, FormRow
from zarrscope_app.presenters.typed_numbers import typed_number


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


# ---------------------------------------------------------------------- name
def _name_rows(subject: Subject) -> list[FormRow]:
    if not is_image(subject):
        return []
    name = multiscale(subject.attributes).get("name")
    rows = [FormRow(words.NAME, (make_field("name", words.NAME, _text(name), words.NAME),), "")]
    described = _described(subject)
    if described is not None:
        field = make_field("description", words.DESCRIPTION, described, words.DESCRIPTION)
        rows.append(FormRow(words.DESCRIPTION, (field,), ""))
    return rows


def _described(subject: Subject) -> str | None:
    """The description of the image; None if its `metadata` can hold none, or hold one that is no text."""
    metadata = multiscale(subject.attributes).get("metadata")
    held = metadata.get("description") if isinstance(metadata, Mapping) else None
    fits = (metadata is None or isinstance(metadata, Mapping)) and (held is None or isinstance(held, str))
    return (held or "") if fits else None


def _name_edits(subject: Subject, parts: Sequence[str], text: str) -> list[Edit]:
    if parts[0] == "description":
        return set_description(subject.attributes, 0, text) if text or _described(subject) else []
    return set_name(subject.attributes, 0, text)


def _name_notes(subject: Subject) -> list[str]:
    more = len(block(subject.attributes)[0]["multiscales"]) - 1 if is_image(subject) else 0
    return [words.further_images(more)] if more > 0 else []


# ---------------------------------------------------------------------- axes
def _axis_rows(subject: Subject) -> list[FormRow]:
    if not is_image(subject):
        return []
    rows = []
    for i, axis in enumerate(axes_at(subject.attributes)[1][:MOST_ROWS]):
        if isinstance(axis, Mapping):
            name = _text(axis.get("name"))
            rows.append(
                FormRow(
                    str(i),
                    (
                        make_field(f"axis/{i}/name", words.axis(i), name, words.AXIS_NAME),
                        make_field(
                            f"axis/{i}/type",
                            words.axis_type(name),
                            _text(axis.get("type")),
                            words.AXIS_TYPE,
                            editor="choice",
                            choices=("space", "time", "channel"),
                        ),
                    ),
                    "",
                )
            )
    return rows


def _axis_edits(subject: Subject, parts: Sequence[str], text: str) -> list[Edit]:
    if parts[2] == "name":
        return set_axis(subject.attributes, 0, int(parts[1]), name=text)
    return set_axis(subject.attributes, 0, int(parts[1]), type=text)


# ---------------------------------------------------------------------- channels
def _channel_rows(subject: Subject) -> list[FormRow]:
    if not is_image(subject):
        return []
    listed = listed_channels(subject.attributes)
    if not listed and subject.facts.channels < 2:
        return []
    count = min(max(len(listed), subject.facts.channels), MOST_ROWS)
    return [FormRow(str(i), _channel(i, listed[i] if i < len(listed) else None), "") for i in range(count)]


def _channel(i: int, held: object) -> tuple[Field, ...]:
    channel: Mapping[str, Any] = held if isinstance(held, Mapping) else {}
    stated = channel.get("window")
    window: Mapping[str, Any] = stated if isinstance(stated, Mapping) else {}
    shown, told = ("false", words.HIDDEN) if channel.get("active") is False else ("true", words.SHOWN)
    at = f"channel/{i}"
    return (
        make_field(f"{at}/color", words.colour_of(i), _text(channel.get("color")), words.COLOUR, editor="colour"),
        make_field(f"{at}/label", words.channel(i), _text(channel.get("label")), words.CHANNEL_NAME),
        make_field(f"{at}/start", words.start_of(i), _number(window.get("start")), words.START, kind="number"),
        make_field(f"{at}/end", words.end_of(i), _number(window.get("end")), words.END, kind="number"),
        make_field(f"{at}/active", words.shown(i), shown, words.SHOWN, kind="bool", editor="check", summary=told),
    )


def _number(value: object) -> str:
    return strings.exact(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _channel_edits(subject: Subject, parts: Sequence[str], text: str) -> list[Edit]:
    channel, member = int(parts[1]), parts[2]
    if member == "label":
        change = ChannelEdit(label=text)
    elif member == "color":
        change = ChannelEdit(color=text)
    elif member == "active":
        change = ChannelEdit(active=text.strip().lower() == "true")
    else:
        change = ChannelEdit(window=_ends(subject, channel, member, typed_number(text)))
    return subject.set_channel(channel, change)


def _ends(subject: Subject, channel: int, member: str, text: str) -> tuple[str, str]:
    """(start, end) of the contrast window after `text` was typed for one of them. The other one keeps its value; if it
    has none, it gets the end that the picture shows."""
    fields = {field.pointer.rpartition("/")[2]: field.text for field in _channel_rows(subject)[channel].fields}
    ends = {"start": fields["start"], "end": fields["end"], member: text}
    if not (ends["start"] and ends["end"]):
        shown = subject.facts.shown.read().channels if subject.facts.shown is not None else ()
        window = new_window(shown[channel] if channel < len(shown) else Channel(""), subject.facts.limits)
        ends = {end: typed or words.whole(window[end]) for end, typed in ends.items()}
    return ends["start"], ends["end"]


IMAGE = Section(
    "image",
    words.IMAGE_NAME,
    _name_rows,
    _name_edits,
    _name_notes,
    first_parts=("name", "description"),
    of_images=True,
)


def _axis_notes(subject: Subject) -> list[str]:
    return [words.AXES_ORDER] if _axis_rows(subject) else []


AXES = Section("axes", words.AXES, _axis_rows, _axis_edits, _axis_notes, first_parts=("axis",), of_images=True)
CHANNELS = Section("channels", words.CHANNELS, _channel_rows, _channel_edits, first_parts=("channel",), of_images=True)
