"""The Qt application: `main(urls)` opens a window for them. Toolkit imports happen here and beneath, never above."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from zarrscope_app.presenters import Settings

_windows: list[Any] = []
"""Qt deletes a window that Python has forgotten."""


def main(urls: Sequence[str] = (), *, writable: bool = False, settings: Settings | None = None) -> int:
    """Open `urls` in one window and run until the last window closes. Returns the exit code."""
    from qtpy.QtWidgets import QApplication

    from zarrscope_app.presenters.turn import take_turns_quickly
    from zarrscope_app.settings import FileSettings

    application = QApplication.instance() or QApplication(sys.argv[:1])
    application.setApplicationName("zarrscope")
    application.setDesktopFileName("zarrscope")  # type: ignore[attr-defined]  # not in qtpy's stubs
    _let_ctrl_c_through(application)
    _tell_faults()
    keep = settings if settings is not None else FileSettings()
    window = open_window(keep)
    for url in urls:
        window.open(url, writable)
    take_turns_quickly()
    return int(application.exec())


def open_window(settings: Settings | None = None) -> Any:
    """A new `Window`, shown. There must be a QApplication."""
    from qtpy.QtCore import Qt

    from zarrscope_app.qt.window import Window

    window = Window(settings, new_window=lambda: open_window(settings))
    window.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    _windows.append(window)
    window.destroyed.connect(lambda: _windows.remove(window))
    window.show()
    return window


def _tell_faults() -> None:
    """An error that escapes a slot would end PyQt's process, and with it what somebody has typed: it is told in the
    window instead, and on standard error."""

    def hook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        sys.__excepthook__(kind, error, trace)
        for window in _windows[-1:]:
            window.tell(error)

    sys.excepthook = hook


def _let_ctrl_c_through(application: Any) -> None:
    """Python sees a signal only between two of its own instructions: a slow timer gives it some, so that Ctrl+C in the
    terminal ends the application as it ends every other."""
    import signal

    from qtpy.QtCore import QTimer

    signal.signal(signal.SIGINT, lambda *_: application.closeAllWindows())
    timer = QTimer(application)
    timer.timeout.connect(lambda: None)
    timer.start(300)
