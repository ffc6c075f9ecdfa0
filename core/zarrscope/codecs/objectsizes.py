"""Estimates the memory of a chunk's objects before they are made: one stored byte may need a hundred bytes of memory.

The estimates count CPython objects and are too high rather than too low. Nearly every chunk is too short to exceed the
limit and is not estimated at all.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.codecs import limits
from zarrscope.codecs.codec import Buffer
from zarrscope.errors import BadChunk

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T", list[Any], dict[Any, Any])

POINTER = 8
TEXT = 80
"""The size of a str or bytes object without its content."""
VIEW = 120
"""The size of a numpy array without its elements."""
NUMBER = 40
LIST = 64
DICT = 232
WORST = 100
"""The most bytes of memory that one byte of JSON or msgpack may need."""


def too_much(codec: str, size: int) -> BadChunk:
    """The error for a chunk whose objects would need `size` bytes of memory."""
    return BadChunk(
        f"{codec}: the objects in this chunk would take more than {size:,} bytes of memory; "
        f"the limit is {limits.MAX_CHUNK_BYTES:,}",
        codec=codec,
        advice=limits.how_to_allow(2 * size),
    )


def need_room(codec: str, size: int) -> None:
    """Raises BadChunk if objects of this many bytes are more than a chunk may hold."""
    if size > limits.MAX_CHUNK_BYTES:
        raise too_much(codec, size)


def check_items(codec: str, data: Buffer, count: int, *, text: bool, each: int = TEXT) -> None:
    """Checks the size of a vlen chunk with `count` items, each preceded by its length. Raises BadChunk."""
    payload = len(data) - 4 - 4 * count
    certain = len(data) + POINTER * count
    need_room(codec, certain)
    width = 4 if text else 1
    # All empty items are the same Python object, so only items with content need memory for an object.
    filled = min(count, payload) if each == TEXT else count
    if certain + each * filled + width * payload <= limits.MAX_CHUNK_BYTES:
        return
    at, size, view = 4, certain, memoryview(data)
    for _ in range(count):
        length = int.from_bytes(view[at : at + 4], "little")
        if length or each != TEXT:
            item = view[at + 4 : at + 4 + length]
            size += each + len(item) * (_width(item) if text else 1)
            need_room(codec, size)
        at += 4 + length


def _width(item: memoryview) -> int:
    """The most bytes of memory that a str needs for each byte of this UTF-8."""
    highest = int(np.max(np.frombuffer(item, np.uint8), initial=0))
    return 1 if highest < 0xC4 else 2 if highest < 0xF0 else 4


def check_json(codec: str, data: Buffer) -> None:
    """Raises BadChunk if the values of this JSON may take too much memory."""
    if WORST * len(data) <= limits.MAX_CHUNK_BYTES:
        return
    need_room(codec, 3 * len(data))  # checked before `data` is copied
    value = bytes(data)
    size = len(value) * (3 if value.isascii() else 5)
    size += (POINTER + NUMBER) * value.count(b",") + LIST * value.count(b"[") + DICT * value.count(b"{")
    need_room(codec, size + TEXT * value.count(b'"') // 2)


def unpacked(codec: str, data: Buffer, unpack: Callable[..., Any], **options: Any) -> object:
    """Decodes MessagePack data if their objects fit into the allowed memory. Raises BadChunk."""
    if WORST * len(data) <= limits.MAX_CHUNK_BYTES:
        return unpack(bytes(data), **options)
    need_room(codec, 2 * len(data))
    size = 2 * len(data)

    def made(found: T) -> T:
        nonlocal size
        size += sys.getsizeof(found) + NUMBER * len(found)
        need_room(codec, size)
        return found

    most = limits.MAX_CHUNK_BYTES // (POINTER + TEXT)
    try:
        return unpack(
            bytes(data), list_hook=made, object_hook=made, max_array_len=most, max_map_len=most // 4, **options
        )
    except ValueError as error:
        if "exceeds max_" in str(error):  # msgpack refuses the size before it makes the list
            raise too_much(codec, limits.MAX_CHUNK_BYTES) from None
        raise
