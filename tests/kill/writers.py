"""The writers of the kill trials: they save, write chunks, resize, create and erase until they are killed.

Each writer tells a log what it begins ("B number target value") and what it has done ("E number outcome"), one line in
one append, so that what was begun and what was done is known to the microsecond, however the writer ends. A target is
anything that holds one value at a time: an attribute, a chunk, a row within a chunk, a shape, the place of a node.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zarrscope
from narrowing import as_array
from zarrscope import ZarrscopeError
from zarrscope.errors import Conflict, NotFound
from zarrscope.nodes.document_keys import attributes_pointer
from zarrscope.nodes.move import move

CHUNK, CHUNKS = 64, 16
ROWS, COLUMNS, BLOCK = 8, 256, 128
INNER = (2, 32)
LENGTHS = (40, 64, 90, 128, 200)
NAMES = ("x", "y")
"""Nodes that all writers create and erase."""
CODECS = {
    "v3": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd", "configuration": {"level": 1}}],
    "v2": [
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 1, "shuffle": "shuffle", "typesize": 4}},
    ],
}
PLAIN = [
    {"name": "bytes", "configuration": {"endian": "little"}},
    {"name": "gzip", "configuration": {"level": 1}},
]
SHARDED = ("v3", "draft-2022-05")
CONSOLIDATED = ("v3", "v2", "draft-2020")
WRITTEN = ("v3", "v2", "n5", "draft-2022-05", "draft-2020", "draft-2019-06", "draft-2019-05")


def make(path: Path, dialect: str, *, consolidated: bool) -> None:
    """Makes the hierarchy that the writers share: all values 0, attributes {"w0": 0, …}."""
    h = zarrscope.open(path, "w-", dialect=dialect)
    codecs = CODECS.get(dialect, PLAIN)
    h.create_group("/notes", {"all": 0} | {f"w{n}": 0 for n in range(8)})
    h.create_array("/whole", shape=(CHUNK * CHUNKS,), chunks=(CHUNK,), dtype="u4", codecs=codecs)
    h.create_array("/parts", shape=(ROWS, COLUMNS), chunks=(ROWS, BLOCK), dtype="u4", codecs=codecs)
    if dialect in SHARDED:
        h.create_array("/shards", shape=(ROWS, COLUMNS), chunks=INNER, shards=(ROWS, BLOCK), dtype="u4", codecs=codecs)
    sized = h.create_array("/sized", shape=(LENGTHS[0],), chunks=(32,), dtype="u4", codecs=codecs)
    sized[...] = 7
    h.create_group("/born", {"of": "all"})
    h.create_group("/own", {"of": "one"})
    for n in range(4):
        made = h.create_array(f"/own/w{n}-a", shape=(8,), chunks=(4,), dtype="u4", codecs=codecs, attributes={"n": n})
        made[...] = n + 1
    if consolidated and dialect in CONSOLIDATED:
        h.consolidate()


def targets(dialect: str) -> dict[str, object]:
    """Every target with the value it begins with."""
    found: dict[str, object] = {"notes all": 0}
    found |= {f"notes w{n}": 0 for n in range(8)}
    found |= {f"whole {k}": 0 for k in range(CHUNKS)}
    for name in ("parts", "shards") if dialect in SHARDED else ("parts",):
        found |= {f"{name} {row} {block}": 0 for row in range(ROWS) for block in range(COLUMNS // BLOCK)}
    found["sized"] = LENGTHS[0]
    found |= {f"born {name}": None for name in NAMES}
    found |= {f"own {n}": "a" for n in range(4)}
    return found


@dataclass
class Writer:
    """One process. `number` identifies it; `first` is the smallest value that it may write."""

    path: Path
    dialect: str
    log: int
    number: int
    first: int
    seed: int

    def run(self, done: Callable[[], bool]) -> None:
        """Writes until it is killed, or until `done()`."""
        self.h = zarrscope.open(self.path, "r+")
        self.random = random.Random(self.seed)
        self.value = self.first
        acts = [self.attribute, self.attribute, self.whole, self.part, self.part, self.resize, self.birth, self.move]
        if self.dialect in SHARDED:
            acts += [self.shard, self.shard]
        while not done():
            self.value += 1
            self.random.choice(acts)()

    def tell(self, target: str, value: object, act: Callable[[], object]) -> None:
        os.write(self.log, f"B {self.value} {target}|{value}\n".encode())
        try:
            outcome = act() or "done"
        except (Conflict, NotFound):
            outcome = "refused"  # another writer was first: nothing was changed
        except ZarrscopeError as error:
            outcome = f"failed: {type(error).__name__}: {error}".replace("\n", " ")
        os.write(self.log, f"E {self.value} {outcome}\n".encode())

    def attribute(self) -> None:
        name = self.random.choice((f"w{self.number}", "all"))

        def save() -> None:
            while True:
                document = self.h.document("/notes")
                pointer = f"{attributes_pointer(self.h, '/notes')}/{name}"
                try:
                    self.h.save("/notes", document.set(pointer, self.value))
                    return
                except Conflict:
                    continue

        self.tell(f"notes {name}", self.value, save)

    def whole(self) -> None:
        k = self.random.randrange(CHUNKS)
        array = self.h["/whole"]

        def store() -> None:
            as_array(array)[k * CHUNK : (k + 1) * CHUNK] = self.value

        self.tell(f"whole {k}", self.value, store)

    def part(self, name: str = "parts") -> None:
        row, block = self.random.randrange(ROWS), self.random.randrange(COLUMNS // BLOCK)
        array = self.h[f"/{name}"]

        def store() -> None:
            as_array(array)[row, block * BLOCK : (block + 1) * BLOCK] = self.value

        self.tell(f"{name} {row} {block}", self.value, store)

    def shard(self) -> None:
        self.part("shards")

    def resize(self) -> None:
        length = self.random.choice(LENGTHS)

        def change() -> None:
            as_array(self.h["/sized"]).resize((length,))

        self.tell("sized", length, change)

    def birth(self) -> None:
        name = self.random.choice(NAMES)
        if self.random.random() < 0.5:
            self.tell(f"born {name}", None, lambda: self.h.erase(f"/born/{name}"))
            return

        def create() -> None:
            settings: dict[str, Any] = {"attributes": {"n": self.value}, "codecs": CODECS.get(self.dialect, PLAIN)}
            self.h.create_array(f"/born/{name}", shape=(8,), chunks=(4,), dtype="u4", **settings)

        self.tell(f"born {name}", self.value, create)

    def move(self) -> None:
        from kill.reading import place_of

        here = f"/own/w{self.number}-"
        at = place_of(self.h, self.number)
        to = "b" if at == "a" else "a"
        # A killed move may have left parts at the other path.
        self.tell(f"own {self.number}", to, lambda: move(self.h, here + at, here + to, replace=True) and None)
