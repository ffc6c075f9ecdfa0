"""Lays out the rows of a section of the form: beside each other the label, the editors and the note, as far as the
width suffices.

In a narrower form the notes stand beneath their rows, then the editors become narrower, and then they continue on
further lines, so that a form is never scrolled sideways: a docked form is about 250 pixels wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from zarrscope_app.qt.toolkit.core import QRect, QSize, Qt
from zarrscope_app.qt.toolkit.widgets import QLabel, QLayoutItem, QLineEdit, QStyle, QWidget

from .list_layout import ListLayout

_GAP, _BETWEEN = 8, 4
"""Pixels between two widgets side by side, and between two lines."""
_LABEL_WIDTH = 40
"""The least width of the labels of rows, as long as all fits on one line."""
_APART = 6
"""Further pixels between two rows that take several lines each."""
_SENTENCE = 420
"""The least width of a line that has its row to itself, such as a description, where there is room."""
_EDGES = 16
"""The pixels of such a line around its text."""
_UNBOUNDED = 1 << 16
"""Qt gives a larger maximum width to a widget without one."""


@dataclass
class _Row:
    label: QLayoutItem | None
    fields: list[QLayoutItem | None]
    note: QLayoutItem | None = None
    promised: bool = False
    """Whether the widgets of the row are still to be made."""
    label_width: int = 0
    note_width: int = 0
    """The widths of the texts of a promised row."""


@dataclass
class _Arrangement:
    """How the rows are broken into lines at one width."""

    label: int
    """The width of the labels."""
    widths: list[int]
    """The width of each column of fields."""
    lines: list[list[int]]
    """The columns on each line of a row."""
    beside: bool
    """Whether the notes stand beside the rows."""


class SectionLines(ListLayout):
    """`promise_row` keeps the place of a row, `fill_row` gives it its label, its editors and its note, and `add_heads`
    adds the headings of the columns. A promised row is as high as the first one that has its widgets, so that the rows
    beneath it stay where they are when it is filled."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._heads: _Row | None = None
        self._rows: list[_Row] = []
        self._widest = 0
        """The most fields of a row."""
        self._plans: dict[int, _Arrangement] = {}
        """The arrangement at each width, until an item changes."""
        self._placed: tuple[_Arrangement, QRect, list[int]] | None = None
        """The last arrangement, where it was placed, and the top of each row."""

    def add_heads(self, heads: Sequence[QWidget | None]) -> None:
        """Adds the headings of the columns; None for a column without one."""
        self._heads = _Row(None, [self._take(head) for head in heads])

    def promise_row(self, fields: int, label_width: int, note_width: int) -> None:
        """Keeps the place of a row beneath the others, with this number of fields and texts of these widths."""
        self._rows.append(_Row(None, [], promised=True, label_width=label_width, note_width=note_width))
        self._widest = max(self._widest, fields)

    @property
    def is_placed(self) -> bool:
        """Whether the rows have their places."""
        return self._placed is not None

    def fill_row(self, number: int, label: QWidget, fields: Sequence[QWidget], note: QWidget) -> None:
        """Puts the widgets of a promised row into their place, without another arrangement of the other rows."""
        row = self._rows[number] = _Row(self._take(label), [self._take(field) for field in fields], self._take(note))
        for widget in (label, *fields, note):
            widget.resize(0, 0)  # else an area as large as a new window would be painted
            widget.show()  # a hidden widget has no place in a layout
        if self._placed is not None:
            plan, rect, tops = self._placed
            self._lines_of(row, plan, rect, tops[number], place=True)

    def _take(self, widget: QWidget | None) -> QLayoutItem | None:
        if widget is None:
            return None
        self.addWidget(widget)
        return self._items[-1]

    # ---------------------------------------------------------------- sizes
    def sizeHint(self) -> QSize:
        """The size with everything beside each other."""
        columns = [wide for _, wide in self._columns()]
        width = self._label_width(_LABEL_WIDTH) + sum(_GAP + wide for wide in columns) + self._note_width()
        return QSize(width, self.heightForWidth(width))

    def minimumSize(self) -> QSize:
        """The width of the widest editor at its least, and one line: the height follows from the width."""
        least = max((narrow for narrow, _ in self._columns()), default=0)
        return QSize(self._label_width() + _GAP + least, 0)

    def invalidate(self) -> None:
        """Called by Qt when an item has changed: forgets the plans of the rows too."""
        super().invalidate()
        self._plans.clear()

    # ---------------------------------------------------------------- widths
    def _label_width(self, least: int = 0) -> int:
        found = [row.label.sizeHint().width() if row.label is not None else row.label_width for row in self._rows]
        return max([least, *found])

    def _note_width(self) -> int:
        """The width of the widest note on one line, with the gap before it; 0 without notes."""
        found = [_GAP + _line_width(row.note) for row in self._rows if row.note is not None and _text(row.note)]
        found += [_GAP + row.note_width for row in self._rows if row.promised and row.note_width]
        return max(found, default=0)

    def _alone(self, row: _Row) -> bool:
        """Whether a row has a single field and others have several: it does not count as a column."""
        return len(row.fields) == 1 < self._widest

    def _columns(self) -> list[tuple[int, int]]:
        """(least, preferred) width of each column of fields."""
        found: list[tuple[int, int]] = []
        for items in zip_longest(*(row.fields for row in self._rows if not self._alone(row))):
            there = [item for item in items if item is not None]
            found.append((max(map(_least, there)), max(map(_preferred, there))))
        for place, head in enumerate(self._heads.fields if self._heads is not None else ()):
            if head is not None and place < len(found):
                narrow, wide = found[place]
                found[place] = (max(narrow, _word_width(head)), max(wide, _line_width(head)))
        return found

    def _plan(self, width: int) -> _Arrangement:
        columns = self._columns()
        label, every = self._label_width(_LABEL_WIDTH), [*range(len(columns))]
        wanted = [wide for _, wide in columns]
        needed = label + sum(_GAP + wide for wide in wanted)
        if needed <= width:
            note = self._note_width()
            if len(wanted) == 1 and not note and self._is_free(0):
                wanted = [max(wanted[0], min(max(_SENTENCE, self._longest()), wanted[0] + width - needed))]
            return _Arrangement(label, wanted, [every], needed + note <= width)
        label = self._label_width()
        space = width - label - _GAP
        least = [narrow for narrow, _ in columns]
        lines = _even_lines(least, space)
        widths = [min(narrow, space) for narrow in least]
        for line in lines:
            self._widen(widths, line, wanted, space - sum(widths[place] for place in line) - _GAP * (len(line) - 1))
        return _Arrangement(label, widths, lines, False)

    def _longest(self) -> int:
        """The width of the longest text in a row that has one field."""
        lines = (item.widget() for row in self._rows for item in row.fields if item is not None)
        return max(
            (
                _EDGES + line.fontMetrics().horizontalAdvance(line.text())
                for line in lines
                if isinstance(line, QLineEdit)
            ),
            default=0,
        )

    def _widen(self, widths: list[int], line: list[int], wanted: list[int], spare: int) -> None:
        """Gives the columns of a line the space that is left: each up to its preferred width, and the rest to those
        that may be as wide as they like, such as names."""
        for place in sorted(line, key=lambda place: wanted[place] - widths[place]):
            more = max(0, min(wanted[place] - widths[place], spare))
            widths[place] += more
            spare -= more
        free = [place for place in line if self._is_free(place)]
        for place in free:
            widths[place] += max(0, spare) // len(free)

    def _is_free(self, place: int) -> bool:
        items = [row.fields[place] for row in self._rows if place < len(row.fields) and not self._alone(row)]
        return any(item is not None and not _is_bounded(item) and bool(item.expandingDirections()) for item in items)

    # ---------------------------------------------------------------- lines
    def _arrange(self, rect: QRect, place: bool) -> int:
        plan, y = self._plans.get(rect.width()), rect.y()
        if plan is None:
            plan = self._plans[rect.width()] = self._plan(rect.width())
        if self._heads is not None:
            y = self._lines_of(self._heads, plan, rect, y, place, Qt.AlignmentFlag.AlignBottom)
        usual: int | None = None
        tops: list[int] = []
        for number, row in enumerate(self._rows):
            if number:
                y += _APART if len(plan.lines) > 1 else 0
            tops.append(y)
            if not row.promised:
                y = self._lines_of(row, plan, rect, y, place)
                continue
            if usual is None:
                made = next((row for row in self._rows if not row.promised), None)
                usual = self._lines_of(made, plan, rect, 0, False) if made is not None else 0
            y += usual
        if place:
            self._placed = plan, rect, tops
        return max(0, y - rect.y() - _BETWEEN)

    def _lines_of(
        self,
        row: _Row,
        plan: _Arrangement,
        rect: QRect,
        y: int,
        place: bool,
        align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignVCenter,
    ) -> int:
        """Places a row from `y` on; returns the place of the next line."""
        alone = self._alone(row)
        start = rect.x() + plan.label + _GAP
        x, tall = start, 0
        for number, line in enumerate([[0]] if alone else plan.lines):
            there = [(at, row.fields[at]) for at in line if at < len(row.fields)]
            shown = [(at, item) for at, item in there if item is not None]
            widths = {at: item.sizeHint().width() if alone else plan.widths[at] for at, item in shown}
            tall = max((_height(item, widths[at]) for at, item in shown), default=0)
            if number == 0 and row.label is not None:
                tall = max(tall, row.label.sizeHint().height())
                self._put(row.label, QRect(rect.x(), y, plan.label, tall), rect, place)
            x = start
            for at in line:
                item = row.fields[at] if at < len(row.fields) else None
                width = widths.get(at, plan.widths[at] if at < len(plan.widths) else 0)
                if item is not None:
                    height = _height(item, width)
                    spare = tall - height if align == Qt.AlignmentFlag.AlignBottom else (tall - height) // 2
                    self._put(item, QRect(x, y + spare, width, height), rect, place)
                x += width + _GAP
            y += tall + _BETWEEN if tall else 0
        if row.note is None:
            return y
        if not _text(row.note):
            self._put(row.note, QRect(start, rect.y(), 0, 0), rect, place)
        elif plan.beside or (alone and x + _line_width(row.note) <= rect.right()):
            # As high as the line, which is the only one: its text then stands as high as that of the label.
            self._put(row.note, QRect(x, y - _BETWEEN - tall, rect.right() + 1 - x, tall), rect, place)
        else:
            width = rect.right() + 1 - start
            tall = _height(row.note, width)
            self._put(row.note, QRect(start, y, width, tall), rect, place)
            y += tall + _BETWEEN
        return y

    def _put(self, item: QLayoutItem, place: QRect, inside: QRect, really: bool) -> None:
        """Gives a widget its place; mirrored where texts run from right to left."""
        if really:
            parent = self.parentWidget()
            direction = parent.layoutDirection() if parent is not None else Qt.LayoutDirection.LeftToRight
            item.setGeometry(QStyle.visualRect(direction, inside, place))


def _even_lines(widths: Sequence[int], space: int) -> list[list[int]]:
    """Distributes columns of these widths over as few lines as possible, none wider than `space`. Of the ways to do so,
    it takes that with the narrowest longest line, which mostly keeps pairs such as "from" and "to" together."""
    ends = range(1, len(widths) + 1)
    sums = {sum(widths[first:end]) + _GAP * (end - first - 1) for end in ends for first in range(end)}
    fewest = len(_lines_within(widths, space))
    return next(
        (lines for limit in sorted(sums) if len(lines := _lines_within(widths, limit)) <= fewest and limit <= space),
        _lines_within(widths, space),
    )


def _lines_within(widths: Sequence[int], space: int) -> list[list[int]]:
    """Columns of these widths, on each line as many as fit into the space, and at least one."""
    lines: list[list[int]] = [[]]
    for place, width in enumerate(widths):
        if lines[-1] and sum(widths[other] + _GAP for other in lines[-1]) + width > space:
            lines.append([])
        lines[-1].append(place)
    return lines


def _least(item: QLayoutItem) -> int:
    return item.minimumSize().width()


def _is_bounded(item: QLayoutItem) -> bool:
    return item.maximumSize().width() < _UNBOUNDED


def _preferred(item: QLayoutItem) -> int:
    return item.maximumSize().width() if _is_bounded(item) else item.sizeHint().width()


def _height(item: QLayoutItem, width: int) -> int:
    return item.heightForWidth(width) if item.hasHeightForWidth() else item.sizeHint().height()


def _text(item: QLayoutItem) -> str:
    widget = item.widget()
    return widget.text() if isinstance(widget, QLabel) else ""


def _line_width(item: QLayoutItem) -> int:
    """The width of a label's text on one line."""
    widget = item.widget()
    return widget.fontMetrics().horizontalAdvance(_text(item)) + 4 if widget is not None else 0


def _word_width(item: QLayoutItem) -> int:
    """The width of the longest word of a label."""
    widget = item.widget()
    words = _text(item).split()
    return max((widget.fontMetrics().horizontalAdvance(word) + 4 for word in words), default=0) if widget else 0
