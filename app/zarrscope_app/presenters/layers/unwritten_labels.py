"""Warnings that painted labels are not written yet, when their layer is removed or its viewer closes."""

from __future__ import annotations

from collections.abc import Sequence

from zarrscope_app.presenters import strings

TITLE = "Painted labels are not written"
WRITE = "Write…"
REMOVE = "Remove without writing"
CLOSE = "Close without writing"
BRING_BACK = "Bring it back"


def question(names: Sequence[str]) -> str:
    """The question before layers with unwritten labels are removed."""
    return f"What was painted into {_listed(names)} is not written yet. Without writing it is lost."


def removed(names: Sequence[str]) -> str:
    """The sentence after layers were removed whose painted labels were not written."""
    were = "were" if len(names) > 1 else "was"
    return f"{_listed(names)} {were} removed with painted labels that are not written."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f'"{strings.clean(name)}"' for name in names)
