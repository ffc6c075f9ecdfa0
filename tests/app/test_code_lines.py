"""Code that is folded to the width of a terminal still runs."""

from __future__ import annotations

import ast

import pytest

from zarrscope_app.presenters.code_lines import folded_code

LONG = "/data/" + "a-folder-of-a-cluster/" * 6 + "cells.ome.zarr"
ODD = "\x1b\u0301\U0001f600'\"\\" * 20
LINES = [
    f"node = zarrscope.open({LONG!r})['/']",
    f"node = zarr.open_group({LONG!r}, path='labels/nuclei', mode='r', zarr_format=3)",
    f"array = ts.open({{'driver': 'zarr3', 'kvstore': {{'driver': 'file', 'path': {LONG!r}}}}}, read=True).result()",
    f"node = zarrscope.open({ODD!a})[{ODD!r}]",
    "values = lazy[" + ", ".join(["0"] * 60) + ", :, :].compute()",
]


@pytest.mark.parametrize("columns", [30, 40, 52, 80, 200])
@pytest.mark.parametrize("line", LINES)
def test_a_folded_line_is_the_same_code(line: str, columns: int) -> None:
    folded = list(folded_code(line, columns))
    assert max(map(len, folded)) <= columns
    assert ast.dump(ast.parse("\n".join(folded))) == ast.dump(ast.parse(line))
    assert len(folded) <= 2 + len(line) // (columns // 2), "no line is nearly empty"


def test_a_path_breaks_after_a_slash() -> None:
    first, second, *_ = folded_code(LINES[0], 60)
    assert first.endswith("/'")
    assert second.startswith("    '")


def test_a_remark_stays_a_remark() -> None:
    remark = "# zarr-python opens groups that have a document of their own: choose a node beneath."
    folded = list(folded_code(remark, 40))
    assert len(folded) == 3
    assert all(line.startswith("# ") and len(line) <= 40 for line in folded)
    assert " ".join(line.removeprefix("# ") for line in folded) == remark.removeprefix("# ")


def test_a_line_without_brackets_stays_whole() -> None:
    assert list(folded_code("import " + "a" * 90, 40)) == ["import " + "a" * 90]
