"""Stores that nobody here made: the conformance runner over this engine.

The archive lies in `../shared/conformance` beside the clone, or where ZARRSCOPE_CASES says. Where it is absent these
tests skip, with one line at the end that says so.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import machine

pytestmark = [pytest.mark.needs("cases"), pytest.mark.timeout(600)]

OURS = r"^(v1|v2|v3|n5|draft)"
BROKEN = r"^broken-"

WAITING: dict[str, str] = {}
"""Cases that wait for a codec or data type of a later issue, and for which: a test fails once they pass."""

_UNITS = (
    "Expects no attributes, but the document holds the attribute 'units': 'm'. An array's attributes are all members "
    "of its attributes object (v2: .zattrs, 'Attributes'; the drafts: 'attributes' of the array's document). The "
    "expectation is GDAL's view, which takes 'units' out of the attributes and offers it as the unit of the values."
)
WRONG: dict[str, str] = {
    f"generated_gdal_3_6_2_ZARR_{name}_zarr_grp_arr": _UNITS
    for name in ("V2_LZMA_i2_F", "V3_LZMA_f4_C", "V3_LZMA_i2_C", "V3_LZMA_i2_F", "V3_LZMA_u1_C")
}
"""Cases that are wrong in themselves, and why by the specification."""


def run(dialect: str, answers: Path) -> dict[str, dict[str, Any]]:
    """Verdict and details by case. The runner reads the archive in child processes with limits."""
    place = machine.conformance()
    assert place is not None
    done = subprocess.run(
        [sys.executable, str(place / "run.py"), "--dialect", dialect, "--json", str(answers)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout[-2000:] + done.stderr[-2000:]
    results: dict[str, dict[str, Any]] = json.loads(answers.read_text())
    return results


def shown(failures: dict[str, dict[str, Any]]) -> str:
    return "\n".join(
        f"{name}: {case['status']} {case.get('type', '')} {case.get('detail', '')}" for name, case in failures.items()
    )


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return run(OURS, tmp_path_factory.mktemp("conformance") / "ours.json")


def test_every_array_and_group_of_every_dialect_is_read(ours: dict[str, dict[str, Any]]) -> None:
    assert len(ours) > 1900
    failures = {
        name: case
        for name, case in ours.items()
        if case["verdict"] != "pass" and name not in WAITING and name not in WRONG
    }
    assert not failures, shown(failures)


def test_what_waits_or_is_wrong_still_does(ours: dict[str, dict[str, Any]]) -> None:
    listed = {**WAITING, **WRONG}
    assert listed.keys() <= ours.keys()
    passing = [name for name in listed if ours[name]["verdict"] == "pass"]
    assert not passing, f"take these off the list: {passing}"


def test_broken_stores_are_refused_clearly_and_harmlessly(tmp_path: Path) -> None:
    """No crash, hang, memory blow-up or code run; and where an error is expected, one that names what is at fault."""
    results = run(BROKEN, tmp_path / "broken.json")
    assert len(results) > 100
    failures = {name: case for name, case in results.items() if case["verdict"] != "pass"}
    assert not failures, shown(failures)
