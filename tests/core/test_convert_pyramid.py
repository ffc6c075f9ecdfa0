"""Pyramids: each level compared with an independent computation, the metadata of its position, and rebuilding in
place.
"""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
import warnings
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zarrscope
from contracts.killed import Dying, Killed
from narrowing import as_array, as_group
from zarrscope import convert
from zarrscope.check.hierarchy import check
from zarrscope.convert import blocks
from zarrscope.convert.downsampling import downsample
from zarrscope.errors import BadChunk, Conflict, Refused
from zarrscope.stores.memory import MemoryStore
from zarrscope.view.image import find_images


def blockwise(values: np.ndarray[Any, Any], factors: tuple[int, ...], reduce: Any) -> np.ndarray[Any, Any]:
    """Returns `reduce(elements of a block)` for each block: a slow computation that is independent of the tested
    one."""
    shape = tuple(-(-n // f) for n, f in zip(values.shape, factors, strict=True))
    out = np.empty(shape, values.dtype)
    for index in np.ndindex(*shape):
        block = values[tuple(slice(i * f, (i + 1) * f) for i, f in zip(index, factors, strict=True))]
        out[index] = reduce(block.reshape(-1))
    return out


def exact_mean(block: np.ndarray[Any, Any]) -> int:
    return round(Fraction(sum(map(int, block)), len(block)))  # Python rounds halves to even


def first_mode(block: np.ndarray[Any, Any]) -> Any:
    found, counts = np.unique(block, return_counts=True)
    return found[np.argmax(counts)]


# ------------------------------------------------------------------------------------------------- elements
@settings(max_examples=150)
@given(
    st.sampled_from(["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"]),
    st.lists(st.tuples(st.integers(1, 7), st.integers(1, 4)), min_size=0, max_size=3),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_the_mean_of_integers_is_exact(dtype: str, axes: list[tuple[int, int]], seed: int, extreme: bool) -> None:
    shape, factors = tuple(n for n, _ in axes), tuple(f for _, f in axes)
    info = np.iinfo(dtype)
    random_numbers = np.random.default_rng(seed)
    if extreme:
        values = random_numbers.choice(np.array([info.min, info.max, 0, 1], dtype), shape)
    else:
        values = random_numbers.integers(info.min, info.max, shape, dtype, endpoint=True)
    values = np.asarray(values, dtype)
    assert np.array_equal(downsample(values, factors, "mean"), blockwise(values, factors, exact_mean))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8"])
def test_the_mean_of_floats_is_rounded_once(dtype: str) -> None:
    values = (np.random.default_rng(1).standard_normal((5, 9, 7)) * 1000).astype(dtype)
    values[0, 0, 0] = np.nan
    values[4, 8, 6] = np.inf
    with np.errstate(invalid="ignore"):
        wanted = blockwise(values, (2, 2, 3), lambda block: block.astype("c16" if dtype == "c8" else "f8").mean())
    assert np.allclose(
        downsample(values, (2, 2, 3), "mean"),
        wanted,
        rtol=np.finfo(dtype).eps,
        atol=1e-9,  # sums of doubles depend on their order
        equal_nan=True,
    )
    big = np.full((2, 2), np.finfo("f2").max, "f2")
    assert downsample(big, (2, 2), "mean")[0, 0] == np.finfo("f2").max


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4)), min_size=1, max_size=3),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["u2", "f4", "?"]),
)
def test_nearest_and_mode(axes: list[tuple[int, int]], seed: int, dtype: str) -> None:
    shape, factors = tuple(n for n, _ in axes), tuple(f for _, f in axes)
    values = np.random.default_rng(seed).integers(0, 4, shape).astype(dtype)
    assert np.array_equal(downsample(values, factors, "nearest"), blockwise(values, factors, lambda block: block[0]))
    assert np.array_equal(downsample(values, factors, "mode"), blockwise(values, factors, first_mode))


# ------------------------------------------------------------------------------------------------- images
AXES = ("t", "c", "z", "y", "x")


def stack(dialect: str = "v2", shape: tuple[int, ...] = (2, 2, 9, 37, 50), **options: Any) -> zarrscope.Hierarchy:
    made = zarrscope.open(MemoryStore(), "w-", dialect=dialect)
    values = np.random.default_rng(3).integers(0, 65535, shape).astype("u2")
    made.create_array("/a", shape=shape, dtype="u2", chunks=(1, 1, 4, 16, 16), dimension_names=AXES, **options)[...] = (
        values
    )
    return made


def built(source: zarrscope.Hierarchy, dialect: str = "v3", path: str = "/a", **options: Any) -> zarrscope.Hierarchy:
    wanted = {name: options.pop(name) for name in ("levels", "factors", "method", "axes") if name in options}
    store = MemoryStore()
    result = convert.run(convert.plan(source, store, dialect, path=path, pyramid=convert.Pyramid(**wanted), **options))
    assert result.verified
    return zarrscope.open(store)


def image_of(hierarchy: zarrscope.Hierarchy, path: str = "/") -> Any:
    (image,) = find_images(hierarchy[path])
    return image


def proved(image: Any, method: str = "mean") -> None:
    """Checks that every level is the reduction of the one above, and that its transformation places elements at the
    centres of their blocks."""
    for above, level in zip(image.levels, image.levels[1:], strict=False):
        factors = tuple(
            1 if axis.type != "space" or n == 1 else 2 for axis, n in zip(image.axes, above.shape, strict=True)
        )
        reduce = {"mean": exact_mean, "nearest": lambda block: block[0], "mode": first_mode}[method]
        assert np.array_equal(level.array[...], blockwise(above.array[...], factors, reduce))
        for axis, f in enumerate(factors):
            middle = (f - 1) / 2 if method != "nearest" else 0
            assert level.scale[axis] == above.scale[axis] * f
            assert level.translation[axis] == pytest.approx(above.translation[axis] + above.scale[axis] * middle)


@pytest.mark.parametrize("method", ["mean", "nearest", "mode"])
@pytest.mark.parametrize("dialect", ["v3", "v2"])
def test_a_plain_array_becomes_an_image(dialect: str, method: str) -> None:
    source = stack()
    made = built(source, dialect, levels=4, method=method)
    image = image_of(made)
    assert image.version == ("0.5" if dialect == "v3" else "0.4")
    assert [level.shape for level in image.levels] == [
        (2, 2, 9, 37, 50),
        (2, 2, 5, 19, 25),
        (2, 2, 3, 10, 13),
        (2, 2, 2, 5, 7),
    ]
    assert np.array_equal(image.levels[0].array[...], as_array(source["/a"])[...])
    proved(image, method)
    assert all(level.array.dimension_names == AXES for level in image.levels)
    assert [f.message for f in check(made) if f.severity != "information"] == []


def test_levels_go_down_to_256_pixels_unless_told() -> None:
    source = zarrscope.open(MemoryStore(), "w-")
    source.create_array("/a", shape=(3, 1000, 300), dtype="u1", chunks=(1, 256, 256), dimension_names=["z", "y", "x"])
    assert [level.shape[1:] for level in image_of(built(source)).levels] == [(1000, 300), (500, 150), (250, 75)]
    assert [level.shape for level in image_of(built(source, levels=2, factors={"z": 1, "y": 4})).levels] == [
        (3, 1000, 300),
        (3, 250, 150),
    ]
    assert len(image_of(built(source, levels=32)).levels) == 11  # until every axis is 1
    assert len(image_of(built(source, levels=1)).levels) == 1


def test_axes_come_from_the_array_or_from_the_caller() -> None:
    source = zarrscope.open(MemoryStore(), "w-")
    source.create_array("/a", shape=(3, 40, 30), dtype="u1", chunks=(1, 16, 16))
    with pytest.raises(Refused, match="--axes"):
        built(source)
    with pytest.raises(Refused, match="do not fit"):
        built(source, axes=("y", "x"))
    image = image_of(built(source, axes=("c", "y", "x"), levels=2))
    assert [(axis.name, axis.type) for axis in image.axes] == [("c", "channel"), ("y", "space"), ("x", "space")]
    assert image.levels[1].shape == (3, 20, 15)
    with pytest.raises(Refused, match="no axis 'w'"):
        built(source, axes=("c", "y", "x"), factors={"w": 2})


@pytest.mark.parametrize("wrong", [{"levels": 0}, {"levels": 99}, {"factors": 0}, {"factors": {"z": 99}}])
def test_what_no_pyramid_can_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        convert.Pyramid(**wrong)


def test_where_nothing_is_an_image_that_is_said() -> None:
    with pytest.raises(Refused, match="no image"):
        built(stack(), path="/")
    with pytest.raises(Refused, match="v2 and v3 only"):
        built(stack(), "n5")
    source = zarrscope.open(MemoryStore(), "w-")
    source.create_array("/s", shape=(5, 5), dtype=str, fill_value="")
    with pytest.raises(Refused, match="no mean"):
        built(source, path="/s")


def multiscale(hierarchy: zarrscope.Hierarchy, path: str, label: bool = False) -> None:
    """An image of two levels that starts at 10, 20 µm; the coarser level has wrong values."""
    values = np.random.default_rng(9).integers(0, 5 if label else 65535, (21, 30)).astype("u2")
    transformations = [{"type": "scale", "scale": [0.5, 0.25]}, {"type": "translation", "translation": [10, 20]}]
    entry = {
        "version": "0.4",
        "name": "cells",
        "axes": [{"name": n, "type": "space", "unit": "micrometer"} for n in "yx"],
        "datasets": [
            {"path": "s0", "coordinateTransformations": transformations},
            {"path": "s1", "coordinateTransformations": [{"type": "scale", "scale": [9, 9]}]},
        ],
        "coordinateTransformations": [{"type": "scale", "scale": [2, 2]}],
        "metadata": {"made": "by hand"},
        "mine": {"kept": True},
    }
    attributes: dict[str, Any] = {"multiscales": [entry], "note": 1}
    if label:
        attributes["image-label"] = {"version": "0.4", "colors": [{"label-value": 1, "rgba": [1, 2, 3, 4]}]}
    else:
        attributes["omero"] = {
            "channels": [{"color": "FF0000", "label": "x", "window": {"min": 0, "max": 9, "start": 0, "end": 9}}]
        }
    hierarchy.create_group(path, attributes)
    hierarchy.create_array(f"{path}/s0", shape=values.shape, dtype="u2", chunks=(8, 8), separator="/")[...] = values
    hierarchy.create_array(f"{path}/s1", shape=(11, 15), dtype="u2", chunks=(8, 8), attributes={"old": 1})[...] = 7


def image_with_labels(store: Any = None, dialect: str = "v2") -> zarrscope.Hierarchy:
    made = zarrscope.open(MemoryStore() if store is None else store, "w-", dialect=dialect)
    multiscale(made, "/i")
    made.create_group("/i/labels", {"labels": ["nuclei"]})
    multiscale(made, "/i/labels/nuclei", label=True)
    return made


@pytest.mark.parametrize("dialect", ["v3", "v2"])
def test_levels_of_images_and_labels_are_built_anew_on_the_way(dialect: str) -> None:
    source = image_with_labels()
    made = built(source, dialect, path="/i", levels=3)
    image, label = image_of(made), image_of(made, "/labels/nuclei")
    assert [level.path for level in image.levels] == ["/s0", "/s1", "/s2"]
    assert [level.path for level in label.levels] == [f"/labels/nuclei/s{k}" for k in range(3)]
    proved(image)
    proved(label, "nearest")
    assert image.levels[0].scale == (1.0, 0.5)
    assert image.levels[1].translation == (20.5, 40.25)
    own = made.root.attributes
    entry = (own["ome"] if dialect == "v3" else own)["multiscales"][0]
    assert entry["datasets"][0]["coordinateTransformations"][1]["translation"] == [10, 20]
    assert (entry["mine"], entry["name"], entry["type"]) == ({"kept": True}, "cells", "mean")
    assert "by hand" not in json.dumps(entry)
    assert (own["ome"] if dialect == "v3" else own)["omero"]["channels"][0]["label"] == "x"
    assert own["note"] == 1
    assert made["/s1"].attributes["old"] == 1
    assert image.channels[0].label == "x"
    assert label.label_colors == {1: (1, 2, 3, 4)}
    assert label.is_label
    assert not [f for f in check(made) if f.severity == "error"]


def test_the_mean_of_labels_is_never_taken() -> None:
    plan = convert.plan(image_with_labels(), MemoryStore(), "v3", path="/i", pyramid=convert.Pyramid(method="mean"))
    methods = {node.target: node.level.method for node in plan.nodes if node.level is not None}
    assert not methods  # small enough
    plan = convert.plan(
        image_with_labels(), MemoryStore(), "v3", path="/i", pyramid=convert.Pyramid(levels=2, method="mean")
    )
    assert {node.target: node.level.method for node in plan.nodes if node.level is not None} == {
        "/s1": "mean",
        "/labels/nuclei/s1": "nearest",
    }


def test_levels_in_groups_of_their_own_and_names_that_are_taken() -> None:
    source = zarrscope.open(MemoryStore(), "w-")
    axes = [{"name": n, "type": "space"} for n in "yx"]
    paths = ["scale0/image", "scale1/image"]
    scale = [{"type": "scale", "scale": [1, 1]}]
    datasets = [{"path": path, "coordinateTransformations": scale} for path in paths]
    source.create_group("/i", {"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}})
    for k, path in enumerate(paths):
        array = source.create_array(f"/i/{path}", shape=(16 >> k, 16 >> k), dtype="f4", chunks=(4, 4))
        array[...] = np.arange((16 >> k) ** 2).reshape(16 >> k, 16 >> k)
    made = built(source, path="/i", levels=4)
    assert [level.path for level in image_of(made).levels] == [f"/scale{k}/image" for k in range(4)]
    assert {child.name for child in as_group(made.root).children()} == {f"scale{k}" for k in range(4)}
    values = np.arange(256, dtype="f4").reshape(16, 16)
    assert np.array_equal(as_array(made["/scale1/image"])[...], values.reshape(8, 2, 8, 2).mean((1, 3)))
    source.create_group("/i/scale2", {"mine": 1})
    source.create_array("/i/scale2/image", shape=(2,), dtype="u1")
    with pytest.raises(Conflict):  # never written over
        built(source, path="/i", levels=4)


def test_shards_are_kept_and_no_longer_than_a_level() -> None:
    made = built(stack(), levels=4, chunks=(1, 1, 2, 8, 8), shards=(1, 1, 8, 32, 32))
    arrays = [level.array for level in image_of(made).levels]
    assert [array.chunks for array in arrays] == [(1, 1, 2, 8, 8)] * 3 + [(1, 1, 2, 5, 7)]
    assert [array.shards for array in arrays] == [
        (1, 1, 8, 32, 32),
        (1, 1, 6, 24, 32),
        (1, 1, 4, 16, 16),
        (1, 1, 2, 5, 7),
    ]
    proved(image_of(made))


@pytest.mark.parametrize("size", [1, 700, 5000])
def test_whatever_memory_a_region_gets_the_elements_are_the_same(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "REGION_BYTES", size)
    proved(image_of(built(stack(), levels=3, shards=(1, 1, 8, 32, 48), chunks=(1, 1, 4, 16, 16))))


def test_nothing_larger_than_a_region_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard of 4 MiB is computed in parts from 32 MiB of the level above."""
    from zarrscope.nodes.stored_array import StoredArray

    source = zarrscope.open(MemoryStore(), "w-")
    source.create_array("/a", shape=(64, 512, 512), dtype="u2", chunks=(16, 64, 64), dimension_names=["z", "y", "x"])
    most = 0
    read = StoredArray.read

    def counted(self: StoredArray, selection: Any) -> Any:
        nonlocal most
        values = read(self, selection)
        most = max(most, values.nbytes)
        return values

    monkeypatch.setattr(blocks, "REGION_BYTES", 1 << 20)
    monkeypatch.setattr(StoredArray, "read", counted)
    plan = convert.plan(
        source, MemoryStore(), "v3", path="/a", shards=(64, 256, 256), chunks=(16, 64, 64),
        pyramid=convert.Pyramid(levels=2),
    )  # fmt: skip
    level = next(node for node in plan.nodes if node.level is not None)
    assert level.metadata is not None
    assert level.metadata.grid.chunk_shape == (32, 256, 256)
    convert.run(plan, verify=False)
    assert most == 64 * 256 * 256 * 2  # a shard of the finest level, which has to be whole to be encoded


# ------------------------------------------------------------------------------------------------- in place
def rebuilt(hierarchy: zarrscope.Hierarchy, path: str = "/", **options: Any) -> convert.Result:
    return convert.rebuild(convert.plan_rebuild(hierarchy, convert.Pyramid(**options), path))


@pytest.mark.parametrize("dialect", ["v2", "v3"])
def test_an_image_in_use_gets_new_levels(dialect: str) -> None:
    made = image_with_labels(dialect=dialect)
    before = copy.deepcopy(dict(made["/i"].attributes))
    result = rebuilt(made, levels=3)
    assert result.verified
    made = zarrscope.open(made.store, "r+")
    image, label = image_of(made, "/i"), image_of(made, "/i/labels/nuclei")
    assert [level.path for level in image.levels] == ["/i/s0", "/i/s1-2", "/i/s2"]
    proved(image)
    proved(label, "nearest")
    assert {child.name for child in as_group(made["/i"]).children()} == {"s0", "s1-2", "s2", "labels"}
    after = made["/i"].attributes
    assert {k: v for k, v in after.items() if k != "multiscales"} == {
        k: v for k, v in before.items() if k != "multiscales"
    }
    assert after["multiscales"][0]["datasets"][0] == before["multiscales"][0]["datasets"][0]
    rebuilt(made, levels=2, method="mode")
    made = zarrscope.open(made.store)
    assert [level.path for level in image_of(made, "/i").levels] == ["/i/s0", "/i/s1"]
    proved(image_of(made, "/i"), "mode")
    assert convert.JOURNAL not in list(made.store.list())


def test_the_consolidated_copy_keeps_step() -> None:
    made = image_with_labels(dialect="v3")
    copied = built_copy(made)
    assert copied.consolidated
    rebuilt(copied, levels=3)
    again = zarrscope.open(copied.store)
    assert again.consolidated
    assert not [f for f in check(again) if f.code.startswith("copy")]
    proved(image_of(again, "/i"))


def built_copy(hierarchy: zarrscope.Hierarchy) -> zarrscope.Hierarchy:
    """The same with consolidated metadata."""
    hierarchy.consolidate()
    return zarrscope.open(hierarchy.store, "r+")


def test_until_the_switch_readers_see_the_former_levels_and_then_the_new_ones() -> None:
    made = image_with_labels()
    seen: list[tuple[str, ...]] = []

    def look(progress: convert.ConversionProgress) -> None:
        seen.append(tuple(level.path for level in image_of(zarrscope.open(made.store), "/i").levels))

    convert.rebuild(convert.plan_rebuild(made, convert.Pyramid(levels=3)), progress=look)
    assert set(seen) == {("/i/s0", "/i/s1")}
    assert len(seen) > 10


def test_stopped_and_run_again() -> None:
    made = image_with_labels()
    plan = convert.plan_rebuild(made, convert.Pyramid(levels=3))
    steps = 0
    total: list[convert.ConversionProgress] = []
    assert convert.rebuild(plan, progress=total.append).verified
    for stop in range(0, len(total), 3):
        made = image_with_labels()
        steps = 0

        def passed(progress: convert.ConversionProgress) -> None:
            nonlocal steps
            steps += 1

        def enough(stop: int = stop) -> bool:
            return steps > stop  # noqa: B023 - of this round

        plan = convert.plan_rebuild(made, convert.Pyramid(levels=3))
        if not convert.rebuild(plan, progress=passed, cancelled=enough).cancelled:
            continue
        made = zarrscope.open(made.store, "r+")
        assert [level.path for level in image_of(made, "/i").levels] == ["/i/s0", "/i/s1"]
        with pytest.raises(Conflict, match="not finished"):
            convert.plan_rebuild(made, convert.Pyramid(levels=4))
        assert rebuilt(made, levels=3).verified
        proved(image_of(zarrscope.open(made.store), "/i"))
        assert {child.name for child in as_group(made["/i"]).children()} == {"s0", "s1-2", "s2", "labels"}


def test_wherever_it_dies_the_image_is_whole_and_the_rest_is_done_later() -> None:
    """Each write in turn is the last one that succeeds."""
    deaths = 0
    for left in range(10**6):
        made = image_with_labels(Dying())
        made.store.left = left  # type: ignore[attr-defined]  # a Dying
        try:
            rebuilt(made, levels=3)
            break
        except Killed:
            deaths += 1
        made.store.left = 10**9  # type: ignore[attr-defined]  # a Dying
        made = zarrscope.open(made.store, "r+")
        image = image_of(made, "/i")
        assert [level.path for level in image.levels] in (["/i/s0", "/i/s1"], ["/i/s0", "/i/s1-2", "/i/s2"])
        assert not image.warnings
        assert not [f for f in check(made) if f.severity == "error" and "s1/" not in (f.key or "")]
        rebuilt(made, levels=3)
        made = zarrscope.open(made.store)
        proved(image_of(made, "/i"))
        proved(image_of(made, "/i/labels/nuclei"), "nearest")
        names = {child.name for child in as_group(made["/i"]).children()}
        assert names == {"s0", "s1-2", "s2", "labels"} or names == {"s0", "s1", "s2", "labels"}, left
        assert convert.JOURNAL not in list(made.store.list())
    assert deaths > 25


def test_what_somebody_else_changed_meanwhile_is_not_overwritten() -> None:
    made = image_with_labels()
    plan = convert.plan_rebuild(made, convert.Pyramid(levels=3))
    other = zarrscope.open(made.store, "r+")
    document = other.document("/i")
    other.save("/i", document.set("/multiscales/0/name", "renamed"))
    with pytest.raises(Conflict, match="meanwhile"):
        convert.rebuild(plan)
    again = zarrscope.open(made.store, "r+")
    assert again["/i"].attributes["multiscales"][0]["name"] == "renamed"
    rebuilt(again, levels=3)
    assert zarrscope.open(made.store)["/i"].attributes["multiscales"][0]["name"] == "renamed"


def test_a_finest_level_that_changes_meanwhile_is_found_and_nothing_is_switched() -> None:
    made = image_with_labels()
    plan = convert.plan_rebuild(made, convert.Pyramid(levels=3))
    before = {key: made.store.get(key) for key in made.store.list()}

    def meddle(progress: convert.ConversionProgress) -> None:
        if progress.doing == "verifying" and progress.done == 1:
            as_array(made["/i/s0"])[...] = 0
            as_array(made["/i/labels/nuclei/s0"])[...] = 3

    with pytest.raises(BadChunk, match="is unchanged"):
        convert.rebuild(plan, progress=meddle)
    after = {key: made.store.get(key) for key in made.store.list()}
    assert {key: value for key, value in after.items() if "/s0/" not in key} == {
        key: value for key, value in before.items() if "/s0/" not in key
    }


_CHILD = """
import sys, zarrscope
from zarrscope import convert
made = zarrscope.open(sys.argv[1], "r+")
plan = convert.plan_rebuild(made, convert.Pyramid(levels=4))
print("ready", flush=True)
convert.rebuild(plan)
print("done", flush=True)
"""


def test_killed_at_random_in_place(tmp_path: Path) -> None:
    place = tmp_path / "image"
    made = zarrscope.open(place, "w-", dialect="v2")
    multiscale(made, "/i")
    values = np.random.default_rng(2).integers(0, 999, (150, 170)).astype("u2")
    made.erase("/i/s0")
    made.create_array("/i/s0", shape=values.shape, dtype="u2", chunks=(16, 16), separator="/")[...] = values
    moment = random.Random(11)
    killed = 0
    for _ in range(15):
        child = subprocess.Popen([sys.executable, "-c", _CHILD, str(place)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        child.stdout.readline()
        try:
            child.wait(moment.uniform(0.0, 0.4))
        except subprocess.TimeoutExpired:
            child.kill()
            killed += 1
        child.communicate(timeout=60)
        image = image_of(zarrscope.open(place), "/i")
        assert not image.warnings
        assert np.array_equal(image.levels[0].array[...], values)
        for level in image.levels[1:]:
            assert level.array.read_chunk((0,) * 2).shape
    assert killed
    made = zarrscope.open(place, "r+")
    if (place / convert.JOURNAL).exists():
        rebuilt(made, levels=4)
    proved(image_of(zarrscope.open(place), "/i"))
    assert not (place / convert.JOURNAL).exists()


# ------------------------------------------------------------------------------------------------- other readers
@pytest.mark.parametrize(("dialect", "driver"), [("v3", "zarr3"), ("v2", "zarr")])
def test_others_read_the_levels(dialect: str, driver: str, tmp_path: Path) -> None:
    import tensorstore
    import zarr

    source = stack()
    plan = convert.plan(source, str(tmp_path / "new"), dialect, path="/a", pyramid=convert.Pyramid(levels=3))
    convert.run(plan)
    models = pytest.importorskip("ome_zarr_models")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = models.open_ome_zarr(zarr.open_group(tmp_path / "new", mode="r"))
    datasets = (model.attributes.ome if dialect == "v3" else model.attributes).multiscales[0].datasets
    assert [dataset.path for dataset in datasets] == ["0", "1", "2"]
    above = as_array(source["/a"])[...]
    for k, (t, c) in product(range(3), product(range(2), range(2))):
        level = above[t, c]
        for _ in range(k):
            level = blockwise(level, (2, 2, 2), exact_mean)
        place = tmp_path / "new" / str(k)
        spec = {"driver": driver, "kvstore": {"driver": "file", "path": str(place)}}
        assert np.array_equal(zarr.open_array(place, mode="r")[t, c], level)
        assert np.array_equal(tensorstore.open(spec).result()[t, c].read().result(), level)
