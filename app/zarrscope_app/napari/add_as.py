"""The menu beside *Add to viewer*: adds the selected nodes as images, labels or points, or a part of complex values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from qtpy.QtCore import Signal
from qtpy.QtGui import QAction
from qtpy.QtWidgets import QMenu, QWidget

from zarrscope_app.napari.menu_button import MenuButton
from zarrscope_app.presenters import Session
from zarrscope_app.presenters.layers.layer_kinds import CHOOSE, KINDS, PART_KINDS, kinds_of


class AddAs(MenuButton):
    """A button with a menu of layer kinds. `chosen(kind)` is emitted when a person chooses one. `shown()` returns the
    session whose node is selected."""

    chosen = Signal(str)

    def __init__(self, shown: Callable[[], Session | None], parent: QWidget | None = None) -> None:
        super().__init__(CHOOSE, parent)
        self._shown = shown
        menu = QMenu(self)
        self.setMenu(menu)
        self.actions_of: dict[str, QAction] = {}
        for kind, label in (KINDS | PART_KINDS).items():
            action = menu.addAction(label)
            assert action is not None
            action.triggered.connect(partial(self._choose, kind))
            self.actions_of[kind] = action
        menu.aboutToShow.connect(self._offer)

    def _offer(self) -> None:
        offered = kinds_of(self._shown())
        for kind, action in self.actions_of.items():
            action.setVisible(kind in offered)

    def _choose(self, kind: str, _: bool = False) -> None:
        self.chosen.emit(kind)
