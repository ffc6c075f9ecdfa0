"""The button *Browse…* with the system's dialogs for a folder or a file."""

from __future__ import annotations

from qtpy.QtCore import Signal
from qtpy.QtWidgets import QFileDialog, QMenu, QWidget

from zarrscope_app.napari.menu_button import MenuButton
from zarrscope_app.presenters.commands import LABELS, command


class BrowseButton(MenuButton):
    """`chosen(path)` is emitted for a chosen folder or file."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(LABELS["browse"], parent)
        menu = QMenu(self)
        for name, ask in (("open-folder", self._folder), ("open-file", self._file)):
            action = menu.addAction(command(name).label)
            assert action is not None
            action.triggered.connect(ask)
        self.setMenu(menu)

    def _folder(self) -> None:
        self._tell(QFileDialog.getExistingDirectory(self, LABELS["open-folder-title"]))

    def _file(self) -> None:
        self._tell(QFileDialog.getOpenFileName(self, LABELS["open-file-title"])[0])

    def _tell(self, path: str) -> None:
        if path:
            self.chosen.emit(path)
