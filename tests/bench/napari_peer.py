"""napari with zarrscope and with napari-ome-zarr on the same volume and on a plate: first picture, slider step, memory,
requests.

    python tests/bench/run.py --only viewing --cases napari
    python tests/bench/napari_peer.py ENGINE PATH [--planes 64]        one engine, one JSON line; needs a display

Each in a process of its own under Xvfb, where GL is drawn by the processor: much of every figure is napari's own
slicing and drawing. The engine "in memory" shows how much: the same layers as numpy arrays, read before.

*First picture*: from asking for the volume to the first drawing of a layer of it; all layers: until all are there and
drawn. "zarrscope" opens it in the dock, where layers are added one a turn; "zarrscope reader" by File ▸ Open, as
napari-ome-zarr does, where napari adds them all first. *Slider step*: from moving z to the picture. *Memory*: resident
memory over that of the empty viewer, after the steps. *Requests*: those to a web server until all layers are drawn, and
for some slider steps. *Plate*: from asking for it to the first picture, in seconds, computing of the window's thread,
memory, and requests to a web server; the dock opens the well that is chosen from its list, napari-ome-zarr the whole
plate as one image, and "in memory" is the first well as a numpy array: xarray and pandas, which napari imports for the
first layer, are in all but zarrscope's.
"""

from __future__ import annotations

import argparse
import gc
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

from bench.results import OURS, Goal, Row
from bench.settings import Settings

PEER = "napari-ome-zarr"
FLOOR = "in memory"
READER = "zarrscope reader"
ENGINES = (OURS, READER, PEER, FLOOR)
CASES = {
    "first": ("first picture", "s"),
    "all": ("all layers", "s"),
    "step": ("slider step", "s"),
    "memory": ("memory", "MiB"),
}
ROUNDS = 3
"""At most: each takes some ten seconds for each engine."""
SERVED_STEPS = 4


def measure(settings: Settings, volume: Path) -> Iterator[Row]:
    figures: dict[str, dict[str, list[float]]] = {case: {} for case in CASES}
    unable: dict[str, str] = {}
    for number in range(min(ROUNDS, settings.rounds)):
        for engine in ENGINES if number % 2 == 0 else reversed(ENGINES):
            if engine in unable:
                continue
            told = _told(settings, engine, str(volume), 4 if settings.quick else 64, unable)
            if told is None:
                continue
            for case in CASES:
                figures[case].setdefault(engine, []).append(told[case])
    for case, (title, unit) in CASES.items():
        goals = () if case == "all" else (Goal(0.5, PEER),)
        yield Row("viewing", f"napari, {title}", "", figures[case], goals, unit, unable)
    yield requests(settings, volume)
    yield from plate(settings)


def requests(settings: Settings, volume: Path) -> Row:
    note = f"opening, and {SERVED_STEPS} slider steps"
    return _counted(settings, "napari, requests", volume, (OURS, READER, PEER), SERVED_STEPS, 0.5, note)


def plate_requests(settings: Settings, place: Path) -> Row:
    return _counted(settings, "napari, plate, requests", place, (OURS, PEER), 0, 0.3, "to the first picture")


def _counted(
    settings: Settings, title: str, place: Path, engines: tuple[str, ...], steps: int, goal: float, note: str
) -> Row:
    """One round: the number hardly varies."""
    from bench.latency import Slow

    figures: dict[str, list[float]] = {}
    unable: dict[str, str] = {}
    with Slow(place.parent) as server:
        for engine in engines:
            server.delay(0.0)  # counts from zero
            if _told(settings, engine, f"{server.url}/{place.name}", steps, unable):
                figures[engine] = [float(server.counts()["requests"])]
    return Row("viewing", title, "", figures, (Goal(goal, PEER),), "requests", unable, note)


PLATE = {
    "first": ("napari, plate", "s"),
    "computing": ("napari, plate, computing of the window's thread", "s"),
    "memory": ("napari, plate, memory", "MiB"),
}


def plate(settings: Settings) -> Iterator[Row]:
    from bench import window

    folder = window.plate(settings)
    place = str(folder)
    figures: dict[str, dict[str, list[float]]] = {case: {} for case in PLATE}
    unable: dict[str, str] = {}
    for _ in range(min(ROUNDS, settings.rounds)):
        for engine in (OURS, PEER, FLOOR):
            path = f"{place}/A/1/0" if engine == FLOOR else place
            told = _told(settings, engine, path, 0, unable) if engine not in unable else None
            if told is None:
                continue
            for case in PLATE:
                figures[case].setdefault(engine, []).append(told[case])
    for case, (title, unit) in PLATE.items():
        yield Row("viewing", title, "", figures[case], (Goal(0.3, PEER),), unit, unable)
    yield plate_requests(settings, folder)


def _told(settings: Settings, engine: str, place: str, planes: int, unable: dict[str, str]) -> dict[str, Any] | None:
    """The figures that another process measured; None if it could not, with the reason in `unable`."""
    from bench.viewing import run, screen

    command = [*screen(), sys.executable, __file__, engine, place, "--planes", str(planes)]
    try:
        told: dict[str, Any] = json.loads(run(command).splitlines()[-1])
    except RuntimeError as error:
        unable[engine] = str(error).splitlines()[-1]
        return None
    settings.versions.setdefault(engine, {}).update(told["versions"])
    return told


# ------------------------------------------------------------------------------------------------- one process
class Bench:
    """A visible, empty napari viewer that counts its paintings."""

    def __init__(self) -> None:
        import napari
        from qtpy.QtWidgets import QApplication

        self.viewer = napari.Viewer(show=True)
        application = QApplication.instance()
        assert application is not None
        self.application = application
        self.draws = 0
        self.computing = 0.0
        """The computing time of the window's thread until the first picture, in seconds."""
        self.canvas = self.viewer.window._qt_viewer.canvas._scene_canvas
        self.canvas.events.draw.connect(self._drawn)
        for _ in range(20):
            self.application.processEvents()

    def _drawn(self, _: object) -> None:
        self.draws += 1

    def until(self, happened: Callable[[], bool], seconds: float = 120.0) -> None:
        end = time.monotonic() + seconds
        while not happened():
            if time.monotonic() > end:
                raise RuntimeError("napari did not get there")
            self.application.processEvents()

    def drawn(self, act: Callable[[], Any]) -> float:
        """Seconds from `act` to a painting in which all layers are loaded."""
        before, began, computed = self.draws, time.perf_counter(), time.thread_time()
        act()
        self.canvas.update()
        self.until(lambda: self.draws > before and all(layer.loaded for layer in self.viewer.layers))
        self.computing = self.computing or time.thread_time() - computed
        return time.perf_counter() - began

    # ------------------------------------------------------------------ ways to open
    def open(self, path: str, plugin: str) -> tuple[float, float]:
        seconds = self.drawn(lambda: self.viewer.open(path, plugin=plugin))
        return seconds, seconds

    def open_in_dock(self, path: str) -> tuple[float, float]:
        """The seconds to the first visible layer and to all of them."""
        from zarrscope_app.napari.dock import Explorer
        from zarrscope_app.presenters.layers.presenter import plan

        widget = Explorer(self.viewer)
        self.viewer.window.add_dock_widget(widget)
        for _ in range(20):
            self.application.processEvents()
        began, computed = time.perf_counter(), time.thread_time()
        widget.open(path)
        self.until(lambda: widget.session is not None and widget.session.node is not None)
        widget.add()
        self.until(lambda: len(self.viewer.layers) > 0 or widget.chooser.choice is not None)
        several = not self.viewer.layers
        if several:
            widget.add()  # the first well in the list, which has one layer
            self.until(lambda: len(self.viewer.layers) > 0)
        before = self.draws
        self.until(lambda: self.draws > before)
        first, self.computing = time.perf_counter() - began, time.thread_time() - computed
        node = widget.session.node if widget.session is not None else None
        expected = 1 if several else len(plan(node)) if node is not None else 0
        self.until(lambda: len(self.viewer.layers) == expected)
        self.drawn(lambda: None)
        return first, time.perf_counter() - began

    def open_arrays(self, path: str) -> tuple[float, float]:
        from napari.layers import Layer

        def act() -> None:
            for layer in layers:
                self.viewer.add_layer(Layer.create(*layer))

        layers = self._arrays
        seconds = self.drawn(act)
        return seconds, seconds

    def load(self, path: str) -> None:
        import numpy as np

        from zarrscope_app.napari.reader import read

        self._arrays = [
            (
                [np.asarray(level) for level in data] if isinstance(data, list) else np.asarray(data),
                {**more, "visible": True},  # the reader has its layers hidden until they are in the viewer
                kind,
            )
            for data, more, kind in read(path)
        ]

    # ------------------------------------------------------------------ using it
    def steps(self, planes: int) -> list[float]:
        if not planes:
            return []
        names = [str(name) for name in self.viewer.dims.axis_labels]
        z = names.index("z") if "z" in names else self.viewer.dims.ndim - 3
        length = int(self.viewer.dims.nsteps[z])
        here = int(self.viewer.dims.current_step[z])
        wanted = [(here + 1 + step) % length for step in range(min(planes, length - 1))]
        return [self.drawn(partial(self.viewer.dims.set_current_step, z, at)) for at in wanted]

    def shows_something(self) -> bool:
        picture = self.viewer.screenshot(canvas_only=True, flash=False)
        return bool(picture[..., :3].any())


def resident() -> float:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def one(engine: str, path: str, planes: int) -> dict[str, Any]:
    from importlib.metadata import version

    bench = Bench()
    if engine == FLOOR:
        bench.load(path)
    before = resident()
    if engine == OURS:
        first, whole = bench.open_in_dock(path)
    elif engine == FLOOR:
        first, whole = bench.open_arrays(path)
    else:
        first, whole = bench.open(path, "zarrscope" if engine == READER else engine)
    steps = bench.steps(planes)
    memory = resident() - before
    if not bench.shows_something():
        raise RuntimeError(f"{engine} shows a black picture")
    names = ("napari", "napari-ome-zarr", "dask", "zarr") if engine == PEER else ("napari",)
    return {
        "first": first,
        "computing": bench.computing,
        "all": whole,
        "step": statistics.median(steps) if steps else 0.0,
        "memory": memory,
        "layers": len(bench.viewer.layers),
        "versions": {name: version(name) for name in names},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("path")
    parser.add_argument("--planes", type=int, default=64)
    asked = parser.parse_args()
    told = one(asked.engine, asked.path, asked.planes)
    print(json.dumps(told), flush=True)
    os._exit(0)  # napari takes seconds to end


if __name__ == "__main__":
    main()
