"""Verbs that list a hierarchy: ls, tree."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nsmallest
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any

import click

from zarrscope_app.cli.color import colored, show_pieces
from zarrscope_app.cli.console import (
    opened,
    opening,
    say,
    show,
    show_json,
    show_json_items,
    summary,
)
from zarrscope_app.cli.info import JSON, if_read
from zarrscope_app.cli.plain import plain, show_columns

if TYPE_CHECKING:
    from zarrscope.dialects import Child
    from zarrscope.errors import ZarrscopeError
    from zarrscope.model.metadata import ArrayMetadata, GroupMetadata
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group
    from zarrscope.nodes.walk import Tree

    Metadata = ArrayMetadata | GroupMetadata | None
    Listed = tuple[str, str | None, Metadata, ZarrscopeError | None, str]

SORTED = 10_000
"""The most children of a group that are sorted, and listed with details from their documents, by default."""
LINES_AT_ONCE = 64


@click.command("ls")
@click.argument("url")
@click.argument("node", required=False)
@click.option(
    "--sort",
    is_flag=True,
    help=f"Sort the children even of a group with more than {SORTED:,}; else these come in the order of the store.",
)
@click.option(
    "--long", "long_", is_flag=True, help=f"Print shapes and data types even of more than {SORTED:,} children."
)
@opening
@JSON
def ls(url: str, node: str | None, sort: bool, long_: bool, as_json: bool, **how: Any) -> int:
    """Lists the children of a group. The columns of --plain: name, kind, shape, data type, error.

    Exit code 1 if the document of a listed node could not be read.

    \b
    Examples:
      zarrscope ls cells.zarr
      zarrscope ls cells.zarr labels --json
    """
    hierarchy, group = opened(url, node, **how)
    if group.kind == "array" or group.metadata.listing_problem is not None:
        from zarrscope_app.presenters.origins import origin_of

        itself = (group.path, group.kind, group.metadata, group.problem, origin_of(hierarchy, group.path))
        return _ended(_show_children(iter([itself]), len(group.path), as_json)[1])
    width, large, children = _listed(group, sort, as_json or long_)
    rows = ((c.name, c.kind, c.metadata, c.error or _demand(c.metadata), c.origin) for c in children)
    if large and not (as_json or long_):
        rows = ((c.name, c.kind, None, None, c.origin) for c in children)
    shown, unread = _show_children(rows, width, as_json)
    if not shown and not as_json:
        from zarrscope_app.presenters import strings

        say(strings.EMPTY_GROUP)
    return _ended(unread)


def _is_unread(metadata: Metadata, error: BaseException | None) -> bool:
    """Whether the document of a node could not be read, so that a listing lacks its shape, or the nodes beneath it. A
    document that names an unknown data type or codec is read."""
    if metadata is None:
        return error is not None
    return bool(metadata.defects) and (metadata.kind != "array" or "shape" in metadata.unread)


def _is_unlisted(group: Group) -> bool:
    """Whether a group that could not be listed counts as unread. One that demands an unknown extension does not."""
    return group.metadata.listing_problem is None


def _ended(unread: int) -> int:
    """The exit code of a listing that lacks `unread` nodes, or what is beneath them. Says their number."""
    if not unread:
        return 0
    from zarrscope_app.presenters import strings

    say(f"{strings.counted(unread, 'node')} could not be read.")
    return 1


def _listed(group: Group, sort: bool, documents: bool) -> tuple[int, bool, Iterator[Child]]:
    """Returns (length of the longest name, whether there are too many children to sort by default, the children). With
    `documents` every child's documents are read."""
    from zarrscope.model.node_path import natural

    names = group.list_names()
    head = list(islice(names, SORTED + 1))
    width, large = max((len(child.name) for child in head), default=0), len(head) > SORTED
    if sort or not large:
        return width, large, group.inspect(sorted(chain(head, names), key=lambda child: natural(child.name)))
    if group.hierarchy.store.bulk.scans_children and not documents:
        return width, large, group.names()  # the folder is scanned once more, which also gives the kinds
    return width, large, group.inspect(chain(head, names))


def _show_children(children: Iterator[Listed], width: int, as_json: bool) -> tuple[bool, int]:
    """Prints children as they arrive. Returns whether there were any, and how many could not be read."""
    unread = 0

    def counted() -> Iterator[Listed]:
        nonlocal unread
        for child in children:
            unread += _is_unread(child[2], child[3])
            yield child

    if as_json:
        return show_json_items(_entry(*child) for child in counted()), unread
    shown, rows = False, counted()
    while batch := list(islice(rows, LINES_AT_ONCE)):
        shown = True
        if plain():
            for child in batch:
                show_columns(*_columns(*child))
        elif colored():
            for child in batch:
                show_pieces(_line(*child, min(40, width)))
        else:
            show("\n".join("".join(text for text, _ in _line(*child, min(40, width))).rstrip() for child in batch))
    return shown, unread


def _columns(
    name: str, kind: str | None, metadata: Metadata, error: ZarrscopeError | None, origin: str = ""
) -> tuple[Any, ...]:
    """The columns of --plain: name, kind, shape, data type, error."""
    entry = _entry(name, kind, metadata, error, origin)
    return tuple(entry.get(each) for each in ("name", "kind", "shape", "dtype", "error"))


def _line(
    name: str, kind: str | None, metadata: Metadata, error: ZarrscopeError | None, origin: str, width: int
) -> list[tuple[str, str]]:
    """A line of a listing, as (text, role) pieces (color.py)."""
    told = summary(metadata, error) if metadata is not None or error is not None else ""
    shown = name + ("/" if kind == "group" and not name.endswith("/") else "")
    role = "group" if kind == "group" else ""
    gap = " " * max(0, width + 2 - len(shown))
    return [
        (shown, role),
        (f"{gap} ", ""),
        (f"{kind or '?':<6}", "quiet"),
        (f" {told}", "error" if error else ""),
        *_mark(origin),
    ]


def _mark(origin: str) -> list[tuple[str, str]]:
    """The piece of a line that says how a node was found; none for a node that the store listed."""
    from zarrscope_app.presenters.origins import mark  # not sooner: opening a place can be interrupted at once

    told = mark(origin)
    return [(f"  ({told})", "quiet")] if told else []


def _sorted(group: Group, tree: Tree | None = None) -> list[Child]:
    from zarrscope.model.node_path import natural

    return sorted(group.names(tree=tree), key=lambda child: natural(child.name))


def _first(group: Group, tree: Tree | None, most: int) -> tuple[list[Child], int]:
    """The first children in order, and the number of the others, whose documents are not read."""
    from zarrscope.model.node_path import natural

    seen = count()
    names = (child for child, _ in zip(group.list_names(tree=tree), seen, strict=False))
    found = list(group.inspect(nsmallest(most + LINES_AT_ONCE, names, key=lambda child: natural(child.name))))
    found.sort(key=lambda child: natural(child.name))
    listed = next(seen)
    total = listed if listed > most + LINES_AT_ONCE else len(found)  # leaves out names that turned out not to be nodes
    return found[:most], total - len(found[:most])


def _demand(metadata: Metadata) -> ZarrscopeError | None:
    """The extension that a group demands and zarrscope lacks, which prevents listing beneath it; else None."""
    return metadata.listing_problem if metadata is not None and metadata.kind == "group" else None


def _entry(
    name: str, kind: str | None, metadata: Metadata, error: ZarrscopeError | None, origin: str
) -> dict[str, Any]:
    from zarrscope_app.presenters.origins import field

    entry: dict[str, Any] = {"name": name, "kind": kind, "found_by": field(origin)}
    if metadata is not None and metadata.kind == "array":
        entry |= {"shape": if_read(metadata, "shape", list(metadata.shape)), "dtype": metadata.dtype.name}
    if error is None and metadata is not None and metadata.defects:
        error = metadata.problem
    if error is not None:
        entry["error"] = str(error)
    return entry


@click.command("tree")
@click.argument("url")
@click.argument("node", required=False)
@click.option("--depth", type=click.IntRange(1, 64), default=64, help="The greatest depth of the tree.")
@click.option("--most", type=click.IntRange(1), default=200, show_default=True, help="The most children per group.")
@opening
@JSON
def tree(url: str, node: str | None, depth: int, most: int, as_json: bool, **how: Any) -> int:
    """Draws the hierarchy. The columns of --plain: path, kind, shape, data type, error.

    Exit code 1 if the document of a node could not be read, or a group not be listed; the rest is drawn.

    \b
    Examples:
      zarrscope tree cells.zarr
      zarrscope tree cells.zarr labels --depth 1
    """
    hierarchy, top = opened(url, node, **how)
    tree = hierarchy.tree(top.path) if depth > 1 else None  # one listing of all levels, if that is cheaper
    itself = int(_is_unread(top.metadata, top.problem))
    if as_json:
        from zarrscope_app.presenters.origins import origin_of

        branch, unread = _branch(top, tree, depth, origin_of(hierarchy, top.path))
        show_json(branch)
        return _ended(unread if top.kind == "group" else itself)
    if plain():
        show_columns(top.path, *_columns("", top.kind, top.metadata, None)[1:])
        return _ended(_list_beneath(top, tree, depth, most) if top.kind == "group" else itself)
    told = summary(top.metadata) or (_kind(top) if top.kind == "group" else "")
    show_pieces([(top.path, top.kind), (f"  {told}" if told else "", "quiet")])
    return _ended(_draw(top, tree, "", depth, most) if top.kind == "group" else itself)


def _kind(group: Group) -> str:
    """The kind of content that a group's attributes describe (image, plate …); "" for none."""
    from zarrscope.view.image import find_collection, find_images

    if images := find_images(group):
        word = "labels" if images[0].is_label else "image"
        return f"{word}, OME-Zarr {images[0].version}"
    found = find_collection(group)
    return f"{found.kind}, OME-Zarr" if found is not None else ""


def _draw(group: Group, tree: Tree | None, indent: str, depth: int, most: int) -> int:
    """Draws the nodes beneath a group. Returns the number of nodes that could not be read, or not be listed."""
    from zarrscope_app.presenters import strings

    try:
        shown, more = _first(group, tree, most)
    except Exception as error:
        show(f"{indent}└── ({strings.problem(error).headline})")
        return _is_unlisted(group)
    unread = 0
    for i, child in enumerate(shown):
        last = i == len(shown) - 1 and not more
        inner = _open_child(group, child)
        wrong = child.error or (inner.problem if inner is not None else None)
        unread += _is_unread(inner.metadata if inner is not None else child.metadata, wrong)
        quiet = summary(inner.metadata if inner is not None else child.metadata, wrong) or (
            _kind(inner) if inner is not None else ""
        )
        name = strings.clean(child.name) + ("/" if child.kind == "group" else "")
        told = (f"{'  ' if quiet else ''}{quiet}", "error" if wrong is not None else "quiet")
        show_pieces(
            [(f"{indent}{'└── ' if last else '├── '}", "quiet"), (name, child.kind or ""), told, *_mark(child.origin)]
        )
        if inner is not None and depth > 1:
            unread += _draw(inner, tree, indent + ("    " if last else "│   "), depth - 1, most)
    if more:
        show(f"{indent}└── … {strings.counted(more, 'more child', 'more children')}")
    return unread


def _list_beneath(group: Group, tree: Tree | None, depth: int, most: int) -> int:
    """Prints the nodes beneath a group for --plain: path, kind, shape, data type, error. Returns as `_draw`."""
    try:
        shown, more = _first(group, tree, most)
    except Exception as error:
        show_columns(group.path, "group", None, None, error)
        return _is_unlisted(group)
    unread = 0
    for child in shown:
        path = f"{group.path.rstrip('/')}/{child.name}"
        show_columns(path, *_columns("", child.kind, child.metadata, child.error or _demand(child.metadata))[1:])
        inner = _open_child(group, child)
        unread += _is_unread(inner.metadata if inner is not None else child.metadata, child.error)
        if inner is not None and depth > 1:
            unread += _list_beneath(inner, tree, depth - 1, most)
    if more:
        say(f"{more:,} more children of {group.path} are left out: --most names more.")
    return unread


def _open_child(group: Group, child: Child) -> Group | None:
    """The child as a node if it is a group that can be opened, else None."""
    from zarrscope.errors import ZarrscopeError

    if child.kind != "group":
        return None
    try:
        opened: Group = group.hierarchy.open_node(f"{group.path.rstrip('/')}/{child.name}", child.kind)
        return opened
    except ZarrscopeError:
        return None


def _branch(node: Group | Array, tree: Tree | None, depth: int, origin: str) -> tuple[dict[str, Any], int]:
    """The description of a node for --json, and the number of nodes beneath it that could not be read, or listed."""
    entry, unread = _entry(node.name or "/", node.kind, node.metadata, None, origin), 0
    if node.kind == "array" or depth == 0:
        return entry, unread
    entry["children"] = []
    try:
        children = _sorted(node, tree)
    except Exception as error:
        return entry | {"error": str(error)}, _is_unlisted(node)
    for child in children:
        inner = _open_child(node, child)
        unread += _is_unread(inner.metadata if inner is not None else child.metadata, child.error)
        if inner is None:
            entry["children"].append(_entry(child.name, child.kind, child.metadata, child.error, child.origin))
            continue
        branch, beneath = _branch(inner, tree, depth - 1, child.origin)
        unread += beneath
        entry["children"].append(branch)
    return entry, unread
