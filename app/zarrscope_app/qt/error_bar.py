"""An error bar, as under the address line: one sentence, the possible next steps, and a button to close it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.problem_rows import SIGNS
from zarrscope_app.qt.toolkit.core import QEvent, Qt
from zarrscope_app.qt.toolkit.gui import QGuiApplication, QPalette
from zarrscope_app.qt.toolkit.widgets import (
    QFrame,
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from .text import Label, tip
from .theme import current_palette, fixed_font, icon, mix, signal, warning


class ErrorBar(QFrame):
    """Hidden until `show_error`. `retry` is offered only where something can be tried again. `narrow`: the buttons are
    below the sentence, which has too little space beside them."""

    def __init__(self, narrow: bool = False) -> None:
        super().__init__()
        self._retry: Callable[[], None] | None = None
        self._offers: list[QPushButton] = []
        self._dismissed: Callable[[], None] | None = None
        self.setAutoFillBackground(True)
        self.sign = Label()
        self._sign = SIGNS["error"]
        self._sentence = Label()
        self._sentence.setWordWrap(True)
        self._sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._sentence.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._details_button = QPushButton(LABELS["details"])
        self._details_button.setCheckable(True)
        self._details_button.toggled.connect(self._show_details)
        self._retry_button = QPushButton(icon("retry"), LABELS["retry"])
        self._retry_button.clicked.connect(self._try_again)
        copy = QPushButton(icon("copy"), LABELS["copy"])
        copy.clicked.connect(self._copy)
        close = QToolButton()
        close.setIcon(icon("close"))
        close.setAutoRaise(True)
        close.setToolTip(LABELS["dismiss"])
        close.setAccessibleName(LABELS["dismiss"])
        close.clicked.connect(self.dismiss)
        self._details = QPlainTextEdit()
        self._details.setReadOnly(True)
        self._details.setFont(fixed_font())
        self._details.setMaximumHeight(120)
        self._details.hide()
        row = self._row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 4, 8, 4)
        if narrow:
            above = QHBoxLayout()
            column.addLayout(above)
            row.addStretch()
        else:
            above = row
        for widget in (self.sign, self._sentence):
            above.addWidget(widget)
        above.setStretch(1, 1)
        for button in (self._details_button, self._retry_button, copy, close):
            row.addWidget(button)
        column.addLayout(row)
        column.addWidget(self._details)
        self.setAccessibleName(LABELS["error"])
        self.hide()

    def show_error(
        self,
        sentence: str,
        details: str,
        retry: Callable[[], None] | None = None,
        dismissed: Callable[[], None] | None = None,
        offers: Sequence[tuple[str, Callable[[], None]]] = (),
        severity: str = "error",
        again: str = LABELS["retry"],
    ) -> None:
        """Shows `sentence`, with `details` that unfold. `retry` is the function of the button `again`, `dismissed` that
        of the close button; each of `offers` is another button: its label and its function."""
        self._sign = SIGNS[severity]
        self._sentence.setText(sentence)
        self._details.setPlainText(details)
        self._details_button.setVisible(bool(details) and details != sentence)
        self._details_button.setChecked(False)
        self._retry, self._dismissed = retry, dismissed
        self._drop_offers()
        for label, act in offers:
            button = QPushButton(label)
            # The bar stays until the act has changed what it tells: a dialog that it opens may be cancelled.
            button.clicked.connect(lambda _=False, act=act: act())
            self._offers.append(button)
            self._row.insertWidget(self._row.indexOf(self._retry_button), button)
        for one, other in pairwise((self._details_button, *self._offers, self._retry_button)):
            QWidget.setTabOrder(one, other)
        self._retry_button.setText(again)
        self._retry_button.setVisible(retry is not None)
        self._tint()
        self.show()

    @property
    def sentence(self) -> str:
        """The displayed sentence; empty when hidden."""
        return "" if self.isHidden() else self._sentence.text()

    def clear(self) -> None:
        """Hides the bar without calling `dismissed`, when the problem is gone."""
        self._retry = self._dismissed = None
        self._drop_offers()
        self.hide()

    def dismiss(self) -> None:
        """Hides the bar and calls the `dismissed` callback, like a click on the close button."""
        dismissed = self._dismissed
        self.clear()
        if dismissed is not None:
            dismissed()

    def changeEvent(self, event: QEvent | None) -> None:
        assert event is not None
        super().changeEvent(event)
        if event.type() == event.Type.ApplicationPaletteChange:
            self._tint()

    def _tint(self) -> None:
        palette = current_palette()
        palette.setColor(
            QPalette.ColorRole.Window, mix(palette.color(QPalette.ColorRole.Window), warning(palette), 0.16)
        )
        self.setPalette(palette)
        self.sign.setPixmap(signal(self._sign.icon).pixmap(16, 16))
        self.sign.setToolTip(tip(self._sign.name))
        self.sign.setAccessibleName(self._sign.name)

    def _show_details(self, shown: bool) -> None:
        self._details.setVisible(shown)

    def _try_again(self) -> None:
        retry = self._retry
        self.clear()
        if retry is not None:
            retry()

    def _drop_offers(self) -> None:
        for button in self._offers:
            button.hide()
            button.deleteLater()
        self._offers.clear()

    def _copy(self) -> None:
        clipboard = QGuiApplication.clipboard()
        if clipboard is not None:
            clipboard.setText(f"{self._sentence.text()}\n{self._details.toPlainText()}".strip())
