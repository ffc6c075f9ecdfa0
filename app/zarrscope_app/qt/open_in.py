"""Opens nodes in other programs: a viewer in the browser, a file manager, a terminal; or puts a text on the
clipboard."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from zarrscope_app.presenters import Session
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.session.open_in import Destination, terminals
from zarrscope_app.qt.toolkit.core import QDir, QProcess, QStandardPaths, QUrl
from zarrscope_app.qt.toolkit.gui import QDesktopServices, QGuiApplication

ELSEWHERE = {
    "open-neuroglancer": "neuroglancer",
    "open-vizarr": "vizarr",
    "open-napari": "napari",
    "open-fiji": "fiji",
}
"""The viewer that each command opens."""


def open_elsewhere(session: Session, command: str, say: Callable[[str], object]) -> None:
    """Carries out a command of ELSEWHERE; `say` shows the result."""

    def show(found: Destination, opened: bool) -> None:
        clipboard = QGuiApplication.clipboard()
        if not opened and clipboard is not None:
            clipboard.setText(found.link or found.text)
        say(LABELS[found.said if opened else found.failed])

    def found(destination: Destination) -> None:
        if destination.link:
            show(destination, QDesktopServices.openUrl(QUrl.fromEncoded(destination.link.encode())))
        elif destination.command:
            # On another thread, because a program on a slow disk takes long to start.
            session.owner.fetch(
                lambda: _start(destination.command), lambda outcome: show(destination, bool(outcome.value))
            )
        else:
            show(destination, False)

    session.elsewhere.open(ELSEWHERE[command], found)


def _start(command: tuple[str, ...]) -> bool:
    """Starts a program that goes on after this one ends; returns whether it was found and could be started."""
    program, *arguments = command
    return QProcess.startDetached(program, arguments, QDir.homePath())[0]


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
