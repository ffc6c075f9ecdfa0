"""Opens nodes in other programs: a viewer in the browser, a file manager, a terminal; or puts a text on the
clipboard."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from zarrscope_app.presenters import Session
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.session.open_in import terminals
from zarrscope_app.qt.toolkit.core import QProcess, QStandardPaths, QUrl
from zarrscope_app.qt.toolkit.gui import QDesktopServices, QGuiApplication

ELSEWHERE = {
    "open-neuroglancer": "neuroglancer",
    "open-vizarr": "vizarr",
    "copy-napari": "napari",
    "copy-fiji": "fiji",
}
"""The viewer that each command opens, or for which it copies a text."""


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


def reveal(session: Session) -> None:
    """Shows the folder of the displayed node in the file manager."""
    session.elsewhere.folder(lambda folder: QDesktopServices.openUrl(QUrl.fromLocalFile(folder)))


def open_terminal(session: Session, say: Callable[[str], object]) -> None:
    """Opens a terminal in the folder of the displayed node; `say` shows that there is no program for it."""

    def found(folder: str) -> None:
        for program, *arguments in terminals(sys.platform, os.environ):
            # Only a full path: Windows would look for a program in the folder of the data first.
            place = QStandardPaths.findExecutable(program)
            if place and QProcess.startDetached(place, arguments, folder)[0]:
                return
        clipboard = QGuiApplication.clipboard()
        if clipboard is not None:
            clipboard.setText(folder)
        say(LABELS["no-terminal"])

    session.elsewhere.folder(found)
