"""Arrays read and write the same values as numpy, with few requests, and lose no update of another writer."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zarrscope
from zarrscope.nodes.array import Array
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store
from zarrscope.stores.wrappers import Counting, FaultRule, Faults, Latency


def made(store: Store | None = None, dialect: str = "v3", **how: Any) -> Array:
    hierarchy = zarrscope.open(store if store is not None else MemoryStore(), "a", dialect=dialect)
    return hierarchy.create_array("/a", **how)


def opened(store: Store, mode: Any = "r") -> Array:
    array = zarrscope.open(store, mode)["/a"]
    assert isinstance(array, Array)
    return array


LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {"chunks": (3, 4)},
    "one chunk": {"chunks": (20, 20)},
    "shards": {"chunks": (2, 2), "shards": (6, 4)},
    "v2": {"chunks": (3, 4), "dialect": "v2"},
    "nested shards": {
        "chunks": (12, 8),
        "codecs": [
            {
                "name": "sharding_indexed",
                "configuration": {
                    "chunk_shape": [6, 4],
                    "codecs": [
                        {
                            "name": "sharding_indexed",
                            "configuration": {
                                "chunk_shape": [2, 2],
                                "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                                "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                                "index_location": "start",
                            },
                        }
                    ],
                    "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
                },
            }
        ],
    },
    "shards behind a transpose": {
        "chunks": (6, 4),
        "codecs": [
            {"name": "transpose", "configuration": {"order": [1, 0]}},
            {
                "name": "sharding_indexed",
                "configuration": {
                    "chunk_shape": [2, 3],
                    "codecs": [{"name": "bytes", "configuration": {"endian": "big"}}],
                    "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                },
            },
        ],
    },
}
indices = st.tuples(
    *(
        st.one_of(
            st.integers(-n, n - 1),
            st.builds(
                slice,
                st.none() | st.integers(-n - 2, n + 2),
                st.none() | st.integers(-n - 2, n + 2),
                st.none() | st.integers(-5, 5).filter(bool),
            ),
        )
        for n in (13, 11)
    )
)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("remote", [False, True])
@settings(max_examples=40, deadline=None)
@given(steps=st.lists(st.tuples(indices, st.integers(0, 500)), min_size=1, max_size=6), look=indices)
def test_any_writes_and_reads_are_numpys(layout: str, remote: bool, steps: list[Any], look: Any) -> None:
    memory = MemoryStore()
    store: Store = Latency(memory, 0, wait=lambda seconds: None) if remote else memory
    array = made(store, shape=(13, 11), dtype="int32", fill_value=-1, **LAYOUTS[layout])
    mirror = np.full((13, 11), -1, np.int32)
    for index, value in steps:
        values = value + np.arange(mirror[index].size, dtype=np.int32).reshape(mirror[index].shape)
        array[index] = values
        mirror[index] = values
    assert np.array_equal(array[...], mirror)
    got, wanted = opened(store)[look], mirror[look]
    assert np.array_equal(got, wanted)
    assert type(got) is type(wanted)
    assert got.dtype == wanted.dtype


@pytest.mark.parametrize("dialect", ["v3", "v2"])
def test_without_axes_and_without_elements(dialect: str) -> None:
    array = made(dialect=dialect, shape=(), dtype="float64", fill_value=2.5)
    assert array[()] == 2.5
    assert isinstance(array[()], np.float64)
    assert array[...].shape == ()
    assert isinstance(array[...], np.ndarray)
    array[()] = 7
    assert array[()] == 7
    assert array[None].shape == (1,)
    empty = zarrscope.open(array.store, "r+").create_array("/e", shape=(0, 5), dtype="uint8")
    assert empty[...].shape == (0, 5)
    assert empty[:, 2].shape == (0,)
    empty[...] = 3
    assert empty.chunk_grid_shape[0] == 0


@pytest.mark.parametrize("dialect", ["v3", "v2"])
@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("string", ["a", "", "Zürich", "𝄞", "long" * 100]),
        ("bool", [True, False, True, True, False]),
        ("complex64", [1 + 2j, 0, -1j, np.nan, 4]),
        ("float16", [1.5, -0.0, np.inf, np.nan, 2]),
        ("datetime64[ms]", ["2024-01-01", "NaT", "1970-01-01", "1969-12-31", "2262-04-11"]),
        (">u4", [1, 2, 3, 4, 2**32 - 1]),
        ("uint64", [0, 2**64 - 1, 2**63, 1, 2]),
    ],
)
def test_every_kind_of_element_comes_back(dialect: str, dtype: str, values: list[Any]) -> None:
    array = made(dialect=dialect, shape=(5,), dtype=dtype, chunks=(2,), fill_value=None)
    wanted = np.array(values, dtype=object if dtype == "string" else np.dtype(dtype).newbyteorder("="))
    array[...] = wanted
    got = opened(array.store)[...]
    assert got.dtype == wanted.dtype
    assert got.tolist() == wanted.tolist() or np.array_equal(got, wanted, equal_nan=True)


def test_a_wrong_index_is_an_index_error_and_a_wrong_shape_numpys_value_error() -> None:
    array = made(shape=(4, 4), dtype="uint8")
    with pytest.raises(IndexError):
        array[4]
    with pytest.raises(IndexError):
        array[0, 0, 0] = 1
    with pytest.raises(ValueError, match="broadcast"):
        array[...] = np.zeros((3, 3))
    with pytest.raises(IndexError):
        array.read_chunk((9, 9))


# ---------------------------------------------------------------------- requests
def counted(**how: Any) -> tuple[Counting, Array]:
    store = MemoryStore()
    array = made(store, **how)
    array[...] = np.arange(array.size, dtype=array.dtype).reshape(array.shape)
    counting = Counting(store)
    reader = opened(counting)
    counting.reset()
    return counting, reader


def test_one_request_per_chunk_touched_and_none_for_others() -> None:
    counting, array = counted(shape=(20, 20), dtype="uint16", chunks=(5, 5))
    _ = array[3:7, 0]
    assert sorted(key for op, key in counting.keys) == ["a/c/0/0", "a/c/1/0"]
    assert counting.requests == {"get": 2}


def test_an_inner_chunk_costs_two_ranged_requests_and_neighbours_come_together() -> None:
    counting, array = counted(shape=(64, 64), dtype="uint16", chunks=(8, 8), shards=(64, 64))
    assert array[0, 0] == 0
    assert counting.requests == {"get": 2}
    assert counting.read < 2 * (16 * 64 + 4) + 8 * 8 * 2 + 64
    counting.reset()
    _ = array[...]
    assert counting.requests == {"get": 2}


def test_a_remote_shard_is_fetched_whole_when_most_is_wanted_and_its_index_remembered() -> None:
    counting, array = counted(shape=(64, 64), dtype="uint16", chunks=(8, 8), shards=(64, 64))
    counting.remote = True
    assert np.array_equal(array[...], np.arange(64 * 64).reshape(64, 64))
    assert counting.requests == {"get": 1}
    _ = array[0, 0]
    assert counting.requests == {"get": 2}  # the index is known from the whole shard


def test_a_remembered_index_that_is_out_of_date_is_asked_for_again() -> None:
    counting, array = counted(shape=(64,), dtype="uint16", chunks=(8,), shards=(64,))
    counting.remote = True
    assert array[0] == 0
    other = opened(counting.store, "r+")
    other[...] = np.arange(64, dtype=np.uint16)[::-1] * 3 + 1
    assert np.array_equal(array[:40], (np.arange(64) * 3 + 1)[::-1][:40])


def test_what_is_not_stored_costs_no_decoding_and_reads_as_fill() -> None:
    store = MemoryStore()
    array = made(store, shape=(10, 10), dtype="float32", chunks=(5, 5), fill_value=np.nan)
    assert np.isnan(array[...]).all()
    array[0:5, 0:5] = 1
    assert np.isnan(array[5:, :]).all()
    assert (array.read_chunk((0, 0)) == 1).all()
    assert np.isnan(array.read_chunk((1, 1))).all()


# ---------------------------------------------------------------------- broken chunks
def test_a_broken_chunk_names_itself_and_leaves_the_others() -> None:
    store = MemoryStore()
    array = made(store, shape=(8,), dtype="int64", chunks=(4,))
    array[...] = 5
    store.set("a/c/1", b"\x28\xb5\x2f\xfd rubbish")
    assert (array[:4] == 5).all()
    with pytest.raises(zarrscope.BadChunk) as caught:
        array[...]
    error = caught.value
    assert error.key == "a/c/1"
    assert error.index == (1,)
    assert error.store == store.url
    assert "a/c/1" in str(error)
    with pytest.raises(zarrscope.BadChunk, match="It stays unchanged"):
        array[5] = 1  # only a part of it: a reader would lose what it holds
    assert store.get("a/c/1") == b"\x28\xb5\x2f\xfd rubbish"
    array[4:] = 6  # all of it
    assert (array[4:] == 6).all()


def test_a_shard_cut_short_fails_where_it_is_cut() -> None:
    store = MemoryStore()
    array = made(
        store,
        shape=(8,),
        dtype="int64",
        chunks=(2,),
        shards=(8,),
        codecs=[{"name": "bytes", "configuration": {"endian": "little"}}],
    )
    array[...] = np.arange(8)
    whole = store.get("a/c/0")
    assert whole is not None
    store.set("a/c/0", whole[32:])  # the index exists, the bytes that it points to do not
    assert array[0] is not None
    with pytest.raises(zarrscope.BadChunk):
        array[6]


def test_an_unknown_codec_leaves_metadata_readable_and_says_what_is_missing() -> None:
    store = MemoryStore()
    made(store, shape=(8,), dtype="int64", chunks=(4,), attributes={"kept": True})
    store.set("a/zarr.json", (store.get("a/zarr.json") or b"").replace(b'"zstd"', b'"unheard-of"'))
    array = opened(store)
    assert array.shape == (8,)
    assert array.chunks == (4,)
    assert array.attributes == {"kept": True}
    assert isinstance(array.problem, zarrscope.Unsupported)
    assert "unheard-of" in str(array.problem)
    with pytest.raises(zarrscope.Unsupported, match="unheard-of"):
        array[0]


def test_what_would_not_fit_is_refused_before_memory_is_asked_for() -> None:
    array = made(shape=(2**40, 2**10), dtype="float64", chunks=(1000, 1000), fill_value=1)
    with pytest.raises(zarrscope.Refused, match="GiB"):
        array[...]
    assert array[2**40 - 1, 5] == 1
    huge = made(shape=(2**40,), dtype="uint8", chunks=(2**31,))
    huge.store.set("a/c/0", b"x")
    with pytest.raises(zarrscope.ZarrscopeError, match=r"GiB|bytes"):
        huge[0]
    with pytest.raises(zarrscope.Refused, match="GiB"):
        huge[0] = 1


def test_errors_of_the_store_come_through_with_their_place() -> None:
    store = MemoryStore()
    made(store, shape=(8,), dtype="int64", chunks=(4,))[...] = 1
    broken = Faults(store, FaultRule(matches=lambda operation, key: key == "a/c/1"))
    array = opened(broken)
    assert (array[:4] == 1).all()
    for remote in (False, True):
        broken.remote = remote
        with pytest.raises(zarrscope.Unreadable) as caught:
            array[...]
        assert caught.value.key == "a/c/1"


# ---------------------------------------------------------------------- writing
def test_fill_values_are_not_stored_bit_for_bit() -> None:
    store = MemoryStore()
    array = made(store, shape=(4,), dtype="float64", chunks=(2,), fill_value=0.0)
    array[...] = [0.0, 0.0, -0.0, 0.0]
    assert store.get("a/c/0") is None
    assert store.get("a/c/1") is not None  # -0.0 is another value
    array[2:] = 0.0
    assert store.get("a/c/1") is None
    array[3] = 5
    array[3] = 0
    assert np.array_equal(array[...], [0, 0, 0, 0])


def test_a_read_only_array_refuses_before_anything_is_stored() -> None:
    store = MemoryStore()
    made(store, shape=(4,), dtype="uint8")
    before = {key: store.get(key) for key in store.list()}
    from zarrscope.stores.wrappers import ReadOnlyStore

    with pytest.raises(zarrscope.ReadOnly):
        opened(ReadOnlyStore(store))[...] = 1
    assert {key: store.get(key) for key in store.list()} == before


def test_what_was_opened_for_reading_is_not_written_though_its_store_could_be() -> None:
    store = MemoryStore()
    made(store, shape=(4,), dtype="uint8")
    array = opened(store, "r")
    assert not array.writable
    with pytest.raises(zarrscope.ReadOnly, match=r"r\+"):
        array[...] = 1
    with pytest.raises(zarrscope.ReadOnly):
        array.resize((2,))
    assert opened(store, "r+").writable
    assert opened(store)[...].sum() == 0


def test_threads_that_write_into_one_chunk_lose_nothing() -> None:
    store = MemoryStore()
    array = made(store, shape=(64,), dtype="uint8", chunks=(8,), shards=(64,))
    writers = [opened(store, "r+") for _ in range(8)]
    together = threading.Barrier(8, timeout=20)

    def write(number: int) -> None:
        together.wait()
        for i in range(number, 64, 8):
            writers[number][i] = i + 1

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert array[...].tolist() == list(range(1, 65))


def test_a_change_by_somebody_else_between_read_and_write_is_kept() -> None:
    memory = MemoryStore()
    array = made(memory, shape=(8,), dtype="uint8", chunks=(8,))
    array[...] = 1
    other = opened(memory, "r+")

    class Interrupted(Counting):
        """Another process writes just after the chunk was first read."""

        times = 0

        def after(self, operation: str, key: str, size: int) -> None:
            if operation == "get" and key == "a/c/0" and not self.times:
                self.times = 1
                writer = threading.Thread(target=lambda: self.store.set("a/c/0", theirs))
                writer.start()
                writer.join(20)

    changed = np.full(8, 1, np.uint8)
    changed[7] = 77
    theirs = other._stored.grid_chunk_pipeline((8,)).encode(changed)
    mine = opened(Interrupted(memory), "r+")
    mine[0] = 5
    assert opened(memory)[...].tolist() == [5, 1, 1, 1, 1, 1, 1, 77]


def test_processes_that_write_into_one_shard_lose_nothing(tmp_path: Path) -> None:
    place = tmp_path / "x.zarr"
    hierarchy = zarrscope.open(str(place), "w-")
    hierarchy.create_array("/a", shape=(40,), dtype="uint8", chunks=(4,), shards=(40,))
    code = (
        "import sys, zarrscope\n"
        "a = zarrscope.open(sys.argv[1], 'r+')['/a']\n"
        "sys.stdin.readline()\n"
        "for i in range(int(sys.argv[2]), 40, 2): a[i] = i + 1\n"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", code, str(place), str(n)], stdin=subprocess.PIPE, text=True)
        for n in range(2)
    ]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    for child in children:
        child.communicate(timeout=60)
        assert child.returncode == 0
    array = zarrscope.open(str(place))["/a"]
    assert isinstance(array, Array)
    assert array[...].tolist() == list(range(1, 41))


@pytest.mark.parametrize("dialect", ["v3", "v2"])
def test_resize_changes_the_document_by_one_value_and_erases_what_is_outside(dialect: str) -> None:
    store = MemoryStore()
    array = made(store, dialect=dialect, shape=(10, 10), dtype="uint8", chunks=(3, 3), attributes={"u": 1})
    array[...] = np.arange(100, dtype=np.uint8).reshape(10, 10)
    key = "a/zarr.json" if dialect == "v3" else "a/.zarray"
    text = (store.get(key) or b"").decode()
    array.resize((5, 12))
    assert array.shape == (5, 12)
    again = opened(store)
    assert again.shape == (5, 12)
    assert np.array_equal(again[:, :10], np.arange(100).reshape(10, 10)[:5])
    assert (again[:, 10:] == 0).all()
    assert (array[...] == again[...]).all()
    stored = [k for k in store.list() if k.startswith("a/") and not k.rpartition("/")[2].startswith((".z", "zarr"))]
    assert len(stored) == 2 * 4
    after = (store.get(key) or b"").decode()
    assert len(after) - len(text) == -1  # 10, 10 became 5, 12 and nothing else changed
    with pytest.raises(ValueError, match=r"has 2 axes, and the shape \(5,\) has 1"):
        array.resize((5,))


def test_an_array_pickles_as_its_place(tmp_path: Path) -> None:
    array = made(zarrscope.open(str(tmp_path / "x.zarr"), "w-").store, shape=(6,), dtype="int16", attributes={"u": [1]})
    array[...] = range(6)
    again = pickle.loads(pickle.dumps(array))
    assert again[...].tolist() == list(range(6))
    assert again.attributes == {"u": [1]}
    assert again._stored.identity == array._stored.identity
    again[0] = 9
    assert array[0] == 9


def test_chunks_under_other_keys_are_found_when_opened_leniently_and_the_first_decides() -> None:
    store = MemoryStore()
    array = made(store, dialect="v2", shape=(4, 4), dtype="uint8", chunks=(2, 2), separator="/")
    array[0, 0] = 1
    array[3, 3] = 2
    document = (store.get("a/.zarray") or b"").decode()
    assert '"dimension_separator": "/"' in document
    lines = [line for line in document.splitlines() if "dimension_separator" not in line]
    store.set("a/.zarray", "\n".join(lines).replace(",\n}", "\n}").encode())
    assert opened(store)[...].sum() == 0  # the text's default
    lenient = zarrscope.open(store, lenient=True)["/a"]
    assert isinstance(lenient, Array)
    assert lenient[...].sum() == 3
    assert any("keys like" in warning for warning in lenient.warnings)


def test_numpy_takes_an_array_as_one() -> None:
    array = made(shape=(3, 2), dtype="int16")
    array[...] = [[1, 2], [3, 4], [5, 6]]
    assert np.asarray(array).tolist() == [[1, 2], [3, 4], [5, 6]]
    assert [row.tolist() for row in array] == [[1, 2], [3, 4], [5, 6]]
    assert len(array) == 3
