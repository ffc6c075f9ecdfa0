"""The buttons that choose the form's view of the attributes: as an image, all fields, JSON."""

from __future__ import annotations

from qtpy.QtCore import Signal
from qtpy.QtWidgets import QHBoxLayout, QToolButton, QWidget

from zarrscope_app.presenters.form.view_models import EditState, Way
from zarrscope_app.presenters.form.words import WAYS

from .theme import chosen


class WayButtons(QWidget):
    """The buttons, one for each view of the attributes. `asked(way)` is emitted when a button is clicked."""

    asked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._buttons: dict[Way, QToolButton] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 8, 0)
        row.setSpacing(4)
        for way, title in WAYS.items():
            button = QToolButton()
            button.setText(title)
            button.setAccessibleName(title)
            button.setCheckable(True)
            button.setAutoExclusive(True)
            button.clicked.connect(lambda _=False, way=way: self.asked.emit(way))
            self._buttons[way] = button
            row.addWidget(button)

    def show_state(self, state: EditState) -> None:
        """Shows the available views of the attributes, and which one is displayed."""
        for way, button in self._buttons.items():
            button.setVisible(len(state.ways) > 1 and way in state.ways)
            button.setChecked(way == state.way)
            button.setPalette(chosen(way == state.way))
