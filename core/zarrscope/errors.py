"""Every error zarrscope raises on purpose, and what a person can do about each.

    ZarrscopeError
    ├── NotFound      nothing is stored at that place: check the path, list the parent
    ├── Unreadable    the store did not answer (network, permission, disk): retry, check access
    ├── BadMetadata   a document breaks its specification: the pointer says where
    ├── Unsupported   a feature zarrscope does not have here (codec, data type …): install or ask for it
    ├── BadChunk      the bytes of one chunk cannot be decoded: the rest of the array can
    ├── Conflict      somebody else changed the value meanwhile: compare, merge, save again
    ├── ReadOnly      the store or the node cannot be written: open it for writing, or save a copy
    └── Refused       asked for something that zarrscope will not do (a key outside the store, a forbidden name)

An error starts where the fault is seen, often by code that knows neither store nor key; each floor above adds
what it knows with `located`. The text of an error always names what is at fault.
"""

from __future__ import annotations

from typing import Any, Self


class ZarrscopeError(Exception):
    """A fault with its place: `store` (URL), `key` in the store, `pointer` (RFC 6901) in the document, `advice`."""

    title = "zarrscope could not do that"

    def __init__(
        self,
        message: str,
        *,
        store: str | None = None,
        key: str | None = None,
        pointer: str | None = None,
        advice: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.store = store
        self.key = key
        self.pointer = pointer
        self.advice = advice

    def located(self, *, store: str | None = None, key: str | None = None, pointer: str | None = None) -> Self:
        """This error, with the parts of its place that were not yet known. What is known already stays."""
        self.store = self.store if self.store is not None else store
        self.key = self.key if self.key is not None else key
        self.pointer = self.pointer if self.pointer is not None else pointer
        return self

    def beneath(self, pointer: str) -> Self:
        """This error, its pointer prefixed: the document it was found in is itself a part of a larger one."""
        self.pointer = pointer + (self.pointer or "")
        return self

    @property
    def place(self) -> str:
        """Where the fault lies, for a person: "key 'a/zarr.json' at /codecs/0 in file:///data/x.zarr"."""
        parts = []
        if self.key is not None:
            parts.append(f"key {self.key!r}")
        if self.pointer:
            parts.append(f"at {self.pointer}")
        if self.store is not None:
            parts.append(f"in {self.store}")
        return " ".join(parts)

    def __str__(self) -> str:
        text = self.message.rstrip(".")
        if self.place:
            text += f" ({self.place})"
        return f"{text}. {self.advice}" if self.advice else f"{text}."

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, dict(self.__dict__))


def _rebuild(kind: type[ZarrscopeError], message: str, state: dict[str, Any]) -> ZarrscopeError:
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    error.__dict__.update(state)
    return error


class NotFound(ZarrscopeError):
    title = "Not found"


class Unreadable(ZarrscopeError):
    title = "Could not be read"


class BadMetadata(ZarrscopeError):
    title = "Metadata breaks its specification"


class Unsupported(ZarrscopeError):
    """`feature` is the missing piece as the document spells it, such as "codec imagecodecs_jpegxl"."""

    title = "Not supported here"

    def __init__(self, message: str, *, feature: str = "", **place: Any) -> None:
        super().__init__(message, **place)
        self.feature = feature


class BadChunk(ZarrscopeError):
    """`codec` is the codec that failed, `index` the chunk's index in its grid; either may be unknown."""

    title = "A chunk cannot be decoded"

    def __init__(
        self, message: str, *, codec: str | None = None, index: tuple[int, ...] | None = None, **place: Any
    ) -> None:
        super().__init__(message, **place)
        self.codec = codec
        self.index = index


class Conflict(ZarrscopeError):
    """`theirs` is the value now stored, or None when it is gone."""

    title = "Changed by somebody else"

    def __init__(self, message: str, *, theirs: bytes | None = None, **place: Any) -> None:
        super().__init__(message, **place)
        self.theirs = theirs


class ReadOnly(ZarrscopeError):
    title = "Read-only"


class Refused(ZarrscopeError):
    title = "Refused"
