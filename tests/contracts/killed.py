"""Programs that are killed while they write, and a store that fails from its nth write on."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

from zarrscope.stores.memory import MemoryStore


def run_and_kill(code: str, *arguments: str, after: float) -> None:
    """Runs a program that prints "ready" and then writes without end, and kills it `after` seconds after that line."""
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    time.sleep(after)  # the test kills at this moment
    process.kill()
    _, told = process.communicate()
    assert process.returncode == -9, told.decode()


class Killed(RuntimeError):
    """A Dying store stands in for a process that was killed: it raises this at each write."""


class Dying(MemoryStore):
    """A store that completes `left` writes and fails at every later one."""

    left = 10**9

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed

    def _set(self, *arguments: Any) -> Any:
        self._count()
        return super()._set(*arguments)

    def _erase(self, key: str) -> None:
        self._count()
        super()._erase(key)

    def _erase_prefix(self, prefix: str) -> None:
        for key in sorted(self._list_prefix(prefix)):
            self._erase(key)
