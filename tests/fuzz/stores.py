"""A fuzzer of whole hierarchies: opens, walks and reads stores with faults in documents and chunks.

Starts from one hierarchy in every dialect, and from the stores of the conformance archive if it is there. The only
outcomes are nodes, values and ZarrscopeErrors.
"""

from __future__ import annotations

import importlib.util
import json
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

import machine
import zarrscope
from fuzz.chunks import broken_bytes
from fuzz.documents import Fuzzer
from zarrscope.codecs import limits
from zarrscope.errors import ZarrscopeError
from zarrscope.model.metadata import CodecSpec, Configuration
from zarrscope.stores.memory import MemoryStore
from zarrscope.view.image import find_collection, find_images

CHUNK_BYTES = 1 << 20
"""The largest decoded size of a chunk here; with the engine's own limit each input might take a gibibyte."""
STORE_BYTES = 64 << 10
NODES = 12

Values = dict[str, bytes]

LITTLE = CodecSpec("bytes", Configuration({"endian": "little"}))
PIPELINES: list[list[CodecSpec]] = [
    [LITTLE],
    [LITTLE, CodecSpec("gzip", Configuration({"level": 1}))],
    [LITTLE, CodecSpec("zstd", Configuration({"level": 1, "checksum": True}))],
    [LITTLE, CodecSpec("blosc", Configuration({"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 2}))],
]


def own_stores() -> list[Values]:
    """A small hierarchy in every dialect that can be written, with every pipeline that it can express, and with
    shards."""
    found = []
    for dialect in zarrscope.dialects.DIALECTS:
        for codecs in PIPELINES:
            for shards in (None, (4, 4)):
                store = MemoryStore()
                try:
                    h = zarrscope.open(store, "w-", dialect=dialect.name)
                    h.create_group("/g", {"note": "µ", "list": [1, 2.5, None]})
                    made = h.create_array(
                        "/g/a",
                        shape=(5, 6),
                        dtype="u2",
                        chunks=(2, 2),
                        shards=shards,
                        codecs=codecs,
                        attributes={"n": 1},
                    )
                    made[...] = np.arange(30, dtype="u2").reshape(5, 6) * 301
                except ZarrscopeError:
                    continue
                found.append({key: value for key in store.list() if (value := store.get(key)) is not None})
    return found


def archived_stores() -> Iterator[Values]:
    """The small stores of the conformance archive that are folders; none if the archive is missing."""
    place = machine.conformance()
    if place is None:
        return
    spec = importlib.util.spec_from_file_location("conformance_runner", place / "run.py")
    assert spec is not None
    assert spec.loader is not None
    runner = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(runner)
    root = Path(runner.unpacked_cases())
    paths = {row["path"] for row in runner.selected(str(root / "MANIFEST.tsv"), None, None)}
    for path in sorted(paths):
        folder = root / path
        files = [] if not folder.is_dir() or folder.is_symlink() else list(islice(folder.rglob("*"), 400))
        files = [file for file in files if file.is_file() and not file.is_symlink()]
        if not files or len(files) > 200 or sum(file.stat().st_size for file in files) > STORE_BYTES:
            continue
        yield {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


class StoreFuzzer:
    """`step` raises an error if the outcome is neither nodes and values nor a ZarrscopeError."""

    def __init__(self, seed: int, *, archived: bool = True) -> None:
        self.random = random.Random(f"stores {seed}")
        self.documents = Fuzzer(seed)
        self.starts = own_stores()
        if archived:
            self.starts += archived_stores()
        self.values = self.refusals = 0

    def step(self) -> None:
        r = self.random
        values = dict(r.choice(self.starts))
        for _ in range(r.choice((1, 1, 2, 3))):
            self._break(values)
        store = MemoryStore()
        for key, value in values.items():
            try:
                store.set(key, value)
            except ZarrscopeError:
                continue
        before, limits.MAX_CHUNK_BYTES = limits.MAX_CHUNK_BYTES, CHUNK_BYTES
        try:
            self._explore(store)
        finally:
            limits.MAX_CHUNK_BYTES = before

    def _break(self, values: Values) -> None:
        r = self.random
        key = r.choice([*values]) if values else "zarr.json"
        match r.randrange(12):
            case 0:
                values.pop(key, None)
            case 1 if values:
                values[r.choice([*values])] = values[key]
            case 2 if values:
                values[key + r.choice(("x", "/0", ".array", "/zarr.json", ".json"))] = values.pop(key)
            case _ if values:
                value = values[key]
                try:
                    document = json.loads(value)
                except (ValueError, RecursionError):
                    values[key] = broken_bytes(r, value, lambda: r.choice([*values.values()]))
                else:
                    values[key] = self.documents.text(self.documents.broken(document))

    def _explore(self, store: MemoryStore) -> None:
        try:
            hierarchy = zarrscope.open(store, lenient=self.random.random() < 0.3)
        except ZarrscopeError as error:
            self._refused(error)
            return
        paths = ["/"]
        for path in paths:
            try:
                node = hierarchy[path]
                _ = hierarchy.document(path).value, hierarchy.document(path).bytes
                if isinstance(node, zarrscope.Array):
                    self._read(node)
                else:
                    self._look(node, paths)
            except ZarrscopeError as error:
                self._refused(error)

    def _look(self, group: zarrscope.Group, paths: list[str]) -> None:
        find_images(group)
        find_collection(group)
        for child in islice(group.children(), NODES):
            if len(paths) < NODES:
                paths.append(f"{group.path.rstrip('/')}/{child.name}")

    def _read(self, array: zarrscope.Array) -> None:
        r = self.random
        _ = array.problem, array.chunks, array.shards, array.fill_value, array.metadata.extensions
        starts = [r.randrange(n) if n else 0 for n in array.shape]
        selection = tuple(slice(i, i + r.choice((1, 3, 5))) for i in starts)
        found = array[selection]
        assert found.dtype == array.dtype
        assert found.ndim == array.ndim
        self.values += 1

    def _refused(self, error: ZarrscopeError) -> None:
        assert len(str(error)) > 10
        self.refusals += 1
