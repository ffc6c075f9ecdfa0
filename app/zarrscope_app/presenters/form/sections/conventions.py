"""Sections for conventions of other programs: CF, names of dimensions (xarray, netCDF), resolutions of N5 (Fiji,
BigDataViewer)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypeGuard

from zarrscope.errors import Refused
from zarrscope.jsondoc.pointers import BESIDE
from zarrscope.ome.edits import Edit, edit
from zarrscope.ome.pixel_size import positive
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.pointer_names import NAMES
from zarrscope_app.presenters.form.sections.members import SectionMember, kind_of, mapping_at, member_section
from zarrscope_app.presenters.form.sections.model import Subject

CF_OF_ARRAYS = (
    "long_name", "standard_name", "units", "calendar", "scale_factor", "add_offset", "valid_min", "valid_max", "axis",
    "positive", "cell_methods", "grid_mapping", "comment",
)  # fmt: skip
ARRAY_DIMENSIONS = "_ARRAY_DIMENSIONS"
"""The attribute by which xarray names dimensions in Zarr v2."""
CF_OF_GROUPS = ("title", "institution", "source", "history", "references", "comment")
_SIGNS = {"long_name", "standard_name", "units", "scale_factor", "add_offset"}


def _top(subject: Subject) -> Mapping[str, Any]:
    return subject.attributes if isinstance(subject.attributes, Mapping) else {}


def _cf(subject: Subject) -> list[SectionMember]:
    """The members of the CF section: of an array that has a member typical of CF, or of a group whose `Conventions`
    name CF."""
    top = _top(subject)
    names: tuple[str, ...] = CF_OF_ARRAYS
    if subject.facts.kind == "group":
        if not str(top.get("Conventions", "")).startswith("CF"):
            return []
        names = CF_OF_GROUPS
    elif not _SIGNS & top.keys() or _resolutions(subject):
        return []
    return [SectionMember(name, name, f"/{name}", top[name]) for name in names if kind_of(top.get(name)) is not None]


def _dimensions(subject: Subject) -> list[SectionMember]:
    """The names beside the attributes (Zarr v3), which may be missing or null, and those in `_ARRAY_DIMENSIONS`."""
    rank, stated = subject.facts.named_axes, subject.names
    found = []
    if stated is None or (isinstance(stated, list) and len(stated) == rank):
        names = [None] * rank if stated is None else stated
        for i, name in enumerate(names):
            if name is None or isinstance(name, str):
                edits = partial(_name_edits, stated is not None, names, i)
                found.append(SectionMember(str(i), words.dimension(i), f"{BESIDE}{NAMES}/{i}", name, edits=edits))
    return [*found, *_attributed_dimensions(subject, bool(found))]


def _name_edits(stated: bool, names: Sequence[str | None], i: int, text: str) -> list[Edit]:
    """The edits that name a dimension; an empty text removes its name. The first name adds null for the others."""
    name = text or None
    if stated:
        return [edit(f"{BESIDE}{NAMES}/{i}", name)]
    return [] if name is None else [edit(BESIDE + NAMES, [*names[:i], name, *names[i + 1 :]])]


def _attributed_dimensions(subject: Subject, beside: bool) -> list[SectionMember]:
    title = ARRAY_DIMENSIONS if beside else ""
    names = _top(subject).get(ARRAY_DIMENSIONS)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return []
    return [
        SectionMember(str(i), title or words.dimension(i), f"/{ARRAY_DIMENSIONS}/{i}", name, title=title)
        for i, name in enumerate(names)
    ]


def _resolutions(subject: Subject) -> list[SectionMember]:
    """`resolution` and `units` of N5 viewer, `offset` of Paintera, `pixelResolution` of BigDataViewer and Fiji: x
    first, as in N5."""
    top = _top(subject)
    axes = held if isinstance(held := top.get("axes"), list) else []
    found = []
    nested = mapping_at(top, "pixelResolution")
    lists = (
        ("/resolution", top.get("resolution")),
        ("/pixelResolution/dimensions", None if nested is None else nested.get("dimensions")),
        ("/pixelResolution", top.get("pixelResolution")),
    )
    for pointer, sizes in lists:
        if not _are_numbers(sizes):
            continue
        for i, size in enumerate(sizes):
            row = axes[i] if i < len(axes) and isinstance(axes[i], str) else _axis(i, len(sizes))
            found.append(SectionMember(row, words.pixel_size_of(row), f"{pointer}/{i}", size, check=size_fault))
            units = top.get("units")
            if pointer == "/resolution" and isinstance(units, list) and i < len(units) and isinstance(units[i], str):
                found.append(SectionMember(row, words.unit_of(row), f"/units/{i}", units[i], choices=words.N5_UNITS))
            offsets = top.get("offset")
            if pointer == "/resolution" and _are_numbers(offsets) and len(offsets) == len(sizes):
                found.append(SectionMember(row, words.offset_of(row), f"/offset/{i}", offsets[i]))
    if nested is not None and isinstance(nested.get("unit"), str) and found:
        found.append(
            SectionMember(words.UNIT, words.UNIT, "/pixelResolution/unit", nested["unit"], choices=words.N5_UNITS)
        )
    return found


def _are_numbers(held: object) -> TypeGuard[list[float]]:
    return isinstance(held, list) and 0 < len(held) <= 5 and all(kind_of(size) == "number" for size in held)


def _axis(i: int, rank: int) -> str:
    return "xyz"[i] if rank == 3 or (rank == 2 and i < 2) else str(i)


def size_fault(text: str) -> str:
    """The reason why a text is no pixel size; "" if it is one."""
    try:
        positive(text)
    except Refused as error:
        return error.message
    return ""


def _resolution_notes(subject: Subject) -> list[str]:
    factors = _top(subject).get("downsamplingFactors")
    if not _resolutions(subject) and not _are_numbers(factors):
        return []
    return [words.coarser(", ".join(strings.exact(f) for f in factors))] if _are_numbers(factors) else []


CF = member_section("cf", words.CF, _cf)
DIMENSIONS = member_section("dimension", words.DIMENSIONS, _dimensions)
RESOLUTION = member_section("resolution", words.PIXEL_SIZE, _resolutions, _resolution_notes)
