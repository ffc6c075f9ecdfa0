"""Adds layers one after the other, so that the first is drawn before the next one is added."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from qtpy.QtCore import QObject, QTimer

from zarrscope_app.presenters.layers.presenter import Layer

PAINT_MS = 10
"""Milliseconds between two added layers, so that Qt, which waits 5 ms for further changes, draws the first."""


class InTurn(QObject):
    """Calls `add(layer)` for each of the `waiting` layers, in turn, and `done()` after the last one."""

    def __init__(self, add: Callable[[Layer], object], done: Callable[[], object], parent: QObject) -> None:
        super().__init__(parent)
        self.waiting: list[Layer] = []
        self._add, self._done = add, done
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(PAINT_MS)
        self._timer.timeout.connect(self._next)

    def put(self, layers: Sequence[Layer]) -> None:
        """Adds layers at the end."""
        self.waiting += layers
        self._timer.start()

    def stop(self) -> None:
        """Forgets the layers that were not yet added."""
        self._timer.stop()
        self.waiting.clear()

    def _next(self) -> None:
        if self.waiting:
            self._add(self.waiting.pop(0))
        if self.waiting:
            self._timer.start()
        else:
            self._done()
