"""Other implementations read and rewrite all codec settings, data types, fill values and layouts of zarrscope."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import machine
import zarrscope
from contracts.foreign import Case, Job, alike, done_by, exempt, layouts, settings, types, unwritten, written
from narrowing import as_array
from zarrscope.codecs import CODECS

READERS = [
    pytest.param("v3", "zarr-python 3.0", marks=pytest.mark.needs("zarr30")),
    ("v3", "zarr-python 3"),
    ("v3", "tensorstore"),
    pytest.param("v2", "zarr-python 2.18", marks=pytest.mark.needs("zarr2")),
    pytest.param("v2", "zarr-python 3.0", marks=pytest.mark.needs("zarr30")),
    ("v2", "zarr-python 3"),
    ("v2", "tensorstore"),
]
Stored = dict[str, tuple[Path, dict[str, Case], dict[str, Any]]]


def interpreter(name: str) -> Path | None:
    others = {"zarr-python 2.18": machine.zarr2, "zarr-python 3.0": machine.zarr30}
    return others[name]() if name in others else Path(sys.executable)


@dataclass(frozen=True)
class Foreign:
    """The values that another implementation read, and the folder into which it wrote."""

    looked: dict[str, Any]
    place: Path
    """The folder into which it wrote the arrays."""
    rewritten: dict[str, Any]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """For each dialect: the folder of all cases, the cases that it can express, and the values that zarrscope reads."""
    made: Stored = {}
    cases = (*settings(), *types(), *layouts())
    assert len({case.name for case in cases}) == len(cases)
    for dialect in ("v2", "v3"):
        place = tmp_path_factory.mktemp("foreign") / dialect
        done = written(place, dialect, cases)
        hierarchy = zarrscope.open(place)
        made[dialect] = place, done, {name: as_array(hierarchy[name])[...] for name in done}
    return made


@pytest.fixture(scope="module")
def foreign(stored: Stored, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Foreign]:
    """Results by dialect and name. Each interpreter is started once for all its jobs."""

    @cache
    def of(python: Path) -> dict[tuple[str, str], Foreign]:
        asked = [reader for reader in map(tuple, (getattr(each, "values", each) for each in READERS))
                 if interpreter(reader[1]) == python]  # fmt: skip
        jobs, places = [], []
        for dialect, name in asked:
            place, cases, _ = stored[dialect]
            copy = tmp_path_factory.mktemp("rewritten") / "x"
            shutil.copytree(place, copy)
            places.append(copy)
            driver = "zarr" if "zarr-python" in name else f"tensorstore{dialect[-1]}"
            jobs.append(Job(place, "look", driver, tuple(cases)))
            names = [case.name for case in cases.values() if exempt(dialect, name, case, writing=True) is None]
            jobs.append(Job(copy, "rewrite", driver, tuple(names)))
        found = done_by(python, jobs)
        return {
            reader: Foreign(found[2 * i], place, found[2 * i + 1])
            for i, (reader, place) in enumerate(zip(asked, places, strict=True))
        }

    def wanted(dialect: str, name: str) -> Foreign:
        python = interpreter(name)
        assert python is not None
        return of(python)[dialect, name]

    return wanted


def test_the_table_is_made_of_the_whole_registry(stored: Stored) -> None:
    tried = Counter(case.about for case in settings())
    assert set(tried) == {name for name, row in CODECS.items() if row.writes and row.installed}
    assert len(settings()) >= 200
    for dialect, (_, done, _) in stored.items():
        left = {case.name: case for case in (*settings(), *types(), *layouts()) if case.name not in done}
        assert {name for name, case in left.items() if unwritten(dialect, case) is None} == set(), dialect


@pytest.mark.parametrize(("dialect", "name"), READERS)
def test_others_read_the_same_values(
    dialect: str, name: str, stored: Stored, foreign: Callable[[str, str], Foreign]
) -> None:
    _, cases, ours = stored[dialect]
    found = foreign(dialect, name).looked
    wrong, needless = {}, []
    for case in cases.values():
        theirs = found[case.name]
        good = not isinstance(theirs, str) and alike(ours[case.name], theirs)
        if exempt(dialect, name, case) is None:
            if not good:
                wrong[case.name] = theirs
        elif good:
            needless.append(case.name)
    assert wrong == {}
    assert needless == [], "these read after all: take them from the exceptions"
    assert sum(exempt(dialect, name, case) is None for case in cases.values()) >= 100


@pytest.mark.parametrize(("dialect", "name"), READERS)
def test_what_others_write_there_reads_here(dialect: str, name: str, foreign: Callable[[str, str], Foreign]) -> None:
    found = foreign(dialect, name)
    hierarchy = zarrscope.open(found.place)
    wrong = {}
    for each, theirs in found.rewritten.items():
        if isinstance(theirs, str) or not alike(as_array(hierarchy[each])[...], theirs):
            wrong[each] = theirs
    assert wrong == {}
    assert len(found.rewritten) >= 90
