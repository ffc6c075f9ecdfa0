"""Writes the changes of the form as shell commands with --dry-run, which show the same changes without saving them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from zarrscope.errors.visible import visible_lines
from zarrscope.jsondoc.pointers import BESIDE, is_beside
from zarrscope_app.presenters.form.view_models import Change


def command_lines(url: str, changes: Mapping[str, Sequence[Change]]) -> str:
    """The shell commands for `changes` (path of the node → its changes), one line for each change."""
    return "\n".join(_line(url, path, change) for path, found in changes.items() for change in found)


def _beside(path: str, change: Change) -> str:
    pointer = change.pointer.removeprefix(BESIDE)
    return visible_lines(f"# {path} {pointer}: {change.after or 'removed'} (outside the attributes: only in the form)")


def _line(url: str, path: str, change: Change) -> str:
    if is_beside(change.pointer):
        return _beside(path, change)
    verb = "unset" if change.after is None else "set"
    told = [url, path, change.pointer, *(() if change.after is None else (change.after,))]
    return visible_lines(shlex.join(["zarrscope", "attrs", verb, "--dry-run", "--", *told]))
