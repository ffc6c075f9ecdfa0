"""Measurements in separate processes: from the start to the first plane, the peak of memory, and warm opening.

The programs are what a person would write. Start: until the program says that it has the plane, the interpreter's own
start included, modules compiled before. Memory: the peak of a full read beyond what importing took and what the result
takes, as Linux counts it (VmHWM).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from bench.peers import ELSEWHERE, Peer, Peers, Unable, WrongValues, before
from bench.results import BEFORE, OURS, Goal, Row
from bench.settings import Settings
from bench.volumes import FORMS, Form, Shape, Volumes

ZARRS = "zarr.config.set({'codec_pipeline.path': 'zarrs.ZarrsCodecPipeline'})"
PROGRAMS: dict[str, tuple[str, str, str]] = {
    "zarrscope": ("import zarrscope", "zarrscope.open(path)['/']", "array[{}]"),
    "tensorstore": (
        "import tensorstore",
        "tensorstore.open({{'driver': '{driver}', 'kvstore': 'file://' + path + '/'}}, read=True).result()",
        "array[{}].read().result()",
    ),
    "zarrs": (f"import zarr, zarrs\n{ZARRS}", "zarr.open_array(path, mode='r')", "array[{}]"),
    "zarr 3": ("import zarr", "zarr.open_array(path, mode='r')", "array[{}]"),
    "zarr 2.18": ("import zarr", "zarr.open_array(path, mode='r')", "array[{}]"),
}
"""Per engine: importing, opening, reading."""
COLD = """
import sys
path = sys.argv[1]
{imports}
array = {opened}
values = {read}
print("ready", flush=True)
print(int(values.astype("u8").sum()))
"""
MEMORY = """
import sys
path = sys.argv[1]
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
{imports}
import numpy
before = peak()
array = {opened}
values = {read}
print(peak() - before - values.nbytes // 1024)
print(sum(int(plane.sum(dtype="u8")) for plane in values))
"""
STARTED = ("v3 zstd 64^3", "v2 blosc-lz4 64^3", "v3 shards zstd 32^3")
READ_WHOLE = ("v3 zstd 64^3", "v2 blosc-lz4 64^3", "v3 gzip 128^3", "v3 shards zstd 32^3")
LARGER = 4
"""The factor by which the volume for measuring memory is deeper, so that growth with the volume is visible."""


def program(engine: str, form: Form, template: str, selection: str) -> str:
    imports, opened, read = PROGRAMS[OURS if engine == BEFORE else engine]
    driver = "zarr" if form.dialect == "v2" else "zarr3"
    return template.format(imports=imports, opened=opened.format(driver=driver), read=read.format(selection))


def run(engine: str, code: str, path: Path) -> tuple[float, list[str]]:
    """Returns the seconds until the first line of its output, and all lines. Raises Unable."""
    python = ELSEWHERE[engine]() if engine in ELSEWHERE else Path(sys.executable)
    if python is None:
        raise Unable("its environment is not here")
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    with subprocess.Popen(
        [str(python), "-c", code, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        seconds = time.perf_counter() - began
        rest = process.stdout.read()
        said = process.stderr.read() if process.stderr is not None else ""
    if process.returncode:
        raise Unable(said.strip().splitlines()[-1])
    return seconds, [first, *rest.splitlines()]


def cold(settings: Settings) -> Iterator[Row]:
    """Process start to the first plane."""
    volumes = Volumes(settings.folder, settings.shape)
    for form in (FORMS[name] for name in STARTED):
        case = "start to first plane"
        if not settings.wants(form.name, case):
            continue
        path, expected = volumes.need(form), volumes.expected(form)
        z = len(expected) // 2
        known = int(expected[z].sum(dtype=np.uint64))

        def measure(engine: str, form: Form = form, path: Path = path, z: int = z, known: int = known) -> float:
            seconds, lines = run(engine, program(engine, form, COLD, str(z)), path)
            _compare(engine, form, int(lines[-1]), known)
            return seconds

        figures, unable = _in_turn(form, settings, settings.rounds, measure)
        yield Row("cold", case, form.name, figures, (Goal(0.75),), unable=unable)


def memory(settings: Settings) -> Iterator[Row]:
    """The peak of memory during a full read."""
    if not sys.platform.startswith("linux"):
        return
    shape: Shape = (settings.shape[0] * LARGER, *settings.shape[1:])
    volumes = Volumes(settings.folder, shape)
    for form in (FORMS[name] for name in READ_WHOLE):
        case = "memory of a full read"
        if not settings.wants(form.name, case):
            continue
        path, expected = volumes.need(form), volumes.expected(form)
        known = sum(int(plane.sum(dtype=np.uint64)) for plane in expected)

        def measure(engine: str, form: Form = form, path: Path = path, known: int = known) -> float:
            _, lines = run(engine, program(engine, form, MEMORY, "..."), path)
            _compare(engine, form, int(lines[-1]), known)
            return int(lines[0]) / 1024

        figures, unable = _in_turn(form, settings, min(2, settings.rounds), measure)
        size = f"beyond import and the {expected.nbytes >> 20} MiB read"
        yield Row("memory", case, form.name, figures, (Goal(64, "figure"),), "MiB", unable, size)


def _in_turn(
    form: Form, settings: Settings, rounds: int, measure: Callable[[str], float]
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Like Peers.rounds, but with a new process each time. The first run, which compiles modules, counts only in a
    quick run."""
    figures: dict[str, list[float]] = {}
    unable: dict[str, str] = {}
    for engine in (*PROGRAMS, *([BEFORE] if before() else [])):
        if engine == "zarr 2.18" and form.dialect != "v2":
            continue
        try:
            first = measure(engine)
            figures[engine] = [first] if settings.quick else []
        except Unable as error:
            unable[engine] = str(error)
    for number in range(0 if settings.quick else rounds):
        order = list(figures)
        for engine in order[number % len(order) :] + order[: number % len(order)]:
            figures[engine].append(measure(engine))
    return figures, unable


def _compare(engine: str, form: Form, found: int, known: int) -> None:
    if found != known:
        raise WrongValues(f"{engine}, {form.name}: the values' sum is {found}, not {known}")


def warm(settings: Settings) -> Iterator[Row]:
    """Opening an array again in a process that did so before."""
    volumes = Volumes(settings.folder, settings.shape)
    wanted = [FORMS[name] for name in STARTED if settings.wants(name, "open again")]
    for form in wanted:
        volumes.need(form)
    with Peers(tuple(PROGRAMS)) as peers:
        settings.note_engines(peers)
        for form in wanted:
            path = str(volumes.need(form))

            def measure(peer: Peer, number: int, path: str = path) -> float:
                return float(peer.ask("reopen", path=path, node="", times=20)["seconds"])

            names = [name for name in PROGRAMS if name != "zarr 2.18" or form.dialect == "v2"]
            figures, unable = peers.rounds(
                settings.rounds,
                measure,
                partial(measure, number=0),
                names,
            )
            yield Row("warm", "open again", form.name, figures, (Goal(1.0),), unable=unable)
