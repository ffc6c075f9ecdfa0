"""Tiles cover every pixel of a viewport exactly once, need few chunks, and align between levels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zarrscope.errors import Unreadable, Unsupported
from zarrscope.model.metadata import RectilinearGrid, RegularEdges
from zarrscope.view.loader import ChunkResult, ChunkState
from zarrscope_app.presenters.image.painting import assemble
from zarrscope_app.presenters.image.tile_geometry import MAX_TILES, LevelPlane, TilePart, Tiling, tile_length, tiling


def array(shape: tuple[int, ...], chunks: tuple[int, ...], dtype: str = "u2") -> Any:
    edges = [RegularEdges(c, n) for c, n in zip(chunks, shape, strict=True)]
    return SimpleNamespace(
        shape=shape,
        ndim=len(shape),
        chunks=chunks,
        dtype=np.dtype(dtype),
        path="/a",
        fill_value=7,
        edges=edges.__getitem__,
    )


def sheet_of(found: Any, y: int = -2, x: int = -1) -> LevelPlane:
    rank = len(found.shape)
    return LevelPlane(found, 0, y % rank, x % rank, found.shape[y], found.shape[x], (1.0, 1.0), (0.0, 0.0))


@given(
    st.tuples(st.integers(1, 5000), st.integers(1, 5000)),
    st.tuples(st.integers(1, 700), st.integers(1, 700)),
    st.tuples(st.floats(-100, 4000), st.floats(-100, 4000), st.floats(1, 6000), st.floats(1, 6000)),
)
def test_the_tiles_of_a_viewport_cover_it_once(shape: Any, chunks: Any, view: Any) -> None:
    rect = (view[0], view[1], view[0] + view[2], view[1] + view[3])
    sheet = sheet_of(array(shape, chunks))
    found = tiling(sheet, rect, (800, 1000))
    places = found.places(rect)
    assert len(places) <= MAX_TILES
    y0, x0, y1, x1 = sheet.window(rect)
    seen = np.zeros((y1 - y0, x1 - x0), np.uint8)
    for place in places:
        seen[max(0, place.y0 - y0) : max(0, place.y1 - y0), max(0, place.x0 - x0) : max(0, place.x1 - x0)] += 1
    assert (seen == 1).all()


@pytest.mark.parametrize(
    ("chunk", "extent", "expected"),
    [(64, 5000, 512), (100, 5000, 500), (512, 5000, 512), (1024, 5000, 512), (300, 999, 300)],
)
def test_tile_edges_are_chunk_edges(chunk: int, extent: int, expected: int) -> None:
    assert tile_length(chunk, extent, 512) == expected


def test_a_plane_without_pyramid_seen_from_afar_is_thinned_not_multiplied() -> None:
    sheet = sheet_of(array((100_000, 100_000), (256, 256)))
    whole = (0.0, 0.0, 100_000.0, 100_000.0)
    found = tiling(sheet, whole, (800, 800))
    places = found.places(whole)
    assert len(places) <= MAX_TILES
    pixels = sum(((p.y1 - p.y0) // found.step) * ((p.x1 - p.x0) // found.step) for p in places)
    assert pixels <= 4 * 800 * 800


def results(data: np.ndarray, found: Any, part: TilePart) -> dict[tuple[int, ...], ChunkResult]:
    made = {}
    for index in part.chunks():
        cut = tuple(slice(*found.edges(axis).span(i)) for axis, i in enumerate(index))
        made[index] = ChunkResult(index, ChunkState.PRESENT, data[cut])
    return made


@given(
    st.permutations([0, 1, 2]),
    st.tuples(*[st.integers(1, 30)] * 3),
    st.tuples(*[st.integers(1, 12)] * 3),
    st.integers(1, 4),
    st.data(),
)
def test_a_plane_is_what_numpy_says(order: Any, shape: Any, chunks: Any, step: int, draw: Any) -> None:
    y, x, z = order
    data = np.arange(np.prod(shape)).reshape(shape).astype("u4")
    found = array(shape, chunks, "u4")
    at = draw.draw(st.integers(0, shape[z] - 1))
    y0 = draw.draw(st.integers(0, shape[y] - 1))
    x0 = draw.draw(st.integers(0, shape[x] - 1))
    y1 = draw.draw(st.integers(y0 + 1, shape[y]))
    x1 = draw.draw(st.integers(x0 + 1, shape[x]))
    index = [0, 0, 0]
    index[z] = at
    part = TilePart(sheet_of(found, y, x), tuple(index), y0, x0, y1, x1)
    plane = np.take(data, at, axis=z)
    plane = plane if y < x else plane.T
    made = assemble(part, results(data, found, part), step)
    assert not made.marks
    assert np.array_equal(made.plane, plane[y0:y1:step, x0:x1:step])


def test_chunks_of_many_sizes_lie_where_the_grid_says() -> None:
    data = np.arange(60).reshape(10, 6).astype("u4")
    grid = RectilinearGrid(axes=(((3, 2), (4, 1)), ((2, 1), (4, 1))))
    found = array((10, 6), grid.chunk_shape, "u4")
    found.edges = lambda axis: grid.edges(axis, (10, 6)[axis])
    for y0, x0, y1, x1, step in ((0, 0, 10, 6, 1), (4, 1, 9, 5, 1), (5, 1, 10, 6, 2)):
        part = TilePart(sheet_of(found), (0, 0), y0, x0, y1, x1)
        assert np.array_equal(assemble(part, results(data, found, part), step).plane, data[y0:y1:step, x0:x1:step])


def test_missing_failed_and_undecodable_pieces_are_marked_where_they_are() -> None:
    found = array((4, 8), (4, 2))
    part = TilePart(sheet_of(found), (0, 0), 0, 0, 4, 8)
    pieces: dict[tuple[int, ...], ChunkResult] = {
        (0, 0): ChunkResult((0, 0), ChunkState.PRESENT, np.ones((4, 2), "u2")),
        (0, 1): ChunkResult((0, 1), ChunkState.FILL),
        (0, 2): ChunkResult((0, 2), ChunkState.FAILED, error=Unreadable("no")),
        (0, 3): ChunkResult((0, 3), ChunkState.FAILED, error=Unsupported("no", feature="x")),
    }
    made = assemble(part, pieces)
    assert [(m.state, m.x0, m.x1) for m in made.marks] == [("fill", 2, 4), ("failed", 4, 6), ("undecodable", 6, 8)]
    assert (made.plane[:, 2:] == 7).all()


def test_a_tile_knows_its_chunks() -> None:
    found = array((3, 100, 100), (1, 30, 40))
    tile = Tiling(sheet_of(found), 60, 40)
    place = tile.place(1, 2)
    part = TilePart(tile.sheet, (2, 0, 0), place.y0, place.x0, place.y1, place.x1)
    assert [*part.chunks()] == [(2, 2, 2), (2, 3, 2)]
