"""The form as lines: a field on each, and beneath it what has no room there."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.geometry import Region

from zarrscope_app.presenters import Field, Session
from zarrscope_app.tui import emoji
from zarrscope_app.tui.lines import Lines, StyledText, cut, fold

KIND_WIDTH = 8
"""The width in terminal columns of the kind of a field (string, number …), at the right."""
LEAST_VALUE = 8
"""The least number of terminal columns of a value beside which an error is written."""


class FormLines(Lines):
    """The fields of the attributes as lines. `cursor` counts fields. A remark on a section, or an error, that is longer
    than its line is folded beneath it.

    If the field under the cursor is removed and comes back by an undo, the cursor returns to it before the next key,
    whether the form was painted after the removal, after the undo, or after neither.
    """

    def __init__(self, session: Session, *, id: str) -> None:
        super().__init__(session, id=id)
        self._at: tuple[int, str] = (0, "")
        """The field to which the cursor was moved, and its pointer."""
        self._laid_out: tuple[tuple[Field, ...], int] = ((), 0)
        """The fields and the number of columns for which `_long`, `_starts` and `_beneath` are valid."""
        self._long: list[int] = []
        """The fields with lines beneath them, in order."""
        self._starts: list[int] = []
        """The line of each of `_long`."""
        self._beneath: list[list[StyledText]] = []
        """The lines beneath each of `_long`."""
        self._to_first = False
        """Whether the cursor goes to the first field as soon as there are fields."""

    # ------------------------------------------------------------------ fields and lines
    def _lay_out(self) -> None:
        fields, columns = self.session.edit.state.fields, self.columns
        if self._laid_out[0] is fields and self._laid_out[1] == columns:
            return
        self._laid_out = (fields, columns)
        folded = [(at, found) for at, field in enumerate(fields) if (found := self._folded(field))]
        self._long, self._beneath = [at for at, _ in folded], [lines for _, lines in folded]
        before = accumulate((len(lines) for lines in self._beneath), initial=0)
        self._starts = [at + lines for at, lines in zip(self._long, before, strict=False)]

    def _folded(self, field: Field) -> list[StyledText]:
        """The lines beneath a field: its error, or the remark on a section, if its own line has no room for it."""
        text = field.error
        if not text:
            text = field.summary if self._is_section(field) else ""
        if not text or self.columns < 2 * LEAST_VALUE:
            return []
        taken = cell_len(f"{_lead(field)}{field.label}  ") + (LEAST_VALUE + KIND_WIDTH if field.error else 0)
        if "\n" not in text and taken + cell_len(text) < self.columns:
            return []
        whole = ("  " * (field.depth + 2) + part for part in text.split("\n"))
        lines = (line for part in whole for line, _ in fold(part, self.columns))
        return [(line, "error" if field.error else "quiet") for line in lines]

    def _is_section(self, field: Field) -> bool:
        return self.session.edit.state.way == "image" and field.kind in ("list", "object")

    def _field_at(self, line: int) -> tuple[int, int]:
        """The field on a line, and which of the field's lines it is."""
        self._lay_out()
        last = bisect_right(self._starts, line) - 1
        if last < 0:
            return line, 0
        below = len(self._beneath[last])
        past = line - self._starts[last]
        return (self._long[last], past) if past <= below else (self._long[last] + past - below, 0)

    def _line_of(self, at: int) -> int:
        """The first line of a field."""
        self._lay_out()
        last = bisect_right(self._long, at - 1) - 1
        return at if last < 0 else self._starts[last] + len(self._beneath[last]) + at - self._long[last]

    def count(self) -> int:
        self._lay_out()
        fields = self.session.edit.state.fields
        return len(fields) + sum(map(len, self._beneath)) if fields else len(self._lacking())

    def _lacking(self) -> list[StyledText]:
        """The lines that say why there are no fields."""
        return [*fold(f" {self.session.edit.state.sentence}", max(10, self.columns))]

    def marked(self, line: int) -> bool:
        return bool(self.session.edit.state.fields) and self._field_at(line)[0] == self.cursor

    # ------------------------------------------------------------------ the cursor
    def show(self) -> None:
        self._settle()
        super().show()

    def _settle(self) -> None:
        """Puts the cursor on a field: on that to which it was moved, if this is at its place again."""
        fields = self.session.edit.state.fields
        if self._to_first and fields:
            self._to_first = False
            self.move(next(iter(self._first_fields()), 0))
        self.cursor = max(0, min(self.cursor, len(fields) - 1))
        at, pointer = self._at
        if self.cursor == at and self.cursor < len(fields):
            self._at = (at, fields[at].pointer)
        elif at < len(fields) and fields[at].pointer == pointer:
            self.cursor = at

    def move(self, to: int) -> None:
        """Moves the cursor to a field, and scrolls it into sight with the lines beneath it."""
        fields = self.session.edit.state.fields
        self.cursor = max(0, min(to, len(fields) - 1))
        self._at = (self.cursor, fields[self.cursor].pointer if fields else "")
        first, following = self._line_of(self.cursor), self._line_of(self.cursor + 1)
        self.scroll_to_region(Region(0, first, 1, max(1, following - first)), animate=False)
        self.refresh()
        self.post_message(self.Moved())

    def go_to_first(self) -> None:
        """Moves the cursor to the first field within a section, as soon as the fields have arrived."""
        self._to_first = True

    def follow(self, session: Session) -> None:
        super().follow(session)
        self._at, self._to_first = (0, ""), False

    def on_click(self, event: events.Click) -> None:
        line = event.y + self.scroll_offset.y
        if 0 <= line < self.count():
            self.move(self._field_at(line)[0])
            self.post_message(self.Chosen(self, self.cursor))

    def key(self, event: events.Key) -> bool:
        """Moves also to the next or the previous section."""
        return self.move_by_key(event.key) or super().key(event)

    def move_by_key(self, key: str) -> bool:
        """Moves the cursor to the next or the previous field, or with Ctrl to that of another section; returns whether
        the key is one of these."""
        self._settle()
        by = {"ctrl+down": 1, "ctrl+up": -1, "down": 1, "up": -1}.get(key)
        if by is None:
            return False
        if key.startswith("ctrl+"):
            first = self._first_fields()
            self.move(next((at for at in first[::by] if (at - self.cursor) * by > 0), self.cursor))
        else:
            self.move(self.cursor + by)
        return True

    def _first_fields(self) -> list[int]:
        """The first field of each list and object; a colour is passed over, as it is mostly chosen."""
        fields, found = self.session.edit.state.fields, []
        for at, field in enumerate(fields):
            if field.kind in ("list", "object"):
                inside = at + 1
                while inside + 1 < len(fields) and fields[inside].editor == "colour":
                    inside += 1
                found.append(inside if inside < len(fields) and fields[inside].depth > field.depth else at)
        return found

    def field(self) -> Field | None:
        """The field under the cursor; None if there are no fields."""
        self._settle()
        fields = self.session.edit.state.fields
        return fields[self.cursor] if self.cursor < len(fields) else None

    # ------------------------------------------------------------------ painting
    def pieces(self, line: int) -> list[StyledText]:
        if not self.session.edit.state.fields:
            return [(self._lacking()[line][0], "quiet")]
        at, part = self._field_at(line)
        folded = self._beneath[self._long.index(at)] if at in self._long else []
        if part:
            return [folded[part - 1]]
        field = self.session.edit.state.fields[at]
        lead, name = _lead(field), f"{emoji.parts(field.label)}  "
        error = field.error and not folded
        tail = ([(" •", "accent")] if field.changed else []) + ([(f"  {field.error}", "error")] if error else [])
        named = self.session.edit.state.way == "fields"
        taken = sum(cell_len(text) for text in (lead, name, *(text for text, _ in tail)))
        room = max(self.size.width - (KIND_WIDTH if named else 1) - taken, LEAST_VALUE)  # the last column: scrollbar
        text = "" if folded and not field.error else emoji.parts(field.summary)
        value = set_cell_size(cut(text, room), room)
        kind = [(f"{field.kind:>{KIND_WIDTH - 1}}", "quiet")] if named else []
        return [(lead, "quiet"), (name, "quiet"), (value, ""), *tail, *kind]


def _lead(field: Field) -> str:
    """The indentation of a field, and the mark of a list or object."""
    mark = ("▸ " if field.folded else "▾ ") if field.kind in ("list", "object") else "  "
    return "  " * field.depth + mark
