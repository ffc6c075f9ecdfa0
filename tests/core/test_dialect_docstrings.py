"""The example documents at the head of each dialect's module are documents of that dialect."""

from __future__ import annotations

import json
import re
from types import ModuleType

import pytest

from zarrscope.dialects import detect, drafts, n5, v1, v2, v3
from zarrscope.metadata import ArrayMetadata, RegularGrid

_START = re.compile(r"^    (\S+) +(\{.*)$", re.MULTILINE)


def example(module: ModuleType) -> dict[str, bytes]:
    """Key → document, as typed in the docstring: a key, spaces, and JSON over one or more lines."""
    text = module.__doc__ or ""
    found = {}
    for match in _START.finditer(text):
        value, _ = json.JSONDecoder().raw_decode(" ".join(text[match.start(2) :].split()))
        found[match[1]] = json.dumps(value).encode()
    return found


@pytest.mark.parametrize(
    ("module", "name", "path"),
    [(v3, "v3", "/a"), (v2, "v2", "/a"), (drafts, "draft-2020", "/g/a"), (n5, "n5", "/a"), (v1, "v1", "/")],
    ids=["v3", "v2", "drafts", "n5", "v1"],
)
def test_the_example_at_the_head_is_read(module: ModuleType, name: str, path: str) -> None:
    documents = example(module)
    roots = {"v3": {"zarr.json": b'{"zarr_format": 3, "node_type": "group"}'}, "v2": {".zgroup": b'{"zarr_format": 2}'}}
    found = detect({**documents, **roots.get(name, {})})
    assert found is not None
    assert found.dialect.name == name
    node = found.dialect.parse(path, documents)
    assert node is not None
    assert isinstance(node.metadata, ArrayMetadata)
    assert node.metadata.shape == (4, 6)
    assert node.metadata.grid == RegularGrid((2, 3))
    assert node.metadata.problem is None
    key = node.metadata.keys.key((0, 1))
    assert re.search(rf"^    {re.escape(key)} +(?:the chunk|the block)", module.__doc__ or "", re.MULTILINE)
