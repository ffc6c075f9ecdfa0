"""Pixel sizes, time steps and their units: one number and one unit for each axis, kept consistent over all levels of
the pyramid.

The time step has a section of its own: in OME-Zarr it comes first, and a person who goes to the first pixel size and
types would change it instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from zarrscope.ome.edits import Edit, set_axis
from zarrscope.ome.pixel_size import PixelSizes, pixel_sizes, set_pixel_sizes, spelled
from zarrscope.ome.units import UNITS
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.sections.model import Section, Subject, is_image, make_field
from zarrscope_app.presenters.form.view_models import FormRow
from zarrscope_app.presenters.typed_numbers import typed_number, typed_unit

PLANE = ("y", "x")


def _sizes(subject: Subject) -> PixelSizes | None:
    if not is_image(subject):
        return None
    return pixel_sizes(subject.attributes, 0, subject.facts.shape_of)


def _plane(sizes: PixelSizes) -> tuple[int, ...]:
    """The axes y and x, if both exist."""
    found = [[axis.name.lower() for axis in sizes.axes].index(name) for name in PLANE if name in _names(sizes)]
    return tuple(found) if len(found) == 2 else ()


def _names(sizes: PixelSizes) -> list[str]:
    return [axis.name.lower() for axis in sizes.axes]


def is_linked(subject: Subject, sizes: PixelSizes) -> bool:
    """Whether a size typed for y also applies to x: as the person chose, else if both are equal."""
    plane = _plane(sizes)
    if not plane:
        return False
    equal = sizes.sizes[plane[0]] == sizes.sizes[plane[1]]
    return equal if subject.linked is None else subject.linked


def _rows(subject: Subject) -> list[FormRow]:
    sizes = _sizes(subject)
    if sizes is None or sizes.problem:
        return []
    rows = _size_rows(subject, sizes, _shown(sizes))
    if _plane(sizes):
        linked = "true" if is_linked(subject, sizes) else "false"
        rows.append(
            FormRow("", (make_field("linked", words.LINKED, linked, words.LINKED, kind="bool", editor="check"),), "")
        )
    return rows


def _time_rows(subject: Subject) -> list[FormRow]:
    sizes = _sizes(subject)
    return [] if sizes is None or sizes.problem else _size_rows(subject, sizes, _times(sizes))


def _size_rows(subject: Subject, sizes: PixelSizes, shown: Sequence[int]) -> list[FormRow]:
    """A row for each of these axes."""
    rows = []
    for i in shown:
        axis, size = sizes.axes[i], sizes.sizes[i]
        title = words.time_step_of(axis.name) if axis.type == "time" else words.pixel_size_of(axis.name)
        number = make_field(f"size/{i}", axis.name, "" if size is None else _text(size), title, kind="number")
        fields = [number]
        if not sizes.upgrades:
            choices = UNITS.get(axis.type, ())
            told = strings.unit(axis.unit)
            fields.append(
                make_field(
                    f"unit/{i}",
                    words.unit_of(axis.name),
                    axis.unit or "",
                    words.unit_of(axis.name),
                    editor="choice",
                    choices=_common_first(choices, axis.type),
                    summary=strings.joined(axis.unit or words.NO_UNIT, told if told != axis.unit else ""),
                )
            )
        rows.append(FormRow(strings.clean(axis.name, 60), tuple(fields), _extent(subject, sizes, i)))
    return rows


def _text(size: Fraction) -> str:
    return spelled(size, whole=True)


_COMMON = {
    "space": ("nanometer", "micrometer", "millimeter", "centimeter", "meter", "angstrom"),
    "time": ("microsecond", "millisecond", "second", "minute", "hour"),
}


def _common_first(units: Sequence[str], type: str) -> tuple[str, ...]:
    first = _COMMON.get(type, ())
    return (*first, *(unit for unit in units if unit not in first))


def _extent(subject: Subject, sizes: PixelSizes, axis: int) -> str:
    """The length of the image along an axis: "512 pixels, 55.3 µm"."""
    shape = subject.facts.shape_of(sizes.paths[0]) if sizes.paths else None
    if shape is None or len(shape) != len(sizes.axes):
        return ""
    size = sizes.sizes[axis]
    pixels = words.pixels(shape[axis], sizes.axes[axis].type)
    unit = sizes.axes[axis].unit
    # Without a physical unit, the length would only repeat the number of pixels.
    measured = size is not None and unit and unit != "pixel"
    return strings.joined(pixels, strings.length(float(size * shape[axis]), unit) if measured and size else "")


def _edits(subject: Subject, parts: Sequence[str], text: str) -> list[Edit]:
    sizes = _sizes(subject)
    if sizes is None:
        return []
    axis = int(parts[1])
    if parts[0] == "unit":
        return set_axis(subject.attributes, 0, axis, unit=text)
    plane = _plane(sizes)
    together = plane if axis in plane and is_linked(subject, sizes) else (axis,)
    number, named = typed_number(text, sizes.axes[axis].unit), ""
    if not sizes.axes[axis].unit and not sizes.upgrades and (with_unit := typed_unit(text, sizes.axes[axis].type))[1]:
        number, named = with_unit
    edits = set_pixel_sizes(subject.attributes, dict.fromkeys(together, number), 0, subject.facts.shape_of)
    for each in together if named else ():
        if not sizes.axes[each].unit:
            edits = [*edits, *set_axis(subject.attributes, 0, each, unit=named)]
    return edits


def takes(subject: Subject, parts: Sequence[str], text: str) -> bool:
    """Whether a text can be typed for the size along an axis: a number, which may have a unit."""
    sizes = _sizes(subject)
    if sizes is None:
        return False
    axis = sizes.axes[int(parts[1])]
    return strings.is_number(typed_number(text, axis.unit)) or bool(not axis.unit and typed_unit(text, axis.type)[1])


def _notes(subject: Subject) -> list[str]:
    sizes = _sizes(subject)
    if sizes is None:
        return []
    if sizes.problem:
        return [words.no_pixel_size(sizes.problem)]
    notes = [_followers(sizes, _shown(sizes)), *_doubtful(sizes, _shown(sizes))]
    if sizes.upgrades:
        notes.append(words.becomes_04(sizes.upgrades))
    return [note for note in notes if note]


def _time_notes(subject: Subject) -> list[str]:
    """How the other levels follow, only if some of them have fewer time points: that is rare."""
    sizes = _sizes(subject)
    if sizes is None or sizes.problem:
        return []
    times = _times(sizes)
    scaled = any(level[i] != 1 for level in sizes.factors for i in times)
    return [note for note in (_followers(sizes, times) if scaled else "", *_doubtful(sizes, times)) if note]


def _followers(sizes: PixelSizes, shown: Sequence[int]) -> str:
    return words.followers([axis.name for axis in sizes.axes], sizes.factors, shown)


def _doubtful(sizes: PixelSizes, shown: Sequence[int]) -> list[str]:
    return [
        words.doubtful(sizes.paths[level], sizes.axes[axis].name, stated, sizes.factors[level][axis])
        for level, axis, stated in [each for each in sizes.doubtful if each[1] in shown][:3]
    ]


def _shown(sizes: PixelSizes) -> tuple[int, ...]:
    """The axes that have a pixel size."""
    return tuple(i for i, axis in enumerate(sizes.axes) if axis.type not in ("channel", "time"))


def _times(sizes: PixelSizes) -> tuple[int, ...]:
    """The axes that have a time step."""
    return tuple(i for i, axis in enumerate(sizes.axes) if axis.type == "time")


PIXELS = Section(
    "pixels",
    words.PIXEL_SIZE,
    _rows,
    _edits,
    _notes,
    first_parts=("size", "unit", "linked"),
    of_images=True,
    tells_levels=True,
)
TIME_STEP = Section(
    "time",
    words.TIME_STEP,
    _time_rows,
    _edits,
    _time_notes,
    first_parts=("size", "unit"),  # of the axis of time; both sections make the same edits
    of_images=True,
    tells_levels=True,
)
