"""Times of OME-Zarr, which are stored as milliseconds since 1970, as dates that people read and type."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from zarrscope_app.presenters import strings

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LEAST = 10**11
"""Smaller numbers, which would be times before March 1973, are probably seconds: they are not shown as dates."""
_MOST = 253402300799999
"""The last millisecond of the year 9999, after which dates have no text in ISO 8601."""
EXAMPLE = "2012-07-31T10:41:12Z"


def time_text(milliseconds: object) -> str:
    """1343731272000 → "2012-07-31T10:41:12Z"; "" for a value that is no time between 1973 and 9999."""
    if not isinstance(milliseconds, int | float) or isinstance(milliseconds, bool):
        return ""
    if not _LEAST <= milliseconds <= _MOST or milliseconds != int(milliseconds):
        return ""
    found = _EPOCH + int(milliseconds) * _MILLISECOND
    return found.isoformat(timespec="milliseconds" if found.microsecond else "seconds").replace("+00:00", "Z")


def typed_time(text: str) -> str:
    """The milliseconds of a date and time in ISO 8601, which is UTC unless it states another zone; the text itself if
    it is none, such as a number."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return text
    if strings.is_number(text.strip()):
        return text  # "20120731" is a number of milliseconds, because such fields hold numbers
    try:
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except OverflowError:
        return text
    return str((found - _EPOCH) // _MILLISECOND)
