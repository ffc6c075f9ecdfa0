"""The longest time for which a host's event loop is blocked during gestures: a timer of 5 ms measures it, drawing
included, while another view requests chunks of the finest level that the cache is too small to keep.

    python tests/bench/heartbeat.py qt [URL] [--beats 1000]        under Xvfb: xvfb-run -a -s "-screen 0 1600x1000x24" …
    python tests/bench/heartbeat.py tui [URL] [--size 80x24]

The gap between two beats is what is reported, 5 ms at best: median, p99, max. Without URL the small demo volume is
made. `--idle`: without that load. Budgets: Qt and Textual at 80x24 p99 ≤ 16 ms and max ≤ 50 ms; Textual at 200x60
p99 ≤ 33 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any

INTERVAL = 0.005
LOAD_CACHE = 64 << 20
"""The size of the cache under load in bytes; at most a quarter of the finest level."""
MOST_WORK = 16.0
"""The processor time in ms that at most one beat of a hundred may take: one frame of an ordinary screen."""
GESTURE_EVERY = 0.016
"""Seconds between two gestures: a mouse or a held key at about 60 a second."""


@dataclass(frozen=True)
class Gaps:
    """Milliseconds between beats."""

    host: str
    beats: int
    median: float
    p99: float
    max: float
    work_p99: float
    """The processor time of the host's own thread between two beats: the gap on an otherwise idle machine. A gap far
    above it is due to another process or to waiting."""
    work_max: float
    late: int = 0
    """The beats that took more than `MOST_WORK`."""
    decoded: float = 0.0
    """MiB decoded a second meanwhile by the load; 0 without one."""
    longest: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """The parts of the longest gap beyond `INTERVAL`: own work, waiting for a core that others use, and
    the rest: waiting for Python's lock, or for the system. The second is 0 where the system does not tell it."""

    def __str__(self) -> str:
        figures = f"median {self.median:.1f} ms, p99 {self.p99:.1f} ms, max {self.max:.1f} ms"
        work = f"of it work p99 {self.work_p99:.1f}, max {self.work_max:.1f}"
        return f"{self.host}: {self.beats} beats, {figures}; {work}; {self.decoded:.0f} MiB/s decoded beside it"


LOOP_SECONDS = 0.0175
"""The computing time of `slowness`'s loop on the machine for which the limits were chosen: 2 cores, Python 3.11."""


def slowness() -> float:
    """The ratio of the present computing time of a fixed piece of Python to its time on the reference machine; at least
    1."""
    taken = []
    for _ in range(5):
        began = time.thread_time()
        sum(len(str(i)) for i in range(200_000))
        taken.append(time.thread_time() - began)
    return max(1.0, min(taken) / LOOP_SECONDS)


def waited() -> float:
    """The seconds for which this thread was ready to run and had no core; 0 where the system does not tell it."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text("ascii").split()[1]) / 1e9
    except (OSError, IndexError):  # not Linux, or without these statistics
        return 0.0


class Heart:
    """Records the times of beats; every 16 ms it also calls `gesture`."""

    def __init__(self, beats: int, gestures: Iterator[None]) -> None:
        self.wanted = beats
        self.gaps: list[float] = []
        self._work: list[float] = []
        self._waited: list[float] = []
        self._last: tuple[float, float, float] | None = None
        self._gestures = gestures
        self._next_gesture = 0.0

    def beat(self) -> bool:
        """Records one beat; returns False when there are enough."""
        now, worked, queued = time.perf_counter(), time.thread_time(), waited()
        if self._last is not None:
            self.gaps.append((now - self._last[0]) * 1000)
            self._work.append((worked - self._last[1]) * 1000)
            self._waited.append((queued - self._last[2]) * 1000)
        self._last = (now, worked, queued)
        if now >= self._next_gesture:
            self._next_gesture = now + GESTURE_EVERY
            next(self._gestures)
        return len(self.gaps) < self.wanted

    def result(self, host: str, decoded: float = 0.0) -> Gaps:
        gaps, work = sorted(self.gaps), sorted(self._work)
        late = sum(each > MOST_WORK for each in work)
        p99 = min(len(gaps) - 1, math.ceil(len(gaps) * 0.99) - 1)
        at = max(range(len(gaps)), key=self.gaps.__getitem__)
        parts = self._work[at], self._waited[at]
        longest = (*parts, max(0.0, gaps[-1] - sum(parts) - INTERVAL * 1000))
        half = gaps[len(gaps) // 2]
        return Gaps(host, len(gaps), half, gaps[p99], gaps[-1], work[p99], work[-1], late, decoded, longest)


class Load:
    """Requests all chunks of an image's finest level repeatedly on its own thread, as another window that plays a film
    would. `stop()` returns the MiB decoded a second."""

    QUEUED = 32
    """The number of chunks that are always pending, so that decoding threads never idle."""

    def __init__(self, image: Any) -> None:
        from zarrscope.runtime.threads import Mailbox, shared
        from zarrscope.view.loader import shared as chunk_loader

        self._loader = chunk_loader()
        self._before = self._loader.limit
        self._array = image.levels[0].array
        self._loader.limit = min(LOAD_CACHE, self._array.nbytes // 4)
        self._mailbox = Mailbox()
        self._owner = shared().owner(self._mailbox)
        self._decoded = 0
        self._over = False
        self._began = time.perf_counter()
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        indices = cycle(product(*(range(n) for n in self._array.chunk_grid_shape)))
        under_way: list[Any] = []
        while not self._over:
            under_way = [ticket for ticket in under_way if not ticket.finished]
            while len(under_way) < 2:
                batch = list(islice(indices, self.QUEUED // 2))
                under_way.append(self._loader.request(self._owner, self._array, batch, self._came))
            self._wait(under_way)
        self._owner.close()

    def _wait(self, tickets: list[Any]) -> None:
        self._mailbox.run_until(lambda: self._over or any(ticket.finished for ticket in tickets), 60)

    def _came(self, result: Any) -> None:
        self._decoded += result.data.nbytes if result.data is not None else 0

    def stop(self) -> float:
        seconds = time.perf_counter() - self._began
        self._over = True
        self._mailbox(lambda: None)
        self._thread.join(30)
        self._loader.limit = self._before
        return self._decoded / 2**20 / seconds


def there_and_back(length: int) -> Iterator[int]:
    while True:
        yield from range(length)
        yield from range(length - 1, -1, -1)


def demo(folder: Path) -> str:
    from zarrscope_resources.demo import make

    return str(make(folder / "demo.ome.zarr", "small"))


# ------------------------------------------------------------------------------------------------- Qt
def qt(url: str, beats: int = 1000, loaded: bool = True) -> Gaps:
    """Measures the window with an image in front: slider, pan, wheel and contrast in turn."""
    from qtpy.QtCore import QEventLoop
    from qtpy.QtWidgets import QApplication

    from zarrscope_app.presenters import MemorySettings
    from zarrscope_app.process import own_process, tune_interpreter
    from zarrscope_app.qt.window import Window

    application = QApplication.instance() or QApplication(sys.argv[:1])
    window = Window(MemorySettings())
    window.resize(1200, 800)
    window.show()
    window.open(url)
    own_process()
    tune_interpreter()
    session = window.workspace.current
    assert session is not None

    def wait(until: Callable[[], bool], seconds: float = 30.0) -> None:
        end = time.monotonic() + seconds
        while not until():
            assert time.monotonic() < end, "the picture did not come"
            application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 5)

    wait(lambda: bool(session.slice.frame.tiles) and session.slice.frame.loading == 0)
    heart = Heart(beats, _qt_gestures(window, session))
    load = Load(session.slice.image) if loaded else None
    beat_in_qt(heart.beat)
    decoded = load.stop() if load is not None else 0.0
    window.close()
    window.deleteLater()
    application.processEvents()
    return heart.result("Qt 1200x800", decoded)


def beat_in_qt(beat: Callable[[], bool]) -> None:
    """Runs Qt's event loop and calls `beat` at each interval, until it returns False."""
    from zarrscope_app.qt.toolkit.core import QEventLoop, Qt, QTimer

    loop, timer = QEventLoop(), QTimer()
    timer.setTimerType(Qt.TimerType.PreciseTimer)
    timer.timeout.connect(lambda: None if beat() else loop.quit())
    timer.start(int(INTERVAL * 1000))
    loop.exec()
    timer.stop()


def _qt_gestures(window: Any, session: Any) -> Iterator[None]:
    from qtpy.QtCore import QEvent, QPoint, QPointF, Qt
    from qtpy.QtGui import QMouseEvent, QWheelEvent
    from qtpy.QtWidgets import QApplication

    canvas = window.image.canvas
    # a QGraphicsView gets mouse events through its viewport
    target = canvas.viewport() if hasattr(canvas, "viewport") else canvas
    middle = QPointF(target.width() / 2, target.height() / 2)
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier

    def mouse(kind: Any, at: QPointF, button: Any, buttons: Any) -> None:
        QApplication.sendEvent(target, QMouseEvent(kind, at, target.mapToGlobal(at), button, buttons, none))

    def wheel(turn: int) -> None:
        phase = Qt.ScrollPhase.NoScrollPhase
        event = QWheelEvent(
            middle, target.mapToGlobal(middle), QPoint(), QPoint(0, turn), Qt.MouseButton.NoButton, none, phase, False
        )
        QApplication.sendEvent(target, event)

    ways = _ways(session)
    while True:
        for _ in range(4):
            wheel(120)
            yield
        mouse(QEvent.Type.MouseButtonPress, middle, left, left)
        for i in range(12):
            mouse(QEvent.Type.MouseMove, middle + QPointF(8 * (i % 6), 5 * (i % 6)), Qt.MouseButton.NoButton, left)
            yield
        mouse(QEvent.Type.MouseButtonRelease, middle, left, Qt.MouseButton.NoButton)
        yield from _sliders_and_contrast(session, ways)
        for _ in range(4):
            wheel(-120)
            yield


def _ways(session: Any) -> dict[str, Iterator[int]]:
    """The positions to which each slider moves."""
    sliders = [axis for axis in session.slice.state.axes if axis.role == "slider"]
    return {axis.name: there_and_back(axis.length) for axis in sliders}


def _sliders_and_contrast(session: Any, ways: dict[str, Iterator[int]]) -> Iterator[None]:
    for name, way in ways.items():
        for _ in range(8):
            session.slice.set_index(name, next(way))
            yield
    for i in range(8):
        session.slice.set_levels(0, 100 + 20 * i, 2000 + 100 * i)
        yield


# ------------------------------------------------------------------------------------------------- Textual
def tui(url: str, beats: int = 1000, size: tuple[int, int] = (80, 24), loaded: bool = True) -> Gaps:
    """Measures the terminal application in a pseudo-terminal with true colour, in its own process: sliders and contrast
    in turn. Its output is read and dropped."""
    with tempfile.TemporaryDirectory(prefix="zarrscope-bench-") as folder:
        told = Path(folder) / "told.json"
        command = [sys.executable, __file__, "tui-inside", url, "--beats", str(beats), "--tell", str(told)]
        command += [] if loaded else ["--idle"]
        with terminal(size, command) as (child, mine):
            written = drain(child, mine)
        assert told.exists(), written[-3000:].decode(errors="replace")
        return Gaps(**json.loads(told.read_text()))


@contextlib.contextmanager
def terminal(
    size: tuple[int, int], command: list[str], environment: dict[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """`command` in a terminal of true colour and of this `size`; (process, our end of the terminal). POSIX
    only."""
    import fcntl
    import pty
    import struct
    import termios

    mine, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    given = dict(os.environ if environment is None else environment)
    given.pop("NO_COLOR", None)
    child = subprocess.Popen(
        command,
        stdin=its,
        stdout=its,
        stderr=its,
        env={**given, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
        start_new_session=True,
    )
    os.close(its)
    try:
        yield child, mine
    finally:
        child.kill()
        child.wait()
        os.close(mine)


def drain(child: subprocess.Popen[bytes], mine: int, seconds: float = 120.0) -> bytes:
    """Reads the output of a process until it ends; returns the last part."""
    import select

    end, last = time.monotonic() + seconds, b""
    while time.monotonic() < end:
        if select.select([mine], [], [], 0.2)[0]:
            try:
                last = (last + os.read(mine, 1 << 16))[-100_000:]
            except OSError:  # the other side is closed
                break
        elif child.poll() is not None:
            break
    child.wait(10)
    return last


def tui_inside(url: str, beats: int, told: Path, loaded: bool) -> None:
    from zarrscope_app.process import own_process, tune_interpreter
    from zarrscope_app.tui.app import Explorer

    own_process()
    tune_interpreter()
    app = Explorer(url)

    async def measure(_: object) -> None:
        session = app.session
        async with asyncio.timeout(60):
            while not session.slice.frame.tiles or session.slice.frame.loading:
                await asyncio.sleep(0.01)
        heart = Heart(beats, _tui_gestures(session))
        load = Load(session.slice.image) if loaded else None
        while heart.beat():
            await asyncio.sleep(INTERVAL)
        decoded = load.stop() if load is not None else 0.0
        told.write_text(json.dumps(asdict(heart.result(f"Textual {app.size.width}x{app.size.height}", decoded))))
        app.exit(0)

    app.run(auto_pilot=measure)


def _tui_gestures(session: Any) -> Iterator[None]:
    ways = _ways(session)
    while True:
        yield from _sliders_and_contrast(session, ways)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("host", choices=["qt", "tui", "tui-inside"])
    parser.add_argument("url", nargs="?")
    parser.add_argument("--beats", type=int, default=1000)
    parser.add_argument("--size", default="80x24")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--idle", action="store_true")
    parser.add_argument("--tell", type=Path)
    asked = parser.parse_args()
    if asked.host == "tui-inside":
        tui_inside(asked.url, asked.beats, asked.tell, not asked.idle)
        return
    columns, _, rows = asked.size.partition("x")
    with tempfile.TemporaryDirectory(prefix="zarrscope-bench-") as folder:
        url = asked.url or demo(Path(folder))
        if asked.host == "qt":
            gaps = qt(url, asked.beats, not asked.idle)
        else:
            gaps = tui(url, asked.beats, (int(columns), int(rows)), not asked.idle)
    print(json.dumps(asdict(gaps)) if asked.json else gaps)


if __name__ == "__main__":
    main()
