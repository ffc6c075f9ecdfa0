"""Verbs that explore hierarchies: `open` in the window, `tui` in the terminal."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from zarrscope_app.cli.color import chosen
from zarrscope_app.cli.console import MISSING_IS_FILL, Failed, follow_links, opened, say
from zarrscope_app.cli.show import IMAGE, THEME
from zarrscope_app.cli.state import STATE, decoded, is_state, place_of_view
from zarrscope_app.process import uncollected

THREADS = click.option(
    "--threads",
    type=click.IntRange(1, 256),
    metavar="N",
    help="The number of threads that read and decode; by default 2 over SSH, else the number of cores.",
)


@click.command("open", short_help="Opens URLs in the window (the default verb).")
@click.argument("urls", nargs=-1, metavar="URL... [NODE]")
@click.option("--write", is_flag=True, help="Open for editing; otherwise nothing can be changed.")
@STATE
@MISSING_IS_FILL
@click.pass_context
def open_(
    context: click.Context,
    urls: tuple[str, ...] = (),
    write: bool = False,
    view: dict[str, Any] | None = None,
    missing_is_fill: bool = False,
) -> int:
    """Opens URLs in the window, or in the terminal if there is no display. A copied view may stand in place of a URL.

    A node may follow its URL: a text that is neither a URL nor an existing path.

    \b
    Examples:
      zarrscope cells.zarr
      zarrscope open --write cells.zarr
      zarrscope open cells.zarr labels/nuclei
      zarrscope https://example.org/cells.zarr/0
      zarrscope open --state zarrscope:eNqrVi...
      zarrscope open --state zarrscope:eNqrVi... copy-of-cells.zarr
    """
    from zarrscope.stores.address import split_address

    urls, view = _places(urls, view)
    for url in urls:
        if split_address(url).store_url.startswith("file:"):
            opened(url, folder=False)
    no_window = _why_no_window()
    if not no_window:
        from zarrscope_app.qt import main

        links = follow_links()
        return main(urls, writable=write, follow_links=links, missing_is_fill=missing_is_fill, view=view)
    if not urls:
        click.echo(context.find_root().get_help())
        return 0
    if has_display():
        say(no_window)
    if sys.stdin.isatty() and sys.stdout.isatty():
        _need_terminal(urls[0], no_window)
        return _terminal(urls, write, missing_is_fill, view)
    raise Failed(
        f"{'' if has_display() else no_window + ' '}There is no terminal to draw in. "
        f"Make a picture instead: zarrscope render {urls[0]} -o picture.png"
    )


def _need_terminal(url: str, no_window: str) -> None:
    """Raises Failed with every way to see a hierarchy, if the terminal application cannot take the window's place."""
    from zarrscope_app.presenters.installation import lacking

    if not (missing := lacking("terminal")):
        return
    told = [missing] if has_display() else [no_window, lacking("window"), missing]
    place = shlex.quote(url)
    raise Failed(
        " ".join(filter(None, told)) + f" Without them, zarrscope show {place} draws a picture here, and zarrscope "
        f"tree {place} lists the hierarchy."
    )


def _why_no_window() -> str:
    """The reason why no window can open here; "" if one can."""
    from zarrscope_app.presenters.installation import choose_qt, lacking, qt_fails

    if not has_display():
        return "There is no display for the window."
    if missing := lacking("window"):
        return missing
    choose_qt()
    try:
        with uncollected():
            import_module("zarrscope_app.qt.window")
    except ImportError as error:
        return qt_fails(error)
    return ""


def has_display() -> bool:
    """Whether there is a display for a window, or Qt's platform plugin draws without one."""
    if sys.platform in ("win32", "darwin"):
        return True
    platform = os.environ.get("QT_QPA_PLATFORM", "")
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) or platform in ("offscreen", "vnc")


@click.command("tui")
@click.argument("urls", nargs=-1, metavar="URL... [NODE]")
@click.option("--write", is_flag=True, help="Open for editing; otherwise nothing can be changed.")
@click.option("--read-only", is_flag=True, help="Forbid editing for as long as the application runs.")
@IMAGE
@THEME
@THREADS
@STATE
@MISSING_IS_FILL
def tui(
    urls: tuple[str, ...],
    write: bool,
    read_only: bool,
    drawing: str,
    theme: str,
    threads: int | None,
    view: dict[str, Any] | None,
    missing_is_fill: bool,
) -> int:
    """Explores URLs in the terminal, all in one tree. With --state no URL is needed, because a view contains its
    address.

    A node may follow its URL: a text that is neither a URL nor an existing path.

    The terminal is asked which colours and pictures it can show, and whether it is light; --color, --image and --theme
    override its answer.

    \b
    Examples:
      zarrscope tui cells.zarr
      zarrscope tui cells.zarr labels/nuclei
      zarrscope tui cells.zarr copy-of-cells.zarr
      zarrscope tui --state zarrscope:eNqrVi...
      ssh cluster -t zarrscope tui /data/cells.zarr
    """
    if write and read_only:
        raise click.UsageError("--write and --read-only exclude each other.")
    urls, view = _places(urls, view)
    urls = urls or (place_of_view(view, None),)
    return _terminal(
        urls, write, missing_is_fill, view, drawing=drawing, theme=theme, threads=threads, read_only=read_only
    )


def _places(urls: tuple[str, ...], view: dict[str, Any] | None) -> tuple[tuple[str, ...], dict[str, Any] | None]:
    """The addresses to open, and the view to show, or None; a view is shown at one address only. A copied view may
    stand in place of a URL."""
    urls = with_nodes(urls)
    if len(urls) == 1 and view is None and is_state(urls[0]):
        view, urls = decoded(urls[0]), ()
    if view is None:
        return urls, None
    if len(urls) > 1:
        raise click.UsageError("A view belongs to one address: give at most one URL with --state.")
    return (place_of_view(view, urls[0] if urls else None),), view


ENDINGS = (".zarr", ".n5", ".zip", ".ozx", ".json")
"""Endings of names that are taken for a place even if nothing is there, so that a wrong name is told as such."""


def with_nodes(urls: Sequence[str]) -> tuple[str, ...]:
    """The addresses. An argument that is neither an address nor an existing path names a node of the address before
    it, as in the other verbs, and is joined to that address."""
    found: list[str] = []
    last = ""
    for text in urls:
        is_place = not found or any(sign in text for sign in (":", "|")) or text.rstrip("/").endswith(ENDINGS)
        if is_place or (text.strip("/") and os.path.lexists(text)):
            found.append(text)
            last = text
        elif found[-1] != last:
            raise click.UsageError(f"{text!r} is no place, and {last!r} already has a node: name the place again.")
        elif text.strip("/"):
            found[-1] = f"{last}::{text.strip('/')}"
    return tuple(found)


def _terminal(
    urls: tuple[str, ...],
    write: bool,
    missing_is_fill: bool,
    view: dict[str, Any] | None,
    *,
    threads: int | None = None,
    **how: Any,
) -> int:
    from zarrscope_app.process import few_threads

    threads = threads or (2 if os.environ.get("SSH_CONNECTION") else None)
    if threads is not None:
        few_threads(threads)
    from zarrscope_app.presenters.installation import lacking

    if missing := lacking("terminal"):
        raise Failed(missing)
    from zarrscope_app.tui import main

    how |= {"threads": threads, "follow_links": follow_links(), "missing_is_fill": missing_is_fill, "colors": chosen()}
    return main(urls, view=view, writable=write, **how)
