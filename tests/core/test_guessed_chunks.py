"""The chunk shapes of arrays that were created without one."""

from __future__ import annotations

from math import prod

import pytest

import zarrscope
from zarrscope.nodes.create import guess_chunks


@pytest.mark.parametrize(
    ("names", "shape", "itemsize", "chunks"),
    [
        ("tczyx", (100, 3, 60, 2048, 2048), 2, (1, 1, 1, 1024, 1024)),
        ("czyx", (2, 60, 512, 512), 1, (1, 1, 512, 512)),
        ("tczyx", (5, 1, 200, 128, 128), 1, (1, 1, 16, 128, 128)),
        ("zyx", (3, 16, 16), 2, (3, 16, 16)),
        ("yx", (100_000, 100_000), 1, (1024, 1024)),
        ("yx", (5000, 900), 4, (512, 512)),
        ("tyx", (1000, 64, 64), 2, (1, 64, 64)),
        ("ZYX", (0, 0, 0), 2, (1, 1, 1)),
        ("xyz", (512, 512, 512), 2, (64, 64, 128)),
    ],
)
def test_image_stacks_are_stored_by_planes(
    names: str, shape: tuple[int, ...], itemsize: int, chunks: tuple[int, ...]
) -> None:
    found = guess_chunks(shape, itemsize, tuple(names))
    assert found == chunks
    assert prod(found) * itemsize <= 4 << 20


def test_a_new_array_is_stored_so() -> None:
    made = zarrscope.open("memory://", "w-")
    named = made.create_array("/a", shape=(3, 64, 2048, 2048), dtype="uint16", dimension_names=("c", "z", "y", "x"))
    assert named.chunks == (1, 1, 1024, 1024)
    assert made.create_array("/b", shape=(64, 2048, 2048), dtype="uint16").chunks != (1, 1024, 1024)
