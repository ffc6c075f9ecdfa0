"""The sentence above the form, with a button beside or beneath it if the fault of the node is in another document."""

from __future__ import annotations

from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.view_models import EditState
from zarrscope_app.qt.toolkit.core import Qt, Signal
from zarrscope_app.qt.toolkit.gui import QResizeEvent
from zarrscope_app.qt.toolkit.widgets import QBoxLayout, QHBoxLayout, QPushButton, QWidget

from .text import Label, literal

_MARGIN = 8
_NARROW = 400
"""In fewer pixels the button stands beneath the sentence, which would otherwise have a few words on each line."""


class FormSentence(QWidget):
    """`show_state` paints; `asked()` is emitted when a person asks for the faulty document."""

    asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.label = Label()
        self.label.setWordWrap(True)
        self.button = QPushButton()  # napari's style draws tool buttons as plain text
        self.button.clicked.connect(lambda: self.asked.emit())
        row = self._row = QHBoxLayout(self)
        row.setContentsMargins(_MARGIN, 0, _MARGIN, 0)
        row.setSpacing(_MARGIN)
        row.addWidget(self.label, 1)
        row.addWidget(self.button, 0, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        narrow = self.width() < _NARROW
        self._row.setDirection(QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight)

    def show_state(self, state: EditState) -> None:
        """Shows the sentence, and the button if there is a document to show."""
        self.label.setText(state.sentence_apart.replace(strings.READ_ONLY_FORM, words.READ_ONLY_TYPED))
        self.button.setText(literal(state.shows_document))
        self.button.setAccessibleName(state.shows_document)
        self.button.setVisible(bool(state.shows_document))
        self.setVisible(bool(state.sentence_apart or state.shows_document))
