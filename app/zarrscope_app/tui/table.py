"""The Values tab: a table of exact values."""

from __future__ import annotations

from textual import events

from zarrscope_app.presenters import Session, strings
from zarrscope_app.presenters import strings_terminal as words
from zarrscope_app.presenters.values import NUMBER_FORMATS
from zarrscope_app.tui.lines import Lines, StyledText, fold

COLUMN, LONGEST = 11, 60
"""The least and the greatest width in terminal columns of values of which the longest is not known."""


class TableLines(Lines):
    """A table of exact values; left and right move through its columns."""

    def __init__(self, session: Session, *, id: str) -> None:
        super().__init__(session, id=id)
        self.first_column = 0

    def follow(self, session: Session) -> None:
        super().follow(session)
        self.first_column = 0

    def count(self) -> int:
        table = self.session.values.state
        return table.rows + 1 if table.rows else len(self._sentence())

    def _sentence(self) -> list[StyledText]:
        """The lines that say why there is no table."""
        return [*fold(self.session.values.state.sentence, max(10, self.columns))]

    def marked(self, line: int) -> bool:
        return bool(self.session.values.state.rows) and super().marked(line)

    @property
    def _wide(self) -> int:
        """The width of a column: that of the longest value if it is known, else a share of the room."""
        table = self.session.values.state
        share = max(COLUMN, (self.columns - 8) // max(1, table.columns))
        if not table.widest:
            return min(share, LONGEST)
        heads = max(map(len, table.column_labels), default=len(str(table.columns - 1)))
        return min(max(table.widest, heads) + 2, share)

    @property
    def _first(self) -> int:
        """The first displayed column, which another array may not have."""
        return min(self.first_column, max(0, self.session.values.state.columns - 1))

    @property
    def _columns(self) -> int:
        return max(1, (self.columns - 8) // self._wide)

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self.post_message(self.Moved())  # the status line says which columns have room

    def told(self) -> str:
        table = self.session.values.state
        if not table.rows or not self.size:
            return ""
        shown = range(self._first, min(self._first + self._columns, table.columns))
        fixed = {name: index for name, index, length in table.fixed if length > 1}
        written = table.format if table.numbers and table.format != NUMBER_FORMATS[0] else ""
        source = strings.joined(written, table.source, table.note)
        return words.table_part(source, table.row_title, table.column_title, shown, table.columns, fixed)

    def pieces(self, line: int) -> list[StyledText]:
        values, first, wide = self.session.values, self._first, self._wide
        table = values.state
        if not table.rows:
            return [(self._sentence()[line][0], "quiet")]
        columns = min(self._columns, table.columns - first)
        side = ">" if table.numbers else "<"  # numbers are compared by their ends, words are read

        def column(text: str) -> str:
            return f" {strings.clean(text, wide - 1):{side}{wide - 1}}"

        if line == 0:
            heads = [values.label(0, first + c)[1] for c in range(columns)]
            return [(" " * 7, ""), *((column(head), "quiet") for head in heads)]
        cells = values.cells(line - 1, first, 1, columns)
        label = strings.clean(values.label(line - 1, first)[0], 6)
        return [(f"{label:>6} ", "quiet"), *((column(cell), "") for cell in (cells[0] if cells else []))]

    def key(self, event: events.Key) -> bool:
        if event.key == "w" and self.session.values.state.numbers:
            self.session.values.next_format()
            return True
        by = {"right": self._columns, "left": -self._columns}.get(event.key)
        if by is None:
            return super().key(event)
        last = max(0, self.session.values.state.columns - 1)
        self.first_column = max(0, min(last, self._first + by))
        self.refresh()
        return True
