"""Few large values over several channels: each channel carries a share of the bytes of every value.

The processes on the other machine read independently of one another, so a value may be replaced between their reads.
Therefore each share states the file that it was read from (`Reader.stamp`), and only shares of one file are joined.
The other values are requested again, as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from zarrscope.errors import ZarrscopeError
from zarrscope.model.buffers import Arena
from zarrscope.model.storage import Request
from zarrscope.runtime.tuning import SSH_SHARED_BYTES
from zarrscope.stores.keys import too_large
from zarrscope.stores.ssh.frames import MessageFrame, described
from zarrscope.stores.store import Store


def worth_sharing(requests: Sequence[Request], channels: int) -> bool:
    """Whether whole values are requested, and so few that half of the channels would carry none. At 30 ms, one value of
    9 MB takes 112 ms by four channels instead of 209, two take 193 instead of 249; four take longer than when each has
    a channel of its own (132 ms instead of 106)."""
    return 0 < 2 * len(requests) <= channels and all(part is None for _, part in requests)


def read_shares(store: Store, keys: Sequence[str], limit: int | None, channel: int, of: int) -> Iterator[MessageFrame]:
    """Yields the share of each value's bytes that channel number `channel` of `of` channels carries. One channel
    carries the whole of a small value, and of one that is not a file. The body is valid until the next step."""
    arena = PlainMemory()
    reader = store.bulk.reader(arena, limit)
    try:
        for i, key in enumerate(keys):
            arena.clear()
            head: dict[str, Any] = {"i": i}
            mine = i % of == channel
            try:
                reader.seek(key)
                size, stamp = reader.size or 0, reader.stamp
                if stamp is None or size < SSH_SHARED_BYTES:
                    if mine:
                        value = reader.whole()
                        yield MessageFrame({**head, "absent": value is None}, b"" if value is None else bytes(value))
                    continue
                if limit is not None and size > limit:
                    raise too_large(size, limit).located(store=store.url, key=key)
                start, stop = size * channel // of, size * (channel + 1) // of
                share = reader.read(start, stop)
            except ZarrscopeError as error:
                if mine:
                    told, body = described(error)
                    yield MessageFrame({**told, **head}, body)
                continue
            yield MessageFrame({**head, "absent": False, "share": [start, size, stamp]}, share)  # type: ignore[arg-type]  # written, not kept
    finally:
        reader.close()


class PlainMemory(Arena):
    """An arena that is made without numpy, which the process on the other machine needs for nothing else."""

    def _set(self, size: int) -> None:
        self._address, self._all = 0, memoryview(bytearray(size))


class JoinedShares:
    """The shares of values that have arrived so far."""

    def __init__(self) -> None:
        self._found: dict[int, dict[int, bytes]] = {}
        self._stamps: dict[int, list[Any]] = {}

    def add(self, number: int, frame: MessageFrame) -> MessageFrame | None:
        """Adds an answer for the value `number`. Returns the answer with the whole value once all its shares have
        arrived; None before, and if they are not of the same file."""
        if (share := frame.head.get("share")) is None:
            return frame
        start, size, stamp = share
        found = self._found.setdefault(number, {})
        if self._stamps.setdefault(number, [size, stamp]) != [size, stamp]:
            self._stamps[number] = []  # no share equals it: the value is requested again
            found.clear()
            return None
        found[start] = frame.body
        if sum(map(len, found.values())) < size:
            return None
        return MessageFrame(frame.head, b"".join(found[at] for at in sorted(self._found.pop(number))))
