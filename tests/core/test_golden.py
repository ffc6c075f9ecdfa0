"""Stores that zarr-python and tensorstore write during the test are read by zarrscope, and the reverse.

They cover a clone that has no conformance archive beside it. Each maker writes one store and returns what is in it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from narrowing import as_array, as_group

zarr = pytest.importorskip("zarr")
ts = pytest.importorskip("tensorstore")
numcodecs = pytest.importorskip("numcodecs")

Arrays = Mapping[str, np.ndarray]
Maker = Callable[[Path], Arrays]
MAKERS: dict[str, Maker] = {}


def golden(name: str, make: Maker) -> None:
    assert name not in MAKERS, name
    MAKERS[name] = make


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zarr-python warns of each data type without a specification
        yield


# ------------------------------------------------------------------------------------------------- values
NUMBERS = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
SPECIALS = "<U5 |S5 |V6 <M8[s] <m8[ms]".split()
RECORD = np.dtype([("id", "<u2"), ("place", "<f4", (2,)), ("tag", "|S3")])
FLAT_RECORD = np.dtype([("id", "<u2"), ("weight", "<f8"), ("tag", "|S3")])


def values(dtype: Any, shape: tuple[int, ...] = (7, 5)) -> np.ndarray:
    """Different values that use the whole range of the type."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    rng = np.random.default_rng(20261121)
    if dtype.kind == "b":
        flat: Any = rng.random(count) < 0.5
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        flat = rng.integers(info.min, info.max, count, dtype=dtype.newbyteorder("="), endpoint=True)
    elif dtype.kind == "f":
        flat = rng.normal(0, 100, count)
        flat[: min(4, count)] = [np.nan, np.inf, -np.inf, -0.0][: min(4, count)]
    elif dtype.kind == "c":
        flat = rng.normal(0, 100, count) + 1j * rng.normal(0, 100, count)
    elif dtype.kind in "Mm":
        flat = rng.integers(-(10**9), 10**9, count).astype(dtype.str)
        flat[0] = np.array("NaT", dtype)
    elif dtype.kind == "U":
        flat = [f"ø{i}µ" for i in range(count)]
    elif dtype.kind == "S":
        flat = [f"s{i}".encode() for i in range(count)]
    elif dtype.kind == "V" and dtype.fields is None:
        return np.asarray(rng.integers(0, 256, (*shape, dtype.itemsize), dtype="u1").view(dtype)).reshape(shape)
    else:
        raw = rng.integers(65, 90, (count, dtype.itemsize), dtype="u1")
        return np.asarray(raw.view(dtype)).reshape(shape)
    return np.asarray(flat).astype(dtype).reshape(shape)


def texts(shape: tuple[int, ...] = (7, 5)) -> np.ndarray:
    flat = np.array([("Zellkern é漢字 " * (i % 4)) + str(i) for i in range(int(np.prod(shape)))], dtype=object)
    flat[0] = ""
    return flat.reshape(shape)


# ------------------------------------------------------------------------------------------------- zarr-python's stores
def zarr_python(data: Any, *, write: bool = True, **options: Any) -> Maker:
    """A store with one array "a", written by zarr-python; if it is not written, all values are the fill value."""

    def make(path: Path) -> Arrays:
        group = zarr.open_group(str(path), mode="w", zarr_format=options.get("zarr_format", 3))
        given = {"shape": data.shape, "dtype": data.dtype, "chunks": tuple(max(1, min(3, n)) for n in data.shape)}
        given |= {name: value for name, value in options.items() if name != "zarr_format"}
        array = group.create_array("a", **given)
        if write:
            array[...] = data
        return {"/a": data}

    return make


for _format in (2, 3):
    for _dtype in NUMBERS:
        golden(f"v{_format}-{_dtype}", zarr_python(values(_dtype), zarr_format=_format))
    for _dtype in SPECIALS:
        golden(f"v{_format}-{_dtype}", zarr_python(values(_dtype), zarr_format=_format))
    golden(f"v{_format}-structured", zarr_python(values(FLAT_RECORD), zarr_format=_format))
    golden(f"v{_format}-text", zarr_python(texts(), dtype=str, zarr_format=_format))
    golden(f"v{_format}-0-d", zarr_python(np.float32(2.5).reshape(()), chunks=(), zarr_format=_format))
    golden(f"v{_format}-zero-length", zarr_python(np.zeros((0, 4), "i4"), chunks=(2, 2), zarr_format=_format))
    golden(
        f"v{_format}-edge-chunks",
        zarr_python(values("i4", (11, 1, 7)), chunks=(4, 3, 5), zarr_format=_format),
    )
    for _fill, _dtype in ((np.nan, "f4"), (-np.inf, "f8"), (7, "u2"), (True, "?"), (1 - 2j, "c8"), (-(2**63), "i8")):
        golden(
            f"v{_format}-nothing-written-{_dtype}",
            zarr_python(np.full((5, 6), _fill, _dtype), write=False, fill_value=_fill, zarr_format=_format),
        )
golden("v2-big-endian", zarr_python(values(">i4"), zarr_format=2))
golden("v2-big-endian-times", zarr_python(values(">M8[us]"), zarr_format=2))
golden("v2-f-order", zarr_python(values("i2", (7, 5, 4)), order="F", zarr_format=2))
golden("v2-f-order-big-endian", zarr_python(values(">f8", (7, 5)), order="F", zarr_format=2))
golden(
    "v2-nested-keys",
    zarr_python(values("i2"), chunk_key_encoding={"name": "v2", "separator": "/"}, zarr_format=2),
)
golden("v2-uncompressed", zarr_python(values("i2"), compressors=None, zarr_format=2))
for _compressor in (
    {"id": "zlib", "level": 3},
    {"id": "gzip", "level": 3},
    {"id": "bz2", "level": 3},
    {"id": "lzma", "preset": 1},
    {"id": "lz4", "acceleration": 1},
    {"id": "zstd", "level": 3},
    {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1},
    {"id": "blosc", "cname": "zstd", "clevel": 5, "shuffle": 2},
):
    golden(
        f"v2-{_compressor['id']}-{_compressor.get('cname', '')}",
        zarr_python(values("u2", (40, 30)), chunks=(16, 16), compressors=_compressor, zarr_format=2),
    )
_smooth = np.round(np.cumsum(np.ones((40, 30), "f8"), axis=1) / 4, 1)
for _name, _filters, _data in (
    ("delta", [{"id": "delta", "dtype": "<i4"}], values("i4")),
    ("delta-narrow", [{"id": "delta", "dtype": "<i4", "astype": "<i2"}], np.arange(35, dtype="i4").reshape(7, 5)),
    ("shuffle", [{"id": "shuffle", "elementsize": 4}], values("i4")),
    (
        "fixedscaleoffset",
        [{"id": "fixedscaleoffset", "scale": 10, "offset": 0, "dtype": "<f8", "astype": "<i2"}],
        _smooth,
    ),
    ("quantize", [{"id": "quantize", "digits": 2, "dtype": "<f8"}], np.arange(35, dtype="f8").reshape(7, 5) / 4),
    ("bitround", [{"id": "bitround", "keepbits": 23}], values("f4")),
    ("packbits", [{"id": "packbits"}], values("?")),
    (
        "astype",
        [{"id": "astype", "encode_dtype": "<i4", "decode_dtype": "<i8"}],
        np.arange(35, dtype="i8").reshape(7, 5),
    ),
    ("crc32", [{"id": "crc32"}], values("i4")),
    ("adler32", [{"id": "adler32"}], values("i4")),
    ("fletcher32", [{"id": "fletcher32"}], values("i4")),
):
    golden(f"v2-filter-{_name}", zarr_python(_data, filters=[*map(numcodecs.get_codec, _filters)], zarr_format=2))


def _consolidated(zarr_format: int) -> Maker:
    def make(path: Path) -> Arrays:
        root = zarr.open_group(str(path), mode="w", zarr_format=zarr_format)
        root.attrs["of"] = "root"
        inner = root.create_group("cells/nuclei")
        inner.attrs["stain"] = "DAPI"
        data = values("u2", (9, 9))
        inner.create_array("image", shape=data.shape, dtype=data.dtype, chunks=(4, 4))[...] = data
        zarr.consolidate_metadata(str(path))
        return {"/cells/nuclei/image": data}

    return make


golden("v2-consolidated", _consolidated(2))
golden("v3-consolidated", _consolidated(3))
golden("v3-sharded", zarr_python(values("u2", (50, 40)), chunks=(8, 8), shards=(16, 24)))
golden(
    "v3-sharded-zstd-text",
    zarr_python(texts((20, 6)), dtype=str, chunks=(4, 3), shards=(8, 6)),
)


# ------------------------------------------------------------------------------------------------- tensorstore's stores
LITTLE: dict[str, Any] = {"name": "bytes", "configuration": {"endian": "little"}}
BIG: dict[str, Any] = {"name": "bytes", "configuration": {"endian": "big"}}
GZIP: dict[str, Any] = {"name": "gzip", "configuration": {"level": 1}}
ZSTD: dict[str, Any] = {"name": "zstd", "configuration": {"level": 1}}
CRC: dict[str, Any] = {"name": "crc32c"}
BLOSC: dict[str, Any] = {
    "name": "blosc",
    "configuration": {"cname": "zstd", "clevel": 3, "shuffle": "bitshuffle", "typesize": 2, "blocksize": 0},
}


def transpose(*order: int) -> dict[str, Any]:
    return {"name": "transpose", "configuration": {"order": list(order)}}


def sharding(inner: tuple[int, ...], *codecs: dict[str, Any], location: str = "end") -> dict[str, Any]:
    configuration = {
        "chunk_shape": list(inner),
        "codecs": list(codecs),
        "index_codecs": [LITTLE, CRC],
        "index_location": location,
    }
    return {"name": "sharding_indexed", "configuration": configuration}


def tensorstore_v3(
    data: np.ndarray, chunks: tuple[int, ...], codecs: list[dict[str, Any]], separator: str = "/", fill: Any = 0
) -> Maker:
    def make(path: Path) -> Arrays:
        metadata = {
            "shape": list(data.shape),
            "data_type": data.dtype.name,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunks)}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": separator}},
            "codecs": codecs,
            "fill_value": fill,
            "attributes": {"by": "tensorstore"},
            "dimension_names": [f"axis{i}" for i in range(data.ndim)],
        }
        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(path)}, "metadata": metadata}
        ts.open(spec, create=True).result().write(data).result()
        return {"/": data}

    return make


_cube = values("u2", (20, 18, 9))
_sheet = values("f4", (33, 21))
_zeros = np.zeros((32, 32), "u2")
_zeros[9, 9] = 1
for _name, _make in {
    "plain": tensorstore_v3(_sheet, (8, 8), [LITTLE], fill="NaN"),
    "dots": tensorstore_v3(_sheet, (8, 8), [LITTLE], separator="."),
    "big-endian-gzip": tensorstore_v3(_sheet, (8, 8), [BIG, GZIP]),
    "zstd-crc32c": tensorstore_v3(_sheet, (8, 8), [LITTLE, ZSTD, CRC]),
    "blosc": tensorstore_v3(_cube, (8, 8, 4), [LITTLE, BLOSC]),
    "transpose": tensorstore_v3(_cube, (8, 8, 4), [transpose(2, 0, 1), LITTLE]),
    "two-transposes": tensorstore_v3(_cube, (8, 8, 4), [transpose(2, 0, 1), transpose(1, 0, 2), LITTLE]),
    "sharded": tensorstore_v3(_cube, (16, 16, 8), [sharding((4, 8, 8), LITTLE, ZSTD)]),
    "sharded-index-first": tensorstore_v3(_cube, (16, 16, 8), [sharding((4, 8, 8), LITTLE, CRC, location="start")]),
    "sharded-nested": tensorstore_v3(_cube, (16, 16, 8), [sharding((8, 8, 8), sharding((4, 2, 8), LITTLE, GZIP))]),
    "sharded-holes": tensorstore_v3(_zeros, (16, 16), [sharding((4, 4), LITTLE, ZSTD)]),
    "transpose-before-sharding": tensorstore_v3(
        _cube, (16, 16, 8), [transpose(2, 0, 1), sharding((4, 8, 8), LITTLE, ZSTD)]
    ),
    "transpose-in-sharding": tensorstore_v3(
        _cube, (16, 16, 8), [sharding((4, 8, 8), transpose(2, 1, 0), LITTLE, ZSTD)]
    ),
    "0-d": tensorstore_v3(np.full((), 9, "i8"), (), [LITTLE]),
    **{
        f"type-{d}": tensorstore_v3(values(d), (3, 3), [LITTLE], fill=False if d == "bool" else 0)
        for d in NUMBERS
        if d[0] != "c"
    },
}.items():
    golden(f"tensorstore-{_name}", _make)


golden(
    "v3-gzip-after-sharding",
    zarr_python(
        _cube,
        chunks=(16, 16, 8),
        serializer=zarr.codecs.ShardingCodec(chunk_shape=(4, 8, 8), codecs=[zarr.codecs.BytesCodec()]),
        compressors=[zarr.codecs.GzipCodec(level=1)],
    ),
)


def _tensorstore_v2(path: Path) -> Arrays:
    data = values(">u2", (30, 20))
    metadata = {
        "shape": list(data.shape),
        "chunks": [8, 16],
        "dtype": ">u2",
        "compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1},
        "fill_value": None,
        "order": "F",
        "filters": None,
        "dimension_separator": "/",
    }
    spec = {"driver": "zarr", "kvstore": {"driver": "file", "path": str(path)}, "metadata": metadata}
    ts.open(spec, create=True).result().write(data.astype("u2")).result()
    return {"/": data}


golden("tensorstore-v2", _tensorstore_v2)


# ------------------------------------------------------------------------------------------------- we read them
def same(ours: Any, theirs: np.ndarray) -> None:
    """Equal in shape, kind and bits; NaN equals NaN, -0.0 differs from 0.0."""
    ours = np.asarray(ours)
    assert ours.shape == theirs.shape
    if theirs.dtype == object or ours.dtype == object:
        assert ours.tolist() == theirs.tolist()
        return
    assert ours.dtype.newbyteorder("=") == theirs.dtype.newbyteorder("=")
    native = theirs.astype(theirs.dtype.newbyteorder("="))
    assert ours.astype(ours.dtype.newbyteorder("=")).tobytes() == native.tobytes()


@pytest.mark.parametrize("name", MAKERS)
def test_we_read_what_others_write(name: str, tmp_path: Path) -> None:
    path = tmp_path / "golden.zarr"
    hierarchy = None
    for node, data in MAKERS[name](path).items():
        hierarchy = zarrscope.open(str(path))
        array = hierarchy[node]
        assert array.kind == "array"
        assert array.problem is None
        assert array.shape == data.shape
        same(array[...], data)
        if data.ndim == 2 and data.size:
            same(array[1:, ::2], data[1:, ::2])
            same(array[-1], data[-1])
    assert hierarchy is not None


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_consolidated_hierarchies_list_and_tell_attributes(zarr_format: int, tmp_path: Path) -> None:
    path = tmp_path / "golden.zarr"
    _consolidated(zarr_format)(path)
    hierarchy = zarrscope.open(str(path))
    assert hierarchy.dialect.name == f"v{zarr_format}"
    assert hierarchy["/"].attributes["of"] == "root"
    assert hierarchy["/cells/nuclei"].attributes["stain"] == "DAPI"
    assert [(child.name, child.kind) for child in as_group(hierarchy["/cells/nuclei"]).children()] == [
        ("image", "array")
    ]
    assert [child.name for child in as_group(hierarchy["/"]).children()] == ["cells"]


# ------------------------------------------------------------------------------------------------- others read ours
OURS: dict[str, tuple[np.ndarray, dict[str, Any]]] = {
    **{f"v3-{d}": (values(d), {"chunks": (3, 3)}) for d in NUMBERS},
    **{f"v2-{d}": (values(d), {"chunks": (3, 3), "dialect": "v2"}) for d in NUMBERS},
    "v2-dots": (_sheet, {"chunks": (8, 8), "dialect": "v2", "separator": "."}),
    "v2-slashes": (_sheet, {"chunks": (8, 8), "dialect": "v2", "separator": "/"}),
    "v3-gzip": (_sheet, {"chunks": (8, 8), "codecs": [LITTLE, GZIP]}),
    "v3-big-endian-zstd-crc32c": (_sheet, {"chunks": (8, 8), "codecs": [BIG, ZSTD, CRC]}),
    "v3-blosc": (_cube, {"chunks": (8, 8, 4), "codecs": [LITTLE, BLOSC]}),
    "v3-transpose": (_cube, {"chunks": (8, 8, 4), "codecs": [transpose(2, 0, 1), LITTLE]}),
    "v3-sharded": (_cube, {"chunks": (4, 8, 8), "shards": (16, 16, 8)}),
    "v3-sharded-nested": (
        _cube,
        {"chunks": (16, 16, 8), "codecs": [sharding((8, 8, 8), sharding((4, 2, 8), LITTLE, GZIP))]},
    ),
    "v3-sharded-index-first": (
        _cube,
        {"chunks": (16, 16, 8), "codecs": [sharding((4, 8, 8), LITTLE, CRC, location="start")]},
    ),
    "v3-sharded-holes": (_zeros, {"chunks": (4, 4), "shards": (16, 16)}),
    "v3-transpose-before-sharding": (
        _cube,
        {"chunks": (16, 16, 8), "codecs": [transpose(2, 0, 1), sharding((4, 8, 8), LITTLE, ZSTD)]},
    ),
    "v3-gzip-after-sharding": (_cube, {"chunks": (16, 16, 8), "codecs": [sharding((4, 8, 8), LITTLE), GZIP]}),
    "v3-0-d": (np.full((), 9, "i8"), {"chunks": ()}),
    "v3-zero-length": (np.zeros((0, 3), "i4"), {"chunks": (2, 2)}),
}


def _written(name: str, path: Path) -> tuple[np.ndarray, str]:
    data, options = OURS[name]
    options = dict(options)
    dialect = options.pop("dialect", "v3")
    hierarchy = zarrscope.open(str(path), mode="w-", dialect=dialect)
    fill = False if data.dtype.kind == "b" else 0
    array = hierarchy.create_array(
        "/a", shape=data.shape, dtype=data.dtype, fill_value=fill, attributes={"by": "us"}, **options
    )
    array[...] = data
    same(array[...], data)
    return data, dialect


@pytest.mark.parametrize("name", OURS)
def test_zarr_python_reads_what_we_write(name: str, tmp_path: Path) -> None:
    path = tmp_path / "ours.zarr"
    data, _ = _written(name, path)
    array = zarr.open_array(str(path / "a"), mode="r")
    assert dict(array.attrs) == {"by": "us"}
    same(array[...], data)


# tensorstore refuses bytes-to-bytes codecs after sharding_indexed
@pytest.mark.parametrize("name", [name for name in OURS if name != "v3-gzip-after-sharding"])
def test_tensorstore_reads_what_we_write(name: str, tmp_path: Path) -> None:
    path = tmp_path / "ours.zarr"
    data, dialect = _written(name, path)
    driver = {"v2": "zarr", "v3": "zarr3"}[dialect]
    spec = {"driver": driver, "kvstore": {"driver": "file", "path": str(path / "a")}}
    same(ts.open(spec, open=True).result().read().result(), data)


def test_zarr_python_reads_our_texts(tmp_path: Path) -> None:
    path = tmp_path / "ours.zarr"
    data = texts()
    array = zarrscope.open(str(path), mode="w-").create_array(
        "/a", shape=data.shape, dtype="string", chunks=(3, 3), fill_value=""
    )
    array[...] = data
    assert np.asarray(zarr.open_array(str(path / "a"), mode="r")[...]).tolist() == data.tolist()


def test_an_array_that_zarr_python_made_is_written_in_place(tmp_path: Path) -> None:
    """Parts of a chunk and of a shard change; all other values stay."""
    path = tmp_path / "theirs.zarr"
    data = MAKERS["v3-sharded"](path)["/a"].copy()
    array = as_array(zarrscope.open(str(path), mode="r+")["/a"])
    array[5:19, 3:31:2] = 7
    data[5:19, 3:31:2] = 7
    same(array[...], data)
    same(zarr.open_array(str(path / "a"), mode="r")[...], data)
