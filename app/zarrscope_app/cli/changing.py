"""How a verb changes a hierarchy: it opens it, makes a dry run, asks before data is erased, writes, and prints."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from zarrscope_app.cli.console import (
    Failed,
    follow_links,
    hierarchy_at,
    say,
    show,
    show_json,
    storage_options,
    tell_about,
)

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy


def opened_to_change(url: str, *, write: bool = True, missing_is_fill: bool = False) -> Hierarchy:
    """The hierarchy at an address, open in mode "r+" (with `write` false in "r"); its warnings go to stderr."""
    options = storage_options(missing_is_fill)
    hierarchy = hierarchy_at(url, "r+" if write else "r", storage_options=options, follow_links=follow_links())
    tell_about(hierarchy)
    return hierarchy


def change(
    url: str,
    act: Callable[[Any], dict[str, Any]],
    dry_run: bool,
    yes: bool,
    as_json: bool,
    wording: Callable[[dict[str, Any]], str] | None = None,
) -> None:
    """Runs `act` on the hierarchy. Without `dry_run` and `yes`, a dry run comes first, to ask before data is erased.

    `wording` words the result of `act` as a line for stdout, which --json replaces.
    """
    from zarrscope.jsondoc.parse import parsed_once

    with parsed_once():  # keeps one parsed copy of a long document, not one per read
        _changed(url, act, dry_run, yes, as_json, wording)


def _changed(
    url: str,
    act: Callable[[Any], dict[str, Any]],
    dry_run: bool,
    yes: bool,
    as_json: bool,
    wording: Callable[[dict[str, Any]], str] | None,
) -> None:
    hierarchy = opened_to_change(url)
    if not dry_run and not yes:
        from zarrscope_app.presenters.nodes import operation_text

        log: list[Any] = []
        previewed = act(hierarchy.dry_run(log))
        for note in previewed.get("notes", ()):
            say(f"Note: {note}.")
        ask(operation_text.erasing(log), yes)
    log = []
    run_change(hierarchy.dry_run(log) if dry_run else hierarchy, act, log if dry_run else None, as_json, wording)


def run_change(
    hierarchy: Hierarchy,
    act: Callable[[Any], dict[str, Any]],
    log: list[Any] | None,
    as_json: bool,
    wording: Callable[[dict[str, Any]], str] | None = None,
) -> None:
    """Carries out `act` and prints its result. With `log`, `hierarchy` is one for a dry run that records in `log`, and
    these operations are printed instead."""
    before = hierarchy.warnings
    done = act(hierarchy)
    notes = done.get("notes", ())
    if log is not None:
        show_operations(log, hierarchy.url, as_json, notes)
        return
    for note in notes:
        say(f"Note: {note}.")
    for warning in hierarchy.warnings:
        if warning not in before:
            say(f"Warning: {warning}")
    if as_json:
        show_json(done)
    elif wording is not None:
        show(wording(done))


def show_operations(log: list[Any], url: str, as_json: bool, notes: Sequence[str] = ()) -> None:
    """Prints the operations of a dry run, each on a line with the words of the preview, or all as one JSON object."""
    from zarrscope.stores.dry_run import ordered
    from zarrscope_app.presenters.nodes import operation_text

    operations = ordered(log)
    if as_json:
        show_json({"operations": operation_text.to_json(operations), "notes": [*notes]})
    else:
        for operation in operations:
            show(operation_text.line(operation, url))
        for note in notes:
            say(f"Note: {note}.")
        summed = operation_text.summary(operations)
        show(f"Would be done: {summed}." if operations else f"{summed}.")
    say("Nothing was done (--dry-run).")


def ask(erasing: Sequence[Any], yes: bool) -> None:
    """Asks before data is erased. Raises Failed if the answer is no, or if no question can be asked."""
    if not erasing or yes:
        return
    from zarrscope_app.presenters.nodes import operation_text

    wording = operation_text.summary(erasing)
    if not sys.stdin.isatty():
        raise Failed(
            f"This would erase data: {wording}. --yes does it, --dry-run shows the operations. Nothing was changed."
        )
    if not click.confirm(f"This erases data: {wording}. Continue?", err=True):
        raise Failed("Nothing was changed.")
