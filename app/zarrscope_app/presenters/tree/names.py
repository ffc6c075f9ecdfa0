"""Stores names by the hundred thousand: in little memory, in natural order, and searchable without blocking the host.

A list of a million texts takes 70 MB, and sorting it at once blocks every other thread for a second. So names are
stored as one text per batch, and sorted and searched in steps of a few milliseconds.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from heapq import merge
from itertools import accumulate, compress, zip_longest

from zarrscope.model.frozen import frozen

SORTED_AT_ONCE = 4096
"""The most positions that are sorted or selected in one step; Python holds the GIL during the whole step."""

KEYS_AT_ONCE = 32_768
"""The most keys that are in memory as texts of their own while new names are sorted: about 2 MB."""

SPARSE = 32
"""The most positions in the order for each new one among them that are sorted again; if there are more, the new ones
are inserted by bisection, which computes about 20 keys for each."""


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


class Names:
    """Names by position, in the order of their arrival."""

    def __init__(self) -> None:
        self._blocks: list[NameBlock] = []
        self._firsts: list[int] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: int) -> str:
        # Without calling a method of the block: sorting a group of 100,000 names asks for some 400,000 of them.
        at = bisect_right(self._firsts, place) - 1
        block, place = self._blocks[at], place - self._firsts[at]
        starts = block.starts
        if place + 1 < len(starts):
            return block.text[starts[place] : starts[place + 1] - 1]
        return block.text[starts[place] :]

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


def merged(order: array[int], new: Sequence[int], key: Callable[[int], str]) -> array[int]:
    """The sorted positions `order` with the positions `new` inserted, sorted by `key`."""
    runs = [_sorted(new[at : at + KEYS_AT_ONCE], key) for at in range(0, len(new), KEYS_AT_ONCE)]
    fresh = runs[0] if len(runs) == 1 else array("I", merge(*runs, key=key))
    return _merged(order, fresh, key)


def _sorted(new: Sequence[int], key: Callable[[int], str]) -> array[int]:
    """Some positions sorted by `key`, which is computed once for each: what follows compares the computed keys."""
    keys = [*map(key, new)]
    runs = [
        array("I", sorted(range(at, min(at + SORTED_AT_ONCE, len(keys))), key=keys.__getitem__))
        for at in range(0, len(keys), SORTED_AT_ONCE)
    ]
    while len(runs) > 1:
        pairs = zip_longest(runs[::2], runs[1::2], fillvalue=array("I"))
        runs = [_merged(first, second, keys.__getitem__) for first, second in pairs]
    return array("I", map(new.__getitem__, runs[0]))


def _merged(order: array[int], fresh: array[int], key: Callable[[int], str]) -> array[int]:
    """Merges two sequences that are sorted by `key`, whose values differ. A few positions are inserted by bisection:
    sorting computes the key of each one in `order`, too."""
    found, low = array("I"), 0
    for at in range(0, len(fresh), SORTED_AT_ONCE // 8):
        part = fresh[at : at + SORTED_AT_ONCE // 8]
        high = bisect_left(order, key(part[-1]), low, key=key)
        if high - low > SPARSE * len(part):
            for position in part:
                before = bisect_left(order, key(position), low, high, key=key)
                found.extend(order[low:before])
                found.append(position)
                low = before
            found.extend(order[low:high])
        else:
            found.extend(sorted([*order[low:high], *part], key=key))
        low = high
    found.extend(order[low:])
    return found
