"""One table of arrays, made from the registered schemas, that zarrscope writes and others read, and the reverse.

`settings` gives each codec that can be written with every setting that its schema tells apart: each value of an
enumeration, the ends and the default of a range, both of a flag. `types` are data types with fill values, `layouts`
grids, chunk keys and nested shards. `written` stores them as one hierarchy; `done_by` has other implementations read it
all, and write each array anew, in place, for zarrscope to read.

Exceptions are listed in EXCEPTIONS with their reasons, and each must be one: what reads after all fails the test.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import zarrscope
from contracts.codec import EXAMPLES, LITTLE, objects, same
from narrowing import not_none
from zarrscope.codecs import CODECS
from zarrscope.errors import ZarrscopeError
from zarrscope.model.codec_table import CODECS as SCHEMAS

Named = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Case:
    """One array: its unique name, and the arguments of `create_array`."""

    name: str
    values: Any
    options: dict[str, Any]
    about: str = ""
    """The codec, or another subject, that the case tests."""


def _varied(schema: Any) -> Iterator[Any]:
    """Several values for a member, so that its settings can be distinguished."""
    if "enum" in schema:
        yield from schema["enum"]
    elif schema.get("type") == "boolean":
        yield from (False, True)
    elif schema.get("type") == "integer" and "minimum" in schema:
        low, high = schema["minimum"], schema.get("maximum", schema["minimum"] + 3)
        yield from {low: 0, high: 0, schema.get("default", low): 0, min(high, low + 1): 0}


BASE: dict[str, dict[str, Any]] = {
    "blosc": {"cname": "zstd", "clevel": 5, "shuffle": "shuffle", "typesize": 2, "blocksize": 0},
    "numcodecs.blosc": {"cname": "zstd", "clevel": 5, "shuffle": 1, "blocksize": 0},
}
VALUES: dict[tuple[str, str], list[Any]] = {
    # the lowest levels only change speed, and the whole range of integers would take too long
    ("zstd", "level"): [-131072, -7, 0, 1, 3, 19, 22],
    ("blosc", "typesize"): [1, 2, 4, 8, 255],
    ("blosc", "blocksize"): [0, 128, 4096],
    ("numcodecs.blosc", "blocksize"): [0, 128, 4096],
    ("numcodecs.blosc", "typesize"): [],
    ("numcodecs.blosc", "shuffle"): [0, 1, 2],  # −1 is v2's word for "by the size of the elements"
    ("numcodecs.lzma", "format"): [1, 2],  # 3 wants filters: among the examples
    ("numcodecs.lzma", "check"): [],
    ("numcodecs.lzma", "preset"): [0, 6, 9],
    ("numcodecs.shuffle", "elementsize"): [1, 2, 4, 8],
    ("numcodecs.lz4", "acceleration"): [1, 7],
    ("numcodecs.bitround", "keepbits"): [0, 3, 23, 52],
    ("bitround", "keepbits"): [0, 3, 23],
    ("numcodecs.quantize", "digits"): [0, 2, 10],
    ("numcodecs.zfpy", "mode"): [],
    ("zfp", "mode"): [],
    ("zfp", "precision"): [],
    ("zfp", "minbits"): [],
    ("zfp", "maxbits"): [],
    ("zfp", "maxprec"): [],
    ("zfp", "minexp"): [],
    ("packbits", "start_bit"): [],
    ("packbits", "end_bit"): [],
    ("numcodecs.json2", "encoding"): ["utf-8"],
    **{("numcodecs.json2", m): [] for m in not_none(SCHEMAS["numcodecs.json2"].members) if m != "encoding"},
    **{("numcodecs.pcodec", m): [] for m in not_none(SCHEMAS["numcodecs.pcodec"].members) if m != "level"},
}
"""The values to try of a member whose schema leaves too much open, or that only examples can set."""


def tiled(values: Any) -> Any:
    """The values and half of them again along each axis: chunks at the edges are cut."""
    if values.dtype.kind == "O" or not values.shape:
        return values
    return np.pad(values, [(0, n // 2) for n in values.shape], mode="wrap") if values.dtype.names is None else values


@cache
def settings() -> tuple[Case, ...]:
    """Every codec that zarrscope writes, with each setting varied separately."""
    cases: dict[str, Case] = {}
    for name, row in CODECS.items():
        if not row.writes or not row.installed:
            continue
        tried: list[tuple[list[Named], Any, Any]] = [(e.codecs, e.dtype, e.elements) for e in EXAMPLES[name]]
        codecs, dtype, elements = tried[0]
        at = next(i for i, (each, _) in enumerate(codecs) if each == name)
        before, after = codecs[:at], [] if row.kind == "bytes→bytes" else codecs[at + 1 :]
        base = BASE.get(name, codecs[at][1])
        for member, schema in not_none(SCHEMAS[name].members).items():
            for value in VALUES.get((name, member), list(_varied(schema))):
                tried.append(([*before, (name, {**base, member: value}), *after], dtype, elements))
        if name not in ("bytes", "sharding_indexed", "reshape", "transpose"):
            tried.append(([*before, (name, dict(base)), *after], dtype, elements))
        for codecs, dtype, elements in tried:
            form = [{"name": each, "configuration": dict(configuration)} for each, configuration in codecs]
            text = json.dumps([form, str(dtype), str(elements.shape)], sort_keys=True, default=str)
            if text not in cases:
                cases[text] = Case(
                    f"{name}-{sum(c.about == name for c in cases.values())}",
                    tiled(elements),
                    {"chunks": elements.shape, "dtype": dtype, "codecs": form},
                    name,
                )
    return tuple(cases.values())


FILLS: dict[str, list[Any]] = {
    "?": [False, True],
    **{f"{sign}{size}": [0, 7, -1 if sign == "i" else 255] for sign in "iu" for size in (1, 2, 4, 8)},
    "f2": [0.0, -0.0, 1.5, np.nan, np.inf],
    "f4": [0.0, -0.0, 0.1, np.nan, -np.inf],
    "f8": [0.0, -0.0, 1e300, 5e-324, np.nan, np.inf, -np.inf],
    "c8": [0, 1 + 2j, complex(np.nan, -0.0)],
    "c16": [0, 1 - 2j, complex(np.inf, np.nan)],
    "M8[s]": [np.datetime64(0, "s"), np.datetime64("NaT", "s")],
    "M8[ns]": [np.datetime64("2020-01-02", "ns")],
    "m8[ms]": [np.timedelta64(5, "ms"), np.timedelta64("NaT", "ms")],
    "U4": ["", "ä日"],
    "S3": [b"", b"ab"],
    "V3": [b"\0\0\0", b"\x01\x02\xff"],
    "string": ["", "grün"],
    "variable_length_bytes": [b"", b"\x00\xff"],
    "struct": [(0, 0.0), (-3, np.inf)],
    "bfloat16": [0],
}
STRUCT = np.dtype([("a", "<i2"), ("b", "<f4")])


def _values_of(dtype: str) -> Any:
    if dtype == "string":
        return objects("", "a", "grün", "日本語", "x" * 300, "b")
    if dtype == "variable_length_bytes":
        return objects(b"", b"a", b"\0\xff", b"x" * 300, b"b", b"c")
    if dtype == "struct":
        return np.array([(i, i / 2) for i in range(6)], STRUCT)
    if dtype == "?":
        return np.arange(6) % 2 == 0
    if dtype == "U4":
        return np.array(["", "a", "日本", "b", "grün", "z"], "U4")
    if dtype[0] in "SV":
        return np.frombuffer(bytes(range(18)), dtype)
    if dtype == "bfloat16":
        import ml_dtypes

        return np.arange(6).astype(ml_dtypes.bfloat16)
    return np.arange(6).astype(dtype)


@cache
def types() -> tuple[Case, ...]:
    """Data types with fill values: three chunks, of which the second is not stored."""
    return tuple(
        Case(
            f"{dtype.strip('?[]').replace('[', '-') or 'bool'}-{i}",
            _values_of(dtype),
            {"chunks": (4,), "dtype": STRUCT if dtype == "struct" else dtype, "fill_value": fill},
            dtype,
        )
        for dtype, fills in FILLS.items()
        for i, fill in enumerate(fills)
    )


def _shard(shape: list[int], codecs: list[Any], index: list[Any] | None = None, place: str = "end") -> dict[str, Any]:
    plain = {"name": "bytes", "configuration": {"endian": "little"}}
    return {
        "name": "sharding_indexed",
        "configuration": {
            "chunk_shape": shape,
            "codecs": codecs,
            "index_codecs": index or [plain, {"name": "crc32c"}],
            "index_location": place,
        },
    }


@cache
def layouts() -> tuple[Case, ...]:
    """Grids, key encodings and shards within shards."""
    values = np.arange(7 * 10, dtype="u2").reshape(7, 10)
    plain = {"name": LITTLE[0], "configuration": LITTLE[1]}
    big = {"name": "bytes", "configuration": {"endian": "big"}}
    zstd, gzip = {"name": "zstd"}, {"name": "gzip"}
    turned = {"name": "transpose", "configuration": {"order": [1, 0]}}
    made: dict[str, dict[str, Any]] = {
        "scalar": {"chunks": (), "codecs": [plain]},
        "one-chunk": {"chunks": (7, 10)},
        "larger-than-the-array": {"chunks": (8, 16)},
        "single-elements": {"chunks": (1, 1), "codecs": [plain]},
        "period": {"chunks": (3, 4), "separator": "."},
        "slash": {"chunks": (3, 4), "separator": "/"},
        "named": {"chunks": (3, 4), "dimension_names": ["y", None]},
        "turned": {"chunks": (3, 4), "codecs": [turned, plain, zstd]},
        "shards": {"chunks": (2, 5), "shards": (4, 10)},
        "shards-of-one": {"chunks": (4, 5), "shards": (4, 5)},
        "index-first": {"chunks": (4, 10), "codecs": [_shard([2, 5], [plain, gzip], place="start")]},
        "plain-index": {"chunks": (4, 10), "codecs": [_shard([2, 5], [big], [plain])]},
        "big-index": {"chunks": (4, 10), "codecs": [_shard([2, 5], [plain], [big, {"name": "crc32c"}])]},
        "turned-shards": {"chunks": (4, 10), "codecs": [turned, _shard([5, 2], [plain, zstd])]},
        "turned-within": {"chunks": (4, 10), "codecs": [_shard([2, 5], [turned, plain, zstd])]},
        "shards-within": {"chunks": (8, 10), "codecs": [_shard([4, 10], [_shard([2, 5], [plain, zstd])])]},
        "checked-within": {"chunks": (4, 10), "codecs": [_shard([2, 5], [plain, gzip, {"name": "crc32c"}])]},
        "compressed-shards": {"chunks": (4, 10), "codecs": [_shard([2, 5], [plain]), gzip]},
    }
    return tuple(
        Case(name, values[3, 4] if name == "scalar" else values, {"dtype": "u2", **options}, name)
        for name, options in made.items()
    )


def written(place: Path, dialect: str, cases: tuple[Case, ...]) -> dict[str, Case]:
    """Writes the cases that the dialect can express into `place`, named after them."""
    hierarchy = zarrscope.open(place, "a", dialect=dialect)
    done = {}
    for case in cases:
        options = case.options
        try:
            array = hierarchy.create_array(case.name, shape=np.shape(case.values), **options)
        except ZarrscopeError as error:
            if error.__class__.__name__ not in ("Unsupported",):
                raise
            continue
        if np.shape(case.values) == (6,) and case.about in FILLS:
            array[:2] = case.values[:2]  # the other elements read as the fill value
        else:
            array[...] = case.values
        done[case.name] = case
    return done


# ------------------------------------------------------------------------------------------------- others
_CHILD = """
import base64, json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
jobs = json.load(sys.stdin)
def item(x):
    if isinstance(x, (bytes, bytearray)):
        return ["bytes", base64.b64encode(x).decode()]
    x = x.tolist() if hasattr(x, "tolist") else x
    try:
        json.dumps(x)
        return ["json", x]
    except (TypeError, ValueError):
        return ["text", repr(x)]
def plain(a):
    a = np.asarray(a)
    if a.dtype.kind in "OT":
        return ["O", list(a.shape), [item(x) for x in a.reshape(-1)]]
    kind = a.dtype if a.dtype.names or a.dtype.kind not in "iufcmMU" else a.dtype.newbyteorder("<")
    a = np.array(a.astype(kind), order="C")
    return [a.dtype.descr if a.dtype.names else a.dtype.str, list(a.shape), base64.b64encode(a.tobytes()).decode()]
def opened(name):
    if driver == "tensorstore2" or driver == "tensorstore3":
        import tensorstore
        kvstore = {"driver": "file", "path": place + "/" + name}
        spec = {"driver": "zarr" if driver[-1] == "2" else "zarr3", "kvstore": kvstore}
        return tensorstore.open(spec, open=True).result()
    import zarr
    return zarr.open_array(place + "/" + name, mode="r" if act == "look" else "r+")
def values(array):
    return np.asarray(array.read().result()) if driver.startswith("tensorstore") else array[...]
found = []
for place, act, driver, name in [(*job, name) for *job, names in jobs for name in names]:
    try:
        array = opened(name)
        if act == "rewrite":
            turned = np.asarray(values(array))
            turned = np.array(turned[::-1] if turned.ndim else turned, order="C")
            if driver.startswith("tensorstore"):
                array.write(turned).result()
            else:
                array[...] = turned
            array = opened(name)
        found.append(plain(values(array)))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        found.append(f"{type(error).__name__}: {str(error)[:300]}")
print(json.dumps(found, default=str))
"""


def _unpacked(told: Any) -> Any:
    kind, shape, data = told
    if kind == "O":
        flat = np.empty(len(data), object)
        for i, (name, item) in enumerate(data):
            flat[i] = base64.b64decode(item) if name == "bytes" else item
        return flat.reshape(shape)
    dtype = np.dtype([tuple(field) for field in kind] if isinstance(kind, list) else kind)
    raw = base64.b64decode(data)
    return np.frombuffer(raw, dtype).reshape(shape) if dtype.itemsize else np.zeros(shape, dtype)


@dataclass(frozen=True)
class Job:
    """Work on arrays for another implementation: "look" returns their values, "rewrite" writes each array reversed
    along its first axis and returns what it then reads."""

    place: Path
    act: str
    driver: str
    """ "zarr", "tensorstore2", "tensorstore3"."""
    names: tuple[str, ...]


def done_by(python: Path, jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """For each job, the values of each array or the text of its error. One process does all jobs, because importing
    these libraries takes longer than most of the work."""
    done = subprocess.run(
        [str(python), "-c", _CHILD],
        input=json.dumps([[str(job.place), job.act, job.driver, job.names] for job in jobs]),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONPATH": ""},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = iter(json.loads(done.stdout.splitlines()[-1]))

    def unpacked(told: Any) -> Any:
        return told if isinstance(told, str) else _unpacked(told)

    return [{name: unpacked(next(found)) for name in job.names} for job in jobs]


# ------------------------------------------------------------------------------------------------- exceptions
_REGISTERED = "it has no such codec (zarr-extensions)"
_N5 = "N5's blocks: no other reader of v3 has them under that name"
_NUMCODECS = "it has no codecs of numcodecs"
_RARE = "its table of numcodecs' codecs lacks it"
_EXTENSIONS = {
    **dict.fromkeys(("reshape", "bitround", "scale_offset", "cast_value", "packbits", "zfp"), _REGISTERED),
    **dict.fromkeys(("n5_block", "n5_default"), _N5),
    **dict.fromkeys(("numcodecs.categorize", "numcodecs.base64"), _RARE),
}
_TYPES_30 = "zarr-python 3.0 has the core types of v3 only"
_TYPES_TS = "tensorstore has no such data type"
_OBJECTS = dict.fromkeys(
    ("numcodecs.vlen-array", "numcodecs.json2", "numcodecs.msgpack2", "numcodecs.categorize"),
    "zarr-python 3 has of objects in v2 only text and bytes",
)
_FILTERS = "tensorstore has no filters in v2"
_PCODEC = "its pcodec takes no arrays of bytes, which zarr-python 3.0 gives it in v2"
_TURNED = "it wants the chunks within shards to divide the shard as it is before it is turned"
_BYTES_FILL = "it takes the fill value of bytes for text"
_ZARR = tuple(map(int, version("zarr").split(".")[:2])) if find_spec("zarr") is not None else (0, 0)
_SINCE_3_2 = {
    "scale_offset": _REGISTERED,
    "type struct": 'to 3.1 it knows only "structured", which the registry says not to write any more',
}
LACKING: dict[tuple[str, str], dict[str, str]] = {
    ("v3", "zarr-python 3.0"): {
        **_EXTENSIONS,
        "numcodecs.zfpy": "numcodecs 0.15 does not start beside today's zfpy",
        **dict.fromkeys(
            (
                "type numpy.datetime64",
                "type numpy.timedelta64",
                "type raw_bytes",
                "type null_terminated_bytes",
                "type fixed_length_utf32",
            ),
            _TYPES_30,
        ),
        **dict.fromkeys(("type struct", "type bfloat16"), _TYPES_30),
    },
    ("v3", "zarr-python 3"): {
        **{name: why for name, why in _EXTENSIONS.items() if name not in _SINCE_3_2},
        **(_SINCE_3_2 if _ZARR < (3, 2) else {"cast_value": "it wants a package of its own, cast-value-rs"}),
        "type bfloat16": "zarr-python has no such data type",
    },
    ("v3", "tensorstore"): {
        **_EXTENSIONS,
        **{name: _NUMCODECS for name in SCHEMAS if name.startswith("numcodecs.")},
        **dict.fromkeys(
            (
                "type numpy.datetime64",
                "type numpy.timedelta64",
                "type null_terminated_bytes",
                "type fixed_length_utf32",
            ),
            _TYPES_TS,
        ),
        "type raw_bytes": "tensorstore gives numpy elements of no size",
        **dict.fromkeys(("type string", "type bytes", "type struct"), _TYPES_TS),
    },
    ("v2", "zarr-python 2.18"): {
        "numcodecs.zfpy": "zfpy is not there: numcodecs 0.15 does not start beside today's",
        "type bfloat16": "only tensorstore has it in v2",
    },
    ("v2", "zarr-python 3.0"): {
        "numcodecs.zfpy": "zfpy is not there: numcodecs 0.15 does not start beside today's",
        "numcodecs.pcodec": _PCODEC,
        "numcodecs.bitround": "zarr-python 3.0 gives numcodecs' bitround bytes where it wants floats",
        "type struct": "zarr-python 3.0 does not take a field of v2 that is a list",
        "type complex64": "zarr-python 3.0 does not take v2's pair of numbers for a fill value",
        "type complex128": "zarr-python 3.0 does not take v2's pair of numbers for a fill value",
        "type bfloat16": "only tensorstore has it in v2",
    },
    ("v2", "zarr-python 3"): {**_OBJECTS, "type bfloat16": "only tensorstore has it in v2"},
    ("v2", "tensorstore"): {
        **{
            name: _FILTERS if row.kind == "array→array" else _NUMCODECS
            for name, row in SCHEMAS.items()
            if name.startswith("numcodecs.") and name not in ("numcodecs.zlib", "numcodecs.bz2", "numcodecs.blosc")
        },
        "crc32c": _NUMCODECS,
        **dict.fromkeys(
            ("type numpy.datetime64", "type numpy.timedelta64", "type fixed_length_utf32", "type string", "type bytes"),
            _TYPES_TS,
        ),
        **dict.fromkeys(
            ("type raw_bytes", "type null_terminated_bytes"), "tensorstore gives numpy elements of no size"
        ),
        "type struct": "tensorstore reads one field at a time",
    },
}
"""(dialect, reader) → codecs and data types that the reader does not support, with the reason: arrays with one of them
are skipped."""
_DELTA_OF_3_3 = (
    {"numcodecs.delta-1": "from 3.3 on it hands numcodecs native elements, which takes their bytes for big-endian ones"}
    if _ZARR >= (3, 3)
    else {}
)
"""The registered text knows the dtype as a name ("uint8"), and leaves the byte order to the codec `bytes`. Where a
configuration names an order, zarr-python before 3.3 reads it right if `bytes` has the same one, later ones if the
machine has it: there is no spelling that both read with big-endian `bytes`."""
SINGLE: dict[tuple[str, str], dict[str, str]] = {
    ("v3", "zarr-python 3.0"): {
        "sharding_indexed-2": "zarr-python 3.0 does not read shards within shards",
        "turned-shards": _TURNED,
        "variable_length_bytes-1": "zarr-python 3.0 takes the fill value of bytes for text",
        **{
            f"numcodecs.shuffle-{i}": "numcodecs 0.15 puts the size of the elements in the place of elementsize"
            for i in (1, 2, 3, 4)
        },
    },
    ("v3", "zarr-python 3"): {"turned-shards": _TURNED, **_DELTA_OF_3_3},
    ("v3", "tensorstore"): dict.fromkeys(
        ("sharding_indexed-3", "compressed-shards"), "tensorstore takes no codec after sharding_indexed"
    ),
    ("v2", "zarr-python 2.18"): {
        **dict.fromkeys(("c8-2", "c16-2"), "it makes a complex fill value by arithmetic, which NaN does not survive"),
        **dict.fromkeys(("variable_length_bytes-0", "variable_length_bytes-1"), _BYTES_FILL),
    },
    ("v2", "zarr-python 3.0"): {
        **dict.fromkeys(("f2-1", "f4-1", "f8-1"), "it takes −0.0 for 0.0 in chunks that are not stored"),
        **dict.fromkeys(("variable_length_bytes-0", "variable_length_bytes-1"), _BYTES_FILL),
        "turned": "zarr-python 3.0.0 does not turn axes of v2 back where chunks are compressed",
    },
    ("v2", "zarr-python 3"): {"bytes-34": "zarr-python 3 has no fields that are arrays"},
    ("v2", "tensorstore"): {
        "zstd-2": "tensorstore knows no checksum of zstd in v2",
        "zstd-11": "tensorstore knows no checksum of zstd in v2",
    },
}
"""(dialect, reader) → names of single cases that the reader does not read, with the reason."""
_UNSIGNED = "numcodecs takes the offset from unsigned numbers, which numpy 2 does not let it"
_ISNAN = "zarr-python 3.0 asks of raw bytes whether they are NaN"
UNWRITTEN_BY: dict[tuple[str, str], dict[str, str]] = {
    ("v2", "zarr-python 2.18"): {"numcodecs.fixedscaleoffset-0": _UNSIGNED},
    ("v2", "zarr-python 3.0"): {"numcodecs.fixedscaleoffset-0": _UNSIGNED, "type raw_bytes": _ISNAN},
    ("v2", "zarr-python 3"): {
        "numcodecs.fixedscaleoffset-0": _UNSIGNED,
        "numcodecs.zfpy-0": "numcodecs 0.16 cannot write zfp in the mode of its configuration",
    },
    ("v3", "zarr-python 3.0"): {
        "numcodecs.fixedscaleoffset-0": _UNSIGNED,
        "sharding_indexed-3": "zarr-python 3.0 does not change a part of a shard that is compressed as a whole",
    },
    ("v3", "zarr-python 3"): {
        "numcodecs.fixedscaleoffset-0": _UNSIGNED,
        "numcodecs.zfpy-0": "numcodecs 0.16 cannot write zfp in the mode of its configuration",
    },
}
"""(dialect, reader) → codecs, data types and names of cases that the reader reads but does not write, with the
reason."""


def ingredients(case: Case) -> set[str]:
    """The codecs and the data type of a case, by their canonical names."""
    from zarrscope.model.typestr import from_numpy

    def names(codecs: Any) -> Iterator[str]:
        for each in codecs or ():
            yield each["name"]
            for member in ("codecs", "index_codecs"):
                yield from names(each.get("configuration", {}).get(member))

    return {*names(case.options.get("codecs")), f"type {from_numpy(case.options['dtype']).name}"}


def exempt(dialect: str, reader: str, case: Case, *, writing: bool = False) -> str | None:
    """The reason why this reader need not read the case (with `writing`, write it); None if it must."""
    lacking = LACKING.get((dialect, reader), {})
    if writing:
        lacking = {**lacking, **UNWRITTEN_BY.get((dialect, reader), {})}
    told = [lacking[name] for name in sorted({*ingredients(case), case.name}) if name in lacking]
    return told[0] if told else SINGLE.get((dialect, reader), {}).get(case.name)


def unwritten(dialect: str, case: Case) -> str | None:
    """The reason why zarrscope cannot express a case in a dialect, or a library has no encoder for it."""
    names = ingredients(case)
    if '"snappy"' in json.dumps(case.options.get("codecs")):
        return "the blosc library has no snappy"
    if dialect == "v2":
        if case.options.get("shards") or names & {"sharding_indexed", "n5_block", "n5_default"}:
            return "v2 has neither shards nor blocks"
        if names & {"reshape", "bitround", "scale_offset", "cast_value", "packbits", "zfp"}:
            return "numcodecs has no codec of that name"
        if "transpose" in names and case.about == "transpose":
            return "v2 turns all axes or none"
        return None
    if case.name == "bytes-34":
        return "v3 has no fields that are arrays"
    return "v3 has no data type for objects" if "type object" in names else None


def alike(ours: Any, theirs: Any) -> bool:
    """Whether two results are equal, whatever types represent text and bytes."""
    ours = np.asarray(ours)
    if ours.dtype.kind == "O" or theirs.dtype.kind == "O":
        return ours.shape == theirs.shape and all(
            np.array_equal(x, y) if not isinstance(y, str) else y in (x, repr(x))
            for x, y in zip(ours.reshape(-1), theirs.reshape(-1), strict=True)
        )
    if ours.dtype.names is None and theirs.dtype != ours.dtype.newbyteorder("="):
        if ours.dtype.itemsize != theirs.dtype.itemsize:
            return False
        theirs = theirs.view(ours.dtype)
    return same(np.asarray(ours), theirs.astype(ours.dtype))
