"""Programs that work for ever and are killed at a moment that chance chooses."""

from __future__ import annotations

import subprocess
import sys
import time


def run_and_kill(code: str, *arguments: str, after: float) -> None:
    """Runs a program that prints "ready" and then works for ever, and kills it `after` seconds after that."""
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    time.sleep(after)  # the moment is what is tried
    process.kill()
    _, told = process.communicate()
    assert process.returncode == -9, told.decode()
