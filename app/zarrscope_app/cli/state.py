"""Copied views (texts that begin with "zarrscope:") on the command line: as an option, or in place of a URL."""

from __future__ import annotations

from typing import Any

import click

SIGN = "zarrscope:"


def decoded(text: str) -> dict[str, Any]:
    """The view that a text encodes. Raises Refused."""
    from zarrscope_app.presenters.session.state_text import decode_view

    return decode_view(text)


def is_state(text: str) -> bool:
    """Whether an argument is a view instead of an address."""
    return text.startswith((SIGN, "{"))


def place_of_view(view: dict[str, Any] | None, url: str | None) -> str:
    """The address of a view: `url` if it is given, else the address that the view contains."""
    if url is not None:
        return url
    if view is None:
        raise click.UsageError("Name a URL, or a view with --state.")
    return str(view["url"])


def _take(_: click.Context, __: click.Parameter, text: str | None) -> dict[str, Any] | None:
    return None if text is None else decoded(text)


STATE = click.option(
    "--state",
    "view",
    metavar="TEXT",
    callback=_take,
    help="A copied view, which states node, indices, axes, level, contrast, colours and crosshair.",
)
