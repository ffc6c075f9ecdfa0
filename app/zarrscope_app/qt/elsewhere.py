"""Opens nodes in other viewers: opens a browser, or puts a text on the clipboard."""

from __future__ import annotations

from collections.abc import Callable

from qtpy.QtCore import QUrl
from qtpy.QtGui import QDesktopServices, QGuiApplication

from zarrscope_app.presenters import Session
from zarrscope_app.presenters.commands import LABELS

ELSEWHERE = {
    "open-neuroglancer": "neuroglancer",
    "open-vizarr": "vizarr",
    "copy-napari": "napari",
    "copy-fiji": "fiji",
}
"""Command → viewer."""


def open_elsewhere(session: Session, command: str, say: Callable[[str], object]) -> None:
    """Carries out a command of ELSEWHERE; `say` shows the result."""
    viewer = ELSEWHERE[command]

    def done(link: str, text: str) -> None:
        clipboard = QGuiApplication.clipboard()
        opened = bool(link) and QDesktopServices.openUrl(QUrl.fromEncoded(link.encode()))
        if not opened and clipboard is not None:
            clipboard.setText(link or text)
        said = ("browser-opened" if opened else "browser-failed") if link else f"copied-{viewer}"
        say(LABELS[said])

    session.elsewhere.open(viewer, done)
