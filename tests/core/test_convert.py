"""Conversion between dialects: values, copied bytes, reported losses, resuming, refusals."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zarrscope
from narrowing import as_array, as_group, not_none
from zarrscope import convert
from zarrscope.errors import BadChunk, Conflict, NotFound, Refused
from zarrscope.model.dtype import data_type
from zarrscope.stores.memory import MemoryStore

WRITTEN = ("v3", "v2", "n5", "draft-2022-05", "draft-2020", "draft-2019-06", "draft-2019-05")


def source_in(dialect: str, **options: Any) -> zarrscope.Hierarchy:
    """A group with two arrays that every dialect can store: one that is partly stored and exceeds its chunk grid, and
    one with one axis."""
    made = zarrscope.open(MemoryStore(), "w-", dialect=dialect)
    made.create_group("/images", {"note": "grüße", "list": [1, 2.5, None]})
    array = made.create_array("/images/a", shape=(23, 17), dtype="uint16", chunks=(8, 6), **options)
    array[:16] = np.arange(16 * 17).reshape(16, 17)
    line = made.create_array("/line", shape=(9,), dtype="float32", chunks=(4,), attributes={"unit": "s"})
    line[...] = np.linspace(-1, 1, 9, dtype="float32")
    return made


def converted(source: zarrscope.Hierarchy, dialect: str, **options: Any) -> zarrscope.Hierarchy:
    store = MemoryStore()
    convert.run(convert.plan(source, store, dialect, **options))
    return zarrscope.open(store)


@pytest.mark.parametrize("after", WRITTEN)
@pytest.mark.parametrize("before", WRITTEN)
def test_every_dialect_becomes_every_other(before: str, after: str) -> None:
    source = source_in(before)
    store = MemoryStore()
    result = convert.run(convert.plan(source, store, after))
    made = zarrscope.open(store)
    assert made.dialect.name == after
    assert result.verified
    for path in ("/images/a", "/line"):
        assert as_array(made[path])[...].tolist() == as_array(source[path])[...].tolist()
        assert as_array(made[path]).dtype == as_array(source[path]).dtype
    assert made["/images"].attributes == {"note": "grüße", "list": [1, 2.5, None]}
    assert made["/line"].attributes["unit"] == "s"
    assert convert.JOURNAL not in list(store.list())


@pytest.mark.parametrize("after", [name for name in WRITTEN if name != "n5"])
@pytest.mark.parametrize("before", [name for name in WRITTEN if name != "n5"])
def test_chunks_are_the_same_bytes_where_they_mean_the_same(before: str, after: str) -> None:
    source = source_in(before)
    made = converted(source, after)
    for path in ("/images/a", "/line"):
        old, new = as_array(source[path]), as_array(made[path])
        for index in np.ndindex(*old.chunk_grid_shape):
            was = source.store.get(old.metadata.keys.key(index))
            assert made.store.get(new.metadata.keys.key(index)) == was
    assert made.store.get(as_array(made["/line"]).metadata.keys.key((1,))) is not None


@pytest.mark.parametrize("data_type", ["bool", "int8", ">u4", "complex64", "M8[ns]", "U5", "S3", "float16"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_v2_in_either_order_of_bytes_and_axes_is_copied(data_type: str, order: Any, tmp_path: Path) -> None:
    import zarr

    values = (np.arange(35).reshape(5, 7) % 2 if data_type == "bool" else np.arange(35).reshape(5, 7)).astype(data_type)
    group = zarr.open_group(tmp_path / "old", mode="w", zarr_format=2)
    group.create_array("a", shape=(5, 7), chunks=(2, 3), dtype=values.dtype, order=order)[...] = values
    source = zarrscope.open(tmp_path / "old")
    plan = convert.plan(source, MemoryStore(), "v3")
    assert [node.how for node in plan.nodes] == ["group", "copied"]
    convert.run(plan)
    assert plan.store is not None
    assert np.array_equal(as_array(zarrscope.open(plan.store)["/a"])[...], values)


def test_texts_of_varying_length_are_copied() -> None:
    source = zarrscope.open(MemoryStore(), "w-", dialect="v2")
    texts = np.array(["", "ä", "longer than that"] * 3, object)
    source.create_array("/t", shape=(9,), dtype=str, chunks=(4,), fill_value="")[...] = texts
    plan = convert.plan(source, MemoryStore(), "v3")
    assert plan.nodes[1].how == "copied"
    convert.run(plan)
    assert plan.store is not None
    assert as_array(zarrscope.open(plan.store)["/t"])[...].tolist() == texts.tolist()


# ------------------------------------------------------------------------------------------------- other layouts
def test_chunks_shards_and_codecs_as_asked_for() -> None:
    source = source_in("v2")
    made = converted(source, "v3", chunks=(4, 4), shards=(12, 8), codecs=["gzip"])
    array = as_array(made["/images/a"])
    assert (array.chunks, array.shards) == ((4, 4), (12, 8))
    assert [item["name"] for item in array.metadata.codecs[0].configuration["codecs"]] == ["bytes", "gzip"]
    assert np.array_equal(array[...], as_array(source["/images/a"])[...])
    line = as_array(made["/line"])  # of another rank: with its own chunk shape and the requested codecs
    assert line.chunks == (4,)
    assert [spec.name for spec in line.metadata.codecs] == ["bytes", "gzip"]


SHARDED = ("v3", "draft-2022-05", "draft-2020")


def compressors(array: zarrscope.Array) -> list[tuple[str, Any]]:
    """(name, level) of the codecs that compress the innermost chunks."""
    told: list[tuple[str, Any]] = []

    def collect(name: str, settings: Any) -> None:
        for item in settings.get("codecs", ()):
            collect(item["name"], item.get("configuration", {}))
        if name not in ("bytes", "transpose", "n5_default", "sharding_indexed"):
            told.append((name, settings.get("level", settings.get("clevel"))))

    for spec in array.metadata.codecs:
        collect(spec.name, spec.configuration)
    return told


@pytest.mark.parametrize("after", WRITTEN)
@pytest.mark.parametrize(
    ("codecs", "wanted"),
    [
        ([{"name": "gzip", "configuration": {"level": 7}}], [("gzip", 7)]),
        ([{"name": "zstd", "configuration": {"level": 9}}], [("zstd", 9)]),
        ([{"name": "blosc", "configuration": {"cname": "lz4", "clevel": 4}}], [("blosc", 4)]),
        ([{"name": "numcodecs.bz2", "configuration": {"level": 2}}], [("numcodecs.bz2", 2)]),
        ([], []),
    ],
)
def test_chosen_chunks_and_codecs_in_every_dialect(after: str, codecs: Any, wanted: Any) -> None:
    source = source_in("v2")
    array = as_array(converted(source, after, codecs=codecs, chunks=(5, 4))["/images/a"])
    assert array.chunks == (5, 4)
    assert compressors(array) == wanted
    assert np.array_equal(array[...], as_array(source["/images/a"])[...])


@pytest.mark.parametrize("after", WRITTEN)
def test_chosen_shards_where_there_are_such(after: str) -> None:
    source = source_in("v2")
    plan = convert.plan(source, MemoryStore(), after, chunks=(4, 4), shards=(8, 12), codecs=["gzip"])
    if after not in SHARDED:
        assert [loss.path for loss in plan.losses] == ["/images/a"]
        return
    convert.run(plan)
    assert plan.store is not None
    array = as_array(zarrscope.open(plan.store)["/images/a"])
    assert (array.chunks, array.shards) == ((4, 4), (8, 12))
    assert [name for name, _ in compressors(array)] == ["gzip"]
    assert np.array_equal(array[...], as_array(source["/images/a"])[...])


def test_no_compression_is_none() -> None:
    made = converted(source_in("v3"), "v2", codecs=[])
    assert [spec.name for spec in as_array(made["/line"]).metadata.codecs] == ["bytes"]


@pytest.mark.parametrize("after", ["v2", "n5", "draft-2019-06"])
def test_shards_are_dissolved_where_there_are_none(after: str) -> None:
    source = zarrscope.open(MemoryStore(), "w-")
    source.create_array("/s", shape=(20, 20), dtype="int32", chunks=(3, 5), shards=(9, 10))[2:] = 7
    plan = convert.plan(source, MemoryStore(), after)
    assert any("dissolved" in note for node in plan.nodes for note in node.notes)
    convert.run(plan)
    assert plan.store is not None
    made = as_array(zarrscope.open(plan.store)["/s"])
    assert made.chunks == (3, 5)
    assert np.array_equal(made[...], as_array(source["/s"])[...])


@pytest.mark.parametrize("after", ["draft-2020", "draft-2022-05"])
def test_shards_of_the_drafts_come_back_as_the_same_bytes(after: str) -> None:
    source = zarrscope.open(MemoryStore(), "w-", dialect=after)
    source.create_array("/s", shape=(20, 20), dtype="int32", chunks=(3, 5), shards=(9, 10))[2:] = 7
    plan = convert.plan(source, MemoryStore(), "v3")
    assert plan.nodes[1].how == "copied"
    convert.run(plan)
    assert plan.store is not None
    made = as_array(zarrscope.open(plan.store)["/s"])
    assert made.shards == (9, 10)
    assert np.array_equal(made[...], as_array(source["/s"])[...])


def test_one_node_becomes_the_root() -> None:
    source = source_in("v2")
    made = converted(source, "v3", path="/images/a")
    assert made.root.kind == "array"
    assert np.array_equal(made.root[...], as_array(source["/images/a"])[...])
    assert [child.name for child in as_group(converted(source, "v3", path="images").root).children()] == ["a"]
    with pytest.raises(NotFound):
        convert.plan(source, MemoryStore(), "v3", path="/nowhere")


# ------------------------------------------------------------------------------------------------- losses
def test_what_the_destination_cannot_hold_is_told_and_nothing_is_written() -> None:
    source = source_in("v3")
    source.create_array("/c", shape=(3,), dtype="complex64")
    store = MemoryStore()
    plan = convert.plan(source, store, "n5")
    assert [(loss.path, loss.left_out) for loss in plan.losses] == [("/c", True)]
    assert "complex64" in plan.losses[0].what
    with pytest.raises(Refused, match="complex64"):
        convert.run(plan)
    assert not list(store.list())
    convert.run(plan, allow_losses=True)
    assert {child.name for child in as_group(zarrscope.open(store).root).children()} == {"images", "line"}


def test_a_name_that_the_destination_forbids_is_a_loss() -> None:
    source = zarrscope.open(MemoryStore(), "w-")
    source.create_group("/ä b")
    (loss,) = convert.plan(source, MemoryStore(), "draft-2020").losses
    assert loss.path == "/ä b"
    assert loss.left_out


def test_nan_in_attributes_is_told() -> None:
    documents = {".zgroup": b'{"zarr_format": 2}', ".zattrs": b'{"a": {"b/c": [1, NaN]}, "d": -Infinity}'}
    store = MemoryStore()
    plan = convert.plan(zarrscope.open(MemoryStore(documents)), store, "v3")
    (loss,) = plan.losses
    assert "/a/b~1c/1" in loss.what
    convert.run(plan, allow_losses=True)
    text = store.get("zarr.json") or b""
    assert json.loads(text, parse_constant=pytest.fail)["attributes"] == {"a": {"b/c": [1, "NaN"]}, "d": "-Infinity"}


def test_an_open_fill_value_becomes_what_it_reads_as() -> None:
    source = source_in("v2", fill_value=None)
    plan = convert.plan(source, MemoryStore(), "v3")
    assert not plan.losses
    assert any("was undefined" in note for node in plan.nodes for note in node.notes)


def test_a_fill_value_that_n5_cannot_say_is_written_out() -> None:
    source = zarrscope.open(MemoryStore(), "w-")
    source.create_array("/f", shape=(5, 5), dtype="float32", chunks=(2, 2), fill_value=np.nan)[:2] = 0
    made = converted(source, "n5")
    assert np.array_equal(as_array(made["/f"])[...], as_array(source["/f"])[...], equal_nan=True)


def test_names_of_dimensions_go_where_the_dialect_keeps_them() -> None:
    source = zarrscope.open(MemoryStore(), "w-")
    source.create_array("/d", shape=(2, 3), dtype="u1", dimension_names=["y", "x"], attributes={"k": 1})
    for dialect in WRITTEN:
        made = converted(source, dialect)
        assert as_array(made["/d"]).dimension_names == ("y", "x"), dialect
        back = as_array(converted(made, "v3")["/d"])
        assert back.dimension_names == ("y", "x")
        assert back.attributes == {"k": 1}, dialect


# ------------------------------------------------------------------------------------------------- a new place
def test_nothing_is_written_over() -> None:
    store = MemoryStore({"mine.txt": b"mine"})
    with pytest.raises(Conflict):
        convert.run(convert.plan(source_in("v2"), store, "v3"))
    assert list(store.list()) == ["mine.txt"]


def test_the_source_is_no_destination(tmp_path: Path) -> None:
    zarrscope.open(tmp_path / "a", "w-")
    source = zarrscope.open(tmp_path / "a")
    for place in ("a", "a/b"):
        with pytest.raises(Refused):
            convert.plan(source, str(tmp_path / place), "v2")


def test_what_is_stopped_opens_nowhere_as_whole_and_goes_on() -> None:
    source = source_in("v2")
    seen: list[convert.ConversionProgress] = []
    store = MemoryStore()
    plan = convert.plan(source, store, "v3", codecs=["gzip"])
    result = convert.run(plan, progress=seen.append, cancelled=lambda: len(seen) > 2)
    assert result.cancelled
    assert not result.verified
    assert "zarr.json" not in list(store.list())
    with pytest.raises(Conflict, match="not finished"):
        convert.run(convert.plan(source, store, "v3"))  # another plan
    again = convert.run(plan)
    assert again.kept > 0
    assert again.verified
    assert np.array_equal(as_array(zarrscope.open(store)["/images/a"])[...], as_array(source["/images/a"])[...])


def test_the_comparison_finds_what_a_codec_loses() -> None:
    source = source_in("v3")
    quantize = {"name": "numcodecs.quantize", "configuration": {"digits": 0, "dtype": "<f4"}}
    plan = convert.plan(
        source,
        MemoryStore(),
        "v3",
        path="/line",
        codecs=[quantize, {"name": "bytes", "configuration": {"endian": "little"}}],
    )
    with pytest.raises(BadChunk, match="differs from /line"):
        convert.run(plan)


def test_a_damaged_chunk_of_the_source_is_named() -> None:
    source = source_in("v2")
    key = as_array(source["/line"]).metadata.keys.key((1,))
    source.store.set(key, b"damaged")
    for codecs in (None, ["gzip"]):
        with pytest.raises(BadChunk) as caught:
            convert.run(convert.plan(source, MemoryStore(), "v3", codecs=codecs))
        assert caught.value.index == (1,)


# ------------------------------------------------------------------------------------------------- killed
_CHILD = """
import sys, zarrscope
from zarrscope import convert
source = zarrscope.open(sys.argv[1])
plan = convert.plan(source, sys.argv[2], "v3", codecs=["zstd"], chunks=(5, 7))
run = convert.run
print("ready", flush=True)
run(plan)
"""


def is_complete(place: Path) -> bool:
    return (place / "zarr.json").exists() and not (place / convert.JOURNAL).exists()


def test_killed_at_random_and_run_again_nothing_is_lost(tmp_path: Path) -> None:
    source = zarrscope.open(tmp_path / "old", "w-", dialect="v2")
    values = np.random.default_rng(5).integers(0, 1000, (100, 140)).astype("u2")
    source.create_array("/a", shape=values.shape, dtype="u2", chunks=(9, 11))[...] = values
    source.create_array("/b", shape=values.shape, dtype="u2", chunks=(30, 31))[...] = values.T.reshape(values.shape)
    moment = random.Random(7)
    killed = 0
    for _ in range(12):
        child = subprocess.Popen(
            [sys.executable, "-c", _CHILD, str(tmp_path / "old"), str(tmp_path / "new")], stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        child.stdout.readline()
        try:
            child.wait(moment.uniform(0.0, 0.25))
        except subprocess.TimeoutExpired:
            child.kill()
            killed += 1
        child.communicate(timeout=60)
        if is_complete(tmp_path / "new"):
            break
        assert not (tmp_path / "new" / "zarr.json").exists() or (tmp_path / "new" / "b" / "zarr.json").exists()
    assert killed
    plan = convert.plan(zarrscope.open(tmp_path / "old"), str(tmp_path / "new"), "v3", codecs=["zstd"], chunks=(5, 7))
    if not is_complete(tmp_path / "new"):  # a kill may even have come before the journal was written
        assert convert.run(plan).verified
    made = zarrscope.open(tmp_path / "new")
    assert np.array_equal(as_array(made["/a"])[...], values)
    assert np.array_equal(as_array(made["/b"])[...], as_array(source["/b"])[...])


def test_a_plan_is_the_same_twice_and_tells_sizes() -> None:
    source = source_in("v2")
    told, again = (convert.plan(source, "memory://told", "v3").to_json() for _ in range(2))
    assert json.dumps(told) == json.dumps(again)
    assert told["nbytes"] == 23 * 17 * 2 + 9 * 4
    assert told["chunks"] == 9 + 3


def test_a_remote_source_is_asked_for_many_chunks_at_once() -> None:
    class Far(MemoryStore):
        remote = True
        most = 0

        def _get_many(self, requests: Any, cancelled: Any, limit: int | None = None) -> Any:
            self.most = max(self.most, len(requests))
            return super()._get_many(requests, cancelled, limit)

    near = source_in("v2")
    far = Far({key: near.store.get(key) or b"" for key in near.store.list()})
    store = MemoryStore()
    result = convert.run(convert.plan(zarrscope.open(far), store, "v3"), verify=False)
    assert far.most >= 9
    assert result.copied == 6 + 3
    assert np.array_equal(as_array(zarrscope.open(store)["/images/a"])[...], as_array(near["/images/a"])[...])


class Watched(MemoryStore):
    """Records the reads of whole values, and how many are concurrent."""

    def __init__(self, values: Any) -> None:
        super().__init__(values)
        self.gets: list[str] = []
        self.batches: list[int] = []

    def _get(self, key: str, part: Any, limit: int | None = None) -> bytes | None:
        if part is None:
            self.gets.append(key)
        return super()._get(key, part, limit)

    def _get_many(self, requests: Any, cancelled: Any, limit: int | None = None) -> Any:
        self.batches.append(len(requests))
        yield from super()._get_many(requests, cancelled, limit)


def watched(shape: tuple[int, int], chunks: tuple[int, int], *, remote: bool) -> Watched:
    near = zarrscope.open(MemoryStore(), "w-")
    near.create_array("/a", shape=shape, dtype="u2", chunks=chunks)[...] = np.arange(1, 1 + prod(shape)).reshape(shape)
    store = Watched({key: near.store.get(key) or b"" for key in near.store.list()})
    store.remote = remote
    return store


@pytest.mark.parametrize("remote", [True, False])
@pytest.mark.parametrize(("chunks", "anew"), [((12, 12), (6, 4)), ((32, 96), (8, 8)), ((4, 6), (12, 12))])
def test_no_chunk_of_the_source_is_read_twice(
    chunks: tuple[int, int], anew: tuple[int, int], remote: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the size of a region, also if a chunk is larger than one; from a remote store many chunks are read at
    once."""
    from zarrscope.convert import blocks

    for region in (1 << 20, 600):
        monkeypatch.setattr(blocks, "REGION_BYTES", region)
        store = watched((96, 96), chunks, remote=remote)
        plan = convert.plan(zarrscope.open(store), MemoryStore(), "v3", chunks=anew, codecs=["gzip"])
        store.gets.clear()
        store.batches.clear()
        convert.run(plan, verify=False)
        read = [key for key in store.gets if "/c/" in key]
        assert len(read) == len(set(read)) == not_none(plan.nodes[1].array).size // prod(chunks)
        if remote and region > 600:
            assert max(store.batches) >= min(64, len(read))
        assert plan.store is not None
        assert np.array_equal(
            as_array(zarrscope.open(plan.store)["/a"])[...], as_array(zarrscope.open(store)["/a"])[...]
        )


@pytest.mark.parametrize("after", WRITTEN)
@pytest.mark.parametrize("before", [name for name in WRITTEN if name != "n5"])
def test_arrays_without_axes_or_elements(before: str, after: str) -> None:
    source = zarrscope.open(MemoryStore(), "w-", dialect=before)
    source.create_array("/point", shape=(), dtype="int32")[...] = 7
    source.create_array("/empty", shape=(0, 5), dtype="int32", chunks=(2, 2))
    plan = convert.plan(source, MemoryStore(), after)
    assert [loss.path for loss in plan.losses] == (["/point"] if after == "n5" else [])
    convert.run(plan, allow_losses=True)
    assert plan.store is not None
    made = zarrscope.open(plan.store)
    assert as_array(made["/empty"]).shape == (0, 5)
    if after != "n5":
        assert as_array(made["/point"])[...] == 7


@pytest.mark.parametrize("after", ["v2", "v3"])
@pytest.mark.parametrize("before", ["v2", "v3"])
@pytest.mark.parametrize(
    ("kind", "value"),
    [("str", "grün"), (data_type("bytes"), b"\x00\xff"), ("U3", "ä"), ("S3", b"ab"), ("V3", b"abc"), ("f4", 0.5)],
)
def test_one_value_of_any_type_is_encoded_anew(before: str, after: str, kind: Any, value: Any) -> None:
    source = zarrscope.open(MemoryStore(), "w-", dialect=before)
    point = source.create_array("/point", shape=(), dtype=kind, codecs=["gzip"], fill_value=None)
    point[...] = value
    made = as_array(converted(source, after, codecs=["zstd"])["/point"])
    assert made[...] == point[...] != made.fill_value


_lengths = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=3)


@settings(max_examples=60)
@given(st.sampled_from(WRITTEN), st.sampled_from(WRITTEN), _lengths, st.booleans(), st.integers(0, 2**32 - 1))
def test_any_shape_in_any_chunks_keeps_its_elements(
    before: str, after: str, axes: list[tuple[int, int, int]], anew: bool, seed: int
) -> None:
    shape, chunks, others = zip(*axes, strict=True)
    values = np.random.default_rng(seed).integers(-99, 99, shape).astype("int16")
    source = zarrscope.open(MemoryStore(), "w-", dialect=before)
    source.create_array("/a", shape=shape, dtype="int16", chunks=chunks)[...] = values
    made = converted(source, after, chunks=others if anew else None)
    assert np.array_equal(as_array(made["/a"])[...], values)
    assert as_array(made["/a"]).chunks == (others if anew else chunks)
