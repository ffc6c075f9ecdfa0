"""The name that is proposed for a copy keeps the ending by which programs recognise it."""

from __future__ import annotations

import pytest

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
