"""`add-labels`: adds an empty label image that fits an image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from zarrscope_app.cli.changing import change
from zarrscope_app.cli.console import acting
from zarrscope_app.cli.nodes import DRY, JSON

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy


@click.command("add-labels")
@click.argument("url")
@click.argument("name")
@click.option("--image", default="/", metavar="NODE", help="The image; by default the root.")
@click.option("--dtype", default="uint32", show_default=True, help="The data type, an integer type.")
@DRY
@JSON
@acting
def add_labels(url: str, name: str, image: str, dtype: str, dry_run: bool, as_json: bool) -> None:
    """Adds the empty label image NAME to an OME-Zarr image. It gets the levels and pixel sizes of the image, and all
    its values are 0.

    \b
    Examples:
      zarrscope add-labels cells.zarr nuclei
      zarrscope add-labels plate.zarr cells --image A/1/0 --dtype uint16 --dry-run
    """

    def act(hierarchy: Hierarchy) -> dict[str, Any]:
        from zarrscope import convert

        made = convert.add_label_image(hierarchy, image, name, dtype=dtype)
        return {"path": made.path, "levels": sum(child.kind == "array" for child in made.children())}

    change(url, act, dry_run, True, as_json)
