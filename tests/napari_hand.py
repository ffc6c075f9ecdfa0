"""A robot for napari's dock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qtpy.QtCore import QTimer
from qtpy.QtWidgets import QApplication, QMessageBox

from contracts.journeys import SECONDS
from zarrscope_app.napari.dock import Explorer
from zarrscope_app.presenters import MemorySettings
from zarrscope_app.presenters.layers.layer_commands import layer_command


class Hand:
    """Acts on the dock as a user does."""

    def __init__(self, qtbot: Any, viewer: Any) -> None:
        self.qtbot, self.viewer = qtbot, viewer
        self.dock = Explorer(viewer, settings=MemorySettings())
        viewer.window.add_dock_widget(self.dock, name="Zarr explorer")

    def wait(self, happened: Callable[[], object]) -> None:
        self.qtbot.waitUntil(lambda: bool(happened()), timeout=int(3 * SECONDS * 1000))

    def in_loop(self, act: Callable[[], object]) -> None:
        """Runs `act` while the event loop runs, as the actions of a user do. napari takes the test's own lines for a
        script."""
        done: list[bool] = []

        def acts() -> None:
            act()
            done.append(True)

        QTimer.singleShot(0, acts)
        self.wait(lambda: done)

    def answer(self, act: Callable[[], object], label: str) -> str:
        """Does something that asks a question, presses the button with this label, and returns the question."""
        asked: list[str] = []
        timer = QTimer()

        def press() -> None:
            box = QApplication.activeModalWidget()
            if isinstance(box, QMessageBox):
                timer.stop()
                asked.append(box.text())
                next(button for button in box.buttons() if button.text() == label).click()

        timer.timeout.connect(press)
        timer.start(10)
        self.in_loop(act)
        timer.stop()
        return asked[0] if asked else ""

    def add(self, place: str, path: str | None = None) -> Any:
        self.dock.open(place, path)
        self.wait(lambda: self.dock.session is not None and self.dock.session.node is not None)
        self.dock.add()
        self.wait(lambda: self.viewer.layers and not self.dock._waiting)
        QApplication.processEvents()
        return self.viewer.layers[-1]

    def menu(self, id: str) -> None:
        menu = self.dock.layer_menu.menu()
        assert menu is not None
        next(action for action in menu.actions() if action.text() == layer_command(id).label).trigger()

    def preview(self) -> Any:
        """The dialog that the menu entry opens."""
        self.dock.layer_menu.painting.dialog = None
        self.menu("write-labels")
        self.wait(lambda: self.dock.layer_menu.painting.dialog is not None)
        return self.dock.layer_menu.painting.dialog
