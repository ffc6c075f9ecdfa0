"""The menu beside *Add to viewer*: adds the selected nodes as images, labels or points."""

from __future__ import annotations

from functools import partial

from qtpy.QtCore import Signal
from qtpy.QtWidgets import QMenu, QWidget

from zarrscope_app.napari.menu_button import MenuButton
from zarrscope_app.presenters.layers.layer_kinds import CHOOSE, KINDS


class AddAs(MenuButton):
    """A button with a menu of layer kinds. `chosen(kind)` is emitted when a person chooses one."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(CHOOSE, parent)
        menu = QMenu(self)
        self.setMenu(menu)
        for kind, label in KINDS.items():
            action = menu.addAction(label)
            assert action is not None
            action.triggered.connect(partial(self._choose, kind))

    def _choose(self, kind: str, _: bool = False) -> None:
        self.chosen.emit(kind)
