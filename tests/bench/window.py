"""The window: time until it is shown, and the longest block of its event loop during gestures.

    python tests/bench/run.py --only window                        all of it; --quick only tries it
    python tests/bench/window.py start PLACE                       one start, one JSON line; needs a display
    python tests/bench/window.py slider|pan|plate|list|three PLACE [--beats 1000]

*First window*: from the command to the first painting of the window, Python's start included; *coarse picture*: from
there to the first painting of tiles; *sharp*: to the whole picture. Then the heartbeat of heartbeat.py, without other
load: the slider through the 60 planes of 1 GiB, panning a plane of 100,000 x 100,000 (a region of it is stored),
walking through the images of a plate of 384 wells, walking through a group of 20,000 children while it is listed, and
three views of the demo volume. Budgets: 1.5 s, 0.3 s; p99 16 ms and max 50 ms.

*Frames* and *time to sharp* of the slider are those of the window's canvas, beside napari with napari-ome-zarr
(napari_peer.py) and silx' stack view with the values in memory, where they are installed. silx needs other releases of
its dependencies than napari, so it is run in another environment: `python -m venv .venv-silx`, then `.venv-silx/bin/pip
install . silx matplotlib qtawesome PyQt6 qtpy`; or ZARRSCOPE_SILX names one.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import machine
from bench.heartbeat import Heart, beat_in_qt, there_and_back
from bench.results import OURS, Goal, Row
from bench.settings import Settings
from bench.volumes import Volumes

GROUP = "window"
SILX = "silx, in memory"
PEER = "napari-ome-zarr"
WIDE = 100_000
STARTED = "ZARRSCOPE_BENCH_STARTED"
"""The clock at the start of the command, for the process that is timed."""
WALKS = ("slider", "pan", "plate", "list", "three")


# ------------------------------------------------------------------------------------------------- volumes
def stack(settings: Settings) -> Path:
    """60 planes, 1 GiB in all, as OME-Zarr of three levels: blobs with noise."""
    planes, side = (12, 256) if settings.quick else (60, 3008)
    return Volumes(settings.folder, settings.shape).need_as(
        f"stack-{planes}-{side}.ome.zarr", lambda part: _pyramid(part, (planes, side, side), 3, (1, 512, 512))
    )


def wide(settings: Settings) -> Path:
    """A plane of 100,000 x 100,000 in nine levels, of which the first 8,192 x 8,192 are stored; the coarsest whole."""
    side, stored = (WIDE, 1024) if settings.quick else (WIDE, 8192)
    return Volumes(settings.folder, settings.shape).need_as(
        f"wide-{stored}.ome.zarr", lambda part: _pyramid(part, (side, side), 9, (512, 512), stored)
    )


def _pyramid(part: Path, shape: tuple[int, ...], levels: int, chunks: tuple[int, ...], stored: int = 0) -> None:
    import numpy as np

    import zarrscope

    hierarchy = zarrscope.open(part, "w-")
    names = "zyx"[-len(shape) :]
    datasets = []
    chance = np.random.default_rng(2)
    for level in range(levels):
        extent = (*shape[:-2], shape[-2] >> level, shape[-1] >> level)
        array = hierarchy.create_array(f"/{level}", shape=extent, dtype="uint16", chunks=chunks)
        last = level == levels - 1
        height, width = (min(n, stored >> level) if stored and not last else n for n in extent[-2:])
        y, x = np.arange(height)[:, None], np.arange(width)[None, :]
        for z in range(shape[0] if len(shape) > 2 else 1):
            wave = np.sin((y << level) / 90 + z / 5) + np.cos((x << level) / 70 - z / 7)
            plane = ((wave + 2) * 900 + chance.integers(0, 60, (height, width))).astype("uint16")
            array[(z, slice(0, height), slice(0, width))[-len(shape) :]] = plane
        scale = [1.0] * (len(shape) - 2) + [float(1 << level)] * 2
        datasets.append({"path": str(level), "coordinateTransformations": [{"type": "scale", "scale": scale}]})
    axes = [{"name": name, "type": "space", "unit": "micrometer"} for name in names]
    about = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}
    hierarchy["/"].attrs.update({"ome": about})


def plate(settings: Settings) -> Path:
    """Wells of one field each, of 64 x 64 pixels."""
    rows, columns = ("AB", 3) if settings.quick else ("ABCDEFGHIJKLMNOP", 24)

    def make(part: Path) -> None:
        import numpy as np

        import zarrscope

        hierarchy = zarrscope.open(part, "w-")
        wells = []
        for row, letter in enumerate(rows):
            for column in range(1, columns + 1):
                path = f"{letter}/{column}"
                hierarchy.create_group(f"/{path}", {"ome": {"version": "0.5", "well": {"images": [{"path": "0"}]}}})
                levels = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1.0, 1.0]}]}]
                axes = [{"name": name, "type": "space"} for name in "yx"]
                about = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}]}
                hierarchy.create_group(f"/{path}/0", {"ome": about})
                array = hierarchy.create_array(f"/{path}/0/0", shape=(64, 64), dtype="u1", chunks=(64, 64))
                array[...] = np.hypot(*np.mgrid[-32:32, -32:32]) * (row + column) % 256
                wells.append({"path": path, "rowIndex": row, "columnIndex": column - 1})
        laid_out = {
            "rows": [{"name": letter} for letter in rows],
            "columns": [{"name": str(column)} for column in range(1, columns + 1)],
            "wells": wells,
        }
        hierarchy["/"].attrs.update({"ome": {"version": "0.5", "plate": laid_out}})

    return Volumes(settings.folder, settings.shape).need_as(f"plate-{len(rows)}-{columns}.ome.zarr", make)


def many(settings: Settings) -> Path:
    """A group of many children."""
    from bench.large_groups import make

    count = 500 if settings.quick else 20_000
    folder = settings.folder / f"many-{count}"
    folder.mkdir(parents=True, exist_ok=True)
    return make(folder, "v3", count)


PLACES: dict[str, Callable[[Settings], Path]] = {"slider": stack, "pan": wide, "plate": plate, "list": many}


# ------------------------------------------------------------------------------------------------- the rows
def measure(settings: Settings) -> Iterator[Row]:
    from bench import viewing

    if settings.wants("", "start"):
        yield from starts(settings, viewing.demo(settings))
    for walk in WALKS:
        if settings.wants("", walk):
            place = PLACES.get(walk, viewing.demo)(settings)
            yield from _walk(settings, walk, place)


def ask(arguments: list[str]) -> dict[str, Any]:
    """Runs this program with these arguments in a process of its own, and returns its result."""
    from bench.viewing import run, screen

    os.environ[STARTED] = repr(time.time())
    try:
        told: dict[str, Any] = json.loads(run([*screen(), sys.executable, __file__, *arguments]).splitlines()[-1])
    finally:
        del os.environ[STARTED]
    return told


def starts(settings: Settings, place: Path) -> Iterator[Row]:
    """The times of a second start: the first one, which is not counted, compiles modules and starts the display."""
    ask(["start", str(place)])
    told = [ask(["start", str(place)]) for _ in range(1 if settings.quick else 5)]
    for case, most in (("first window", 1.5), ("coarse picture after it", 0.3), ("sharp after it", 0.0)):
        figures = {OURS: [each[case] for each in told]}
        yield Row(GROUP, case, "", figures, (Goal(most, "figure"),) if most else ())


def _walk(settings: Settings, walk: str, place: Path) -> Iterator[Row]:
    beats = "60" if settings.quick else "1000"
    told = [ask([walk, str(place), "--beats", beats]) for _ in range(1 if settings.quick else min(3, settings.rounds))]
    note = f"own work p99 {statistics.median(each['work_p99'] for each in told):.1f} ms"
    for part, most in (("p99", 16.0), ("max", 50.0)):
        figures = {OURS: [each[part] for each in told]}
        yield Row(GROUP, f"{walk}, heartbeat {part}", "", figures, (Goal(most, "figure"),), "ms", note=note)
    cache = statistics.median(each["cache"] for each in told)
    grown = {OURS: [max(0.0, each["grown"] - cache) for each in told]}
    yield Row(
        GROUP, f"{walk}, memory beyond the cache", "", grown, (Goal(200.0, "figure"),), "MiB",
        note=f"{cache:.0f} MiB of chunks in the cache",
    )  # fmt: skip
    if walk == "slider":
        yield from beside(settings, place, told)


def beside(settings: Settings, place: Path, told: list[dict[str, Any]]) -> Iterator[Row]:
    """One step of the slider to its sharp, drawn picture, for zarrscope and its peers."""
    figures = {OURS: [each["sharp"] for each in told]}
    unable: dict[str, str] = {}
    from bench import napari_peer
    from bench.viewing import run, screen

    planes = "4" if settings.quick else "59"
    commands = {
        PEER: [sys.executable, napari_peer.__file__, PEER, str(place), "--planes", planes],
        SILX: [str(machine.silx() or sys.executable), __file__, "silx", str(place)],
    }
    for engine, command in commands.items():
        for _ in told:
            try:
                found = json.loads(run([*screen(), *command]).splitlines()[-1])
            except RuntimeError as error:
                unable[engine] = str(error).splitlines()[-1]
                break
            figures.setdefault(engine, []).append(found["step"])
    goals = tuple(Goal(0.5, engine) for engine in commands if engine in figures)
    yield Row(GROUP, "slider, time to sharp", "", figures, goals, "s", unable)


# ------------------------------------------------------------------------------------------------- one process
class Desk:
    """The window in a process of its own, with an open hierarchy."""

    def __init__(self, place: str) -> None:
        from zarrscope_app.process import own_process, tune_interpreter, uncollected

        own_process()
        with uncollected():  # as the application's main
            from zarrscope_app.presenters import MemorySettings
            from zarrscope_app.qt.toolkit.core import QEvent, QObject
            from zarrscope_app.qt.toolkit.widgets import QApplication
            from zarrscope_app.qt.window import Window

        self.application: Any = QApplication.instance() or QApplication(sys.argv[:1])
        self.window = Window(MemorySettings())
        self.window.resize(1200, 800)
        self.painted: list[tuple[float, bool, bool]] = []
        """(when the canvas was painted, with tiles, whole)."""
        desk = self

        class Watch(QObject):
            def eventFilter(self, watched: Any, event: Any) -> bool:
                if event.type() == QEvent.Type.Paint:
                    desk._note(watched is desk.window)
                return False

        self._first_window = 0.0
        self._watch = Watch()
        self.window.installEventFilter(self._watch)
        self.window.image.canvas.installEventFilter(self._watch)
        self.window.show()
        self.window.open(place)
        tune_interpreter()
        session = self.window.workspace.current
        assert session is not None
        self.session = session

    def _note(self, window: bool) -> None:
        if window:
            self._first_window = self._first_window or time.time()
        elif self.window.workspace.current is not None:
            frame = self.window.workspace.current.slice.frame
            drawn = any(tile.rgb is not None for tile in frame.tiles)
            self.painted.append((time.time(), drawn, drawn and frame.loading == 0))

    def until(self, happened: Callable[[], bool], seconds: float = 60.0) -> None:
        from zarrscope_app.qt.toolkit.core import QEventLoop, QTimer

        # It sleeps while nothing happens, as the application does: a loop that asks for events all the time would
        # take Python's lock from the workers, and a core.
        flags = QEventLoop.ProcessEventsFlag
        waker = QTimer()
        waker.start(5)
        end = time.monotonic() + seconds
        while not happened():
            if time.monotonic() > end:
                raise RuntimeError("the picture did not come")
            self.application.processEvents(flags.AllEvents | flags.WaitForMoreEvents)
        waker.stop()

    def rest(self) -> None:
        self.until(lambda: self.session.state.status.value == "ready" and not self.session.state.selecting)
        slice = self.session.slice
        if slice.state.kind == "image":
            self.until(lambda: bool(slice.frame.tiles) and slice.frame.loading == 0)

    def close(self) -> None:
        self.window.close()
        self.window.deleteLater()
        self.application.processEvents()


def start(place: str) -> dict[str, Any]:
    """Seconds to the first window, from there to a picture, and to the complete picture."""
    began = float(os.environ[STARTED])
    desk = Desk(place)
    desk.until(lambda: bool(desk.painted) and desk.painted[-1][2])
    first = desk._first_window
    coarse = next(when for when, drawn, _ in desk.painted if drawn)
    told = {"first window": first - began, "coarse picture after it": coarse - first}
    told["sharp after it"] = desk.painted[-1][0] - first
    desk.close()
    return told


def walk(name: str, place: str, beats: int) -> dict[str, Any]:
    """The heartbeat while one gesture is repeated."""
    from dataclasses import asdict

    from bench.viewing import resident
    from zarrscope.view.loader import shared

    desk = Desk(place)
    if name != "list":  # in this host the listing counts
        desk.rest()
    if name == "three":
        desk.window.run("three-views")
        desk.rest()
    before = resident()
    heart = Heart(beats, GESTURES[name](desk))
    beat_in_qt(heart.beat)
    told = asdict(heart.result(name))
    told["grown"] = resident() - before
    told["cache"] = shared().limit / 2**20
    if name == "slider":
        told["sharp"] = statistics.median(sharp(desk))
    desk.close()
    return told


def _is_whole_since(desk: Desk, seen: int) -> bool:
    """Whether a complete picture was drawn after the first `seen` paintings, and nothing is loading any more."""
    return any(whole for _, _, whole in desk.painted[seen:]) and desk.session.slice.frame.loading == 0


def sharp(desk: Desk) -> Iterator[float]:
    """Seconds from each step of the slider to its whole picture, drawn."""
    slice = desk.session.slice
    axis = next(axis for axis in slice.state.axes if axis.role == "slider")
    for index in range(axis.length):
        if index == slice.state.axes[0].index:
            continue
        seen, began = len(desk.painted), time.perf_counter()
        slice.set_index(axis.name, index)
        desk.until(partial(_is_whole_since, desk, seen))
        yield time.perf_counter() - began


def _slide(desk: Desk) -> Iterator[None]:
    slice = desk.session.slice
    axis = next(axis for axis in slice.state.axes if axis.role == "slider")
    for index in there_and_back(axis.length):
        slice.set_index(axis.name, index)
        yield


def _pan(desk: Desk) -> Iterator[None]:
    canvas = desk.window.image.canvas
    canvas.look((600.0, 600.0), 1.0)
    for step in there_and_back(240):
        canvas.look((600.0 + 7 * step, 600.0 + 11 * step), 1.0)
        yield


def _plate(desk: Desk) -> Iterator[None]:
    from zarrscope_app.presenters.image.overview import OverviewPresenter

    overview = desk.session.tabs.presenters["overview"]
    assert isinstance(overview, OverviewPresenter)
    places = [cell.path for cell in overview.state.cells]
    for number in there_and_back(len(places)):
        desk.session.select("/" if number % 5 == 0 else places[number])
        for _ in range(12):
            yield


def _list(desk: Desk) -> Iterator[None]:
    bar = desk.window.tree.view.verticalScrollBar()
    assert bar is not None
    while True:
        for step in range(40):
            bar.setValue(bar.maximum() * step // 40)
            yield


def _three(desk: Desk) -> Iterator[None]:
    slice = desk.session.slice
    height, width = slice.frame.shape
    depth = next(axis for axis in slice.state.axes if axis.role == "slider" and axis.type == "space")
    for step in there_and_back(60):
        slice.pin(height * step / 60 + 0.5, width * step / 60 + 0.5)
        slice.set_index(depth.name, depth.length * step // 60)
        yield


GESTURES: dict[str, Callable[[Desk], Iterator[None]]] = {
    "slider": _slide,
    "pan": _pan,
    "plate": _plate,
    "list": _list,
    "three": _three,
}


def silx(place: str) -> dict[str, Any]:
    """A step of silx's stack view to its picture, with the values in memory."""
    import numpy as np
    from qtpy.QtWidgets import QApplication

    StackView: Any = importlib.import_module("silx.gui.plot.StackView").StackView

    import zarrscope

    application: Any = QApplication.instance() or QApplication(sys.argv[:1])
    array: Any = zarrscope.open(place)["/0"]
    values = np.asarray(array[...])
    view = StackView()
    view.resize(1200, 800)
    view.setStack(values)
    view.show()
    for _ in range(20):
        application.processEvents()
    taken = []
    for index in range(1, len(values)):
        began = time.perf_counter()
        view.setFrameNumber(index)
        view.getPlotWidget().getWidgetHandle().repaint()
        application.processEvents()
        taken.append(time.perf_counter() - began)
    return {"step": statistics.median(taken)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["start", "silx", *WALKS])
    parser.add_argument("place")
    parser.add_argument("--beats", type=int, default=1000)
    asked = parser.parse_args()
    os.environ.setdefault(STARTED, repr(time.time()))
    if asked.what == "start":
        told = start(asked.place)
    elif asked.what == "silx":
        told = silx(asked.place)
    else:
        told = walk(asked.what, asked.place, asked.beats)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
