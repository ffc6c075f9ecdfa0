"""A button with an icon and a text, for the bars of a pane."""

from __future__ import annotations

from zarrscope_app.qt.toolkit.core import Qt
from zarrscope_app.qt.toolkit.widgets import QPushButton, QWidget


class TextButton(QPushButton):
    """A button whose icon and text stand in its middle; a tool button puts them at its left edge and leaves the spare
    pixels at the right. As a tool button, it leaves the keyboard focus where it is when it is clicked."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAutoDefault(False)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
