"""How long from the command to something: each measured in a process of its own, the best and the median of a few.

    python tests/bench/startup.py [--runs 5] [--json]

`import`: `import zarrscope` · `help`: `zarrscope --help` (budget 0.3 s) · `open`: to the root of the demo volume.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OPEN = "import sys, zarrscope; print(zarrscope.open(sys.argv[1])['/'].kind)"


def commands(volume: str) -> dict[str, list[str]]:
    return {
        "python": ["-c", "import numpy"],
        "import": ["-c", "import zarrscope"],
        "help": ["-c", "from zarrscope_app.cli import main; main()", "--help"],
        "open": ["-c", OPEN, volume],
    }


def measure(volume: str, runs: int = 5) -> dict[str, dict[str, float]]:
    """Seconds, "best" and "median", by name. Raises CalledProcessError when a command fails."""
    results = {}
    for name, arguments in commands(volume).items():
        times = []
        for _ in range(runs):
            began = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, capture_output=True, timeout=60)
            times.append(time.perf_counter() - began)
        results[name] = {"best": min(times), "median": statistics.median(times)}
    return results


def main() -> None:
    from zarrscope_resources.demo import make

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = measure(str(make(Path(folder) / "demo.ome.zarr", "small")), asked.runs)
    if asked.json:
        print(json.dumps(results))
    else:
        for name, seconds in results.items():
            print(f"{name:8} best {seconds['best']:.2f} s, median {seconds['median']:.2f} s")


if __name__ == "__main__":
    main()
