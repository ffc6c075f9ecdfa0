"""Makes a picture of napari's window with the dock open beside an image, 300 pixels wide, for the README.

    python packaging/napari_picture.py FILE.png [PLACE] [--light] [--size 1280x800]

Without a place, it shows the demo volume in a temporary folder, whose name stands in the picture. For the README the
volume was made in /data (`zarrscope_resources.demo.make`). Without a screen: xvfb-run -a -s "-screen 0 1600x1000x24" …
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WIDTH = 300
"""The width of the dock: napari's own docks are about as wide."""
PATIENCE = 60.0
"""Seconds after which a picture is given up."""


def main() -> None:
    """Draws the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("place", nargs="?")
    parser.add_argument("--light", action="store_true")
    parser.add_argument("--size", default="1280x800")
    given = parser.parse_args()

    import napari
    from qtpy.QtCore import Qt
    from qtpy.QtWidgets import QApplication

    from zarrscope_app.napari.dock import Explorer
    from zarrscope_app.presenters import MemorySettings
    from zarrscope_resources.demo import make

    with tempfile.TemporaryDirectory() as folder:
        place = given.place or str(make(Path(folder) / "data" / "cells.ome.zarr", "small"))
        viewer = napari.Viewer()
        viewer.theme = "light" if given.light else "dark"
        window: Any = viewer.window._qt_window
        window.resize(*map(int, given.size.split("x")))
        dock = Explorer(viewer, settings=MemorySettings())
        holder = viewer.window.add_dock_widget(dock, name="Zarr explorer", area="right")
        window.resizeDocks([holder], [WIDTH], Qt.Orientation.Horizontal)
        application = QApplication.instance()
        assert application is not None
        dock.open(place)
        until(application, lambda: dock.session is not None and dock.session.node is not None)
        dock.add()
        until(application, lambda: bool(viewer.layers) and all(layer.loaded for layer in viewer.layers))
        rest = time.monotonic() + 2
        until(application, lambda: time.monotonic() > rest)
        window.resizeDocks([holder], [WIDTH], Qt.Orientation.Horizontal)
        viewer.reset_view()
        application.processEvents()
        viewer.screenshot(given.file, canvas_only=False, flash=False)
        viewer.close()


def until(application: Any, condition: Callable[[], bool]) -> None:
    """Runs the event loop until a condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            sys.exit("napari did not show the image in time")
        application.processEvents()
        time.sleep(0.01)


if __name__ == "__main__":
    main()
