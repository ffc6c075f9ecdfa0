"""The only way from any thread to the Qt thread: a queue of calls, and a queued signal to a QObject that runs them.

Calls run in turns of a few milliseconds. Qt handles all queued signals before it looks at timers and input again, so
with one signal for each call, dozens of results that arrive together would hold up the mouse and the keyboard. For the
same reason a timer of no duration begins the next turn, and not another signal: it comes after input and other timers.

`Bridge.post` is the `Post` that presenters and background workers need. After `close` no posted call is run, so a late
result never reaches a deleted widget.

The signal has no argument, because Qt copies and deletes an argument in the emitting thread, and needs Python's lock
(the GIL) for that. While the interpreter ends, Python stops a thread that asks for the GIL by unwinding its stack. Qt's
C++ code does not allow that, so the whole process would abort.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from zarrscope_app.qt.toolkit.core import QObject, Qt, QTimer, Signal

TURN = 0.002
"""Seconds after which a turn ends: the calls that are left wait until timers and input have been handled."""


class Bridge(QObject):
    """Carries calls from any thread to the thread of the window.

    Lives on the thread that made it; `post` may be called from any thread.
    """

    _posted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._open = True
        self._calls: deque[Callable[[], None]] = deque()
        self._woken = False
        """Whether a signal was emitted that has not arrived, or the timer runs; then no other signal is needed."""
        self._next_turn = QTimer(self)
        self._next_turn.setSingleShot(True)
        self._next_turn.timeout.connect(self._run)
        self._posted.connect(self._run, Qt.ConnectionType.QueuedConnection)  # type: ignore[call-arg]  # PyQt6's stubs lack the second argument

    def post(self, call: Callable[[], None]) -> None:
        """Runs `call` on this object's thread, after the calls posted before it."""
        if self._open:
            self._calls.append(call)
            self._wake()

    def close(self) -> None:
        """Drops queued calls and everything posted from now on."""
        self._open = False
        self._calls.clear()

    def _wake(self) -> None:
        if not self._woken:
            self._woken = True
            try:
                self._posted.emit()
            except RuntimeError:
                # The QObject was deleted at shutdown, so nothing can run the call.
                self.close()

    def _run(self) -> None:
        # Calls that are posted from here on need no signal, which would come before input. The timer also runs while a
        # call has an event loop of its own (a dialog), and after a call that fails.
        self._woken = True
        self._next_turn.start(0)
        end = time.perf_counter() + TURN
        while self._calls:  # after `close` no posted call runs
            self._calls.popleft()()
            if time.perf_counter() >= end:
                return
        self._woken = False
        if self._calls:  # posted by another thread since the last look, without a signal
            self._woken = True
        else:
            self._next_turn.stop()
