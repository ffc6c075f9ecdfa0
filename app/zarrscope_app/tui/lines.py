"""Panes that consist of lines, of which only visible ones are painted: the tree, information, problems."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

from rich.cells import cell_len, get_character_cell_size, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from zarrscope_app.presenters import Session
from zarrscope_app.presenters import strings_terminal as words
from zarrscope_app.presenters.problem_rows import ProblemRow
from zarrscope_app.presenters.strings import Problem
from zarrscope_app.tui.entry import Painter

_SHAPE = "\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}"
_FACT = " ·\N{NO-BREAK SPACE}"
_UNIT = re.compile(r"(?<=\d) (?=(?:[KMGTP]iB|B|bytes|%|[pnµm]?m|[mµn]?s|px)(?!\w))|(?<=· chunks|· shards) (?=\d)")
"""The blank between a number and its unit, or a shape and its name, which stay on one line."""
_BLANKS = re.compile(" *")
FOLD_SECONDS = 0.008
BETWEEN_TURNS = 0.005
LINES_AT_ONCE = 200
_IN_PATH = re.compile(r"(?=\['/)|(?<=[^'\"]/)(?=[^/'\"])")
"""The places in a word at which a path may be broken. Not within `['/']`, the root."""
ROLES = ("quiet", "accent", "warning", "error", "added", "difference", "cursor")
StyledText = tuple[str, str]
"""A text and its role. A role is the name of a component class of `Lines` without its prefix "lines--"."""


class Lines(Painter, ScrollView, can_focus=True):
    """A list of lines with a cursor. Subclasses provide the number of lines and the text of each."""

    DEFAULT_CSS = """
    Lines { height: 1fr; scrollbar-size: 1 1; overflow-x: hidden; }
    Lines .lines--quiet { color: $text-muted; }
    Lines .lines--accent { color: $accent; text-style: bold; }
    Lines .lines--warning { color: $text-warning; }
    Lines .lines--error { color: $text-error; }
    Lines .lines--added { color: $text-success; }
    Lines .lines--difference { color: $accent; }
    Lines .lines--cursor { background: $foreground 10%; }
    Lines:focus .lines--cursor { background: $primary 60%; }
    """
    COMPONENT_CLASSES = {f"lines--{role}" for role in ROLES}  # noqa: RUF012 -- Textual declares it so
    has_cursor = True

    class Chosen(Message):
        """Message: the line under the cursor was clicked."""

        def __init__(self, lines: Lines, line: int) -> None:
            super().__init__()
            self.lines = lines
            self.line = line

    class Moved(Message):
        """Message: the cursor is on another line."""

    def __init__(self, session: Session, *, id: str) -> None:
        super().__init__(id=id)
        self.session = session
        self.cursor = 0
        self._known = -1
        self._plain: Style | None = None
        """The style of text without a role while lines are painted; None at other times."""

    def follow(self, session: Session) -> None:
        super().follow(session)
        self.cursor, self._known = 0, -1

    @property
    def columns(self) -> int:
        """The number of columns for text. `size` counts the column of the scrollbar, which covers the text there."""
        return self.size.width - self.scrollbar_size_vertical

    # ------------------------------------------------------------------ for subclasses
    def count(self) -> int:
        """The number of lines."""
        raise NotImplementedError  # each list has its own lines

    def pieces(self, line: int) -> list[StyledText]:
        """The text of a line, in pieces of one style each; longer text than the width is cut off."""
        raise NotImplementedError  # each list has its own lines

    def marked(self, line: int) -> bool:
        """Whether the cursor is on a line."""
        return line == self.cursor

    @property
    def first(self) -> int:
        """The first line on which the cursor can be."""
        return 0

    @property
    def lines_per_row(self) -> int:
        """The number of lines of a row, of which the cursor is on the first."""
        return 1

    def line_at(self, y: int) -> int:
        """The line that is displayed `y` lines below the top."""
        return y + self.scroll_offset.y

    def cursor_text(self) -> str:
        """A text for the status line: about the thing under the cursor, or the displayed part."""
        return ""

    # ------------------------------------------------------------------ painting
    def show(self) -> None:
        """Repaints the visible lines after a change."""
        count = self.count()
        self._set_count(count)
        self.cursor = self._within(self.cursor, count)
        self.refresh()

    def _set_count(self, count: int) -> None:
        """Tells Textual the number of lines. The layout of the screen is only redone if the scrollbar comes or goes,
        because that takes 10 ms, and a group that is listed grows many times."""
        if count == self._known:
            return
        self._known = count
        size = Size(self.size.width, count)
        if self.show_vertical_scrollbar and size.width and count > self.container_size.height:
            self.set_reactive(Widget.virtual_size, size)
            self.vertical_scrollbar.window_virtual_size = count
            self.scroll_y = self.validate_scroll_y(self.scroll_y)
        else:
            self.virtual_size = size

    def on_resize(self, _: events.Resize) -> None:
        self._known = -1
        self.show()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Paints several lines."""
        self._plain = self.rich_style  # once for all lines: it combines the styles of all widgets above this one
        try:
            return super().render_lines(crop)
        finally:
            self._plain = None

    def render_line(self, y: int) -> Strip:
        line = self.line_at(y)
        width = self.size.width
        base = self.rich_style if self._plain is None else self._plain
        if line >= self.count():
            return Strip.blank(width, base)
        marked = self.has_cursor and self.marked(line)
        if marked:
            base += self.get_component_rich_style("lines--cursor")
        # Other colours than that of plain text are hard to read on the colour of the focused cursor.
        bold = base + Style(bold=True)
        plain = {"quiet": base} | dict.fromkeys(ROLES[1:], bold) if marked and self.has_focus else {}
        try:
            segments = [Segment(text, plain.get(role) or self._style(role, base)) for text, role in self.pieces(line)]
        except Exception as error:
            self.fault(error)
            return Strip.blank(width, base)
        return Strip(segments).adjust_cell_length(width, base).simplify()

    def _style(self, role: str, base: Style) -> Style:
        if not role:
            return base
        color = self.get_component_rich_style(f"lines--{role}")
        return base + Style(color=color.color, bold=color.bold)

    # ------------------------------------------------------------------ moving
    def move(self, to: int) -> None:
        """Moves the cursor to a line, clipped to the list, and scrolls it into sight."""
        first = self.first
        self.cursor = self._within(to, self.count())
        self.scroll_to_region(Region(0, self.cursor - first, 1, self.lines_per_row + first), animate=False)
        self.refresh()
        self.post_message(self.Moved())

    def _within(self, line: int, count: int) -> int:
        """The nearest line of a list of `count` lines on which the cursor can be."""
        line = max(self.first, min(line, count - 1))
        return line - (line - self.first) % self.lines_per_row

    def key(self, event: events.Key) -> bool:
        """Moves the cursor for a key; returns False if the key has no effect here."""
        page = max(1, (self.size.height - 1) // self.lines_per_row)
        moves = {
            "up": -1, "k": -1, "down": 1, "j": 1, "pageup": -page, "pagedown": page,
            "home": -self.count(), "g": -self.count(), "end": self.count(), "G": self.count(),
        }  # fmt: skip
        by = moves.get(event.character if event.character in ("k", "j", "g", "G") else event.key)
        if by is not None:
            if self.has_cursor:
                self.move(self.cursor + by * self.lines_per_row)
            else:
                self.scroll_relative(y=by, animate=False)
        return by is not None

    def on_click(self, event: events.Click) -> None:
        line = self.line_at(event.y)
        if self.has_cursor and self.first <= line < self.count():
            self.move(line)
            self.post_message(self.Chosen(self, line))


class TextLines(Lines):
    """A given text; long lines are folded to the width."""

    DEFAULT_CSS = "TextLines { padding-left: 1; scrollbar-gutter: stable; }"
    has_cursor = False

    def __init__(self, session: Session, *, id: str) -> None:
        super().__init__(session, id=id)
        self._text = ""
        self._folded: list[StyledText] = []
        self._rest: Iterator[StyledText] = iter(())
        """The lines that are not folded yet: a text of megabytes is folded in turns, so that keys are answered."""
        self._width = 0
        self._turn: Timer | None = None

    def set_text(self, text: str) -> None:
        """Shows another text; an equal one keeps the folded lines."""
        if text != self._text:
            self._text = text
            self._width = 0
            self._known = -1
        Lines.show(self)

    def count(self) -> int:
        width = max(10, self.columns)
        if self._width != width:
            self._width = width
            self._folded, self._rest = [], (piece for line in self._text.split("\n") for piece in fold(line, width))
            if self._turn is not None:
                self._turn.stop()
                self._turn = None
            self._fold_on()
        return len(self._folded)

    def _fold_on(self) -> None:
        """Folds further lines for FOLD_SECONDS; the next turn follows after the keys that were pressed meanwhile."""
        first = self._turn is None
        self._turn = None
        end = time.monotonic() + FOLD_SECONDS
        while more := list(islice(self._rest, LINES_AT_ONCE)):
            self._folded += more
            if time.monotonic() > end:
                self._turn = self.set_timer(BETWEEN_TURNS, self._fold_on)
                break
        if not first:
            Lines.show(self)

    def pieces(self, line: int) -> list[StyledText]:
        return [self._folded[line]]


class InfoLines(TextLines):
    """The description of a node, with its documents."""

    def show(self) -> None:
        self.session.metadata.load_documents()
        self.session.metadata.measure()
        self.set_text(self.session.metadata.text(max(10, self.columns)))


class ChunkLines(TextLines):
    """The map of stored chunks."""

    ascii_bars = False
    """Whether bars are drawn in ASCII, for a terminal that lacks the others; the application sets it."""

    def show(self) -> None:
        self.session.chunks.look()
        self.set_text(self.session.chunks.text(ascii_bars=self.ascii_bars))


def cut(text: str, columns: int) -> str:
    """A text of at most `columns` columns; one that was longer ends with an ellipsis."""
    if cell_len(text) <= columns:
        return text
    return set_cell_size(text, columns - 1) + "…" if columns > 0 else ""


def fold(line: str, width: int) -> Iterator[StyledText]:
    """Yields a text in lines of at most `width` columns, those after the first indented by two more; lines of a
    difference have their colours."""
    role = "added" if line.startswith("+") else "error" if line.startswith("-") else ""
    start = min(len(line) - len(line.lstrip()), width // 2)
    following = min(start + 2, width // 2)
    whole = _UNIT.sub("\N{NO-BREAK SPACE}", line.lstrip().replace(" × ", _SHAPE))  # a shape, as "2 × 64", is one word
    whole = whole.replace(" · ", _FACT)  # a line does not end with a dot that separates nothing
    done = 0
    while True:
        # Only the beginning of the rest is looked at: copying all of it for each line takes seconds for 2 MB.
        rest = " " * start + whole[done : done + 4 * width]
        fits = _fitting(rest, width)
        if fits == len(rest) and done + 4 * width >= len(whole):
            break
        # A line breaks only at a blank after its indentation: a break within the indentation would take nothing from
        # the rest, and the loop would never end.
        found = rest.rfind(" ", start + 1, fits + 1)
        at = found if found > start else _within_path(rest, start + 1, fits)
        yield rest[:at].replace("\N{NO-BREAK SPACE}", " "), role
        done += at - start
        done += len(_BLANKS.match(whole, done)[0])  # type: ignore[index]  # matches everywhere
        start = following
    yield rest.replace("\N{NO-BREAK SPACE}", " "), role


def _within_path(text: str, least: int, fits: int) -> int:
    """The place of a break in a word of a line that is too long: before a node's path in brackets or after a slash, if
    the word has one after `least` characters; otherwise at the edge."""
    places = [match.start() for match in _IN_PATH.finditer(text[: fits + 4], least) if match.start() <= fits]
    return max(places, default=max(fits, least))


@lru_cache(maxsize=16)
def _folded(line: str, width: int) -> tuple[StyledText, ...]:
    """As `fold`, remembered, because every painted line of the problems needs the folded texts above it."""
    return tuple(fold(line, width))


def _fitting(text: str, columns: int) -> int:
    """How many characters of a text fit into `columns` columns."""
    if text.isascii():
        return min(len(text), columns)
    for at, character in enumerate(text):
        columns -= get_character_cell_size(character)
        if columns < 0:
            return at
    return len(text)


class ProblemLines(Lines):
    """Warnings and errors: the wrapped text about the last check, followed by one line per problem. The cursor is
    always on a problem, if there is one; that is unfolded to its whole text. `cursor` counts as if it were not."""

    DEFAULT_CSS = "ProblemLines { padding-left: 1; scrollbar-gutter: stable; }"

    def item(self) -> Problem | None:
        """The problem under the cursor."""
        at = self.cursor - len(self._said())
        rows: tuple[ProblemRow, ...] = self.session.problems.rows
        return rows[at].problem if 0 <= at < len(rows) else None

    def _said(self) -> Sequence[StyledText]:
        problems = self.session.problems
        told = words.CHECK_KEY if problems.unlooked else ""
        return _folded(f"{problems.sentence} {told}".rstrip(), max(10, self.columns))

    def _unfolded(self) -> list[str]:
        """The lines of the problem under the cursor."""
        at, rows = self.cursor - len(self._said()), self.session.problems.rows
        if not 0 <= at < len(rows):
            return [""]
        return [line for line, _ in _folded(f"{_before(rows[at])}{rows[at].headline}", max(10, self.columns - 2))]

    def _last(self) -> int:
        """The largest position of the cursor: that of the last problem."""
        return max(0, len(self._said()) + len(self.session.problems.items) - 1)

    def _line_at(self, row: int) -> int:
        """The place of the cursor for a row of the screen."""
        return row if row <= self.cursor else max(self.cursor, row - len(self._unfolded()) + 1)

    def count(self) -> int:
        return len(self._said()) + len(self.session.problems.items) + len(self._unfolded()) - 1

    def _first(self) -> int:
        """The first place of the cursor: the first problem."""
        return len(self._said()) if self.session.problems.items else 0

    def show(self) -> None:
        self.cursor = max(self._first(), min(self.cursor, self._last()))
        super().show()

    def move(self, to: int) -> None:
        self.cursor = max(self._first(), min(to, self._last()))
        self.show()  # the number of lines changes with the cursor
        top = 0 if self.cursor == self._first() else self.cursor  # the text above the first problem is in sight again
        self.scroll_to_region(Region(0, top, 1, self.cursor - top + len(self._unfolded())), animate=False)
        self.post_message(self.Moved())

    def on_click(self, event: events.Click) -> None:
        row = event.y + self.scroll_offset.y
        if 0 <= row < self.count():
            self.move(self._line_at(row))
            self.post_message(self.Chosen(self, self.cursor))

    def marked(self, line: int) -> bool:
        if not self.session.problems.items:
            return False
        return self.cursor <= line < self.cursor + len(self._unfolded())

    def pieces(self, line: int) -> list[StyledText]:
        said = self._said()
        if line < len(said):
            return [(said[line][0], "quiet")]
        rows: tuple[ProblemRow, ...] = self.session.problems.rows
        row = rows[self._line_at(line) - len(said)]
        mark, place, room = (f"{row.sign.narrow} ", row.severity), _before(row), self.columns - 2
        if not self.marked(line):
            return [mark, (cut(place, room), "quiet"), (cut(row.headline, room - cell_len(place)), "")]
        text = self._unfolded()[line - self.cursor]
        if line > self.cursor or not text.startswith(place):
            return [mark if line == self.cursor else ("  ", ""), (text, "")]
        return [mark, (place, "quiet"), (text[len(place) :], "")]


def _before(row: ProblemRow) -> str:
    return f"{row.node} " if row.node else ""
