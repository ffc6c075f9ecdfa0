"""The dialog of an action on a node: its form, the consequences, the plan, and whether it can be undone.

It paints the fields that the presenter lists, so that a new action needs no change here.
"""

from __future__ import annotations

import os

from zarrscope_app.presenters import strings
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.nodes.acts import ActField
from zarrscope_app.presenters.nodes.presenter import NodesPresenter
from zarrscope_app.qt.toolkit.core import Qt
from zarrscope_app.qt.toolkit.gui import QGuiApplication, QKeyEvent
from zarrscope_app.qt.toolkit.widgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from .check_box import CheckBox
from .text import Label, literal
from .theme import fixed_font, quiet, warning

_WIDTH, _PLAN_LINES = 640, 6


class FieldRow(QWidget):
    """One field: its editor, and beneath it its meaning or its error."""

    def __init__(self, field: ActField, presenter: NodesPresenter) -> None:
        super().__init__()
        self._id, self._presenter = field.id, presenter
        self.editor = self._made(field)
        self.editor.setAccessibleName(field.label)
        line = QHBoxLayout()
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(self.editor, 1)
        if field.kind == "folder":
            browse = QPushButton(LABELS["browse"])
            browse.setAutoDefault(False)
            browse.clicked.connect(self._browse)
            line.addWidget(browse)
        self.hint = Label()
        self.hint.setWordWrap(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 4)
        column.setSpacing(2)
        column.addLayout(line)
        column.addWidget(self.hint)
        self.paint(field)

    def _made(self, field: ActField) -> QWidget:
        put = self._presenter.set_field
        if field.kind == "flag":
            box = CheckBox(literal(field.label))
            box.setChecked(bool(field.text))
            box.toggled.connect(lambda on: put(self._id, "yes" if on else ""))
            return box
        if field.kind == "choice":
            choice = QComboBox()
            for text, title in field.choices:
                choice.addItem(title, text)
            choice.setCurrentIndex(max(0, choice.findData(field.text)))
            choice.activated.connect(lambda _: put(self._id, choice.currentData()))
            return choice
        edit = QLineEdit(field.text)
        edit.textEdited.connect(lambda text: put(self._id, text))
        return edit

    def paint(self, field: ActField) -> None:
        """Shows hint and error of the field; the typed text stays."""
        self.hint.setText(field.error or field.hint)
        self.hint.setVisible(bool(field.error or field.hint))
        self.hint.set_ink(warning if field.error else quiet)

    def _browse(self) -> None:
        assert isinstance(self.editor, QLineEdit)
        folder, name = os.path.split(os.path.expanduser(self.editor.text()))
        chosen = QFileDialog.getExistingDirectory(self, LABELS["export-target"], folder)
        if chosen:
            self.editor.setText(os.path.join(chosen, name))
            self._presenter.set_field(self._id, self.editor.text())


class NodeDialog(QDialog):
    """The form and the plan of one action on one node. The Return key never confirms an action that erases data."""

    def __init__(self, presenter: NodesPresenter, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter = presenter
        state = presenter.state
        self.setWindowTitle(state.title)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, 0, 0)  # so that fields and sentences begin at one line
        self._form = QFormLayout()
        self._form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self.rows: dict[str, FieldRow] = {}
        self._add_rows()
        column.addLayout(self._form)
        self.sentence, self.mark = Label(), Label()
        for label in (self.sentence, self.mark):
            label.setWordWrap(True)
        self.plan = QPlainTextEdit()
        self.plan.setReadOnly(True)
        self.plan.setFont(fixed_font())
        self.plan.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.plan.setAccessibleName(LABELS["plan"])
        self.plan.setMinimumHeight(self.plan.fontMetrics().lineSpacing() * _PLAN_LINES)
        self.plan.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        self.plan.hide()  # until the first plan is made; an empty field would look like one to fill in
        column.addWidget(self.plan, 1)
        scroll = self._scroll = QScrollArea()
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the fields in it take the focus, and it scrolls to them
        scroll.setWidgetResizable(True)
        scroll.setWidget(inside)
        outer = QVBoxLayout(self)
        outer.addWidget(scroll, 1)
        for label in (self.sentence, self.mark):  # outside the scroll area, so always visible
            outer.addWidget(label)
        self._below = self._buttons(state.label, state.danger)
        outer.addWidget(self._below)
        self._inside = column
        self.resize(_WIDTH, 0)
        self._start()
        presenter.changed.connect(self._changed)
        self.finished.connect(self._left)
        self._changed()

    def _add_rows(self) -> None:
        """Adds rows for fields that the presenter lists only after the dialog is open, because it first reads their
        values."""
        for field in self._presenter.state.fields:
            if field.id not in self.rows:
                row = self.rows[field.id] = FieldRow(field, self._presenter)
                if field.kind == "flag":
                    self._form.addRow(row)
                else:
                    self._form.addRow(literal(field.label), row)

    def _buttons(self, label: str, danger: bool) -> QDialogButtonBox:
        buttons = QDialogButtonBox(self)  # in no dialog, Qt forgets the default button when another had the focus
        role = QDialogButtonBox.ButtonRole.DestructiveRole if danger else QDialogButtonBox.ButtonRole.AcceptRole
        act = buttons.addButton(label, role)
        cancel = buttons.addButton(strings.CANCEL, QDialogButtonBox.ButtonRole.RejectRole)
        assert act is not None
        assert cancel is not None
        act.setAutoDefault(not danger)
        act.setDefault(not danger)
        cancel.setDefault(danger)
        act.clicked.connect(self._carry_out)
        cancel.clicked.connect(self.reject)
        self.act = act
        return buttons

    def _fit(self) -> None:
        """Makes the dialog as high as its content, which grows when fields and notes arrive, and at most as high as the
        screen; a higher form scrolls. The dialog never shrinks, so a size that a person has set stays."""
        outer, screen = self.layout(), self.screen() or QGuiApplication.primaryScreen()
        assert outer is not None
        width, most = self.width(), self.height() + _WIDTH
        if screen is not None:
            room = screen.availableGeometry()
            width, most = min(width, room.width() - 32), room.height() - 64
        edges = outer.contentsMargins()
        inner = width - edges.left() - edges.right()
        high = edges.top() + edges.bottom() + 3 * outer.spacing() + self._below.sizeHint().height()
        # A layout without wrapped texts states no height for a width.
        wraps = self._inside.hasHeightForWidth()
        if not self._scroll.isHidden():
            high += self._inside.totalHeightForWidth(inner) if wraps else self._inside.totalSizeHint().height()
        if not self.plan.isHidden():  # the layout's height does not include the plan
            high += self.plan.minimumHeight() + 2 * self._inside.spacing()
        high += sum(label.heightForWidth(inner) for label in (self.sentence, self.mark) if not label.isHidden())
        self.resize(width, max(self.height(), min(high, most)))

    def _start(self) -> None:
        """Selects the text of the first field, so that typing replaces it; if it is a path, only its last name."""
        for row in self.rows.values():
            if isinstance(row.editor, QLineEdit):
                start = row.editor.text().rfind("/") + 1
                row.editor.setSelection(start, len(row.editor.text()) - start)
                row.editor.setFocus()
                return

    def _changed(self) -> None:
        state = self._presenter.state
        self._add_rows()
        for field in state.fields:
            self.rows[field.id].paint(field)
        self.sentence.setText(state.beneath)
        self.mark.setText(state.final or state.undo)
        for label in (self.sentence, self.mark):
            label.setHidden(not label.text())  # an empty label takes a line, but states no height
        self.mark.set_ink(warning if state.final else quiet)
        font = self.font()
        font.setBold(bool(state.final))
        self.mark.setFont(font)
        text = "\n".join(state.lines)
        if text != self.plan.toPlainText():
            self.plan.setPlainText(text)
        self.plan.setVisible(bool(text) or not self.plan.isHidden())  # once seen it stays, so that no line jumps
        self._scroll.setVisible(bool(self.rows) or not self.plan.isHidden())  # an empty trash has neither
        self.act.setEnabled(state.ready)
        self._fit()

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        assert event is not None
        fault = self._presenter.state.at_fault
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and fault in self.rows:
            self._presenter.carry_out()  # shows the reason at the field, because there is no plan
            self.rows[fault].editor.setFocus()
        else:
            super().keyPressEvent(event)

    def _carry_out(self) -> None:
        self._presenter.carry_out()
        self.accept()

    def _left(self) -> None:
        self._presenter.changed.disconnect(self._changed)
        self._presenter.cancel()
