"""Few large values over several channels: each channel carries an equal share of their bytes.

The processes on the other machine read independently of one another, so a value may be replaced between their reads.
Therefore each share states the file that it was read from (`Reader.stamp`), and only shares of one file are joined.
The other values are requested again, as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from zarrscope.errors import ZarrscopeError
from zarrscope.model.buffers import Arena
from zarrscope.model.storage import Request
from zarrscope.runtime.tuning import SSH_SHARED_BYTES
from zarrscope.stores.ssh.frames import MessageFrame, described
from zarrscope.stores.store import Store
from zarrscope.stores.value_reader import Reader


def worth_sharing(requests: Sequence[Request], channels: int) -> bool:
    """Whether whole values are requested, and so few that the channels would carry very different numbers of bytes. At
    30 ms, one value of 9 MB takes 112 ms by four channels instead of 209, two take 193 instead of 249."""
    return 0 < len(requests) < 2 * channels and all(part is None for _, part in requests)


def read_shares(store: Store, keys: Sequence[str], limit: int | None, channel: int, of: int) -> Iterator[MessageFrame]:
    """Yields the share of the values' bytes that channel number `channel` of `of` channels carries: the large values,
    one after the other, are cut into `of` runs of equal length. One channel carries the whole of a small value, and of
    one that is not a file. The body is valid until the next step."""
    arena = PlainMemory()
    reader = store.bulk.reader(arena, limit)
    try:
        large = _large_values(reader, keys, limit)
        total, before = sum(size for size, _ in large.values()), 0
        first, last = total * channel // of, total * (channel + 1) // of
        for i, key in enumerate(keys):
            arena.clear()
            head: dict[str, Any] = {"i": i}
            if i in large:
                size, stamp = large[i]
                start, stop = max(0, first - before), min(size, last - before)
                before += size
                if start < stop:
                    with suppress(ZarrscopeError):  # the client requests the whole value again
                        reader.seek(key)
                        if reader.stamp == stamp:
                            found = reader.read(start, stop)
                            yield MessageFrame({**head, "absent": False, "share": [start, size, stamp]}, found)  # type: ignore[arg-type]  # written, not kept
            elif i % of == channel:
                try:
                    reader.seek(key)
                    value = reader.whole()
                except ZarrscopeError as error:
                    told, body = described(error)
                    yield MessageFrame({**told, **head}, body)
                else:
                    if value is None:
                        yield MessageFrame({**head, "absent": True, "folder": store._is_folder(key)})
                    else:
                        yield MessageFrame({**head, "absent": False}, bytes(value))
    finally:
        reader.close()


def _large_values(reader: Reader, keys: Sequence[str], limit: int | None) -> dict[int, tuple[int, str]]:
    """The size and the stamp of each file that is divided, by its number."""
    found = {}
    for i, key in enumerate(keys):
        with suppress(ZarrscopeError):  # raised again when the value is read
            reader.seek(key)
            size, stamp = reader.size or 0, reader.stamp
            if stamp is not None and size >= SSH_SHARED_BYTES and (limit is None or size <= limit):
                found[i] = size, stamp
    return found


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
        end, parts = 0, []
        for at in sorted(found):
            if at != end:  # shares are missing, or the processes there saw other sizes of the values before this one
                return None
            parts.append(found[at])
            end += len(parts[-1])
        return MessageFrame(frame.head, b"".join(parts)) if end == size else None
