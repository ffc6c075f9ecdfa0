"""The number of cores that this process may use: limited by its affinity and by the quota of its container.

A container with a quota of two cores on a machine of 64 shows 64 cores. 64 threads would use up the quota in the first
part of every period and wait for the rest of it. So the quota is read from the files of Linux (cgroup v2 and v1).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import ceil

CONTROLS = "/sys/fs/cgroup"
MEMBERSHIP = "/proc/self/cgroup"


def cores() -> int:
    """The number of processor cores that this process may use, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = getattr(os, "process_cpu_count", os.cpu_count)() or 1
    return max(1, min([allowed, *map(ceil, _quotas(CONTROLS, MEMBERSHIP))]))


def _quotas(controls: str, membership: str) -> Iterator[float]:
    """The quota, in cores, of each control group that contains this process."""
    for line in _text(membership).splitlines():
        _, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if names and "cpu" not in names.split(","):
            continue
        where = os.path.join(controls, names) if names else controls
        group = [part for part in path.split("/") if part not in ("", "..")]
        for depth in range(len(group), -1, -1):
            folder = os.path.join(where, *group[:depth])
            if names:
                numbers = [_text(os.path.join(folder, f"cpu.cfs_{name}_us")) for name in ("quota", "period")]
            else:
                numbers = _text(os.path.join(folder, "cpu.max")).split()
            if len(numbers) == 2 and all(number.strip().isdigit() for number in numbers) and int(numbers[1]):
                yield int(numbers[0]) / int(numbers[1])  # a group without a limit says "max" or −1, and is skipped


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
