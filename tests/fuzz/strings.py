"""A fuzzer of strings: no host interprets a string from a name, a document or an address as markup or control codes.

    python tests/fuzz/strings.py --strings 400 --seed 5          at length, by hand; a failure is printed with its place

Hostile strings (control sequences, direction controls, characters without width, half surrogate pairs, markup, HTML)
are put into every string of every dialect's documents, into names of nodes, values, links and arguments. Every verb of
the command line and the terminal application run in a real pseudo-terminal, whose bytes are looked at; the window's
widgets, the notebook's HTML and snapshots and napari's layers are walked. Each string carries a plain tag: it
is counted where it came through, so that a host that shows nothing does not pass. test_strings.py runs a short piece.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz.hostile_strings import Report, Strings, broken_templates, full_v2, full_v3, hostile
from fuzz.strings_in_terminals import preload, terminal_application, verbs
from fuzz.strings_in_widgets import python, window

_T = TypeVar("_T")


class FailedCallbacks(logging.Handler):
    """Counts errors in callbacks, which the background logs without stopping."""

    def __init__(self, report: Report) -> None:
        super().__init__(logging.ERROR)
        self._report = report

    def emit(self, record: logging.LogRecord) -> None:
        self._report.fail("callbacks", record.name, logging.Formatter("%(message)s").format(record))


def children(store: Path) -> list[str]:
    """The paths of nodes, found by another process, because this one must fork and therefore have no threads."""
    found = []
    for name in ("zarr.json", ".zarray", ".zgroup", "attributes.json"):
        found += [
            f"/{file.parent.relative_to(store).as_posix()}"
            for file in sorted(store.rglob(name))
            if file.parent != store
        ]
    return sorted({node for node in found if node != "/."})


def run(count: int, seed: int, share: float, full: int, hosts: tuple[str, ...], rows: int = 20) -> Report:
    """Makes a store for this `share` of all positions of the templates, and `full` stores of each kind with strings
    everywhere; tries all of them."""
    r = random.Random(f"strings {seed} {share}")
    s = Strings(hostile(count, seed))
    report = Report()
    started = time.monotonic()

    def each(host: str, things: list[_T]) -> Iterator[_T]:
        """Yields the items and prints a line to stderr after each, because a run may take an hour."""
        for number, thing in enumerate(things, 1):
            yield thing
            through = len(set().union(*report.seen.values())) if report.seen else 0
            print(
                f"{time.monotonic() - started:6.0f} s  {host} {number}/{len(things)}  {through} strings came through, "
                f"{len(report.failures)} failures",
                file=sys.stderr,
                flush=True,
            )
            for failure in report.failures[told[0] :]:
                print(failure, file=sys.stderr, flush=True)
            told[0] = len(report.failures)

    told = [0]
    folder = Path(tempfile.mkdtemp(prefix="strings-"))
    callbacks = FailedCallbacks(report)
    logging.getLogger("zarrscope").addHandler(callbacks)
    try:
        stores = [make(folder / f"{s.name()}.zarr", s) for _ in range(full) for make in (full_v3, full_v2)]
        small = list(broken_templates(folder, s, share, r))
        listed = [(store, children(store)) for store in stores + small]
        preload()
        if "cli" in hosts:
            for store, nodes in each("cli", listed):
                verbs(report, store, nodes or ["/"], s)
        if "tui" in hosts:
            for store in each("tui", [*stores, *small[::4]]):
                terminal_application(report, store, rows if store in stores else 2)
        # From here on this process has threads.
        if "python" in hosts:
            for store, nodes in each("python", listed):
                python(report, store, nodes)
        if "qt" in hosts:
            window(report, each("qt", [*listed[: len(stores)], *listed[len(stores) :: 4]]))
    finally:
        logging.getLogger("zarrscope").removeHandler(callbacks)
        shutil.rmtree(folder, ignore_errors=True)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strings", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="of the positions in the templates")
    parser.add_argument("--full", type=int, default=10, help="stores of each kind with strings everywhere")
    parser.add_argument("--rows", type=int, default=20, help="of the terminal's tree, in each store")
    parser.add_argument("--hosts", default="cli,tui,python,qt")
    given = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen" if not os.environ.get("DISPLAY") else "xcb")
    started = time.monotonic()
    report = run(given.strings, given.seed, given.share, given.full, tuple(given.hosts.split(",")), given.rows)
    for host, number in sorted(report.tried.items()):
        print(f"{host:<20} {number:>8,} texts looked at, {len(report.seen.get(host, ())):>4} of {given.strings} seen")
    everywhere = set().union(*report.seen.values()) if report.seen else set()
    print(
        f"{len(everywhere)} of {given.strings} strings came through; {len(report.failures)} failures; "
        f"{time.monotonic() - started:.0f} s"
    )
    for failure in report.failures[:40]:
        print(failure)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
