"""Takes screenshots of every tab of the window for the given addresses, in a light or a dark theme.

    python packaging/screens.py FOLDER URL… [--tabs image,chunks] [--run three-views] [--dark]
        [--size 1200x800] [--sheets]

Writes a file for each place and each tab that fits it: `cells.ome.zarr-chunks-dark.png`; with `--sheets` one for each
place, in which all its tabs stand side by side: `cells.ome.zarr-dark.png`. A place may be a view (`zarrscope:…`).
`QT_SCALE_FACTOR=2` doubles the resolution. Without a screen: xvfb-run -a -s "-screen 0 2600x1800x24" …
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qtpy.QtGui import QPixmap
    from qtpy.QtWidgets import QApplication

    from zarrscope_app.presenters import Session
    from zarrscope_app.qt.window import Window

PATIENCE = 20.0
"""Seconds after which a place that is still loading is drawn unfinished."""
REST = 0.4
"""Seconds without changes after which the window counts as complete."""
ACROSS = 3
"""The most pictures beside each other on a sheet."""
GAP = 6
"""Pixels between the pictures of a sheet."""


def paint_dark(application: QApplication) -> None:
    """Sets the desktop's dark colours, or our own if the toolkit cannot request them."""
    from qtpy.QtCore import Qt
    from qtpy.QtGui import QColor, QPalette

    hints: Any = application.styleHints()
    scheme = getattr(getattr(Qt, "ColorScheme", None), "Dark", None)
    if scheme is not None and hasattr(hints, "setColorScheme"):
        hints.setColorScheme(scheme)
        application.processEvents()
        if application.palette().color(QPalette.ColorRole.Window).lightness() < 128:
            return
    palette = QPalette(QColor(45, 45, 48))
    palette.setColor(QPalette.ColorRole.Base, QColor(30, 30, 32))
    palette.setColor(QPalette.ColorRole.Highlight, QColor(60, 120, 200))
    for role in (QPalette.ColorRole.WindowText, QPalette.ColorRole.ButtonText, QPalette.ColorRole.Text):
        palette.setColor(
            QPalette.ColorGroup.Disabled, role, QColor(128, 128, 130)
        )  # Qt's own is darker than the window
    application.setPalette(palette)


def rest(application: QApplication, busy: Callable[[], bool]) -> None:
    """Runs the event loop until nothing is loading any more."""
    end = time.monotonic() + PATIENCE
    calm = time.monotonic()
    while time.monotonic() < end and time.monotonic() - calm < REST:
        application.processEvents()
        time.sleep(0.01)
        if busy():
            calm = time.monotonic()


def busy(window: Window) -> bool:
    """Whether the session in front is still opening, painting, listing, checking or running a job."""
    session = window.workspace.current
    if session is None:
        return False
    state = session.state
    shown: dict[str, Any] = dict(session.tabs.presenters)
    overview, chunks = shown["overview"].state, shown["chunks"].state
    return bool(
        state.status.value == "opening"
        or state.selecting
        or session.slice.frame.loading
        or any(cell.rgb is None and not cell.sentence for cell in overview.cells)
        or (state.tab == "chunks" and chunks.cells is None and not chunks.sentence)
        or (state.tab == "attributes" and form_loads(session))
        or session.jobs.running
        or session.problems.checking
    )


def form_loads(session: Session) -> bool:
    """Whether the document of the form is being read, or its OME-Zarr metadata checked."""
    form, node = session.edit.state, session.node
    is_checked = node is not None and node.kind == "group" and "OME-Zarr" in session.state.facts
    return (form.status.value == "empty" and not form.sentence) or bool(
        is_checked and form.sections and not form.verdict
    )


def store(grabbed: QPixmap, file: Path) -> None:
    """Saves a picture as a file, and prints its path."""
    if not grabbed.save(str(file)):
        raise OSError(f"{file} cannot be written")
    print(file)


def sheet(pictures: list[QPixmap]) -> QPixmap:
    """The pictures side by side, in rows of at most `ACROSS`."""
    from qtpy.QtCore import Qt
    from qtpy.QtGui import QColor, QPainter, QPixmap

    wide = max(each.width() for each in pictures) + GAP
    high = max(each.height() for each in pictures) + GAP
    rows = -(-len(pictures) // ACROSS)
    joined = QPixmap(min(len(pictures), ACROSS) * wide, rows * high)
    joined.fill(QColor(Qt.GlobalColor.magenta))
    painter = QPainter(joined)
    for number, each in enumerate(pictures):
        each.setDevicePixelRatio(1)
        painter.drawPixmap(number % ACROSS * wide, number // ACROSS * high, each)
    painter.end()
    return joined


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("url", nargs="+")
    parser.add_argument("--tabs", default="", help="ids of tabs, separated by commas; by default all that fit the node")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--run", default="", help="ids of commands to run before the picture, separated by commas")
    parser.add_argument(
        "--keys", default="", help="keys to press after these commands, by Qt's names, separated by commas"
    )
    parser.add_argument("--size", default="1200x800")
    parser.add_argument("--sheets", action="store_true", help="one picture for each place, with all its tabs")
    asked = parser.parse_args()

    from qtpy import QtTest
    from qtpy.QtCore import Qt
    from qtpy.QtWidgets import QApplication

    from zarrscope_app.presenters import MemorySettings
    from zarrscope_app.qt.window import Window

    application: Any = QApplication.instance() or QApplication(sys.argv[:1])
    if asked.dark:
        paint_dark(application)
    asked.folder.mkdir(parents=True, exist_ok=True)
    wide, _, high = asked.size.partition("x")
    look = "dark" if asked.dark else "light"
    for url in asked.url:
        window = Window(MemorySettings())
        window.resize(int(wide), int(high))
        window.show()
        window.activateWindow()
        window.open(url)
        rest(application, partial(busy, window))
        session = window.workspace.current
        assert session is not None
        name = re.sub(r"[^\w.]+", "-", url.split("://")[-1].rstrip("/").rpartition("/")[2])[:60]
        pictures = []
        for tab in session.state.tabs:
            if not tab.enabled or (asked.tabs and tab.id not in asked.tabs.split(",")):
                continue
            session.set_tab(tab.id)
            rest(application, partial(busy, window))
            for command in filter(None, asked.run.split(",")):
                window.run(command)
            rest(application, partial(busy, window))
            for key in filter(None, asked.keys.split(",")):
                press: Any = QtTest.QTest.keyClick
                press(application.focusWidget() or window, getattr(Qt.Key, f"Key_{key}"))
            rest(application, partial(busy, window))
            pictures.append(window.grab())
            if not asked.sheets:
                store(pictures[-1], asked.folder / f"{name}-{tab.id}-{look}.png")
        if asked.sheets and pictures:
            store(sheet(pictures), asked.folder / f"{name}-{look}.png")
        window.close()
        window.deleteLater()
        application.processEvents()
    return 0


if __name__ == "__main__":
    sys.exit(main())
