"""--plain, before or after a verb: output for scripts, without colours, drawings and progress.

Verbs that list print one record per line, its columns separated by tabs; a column without a value is empty. The columns
and their order are the same in later releases; new columns are added only at the end of the line.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click


def take_plain(context: click.Context, _: click.Parameter, value: bool) -> None:
    """Handles --plain before or after the verb."""
    if value:
        context.find_root().meta[__name__] = True


def option() -> click.Option:
    """The option --plain of a verb."""
    return click.Option(
        ["--plain"],
        is_flag=True,
        expose_value=False,
        callback=take_plain,
        help="For scripts: no colour, drawing or progress; lists have columns separated by tabs.",
    )


def plain() -> bool:
    """Whether --plain was given."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.find_root().meta.get(__name__))


def show_columns(*cells: Any) -> None:
    """Prints one record: None and "" are empty columns, a list has commas between its members."""
    from zarrscope.errors.visible import visible

    click.echo("\t".join(visible(_text(cell)) for cell in cells))


def _text(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, Iterable) and not isinstance(cell, str | bytes):
        return ",".join(map(str, cell))
    return str(cell)
