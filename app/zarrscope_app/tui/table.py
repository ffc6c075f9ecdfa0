"""The Values tab: a table of exact values."""

from __future__ import annotations

from rich.cells import cell_len
from textual import events
from textual.geometry import Region
from textual.strip import Strip

from zarrscope_app.presenters import Session, strings
from zarrscope_app.presenters import strings_terminal as words
from zarrscope_app.presenters.values import NUMBER_FORMATS, in_two_lines
from zarrscope_app.tui.lines import Lines, StyledText, cut, fold

COLUMN, LONGEST = 11, 60
"""The least width of a column for numbers of which the longest is not known, fields aside, and the greatest width of
any column."""
SHORT = 6
"""Numbers of this many characters, as all of 16 bits, have columns of one width; the longest of longer ones is mostly
shorter than their type allows."""


class TableLines(Lines):
    """A table of exact values; left and right move through its columns. Its heading, line 0, stays at the top while the
    rows scroll, and covers the line there."""

    def __init__(self, session: Session, *, id: str) -> None:
        super().__init__(session, id=id)
        self.first_column = 0
        self._longest: dict[int, int] = {}
        """Field → the length of the longest value that was seen. It only grows, so that columns do not move to and fro
        while rows are passed."""
        self._measured: object = None
        """The table to which `_longest` belongs."""
        self._painted: list[int] = []

    def follow(self, session: Session) -> None:
        super().follow(session)
        self.first_column = 0

    def count(self) -> int:
        table = self.session.values.state
        return table.rows * self.lines_per_row + 1 if table.rows else len(self._sentence())

    def _sentence(self) -> list[StyledText]:
        """The lines that say why there is no table."""
        return [*fold(self.session.values.state.sentence, max(10, self.columns - 1))]

    @property
    def first(self) -> int:
        return 1 if self.session.values.state.rows else 0

    @property
    def lines_per_row(self) -> int:
        return 2 if self.session.values.state.complex else 1

    def line_at(self, y: int) -> int:
        return super().line_at(y) if y or not self.first else 0

    def marked(self, line: int) -> bool:
        table = self.session.values.state
        return bool(table.rows) and 0 <= line - self.cursor < (self.lines_per_row if line else 1)

    @property
    def _wide(self) -> int:
        """The width of a column of values of which the longest is known."""
        table = self.session.values.state
        share = max(COLUMN, (self.columns - 8) // max(1, table.columns))
        heads = max(map(len, table.column_labels), default=len(str(table.columns - 1)))
        return min(max(table.widest, heads) + 2, share)

    @property
    def _first(self) -> int:
        """The first displayed column, which another array may not have."""
        return min(self.first_column, max(0, self.session.values.state.columns - 1))

    def _widths(self) -> list[int]:
        """The widths of the columns that have room, from the first displayed one. Each field has its own, because one
        width for a flag and for a name would leave room for few of them. Columns of fractions, complex numbers and
        texts are as wide as these are, because a value that is cut is not exact; those of long integers, too, because
        most are short."""
        table, first, room = self.session.values.state, self._first, self.columns - 8
        if not self._own_widths:
            return [self._wide] * max(1, min(room // self._wide, table.columns - first))
        widths = [self._field_width(first)]
        for column in range(first + 1, table.columns):
            wide = self._field_width(column)
            if sum(widths) + wide > room:
                break
            widths.append(wide)
        return widths

    @property
    def _own_widths(self) -> bool:
        table = self.session.values.state
        return bool(table.column_labels) or not 0 < table.widest <= SHORT

    def _field_width(self, column: int) -> int:
        """The width of a column: that of its name and of the longest value among the rows seen so far."""
        values = self.session.values
        table = values.state
        measured = (self.session, self.session.state.path, table.column_labels, table.format)
        if measured != self._measured:
            self._measured, self._longest = measured, {}
        least = 0 if table.column_labels else SHORT - 2 if table.widest or not table.numbers else COLUMN - 2
        head = max(least, len(values.label(0, column)[1]))
        high = self.lines_per_row
        rows = max(1, -(-(self.size.height - 1) // high))
        cells = values.cells(self.scroll_offset.y // high, column, rows, 1)
        lengths = (max(map(cell_len, self._lines_of(row[0]))) for row in cells)
        longest = max((self._longest.get(column, head), *lengths))  # a table may have no rows
        self._longest[column] = longest
        return min(longest + 2, LONGEST, max(COLUMN, self.columns - 8))

    def _lines_of(self, cell: str) -> list[str]:
        """The text of a cell, one line or two."""
        return in_two_lines(cell).split("\n") if self.session.values.state.complex else [cell]

    def _back(self) -> int:
        """The number of columns that have room before the first displayed one."""
        if not self._own_widths:
            return len(self._widths())
        before, room = 0, self.columns - 8
        while before < self._first and (room := room - self._field_width(self._first - before - 1)) >= 0:
            before += 1
        return max(1, before)

    def render_lines(self, crop: Region) -> list[Strip]:
        widths = self._widths()
        if widths != self._painted:
            self._painted = widths
            self.refresh()  # lines outside `crop` have the former widths
            self.post_message(self.Moved())
        return super().render_lines(crop)

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self.post_message(self.Moved())  # the status line says which columns have room

    def cursor_text(self) -> str:
        table = self.session.values.state
        if not table.rows or not self.size:
            return ""
        shown = range(self._first, self._first + len(self._widths()))
        fixed = {name: index for name, index, length in table.fixed if length > 1}
        written = table.format if table.numbers and table.format != NUMBER_FORMATS[0] else ""
        source = strings.joined(written, table.source, table.note)
        part = words.table_part(source, table.row_title, table.column_title, shown, table.columns, fixed)
        return strings.joined(table.sentence, part)  # the reason of cells without a value comes before them

    def pieces(self, line: int) -> list[StyledText]:
        values, first = self.session.values, self._first
        table = values.state
        if not table.rows:
            return [(f" {self._sentence()[line][0]}", "quiet")]
        widths = self._painted or self._widths()

        def column(index: int, text: str) -> str:
            wide = widths[index] - 1
            side = (
                ">" if table.numbers and first + index not in table.texts else "<"
            )  # numbers are compared by their ends
            text = cut(strings.clean(text, wide), wide)
            return f" {text:{side}{wide - cell_len(text) + len(text)}}"

        if line == 0:
            heads = [values.label(0, first + c)[1] for c in range(len(widths))]
            return [(" " * 7, ""), *((column(c, head), "quiet") for c, head in enumerate(heads))]
        row, part = divmod(line - 1, self.lines_per_row)
        cells = values.cells(row, first, 1, len(widths))
        texts = ["".join(self._lines_of(cell)[part : part + 1]) for cell in (cells[0] if cells else [])]
        label = "" if part else strings.clean(values.label(row, first)[0], 6)
        return [(f"{label:>6} ", "quiet"), *((column(c, text), "") for c, text in enumerate(texts))]

    def key(self, event: events.Key) -> bool:
        if event.key == "w" and self.session.values.state.numbers:
            self.session.values.next_format()
            return True
        if event.key not in ("right", "left"):
            return super().key(event)
        by = len(self._widths()) if event.key == "right" else -self._back()
        last = max(0, self.session.values.state.columns - 1)
        self.first_column = max(0, min(last, self._first + by))
        self.refresh()
        return True
