"""Looks again at a store that is being written while a widget is visible, in the window and in napari's dock."""

from __future__ import annotations

from collections.abc import Callable

from zarrscope_app.presenters import Session
from zarrscope_app.presenters.session.polling import GrowthPolling
from zarrscope_app.qt.toolkit.core import QEvent, QObject, QTimer
from zarrscope_app.qt.toolkit.widgets import QWidget


class PollsWhileVisible(QObject):
    """Begins when `widget` is shown, and ends when it is hidden or closed; nothing is read in a minimised window.
    `front` returns the session that the widget displays."""

    def __init__(self, widget: QWidget, front: Callable[[], Session | None]) -> None:
        super().__init__(widget)
        self._timer = QTimer(self)
        self._timer.timeout.connect(lambda: self._poll())
        self._poll: Callable[[], None] = lambda: None

        def seen() -> Session | None:
            window = widget.window()
            return None if window is None or window.isMinimized() else front()

        self.polling = GrowthPolling(seen, self._start)
        widget.installEventFilter(self)

    def _start(self, seconds: float, poll: Callable[[], None]) -> Callable[[], object]:
        self._poll = poll
        self._timer.start(int(seconds * 1000))
        return self._timer.stop

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        """Follows the visibility of the widget; every event goes on to it."""
        if event is not None and event.type() == QEvent.Type.Show:
            self.polling.show()
        elif event is not None and event.type() == QEvent.Type.Hide:
            self.polling.hide()
        return False
