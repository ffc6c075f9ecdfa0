"""A test that hangs where exceptions are ignored ends its process, and not the whole run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import machine


def test_a_test_that_swallows_the_timeout_ends(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(
        dedent("""
            import threading

            import conftest
            import pytest

            conftest.HARD_SECONDS = 1

            class Waiting:
                def __del__(self):  # Python only prints an exception that is raised here
                    lock = threading.Lock()
                    while True:
                        try:
                            lock.acquire()
                        except BaseException:
                            pass

            @pytest.mark.timeout(1)
            def test_hangs():
                Waiting()
        """)
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\ntimeout = 60\n")
    paths = os.pathsep.join([str(machine.ROOT / "tests"), *filter(None, sys.path)])
    variables = {**os.environ, "PYTHONPATH": paths, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "pytest_timeout", "test_one.py"],
        cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Timeout (0:00:02)!" in done.stderr
    assert re.search(r'test_one.py", line \d+ in __del__', done.stderr), done.stderr
