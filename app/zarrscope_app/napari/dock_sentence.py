"""The sentence of the dock about the last operation on layers."""

from __future__ import annotations

from collections.abc import Callable

from qtpy.QtCore import QObject, QTimer

SHOWN_MS = 15_000
"""Milliseconds for which a result is shown, as in the jobs bar."""


class DockSentence(QObject):
    """The `text` that the dock shows; `show` is called when it has changed."""

    def __init__(self, show: Callable[[], object], parent: QObject) -> None:
        super().__init__(parent)
        self.text = ""
        self._show = show
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SHOWN_MS)
        self._timer.timeout.connect(lambda: self.tell(""))

    @property
    def passes(self) -> bool:
        """Whether the sentence will go by itself."""
        return self._timer.isActive()

    def clear(self) -> None:
        """Forgets the sentence, without a call of `show`."""
        self.text = ""
        self._timer.stop()

    def tell(self, sentence: str) -> None:
        """Shows a sentence, such as a reason, until the next operation."""
        self.clear()
        self.text = sentence
        self._show()

    def tell_result(self, sentence: str) -> None:
        """Shows for a while what was done."""
        self.tell(sentence)
        self._timer.start()
