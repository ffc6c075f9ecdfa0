"""Counts the chunks that a read found not stored: their values are the fill value, not data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrscope_app.presenters import strings

if TYPE_CHECKING:
    from zarrscope.model.dtype import Element


class AbsentChunks:
    """The chunks of several reads in one thread, each of which calls `add` (`chunkio.source.CountOfChunks`)."""

    def __init__(self) -> None:
        self.absent = self.all = 0
        """The number of chunks that were not stored, and of all chunks that were read."""

    def add(self, absent: int, touched: int) -> None:
        """Adds the counts of one read."""
        self.absent += absent
        self.all += touched

    @property
    def brief(self) -> str:
        """The counts in words, for a line of statistics: "1 of 4 chunks not stored"; "" if all are stored."""
        return f"{strings.count(self.absent)} of {strings.counted(self.all, 'chunk')} not stored" if self.absent else ""

    def sentence(self, fill_value: Element) -> str:
        """The sentence after an export; "" if all chunks are stored."""
        if not self.absent:
            return ""
        verb = "is" if self.absent == 1 else "are"
        counts = f"{strings.count(self.absent)} of the {strings.counted(self.all, 'chunk')} that were read"
        return f"{counts} {verb} not stored: the fill value {strings.clean(str(fill_value), 40)} stands there."
