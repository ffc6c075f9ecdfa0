"""Generates stores that try to exhaust time and memory, and runs every verb of the command line on each.

    python tests/fuzz/hostile.py [--stores 500] [--seed 1] [--only KIND] [--verb VERB] [--each 3]

Large files are hollow, so they take no room on disk. Each verb runs in a process of its own, which is forked from one
that has everything imported. Two figures are measured: the most memory of the process beyond that of its parent, which
may not pass 1.4 GiB, and its processor time, which may not pass 20 seconds. The clock is not the measure: others may be
using the machine. It ends only a verb that waits for something that never comes. A verb may refuse, but only with an
error of zarrscope: no traceback, no signal.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import importlib
import io
import json
import os
import random
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

import zarrscope
from contracts.dialect import TEMPLATES
from narrowing import as_array
from zarrscope.stores.local.store import LocalStore

SECONDS = 20.0
BYTES = 1408 << 20
GRACE = 3
"""A process is killed after this multiple of its allowed processor time; until then the excess is measured."""
PATIENCE = 600
"""A process that uses no processor time is killed after this number of seconds."""
WRITES = ("v3", "v2", "n5", "draft-2022-05", "draft-2020", "draft-2019-06", "draft-2019-05")
DIALECTS = (*WRITES, "v1")
VERBS: dict[str, list[str]] = {
    "info": ["info", "{store}", "{array}"],
    "ls": ["ls", "{store}"],
    "tree": ["tree", "{store}"],
    "check": ["check", "{store}"],
    "read": ["read", "{store}", "{array}", "--select", "{small}"],
    "render": ["render", "{store}", "{array}", "-o", "{out}/picture.png", "--size", "64"],
    "get": ["attrs", "get", "{store}", "{array}"],
    "set": ["attrs", "set", "{store}", "{array}", "/x", "1", "--dry-run"],
    "convert": ["convert", "{store}", "{out}/new", "--to", "{other}", "--dry-run"],
    "resize": ["resize", "{store}", "{array}", "{shape}", "--dry-run"],
    "copy": ["copy", "{store}", "{array}", "/copied", "--dry-run"],
}


class Case(NamedTuple):
    """One store. `ndim`: the number of axes of its array, for selections."""

    place: Path
    dialect: str
    array: str
    ndim: int


Kind = Callable[[Path, str, random.Random], Case]
KINDS: dict[str, Kind] = {}


def kind(make: Kind) -> Kind:
    KINDS[make.__name__] = make
    return make


# ---------------------------------------------------------------------------------------------- building
def base(root: Path, dialect: str, **options: Any) -> Case:
    """A group with one array of 2-byte numbers; v1 has only the array."""
    if dialect == "v1":
        for key, value in TEMPLATES["v1"].items():
            put(root / key, value)
        return Case(root, dialect, "/", len(json.loads((root / "meta").read_bytes())["shape"]))
    h = zarrscope.open(LocalStore(root, sync=False), "w-", dialect=dialect)
    options = {"shape": (40, 40), "dtype": "u2", "chunks": (10, 10), **options}
    made = h.create_array("/a", **options)
    small = all(n <= 40 for n in made.shape)
    with contextlib.suppress(zarrscope.Refused):  # a chunk of more bytes than zarrscope decodes stays absent
        made[... if small else (0,) * made.ndim] = 7
    return Case(root, dialect, "/a", made.ndim)


def put(path: Path, value: bytes, size: int | None = None) -> None:
    """Writes a sparse file that begins with these bytes and has this `size`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        file.write(value)
        if size is not None:
            os.truncate(file.fileno(), size)


def document_of(case: Case) -> Path:
    """The file of the array's document."""
    if case.dialect == "v1":
        return case.place / "meta"
    keys = zarrscope.open(case.place).dialect.documents(case.array, "array")
    return next(path for key in keys if (path := case.place / key).exists())


def members_of(case: Case) -> tuple[Path, dict[str, Any]]:
    path = document_of(case)
    return path, json.loads(path.read_bytes())


def attributes_in(case: Case, text: str) -> None:
    """Writes JSON text as the attribute "x" of the array."""
    if case.dialect == "v1":
        put(case.place / "attrs", f'{{"x": {text}}}'.encode())
        return
    h = zarrscope.open(case.place)
    key, pointer = h.dialect.attributes_at(case.array, "array")
    path = case.place / key
    whole = json.loads(path.read_bytes()) if path.exists() else {}
    holder = whole.setdefault(pointer[1:], {}) if pointer else whole
    holder["x"] = "PLACE"
    put(path, json.dumps(whole).replace('"PLACE"', text).encode())


def chunks_of(case: Case) -> list[Path]:
    """The files of stored chunks."""
    keys = as_array(zarrscope.open(case.place)["/a"]).metadata.keys
    return [case.place / keys.key(index) for index in ((0, 0), (1, 1))]


SHAPE = {"n5": "dimensions"}
CHUNKS = {"n5": "blockSize", "v2": "chunks", "v1": "chunks"}


# ---------------------------------------------------------------------------------------------- documents
@kind
def hollow_document(root: Path, dialect: str, chance: random.Random) -> Case:
    case = base(root, dialect)
    path = document_of(case)
    put(
        path, path.read_bytes() if chance.random() < 0.5 else b"", chance.choice([17 << 20, 63 << 20, 4 << 30, 1 << 40])
    )
    return case


@kind
def hollow_root(root: Path, dialect: str, chance: random.Random) -> Case:
    case = base(root, dialect)
    name = chance.choice(["zarr.json", ".zmetadata", ".zattrs", "attributes.json", "root.group.json"])
    put(case.place / name, b'{"a": ' if chance.random() < 0.5 else b"", chance.choice([17 << 20, 64 << 20, 1 << 40]))
    return case


@kind
def padded_document(root: Path, dialect: str, chance: random.Random) -> Case:
    case = base(root, dialect)
    path = document_of(case)
    value = path.read_bytes()
    put(path, value + b" " * ((16 << 20) - len(value)))
    return case


@kind
def long_values(root: Path, dialect: str, chance: random.Random) -> Case:
    """Attributes of 15 MiB that consist of many small values."""
    case = base(root, dialect)
    small = chance.choice(
        [
            "[]",
            "{}",
            "0",
            '"ab"',
            "[[]]",
            '{"a":0}',
            "1.5",
            "null",
            "NaN",
            "-1e5",
            '"\\u00e9"',
            '"é"',
            '"\\ud800"',
            "1e400",
        ]
    )
    most = (15 << 20) // (len(small.encode()) + 1)
    attributes_in(case, "[" + ",".join([small] * most) + "]")
    return case


@kind
def many_members(root: Path, dialect: str, chance: random.Random) -> Case:
    case = base(root, dialect)
    value = chance.choice(["0", "[]", '{"a":{}}', '""'])
    attributes_in(case, "{" + ",".join(f'"{n:x}":{value}' for n in range(chance.choice([100_000, 1_000_000]))) + "}")
    return case


@kind
def same_members(root: Path, dialect: str, chance: random.Random) -> Case:
    case = base(root, dialect)
    attributes_in(case, "{" + ",".join(['"a":1'] * 1_000_000) + "}")
    return case


@kind
def deep(root: Path, dialect: str, chance: random.Random) -> Case:
    case = base(root, dialect)
    depth = chance.choice([100, 500, 511, 513, 5_000, 1_000_000])
    opening, closing = chance.choice([("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
    attributes_in(case, opening * depth + "0" + closing * depth)
    return case


@kind
def long_number(root: Path, dialect: str, chance: random.Random) -> Case:
    case = base(root, dialect)
    digits = chance.choice(
        ["9" * 100_000, "1" + "0" * 4400, "1e400", "-1e400", "0." + "1" * 1_000_000, "1" * 10_000_000]
    )
    path, whole = members_of(case)
    member = chance.choice([*whole, "extra"])
    put(
        path, json.dumps({**whole, member: "PLACE"}).replace('"PLACE"', chance.choice([digits, f"[{digits}]"])).encode()
    )
    return case


@kind
def long_text(root: Path, dialect: str, chance: random.Random) -> Case:
    case = base(root, dialect)
    path, whole = members_of(case)
    text = chance.choice(["x", "é", "\x1b]52;", "\\", '"', "🙂", "/", "~"]) * (1 << 20)
    member = chance.choice([*whole, "x"])
    changed = chance.choice([text, [text], {"name": text, "configuration": {text: text}}, {text: text}])
    put(path, json.dumps({**whole, member: changed}, ensure_ascii=chance.random() < 0.5).encode())
    return case


@kind
def long_lists(root: Path, dialect: str, chance: random.Random) -> Case:
    """A member of the document that is a very long list."""
    case = base(root, dialect)
    path, whole = members_of(case)
    member = chance.choice([*whole, "dimension_names", "extensions", "storage_transformers"])
    old = whole.get(member)
    item = chance.choice([0, 1, "a", {}, {"name": "gzip", "configuration": {"level": 1}}, old, None])
    put(path, json.dumps({**whole, member: [item] * chance.choice([33, 1000, 200_000])}).encode()[: 15 << 20])
    return case


@kind
def huge_numbers(root: Path, dialect: str, chance: random.Random) -> Case:
    """Shapes and chunk shapes with impossibly large numbers."""
    case = base(root, dialect)
    path, whole = members_of(case)
    numbers = [0, 1, -1, 2**31, 2**40, 2**62, 2**63 - 1, 2**63, 2**64, 10**18, 10**30, 7]
    ndim = chance.choice([1, 2, 3, 32, 33, 1000])
    shape = [chance.choice(numbers[:8]) if chance.random() < 0.8 else chance.choice(numbers) for _ in range(ndim)]
    chunk = [max(1, n) if chance.random() < 0.3 else chance.choice([0, 1, 2, 2**20, 2**40, 2**63 - 1]) for n in shape]
    whole[SHAPE.get(dialect, "shape")] = shape
    if dialect in CHUNKS:
        whole[CHUNKS[dialect]] = chunk
    elif isinstance(whole.get("chunk_grid"), dict):
        grid = whole["chunk_grid"]
        grid.setdefault("configuration", grid)
        for place in (grid, grid["configuration"]):
            if "chunk_shape" in place:
                place["chunk_shape"] = chunk
    put(path, json.dumps(whole, skipkeys=True).encode() if grid_is_plain(whole) else path.read_bytes())
    return case._replace(ndim=ndim)


def grid_is_plain(whole: dict[str, Any]) -> bool:
    match whole.get("chunk_grid"):
        case {"configuration": configuration, **_others} as grid if configuration is grid:
            del grid["configuration"]
    return True


@kind
def huge_valid(root: Path, dialect: str, chance: random.Random) -> Case:
    """Valid arrays of very many chunks, or of very large ones."""
    if dialect == "v1":
        return huge_numbers(root, dialect, chance)
    side = chance.choice([10**6, 10**7, 2**40, 2**62])
    ndim = chance.choice([1, 2, 3, 8, 32])
    chunk = chance.choice([1, 2, 10, 2**10, 2**20]) if ndim < 3 else 2 if ndim < 9 else 1
    return base(root, dialect, shape=(side,) * ndim, chunks=(min(side, chunk),) * ndim, dtype="u1")


# ---------------------------------------------------------------------------------------------- chunks
BLOSC = {"cname": "lz4", "clevel": 1, "shuffle": "noshuffle", "typesize": 1, "blocksize": 0}
CODECS: list[list[Any]] = [
    ["bytes"],
    ["bytes", {"name": "gzip", "configuration": {"level": 1}}],
    ["bytes", {"name": "zstd", "configuration": {"level": 1, "checksum": False}}],
    ["bytes", {"name": "blosc", "configuration": BLOSC}],
    ["bytes", {"name": "numcodecs.bz2", "configuration": {"level": 1}}],
    ["bytes", {"name": "numcodecs.lzma", "configuration": {"preset": 1}}],
    ["bytes", {"name": "numcodecs.zlib", "configuration": {"level": 1}}],
    ["bytes", {"name": "numcodecs.lz4", "configuration": {"acceleration": 1}}],
    ["bytes", {"name": "crc32c"}],
]  # fmt: skip


def coded(root: Path, dialect: str, chance: random.Random, codecs: list[Any], **options: Any) -> Case:
    """As `base`, with these codecs where the dialect can express them."""
    with contextlib.suppress(zarrscope.ZarrscopeError):
        return base(root, dialect, dtype="u1", codecs=codecs, **options)
    shutil.rmtree(root, ignore_errors=True)
    return base(root, "v3", dtype="u1", codecs=codecs, **options)


@kind
def hollow_chunk(root: Path, dialect: str, chance: random.Random) -> Case:
    case = coded(root, dialect if dialect != "v1" else "v3", chance, chance.choice(CODECS))
    for path in chunks_of(case):
        value = path.read_bytes() if path.exists() and chance.random() < 0.6 else b""
        put(path, value, chance.choice([1 << 20, 1 << 28, 3 << 30, 1 << 36, 1 << 42]))
    return case


@kind
def bomb(root: Path, dialect: str, chance: random.Random) -> Case:
    """Compressed zeros that decompress to more than a chunk."""
    codec = chance.choice(["gzip", "zstd", "bz2", "lzma", "zlib"])
    number = {"gzip": 1, "zstd": 2, "bz2": 4, "lzma": 5, "zlib": 6}[codec]
    large = chance.random() < 0.4
    shape: dict[str, Any] = {"shape": (1 << 29, 4), "chunks": (1 << 28, 2)} if large else {}
    dialect = dialect if dialect != "v1" else "v2"
    with contextlib.suppress(zarrscope.ZarrscopeError):
        h = zarrscope.open(LocalStore(root, sync=False), "w-", dialect=dialect)
        h.create_array("/a", dtype="u1", codecs=CODECS[number], **{"shape": (40, 40), "chunks": (10, 10), **shape})
    if not root.exists() or "/a" not in zarrscope.open(root):
        shutil.rmtree(root, ignore_errors=True)
        dialect = "v3"
        h = zarrscope.open(LocalStore(root, sync=False), "w-")
        h.create_array("/a", dtype="u1", codecs=CODECS[number], **{"shape": (40, 40), "chunks": (10, 10), **shape})
    case = Case(root, dialect, "/a", 2)
    packed = zeros(codec, 512 << 20)
    for path in chunks_of(case):
        put(path, packed)
    return case


_zeros: dict[str, bytes] = {}


def zeros(codec: str, size: int) -> bytes:
    """This number of zeros, compressed."""
    if codec not in _zeros:
        import bz2
        import lzma
        import zlib

        import numcodecs.zstd

        block = bytes(16 << 20)
        if codec == "gzip":
            out = io.BytesIO()
            with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1) as file:
                for _ in range(size // len(block)):
                    file.write(block)
            _zeros[codec] = out.getvalue()
        elif codec == "zstd":
            _zeros[codec] = bytes(numcodecs.zstd.Zstd(1).encode(bytes(size)))
        else:
            packer: Any = {
                "bz2": bz2.BZ2Compressor(1),
                "lzma": lzma.LZMACompressor(preset=0),
                "zlib": zlib.compressobj(1),
            }[codec]
            small = size // 4
            _zeros[codec] = b"".join(packer.compress(block) for _ in range(small // len(block))) + packer.flush()
    return _zeros[codec]


@kind
def lying_header(root: Path, dialect: str, chance: random.Random) -> Case:
    """Compressed chunks whose headers state false sizes."""
    number = chance.randrange(1, len(CODECS))
    case = coded(root, dialect if dialect != "v1" else "v3", chance, CODECS[number])
    for path in chunks_of(case):
        value = bytearray(path.read_bytes() if path.exists() else b"\0" * 40)
        for _ in range(chance.choice([1, 2, 4, 8])):
            at = chance.randrange(min(24, len(value) or 1))
            value[at : at + 1] = bytes([chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])])
        put(path, bytes(value))
    return case


@kind
def items(root: Path, dialect: str, chance: random.Random) -> Case:
    """Texts and bytes whose data state false lengths."""
    dialect = chance.choice(["v3", "v2"])
    # numbers of elements up to what one chunk may hold
    count = chance.choice([100, 10**6, 2 * 10**7, 10**8])
    root.mkdir(parents=True, exist_ok=True)
    zarrscope.open(LocalStore(root, sync=False), "w-", dialect=dialect)
    if dialect == "v2":
        form = {
            "zarr_format": 2, "shape": [count, 1], "chunks": [count, 1], "dtype": "|O", "fill_value": None,
            "order": "C",
            "compressor": chance.choice([None, {"id": "zstd", "level": 1}]),
            "filters": [{"id": chance.choice(["vlen-utf8", "vlen-bytes", "json2", "msgpack2"])}],
        }  # fmt: skip
        put(root / "a" / ".zarray", json.dumps(form).encode())
        compressed, name = form["compressor"] is not None, root / "a" / "0.0"
    else:
        text = chance.random() < 0.5
        codecs: list[Any] = [{"name": "vlen-utf8" if text else "vlen-bytes"}]
        compressed = chance.random() < 0.5
        codecs += [{"name": "zstd", "configuration": {"level": 1, "checksum": False}}] if compressed else []
        form = {
            "zarr_format": 3, "node_type": "array", "shape": [count, 1], "data_type": "string" if text else "bytes",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [count, 1]}}, "codecs": codecs,
            "chunk_key_encoding": {"name": "default"}, "fill_value": "" if text else [],
        }  # fmt: skip
        put(root / "a" / "zarr.json", json.dumps(form).encode())
        name = root / "a" / "c" / "0" / "0"
    case = Case(root, dialect, "/a", 2)
    head = struct.pack("<I", count)
    way = chance.choice(["empty", "lengths", "wide", "hollow", "json"])
    if way == "empty" and compressed:
        import numcodecs.zstd

        put(name, bytes(numcodecs.zstd.Zstd(1).encode(head + bytes(4 * count))))
    elif way == "empty":
        put(name, head, 4 + 4 * count)
    elif way == "lengths":
        put(name, head + struct.pack("<I", 0xFFFFFFFF) * 100, 1 << 30)
    elif way == "wide" and count == 100:  # a single letter outside Latin-1 makes each character take four bytes
        item = b"a" * (9 << 20) + "🙂".encode()
        put(name, head + (struct.pack("<I", len(item)) + item) * 20 + bytes(4 * 80))
    elif way == "json":
        put(name, b"[" + b"[],{}," * 2_000_000 + b'"|O",[100,1]]')
    else:
        put(name, head, chance.choice([1 << 30, 3 << 30]))
    return case


@kind
def shard(root: Path, dialect: str, chance: random.Random) -> Case:
    """Shards of very many inner chunks, and indexes with false entries."""
    grid = chance.choice([2, 64, 1024, 4096])
    case = Case(root, "v3", "/a", 2)
    codecs = chance.choice(CODECS[:3])
    index: list[Any] = [{"name": "bytes", "configuration": {"endian": "little"}}]
    index += [{"name": "crc32c"}] if chance.random() < 0.3 else []
    inner = [each if isinstance(each, dict) else {"name": each} for each in codecs]
    where = chance.choice(["start", "end"])
    form = {
        "zarr_format": 3, "node_type": "array", "shape": [grid * 2] * 2, "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [grid * 2] * 2}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
        "codecs": [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [2, 2], "codecs": inner, "index_codecs": index, "index_location": where}}],
    }  # fmt: skip
    put(root / "zarr.json", b'{"zarr_format": 3, "node_type": "group"}')
    put(root / "a" / "zarr.json", json.dumps(form).encode())
    path, count = root / "a" / "c" / "0" / "0", grid * grid
    way = chance.choice(["zeros", "absent", "claims", "overlap"])
    if way == "zeros":
        put(path, b"", 16 * count + chance.choice([0, 4, 1 << 30, 1 << 40]))
        return case
    if way == "absent":
        entry = b"\xff" * 16
    elif way == "claims":
        entry = struct.pack("<QQ", chance.choice([0, 2**40, 2**63]), chance.choice([3 << 30, 2**62, 2**64 - 1]))
    else:
        entry = struct.pack("<QQ", 16 * count + 4 if where == "start" else 0, 4)
    body = entry * count
    if len(index) > 1:
        import google_crc32c

        body += int(google_crc32c.value(body)).to_bytes(4, "little")
    put(path, body + b"\1\2\3\4" * 8 if where == "start" else b"\1\2\3\4" * 8 + body)
    return case


# ---------------------------------------------------------------------------------------------- hierarchies
@kind
def many_nodes(root: Path, dialect: str, chance: random.Random) -> Case:
    case = base(root, dialect)
    if dialect == "v1":
        return case
    values = {
        key: (case.place / key).read_bytes()
        for key in zarrscope.open(case.place).dialect.documents("/a")
        if (case.place / key).exists()
    }
    store = LocalStore(case.place, sync=False)
    for n in range(chance.choice([2_000, 4_000])):
        for key, value in values.items():
            head, _, tail = key.rpartition("a/") if "a/" in key and not key.startswith("meta") else key.rpartition("/a")
            store.bulk.put(
                f"{head}n{n}/{tail}" if "a/" in key and not key.startswith("meta") else f"{head}/n{n}{tail}", value
            )
    if chance.random() < 0.5:
        with contextlib.suppress(zarrscope.ZarrscopeError):
            zarrscope.open(case.place, "r+").consolidate()
    return case


@kind
def copies(root: Path, dialect: str, chance: random.Random) -> Case:
    """Consolidated metadata of nodes that do not exist, or malformed ones."""
    dialect = chance.choice(["v3", "v2"])
    case = base(root, dialect)
    _, whole = members_of(case)
    count = chance.choice([10_000, 60_000])
    value = chance.choice([whole, {}, [], {"zarr_format": 3, "node_type": "group"}, {"zarr_format": 2}])
    text = json.dumps(value)
    if dialect == "v2":
        held = ",".join(f'"n{n}/.zarray":{text}' for n in range(count))
        put(root / ".zmetadata", f'{{"zarr_consolidated_format":1,"metadata":{{{held}}}}}'.encode()[: 70 << 20])
    else:
        held = ",".join(f'"{"n/" * chance.choice([0, 1])}n{n}":{text}' for n in range(count))
        inline = f'{{"kind":"inline","must_understand":false,"metadata":{{{held}}}}}'
        put(
            root / "zarr.json",
            f'{{"zarr_format":3,"node_type":"group","consolidated_metadata":{inline}}}'.encode()[: 70 << 20],
        )
    return case


@kind
def images(root: Path, dialect: str, chance: random.Random) -> Case:
    """OME-Zarr metadata with very many items of one kind."""
    dialect = chance.choice(["v3", "v2"])
    case = base(root, dialect)
    many = chance.choice([1_000, 100_000])
    axes: Any = [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
    scale: Any = [{"type": "scale", "scale": [1, 1]}]
    datasets: Any = [{"path": "a", "coordinateTransformations": scale}]
    way = chance.choice(
        ["datasets", "axes", "scales", "multiscales", "wells", "images", "labels", "channels", "colors"]
    )
    if way == "datasets":
        datasets = [
            {"path": "a" if chance.random() < 0.5 else f"n{n}", "coordinateTransformations": scale} for n in range(many)
        ]
    elif way == "axes":
        axes = [{"name": f"x{n}", "type": "space"} for n in range(many)]
    elif way == "scales":
        datasets[0]["coordinateTransformations"] = scale * many
    entry = {"version": "0.5", "axes": axes, "datasets": datasets}
    ome: dict[str, Any] = {"version": "0.5", "multiscales": [entry] * (many // 10 if way == "multiscales" else 1)}
    if way == "wells":
        side = int(many**0.5)
        rows = [{"name": f"r{n}"} for n in range(side)]
        wells = [{"path": f"r{n}/r{m}", "rowIndex": n, "columnIndex": m} for n in range(side) for m in range(side)]
        ome = {"version": "0.5", "plate": {"version": "0.5", "rows": rows, "columns": rows, "wells": wells}}
    elif way == "images":
        ome = {"version": "0.5", "well": {"images": [{"path": f"{n}", "acquisition": n} for n in range(many)]}}
    elif way == "labels":
        ome["labels"] = [f"l{n}" for n in range(many)]
    elif way == "channels":
        ome["omero"] = {
            "channels": [
                {"label": f"c{n}", "color": "FF0000", "window": {"min": 0, "max": 1, "start": 0, "end": 1}}
                for n in range(many)
            ]
        }
    elif way == "colors":
        ome["image-label"] = {"colors": [{"label-value": n, "rgba": [1, 2, 3, 4]} for n in range(many)]}
    if dialect == "v3":
        put(
            root / "zarr.json",
            json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {"ome": ome}}).encode(),
        )
    else:
        put(
            root / ".zattrs",
            json.dumps({**ome, "multiscales": [{**entry, "version": "0.4"}]} if "multiscales" in ome else ome).encode(),
        )
    return case._replace(array=chance.choice(["/", "/a"]))


@kind
def archive(root: Path, dialect: str, chance: random.Random) -> Case:
    """A zip file with very many members, or with members that decompress to far more."""
    case = base(root / "unpacked", dialect if dialect != "v1" else "v2")
    place = root / "packed.zip"
    way = chance.choice(["bomb", "many", "document"])
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for path in sorted(case.place.rglob("*")):
            if path.is_file():
                packed.writestr(str(path.relative_to(case.place)), path.read_bytes())
        if way == "many":
            for n in range(20_000):
                packed.writestr(f"a/x{n}/y", b"")
        else:
            name = str((chunks_of(case)[0] if way == "bomb" else document_of(case)).relative_to(case.place))
            with packed.open(f"{name}" if way == "bomb" else name, "w") as file:
                for _ in range(200 if way == "bomb" else 30):
                    file.write(bytes(1 << 20) if way == "bomb" else b" " * (1 << 20))
    shutil.rmtree(root / "unpacked")
    return case._replace(place=place)


# ---------------------------------------------------------------------------------------------- running
class Outcome(NamedTuple):
    verb: str
    seconds: float
    bytes: int
    fault: str
    """ "" if it ended in an allowed way."""


def attempt(case: Case, verb: str, out: Path) -> Outcome:
    """Runs one verb in a process of its own."""
    place = {
        "store": str(case.place), "array": case.array, "out": str(out), "other": "v2" if case.dialect == "v3" else "v3",
        "small": ",".join(["0:2"] * case.ndim), "shape": ",".join(["3"] * case.ndim),
    }  # fmt: skip
    arguments = [each.format(**place) for each in VERBS[verb]]
    log = out / "log"
    space, inherited = (int(n) * resource.getpagesize() for n in Path("/proc/self/statm").read_text().split()[:2])
    child = os.fork()
    if child == 0:
        code = 99
        try:
            resource.setrlimit(resource.RLIMIT_AS, (space + (8 << 30), space + (8 << 30)))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (int(GRACE * SECONDS), int(GRACE * SECONDS) + 10))
            handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(handle, 1)
            os.dup2(handle, 2)
            from zarrscope_app.cli import main

            sys.argv = ["zarrscope", *arguments]
            try:
                main()
                code = 0
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 1
            sys.stdout.flush()
        finally:
            os._exit(code)
    end = time.monotonic() + PATIENCE
    waited = False
    while True:
        done, status, used = os.wait4(child, os.WNOHANG)
        if done:
            break
        if not waited and time.monotonic() > end:
            waited = True
            os.kill(child, signal.SIGKILL)
        time.sleep(0.005)
    seconds, peak = used.ru_utime + used.ru_stime, (used.ru_maxrss << 10) - inherited
    with open(log, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - 3000))
        said = file.read().decode("utf-8", "replace")
    fault = ""
    if waited:
        fault = f"not done after {PATIENCE} s, of which {seconds:.1f} s of processor time; {peak / 2**20:,.0f} MiB"
    elif os.WIFSIGNALED(status) and seconds > SECONDS:
        fault = f"not done after {seconds:.1f} s"
    elif os.WIFSIGNALED(status):  # signal 9 that this script did not send: the system had no memory left
        fault = f"signal {os.WTERMSIG(status)}, {peak / 2**20:,.0f} MiB"
    elif os.WEXITSTATUS(status) not in (0, 1, 2, 3) or "Traceback" in said or "inside zarrscope" in said:
        fault = f"exit {os.WEXITSTATUS(status)}: {said[-1500:]}"
    elif seconds > SECONDS:
        fault = f"{seconds:.1f} s"
    elif peak > BYTES:
        fault = f"{peak / 2**20:,.0f} MiB"
    return Outcome(verb, seconds, peak, fault)


def stores(count: int, seed: int, only: str | None = None) -> Iterator[tuple[str, str, random.Random]]:
    """Yields (kind, dialect, random generator) for each store; kinds and dialects alternate."""
    kinds = [only] if only else list(KINDS)
    for n in range(count):
        yield kinds[n % len(kinds)], DIALECTS[(n // len(kinds) + n) % len(DIALECTS)], random.Random(f"{seed} {n}")


def run(
    count: int,
    seed: int,
    *,
    only: str | None = None,
    verbs: tuple[str, ...] = (),
    each: int = 0,
    first: int = 0,
    tell: Any = print,
) -> dict[str, Any]:
    """Makes the stores `first` to `count`, and tries `each` random verbs on each. Returns the number of tries and all
    faults."""
    for module in ("", ".attributes", ".check", ".compare", ".convert", ".listing", ".nodes", ".picture"):
        importlib.import_module(f"zarrscope_app.cli{module}")  # for the processes that are forked
    faults: list[str] = []
    tried = 0
    slowest = largest = Outcome("", 0.0, 0, "")
    for n, (name, dialect, chance) in enumerate(stores(count, seed, only)):
        if n < first:
            continue
        if n and n % 10 == 0:
            tell(f"{n} stores, {tried} verbs tried, {len(faults)} faults")
        with tempfile.TemporaryDirectory(prefix="hostile") as folder:
            root, out = Path(folder) / "store", Path(folder) / "out"
            out.mkdir()
            child_made = made(name, dialect, chance, root)
            possible = verbs or tuple(VERBS)
            drawn = random.Random(f"{seed} {n} verbs").sample(possible, each) if each else possible
            for verb in drawn:
                outcome = attempt(child_made, verb, out)
                tried += 1
                slowest = max(slowest, outcome, key=lambda each: each.seconds)
                largest = max(largest, outcome, key=lambda each: each.bytes)
                if outcome.fault:
                    faults.append(f"store {n} ({name}, {dialect}), {verb}: {outcome.fault}")
                    tell(faults[-1])
    return {"stores": count, "tried": tried, "faults": faults, "slowest": slowest, "largest": largest}


def made(name: str, dialect: str, chance: random.Random, root: Path) -> Case:
    """Makes the store in a process of its own, because threads that writing starts would be lost in later forks."""
    told = root.parent / "case"
    child = os.fork()
    if child == 0:
        code = 1
        try:
            case = KINDS[name](root, dialect, chance)
            told.write_text(json.dumps([str(case.place), case.dialect, case.array, case.ndim]))
            code = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if status:
        raise RuntimeError(f"the store of kind {name} in {dialect} could not be made")
    place, dialect, array, ndim = json.loads(told.read_text())
    return Case(Path(place), dialect, array, ndim)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first store, to go on")
    parser.add_argument("--only", choices=sorted(KINDS))
    parser.add_argument("--verb", choices=sorted(VERBS), action="append", default=[])
    parser.add_argument("--each", type=int, default=0, help="the number of verbs, at random, for each store; 0: all")
    given = parser.parse_args()
    found = run(given.stores, given.seed, only=given.only, verbs=tuple(given.verb), each=given.each, first=given.first)
    print(f"{found['stores']} stores, {found['tried']} verbs tried, {len(found['faults'])} beyond a limit or wrong")
    for what in ("slowest", "largest"):
        verb, seconds, size, _ = found[what]
        print(f"{what}: {verb}, {seconds:.1f} s, {size / 2**20:,.0f} MiB")
    return 1 if found["faults"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
