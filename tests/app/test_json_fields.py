"""The fields that verbs print with `--json` are exactly those that the docs of the command line list."""

from __future__ import annotations

import contextlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from narrowing import as_array
from zarrscope.nodes import trash
from zarrscope_app.cli import run
from zarrscope_app.cli.json_fields import FIELDS
from zarrscope_resources import demo


def _fields(value: Any, at: str = "") -> set[str]:
    """The JSON pointers of all members, with `*` for each index."""
    if isinstance(value, dict):
        return set().union(*(_fields(each, f"{at}/{name}") | {f"{at}/{name}"} for name, each in value.items()), set())
    if isinstance(value, list):
        return set().union(*(_fields(each, f"{at}/*") for each in value), {f"{at}/*"} if value else set())
    return set()


def _described(field: str, rows: set[str]) -> set[str]:
    """The rows of the table for a field, for its members, or for the list or object that contains it."""
    return {
        row
        for row in rows
        if row == field
        or field == f"{row}/*"
        or row.startswith(f"{field}/")
        or (row.endswith("…") and f"{field}/".startswith(row[:-1]))
    }


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The fields that each verb prints, from runs that produce all of them."""
    folder = tmp_path_factory.mktemp("fields")
    seen: dict[str, set[str]] = {verb: set() for verb in FIELDS}

    def zs(*words: Any) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            run([*map(str, words), "--json"])
        verb = " ".join(words[:2]) if words[0] in ("attrs", "trash") else words[0]
        seen[verb] |= {field.removeprefix("/") for field in _fields(json.loads(printed.getvalue()))}

    volume = demo.make(folder / "cells.zarr", "small")
    _odd(folder / "odd.zarr")
    for url, nodes in ((volume, ("/", "0", "labels")), (folder / "odd.zarr", ("/", "plate", "old", "named"))):
        for node in nodes:
            zs("ls", url, node)
            zs("info", url, node)
    zs("tree", volume)
    zs("image", volume)
    zs("tree", folder / "odd.zarr")
    zs("attrs", "get", volume, "/")
    zs("check", folder / "odd.zarr")
    zs("chunks", volume, "0", "--list", "stored")
    zs("stats", volume)
    zs("export", volume, "0", folder / "a.npy", "--select", "0,0,0")
    zs("diff", volume, folder / "odd.zarr")
    zs("diff", f"{volume}/0", f"{volume}/1", "--values")
    zs("convert", volume, folder / "v2.zarr", "--to", "v2", "--allow-losses")
    zs("convert", folder / "odd.zarr", folder / "odd2.zarr", "--to", "v2", "--dry-run")
    zs("convert", volume, folder / "coarse.zarr", "--to", "v3", "--pyramid", "--levels", "2", "--dry-run")
    zs("convert", volume, "--in-place", "--pyramid", "--dry-run")
    zs("add-labels", volume, "cells", "--dry-run")
    zs("add-labels", volume, "cells")
    zs("create", folder / "new.zarr", "g")
    zs("create", folder / "new.zarr", "g/a", "--shape", "4,4", "--dtype", "uint8", "--chunks", "2,2")
    as_array(zarrscope.open(str(folder / "new.zarr"), "r+")["/g/a"])[:] = 1
    zs("create", folder / "new.zarr", "h", "--dry-run")
    zs("resize", folder / "new.zarr", "g/a", "2,4", "--dry-run")
    zs("resize", folder / "new.zarr", "g/a", "2,4", "--yes")
    zs("copy", folder / "new.zarr", "g", "copy")
    zs("copy", folder / "new.zarr", "g", "copy2", "--dry-run")
    zs("move", folder / "new.zarr", "copy", "moved", "--dry-run")
    zs("move", folder / "new.zarr", "copy", "moved")
    zs("consolidate", folder / "new.zarr", "--dry-run")
    zs("consolidate", folder / "new.zarr")
    zs("remove", folder / "new.zarr", "moved/a", "--dry-run")
    zs("remove", folder / "new.zarr", "moved/a", "--yes")
    for node in ("h1", "h2"):
        zs("create", folder / "new.zarr", node)
    for node, options in (("h1", ["--dry-run"]), ("h1", []), ("h2", [])):
        zs("remove", folder / "new.zarr", node, "--to-trash", *options)
    zs("trash", "list", folder / "new.zarr")
    thrown = [each.id for each in trash.entries(zarrscope.open(str(folder / "new.zarr")))]
    zs("trash", "restore", folder / "new.zarr", thrown[0], "--dry-run")
    zs("trash", "restore", folder / "new.zarr", thrown[0])
    zs("trash", "empty", folder / "new.zarr", "--dry-run")
    zs("trash", "empty", folder / "new.zarr", "--yes")
    zs("read", folder / "odd.zarr", "named")
    with zipfile.ZipFile(folder / "x.zip", "w") as archive:
        archive.writestr("zarr.json", "{}")
    zs("repack", folder / "x.zip")
    return seen


def _odd(root: Path) -> None:
    """A hierarchy with rare members: dimension names, extensions, a broken document, a plate."""
    h = zarrscope.open(str(root), "w-")
    h.create_array("/named", shape=(4, 6), dtype="int8", chunks=(2, 3), shards=(4, 6), dimension_names=("y", "x"))
    h.create_array("/old", shape=(4,), dtype="int8")
    document = json.loads((root / "old" / "zarr.json").read_text())
    document["codecs"][0] = {"name": "https://example.org/unheard", "configuration": {"level": 1}}
    reference = {"name": "https://example.org/note-ref", "configuration": {"reference": ".."}, "must_understand": False}
    document["extensions"] = [reference]
    (root / "old" / "zarr.json").write_text(json.dumps(document))
    top = json.loads((root / "zarr.json").read_text())
    top["extensions"] = [{"name": "https://example.org/note", "configuration": {"n": 1}, "must_understand": False}]
    (root / "zarr.json").write_text(json.dumps(top))
    (root / "broken").mkdir()
    (root / "broken" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "array"}')
    plate = {
        "wells": [{"path": "A/1", "rowIndex": 0, "columnIndex": 0}],
        "rows": [{"name": "A"}],
        "columns": [{"name": "1"}],
    }
    h.create_group("/plate", attributes={"ome": {"version": "0.5", "plate": plate}})


@pytest.mark.parametrize("verb", FIELDS)
def test_every_field_is_described_and_met(printed: dict[str, set[str]], verb: str) -> None:
    described = set(FIELDS[verb])
    met = {field: _described(field, described) for field in printed[verb]}
    assert not sorted(field for field, rows in met.items() if not rows), "printed, and not described"
    assert not sorted(described.difference(*met.values())), "described, and never printed"


def test_every_verb_that_takes_json_is_described() -> None:
    import click

    from zarrscope_app.cli import cli

    def verbs(group: click.Group, before: str) -> list[str]:
        """All verbs, without the second name of check."""
        found: list[str] = []
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            if isinstance(command, click.Group):
                found += verbs(command, f"{before}{name} ")
            elif name != "validate" and any("--json" in option.opts for option in command.params):
                found.append(before + name)
        return found

    assert sorted(FIELDS) == sorted(verbs(cli, ""))
