"""The figures as text: a line per row while they come, the table for the README, and the file that keeps them.

The file of results holds the newest row of each (group, case, form), so that groups can be measured one at a time.
"""

from __future__ import annotations

import json
import os
import platform
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.engines import CORES
from bench.results import LIMIT, OURS, Held, Row, Spread

README = Path(__file__).resolve().parents[2] / "README.md"
MARKED = re.compile(r"(<!-- measured: bench -->\n).*?(<!-- end -->)", re.S)
FACTORS = {"s": (1e3, "ms")}


# ------------------------------------------------------------------------------------------------- one row
def number(value: float, unit: str) -> str:
    factor, shown = FACTORS.get(unit, (1.0, unit))
    value *= factor
    digits = 0 if value >= 100 or value == int(value) else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{digits}f} {shown}".strip()


def spread(found: Spread) -> str:
    return f"{found.median:.2f} ({found.low:.2f}–{found.high:.2f})"


def judgement(held: Held, unit: str) -> str:
    """ "0.62 (0.60–0.66) of zarrs ≤ 0.75 holds"."""
    verdict = "holds" if held.holds else "MISSES"
    if held.peer is None:
        return f"{number(held.spread.median, unit)} ≤ {number(held.goal.most, unit)} {verdict}"
    return f"{spread(held.spread)} of {held.peer} ≤ {held.goal.most:g} {verdict}"


def line(row: Row) -> str:
    """Goals first, then every engine's median."""
    medians = {name: statistics.median(figures) for name, figures in row.figures.items() if figures}
    shown = ", ".join(f"{name} {number(value, row.unit)}" for name, value in medians.items())
    judged = "; ".join(judgement(held, row.unit) for held in row.held())
    if not judged and OURS in row.figures and LIMIT in row.figures:
        judged = f"{spread(row.ratio(LIMIT))} of {LIMIT}"
    note = "".join(f" · {name} cannot: {reason:.60}" for name, reason in row.unable.items())
    note += f" · {row.note}" if row.note else ""
    return f"{row.group:8} {row.case:18} {row.form:30} {judged or 'no goal'}\n{'':28}{shown}{note}"


# ------------------------------------------------------------------------------------------------- the file
def load(path: Path) -> tuple[dict[str, Any], list[Row]]:
    if not path.exists():
        return {}, []
    kept = json.loads(path.read_text())
    return kept["about"], [Row.from_json(row) for row in kept["rows"]]


def store(path: Path, about: Mapping[str, Any], rows: Iterable[Row]) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps({"about": about, "rows": [row.as_json() for row in rows]}, indent=1))
    part.replace(path)


def merged(old: Sequence[Row], new: Sequence[Row]) -> list[Row]:
    """In the order of the old ones, each replaced by its newer self; then what was not there."""
    rows = {row.key: row for row in old}
    rows.update({row.key: row for row in new})
    return list(rows.values())


def about_machine() -> dict[str, Any]:
    model = platform.processor() or platform.machine()
    try:
        told = Path("/proc/cpuinfo").read_text()
        model = next(line.partition(":")[2].strip() for line in told.splitlines() if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30 if hasattr(os, "sysconf") else 0
    return {
        "cores": CORES,
        "cpu": model,
        "memory": f"{memory:.0f} GiB",
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
    }


# ------------------------------------------------------------------------------------------------- the README
def table(about: Mapping[str, Any], rows: Sequence[Row]) -> str:
    """What goes between the README's markers."""
    dates = sorted({row.date for row in rows if row.date})
    judged = [held for row in rows for held in row.held()]
    missed = sum(not held.holds for held in judged)
    parts = [
        f"{' to '.join(dict.fromkeys((dates[0], dates[-1]))) if dates else ''} · {about['cores']} cores "
        f"({about['cpu']}), {about['memory']}, {about['system']}, Python {about['python']} · "
        f"{_versions(about['versions'])}.",
        f"{len(judged) - missed} of {len(judged)} goals hold; what misses is **bold**.",
    ]
    reading = [row for row in rows if row.group in ("raw", "shards", "tiny")]
    if reading:
        parts.append(_reading(reading))
    rest = [row for row in rows if row not in reading]
    if rest:
        parts.append(_others(rest))
    return "\n\n".join(parts)


def _versions(versions: Mapping[str, Mapping[str, str]]) -> str:
    shown: dict[str, None] = {}
    for engine, packages in versions.items():
        for name, version in packages.items():
            if name in ("tensorstore", "zarrs", "zarr", "numcodecs", "zstandard") and engine != OURS:
                shown[f"{name} {version}"] = None
    return ", ".join(shown)


def _reading(rows: Sequence[Row]) -> str:
    """A line per form, a column per case: ours to the fastest peer, and of a full read to the decode limit."""
    cases = list(dict.fromkeys(row.case for row in rows))
    found = {(row.form, row.case): row for row in rows}
    heads = [part for case in cases for part in ((case, "of the limit") if case == "full" else (case,))]
    lines = [f"| form | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for form in dict.fromkeys(row.form for row in rows):
        cells = []
        for case in cases:
            row = found.get((form, case))
            cells.append(_cell(row) if row is not None else "")
            if case == "full":
                cells.append(_against_limit(row) if row is not None else "")
        lines.append(f"| {form} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(row: Row) -> str:
    """The ratio to the fastest peer and its quartiles; what it may be, where that is not 1."""
    held = [each for each in row.held() if each.peer != LIMIT]
    if not held:
        return "no peer"
    best = next((each for each in held if each.goal.of == "fastest"), held[0])
    missed = [each for each in held if not each.holds]
    text = f"{best.spread.median:.2f} ({best.spread.low:.2f}–{best.spread.high:.2f})"
    if best.goal.most != 1.0:
        text += f" ≤ {best.goal.most:g}"
    for each in held:
        if each is not best:
            text += f"; {each.spread.median:.2f} of {each.peer} ≤ {each.goal.most:g}"
    return f"**{text}**" if missed else text


def _against_limit(row: Row) -> str:
    for each in row.held():
        if each.peer == LIMIT:
            text = f"{each.spread.median:.2f} ≤ {each.goal.most:g}"
            return text if each.holds else f"**{text}**"
    return f"{row.ratio(LIMIT).median:.2f}" if LIMIT in row.figures and OURS in row.figures else ""


def _others(rows: Sequence[Row]) -> str:
    lines = ["| what | ours | peers | goal |", "|---|---|---|---|"]
    for row in rows:
        medians = {name: statistics.median(figures) for name, figures in row.figures.items() if figures}
        ours = number(medians.pop(OURS), row.unit) if OURS in medians else "cannot"
        peers = ", ".join(f"{name} {number(value, row.unit)}" for name, value in medians.items())
        goals = []
        for held in row.held():
            text = judgement(held, row.unit).removesuffix(" holds").removesuffix(" MISSES")
            goals.append(text if held.holds else f"**{text}**")
        what = f"{row.case}, {row.form}" if row.form else row.case
        lines.append(f"| {what}{f' ({row.note})' if row.note else ''} | {ours} | {peers} | {'; '.join(goals)} |")
    return "\n".join(lines)


def into_readme(about: Mapping[str, Any], rows: Sequence[Row]) -> None:
    """Writes the table between its markers. Raises ValueError where README.md has none."""
    text = README.read_text(encoding="utf-8")
    if not MARKED.search(text):
        raise ValueError("README.md has no '<!-- measured: bench -->' … '<!-- end -->'")
    README.write_text(MARKED.sub(lambda m: f"{m[1]}{table(about, rows)}\n{m[2]}", text), encoding="utf-8")
