"""The table of form fields: which value a field stands for, its editor, and the valid texts.

A value uses the first row that fits it: rows for OME-Zarr, then rows of other distributions, then rows for the types of
JSON. Another distribution adds a row of the same form with an entry point:

    [project.entry-points."zarrscope.form_fields"]
    licence = "my_package:LICENCE"

    LICENCE = FieldEditor("licence", "licence", lambda place: place.path == ("license",), "choice",
                          choices=lambda place: ("CC0-1.0", "CC-BY-4.0"))
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Literal, TypeVar

from zarrscope.errors import Unsupported
from zarrscope.model.frozen import frozen
from zarrscope.model.plugins import failing, loaded, registered
from zarrscope.ome.units import UNITS
from zarrscope_app.presenters import strings

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON as JSONValue

Editor = Literal["line", "choice", "check", "colour", "date", "none"]
"""The kinds of editor: a line of text, a line with proposals, yes or no, a colour, a date and time, or none. Each host
has a widget for each kind. A number with the editor "date" is milliseconds since 1970: it is also shown as a date, and
a typed date is converted."""
EDITORS: tuple[Editor, ...] = ("line", "choice", "check", "colour", "date", "none")
MADE = TypeVar("MADE")
_COLOUR = re.compile("[0-9A-Fa-f]{6}")


@frozen
class FieldPlace:
    """A value, the names and positions that lead to it, and all attributes of its node."""

    path: tuple[str, ...]
    value: JSONValue
    attributes: JSONValue

    def beside(self, name: str) -> JSONValue:
        """Another member of the object that contains the value; None if there is none of that name."""
        holder = self.attributes
        for step in self.path[:-1]:
            try:
                holder = holder[int(step)] if isinstance(holder, list) else holder[step]
            except (KeyError, IndexError, ValueError, TypeError):
                return None
        return holder.get(name) if isinstance(holder, Mapping) else None


def _proposes_nothing(place: FieldPlace) -> tuple[str, ...]:
    return ()


def _takes_all(text: str) -> str:
    return ""


@frozen
class FieldEditor:
    """One row of the table. `title` is the field's name for a person; `fits(place)` returns whether the row is for the
    value at `place`."""

    id: str
    title: str
    fits: Callable[[FieldPlace], bool]
    editor: Editor
    choices: Callable[[FieldPlace], tuple[str, ...]] = _proposes_nothing
    """The proposed values; another text may be typed too."""
    check: Callable[[str], str] = _takes_all
    """The reason why a text is refused; "" if it is accepted. The JSON syntax was checked before."""


def _is_axis_member(place: FieldPlace, name: str) -> bool:
    path = place.path
    return len(path) > 3 and path[-1] == name and path[-3] == "axes" and "multiscales" in path


def _is_scale(place: FieldPlace) -> bool:
    path = place.path
    return len(path) > 4 and path[-2] == "scale" and path[-4] == "coordinateTransformations" and _is_number(place.value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_time(place: FieldPlace) -> bool:
    path = place.path
    is_member = len(path) > 3 and path[-4] == "plate" and path[-3] == "acquisitions"
    return is_member and path[-1] in ("starttime", "endtime") and _is_number(place.value)


def _positive(text: str) -> str:
    return "" if float(text) > 0 else strings.NOT_POSITIVE


DOMAIN = (
    FieldEditor(
        "unit",
        strings.FIELDS["unit"],
        lambda place: _is_axis_member(place, "unit") and isinstance(place.value, str),
        "choice",
        choices=lambda place: tuple(UNITS.get(str(place.beside("type")), ())),
    ),
    FieldEditor(
        "axis-type",
        strings.FIELDS["axis-type"],
        lambda place: _is_axis_member(place, "type") and isinstance(place.value, str),
        "choice",
        choices=lambda place: ("space", "time", "channel"),
    ),
    FieldEditor("pixel-size", strings.FIELDS["pixel-size"], _is_scale, "line", check=_positive),
    FieldEditor(
        "colour",
        strings.FIELDS["colour"],
        lambda place: (
            place.path[-1:] == ("color",) and place.path[-3:-2] == ("channels",) and isinstance(place.value, str)
        ),
        "colour",
        check=lambda text: "" if _COLOUR.fullmatch(text) else strings.NOT_A_COLOUR,
    ),
    FieldEditor("date", strings.FIELDS["date"], _is_time, "date"),
)
JSON = (
    FieldEditor("object", "object", lambda place: isinstance(place.value, dict), "none"),
    FieldEditor("list", "list", lambda place: isinstance(place.value, list), "none"),
    FieldEditor("null", "null", lambda place: place.value is None, "none"),
    FieldEditor("bool", "bool", lambda place: isinstance(place.value, bool), "check"),
    FieldEditor("number", "number", lambda place: _is_number(place.value), "line"),
    FieldEditor("text", "text", lambda place: isinstance(place.value, str), "line"),
)
BUILT_IN = {row.id: row for row in (*DOMAIN, *JSON)}
failed: dict[str, Unsupported] = {}
"""Id of a row of another distribution → the error that it raised. Such rows are not called again, and the errors are
listed among the problems."""


@lru_cache(maxsize=1)
def plugged_in() -> tuple[tuple[FieldEditor, ...], tuple[Unsupported, ...]]:
    """The rows of other distributions, and the reasons why some are not used. Imports the distributions, so it must not
    be called on a host's thread."""
    found, faults = [], []
    failed.clear()
    for name in sorted(registered("form_fields")):
        try:
            row = loaded("form_fields", name)
            if not isinstance(row, FieldEditor) or row.editor not in EDITORS or name in BUILT_IN:
                raise Unsupported(strings.no_field(name, name in BUILT_IN), feature=f"form_fields {name}")
            found.append(replace(row, id=name, title=strings.clean(row.title, 40)))
        except Unsupported as fault:
            faults.append(fault)
    return tuple(found), tuple(faults)


def row_for(place: FieldPlace) -> FieldEditor:
    """The first row that fits the value at `place`."""
    for row in DOMAIN:
        if row.fits(place):
            return row
    for row in plugged_in()[0]:
        if row.id not in failed and _ask(row, partial(_fits, row, place), False):
            return row
    return next(row for row in JSON if row.fits(place))


def _fits(row: FieldEditor, place: FieldPlace) -> bool:
    return bool(row.fits(place))  # converted, because a plugin may return anything


def choices_for(row: FieldEditor, place: FieldPlace) -> tuple[str, ...]:
    """The values that the form proposes at a place."""
    return _ask(row, lambda: tuple(strings.clean(str(choice), 120) for choice in row.choices(place)), ())


def refusal(id: str, text: str) -> str:
    """The reason why the row with this `id` refuses a text; "" if the row accepts the text."""
    row = BUILT_IN.get(id) or next((row for row in plugged_in()[0] if row.id == id), None)
    return "" if row is None else _ask(row, lambda: strings.clean(row.check(text), 300), "")


def _ask(row: FieldEditor, act: Callable[[], MADE], otherwise: MADE) -> MADE:
    try:
        return act()
    except Exception as error:
        if row.id in BUILT_IN:
            raise
        failed[row.id] = failing("form_fields", row.id, error)
        return otherwise
