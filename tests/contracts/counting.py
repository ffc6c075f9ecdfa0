"""Processes that count up one value, each by a store of its own: with conflicts told, no count is lost."""

from __future__ import annotations

import subprocess
import sys

PROCESSES = 3
_COUNTS = """
import sys
from zarrscope.errors import Conflict
{opening}
for _ in range(int(sys.argv[1])):
    while True:
        value, version = store.get_versioned("n")
        try:
            store.set("n", b"%d" % (int(value) + 1), version)
            break
        except Conflict:
            continue
store.close()
"""


def count_up(opening: str, *arguments: str, times: int) -> bytes:
    """Each process adds one to the value at "n" `times` times. The value that must be there then, where it was 0.

    `opening`: the lines that make `store`, of `sys.argv[2:]`, which are the arguments.
    """
    command = [sys.executable, "-c", _COUNTS.format(opening=opening), str(times), *arguments]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(PROCESSES)]
    for each in running:
        _, errors = each.communicate(timeout=120)
        assert each.returncode == 0, errors.decode()
    return b"%d" % (PROCESSES * times)
