"""The gain of the native shortcuts: the same reads and writes with and without ZARRSCOPE_NATIVE=0.

    python tests/bench/shortcuts.py                  prints the table
    python tests/bench/shortcuts.py --docs           and writes it into performance.md
    python tests/bench/shortcuts.py --quick          small volumes, few rounds: whether it works

Two processes answer in turn; of each case the least computing time of all threads counts, so a busy machine does little
harm. Values are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from operator import getitem, setitem
from pathlib import Path
from typing import Any

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from bench.volumes import FORMS, FULL, QUICK, Volumes

PAGE = Path(__file__).resolve().parents[2] / "resources" / "docs" / "performance.md"
MARKED = re.compile(r"(<!-- measured: shortcuts -->\n).*?(<!-- end -->)", re.DOTALL)
READ = (
    "v3 raw 64^3",
    "v3 zstd 64^3",
    "v2 blosc-lz4 64^3",
    "v3 gzip 128^3",
    "v3 shards zstd 32^3",
    "v3 tiny zstd 16^3",
)
WRITTEN = ("v3 zstd 64^3", "v2 blosc-lz4 64^3", "v3 shards zstd 32^3")
GOAL = 1.3
"""The largest allowed ratio of the time without the shortcuts to that with them."""


def least(act: Callable[[], object], rounds: int, times: int = 1) -> float:
    """The smallest of `times`, in milliseconds of processor time."""
    found = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        for _ in range(times):
            act()
        found = min(found, time.process_time() - began)
    return found * 1e3 / times


def cases(folder: Path, rounds: int) -> Iterator[tuple[str, float]]:
    """(case, milliseconds) in this process."""
    import numpy as np

    import zarrscope

    shape = QUICK if (folder / "quick").exists() else FULL
    volumes = Volumes(folder, shape)
    for name in READ:
        form = FORMS[name]
        path = volumes.need(form)
        array = zarrscope.open_array(path)
        expected = volumes.expected(form)
        assert np.array_equal(np.asarray(array[...]), expected), name
        a, b, c = (length // 2 + 3 for length in array.shape)
        yield f"{name}: full", least(partial(getitem, array, ...), rounds)
        yield f"{name}: XY plane", least(partial(getitem, array, a), rounds)
        yield f"{name}: XZ plane", least(partial(getitem, array, (slice(None), b)), rounds)
        yield f"{name}: element", least(partial(getitem, array, (a, b, c)), rounds, 10)
        yield f"{name}: opening", least(partial(zarrscope.open_array, path), rounds, 20)
    for name in WRITTEN:
        form = FORMS[name]
        source = Path(volumes.need(form))
        values = volumes.expected(form)
        with tempfile.TemporaryDirectory(dir=folder) as target:
            for file in source.iterdir():
                if file.is_file():
                    shutil.copy(file, target)
            made = zarrscope.open_array(target, mode="r+")
            yield f"{name}: writing all", least(partial(setitem, made, ..., values), rounds)
            assert np.array_equal(np.asarray(made[...]), values), name


def told(folder: Path, rounds: int, native: bool) -> dict[str, float]:
    """The figures that another process measures."""
    run = subprocess.run(
        [sys.executable, __file__, "--folder", str(folder), "--rounds", str(rounds), "--one"],
        env={**os.environ, "ZARRSCOPE_NATIVE": "1" if native else "0"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(run.stdout)
    return found


def measured(folder: Path, rounds: int, turns: int) -> tuple[dict[str, float], dict[str, float]]:
    """The smallest times of all rounds, with and without the shortcuts."""
    best: tuple[dict[str, float], dict[str, float]] = ({}, {})
    for _ in range(turns):
        for found, native in zip(best, (True, False), strict=True):
            for case, figure in told(folder, rounds, native).items():
                found[case] = min(figure, found.get(case, figure))
    return best


def table(fast: dict[str, float], plain: dict[str, float]) -> str:
    forms: dict[str, dict[str, str]] = {}
    for case, figure in fast.items():
        form, _, what = case.partition(": ")
        ratio = plain[case] / figure
        shown = f"{ratio:.2f}" if ratio <= GOAL else f"**{ratio:.2f}**"
        forms.setdefault(form, {})[what] = f"{figure:.3g} → {plain[case]:.3g} ms; {shown}"
    columns = list(dict.fromkeys(what for row in forms.values() for what in row))
    lines = [f"| form | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {form} | {' | '.join(row.get(what, '') for what in columns)} |" for form, row in forms.items()]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "zarrscope-bench-shortcuts")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    asked: Any = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    if asked.one:
        print(json.dumps(dict(cases(asked.folder, asked.rounds))))
        return
    if asked.quick:
        asked.folder = asked.folder / "small"
        asked.folder.mkdir(exist_ok=True)
        (asked.folder / "quick").touch()
    shown = table(*measured(asked.folder, 2 if asked.quick else asked.rounds, 1 if asked.quick else asked.turns))
    print(shown)
    if asked.docs and not asked.quick:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(MARKED.sub(lambda found: f"{found[1]}{shown}\n{found[2]}", text), encoding="utf-8")


if __name__ == "__main__":
    main()
