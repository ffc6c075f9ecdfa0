"""Reads numbers as people type them: with a comma, without a leading zero, with a unit. JSON allows none of these."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from zarrscope.ome.pixel_size import spelled
from zarrscope.ome.units import UNITS
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.units import METRES, SECONDS

_TYPED = re.compile(r"(?P<number>[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d{1,3})?)\s*(?P<unit>[^\d\s.,]\S{0,20})?")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
"""A comma that may separate thousands as well as decimals: 1,250."""
_COUNT = re.compile(r"\s*[+-]?(\d+|[1-9]\d{0,2}(,\d{3})+)\s*")
_NAMES = {strings.unit(name): name for names in UNITS.values() for name in names}
"""Symbol of a unit → its name in OME-Zarr."""


def typed_number(text: str, unit: str | None = None) -> str:
    """The number in a typed text, as JSON spells it; the text itself if it has none, or one of doubtful meaning.

    A unit behind the number is understood if it measures the same as `unit`, into which the number is converted:
    "500 nm" is 0.5 where the unit is micrometer.
    """
    number, given = _parts(text)
    own = strings.unit(unit)
    if not number or given == own or not given:
        return number if number and (given == own or not given) else text
    table = next((t for t in (METRES, SECONDS) if given in t and own in t), None)
    if table is None:
        return text
    return spelled(Fraction(number) * Fraction(str(table[given])) / Fraction(str(table[own])), whole=True)


def typed_unit(text: str, type: str) -> tuple[str, str]:
    """(number, name of the unit) of a text such as "0.5 um" for an axis of this type that has no unit yet; ("", "") for
    any other text."""
    number, given = _parts(text)
    name = _NAMES.get(given, given)
    return (number, name) if number and name in UNITS.get(type, ()) else ("", "")


def typed_value(text: str) -> float | None:
    """The finite number in a typed text without a unit; None if it has none, or one of doubtful meaning: 1,250."""
    number, unit = _parts(text)
    value = float(number) if number and not unit else math.nan
    return value if math.isfinite(value) else None


def typed_length(text: str) -> tuple[float, str] | None:
    """(number, symbol of the unit behind it or "") of a typed text; None as in `typed_value`."""
    number, unit = _parts(text)
    return (float(number), unit) if number and math.isfinite(float(number)) else None


def typed_count(text: str) -> int | None:
    """The whole number in a typed text, which may have commas between thousands, as in the texts of sliders."""
    return int(text.replace(",", "")) if _COUNT.fullmatch(text.strip()) else None


def _parts(text: str) -> tuple[str, str]:
    """(number as JSON spells it, symbol of the unit behind it or ""); ("", "") if the text has no clear number."""
    plain = text.strip().replace("\N{MINUS SIGN}", "-").replace("μ", "µ")
    found = _TYPED.fullmatch(plain)
    if found is None or _GROUPED.fullmatch(found["number"]):
        return "", ""
    number = found["number"].replace(",", ".").removeprefix("+")
    number = re.sub(r"^(-?)\.", r"\g<1>0.", number)
    number = re.sub(r"\.(?!\d)", "", number)
    unit = strings.unit(found["unit"]) if found["unit"] else ""
    return (number, "µm" if unit == "um" else unit) if strings.is_number(number) else ("", "")
