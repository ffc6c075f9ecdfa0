"""A lazy view computes and is indexed like numpy's arrays, and reads only the chunks that the answer needs."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zarrscope
from zarrscope.errors import ZarrscopeError
from zarrscope.nodes.array import Array
from zarrscope.runtime.tuning import LAZY_BLOCK_BYTES
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.wrappers import Counting
from zarrscope.view.lazy import LazyView
from zarrscope.view.lazy_math import _blocks
from zarrscope.view.loader import shared

VALUES = np.random.default_rng(3).integers(0, 200, (5, 12, 10)).astype("uint8")


def stored(values: np.ndarray[Any, Any] = VALUES, chunks: tuple[int, ...] = (1, 4, 5)) -> tuple[Array, Counting]:
    memory = MemoryStore()
    zarrscope.open(memory, "w-").create_array("/a", shape=values.shape, dtype=values.dtype, chunks=chunks)[...] = values
    store = Counting(memory)
    array = zarrscope.open(store)["/a"]
    assert isinstance(array, Array)
    shared().invalidate(array)
    store.reset()
    return array, store


def chunks_read(store: Counting) -> list[str]:
    return sorted({key for _, key in store.keys if "/c/" in key})


@pytest.fixture(scope="module")
def view() -> LazyView:
    return LazyView(stored()[0])


@pytest.fixture(params=["dask", "no dask"])
def computing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> LazyView:
    """A view with dask installed, and one without."""
    if request.param == "no dask":
        for module in ("lazy_math", "lazy_calls"):
            monkeypatch.setattr(f"zarrscope.view.{module}.dask_array", lambda: None)
    return LazyView(stored()[0])


# ---------------------------------------------------------------------- indexing
MASK = np.array([True, False, True, False, True])
SELECTIONS: tuple[Any, ...] = (
    0, -1, slice(1, 4), slice(None, None, -2), ..., None, (..., None), (None, 2), (slice(None), None, 3), (..., 1, 2),
    (1, 2, 3), (slice(4, 1), ...), [3, 0, 3], [-1], (slice(None), [1, 7]), (2, ..., [0, -1, 4]), MASK, (MASK, 3),
    (slice(1, 3), slice(10), MASK.repeat(2), None), VALUES > 100, ([0, 4], [1, 2]), ([0, 4], slice(None), [[1], [2]]),
    (None, [2, 1], None), [], np.int64(2), (np.array(1), np.arange(4)),
    (slice(None), ..., None, None), (MASK, [0, 1, 2]),
)  # fmt: skip


@pytest.mark.parametrize("selection", SELECTIONS, ids=lambda s: str(s)[:40])
def test_any_index_gives_what_numpy_gives(selection: Any, computing: LazyView) -> None:
    expected = VALUES[selection]
    found = computing[selection]
    np.testing.assert_array_equal(np.asarray(found), expected)
    if isinstance(found, LazyView):
        assert (found.shape, found.ndim, found.size, found.nbytes) == (
            expected.shape,
            expected.ndim,
            expected.size,
            expected.nbytes,
        )
        assert len(found.chunks) == found.ndim
        assert len(found.edges(0)) > 1 if found.ndim and found.shape[0] else True


parts = st.one_of(st.integers(-5, 4), st.slices(5), st.just(None), st.lists(st.integers(-5, 4), min_size=1, max_size=4))


@given(first=parts, second=parts, order=st.permutations(range(3)))
def test_indices_of_indices_are_numpys(view: LazyView, first: Any, second: Any, order: list[int]) -> None:
    expected, found = VALUES[:5, :5, :5].transpose(order), view[:5, :5, :5].transpose(order)
    for item in (first, (slice(None), second)):
        if item == (slice(None), None) or expected.ndim < 2 or expected.shape[1 if isinstance(item, tuple) else 0] != 5:
            break
        expected, found = expected[item], found[item]
    np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize("selection", [5, (0, 0, 0, 0), -6, [9], (..., ...), "x", 1.5, np.zeros(3, bool), [0.5]])
def test_a_wrong_index_is_an_index_error(selection: Any, view: LazyView) -> None:
    with pytest.raises(IndexError):
        view[selection]


def test_an_index_reads_only_its_chunks() -> None:
    array, store = stored()
    view = LazyView(array)
    for part, expected in (
        (view[:, 2:3, :4][2][None], ["a/c/2/0/0"]),
        (view.T[0, 0].transpose(), [f"a/c/{z}/0/0" for z in range(5)]),
        (view[[4, 0], :4, 9], ["a/c/0/0/1", "a/c/4/0/1"]),
        (view[:, 5, 5][MASK], [f"a/c/{z}/1/1" for z in (0, 2, 4)]),
        (view[1, :2, :2].astype(float), ["a/c/1/0/0"]),
    ):
        assert not store.keys, "an index reads nothing"
        np.asarray(part)
        assert chunks_read(store) == expected
        shared().invalidate(array)
        store.reset()


# ---------------------------------------------------------------------- computing
def _changed(values: Any) -> Any:
    values[0, 0, 0] = 9
    return values


COMPUTED: dict[str, Any] = {
    "arithmetic": lambda a: (a + 1) * 2.5 - a,
    "reflected": lambda a: 3 - a.astype("int16"),
    "comparison": lambda a: (a > 100) & ~(a == 120),
    "two views": lambda a: a[1:] != a[:-1],
    "negated": lambda a: -a.astype("int32"),
    "matrix": lambda a: a[0].astype("int64") @ a[1].astype("int64").T,
    "max": lambda a: a.max(axis=0),
    "mean": lambda a: a.mean(),
    "np.max": lambda a: np.max(a, axis=1, keepdims=False),
    "np.sum": lambda a: np.sum(a, axis=(1, 2)),
    "np.std": lambda a: np.round(np.std(a, axis=0), 6),
    "np.where": lambda a: np.where(a > 100, a, 0),
    "np.stack": lambda a: np.stack([a[0], a[1]]),
    "np.concatenate": lambda a: np.concatenate([a, a], axis=2),
    "np.clip": lambda a: np.clip(a, 20, 30),
    "np.sqrt": lambda a: np.sqrt(a),
    "np.transpose": lambda a: np.transpose(a, (2, 0, 1)),
    "np.moveaxis": lambda a: np.moveaxis(a, 0, -1),
    "np.flip": lambda a: np.flip(a, 1),
    "np.isin": lambda a: np.isin(a, [3, 5]),
    "np.unique": lambda a: np.unique(a),
    "np.percentile": lambda a: np.percentile(a, 50),  # dask has it for one axis only
    "np.linalg.norm": lambda a: np.round(np.linalg.norm(a[0].astype(float)), 6),
    "np.fft": lambda a: np.round(np.abs(np.fft.fft(a[0, 0])), 6),
    "np.add.reduce": lambda a: np.add.reduce(a, axis=0),
    "np.histogram": lambda a: np.histogram(a, bins=4, range=(0, 200))[0],
    "np.ptp": lambda a: np.ptp(a, axis=0),
    "reshape": lambda a: a.reshape(5, -1),
    "ravel": lambda a: a.ravel(),
    "T": lambda a: a.T,
    "threshold": lambda a: a[0][a[0] > 50],
    "a list of them": lambda a: np.mean([a[0], a[1]], axis=0),
    "np.array_equal": lambda a: np.array_equal(a, a),
    "np.pad": lambda a: np.pad(a[0], 1),
    "np.dot": lambda a: np.dot(a[0, 0], a[0, 1]),
    "np.median": lambda a: np.median(a),  # dask has it along an axis only
    "np.histogram without a range": lambda a: np.histogram(a, bins=4)[0],  # dask needs a range
    "out": lambda a: np.add(a, 1, out=np.empty(a.shape, a.dtype)),  # dask writes into no array of numpy
    "np.unique with counts": lambda a: np.unique(a, return_counts=True)[1],
    "copy": lambda a: _changed(a.copy()),
    "flat": lambda a: list(a.flat)[3:9],
}


def _set(values: Any, index: Any, new: Any) -> Any:
    values[index] = new
    return values


def _filled(array: Any) -> Any:
    """As compiled code fills the array that it is given for its result."""
    out = np.empty_like(array)
    np.asarray(out)[...] = 3
    return out


def _iterated(values: Any) -> Any:
    for _ in range(30):
        values = values / 2 + 1
    return values


# Calls of scikit-image, scipy and plug-ins of napari between two computations, which dask's arrays refuse or answer
# otherwise than numpy's.
COMPUTED |= {
    "new memory": _filled,
    "flat of a result": lambda a: list((a + 1).flat)[3:9],
    "argsort of a result": lambda a: (a[0, 0] + 1).argsort(kind="stable"),
    "take": lambda a: a.take([3, 1], axis=1),
    "cumsum of all": lambda a: (a > 3).cumsum(),
    "a mask of a result has a length": lambda a: len(a[a > 50]) + len((a + 0)[a > 50]),
    "bincount": lambda a: np.bincount(a.ravel()).cumsum(),
    "histogram of a result": lambda a: np.histogram(a + 1, bins=9)[0].strides,
    "a number in a format": lambda a: f"{a.max():d} {np.isscalar(a.min())}",
    "a number as an index": lambda a: list(range(9))[int(a.min())],
    "strided": lambda a: _strided(a.T),
    "strides of a result": lambda a: (a + 1).strides,
    "ascontiguousarray": lambda a: np.ascontiguousarray(a.T) if not a.T.flags.c_contiguous else a.T,
    "astype in order": lambda a: (a + 1).astype(float, order="F").flags.f_contiguous,
    "einsum": lambda a: np.einsum("zyx->yx", a).dtype.str,
    "reflected beyond its length": lambda a: np.pad(a, 14, mode="reflect"),
    "padded with a mode as the third": lambda a: np.pad(a, 14, "symmetric"),
    "in place": lambda a: _added(a),
    "in place on a result": lambda a: _added(a * 2),
    "set": lambda a: _set(a + 1, (slice(1, 3), 2), 9),
    "set by a mask": lambda a: _set(a + 1, VALUES > 50, 9),
    "set by a lazy mask": lambda a: _set(a + 1, a > 50, 9),
    "set by lists": lambda a: _set(a + 1, ([1, 2], [3, 4]), 9),
    "indexed by itself": lambda a: np.arange(201)[a + 1],
    "logical_not into it": lambda a: _negated(a > 50),
    "iterated": lambda a: _iterated(a.astype(float)),
    "rows": lambda a: [int(row.sum()) for row in a + 1],
    "svd": lambda a: np.linalg.svd(a[0].astype(float))[0].shape,
    "a mask of the last axes": lambda a: a[:, VALUES[0] > 90],
    "a lazy mask of the last axes": lambda a: a[:, a[0] > 90],
    "a mask of the first axes": lambda a: a[VALUES[..., 0] > 90],
    "a mask and an index": lambda a: a[VALUES[..., 0] > 90, 3],
    "an index and a mask": lambda a: a[2, VALUES[1] > 90],
    "a mask after dots": lambda a: a[..., VALUES[1] > 90],
    "a mask and a new axis": lambda a: a[VALUES[..., 0] > 90, None],
    "a mask of nothing": lambda a: a[1:, VALUES[0] > 255],
    "a mask of a turned view": lambda a: a[::-1, 2:, ::2][:, VALUES[0, 2:, ::2] > 90],
    "true": lambda a: a[True],
    "false": lambda a: a[False],
    "types of products": lambda a: [
        str(found.dtype)
        for found in (np.dot(a[0], a[0].T), np.vdot(a[0], a[0]), np.tensordot(a[0], a[0].T, 1), a[0].dot(a[0].T))
    ],
    "insert": lambda a: str(np.insert(a, 1, 0, axis=0).dtype),
    "searchsorted in numbers": lambda a: np.searchsorted(np.arange(0, 200, 7), a),
    "searchsorted of numbers": lambda a: np.searchsorted(a[0, 0] * 0, [1, 2]),
    "union with a list": lambda a: np.union1d(a[0, 0], [3]),
    "ravel_multi_index": lambda a: np.ravel_multi_index((a[0, 0] % 6, a[0, 1] % 6), (6, 6)),
    "norm of small integers": lambda a: np.round(np.linalg.norm(a[0]), 9),
    "norm along an axis": lambda a: np.round(np.linalg.norm(a + 1, axis=0), 9),
    "in a larger type": lambda a: np.add(a, 200, dtype="float64"),
    "in a larger type, two": lambda a: np.multiply(a[0], a[1], dtype="u4") + (a[2] + 0),
    "in a smaller type": lambda a: np.add(a.astype("u2") * 9, a, dtype="u1", casting="unsafe"),
    "reduced in a larger type": lambda a: np.add.reduce(a, axis=(0, 1), dtype="u8"),
    "difference of booleans": lambda a: np.diff(a > 50, axis=0),
    "a list of lists": lambda a: a[np.array([[0, -1], [2, 3]])],
    "a list of lists beside slices": lambda a: a[1:, [[0, 3]], ::2],
    "items by position": lambda a: [a.item(7), a.item(-1), a.item((1, 2, 3)), a[0].item(5)],
    "compared item by item": lambda a: [a.flat == 9, a.flat != 9, a.flat < 9, a.flat <= 9, a.flat > 9, a.flat >= 9],
    "mT": lambda a: np.asarray(a.mT) + np.asarray((a + 1).mT),
    "texts": lambda a: a.astype("S")[1, 2],
    "one object": lambda a: [int(np.asarray(a.astype(object)[1, 2, 3])), int((a + 1).astype(object)[1, 2, 3])],
    "one text": lambda a: bytes((a + 1).astype("S3")[1, 2, 3]),
    "item of a result": lambda a: str([(a + 1).item(1, 2, 3), (a + 1)[1].tolist(), 201 in (a + 1)]),
}


def _strided(values: Any) -> Any:
    return np.lib.stride_tricks.as_strided(values, (2, 2, 2), values.strides)


def _added(values: Any) -> Any:
    values = values.astype(float)
    values += 0.5
    values -= values.min()
    return values


def _negated(values: Any) -> Any:
    np.logical_not(values, out=values)
    return values


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", COMPUTED)
def test_computing_gives_what_numpy_gives(name: str, computing: LazyView) -> None:
    np.testing.assert_array_equal(np.asarray(COMPUTED[name](computing)), np.asarray(COMPUTED[name](VALUES)))


def test_what_is_computed_is_read_when_it_is_asked_for() -> None:
    da = pytest.importorskip("dask.array")
    array, store = stored()
    view = LazyView(array)
    later = [
        np.max(view, axis=0), view + 1, view > 4, view.mean(axis=(1, 2)), np.where(view > 3, view, 0), view[view > 9],
        view.astype(float) / 2, np.stack([view, view]), view.T.sum(axis=0),
        np.add(view, 1, dtype=float), np.linalg.norm(view, axis=0),
    ]  # fmt: skip
    assert all(isinstance(each, da.Array) for each in later)
    assert not store.keys
    np.testing.assert_array_equal(np.asarray(later[0]), VALUES.max(axis=0))
    assert len(chunks_read(store)) == 5 * 3 * 2


def test_a_mask_beside_an_index_reads_only_their_chunks() -> None:
    array, store = stored()
    mask = np.zeros(VALUES.shape[1:], bool)
    mask[:3, :4] = True
    np.testing.assert_array_equal(LazyView(array)[2, mask], VALUES[2, mask])
    np.testing.assert_array_equal(LazyView(array)[3:, mask], VALUES[3:, mask])
    assert len(chunks_read(store)) == 3
    with pytest.raises(IndexError, match=r"mask of \(3, 4\)"):
        LazyView(array)[2, mask[:3, :4]]


def test_results_whose_size_depends_on_the_values_have_a_size(view: LazyView) -> None:
    for each, expected in zip(
        (np.unique(view), *np.nonzero(view)), (np.unique(VALUES), *np.nonzero(VALUES)), strict=True
    ):
        assert each.shape == expected.shape
        assert len(each) == len(expected)


def test_lazy_positions_select_elements(view: LazyView) -> None:
    da = pytest.importorskip("dask.array")
    places = np.nonzero(VALUES > 150)
    lazy = tuple(da.from_array(each) for each in places)
    np.testing.assert_array_equal(np.asarray(view[lazy]), VALUES[places])
    np.testing.assert_array_equal(np.asarray(view[lazy[0][:3]]), VALUES[places[0][:3]])


def test_an_error_of_reading_is_not_tried_again_with_numpy() -> None:
    array, store = stored()
    store.set("a/c/0/0/0", b"no chunk")
    store.reset()
    with pytest.raises(ZarrscopeError):
        np.unique(LazyView(array))
    assert [key for _, key in store.keys].count("a/c/0/0/0") == 1


@pytest.mark.parametrize(
    "wrong",
    [
        lambda a: a + np.ones(a.shape[-1] + 1),
        lambda a: a + "text",
        lambda a: np.concatenate([a, np.ones((2, 2))]),
        lambda a: np.sum(a, axis=7),
    ],
)
def test_a_mistake_is_told_before_anything_is_read(wrong: Callable[[Any], Any]) -> None:
    pytest.importorskip("dask")
    array, store = stored()
    with pytest.raises((TypeError, ValueError)):
        wrong(LazyView(array))
    assert not chunks_read(store)


def test_a_part_of_what_is_computed_reads_a_part() -> None:
    values = np.zeros((8, 3000, 3000), "float32")
    memory = MemoryStore()
    zarrscope.open(memory, "w-").create_array("/a", shape=values.shape, dtype="float32", chunks=(1, 1000, 1000))
    store = Counting(memory)
    array = zarrscope.open(store)["/a"]
    assert isinstance(array, Array)
    assert np.asarray((LazyView(array) * 2)[3, :10, :10]).shape == (10, 10)
    assert 0 < len(chunks_read(store)) <= 9


# numpy 2.5 warns of a line in scikit-image (util/_map_array.py), as numpy arrays alone make it do.
@pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning")
def test_scikit_image_computes_with_a_view(view: LazyView) -> None:
    filters = pytest.importorskip("skimage.filters")
    measure = pytest.importorskip("skimage.measure")
    morphology = pytest.importorskip("skimage.morphology")
    segmentation = pytest.importorskip("skimage.segmentation")
    labels = measure.label(VALUES > 150)

    def table(values: Any) -> Any:
        return measure.regionprops_table(labels, values, properties=("area", "mean_intensity"))["mean_intensity"]

    calls: list[Callable[[Any], Any]] = [
        filters.threshold_otsu, filters.threshold_li, filters.threshold_triangle, filters.threshold_multiotsu,
        lambda a: filters.threshold_sauvola(a, window_size=3), lambda a: filters.gaussian(a[0]), table,
        lambda a: measure.regionprops_table(a, properties=("label", "area"))["area"],
        lambda a: measure.block_reduce(a, (1, 2, 2)), morphology.opening, morphology.white_tophat,
        lambda a: morphology.skeletonize(a > 100), segmentation.watershed, segmentation.clear_border,
        lambda a: segmentation.relabel_sequential(a)[0],
    ]  # fmt: skip
    for call in calls:
        np.testing.assert_allclose(np.asarray(call(view)), np.asarray(call(VALUES)), rtol=1e-12)


def test_plug_ins_that_look_for_dask_by_the_name_of_the_class_find_it(view: LazyView) -> None:
    # As napari-simpleitk-image-processing, napari-time-slicer and napari-skimage-regionprops do.
    da = pytest.importorskip("dask.array")
    name = "<class 'dask.array.core.Array'>"
    assert str(type(da.zeros(1))) == name
    assert {str(type(each)) for each in (view, view[0], view + 1, (view + 1)[0])} == {name}
    assert "Lazy" in repr(type(view))
    assert "Lazy" in repr(type(view + 1))
    assert pickle.loads(pickle.dumps(type(view))) is LazyView


def test_a_result_is_read_once_and_never_shared() -> None:
    pytest.importorskip("dask")
    array, store = stored()
    result = LazyView(array) + 1
    np.asarray(result)[...] = 0
    shared().invalidate(array)
    store.reset()
    np.testing.assert_array_equal(np.asarray(result), VALUES + 1)
    assert not chunks_read(store)
    with pytest.raises(TypeError, match="read-only"):
        np.add(VALUES, 1, out=cast(Any, LazyView(array)))


def test_blocks_are_whole_chunks_within_the_limit() -> None:
    edges = [list(range(0, 101, 1)), list(range(0, 4097, 256)), [*range(0, 4000, 256), 4000]]
    blocks = _blocks(edges, 2)
    assert [sum(each) for each in blocks] == [100, 4096, 4000]
    assert max(blocks[0]) * max(blocks[1]) * max(blocks[2]) * 2 <= LAZY_BLOCK_BYTES
    for each, along in zip(edges, blocks, strict=True):
        assert set(np.cumsum(along)) <= set(each)
    assert sum(map(len, blocks)) < 200


def test_edges_of_a_part_are_those_of_its_chunks() -> None:
    view = LazyView(stored()[0])
    assert view.edges(1) == [0, 4, 8, 12]
    assert view[:, 2:11].edges(1) == [0, 2, 6, 9]
    assert view[:, 10:1:-3].edges(1) == [0, 1, 3]
    assert view[:, ::5].edges(1) == [0, 1, 2, 3]
    assert view[:, None].edges(1) == [0, 1]


# ---------------------------------------------------------------------- being an object
def test_a_view_is_one_number_or_says_that_it_is_not(view: LazyView) -> None:
    one = view[0, 0, 0]
    assert (int(one), float(one), one.item(), one.tolist()) == (VALUES[0, 0, 0],) * 4
    assert VALUES[0, 0, 0] in one
    assert -1 not in one
    assert bool(view[0, :1, :1] == VALUES[0, 0, 0])
    assert view.item(1, 2, 3) == VALUES[1, 2, 3]
    with pytest.raises(ValueError, match="ambiguous"):
        bool(view)
    with pytest.raises(TypeError, match="without axes"):
        len(one)
    for number in (int, float):  # as code asks that takes whatever is no numpy array for a number
        with pytest.raises(TypeError, match="asarray"):
            number(view)
    assert "max" in dir(view)
    with pytest.raises(AttributeError):
        view.no_such_method  # noqa: B018 - the attribute is asked for


def test_a_view_is_copied_pickled_and_never_written() -> None:
    array, _ = stored()
    view = LazyView(array)[1, None].astype("int32")
    assert deepcopy(view) is view
    with pytest.raises(TypeError, match="is read-only"):
        view[0] = 1
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(view, copy=False)
    assert len({view, view}) == 1


def test_a_pickled_view_reads_the_same(tmp_path: Any) -> None:
    made = zarrscope.open(str(tmp_path / "a.zarr"), "w-").create_array("/a", shape=VALUES.shape, dtype="u1")
    made[...] = VALUES
    view = LazyView(made)[[3, 1], None, ::-2].astype("float32")
    again = pickle.loads(pickle.dumps(view))
    np.testing.assert_array_equal(np.asarray(again), VALUES[[3, 1], None, ::-2])
    assert again.dtype == np.float32


def test_dask_reads_the_blocks_of_a_view() -> None:
    """Plug-ins call `from_array` on the data of a layer: the result has numbers, and only the blocks in use are
    read."""
    da = pytest.importorskip("dask.array")
    array, store = stored()
    view = LazyView(array)
    lazy = da.from_array(view, chunks=view.chunks)
    assert not chunks_read(store)
    highest = lazy[2, :4, :5].max().compute()
    assert isinstance(highest, np.generic)
    assert highest == VALUES[2, :4, :5].max()
    assert chunks_read(store) == ["a/c/2/0/0"]
    np.testing.assert_array_equal(da.asarray(view)[1].compute(), VALUES[1])
    np.testing.assert_array_equal((da.from_array(view) + view).compute(), VALUES + VALUES)
    assert isinstance(np.stack([view, view]), da.Array), "numpy finds the method on the type"
