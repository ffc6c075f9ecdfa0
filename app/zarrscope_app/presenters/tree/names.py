"""Stores names by the hundred thousand: in little memory, in natural order, and searchable without blocking the host.

A list of a million texts takes 70 MB, and sorting it at once blocks every other thread for a second. So names are
stored as one text per batch, and sorted and searched in steps of a few milliseconds.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, compress, zip_longest

from zarrscope.model.frozen import frozen

SORTED_AT_ONCE = 4096
"""The most positions that are sorted or selected in one step; Python holds the GIL during the whole step."""


@frozen
class NameBlock:
    """A batch of names: `text` joins them with slashes, which no name contains; `starts` are the offsets of the names
    in `text`."""

    text: str
    starts: array[int]

    @classmethod
    def of(cls, names: Sequence[str]) -> NameBlock:
        """Makes a block of `names`."""
        ends = accumulate(len(name) + 1 for name in names)
        return cls("/".join(names), array("Q", [0, *ends][:-1]))

    def name(self, place: int) -> str:
        """The name at a position in the block."""
        stop = self.starts[place + 1] - 1 if place + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[place] : stop]


class Names:
    """Names by position, in the order of their arrival."""

    def __init__(self) -> None:
        self._blocks: list[NameBlock] = []
        self._firsts: list[int] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: int) -> str:
        at = bisect_right(self._firsts, place) - 1
        return self._blocks[at].name(place - self._firsts[at])

    def extend(self, block: NameBlock) -> None:
        """Adds a batch without copying its names, so the time does not depend on its size."""
        if block.starts:
            self._blocks.append(block)
            self._firsts.append(self._count)
            self._count += len(block.starts)

    def search(self, needle: str, order: array[int]) -> Callable[[Callable[[], bool]], array[int]]:
        """A function for a worker, which searches the present names: it returns the positions in `order` of the names
        that contain `needle` (casefolded)."""
        blocks = list(zip(self._firsts, self._blocks, strict=True))
        count = self._count

        def work(cancelled: Callable[[], bool]) -> array[int]:
            marks = bytearray(count)
            for first, block in blocks if "/" not in needle else ():
                if cancelled():
                    break
                mark(block, needle, first, marks)
            return picked(order, marks)

        return work


def mark(block: NameBlock, needle: str, first: int, marks: bytearray) -> None:
    """Sets a byte for each name of the block that contains `needle`; `first` is the position of its first name."""
    text, starts = block.text.casefold(), block.starts
    if len(text) != len(block.text):  # case folding has changed the length ("ß" becomes "ss") and with it the offsets
        starts = NameBlock.of(text.split("/")).starts
    for match in re.finditer(re.escape(needle) + "[^/]*", text):
        marks[first + bisect_right(starts, match.start()) - 1] = 1


def picked(order: array[int], marks: bytearray) -> array[int]:
    """The positions in `order` whose byte in `marks` is set."""
    found = array("I")
    for at in range(0, len(order), SORTED_AT_ONCE):
        part = order[at : at + SORTED_AT_ONCE]
        found.extend(compress(part, map(marks.__getitem__, part)))
    return found


def merged(order: array[int], new: Iterable[int], key: Callable[[int], str]) -> array[int]:
    """The sorted positions `order` with the positions `new` inserted, sorted by `key`."""
    every = list(new)
    runs = [sorted(every[at : at + SORTED_AT_ONCE], key=key) for at in range(0, len(every), SORTED_AT_ONCE)]
    while len(runs) > 1:
        pairs = zip_longest(runs[::2], runs[1::2], fillvalue=())
        runs = [list(_merged(first, second, key)) for first, second in pairs]
    return _merged(order, runs[0] if runs else (), key)


def _merged(order: Sequence[int], fresh: Sequence[int], key: Callable[[int], str]) -> array[int]:
    """Merges two sequences that are sorted by `key`."""
    found, low = array("I"), 0
    for at in range(0, len(fresh), SORTED_AT_ONCE // 8):
        part = fresh[at : at + SORTED_AT_ONCE // 8]
        high = bisect_left(order, key(part[-1]), low, key=key)
        found.extend(sorted([*order[low:high], *part], key=key))
        low = high
    found.extend(order[low:])
    return found
