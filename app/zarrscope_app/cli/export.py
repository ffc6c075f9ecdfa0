"""`export`: writes a view, a region or a node as PNG, TIFF, OME-TIFF, npy, CSV or Zarr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zarrscope_app.cli.console import acting, follow_links, need_folder, opened, opening, say, show, show_json
from zarrscope_app.cli.selection import SELECT, parse_selection, placed
from zarrscope_app.cli.state import STATE, place_of_view
from zarrscope_app.cli.streams import rewrite

if TYPE_CHECKING:
    from zarrscope.convert.export import Format

FORMATS = ("png", "tiff", "ome-tiff", "npy", "csv", "zarr")


@click.command("export", short_help="Writes a view, a region or a node as a file.")
@click.argument("places", nargs=-1, metavar="URL [NODE] OUT")
@click.option("-o", "--output", metavar="OUT", help="OUT as an option, as the verbs read and render have it.")
@click.option(
    "--what",
    type=click.Choice(["view", "region", "node"]),
    help="The thing to write; by default it follows from the other options.",
)
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), help="The format of OUT; by default its ending names the format."
)
@SELECT
@click.option("--level", type=click.IntRange(0), default=0, show_default=True, help="The level to take values from.")
@STATE
@click.option(
    "--size",
    type=click.IntRange(16, 16384),
    default=1024,
    show_default=True,
    help="The longest side of a view in pixels.",
)
@click.option("--overwrite", is_flag=True, help="Overwrite an existing OUT, but never a Zarr hierarchy.")
@click.option("--dry-run", is_flag=True, help="Print the content and size of the file; write nothing.")
@opening
@click.option("--json", "as_json", is_flag=True, help="Machine-readable: sorted JSON.")
@acting
def export(
    places: tuple[str, ...],
    output: str | None,
    what: str | None,
    format_: str | None,
    selection: str | None,
    level: int,
    view: dict[str, Any] | None,
    size: int,
    overwrite: bool,
    dry_run: bool,
    as_json: bool,
    **how: Any,
) -> int:
    """Writes a view, a region or a node as PNG, TIFF, OME-TIFF, npy, CSV or Zarr. Prints the size and the expected time
    first.

    A view is the picture as it is painted (PNG, TIFF); a region (--select, --level) and a node are values, with pixel
    sizes and channel names if the format can hold them. --select counts in elements of the finest level. OUT is written
    completely or not at all, and an existing file is overwritten only on request.

    \b
    Examples:
      zarrscope export cells.zarr cells.ome.tif --select "t=0,z=16"
      zarrscope export cells.zarr 0 plane.npy --select "0,1,16" --dry-run
      zarrscope export cells.zarr labels/nuclei nuclei.zarr
      zarrscope export --state zarrscope:eNqrVi... view.png
    """
    url, node, out = _places(places if output is None else (*places, output), view)
    from zarrscope.convert.export import FORMATS as formats
    from zarrscope.convert.export import format_of
    from zarrscope.errors import Conflict, Refused

    try:
        chosen = format_of(out, format_)
    except Refused as error:
        raise click.UsageError(f"{error.message}. {error.advice}") from None
    assert chosen in formats
    need_folder(Path(out).expanduser().absolute())
    what = what or ("view" if not chosen.values or view is not None else "region" if selection or level else "node")
    if what != "view" and view is not None:
        raise click.UsageError("--state describes a view: leave out --what, or choose view.")
    if what == "view" and selection is not None:
        raise click.UsageError("A view comes from --state, or is the whole plane. For --select use --what region.")
    if what == "view":
        prepared, told = _view(url, node, view, out, size, how)
    else:
        prepared, told = _values(url, node, what, selection, level, out, chosen, how)
    told = {"what": what, "format": chosen.id, "target": os.path.abspath(out), "notes": list(prepared.notes), **told}
    if not as_json:
        # The sentence about a copied node names the dialect, which is that of the node.
        title = "a copy" if chosen.id == "zarr" and what == "node" else chosen.title
        say(f"{out}: {title}, {prepared.sentence}")
        for note in prepared.notes:
            say(note)
    if not dry_run:
        try:
            prepared.work(_reporting(as_json), lambda: False, overwrite)
        except Conflict as error:
            if os.path.isfile(out):
                error.advice = "Choose another name, or add --overwrite."
            raise
        if sys.stderr.isatty() and not as_json:
            rewrite(" " * 70)
        if not as_json and (remark := prepared.remark()):
            say(remark)
    if as_json:
        show_json({**told, "written": not dry_run})
    elif not dry_run:
        show(os.path.abspath(out))
    return 0


def _places(places: tuple[str, ...], view: dict[str, Any] | None) -> tuple[str, str | None, str]:
    """Returns (URL, NODE or None, OUT). With --state, URL may be left out, and NODE comes from the view."""
    if view is not None and len(places) in (1, 2):
        return place_of_view(view, places[0] if len(places) == 2 else None), str(view["path"]), places[-1]
    if view is None and len(places) in (2, 3):
        return places[0], places[1] if len(places) == 3 else None, places[-1]
    raise click.UsageError("Name a URL, a NODE unless it is the root, and OUT; with --state only OUT is needed.")


def _view(
    url: str, node: str | None, view: dict[str, Any] | None, out: str, size: int, how: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    from functools import partial

    from zarrscope.stores.file_address import ARCHIVES
    from zarrscope_app.presenters.session.exporting import prepared_picture
    from zarrscope_app.presenters.session.opening import open_place
    from zarrscope_app.presenters.session.painted import painted

    if view is None:
        hierarchy, found = opened(url, node, descend=True)
        if "::" not in url and hierarchy.url.lower().endswith(ARCHIVES):
            url = hierarchy.url  # the only archive in a folder
        view = {"url": url, "path": found.path}
    opener = partial(open_place, lenient=how["lenient"], fallbacks=how["fallbacks"])
    fill = how["missing_is_fill"]
    picture = painted(url, view, size, report=say, opener=opener, follow_links=follow_links(), missing_is_fill=fill)
    return prepared_picture(picture, out), {"shape": list(picture.shape), "dtype": "uint8", "nbytes": picture.nbytes}


def _values(
    url: str,
    node: str | None,
    what: str,
    selection: str | None,
    level: int,
    out: str,
    chosen: Format,
    how: dict[str, Any],
) -> tuple[Any, dict[str, Any]]:
    from zarrscope.convert import export as engine
    from zarrscope.errors import Refused
    from zarrscope_app.presenters.session.exporting import prepared_copy, prepared_values

    parts = parse_selection(selection)
    hierarchy, found = opened(url, node, descend=True, **how)
    if what == "node" and chosen.id == "zarr":
        return prepared_copy(hierarchy, found.path, out), {"shape": None, "dtype": None, "nbytes": None}
    try:
        source = engine.ExportSource.of(found, level, placed(parts, found))
    except Refused as error:
        engine.ExportSource.of(found, level)  # raises the error again if the node, not the selection, is its reason
        raise click.UsageError(f"{error.message}.") from None
    told = {"shape": list(source.shape), "dtype": str(source.dtype), "nbytes": source.nbytes}
    return prepared_values(source, out, chosen), told


def _reporting(quiet: bool) -> Callable[[float | None, str], None]:
    """Progress on one line of stderr, rewritten in place, if stderr is a terminal."""
    if quiet or not sys.stderr.isatty():
        return lambda progress, text: None
    return lambda progress, text: rewrite(f"{100 * (progress or 0):3.0f} %  {text}"[:70])
