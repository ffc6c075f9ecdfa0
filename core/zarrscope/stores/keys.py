"""Checks of keys and prefixes (spec F.8, B "Valid keys") and of the size of values."""

from __future__ import annotations

import re
from collections.abc import Sequence

from zarrscope.errors import Refused, TooLarge, Unreadable

MAX_KEY_BYTES = 4096

_plain = re.compile(r"\.?[A-Za-z0-9_-][\w.-]*(/\.?[A-Za-z0-9_-][\w.-]*)*", re.ASCII).fullmatch


def check_key(key: str) -> str:
    """Returns `key` if it is valid. Raises Refused otherwise (spec F.8, B "Valid keys")."""
    if len(key) <= MAX_KEY_BYTES and _plain(key):  # a fast check that nearly all keys pass, as it runs for every chunk
        return key
    _check_segments(key, key.split("/"), "key")
    return key


def check_prefix(prefix: str) -> str:
    """Returns `prefix` if it is valid: "" for everything, else a key with a final slash. Raises Refused otherwise."""
    if prefix in ("", "/"):
        return ""
    if not prefix.endswith("/"):
        raise Refused(f"The prefix {prefix!r} does not end in '/'", key=prefix)
    _check_segments(prefix, prefix[:-1].split("/"), "prefix")
    return prefix


def _check_segments(whole: str, segments: Sequence[str], what: str) -> None:
    if not whole:
        raise Refused(f"An empty {what} names nothing", key=whole)
    if any(segment in ("", ".", "..") for segment in segments):
        raise Refused(f"The {what} {whole!r} has an empty, '.' or '..' part, which could leave the store", key=whole)
    if "\0" in whole:
        raise Refused(f"The {what} {whole!r} has a NUL character", key=whole)
    if len(whole.encode("utf-8", "surrogatepass")) > MAX_KEY_BYTES:
        raise Refused(f"The {what} {whole[:60]!r}… is longer than {MAX_KEY_BYTES} bytes", key=whole[:200])


def folder_in_place(store: str, key: str) -> Unreadable:
    """The error for a document in whose place there is a folder."""
    name = key.rpartition("/")[2]
    return Unreadable(
        f"There is a folder in the place of the document {name}, so the node cannot be read",
        store=store,
        key=key,
        advice=f"Move that folder elsewhere, then restore {name} from a copy.",
    )


def too_large(size: int | None, limit: int) -> TooLarge:
    """The error for a value of `size` bytes, or of an unknown size (None), that exceeds `limit`."""
    found = "" if size is None else f"{size:,} bytes, "
    return TooLarge(
        f"The value is too large: it has {found}more than the limit of {limit:,} bytes",
        size=size,
        limit=limit,
        advice="It is probably not the document or the chunk that its name suggests: check the stored value.",
    )
