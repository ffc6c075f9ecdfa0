"""`repack`: writes a zip archive again without its erased and replaced entries."""

from __future__ import annotations

import os

import click

from zarrscope_app.cli.console import Failed, show, show_json


@click.command("repack")
@click.argument("url")
@click.option("--dry-run", is_flag=True, help="Print the expected size; do nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the result, or the plan, as JSON.")
def repack(url: str, dry_run: bool, as_json: bool) -> None:
    """Compacts a .zip or .ozx file on this computer: erased and replaced entries take space until then.

    The entries of an .ozx file get the order that RFC-9 of OME-Zarr requires: the root's zarr.json first, then the
    others. The new file replaces the old one at the end, in one step.

    \b
    Examples:
      zarrscope repack cells.ozx --dry-run
      zarrscope repack cells.zip
    """
    from zarrscope.errors import NotFound, ZarrscopeError
    from zarrscope.stores.address import split_address
    from zarrscope.stores.file_address import looks_zipped, nearest
    from zarrscope.stores.local.paths import path_of
    from zarrscope.stores.zip import packing

    address = split_address(url)
    path = path_of(address.store_url) if address.store_url.startswith("file:") else ""
    if path and not os.path.lexists(path):
        raise NotFound(f"There is no archive {path}", store=address.store_url, advice=nearest(path))
    if address.node_path or not os.path.isfile(path) or not looks_zipped(path):
        raise Failed("Only a .zip or .ozx file on this computer can be repacked.")
    try:
        done = packing.repack(path, dry_run=dry_run)
    except ZarrscopeError:
        raise
    except OSError as error:
        raise Failed(f"The archive could not be written: {error.strerror or error}. Nothing was changed.") from error
    if as_json:
        show_json({"store": address.public_url, "entries": done.entries, "before": done.before, "after": done.after})
        return
    said = "would take" if dry_run else "takes"
    show(f"{done.entries:,} entries; the archive {said} {done.after:,} bytes instead of {done.before:,}.")
