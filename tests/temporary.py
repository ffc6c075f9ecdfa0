"""Folders for what tests make outside a fixture, such as the stores of hypothesis's state machines: removed when the
process ends."""

from __future__ import annotations

import tempfile
from functools import cache


@cache
def _all() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="zarrscope-tests-", ignore_cleanup_errors=True)


def new_folder() -> str:
    """The path of an empty folder that nobody else uses."""
    return tempfile.mkdtemp(dir=_all().name)
