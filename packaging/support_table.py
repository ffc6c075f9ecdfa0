"""Makes the tables of resources/docs/formats.md from the registries: dialects, codecs, data types, extension points and
stores.

The columns for reading and writing come from the registries, or from creating an array and reading it. The proofs are
listed in this module: the tests of each row, which must exist (tests/core/test_support_table.py), and the other
implementations that read or wrote the same bytes in these tests.
"""

from __future__ import annotations

from typing import Any

import zarrscope
from zarrscope.codecs import CODECS
from zarrscope.dialects import DIALECTS
from zarrscope.model.dtype import DATA_TYPES, data_type
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.registry import STORES

CASES = "test_conformance"
DIALECT_PROOFS: dict[str, tuple[str, tuple[str, ...]]] = {
    "v3": ("zarr-python 3, tensorstore", ("test_golden", CASES)),
    "v2": (
        "zarr-python 3, tensorstore, zarr-python 2.18",
        ("test_golden", "test_convert_readers", "test_operations_readers", CASES),
    ),
    "n5": ("tensorstore, zarr-python 2.18", ("test_convert_readers", "test_operations_readers", CASES)),
    "draft-2020": ("zarr-python 2.18", ("test_convert_readers", "test_operations_readers", CASES)),
    "draft-2022-05": ("the examples in the specification", ("test_draft_examples", CASES)),
    "draft-2019-06": ("the examples in the specification", ("test_draft_examples", CASES)),
    "draft-2019-05": ("the examples in the specification", ("test_draft_examples", CASES)),
    "v1": ("the specification", ("test_dialect_contract",)),
}
"""For each dialect, the programs that read or wrote it, and the tests that show it. The conformance archive also
contains stores of other programs."""

WRITERS = {
    "v3": "the current implementations: zarr-python 3, tensorstore, zarrs, …",
    "v2": "zarr-python 2 and many others; most existing data",
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
        "",
        ("test_codecs_contract", CASES),
        "the programs that wrote the conformance archive",
        (),
    ),
    ("N5", "n5_block n5.lz4", ("test_codecs", "test_convert_readers", CASES), "tensorstore, Java", ()),
    ("numcodecs", "numcodecs.", ("test_codecs_contract", "test_codecs"), "numcodecs", ("numcodecs.pickle",)),
    ("imagecodecs", "imagecodecs_", ("test_codecs",), "imagecodecs, where installed", ()),
)
"""For each family of codecs: its title, its codecs (names, or one prefix; "" for all that belong to no other family),
tests, other programs, codecs that are never decoded."""

TYPE_FAMILIES: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("numbers", tuple(name for name in DATA_TYPES if DATA_TYPES[name].make is DATA_TYPES["int8"].make)),
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
    ("small numbers", tuple(name for name in DATA_TYPES if DATA_TYPES[name].make is DATA_TYPES["bfloat16"].make)),
    (
        "pairs of numbers",
        tuple(name for name in DATA_TYPES if DATA_TYPES[name].make is DATA_TYPES["complex_bfloat16"].make),
    ),
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
    ("store", "the table below", "yes", "stores", ("test_plugged_in",)),
)
"""For each extension point: its title, the kinds that are read, those that are written, its group of entry points
(zarrscope.<group>), tests."""


def dialects() -> str:
    rows = [
        "| dialect | id | read | write | written by | proved by |",
        "|---|---|---|---|---|---|",
    ]
    for dialect in DIALECTS:
        wrote = WRITERS.get(dialect.name, "implementations of the draft, if any")
        who, tests = DIALECT_PROOFS.get(dialect.name, ("", ("test_dialect_contract",)))
        writes = "yes" if _dialect_writes(dialect.name) else "no"
        rows.append(f"| {dialect.title} | `{dialect.name}` | yes | {writes} | {wrote} | {_proof(who, tests)} |")
    return "\n".join(rows)


def codecs() -> str:
    rows = ["| family | codecs | read | write | proved by |", "|---|---|---|---|---|"]
    named = {name for name in CODECS for _, names, *_ in CODEC_FAMILIES if names and _in_family(name, names)}
    for family, names, tests, who, never in CODEC_FAMILIES:
        members = [name for name in CODECS if (_in_family(name, names) if names else name not in named)]
        members = [name for name in members if name not in never]
        shown = ", ".join(f"`{name.removeprefix('numcodecs.')}`" for name in sorted(members)) or f"`{names}…`"
        if family == "numcodecs":
            shown = "`numcodecs.…`: " + shown
        unwritten = [name for name in members if not CODECS[name].writes]
        writes = "all" if members and not unwritten else "no" if not members or unwritten == members else ""
        writes = writes or "all but " + ", ".join(f"`{name.removeprefix('numcodecs.')}`" for name in unwritten)
        reads = "all" if all(CODECS[name].reads for name in members) else "some"
        rows.append(f"| {family} | {shown} | {reads} | {writes} | {_proof(who, tests)} |")
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
    rows += [f"| other | `{name}` | yes | yes |" for name in DATA_TYPES if name not in named]
    return "\n".join(rows)


STORE_PROOFS: dict[str, tuple[str, tuple[str, ...]]] = {
    "file": ("the file system", ("test_stores", "test_stores_local")),
    "memory": ("", ("test_stores",)),
    "object": (
        "zarr-python 3, fsspec, upath, obstore, zipfile, xarray, dask; zarr-python's own StoreTests on `as_zarr_store`",
        ("test_stores_objects", "test_stores_databases", "test_zarr_python_adapter"),
    ),
    "sqlite": ("zarr-python 2.18", ("test_stores_databases",)),
    "lmdb": ("zarr-python 2.18", ("test_stores_databases",)),
    "dbm": ("zarr-python 2.18", ("test_stores_databases",)),
    "redis": ("fakeredis, a Redis server where installed, zarr-python 2.18", ("test_stores_redis",)),
    "http": ("a server on loopback", ("test_stores", "test_stores_zip_http", "test_stores_http_hostile")),
    "zip": (
        "Python's zipfile, zarr-python, unzip where installed",
        ("test_stores", "test_stores_zip_http", "test_stores_zip_writing"),
    ),
    "reference": ("fsspec's file system of references", ("test_stores_references",)),
    "s3": ("moto on loopback", ("test_stores_s3", "test_object_store")),
    "gs": (
        "fake-gcs-server, where installed: by obstore through a translation to the XML interface, by gcsfs directly",
        ("test_object_store", "test_stores_gcs"),
    ),
    "abfs": ("Azurite on loopback, where installed", ("test_object_store",)),
    "ssh": ("zarrscope on the other side, by ssh on loopback", ("test_ssh",)),
    "sftp": ("OpenSSH's server on loopback", ("test_stores_sftp",)),
}
"""For each scheme, the servers or programs that it was tested with, and the tests."""


ICECHUNK_PROOF = ("icechunk", ("test_stores_icechunk",))
"""The same for Icechunk repositories, which have no scheme: they are recognised in folders and in S3."""


def stores() -> str:
    rows = ["| address | opens | read | list | write | conditional write | install | tested with |", "|" + "---|" * 8]
    for scheme, kind in STORES.items():
        addresses = ", ".join(f"`{each}://`" for each in (scheme, *kind.aliases))
        can = ["yes" if ability in kind.abilities else "no" for ability in ("read", "list", "write", "conditional")]
        extra = f"`[{kind.extra}]`" if kind.extra else ""
        proof = _proof(*STORE_PROOFS.get(scheme, ("", ("test_store_contracts",))))
        rows.append(f"| {addresses} | {kind.opens} | {' | '.join(can)} | {extra} | {proof} |")
    opens = "an Icechunk repository, recognised by its files: the branch main, or the version that the address names"
    rows.append(f"| a path, `s3://` | {opens} | yes | yes | no | no | `icechunk` | {_proof(*ICECHUNK_PROOF)} |")
    return "\n".join(rows)


def extension_points() -> str:
    rows = ["| extension point | read | write | entry points | proved by |", "|---|---|---|---|---|"]
    for point, reads, writes, group, tests in POINTS:
        rows.append(f"| {point} | {reads} | {writes} | `zarrscope.{group}` | {_proof('', (*tests, 'test_plugins'))} |")
    return "\n".join(rows)


def tests() -> set[str]:
    """Every test file that a table names, without its extension."""
    found = {name for _, names in DIALECT_PROOFS.values() for name in names}
    found |= {name for _, names in STORE_PROOFS.values() for name in names}
    found |= {*ICECHUNK_PROOF[1]}
    found |= {name for family in CODEC_FAMILIES for name in family[2]}
    return found | {name for point in POINTS for name in point[4]} | {"test_plugins"}


def _proof(who: str, tests: tuple[str, ...]) -> str:
    """The implementations, and the names of the tests without their common prefix."""
    names = ", ".join(dict.fromkeys(f"{name.removeprefix('test_')}" for name in tests))
    return f"{who} ({names})" if who and names else who or names


def _in_family(name: str, names: str) -> bool:
    return name.startswith(names) if names.endswith((".", "_")) else name in names.split()


def _dialect_writes(name: str) -> bool:
    """Whether an array can actually be created in the dialect and read again."""
    try:
        store = MemoryStore()
        array = zarrscope.open(store, mode="w-", dialect=name).create_array("/a", shape=(4,), dtype="u2", chunks=(2,))
        array[...] = 7
        again = zarrscope.open(store, dialect=name)["/a"]
        return isinstance(again, zarrscope.Array) and again[...].tolist() == [7] * 4
    except zarrscope.ZarrscopeError:
        return False


def type_round_trips(value: Any) -> bool:
    """Whether an array of the type can be created in v3 and written, and reads back the written values."""
    try:
        store = MemoryStore()
        made = zarrscope.open(store, mode="w-").create_array("/a", shape=(4,), dtype=data_type(value), chunks=(2,))
        made[...] = made[...]
        again = zarrscope.open(store)["/a"]
        assert isinstance(again, zarrscope.Array)
        return again.metadata.dtype == made.metadata.dtype and again[...].tolist() == made[...].tolist()
    except zarrscope.ZarrscopeError:
        return False
