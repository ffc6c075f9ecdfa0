"""A button that opens a menu, with room for the arrow."""

from __future__ import annotations

from qtpy.QtCore import QSize
from qtpy.QtWidgets import QPushButton

ARROW = 12
"""Pixels for the arrow: napari's style sheet draws it over the end of the text."""


class MenuButton(QPushButton):
    """The button of every menu of the dock."""

    def sizeHint(self) -> QSize:
        return super().sizeHint() + QSize(ARROW, 0)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()
