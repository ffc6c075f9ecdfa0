"""A view as one text to copy, send and paste: "zarrscope:eNqrVi…".

The text is one word of letters, digits, "-" and "_", so that mail, chats and shells do not change it. It contains
compressed JSON, and a checksum that detects a truncated text. Plain JSON is accepted too, so that scripts can write it:

    {"zarrscope": 1, "url": "/data/cells.zarr", "path": "/", "slice": {"index": {"z": 31}}}

image/saved_view.py explains "slice".
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

from zarrscope.errors import Refused

VERSION = 1
SIGN = "zarrscope:"
MOST_CHARACTERS = 1 << 18
MOST_BYTES = 1 << 20
"""The most bytes of a text: a view of a thousand channels needs a tenth of it."""


def is_view(text: str) -> bool:
    """Whether a text has the form of a view; for input lines that accept both views and addresses."""
    start = text.lstrip()[:80]
    return start.startswith(SIGN) or (start.startswith("{") and '"zarrscope"' in text[:MOST_CHARACTERS])


def encode_view(view: Mapping[str, Any]) -> str:
    """A view as text. Raises ValueError for a number that JSON cannot represent (NaN, infinity)."""
    told = json.dumps({"zarrscope": VERSION, **view}, separators=(",", ":"), allow_nan=False)
    return SIGN + base64.urlsafe_b64encode(zlib.compress(told.encode(), 9)).decode().rstrip("=")


def view_as_url(text: str) -> str:
    """The text of a view with the slashes of a URL: napari 0.9 takes every other text for the name of a file."""
    return text.replace(SIGN, f"{SIGN}//", 1)


def decode_view(text: str) -> dict[str, Any]:
    """The view in a text. Its "url" and "path" are checked to be strings, its other members are not checked. Raises
    Refused, with a sentence for a person."""
    if len(text) > MOST_CHARACTERS:
        raise _refused("is too long")
    told = text.strip()
    if told.startswith(SIGN):
        told = _unpacked(
            "".join(told[len(SIGN) :].lstrip("/").split())
        )  # mail programs may have broken the text into lines
    try:
        view = json.loads(told)
    except (ValueError, RecursionError):
        raise _refused("is not a view of zarrscope") from None
    if not isinstance(view, dict) or not isinstance(version := view.get("zarrscope"), int):
        raise _refused("is not a view of zarrscope")
    if version > VERSION:
        raise Refused(
            "This view was copied from a newer zarrscope", advice="Update zarrscope, or ask for the address itself."
        )
    if not isinstance(view.get("url"), str) or not view["url"] or not isinstance(view.setdefault("path", "/"), str):
        raise _refused("names no place")
    return view


def _unpacked(word: str) -> str:
    try:
        packed = base64.b64decode(word + "=" * (-len(word) % 4), altchars=b"-_", validate=True)
        unpacking = zlib.decompressobj()
        told = unpacking.decompress(packed, MOST_BYTES)
        if not unpacking.eof:
            raise ValueError
        return told.decode()
    except (ValueError, zlib.error):
        raise _refused("was cut or changed on its way") from None


def _refused(why: str) -> Refused:
    return Refused(f"This text {why}", advice="Copy the view again, and paste all of it.")
