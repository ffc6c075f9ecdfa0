"""A limit of this system on the size of files (ulimit -f) is said as such."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import zarrscope

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")

SAVE = """
import resource, sys, zarrscope
resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
try:
    zarrscope.open(sys.argv[1], "r+").root.attrs["note"] = "x" * 1000
except zarrscope.errors.ZarrscopeError as error:
    print(error)
"""


def test_a_document_beyond_the_limit_is_not_saved_and_the_old_one_stays(tmp_path: Path) -> None:
    place = tmp_path / "a.zarr"
    with zarrscope.open(str(place), "w-") as made:
        made.root.attrs["note"] = "short"
    before = (place / "zarr.json").read_bytes()
    told = subprocess.run([sys.executable, "-c", SAVE, str(place)], capture_output=True, text=True, check=True).stdout
    assert "a limit (ulimit -f) allows no file of this size" in told
    assert "The old value is still there" in told
    assert (place / "zarr.json").read_bytes() == before
    assert [each.name for each in place.iterdir()] == ["zarr.json"]
