"""The dialog that asks for other credentials after a bucket denied access."""

from __future__ import annotations

from zarrscope_app.presenters import strings
from zarrscope_app.presenters.session.credentials import CredentialsField, CredentialsQuestion
from zarrscope_app.presenters.session.session import Session
from zarrscope_app.qt.toolkit.core import Qt
from zarrscope_app.qt.toolkit.widgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from .check_box import CheckBox
from .text import Label


class CredentialsDialog(QDialog):
    """A form with the fields of the question; `values` is the answer."""

    def __init__(self, question: CredentialsQuestion, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(question.title)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.inputs = {each.name: _input(each) for each in question.fields}
        form = QFormLayout()
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        for each in question.fields:
            if each.yes_or_no:
                form.addRow(self.inputs[each.name])
            else:
                form.addRow(each.label, self.inputs[each.name])
        buttons = QDialogButtonBox()
        confirm = buttons.addButton(question.confirm, QDialogButtonBox.ButtonRole.AcceptRole)
        cancel = buttons.addButton(strings.CANCEL, QDialogButtonBox.ButtonRole.RejectRole)
        assert confirm is not None
        assert cancel is not None
        confirm.clicked.connect(self.accept)
        cancel.clicked.connect(self.reject)
        column = QVBoxLayout(self)
        column.setSpacing(12)
        for text in (question.sentence, question.note):
            label = Label(text)
            label.setWordWrap(True)
            column.addWidget(label)
            if text == question.sentence:
                column.addLayout(form)
        column.addWidget(buttons)
        confirm.setDefault(True)  # in the dialog, else Qt forgets it when another button had the focus
        self.resize(520, self.sizeHint().height())
        first = next(iter(self.inputs.values()), None)
        line = first.lineEdit() if isinstance(first, QComboBox) else first
        if isinstance(line, QLineEdit):
            line.selectAll()  # typing replaces the value that was denied

    @property
    def values(self) -> dict[str, str]:
        """Name of a field → the text that was typed or chosen."""
        return {name: _text(found) for name, found in self.inputs.items()}


def _input(field: CredentialsField) -> QWidget:
    made: QWidget
    if field.yes_or_no:
        made = CheckBox(field.label)
        made.setChecked(bool(field.value))
    elif field.choices:
        made = QComboBox()
        made.setEditable(True)
        made.addItems(["", *field.choices])
        made.setCurrentText(field.value)
        line = made.lineEdit()
        assert line is not None
        line.setPlaceholderText(field.hint)
    else:
        made = QLineEdit(field.value)
        made.setPlaceholderText(field.hint)
    made.setAccessibleName(field.label)
    return made


def _text(found: QWidget) -> str:
    if isinstance(found, CheckBox):
        return "1" if found.isChecked() else ""
    return found.currentText() if isinstance(found, QComboBox) else found.text() if isinstance(found, QLineEdit) else ""


def ask_credentials(session: Session | None, parent: QWidget) -> CredentialsDialog | None:
    """Asks for the credentials that a session needs after it was denied access, and passes them to the session.
    Returns the open dialog; None if the session needs no credentials."""
    question = session.credentials if session is not None else None
    if session is None or question is None:
        return None
    dialog = CredentialsDialog(question, parent)
    dialog.accepted.connect(lambda: session.use_credentials(dialog.values))
    dialog.open()
    return dialog
