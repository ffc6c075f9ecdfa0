"""The name proposed for a copy, or for a converted hierarchy, keeps the ending by which programs recognise it."""

from __future__ import annotations

from pathlib import Path

import pytest

import zarrscope
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import Workspace
from zarrscope_app.presenters.nodes.words import copy_name


@pytest.mark.parametrize(
    ("name", "proposed"),
    [
        ("cells.ome.zarr", "cells-copy.ome.zarr"),
        ("cells.zarr", "cells-copy.zarr"),
        ("CELLS.N5", "CELLS-copy.N5"),
        ("a.b", "a.b-copy"),
        ("0", "0-copy"),
        (".zarr", ".zarr-copy"),
        ("zarr", "zarr-copy"),
    ],
)
def test_the_ending_stays(name: str, proposed: str) -> None:
    assert copy_name(name) == proposed


@pytest.mark.parametrize(
    ("name", "path", "dialect", "proposed"),
    [
        ("cells.ome.zarr", "/", "v2", "cells-v2.ome.zarr"),
        ("cells.ome.zarr", "/", "n5", "cells-n5.n5"),
        ("cells.ome.zarr", "/0", "v2", "cells-0-v2.zarr"),
        ("cells.zarr", "/", "v2", "cells-v2.zarr"),
        ("cells", "/", "v2", "cells-v2.zarr"),
    ],
)
def test_the_ending_of_a_converted_hierarchy_stays(
    tmp_path: Path, workspace: Workspace, mailbox: Mailbox, name: str, path: str, dialect: str, proposed: str
) -> None:
    with zarrscope.open(tmp_path / name, "w-", dialect="v3") as made:
        made.create_array("/0", shape=(4,), dtype="u1")
    session = workspace.open(str(tmp_path / name))
    mailbox.run_until(lambda: session.node is not None and not session.state.selecting)
    session.select(path)
    mailbox.run_until(lambda: session.state.path == path and not session.state.selecting)
    session.nodes.begin("convert", path)
    session.nodes.set_field("format", dialect)
    to = next(field for field in session.nodes.state.fields if field.id == "to")
    assert to.text == str(tmp_path / proposed)
