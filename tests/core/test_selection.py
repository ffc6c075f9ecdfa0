"""Selections accept what numpy's basic indexing accepts, and their pieces cover the output exactly once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zarrscope.errors import Refused
from zarrscope.model.metadata import RegularGrid
from zarrscope.model.selection import select


@st.composite
def arrays_and_indices(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], Any]:
    shape = tuple(draw(st.lists(st.integers(0, 9), max_size=4)))
    chunks = tuple(draw(st.integers(1, 11)) for _ in shape)
    bound = st.none() | st.integers(-12, 12)
    step = st.none() | st.integers(-4, 4).filter(bool)
    parts: list[Any] = []
    for length in shape[: draw(st.integers(0, len(shape)))]:
        options: list[st.SearchStrategy[Any]] = [st.builds(slice, bound, bound, step)]
        if length:
            options.append(st.integers(-length, length - 1))
            options.append(st.integers(-length, length - 1).map(np.int16))
        parts.append(draw(st.one_of(options)))
    if draw(st.booleans()):
        # an ellipsis may stand before some of the parts, which then select along the last axes
        at = draw(st.integers(0, len(parts)))
        tail = parts[at:]
        if all(isinstance(part, slice) for part in tail):
            parts[at:] = [Ellipsis, *tail]
    for _ in range(draw(st.integers(0, 2))):
        parts.insert(draw(st.integers(0, len(parts))), None)
    index: Any = tuple(parts)
    if len(parts) == 1 and draw(st.booleans()):
        index = parts[0]
    return shape, chunks, index


@settings(max_examples=400, deadline=None)
@given(arrays_and_indices())
def test_the_pieces_give_what_numpy_gives(case: tuple[tuple[int, ...], tuple[int, ...], Any]) -> None:
    shape, chunks, index = case
    grid = RegularGrid(chunks)
    edges = [grid.edges(axis, n) for axis, n in enumerate(shape)]
    data = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    padded = np.full([-(-n // c) * c for n, c in zip(shape, chunks, strict=True)], -1, np.int64)
    padded[tuple(slice(n) for n in shape)] = data

    selection = select(index, shape)
    expected = data[index]
    out = np.full(selection.full_shape, -2, np.int64)
    times = np.zeros(selection.full_shape, int)
    seen = set()
    for piece in selection.chunk_selections(edges):
        assert piece.chunk not in seen
        seen.add(piece.chunk)
        chunk = padded[tuple(slice(i * c, (i + 1) * c) for i, c in zip(piece.chunk, chunks, strict=True))]
        out[piece.target] = chunk[piece.source]
        times[piece.target] += 1
        inside = np.zeros(chunk.shape, bool)
        inside[piece.source] = True
        assert piece.covers == bool(inside[chunk != -1].all())
        if piece.whole:
            assert np.array_equal(chunk[piece.source], chunk)
    assert (times == 1).all()
    assert selection.shape == np.shape(expected)
    assert np.array_equal(out.reshape(selection.shape), expected)
    assert selection.scalar == isinstance(expected, np.generic)


@pytest.mark.parametrize(
    ("index", "says"),
    [
        ((0, 0, 0), "too many indices"),
        ((3,), "out of bounds"),
        ((-4,), "out of bounds"),
        ((..., ...), "single ellipsis"),
        (([0, 1],), "list"),
        (np.array([True, False, True]), "ndarray"),
        (True, "bool"),
        ((slice(None, None, 0),), "step of zero"),
        ((slice("a", None),), "neither an integer"),
        (1.0, "float"),
        ("name", "str"),
    ],
)
def test_a_callers_mistake_is_an_index_error(index: Any, says: str) -> None:
    with pytest.raises(IndexError, match=says):
        select(index, (3, 4))


def test_a_selection_of_absurdly_many_chunks_is_refused_before_it_is_planned() -> None:
    length = 2**62
    edges = [RegularGrid((1,)).edges(0, length)]
    with pytest.raises(Refused, match="axis 0"):
        list(select(..., (length,)).chunk_selections(edges))
    assert len(list(select(slice(2**61, 2**61 + 5), (length,)).chunk_selections(edges))) == 5


def test_work_follows_the_chunks_touched_not_the_array() -> None:
    length = 2**62
    grid = RegularGrid((1000,))
    selection = select(slice(5, None, length // 4), (length,))
    assert len(list(selection.chunk_selections([grid.edges(0, length)]))) == 4
