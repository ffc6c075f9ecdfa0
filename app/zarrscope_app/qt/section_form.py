"""The meaning of attributes as sections of editors: pixel size, channels, axes. The form mirrors the presenter's
sections.

Editors stay while the sections have the same fields, so that the keyboard focus and a text that is being typed are
kept. Those of a long form are made in turns, between which input is handled; a field that is asked for is made at once.
A text is checked while it is typed, and applied by Enter or on leaving the field.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import pairwise
from typing import Any

from zarrscope_app.presenters import EditPresenter, EditStatus, Field, strings
from zarrscope_app.presenters.commands import command
from zarrscope_app.presenters.form.view_models import EditState, FormRow, FormSection
from zarrscope_app.qt.toolkit.core import QCoreApplication, QEvent, QObject, QSignalBlocker, Qt, QTimer, Signal
from zarrscope_app.qt.toolkit.gui import QFocusEvent, QKeyEvent, QResizeEvent
from zarrscope_app.qt.toolkit.widgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from .check_box import CheckBox
from .editors import ChoiceBox, Colour
from .font_scale import grown
from .found_frame import FoundFrame
from .number_line import NumberLine
from .section_lines import SectionLines
from .text import Label, tip
from .text_button import TextButton
from .theme import quiet, warning
from .undo_keys import UndoKeys

_WIDTHS = {"number": (64, 88), "colour": (88, 96), "choice": (128, 144), "date": (96, 168)}
"""The least and the usual width of editors."""
_LONGEST_NUMBER = 176
"""The most pixels of a number, which is as wide as its text: 0.10833333333333334 is seen whole."""
_FRAME = 20
"""The pixels of a line of text beside its letters."""
_LINE_LEAST = 72
"""The least width of a line of text."""
_LEFT, _RIGHT = 16, 8
"""The margins of the form."""
_NARROW = 400
"""A form of fewer pixels has the right margin on both sides."""
AT_ONCE = 16
"""The number of editors after which a turn of making them ends: about 6 ms of computing."""
_UNTITLED = 2
"""The most fields side by side that have no column headings, because the labels of the rows are enough."""


class SectionFormWidget(QScrollArea):
    """The form of sections. `attach` takes an edit presenter, or None; `show_state` paints its state. `typed` is
    emitted when typing begins."""

    typed = Signal()
    asked = Signal(str)
    """Emits a command that fills a section."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter: EditPresenter | None = None
        self._shape: list[Any] = []
        self._state = EditState()
        self.editors: dict[str, QWidget] = {}
        """The editors made so far, by the ids of their fields."""
        self._column: QVBoxLayout | None = None
        self._layouts: list[SectionLines] = []
        """The rows of each section."""
        self._due: dict[tuple[int, int], None] = {}
        """The rows whose editors are still to be made, as (section, row), in this order."""
        self._turns = QTimer(self)
        self._turns.setInterval(0)
        self._turns.timeout.connect(self._make_rows)
        self._notes: dict[str, Label] = {}
        self._wrong: dict[str, str] = {}
        """Field → the fault of the text that is being typed into it."""
        self._wants_focus = False
        self._mark: FoundFrame | None = None
        self._undo_keys = UndoKeys(self)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def attach(self, presenter: EditPresenter | None) -> None:
        """Shows another presenter's sections."""
        self._presenter = presenter

    def show_state(self, state: EditState) -> None:
        """Paints the sections; a text that is being typed stays."""
        self._state = state
        shape = [
            (
                (section.id, section.title, section.command),
                [[(row.label, f.pointer, f.editor, f.choices) for f in row.fields] for row in section.rows],
            )
            for section in state.sections
        ]
        if shape != self._shape:
            self._shape = shape
            self._build(state.sections)
        else:
            self._show_sections(state.sections)
        self._focus_first()

    @property
    def pending(self) -> bool:
        """Whether an editor has a text that is not yet applied."""
        return any(_is_typed_in(editor) for editor in self.editors.values())

    def commit(self) -> None:
        """Applies the text of the editor with the keyboard focus."""
        for id, editor in self.editors.items():
            line = _line(editor)
            if line is not None and line.hasFocus():
                self._typed(id)

    def focus_form(self) -> None:
        """Puts the keyboard focus on the first field, as soon as it is visible."""
        self._wants_focus = True
        self._focus_first()

    def _focus_first(self) -> None:
        first = next(iter(self.editors.values()), None)
        if first is not None and self._wants_focus and self.isVisible():
            self._wants_focus = False
            first.setFocus(Qt.FocusReason.TabFocusReason)

    def focusInEvent(self, event: QFocusEvent | None) -> None:
        """Passes the focus on to a field; Qt gives it to this pane when the page displayed before is hidden."""
        super().focusInEvent(event)
        self.focus_form()

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        page = self.widget()
        if page is not None:
            self._fit_margins(page)

    def _fit_margins(self, page: QWidget) -> None:
        column = page.layout()
        if column is not None:
            column.setContentsMargins(_RIGHT if self.width() < _NARROW else _LEFT, 0, _RIGHT, 16)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Called by Qt for the Tab key: makes the editor that it leads to, if it is not made yet."""
        if self._due:
            order = self._tab_order()
            here = next((at for at, id in enumerate(order) if self._has_keys(id)), None)
            at = -1 if here is None else here + (1 if forward else -1)
            if 0 <= at < len(order):
                self._made(order[at])
        return super().focusNextPrevChild(forward)

    def jump(self, id: str) -> bool:
        """Puts the keyboard focus on a field."""
        editor = self._made(id)
        if editor is not None:
            self.ensureWidgetVisible(editor)
            editor.setFocus(Qt.FocusReason.TabFocusReason)
        return editor is not None

    def mark(self, id: str) -> None:
        """Draws a frame around a field that was found, without the keyboard focus; "" removes the frame."""
        if self._mark is not None:
            self._mark.close()
            self._mark = None
        editor = self._made(id)
        if editor is not None:
            self.ensureWidgetVisible(editor)
            self._mark = FoundFrame(editor)

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        """Takes Ctrl+Down and Ctrl+Up from the editors, which go to the next and the previous section."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            by = 1 if event.key() == Qt.Key.Key_Down else -1 if event.key() == Qt.Key.Key_Up else 0
            if by and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
                self._go_by_section(by)
                return True
        return super().eventFilter(watched, event)

    def _go_by_section(self, by: int) -> None:
        """Puts the keyboard focus on the first field of the section `by` sections further; a colour, which is mostly
        chosen, not typed, is passed over."""
        fields = [[f for row in section.rows for f in row.fields] for section in self._state.sections]
        fields = [found for found in fields if found]
        here = next((n for n, found in enumerate(fields) if any(self._has_keys(f.pointer) for f in found)), None)
        at = (0 if by > 0 else len(fields) - 1) if here is None else here + by
        if 0 <= at < len(fields):
            self.jump(next((f for f in fields[at] if f.editor != "colour"), fields[at][0]).pointer)

    def _has_keys(self, id: str) -> bool:
        editor, focus = self.editors.get(id), QApplication.focusWidget()
        return editor is not None and focus is not None and (editor is focus or editor.isAncestorOf(focus))

    # ---------------------------------------------------------------- widgets
    def _build(self, sections: tuple[FormSection, ...]) -> None:
        focused = next((id for id, editor in self.editors.items() if editor.hasFocus()), "")
        self._due = {}  # these are rows of the former sections
        self.mark("")
        self.editors, self._notes, self._wrong = {}, {}, {}
        self._layouts = []
        page = QWidget()
        column = self._column = QVBoxLayout(page)
        column.setSpacing(4)
        for section in sections:
            title = Label(section.title)
            font = title.font()
            font.setBold(True)
            title.setFont(font)
            column.addSpacing(8)
            column.addLayout(self._heading(title, section))
            self._layouts.append(self._lines(section))
            column.addLayout(self._layouts[-1])
            column.addWidget(self._note(section.id))
            self._show_notes(section)
        column.addStretch(1)
        rows = [(place, number) for place, section in enumerate(sections) for number in range(len(section.rows))]
        # The first rows of all sections tell the widths of the columns and the heights of the rows that follow.
        self._due = dict.fromkeys(sorted(rows, key=lambda row: row[1] > 0))
        self._make_rows()  # a visible page would be laid out again for each text
        self._fit_margins(page)
        if (viewport := self.viewport()) is not None:
            page.resize(viewport.size())  # else Qt would lay it out at its preferred size first
        self.setWidget(page)
        page.show()
        if focused and not self.jump(focused):
            self.focus_form()

    def _make_rows(self, wanted: Iterable[tuple[int, int]] = ()) -> None:
        """Makes these rows, or else the next ones until there are `AT_ONCE` more editors. A timer then goes on after
        the events that wait."""
        column = self._column
        assert column is not None
        if not self._due:
            self._turns.stop()
            column.activate()
            return
        column.setEnabled(False)  # Qt would lay out the page for each editor
        before = len(self.editors)
        for place, number in [*(wanted or self._due)]:
            if wanted or len(self.editors) - before < AT_ONCE:
                self._make_row(place, number)
        for section in self._state.sections:
            self._fit_numbers(section)
        self._order_tabs()
        column.setEnabled(True)
        page = self.widget()
        self._make_rows_later()
        if page is None or page.layout() is not column:
            return  # laid out when it is shown
        if wanted:
            column.activate()
        elif all(lines.is_placed for lines in self._layouts):
            # The new rows stand in the places promised to them: the page is laid out in a turn after the last one.
            QCoreApplication.removePostedEvents(page, QEvent.Type.LayoutRequest)

    def _make_rows_later(self) -> None:
        self._turns.start()

    def _make_row(self, place: int, number: int) -> None:
        del self._due[place, number]
        section = self._state.sections[place]
        row = section.rows[number]
        label = Label(row.label)
        label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        for field in row.fields:
            self.editors[field.pointer] = self._editor(field)
            self._show_field(field)
        note = self._note(f"{section.id}/{number}")
        self._show_note(section.id, number, row)
        editors = [self.editors[field.pointer] for field in row.fields]
        self._layouts[place].fill_row(number, label, editors, note)

    def _made(self, id: str) -> QWidget | None:
        """The editor of a field, made at once and laid out if it is still to be made; None without such a field."""
        if id not in self.editors:
            shown = self._state.sections
            found = [(at, n) for at, n in self._due if any(field.pointer == id for field in shown[at].rows[n].fields)]
            if found:
                self._make_rows(found)
        return self.editors.get(id)

    def _heading(self, title: Label, section: FormSection) -> QHBoxLayout:
        """The title, and beside it a command that fills the section."""
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(title)
        if section.command:
            button = TextButton()
            button.setText(command(section.command).label)
            button.setToolTip(tip(command(section.command).label))
            button.clicked.connect(partial(self.asked.emit, section.command))
            line.addWidget(button)
        line.addStretch(1)
        return line

    def _lines(self, section: FormSection) -> SectionLines:
        lines = SectionLines()
        widest = max((len(row.fields) for row in section.rows), default=0)
        if widest > _UNTITLED:
            lines.add_heads([self._head(section, place) for place in range(len(section.rows[0].fields))])
        metrics = self.fontMetrics()
        for row in section.rows:
            widths = [metrics.horizontalAdvance(text) for text in (row.label, row.note)]
            lines.promise_row(len(row.fields), *widths)
        return lines

    def _head(self, section: FormSection, place: int) -> Label | None:
        """The heading of a column; a check box has its own label."""
        field = section.rows[0].fields[place]
        if field.editor == "check":
            return None
        head = self._note(f"{section.id}/head/{place}")
        self._tell(head, field.title, False)
        return head

    def _note(self, id: str) -> Label:
        note = Label()
        note.setWordWrap(True)
        self._notes[id] = note
        return note

    def _editor(self, field: Field) -> QWidget:
        id = field.pointer
        if field.editor == "check":
            check = CheckBox(field.title)
            check.toggled.connect(lambda on: self._edit(id, "true" if on else "false"))
            check.clicked.connect(lambda on: self._check(id, on))
            editor: QWidget = check
        elif field.editor == "choice":
            choice = ChoiceBox(self, field.choices, free=True)
            choice.activated.connect(lambda _: self._typed(id))
            self._watch(choice.lineEdit(), id)
            self._undo_keys.watch(choice)
            editor = choice
        else:
            line = Colour(self) if field.editor == "colour" else NumberLine()
            self._watch(line, id)
            editor = line
        widths = _WIDTHS.get("number" if field.kind == "number" else field.editor)
        if widths is not None:
            editor.setMinimumWidth(grown(editor, widths[0]))
            editor.setMaximumWidth(grown(editor, widths[1]))
        elif field.editor == "line":
            editor.setMinimumWidth(_LINE_LEAST)
        for part in (editor, _line(editor)):
            if part is not None:
                part.installEventFilter(self)
        editor.setAccessibleName(field.label)
        editor.setToolTip(tip(field.title))
        return editor

    def _watch(self, line: QLineEdit | None, id: str) -> None:
        assert line is not None
        line.textEdited.connect(partial(self._try, id))
        line.editingFinished.connect(partial(self._typed, id))
        self._undo_keys.watch(line)

    def _tab_order(self) -> list[str]:
        """The fields in the order of the Tab key, which goes down each column: from the size along one axis to the size
        along the next axis."""
        found: list[str] = []
        for section in self._state.sections:
            for place in range(max((len(row.fields) for row in section.rows), default=0)):
                found += [row.fields[place].pointer for row in section.rows if place < len(row.fields)]
        return found

    def _order_tabs(self) -> None:
        for one, other in pairwise(self.editors[id] for id in self._tab_order() if id in self.editors):
            QWidget.setTabOrder(one, other)

    # ---------------------------------------------------------------- painting
    def _show_sections(self, sections: tuple[FormSection, ...]) -> None:
        before = [note.text() for note in self._notes.values()]
        for place, section in enumerate(sections):
            for number, row in enumerate(section.rows):
                if (place, number) in self._due:
                    continue  # painted when it is made
                for field in row.fields:
                    self._show_field(field)
                self._show_note(section.id, number, row)
            self._show_notes(section)
            self._fit_numbers(section)
        if self._due and self._column is not None and before != [note.text() for note in self._notes.values()]:
            self._column.activate()  # notes of another height move the rows that are still to be made

    def _show_field(self, field: Field) -> None:
        editor = self.editors[field.pointer]
        if isinstance(editor, CheckBox):
            blocker = QSignalBlocker(editor)
            state = Qt.CheckState.Checked if field.text == "true" else Qt.CheckState.Unchecked
            editor.setTristate(bool(field.differs))
            editor.setCheckState(Qt.CheckState.PartiallyChecked if field.differs else state)
            editor.setToolTip(tip(strings.joined(field.title, field.differs)))
            blocker.unblock()
        elif (line := _line(editor)) is not None and line.text() != field.text and not _is_typed_in(editor):
            line.setText(field.text)  # setting the same text again would clear the selection
            if not line.hasFocus():
                line.setCursorPosition(0)  # else a long text would show its end
        hint = field.differs or (field.summary if field.choices and not field.text else "")
        if (line := _line(editor)) is not None and line.placeholderText() != hint:
            line.setPlaceholderText(hint)
        font = editor.font()
        if font.bold() != field.changed:
            font.setBold(field.changed)
            editor.setFont(font)

    def _fit_numbers(self, section: FormSection) -> None:
        """Makes the numbers of each column as wide as the longest one."""
        for place in range(max((len(row.fields) for row in section.rows), default=0)):
            there = [row.fields[place] for row in section.rows if place < len(row.fields)]
            texts = {field.pointer: field.text or field.differs for field in there if field.kind == "number"}
            editors = {id: editor for id in texts if isinstance(editor := self.editors.get(id), QLineEdit)}
            texts |= {id: line.text() or line.placeholderText() for id, line in editors.items()}
            lines = [*editors.values()]
            widest = max(map(lines[0].fontMetrics().horizontalAdvance, texts.values())) if lines else 0
            width = max(grown(self, _WIDTHS["number"][1]), min(widest + _FRAME, grown(self, _LONGEST_NUMBER)))
            for line in lines:
                line.setMaximumWidth(width)

    def _show_note(self, section: str, number: int, row: FormRow) -> None:
        error = next(filter(None, (self._wrong.get(f.pointer, "") or f.error for f in row.fields)), "")
        self._tell(self._notes[f"{section}/{number}"], error or row.note, bool(error))

    def _show_notes(self, section: FormSection) -> None:
        note = self._notes[section.id]
        self._tell(note, "\n".join(section.notes), False)
        note.setVisible(bool(section.notes))

    def _tell(self, label: Label, text: str, wrong: bool) -> None:
        label.set_ink(warning if wrong else quiet)
        label.setText(text)

    # ---------------------------------------------------------------- typing
    def _try(self, id: str, text: str) -> None:
        """Checks a text while it is typed, and shows its error at once. If the hierarchy is read-only, passes the text
        to the presenter's `edit`, which keeps it until editing is allowed."""
        if self._presenter is None:
            return
        self.typed.emit()
        if self._state.status is EditStatus.READ_ONLY:
            self._presenter.edit(id, text)
        else:
            self._presenter.being_typed.note(id, text)
            self._presenter.try_text(id, text, partial(self._tried, id))

    def _tried(self, id: str, error: str) -> None:
        editor = self.editors.get(id)
        if editor is not None and _is_typed_in(editor):
            self._wrong[id] = error
            for place, section in enumerate(self._state.sections):
                for number, row in enumerate(section.rows):
                    if (place, number) not in self._due:
                        self._show_note(section.id, number, row)

    def _typed(self, id: str) -> None:
        line = _line(self.editors[id]) if id in self.editors else None
        if line is not None:
            text = line.text()
            self._wrong.pop(id, None)
            line.setModified(False)
            self._edit(id, text)

    def _check(self, id: str, on: bool) -> None:
        """Handles a click on a check box whose nodes have different values. Qt may regard such a box as checked before
        and after the click, and then emits no `toggled`."""
        field = self._field(id)
        if field is not None and field.differs:
            self._edit(id, "true" if on else "false")

    def _field(self, id: str) -> Field | None:
        fields = (f for section in self._state.sections for row in section.rows for f in row.fields)
        return next((field for field in fields if field.pointer == id), None)

    def _edit(self, id: str, text: str) -> None:
        field = self._field(id)
        if self._presenter is not None and field is not None and (field.text != text or field.error):
            self._presenter.edit(id, text)
        if self._presenter is not None:
            self._presenter.being_typed.end()


def _line(editor: QWidget) -> QLineEdit | None:
    """The line editor of a field's widget; None for a widget without one, such as a check box."""
    line = editor.lineEdit() if isinstance(editor, ChoiceBox) else editor
    return line if isinstance(line, QLineEdit) else None


def _is_typed_in(editor: QWidget) -> bool:
    line = _line(editor)
    return line is not None and line.hasFocus() and line.isModified()
