"""A group of 100,000 children in each host: time to the first rows and to all names, the longest block of the event
loop, growth of memory, and bytes sent (terminal, notebook).

    python tests/bench/large_groups.py [engine ls tree presenter qt napari tui notebook] [--children N] [--dialect v2]

Each host runs in a process of its own on the same folder, which is made once. Beats of 5 ms are what `heartbeat.py`
counts; a gap far above the host's own work in it is another process' doing. Qt hosts draw offscreen or under Xvfb.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.heartbeat import INTERVAL, Heart, beat_in_qt, terminal
from bench.listing import ARRAY_V2, ARRAY_V3, GROUP_V3

HOSTS = ("scandir", "engine", "ls", "tree", "presenter", "qt", "napari", "tui", "notebook")
PATIENCE = 300.0
"""The host has failed after this number of seconds."""
AFTER = 60
"""The number of beats that are counted after the last name has arrived."""


def make(folder: Path, dialect: str, children: int) -> Path:
    """Makes a hierarchy once whose root has `children` children, half of them arrays."""
    path = folder / f"{dialect}_{children}.zarr"
    if path.exists():
        return path
    new = path.with_suffix(".new")
    new.mkdir(parents=True)
    v2 = dialect == "v2"
    array, group = json.dumps(ARRAY_V2 if v2 else ARRAY_V3), json.dumps({"zarr_format": 2} if v2 else GROUP_V3)
    (new / (".zgroup" if v2 else "zarr.json")).write_text(group)
    for i in range(children):
        name = f"{new}/n{i:06d}"
        os.mkdir(name)
        with open(f"{name}/{('.zarray' if i % 2 else '.zgroup') if v2 else 'zarr.json'}", "w") as file:
            file.write(array if i % 2 else group)
    new.rename(path)
    return path


def memory() -> float:
    """MiB of this process in memory (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


class Watch:
    """Times and memory growth since it was created; each beat of a host asks for the number of rows."""

    def __init__(self, count: Callable[[], int], loading: Callable[[], bool]) -> None:
        self._count, self._loading = count, loading
        self._before, self._began = memory(), time.perf_counter()
        self._computed = time.process_time()
        self._peak = self._before
        self._after = AFTER
        self.first = self.all = -1.0
        self.first_computing = self.all_computing = 0.0
        self.heart = Heart(1 << 40, repeat(None))

    def beat(self) -> bool:
        """Records one beat; returns False shortly after all rows have arrived."""
        self.heart.beat()
        count = self._count()
        self._peak = max(self._peak, memory())
        if self.first < 0 and count > 0:
            self.first = time.perf_counter() - self._began
            self.first_computing = time.process_time() - self._computed
        if self.first >= 0 and not self._loading():
            if self.all < 0:
                self.all = time.perf_counter() - self._began
                self.all_computing = time.process_time() - self._computed
            self._after -= 1
        return self._after > 0 and time.perf_counter() - self._began < PATIENCE

    def told(self) -> dict[str, Any]:
        beats = self.heart.result("")
        return {
            "rows": self._count(), "first s": round(self.first, 3), "all s": round(self.all, 3),
            "computing to first s": round(self.first_computing, 3), "to all s": round(self.all_computing, 3),
            "gap p99 ms": round(beats.p99, 1), "gap max ms": round(beats.max, 1),
            "work p99 ms": round(beats.work_p99, 1), "work max ms": round(beats.work_max, 1),
            "growth MiB": round(memory() - self._before, 1), "peak MiB": round(self._peak - self._before, 1),
        }  # fmt: skip


def watch(session: Any) -> Watch:
    def loading() -> bool:
        return session.tree.row(0).state.value in ("loading", "unknown")

    return Watch(lambda: int(session.tree.count(0)), loading)


# ------------------------------------------------------------------------------------------------- hosts
def scandir(path: str) -> dict[str, Any]:
    began = time.perf_counter()
    with os.scandir(path) as entries:
        rows = sum(entry.is_dir() for entry in entries)
    return {"rows": rows, "all s": round(time.perf_counter() - began, 3)}


def engine(path: str) -> dict[str, Any]:
    import zarrscope

    group = zarrscope.open(path)["/"]
    assert isinstance(group, zarrscope.Group)
    before, began, first, rows = memory(), time.perf_counter(), 0.0, 0
    computed = time.process_time()
    for child in group.children():
        rows += child.kind is not None
        first = first or time.perf_counter() - began
    told = time.perf_counter() - began
    return {
        "rows": rows,
        "first s": round(first, 3),
        "all s": round(told, 3),
        "computing to all s": round(time.process_time() - computed, 3),
        "growth MiB": round(memory() - before, 1),
    }


def command(verb: str, path: str) -> dict[str, Any]:
    began, first, rows = time.perf_counter(), 0.0, 0
    first_computing = 0.0
    code = f"import sys; sys.argv = ['zarrscope', {verb!r}, {path!r}]; from zarrscope_app.cli import main; main()"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        for _ in child.stdout:
            if not first:
                first, first_computing = time.perf_counter() - began, computing(child.pid)
            rows += 1
    whole = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "rows": rows, "first s": round(first, 3), "all s": round(time.perf_counter() - began, 3),
        "computing to first s": round(first_computing, 2), "to all s": round(whole.ru_utime + whole.ru_stime, 3),
    }  # fmt: skip


def computing(process: int) -> float:
    """Seconds that another process has computed until now (Linux)."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def presenter(path: str) -> dict[str, Any]:
    """Measures the session without a host: a loop that runs posted calls, one beat at a time."""
    from zarrscope.runtime.threads import Mailbox
    from zarrscope_app.presenters import Session
    from zarrscope_app.process import tune_interpreter

    mailbox = Mailbox()
    import_early()
    tune_interpreter()
    session = Session(path, mailbox)
    session.tree.changed.connect(lambda id: session.tree.rows(id, 0, 50))
    seen = watch(session)
    while seen.beat():
        time.sleep(INTERVAL)
        mailbox.run()
    session.close()
    return seen.told()


def import_early() -> None:
    """Imports the modules that a running host has imported already."""
    import zarrscope
    from zarrscope_app.presenters import views

    views.plugged_in()
    zarrscope.open({"zarr.json": json.dumps(GROUP_V3).encode()})["/"]


def qt(path: str, dock: bool = False) -> dict[str, Any]:
    from qtpy.QtCore import QEventLoop
    from qtpy.QtWidgets import QApplication

    from zarrscope_app.presenters import MemorySettings
    from zarrscope_app.process import own_process, tune_interpreter

    application = QApplication.instance() or QApplication(sys.argv[:1])
    shown: Any
    if dock:
        import napari

        from zarrscope_app.napari.dock import Explorer

        viewer = napari.Viewer(show=False)
        shown = Explorer(viewer, settings=MemorySettings())
    else:
        from zarrscope_app.qt.window import Window

        shown = Window(MemorySettings())
    shown.resize(1200, 800)
    shown.show()
    with tempfile.TemporaryDirectory(prefix="zarrscope-bench-") as folder:  # loads modules and widgets
        shown.open(str(make(Path(folder), "v3", 20)))
        began = quiet = time.monotonic()
        loaded = 0
        while (now := time.monotonic()) < max(began + 3, quiet + 5):  # napari's dock imports modules in the background
            application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
            if len(sys.modules) != loaded:
                loaded, quiet = len(sys.modules), now
        own_process()
        tune_interpreter()
        shown.open(path)
    seen = watch(shown.session if dock else shown.workspace.current)
    beat_in_qt(seen.beat)
    told = seen.told()
    shown.close()
    return told


def notebook(path: str) -> dict[str, Any]:
    from zarrscope_app.jupyter import explore
    from zarrscope_app.jupyter.parts import PARTS
    from zarrscope_app.process import tune_interpreter

    async def measured() -> dict[str, Any]:
        import_early()
        tune_interpreter()
        sent = [0]
        explorer = explore(path)
        names = [*PARTS, "changes"]
        explorer.observe(lambda change: sent.__setitem__(0, sent[0] + len(json.dumps(change["new"]))), names=names)
        seen = watch(explorer.session)
        while seen.beat():
            await asyncio.sleep(INTERVAL)
        told = {**seen.told(), "sent KiB": sent[0] // 1024}
        explorer.close()
        return told

    return asyncio.run(measured())


def tui(path: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="zarrscope-bench-") as folder:
        file = Path(folder) / "told.json"
        with terminal((80, 24), [sys.executable, __file__, "tui-inside", "--at", path, "--tell", str(file)]) as (
            child,
            mine,
        ):
            sent = sum(len(part) for part in drained(child, mine))
        return {**json.loads(file.read_text()), "sent KiB": sent // 1024}


def drained(child: subprocess.Popen[bytes], mine: int) -> Iterator[bytes]:
    """The number of bytes that a process writes to its terminal until it ends."""
    import select

    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if select.select([mine], [], [], 0.2)[0]:
            try:
                yield os.read(mine, 1 << 16)
            except OSError:  # the other side is closed
                return
        elif child.poll() is not None:
            return


def tui_inside(path: str, told: Path) -> None:
    from zarrscope_app.process import own_process, tune_interpreter
    from zarrscope_app.tui.app import Explorer

    own_process()
    import_early()
    tune_interpreter()
    app = Explorer(path)

    async def measured(_: object) -> None:
        seen = watch(app.session)
        while seen.beat():
            await asyncio.sleep(INTERVAL)
        told.write_text(json.dumps(seen.told()))
        app.exit(0)

    app.run(auto_pilot=measured)


def measure(host: str, path: str) -> dict[str, Any]:
    if host in ("ls", "tree"):
        return command(host, path)
    found: Callable[[str], dict[str, Any]] = {
        "scandir": scandir, "engine": engine, "presenter": presenter, "qt": qt, "notebook": notebook, "tui": tui,
        "napari": lambda path: qt(path, dock=True),
    }[host]  # fmt: skip
    return found(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("hosts", nargs="*", default=HOSTS, metavar="HOST", help=", ".join(HOSTS))
    parser.add_argument("--children", type=int, default=100_000)
    parser.add_argument("--dialect", choices=["v2", "v3"], default="v3")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "zarrscope-bench-groups")
    parser.add_argument("--at", help=argparse.SUPPRESS)
    parser.add_argument("--tell", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.at is not None:
        if asked.tell is not None:
            tui_inside(asked.at, asked.tell)
        else:
            print(json.dumps(measure(asked.hosts[0], asked.at)))
        return
    path = make(asked.folder, asked.dialect, asked.children)
    for host in asked.hosts:
        ended = subprocess.run([sys.executable, __file__, host, "--at", str(path)], capture_output=True, text=True)
        print(f"{host:<10} {ended.stdout.strip() or ended.stderr[-2000:]}", flush=True)


if __name__ == "__main__":
    main()
