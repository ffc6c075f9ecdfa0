"""Reads the hierarchy of the kill trials with zarrscope, and independently with numcodecs and json."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kill.writers import BLOCK, CHUNK, COLUMNS, INNER, ROWS, SHARDED, targets
from narrowing import as_array

ABSENT = (1 << 64) - 1
DOCUMENTS = re.compile(r"(\.zarray|\.zgroup|\.zattrs|\.zmetadata|\.json|\.array|\.group)$")
UNFINISHED = re.compile(r"(^|/)(\.zs-[0-9a-f]{16}\.partial|\.nfs[0-9a-f]{24})(/|$)")


class Torn(Exception):
    """A value that no writer wrote."""


def values(path: Path, dialect: str) -> dict[str, object]:
    """The value of every target, read by zarrscope. Raises Torn, ZarrscopeError."""
    import zarrscope
    from zarrscope.errors import NotFound

    h = zarrscope.open(path, "r", consolidated=False)
    found: dict[str, object] = {}
    for target in targets(dialect):
        what, *at = target.split()
        if what == "notes":
            found[target] = h["/notes"].attributes[at[0]]
        elif what == "whole":
            k = int(at[0])
            found[target] = one(as_array(h["/whole"])[k * CHUNK : (k + 1) * CHUNK], target)
        elif what in ("parts", "shards"):
            row, block = map(int, at)
            found[target] = one(as_array(h[f"/{what}"])[row, block * BLOCK : (block + 1) * BLOCK], target)
        elif what == "sized":
            array = as_array(h["/sized"])
            found[target] = array.shape[0]
            if not np.isin(array[...], (0, 7)).all():
                raise Torn(f"{target} holds {array[...]}")
        elif what == "born":
            try:
                node = h[f"/born/{at[0]}"]
            except NotFound:
                found[target] = None
                continue
            if node.kind != "array" or node.shape != (8,):
                raise Torn(f"{target} is {node!r}")
            found[target] = node.attributes.get("n")
        else:
            found[target] = place_of(h, int(at[0]))
    return found


def place_of(h: Any, n: int) -> str:
    """The place at which the node that writer `n` moves is complete, with document and chunks: "a", "b", or "ab" for
    both."""
    found = ""
    for place in "ab":
        if f"/own/w{n}-{place}" in h:
            node = h[f"/own/w{n}-{place}"]
            if node.kind == "array" and node.attributes == {"n": n} and (node[...] == n + 1).all():
                found += place
    return found


def one(values: Any, target: str) -> int:
    """The value that all elements have. Raises Torn if they differ."""
    if (values != values.flat[0]).any():
        raise Torn(f"{target} holds {np.unique(values)}")
    return int(values.flat[0])


def stored(path: Path, dialect: str) -> dict[str, object]:
    """The chunks of `whole`, `parts` and `shards` and the attributes of `notes`, read from the files without zarrscope.
    Parses every document beneath `path`; every other file must be a chunk that decodes to its exact size."""
    found: dict[str, object] = {}
    for file in sorted(path.rglob("*")):
        key = file.relative_to(path).as_posix()
        if not file.is_file() or UNFINISHED.search(key):
            continue
        data = file.read_bytes()
        if DOCUMENTS.search(key):
            try:
                document = json.loads(data)
            except ValueError as error:
                raise Torn(f"{key} is no JSON: {error}") from None
            if re.search(r"(^|/)notes(/|\.)", key):
                said = document.get("attributes", document)
                found |= {f"notes {name}": value for name, value in said.items() if re.fullmatch(r"w\d|all", name)}
            continue
        name = re.search(r"(^|/)(whole|parts|shards|sized|born/[^/]+|own/[^/]+)/(.*)", key)
        if name is None:
            raise Torn(f"{key} is neither a document nor a chunk")
        index = tuple(map(int, re.findall(r"\d+", name[3])))
        if dialect == "n5":
            index = index[::-1]
        try:
            found |= dict(_chunk(name[2], index, data, dialect))
        except Torn:
            raise
        except Exception as error:
            raise Torn(f"{key} ({len(data)} bytes) does not decode: {type(error).__name__}: {error}") from None
    return found


def _chunk(name: str, index: tuple[int, ...], data: bytes, dialect: str) -> Iterator[tuple[str, object]]:
    if name == "whole":
        yield f"whole {index[0]}", one(_elements(data, dialect, CHUNK), key_of(name, index))
    elif name in ("parts", "shards"):
        block = index[1]
        if name == "shards":
            elements = _shard(data, dialect)
        else:
            elements = _elements(data, dialect, ROWS * BLOCK).reshape(ROWS, BLOCK)
        for row in range(ROWS):
            yield f"{name} {row} {block}", one(elements[row], key_of(name, (row, block)))
    else:
        _elements(data, dialect, 32 if name == "sized" else 4)


def key_of(name: str, index: tuple[int, ...]) -> str:
    return " ".join([name, *map(str, index)])


def _elements(data: bytes, dialect: str, count: int) -> Any:
    from numcodecs import Blosc, GZip, Zstd

    order = "<u4"
    if dialect == "n5":
        mode, rank = struct.unpack(">HH", data[:4])
        sizes = struct.unpack(f">{rank}I", data[4 : 4 + 4 * rank])
        if mode or int(np.prod(sizes)) > count:
            raise Torn(f"a block of {sizes}")
        data, order, count = data[4 + 4 * rank :], ">u4", int(np.prod(sizes))
    codec = {"v3": Zstd, "v2": Blosc}.get(dialect, GZip)()
    elements = np.frombuffer(codec.decode(data), order)
    if elements.size != count:
        raise Torn(f"{elements.size} elements instead of {count}")
    return elements


def _shard(data: bytes, dialect: str) -> Any:
    grid = (ROWS // INNER[0], BLOCK // INNER[1])
    size = 16 * grid[0] * grid[1]
    tail = data[-size - 4 :] if dialect == "v3" else data[-size:]
    if dialect == "v3":
        import google_crc32c

        if google_crc32c.value(tail[:-4]) != int.from_bytes(tail[-4:], "little"):
            raise Torn("the checksum of the index is wrong")
    index = np.frombuffer(tail[:size], "<u8").reshape(*grid, 2)
    out = np.zeros((ROWS, BLOCK), "u4")
    for at in np.ndindex(*grid):
        offset, length = map(int, index[at])
        if offset == length == ABSENT:
            continue
        inner = _elements(data[offset : offset + length], dialect, INNER[0] * INNER[1]).reshape(INNER)
        out[at[0] * INNER[0] : (at[0] + 1) * INNER[0], at[1] * INNER[1] : (at[1] + 1) * INNER[1]] = inner
    return out


def differing(read: dict[str, object], files: dict[str, object]) -> list[str]:
    """The differences between the files and what zarrscope reads. A missing file counts as 0."""
    chunks = ("whole", "parts", "shards", "notes")
    return [
        f"{target}: zarrscope reads {value}, the files hold {files.get(target, 0)}"
        for target, value in read.items()
        if target.split()[0] in chunks and files.get(target, 0) != value
    ]


__all__ = ["COLUMNS", "SHARDED", "Torn", "differing", "stored", "values"]
