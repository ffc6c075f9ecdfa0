"""The Problems tab: the problems of a hierarchy, the extent of their search, the differences from another hierarchy,
and commands to correct problems."""

from __future__ import annotations

from zarrscope_app.presenters import TITLES, ProblemsPresenter
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.problem_rows import ProblemRow
from zarrscope_app.qt.follow import follow
from zarrscope_app.qt.toolkit.core import Qt, Signal
from zarrscope_app.qt.toolkit.gui import QResizeEvent
from zarrscope_app.qt.toolkit.widgets import (
    QBoxLayout,
    QFileDialog,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from .check_box import CheckBox
from .text import Label, tip
from .theme import signal
from .wrapped_rows import WrappedTree

NARROW = 420
"""In narrower panes (pixels), parts are placed below one another."""
_EMPTY = 2
"""The place of the empty space among the rows of the pane."""


class ProblemsPane(QWidget):
    """The Problems tab. `attach` takes a problems presenter, or None. `chosen(path)` is emitted on a double-click,
    `asked(path, command)` for a correction."""

    chosen = Signal(str)
    asked = Signal(str, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter: ProblemsPresenter | None = None
        self._shown: tuple[ProblemRow, ...] | None = None
        self.sentence = Label()
        self.sentence.setWordWrap(True)
        self.check, self.again = QPushButton(), QPushButton(LABELS["check-again"])
        self.check.clicked.connect(self._check)
        self.again.clicked.connect(self._check_again)
        top = self._top = QHBoxLayout()
        top.addWidget(self.sentence, 1)
        top.addWidget(self.check, 0, Qt.AlignmentFlag.AlignTop)
        top.addWidget(self.again, 0, Qt.AlignmentFlag.AlignTop)
        self.list = WrappedTree()
        self.list.setAccessibleName(TITLES["problems"])
        self.list.itemActivated.connect(self._activated)
        self.list.currentItemChanged.connect(lambda *_: self._offer())
        self.list.hide()
        column = self._column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 4)
        column.addLayout(top)
        column.addWidget(self.list, 1)
        column.addStretch(1)
        column.addLayout(self._comparison())

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        """Puts the buttons beneath the sentence and beneath the address in a narrow pane, such as a dock."""
        super().resizeEvent(event)
        narrow = self.width() < NARROW
        for row in (self._top, self._bottom):
            row.setDirection(QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight)

    def _comparison(self) -> QHBoxLayout:
        self.other = QLineEdit()
        self.other.setPlaceholderText(LABELS["compare-with"])
        self.other.setAccessibleName(LABELS["compare-with"])
        self.other.setClearButtonEnabled(True)
        self.other.returnPressed.connect(self._compare)
        browse = self.browse = QPushButton(LABELS["browse"])
        browse.clicked.connect(self._browse)
        self.values = CheckBox(LABELS["compare-values"])
        self.compare = QPushButton(LABELS["compare"])
        self.compare.clicked.connect(self._compare)
        self.mend = QPushButton(LABELS["mend"])
        self.mend.clicked.connect(self._mend)
        row = self._bottom = QHBoxLayout()
        row.addWidget(self.mend)
        row.addWidget(self.other, 1)
        buttons = QHBoxLayout()
        for widget in (browse, self.values, self.compare):
            buttons.addWidget(widget)
        row.addLayout(buttons)
        return row

    def focus_other(self) -> None:
        """Puts the keyboard focus on the line for the address of the hierarchy to compare with."""
        self.other.setFocus()

    def attach(self, presenter: ProblemsPresenter | None) -> None:
        """Shows the problems of another session."""
        old, self._presenter = self._presenter, presenter
        follow(old, presenter, self._changed)

    def _changed(self) -> None:
        assert self._presenter is not None
        self.sentence.setText(self._presenter.sentence)
        checking, stopped = self._presenter.checking, self._presenter.can_resume
        self.check.setText(LABELS["check-stop" if checking else "check-resume" if stopped else "check-begin"])
        self.again.setVisible(stopped)
        for widget in (self.check, self.other, self.browse, self.values, self.compare):
            widget.setEnabled(self._presenter.can_check)
        self.compare.setText(LABELS["compare-stop" if self._presenter.comparing else "compare"])
        rows = self._presenter.rows
        if rows == self._shown:
            return
        if self._shown is not None and rows[: len(self._shown)] == self._shown:
            for row in rows[len(self._shown) :]:
                self.list.addTopLevelItem(_item(row))
        else:
            self.list.clear()
            for row in rows:
                self.list.addTopLevelItem(_item(row))
        self._shown = rows
        self.list.setVisible(bool(rows))
        # Without a list, the empty space is beneath the sentence, not above and below it.
        self._column.setStretch(_EMPTY, 0 if rows else 1)
        self._offer()

    def _offer(self) -> None:
        """Offers a correction for the selected problem, if there is one."""
        self.mend.setVisible(any(row.problem.mend for row in self._shown or ()))
        self.mend.setEnabled(self._current() is not None)

    def _current(self) -> tuple[str, str] | None:
        item = self.list.currentItem()
        command = item.data(0, Qt.ItemDataRole.UserRole + 1) if item is not None else ""
        return (str(item.data(0, Qt.ItemDataRole.UserRole)), str(command)) if item is not None and command else None

    def _mend(self) -> None:
        found = self._current()
        if found is not None:
            self.asked.emit(*found)

    def _check(self) -> None:
        if self._presenter is not None and self._presenter.checking:
            self._presenter.stop()
        elif self._presenter is not None and self._presenter.can_resume:
            self._presenter.resume()
        else:
            self._check_again()

    def _check_again(self) -> None:
        if self._presenter is not None:
            self._presenter.check()

    def _compare(self) -> None:
        if self._presenter is not None and self._presenter.comparing:
            self._presenter.stop_comparing()
        elif self._presenter is not None:
            self._presenter.compare(self.other.text(), values=self.values.isChecked())

    def _browse(self) -> None:
        path = QFileDialog.getExistingDirectory(self, LABELS["compare-with"])
        if path:
            self.other.setText(path)

    def _activated(self, item: QTreeWidgetItem) -> None:
        path = item.data(0, Qt.ItemDataRole.UserRole)
        if path:
            self.chosen.emit(path)


def _item(row: ProblemRow) -> QTreeWidgetItem:
    found = row.problem
    item = QTreeWidgetItem([row.text])
    item.setIcon(0, signal(row.sign.icon))
    item.setToolTip(0, tip(f"{row.sign.name}: {found.details or found.headline}"))
    item.setData(0, Qt.ItemDataRole.AccessibleTextRole, f"{row.sign.name}: {row.text}")
    item.setData(0, Qt.ItemDataRole.UserRole, found.path)
    item.setData(0, Qt.ItemDataRole.UserRole + 1, found.mend)
    for text in row.beneath:
        item.addChild(QTreeWidgetItem([text]))
    return item
