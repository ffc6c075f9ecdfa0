"""Runs a trial of this folder in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def trial(script: str, *options: str) -> dict[str, Any]:
    """Runs the script, and returns the JSON that it prints, from its first brace on."""
    command = [sys.executable, str(Path(__file__).with_name(script)), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])
    return told
