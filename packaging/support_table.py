"""The README's tables of what is supported: dialects, codecs, data types, extension points; made from the registries.

What reads and writes is tried or asked of the code. Who else proves it is data here: a row's tests, which must exist
(tests/core/test_support_table.py), and the implementations that read or wrote the same bytes in them.
"""

from __future__ import annotations

from typing import Any

import zarrscope
from zarrscope.codecs import CODECS
from zarrscope.dialects import DIALECTS
from zarrscope.dtype import DATA_TYPES, data_type
from zarrscope.stores.memory import MemoryStore

CASES = "test_conformance"
DIALECT_PROOFS: dict[str, tuple[str, tuple[str, ...]]] = {
    "v3": ("zarr-python 3, tensorstore", ("test_golden", CASES)),
    "v2": (
        "zarr-python 3, tensorstore, zarr-python 2.18",
        ("test_golden", "test_convert_readers", "test_operations_readers", CASES),
    ),
    "n5": ("tensorstore, zarr-python 2.18", ("test_convert_readers", "test_operations_readers", CASES)),
    "draft-2020": ("zarr-python 2.18", ("test_convert_readers", "test_operations_readers", CASES)),
    "draft-2022-05": ("the text's examples", ("test_seed_examples", CASES)),
    "draft-2019-06": ("the text's examples", ("test_seed_examples", CASES)),
    "draft-2019-05": ("the text's examples", ("test_seed_examples", CASES)),
    "v1": ("the text", ("test_dialect_contract",)),
}
"""Dialect → who else read or wrote it, and the tests where. The conformance archive has stores of strangers besides."""

WRITERS = {
    "v3": "today's: zarr-python 3, tensorstore, zarrs, …",
    "v2": "zarr-python 2 and many others; most of the data there is",
    "v1": "zarr-python 1, 2016",
    "n5": "Fiji, BigDataViewer, z5",
    "draft-2020": "zarr-python 2.12 to 2.18, GDAL, xtensor-zarr",
}

CODEC_FAMILIES: tuple[tuple[str, str, tuple[str, ...], str, tuple[str, ...]], ...] = (
    (
        "core",
        "bytes transpose gzip zstd blosc crc32c sharding_indexed",
        ("test_codecs_contract", "test_codecs", "test_golden"),
        "zarr-python 3, tensorstore",
        (),
    ),
    (
        "zarr-extensions",
        "vlen-utf8 vlen-bytes packbits bitround scale_offset cast_value reshape zfp n5_default",
        ("test_codecs_contract", CASES),
        "writers of the archive",
        (),
    ),
    ("N5", "n5_block n5.lz4", ("test_codecs", "test_convert_readers", CASES), "tensorstore, Java", ()),
    ("numcodecs", "numcodecs.", ("test_codecs_contract", "test_codecs"), "numcodecs", ("numcodecs.pickle",)),
    ("imagecodecs", "imagecodecs_", ("test_codecs",), "imagecodecs, where installed", ()),
)
"""Family, its codecs (names, or one prefix), tests, who else, and what is never decoded."""

TYPE_FAMILIES: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("numbers", tuple(name for name in DATA_TYPES if DATA_TYPES[name] is DATA_TYPES["int8"])),
    ("raw", ("r16", {"name": "raw_bytes", "configuration": {"length_bytes": 3}})),
    ("text and bytes of any length", ("string", "bytes", "variable_length_bytes")),
    (
        "text and bytes of fixed length",
        tuple(
            {"name": name, "configuration": {"length_bytes": 8}}
            for name in ("fixed_length_utf32", "null_terminated_bytes")
        ),
    ),
    (
        "times",
        tuple(
            {"name": f"numpy.{name}64", "configuration": {"unit": "us", "scale_factor": 10}}
            for name in ("datetime", "timedelta")
        ),
    ),
    (
        "records",
        (
            {"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": "int16"}]}},
            {"name": "structured", "configuration": {"fields": [["a", "int16"]]}},
        ),
    ),
    ("small numbers", tuple(name for name in DATA_TYPES if DATA_TYPES[name] is DATA_TYPES["bfloat16"])),
    ("pairs of numbers", tuple(name for name in DATA_TYPES if DATA_TYPES[name] is DATA_TYPES["complex_bfloat16"])),
)

POINTS: tuple[tuple[str, str, str, str, tuple[str, ...]], ...] = (
    ("data type", "the table above; `fallback` of the drafts", "yes", "data_types", ("test_dtype_fill",)),
    ("codec", "the table above", "yes", "codecs", ("test_codecs_contract",)),
    ("chunk grid", "`regular`, `rectilinear`", "yes; new arrays are regular", "chunk_grids", ("test_dialect_vectors",)),
    ("chunk key encoding", "`default`, `v2`", "yes", "chunk_key_encodings", ("test_dialect_vectors",)),
    ("memory layout (drafts)", "`C`, `F`", "yes", "memory_layouts", ("test_dialect_vectors",)),
    ("metadata encoding (drafts)", "JSON", "yes", "metadata_encodings", ("test_dialect_vectors",)),
    (
        "storage transformer (drafts)",
        "`sharding` of 2022, also stacked",
        "`sharding`",
        "storage_transformers",
        ("test_storage_transformers",),
    ),
    (
        "`extensions` (ZEP 9)",
        "`array-statistics`; others by `must_understand`",
        "kept",
        "extensions",
        ("test_extensions_above",),
    ),
    ("dialect", "the table above", "yes", "dialects", ("test_plugins",)),
)
"""Point, what is read, what is written, the entry points that open it (zarrscope.<group>), tests."""


def dialects() -> str:
    rows = [
        "| dialect | id | read | write | who wrote it | proved by |",
        "|---|---|---|---|---|---|",
    ]
    for dialect in DIALECTS:
        wrote = WRITERS.get(dialect.name, "implementations of the draft, if any")
        who, tests = DIALECT_PROOFS[dialect.name]
        writes = "yes" if _dialect_writes(dialect.name) else "no"
        rows.append(f"| {dialect.title} | `{dialect.name}` | yes | {writes} | {wrote} | {_proof(who, tests)} |")
    return "\n".join(rows)


def codecs() -> str:
    rows = ["| family | codecs | read | write | proved by |", "|---|---|---|---|---|"]
    left = set(CODECS)
    for family, names, tests, who, never in CODEC_FAMILIES:
        members = [name for name in CODECS if name in left and _in_family(name, names) and name not in never]
        left -= {*members, *never}
        shown = ", ".join(f"`{name.removeprefix('numcodecs.')}`" for name in sorted(members)) or f"`{names}…`"
        if family == "numcodecs":
            shown = "`numcodecs.…`: " + shown
        unwritten = [name for name in members if not CODECS[name].writes]
        writes = "all" if members and not unwritten else "no" if not members or unwritten == members else ""
        writes = writes or "all but " + ", ".join(f"`{name.removeprefix('numcodecs.')}`" for name in unwritten)
        reads = "all" if all(CODECS[name].reads for name in members) else "some"
        rows.append(f"| {family} | {shown} | {reads} | {writes} | {_proof(who, tests)} |")
    assert not left, f"codecs of no family: {sorted(left)}"
    return "\n".join(rows)


def data_types() -> str:
    rows = ["| family | data types | read | write |", "|---|---|---|---|"]
    named = set()
    for family, types in TYPE_FAMILIES:
        names = [value if isinstance(value, str) else value["name"] for value in types]
        named |= {*names}
        named_only = [name for name in dict.fromkeys(names) if data_type(types[names.index(name)]).numpy is None]
        known = [(n, v) for n, v in zip(names, types, strict=True) if n not in named_only]
        unwritten = [name for name, value in known if not type_round_trips(value)]
        for some, reads, writes in (
            ([n for n, _ in known if n not in unwritten], "yes", "yes"),
            (unwritten, "yes", "no"),
            (named_only, "named only", "no"),
        ):
            if some:
                shown = ", ".join(f"`{name}`" for name in ("r<bits>" if n == "r16" else n for n in some))
                rows.append(f"| {family} | {shown} | {reads} | {writes} |")
    missing = set(DATA_TYPES) - named
    assert not missing, f"data types of no family: {sorted(missing)}"
    return "\n".join(rows)


def extension_points() -> str:
    rows = ["| extension point | read | write | others add to it by | proved by |", "|---|---|---|---|---|"]
    for point, reads, writes, group, tests in POINTS:
        rows.append(f"| {point} | {reads} | {writes} | `zarrscope.{group}` | {_proof('', (*tests, 'test_plugins'))} |")
    return "\n".join(rows)


def tests() -> set[str]:
    """Every test file that a table names, without its ending."""
    found = {name for _, names in DIALECT_PROOFS.values() for name in names}
    found |= {name for family in CODEC_FAMILIES for name in family[2]}
    return found | {name for point in POINTS for name in point[4]} | {"test_plugins"}


def _proof(who: str, tests: tuple[str, ...]) -> str:
    """The implementations, and the tests without what all their names begin with."""
    names = ", ".join(dict.fromkeys(f"{name.removeprefix('test_')}" for name in tests))
    return f"{who} ({names})" if who else names


def _in_family(name: str, names: str) -> bool:
    return name.startswith(names) if names.endswith((".", "_")) else name in names.split()


def _dialect_writes(name: str) -> bool:
    """Whether an array can really be made in the dialect, and read again."""
    try:
        store = MemoryStore()
        array = zarrscope.open(store, mode="w-", dialect=name).create_array("/a", shape=(4,), dtype="u2", chunks=(2,))
        array[...] = 7
        again = zarrscope.open(store, dialect=name)["/a"]
        return isinstance(again, zarrscope.Array) and again[...].tolist() == [7] * 4
    except zarrscope.ZarrscopeError:
        return False


def type_round_trips(value: Any) -> bool:
    """Whether an array of the type can be made in v3, written and read again with what was written."""
    try:
        store = MemoryStore()
        made = zarrscope.open(store, mode="w-").create_array("/a", shape=(4,), dtype=data_type(value), chunks=(2,))
        made[...] = made[...]
        again = zarrscope.open(store)["/a"]
        assert isinstance(again, zarrscope.Array)
        return again.metadata.dtype == made.metadata.dtype and again[...].tolist() == made[...].tolist()
    except zarrscope.ZarrscopeError:
        return False
