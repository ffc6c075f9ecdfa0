"""The frames that the two sides of ssh:// exchange: each has a JSON head and a body of bytes.

A frame consists of the length of the head (four bytes) and of the body (eight bytes), both big-endian, then the head in
UTF-8, and the body. The head of a request has `id`, `op` and the arguments of the operation. Answers have the `id` of
their request, and may arrive between the answers to other requests. The last answer has `last`; if the request failed,
it has `error` too. `{"op": "cancel", "id": n}` ends the answers to the request n early.

The first frame from the other machine is `{"protocol": 1, "version": …}`. If a login script prints text before it, that
is skipped.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

import zarrscope.errors as errors
from zarrscope.errors import Unreadable, ZarrscopeError
from zarrscope.model.storage import ByteRange
from zarrscope.runtime.tuning import SSH_PIECE_BYTES

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

PROTOCOL = 1
MAGIC = b"\nzarrscope-frames\n"
"""The bytes before the first frame."""
MAX_HEAD = 64 << 20
_LENGTHS = struct.Struct(">IQ")
_TOLD = ("message", "key", "pointer", "advice", "feature", "codec", "size", "limit", "untold", "errno")
"""The attributes of an error that the head of a frame contains. The receiver sets `store` itself; `theirs` is the body
of the frame."""


class FramePipe(Protocol):
    """A pipe from which frames are read."""

    def read(self, count: int, /) -> bytes:
        """Reads up to `count` bytes; fewer only at the end of the pipe."""


class MessageFrame(NamedTuple):
    """A message between the two sides: the head as a dict, and the body."""

    head: dict[str, Any]
    body: bytes = b""


def write_frame(
    file: IO[bytes], head: Mapping[str, Any], body: bytes = b"", taken: Callable[[], None] | None = None
) -> None:
    """Writes one frame; the caller flushes. `taken` is called after each piece that the other side accepts."""
    text = json.dumps(head, separators=(",", ":")).encode()
    file.write(_LENGTHS.pack(len(text), len(body)) + text)
    if taken is None:
        file.write(body)
        return
    for at in range(0, len(body), SSH_PIECE_BYTES):
        file.write(body[at : at + SSH_PIECE_BYTES])
        taken()


def read_frame(file: FramePipe) -> MessageFrame | None:
    """Reads the next frame; None at the end. Raises Unreadable for bytes that are not a frame."""
    start = _exactly(file, _LENGTHS.size)
    if not start:
        return None
    head, body = _LENGTHS.unpack(start)
    if head > MAX_HEAD:
        raise Unreadable(
            "The other machine did not answer in the protocol of zarrscope",
            advice="Check that its login shell prints no text.",
        )
    text, value = _exactly(file, head), _exactly(file, body)
    if len(text) < head or len(value) < body:
        return None
    try:
        told = json.loads(text)
    except ValueError as error:
        raise Unreadable("The other machine did not answer in the protocol of zarrscope") from error
    return MessageFrame(told, value)


def _exactly(file: FramePipe, length: int) -> bytes:
    """Reads `length` bytes, or fewer if the input ends."""
    parts = []
    while length:
        part = file.read(min(length, 1 << 24))
        if not part:
            break
        parts.append(part)
        length -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def described(error: ZarrscopeError) -> MessageFrame:
    """The frame that describes an error."""
    told = {name: getattr(error, name) for name in _TOLD if getattr(error, name, None) is not None}
    told["advice"] = error.own_advice  # the usual step of the class is that of the place which this side knows
    theirs = getattr(error, "theirs", None)
    return MessageFrame({"error": type(error).__name__, "told": told, "theirs": theirs is not None}, theirs or b"")


def rebuilt(frame: MessageFrame, store: str) -> ZarrscopeError:
    """The error that a frame describes, as an error of the store `store`."""
    kind = getattr(errors, str(frame.head["error"]), Unreadable)
    if not (isinstance(kind, type) and issubclass(kind, ZarrscopeError)):
        kind = Unreadable
    told = dict(frame.head.get("told", {}))
    message = str(told.pop("message", "zarrscope on the other machine failed"))
    place = {name: told.pop(name, None) for name in ("key", "pointer", "advice")}
    extra = {name: told[name] for name in _EXTRAS.get(kind.__name__, ()) if name in told}
    if kind.__name__ == "TooLarge":
        extra = {"size": extra.get("size"), "limit": extra.get("limit", 0)}
    if issubclass(kind, errors.Conflict):
        extra["theirs"] = frame.body if frame.head.get("theirs") else None
    found = kind(message, store=store, **place, **extra)
    if isinstance(found, OSError) and isinstance(told.get("errno"), int):
        found.errno = told["errno"]  # distinguishes a full disk from a broken one
    return found


_EXTRAS = {
    "Unsupported": ("feature",),
    "BadChunk": ("codec",),
    "TooLarge": ("size", "limit"),
    "Denied": ("untold",),
}


def range_told(part: ByteRange | None) -> list[int | None] | None:
    """A byte range as JSON: [start, length], or null for the whole value."""
    return None if part is None else [part.start, part.length]


def range_read(told: JSON) -> ByteRange | None:
    """The byte range that `range_told` made into JSON."""
    return None if told is None else ByteRange(told[0], told[1])
