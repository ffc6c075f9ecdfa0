"""Codecs beyond their contract: golden bytes, what other implementations write, limits, refusals, fallbacks."""

from __future__ import annotations

import gzip
import subprocess
import sys
import textwrap
import tracemalloc
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.codec import BIG, F4, LITTLE, OBJECT, U2, inner, pipeline, same, shard, specs
from narrowing import not_none
from zarrscope.codecs import (
    CODECS,
    ArraySpec,
    CodecPipeline,
    cblosc,
    compress,
    czstd,
    is_fill,
    limits,
    resolve,
    sharding,
    zstd,
)
from zarrscope.codecs.compress import crc32c
from zarrscope.codecs.native import library
from zarrscope.errors import BadChunk, BadMetadata, Unsupported, ZarrscopeError
from zarrscope.model.buffers import Arena
from zarrscope.model.codec_table import codec_id, codec_name
from zarrscope.model.dtype import DataType, Fill, data_type
from zarrscope.model.metadata import CodecSpec, Configuration
from zarrscope.model.storage import ByteRange
from zarrscope.model.typestr import from_numpy

INDEX = [LITTLE, ("crc32c", {})]
MISSING = b"\xff" * 16


def pairs(*numbers: int) -> bytes:
    return np.array(numbers, "<u8").tobytes()


# ------------------------------------------------------------------ golden bytes
def test_a_shard_with_one_chunk_as_zarr_python_writes_it() -> None:
    made = pipeline([shard([2, 2], [("bytes", {})], INDEX)], (4, 4), "u1")
    elements = np.zeros((4, 4), "u1")
    elements[:2, :2] = 7
    expected = b"\x07" * 4 + pairs(0, 4) + 3 * MISSING + bytes.fromhex("667adc7a")
    assert made.encode(elements) == expected
    assert same(made.decode(expected), elements)


def test_a_full_shard_as_zarr_python_writes_it() -> None:
    made = pipeline([shard([2], [("bytes", {})], INDEX)], (4,), "u1")
    expected = bytes([1, 2, 3, 4]) + pairs(0, 2, 2, 2) + bytes.fromhex("04526e88")
    assert made.encode(np.array([1, 2, 3, 4], "u1")) == expected


def test_the_shard_of_2022_is_one_without_a_checksum() -> None:
    made = pipeline([shard([2, 2], [("bytes", {})])], (4, 4), "u1")
    data = bytes.fromhex("0b0c0f1003040708090a0d0e01020506") + pairs(12, 4, 4, 4, 8, 4, 0, 4)
    assert same(made.decode(data), np.arange(1, 17, dtype="u1").reshape(4, 4))


def test_order_f_is_a_transpose_by_the_full_reversal() -> None:
    made = pipeline([("transpose", {"order": [1, 0]}), BIG], (2, 3), "u2")
    data = bytes.fromhex("000000060001000700020008")
    assert same(made.decode(data), np.array([[0, 1, 2], [6, 7, 8]], "u2"))
    assert made.encode(np.array([[0, 1, 2], [6, 7, 8]], "u2")) == data


def test_both_orders_of_packed_bits() -> None:  # spec D.6
    elements = np.array([1, 0, 0, 0, 0, 0, 0, 0, 1, 1], bool)
    theirs = pipeline([("numcodecs.packbits", {}), LITTLE], (10,), "bool")
    assert theirs.encode(elements).hex() == "0680c0"
    ours = pipeline([("packbits", {"padding_encoding": "first_byte"})], (10,), "bool")
    assert ours.encode(elements).hex() == "060103"


def test_a_blosc_header() -> None:
    made = pipeline([LITTLE, ("blosc", {"cname": "lz4", "shuffle": "shuffle", "typesize": 4})], (1000,), "u4")
    data = made.encode(np.arange(1000, dtype="u4"))
    assert data[:12].hex() == "02012104a00f0000a00f0000"
    assert int.from_bytes(data[12:16], "little") == len(data)


def test_crc32c_of_the_standard_check_string(monkeypatch: Any) -> None:
    assert crc32c(b"123456789") == 0xE3069283
    without(monkeypatch, "google_crc32c")
    assert crc32c(b"123456789") == 0xE3069283


def test_an_n5_block_and_one_cut_at_the_border() -> None:  # A.10
    made = pipeline([("n5_block", {"codecs": inner(("gzip", {"level": 1}))})], (2, 2), "u2")
    head = bytes.fromhex("000000020000000200000002")
    data = made.encode(np.array([[1, 2], [3, 4]], "u2"))
    assert data[:14] == head + b"\x1f\x8b"
    cut = bytes.fromhex("000000020000000100000002") + gzip.compress(bytes.fromhex("00010003"))
    assert made.decode(cut).tolist() == [[1, 0], [3, 0]]
    with pytest.raises(BadChunk, match="at most"):
        made.decode(bytes.fromhex("000000020000000300000002") + gzip.compress(bytes(12)))


def java_block(data: bytes, *, stored: bool = False, check: int | None = None) -> bytes:
    """A block of lz4-java's LZ4BlockOutputStream."""
    xxhash = pytest.importorskip("xxhash")
    lz4 = pytest.importorskip("numcodecs.lz4")
    body = data if stored else bytes(lz4.compress(data))[4:]
    if check is None:
        check = xxhash.xxh32_intdigest(data, 0x9747B28C) & 0x0FFFFFFF
    numbers = b"".join(number.to_bytes(4, "little") for number in (len(body), len(data), check))
    return b"LZ4Block" + bytes([0x15 if stored else 0x25]) + numbers + body


def test_the_lz4_of_java() -> None:  # A.10
    made = pipeline([BIG, ("n5.lz4", {"blockSize": 65536})], (6, 4, 10), "u2")
    raw = U2.astype(">u2").tobytes()
    end = b"LZ4Block" + bytes([0x15]) + bytes(12)
    good = java_block(raw[:300]) + java_block(raw[300:], stored=True) + end
    assert same(made.decode(good), U2)
    wrong = {
        "cut off": good[:-9],
        "no end": good[: -len(end)],
        "short": java_block(raw[:300]) + end,
        "long": java_block(raw) + java_block(raw) + end,
        "checksum": java_block(raw, check=1) + end,
        "another lz4": zlib.compress(raw),
    }
    for data in wrong.values():
        with pytest.raises(BadChunk):
            made.decode(data)
    with pytest.raises(Unsupported):
        made.encode(U2)


# ------------------------------------------------------------------ data of other implementations
V3_LISTS: list[list[Any]] = [
    [LITTLE],
    [BIG, ("gzip", {"level": 3})],
    [("transpose", {"order": [2, 0, 1]}), LITTLE, ("zstd", {"level": 3, "checksum": True})],
    [
        LITTLE,
        ("blosc", {"cname": "zstd", "clevel": 3, "shuffle": "bitshuffle", "typesize": 2, "blocksize": 0}),
        ("crc32c", {}),
    ],
    [shard([4, 4, 5], [LITTLE, ("zstd", {"level": 1, "checksum": False})], INDEX, index_location="end")],
    [shard([4, 4, 5], [BIG, ("gzip", {"level": 1})], INDEX, index_location="start")],
]


def document(codecs: list[Any]) -> list[dict[str, Any]]:
    return [{"name": name, "configuration": {**conf}} if conf else {"name": name} for name, conf in codecs]


@pytest.mark.parametrize("codecs", V3_LISTS, ids=lambda codecs: "+".join(name for name, _ in codecs))
def test_zarr_python_and_we_read_each_other(codecs: Any, tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    theirs = tmp_path / "theirs"
    elements = np.arange(8 * 8 * 10, dtype="u2").reshape(8, 8, 10) * 7
    import json

    theirs.mkdir()
    (theirs / "zarr.json").write_text(
        json.dumps(
            {
                "zarr_format": 3,
                "node_type": "array",
                "shape": [8, 8, 10],
                "data_type": "uint16",
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8, 8, 10]}},
                "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
                "fill_value": 0,
                "codecs": document(codecs),
                "attributes": {},
            }
        )
    )
    array = zarr.open_array(str(theirs), mode="r+")
    array[...] = elements
    key = theirs / "c" / "0" / "0" / "0"
    made = pipeline(codecs, (8, 8, 10), "u2")
    assert same(made.decode(key.read_bytes()), elements)
    key.write_bytes(made.encode(elements + 1))
    assert np.array_equal(zarr.open_array(str(theirs), mode="r")[...], elements + 1)


@pytest.mark.parametrize("codecs", V3_LISTS, ids=lambda codecs: "+".join(name for name, _ in codecs))
def test_tensorstore_and_we_read_each_other(codecs: Any, tmp_path: Path) -> None:
    ts = pytest.importorskip("tensorstore")
    spec = {
        "driver": "zarr3",
        "kvstore": {"driver": "file", "path": str(tmp_path / "theirs")},
        "metadata": {
            "shape": [8, 8, 10],
            "data_type": "uint16",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8, 8, 10]}},
            "chunk_key_encoding": {"name": "default"},
            "codecs": [
                # tensorstore has no checksum for zstd
                {**item, "configuration": {k: v for k, v in item.get("configuration", {}).items() if k != "checksum"}}
                if item["name"] == "zstd"
                else item
                for item in document(codecs)
            ],
        },
        "create": True,
        "delete_existing": True,
    }
    elements = np.arange(8 * 8 * 10, dtype="u2").reshape(8, 8, 10) * 7
    try:
        store = ts.open(spec).result()
    except ValueError as error:
        if "checksum" not in str(error):
            raise
        pytest.skip("this tensorstore does not know a member that zarr-python demands")
    store.write(elements).result()
    key = tmp_path / "theirs" / "c" / "0" / "0" / "0"
    made = pipeline(codecs, (8, 8, 10), "u2")
    assert same(made.decode(key.read_bytes()), elements)
    key.write_bytes(made.encode(elements + 1))
    again = ts.open({**spec, "create": False, "delete_existing": False, "open": True}).result()
    assert np.array_equal(again.read().result(), elements + 1)


NUMCODECS: list[tuple[dict[str, Any], Any]] = [
    ({"id": "zlib", "level": 3}, "u2"),
    ({"id": "bz2", "level": 3}, "u2"),
    ({"id": "lzma", "preset": 1}, "u2"),
    ({"id": "lz4"}, "u2"),
    ({"id": "shuffle", "elementsize": 2}, "u2"),
    ({"id": "base64"}, "u2"),
    ({"id": "crc32"}, "u2"),
    ({"id": "adler32"}, "u2"),
    ({"id": "fletcher32"}, "u2"),
    ({"id": "jenkins_lookup3", "initval": 7}, "u2"),
    ({"id": "delta", "dtype": "<u2", "astype": "<i4"}, "u2"),
    ({"id": "fixedscaleoffset", "offset": -3, "scale": 10, "dtype": "<f4", "astype": "<i2"}, "f4"),
    ({"id": "quantize", "digits": 2, "dtype": "<f4"}, "f4"),
    ({"id": "bitround", "keepbits": 5}, "f4"),
    ({"id": "astype", "encode_dtype": "<f8", "decode_dtype": "<f4"}, "f4"),
    ({"id": "pcodec", "level": 4}, "f4"),
    ({"id": "zfpy", "mode": 4, "tolerance": 0.01}, "f4"),
]


@pytest.mark.parametrize(
    ("config", "dtype"), NUMCODECS, ids=lambda value: value["id"] if isinstance(value, dict) else ""
)
def test_numcodecs_and_we_read_each_other(config: Any, dtype: Any) -> None:
    numcodecs = pytest.importorskip("numcodecs")
    theirs = numcodecs.get_codec(dict(config))
    elements = U2 if dtype == "u2" else F4
    name = codec_name("v2", config["id"])
    ours = [(name, {k: v for k, v in config.items() if k != "id"})]
    kind = CODECS[name].kind
    codecs = {"array→array": [*ours, LITTLE], "array→bytes": ours, "bytes→bytes": [LITTLE, *ours]}[kind]
    made = pipeline(codecs, elements.shape, dtype)
    source = elements.tobytes() if kind == "bytes→bytes" else elements
    encoded = np.asarray(theirs.encode(source)) if kind == "array→array" else theirs.encode(source)
    stored = encoded if isinstance(encoded, bytes) else bytes(np.ascontiguousarray(encoded).tobytes())
    decoded = theirs.decode(encoded)
    raw = decoded if isinstance(decoded, bytes) else np.ascontiguousarray(decoded).tobytes()
    found = made.decode(stored)
    assert found.tobytes() == raw
    again = theirs.decode(made.encode(elements) if kind != "array→array" else np.asarray(theirs.encode(elements)))
    assert (again if isinstance(again, bytes) else np.ascontiguousarray(again).tobytes()) == raw


# ------------------------------------------------------------------ limits (spec F)
BOMB = 50_000_000


@cache
def bombs() -> dict[str, bytes]:
    import bz2
    import lzma

    import zstandard

    zeros = bytes(BOMB)
    sized = zstandard.ZstdCompressor(level=3).compress(zeros)
    unsized = zstandard.ZstdCompressor(level=3, write_content_size=False).compress(zeros)
    return {
        "gzip": gzip.compress(zeros, 9),
        "numcodecs.zlib": zlib.compress(zeros, 9),
        "numcodecs.bz2": bz2.compress(zeros),
        "numcodecs.lzma": lzma.compress(zeros),
        "zstd": sized,
        "zstd ": unsized,
        "zstd  ": sized + sized,
        "blosc": bytes.fromhex("02012101")
        + (1 << 31).to_bytes(4, "little")
        + bytes([0, 0, 1, 0, 20, 0, 0, 0])
        + bytes(4),
        "numcodecs.lz4": (2**31 - 1).to_bytes(4, "little") + bytes(20),
    }


@pytest.mark.parametrize("behind", [(), ("numcodecs.zlib",)], ids=["alone", "behind another"])
@pytest.mark.parametrize("fallback", [False, True], ids=["fast", "fallback"])
def test_a_bomb_costs_no_memory(monkeypatch: Any, fallback: Any, behind: Any) -> None:
    data = bombs()
    if fallback:
        without(monkeypatch, "libzstd", "isal.isal_zlib", "deflate")
    for name, bomb in data.items():
        codecs = [LITTLE, *((other, {}) for other in behind), (name.strip(), {})]
        made = pipeline(codecs, (64, 64), "u2")
        made.decode(made.encode(np.zeros((64, 64), "u2")))
        tracemalloc.start()
        with pytest.raises(BadChunk) as caught:
            made.decode(bomb)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert caught.value.codec == name.strip()
        assert peak < 16 << 20, (name, peak)  # lzma's own dictionary is 8 MiB


def test_a_size_that_does_not_fit_says_both_numbers() -> None:
    made = pipeline([LITTLE], (4, 4), "u2")
    with pytest.raises(BadChunk, match=r"30 bytes where 32 are expected"):
        made.decode(bytes(30))
    made = pipeline([LITTLE, ("gzip", {})], (4, 4), "u2")
    with pytest.raises(BadChunk, match=r"30 bytes where the chunk has 32"):
        made.decode(gzip.compress(bytes(30)))


def test_gzip_members_and_zeros_after_them() -> None:
    made = pipeline([LITTLE, ("gzip", {})], (8,), "u2")
    first, second = gzip.compress(bytes(range(6))), gzip.compress(bytes(range(6, 16)))
    expected = np.frombuffer(bytes(range(16)), "<u2")
    assert same(made.decode(first + second), expected)
    assert same(made.decode(first + second + bytes(12)), expected)
    assert same(made.decode(gzip.compress(bytes(range(16))) + bytes(3)), expected)
    for wrong in (first + second + b"junk", first, first + second + second):
        with pytest.raises(BadChunk):
            made.decode(wrong)


def test_zstd_frames_with_and_without_their_size() -> None:
    zstandard = pytest.importorskip("zstandard")
    made = pipeline([LITTLE, ("zstd", {})], (8,), "u2")
    expected = np.frombuffer(bytes(range(16)), "<u2")

    def frame(data: bytes, **options: Any) -> bytes:
        return bytes(zstandard.ZstdCompressor(**options).compress(data))

    low, high = bytes(range(6)), bytes(range(6, 16))
    skippable = b"\x50\x2a\x4d\x18\x03\0\0\0abc"
    for data in (
        frame(low) + frame(high),
        frame(low, write_content_size=False) + frame(high, write_checksum=True),
        frame(low + high, write_content_size=False),
        skippable + frame(low) + frame(b"") + frame(high),
    ):
        assert same(made.decode(data), expected)
    for data in (frame(low), frame(low) + frame(high)[:-3], frame(low) + frame(high) * 2, frame(low + high) + b"junk"):
        with pytest.raises(BadChunk):
            made.decode(data)
    walked = [*zstd.frames(frame(low) + skippable + frame(high, write_content_size=False))]
    assert [item.size for item in walked] == [6, None]


def test_blosc_does_not_read_past_a_cut_buffer() -> None:  # F.4
    made = pipeline([LITTLE, ("blosc", {"clevel": 0, "shuffle": "noshuffle", "typesize": 2})], (2048,), "u2")
    data = made.encode(np.arange(2048, dtype="u2"))
    assert len(data) == 4112
    with pytest.raises(BadChunk, match=r"4,112 bytes, but the chunk has 600"):
        made.decode(data[:600])


def test_pickle_is_refused_in_every_place() -> None:  # F.11
    pickle: tuple[str, dict[str, Any]] = ("numcodecs.pickle", {})
    for codecs in ([pickle], [LITTLE, pickle], [pickle, LITTLE]):
        with pytest.raises(ZarrscopeError) as caught:
            CodecPipeline(specs(*codecs), ArraySpec((2,), OBJECT if len(codecs) == 1 else from_numpy("u2"), Fill(0)))
        assert not isinstance(caught.value, BadChunk)
    assert not CODECS["numcodecs.pickle"].reads


@pytest.mark.parametrize(
    "text",
    [
        '[1,2,"<i8",[2]]',
        '[1,2,"|O",[1000000000000]]',
        '[1,2,"|O",[-2]]',
        '[1,2,"|O",[true,2]]',
        '[1,"|O",[2]]',
        '{"a":1}',
        "[]",
        "[" * 100_000,
        '[1,2,3,"|O",[2]]',
    ],
)
def test_json2_is_checked_before_anything_is_made_of_it(text: Any) -> None:  # F.12
    made = CodecPipeline(specs(("numcodecs.json2", {})), ArraySpec((2,), OBJECT, Fill("")))
    assert made.decode(b'[1,"a","|O",[2]]').tolist() == [1, "a"]
    with pytest.raises(BadChunk):
        made.decode(text.encode())


def test_counts_of_strings_are_checked() -> None:  # F.21
    made = pipeline([("vlen-utf8", {})], (2,), "string")
    good = made.encode(np.array(["a", "bc"], object))
    for count in (0, 1, 3, 2**32 - 1):
        with pytest.raises(BadChunk, match="states"):
            made.decode(count.to_bytes(4, "little") + good[4:])
    with pytest.raises(BadChunk):
        made.decode(good[:4] + b"\xff\xff\xff\x7f" + good[8:])
    with pytest.raises(BadChunk):
        made.decode(good[:-1] + b"\xff")


def shard_of(*numbers: int, location: str = "end", payload: bytes = bytes(8)) -> tuple[CodecPipeline, bytes]:
    made = pipeline([shard([2], [LITTLE], index_location=location)], (4,), "u2")
    index = pairs(*numbers)
    return made, payload + index if location == "end" else index + payload


@pytest.mark.parametrize(
    ("numbers", "location"),
    [
        ((0, 4, 8, 4), "end"),  # in the index
        ((0, 4, 6, 4), "end"),  # across into the index
        ((0, 4, 2**64 - 2, 4), "end"),  # wraps
        ((0, 4, 2**63, 2**63), "end"),
        ((0, 4, 2**64 - 1, 4), "end"),  # half absent
        ((0, 4, 4, 2**64 - 1), "end"),
        ((0, 4, 100, 4), "end"),
        ((0, 4, 4, 5), "end"),  # longer than a chunk
        ((32, 4, 28, 4), "start"),
        ((32, 4, 0, 4), "start"),
        ((32, 4, 37, 4), "start"),
    ],
)
def test_an_index_entry_that_cannot_be_true(numbers: Any, location: Any) -> None:  # F.13
    made, data = shard_of(*numbers, location=location)
    with pytest.raises(BadChunk):
        made.decode(data)
    assert sharding.shard_of(made) is not None
    part = data[-32:] if location == "end" else data[:32]
    index = not_none(sharding.shard_of(made)).decode_index(part, len(data))
    assert index.locate((0,)) == ByteRange(numbers[0], 4)


def test_entries_may_overlap() -> None:
    made, data = shard_of(0, 4, 0, 4, payload=pairs(7))
    assert made.decode(data).tolist() == [7, 0, 7, 0]


def test_a_damaged_index_is_seen_by_its_checksum() -> None:
    made = pipeline([shard([2], [LITTLE], INDEX)], (4,), "u2")
    data = bytearray(made.encode(np.arange(4)))
    data[9] ^= 1
    with pytest.raises(BadChunk, match="checksum") as caught:
        made.decode(bytes(data))
    assert caught.value.codec == "crc32c"


def test_a_chunk_too_large_is_not_tried(monkeypatch: Any) -> None:  # F.2
    made = pipeline([LITTLE], (1 << 20, 1 << 20), "u2")
    with pytest.raises(BadChunk, match="limit"):
        made.decode(b"")
    monkeypatch.setattr(limits, "MAX_CHUNK_BYTES", 16)
    with pytest.raises(BadChunk, match="limit"):
        pipeline([LITTLE], (9,), "u2").decode(bytes(18))


# ------------------------------------------------------------------ resolution: everything wrong is seen at open
@pytest.mark.parametrize(
    ("codecs", "pointer"),
    [
        ([], "/codecs"),
        ([("gzip", {})], "/codecs/0"),
        ([LITTLE, LITTLE], "/codecs/1"),
        ([LITTLE, ("transpose", {"order": [1, 0]})], "/codecs/1"),
        ([LITTLE, ("gzip", {"level": 12})], "/codecs/1/configuration/level"),
        ([LITTLE, ("gzip", {"level": True})], "/codecs/1/configuration/level"),
        ([LITTLE, ("zstd", {"level": 99})], "/codecs/1/configuration/level"),
        ([LITTLE, ("zstd", {"checksum": 1})], "/codecs/1/configuration/checksum"),
        ([LITTLE, ("blosc", {"cname": "lzx"})], "/codecs/1/configuration/cname"),
        ([LITTLE, ("blosc", {"shuffle": True})], "/codecs/1/configuration/shuffle"),
        ([("bytes", {})], "/codecs/0/configuration"),
        ([("bytes", {"endian": "middle"})], "/codecs/0/configuration/endian"),
        ([("transpose", {}), LITTLE], "/codecs/0/configuration"),
        ([("transpose", {"order": [0, 0]}), LITTLE], "/codecs/0/configuration/order"),
        ([("transpose", {"order": [0]}), LITTLE], "/codecs/0/configuration/order"),
        ([("vlen-utf8", {})], "/codecs/0"),
        ([shard([3, 2], [LITTLE])], "/codecs/0/configuration/chunk_shape"),
        ([shard([0, 2], [LITTLE])], "/codecs/0/configuration/chunk_shape"),
        ([shard([2], [LITTLE])], "/codecs/0/configuration/chunk_shape"),
        ([shard([2, 2], [LITTLE, ("zstd", {"level": 99})])], "/codecs/0/configuration/codecs/1/configuration/level"),
        ([shard([2, 2], [LITTLE], [LITTLE, ("gzip", {})])], "/codecs/0/configuration/index_codecs"),
        ([shard([2, 2], [LITTLE], index_location="middle")], "/codecs/0/configuration/index_location"),
        ([("sharding_indexed", {"chunk_shape": [2, 2], "codecs": "bytes"})], "/codecs/0/configuration/codecs"),
        ([("sharding_indexed", {"chunk_shape": [2, 2], "codecs": [1]})], "/codecs/0/configuration/codecs/0"),
        ([LITTLE, *[("crc32c", {})] * 64], "/codecs"),
        ([("reshape", {"shape": [3, -1]}), LITTLE], "/codecs/0/configuration/shape"),
        ([("reshape", {"shape": [[1], [0]]}), LITTLE], "/codecs/0/configuration/shape"),
        ([("scale_offset", {"scale": 0}), LITTLE], "/codecs/0/configuration/scale"),
        ([("scale_offset", {"factor": 2}), LITTLE], "/codecs/0/configuration/factor"),
        ([("cast_value", {"data_type": "int17"}), LITTLE], "/codecs/0/configuration/data_type"),
        ([LITTLE, ("numcodecs.shuffle", {"elementsize": 5})], "/codecs/1/configuration/elementsize"),
        ([LITTLE, ("gzip", {"level": 1, "dictionary": "x"})], "/codecs/1/configuration/dictionary"),
        ([LITTLE, ("numcodecs.lzma", {"format": 3})], "/codecs/1/configuration/filters"),
    ],
)
def test_what_is_wrong_is_said_when_the_array_is_opened(codecs: Any, pointer: Any) -> None:
    with pytest.raises((BadMetadata, Unsupported)) as caught:
        pipeline(codecs, (4, 4), "u2")
    assert caught.value.pointer == pointer


def test_codecs_may_not_lie_too_deep() -> None:  # F.14
    nested: Any = LITTLE
    for depth in range(4):
        nested = shard([2 ** (depth + 1)], [nested])
    assert sharding.shard_of(pipeline([nested], (32,), "u2")) is not None
    with pytest.raises(BadMetadata, match="deep"):
        pipeline([shard([32], [nested])], (64,), "u2")


def test_an_index_of_too_many_entries() -> None:
    with pytest.raises(BadMetadata, match="limit"):
        pipeline([shard([1, 1], [LITTLE])], (8192, 4096), "u2")


def test_an_unknown_codec_is_named_with_advice() -> None:
    with pytest.raises(Unsupported) as caught:
        pipeline([LITTLE, ("example.squash", {})], (4,), "u2")
    assert caught.value.feature == "codec example.squash"
    assert caught.value.pointer == "/codecs/1"
    assert "zarr-extensions" in str(caught.value)


def test_a_codec_that_need_not_be_understood_is_left_out_on_reading() -> None:
    extra = CodecSpec("example.note", Configuration(), must_understand=False)
    spec = ArraySpec((4,), from_numpy("u2"), Fill(np.uint16(0)))
    made = CodecPipeline((*specs(LITTLE), extra), spec)
    assert made.skipped == ("example.note",)
    assert made.decode(np.arange(4, dtype="<u2").tobytes()).tolist() == [0, 1, 2, 3]
    with pytest.raises(Unsupported):
        made.encode(np.arange(4))
    with pytest.raises(BadMetadata, match=r"example\.note"):
        CodecPipeline((extra,), spec)


def test_names_of_the_dialects_live_in_the_table() -> None:
    assert codec_name("v2", "zlib") == "numcodecs.zlib"
    assert codec_name("v2", "zstd") == "zstd"
    assert codec_name("v3", "numcodecs.zstd") == "zstd"
    assert codec_name("draft", "endian") == "bytes"
    assert codec_name("n5", "xz") == "numcodecs.lzma"
    assert codec_name("v3", "urn:nobody") == "urn:nobody"
    assert codec_id("n5", "numcodecs.bz2") == "bzip2"
    assert codec_id("n5", "numcodecs.delta") is None
    for name, row in CODECS.items():
        for family in ("v3", "v2", "draft", "n5"):
            assert all(codec_name(family, identifier) == name for identifier in row.names(family)), (name, family)
        made = resolve(name) if row.installed else None
        assert made is None or (made.name, made.kind, made.__module__) == (name, row.kind, row.module)


def test_imagecodecs_are_done_where_they_are_installed_and_named_where_not(monkeypatch: Any) -> None:
    if library("imagecodecs") is not None:
        made = pipeline([("imagecodecs_png", {})], (1, 6, 8), "u1")
        elements = np.arange(48, dtype="u1").reshape(1, 6, 8)
        assert same(made.decode(made.encode(elements)), elements)
        with pytest.raises(BadChunk):
            pipeline([("imagecodecs_png", {})], (1, 6, 7), "u1").decode(made.encode(elements))
        made = pipeline([LITTLE, ("imagecodecs_brotli", {})], (6, 4, 10), "u2")
        assert same(made.decode(made.encode(U2)), U2)
        with pytest.raises(Unsupported, match="crash"):
            pipeline([LITTLE, ("imagecodecs_lzw", {})], (6, 4, 10), "u2")
    with pytest.raises(Unsupported, match="imagecodecs_nothing"):
        pipeline([("imagecodecs_nothing", {})], (4, 4), "u1")
    without(monkeypatch, "imagecodecs")
    with pytest.raises(Unsupported, match="pip install imagecodecs"):
        pipeline([("imagecodecs_png", {})], (4, 4), "u1")


def test_a_pipeline_survives_pickling() -> None:
    import pickle

    made = pipeline([shard([3, 2, 5], [LITTLE, ("zstd", {})], INDEX), ("gzip", {})], U2.shape, "u2")
    again = pickle.loads(pickle.dumps(made))
    assert same(again.decode(made.encode(U2)), U2)
    assert again.encode(U2) == made.encode(U2)


# ------------------------------------------------------------------ shards, piece by piece
def test_inner_chunks_by_their_byte_ranges() -> None:
    made = pipeline([shard([2, 5], [LITTLE, ("zstd", {})], INDEX)], (4, 10), "u2")
    elements = np.arange(40, dtype="u2").reshape(4, 10)
    elements[:2, 5:] = 0
    data = made.encode(elements)
    part = sharding.shard_of(made)
    assert part is not None
    assert part.grid == (2, 2)
    assert part.index_range == ByteRange.last(4 * 16 + 4)
    index = part.decode_index(part.index_range.of(data))
    assert index.present.tolist() == [[True, False], [True, True]]
    assert index.locate((0, 1)) is None
    for at in ((0, 0), (1, 0), (1, 1)):
        where = index.locate(at)
        assert where is not None
        assert same(part.inner.decode(where.of(data)), elements[part.place(at)])
    chunks = part.split(data)
    assert part.assemble(chunks) == data
    changed = np.full((2, 5), 9, "u2")
    again = part.assemble({**chunks, (0, 1): part.inner.encode(changed)})
    elements[:2, 5:] = 9
    assert same(made.decode(again), elements)
    with pytest.raises(BadChunk, match="index"):
        part.decode_index(b"")


def test_inner_chunks_are_not_addressable_behind_or_before_other_codecs() -> None:
    part = shard([2], [LITTLE], INDEX)
    assert sharding.shard_of(pipeline([part], (4,), "u2")) is not None
    assert sharding.shard_of(pipeline([part, ("gzip", {})], (4,), "u2")) is None
    assert sharding.shard_of(pipeline([("transpose", {"order": [0]}), part], (4,), "u2")) is None


def test_the_interim_text_needs_no_array_to_bytes_codec_in_a_shard() -> None:  # A.7
    made = pipeline([("sharding_indexed", {"chunk_shape": [2], "codecs": [{"name": "gzip"}]})], (4,), "u2")
    explicit = pipeline([shard([2], [LITTLE, ("gzip", {})])], (4,), "u2")
    assert made.encode(np.arange(4)) == explicit.encode(np.arange(4))
    alias = pipeline([("endian", {"endian": "big"})], (2,), "u2")
    assert alias.encode(np.array([1, 2])) == b"\0\1\0\2"


def test_what_is_all_fill_to_the_bit() -> None:
    def fill(value: Any, dtype: str) -> Fill:
        return Fill(np.dtype(dtype).type(value))

    assert is_fill(np.full((2, 3), np.nan, "f4"), fill(np.nan, "f4"))
    assert not is_fill(np.array([0.0, -0.0]), fill(0.0, "f8"))
    assert is_fill(np.array([1 + 2j, 1 + 2j]), fill(1 + 2j, "c16"))
    assert not is_fill(np.array([1 + 2j, 1 + 3j]), fill(1 + 2j, "c16"))
    assert is_fill(np.array(["", ""], object), Fill(""))
    assert is_fill(np.arange(10)[::20], fill(0, "i8"))


# ------------------------------------------------------------------ values of unusual types
def test_small_integers_count_their_low_bits_only() -> None:
    pytest.importorskip("ml_dtypes")
    signed = CodecPipeline(specs(("bytes", {})), ArraySpec((4,), data_type("int4"), Fill(0)))
    assert signed.decode(bytes([0xF7, 0x18, 0x0F, 0x00])).astype(int).tolist() == [7, -8, -1, 0]
    unsigned = CodecPipeline(specs(("bytes", {})), ArraySpec((2,), data_type("uint4"), Fill(0)))
    assert unsigned.decode(bytes([0xF7, 0x18])).astype(int).tolist() == [7, 8]
    packed = CodecPipeline(specs(("packbits", {})), ArraySpec((4,), data_type("int4"), Fill(0)))
    data = packed.encode(np.array([7, -8, -1, 0]).astype(packed.dtype))
    assert data == bytes([0x87, 0x0F])
    assert packed.decode(data).astype(int).tolist() == [7, -8, -1, 0]


def test_bfloat16_in_both_orders() -> None:
    pytest.importorskip("ml_dtypes")
    for order, stored in ((LITTLE, "803f"), (BIG, "3f80")):
        made = CodecPipeline(specs(order), ArraySpec((1,), data_type("bfloat16"), Fill(0)))
        assert made.encode(np.array([1.0]).astype(made.dtype)).hex() == stored
        assert float(made.decode(bytes.fromhex(stored))[0]) == 1.0


def test_structs_keep_their_fields_orders_unless_they_name_none() -> None:
    mixed = np.dtype([("a", "<i2"), ("b", ">i2")])
    made = CodecPipeline(specs(BIG), ArraySpec((1,), DataType("struct", mixed, 4), Fill(np.zeros((), mixed)[()])))
    assert made.encode(np.array([(1, 2)], mixed)).hex() == "01000002"
    plain = np.dtype([("a", "<i2"), ("b", "<i2")])
    made = CodecPipeline(specs(BIG), ArraySpec((1,), DataType("struct", plain, 4), Fill(np.zeros((), plain)[()])))
    assert made.encode(np.array([(1, 2)], plain)).hex() == "00010002"
    assert made.decode(bytes.fromhex("00010002")).tolist() == [(1, 2)]


def test_any_byte_but_zero_is_true() -> None:
    found = pipeline([("bytes", {})], (3,), "bool").decode(bytes([0, 1, 2]))
    assert found.view("u1").tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        ("nearest-even", [-2, 0, 0, 2, 2]),
        ("towards-zero", [-1, 0, 0, 1, 2]),
        ("towards-positive", [-1, 0, 1, 2, 3]),
        ("towards-negative", [-2, -1, 0, 1, 2]),
        ("nearest-away", [-2, -1, 1, 2, 3]),
    ],
)
def test_roundings_of_cast_value(rounding: Any, expected: Any) -> None:
    made = pipeline([("cast_value", {"data_type": "int8", "rounding": rounding}), LITTLE], (5,), "f4")
    data = made.encode(np.array([-1.5, -0.5, 0.5, 1.5, 2.5], "f4"))
    assert np.frombuffer(data, "i1").tolist() == expected


def test_cast_value_beyond_the_range() -> None:
    values = np.array([-1.0, 300.0, 255.0, 0.0])
    clamp = pipeline([("cast_value", {"data_type": "uint8", "out_of_range": "clamp"}), LITTLE], (4,), "f8")
    assert list(clamp.encode(values)) == [0, 255, 255, 0]
    wrap = pipeline([("cast_value", {"data_type": "uint8", "out_of_range": "wrap"}), LITTLE], (4,), "f8")
    assert list(wrap.encode(values)) == [255, 44, 255, 0]
    bare = pipeline([("cast_value", {"data_type": "uint8"}), LITTLE], (4,), "f8")
    with pytest.raises(ZarrscopeError, match="out_of_range"):
        bare.encode(values)
    mapped = {"encode": [["NaN", 255], ["+Infinity", 254]], "decode": [[255, "NaN"], [254, "+Infinity"]]}
    made = pipeline([("cast_value", {"data_type": "uint8", "scalar_map": mapped}), LITTLE], (4,), "f8")
    data = made.encode(np.array([np.nan, np.inf, 3, 4]))
    assert list(data) == [255, 254, 3, 4]
    assert np.array_equal(made.decode(data), [np.nan, np.inf, 3, 4], equal_nan=True)


# ------------------------------------------------------------------ fallbacks, laziness, threads
def without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Hides these libraries."""

    def answer(name: str) -> Any:
        return None if name in names else library(name)

    for module in (
        (compress, zstd, sys.modules["zarrscope.codecs.imagecodecs"])
        if "imagecodecs" in names
        else (
            compress,
            zstd,
        )
    ):
        monkeypatch.setattr(module, "library", answer)
    if "libzstd" in names:
        monkeypatch.setattr(czstd, "functions", lambda: None)


@pytest.mark.parametrize("missing", ["libzstd", "zstandard", "deflate", "isal.isal_zlib", "google_crc32c"])
def test_every_fast_library_has_a_fallback(monkeypatch: Any, missing: Any) -> None:
    lists: list[list[tuple[str, dict[str, Any]]]] = [
        [LITTLE, ("zstd", {"level": 3, "checksum": True})],
        [LITTLE, ("zstd", {}), ("crc32c", {}), ("gzip", {})],
        [BIG, ("gzip", {"level": 1})],
        [LITTLE, ("numcodecs.zlib", {}), ("zstd", {})],
    ]
    before = [pipeline(codecs, U2.shape, "u2").encode(U2) for codecs in lists]
    without(monkeypatch, missing, "isal.isal_zlib" if missing == "deflate" else missing)
    for codecs, data in zip(lists, before, strict=True):
        made = pipeline(codecs, U2.shape, "u2")
        assert same(made.decode(data), U2)
        assert same(made.decode(made.encode(U2)), U2)
        for size in range(0, len(data), 11):
            with pytest.raises(BadChunk):
                made.decode(data[:size])


def test_blosc_is_decoded_without_importing_numcodecs_and_with_it_where_there_is_no_other_way(
    monkeypatch: Any,
) -> None:
    made = pipeline([LITTLE, ("blosc", {"cname": "lz4", "shuffle": "shuffle", "typesize": 2})], (64, 64), "u2")
    elements = np.arange(4096, dtype="u2").reshape(64, 64)
    data = made.encode(elements)
    program = f"""
        import sys, numpy as np
        from zarrscope.codecs import cblosc
        out = np.empty(8192, np.uint8)
        cblosc.decompress({data!r}, out)
        print(int(out.view("u2").sum()), cblosc.function() is None or "numcodecs" not in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(int(elements.sum())), "True"]
    for _ in range(2):
        assert same(made.decode(data), elements)
        assert same(made.decode(memoryview(data)), elements)
        assert same(made.decode(bytearray(data)), elements)
        for at in range(16, len(data), 97):
            damaged = data[:at] + b"\xff" * (len(data) - at)
            try:
                made.decode(damaged)
            except BadChunk:
                pass
        monkeypatch.setattr(cblosc, "function", lambda: None)


@pytest.mark.parametrize("cname", ["lz4", "zstd", "blosclz", "zlib", "lz4hc"])
@pytest.mark.parametrize("shuffle", ["noshuffle", "shuffle", "bitshuffle"])
def test_blosc_makes_the_same_bytes_with_and_without_numcodecs(monkeypatch: Any, cname: Any, shuffle: Any) -> None:
    """One at a time, and many at once into memory that is used again, from which only some parts are requested."""
    made = pipeline(
        [LITTLE, ("blosc", {"cname": cname, "shuffle": shuffle, "typesize": 2, "clevel": 3})], (9, 64), "u2"
    )
    chunks = np.random.default_rng(1).integers(0, 90, (5, 9, 64)).astype("u2").cumsum(2, dtype="u2")
    chunks[3] = np.random.default_rng(2).integers(0, 1 << 16, (9, 64))
    arena = Arena()
    once = [made.encode(chunk) for chunk in chunks]
    for _ in range(2):
        assert [made.encode(chunk) for chunk in chunks] == once
        arena.clear()
        assert bytes(made.encode_view(chunks[1], arena)) == once[1]
        assert list(map(bytes, made.encode_many(chunks, [4, 3, 0], arena))) == [once[4], once[3], once[0]]
        assert made.encode_many(chunks, [], arena) == []
        monkeypatch.setattr(cblosc, "compressing", lambda: None)
    for data, chunk in zip(once, chunks, strict=True):
        assert same(made.decode(data), chunk)


@pytest.mark.parametrize(
    "codecs",
    [
        [LITTLE],
        [("bytes", {"endian": "big"})],
        [LITTLE, ("zstd", {})],
        [LITTLE, ("blosc", {"typesize": 2}), ("crc32c", {})],
    ],
)
def test_what_is_lent_for_many_is_nobody_elses(codecs: Any) -> None:
    made, arena = pipeline(codecs, (4, 4), "u2"), Arena()
    chunks = np.arange(48, dtype="u2").reshape(3, 4, 4)
    lent = made.encode_many(chunks, [0, 2], arena)
    expected = chunks.copy()
    chunks[...] = 0
    assert [made.decode(data).tolist() for data in lent] == [expected[0].tolist(), expected[2].tolist()]


FOREIGN = """
    import ctypes, sys
    import numpy as np
    for step in {steps!r}:
        if step == "foreign":
            ctypes.CDLL({foreign!r}, mode=ctypes.RTLD_GLOBAL)
        elif step == "numcodecs":
            import numcodecs.zstd
        else:
            from zarrscope.codecs import ArraySpec, CodecPipeline, czstd
            from zarrscope.model.dtype import Fill
            from zarrscope.model.typestr import from_numpy
            from zarrscope.model.metadata import CodecSpec, Configuration
            named = ("bytes", {{"endian": "little"}}), ("zstd", {{}})
            specs = tuple(CodecSpec(name, Configuration(how)) for name, how in named)
            made = CodecPipeline(specs, ArraySpec((64, 64), from_numpy("u2"), Fill(0)))
            for i in range(300):
                chunk = np.random.default_rng(i).integers(0, 1 + i, (64, 64)).astype("u2")
                assert (made.decode(made.encode(chunk)) == chunk).all()
            print(czstd.functions() is not None)
"""


def foreign_libzstd() -> str | None:
    """A libzstd other than zarrscope's: the system's, or one in the folder of a package."""
    from ctypes.util import find_library

    found = find_library("zstd")
    folders = (Path(entry) for entry in sys.path if entry.endswith("site-packages"))
    return found or next((str(path) for folder in folders for path in folder.glob("*.libs/libzstd*")), None)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a library finds its own functions first")
@pytest.mark.parametrize(
    ("steps", "ours"),
    [
        (("foreign", "read"), True),
        (("read", "foreign", "read"), True),
        (("numcodecs", "read"), True),
        (("numcodecs", "foreign", "read"), False),
        (("foreign", "numcodecs", "read"), False),
        (("read", "numcodecs", "foreign", "read"), True),
    ],
)
def test_another_libzstd_in_the_process_is_not_mixed_with_ours(steps: tuple[str, ...], ours: bool) -> None:
    """A graphics driver may load another libzstd into napari; calling functions of both on one object corrupts
    memory."""
    foreign = foreign_libzstd()
    if foreign is None and "foreign" in steps:
        pytest.skip("there is no other libzstd on this machine")
    program = textwrap.dedent(FOREIGN.format(steps=steps, foreign=foreign))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.split() == [str(ours)] * steps.count("read")


def test_importing_the_codecs_imports_none_of_their_libraries() -> None:
    program = """
        import sys, zarrscope.codecs
        slow = {"numcodecs", "zstandard", "deflate", "isal", "google_crc32c", "zfpy", "pcodec", "imagecodecs"}
        print(sorted(slow & set(sys.modules)))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_one_pipeline_serves_many_threads() -> None:
    from concurrent.futures import ThreadPoolExecutor

    made = pipeline([shard([3, 2, 5], [LITTLE, ("zstd", {})], INDEX), ("gzip", {})], U2.shape, "u2")
    chunks = [made.encode(U2 + i) for i in range(16)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(made.decode, chunks * 4))
    assert all(same(part, U2 + i % 16) for i, part in enumerate(found))


# ------------------------------------------------------------------ any list of codecs
@st.composite
def lists(draw: st.DrawFn) -> tuple[list[Any], tuple[int, ...], str]:
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 4, 6]), min_size=1, max_size=3)))
    dtype = draw(st.sampled_from(["u1", "i2", "u4", "f4", "f8", "c8", "bool"]))
    codecs: list[Any] = []
    axes = len(shape)
    here = shape
    if draw(st.booleans()):
        order = draw(st.permutations(range(axes)))
        codecs.append(("transpose", {"order": list(order)}))
        here = tuple(shape[axis] for axis in order)
    order = draw(st.sampled_from([LITTLE, BIG]))
    streams = st.lists(
        st.sampled_from([("gzip", {"level": 1}), ("zstd", {}), ("blosc", {}), ("crc32c", {}), ("numcodecs.lz4", {})]),
        max_size=3,
    )
    plain: list[Any] = [order, *draw(streams)]
    for _ in range(draw(st.integers(0, 2))):
        part = [draw(st.sampled_from([n for n in range(1, size + 1) if size % n == 0])) for size in here]
        if all(n % p == 0 for n, p in zip(here, part, strict=True)) and plain[0][0] == "bytes":
            plain = [shard(part, plain, draw(st.sampled_from([None, INDEX]))), *draw(streams)]
    return [*codecs, *plain], shape, dtype


@settings(max_examples=60, deadline=None)
@given(lists(), st.data())
def test_any_list_of_codecs_gives_back_what_it_was_given(case: Any, data: Any) -> None:
    codecs, shape, dtype = case
    made = pipeline(codecs, shape, dtype)
    seed = data.draw(st.integers(0, 1000))
    rng = np.random.default_rng(seed)
    elements = (rng.integers(0, 4, shape) * rng.integers(0, 2)).astype(dtype)
    encoded = made.encode(elements)
    assert made.encoded.size in (None, len(encoded))
    assert same(made.decode(encoded), elements)
    if encoded:
        damaged = bytearray(encoded)
        at = data.draw(st.integers(0, len(encoded) - 1))
        damaged[at] ^= data.draw(st.integers(1, 255))
        try:
            found = made.decode(bytes(damaged[: data.draw(st.integers(0, len(encoded)))]))
        except BadChunk:
            return
        assert found.shape == shape
