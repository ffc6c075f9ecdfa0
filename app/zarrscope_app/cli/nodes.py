"""Verbs that change nodes: create, resize, remove, move, copy, consolidate. `--dry-run` shows the exact operations.

A dry run runs the verb on a store that records operations instead of carrying them out (zarrscope.stores.dry_run).
Before they erase data, verbs ask for confirmation on a terminal; without a terminal they need --yes.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from zarrscope_app.cli.changing import ask, change, opened_to_change, run_change, show_operations
from zarrscope_app.cli.console import (
    MISSING_IS_FILL,
    Failed,
    acting,
    follow_links,
    say,
    show,
    show_json,
)
from zarrscope_app.cli.convert import SHARDS, DialectName, axis_lengths, codec_list
from zarrscope_app.cli.streams import rewrite, steer

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON as JSONValue
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group
    from zarrscope.nodes.hierarchy import Hierarchy
    from zarrscope.nodes.move import Moved, MoveProgress

_ALIASES = {
    "bzip2": "numcodecs.bz2",
    "bz2": "numcodecs.bz2",
    "xz": "numcodecs.lzma",
    "lzma": "numcodecs.lzma",
    "zlib": "numcodecs.zlib",
    "lz4": "numcodecs.lz4",
    "raw": "none",
}
"""Common names of codecs, and the names that these codecs have in v3 documents."""

DRY = click.option("--dry-run", is_flag=True, help="Show the exact operations on the store, do nothing.")
YES = click.option("--yes", "-y", is_flag=True, help="Do not ask before data is erased.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print the result, or the plan, as JSON.")
REPLACE = click.option("--replace", is_flag=True, help="Erase the node at TO, once the new one is complete.")
INTO = click.option(
    "--into", metavar="URL2", help="The hierarchy for TO, if it is not URL: one of the same dialect, or a new one."
)


def _codec_names(context: click.Context, parameter: click.Parameter, values: Sequence[str]) -> list[Any] | None:
    """Parses --codec: names as in v3, N5 or v2, with a level if need be ("zstd:3"), or JSON."""
    named = []
    for value in values:
        name, colon, rest = value.partition(":")
        named.append(value if value.startswith("{") else _ALIASES.get(name, name) + colon + rest)
    codecs = codec_list(context, parameter, named)
    for codec in codecs or ():
        if isinstance(codec, dict) and codec["name"] == "numcodecs.lzma" and "level" in codec.get("configuration", {}):
            codec["configuration"] = {"preset": codec["configuration"]["level"]}
    return codecs


def _shape(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """Parses a shape: "64,256,256", "0,5"; "" for no axes."""
    if value is None:
        return None
    try:
        shape = tuple(int(part) for part in value.replace("x", ",").split(",")) if value.strip() else ()
    except ValueError:
        shape = (-1,)
    if any(n < 0 for n in shape):
        raise click.BadParameter(f"{value!r} is not a shape such as 64,256,256", context, parameter)
    return shape


def _fill(context: click.Context, parameter: click.Parameter, value: str | None) -> JSONValue:
    return ... if value is None else _parsed(context, parameter, value)


def _parsed(context: click.Context, parameter: click.Parameter, value: str | None) -> JSONValue:
    if value is None:
        return None
    try:
        return json.loads(value)
    except ValueError:
        return value


# ---------------------------------------------------------------------------------------------- create
@click.command("create")
@click.argument("url")
@click.argument("node", required=False)
@click.option("--shape", callback=_shape, metavar="N,N…", help="The shape of an array; without it, a group is made.")
@click.option("--dtype", help="The data type: uint16, float32, string, <u2, …")
@click.option("--chunks", callback=axis_lengths, metavar="N,N…", help="Chunk lengths; the default is about 1 MiB.")
@SHARDS
@click.option(
    "--codec",
    "codecs",
    callback=_codec_names,
    multiple=True,
    metavar="CODEC",
    help="The codec: zstd:3, gzip:5, blosc, bzip2, xz, none, or JSON; several are applied in turn.",
)
@click.option("--fill", callback=_fill, metavar="VALUE", help="The fill value, as JSON; by default 0, for times NaT.")
@click.option("--axes", metavar="NAME,NAME…", help="Names of the dimensions.")
@click.option("--separator", type=click.Choice([".", "/"]), help="The separator of indices in chunk keys.")
@click.option("--attributes", callback=_parsed, metavar="JSON", help="The attributes: a JSON object.")
@click.option("--dialect", type=DialectName(), help="The dialect of a new hierarchy at URL. By default v3.")
@DRY
@JSON
@acting
def create(
    url: str,
    node: str | None,
    shape: tuple[int, ...] | None,
    dtype: str | None,
    attributes: object,
    dialect: str | None,
    axes: str | None,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Makes a group, or with --shape and --dtype an array, and the missing groups above it.

    If there is no hierarchy at URL, a new one is made there. Without NODE its root is made; a URL inside a hierarchy
    names the node.

    \b
    Examples:
      zarrscope create new.zarr
      zarrscope create new.zarr --shape 64,512,512 --dtype uint16
      zarrscope create cells.zarr labels --attributes '{"note": "by hand"}'
      zarrscope create cells.zarr labels/mask --shape 64,512,512 --dtype uint16 --chunks 16,256,256 --codec zstd:5
      zarrscope create new.n5 raw --dialect n5 --shape 512,512 --dtype uint8 --codec gzip:6 --dry-run
    """
    if (shape is None) != (dtype is None):
        raise click.UsageError("An array needs both --shape and --dtype; a group neither.")
    if shape is None and (axes is not None or any(given not in (None, ...) for given in options.values())):
        raise click.UsageError(
            "Only arrays have chunks, shards, codecs, a fill value, axes and a separator: add --shape and --dtype."
        )
    if attributes is not None and not isinstance(attributes, dict):
        raise click.UsageError("--attributes takes a JSON object.")

    log: list[Any] | None = [] if dry_run else None
    hierarchy, path, new = _to_make(url, node, dialect, log)

    def act(hierarchy: Hierarchy) -> dict[str, Any]:
        made: Group | Array
        if shape is None or dtype is None:
            made = hierarchy.create_group(path, attributes or {})
        else:
            made = hierarchy.create_array(
                path,
                shape=shape,
                dtype=dtype,
                fill_value=options["fill"],
                dimension_names=axes.split(",") if axes is not None else None,
                attributes=attributes or {},
                **{name: options[name] for name in ("chunks", "shards", "codecs", "separator")},
            )
        return {"path": made.path, "kind": made.kind}

    def wording(done: dict[str, Any]) -> str:
        where = f" in a new hierarchy, {hierarchy.dialect.title}" if new else ""
        return f"{done['path']}: {done['kind']} made{where}."

    run_change(hierarchy, act, log, as_json, wording)


def _to_make(url: str, node: str | None, dialect: str | None, log: list[Any] | None) -> tuple[Hierarchy, str, bool]:
    """The hierarchy to make a node in, the path of the node, and whether the hierarchy is new. Without `node`, an
    address inside a hierarchy names the node, and any other one the root of a new hierarchy."""
    from zarrscope.nodes.detect import hierarchies_above
    from zarrscope.stores.address import split_address

    address = split_address(url)
    inner = address.node_path.strip("/")
    if inner and node is not None:
        raise click.UsageError(f"The address names the node {inner!r}, and NODE is {node!r}: name the node once.")
    place, path = url, node or inner or "/"
    if node is None and not inner:
        for above, _ in hierarchies_above(address):  # the last one is the outermost, which lists the node if any does
            place, path = above.store_url, above.node_path
    hierarchy, new = _to_extend(place, dialect, log)
    if node is None and not new and path in hierarchy:
        beneath = shlex.join(["zarrscope", "create", url, "NODE"])
        raise Failed(f"There is a node at {url} already. To make one beneath it: {beneath}")
    return hierarchy, path, new


def _to_extend(url: str, dialect: str | None, log: list[Any] | None, new: str = "v3") -> tuple[Hierarchy, bool]:
    """Opens the hierarchy at `url`, or creates one in `dialect` (else in `new`). With a `log`, operations are recorded
    there instead of being carried out. Returns the hierarchy, and whether it is new."""
    from zarrscope.dialects import Detected, dialect_named
    from zarrscope.errors import NotFound
    from zarrscope.nodes.context import NodeContext
    from zarrscope.nodes.hierarchy import Hierarchy
    from zarrscope.stores.address import open_store, split_address

    made = False
    try:
        hierarchy = opened_to_change(url)
    except NotFound as error:
        made = True
        address = split_address(url)
        store = open_store(address.store_url, "a", follow_links=follow_links())
        if store.listable and next(iter(store.list_dir("")), None) is not None:
            raise Failed(f"{error} A new hierarchy is made only in an empty place.") from None
        hierarchy = Hierarchy(
            NodeContext(store, Detected(dialect_named(dialect or address.dialect or new)), {}, writable=True)
        )
    if dialect is not None and hierarchy.dialect.name != dialect:
        raise Failed(f"{url} is {hierarchy.dialect.title}; --dialect is for a new hierarchy.")
    return hierarchy if log is None else hierarchy.dry_run(log), made


# ---------------------------------------------------------------------------------------------- resize, remove
@click.command("resize")
@click.argument("url")
@click.argument("node")
@click.argument("shape", callback=_shape)
@DRY
@YES
@JSON
@acting
def resize(url: str, node: str, shape: tuple[int, ...], dry_run: bool, yes: bool, as_json: bool) -> None:
    """Changes the shape of the array NODE to SHAPE. Growing changes the metadata only; shrinking erases the chunks
    outside SHAPE.

    A chunk that is partly outside keeps all its values.

    \b
    Examples:
      zarrscope resize cells.zarr 0 2,3,64,1024,1024 --dry-run
      zarrscope resize cells.zarr 0 1,3,64,1024,1024 --yes
    """

    def act(hierarchy: Hierarchy) -> dict[str, Any]:
        array = hierarchy[node]
        if array.kind != "array":
            raise Failed(f"{array.path} is a group: only arrays have a shape.")
        if len(shape) != array.ndim:
            axes = "1 axis" if array.ndim == 1 else f"{array.ndim} axes"
            raise click.UsageError(f"{array.path} has {axes}: {len(shape)} lengths do not fit.")
        array.resize(shape)
        return {"path": array.path, "shape": [*shape]}

    def wording(done: dict[str, Any]) -> str:
        from zarrscope_app.presenters import strings

        return f"{done['path']}: resized to {strings.shape(tuple(done['shape']))}."

    change(url, act, dry_run, yes, as_json, wording)


@click.command("remove")
@click.argument("url")
@click.argument("node")
@click.option("--to-trash", is_flag=True, help="Move it into the trash beside the folder: zarrscope trash restores it.")
@DRY
@YES
@JSON
@acting
def remove(url: str, node: str, to_trash: bool, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Erases NODE and everything beneath it. With --to-trash it can be restored.

    \b
    Examples:
      zarrscope remove cells.zarr labels/old --dry-run
      zarrscope remove cells.zarr labels/old --to-trash
      zarrscope remove cells.zarr labels/old --yes
    """

    def throw(hierarchy: Hierarchy) -> dict[str, Any]:
        from zarrscope.nodes import trash

        thrown = trash.put(hierarchy, node)
        return {"path": thrown.path, "trash": thrown.id, "place": thrown.place, "notes": [*thrown.notes]}

    def wording(done: dict[str, Any]) -> str:
        if not to_trash:
            return f"{done['path']}: erased."
        return f"{done['path']}: moved into the trash. To restore it: {_restoring(url, done['trash'])}"

    def act(hierarchy: Hierarchy) -> dict[str, Any]:
        from zarrscope.model.node_path import clean_path
        from zarrscope.nodes.edit import vanished, vanishing
        from zarrscope.nodes.internals import node_context

        path = clean_path(node)
        if path == "/":
            raise Failed("The root is the hierarchy itself: erase the folder.")
        above = vanishing(node_context(hierarchy), path)
        hierarchy.erase(path)
        gone = [each for each in above if each not in hierarchy]
        return {"path": path, "gone_too": gone, "notes": [*vanished(node_context(hierarchy), above)]}

    change(url, throw if to_trash else act, dry_run, yes or to_trash, as_json, wording)


def _restoring(url: str, id: str) -> str:
    return shlex.join(["zarrscope", "trash", "restore", url, id])


# ---------------------------------------------------------------------------------------------- move, copy
@click.command("move")
@click.argument("url")
@click.argument("node")
@click.argument("to")
@INTO
@REPLACE
@DRY
@YES
@JSON
@acting
def move(
    url: str, node: str, to: str, into: str | None, replace: bool, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Moves NODE, with everything beneath it, to the path TO; within its group that is a rename.

    A TO that ends in a slash is the group to move it into. Chunks are never decoded; on a local disk folders are
    renamed, which is as fast for large nodes as for small ones. If the move is interrupted, NODE is complete at its old
    place or at its new one.

    \b
    Examples:
      zarrscope move cells.zarr labels/0 labels/nuclei
      zarrscope move cells.zarr labels/nuclei archive/ --dry-run
      zarrscope move cells.zarr 0 raw/0 --into other.zarr
    """
    _carry("move", url, node, to, into, replace, dry_run, yes, as_json)


@click.command("copy")
@click.argument("url")
@click.argument("node")
@click.argument("to")
@INTO
@REPLACE
@MISSING_IS_FILL
@DRY
@YES
@JSON
@acting
def copy(
    url: str,
    node: str,
    to: str,
    into: str | None,
    replace: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    missing_is_fill: bool,
) -> None:
    """Copies NODE, with everything beneath it, to the path TO, byte for byte.

    A TO that ends in a slash is the group to copy it into. To copy to another dialect, use convert.

    \b
    Examples:
      zarrscope copy cells.zarr labels/nuclei labels/nuclei-before
      zarrscope copy cells.zip 0 raw/0 --into cells.zarr
    """
    _carry("copy", url, node, to, into, replace, dry_run, yes, as_json, missing_is_fill)


def _carry(
    verb: str,
    url: str,
    node: str,
    to: str,
    into: str | None,
    replace: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    missing_is_fill: bool = False,
) -> None:
    from zarrscope.model.node_path import clean_path
    from zarrscope.nodes import move as moving
    from zarrscope.nodes.overwrite import caution

    bases = [place.rstrip("/") for place in (url, into) if place]
    if "://" in to or any(to.startswith((f"{base}/", f"{base}::")) for base in bases):
        raise click.UsageError(f"TO is the path of a node, not an address: {to!r}. Name another hierarchy with --into.")
    if to.endswith("/") and to.strip("/") + node.strip("/"):
        to += clean_path(node).rpartition("/")[2]
    source = opened_to_change(url, write=verb == "move" or into is None, missing_is_fill=missing_is_fill)
    target = source if into is None else _to_extend(into, None, None, source.dialect.name)[0]

    def act(first: Hierarchy, second: Hierarchy, progress: Callable[[MoveProgress], None] | None = None) -> Moved:
        carry = {"move": moving.move, "copy": moving.copy}[verb]
        return carry(first, node, to, second, replace=replace, progress=progress)

    from zarrscope_app.presenters.nodes import operation_text

    if dry_run or (replace and not yes):
        log: list[Any] = []
        tried = source.dry_run(log)
        told = act(tried, tried if target is source else target.dry_run(log))
        erased = operation_text.erasing(log, first=True)
        notes = caution(target.store) if erased else ()
        if dry_run:
            show_operations(log, source.url, as_json, (*told.notes, *notes))
            return
        for note in notes:
            say(f"Note: {note}.")
        ask(erased, yes)
    bar = _Bar() if sys.stderr.isatty() else None
    try:
        done = act(source, target, bar)
    finally:
        if bar is not None:
            bar.end()
    for note in (*done.notes, *source.warnings, *(target.warnings if target is not source else ())):
        say(f"Warning: {note}")
    assumed = source.store.taken_as_missing
    if assumed:
        say(f"Warning: {assumed:,} values that the source denies were taken as missing, and were not copied.")
    if as_json:
        named = ("path", "to", "keys", "nbytes", "at_once")
        show_json({**{name: getattr(done, name) for name in named}, "notes": [*done.notes]})
        return
    from zarrscope_app.presenters import strings

    how = "at once" if done.at_once else f"{strings.counted(done.keys, 'value')}, {strings.size(done.nbytes)}"
    show(f"{done.path} → {done.to}: {how}.")


# ---------------------------------------------------------------------------------------------- consolidate
@click.command("consolidate")
@click.argument("url")
@DRY
@JSON
@acting
def consolidate(url: str, dry_run: bool, as_json: bool) -> None:
    """Writes consolidated metadata: a copy of all documents, at the root. It replaces an older copy. Readers of a
    remote store then get all documents with one request.

    \b
    Examples:
      zarrscope consolidate cells.zarr
    """

    def act(hierarchy: Hierarchy) -> dict[str, Any]:
        return {"documents": hierarchy.consolidate()}

    change(url, act, dry_run, True, as_json, _consolidated)


def _consolidated(done: dict[str, Any]) -> str:
    from zarrscope_app.presenters import strings

    return f"Consolidated metadata: {strings.counted(done['documents'], 'document')}."


class _Bar:
    """A progress line on a terminal."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, progress: MoveProgress) -> None:
        line = f"{progress.doing} {progress.done:,}"
        if progress.done % 64 == 0 or not self._last:
            self._last = line
            rewrite(f"{line:<30}")

    def end(self) -> None:
        if self._last:
            rewrite(" " * 30)
            steer("\r")
