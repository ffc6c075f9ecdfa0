"""The Qt application: `main(urls)` opens a window for them. Qt is imported in this package only."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from zarrscope_app.presenters import Settings

if TYPE_CHECKING:
    from types import TracebackType

    from zarrscope_app.qt.toolkit.core import QCoreApplication
    from zarrscope_app.qt.window import Window

_windows: list[Window] = []
"""References to open windows, because Qt deletes a window to which Python has no reference."""


def main(
    urls: Sequence[str] = (),
    *,
    writable: bool = False,
    follow_links: bool = False,
    missing_is_fill: bool = False,
    view: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
) -> int:
    """Opens `urls` in one window, and runs until the last window closes. Returns the exit code.

    `view` is a view of the first address (presenters/session/state_text.py).
    """
    from zarrscope_app.process import own_process, tune_interpreter, uncollected
    from zarrscope_app.qt.toolkit.widgets import QApplication
    from zarrscope_app.settings import FileSettings

    ours = QApplication.instance() is None  # otherwise the application belongs to the program that called us
    if ours:
        own_process()
    application = QApplication.instance() or QApplication(sys.argv[:1])
    application.setApplicationName("zarrscope")
    application.setDesktopFileName("zarrscope")  # type: ignore[attr-defined]  # not in qtpy's stubs
    _let_ctrl_c_through(application)
    _tell_faults()
    keep = settings if settings is not None else FileSettings()
    with uncollected() if ours else nullcontext():
        window = open_window(keep)
    for url in urls:
        window.open(url, writable, follow_links, missing_is_fill)
    if view is not None:
        window.workspace.show_view(view, urls[0] if urls else None)
    if not urls:
        window.workspace.prepare()
    if ours:
        tune_interpreter()
    return int(application.exec())


def open_window(settings: Settings | None = None) -> Window:
    """A new `Window`, shown. There must be a QApplication."""
    from zarrscope_app.qt.toolkit.core import Qt
    from zarrscope_app.qt.window import Window

    window = Window(settings, new_window=lambda: open_window(settings))
    window.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    _windows.append(window)
    window.destroyed.connect(lambda: _windows.remove(window))
    window.show()
    return window


def _tell_faults() -> None:
    """Shows exceptions that no slot catches, in the window and on standard error. By default such an exception ends the
    process under PyQt, and unsaved input would be lost."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        sys.__excepthook__(kind, error, trace)
        for window in _windows[-1:]:
            window.tell(error)

    sys.excepthook = hook


def _let_ctrl_c_through(application: QCoreApplication) -> None:
    """Lets SIGINT (Ctrl+C), SIGTERM and SIGHUP end the application. Python handles a signal only between two Python
    instructions, and Qt's event loop runs none while it waits, so a slow timer runs some regularly.

    A signal may arrive in the middle of a paint or of a change of the tree, when no window may be closed: the signal
    handler only records the signal, and the timer closes the windows.
    """
    import signal

    from zarrscope_app.qt.toolkit.core import QTimer

    arrived: list[int] = []

    def end() -> None:
        """Closes all windows without asking; unsaved edits are kept for the next start. Those that cannot be kept are
        written to the shell."""
        if arrived:
            timer.stop()
            from zarrscope_app.qt.closing import SECONDS_TO_STOP

            for window in _windows:
                if lost := window.workspace.keep_unsaved():
                    with contextlib.suppress(OSError):  # after SIGHUP there may be no shell any more
                        print(lost, file=sys.stderr, flush=True)
                window.workspace.stop_jobs(SECONDS_TO_STOP)
                window.workspace.close_all()
            application.exit(128 + arrived[0])

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda number, _: arrived.append(number))
    timer = QTimer(application)
    timer.timeout.connect(end)
    timer.start(100)
