"""Writes the generated parts of README.md from the code: what is supported, and the verbs of the command line.

python packaging/readme.py            rewrites the parts between the markers
python packaging/readme.py --check    exit status 1 when they are not what the code says
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import support_table

README = Path(__file__).resolve().parent.parent / "README.md"
MARKED = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.S)


def verbs() -> str:
    import click

    from zarrscope_app.cli import cli

    rows = ["| verb | what it does |", "|---|---|"]
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        usage = " ".join(
            [f"zarrscope {name}"] + [p.make_metavar(context) for p in command.params if isinstance(p, click.Argument)]
        )
        rows.append(f"| `{usage}` | {command.get_short_help_str(200)} |")
    return "\n".join(rows)


PARTS: dict[str, Callable[[], str]] = {
    "dialects": support_table.dialects,
    "codecs": support_table.codecs,
    "types": support_table.data_types,
    "points": support_table.extension_points,
    "verbs": verbs,
}


def generated(text: str) -> str:
    return MARKED.sub(lambda m: f"{m[1]}{PARTS[m[2]]()}\n{m[3]}", text)


def main() -> int:
    old = README.read_text(encoding="utf-8")
    new = generated(old)
    if "--check" in sys.argv[1:]:
        if old != new:
            print("README.md is behind the code: python packaging/readme.py", file=sys.stderr)
        return int(old != new)
    README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
