"""The buttons that choose the form's view of the attributes: by their meaning, all fields, JSON."""

from __future__ import annotations

from zarrscope_app.presenters.form.view_models import EditState, Way
from zarrscope_app.presenters.form.words import WAYS, way_title
from zarrscope_app.qt.toolkit.core import QObject, Signal
from zarrscope_app.qt.toolkit.widgets import QButtonGroup, QToolButton

from .theme import chosen, current_palette


class FormViewButtons(QObject):
    """The buttons, one for each view of the attributes, which the form puts into its bar. `asked(way)` is emitted when
    a button is clicked."""

    asked = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.buttons: dict[Way, QToolButton] = {}
        self._group = QButtonGroup(self)
        self._shown: tuple[object, ...] = ()
        """The state that the buttons show."""
        for way in WAYS:
            button = QToolButton()
            button.setCheckable(True)
            button.clicked.connect(lambda _=False, way=way: self.asked.emit(way))
            button.hide()
            self._group.addButton(button)
            self.buttons[way] = button

    def show_state(self, state: EditState) -> None:
        """Shows the available views of the attributes, and which one is displayed."""
        shown = state.way, state.ways, state.meaning, current_palette().cacheKey()
        if shown == self._shown:  # a palette that is set again, even the same one, paints the button anew
            return
        self._shown = shown
        for way, button in self.buttons.items():
            title = way_title(way, state.meaning)
            button.setText(title)
            button.setAccessibleName(title)
            button.setVisible(len(state.ways) > 1 and way in state.ways)
            button.setChecked(way == state.way)
            button.setPalette(chosen(way == state.way))
            font = button.font()
            font.setBold(way == state.way)  # napari's style sheet hides the palette
            button.setFont(font)
