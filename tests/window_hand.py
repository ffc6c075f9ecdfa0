"""A hand on the keyboard in front of the window: presses keys where the focus is, and counts its gestures."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from qtpy import QtTest
from qtpy.QtGui import QKeySequence
from qtpy.QtWidgets import QApplication, QWidget

from contracts.journeys import SECONDS

QTest: Any = QtTest.QTest  # PyQt6 declares its static functions as methods


class WindowHand:
    """Presses keys in the widget with the focus, in the window in front. A key with its modifiers is one gesture, and
    so is a text that is typed in one go. `gestures` lists them."""

    def __init__(self, qtbot: Any) -> None:
        self._qtbot = qtbot
        self.gestures: list[str] = []
        self.begin()

    def begin(self) -> None:
        """Begins to count another task."""
        self.gestures, self._began = [], time.monotonic()

    @property
    def seconds(self) -> float:
        """The time since `begin`: how long the window took, without that which a person thinks."""
        return time.monotonic() - self._began

    def press(self, keys: str) -> None:
        """Presses one key, such as "Ctrl+A" or "Return"."""
        self.gestures.append(keys)
        combination = QKeySequence(keys)[0]
        QTest.keyClick(self._focus(), combination.key(), combination.keyboardModifiers())
        QApplication.processEvents()

    def type(self, text: str) -> None:
        """Types a text."""
        self.gestures.append(repr(text))
        QTest.keyClicks(self._focus(), text)
        QApplication.processEvents()

    def wait(self, happened: Callable[[], bool], expected: str) -> None:
        """Waits until the window has followed. Fails with the gestures so far."""
        end = time.monotonic() + SECONDS
        while not happened():
            assert time.monotonic() < end, f"{expected}: not after {', '.join(self.gestures)}"
            self._qtbot.wait(10)

    def _focus(self) -> QWidget:
        window = QApplication.activeModalWidget() or QApplication.activeWindow()
        focus = QApplication.focusWidget()
        assert window is not None, "no window is in front"
        return focus or window
