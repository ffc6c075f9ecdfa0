"""Verbs that print or draw values: read, render, and demo."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

import click

from zarrscope_app.cli.console import (
    Failed,
    acting,
    follow_links,
    opened,
    opening,
    say,
    show,
    show_json,
    write_whole,
)
from zarrscope_app.cli.hints import index_sentence, is_index
from zarrscope_app.cli.plain import plain
from zarrscope_app.cli.selection import SELECT, parse_selection, placed
from zarrscope_app.cli.state import STATE, decoded, is_state, place_of_view
from zarrscope_app.cli.streams import rewrite, steer

PRINT_LIMIT = 10_000


@click.command("read")
@click.argument("url")
@click.argument("node", required=False)
@SELECT
@click.option("-o", "--output", help="A .npy file to write; - for stdout.")
@opening
@click.option("--json", "as_json", is_flag=True, help="Print the values as nested JSON lists.")
def read(url: str, node: str | None, selection: str | None, output: str | None, as_json: bool, **how: Any) -> None:
    """Reads values of an array, and prints them or writes them to a .npy file.

    \b
    Examples:
      zarrscope read cells.zarr 0 --select "0,0,16,10:14,10:14"
      zarrscope read cells.zarr 0 --select "z=10:90,t=0" -o out.npy
    """
    import numpy as np

    from zarrscope.model.selection import select

    if node is not None and selection is None and is_index(node):
        raise click.UsageError(index_sentence(node))
    parts = parse_selection(selection)
    _, array = opened(url, node, descend=True, **how)
    if array.kind != "array":
        raise Failed(f"{array.path} is a group. Name one of its arrays; zarrscope ls {url} lists them.")
    if output and output != "-" and not output.endswith(".npy"):
        raise click.UsageError("Values are written as .npy: give the output file that ending.")
    chosen = placed(parts, array)
    try:
        size = select(chosen, array.shape).size
        if not output and size > PRINT_LIMIT:
            raise Failed(f"That is {size:,} values. Print fewer with --select, or write them with -o out.npy.")
        if size == 0 and array.size:
            from zarrscope_app.presenters import strings

            say(f"The selection is empty: {array.path} has the shape {strings.shape(array.shape)}.")
        values = np.asarray(array[chosen])
    except IndexError as error:
        raise click.UsageError(f"--select {selection!r} does not fit the shape {array.shape}: {error}.") from None
    if output:
        import io

        if values.dtype == object:
            texts = all(isinstance(v, str) for v in values.flat)
            values = values.astype(str if texts else bytes)
        buffer = io.BytesIO()
        np.save(buffer, values, allow_pickle=False)
        write_whole(output, buffer.getvalue())
        return
    if as_json:
        show_json(values.tolist())
        return
    from zarrscope_app.presenters import strings

    if values.ndim == 0:
        show(strings.exact(values[()], 100_000))
    else:
        show(np.array2string(values, threshold=PRINT_LIMIT + 1, max_line_width=120))


@click.command("render", short_help="Draws one plane as a PNG.")
@click.argument("url", required=False)
@click.argument("node", required=False)
@click.argument("out", required=False)
@SELECT
@click.option("-o", "--output", help="The .png file to write, instead of OUT; - for stdout.")
@click.option("--size", type=click.IntRange(16, 16384), default=1024, show_default=True, help="Longest side in pixels.")
@click.option("--level", type=click.IntRange(0), help="The level to draw; by default the one that fits --size.")
@click.option("--labels", is_flag=True, help="Draw the first label image over the picture.")
@STATE
@opening
def render(
    url: str | None,
    node: str | None,
    out: str | None,
    selection: str | None,
    output: str | None,
    size: int,
    level: int | None,
    labels: bool,
    view: dict[str, Any] | None,
    **how: Any,
) -> None:
    """Draws one plane as a PNG, all active channels together. Needs no display.

    --select counts in elements of the finest level: an index for each axis that is not shown, a range to crop an axis
    or to choose channels. --state draws a copied view; URL may then be left out, or be another address with the same
    data.

    \b
    Examples:
      zarrscope render cells.zarr cells.png
      zarrscope render cells.zarr --select "z=16" -o plane.png
      zarrscope render cells.zarr 0 --select "0,1,16,200:400,100:300" -o detail.png
      zarrscope render --state zarrscope:eNqrVi... -o view.png
    """
    url, node, output = _render_places([url, node, out], output)
    if output != "-" and not output.lower().endswith(".png"):
        raise click.UsageError("Pictures are written as .png: give the output file that ending.")
    if url is not None and view is None and is_state(url):
        view, url = decoded(url), None
    if view is not None:
        if node is not None or selection is not None or level is not None or labels:
            raise click.UsageError("A view states node, indices, level and labels: leave these out with --state.")
        _render_view(view, place_of_view(view, url), output, size, how)
        return
    url = place_of_view(view, url)
    from zarrscope.view.png import png
    from zarrscope_app.cli.drawing import ImageDrawing, image_to_draw

    parts = parse_selection(selection)
    _, found = opened(url, node, descend=True, **how)
    image = image_to_draw(found, url)
    picture = ImageDrawing(image, placed(parts, found), size, level, labels).paint()
    write_whole(output, png(picture))


def _render_places(places: list[str | None], output: str | None) -> tuple[str | None, str | None, str]:
    """Returns (URL or None, NODE or None, file to write). Without -o, the last argument is the file."""
    given = [each for each in places if each is not None]
    if output is None:
        if not given or not given[-1].lower().endswith(".png"):
            raise click.UsageError("Name the .png file to write, as the last argument or with -o.")
        output = given.pop()
    if len(given) > 2:
        raise click.UsageError("Name a URL, and a NODE unless it is the root: the file is named by -o already.")
    url, node, *_ = [*given, None, None]
    return url, node, output


def _render_view(view: dict[str, Any], url: str, output: str, size: int, how: dict[str, Any]) -> None:
    from functools import partial

    from zarrscope.view.png import png
    from zarrscope_app.presenters.session.opening import open_place
    from zarrscope_app.presenters.session.painted import painted

    opening = partial(open_place, lenient=how["lenient"], fallbacks=how["fallbacks"])
    links, fill = follow_links(), how["missing_is_fill"]
    picture = painted(url, view, size, report=say, opener=opening, follow_links=links, missing_is_fill=fill)
    write_whole(output, png(picture))


SECONDS_OF_DEMO = {"small": "a second", "full": "half a minute"}
"""The time that each size of the demo volume takes, as told before it is made."""


@click.command("demo", short_help="Makes the demo volume.")
@click.argument("folder", metavar="[DIR]", required=False)
@click.option("--size", type=click.Choice(["small", "full"]), default="full", show_default=True)
@acting
def demo(folder: str | None, size: Literal["small", "full"]) -> None:
    """Makes the demo volume, unless it exists, and prints its path.

    small is 2 x 3 x 16 x 256 x 256 and takes a second; full is 2 x 3 x 64 x 1024 x 1024 and takes half a minute.

    \b
    Examples:
      zarrscope demo
      zarrscope demo /tmp/organoids.zarr --size small
    """
    from zarrscope_app.demo import demo_folder, demo_place
    from zarrscope_resources.demo import make

    target = Path(_folder_of(folder)) if folder else demo_place(size)
    in_place = sys.stderr.isatty() and not plain()

    def tell(done: int, total: int) -> None:
        if in_place:
            rewrite(f"Making the demo volume {100 * done // max(1, total):3} %")
        elif done == 0:
            say(f"Making the demo volume at {target}. This takes {SECONDS_OF_DEMO[size]}.")

    made = make(target, size, tell) if folder else demo_folder(size, tell)
    if in_place:
        rewrite(" " * 30)
        steer("\r")
    show(str(made))


def _folder_of(address: str) -> str:
    """The path on this computer that an address names."""
    from zarrscope.stores.address import split_address
    from zarrscope.stores.local.paths import path_of

    found = split_address(address)
    if not found.store_url.startswith("file:") or found.node_path:
        raise Failed(f"The demo volume is made in a folder of this computer, not at {found.public_url}.")
    return path_of(found.store_url)
