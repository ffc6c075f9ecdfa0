"""Exact values: under the cursor for every channel, and as a table for 1-D, 2-D, string and structured arrays."""

from __future__ import annotations

from dataclasses import dataclass

from psygnal import Signal


@dataclass(frozen=True)
class Probe:
    """What lies under the cursor. `index` at full resolution, one per axis of the image (the channel axis: -1)."""

    index: tuple[int, ...] = ()
    index_text: str = ""
    """ "z 31 y 512 x 204"."""
    position_text: str = ""
    """ "166.4 µm, 66.3 µm": physical place of the two axes shown."""
    values: tuple[tuple[str, str], ...] = ()
    """(channel label, exact value); the value is "…" while it is being read."""
    text: str = ""
    """All of it in one line, for the status bar. "" when the cursor is off the image."""
    pending: bool = False
    sentence: str = ""
    """About a chunk that is missing, failed, or cannot be decoded."""


@dataclass(frozen=True)
class Table:
    """The table's frame; cells come from `cells`. Columns are those of an axis, or the fields of a structure."""

    rows: int = 0
    columns: int = 0
    row_title: str = ""
    column_title: str = ""
    column_labels: tuple[str, ...] = ()
    """Names of fields; empty where columns are numbered."""
    fixed: tuple[tuple[str, int, int], ...] = ()
    """(axis, index, length) of the axes that are not shown: set with `set_index`."""
    sentence: str = ""


class ValuesPresenter:
    """The table of the selected array. `changed()`: another array or frame, or cells have arrived."""

    changed = Signal()

    @property
    def state(self) -> Table:
        raise NotImplementedError

    def cells(self, row: int, column: int, rows: int, columns: int) -> list[list[str]]:
        """Exact texts of a window, "…" for those still to come (they are fetched, and `changed` follows)."""
        raise NotImplementedError

    def set_index(self, axis: str, index: int) -> None:
        """For an axis that is not shown."""
        raise NotImplementedError

    def show(self, row_axis: str, column_axis: str) -> None:
        raise NotImplementedError

    def transpose(self) -> None:
        raise NotImplementedError

    def label(self, row: int, column: int) -> tuple[str, str]:
        """Headings of a row and of a column."""
        raise NotImplementedError
