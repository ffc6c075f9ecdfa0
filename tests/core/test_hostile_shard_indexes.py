"""Shards whose index is cut short, or points outside of the shard, into itself, or to overlapping bytes. Errors name
the store, the key and the next step, and the bytes of no other chunk are returned.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope.errors import BadChunk
from zarrscope.stores.memory import MemoryStore

ABSENT = 2**64 - 1
BYTES = {"name": "bytes", "configuration": {"endian": "little"}}


def array(index: list[tuple[int, int]], size: int | None = None) -> Any:
    """An array with one shard of the inner chunks (1, 2) and (3, 4), with this index, cut to `size` bytes."""
    document = {
        "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint8", "fill_value": 0, "attributes": {},
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
        "chunk_key_encoding": {"name": "default"},
        "codecs": [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [2], "codecs": [BYTES], "index_codecs": [BYTES]}}],
    }  # fmt: skip
    shard = bytes([1, 2, 3, 4]) + b"".join(struct.pack("<QQ", *entry) for entry in index)
    store = MemoryStore({"a/zarr.json": json.dumps(document).encode(), "a/c/0": shard[:size]})
    return zarrscope.open(store, "r")["/a"]


@pytest.mark.parametrize(
    ("index", "size"),
    [
        ([(0, 3), (1, 3)], None),
        ([(ABSENT - 4, 2), (2, 2)], None),
        ([(ABSENT - 1, 2), (0, 2)], None),
        ([(0, 2), (100, 2)], None),
        ([(0, 2), (4, 2)], None),
        ([(ABSENT, 2), (0, 2)], None),
        ([(0, 0), (2, 2)], None),
        ([(0, 2), (2, 2)], 10),
        ([(0, 2), (2, 2)], 0),
    ],
)
def test_a_hostile_index_is_an_error_with_its_place_and_advice(index: list[tuple[int, int]], size: int | None) -> None:
    found = array(index, size)
    with pytest.raises(BadChunk) as caught:
        found[...]
    assert (caught.value.store, caught.value.key) == (found.store.url, "a/c/0")
    assert caught.value.advice


def test_entries_may_share_bytes() -> None:
    np.testing.assert_array_equal(array([(0, 2), (0, 2)])[...], [1, 2, 1, 2])
    np.testing.assert_array_equal(array([(2, 2), (ABSENT, ABSENT)])[...], [3, 4, 0, 0])
