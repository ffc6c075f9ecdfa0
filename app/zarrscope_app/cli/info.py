"""`info`: describes a node as text, or field by field with --json and --plain."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from zarrscope.nodes.misplaced import misplaced_chunks
from zarrscope_app.cli.color import show_pieces
from zarrscope_app.cli.console import opened, opening, say, show, show_json
from zarrscope_app.cli.folding import folded, line_width
from zarrscope_app.cli.plain import plain, show_columns

if TYPE_CHECKING:
    from zarrscope.model.metadata import ArrayMetadata, ExtensionReport
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group
    from zarrscope.nodes.hierarchy import Hierarchy
    from zarrscope.ome.collection import Collection
    from zarrscope.view.image import Image

PATIENCE = 1.0
"""The most seconds for finding the stored bytes of an array."""
JSON = click.option("--json", "as_json", is_flag=True, help="Machine-readable: sorted JSON.")


def if_read(metadata: ArrayMetadata, part: str, value: object) -> object:
    """The value from the document, or None if that part could not be understood and `value` is a stand-in."""
    return None if part in metadata.unread else value


@click.command("info")
@click.argument("url")
@click.argument("node", required=False)
@opening
@JSON
def info(url: str, node: str | None, as_json: bool, **how: Any) -> None:
    """Describes a node: shape, type, chunks, codecs, image.

    --plain prints the fields of --json, one per line: the name, such as image/levels/0/path, and the value.

    \b
    Examples:
      zarrscope info cells.zarr
      zarrscope info cells.zarr 0 --json
    """
    from zarrscope.jsondoc.parse import parsed_once

    with parsed_once():  # keeps one parsed copy of a long document, not one per read
        _print_info(url, node, as_json, **how)


def _print_info(url: str, node: str | None, as_json: bool, **how: Any) -> None:
    hierarchy, found = opened(url, node, folder=as_json or plain(), **how)
    image, collection, warnings = _meaning(hierarchy, found)
    stored = _stored_bytes(hierarchy, found)
    if as_json:
        show_json(_facts(hierarchy, found, image, collection, warnings, stored))
        return
    if plain():
        for name, value in _facts(hierarchy, found, image, collection, warnings, stored).items():
            _show_facts(name, value)
        return
    from zarrscope_app.presenters import origins, strings
    from zarrscope_app.presenters.node_description import as_text, describe

    origin = origins.sentence(origins.origin_of(hierarchy, found.path)) if found.path != "/" else ""
    described = describe(found, image, collection, hierarchy.extensions(found.path), origin)
    width = line_width()
    title, _, text = as_text(described, width).partition("\n")
    show_pieces([(title, found.kind)])
    show(folded(text.rstrip("\n"), width))
    if stored is not None and found.kind == "array" and found.nbytes:
        share = strings.percent(stored / found.nbytes)
        show(folded(f"\nTakes up {strings.size(stored)} ({share} of {strings.size(found.nbytes)}).", width))
    for warning in warnings:
        say(f"Warning: {warning}")


def _show_facts(name: str, value: object) -> None:
    """Prints a field of --json and the fields within it, each on a line with its name (image/levels/0/path) and its
    value. A list of plain values is one field, with commas."""
    if isinstance(value, dict):
        for key, each in value.items():
            _show_facts(f"{name}/{key}", each)
    elif isinstance(value, list) and any(isinstance(each, dict | list | tuple) for each in value):
        for number, each in enumerate(value):
            _show_facts(f"{name}/{number}", each)
    else:
        show_columns(name, value)


def _meaning(hierarchy: Hierarchy, node: Group | Array) -> tuple[Any, Any, list[str]]:
    """The image and the collection that the attributes describe (None if they describe none), and warnings."""
    from zarrscope.errors import ZarrscopeError
    from zarrscope.view.image import find_collection, find_images

    if node.kind == "array":
        misplaced = misplaced_chunks(node)
        return None, None, [misplaced] if misplaced else []
    images = find_images(node)
    if images:
        try:
            _ = images[0].levels
        except ZarrscopeError as error:
            return None, find_collection(node), [f"The image cannot be opened: {error}"]
    return (images[0] if images else None), find_collection(node), []


def _stored_bytes(hierarchy: Hierarchy, node: Group | Array) -> int | None:
    """The stored size of an array's chunks, as `chunks` counts them, if the store is of this computer and they are
    found in time; else None."""
    if node.kind != "array" or hierarchy.store.remote or node.metadata.unread:
        return None
    from zarrscope.check.inventory import take_inventory
    from zarrscope.errors import ZarrscopeError

    end = time.monotonic() + PATIENCE
    try:
        found = take_inventory(node, lambda: time.monotonic() > end)
    except ZarrscopeError:
        return None
    return found.nbytes if found.known and found.complete else None


def _extension(report: ExtensionReport) -> dict[str, Any]:
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
    hierarchy: Hierarchy,
    node: Group | Array,
    image: Image | None,
    collection: Collection | None,
    warnings: list[str],
    stored: int | None,
) -> dict[str, Any]:
    from zarrscope_app.presenters import origins

    metadata = node.metadata
    facts: dict[str, Any] = {
        "store": hierarchy.url,
        "path": node.path,
        "kind": node.kind,
        "found_by": origins.field(origins.origin_of(hierarchy, node.path)),
        "dialect": metadata.dialect,
        "warnings": [*node.warnings, *warnings],
        "also": list(hierarchy.other_dialects),
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
        metadata = node.metadata
        facts |= {
            "shape": if_read(metadata, "shape", list(metadata.shape)),
            "dtype": metadata.dtype.name,
            "nbytes": node.nbytes,
            "stored_nbytes": stored,
            "chunks": if_read(metadata, "grid", list(node.chunks)),
            "shards": list(node.shards) if node.shards else None,
            "codecs": if_read(
                metadata,
                "codecs",
                [{"name": c.name, "configuration": dict(c.configuration)} for c in metadata.codecs],
            ),
            "fill_value": metadata.fill.value if metadata.fill.defined else None,
            "dimension_names": list(metadata.dimension_names) if metadata.dimension_names else None,
            "problem": str(node.problem) if node.problem is not None else None,
        }
    if image is not None:
        from zarrscope.view.image import WHITE

        facts["warnings"] += image.warnings
        facts["image"] = {
            "name": image.name,
            "version": image.version,
            "axes": [{"name": a.name, "type": a.type, "unit": a.unit} for a in image.axes],
            "levels": [
                {"path": v.path, "shape": v.shape, "scale": v.scale, "translation": v.translation} for v in image.levels
            ],
            "channels": [
                {"label": c.label, "color": "{:02X}{:02X}{:02X}".format(*(c.color or WHITE)), "window": c.window}
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
