"""Reading as viewers do: stepping, scrubbing, panning, prefetching, the hosts' event loops, napari, memory.

    python tests/bench/run.py --only viewing           as part of all benchmarks
    python tests/bench/viewing.py [--quick]            by itself, without the peers' table

Peers are used as a viewer would use them: a plane at a time, without a cache, for none of them has one unless told. The
rows "told to cache" give tensorstore as large a cache as ours, for comparison.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from bench.peers import Peer, Peers, WrongValues, environment
from bench.results import OURS, Goal, Row
from bench.settings import Settings
from bench.volumes import FORMS, Shape, Volumes

GROUP = "viewing"
VIEWER = "zarrscope viewer"
CACHING = "tensorstore caching"
STEPPED = ("v2 blosc-lz4 64^3", "v3 zstd 64^3", "v3 raw 64^3", "v3 gzip 128^3", "v3 shards zstd 32^3")
BENCH = Path(__file__).parent
SCREEN = ["xvfb-run", "-a", "-s", "-screen 0 1600x1000x24"]


def measure(settings: Settings) -> Iterator[Row]:
    yield from steps(settings)
    if settings.wants("", "scrubbing"):
        yield from scrubbing(settings)
    if settings.wants("", "panning"):
        yield panning(settings)
    if settings.wants("", "fetching ahead"):
        yield ahead(settings)
    if settings.wants("", "heartbeat"):
        yield from heartbeats(settings)
    if settings.wants("", "closing"):
        yield closing(settings)
    if settings.wants("", "napari"):
        from bench import napari_peer

        yield from napari_peer.measure(settings, demo(settings))


def demo(settings: Settings) -> Path:
    """The demo volume, 5-D OME-Zarr 0.5: the full one, or the small one for a quick run."""
    from zarrscope_resources.demo import make

    size: Any = "small" if settings.quick else "full"
    return Volumes(settings.folder, settings.shape).need_as(f"demo-{size}.ome.zarr", lambda part: make(part, size))


# ------------------------------------------------------------------------------------------------- stepping
def steps(settings: Settings) -> Iterator[Row]:
    """The median step of a walk along z, for each layout. Each round begins with an empty cache; steps that decode are
    part of the walk and of its mean."""
    volumes = Volumes(settings.folder, settings.shape)
    forms = [FORMS[name] for name in STEPPED if settings.wants(name, "z step")]
    if not forms:
        return
    for form in forms:
        volumes.need(form)
    with Peers((VIEWER, "tensorstore", "zarrs", "zarr 3", CACHING)) as peers:
        settings.note_engines(peers)
        for form in forms:
            yield from _steps(settings, peers, volumes, form)


def _steps(settings: Settings, peers: Peers, volumes: Volumes, form: Any) -> Iterator[Row]:
    path, shape = str(volumes.need(form)), volumes.shape_of(form)
    means: dict[str, list[float]] = {}

    def prepare(peer: Peer) -> None:
        peer.ask("open", path=path, node=form.node)
        answer = peer.ask("check", case="xy plane", picture=str(volumes.picture), shape=shape)
        if "wrong" in answer:
            raise WrongValues(f"{peer.name}, {form.name}: {answer['wrong']}")

    def walk(peer: Peer, number: int) -> float:
        caching = peer.name in (VIEWER, CACHING)
        if caching:
            peer.ask("open", path=path, node=form.node)
        start = 0 if caching else random.Random(number).randrange(shape[0] - 15)
        seconds = peer.ask("walk", start=start, stop=shape[0] if caching else start + 16)["seconds"]
        means.setdefault(peer.name, []).append(statistics.mean(seconds))
        return float(statistics.median(seconds))

    figures, unable = peers.rounds(settings.rounds, walk, prepare)
    for found in (figures, means):
        if VIEWER in found:
            found[OURS] = found.pop(VIEWER)
    cached, cached_mean = figures.pop(CACHING, None), means.pop(CACHING, None)
    note = "the mean, with the steps that decode: " + ", ".join(
        f"{name} {statistics.mean(values) * 1e3:.2f} ms" for name, values in means.items()
    )
    yield Row(GROUP, "z step", form.name, figures, (Goal(0.1),), unable=unable, note=note)
    if cached is not None and cached_mean is not None:
        told = {OURS: means[OURS], CACHING: cached_mean}
        yield Row(GROUP, "z step, mean, told to cache", form.name, told)


# ------------------------------------------------------------------------------------------------- one window
class Window:
    """A session without a host, with its own cache and threads."""

    def __init__(self, url: str, path: str | None) -> None:
        from zarrscope.runtime.threads import Background, Mailbox
        from zarrscope.view.loader import ChunkLoader
        from zarrscope_app.presenters import Session, SessionStatus

        self.mailbox = Mailbox()
        self.background = Background()
        self.loader = ChunkLoader(self.background)
        self.session = Session(url, self.mailbox, path=path, background=self.background, loader=self.loader)
        self.until(lambda: self.session.state.status is SessionStatus.READY and not self.session.state.selecting)
        self.slice = self.session.slice
        self.slice.set_levels(0, 0, 1000)
        self.show(0.0, 0.0, 8)

    def show(self, y: float, x: float, side: int) -> None:
        """Shows a square of the plane at one pixel per element; returns when it is complete."""
        self.slice.viewport((y, x, y + side, x + side), (side, side))
        self.rest()

    def until(self, happened: Callable[[], bool]) -> None:
        self.mailbox.run_until(happened, 60)

    def whole(self) -> bool:
        frame = self.slice.frame
        return bool(frame.tiles) and frame.loading == 0

    def rest(self) -> None:
        """Waits until the picture is complete and nothing is pending."""
        self.until(self.whole)
        for _ in range(3):
            for pool in (self.background.file_pool, self.background.decode_pool):
                reached = threading.Event()
                pool.put(99, reached.set)
                reached.wait(60)
            self.mailbox.run()

    def close(self) -> None:
        self.session.close()


def deep(settings: Settings) -> Path:
    """The picture in chunks of 4 x 128 x 128: a plane crosses several chunks, and the plane after the fourth needs
    others."""
    volumes = Volumes(settings.folder, settings.shape)

    def make(part: Path) -> None:
        import numpy as np

        import zarrscope

        values = np.load(volumes.picture, mmap_mode="r")
        array = zarrscope.open(part, "w-").create_array("/a", shape=values.shape, dtype="uint16", chunks=(4, 128, 128))
        array[...] = values

    return volumes.need_as("deep.zarr", make)


# ------------------------------------------------------------------------------------------------- scrubbing
def scrubbing(settings: Settings) -> Iterator[Row]:
    """The time from the last of thirty moves to its complete picture, compared with one move to the same plane from
    rest."""
    from zarrscope.nodes.stored_array import StoredArray

    url = str(deep(settings))
    depth = settings.shape[0]
    decode = StoredArray.decode_chunk
    decoded: list[int] = []

    def counted(array: Any, unit: Any, data: Any) -> Any:
        decoded.append(unit[0])
        return decode(array, unit, data)

    last = depth - 2
    others = list(range(8, depth - 8))
    after: list[float] = []
    alone: list[float] = []
    vain: list[float] = []
    StoredArray.decode_chunk = counted  # type: ignore[assignment, method-assign]  # counted or timed here
    try:
        for number in range(max(3, 3 * settings.rounds)):
            chance = random.Random(number)
            for moves in chance.sample([[], chance.choices(others, k=30)], 2):
                window = Window(url, "/a")
                window.show(0.0, 0.0, settings.shape[-1])
                gc.collect()
                for z in moves:
                    window.slice.set_index("dim_0", z)
                    _pause(window, 0.008)
                decoded.clear()
                began = time.perf_counter()
                window.slice.set_index("dim_0", last)
                window.until(window.whole)
                (after if moves else alone).append(time.perf_counter() - began)
                if moves:
                    vain.append(float(sum(z != last // 4 for z in decoded)))
                window.close()
    finally:
        StoredArray.decode_chunk = decode  # type: ignore[method-assign]  # as it was
    yield Row(GROUP, "scrubbing", "last of 30 moves", {OURS: after, "one move": alone}, (Goal(1.2, "one move"),))
    yield Row(GROUP, "scrubbing", "decoded in vain", {OURS: vain}, (Goal(2.0, "figure"),), unit="chunks")


def _pause(window: Window, seconds: float) -> None:
    """Runs the window's posted calls, as an event loop does between two gestures."""
    end = time.perf_counter() + seconds
    try:
        window.mailbox.run_until(lambda: time.perf_counter() >= end, seconds)
    except TimeoutError:
        pass


# ------------------------------------------------------------------------------------------------- panning
def panning(settings: Settings) -> Row:
    """Chunks that no viewport showed, and chunks that were read twice, while a pyramid is panned; counted when they are
    decoded."""
    import zarrscope
    from zarrscope.nodes.stored_array import StoredArray

    folder = demo(settings)
    finest: Any = zarrscope.open(folder)["/0"]
    side, chunk = finest.shape[-1], finest.chunks[-1]
    shown = side * 3 // 8
    delivered: set[Any] = set()
    beyond = 0.0
    decode = StoredArray.decode_chunk

    def counted(array: Any, unit: Any, data: Any) -> Any:
        nonlocal beyond
        if array.path.endswith("/0") and "labels" not in array.path:
            beyond += unit in delivered
            delivered.add(unit)
        return decode(array, unit, data)

    StoredArray.decode_chunk = counted  # type: ignore[assignment, method-assign]  # counted or timed here
    window = Window(str(folder), None)
    try:
        visible: set[tuple[int, int]] = set()
        for step in range(60):
            y, x = 3.0 * step, 7.0 * step if step < 40 else 7.0 * (80 - step)
            y, x = min(y, side - shown), min(x, side - shown)
            window.show(y, x, shown)
            visible |= {
                (row, column)
                for row in range(int(y) // chunk, -(-int(y + shown) // chunk))
                for column in range(int(x) // chunk, -(-int(x + shown) // chunk))
            }
        beyond += sum(unit[-2:] not in visible for unit in delivered)
    finally:
        StoredArray.decode_chunk = decode  # type: ignore[method-assign]  # as it was
        window.close()
    assert visible <= {unit[-2:] for unit in delivered}, "the picture lacks chunks"
    note = f"{len(delivered)} chunks read for {len(visible)} places in sight, each once"
    return Row(GROUP, "panning", "chunks out of sight", {OURS: [beyond]}, (Goal(0.0, "figure"),), "chunks", note=note)


# ------------------------------------------------------------------------------------------------- fetching ahead
def ahead(settings: Settings) -> Row:
    """The 99th percentile of the wait for a visible chunk, with and without hundreds of prefetch requests."""
    import zarrscope
    from zarrscope.runtime.threads import Background, Mailbox
    from zarrscope.view.loader import ChunkLoader
    from zarrscope_app.process import own_process, tune_interpreter

    own_process()
    tune_interpreter()
    array: Any = zarrscope.open(deep(settings))["/a"]
    grid = [tuple(index) for index in _grid(array.chunk_grid_shape)]
    background = Background()
    loader = ChunkLoader(background, limit=4 << 20)  # no chunk stays in the cache until it is requested again
    mailbox = Mailbox()
    owner = background.owner(mailbox)
    chosen = random.Random(1).sample(grid, len(grid) // 2)
    rest = [index for index in grid if index not in set(chosen)]
    wanted = itertools.cycle(chosen)

    def waits(busy: bool) -> list[float]:
        other = Ahead(loader, array, rest) if busy else None
        found: list[float] = []
        for _ in range(20):
            _idle(mailbox, 0.005)
            began = time.perf_counter()
            ticket = loader.request(owner, array, [next(wanted)], lambda _: None)
            mailbox.run_until(partial(getattr, ticket, "finished"))
            found.append(time.perf_counter() - began)
        if other is not None:
            other.stop()
        return found

    figures: dict[str, list[float]] = {OURS: [], "nothing ahead": []}
    chance = random.Random(1)
    for _ in range(settings.rounds):
        found: dict[str, list[float]] = {name: [] for name in figures}
        for _ in range(2 if settings.quick else 20):  # alternating, so that other load affects both
            for name in chance.sample([*figures], 2):
                found[name] += waits(name == OURS)
        for name, seconds in found.items():
            figures[name].append(sorted(seconds)[int(len(seconds) * 0.99) - 1])
    owner.close()
    return Row(GROUP, "fetching ahead", "visible chunk, p99", figures, (Goal(1.2, "nothing ahead"),))


class Ahead:
    """Another window, which always has some dozens of chunks to prefetch."""

    def __init__(self, loader: Any, array: Any, indices: list[tuple[int, ...]]) -> None:
        from zarrscope.runtime.threads import Mailbox

        self._loader, self._array, self._indices = loader, array, itertools.cycle(indices)
        self._mailbox = Mailbox()
        self._over = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        from zarrscope.view.loader import NEARBY

        owner = self._loader.background.owner(self._mailbox)
        tickets: list[Any] = []
        while not self._over:
            tickets = [ticket for ticket in tickets if not ticket.finished]
            while len(tickets) < 4:
                some = list(itertools.islice(self._indices, 16))
                tickets.append(self._loader.request(owner, self._array, some, lambda _: None, priority=NEARBY))
            self._wait(tickets)
        owner.close()

    def _wait(self, tickets: list[Any]) -> None:
        self._mailbox.run_until(lambda: self._over or any(ticket.finished for ticket in tickets), 60)

    def stop(self) -> None:
        self._over = True
        self._mailbox(lambda: None)
        self._thread.join(60)


def _grid(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*(range(n) for n in shape))


def _idle(mailbox: Any, seconds: float) -> None:
    try:
        mailbox.run_until(lambda: False, seconds)
    except TimeoutError:
        pass


# ------------------------------------------------------------------------------------------------- hosts
def heartbeats(settings: Settings) -> Iterator[Row]:
    """Gaps of a host's event loop while chunks are decoded continuously, as heartbeat.py describes."""
    hosts = {"Qt": [*screen(), sys.executable, str(BENCH / "heartbeat.py"), "qt"]}
    hosts["Textual"] = [sys.executable, str(BENCH / "heartbeat.py"), "tui"]
    beats = 100 if settings.quick else 1000
    for host, command in hosts.items():
        told = []
        for _ in range(1 if settings.quick else min(3, settings.rounds)):
            said = run([*command, str(demo(settings)), "--beats", str(beats), "--json"])
            told.append(json.loads(said.splitlines()[-1]))
        note = ", ".join(
            (
                f"own work p99 {statistics.median(t['work_p99'] for t in told):.1f} ms",
                f"{statistics.median(t['decoded'] for t in told):.0f} MiB/s decoded beside it",
            )
        )
        for part, most in (("p99", 16.0), ("max", 50.0)):
            figures = {OURS: [t[part] for t in told]}
            yield Row(GROUP, "heartbeat", f"{host}, {part}", figures, (Goal(most, "figure"),), "ms", note=note)


def screen() -> list[str]:
    """The words to put before a command that needs a display."""
    return [] if os.environ.get("DISPLAY") else SCREEN if shutil.which(SCREEN[0]) else []


def run(command: list[str], seconds: float = 300.0) -> str:
    """The output of a process. Raises RuntimeError with the end of its error output."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=environment())
    if done.returncode or not done.stdout.strip():
        raise RuntimeError(f"{Path(command[-1]).name}: {done.stderr.strip()[-2000:] or done.returncode}")
    return done.stdout


# ------------------------------------------------------------------------------------------------- closing
def closing(settings: Settings) -> Row:
    """Resident memory after closing a session that filled the cache, minus that after closing a small one."""
    figures: list[float] = []
    kept = 0.0
    for _ in range(1 if settings.quick else 3):
        before, full, after = map(float, run([sys.executable, __file__, "--closing", str(deep(settings))]).split())
        figures.append(max(0.0, after - before))
        kept = full - before
    note = f"{kept:.0f} MiB more while open"
    return Row(GROUP, "closing", "memory kept", {OURS: figures}, (Goal(16.0, "figure"),), "MiB", note=note)


def _closing(url: str) -> None:
    import zarrscope
    from zarrscope.runtime.threads import Mailbox, shared
    from zarrscope.view import loader as chunks
    from zarrscope_app.presenters import Session, SessionStatus

    def look(planes: int) -> float:
        mailbox = Mailbox()
        session = Session(url, mailbox, path="/a")
        mailbox.run_until(lambda: session.state.status is SessionStatus.READY and not session.state.selecting)
        session.slice.fit((512, 512))
        mailbox.run_until(lambda: bool(session.slice.frame.tiles) and session.slice.frame.loading == 0)
        array = session.node
        assert isinstance(array, zarrscope.Array)
        for z in range(min(planes, array.shape[0])):
            chunks.shared().read(array, z)
        kept = resident()
        session.close()
        for pool in (shared().file_pool, shared().decode_pool):
            reached = threading.Event()
            pool.put(99, reached.set)
            reached.wait(60)
        return kept

    look(1)
    before = resident()
    full = look(1 << 30)
    print(before, full, resident())


def resident() -> float:
    """The resident memory of this process in MiB."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--cases", default="", help="parts of cases' names, with commas between")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "zarrscope-bench")
    parser.add_argument("--closing", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.closing:
        _closing(asked.closing)
        return
    from bench import report

    cases = [part for part in asked.cases.split(",") if part]
    settings = Settings(asked.folder, asked.rounds or (1 if asked.quick else 7), asked.quick, cases=cases)
    for row in measure(settings):
        print(report.line(row), flush=True)


if __name__ == "__main__":
    main()


__all__ = ["Shape", "Window", "measure", "resident", "run"]
