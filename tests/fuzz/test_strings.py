"""A short run of the fuzzer of strings with fixed seeds; strings.py runs it for long, by hand."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pty", reason="pseudo-terminals are POSIX")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_host_obeys_what_stands_in_a_file() -> None:
    """In a process of its own, because it forks and must therefore have no threads."""
    hosts = ["cli", "python"]
    hosts += ["tui"] * (importlib.util.find_spec("textual") is not None)
    hosts += ["qt"] * (importlib.util.find_spec("qtpy") is not None)
    script = Path(__file__).with_name("strings.py")
    options = [
        "--strings",
        "80",
        "--share",
        "0.01",
        "--full",
        "1",
        "--rows",
        "2",
        "--seed",
        "4",
        "--hosts",
        ",".join(hosts),
    ]
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run([sys.executable, str(script), *options], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    seen = {
        line.split("  ")[0]: int(found)
        for line in done.stdout.splitlines()
        for found in re.findall(r"looked at, +([0-9]+) of", line)
    }
    assert len({*hosts} & {host.split(" ")[0] for host in seen}) >= len(hosts) - 1  # "python" has names of its own
    assert seen["cli info"] > 20
    assert seen["html"] > 20
    assert seen.get("tui", 30) >= 10
    assert seen.get("qt tooltips", 30) > 20


def test_the_widget_builds_its_page_from_text_only() -> None:
    import zarrscope_app

    script = (Path(zarrscope_app.__file__).parent / "jupyter/static/widget.js").read_text("utf-8")
    assert not re.findall(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|href|srcdoc", script
    )
