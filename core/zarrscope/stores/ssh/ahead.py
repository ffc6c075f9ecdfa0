"""Shards over ssh: the other machine reads the index of a shard, and sends the wanted chunks with it.

That saves a round trip. Only a guess is sent: the other machine takes the bytes of the index for pairs of 64-bit
numbers, as the usual codecs of an index store them, and knows nothing else of the array. This side decodes the index,
and uses only the bytes that it would have requested; the rest it requests as usual.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

from zarrscope.errors import ZarrscopeError
from zarrscope.model.storage import ByteRange, IndexAnswer, IndexRange, Request
from zarrscope.runtime.tuning import SSH_AHEAD_BYTES
from zarrscope.stores.ssh.frames import MessageFrame, described
from zarrscope.stores.ssh.shares import PlainMemory
from zarrscope.stores.store import Store

_ENTRY = struct.Struct("<QQ")


def worth_sending(requests: Sequence[Request], channels: int) -> bool:
    """Whether chunks should be sent with their indexes. Each shard is sent by one channel: if there are fewer shards
    than channels, many bytes take longer that way than ranges, which all channels share."""
    asked = [part for _, part in requests if isinstance(part, IndexRange)]
    return len(asked) >= channels or 0 < sum(part.expected for part in asked) <= SSH_AHEAD_BYTES


def as_told(requests: Sequence[Request]) -> list[list[int] | None]:
    """The numbers of the wanted chunks for each request, in the head of a frame. Older versions there ignore them."""
    return [[*part.numbers] if isinstance(part, IndexRange) else None for _, part in requests]


def read_ahead(
    store: Store, requests: Sequence[tuple[int, str, ByteRange, Sequence[int]]], limit: int | None
) -> Iterator[MessageFrame]:
    """Yields the answers to requests (number, key, range of the index, wanted chunks): the index, and behind it the
    chunks that it locates, whose places the head states."""
    memory = PlainMemory()
    reader = store.bulk.reader(memory, limit)
    try:
        for i, key, part, numbers in requests:
            memory.clear()
            head: dict[str, Any] = {"i": i}
            try:
                reader.seek(key)
                found = reader.part(part)
                if found is None:
                    yield MessageFrame({**head, "absent": True})
                    continue
                parts, blocks = [bytes(found)], []
                if reader.size is not None:
                    for start, stop in _spans(parts[0], part, numbers, reader.size):
                        memory.clear()
                        parts.append(bytes(reader.read(start, stop)))
                        blocks.append([start, start + len(parts[-1])])
            except ZarrscopeError as error:
                told, body = described(error)
                yield MessageFrame({**told, **head}, body)
                continue
            yield MessageFrame({**head, "absent": False, "index": len(parts[0]), "blocks": blocks}, b"".join(parts))
    finally:
        reader.close()


def _spans(index: bytes, part: ByteRange, numbers: Sequence[int], size: int) -> list[tuple[int, int]]:
    """The places of chunks in a shard of `size` bytes, outside its index, joined where they touch; at most
    SSH_AHEAD_BYTES in all."""
    low, high = (0, size - len(index)) if part.start is None else (len(index), size)
    found: list[tuple[int, int]] = []
    for number in numbers:
        if not 0 <= _ENTRY.size * number <= len(index) - _ENTRY.size:
            continue
        start, length = _ENTRY.unpack_from(index, _ENTRY.size * number)
        if length and low <= start and start + length <= high:
            found.append((start, start + length))
    joined: list[tuple[int, int]] = []
    left = SSH_AHEAD_BYTES
    for start, stop in sorted(found):
        if joined and start <= joined[-1][1]:
            start = joined[-1][1]
            if stop <= start:
                continue
        if (left := left - (stop - start)) < 0:
            break
        if joined and start == joined[-1][1]:
            joined[-1] = joined[-1][0], stop
        else:
            joined.append((start, stop))
    return joined


def unpacked(frame: MessageFrame) -> bytes:
    """The index in an answer, with the chunks that came with it."""
    view, at = memoryview(frame.body), int(frame.head["index"])
    found = IndexAnswer(view[:at])
    blocks = []
    for start, stop in frame.head["blocks"]:
        blocks.append((start, view[at : at + stop - start]))
        at += stop - start
    found.blocks = blocks
    return found
