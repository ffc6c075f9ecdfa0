"""The conformance runner, over stores that other programs made.

The archive lies in `../shared/conformance` beside the clone, or where ZARRSCOPE_CASES says. Where it is absent these
tests skip, with one line at the end that says so.
"""

from __future__ import annotations

import importlib.util
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
OME = r"^ome-"
ADAPTER = Path(__file__).resolve().parents[1] / "conformance_adapter.py"

WAITING: dict[str, str] = {}
"""Cases that need a codec or data type which zarrscope lacks, with its name: the test fails when they pass."""

_UNITS = (
    "Expects no attributes, but the document holds the attribute 'units': 'm'. An array's attributes are all members "
    "of its attributes object (v2: .zattrs, 'Attributes'; the drafts: 'attributes' of the array's document). The "
    "expectation is GDAL's view, which takes 'units' out of the attributes and offers it as the unit of the values."
)
WRONG: dict[str, str] = {
    f"generated_gdal_3_6_2_ZARR_{name}_zarr_grp_arr": _UNITS
    for name in ("V2_LZMA_i2_F", "V3_LZMA_f4_C", "V3_LZMA_i2_C", "V3_LZMA_i2_F", "V3_LZMA_u1_C")
}
"""Cases that contradict the specification, with the reason."""

_RANK = (
    "A scale of two numbers for three axes. 0.4 and 0.5, 'coordinateTransformations': the length of the vector MUST be "
    "that of the array's dimensions; the JSON schema behind the expectation cannot compare lengths."
)
_WELL = (
    "The well's path is 'A/…' where 'A' is no row but a column. 0.4 and 0.5, 'plate': path MUST be a name of the "
    "rows, a slash and a name of the columns; the JSON schema behind the expectation cannot compare them."
)
WRONG_OME: dict[str, str] = {
    "ome_0_4_valid_image_00_mismatch_axes_units": _RANK,
    "ome_0_5_valid_image_00_mismatch_axes_units": _RANK,
    "ome_0_6dev_valid_spec_image_mismatch_axes_units": _RANK,
    "ome_0_4_valid_plate_00_minimal_no_acquisitions": _WELL,
    "ome_0_4_valid_plate_20_non_alphanumeric_row": _WELL,
    "ome_0_4_valid_strict_plate_00_strict_no_acquisitions": _WELL,
    "ome_0_5_valid_plate_01_minimal_acquisitions": _WELL,
    "ome_0_5_valid_strict_plate_02_strict_acquisitions": _WELL,
    "ome_0_6dev_valid_spec_image_multiscales_transform_additional_transforms": (
        "A byDimension that makes two of three output axes. 0.6, 'byDimension': every axis of the output MUST be made "
        "exactly once."
    ),
    "ome_0_6dev_valid_strict_image_multiscales_example": (
        "The level of path '1' has the input path 's1'. 0.6, 'multiscales': the input of a level's transformation MUST "
        "be the level's own path. A slip in the text's example."
    ),
}
"""Documents that the archive calls valid, because a JSON schema accepts them, and the passage that they break."""

REFUSED: dict[str, str] = {
    "zep9_name_raw_empty_ignorable_a": (
        "The extension's name is the empty string. ZEP 9, 'Extension names': a name is a raw name, of one or more of "
        "a-z, 0-9, '-', '_' and '.', or a URI; must_understand false lets an unknown extension pass, not one without a "
        "name, and the writer's mistake would otherwise go unseen."
    ),
}
"""Optional cases with known values whose own text asks for refusal, with the passage."""


def run(dialect: str, answers: Path, adapter: Path | None = None) -> dict[str, dict[str, Any]]:
    """The verdict and details of each case. The runner reads the archive in child processes with limits."""
    place = machine.conformance()
    assert place is not None
    done = subprocess.run(
        [sys.executable, str(place / "run.py"), "--dialect", dialect, "--json", str(answers)]
        + (["--adapter", str(adapter)] if adapter is not None else []),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout[-2000:] + done.stderr[-2000:]
    results: dict[str, dict[str, Any]] = json.loads(answers.read_text())
    return results


def optional_cases() -> set[str]:
    """Cases that a reader may refuse or read, with known values."""
    place = machine.conformance()
    assert place is not None
    spec = importlib.util.spec_from_file_location("conformance_runner", place / "run.py")
    assert spec is not None
    assert spec.loader is not None
    runner = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(runner)
    cases = runner.selected(str(Path(runner.unpacked_cases()) / "MANIFEST.tsv"), None, None)
    return {case["id"] for case in cases if case["expect"] == "either" and case["sha256"]}


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


def test_what_may_be_refused_is_read(ours: dict[str, dict[str, Any]]) -> None:
    """All optional cases are read, except those whose own text asks for refusal."""
    names = optional_cases()
    optional = {name: case for name, case in ours.items() if name in names}
    assert len(optional) > 80
    assert {name for name, case in optional.items() if case["status"] != "match"} == REFUSED.keys()
    assert all(optional[name]["clear"] for name in REFUSED)


def test_ome_metadata_is_judged_and_coordinates_are_transformed(tmp_path: Path) -> None:
    results = run(OME, tmp_path / "ome.json", ADAPTER)
    assert len(results) > 170
    failures = {name: case for name, case in results.items() if case["verdict"] != "pass"}
    assert failures.keys() == WRONG_OME.keys(), shown(
        {name: results[name] for name in failures.keys() ^ WRONG_OME.keys()}
    )


def test_broken_stores_are_refused_clearly_and_harmlessly(tmp_path: Path) -> None:
    """Without a crash, hang, memory growth or execution of code; an expected error names the faulty part."""
    results = run(BROKEN, tmp_path / "broken.json")
    assert len(results) > 100
    failures = {name: case for name, case in results.items() if case["verdict"] != "pass"}
    assert not failures, shown(failures)
