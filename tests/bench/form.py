"""The form of a large document in a window: the longest time for which an edit blocks the event loop.

    python tests/bench/form.py [--megabytes 5]     needs a display, or Xvfb

The document holds a list of 25,000 numbers, one of 25,000 objects, and an image. Each stage is an act: unfolding,
turning pages, the JSON text, an edit, its review, saving, a conflict with another writer. Meanwhile a beat comes every
5 ms, as in heartbeat.py; what is reported of a stage is the gap between beats (median, p99, max), the most computing of
the window's own thread in one gap, and the parts of the longest gap: own work + waiting for a core + the rest, which is
waiting for Python's lock.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from bench.heartbeat import Gaps, Heart, beat_in_qt

ITEMS = 25_000
AFTER = 20
"""The number of beats that are counted after the result of a stage has arrived."""
PATIENCE = 120.0
TURNS = 20
"""The number of pages that are turned one after the other."""


def make(folder: Path, megabytes: float) -> Path:
    """Makes a group with one image, whose attributes have this total size."""
    import zarrscope

    numbers = [round(0.37 * i, 3) for i in range(ITEMS)]
    axes = [{"name": name, "type": "space", "unit": "micrometer"} for name in "yx"]
    levels = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [0.5, 0.5]}]}]
    ome = {"version": "0.5", "multiscales": [{"name": "x", "axes": axes, "datasets": levels}]}
    held = len(json.dumps(numbers, indent=2))
    room = max(80, int((megabytes * 1e6 - held) / ITEMS))
    note = "n" * max(1, room - 110)
    objects = [{"label": i, "class": f"cell {i % 7}", "area": 1.5 * i, "note": note} for i in range(ITEMS)]
    with zarrscope.open(folder / "large.zarr", "w-") as made:
        made.root.attrs.put({"ome": ome, "numbers": numbers, "objects": objects})
        made.create_array("/0", shape=(64, 64), dtype="uint8", chunks=(64, 64))
    return folder / "large.zarr"


@dataclass(frozen=True)
class Stage:
    """A sequence of edits; each waits until the result of the one before has arrived."""

    name: str
    acts: tuple[tuple[Callable[[], object], Callable[[], bool]], ...]


def measure(place: Path) -> Iterator[Gaps]:
    """The gaps between beats during each stage, in a visible window."""
    from qtpy.QtWidgets import QApplication

    from zarrscope_app.presenters import MemorySettings
    from zarrscope_app.process import own_process, tune_interpreter
    from zarrscope_app.qt.window import Window

    application = QApplication.instance() or QApplication(sys.argv[:1])
    own_process()
    tune_interpreter()
    window = Window(MemorySettings())
    window.resize(1200, 800)
    window.show()
    application.processEvents()
    for stage in _stages(window, place):
        yield _gaps(stage)
    window.close()
    window.deleteLater()
    application.processEvents()


def _gaps(stage: Stage) -> Gaps:
    heart = Heart(1 << 40, repeat(None))
    left = list(stage.acts)
    act: Callable[[], object] | None
    act, over = left.pop(0)
    still = AFTER
    end = time.monotonic() + PATIENCE

    def beat() -> bool:
        nonlocal act, over, still
        heart.beat()
        assert time.monotonic() < end, f"{stage.name} did not end"
        if act is not None:
            act()
            act = None
        elif over():
            if left:
                act, over = left.pop(0)
            else:
                still -= 1
        return still > 0

    beat_in_qt(beat)
    return heart.result(stage.name)


def _stages(window: Any, place: Path) -> Iterator[Stage]:
    from zarrscope_app.presenters import EditStatus
    from zarrscope_app.presenters.form.pages import PAGE

    def open_form() -> None:
        window.open(str(place), writable=True)
        window.workspace.current.set_tab("attributes")

    def loaded() -> bool:
        return window.workspace.current is not None and bool(window.workspace.current.edit.state.sections)

    yield Stage("open the form", ((open_form, loaded),))
    edit = window.workspace.current.edit

    def there(pointer: str) -> Callable[[], bool]:
        return lambda: edit.field(pointer) is not None

    def settled(status: EditStatus, changes: int) -> Callable[[], bool]:
        return lambda: not edit.busy and edit.state.status is status and edit.state.changes == changes

    clean, dirty = settled(EditStatus.CLEAN, 0), settled(EditStatus.DIRTY, 1)
    yield Stage("all fields", ((lambda: edit.show_way("fields"), there("/numbers")),))
    for name in ("numbers", "objects"):
        at = f"/{name}"
        yield Stage(f"unfold {ITEMS:,} {name}", ((partial(edit.fold, at, False), there(f"{at}/0")),))
        turns = [(partial(edit.turn_page, at, 1), there(f"{at}/{turn * PAGE}")) for turn in range(1, TURNS + 1)]
        yield Stage(f"pages of {name}", tuple(turns))
    near = f"/objects/{TURNS * PAGE}/class"

    def reviewed() -> bool:
        return not edit.busy and "other" in edit.diff().unified

    yield Stage("edit a field", ((lambda: edit.edit(near, "other"), dirty),))
    yield Stage("review", ((window.form.show_diff, reviewed),))
    window.form.show_diff(False)
    yield Stage("undo and redo", ((edit.undo, clean), (edit.redo, dirty)))
    yield Stage("save", ((edit.save, clean),))
    yield Stage("the JSON text", ((lambda: edit.show_way("json"), lambda: _filled(window)),))
    yield Stage("edit the JSON text", ((lambda: _type(window), dirty), (edit.save, clean)))
    yield Stage("the sections", ((lambda: edit.show_way("image"), lambda: bool(edit.state.sections)),))
    yield Stage("edit a pixel size", ((lambda: edit.edit("size/0", "0.3"), lambda: dirty() or edit.state.changes > 0),))
    _meanwhile(place)
    met = (edit.save, lambda: edit.state.status is EditStatus.CONFLICT)
    yield Stage("save, and meet a conflict", (met, (partial(edit.resolve, "theirs"), settled(EditStatus.CLEAN, 0))))


def _filled(window: Any) -> bool:
    text = window.form.json.text
    return bool(window.workspace.current.edit.state.text) and bool(text.content()) and not text.filling


def _type(window: Any) -> None:
    """Types another name into the second line of the text."""
    from zarrscope_app.qt.toolkit.gui import QTextCursor  # importing all of qtpy's takes 50 ms

    text = window.form.json.text
    text.setFocus()
    found = text.document().find('"version"')
    found.movePosition(QTextCursor.MoveOperation.StartOfLine)
    found.insertText('"typed": 1, ')
    window.form.commit()


def _meanwhile(place: Path) -> None:
    """Another process changes the same field."""
    program = (
        "import sys, zarrscope\n"
        "with zarrscope.open(sys.argv[1], 'r+') as h:\n"
        "    step = h.root.attrs['ome']\n"
        "    step['multiscales'][0]['datasets'][0]['coordinateTransformations'][0]['scale'] = [0.7, 0.7]\n"
        "    h.root.attrs['ome'] = step\n"
        "    h.root.attrs['numbers'] = [i * 2 for i in h.root.attrs['numbers']]\n"
    )
    subprocess.run([sys.executable, "-c", program, str(place)], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=float, default=5.0)
    asked = parser.parse_args()
    print("| stage | beats | median | p99 | max | own work max | longest gap |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="zarrscope-bench-") as folder:
        for gaps in measure(make(Path(folder), asked.megabytes)):
            figures = (gaps.median, gaps.p99, gaps.max, gaps.work_max)
            told = " | ".join(f"{each:.1f} ms" for each in figures)
            parts = " + ".join(f"{each:.0f}" for each in gaps.longest)
            print(f"| {gaps.host} | {gaps.beats} | {told} | {parts} |", flush=True)


if __name__ == "__main__":
    main()
