"""Processes that each increment one stored number through a store of their own: conflicts are reported, so no increment
is lost.
"""

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
    """Starts processes that each add one to the value at "n" `times` times, and returns the final value expected from
    0. `opening`: the lines of code that make `store`; the arguments are in `sys.argv[2:]`."""
    command = [sys.executable, "-c", _COUNTS.format(opening=opening), str(times), *arguments]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(PROCESSES)]
    for each in running:
        _, errors = each.communicate(timeout=120)
        assert each.returncode == 0, errors.decode()
    return b"%d" % (PROCESSES * times)
