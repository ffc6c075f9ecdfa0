"""Reads and writes for napari on another thread, while the window stays responsive.

npe2 expects a reader to return its layers and a writer its paths, so these functions cannot return before the work is
done. They run an event loop until then: the window draws and answers, and napari's activity panel shows a bar with a
button to cancel. For a script that has not started Qt's event loop, the work is done on the script's own thread.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from napari.utils import cancelable_progress
from qtpy.QtCore import QCoreApplication, QEventLoop, QTimer

from zarrscope.runtime.threads import JobResult, shared
from zarrscope_app.napari.background_planes import loop_runs
from zarrscope_app.qt.bridge import Bridge

T = TypeVar("T")
ReportFraction = Callable[[float], None]
BAR_AFTER_MS = 250
"""The bar appears after this many milliseconds; for shorter work it would only flicker."""
STEPS = 1000
"""The length of a bar whose progress is known."""


class Stopped(Exception):
    """Raised when the person cancels or closes napari."""


class _Bar(cancelable_progress):  # type: ignore[misc]  # napari has no types here
    """A bar whose button to cancel works at once; the button of napari's own bar works between two steps."""

    def __init__(self, text: str, stop: Callable[[], object]) -> None:
        self._stop = stop  # napari's __init__ runs the event loop, in which the button may already be clicked
        self._known = False
        super().__init__(total=0, desc=text)  # a total of 0 means that the total is not known

    def show_part(self, part: float) -> None:
        """Shows the progress, a number from 0 to 1."""
        if not self._known:
            self._known, self.total = True, STEPS
        self.update(int(part * STEPS) - self.n)

    def cancel(self) -> None:
        super().cancel()
        self._stop()


def while_shown(work: Callable[[ReportFraction, Callable[[], bool]], T], text: str) -> T:
    """Returns the result of work(report, cancelled), or raises its error. `text` is shown beside the bar. Raises
    Stopped if the person cancels or closes napari."""
    if not loop_runs():
        return work(lambda _: None, lambda: False)
    application: Any = QCoreApplication.instance()
    bridge, loop = Bridge(), QEventLoop()
    owner = shared().owner(bridge.post)
    found: list[JobResult[T]] = []
    bars: list[_Bar] = []

    def show(part: float) -> None:
        for bar in bars:
            bar.show_part(part)

    def report(part: float) -> None:
        owner.post(partial(show, part))

    def run(cancelled: Callable[[], bool]) -> T:
        return work(report, cancelled)

    def done(outcome: JobResult[T]) -> None:
        found.append(outcome)
        loop.quit()

    timer = QTimer()
    timer.setSingleShot(True)
    timer.timeout.connect(lambda: bars.append(_Bar(text, loop.quit)))
    timer.start(BAR_AFTER_MS)
    application.lastWindowClosed.connect(loop.quit)
    owner.fetch(run, done)
    try:
        loop.exec()
    finally:
        application.lastWindowClosed.disconnect(loop.quit)
        timer.stop()
        for bar in bars:
            bar.close()
        owner.close()
        bridge.close()
    if not found:
        raise Stopped
    return found[0].get()
