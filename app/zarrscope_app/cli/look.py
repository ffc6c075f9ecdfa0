"""Verbs that show: open, tui, ls, tree, info."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Any

import click

from zarrscope_app.cli.console import Failed, opened, opening, say, show, show_json, summary

JSON = click.option("--json", "as_json", is_flag=True, help="Machine-readable: sorted JSON.")


@click.command("open", short_help="Opens URLs in the window (the default verb).")
@click.argument("urls", nargs=-1, metavar="URL...")
@click.option("--write", is_flag=True, help="Open for editing; otherwise nothing can be changed.")
@click.pass_context
def open_(context: click.Context, urls: tuple[str, ...] = (), write: bool = False) -> int:
    """Opens URLs in the window, or in the terminal where there is no display.

    \b
    Examples:
      zarrscope cells.zarr
      zarrscope open --write cells.zarr
      zarrscope https://example.org/cells.zarr/0
    """
    for url in urls:
        if "://" not in url and "|" not in url:
            opened(url)
    if has_display():
        try:
            from zarrscope_app.qt import main
        except ImportError as missing:
            say(f"The window needs {missing.name or 'Qt'}: pip install 'zarrscope[qt]'.")
        else:
            return main(urls, writable=write)
    if not urls:
        click.echo(context.find_root().get_help())
        return 0
    if sys.stdin.isatty() and sys.stdout.isatty():
        return _terminal(urls[0], write)
    raise Failed(
        "There is no display for the window and no terminal to draw in. "
        f"Make a picture instead: zarrscope render {urls[0]} -o picture.png"
    )


def has_display() -> bool:
    """Whether a window could open."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@click.command("tui")
@click.argument("url")
@click.option("--write", is_flag=True, help="Open for editing; otherwise nothing can be changed.")
def tui(url: str, write: bool) -> int:
    """Explores URL in the terminal.

    \b
    Examples:
      zarrscope tui cells.zarr
      ssh cluster -t zarrscope tui /data/cells.zarr
    """
    return _terminal(url, write)


def _terminal(url: str, write: bool) -> int:
    if find_spec("textual") is None:
        raise Failed("The terminal application needs textual: pip install 'zarrscope[tui]'.")
    from zarrscope_app.tui import main

    return main(url, writable=write)


@click.command("ls")
@click.argument("url")
@click.argument("node", required=False)
@opening
@JSON
def ls(url: str, node: str | None, as_json: bool, **how: Any) -> None:
    """Lists the children of a group.

    \b
    Examples:
      zarrscope ls cells.zarr
      zarrscope ls cells.zarr labels --json
    """
    _, group = opened(url, node, **how)
    if group.kind == "array":
        children = [(group.path, group.kind, group.metadata, group.problem)]
    else:
        children = [(c.name, c.kind, c.metadata, c.error) for c in _sorted(group)]
    if as_json:
        show_json([_entry(*child) for child in children])
        return
    width = min(40, max((len(name) for name, *_ in children), default=0))
    for name, kind, metadata, error in children:
        shown = name + ("/" if kind == "group" else "")
        show(f"{shown:<{width + 2}} {kind or '?':<6} {summary(metadata, error)}".rstrip())
    if not children:
        from zarrscope_app.presenters import words

        say(words.EMPTY_GROUP)


def _sorted(group: Any, tree: Any = None) -> list[Any]:
    from zarrscope.naming import natural

    return sorted(group.names(tree=tree), key=lambda child: natural(child.name))


def _entry(name: str, kind: str | None, metadata: Any, error: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": name, "kind": kind}
    if metadata is not None and metadata.kind == "array":
        entry |= {"shape": list(metadata.shape), "dtype": metadata.dtype.name}
    if error is not None:
        entry["error"] = str(error)
    return entry


@click.command("tree")
@click.argument("url")
@click.argument("node", required=False)
@click.option("--depth", type=click.IntRange(1, 64), default=64, help="How many levels down.")
@click.option("--most", type=click.IntRange(1), default=200, show_default=True, help="Children shown of one group.")
@opening
@JSON
def tree(url: str, node: str | None, depth: int, most: int, as_json: bool, **how: Any) -> None:
    """Draws the hierarchy.

    \b
    Examples:
      zarrscope tree cells.zarr
      zarrscope tree cells.zarr labels --depth 1
    """
    hierarchy, top = opened(url, node, **how)
    tree = hierarchy.tree(top.path) if depth > 1 else None  # which lists all levels at once where that is cheaper
    if as_json:
        show_json(_branch(top, tree, depth))
        return
    show(f"{top.path}  {summary(top.metadata) or _kind(top)}")
    if top.kind == "group":
        _draw(top, tree, "", depth, most)


def _kind(group: Any) -> str:
    """What a group holds, where its attributes tell."""
    from zarrscope.pyramid import find_collection, find_images

    if images := find_images(group):
        word = "labels" if images[0].is_label else "image"
        return f"{word}, OME-Zarr {images[0].version}"
    found = find_collection(group)
    return f"{found.kind}, OME-Zarr" if found is not None else ""


def _draw(group: Any, tree: Any, indent: str, depth: int, most: int) -> None:
    from zarrscope_app.presenters import words

    try:
        children = _sorted(group, tree)
    except Exception as error:
        show(f"{indent}└── ({words.problem(error).headline})")
        return
    shown = children[:most]
    for i, child in enumerate(shown):
        last = i == len(shown) - 1 and len(shown) == len(children)
        inner = _open_child(group, child)
        quiet = summary(child.metadata, child.error) or (_kind(inner) if inner is not None else "")
        name = words.clean(child.name) + ("/" if child.kind == "group" else "")
        show(f"{indent}{'└── ' if last else '├── '}{name}{'  ' if quiet else ''}{quiet}")
        if inner is not None and depth > 1:
            _draw(inner, tree, indent + ("    " if last else "│   "), depth - 1, most)
    if len(shown) < len(children):
        show(f"{indent}└── … {words.counted(len(children) - len(shown), 'more child', 'more children')}")


def _open_child(group: Any, child: Any) -> Any:
    """The child when it is a group that opens, else None."""
    from zarrscope.errors import ZarrscopeError

    if child.kind != "group":
        return None
    try:
        return group.hierarchy.open_node(f"{group.path.rstrip('/')}/{child.name}", child.kind)
    except ZarrscopeError:
        return None


def _branch(node: Any, tree: Any, depth: int) -> dict[str, Any]:
    entry = _entry(node.name or "/", node.kind, node.metadata, None)
    if node.kind == "group" and depth > 0:
        entry["children"] = []
        for child in _sorted(node, tree):
            inner = _open_child(node, child)
            below = _branch(inner, tree, depth - 1) if inner is not None else None
            entry["children"].append(below or _entry(child.name, child.kind, child.metadata, child.error))
    return entry


@click.command("info")
@click.argument("url")
@click.argument("node", required=False)
@opening
@JSON
def info(url: str, node: str | None, as_json: bool, **how: Any) -> None:
    """Says what a node is: shape, type, chunks, codecs, image.

    \b
    Examples:
      zarrscope info cells.zarr
      zarrscope info cells.zarr 0 --json
    """
    hierarchy, found = opened(url, node, **how)
    image, collection, warnings = _meaning(found)
    stored = _stored_bytes(hierarchy, found)
    if as_json:
        show_json(_facts(hierarchy, found, image, collection, warnings, stored))
        return
    from zarrscope_app.presenters import words
    from zarrscope_app.presenters.metadata import as_text, describe

    show(as_text(describe(found, image, collection, hierarchy.extensions(found.path))).rstrip("\n"))
    if stored is not None and found.nbytes:
        show(f"\nTakes up {words.size(stored)} ({words.percent(stored / found.nbytes)} of {words.size(found.nbytes)}).")
    for warning in warnings:
        say(f"Warning: {warning}")


def _meaning(node: Any) -> tuple[Any, Any, list[str]]:
    """(image, collection, what went wrong on the way)."""
    from zarrscope.errors import ZarrscopeError
    from zarrscope.pyramid import find_collection, find_images

    if node.kind == "array":
        misplaced = node.hierarchy.misplaced_chunks(node)
        return None, None, [misplaced] if misplaced else []
    images = find_images(node)
    if images:
        try:
            _ = images[0].levels
        except ZarrscopeError as error:
            return None, find_collection(node), [f"The image cannot be opened: {error}"]
    return (images[0] if images else None), find_collection(node), []


def _stored_bytes(hierarchy: Any, node: Any, most: int = 5000) -> int | None:
    """What an array's chunks take up, where a local folder tells and there are not too many of them."""
    root = getattr(hierarchy.store, "root", None)
    if node.kind != "array" or root is None:
        return None
    total, seen, folders = 0, 0, [os.path.join(root, *node.metadata.keys.prefix.split("/"))]
    try:
        while folders:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    seen += 1
                    if seen > most:
                        return None
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif not entry.name.startswith(".") and entry.name not in ("zarr.json", "attributes.json"):
                        total += entry.stat(follow_symlinks=False).st_size
    except OSError:
        return None
    return total


def _extension(report: Any) -> dict[str, Any]:
    return {
        "point": report.point,
        "name": report.name,
        "understood": report.understood,
        "required": report.required,
        "outcome": report.outcome.value,
        "advice": report.advice,
        "pointer": report.pointer,
        "configuration": dict(report.configuration),
        **({"fallback": report.fallback} if report.fallback else {}),
    }


def _facts(
    hierarchy: Any, node: Any, image: Any, collection: Any, warnings: list[str], stored: int | None
) -> dict[str, Any]:
    metadata = node.metadata
    facts: dict[str, Any] = {
        "store": hierarchy.url,
        "path": node.path,
        "kind": node.kind,
        "dialect": metadata.dialect,
        "warnings": [*node.warnings, *warnings],
        "also": list(hierarchy.also),
        "extensions": [_extension(report) for report in node.extensions],
        "extensions_declared": [
            {
                "origin": found.origin,
                "form": found.form,
                "target": found.target,
                "resolved": [_extension(report) for report in found.resolved],
                **_extension(found.report),
            }
            for found in hierarchy.extensions(node.path)
        ],
    }
    if node.kind == "array":
        facts |= {
            "shape": list(metadata.shape),
            "dtype": metadata.dtype.name,
            "nbytes": node.nbytes,
            "stored_nbytes": stored,
            "chunks": list(node.chunks),
            "shards": list(node.shards) if node.shards else None,
            "codecs": [{"name": c.name, "configuration": dict(c.configuration)} for c in metadata.codecs],
            "fill_value": metadata.fill.value if metadata.fill.defined else None,
            "dimension_names": list(metadata.dimension_names) if metadata.dimension_names else None,
            "problem": str(node.problem) if node.problem is not None else None,
        }
    if image is not None:
        facts["warnings"] += image.warnings
        facts["image"] = {
            "name": image.name,
            "version": image.version,
            "axes": [{"name": a.name, "type": a.type, "unit": a.unit} for a in image.axes],
            "levels": [
                {"path": v.path, "shape": v.shape, "scale": v.scale, "translation": v.translation} for v in image.levels
            ],
            "channels": [
                {"label": c.label, "color": "{:02X}{:02X}{:02X}".format(*c.color), "window": c.window}
                for c in image.channels
            ],
            "labels": list(image.labels),
        }
    if collection is not None:
        listed = collection.members
        facts["collection"] = {
            "kind": collection.kind,
            "name": collection.name,
            "members": None if listed is None else [m.path for m in listed],
        }
    return facts


COMMANDS = (open_, ls, tree, info, tui)
