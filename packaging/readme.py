"""Writes the generated parts of README.md from the code: what is supported, and the verbs of the command line.

python packaging/readme.py            rewrites the parts between the markers
python packaging/readme.py --check    exit status 1 when they are not what the code says
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
MARKED = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.S)

READERS_OF = {
    "v3": "today's: zarr-python 3, tensorstore, zarrs, …",
    "v2": "zarr-python 2 and many others; most of the data there is",
    "v1": "zarr-python 1, 2016",
    "n5": "Fiji, BigDataViewer, z5",
}


def dialects() -> str:
    rows = ["| dialect | id | read | write | who wrote it |", "|---|---|---|---|---|"]
    from zarrscope.dialects import DIALECTS

    for dialect in DIALECTS:
        wrote = READERS_OF.get(dialect.name, "a few early adopters")
        rows.append(f"| {dialect.title} | `{dialect.name}` | yes | {_writes(dialect.name)} | {wrote} |")
    return "\n".join(rows)


def _writes(name: str) -> str:
    """Whether an array can really be made in the dialect."""
    import tempfile

    import zarrscope

    with tempfile.TemporaryDirectory() as folder:
        try:
            hierarchy = zarrscope.open(f"{folder}/x.zarr", mode="w-", dialect=name)
            array = hierarchy.create_array("/a", shape=(4,), dtype="uint16", chunks=(2,))
            array[...] = 7
            again = zarrscope.open(f"{folder}/x.zarr", dialect=name)["/a"]
            return "yes" if again[...].tolist() == [7] * 4 else "no"
        except zarrscope.ZarrscopeError:
            return "no"


def codecs() -> str:
    from zarrscope.codecs import CODECS

    by_kind: dict[str, list[str]] = {}
    for name, codec in CODECS.items():
        if not name.endswith("pickle"):
            by_kind.setdefault(codec.kind, []).append(name)
    rows = ["| kind | codecs |", "|---|---|"]
    for kind in ("array→array", "array→bytes", "bytes→bytes"):
        rows.append(f"| {kind} | {', '.join(f'`{name}`' for name in sorted(by_kind.pop(kind, [])))} |")
    assert not by_kind, by_kind
    return "\n".join(rows)


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


PARTS: dict[str, Callable[[], str]] = {"dialects": dialects, "codecs": codecs, "verbs": verbs}


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
