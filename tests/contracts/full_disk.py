"""A local disk that becomes full, without a disk."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest

from zarrscope.stores.local import write


def full_from(patch: pytest.MonkeyPatch, prefix: str, *, documents: bool = False) -> None:
    """Lets every write of a local store fail for a full disk at keys that begin with `prefix` and are no documents,
    or may be some."""
    put = write.put

    def full(store: Any, key: str, *rest: Any, **named: Any) -> None:
        if key.startswith(prefix) and (documents or not key.endswith(".json")):
            raise store._failure(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), key, "written")
        put(store, key, *rest, **named)

    patch.setattr(write, "put", full)
