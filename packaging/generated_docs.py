"""Writes the generated parts of the docs from the code: the tables of formats, the page about the command line, the man
page, and the index of decisions.

python packaging/generated_docs.py            rewrites them
python packaging/generated_docs.py --check    exit status 1 if they are outdated
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import support_table
from man_page import man_page

from zarrscope_app.cli.json_fields import FIELDS

DOCS = Path(__file__).resolve().parent.parent / "resources" / "docs"
MARKED = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.S)

PARTS: dict[str, Callable[[], str]] = {
    "dialects": support_table.dialects,
    "codecs": support_table.codecs,
    "types": support_table.data_types,
    "points": support_table.extension_points,
    "stores": support_table.stores,
}

COMMAND_LINE = """# Command line

Exit codes: 0 done · 1 failed, or findings · 2 wrong usage · 3 not found, or not Zarr · 130 interrupted
(143 by TERM, 129 by HUP). `ls`, `tree` and `stats` print everything that can be read, and end with 1 if a node could
not be read. Messages go to stderr. With `--json` the same input gives the same output; a field is named
by its JSON pointer, `*` stands for every member of a list, `…` for content of the store's own documents.

This page is generated from the commands themselves.
"""
DECISIONS = """# Decisions

Each decision has a file with its context, the decision, the rejected alternatives, and the consequence.
"""


def formats() -> str:
    text = (DOCS / "formats.md").read_text(encoding="utf-8")
    return MARKED.sub(lambda m: f"{m[1]}{PARTS[m[2]]()}\n{m[3]}", text)


def command_line() -> str:
    from zarrscope_app.cli import cli

    commands = list(_commands(cli, click.Context(cli, info_name="zarrscope")))
    rows = ["| command | purpose |", "|---|---|"]
    rows += [f"| [`{name}`](#{_anchor(name)}) | {command.get_short_help_str(200)} |" for name, command, _ in commands]
    return "\n".join([COMMAND_LINE, *rows, *(_page(*each) for each in commands)]) + "\n"


def _commands(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        yield inner.command_path, command, inner
        if isinstance(command, click.Group):
            yield from _commands(command, inner)


def _anchor(name: str) -> str:
    return name.replace(" ", "-")


def _page(name: str, command: click.Command, context: click.Context) -> str:
    usage = f"{name} {' '.join(command.collect_usage_pieces(context))}"
    text = re.sub(r"\n?\x08\n", "\n\n", command.help or "").strip()
    about, _, examples = text.partition("Examples:")
    about = "\n\n".join(" ".join(part.split()) for part in about.split("\n\n") if part.strip())
    lines = [f"\n## {name}", "", about, "", "```", usage, "```"]
    shown = [line.strip() for line in examples.strip().splitlines() if line.strip()]
    if shown:
        lines += ["", "Examples:", "", "```sh", *shown, "```"]
    options = [row for p in command.params if isinstance(p, click.Option) and (row := p.get_help_record(context))]
    if options:
        lines += ["", "| option | meaning |", "|---|---|"]
        lines += [f"| `{_cell(option)}` | {_cell(meaning)} |" for option, meaning in options]
    if fields := FIELDS.get(name.removeprefix("zarrscope ")):
        lines += ["", "| field of `--json` | meaning |", "|---|---|"]
        lines += [f"| `{_cell(field)}` | {_cell(meaning)} |" for field, meaning in fields.items()]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def decisions() -> str:
    pages = sorted(page for page in (DOCS / "decisions").glob("*.md") if page.name != "README.md")
    rows = [f"- [{page.read_text(encoding='utf-8').splitlines()[0][2:]}]({page.name})" for page in pages]
    return "\n".join([DECISIONS, *rows]) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "formats.md": formats,
    "command-line.md": command_line,
    "decisions/README.md": decisions,
    "../../packaging/zarrscope.1": man_page,
}


def main(arguments: Any = None) -> int:
    behind = [name for name, make in PAGES.items() if _read(DOCS / name) != make()]
    if "--check" in (sys.argv[1:] if arguments is None else arguments):
        if behind:
            print(f"Outdated: {', '.join(behind)}. Run python packaging/generated_docs.py", file=sys.stderr)
        return int(bool(behind))
    for name in behind:
        (DOCS / name).write_text(PAGES[name](), encoding="utf-8")
    return 0


def _read(page: Path) -> str:
    return page.read_text(encoding="utf-8") if page.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
