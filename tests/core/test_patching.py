"""Editable views show painted values and write them into all levels on request, unless another program wrote there."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.full_disk import full_from
from narrowing import as_array
from zarrscope import convert
from zarrscope.convert.downsampling import downsample
from zarrscope.errors import Conflict, Refused
from zarrscope.stores.memory import MemoryStore
from zarrscope.view.editable import EditableView
from zarrscope.view.image import find_images
from zarrscope.view.lazy import LazyView

RANDOM = np.random.default_rng(11)
SHAPE = (4, 141, 270)


def labels(path: Path, dialect: str = "v3", method: Any = "nearest", dtype: str = "u2", shards: Any = None) -> Path:
    """A label image of three levels; the height is odd, so the last block of each level is smaller."""
    values = RANDOM.integers(0, 2 if dtype == "?" else 5, SHAPE).astype(dtype)
    axes = [{"name": name, "type": "space"} for name in "zyx"]
    datasets = []
    with zarrscope.open(str(path), "w-", dialect=dialect) as h:
        for k in range(3):
            scale = {"type": "scale", "scale": [1, 2**k, 2**k]}
            datasets.append({"path": str(k), "coordinateTransformations": [scale]})
            more = {"shards": shards} if shards else {}
            array = h.create_array(f"/{k}", shape=values.shape, dtype=values.dtype, chunks=(1, 64, 64), **more)
            array[...] = values
            values = downsample(values, (1, 2, 2), method)
        about: dict[str, Any] = {"multiscales": [{"axes": axes, "datasets": datasets}], "image-label": {}}
        if dialect == "v3":
            h["/"].attrs["ome"] = {"version": "0.5", **about}
        else:
            about["multiscales"][0]["version"] = "0.4"
            h["/"].attrs.update(about)
    return path


def view_of(path: Path) -> EditableView:
    return EditableView.of(LazyView(zarrscope.open_array(str(path), "/0")))


def planned(path: Path, view: EditableView) -> convert.Patch:
    (image,) = find_images(zarrscope.open(str(path), "r+")["/"])
    return convert.plan_patch(image, view.edits)


def values_of(path: Path) -> list[np.ndarray[Any, Any]]:
    with zarrscope.open(str(path)) as h:
        return [np.asarray(h[f"/{k}"]) for k in range(3)]


SELECTIONS: tuple[Any, ...] = (
    (0, slice(10, 30), slice(240, 260)),
    (slice(None), 5),
    (..., 3),
    (slice(None, None, 2), slice(-4, None), slice(None, None, -7)),
    (np.array([1, 1, 2]), np.array([0, 127, 128]), np.array([260, 1, 269])),
    ([0, 3], slice(2, 5), [1, 2]),
    (2, [4, 9], slice(0, 260)),
    np.s_[1:2, 100:, 10],
)


def _add(labels: Any) -> Any:
    labels += 1
    return labels


@pytest.mark.parametrize(
    "change",
    [
        lambda a: np.put(a, [1, 2, 3], 5),
        lambda a: np.putmask(a, np.asarray(a) == 1, 5),
        lambda a: np.place(a, np.asarray(a) == 0, [7, 8]),
        lambda a: np.copyto(a, 3),
        lambda a: np.copyto(a, 4, where=np.asarray(a) == 1),
        lambda a: np.add.at(a, (np.array([1, 1]), np.array([2, 2])), 1),
        lambda a: np.add(a, 1, out=a),
        lambda a: a.fill(2),
        _add,
    ],
)
def test_functions_that_change_an_array_set_an_editable_view(change: Callable[[Any], Any]) -> None:
    """Or say that a view is read-only: they never change a copy that nobody sees."""
    values = (np.arange(20).reshape(4, 5) % 3).astype("u2")
    array = zarrscope.open(MemoryStore(), "w-").create_array("/a", shape=(4, 5), dtype="u2", chunks=(2, 2))
    array[...] = values
    view = EditableView(array)
    change(view)
    change(values)
    np.testing.assert_array_equal(np.asarray(view), values)
    if change is not _add:  # `+=` gives another lazy array there
        with pytest.raises((TypeError, AttributeError), match=r"read-only|fill"):
            change(LazyView(array))


@pytest.mark.parametrize("selection", SELECTIONS, ids=range(len(SELECTIONS)))
def test_setting_is_numpys(selection: Any, tmp_path: Path) -> None:
    path = labels(tmp_path / "a.zarr")
    view, values = view_of(path), values_of(path)[0]
    new = RANDOM.integers(5, 99, values[selection].shape).astype("u2")
    view[selection] = new
    values[selection] = new
    np.testing.assert_array_equal(np.asarray(view), values)
    np.testing.assert_array_equal(
        np.asarray(view[1:3, 20:140:3][:, ::-1, [4, 257]]), values[1:3, 20:140:3][:, ::-1, [4, 257]]
    )
    assert np.asarray(view[2, 5, 3]).item() == values[2, 5, 3]
    where = np.array([0, 3]), np.array([5, 140]), np.array([3, 260])
    np.testing.assert_array_equal(view[where], values[where])
    part = view[1:, ::2].transpose(2, 0, 1)
    part[5] = 77
    values[1:, ::2].transpose(2, 0, 1)[5] = 77
    np.testing.assert_array_equal(np.asarray(view), values)


def test_a_copy_has_edits_of_its_own(tmp_path: Path) -> None:
    """Viewers duplicate a layer with `deepcopy`."""
    array = zarrscope.open(str(tmp_path / "a.zarr"), "w-").create_array("/a", shape=(3, 8), dtype="u1")
    view = EditableView(array)[1:]
    view[0, 2] = 7
    copy = deepcopy(view)
    copy[1, 3] = 5
    assert isinstance(copy, EditableView)
    assert (view[0, 2].item(), view[1, 3].item()) == (7, 0)
    assert (copy[0, 2].item(), copy[1, 3].item()) == (7, 5)
    assert copy.edits.clear(copy.edits.version)
    assert view[0, 2].item() == 7


def test_a_mask_sets_and_what_the_type_does_not_hold_is_refused(tmp_path: Path) -> None:
    path = labels(tmp_path / "a.zarr")
    view, values = view_of(path), values_of(path)[0]
    mask = values == 3
    view[mask] = 9
    values[mask] = 9
    np.testing.assert_array_equal(np.asarray(view), values)
    np.testing.assert_array_equal(np.asarray(view.max(axis=0)), values.max(axis=0))
    view[0, 0, 0] = 40
    assert int(np.asarray(view.max())) == 40, "dask keeps nothing of before"
    for wrong in (-1, 70_000, 1.5):
        with pytest.raises(Refused, match="uint16"):
            view[0] = wrong
    with pytest.raises(IndexError):
        view[0, [600], [1]] = 1
    assert not isinstance(pickle.loads(pickle.dumps(view)), EditableView)
    with pytest.raises(TypeError):
        LazyView(view.array)[0] = 1


@pytest.mark.parametrize("dialect", ["v3", "v2"])
@pytest.mark.parametrize("method", ["nearest", "mode"])
def test_levels_follow_as_they_were_made(dialect: str, method: Any, tmp_path: Path) -> None:
    path = labels(tmp_path / "a.zarr", dialect, method)
    view = view_of(path)
    view[1, 60:90, 100:140] = 77
    view[3, -1, -1] = 88
    expected = [np.asarray(view)]
    for _ in range(2):
        expected.append(downsample(expected[-1], (1, 2, 2), method))
    patch = planned(path, view)
    assert [level.method for level in patch.levels] == [None, method, method]
    assert patch.levels[0].elements == 30 * 40 + 1
    done: list[float] = []
    assert convert.write_patch(patch, done.append) == sum(level.elements for level in patch.levels)
    assert done == sorted(done)
    assert done[-1] == 1
    for got, wanted in zip(values_of(path), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert planned(path, view).pieces == 0, "nothing is left to write"


def test_only_touched_chunks_are_written(tmp_path: Path) -> None:
    path = labels(tmp_path / "a.zarr", shards=(2, 128, 128))
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    view = view_of(path)
    view[1, 60:70, 8] = 77
    assert {file: file.read_bytes() for file in before} == before, "painting writes nothing"
    convert.write_patch(planned(path, view))
    changed = {str(file.relative_to(path)) for file in before if file.read_bytes() != before[file]}
    assert changed == {"0/c/0/0/0", "1/c/0/0/0", "2/c/0/0/0"}
    np.testing.assert_array_equal(values_of(path)[0][1, 60:70, 8], 77)


def test_somebody_elses_change_is_a_conflict_where_it_meets_and_kept_elsewhere(tmp_path: Path) -> None:
    path = labels(tmp_path / "a.zarr")
    view = view_of(path)
    view[0, :10, :10] = 77
    patch = planned(path, view)
    with zarrscope.open(str(path), "r+") as other:
        as_array(other["/0"])[0, 50, 50] = 99  # in the same chunk, elsewhere
    convert.write_patch(patch)
    assert values_of(path)[0][0, 50, 50] == 99
    view[0, :10, :10] = 78
    patch = planned(path, view)
    with zarrscope.open(str(path), "r+") as other:
        as_array(other["/0"])[0, 5, 5] = 99
    with pytest.raises(Conflict, match="changed the edited elements"):
        convert.write_patch(patch)
    assert values_of(path)[0][0, 5, 5] == 99
    convert.write_patch(planned(path, view))
    assert values_of(path)[0][0, 5, 5] == 78


@pytest.mark.parametrize("method", ["nearest", "mode"])
def test_somebody_elses_change_between_the_edited_elements_is_kept_in_all_levels(method: Any, tmp_path: Path) -> None:
    path = labels(tmp_path / "a.zarr", method=method)
    view = view_of(path)
    view[0, 4, 4] = view[0, 40, 40] = 77  # one box holds both, and the elements between them
    view[0, 20, 20:22] = 78
    patch = planned(path, view)
    with zarrscope.open(str(path), "r+") as other:
        as_array(other["/0"])[0, 30, 30] = 99
        as_array(other["/0"])[0, 21, 20:22] = 78  # beneath the same coarser element as an edited one
        as_array(other["/1"])[0, 15, 16] = 98
    convert.write_patch(patch)
    finest, coarser, coarsest = values_of(path)
    assert [finest[0, at, at] for at in (4, 20, 30, 40)] == [77, 78, 99, 77]
    assert coarser[0, 15, 16] == 98
    assert coarser[0, 10, 10] == 78
    assert coarsest[0, 1, 1] == downsample(coarser, (1, 2, 2), method)[0, 1, 1]


def test_cancelled_it_tells_how_far_it_is_and_goes_on(tmp_path: Path) -> None:
    path = labels(tmp_path / "a.zarr")
    view = view_of(path)
    view[0] = 77
    asked = iter([False, False, True])
    with pytest.raises(Refused, match="2 of"):
        convert.write_patch(planned(path, view), cancelled=lambda: next(asked))
    convert.write_patch(planned(path, view))
    np.testing.assert_array_equal(values_of(path)[2][0], 77)


@pytest.mark.parametrize(("prefix", "done"), [("0/c/0", 0), ("0/c/1", 15), ("1/c/0", 30)])
def test_a_full_disk_tells_how_far_it_is_and_goes_on(
    prefix: str, done: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = labels(tmp_path / "a.zarr")
    view = view_of(path)
    view[:2] = 77
    with monkeypatch.context() as patch:
        full_from(patch, prefix)
        with pytest.raises(zarrscope.ZarrscopeError) as caught:
            convert.write_patch(planned(path, view))
    told = f"{done} of 46 chunks are written"
    assert ("still there" in str(caught.value.advice), told in str(caught.value.advice)) == (not done, bool(done))
    assert (values_of(path)[0] == 77).all(axis=(1, 2)).tolist() == [done >= 15, done >= 30, False, False]
    convert.write_patch(planned(path, view))
    for level in values_of(path):
        np.testing.assert_array_equal(level[:2], 77)


def test_a_level_that_is_no_whole_part_is_left_and_named(tmp_path: Path) -> None:
    path = labels(tmp_path / "a.zarr")
    with zarrscope.open(str(path), "r+") as h:
        h.erase("/1")
        h.create_array("/1", shape=(4, 90, 150), dtype="u2")
    view = view_of(path)
    view[2, 8:16, 8:16] = 77
    patch = planned(path, view)
    assert [path for path, _ in patch.left] == ["/1"]
    convert.write_patch(patch)
    np.testing.assert_array_equal(values_of(path)[2][2, 2:4, 2:4], 77)
    assert not values_of(path)[1].any()


def test_another_shape_is_refused(tmp_path: Path) -> None:
    path = labels(tmp_path / "a.zarr")
    view = view_of(path)
    view[0, 0, 0] = 9
    with zarrscope.open(str(path), "r+") as h:
        as_array(h["/0"]).resize((4, 141, 300))
    with pytest.raises(Refused, match="another shape"):
        planned(path, view)
