"""Runs whole test suites on simulated systems, and prints a line of figures for each.

    python tests/systems/run.py [--system windows,macos] [--suites store,read,codec,kill,reads] [--rounds 70]

Each suite runs in processes of its own, in which zarrscope sees the forced system (table.py, forced.py), and so do the
processes that the tests start. Exit status 1 when a test failed, an element was read wrong, or a kill lost something.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from systems.table import SYSTEMS

TESTS = Path(__file__).resolve().parents[1]
SUITES = {
    "store": [
        "core/test_stores.py",
        "core/test_stores_local.py",
        "core/test_stores_zip_http.py",
        "core/test_stores_address.py",
    ],
    "read": [
        "core/test_reading.py",
        "core/test_array.py",
        "core/test_chunks.py",
        "core/test_result.py",
        "core/test_writing.py",
        "core/test_listing.py",
        "core/test_hierarchy.py",
        "core/test_moving.py",
    ],
    "codec": ["core/test_codecs.py", "core/test_codecs_contract.py", "core/test_golden.py"],
}
SHORT = ("core/test_stores.py", "core/test_stores_local.py", "core/test_reading.py")
SHORT_OF = """
    (TestLocal and not Plain and (ranges or absence or set_with or one_of_many or listing or put or partial))
    or long_paths or ways_of or full_disk or folder_and_a_file or (a_reader_gives and system)
    or (numpys and files-3 and shards and zstd)
"""
"""The part of these suites that the daily tests run, which takes some seconds."""


def environment(system: str) -> dict[str, str]:
    """The environment variables of a process in which zarrscope runs on another system."""
    given = os.environ.get("PYTHONPATH", "")
    path = os.pathsep.join([str(TESTS / "systems" / "site"), str(TESTS), *filter(None, [given])])
    return {**os.environ, "ZARRSCOPE_SYSTEM": system, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def run_tests(system: str, paths: list[str], *options: str, timeout: float = 3000) -> dict[str, Any]:
    """The numbers of passed, failed and skipped tests, with the last lines of pytest."""
    plugins = [
        word for name in ("systems.plugin", "pytest_timeout", "_hypothesis_pytestplugin") for word in ("-p", name)
    ]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", "--tb=short", *plugins]
    done = subprocess.run(
        [*command, *(str(TESTS / path) for path in paths), *options],
        env=environment(system), cwd=TESTS.parent, capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    last = next((line for line in reversed(done.stdout.splitlines()) if re.search(r" in [\d.]+s", line)), "")
    counted = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", last)}
    failed = counted.get("failed", 0) + counted.get("error", 0)
    if not counted or (done.returncode and not failed):
        failed += 1
    return {
        "passed": counted.get("passed", 0), "failed": failed, "skipped": counted.get("skipped", 0),
        "told": "" if not failed else done.stdout[-6000:] + done.stderr[-2000:],
    }  # fmt: skip


def script(system: str, path: str, *options: str, timeout: float = 3000) -> dict[str, Any]:
    """Runs a script of the tests, and returns the JSON that it prints at its end."""
    done = subprocess.run(
        [sys.executable, str(TESTS / path), *options],
        env=environment(system), cwd=TESTS.parent, capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    found = re.search(r"^\{.*\Z", done.stdout, re.DOTALL | re.MULTILINE)
    figures: dict[str, Any] = json.loads(found[0]) if found is not None else {}
    return {**figures, "failed": figures.get("failed", 0) or int(done.returncode != 0), "told": done.stderr[-4000:]}


def suite(system: str, name: str, rounds: int, reads: int) -> dict[str, Any]:
    if name == "kill":
        return script(system, "kill/run.py", "--rounds", str(rounds), "--consolidated", "--seed", "11")
    if name == "reads":
        return script(system, "systems/reads.py", "--reads", str(reads))
    return run_tests(system, SUITES[name])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", default=",".join(SYSTEMS))
    parser.add_argument("--suites", default=",".join([*SUITES, "kill", "reads"]))
    parser.add_argument("--rounds", type=int, default=70, help="of the kill trials")
    parser.add_argument("--reads", type=int, default=1000, help="full reads at once")
    options = parser.parse_args()
    bad = False
    for system in options.system.split(","):
        print(f"{system}: {SYSTEMS[system].about}", flush=True)
        for name in options.suites.split(","):
            began = time.monotonic()
            told = suite(system, name, options.rounds, options.reads)
            failed = bool(told["failed"] or told.get("wrong"))
            bad |= failed
            shown = ("passed", "skipped", "rounds", "interrupted", "reads", "wrong", "failed")
            figures = ", ".join(f"{each} {told[each]}" for each in shown if each in told)
            print(f"  {name:6} {figures}  ({time.monotonic() - began:.0f} s)", flush=True)
            if failed:
                print(told["told"], flush=True)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
