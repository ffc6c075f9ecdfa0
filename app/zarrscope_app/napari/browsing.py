"""The button *Browse…*: the system's dialogs for a folder or a file, and the places that are open beside each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qtpy.QtCore import Signal
from qtpy.QtGui import QAction
from qtpy.QtWidgets import QFileDialog, QMenu, QWidget

from zarrscope_app.napari.menu_button import MenuButton
from zarrscope_app.presenters.commands import LABELS, command


class BrowseButton(MenuButton):
    """`chosen(path)` is emitted for a chosen folder or file; `added(path)` if it is to be opened beside those that are
    open, "" for the typed address; `closed()` to close the one in front."""

    chosen = Signal(str)
    added = Signal(str)
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(LABELS["browse"], parent)
        menu = QMenu(self)
        for name, ask in (("open-folder", self._folder), ("open-file", self._file)):
            action = menu.addAction(command(name).label)
            assert action is not None
            action.triggered.connect(lambda _=False, ask=ask: self._tell(self.chosen, ask()))
        menu.addSeparator()
        self.further: list[QAction] = []
        """The actions for further places, which need one that is open."""
        for name, ask in (("add-folder", self._folder), ("add-file", self._file)):
            self._action(menu, name, lambda _=False, ask=ask: self._tell(self.added, ask()))
        self._action(menu, "add-address", lambda: self.added.emit(""))
        self._action(menu, "close-place", self.closed.emit)
        self.set_open(0)
        self.setMenu(menu)

    def _action(self, menu: QMenu, name: str, act: Callable[..., object]) -> None:
        action = menu.addAction(LABELS[name])
        assert action is not None
        action.triggered.connect(act)
        self.further.append(action)

    def set_open(self, count: int) -> None:
        """Enables the actions for further places if any is open."""
        for action in self.further:
            action.setEnabled(count > 0)

    def _folder(self) -> str:
        return str(QFileDialog.getExistingDirectory(self, LABELS["open-folder-title"]))

    def _file(self) -> str:
        return str(QFileDialog.getOpenFileName(self, LABELS["open-file-title"])[0])

    @staticmethod
    def _tell(signal: Any, path: str) -> None:
        if path:
            signal.emit(path)
