"""How long napari waits inside our code: every callback of the dock, and every index of the lazy data, while a person
opens, unfolds, selects, adds to the viewer and steps through planes. napari's own slicing and drawing are not ours.

    xvfb-run -a -s "-screen 0 1600x1000x24" python tests/bench/callbacks.py [URL] [--steps 200]

Budget: p99 ≤ 16 ms. Adding a layer is told apart: napari builds it and reads its first plane within our callback.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.heartbeat import demo


def measure(url: str, steps: int, viewer: Any) -> tuple[list[float], list[float]]:
    """(milliseconds of each callback and index, of each time layers were added)."""
    from qtpy.QtWidgets import QApplication

    from zarrscope.view.lazy import LazyView
    from zarrscope_app.napari import dock
    from zarrscope_app.qt.bridge import Bridge

    calls: list[float] = []
    additions: list[float] = []
    adding: list[float] = []
    run, index, add = Bridge._run, LazyView.__getitem__, dock.Explorer._add_one

    def timed(what: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            before, start = len(adding), time.perf_counter()
            try:
                return what(*arguments)
            finally:
                if len(adding) == before:
                    calls.append((time.perf_counter() - start) * 1000)

        return call

    def timed_add(*arguments: Any) -> None:
        start = time.perf_counter()
        add(*arguments)
        adding.append((time.perf_counter() - start) * 1000)
        additions.append(adding[-1])

    Bridge._run, LazyView.__getitem__, dock.Explorer._add_one = timed(run), timed(index), timed_add  # type: ignore[assignment, method-assign]  # counted or timed here
    widget = dock.Explorer(viewer)
    try:
        viewer.window.add_dock_widget(widget, name="Zarr explorer")

        def wait(until: Callable[[], bool], seconds: float = 60.0) -> None:
            end = time.monotonic() + seconds
            while not until():
                assert time.monotonic() < end, "napari did not get there"
                QApplication.processEvents()

        widget.open(url)
        session = widget.session
        assert session is not None
        wait(lambda: session.hierarchy is not None and widget.button.isEnabled())
        for row in session.tree.flat(0, session.tree.flat_count):
            session.tree.expand(row.id)
        widget.add()
        wait(lambda: len(viewer.layers) > 0 and len(additions) > 0)
        lengths = viewer.dims.nsteps
        for step in range(steps):
            axis = step // 20 % (len(lengths) - 2)
            viewer.dims.set_current_step(axis, step % int(lengths[axis]))
            if step % 10 == 0:
                rows = session.tree.flat(0, session.tree.flat_count)
                session.select(rows[step // 10 % len(rows)].path)
            QApplication.processEvents()
    finally:
        widget.stop()
        viewer.layers.clear()
        Bridge._run, LazyView.__getitem__, dock.Explorer._add_one = run, index, add  # type: ignore[method-assign]  # as it was
    return calls, additions


def percentile(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * part) - 1)]


def main() -> None:
    import napari

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("url", nargs="?")
    parser.add_argument("--steps", type=int, default=200)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="zarrscope-bench-") as folder:
        viewer = napari.Viewer(show=True)
        calls, additions = measure(asked.url or demo(Path(folder)), asked.steps, viewer)
        viewer.close()
    figures = f"median {percentile(calls, 0.5):.2f} ms, p99 {percentile(calls, 0.99):.1f} ms, max {max(calls):.1f} ms"
    print(f"napari: {len(calls)} callbacks, {figures}; adding layers {', '.join(f'{a:.0f} ms' for a in additions)}")


if __name__ == "__main__":
    main()
