"""The meaning of attributes as sections of editors: pixel size, channels, axes. The form mirrors the presenter's
sections.

Editors stay while the sections have the same fields, so that the keyboard focus and a text that is being typed are
kept. A text is checked while it is typed, and applied by Enter or on leaving the field.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

from zarrscope_app.presenters import EditPresenter, EditStatus, Field, strings
from zarrscope_app.presenters.commands import command
from zarrscope_app.presenters.form.view_models import EditState, FormRow, FormSection
from zarrscope_app.qt.toolkit.core import QEvent, QObject, QSignalBlocker, Qt, Signal
from zarrscope_app.qt.toolkit.gui import QFocusEvent, QKeyEvent, QPalette, QResizeEvent
from zarrscope_app.qt.toolkit.widgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from .check_box import CheckBox
from .editors import ChoiceBox, Colour
from .found_frame import FoundFrame
from .section_lines import SectionLines
from .text import Label, tip
from .theme import current_palette, quiet, warning
from .undo_keys import UndoKeys

_WIDTHS = {"number": (64, 88), "colour": (88, 96), "choice": (128, 144)}
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
        """The editors by the ids of their fields."""
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
        self._fit_margins()

    def _fit_margins(self) -> None:
        page = self.widget()
        if page is not None:
            self._fit_margins_of(page)

    def _fit_margins_of(self, page: QWidget) -> None:
        column = page.layout()
        if column is not None:
            column.setContentsMargins(_RIGHT if self.width() < _NARROW else _LEFT, 0, _RIGHT, 16)

    def jump(self, id: str) -> bool:
        """Puts the keyboard focus on a field."""
        editor = self.editors.get(id)
        if editor is not None:
            self.ensureWidgetVisible(editor)
            editor.setFocus(Qt.FocusReason.TabFocusReason)
        return editor is not None

    def mark(self, id: str) -> None:
        """Draws a frame around a field that was found, without the keyboard focus; "" removes the frame."""
        if self._mark is not None:
            self._mark.close()
            self._mark = None
        editor = self.editors.get(id)
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
        self.mark("")
        self.editors, self._notes, self._wrong = {}, {}, {}
        page = QWidget()
        column = QVBoxLayout(page)
        column.setSpacing(4)
        for section in sections:
            title = Label(section.title)
            font = title.font()
            font.setBold(True)
            title.setFont(font)
            column.addSpacing(8)
            column.addLayout(self._heading(title, section))
            column.addLayout(self._lines(section))
            column.addWidget(self._note(section.id))
        column.addStretch(1)
        self._show_sections(sections)  # a visible page would be laid out again for each text
        self._fit_margins_of(page)
        self.setWidget(page)
        page.show()
        self._order_tabs(sections)
        if focused and not self.jump(focused):
            self.focus_form()

    def _heading(self, title: Label, section: FormSection) -> QHBoxLayout:
        """The title, and beside it a command that fills the section."""
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(title)
        if section.command:
            button = QToolButton()
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
        for number, row in enumerate(section.rows):
            label = Label(row.label)
            label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            for field in row.fields:
                self.editors[field.pointer] = self._editor(field)
            note = self._note(f"{section.id}/{number}")
            lines.add_row(label, [self.editors[field.pointer] for field in row.fields], note)
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
            line = Colour(self) if field.editor == "colour" else QLineEdit()
            self._watch(line, id)
            editor = line
        widths = _WIDTHS.get("number" if field.kind == "number" else field.editor)
        if widths is not None:
            editor.setMinimumWidth(widths[0])
            editor.setMaximumWidth(widths[1])
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

    def _order_tabs(self, sections: tuple[FormSection, ...]) -> None:
        """Makes the Tab key go down each column: from the size along one axis to the size along the next axis."""
        found: list[QWidget] = []
        for section in sections:
            for place in range(max((len(row.fields) for row in section.rows), default=0)):
                found += [self.editors[row.fields[place].pointer] for row in section.rows if place < len(row.fields)]
        for one, other in pairwise(found):
            QWidget.setTabOrder(one, other)

    # ---------------------------------------------------------------- painting
    def _show_sections(self, sections: tuple[FormSection, ...]) -> None:
        for section in sections:
            for row in section.rows:
                for field in row.fields:
                    self._show_field(field)
                self._show_note(section, row)
            self._show_notes(section)
            self._fit_numbers(section)

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
        if (line := _line(editor)) is not None and line.placeholderText() != field.differs:
            line.setPlaceholderText(field.differs)
        font = editor.font()
        if font.bold() != field.changed:
            font.setBold(field.changed)
            editor.setFont(font)

    def _fit_numbers(self, section: FormSection) -> None:
        """Makes the numbers of each column as wide as the longest one."""
        for place in range(max((len(row.fields) for row in section.rows), default=0)):
            there = [row.fields[place] for row in section.rows if place < len(row.fields)]
            editors = [self.editors[field.pointer] for field in there if field.kind == "number"]
            lines = [editor for editor in editors if isinstance(editor, QLineEdit)]
            texts = [line.fontMetrics().horizontalAdvance(line.text() or line.placeholderText()) for line in lines]
            width = max(_WIDTHS["number"][1], min(max(texts, default=0) + _FRAME, _LONGEST_NUMBER))
            for line in lines:
                line.setMaximumWidth(width)

    def _show_note(self, section: FormSection, row: FormRow) -> None:
        error = next(filter(None, (self._wrong.get(f.pointer, "") or f.error for f in row.fields)), "")
        line = section.rows.index(row)
        self._tell(self._notes[f"{section.id}/{line}"], error or row.note, bool(error))

    def _show_notes(self, section: FormSection) -> None:
        note = self._notes[section.id]
        self._tell(note, "\n".join(section.notes), False)
        note.setVisible(bool(section.notes))

    def _tell(self, label: Label, text: str, wrong: bool) -> None:
        palette = QPalette(self.palette())
        colour = warning(current_palette()) if wrong else quiet(current_palette())
        palette.setColor(QPalette.ColorRole.WindowText, colour)
        label.setPalette(palette)
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
            self._presenter.try_text(id, text, partial(self._tried, id))

    def _tried(self, id: str, error: str) -> None:
        editor = self.editors.get(id)
        if editor is not None and _is_typed_in(editor):
            self._wrong[id] = error
            for section in self._state.sections:
                for row in section.rows:
                    self._show_note(section, row)

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


def _line(editor: QWidget) -> QLineEdit | None:
    """The line editor of a field's widget; None for a widget without one, such as a check box."""
    line = editor.lineEdit() if isinstance(editor, ChoiceBox) else editor
    return line if isinstance(line, QLineEdit) else None


def _is_typed_in(editor: QWidget) -> bool:
    line = _line(editor)
    return line is not None and line.hasFocus() and line.isModified()
