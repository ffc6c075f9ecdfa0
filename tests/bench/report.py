"""Writes the figures: a line per row during the run, the table for the docs, and the file of results.

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

from bench.engines import CASES, CORES
from bench.results import LIMIT, OURS, Held, Row, Spread
from bench.volumes import FORMS

PAGE = Path(__file__).resolve().parents[2] / "resources" / "docs" / "performance.md"
MARKED = re.compile(r"(<!-- measured: bench -->\n).*?(<!-- end -->)", re.S)
NOTE = 70
"""Longer notes are printed, but not put into the table."""
FACTORS = {"s": (1e3, "ms")}
ORDER = ("http", "stores", "cold", "warm", "listing", "write", "memory", "cluster")
"""Of the groups in the second table; others, those of viewers, come first."""


# ------------------------------------------------------------------------------------------------- one row
def number(value: float, unit: str) -> str:
    factor, shown = FACTORS.get(unit, (1.0, unit))
    value *= factor
    digits = 0 if value >= 100 or value == int(value) else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:.{digits}f} {shown}".strip()


def ratio(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def spread(found: Spread) -> str:
    return f"{ratio(found.median)} ({ratio(found.low)}–{ratio(found.high)})"


def judgement(held: Held, unit: str) -> str:
    """ "0.62 (0.60–0.66) of zarrs ≤ 0.75 holds"."""
    verdict = "holds" if held.holds else "MISSES"
    if held.peer is None:
        return f"{number(held.spread.median, unit)} ≤ {number(held.goal.most, unit)} {verdict}"
    return f"{spread(held.spread)} of {held.peer} ≤ {held.goal.most:g} {verdict}"


def line(row: Row) -> str:
    """One line: the goals, then the median of every engine."""
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
    """The old rows in their order, each replaced by its new version, and then the new ones."""
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


# ------------------------------------------------------------------------------------------------- the docs
def table(about: Mapping[str, Any], rows: Sequence[Row]) -> str:
    """The text between the page's markers."""
    dates = sorted({row.date for row in rows if row.date})
    judged = [held for row in rows for held in row.held()]
    missed = sum(not held.holds for held in judged)
    parts = [
        f"{' to '.join(dict.fromkeys((dates[0], dates[-1]))) if dates else ''} · {about['cores']} cores "
        f"({about['cpu']}), {about['memory']}, {about['system']}, Python {about['python']} · "
        f"{_versions(about['versions'])}.",
        f"{len(judged) - missed} of {len(judged)} goals hold; what misses is **bold**. Of reading: our time, its ratio "
        "to the fastest peer (T tensorstore, S zarrs, 3 and 2 zarr-python) with the quartiles over the rounds, and the "
        "goal where it is not 1.",
    ]
    reading = [row for row in rows if row.group in ("raw", "shards", "tiny")]
    if reading:
        parts.append(_reading(reading))
    rest = sorted((row for row in rows if row not in reading), key=lambda row: _order(row.group))
    if rest:
        parts.append(_others(rest))
    return "\n\n".join(parts)


def _order(group: str) -> int:
    return ORDER.index(group) if group in ORDER else -1


def _versions(versions: Mapping[str, Mapping[str, str]]) -> str:
    """The version of each engine, and for zarr-python also the version of numcodecs."""
    shown: dict[str, None] = {}
    for engine, packages in versions.items():
        own = engine.partition(" ")[0]
        if own in packages and engine != OURS:
            codecs = f" (numcodecs {packages['numcodecs']})" if "numcodecs" in packages else ""
            shown[f"{own} {packages[own]}{codecs}"] = None
    return ", ".join(shown)


def _reading(rows: Sequence[Row]) -> str:
    """A row for each layout and a column for each case: zarrscope's ratio to the fastest peer and, for full reads, to
    the decode limit."""
    cases = [case for case in CASES if any(row.case == case for row in rows)]
    found = {(row.form, row.case): row for row in rows}
    heads = [part for case in cases for part in ((case, "to the limit") if case == "full" else (case,))]
    lines = [f"| form | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for form in (form for form in FORMS if any(row.form == form for row in rows)):
        cells = []
        for case in cases:
            row = found.get((form, case))
            cells.append(_cell(row) if row is not None else "")
            if case == "full":
                cells.append(_against_limit(row) if row is not None else "")
        lines.append(f"| {form} | {' | '.join(cells)} |")
    return "\n".join(lines)


LETTERS = {"tensorstore": "T", "zarrs": "S", "zarr 3": "3", "zarr 2.18": "2"}


def _cell(row: Row) -> str:
    """zarrscope's figure, its ratio to the fastest peer with quartiles, that peer's name, and the goal unless it
    is 1."""
    held = [each for each in row.held() if each.peer != LIMIT]
    text = number(statistics.median(row.figures[OURS]), row.unit) if OURS in row.figures else "cannot"
    for each in held:
        told = spread(each.spread) if each.goal.of == "fastest" else ratio(each.spread.median)
        told += f" {LETTERS.get(each.peer or '', each.peer)}"
        if each.goal.most != 1.0:
            told += f" ≤ {each.goal.most:g}"
        text += f"; {told if each.holds else f'**{told}**'}"
    return text if held else f"{text}; no peer"


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
        note = f" ({row.note})" if 0 < len(row.note) <= NOTE else ""
        lines.append(f"| {what}{note} | {ours} | {peers} | {'; '.join(goals)} |")
    return "\n".join(lines)


def into_docs(about: Mapping[str, Any], rows: Sequence[Row]) -> None:
    """Writes the table between its markers. Raises ValueError if the page has none."""
    text = PAGE.read_text(encoding="utf-8")
    if not MARKED.search(text):
        raise ValueError(f"{PAGE.name} has no '<!-- measured: bench -->' … '<!-- end -->'")
    PAGE.write_text(MARKED.sub(lambda m: f"{m[1]}{table(about, rows)}\n{m[2]}", text), encoding="utf-8")
