"""The button *Browse…*: opens a folder or a file by the system's dialogs, alone or beside the open hierarchies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qtpy.QtCore import Signal
from qtpy.QtGui import QAction
from qtpy.QtWidgets import QFileDialog, QMenu, QWidget

from zarrscope_app.napari.menu_button import MenuButton
from zarrscope_app.presenters.commands import LABELS, command


class BrowseButton(MenuButton):
    """A button with a menu. `chosen(path)` is emitted for a folder or file to open, `added(path)` for one to open
    beside the open hierarchies ("" stands for the typed address), `closed()` to close the hierarchy in front."""

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
        """The actions that open a hierarchy beside others, or close one; they need an open hierarchy."""
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
        """Enables the actions of `further` if any hierarchy is open; `count` is the number of open ones."""
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
