"""The parts of the dock that are hidden until a hierarchy is open, because none of them would have an effect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qtpy.QtCore import QObject
from qtpy.QtWidgets import QWidget

from zarrscope_app.presenters.layers.layer_commands import HOW_TO_OPEN
from zarrscope_app.qt.text import Label

if TYPE_CHECKING:
    from napari.components import LayerList


class WhenOpen(QObject):
    """Shows `parts` while a hierarchy is open, and a hint until then; `menu`, whose commands concern layers, also while
    the viewer has layers."""

    def __init__(self, layers: LayerList, parts: Sequence[QWidget], menu: QWidget, parent: QObject) -> None:
        super().__init__(parent)
        self.hint = Label(HOW_TO_OPEN)
        self.hint.setWordWrap(True)
        self._layers, self._parts, self._menu = layers, parts, menu
        self._open = False
        self._events = (layers.events.inserted, layers.events.removed)
        for event in self._events:
            event.connect(self._changed)

    def show(self, is_open: bool) -> None:
        """Shows the parts for a dock with or without an open hierarchy."""
        self._open = is_open
        for part in self._parts:
            part.setVisible(is_open)
        self.hint.setVisible(not is_open)
        self._changed()

    def _changed(self, _: object = None) -> None:
        self._menu.setVisible(self._open or len(self._layers) > 0)

    def stop(self) -> None:
        """Follows the layers no longer."""
        for event in self._events:
            event.disconnect(self._changed)
