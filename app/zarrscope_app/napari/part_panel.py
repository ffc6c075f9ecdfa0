"""Fields for adding a part of an image, shown on request: channels, levels, ranges."""

from __future__ import annotations

from collections.abc import Callable

from qtpy.QtCore import Qt
from qtpy.QtWidgets import QFormLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from zarrscope_app.presenters.layers.layer_part import CHOOSE, EXPLANATION, PROMPTS, LayerPart, part_of
from zarrscope_app.qt.text import tip


class PartPanel(QWidget):
    """The fields in which a person chooses the part of an image to add: levels, channels, a crop, times.

    `part` is that part; while the fields are hidden, it is the whole image. `add()` is called by Enter in a field."""

    def __init__(self, add: Callable[[], object], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.opener = QPushButton()  # napari's style draws tool buttons as plain text
        self.opener.setText(CHOOSE)
        self.opener.setToolTip(tip(EXPLANATION))
        self.opener.setCheckable(True)
        self.fields = {name: QLineEdit() for name in PROMPTS}
        self._inside = QWidget()
        form = QFormLayout(self._inside)
        form.setContentsMargins(0, 0, 0, 0)
        for name, (label, prompt) in PROMPTS.items():
            self.fields[name].setPlaceholderText(prompt)
            self.fields[name].setAccessibleName(label)
            self.fields[name].returnPressed.connect(add)
            form.addRow(label, self.fields[name])
        self._inside.hide()
        self.opener.toggled.connect(self._open)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.opener, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self._inside)

    def _open(self, shown: bool) -> None:
        self._inside.setVisible(shown)
        if shown:
            next(iter(self.fields.values())).setFocus()

    @property
    def part(self) -> LayerPart:
        """The wanted part. Raises Refused for invalid text."""
        return (
            part_of({name: field.text() for name, field in self.fields.items()})
            if self.opener.isChecked()
            else LayerPart()
        )
