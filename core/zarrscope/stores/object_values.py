"""Ranges, versions and headers of values in buckets, as obstore takes and returns them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zarrscope.model.storage import ByteRange, Version
from zarrscope.stores.body import FIRST, begins_as_page

if TYPE_CHECKING:
    from obstore import ObjectMeta

_LONGEST = 1 << 40
"""An offset beyond the end of every value."""


def is_page(attributes: Mapping[str, Any], key: str) -> bool:
    """Whether the response is labelled as a web page, though the key does not end in .html or .htm."""
    said = str(attributes.get("Content-Type", "")).lower()
    return said.startswith("text/html") and not key.lower().endswith((".html", ".htm"))


def is_doubtful(value: memoryview, part: ByteRange | None, limit: int | None) -> bool:
    """Whether the headers of the response must be examined: the value is too long, or may be a web page."""
    if limit is not None and len(value) > limit:
        return True
    return (part is None or part.start == 0) and begins_as_page(bytes(value[:FIRST]))


def bounds(part: ByteRange | None, limit: int | None) -> tuple[int, int]:
    """(offset of the first byte to read, offset after the last one). They are equal if the range depends on the size of
    the value."""
    if part is None:
        return 0, _LONGEST if limit is None else limit + 1
    if part.start is None:
        return 0, 0
    return part.start, _LONGEST if part.length is None else part.start + part.length


def range_option(part: ByteRange) -> Any:
    """The part as obstore's option `range`."""
    if part.start is None:
        return {"suffix": part.length or 0}
    return {"offset": part.start} if part.length is None else (part.start, part.start + part.length)


def within(part: ByteRange, size: int) -> ByteRange:
    """The part of a value of this size, as a range from its start."""
    start, stop = part.span(size)
    return ByteRange(start, stop - start)


def version_of(meta: ObjectMeta) -> Version:
    """The version of a value: its e-tag and its generation, as one text."""
    return Version(f"{meta.get('e_tag') or ''}\n{meta.get('version') or ''}")


def conditions(version: Version) -> dict[str, str]:
    """The version as the condition of a put."""
    e_tag, _, generation = version.token.partition("\n")
    return {**({"e_tag": e_tag} if e_tag else {}), **({"version": generation} if generation else {})}
