"""How long the thread of napari's window waits while planes come from a web server that answers after 200 ms, with
napari's asynchronous slicing on: zarrscope beside napari-ome-zarr.

    python tests/bench/napari_distant.py [--steps 32] [--rounds 3] [--delay 0.2]     needs a display, or xvfb-run
    python tests/bench/napari_distant.py ENGINE URL [--steps 32]                     one engine, one JSON line

Each engine is in a process of its own. It opens the small demo volume, passes the 32 planes of both time points as a
dragged slider does (a plane every PACE seconds), and waits for the last one. *Call*: the time of the window's thread
within one step of the slider, until the viewer has returned. *Pass*: the same within one pass of the event loop, where
napari takes planes, colours and draws them; the engine "in memory" (the same layers as numpy arrays) shows napari's own
part. *Ours* (zarrscope only): within each callback, index and slice request of zarrscope on that thread; budget: p99
≤ 16 ms.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from bench.callbacks import percentile
from bench.heartbeat import demo
from bench.latency import Slow
from bench.napari_peer import FLOOR, PEER, READER, Bench
from bench.results import OURS
from bench.viewing import run, screen

PACE = 0.05
"""Seconds between two steps of the slider."""


def one(engine: str, url: str, steps: int) -> dict[str, Any]:
    """The figures of one engine, in milliseconds, and the seconds until the last plane."""
    from napari.settings import get_settings

    get_settings().experimental.async_ = True
    bench = Bench()
    ours: list[float] = []
    if engine == OURS:
        _time_callbacks(ours)
        from zarrscope_app.napari.dock import Explorer

        widget = Explorer(bench.viewer)
        bench.viewer.window.add_dock_widget(widget)
        widget.open(url)
        bench.until(lambda: widget.session is not None and widget.session.node is not None)
        widget.add()
        bench.until(lambda: bool(bench.viewer.layers) and not widget._waiting)
    elif engine == FLOOR:
        bench.load(url)
        bench.open_arrays(url)
    else:
        bench.open(url, OURS if engine == READER else engine)
    bench.until(lambda: bool(bench.viewer.layers) and all(layer.loaded for layer in bench.viewer.layers))
    ours.clear()
    names = [str(name) for name in bench.viewer.dims.axis_labels]
    z = names.index("z") if "z" in names else bench.viewer.dims.ndim - 3
    length = int(bench.viewer.dims.nsteps[z])
    calls: list[float] = []
    passes: list[float] = []
    for step in range(steps):
        place = list(bench.viewer.dims.current_step)
        place[0], place[z] = step // length % int(bench.viewer.dims.nsteps[0]), step % length
        calls.append(_milliseconds(partial(setattr, bench.viewer.dims, "current_step", tuple(place))))
        end = time.monotonic() + PACE
        while time.monotonic() < end:
            passes.append(_milliseconds(bench.application.processEvents))
            time.sleep(0.001)
    began = time.perf_counter()
    while not all(layer.loaded for layer in bench.viewer.layers):
        passes.append(_milliseconds(bench.application.processEvents))
        time.sleep(0.001)
    return {"call": calls, "pass": passes, "ours": ours, "last": time.perf_counter() - began}


def _milliseconds(act: Callable[[], Any]) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000


def _time_callbacks(calls: list[float]) -> None:
    """Times the callbacks and indexes of zarrscope on this thread."""
    from zarrscope.view.lazy import LazyView
    from zarrscope_app.napari import background_planes, planes
    from zarrscope_app.qt.bridge import Bridge

    here = threading.current_thread()

    def timed(run: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if threading.current_thread() is not here:
                return run(*arguments, **named)
            began = time.perf_counter()
            try:
                return run(*arguments, **named)
            finally:
                calls.append((time.perf_counter() - began) * 1000)

        return call

    for owner, name in (
        (Bridge, "_run"),
        (LazyView, "__getitem__"),
        (planes._Guarded, "__call__"),
        (planes._Request, "__call__"),
        (background_planes.BackgroundPlanes, "_show"),
    ):
        setattr(owner, name, timed(getattr(owner, name)))


def compare(steps: int, rounds: int, delay: float) -> None:
    """Prints a table of all engines, of which the rounds alternate."""
    engines = (OURS, READER, PEER, FLOOR)
    told: dict[str, list[dict[str, Any]]] = {engine: [] for engine in engines}
    with tempfile.TemporaryDirectory(prefix="zarrscope-bench-") as folder:
        place = Path(demo(Path(folder)))
        with Slow(place.parent) as server:
            for number in range(rounds):
                for engine in engines if number % 2 == 0 else reversed(engines):
                    server.delay(delay if engine != FLOOR else 0.0)  # in memory: read before anything is measured
                    command = [*screen(), sys.executable, __file__, engine, f"{server.url}/{place.name}"]
                    answer = run([*command, "--steps", str(steps)], 600)
                    told[engine].append(json.loads(answer.splitlines()[-1]))
    for engine, runs in told.items():
        words = []
        for kind in ("call", "pass", "ours"):
            if values := [value for each in runs for value in each[kind]]:
                words.append(
                    f"{kind} median {percentile(values, 0.5):.2f}, p99 {percentile(values, 0.99):.1f}, "
                    f"max {max(values):.1f} ms ({len(values)})"
                )
        last = statistics.median(each["last"] for each in runs)
        print(f"{engine}: {'; '.join(words)}; last plane after {last:.2f} s")


def in_event_loop(act: Callable[[], None]) -> None:
    """Acts within napari's event loop, because zarrscope takes what happens outside it for the acts of a script, and
    ends the process, for which napari would take seconds."""
    from qtpy.QtCore import QTimer
    from qtpy.QtWidgets import QApplication

    def run() -> None:
        try:
            act()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)

    application = QApplication.instance() or QApplication([])
    QTimer.singleShot(0, run)
    application.exec()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("engine", nargs="?")
    parser.add_argument("url", nargs="?")
    parser.add_argument("--steps", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--delay", type=float, default=0.2)
    asked = parser.parse_args()
    if asked.engine is None:
        compare(asked.steps, asked.rounds, asked.delay)
        return
    in_event_loop(lambda: print(json.dumps(one(asked.engine, asked.url, asked.steps)), flush=True))


if __name__ == "__main__":
    main()
