"""Times of the CF conventions, which are stored as numbers since a date: "days since 1850-01-01"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from zarrscope_app.presenters import strings

_UNITS = {
    "days": 86_400 * 10**9,
    "hours": 3_600 * 10**9,
    "minutes": 60 * 10**9,
    "seconds": 10**9,
    "milliseconds": 10**6,
    "microseconds": 10**3,
    "nanoseconds": 1,
}
"""Nanoseconds per unit. Months and years are left out, because UDUNITS defines them as parts of a mean year."""
_SHORT = {
    "d": "days", "h": "hours", "hr": "hours", "hrs": "hours", "min": "minutes", "mins": "minutes", "s": "seconds",
    "sec": "seconds", "secs": "seconds", "ms": "milliseconds", "msec": "milliseconds", "msecs": "milliseconds",
    "us": "microseconds", "ns": "nanoseconds",
}  # fmt: skip
_DAY = _UNITS["days"]
_MIXED, _GREGORIAN = ("standard", "gregorian"), ("proleptic_gregorian",)
_FIRST_GREGORIAN = 2_299_161
"""The Julian day number of 1582-10-15, the day after 1582-10-04 in the calendar `standard`."""
_YEARS = range(1, 10_000)
TIME_WIDTH = len("2012-07-31T10:41:12.123456")
"""The number of characters of the longest text of a time whose unit is a microsecond or more."""
_REFERENCE = re.compile(
    r"\s*(?P<unit>[a-zA-Z]+)\s+since\s+(?P<year>\d{1,4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"(?:(?:\s+|T)(?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})(?::(?P<second>\d{1,2}(?:\.\d{0,9})?))?)?)?"
    r"\s*(?P<zone>Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?\s*",
    re.IGNORECASE | re.ASCII,
)


class CfTimes:
    """The times of one array. `text` writes a stored number as a date and time."""

    def __init__(self, unit: int, start: int, mixed: bool, missing: tuple[object, ...]) -> None:
        self._unit, self._start, self._mixed, self._missing = unit, start, mixed, missing

    def text(self, value: object) -> str:
        """12.5 → "1850-01-13T12:00:00"; a number that is no time between the years 1 and 9999, or that the attributes
        call missing, as it is."""
        if not isinstance(value, int | float | np.number) or any(value == missing for missing in self._missing):
            return strings.exact(value)
        number = value.item() if isinstance(value, np.number) else value
        if isinstance(number, complex) or not np.isfinite(float(number)):
            return strings.exact(value)
        since = Fraction(number) * self._unit
        # Floats hold a tenth of a second inexactly: their times are rounded to microseconds, as other readers do.
        step = 1000 if isinstance(number, float) and self._unit >= 1000 else 1
        day, rest = divmod(self._start + round(since / step) * step, _DAY)
        if not 1_721_000 < day < 5_374_000:  # before the year 1, or after 9999
            return strings.exact(value)
        year, month, date = _date(day, self._mixed and day < _FIRST_GREGORIAN)
        if year not in _YEARS:
            return strings.exact(value)
        seconds, rest = divmod(rest, 10**9)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        fraction = f".{rest:09}".rstrip("0") if rest else ""
        return f"{year:04}-{month:02}-{date:02}T{clock}{fraction}"


def cf_times(attributes: Mapping[str, object], dtype: object) -> tuple[CfTimes | None, str]:
    """(the times of an array, ""); (None, the reason) if its `units` name times that are shown as stored; (None, "")
    if the array holds no times of CF."""
    units, calendar = attributes.get("units"), attributes.get("calendar", "standard")
    kind = dtype.kind if isinstance(dtype, np.dtype) else ""
    if kind not in "iuf" or not isinstance(units, str) or " since " not in units or len(units) > 200:
        return None, ""
    found = _REFERENCE.fullmatch(units)
    if found is None:
        return None, _as_stored(f"the units {_quoted(units)} could not be read")
    name = found["unit"].lower()
    unit = _UNITS.get(_SHORT.get(name, name)) or _UNITS.get(f"{name}s")
    if unit is None:
        return None, _as_stored(f"a unit {_quoted(name)} has no fixed length")
    known = calendar.lower() if isinstance(calendar, str) else ""
    if known not in (*_MIXED, *_GREGORIAN):
        return None, _as_stored(f"the calendar {_quoted(calendar)} has other dates than ours")
    if "scale_factor" in attributes or "add_offset" in attributes:
        return None, _as_stored("a scale_factor or an add_offset is to be applied first")
    start = _start(found, known in _MIXED)
    if start is None:
        return None, _as_stored(f"the units {_quoted(units)} name no date of the calendar")
    missing = tuple(attributes[name] for name in ("_FillValue", "missing_value") if name in attributes)
    return CfTimes(unit, start, known in _MIXED, missing), ""


def _as_stored(reason: str) -> str:
    return f"The times are shown as they are stored, as numbers: {reason}."


def _quoted(held: object) -> str:
    return f'"{strings.clean(str(held), 60)}"'


def _start(found: re.Match[str], mixed: bool) -> int | None:
    """The nanoseconds of the reference date since the Julian day 0; None for a date that does not exist."""
    year, month, date = (int(found[part]) for part in ("year", "month", "day"))
    hour, minute, second = int(found["hour"] or 0), int(found["minute"] or 0), Fraction(found["second"] or 0)
    if year not in _YEARS or not 1 <= month <= 12 or hour > 24 or minute > 59 or second >= 60:
        return None
    julian = mixed and (year, month, date) < (1582, 10, 15)
    day = _day(year, month, date, julian)
    if _date(day, julian) != (year, month, date) or (julian and day >= _FIRST_GREGORIAN):
        return None
    zone = (found["zone"] or "Z").upper()
    ahead = 0
    if zone[0] in "+-":
        digits = zone[1:].replace(":", "")
        hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "0")
        ahead = (int(hours) * 60 + int(minutes)) * (-1 if zone[0] == "-" else 1)
    clock = (hour * 60 + minute - ahead) * _UNITS["minutes"] + round(second * 10**9)
    return day * _DAY + clock


def _day(year: int, month: int, date: int, julian: bool) -> int:
    """The Julian day number of a date."""
    early = (14 - month) // 12
    y, m = year + 4800 - early, month + 12 * early - 3
    leap = -32_083 if julian else -(y // 100) + y // 400 - 32_045
    return date + (153 * m + 2) // 5 + 365 * y + y // 4 + leap


def _date(day: int, julian: bool) -> tuple[int, int, int]:
    """(year, month, date) of a Julian day number."""
    if julian:
        century, c = 0, day + 32_082
    else:
        a = day + 32_044
        century = (4 * a + 3) // 146_097
        c = a - 146_097 * century // 4
    d = (4 * c + 3) // 1461
    e = c - 1461 * d // 4
    m = (5 * e + 2) // 153
    return 100 * century + d - 4800 + m // 10, m + 3 - 12 * (m // 10), e - (153 * m + 2) // 5 + 1
