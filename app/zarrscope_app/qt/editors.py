"""The table of the window's editors: a widget for each editor of the presenters' form fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from zarrscope_app.presenters import Field
from zarrscope_app.presenters.form.field_editors import Editor
from zarrscope_app.qt.toolkit.gui import QColor, QIcon, QPainter, QPixmap
from zarrscope_app.qt.toolkit.widgets import QColorDialog, QComboBox, QCompleter, QLineEdit, QWidget

from .number_line import NumberLine


class ChoiceBox(QComboBox):
    """A list to choose from; with `free` another text may be typed."""

    def __init__(self, parent: QWidget, choices: Sequence[str], free: bool = False) -> None:
        super().__init__(parent)
        self.setEditable(free)
        self.addItems([*choices])
        completer = self.completer()
        if completer is not None:  # inline completion would turn "m" and Enter into "megameter"
            completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)


class Colour(QLineEdit):
    """Six hexadecimal digits, with a swatch that opens the desktop's colour dialog."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._swatch = self.addAction(QIcon(), QLineEdit.ActionPosition.LeadingPosition)
        assert self._swatch is not None
        self._swatch.triggered.connect(self._choose)
        self.textChanged.connect(self._show)

    def _show(self, text: str) -> None:
        pixmap = QPixmap(16, 16)
        pixmap.fill(QColor(f"#{text.removeprefix('#')}"))
        painter = QPainter(pixmap)
        painter.setPen(QColor(128, 128, 128))  # white and black would not be seen on the field of a light or dark theme
        painter.drawRect(0, 0, 15, 15)
        painter.end()
        assert self._swatch is not None
        self._swatch.setIcon(QIcon(pixmap))

    def _choose(self) -> None:
        chosen = QColorDialog.getColor(QColor(f"#{self.text()}"), self)
        if chosen.isValid():
            self.setText(chosen.name()[1:].upper())
            self.setModified(True)


def is_typed(editor: QWidget) -> bool:
    """Whether a person has typed into the editor of a row. Qt fills an editor again whenever its row changes, and
    results of background reads and checks change rows while a person types; the typed text must not be replaced."""
    line = editor.lineEdit() if isinstance(editor, QComboBox) else editor
    return isinstance(line, QLineEdit) and line.isModified()


def _number_line(parent: QWidget) -> NumberLine:
    line = NumberLine(parent)
    line.setFrame(False)  # as Qt's own editor of a row
    return line


EDITORS: dict[Editor, Callable[[QWidget, Field], QWidget | None] | None] = {
    "line": lambda parent, field: _number_line(parent) if field.kind == "number" else None,
    "choice": lambda parent, field: ChoiceBox(parent, field.choices, free=True),
    "check": lambda parent, field: ChoiceBox(parent, ("true", "false")),
    "colour": lambda parent, field: Colour(parent),
    "date": None,
    "none": None,
}
"""The function that makes the widget of each editor; None, from the table or the function, for Qt's own line editor,
and for a field without editor."""
