"""Reads the body of an HTTP response: no more bytes than needed, checked against its headers.

The server is not trusted: a body may never end, or arrive at one byte per second. It may be compressed although that
was not requested, and grow a million times when it is decompressed. It may be another part of the value than the
requested one. The size is limited by the caller's `limit`, else by MOST if the server announces a length, else
by MOST_UNTOLD; the time by `Network.timeout` and `min_speed`.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from typing import TYPE_CHECKING

from zarrscope.errors import Unreadable
from zarrscope.model.storage import ByteRange
from zarrscope.stores.keys import too_large
from zarrscope.stores.network import Network

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aiohttp import ClientResponse

MOST = 4 << 30
"""The most bytes of a value if the caller sets no limit."""
MOST_UNTOLD = 1 << 28
"""The most bytes of a value if neither the caller sets a limit nor the server announces the length."""
MOST_IN_VAIN = 1 << 30
"""The most bytes that are skipped before a part, from a server that does not support ranges."""
_CONTENT_RANGE = re.compile(r"bytes (\d{1,19})-(\d{1,19})/(\d{1,19}|\*)").fullmatch
_ENCODINGS = ("gzip", "x-gzip", "deflate")
FIRST = 64
"""The number of bytes at the beginning of a body by which a web page is recognised."""
_BLANK = (b"<", b" ", b"\t", b"\r", b"\n")
_PAGE_STARTS = (b"<!doctype html", b"<html", b"<head")


class CutShort(Exception):
    """The server sent less than it had announced."""


class NeedsWhole(Exception):
    """The server did not return the requested part of a value; the whole value has to be requested instead."""


async def read_body(
    response: ClientResponse, part: ByteRange | None, limit: int | None, network: Network
) -> tuple[bytes, bytes]:
    """Reads the requested bytes from a response of status 200, 206 or 416. Returns them, and the first bytes of the
    body.

    Raises Unreadable (a wrong part, a value larger than `limit`, too slow, an unknown encoding), CutShort, NeedsWhole.
    """
    allowed = MOST if limit is None else limit
    if response.status == 416:
        return _beyond(response, part), b""
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding in ("", "identity"):
        encoding = ""
    elif encoding not in _ENCODINGS:
        raise Unreadable(
            f"The server sent the value with Content-Encoding {encoding[:40]!r}, which was not requested",
            advice="Ask the operator of the server, or download the data.",
        )
    if response.status == 206:
        if part is None:
            raise Unreadable("The server sent a part of the value, but the whole value was requested")
        if encoding:
            raise NeedsWhole
        length = _length_of_part(response, part)
        if length is not None and length > allowed:
            raise too_large(length, allowed)
        cap = length if length is not None else allowed if part.length is None else min(allowed, part.length)
        reading = _BodyReader(response, network)
        body = await reading.between(0, cap)
        if length is not None and len(body) < length:
            raise CutShort(f"only {len(body):,} of {length:,} bytes arrived")
        if len(body) > cap:
            raise Unreadable("The server sent more than the part that was requested")
        return body, b"" if part.start else reading.first
    reading = _BodyReader(response, network, _Decompressor() if encoding else None)
    length = _content_length(response) if not encoding else None
    if part is None:
        if length is not None and length > allowed:
            raise too_large(length, allowed)
        if length is None and limit is None:
            allowed = MOST_UNTOLD
        body = await reading.between(0, allowed)
        if len(body) > allowed:
            raise too_large(None, allowed)
        return body, reading.first
    # The server ignored the requested range: skip the bytes before the part.
    if length is not None:
        start, stop = part.span(length)
        if stop - start > allowed:
            raise too_large(stop - start, allowed)
    if (length if part.start is None and length is not None else part.start or 0) > MOST_IN_VAIN:
        raise Unreadable(
            "The server does not send parts of values, and this value is too large to read all of it for a part",
            advice="Download the data, or ask the operator of the server to support range requests.",
        )
    if part.start is None:
        return await reading.last(min(part.length or 0, allowed)), reading.first
    wanted = allowed if part.length is None else part.length
    body = await reading.between(part.start, part.start + wanted, stop=part.length is not None)
    if len(body) > wanted:
        raise too_large(None, wanted)
    return body, reading.first


class _BodyReader:
    """Reads one body piece by piece. Raises Unreadable if it arrives too slowly."""

    def __init__(self, response: ClientResponse, network: Network, unpacking: _Decompressor | None = None) -> None:
        self._content = response.content
        self._network = network
        self._unpacking = unpacking
        self._clock = asyncio.get_running_loop().time
        self._since, self._came = 0.0, 0
        self.first = b""
        """The first bytes of the body, at most FIRST."""

    async def between(self, start: int, end: int, *, stop: bool = False) -> bytes:
        """Reads the bytes from `start` to `end`. Without `stop` it returns some more bytes of a longer body, so that
        the caller notices."""
        pieces: list[bytes] = []
        at = 0
        while at < end or (at == end and not stop):
            piece = await self._next()
            if not piece:
                break
            for plain in (piece,) if self._unpacking is None else self._unpacking.of(piece, end + 1 - at):
                if at < FIRST:
                    self.first += plain[: FIRST - at]
                if at + len(plain) > start:
                    pieces.append(plain if at >= start else plain[start - at :])
                at += len(plain)
        if stop and at > end:
            pieces[-1] = pieces[-1][: len(pieces[-1]) - (at - end)]
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def last(self, count: int) -> bytes:
        """The last `count` bytes."""
        tail, at = bytearray(), 0
        while piece := await self._next():
            for plain in (piece,) if self._unpacking is None else self._unpacking.of(piece, MOST_IN_VAIN + 1 - at):
                if at < FIRST:
                    self.first += plain[: FIRST - at]
                at += len(plain)
                tail += plain
                del tail[: max(0, len(tail) - count)]
            if at > MOST_IN_VAIN:
                raise too_large(None, MOST_IN_VAIN)
        return bytes(tail)

    async def _next(self) -> bytes:
        """The next piece of the body; b"" at the end."""
        piece: bytes = await self._content.readany()
        if not piece:
            if self._unpacking is not None and not self._unpacking.over:
                raise CutShort("The compressed value ends early")
            return piece
        now = self._clock()
        self._came += len(piece)
        if not self._since:
            self._since = now
        elif now - self._since > self._network.timeout:
            if self._came < self._network.min_speed * (now - self._since):
                raise Unreadable(
                    f"The server sends less than {self._network.min_speed:g} bytes a second",
                    advice="Try again later, or set a lower limit with ZARRSCOPE_MIN_SPEED.",
                )
            self._since, self._came = now, 0
        return piece


class _Decompressor:
    """Decompresses the body of a response: gzip with any number of members, or zlib."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(47)

    @property
    def over(self) -> bool:
        return self._stream.eof

    def of(self, piece: bytes, allowed: int) -> Iterator[bytes]:
        """Yields the decompressed bytes of `piece` in steps, `allowed` bytes at most."""
        while piece and allowed > 0:
            if self._stream.eof:
                self._stream = zlib.decompressobj(47)
            try:
                plain = self._stream.decompress(piece, min(allowed, 1 << 20))
            except zlib.error as error:
                raise Unreadable(f"The server sent a compressed value that cannot be decompressed: {error}") from None
            piece = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
            allowed -= len(plain)
            if plain:
                yield plain


# ---------------------------------------------------------------------- headers
def total_of(response: ClientResponse) -> int | None:
    """The size of the whole value, if the response's headers state it."""
    if response.status in (206, 416):
        total = response.headers.get("Content-Range", "").rpartition("/")[2]
        return int(total) if total.isascii() and total.isdigit() and len(total) < 20 else None
    return _content_length(response) if response.status == 200 else None


def _content_length(response: ClientResponse) -> int | None:
    length = response.headers.get("Content-Length", "")
    return int(length) if length.isascii() and length.isdigit() and len(length) < 20 else None


def _beyond(response: ClientResponse, part: ByteRange | None) -> bytes:
    """The result for status 416: the value exists, but the range begins beyond its end, so it has no bytes. Raises
    NeedsWhole if the server is wrong about that, or it cannot be checked."""
    if part is None:
        raise Unreadable("The server answered 416, but the whole value was requested")
    total = total_of(response)
    if total is None:
        if not part.start:  # a range from 0 can only begin beyond the end if the value is empty
            raise NeedsWhole
        return b""
    start, stop = part.span(total)
    if stop > start:
        raise NeedsWhole
    return b""


def _length_of_part(response: ClientResponse, part: ByteRange) -> int | None:
    """The number of bytes that the headers of the response announce. If the headers do not name the part, it is None
    for a requested part from byte 0, and Unreadable or NeedsWhole is raised for others. Raises Unreadable if they name
    another part than the requested one."""
    text = response.headers.get("Content-Range", "").strip()
    found = _CONTENT_RANGE(text)
    if found is None:
        if part.start or response.headers.get("Content-Type", "").startswith("multipart/"):
            raise Unreadable("The server sent a part of the value without stating which")
        if part.start is None:
            raise NeedsWhole
        return None
    first, last = int(found[1]), int(found[2])
    total = None if found[3] == "*" else int(found[3])
    if total is not None:
        start, stop = part.span(total)
        right = (first, last + 1) == (start, stop)
    elif part.start is None:
        right = last - first + 1 == part.length
    else:
        right = first == part.start and (part.length is None or last + 1 <= part.start + part.length)
    if not right:
        wanted = f"the last {part.length:,} bytes" if part.start is None else f"the bytes from {part.start:,}"
        if part.length is not None and part.start is not None:
            wanted += f" to {part.start + part.length - 1:,}"
        raise Unreadable(f"The server sent bytes from {first:,} to {last:,}, but the request was for {wanted}")
    return last - first + 1


# ---------------------------------------------------------------------- pages
WEB_PAGE, JSON_ERROR = "a web page", "an error in JSON"
EMPTY = {
    b"": "nothing",
    b"{}": "an empty JSON object",
    b"[]": "an empty JSON array",
    b"null": "the JSON value null",
}
"""Whole bodies with which some services answer for every key → their names."""
_LONGEST_EMPTY = 8
"""The most bytes of such a body, with spaces and the end of its line."""
_ERROR_START = re.compile(
    rb'\s*\{\s*"(errors?|messages?|msg|details?|status|status_?code|code|success|title|type)"\s*:', re.IGNORECASE
).match


def instead_of_value(response: ClientResponse, body: bytes) -> str:
    """The name of the thing that a response may be instead of the value, by its content type or by the first bytes of
    its body; "" if it is none. No document of Zarr begins as an error in JSON does or is empty, except attributes."""
    if response.headers.get("Content-Type", "")[:9].lower() == "text/html" or begins_as_page(body):
        return WEB_PAGE
    if len(body) <= _LONGEST_EMPTY:
        return EMPTY.get(body.strip(), "") if response.status == 200 else ""
    return JSON_ERROR if _ERROR_START(body) else ""


def begins_as_page(body: bytes) -> bool:
    """Whether these are the first bytes of a web page."""
    return body[:1] in _BLANK and body[:FIRST].lstrip().lower().startswith(_PAGE_STARTS)


def begins_otherwise(body: bytes) -> bool:
    """Whether these are the first bytes of a web page, or of an error in JSON."""
    return begins_as_page(body) or _ERROR_START(body) is not None


def shows(body: bytes, other: str, of_nothing: str) -> bool:
    """Whether the first bytes of a body show that it is `other`. `of_nothing`: the same of the answer for a key that
    does not exist: attributes may begin as an error in JSON does, or be empty."""
    return begins_as_page(body) or body.lstrip()[:1] == b"<" if other == WEB_PAGE else of_nothing == other
