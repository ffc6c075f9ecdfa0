"""A search field for all fields of a form: the number of matches, and buttons for the next and the previous match."""

from __future__ import annotations

from functools import partial

from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.form.search import FormSearch
from zarrscope_app.qt.toolkit.core import Qt, Signal
from zarrscope_app.qt.toolkit.gui import QKeyEvent
from zarrscope_app.qt.toolkit.widgets import QHBoxLayout, QLineEdit, QToolButton, QWidget

from .text import Label, tip
from .theme import icon


class FindBar(QWidget):
    """`attach` takes a search, or None. Enter goes to the next match, Shift+Enter to the previous one, Esc emits
    `closed`."""

    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._search: FormSearch | None = None
        self.line = QLineEdit()
        self.line.setPlaceholderText(LABELS["find-fields"])
        self.line.setAccessibleName(LABELS["find-fields"])
        self.line.setClearButtonEnabled(True)
        self.line.textEdited.connect(self._typed)
        self.count = Label()
        self.count.setMinimumWidth(96)
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(self.line, 1)
        row.addWidget(self.count)
        for name, sign, act in (
            ("find-before", "before", partial(self.step, -1)),
            ("find-next", "next", partial(self.step, 1)),
            ("dismiss", "close", self.close_bar),
        ):
            button = QToolButton()
            button.setAutoRaise(True)
            if sign == "close":
                button.setIcon(icon(sign))
            else:
                button.setArrowType(Qt.ArrowType.UpArrow if sign == "before" else Qt.ArrowType.DownArrow)
            button.setToolTip(tip(LABELS[name]))
            button.setAccessibleName(LABELS[name])
            button.clicked.connect(lambda _=False, act=act: act())
            row.addWidget(button)
        self.hide()

    def attach(self, search: FormSearch | None) -> None:
        """Shows and controls `search`, the search of the displayed form; None if no form is displayed."""
        self._search = search
        self.paint_found()

    def open_bar(self) -> None:
        """Shows the bar, and gives it the keyboard focus."""
        self.show()
        self.line.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.line.selectAll()
        if self._search is not None:
            self._search.look_for(self.line.text())

    def close_bar(self) -> None:
        """Hides the bar, and ends the search."""
        self.hide()
        if self._search is not None:
            self._search.look_for("")
        self.closed.emit()

    def paint_found(self) -> None:
        """Shows the number of matches."""
        self.count.setText(self._search.found.sentence if self._search is not None else "")

    def step(self, by: int) -> None:
        """Goes to the next or the previous match."""
        if self._search is not None:
            self._search.step(by)

    def _typed(self, text: str) -> None:
        if self._search is not None:
            self._search.look_for(text)

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        assert event is not None
        back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_F3):
            self.step(-1 if back else 1)
        elif event.key() == Qt.Key.Key_Escape:
            self.close_bar()
        else:
            super().keyPressEvent(event)
