"""Times from the command to the first output or window, each in its own process: the best and the median of several
runs.

    python tests/bench/startup.py [--runs 5] [--json]

`import`: `import zarrscope` · `help`: `zarrscope --help` (budget 0.3 s) · `open`: to the root of the demo volume ·
`rows`: `zarrscope tui` in a pseudo-terminal until the first screen, with the first rows of the tree, is written (budget
0.5 s) · `tui`: until the application has taken over, and keys work · `rows cpu`, `tui cpu`: the computing time of
these, which a machine with other things to do does not change. The terminal answers when it is asked for its
abilities, as most do.

Bytecode is written as Python does by default: warm means a second start.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

if __package__:
    from bench.heartbeat import terminal
else:
    from heartbeat import terminal  # type: ignore[import-not-found, no-redef]  # run as a script, its folder is on the path

ROW, FOOT = b"labels", b"q quit"
"""The last row of the demo volume's tree; the end of the last line of the application."""
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
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for name, arguments in commands(volume).items():
        times = []
        for _ in range(runs):
            began = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, capture_output=True, timeout=60, env=environment)
            times.append(time.perf_counter() - began)
        results[name] = {"best": min(times), "median": statistics.median(times)}
    if sys.platform == "linux":
        for name, sign in (("rows", ROW), ("tui", FOOT)):
            screens = [first_screen(volume, environment, sign) for _ in range(runs + 1)][1:]
            for part, figures in zip((name, f"{name} cpu"), zip(*screens, strict=True), strict=True):
                results[part] = {"best": min(figures), "median": statistics.median(figures)}
    return results


def first_screen(volume: str, environment: dict[str, str], sign: bytes) -> tuple[float, float]:
    """The seconds from the start of the process until `sign` is on its screen of 80 x 24, and its processor time until
    then."""
    began = time.perf_counter()
    with terminal((80, 24), [sys.executable, "-m", "zarrscope_app", "tui", volume], environment) as (child, mine):
        written = b""
        while sign not in written:
            assert select.select([mine], [], [], 30)[0], "no screen in 30 seconds"
            read = os.read(mine, 1 << 16)
            if b"\x1b[c" in read:
                os.write(mine, b"\x1b[?62;22c")
            written += read
        seconds = time.perf_counter() - began
        fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
        return seconds, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
