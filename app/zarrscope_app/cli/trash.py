"""`trash`: lists the nodes that were removed with --to-trash, restores them or erases them for good."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from zarrscope_app.cli.changing import change, opened_to_change
from zarrscope_app.cli.console import Failed, VerbGroup, acting, say, show, show_json
from zarrscope_app.cli.nodes import DRY, JSON, YES

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy
    from zarrscope.nodes.trash import Thrown


@click.group("trash", cls=VerbGroup)
def trash() -> None:
    """Lists, restores and erases nodes that `remove --to-trash`, or the window, moved into the trash of a folder.

    The trash of cells.zarr is the hidden folder .cells.zarr.trash beside it. A node in it takes as much disk space as
    before.
    """


@trash.command("list")
@click.argument("url")
@JSON
def list_(url: str, as_json: bool) -> None:
    """Lists the entries of the trash: id, time of removal (in UTC), kind, and former path.

    \b
    Examples:
      zarrscope trash list cells.zarr
    """
    from zarrscope.nodes import trash as engine
    from zarrscope_app.presenters import strings

    hierarchy = opened_to_change(url, write=False)
    found = engine.entries(hierarchy)
    if as_json:
        place = engine.place(hierarchy)
        show_json({"entries": [_form(each) for each in found], "place": place})
        return
    for each in found:
        when = each.when.replace("T", " ").removesuffix("+00:00")
        show(f"{each.id}  {when}  {each.kind:<5}  {strings.clean(each.path)}")
    if not found:
        say("The trash is empty.")


def _form(thrown: Thrown) -> dict[str, Any]:
    return {name: getattr(thrown, name) for name in ("id", "path", "kind", "when", "dialect", "place")}


@trash.command("restore")
@click.argument("url")
@click.argument("id")
@click.option("--to", metavar="NODE", help="Restore it to this path instead of its former one.")
@DRY
@JSON
@acting
def restore(url: str, id: str, to: str | None, dry_run: bool, as_json: bool) -> None:
    """Moves the node ID from the trash to its former place. ID may also be the former path: then the latest entry
    of that path is restored.

    \b
    Examples:
      zarrscope trash restore cells.zarr labels/old
      zarrscope trash restore cells.zarr 20261122-101500-204816 --to labels/older
    """
    from zarrscope.nodes import trash as engine

    def act(hierarchy: Hierarchy) -> dict[str, Any]:
        back = engine.restore(hierarchy, engine.identify(hierarchy, id), to)
        return {"path": back.path, "trash": back.id}

    change(url, act, dry_run, True, as_json, lambda done: f"{done['path']}: restored from the trash.")


@trash.command("empty")
@click.argument("url")
@click.argument("ids", nargs=-1, metavar="[ID]…")
@click.option(
    "--older-than", type=click.FloatRange(min=0), metavar="DAYS", help="Erase only entries that are older than this."
)
@DRY
@YES
@JSON
@acting
def empty(url: str, ids: tuple[str, ...], older_than: float | None, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Erases nodes in the trash for good: all of them, or the entries ID.

    \b
    Examples:
      zarrscope trash empty cells.zarr --older-than 30 --dry-run
      zarrscope trash empty cells.zarr --yes
    """
    from zarrscope.nodes import trash as engine

    if ids and older_than is not None:
        raise Failed("Give either IDs or --older-than, not both.")

    def act(hierarchy: Hierarchy) -> dict[str, Any]:
        age = timedelta(days=older_than) if older_than is not None else None
        return {"gone": [each.id for each in engine.empty(hierarchy, ids or None, older_than=age)]}

    change(url, act, dry_run, yes, as_json)
