"""`diff`: lists the differences between two hierarchies, one per line; exit code 1 if there is a difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from zarrscope_app.cli.color import show_pieces
from zarrscope_app.cli.console import MISSING_IS_FILL, follow_links, hierarchy_at, say, show_json, storage_options
from zarrscope_app.cli.plain import plain, show_columns

if TYPE_CHECKING:
    from zarrscope.check.diff import NodeDifference


@click.command("diff")
@click.argument("left")
@click.argument("right")
@click.option("--values", is_flag=True, help="Compare every value, too.")
@click.option("--strict", is_flag=True, help="Compare codecs, dialects and the documents themselves, too.")
@MISSING_IS_FILL
@click.option("--json", "as_json", is_flag=True, help="Machine-readable: sorted JSON.")
def diff(left: str, right: str, values: bool, strict: bool, missing_is_fill: bool, as_json: bool) -> int:
    """Compares two hierarchies, or a node of each: nodes, the meaning of metadata, attributes, with --values all
    values.

    Each line describes one difference, LEFT first. Exit code 1 if there is any, else 0.
    The columns of --plain: path, kind of difference, pointer, index, count.

    \b
    Examples:
      zarrscope diff cells.zarr copy.zarr
      zarrscope diff cells.zarr copy.zarr --values
      zarrscope diff cells.zarr/0 converted.zarr/0 --strict --json
    """
    from zarrscope.check import diff as difference
    from zarrscope_app.presenters.differences import line

    how: dict[str, Any] = {"storage_options": storage_options(missing_is_fill), "follow_links": follow_links()}
    one, other = (hierarchy_at(each, **how) for each in (left, right))
    found = []
    for each in difference.diff(one, other, one.initial_path, other.initial_path, values=values, strict=strict):
        found.append(_form(each))
        if plain() and not as_json:
            show_columns(each.path, each.what, each.pointer, each.index, each.count)
        elif not as_json:
            lacking = (
                "added" if each.left is difference.ABSENT else "removed" if each.right is difference.ABSENT else ""
            )
            show_pieces([(line(each), lacking)])
    if as_json:
        show_json({"differences": found, "same": not found, "values_compared": values})
    elif not found and one.store.taken_as_missing + other.store.taken_as_missing:
        say("No difference was found in the values that the servers returned; denied values were taken as missing.")
    elif not found:
        say("No difference was found." if values else "No difference was found; values were not compared (--values).")
    elif not values:
        say("Values were not compared (--values).")
    return 1 if found else 0


def _form(found: NodeDifference) -> dict[str, Any]:
    from zarrscope.check.diff import ABSENT

    form: dict[str, Any] = {"path": found.path, "what": found.what, "pointer": found.pointer, "count": found.count}
    form["index"] = list(found.index) if found.index is not None else None
    for side in ("left", "right"):
        value = getattr(found, side)
        if value is not ABSENT:
            form[side] = value
    return form
