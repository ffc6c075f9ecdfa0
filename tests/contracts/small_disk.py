"""A small file system at a folder, full or read-only, in a mount namespace that no other process sees."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

import pytest

MOUNT = 'mount -t tmpfs -o size="$1" none "$2" && shift 2 && exec "$@"'
READ_ONLY = 'mount -t tmpfs -o size="$1" none "$2" && mount -o remount,ro "$2" && shift 2 && exec "$@"'


def within(
    place: Path, *command: str, size: str = "256k", how: str = MOUNT, users: tuple[str, ...] = ("--map-root-user",)
) -> list[str]:
    """Returns a command that runs `command` with a small file system at `place`, which no other process sees. Without
    `users`, which needs root, the command may switch to other users, as a server does."""
    return ["unshare", "--mount", *users, "sh", "-c", how, "sh", size, str(place), *command]


@functools.cache
def mounts(users: tuple[str, ...] = ("--map-root-user",)) -> bool:
    try:
        command = within(Path("/mnt"), "true", users=users)
        return not subprocess.run(command, capture_output=True, timeout=60).returncode
    except OSError:
        return False


needs_mounts = pytest.mark.skipif(not mounts(), reason="no file system can be mounted in a namespace here")

__all__ = ["MOUNT", "READ_ONLY", "mounts", "needs_mounts", "within"]
