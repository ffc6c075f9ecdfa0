"""Colour in the output: whether to use it (--color before or after the verb), and the colours of each kind of text.

Printed text cannot control the terminal (streams.py); only the sequences from this module reach it unchanged.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

import click

from zarrscope_app.cli.plain import plain
from zarrscope_app.cli.streams import InertStream

CHOICES = ("auto", "always", "never", "truecolor", "256", "16")
_ROLES = {
    "error": "31", "warning": "33", "information": "36", "group": "1;34", "quiet": "2", "added": "32", "removed": "31",
}  # fmt: skip
"""The SGR parameters (colours of a terminal) of each role that a piece of text may have. Other roles have none."""
_STARTS = {"+": "added", "-": "removed"}


def take_color(context: click.Context, _: click.Parameter, value: str | None) -> None:
    """Handles --color before or after the verb; if it is given twice, the last one counts."""
    root = context.find_root()
    if value is not None:
        root.meta[__name__] = value
    told = chosen(context)
    context.color = {"auto": False if os.environ.get("NO_COLOR") else None, "never": False}.get(told, True)


def chosen(context: click.Context | None = None) -> str:
    """The value of --color: "auto" if it was not given, "never" with --plain."""
    if plain():
        return "never"
    context = context or click.get_current_context(silent=True)
    told: str = context.find_root().meta.get(__name__, "auto") if context is not None else "auto"
    return told


def option() -> click.Option:
    """The option --color of a verb."""
    return click.Option(
        ["--color"],
        type=click.Choice(CHOICES),
        expose_value=False,
        callback=take_color,
        help="Colour: auto (on a terminal, unless NO_COLOR is set), always, never; for pictures truecolor, 256, 16.",
    )


def colored() -> bool:
    """Whether text on stdout gets colours."""
    if plain():
        return False
    context = click.get_current_context(silent=True)
    told = context.color if context is not None else None
    return told if told is not None else sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def show_pieces(pieces: Iterable[tuple[str, str]]) -> None:
    """Prints one line of (text, role) pieces on stdout; text from files cannot control the terminal."""
    from zarrscope.errors.visible import visible_lines

    if not colored():
        click.echo(visible_lines("".join(text for text, _ in pieces)))
        return
    for text, role in pieces:
        sequence = _ROLES.get(role, "")
        if sequence:
            steer_stdout(f"\x1b[{sequence}m")
        sys.stdout.write(visible_lines(text))
        if sequence:
            steer_stdout("\x1b[m")
    sys.stdout.write("\n")


def show_changes(text: str) -> None:
    """Prints a unified diff of a document on stdout: added lines begin with +, removed ones with -."""
    for line in text.split("\n"):
        show_pieces([(line, _STARTS.get(line[:1], ""))])


def steer_stdout(sequence: str) -> None:
    """Writes a control sequence that zarrscope itself made to stdout, without escaping it."""
    if isinstance(sys.stdout, InertStream):
        sys.stdout.steer(sequence)
    else:
        sys.stdout.write(sequence)
