"""How long a host keeps a person waiting: a 5 ms heartbeat on its event loop while gestures go on, drawing included.

    python tests/bench/heartbeat.py qt [URL] [--beats 1000]        under Xvfb: xvfb-run -a -s "-screen 0 1600x1000x24" …
    python tests/bench/heartbeat.py tui [URL] [--size 80x24]

The gap between two beats is what is reported, 5 ms at best: median, p99, max. Without URL the small demo volume is
made. Budgets: Qt and Textual at 80x24 p99 ≤ 16 ms and max ≤ 50 ms; Textual at 200x60 p99 ≤ 33 ms.
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
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

INTERVAL = 0.005
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
    """The computing time of the host's own thread between two beats: what is left of a gap on a machine that does
    nothing else. A gap far above it is another process' doing, or a wait."""
    work_max: float

    def __str__(self) -> str:
        figures = f"median {self.median:.1f} ms, p99 {self.p99:.1f} ms, max {self.max:.1f} ms"
        return (
            f"{self.host}: {self.beats} beats, {figures}; of it work p99 {self.work_p99:.1f}, max {self.work_max:.1f}"
        )


class Heart:
    """Collects the times of beats; `gesture` is called beside them, every 16 ms."""

    def __init__(self, beats: int, gestures: Iterator[None]) -> None:
        self.wanted = beats
        self.gaps: list[float] = []
        self._work: list[float] = []
        self._last: tuple[float, float] | None = None
        self._gestures = gestures
        self._next_gesture = 0.0

    def beat(self) -> bool:
        """One beat; False when there are enough."""
        now, worked = time.perf_counter(), time.thread_time()
        if self._last is not None:
            self.gaps.append((now - self._last[0]) * 1000)
            self._work.append((worked - self._last[1]) * 1000)
        self._last = (now, worked)
        if now >= self._next_gesture:
            self._next_gesture = now + GESTURE_EVERY
            next(self._gestures)
        return len(self.gaps) < self.wanted

    def result(self, host: str) -> Gaps:
        gaps, work = sorted(self.gaps), sorted(self._work)
        p99 = min(len(gaps) - 1, math.ceil(len(gaps) * 0.99) - 1)
        return Gaps(host, len(gaps), gaps[len(gaps) // 2], gaps[p99], gaps[-1], work[p99], work[-1])


def there_and_back(length: int) -> Iterator[int]:
    while True:
        yield from range(length)
        yield from range(length - 1, -1, -1)


def demo(folder: Path) -> str:
    from zarrscope_resources.demo import make

    return str(make(folder / "demo.ome.zarr", "small"))


# ------------------------------------------------------------------------------------------------- Qt
def qt(url: str, beats: int = 1000) -> Gaps:
    """The window, shown, its image in front: slider, pan, wheel and contrast by turns."""
    from qtpy.QtCore import QEventLoop, Qt, QTimer
    from qtpy.QtWidgets import QApplication

    from zarrscope_app.presenters import Forgetful
    from zarrscope_app.presenters.turn import take_turns_quickly
    from zarrscope_app.qt.window import Window

    take_turns_quickly()
    application = QApplication.instance() or QApplication(sys.argv[:1])
    window = Window(Forgetful())
    window.resize(1200, 800)
    window.show()
    window.open(url)
    session = window.workspace.current
    assert session is not None

    def wait(until: Callable[[], bool], seconds: float = 30.0) -> None:
        end = time.monotonic() + seconds
        while not until():
            assert time.monotonic() < end, "the picture did not come"
            application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 5)

    wait(lambda: bool(session.slice.frame.tiles) and session.slice.frame.loading == 0)
    heart = Heart(beats, _qt_gestures(window, session))
    loop = QEventLoop()
    timer = QTimer()
    timer.setTimerType(Qt.TimerType.PreciseTimer)
    timer.timeout.connect(lambda: None if heart.beat() else loop.quit())
    timer.start(int(INTERVAL * 1000))
    loop.exec()
    timer.stop()
    window.close()
    window.deleteLater()
    application.processEvents()
    return heart.result("Qt 1200x800")


def _qt_gestures(window: Any, session: Any) -> Iterator[None]:
    from qtpy.QtCore import QEvent, QPoint, QPointF, Qt
    from qtpy.QtGui import QMouseEvent, QWheelEvent
    from qtpy.QtWidgets import QApplication

    canvas = window.image.canvas
    # a scene's view takes its mouse through its viewport
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

    sliders = [axis for axis in session.slice.state.axes if axis.role == "slider"]
    ways = {axis.name: there_and_back(axis.length) for axis in sliders}
    while True:
        for _ in range(4):
            wheel(120)
            yield
        mouse(QEvent.Type.MouseButtonPress, middle, left, left)
        for i in range(12):
            mouse(QEvent.Type.MouseMove, middle + QPointF(8 * (i % 6), 5 * (i % 6)), Qt.MouseButton.NoButton, left)
            yield
        mouse(QEvent.Type.MouseButtonRelease, middle, left, Qt.MouseButton.NoButton)
        for axis in sliders:
            for _ in range(8):
                session.slice.set_index(axis.name, next(ways[axis.name]))
                yield
        for i in range(8):
            session.slice.set_levels(0, 100 + 20 * i, 2000 + 100 * i)
            yield
        for _ in range(4):
            wheel(-120)
            yield


# ------------------------------------------------------------------------------------------------- Textual
def tui(url: str, beats: int = 1000, size: tuple[int, int] = (80, 24)) -> Gaps:
    """The terminal application in a pseudo-terminal of true colour, in a process of its own: sliders and contrast by
    turns. What it writes is read and dropped here."""
    with tempfile.TemporaryDirectory(prefix="zarrscope-bench-") as folder:
        told = Path(folder) / "told.json"
        command = [sys.executable, __file__, "tui-inside", url, "--beats", str(beats), "--tell", str(told)]
        with terminal(size, command) as (child, mine):
            written = drain(child, mine)
        assert told.exists(), written[-3000:].decode(errors="replace")
        return Gaps(**json.loads(told.read_text()))


@contextlib.contextmanager
def terminal(
    size: tuple[int, int], command: list[str], environment: dict[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """`command` in a terminal of true colour and so many columns and rows; (process, our end of the terminal). POSIX
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
    """Reads what a process writes to its terminal until it ends; the last of it."""
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


def tui_inside(url: str, beats: int, told: Path) -> None:
    from zarrscope_app.presenters.turn import take_turns_quickly
    from zarrscope_app.tui.app import Explorer

    take_turns_quickly()
    app = Explorer(url, grey=False)

    async def measure(_: object) -> None:
        session = app.session
        async with asyncio.timeout(60):
            while not session.slice.frame.tiles or session.slice.frame.loading:
                await asyncio.sleep(0.01)
        heart = Heart(beats, _tui_gestures(session))
        while heart.beat():
            await asyncio.sleep(INTERVAL)
        told.write_text(json.dumps(asdict(heart.result(f"Textual {app.size.width}x{app.size.height}"))))
        app.exit(0)

    app.run(auto_pilot=measure)


def _tui_gestures(session: Any) -> Iterator[None]:
    sliders = [axis for axis in session.slice.state.axes if axis.role == "slider"]
    ways = {axis.name: there_and_back(axis.length) for axis in sliders}
    while True:
        for axis in sliders:
            for _ in range(8):
                session.slice.set_index(axis.name, next(ways[axis.name]))
                yield
        for i in range(8):
            session.slice.set_levels(0, 100 + 20 * i, 2000 + 100 * i)
            yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("host", choices=["qt", "tui", "tui-inside"])
    parser.add_argument("url", nargs="?")
    parser.add_argument("--beats", type=int, default=1000)
    parser.add_argument("--size", default="80x24")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--tell", type=Path)
    asked = parser.parse_args()
    if asked.host == "tui-inside":
        tui_inside(asked.url, asked.beats, asked.tell)
        return
    columns, _, rows = asked.size.partition("x")
    with tempfile.TemporaryDirectory(prefix="zarrscope-bench-") as folder:
        url = asked.url or demo(Path(folder))
        gaps = qt(url, asked.beats) if asked.host == "qt" else tui(url, asked.beats, (int(columns), int(rows)))
    print(json.dumps(asdict(gaps)) if asked.json else gaps)


if __name__ == "__main__":
    main()
