"""Verbs that count stored chunks: `chunks` of one array, `stats` of all arrays beneath a node. No chunk is read."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from zarrscope_app.cli.console import Failed, opened, opening, say, show, show_json
from zarrscope_app.cli.folding import folded, joined, line_width
from zarrscope_app.cli.plain import plain, show_columns
from zarrscope_app.cli.streams import rewrite

if TYPE_CHECKING:
    from zarrscope.check.inventory import Inventory
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group
    from zarrscope.nodes.hierarchy import Hierarchy

JSON = click.option("--json", "as_json", is_flag=True, help="Machine-readable: sorted JSON.")


PLAIN_COLUMNS = ("path", "kind", "present", "total", "stored_nbytes", "nbytes", "ratio")
"""The columns of `stats --plain`: names of the facts of an array."""


TOGETHER = "together"
"""The first column of the last line of `stats`."""


@click.command("chunks")
@click.argument("url")
@click.argument("node", required=False)
@click.option("--list", "which", type=click.Choice(["stored", "missing"]), help="Also list these chunks one by one.")
@click.option("--most", type=click.IntRange(1), default=1000, show_default=True, help="The most chunks to list.")
@opening
@JSON
def chunks(url: str, node: str | None, which: str | None, most: int, as_json: bool, **how: Any) -> None:
    """Counts the stored chunks of an array, and their bytes. Reads no chunk.

    In a sharded array the shards are counted. A chunk that is not stored reads as the fill value.
    --plain prints the fields of --json, one per line; with --list the columns key, index, bytes.

    \b
    Examples:
      zarrscope chunks cells.zarr 0
      zarrscope chunks cells.zarr 0 --list missing
      zarrscope chunks cells.zarr 0 --json
    """
    _, array = opened(url, node, descend=True, **how)
    if array.kind != "array":
        raise Failed(f"{array.path} is a group. Name one of its arrays, or use zarrscope stats {url}.")
    inventory = _taken(array)
    named = _named(array, inventory, which, most) if which is not None else []
    if as_json:
        show_json({**facts(array, inventory), "chunks": named})
        return
    if plain():
        for name, value in facts(array, inventory).items() if which is None else ():
            show_columns(name, value)
        for chunk in named:
            show_columns(chunk["key"], chunk["index"], chunk["nbytes"])
        return
    from zarrscope_app.presenters.chunks.view_models import counts

    for item in counts(array, inventory):
        show(folded(f"{item.label:<17}{item.text}", line_width()))
    if named:
        show()
    for chunk in named:
        size = "" if chunk["nbytes"] is None else f"  {chunk['nbytes']:,} B"
        show(f"{','.join(map(str, chunk['index']))}  {chunk['key']}{size}")
    if len(named) == most:
        say(f"The first {most:,} are named; --most names more.")
    if not inventory.known:
        say("This store cannot list its keys, and the grid is too large to ask for each chunk.")


def _taken(array: Array) -> Inventory:
    from zarrscope.check.inventory import take_inventory

    if array.metadata.unread:
        assert array.problem is not None
        raise array.problem
    if not sys.stderr.isatty():
        return take_inventory(array)
    found = take_inventory(array, progress=lambda found: rewrite(f"{found:,} chunks so far"))
    rewrite(" " * 30)
    return found


def _named(array: Array, inventory: Inventory, which: str, most: int) -> list[dict[str, Any]]:
    from zarrscope.chunkio.stored_chunks import index_at

    key = array.metadata.keys.key
    if not inventory.known:
        return []
    if which == "missing":
        missing = islice(inventory.absent_chunks(), most)
        return [{"index": list(index), "key": key(index), "nbytes": None} for index in missing]
    stored = zip(inventory.numbers[:most].tolist(), inventory.sizes[:most].tolist(), strict=True)
    places = [(index_at(number, inventory.grid), size) for number, size in stored]
    return [{"index": list(index), "key": key(index), "nbytes": size if size >= 0 else None} for index, size in places]


def facts(array: Array, inventory: Inventory) -> dict[str, Any]:
    """The facts about an array that both verbs print."""
    spread = inventory.spread()
    known, nbytes = inventory.known, inventory.nbytes
    return {
        "path": array.path,
        "kind": "shard" if array.shards is not None else "chunk",
        "grid": list(inventory.grid),
        "chunk_shape": list(array.metadata.grid.chunk_shape),
        "known": known,
        "total": inventory.total,
        "present": inventory.present if known else None,
        "absent": inventory.absent if known else None,
        "outside": inventory.outside,
        "nbytes": array.nbytes,
        "stored_nbytes": nbytes,
        "ratio": round(array.nbytes / nbytes, 4) if nbytes else None,
        "smallest": spread[0] if spread else None,
        "median": spread[1] if spread else None,
        "largest": spread[2] if spread else None,
        "histogram": list(inventory.histogram()),
    }


@click.command("stats")
@click.argument("url")
@click.argument("node", required=False)
@opening
@JSON
def stats(url: str, node: str | None, as_json: bool, **how: Any) -> int:
    """Counts the stored chunks of every array beneath a node, and their bytes. Reads no chunk.

    The columns of --plain: path, "chunk" or "shard", number stored, number in the grid, stored bytes, decoded bytes,
    ratio. Exit code 1 if an array could not be read, so that it is left out.

    \b
    Examples:
      zarrscope stats cells.zarr
      zarrscope stats cells.zarr labels --json
    """
    hierarchy, top = opened(url, node, **how)
    arrays, left_out = _arrays(hierarchy, top)
    found = [facts(array, _taken(array)) for array in arrays]
    code = 1 if left_out else 0
    known = [each for each in found if each["stored_nbytes"] is not None]
    nbytes, stored = sum(each["nbytes"] for each in known), sum(each["stored_nbytes"] for each in known)
    total = {
        "arrays": len(found),
        "total": sum(each["total"] for each in found),
        "present": sum(each["present"] or 0 for each in found),
        "nbytes": sum(each["nbytes"] for each in found),
        "stored_nbytes": stored if len(known) == len(found) else None,
        "ratio": round(nbytes / stored, 4) if stored and len(known) == len(found) else None,
    }
    if as_json:
        show_json({"arrays": found, "sum": total})
        return code
    if plain():
        for each in found:
            show_columns(*(each[name] for name in PLAIN_COLUMNS))
        return code
    width = min(40, max((len(each["path"]) for each in found), default=0))
    width = max(width, len(TOGETHER))
    rows = [(each["path"], _parts(each)) for each in found]
    if len(found) != 1:
        rows.append((TOGETHER, _parts({**total, "kind": "chunk", "known": True})))
    for path, parts in rows:
        show("\n".join(joined(f"{path:<{width + 2}}", parts, "  ", line_width())))
    return code


def _arrays(hierarchy: Hierarchy, top: Group | Array) -> tuple[list[Array], int]:
    """The arrays beneath a node. Nodes whose metadata cannot be read are left out with a warning; the second value is
    their number."""
    from zarrscope.errors import NotFound

    if top.kind == "array":
        return [top], 0
    found: list[Array] = []
    left_out = 0
    for path, child in hierarchy.walk(top.path):
        if isinstance(child.error, NotFound):  # an empty folder of N5, or a node that was erased meanwhile
            continue
        if child.error is not None:
            say(f"Warning: {path} is left out: {child.error}")
            left_out += 1
        elif child.kind == "array":
            array = hierarchy.open_node(path)
            if array.kind != "array":
                continue
            if array.metadata.unread:
                say(f"Warning: {path} is left out: {array.problem}")
                left_out += 1
            else:
                found.append(array)
    return found, left_out


def _parts(told: dict[str, Any]) -> list[str]:
    from zarrscope_app.presenters import strings

    if not told["known"]:
        return [f"{strings.counted(told['total'], told['kind'])}, not known which are stored"]
    parts = [f"{strings.count(told['present'])} of {strings.counted(told['total'], told['kind'])}"]
    if told["stored_nbytes"] is not None:
        parts.append(f"{strings.size(told['stored_nbytes'])} for {strings.size(told['nbytes'])}")
    if told["ratio"]:
        parts.append(f"{strings.short(told['ratio'])} to 1")
    return parts
