"""Runs all benchmarks: zarrscope and its peers in turn; checks the values and prints goals beside figures.

    python tests/bench/run.py                          everything, about a quarter of an hour on two cores
    python tests/bench/run.py --only raw,shards        some groups; --list names them
    python tests/bench/run.py --only raw --forms zstd --cases full,plane --rounds 15
    python tests/bench/run.py --only raw --cpu         computing time of all threads instead: for a busy machine
    python tests/bench/run.py --quick                  small volumes, one round: whether it all works
    python tests/bench/run.py --before /old/.venv/bin/python       with zarrscope of another checkout as one more peer
    python tests/bench/run.py --docs                   afterwards writes the table into performance.md
    python tests/bench/run.py --only none --docs       only writes the table from what was measured before

Volumes and results are kept in --folder (results.json there; groups may be measured one at a time). zarr-python 2.18
lives in an environment of its own: ZARRSCOPE_ZARR2, or .venv-zarr2 of packaging/check. Peers that are not installed are
named and left out: pip install '.[bench]'.

How it is measured: each engine has a process of its own and answers in turn, in an order drawn anew each round; a row's
ratio is the median over the rounds of ours divided by theirs in the same round, with its quartiles.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from bench import listing, processes, reads, remote, report, stores, writes
from bench.results import BEFORE, OURS, Goal, Row
from bench.settings import Settings

Group = Callable[[Settings], Iterator[Row]]

GROUPS: dict[str, Group] = {
    "raw": reads.raw,
    "shards": reads.shards,
    "tiny": reads.tiny,
    "cold": processes.cold,
    "warm": processes.warm,
    "listing": listing.measure,
    "memory": processes.memory,
    "write": writes.measure,
    "http": remote.planes,
    "picture": remote.pictures,
    **stores.GROUPS,
}


def groups() -> dict[str, Group]:
    """All groups of benchmarks; those of viewers and clusters import more when they run."""

    def viewers(settings: Settings) -> Iterator[Row]:
        from bench import viewing

        yield from viewing.measure(settings)

    def desktop(settings: Settings) -> Iterator[Row]:
        from bench import window

        yield from window.measure(settings)

    return {"viewing": viewers, "window": desktop, **GROUPS, "cluster": cluster}


def cluster(settings: Settings) -> Iterator[Row]:
    """A local Dask cluster: two workers compared with one."""
    from bench.cluster import measure

    if not settings.wants("", "Dask"):
        return
    for what, per in measure("smoke" if settings.quick else "full", rounds=1).items():
        figures = {OURS: [per[2]], "one worker": [per[1]]}
        yield Row("cluster", f"{what}, two Dask workers", "", figures, (Goal(1.0, "one worker"),))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="groups, with commas between")
    parser.add_argument("--forms", default="", help="parts of forms' names")
    parser.add_argument("--cases", default="", help="parts of cases' names")
    parser.add_argument("--rounds", "--reps", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--before", help="the interpreter of another checkout's environment")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "zarrscope-bench")
    asked = parser.parse_args()
    if asked.before:
        os.environ["ZARRSCOPE_BEFORE"] = asked.before
    known = groups()
    if asked.list:
        print("\n".join(known))
        return 0
    chosen = [name for name in asked.only.split(",") if name and name != "none"] if asked.only else list(known)
    unknown = [name for name in chosen if name not in known]
    if unknown:
        parser.error(f"there is no group {', '.join(unknown)}; there are {', '.join(known)}")
    settings = Settings(
        folder=asked.folder,
        rounds=asked.rounds or (1 if asked.quick else 7),
        quick=asked.quick,
        clock="cpu" if asked.cpu else "seconds",
        forms=[part for part in asked.forms.split(",") if part],
        cases=[part for part in asked.cases.split(",") if part],
    )
    asked.folder.mkdir(parents=True, exist_ok=True)
    kept = "-before" if asked.before else "-quick" if asked.quick else "-cpu" if asked.cpu else ""
    path = asked.folder / f"results{kept}.json"
    about, rows = report.load(path)
    settings.versions.update(about.get("versions", {}))
    failed = False
    for name in chosen:
        began = time.perf_counter()
        new = []
        try:
            for row in known[name](settings):
                row.date = time.strftime("%Y-%m-%d")
                new.append(row)
                failed |= OURS in row.unable
                print(report.line(row), flush=True)
        except Exception as error:  # the other groups can still be measured
            failed = True
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
        about = {**report.about_machine(), "versions": settings.versions}
        rows = report.merged(rows, new)
        report.store(path, about, rows)
        print(f"── {name}: {time.perf_counter() - began:.0f} s\n", flush=True)
    for engine, reason in settings.missing.items():
        print(f"{engine} is not here: {reason}")
    for row in (row for row in rows if BEFORE in row.figures and OURS in row.figures):
        ratio = row.ratio(BEFORE)
        verdict = "slower" if ratio.low > 1 else "faster" if ratio.high < 1 else ""
        print(f"{row.group:8} {row.case:24} {row.form:30} {report.spread(ratio)} of before  {verdict}")
    if asked.docs and rows and not kept:
        report.into_docs(about, rows)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
