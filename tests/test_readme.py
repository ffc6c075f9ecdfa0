"""README.md says what the code does: its generated tables are up to date, and what it points to is there."""

from __future__ import annotations

import re
import subprocess
import sys

import machine

README = (machine.ROOT / "README.md").read_text(encoding="utf-8")


def test_the_generated_tables_are_what_the_code_says() -> None:
    command = [sys.executable, "packaging/readme.py", "--check"]
    done = subprocess.run(command, cwd=machine.ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_every_picture_and_path_it_names_is_there() -> None:
    named = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README) + re.findall(r"`((?:packaging|tests|core)/[\w./]+)`", README)
    assert named
    assert not [name for name in named if not (machine.ROOT / name).exists()]
