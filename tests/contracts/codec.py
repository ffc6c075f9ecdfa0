"""The promises of every codec, run over the whole registry (CODECS): see zarrscope.codecs.codec.

A codec gets its row in EXAMPLES below; test_codecs_contract.py fails for one that has none.
"""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from zarrscope.codecs import CODECS, ArraySpec, BytesSpec, CodecPipeline
from zarrscope.errors import BadChunk
from zarrscope.model.dtype import DataType, Fill, data_type
from zarrscope.model.fill_value import zero
from zarrscope.model.metadata import CodecSpec, Configuration
from zarrscope.model.typestr import from_numpy

LITTLE = ("bytes", {"endian": "little"})
BIG = ("bytes", {"endian": "big"})
OBJECT = DataType("object", np.dtype(object), 0)
MEMORY = 32 << 20
"""Far above the needs of the small chunks here, and far below a false length in a header."""

Named = tuple[str, dict[str, Any]]


def specs(*codecs: Named) -> tuple[CodecSpec, ...]:
    return tuple(CodecSpec(name, Configuration(settings), spelled=name) for name, settings in codecs)


def pipeline(codecs: list[Named], shape: tuple[int, ...], dtype: Any, fill: Any = None) -> CodecPipeline:
    kind = from_numpy(dtype)
    return CodecPipeline(specs(*codecs), ArraySpec(shape, kind, Fill(zero(kind) if fill is None else fill)))


@dataclass(frozen=True)
class Example:
    """A list of codecs around the one examined, and elements that it takes."""

    codecs: list[Named]
    dtype: Any
    elements: np.ndarray
    exact: bool = True
    """decode(encode(x)) is x; otherwise encoding rounds, and decode(encode(decode(encode(x)))) is decode(encode(x))."""

    def pipeline(self) -> CodecPipeline:
        kind = from_numpy(self.dtype)
        return CodecPipeline(specs(*self.codecs), ArraySpec(self.elements.shape, kind, Fill(zero(kind))))


def numbers(dtype: str, shape: tuple[int, ...] = (6, 4, 10)) -> np.ndarray:
    """Numbers of any dtype: smooth as in images, and arbitrary bit patterns for raw types."""
    rng = np.random.default_rng(7)
    kind = np.dtype(dtype)
    if kind.kind in "fc":
        values = np.cumsum(rng.normal(size=shape), axis=-1) * 10
        return (values + 1j * values[::-1]).astype(kind) if kind.kind == "c" else values.astype(kind)
    if kind.kind == "b":
        return rng.random(shape) < 0.3
    if kind.kind in "iumM":
        return rng.integers(0, 100, shape).astype(kind)
    if kind.kind == "U":
        return np.array(["", "ä", "zstd", "日本"])[rng.integers(0, 4, shape)].astype(kind)
    return np.frombuffer(rng.bytes(kind.itemsize * int(np.prod(shape))), kind).reshape(shape)


def objects(*items: Any, shape: tuple[int, ...] | None = None) -> np.ndarray:
    made = np.empty(len(items), object)
    for i, item in enumerate(items):
        made[i] = item
    return made.reshape(shape or (len(items),))


STRUCT = np.dtype([("a", "<i2"), ("b", ">f4"), ("c", "u1", (2,))])
FIXED = ["bool", "i1", "u1", "i2", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16", "M8[us]", "m8[s]", "V3", "S5", "U4"]
U2 = numbers("u2")
F4 = numbers("f4")
F8 = numbers("f8")
STRINGS = objects("", "a", "grün", "日本語", "x" * 300, "b", shape=(2, 3))
OCTETS = objects(b"", b"a", b"\0\xff", b"x" * 300)


def inner(*codecs: Named) -> list[dict[str, Any]]:
    return [{"name": name, "configuration": settings} for name, settings in codecs]


def shard(shape: list[int], codecs: list[Named], index: list[Named] | None = None, **more: Any) -> Named:
    settings = {"chunk_shape": shape, "codecs": inner(*codecs), **more}
    return "sharding_indexed", settings if index is None else {**settings, "index_codecs": inner(*index)}


def compressed(name: str, *settings: dict[str, Any]) -> list[Example]:
    """Examples for a bytes→bytes codec: alone, and inside another codec, in which case it does not know its decoded
    size."""
    made = []
    for configuration in settings or ({},):
        made += [
            Example([LITTLE, (name, configuration)], "u2", U2),
            Example([BIG, (name, configuration), ("numcodecs.zlib", {}), ("crc32c", {})], "f4", F4),
        ]
    return made


INDEX: list[Named] = [LITTLE, ("crc32c", {})]
EXAMPLES: dict[str, list[Example]] = {
    "bytes": [Example([order], dtype, numbers(dtype)) for dtype in FIXED for order in (LITTLE, BIG)]
    + [Example([("bytes", {})], STRUCT, np.zeros((3, 2), STRUCT)), Example([LITTLE], "u2", U2[0, 0, 0].reshape(()))],
    "transpose": [
        Example([("transpose", {"order": order}), LITTLE], "u2", U2) for order in ([2, 0, 1], [0, 2, 1], "F")
    ],
    "reshape": [Example([("reshape", {"shape": shape}), LITTLE], "u2", U2) for shape in ([-1], [[0, 1], 10], [4, 60])],
    "vlen-utf8": [Example([("vlen-utf8", {}), ("zstd", {})], "string", STRINGS)],
    "vlen-bytes": [Example([("vlen-bytes", {})], data_type("bytes"), OCTETS)],
    "gzip": compressed("gzip", {"level": 0}, {"level": 6}),
    "zstd": compressed("zstd", {"level": 1}, {"level": 19, "checksum": True}),
    "blosc": compressed(
        "blosc",
        {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 2},
        {"cname": "zstd", "clevel": 3, "shuffle": "bitshuffle", "typesize": 4, "blocksize": 128},
        {"cname": "blosclz", "clevel": 0, "shuffle": "noshuffle"},
    ),
    "numcodecs.blosc": compressed("numcodecs.blosc", {"cname": "zlib", "shuffle": 1}, {"shuffle": -1}),
    "crc32c": compressed("crc32c"),
    "sharding_indexed": [
        Example([shard([3, 2, 5], [LITTLE, ("zstd", {})], INDEX)], "u2", U2),
        Example([shard([3, 2, 5], [LITTLE], index_location="start")], "u2", U2),
        Example([shard([6, 2, 10], [shard([2, 1, 5], [LITTLE, ("gzip", {})], INDEX)], INDEX)], "u2", U2),
        Example([("transpose", {"order": [1, 0, 2]}), shard([2, 2, 5], [BIG], INDEX), ("gzip", {})], "u2", U2),
        Example([shard([1, 3], [("vlen-utf8", {})], INDEX)], "string", STRINGS),
    ],
    "bitround": [Example([("bitround", {"keepbits": 4}), LITTLE], "f4", F4, exact=False)],
    "numcodecs.bitround": [Example([("numcodecs.bitround", {"keepbits": 9}), LITTLE], "f8", F8, exact=False)],
    "numcodecs.quantize": [
        Example([("numcodecs.quantize", {"digits": 2, "dtype": "<f8"}), LITTLE], "f8", F8, exact=False)
    ],
    "numcodecs.astype": [
        Example([("numcodecs.astype", {"encode_dtype": "<i4", "decode_dtype": "<u2"}), LITTLE], "u2", U2)
    ],
    "numcodecs.fixedscaleoffset": [
        Example(
            [("numcodecs.fixedscaleoffset", {"offset": -5, "scale": 2, "dtype": "<u2", "astype": "<i4"}), LITTLE],
            "u2",
            U2,
        ),
    ],
    "numcodecs.delta": [
        Example([("numcodecs.delta", {"dtype": "<u2", "astype": "<i4"}), LITTLE], "u2", U2),
        Example([("numcodecs.delta", {"dtype": ">u2"}), BIG, ("zstd", {})], "u2", U2),
    ],
    "numcodecs.packbits": [Example([("numcodecs.packbits", {}), LITTLE], "bool", numbers("?", (3, 5)))],
    "numcodecs.categorize": [
        Example(
            [("numcodecs.categorize", {"labels": ["a", "b"], "dtype": "|O"}), LITTLE], "string", objects("a", "b", "")
        )
    ],
    "scale_offset": [
        Example([("scale_offset", {"scale": 2, "offset": 3}), LITTLE], "i4", U2.astype("i4")),
        Example([("scale_offset", {"scale": 0.5}), LITTLE], "f8", F8),
    ],
    "cast_value": [
        Example([("cast_value", {"data_type": "int32"}), LITTLE], "u2", U2),
        Example(
            [("cast_value", {"data_type": "int16", "rounding": "towards-zero", "out_of_range": "clamp"}), LITTLE],
            "f8",
            F8,
            exact=False,
        ),
    ],
    "numcodecs.zlib": compressed("numcodecs.zlib", {"level": 1}),
    "numcodecs.bz2": compressed("numcodecs.bz2", {"level": 9}),
    "numcodecs.lzma": compressed(
        "numcodecs.lzma", {}, {"format": 3, "filters": [{"id": 3, "dist": 2}, {"id": 33, "preset": 1}]}
    ),
    "numcodecs.lz4": compressed("numcodecs.lz4", {"acceleration": 2}),
    "numcodecs.shuffle": compressed("numcodecs.shuffle", {"elementsize": 2}),
    "numcodecs.base64": compressed("numcodecs.base64"),
    "numcodecs.crc32": compressed("numcodecs.crc32", {}, {"location": "end"}),
    "numcodecs.adler32": compressed("numcodecs.adler32"),
    "numcodecs.fletcher32": compressed("numcodecs.fletcher32"),
    "numcodecs.jenkins_lookup3": compressed("numcodecs.jenkins_lookup3", {"initval": 3}),
    "numcodecs.vlen-array": [
        Example(
            [("numcodecs.vlen-array", {"dtype": "<i2"})], OBJECT, objects(np.arange(3, dtype="i2"), np.zeros(0, "i2"))
        )
    ],
    "numcodecs.json2": [Example([("numcodecs.json2", {})], OBJECT, objects(1, "ä", None, {"a": [1]}, shape=(2, 2)))],
    "numcodecs.msgpack2": [Example([("numcodecs.msgpack2", {})], OBJECT, objects(1, "ä", None, {"a": [1]}))],
    "n5_block": [Example([("n5_block", {"codecs": inner(("gzip", {"level": 1}))})], "u2", U2)],
    "n5_default": [
        Example(
            [("n5_default", {"codecs": inner(("transpose", {"order": [2, 1, 0]}), BIG, ("zstd", {"level": 1}))})],
            "f4",
            F4,
        )
    ],
}
EXAMPLES["packbits"] = [
    Example([("packbits", {"padding_encoding": "first_byte"})], "bool", numbers("?", (3, 5))),
    Example([("packbits", {"first_bit": 0, "last_bit": 6, "padding_encoding": "last_byte"})], "u2", U2),
    Example([("packbits", {"last_bit": 7}), ("zstd", {})], "i2", numbers("i2") - np.int16(50)),
    Example([("packbits", {})], "c8", numbers("c8")),
]
EXAMPLES["zfp"] = [
    Example([("zfp", {"mode": "reversible"})], "f8", F8),
    Example([("zfp", {"mode": "reversible", "write_header": True})], "f4", F4),
    Example([("zfp", {"mode": "fixed_rate", "rate": 16}), ("crc32c", {})], "i4", U2.astype("i4"), exact=False),
    Example([("zfp", {"mode": "fixed_accuracy", "tolerance": 0.01})], "f4", F4, exact=False),
]
EXAMPLES["numcodecs.zfpy"] = [
    Example([("numcodecs.zfpy", {"mode": 0})], "f4", F4),
    Example([("numcodecs.zfpy", {"mode": 2, "rate": 12})], "f8", F8, exact=False),
]
EXAMPLES["numcodecs.pcodec"] = [
    Example([("numcodecs.pcodec", {"level": 8})], dtype, numbers(dtype)) for dtype in ("u2", "i8", "f4", "f8")
]
UNWRITTEN = [name for name, row in CODECS.items() if not row.writes]


def same(a: np.ndarray, b: np.ndarray) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind == "O":
        return all(np.array_equal(x, y) for x, y in zip(a.flat, b.flat, strict=True))
    return np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


def attempt(made: CodecPipeline, data: bytes) -> np.ndarray | None:
    """The elements, or None for a BadChunk that names its codec. Any other exception fails the test."""
    try:
        found = made.decode(data)
    except BadChunk as error:
        if not error.codec:
            raise AssertionError("the error does not name its codec") from error
        return None
    assert found.shape == made.spec.shape
    assert found.dtype == made.dtype
    return found


class CodecContract:
    """Subclass it in a test module; a package that adds codecs gives its own `examples`."""

    examples: ClassVar[Mapping[str, Sequence[Example]]] = EXAMPLES

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "example" in metafunc.fixturenames:
            made = [
                pytest.param(example, id=f"{name}-{i}")
                for name, some in self.examples.items()
                for i, example in enumerate(some)
                if CODECS[name].installed
            ]
            metafunc.parametrize("example", made)

    def test_every_example_is_of_a_codec(self) -> None:
        assert set(self.examples) <= set(CODECS)

    def test_what_is_encoded_decodes(self, example: Example) -> None:
        made = example.pipeline()
        data = made.encode(example.elements)
        found = made.decode(data)
        if example.exact:
            assert same(found, example.elements.astype(made.dtype))
        else:
            assert same(made.decode(made.encode(found)), found)
        assert same(made.decode(memoryview(data)), found), "a view of bytes decodes as the bytes do"

    def test_it_fills_the_array_it_is_given(self, example: Example) -> None:
        made = example.pipeline()
        data = made.encode(example.elements)
        found = made.decode(data)
        whole = np.empty(found.shape, found.dtype)
        assert made.decode(data, whole) is whole
        assert same(whole, found)
        wide = np.zeros(tuple(2 * n for n in found.shape), found.dtype)
        every_other: Any = (*(slice(1, 2 * n, 2) for n in found.shape), ...)
        part = wide[every_other]
        made.decode(data, part)
        assert same(part, found), "strides do not matter"

    def test_the_representation_is_known_without_data(self, example: Example) -> None:
        made = example.pipeline()
        data = made.encode(example.elements)
        assert isinstance(made.encoded, BytesSpec)
        assert made.encoded.size in (None, len(data))
        assert len(data) <= made.encoded.limit
        for before, after in zip(made.codecs, made.codecs[1:], strict=False):
            assert before.encoded == after.decoded or isinstance(after.decoded, BytesSpec)

    def test_cut_bytes_are_a_bad_chunk_or_a_value(self, example: Example) -> None:
        made = example.pipeline()
        data = made.encode(example.elements)
        for size in {*range(min(len(data), 64)), *range(0, len(data), 17), *range(max(0, len(data) - 32), len(data))}:
            attempt(made, data[:size])
        attempt(made, b"")
        attempt(made, data + b"\x01" * 9)

    def test_flipped_bits_cost_no_memory_and_nothing_worse(self, example: Example) -> None:
        made = example.pipeline()
        data = made.encode(example.elements)
        chance = random.Random(len(data))
        attempt(made, data)
        tracemalloc.start()
        try:
            for _ in range(60):
                damaged = bytearray(data)
                for _ in range(chance.choice((1, 1, 1, 4, 16))):
                    damaged[chance.randrange(min(len(data), chance.choice((24, 1 << 20))))] ^= 1 << chance.randrange(8)
                attempt(made, bytes(damaged))
            assert tracemalloc.get_traced_memory()[1] < MEMORY
        finally:
            tracemalloc.stop()
