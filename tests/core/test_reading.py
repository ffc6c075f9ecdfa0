"""Reading a part of a chunk gives the same values as reading the whole, on every code path."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zarrscope
from contracts.codec import BIG, LITTLE, Named, inner, numbers, pipeline, shard
from narrowing import not_none
from zarrscope.chunkio import output_buffer as result
from zarrscope.chunkio import read as reading
from zarrscope.codecs import CodecPipeline, czstd
from zarrscope.errors import BadChunk
from zarrscope.model.buffers import Arena, BytesSource
from zarrscope.model.storage import ByteRange
from zarrscope.nodes.array import Array
from zarrscope.runtime import threads as background
from zarrscope.stores.local.read import FileReader
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.memory import MemoryStore

SHAPE = (10, 12, 130)
BLOSC = {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 2, "blocksize": 2048}
PARTIAL: dict[str, list[Named]] = {
    "raw": [LITTLE],
    "raw, big-endian": [BIG],
    "raw behind a checksum": [LITTLE, ("crc32c", {})],
    "order F": [("transpose", {"order": "F"}), LITTLE],
    "gzip": [LITTLE, ("gzip", {"level": 1})],
    "gzip, big-endian, axes turned": [("transpose", {"order": [2, 0, 1]}), BIG, ("gzip", {"level": 9})],
    "zstd": [LITTLE, ("zstd", {"level": 1})],
    "zstd with checksums, order F": [
        ("transpose", {"order": "F"}),
        LITTLE,
        ("zstd", {"checksum": True}),
        ("crc32c", {}),
    ],
    "blosc": [LITTLE, ("blosc", BLOSC)],
    "blosc of zstd, bits shuffled, big-endian": [BIG, ("blosc", {**BLOSC, "cname": "zstd", "shuffle": "bitshuffle"})],
    "blosc that compresses nothing": [LITTLE, ("blosc", {**BLOSC, "clevel": 0})],
    "blosc in odd blocks": [LITTLE, ("blosc", {**BLOSC, "typesize": 1, "shuffle": "noshuffle", "blocksize": 999})],
    "delta": [("numcodecs.delta", {"dtype": "<u2"}), LITTLE, ("gzip", {"level": 1})],
    "zlib": [LITTLE, ("numcodecs.zlib", {})],
}
DTYPES = ["u1", "u2", "f4", "c16", "?", "M8[us]", "V3", "U2"]


def slices(length: int) -> st.SearchStrategy[slice]:
    """Slices that a Part allows: not empty, within the axis, in either direction."""

    @st.composite
    def drawn(draw: Any) -> slice:
        first, last = draw(st.integers(0, length - 1)), draw(st.integers(0, length - 1))
        step = draw(st.integers(1, 4)) * (1 if last >= first else -1)
        count = abs(last - first) // abs(step) + 1
        if count == 1:
            return slice(first, first + 1, 1)
        stop = first + (count - 1) * step + (1 if step > 0 else -1)
        return slice(first, stop if stop >= 0 else None, step)

    return drawn()


selections = st.tuples(*map(slices, SHAPE))


def windowed(made: CodecPipeline, data: bytes, selection: tuple[slice, ...]) -> np.ndarray | None:
    """The values of the part of a chunk that a selection needs; None if the whole chunk must be decoded."""
    window = made.window(selection)
    if window is None:
        return None
    return made.decode_window(BytesSource(data), window, np.empty(window.size, np.uint8))


def part_or_whole(made: CodecPipeline, data: bytes, selection: tuple[slice, ...]) -> np.ndarray:
    found = windowed(made, data, selection)
    return made.decode(data)[selection] if found is None else found


@pytest.mark.parametrize("name", PARTIAL)
@settings(max_examples=60, deadline=None)
@given(selection=selections, dtype=st.sampled_from(DTYPES))
def test_a_part_is_what_the_whole_gives_there(name: str, selection: tuple[slice, ...], dtype: str) -> None:
    dtype = "u2" if name == "delta" else dtype
    made = pipeline(PARTIAL[name], SHAPE, dtype)
    data = made.encode(numbers(dtype, SHAPE))
    found = windowed(made, data, selection)
    if found is not None:
        assert found.dtype == made.dtype
        assert found.tobytes() == made.decode(data)[selection].tobytes()


LARGE = (128, 32, 64)
FIRST = (slice(1, 2, 1), slice(0, 32, 1), slice(0, 64, 1))
LAST = (slice(127, 128, 1), slice(0, 32, 1), slice(0, 64, 1))


@pytest.mark.parametrize("name", [name for name in PARTIAL if name not in ("delta", "zlib", "raw behind a checksum")])
def test_one_plane_of_a_large_chunk_is_decoded_alone(name: str) -> None:
    made = pipeline(PARTIAL[name], LARGE, "u2")
    elements = numbers("u2", LARGE)
    data = made.encode(elements)
    turned = "order F" in name or "axes turned" in name
    plane = (slice(0, 128, 1), slice(0, 32, 1), slice(3, 4, 1)) if turned else FIRST
    found = windowed(made, data, plane)
    assert found is not None
    assert np.array_equal(found, elements[plane])
    assert windowed(pipeline(PARTIAL["delta"], LARGE, "u2"), data, plane) is None


@pytest.mark.parametrize("place", ["folder", "memory"])
@pytest.mark.parametrize("shards", [None, (8, 1 << 16)])
@pytest.mark.parametrize("codec", [{"name": "gzip", "configuration": {"level": 0}},
                                   {"name": "zstd", "configuration": {"level": 1, "checksum": True}}])  # fmt: skip
def test_the_checksum_is_compared_where_all_of_a_chunk_in_the_array_is_read(
    codec: Any, shards: Any, place: str, tmp_path: Path
) -> None:
    """The bytes of the chunk at the edge are stored as they are, so only the checksum shows that one is another."""
    store = MemoryStore() if place == "memory" else LocalStore(tmp_path)
    array = zarrscope.open(store, "w-").create_array(
        "/a", shape=(9, 1 << 16), dtype="u1", chunks=(4, 1 << 16), shards=shards, codecs=[codec]
    )
    values = np.frombuffer(np.random.default_rng(0).bytes(9 << 16), "u1").reshape(9, 1 << 16)
    array[...] = values
    key = "a/c/1/0" if shards else "a/c/2/0"
    stored = bytearray(not_none(store.get(key)))
    stored[stored.index(values[8, 5000:5016].tobytes())] ^= 1
    store.set(key, bytes(stored))
    assert np.array_equal(array[:8], values[:8])
    for selection in (
        ...,
        slice(8, 9),
        8,
        slice(None, None, -1),
        slice(None, None, 4),
        (slice(None), slice(None, None, -1)),
    ):
        with pytest.raises(BadChunk, match=r"gzip|zstd"):
            array[selection]


class Watched(BytesSource):
    """Counts the bytes that are read."""

    taken = 0

    def read(self, start: int, stop: int) -> Any:
        found = super().read(start, stop)
        self.taken += len(found)
        return found


@pytest.mark.parametrize("name", ["raw", "blosc", "blosc that compresses nothing"])
def test_only_the_bytes_of_the_part_are_read(name: str) -> None:
    made = pipeline(PARTIAL[name], LARGE, "u2")
    data = made.encode(numbers("u2", LARGE))
    source = Watched(data)
    for plane in (FIRST, LAST):
        window = made.window(plane)
        assert window is not None
        made.decode_window(source, window, np.empty(window.size, np.uint8))
    assert source.taken < len(data) // 3


@pytest.mark.parametrize("name", PARTIAL)
def test_a_chunk_cut_off_is_a_bad_chunk_though_the_part_is_there(name: str) -> None:
    made = pipeline(PARTIAL[name], LARGE, "u2")
    data = made.encode(numbers("u2", LARGE))
    plane = LAST if made.window(FIRST) is None else FIRST
    for size in (0, 1, 15, 17, 20, len(data) // 3, len(data) - 9, len(data) - 1):
        with pytest.raises(BadChunk) as caught:
            part_or_whole(made, data[:size], plane)
        assert caught.value.codec
    with pytest.raises(BadChunk):
        part_or_whole(made, data + b"\x01", plane)


def test_several_members_and_frames_are_read_in_part_too() -> None:
    import gzip

    zstandard = pytest.importorskip("zstandard")
    elements = numbers("u2", LARGE)
    raw = elements.tobytes()
    for name, encode in (("gzip", gzip.compress), ("zstd", zstandard.ZstdCompressor().compress)):
        made = pipeline(PARTIAL[name], LARGE, "u2")
        for at in (3, 5000, len(raw) // 2, len(raw) - 5):
            data = encode(raw[:at]) + encode(raw[at:])
            for plane in (FIRST, LAST):
                assert np.array_equal(part_or_whole(made, data, plane), elements[plane])
            with pytest.raises(BadChunk):
                windowed(made, encode(raw[:at]), FIRST)


def test_blosc_blocks_in_any_order_are_found() -> None:
    """c-blosc stores them in this order when several threads compress one chunk."""
    made = pipeline(PARTIAL["blosc"], LARGE, "u2")
    elements = numbers("u2", LARGE)
    data = made.encode(elements)
    count = -(-elements.nbytes // int.from_bytes(data[8:12], "little"))
    assert count >= 8
    starts = np.frombuffer(data, "<u4", count, 16).astype(int)
    ends = [*starts[1:].tolist(), len(data)]
    order = np.random.default_rng(3).permutation(count)
    moved, blocks, at = np.empty(count, "<u4"), [], 16 + 4 * count
    for i in order:
        moved[i] = at
        blocks.append(data[starts[i] : ends[i]])
        at += len(blocks[-1])
    mixed = data[:16] + moved.tobytes() + b"".join(blocks)
    assert np.array_equal(made.decode(mixed), elements)
    for z in range(0, 128, 9):
        plane = (slice(z, z + 1, 1), *FIRST[1:])
        found = windowed(made, mixed, plane)
        assert found is not None
        assert np.array_equal(found, elements[plane])


@pytest.mark.parametrize("place", [0, 1, 15, 60, 2**31, 2**32 - 1])
def test_a_table_of_blosc_blocks_that_lies_is_a_bad_chunk_or_costs_nothing(place: int) -> None:
    made = pipeline(PARTIAL["blosc"], LARGE, "u2")
    data = bytearray(made.encode(numbers("u2", LARGE)))
    count = -(-int.from_bytes(data[4:8], "little") // int.from_bytes(data[8:12], "little"))
    data[16 : 16 + 4 * count] = place.to_bytes(4, "little") * count
    with pytest.raises(BadChunk):
        windowed(made, bytes(data), FIRST)


# ---------------------------------------------------------------------- many at once
TINY: dict[str, list[Named]] = {
    "zstd": [LITTLE, ("zstd", {"level": 3})],
    "zstd, big-endian, with checksums": [BIG, ("zstd", {"checksum": True}), ("crc32c", {})],
    "blosc": [LITTLE, ("blosc", BLOSC)],
    "gzip": [LITTLE, ("gzip", {"level": 1})],
}


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("name", TINY)
def test_many_at_once_are_what_each_is_alone(name: str, native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not native:
        monkeypatch.setattr(czstd, "functions", lambda: None)
    made = pipeline(TINY[name], (4, 6, 8), "u2")
    assert made.decodes_many
    elements = [numbers("u2", (4, 6, 8)) + i for i in range(9)]
    chunks = [made.encode(one) for one in elements]
    found = made.decode_many(chunks, np.empty(9 * 4 * 6 * 8 * 2, np.uint8), Arena())
    assert np.array_equal(found, np.stack(elements))
    for i, wrong in product((0, 4, 8), (b"", chunks[0][:-1], chunks[0][:9], chunks[0] + b"\x01", b"\0" * 40)):
        damaged = [*chunks[:i], wrong, *chunks[i + 1 :]]
        with pytest.raises(BadChunk) as caught:
            made.decode_many(damaged, np.empty(9 * 4 * 6 * 8 * 2, np.uint8), Arena())
        assert caught.value.codec


def test_tiny_chunks_of_several_frames_or_of_unknown_size_are_read_in_a_batch_too() -> None:
    zstandard = pytest.importorskip("zstandard")
    made = pipeline(TINY["zstd"], (8,), "u2")
    one, unsized = zstandard.ZstdCompressor().compress, zstandard.ZstdCompressor(write_content_size=False).compress
    raw = bytes(range(16))
    skippable = b"\x50\x2a\x4d\x18\x03\0\0\0abc"
    chunks = [one(raw), one(raw[:6]) + one(raw[6:]), unsized(raw), skippable + one(raw), one(raw) + skippable]
    found = made.decode_many(chunks, np.empty(80, np.uint8), Arena())
    assert found.tobytes() == raw * 5
    for wrong in (one(raw) + one(b"\0"), one(raw) + b"junk", one(raw + raw)):
        with pytest.raises(BadChunk):
            made.decode_many([one(raw), wrong], np.empty(32, np.uint8), Arena())


@pytest.mark.parametrize("native", [True, False])
def test_a_frame_that_is_cut_off_does_not_take_its_end_from_the_next_chunk(
    native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second chunk is a raw block whose end is missing; the third chunk has exactly the missing length."""
    if not native:
        monkeypatch.setattr(czstd, "functions", lambda: None)
    made = pipeline(TINY["zstd"], (64,), "u2")
    whole = made.encode(numbers("u2", (64,)))
    cut = b"\x28\xb5\x2f\xfd\x20\x80" + (128 << 3 | 1).to_bytes(3, "little") + bytes(128 - len(whole))
    assert len(whole) < 128
    with pytest.raises(BadChunk):
        made.decode_many([whole, cut, whole], np.empty(3 * 128, np.uint8), Arena())
    assert np.array_equal(
        made.decode_many([whole] * 3, np.empty(3 * 128, np.uint8), Arena()), [numbers("u2", (64,))] * 3
    )


# ---------------------------------------------------------------------- whole arrays, every way of reading
LAYOUTS: dict[str, dict[str, Any]] = {
    "large raw": {"chunks": (8, 9, 64), "codecs": [LITTLE]},
    "large zstd": {"chunks": (8, 9, 64), "codecs": [LITTLE, ("zstd", {})]},
    "large blosc, order F": {"chunks": (8, 9, 64), "codecs": [("transpose", {"order": "F"}), LITTLE, ("blosc", BLOSC)]},
    "tiny zstd": {"chunks": (2, 3, 4), "codecs": [LITTLE, ("zstd", {})]},
    "tiny raw": {"chunks": (2, 3, 4), "codecs": [BIG]},
    "shards of zstd": {
        "chunks": (8, 6, 16),
        "codecs": [shard([2, 3, 4], [LITTLE, ("zstd", {})], [LITTLE, ("crc32c", {})])],
    },
    "shards, raw, index first": {"chunks": (8, 6, 16), "codecs": [shard([4, 3, 8], [LITTLE], index_location="start")]},
    "v2": {"chunks": (5, 4, 6), "dialect": "v2"},
    "n5": {"chunks": (5, 4, 6), "dialect": "n5"},
}
EXTENT = (13, 20, 70)


def index_of(lengths: tuple[int, ...]) -> st.SearchStrategy[Any]:
    bounds = [st.none() | st.integers(-n - 1, n + 1) for n in lengths]
    steps = st.none() | st.integers(-3, 3).filter(bool)
    return st.tuples(
        *(st.integers(-n, n - 1) | st.builds(slice, b, b, steps) for n, b in zip(lengths, bounds, strict=True))
    )


def made_array(store: Any, layout: str) -> tuple[Array, np.ndarray]:
    how = dict(LAYOUTS[layout])
    if "codecs" in how:
        how["codecs"] = inner(*how["codecs"])
    hierarchy = zarrscope.open(store, "a", dialect=how.pop("dialect", "v3"))
    array = hierarchy.create_array("/a", shape=EXTENT, dtype="uint16", fill_value=0 if layout == "n5" else 7, **how)
    values = np.arange(np.prod(EXTENT), dtype="u2").reshape(EXTENT)
    values[5:10, 3:17] = array.fill_value  # some chunks contain only the fill value, and are not stored
    array[...] = values
    return array, values


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("local", [True, False], ids=["files", "memory"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_selection_is_numpys(
    layout: str, local: bool, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "_shared", background.Background(decode_threads=threads))
    monkeypatch.setattr(reading, "SERIAL_BYTES", 0)
    monkeypatch.setattr(result, "ZEROED_BYTES", 1 << 30 if threads == 1 else 0)
    array, values = made_array(LocalStore(tmp_path) if local else MemoryStore(), layout)
    assert np.array_equal(array[...], values)

    @settings(max_examples=25, deadline=None, database=None)
    @given(index=index_of(EXTENT))
    def check(index: Any) -> None:
        assert np.array_equal(array[index], values[index])

    check()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_damaged_chunk_names_itself_on_every_way(layout: str, tmp_path: Path) -> None:
    array, _ = made_array(LocalStore(tmp_path), layout)
    key = array._stored.locator.key((0, 0, 0))
    stored = array.store.get(key)
    assert stored is not None
    (tmp_path / key).write_bytes(stored[:-3])
    for index in (np.s_[...], np.s_[:, :6], np.s_[:13, ::-1]):
        with pytest.raises(BadChunk) as caught:
            array[index]
        assert caught.value.key == key
        assert caught.value.codec


@pytest.mark.parametrize("layout", ["large zstd", "large raw", "tiny zstd", "v2"])
def test_a_file_that_is_no_chunk_by_its_size_is_not_read(layout: str, tmp_path: Path) -> None:
    array, values = made_array(LocalStore(tmp_path), layout)
    key = array._stored.locator.key((0, 0, 0))
    os.truncate(tmp_path / key, 1 << 41)
    for index in (np.s_[...], np.s_[0, 0, 0], np.s_[0]):
        with pytest.raises(BadChunk, match=r"bytes") as caught:
            array[index]
        assert caught.value.key == key
    assert np.array_equal(array[12], values[12])


# ---------------------------------------------------------------------- files
posix = pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need rights on Windows")
WAYS: dict[str, tuple[tuple[type[object], str], ...]] = {
    "by the system": (),
    "folder by folder": ((FileReader, "follows_no_links"),),
    "from the root": ((FileReader, "follows_no_links"), (LocalStore, "_by_handle")),
    "without preadv": ((FileReader, "fills"),),
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """One way to open files; the others are disabled."""
    name = str(request.param)
    for owner, ability in WAYS[name]:
        monkeypatch.setattr(owner, ability, False)
    return name


@pytest.mark.usefixtures("way")
def test_a_reader_gives_what_get_gives(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    values = {"a/b/c": b"0123456789", "a/b/d": b"", "a/e": bytes(range(256)) * 999, "ä/ö": b"x"}
    for key, value in values.items():
        store.set(key, value)
    arena = Arena()
    reader = store.bulk.reader(arena)
    for key in (*values, "a", "a/b", "a/none", "a/e/beneath", "none/none", *values):
        arena.clear()
        reader.seek(key)
        for part in (None, ByteRange(2, 3), ByteRange(8, 100), ByteRange.last(4), ByteRange(300, None)):
            found = reader.whole() if part is None else reader.part(part)
            assert (None if found is None else bytes(found)) == store.get(key, part)
        source = reader.source()
        assert (source is None) == (store.get(key) is None)
    reader.close()
    for bad in ("", "..", "a/../a/e", "a//e", "/etc/hostname", "a/\0"):
        with pytest.raises(zarrscope.Refused):
            reader.seek(bad)


@posix
@pytest.mark.usefixtures("way")
def test_a_reader_follows_links_as_get_does(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_bytes(b"secret")
    root = tmp_path / "x.zarr"
    (root / "c").mkdir(parents=True)
    (root / "c/0").write_bytes(b"inside")
    (root / "c/out").symlink_to(tmp_path / "outside/file")
    (root / "c/in").symlink_to("0")
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "same").symlink_to("c")
    (root / "gone").symlink_to(tmp_path / "nowhere")
    os.mkfifo(root / "c/pipe")
    store = LocalStore(root)
    reader = store.bulk.reader(Arena())
    for key in ("c/0", "c/in", "same/0"):
        reader.seek(key)
        assert bytes(reader.whole() or b"") == b"inside"
    for key in ("c/out", "folder/file", "gone/file"):
        with pytest.raises(zarrscope.Refused, match="leads out"):
            reader.seek(key)
    with pytest.raises(zarrscope.Unreadable, match="pipe"):
        reader.seek("c/pipe")
    reader.close()
    free = LocalStore(root, allow_outside=True).bulk.reader(Arena())
    free.seek("folder/file")
    assert bytes(free.whole() or b"") == b"secret"
    free.close()


@posix
@pytest.mark.usefixtures("way")
def test_a_folder_that_becomes_a_link_while_a_read_goes_on_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/1").write_bytes(b"secret")
    (tmp_path / "outside/2").write_bytes(b"secret")
    store = LocalStore(tmp_path / "x")
    for name in "012":
        store.set(f"c/{name}", name.encode())
    reader = store.bulk.reader(Arena())
    assert isinstance(reader, FileReader)
    reader.seek("c/1")
    reader.seek("c/0")
    (tmp_path / "x/c").rename(tmp_path / "x/old")
    (tmp_path / "x/c").symlink_to(tmp_path / "outside")
    assert bytes(reader.whole() or b"") == b"0", "what is open stays what it was"
    if reader._folder is not None:
        reader.seek("c/2")
        assert bytes(reader.whole() or b"") == b"2", "the folder that is open stays the one it was"
        reader.close()
    with pytest.raises(zarrscope.Refused, match="leads out"):
        reader.seek("c/1")
    reader.close()


@posix
def test_a_folder_is_opened_once_for_the_files_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FileReader, "follows_no_links", False)
    store = LocalStore(tmp_path)
    for key in ("c/0/0", "c/0/1", "c/0/2", "c/1/0"):
        store.set(key, key.encode())
    opened, real = list[str](), os.open

    def counted(path: Any, *arguments: Any, **more: Any) -> int:
        opened.append(os.fsdecode(path))
        return real(path, *arguments, **more)

    monkeypatch.setattr(os, "open", counted)
    reader = store.bulk.reader(Arena())
    for key in ("c/0/0", "c/0/1", "c/0/2", "c/0/3", "c/1/0"):
        reader.seek(key)
        assert bytes(reader.whole() or b"none").decode() == ("none" if key == "c/0/3" else key)
    reader.close()
    root = f"{tmp_path}/"
    assert opened == [f"{root}c/0/0", root, "c", "0", "1", "2", "3", f"{root}c/1/0"]


def test_reading_leaves_no_file_open(tmp_path: Path) -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("the system does not list open files")
    array, values = made_array(LocalStore(tmp_path), "shards of zstd")
    for _ in range(5):
        assert np.array_equal(array[...], values)
        assert array[3, 4, 5] == values[3, 4, 5]
    (tmp_path / array._stored.locator.key((0, 0, 0))).write_bytes(b"damaged")
    with pytest.raises(BadChunk):
        array[...]
    left = []
    for handle in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            left.append(os.readlink(f"/proc/self/fd/{handle}"))
    assert not [path for path in left if path.startswith(str(tmp_path))]


def test_a_room_gives_memory_out_once_until_it_is_cleared() -> None:
    arena = Arena()
    pieces = [arena.take(1000) for _ in range(20)]
    for i, piece in enumerate(pieces):
        piece[:] = bytes([i]) * 1000
    assert [bytes(piece) for piece in pieces] == [bytes([i]) * 1000 for i in range(20)]
    arena.clear()
    assert len(arena.take(Arena.KEPT + 1)) == Arena.KEPT + 1
    arena.clear()
    assert len(arena.take(0)) == 0


# ---------------------------------------------------------------------- parts of many chunks
@pytest.mark.parametrize("threads", [1, 2])
def test_parts_of_blosc_chunks_are_joined_and_the_damaged_one_is_named(
    threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "_shared", background.Background(decode_threads=threads))
    monkeypatch.setattr(reading, "SERIAL_QUICK_BYTES", 0)
    joined: list[int] = []
    plain = CodecPipeline.decode_blocks

    def counted(self: CodecPipeline, cuts: Any, *rest: Any) -> Any:
        joined.append(len(cuts))
        return plain(self, cuts, *rest)

    monkeypatch.setattr(CodecPipeline, "decode_blocks", counted)
    codecs = inner(
        LITTLE, ("blosc", {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 2, "blocksize": 512})
    )
    hierarchy = zarrscope.open(tmp_path, "w-")
    array = hierarchy.create_array("/a", shape=(32, 130, 150), dtype="uint16", chunks=(16, 64, 64), codecs=codecs)
    values = np.random.default_rng(1).integers(0, 99, (32, 130, 150)).astype("u2")
    values[:16, :64, 64:128] = np.random.default_rng(2).integers(0, 1 << 16, (16, 64, 64))  # stored as it is
    values[16:, 64:128, :64] = 0  # not stored
    array[...] = values
    for index in (
        3,
        20,
        (slice(2, 4), slice(5, 129), slice(3, 148)),
        (17, slice(None, None, -1), slice(None, None, 3)),
    ):
        assert np.array_equal(array[index], values[index])
    assert max(joined) > 1
    for limit in (1, 300_000):
        monkeypatch.setattr(reading, "MERGED_BYTES", limit)
        joined.clear()
        assert np.array_equal(array[5], values[5])
        assert max(joined) <= max(1, limit // (16 * 64 * 64 * 2))
    monkeypatch.undo()
    bad = tmp_path / "a" / "c" / "0" / "1" / "2"
    data = bytearray(bad.read_bytes())
    data[-700:] = b"\xff" * 700
    data[80:-700] = b"\xff" * len(data[80:-700])
    bad.write_bytes(data)
    with pytest.raises(BadChunk) as caught:
        array[3]
    assert caught.value.index == (0, 1, 2)
