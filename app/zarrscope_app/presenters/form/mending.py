"""Changes to the metadata of images, described in words and applied to documents: for the command line, and for several
images at once.

changes = (pixel_size_change("z=0.5,y=0.108,x=0.108"), unit_change("um"), channel_change("0:name=DAPI,color=00f"))
edited = mended(document, prefix, facts, changes)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from zarrscope.errors import Refused
from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.edits import apply
from zarrscope.model.frozen import frozen
from zarrscope.ome.edits import ChannelEdit, Edit, axes_at, multiscale, set_axis, set_name
from zarrscope.ome.pixel_size import pixel_sizes, set_pixel_sizes
from zarrscope.ome.validate import check
from zarrscope.ome.violations import Violation, stated_version
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.sections.model import NodeFacts, Subject
from zarrscope_app.presenters.form.sections.table import level_notes

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

Asked = Callable[[Subject], Sequence[Edit]]
"""A requested change: a function that returns its edits for one image. Raises Refused if the image has no such axis or
channel."""
_PART = re.compile(r",(?=(?:name|label|color|colour|window|active|shown)=)")
_YES = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def mended(document: Document, prefix: str, facts: NodeFacts, changes: Iterable[Asked]) -> Document:
    """The document with all changes, each applied to the result of the one before it. Raises Refused."""
    for change in changes:
        attributes = document.get(prefix, {})
        document = apply(document, prefix, change(Subject(attributes, facts)))
    return document


# ---------------------------------------------------------------------- requests
def pixel_size_change(text: str) -> Asked:
    """Parses pixel sizes per axis, "z=0.5,y=0.108,x=0.108", into a change. Raises Refused."""
    asked = _pairs(text, words.EXAMPLE_SIZES)

    def change(subject: Subject) -> Sequence[Edit]:
        shape_of = subject.facts.shape_of
        names = [axis.name for axis in pixel_sizes(subject.attributes, 0, shape_of).axes]
        wanted = {_axis(names, name): size for name, size in asked.items()}
        return set_pixel_sizes(subject.attributes, wanted, 0, shape_of)

    return change


def unit_change(text: str) -> Asked:
    """Parses a unit for all axes in space, "um", or units per axis, "z=um,t=s", into a change. Raises Refused."""
    asked = _pairs(text, words.EXAMPLE_UNITS) if "=" in text else None

    def change(subject: Subject) -> Sequence[Edit]:
        axes = pixel_sizes(subject.attributes, 0, subject.facts.shape_of).axes
        names = [axis.name for axis in axes]
        if asked is None:
            wanted = {i: text for i, axis in enumerate(axes) if axis.type == "space"}
        else:
            wanted = {_axis(names, name): unit for name, unit in asked.items()}
        return [edit for i, unit in wanted.items() for edit in set_axis(subject.attributes, 0, i, unit=unit)]

    return change


def axis_change(text: str) -> Asked:
    """Parses a change of an axis, given by name or position: "q:name=z,type=space". Raises Refused."""
    which, _, members = text.partition(":")
    asked = _pairs(members, words.EXAMPLE_AXIS)
    if set(asked) - {"name", "type", "unit"}:
        raise Refused(words.not_understood(text, words.EXAMPLE_AXIS))

    def change(subject: Subject) -> Sequence[Edit]:
        stated = axes_at(subject.attributes)[1]
        names = [str(axis.get("name")) if isinstance(axis, Mapping) else str(axis) for axis in stated]
        return set_axis(subject.attributes, 0, _axis(names, which), **asked)

    return change


def name_change(text: str) -> Asked:
    """A change of the image's name."""
    return lambda subject: set_name(subject.attributes, 0, text)


def channel_change(text: str) -> Asked:
    """Parses a change of a channel: "0:name=DAPI,color=00f,window=100:4000,active=no". Raises Refused."""
    which, parted, members = text.partition(":")
    if not parted or not which.strip().isdecimal():
        raise Refused(words.not_understood(text, words.EXAMPLE_CHANNEL))
    asked = {}
    for part in _PART.split(members):
        name, equals, value = part.partition("=")
        name = {"label": "name", "colour": "color", "shown": "active"}.get(name.strip(), name.strip())
        if not equals or name not in ("name", "color", "window", "active"):
            raise Refused(words.not_understood(part, words.EXAMPLE_CHANNEL))
        asked[name] = value
    start, colon, end = asked.get("window", "").partition(":")
    active = asked.get("active")
    if ("window" in asked and not colon) or (active is not None and active.lower() not in _YES):
        raise Refused(words.not_understood(members, words.EXAMPLE_CHANNEL))
    told = ChannelEdit(
        asked.get("name"),
        asked.get("color"),
        (start, end) if "window" in asked else None,
        None if active is None else _YES[active.lower()],
    )

    def change(subject: Subject) -> Sequence[Edit]:
        multiscale(subject.attributes)  # raises if this is not an image: only images have channels
        return subject.set_channel(int(which), told)

    return change


def _pairs(text: str, example: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = (each.strip() for each in part.partition("="))
        if not equals or not name or not value or name in found:
            raise Refused(words.not_understood(text, example))
        found[name] = value
    return found


def _axis(names: Sequence[str], wanted: str) -> int:
    """The index of an axis, given by name or by number."""
    if wanted in names:
        return names.index(wanted)
    lower = [name.lower() for name in names]
    if lower.count(wanted.lower()) == 1:
        return lower.index(wanted.lower())
    if wanted.isdecimal() and int(wanted) < len(names):
        return int(wanted)
    raise Refused(words.no_axis(wanted, names))


# ---------------------------------------------------------------------- verdicts
@frozen
class Verdict:
    """The result of checking attributes against the OME-Zarr specification."""

    sentence: str
    """ "OME-Zarr 0.5: valid · 1 remark: …"; "" if the attributes contain nothing of OME-Zarr."""
    violations: tuple[Violation, ...] = ()
    summary: str = ""
    """The sentence without the violations: "OME-Zarr 0.5: valid · 1 remark"."""

    @property
    def broken(self) -> tuple[Violation, ...]:
        """The violations of rules that are a MUST."""
        return tuple(each for each in self.violations if each.strength == "must")


def verdict(attributes: JSON, version: str) -> Verdict:
    """Checks attributes against the OME-Zarr specification. Takes long for large ones and imports ome-zarr-models, so
    it must not be called on a host's thread."""
    if not version:
        return Verdict("")
    violations = tuple(check(attributes))
    told = words.judged(version, [(each.strength, each.pointer, each.message) for each in violations])
    errors = sum(each.strength == "must" for each in violations)
    return Verdict(told, violations, words.summed_up(version, errors, len(violations) - errors))


def need_validity(before: object, after: object) -> None:
    """Raises Refused if an edit makes attributes break the OME-Zarr specification in a new way."""
    known = {(each.pointer, each.message) for each in verdict(before, version_of(before)).broken}
    new = [each for each in verdict(after, version_of(after)).broken if (each.pointer, each.message) not in known]
    if new and (known or version_of(before) == version_of(after)):
        raise Refused(words.would_break([each.message for each in new[:3]]), pointer=new[0].pointer)


def followers(attributes: object, facts: NodeFacts) -> list[str]:
    """Sentences that say how the other levels of an image change when the finest one is changed."""
    return level_notes(Subject(attributes, facts))


def version_of(attributes: object) -> str:
    """The OME-Zarr version of attributes; "" if they have none."""
    from zarrscope.ome.early_versions import VERSIONS, early_version
    from zarrscope.ome.metadata import block, multiscales

    if not isinstance(attributes, Mapping):
        return ""
    ome, version, _ = block(attributes)
    if version:
        return version[:3]
    found = multiscales(attributes, "/")
    if found:
        return found[0].version[:3]
    stated = stated_version(ome, VERSIONS) or early_version(ome)  # of an image that cannot be shown
    if stated:
        return stated
    for name in ("plate", "well", "image-label"):
        held = ome.get(name)
        if isinstance(held, Mapping):
            stated = held.get("version")
            return stated[:3] if isinstance(stated, str) else "0.4"
    return ""
