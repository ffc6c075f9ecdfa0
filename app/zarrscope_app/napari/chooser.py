"""Asks which of several images to add, by a list with a filter. The widget is visible only while it asks."""

from __future__ import annotations

from collections.abc import Sequence

from qtpy.QtCore import QSize, Qt, Signal
from qtpy.QtWidgets import QLineEdit, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from zarrscope_app.presenters import Session
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.image.choice import ImageChoice
from zarrscope_app.presenters.layers.presenter import Layer
from zarrscope_app.qt.text import WrappedLabel, tip

HEIGHT = 180
ROW_MARGINS = 6
"""The pixels above and beneath the name of a row, together; napari's style has none."""


class Chooser(QWidget):
    """The list of images. `ask(why, choices)` shows it; `choice` is the selected image; `chosen(choice)` is emitted
    when a person activates one (double-click or Enter)."""

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.why = WrappedLabel()
        self.filter = QLineEdit()
        self.filter.setPlaceholderText(LABELS["filter"])
        self.filter.setClearButtonEnabled(True)
        self.filter.textChanged.connect(self._filter)
        self.list = QListWidget()
        self.list.setUniformItemSizes(True)
        self.list.itemActivated.connect(self._activated)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        for widget in (self.why, self.filter, self.list):
            column.addWidget(widget)
        self.setMaximumHeight(HEIGHT + 80)
        self.hide()

    @property
    def choice(self) -> ImageChoice | None:
        """The selected image; None while the list is hidden."""
        items = self.list.selectedItems() if not self.isHidden() else []
        return items[0].data(Qt.ItemDataRole.UserRole) if items else None

    def ask(self, why: str, choices: Sequence[ImageChoice]) -> None:
        """Shows the images to choose from, the first one selected, under the sentence `why`."""
        self.clear()
        self.why.setText(why)
        for choice in choices:
            item = QListWidgetItem(choice.name)
            item.setToolTip(tip(choice.path))
            item.setSizeHint(QSize(0, self.fontMetrics().height() + ROW_MARGINS))
            item.setData(Qt.ItemDataRole.UserRole, choice)
            self.list.addItem(item)
        self.filter.setVisible(len(choices) > 12)
        # No higher than its rows: the person compares them with the tree above.
        rows = max(1, len(choices)) * self.list.sizeHintForRow(0) + 2 * self.list.frameWidth()
        self.list.setMaximumHeight(min(HEIGHT, rows))
        self.show()
        self.list.setCurrentRow(0)
        self.list.setFocus()

    def lead(self, session: Session | None, layers: Sequence[Layer]) -> None:
        """Goes to the node of the chosen image's layers, so that tree, form and chunks are about it, as after a
        choice in the tree. The list stays, for the next image."""
        if self.choice is not None and session is not None and layers:
            session.select(str(layers[0].source["path"]))

    def clear(self) -> None:
        """Hides the list, without a choice."""
        self.filter.clear()
        self.list.clear()
        self.hide()

    def _filter(self, text: str) -> None:
        for row in range(self.list.count()):
            item = self.list.item(row)
            assert item is not None
            item.setHidden(text.lower() not in item.text().lower())

    def _activated(self, item: QListWidgetItem) -> None:
        self.list.setCurrentItem(item)
        self.chosen.emit(item.data(Qt.ItemDataRole.UserRole))
