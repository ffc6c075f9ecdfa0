"""The dialog of an export: its content, format and target, and before it starts its size and time. The dialog is not
modal, and the export runs as a job."""

from __future__ import annotations

import os

from zarrscope_app.presenters import Session, strings
from zarrscope_app.presenters.commands import LABELS, command
from zarrscope_app.qt.toolkit.core import Qt
from zarrscope_app.qt.toolkit.widgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from .text import Label


class ExportDialog(QDialog):
    """The export dialog of one session."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self._presenter = session, session.export
        self.setWindowTitle(command("export").label.rstrip("…"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(480)
        self.what, self.format, self.target = QComboBox(), QComboBox(), QLineEdit()
        for id, title in self._presenter.whats():
            self.what.addItem(title, id)
        self.what.setAccessibleName(LABELS["export-what"])
        self.format.setAccessibleName(LABELS["export-format"])
        self.target.setAccessibleName(LABELS["export-target"])
        browse = QPushButton(LABELS["browse"])
        browse.setAutoDefault(False)
        browse.clicked.connect(self._browse)
        line = QHBoxLayout()
        line.addWidget(self.target, 1)
        line.addWidget(browse)
        form = QFormLayout()
        form.addRow(LABELS["export-what"], self.what)
        form.addRow(LABELS["export-format"], self.format)
        form.addRow(LABELS["export-target"], line)
        self.sentence, self.notes = Label(), Label()
        for label in (self.sentence, self.notes):
            label.setWordWrap(True)
        buttons = QDialogButtonBox()
        buttons.addButton(strings.CANCEL, QDialogButtonBox.ButtonRole.RejectRole)
        self.go = QPushButton(command("export").label.rstrip("…"))
        buttons.addButton(self.go, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.rejected.connect(self.reject)
        self.go.clicked.connect(self._run)
        column = QVBoxLayout(self)
        column.addLayout(form)
        column.addSpacing(8)
        column.addWidget(self.sentence)
        column.addWidget(self.notes)
        column.addStretch(1)
        column.addWidget(buttons)
        self.what.activated.connect(lambda _: self._presenter.choose(self.what.currentData()))
        self.format.activated.connect(
            lambda _: self._presenter.choose(self.what.currentData(), self.format.currentData())
        )
        self.target.editingFinished.connect(self._named)
        self._presenter.changed.connect(self._changed)
        self._presenter.begin()

    def done(self, result: int) -> None:
        self._presenter.changed.disconnect(self._changed)
        super().done(result)

    def _changed(self) -> None:
        state = self._presenter.state
        self.what.setCurrentIndex(max(0, self.what.findData(state.what)))
        formats = self._presenter.formats(state.what)
        if [found.id for found in formats] != [self.format.itemData(i) for i in range(self.format.count())]:
            self.format.clear()
            for found in formats:
                self.format.addItem(found.title, found.id)
        self.format.setCurrentIndex(max(0, self.format.findData(state.format)))
        if self.target.text() != state.target and not self.target.isModified():
            self.target.setText(state.target)
        self.target.setModified(False)
        self.sentence.setText(state.sentence)
        self.notes.setText("\n".join(state.notes))
        self.notes.setVisible(bool(state.notes))
        self.go.setEnabled(state.ready)
        # Enter exports, unless that would replace a file. Qt takes the default button only from a dialog's own layout.
        self.go.setAutoDefault(not state.taken)
        self.go.setDefault(not state.taken)
        self.go.setText(LABELS["overwrite"] if state.taken else command("export").label.rstrip("…"))

    def _named(self) -> None:
        if self.target.text() != self._presenter.state.target:
            self.target.setModified(False)  # the name may get an ending, which then appears in the line
            self._presenter.name(self.target.text())

    def _browse(self) -> None:
        title = LABELS["export-target"]
        options: QFileDialog.Option = QFileDialog.Option.DontConfirmOverwrite
        name, _ = QFileDialog.getSaveFileName(self, title, self.target.text(), options=options)
        if name:
            self.target.setText(os.path.normpath(name))
            self._named()

    def _run(self) -> None:
        state = self._presenter.state
        if self._presenter.run(overwrite=state.taken) is not None:
            self.accept()
