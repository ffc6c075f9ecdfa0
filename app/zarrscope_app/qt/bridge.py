"""The one way from any thread onto the Qt thread: a queued signal to a QObject.

`Bridge.post` is the `Post` that presenters and background ask for (house, section 5). After `close` nothing posted
is run any more, so a late result never reaches a widget that is gone.
"""

from __future__ import annotations

from collections.abc import Callable

from qtpy.QtCore import QObject, Qt, Signal


class Bridge(QObject):
    """Carries calls from any thread to the thread of the window.

    Lives on the thread that made it; `post` may be called from any thread.
    """

    _posted = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._open = True
        self._posted.connect(self._run, Qt.ConnectionType.QueuedConnection)  # type: ignore[call-arg]  # PyQt6's stubs lack the second argument

    def post(self, call: Callable[[], None]) -> None:
        """Run `call` on this object's thread, after what was posted before it."""
        if self._open:
            try:
                self._posted.emit(call)
            except RuntimeError:
                # The QObject was deleted at shutdown, so nothing can run the call.
                self._open = False

    def close(self) -> None:
        """Drop what is still queued and everything posted from now on."""
        self._open = False

    def _run(self, call: Callable[[], None]) -> None:
        if self._open:
            call()
