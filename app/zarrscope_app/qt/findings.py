"""The findings about the attributes, beneath the form: each leads to its field, and some offer a correction. Several
take one line, with their number and the first of them, until a person opens the list: the fields need the space."""

from __future__ import annotations

from functools import partial
from math import ceil

from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.form.view_models import EditState, FieldFinding
from zarrscope_app.presenters.problem_rows import SIGNS
from zarrscope_app.qt.toolkit.core import Qt, Signal
from zarrscope_app.qt.toolkit.gui import QPalette, QResizeEvent
from zarrscope_app.qt.toolkit.widgets import (
    QFrame,
    QHBoxLayout,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from .text import ElidedLabel, IconLabel, Label, literal, tip
from .theme import quiet, signal, warning

_ROWS = 4.5
"""Visible findings; half a row shows that there are more."""
_LEFT, _RIGHT, _SPACE = 16, 8, 2
"""The margins of the list, and the space between two findings."""


class FindingsView(QWidget):
    """The list of findings. `show_state` paints; `located(pointer)` and `mended(pointer)` are emitted when a person
    asks to go to the field, or to correct it."""

    located = Signal(str)
    mended = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: tuple[FieldFinding, ...] | None = None
        self.opener = QToolButton()
        self.opener.setCheckable(True)
        self.opener.setAutoRaise(True)
        self.opener.setFixedWidth(16)  # the arrow stands where the sentences of the form begin
        self.opener.toggled.connect(self._show_list)
        self.summary = ElidedLabel()
        self.first = QWidget()
        """The first of several findings, while the list is closed."""
        self._line = QHBoxLayout()
        self._line.setContentsMargins(_LEFT, 0, _RIGHT, 0)
        self._line.setSpacing(6)
        self._line.addWidget(self.opener)
        self._line.addWidget(self.summary)
        self._line.addWidget(self.first, 1)
        self.area = QScrollArea()
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setAccessibleName(LABELS["findings"])
        self.rows: list[QWidget] = []
        self.edge = QFrame()
        self.edge.setFrameShape(QFrame.Shape.HLine)
        self.edge.setFrameShadow(QFrame.Shadow.Plain)
        self.edge.setForegroundRole(QPalette.ColorRole.Mid)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 4)
        column.setSpacing(2)
        column.addWidget(self.edge)  # else the verdict would read as the content of the section that is cut off above
        column.addLayout(self._line)
        column.addWidget(self.area)

    def show_state(self, state: EditState) -> None:
        """Shows whether the attributes are valid, and the findings about them."""
        self.summary.setText(state.summary)
        self.summary.setToolTip(tip(state.summary))
        self.summary.setVisible(bool(state.summary))
        self.setVisible(bool(state.summary or state.findings))
        if state.findings == self._shown:
            return
        self._shown = state.findings
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(_LEFT, 0, _RIGHT, 0)
        column.setSpacing(_SPACE)
        self.rows = [self._row(finding, self._whole(finding)) for finding in state.findings]
        for row in self.rows:
            column.addWidget(row)
        column.addStretch(1)
        self.area.setWidget(page)
        first = state.findings[0] if len(state.findings) > 1 else None
        line = self._row(first, self._in_one_line(first)) if first is not None else QWidget()
        self._line.replaceWidget(self.first, line)
        self._line.setStretchFactor(line, 1)
        self.first.deleteLater()
        self.first = line
        self.opener.setVisible(first is not None)
        self._show_list(self.opener.isChecked())

    def _show_list(self, shown: bool) -> None:
        """Opens or closes the list; one finding alone is always shown whole."""
        several = len(self.rows) > 1
        closed = several and not shown
        self.opener.setArrowType(Qt.ArrowType.RightArrow if closed else Qt.ArrowType.DownArrow)
        told = LABELS["findings-open" if closed else "findings-close"]
        self.opener.setToolTip(tip(told))
        self.opener.setAccessibleName(told)
        self.summary.setWordWrap(not closed)
        self._line.setStretchFactor(self.summary, 0 if closed else 1)
        self.first.setVisible(closed)
        self.area.setVisible(bool(self.rows) and not closed)
        self._fit()

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Gives the list the height of its sentences, which take several lines in a narrow form; of many findings it
        shows some, the first one always whole."""
        width = max(0, self.width() - _LEFT - _RIGHT)
        heights = [row.heightForWidth(width) for row in self.rows[: ceil(_ROWS)]]
        if heights:
            one = max(button.sizeHint().height() for button in self.rows[0].findChildren(QToolButton)) + _SPACE
            whole = sum(heights) + _SPACE * (len(heights) - 1)
            self.area.setFixedHeight(max(heights[0], min(whole, round(_ROWS * one))))

    def _whole(self, finding: FieldFinding) -> Label:
        text = Label(finding.sentence)
        text.setMinimumWidth(80)
        text.setWordWrap(True)
        return text

    def _in_one_line(self, finding: FieldFinding) -> Label:
        text = ElidedLabel()
        text.setText(finding.sentence)
        text.setMinimumWidth(80)
        text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        return text

    def _row(self, finding: FieldFinding, text: Label) -> QWidget:
        row = QWidget()
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(6)
        severity = SIGNS[finding.severity]
        sign = IconLabel(signal(severity.icon), 14)
        sign.setToolTip(tip(severity.name))
        sign.setAccessibleName(severity.name)
        text.setToolTip(tip(finding.details))
        text.set_ink(warning if finding.wrong else partial(quiet, strength=0.8))
        go = self._button(LABELS["go-to-field"], finding)
        go.clicked.connect(partial(self.located.emit, finding.pointer))
        line.addWidget(sign)
        line.addWidget(go)
        if finding.mend:
            mend = self._button(finding.mend, finding)
            mend.clicked.connect(partial(self.mended.emit, finding.pointer))
            line.addWidget(mend)
        line.addWidget(text, 1)
        return row

    def _button(self, text: str, finding: FieldFinding) -> QToolButton:
        button = QToolButton()
        button.setText(literal(text))
        button.setAccessibleName(text)
        button.setAccessibleDescription(finding.details)
        return button
