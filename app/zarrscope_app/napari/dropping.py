"""Adds a node to the viewer when it is dragged from the dock's tree onto napari's canvas."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from weakref import ref

from qtpy.QtCore import QEvent, QObject
from qtpy.QtWidgets import QMainWindow, QWidget

from zarrscope_app.qt.tree_model import NODE

_COMES = (QEvent.Type.DragEnter, QEvent.Type.DragMove)


class TakesNodes(QObject):
    """Accepts drops for the dock `widget`. `dropped(path)` is called for a dropped node; napari handles other drops."""

    def __init__(self, dropped: Callable[[str], object], widget: QWidget) -> None:
        super().__init__(widget)
        self._dropped = dropped
        self._watched: list[ref[QWidget]] = []

    def watch(self, widget: QWidget) -> None:
        """Begins to accept drops on the central part of the window around a widget."""
        window = widget.window()
        middle = window.centralWidget() if isinstance(window, QMainWindow) else None
        if middle is None or self._watched:
            return
        for found in (middle, *middle.findChildren(QWidget)):
            if found.acceptDrops():
                found.installEventFilter(self)
                self._watched.append(ref(found))

    def stop(self) -> None:
        """Stops accepting drops."""
        for found in self._watched:
            widget = found()
            if widget is not None:
                with suppress(RuntimeError):  # Qt has deleted the widget already
                    widget.removeEventFilter(self)
        self._watched = []

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        """Accepts the drops of nodes."""
        if event is None or (event.type() not in _COMES and event.type() != QEvent.Type.Drop):
            return False
        found: Any = event  # Any: Qt tells the kind of an event by its type
        mime = found.mimeData()
        if mime is None or not mime.hasFormat(NODE):
            return False
        found.acceptProposedAction()
        if event.type() == QEvent.Type.Drop:
            self._dropped(bytes(mime.data(NODE).data()).decode(errors="replace"))
        return True
