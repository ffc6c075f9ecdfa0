"""A dialog that lists the changes that are about to be written, and has a button that writes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from qtpy.QtCore import Qt
from qtpy.QtGui import QTextOption
from qtpy.QtWidgets import QDialog, QDialogButtonBox, QPlainTextEdit, QVBoxLayout, QWidget

from zarrscope_app.presenters import strings
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.qt.text import Label
from zarrscope_app.qt.theme import fixed_font


class PreviewDialog(QDialog):
    """Shows `lines`, one for each change. `act` is the label of the button; if it is "", there is no button.

    `carry_out` is called when the person agrees, `left` when the person cancels.
    """

    def __init__(
        self,
        title: str,
        sentence: str,
        lines: Sequence[str],
        act: str,
        carry_out: Callable[[], object],
        left: Callable[[], object],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.sentence = Label(sentence)
        self.sentence.setWordWrap(True)
        self.plan = QPlainTextEdit("\n".join(lines))
        self.plan.setReadOnly(True)
        self.plan.setFont(fixed_font())
        self.plan.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.plan.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)  # paths are long words
        self.plan.setAccessibleName(LABELS["plan"])
        buttons = QDialogButtonBox()
        cancel = buttons.addButton(strings.CANCEL, QDialogButtonBox.ButtonRole.RejectRole)
        assert cancel is not None
        cancel.clicked.connect(self.reject)
        self.act = buttons.addButton(act, QDialogButtonBox.ButtonRole.AcceptRole) if act else None
        if self.act is not None:
            self.act.clicked.connect(self.accept)
        column = QVBoxLayout(self)
        for widget in (self.sentence, self.plan, buttons):
            column.addWidget(widget)
        if self.act is not None:
            self.act.setDefault(True)  # in the dialog, else Qt takes the first button, which cancels
        self.resize(560, 340)
        self.accepted.connect(carry_out)
        self.rejected.connect(left)
