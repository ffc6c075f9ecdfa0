"""Makes the man page from click's commands, in man(7) macros."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from zarrscope_app.cli.help_text import folded_example

ENVIRONMENT = (
    ("NO_COLOR", "No colours, unless --color says otherwise."),
    ("COLORTERM, TERM", "The number of colours of the terminal, if it does not report them itself."),
    ("VISUAL, EDITOR", "The editor for attributes."),
    ("COLUMNS", "The width of help and of descriptions, if it is not the terminal's."),
    ("ZARRSCOPE_CACHE", "The folder of the demo volume, in place of ~/.cache/zarrscope."),
    ("ZARRSCOPE_DEBUG", "If set, a traceback is printed when a command fails."),
)
STATUS = (
    ("0", "done"), ("1", "failed, or findings"), ("2", "wrong usage"), ("3", "not found, or not Zarr"),
    ("129, 130, 143", "hung up, interrupted, terminated"),
)  # fmt: skip


EXAMPLE_WIDTH = 72
"""The columns of a line of an example: man indents it by seven, in a terminal of 80."""


def man_page() -> str:
    """The text of the man page: all verbs with their options, exit statuses and environment variables."""
    from zarrscope_app.cli import cli

    context = click.Context(cli, info_name="zarrscope")
    out = ['.TH ZARRSCOPE 1 "" "zarrscope" "User Commands"', ".SH NAME", r"zarrscope \- looks into Zarr hierarchies"]
    out += [".SH SYNOPSIS", r".B zarrscope", r"[\fIverb\fR] [\fIoptions\fR] [\fIURL\fR] [\fINODE\fR]"]
    out += [".SH DESCRIPTION", *_paragraphs(cli.help or ""), ".SH OPTIONS", *_options(cli, context)]
    out.append(".SH VERBS")
    for command, inner in _verbs(cli, context):
        usage = " ".join(command.collect_usage_pieces(inner))
        out += [f".SS {_escaped(inner.command_path)} {_escaped(usage)}", *_paragraphs(command.help or "")]
        out += _options(command, inner)
    out += [".SH EXIT STATUS", *_listed(STATUS), ".SH ENVIRONMENT", *_listed(ENVIRONMENT)]
    return "\n".join(out) + "\n"


def _verbs(group: click.Group, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        yield command, inner
        if isinstance(command, click.Group):
            yield from _verbs(command, inner)


def _options(command: click.Command, context: click.Context) -> list[str]:
    found = [row for p in command.params if isinstance(p, click.Option) and (row := p.get_help_record(context))]
    return _listed(found)


def _listed(rows: Iterator[tuple[str, str]] | list[tuple[str, str]] | tuple[tuple[str, str], ...]) -> list[str]:
    return [line for name, text in rows for line in (".TP", rf"\fB{_breakable(name)}\fR", _escaped(text))]


def _paragraphs(text: str) -> list[str]:
    """The paragraphs of a help text. Those with click's mark against rewrapping (\\b) keep their lines."""
    out: list[str] = []
    for part in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        lines = part.split("\n")
        if lines[0].strip() == "\b":
            shown = [part for line in lines[1:] for part in folded_example(line, EXAMPLE_WIDTH)]
            out += [".PP", ".nf", *(_escaped(line) for line in shown), ".fi"]
        else:
            out += [".PP", _escaped(" ".join(part.split()))]
    return out[1:] if out[:1] == [".PP"] and out[1:2] != [".nf"] else out


def _breakable(name: str) -> str:
    """The name of an option with its choices. A line may break after each choice, since a long list of choices without
    a space is wider than a page."""
    return _escaped(name).replace("|", r"|\:")


def _escaped(text: str) -> str:
    told = " ".join(text.split()) if "\n" in text else text
    told = told.replace("\\", r"\e").replace("-", r"\-").replace("…", "...")
    return rf"\&{told}" if told[:1] in (".", "'") else told
