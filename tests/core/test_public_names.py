"""What `import zarrscope` offers, and that it costs next to nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import zarrscope

PUBLIC = [
    "Array",
    "BadChunk",
    "BadMetadata",
    "Conflict",
    "Group",
    "Hierarchy",
    "NotFound",
    "ReadOnly",
    "Refused",
    "Unreadable",
    "Unsupported",
    "ZarrscopeError",
    "open",
]


def test_the_public_names_are_these() -> None:
    assert sorted(zarrscope.__all__) == PUBLIC
    for name in PUBLIC:
        assert getattr(zarrscope, name).__name__ == name
        assert name in dir(zarrscope)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = zarrscope.nonsense  # type: ignore[attr-defined]


def modules_after(code: str) -> set[str]:
    shown = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in shown.stdout.split()}


def test_importing_pulls_in_nothing_it_does_not_need() -> None:
    loaded = modules_after("import zarrscope")
    assert "zarrscope" in loaded
    assert not loaded & {"numpy", "fsspec", "aiohttp", "numcodecs", "zstandard", "asyncio", "click", "rich", "qtpy"}


def test_opening_and_reading_locally_pulls_in_no_network_library(tmp_path: object) -> None:
    code = (
        "import zarrscope\n"
        f"h = zarrscope.open({str(tmp_path)!r} + '/x.zarr', 'w-')\n"
        "a = h.create_array('/a', shape=(4,), dtype='uint8')\n"
        "a[...] = 1\n"
        "assert a[...].sum() == 4\n"
    )
    loaded = modules_after(code)
    assert "numpy" in loaded
    assert not loaded & {"fsspec", "aiohttp", "numcodecs", "zarr", "rich", "click"}


def test_opening_and_reading_imports_no_more_than_that_takes(tmp_path: Path) -> None:
    """What costs time before the first plane and is not needed for it (tests/bench/run.py "cold")."""
    hierarchy = zarrscope.open(tmp_path / "x.zarr", "w-")
    hierarchy.create_array("/a", shape=(4, 4), dtype="uint8", codecs=["bytes", "zstd"])[...] = 1
    code = f"import zarrscope\nassert zarrscope.open({str(tmp_path / 'x.zarr')!r})['/a'][...].sum() == 16\n"
    ran = subprocess.run(
        [sys.executable, "-c", code + "import sys\nprint(*sys.modules)"], capture_output=True, text=True
    )
    loaded = set(ran.stdout.split())
    assert "zarrscope.codecs.zstd" in loaded, ran.stderr
    assert not loaded & {"importlib.metadata", "urllib.request", "hashlib", "logging", "email", "secrets", "asyncio"}
    ours = {"dialects.v2", "dialects.n5", "dialects.drafts", "codecs.numeric", "codecs.streams", "document", "editing"}
    assert not loaded & {f"zarrscope.{name}" for name in ours}


SPUN = """
import json, os, sys, threading, time
{before}
import zarrscope
zarrscope.open
time.sleep(0.3)
main, spun = threading.get_native_id(), 0
for task in os.listdir("/proc/self/task"):
    if int(task) != main:
        with open(f"/proc/self/task/{{task}}/schedstat") as file:
            spun += int(file.read().split()[0])
print(json.dumps([spun / 1e9, os.environ.get("OPENBLAS_THREAD_TIMEOUT")]))
"""


def spun(before: str = "", **variables: str) -> tuple[float, str | None]:
    """(seconds that threads computed which nobody gave anything to do, the variable afterwards)."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")} | variables
    code = SPUN.format(before=before)
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    seconds, left = json.loads(shown.stdout)
    return seconds, left


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux counts the time of each thread")
def test_threads_of_numpy_do_not_spin_while_the_first_plane_is_read() -> None:
    seconds, left = spun()
    assert seconds < 0.02
    assert left is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux counts the time of each thread")
def test_what_somebody_chose_for_numpy_stays() -> None:
    assert spun(OPENBLAS_THREAD_TIMEOUT="26")[1] == "26"
    assert spun("import numpy")[1] is None
