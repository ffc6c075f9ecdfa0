"""Looks again at a store that is being written while a widget is visible, in the window and in napari's dock."""

from __future__ import annotations

from collections.abc import Callable

from zarrscope_app.presenters import Session
from zarrscope_app.presenters.session.looks import RepeatedLooks
from zarrscope_app.qt.toolkit.core import QEvent, QObject, QTimer
from zarrscope_app.qt.toolkit.widgets import QWidget


class LooksAgain(QObject):
    """Begins when `widget` is shown, and ends when it is hidden or closed; nothing is looked at in a minimised window.
    `front` returns the session that the widget displays."""

    def __init__(self, widget: QWidget, front: Callable[[], Session | None]) -> None:
        super().__init__(widget)
        self._timer = QTimer(self)
        self._timer.timeout.connect(lambda: self._look())
        self._look: Callable[[], None] = lambda: None

        def seen() -> Session | None:
            window = widget.window()
            return None if window is None or window.isMinimized() else front()

        self.looks = RepeatedLooks(seen, self._start)
        widget.installEventFilter(self)

    def _start(self, seconds: float, look: Callable[[], None]) -> Callable[[], object]:
        self._look = look
        self._timer.start(int(seconds * 1000))
        return self._timer.stop

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        """Follows the visibility of the widget; every event goes on to it."""
        if event is not None and event.type() == QEvent.Type.Show:
            self.looks.show()
        elif event is not None and event.type() == QEvent.Type.Hide:
            self.looks.hide()
        return False
