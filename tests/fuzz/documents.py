"""A fuzzer of metadata documents: the outcome is always a node or a ZarrscopeError.

    python tests/fuzz/documents.py --count 1000000 --seed 5      at length, by hand; a failure is printed with its input

Starts from documents that are right, and breaks them: members taken out, doubled, renamed, of another type or taken
from another document, numbers made huge, lists nested, bytes flipped. test_documents.py runs a short, fixed piece.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from contracts.dialect import TEMPLATES, a_plain_array, own
from zarrscope.codecs import ArraySpec, CodecPipeline
from zarrscope.dialects import DIALECTS, Dialect, detect
from zarrscope.errors import ZarrscopeError
from zarrscope.model.metadata import ArrayMetadata, CodecSpec, Configuration

JUNK: list[Callable[[random.Random], Any]] = [
    lambda r: None,
    lambda r: r.choice([True, False]),
    lambda r: r.choice([0, 1, -1, 2, 3, 7, 255, 2**31, 2**53 + 1, 2**63, 2**64, 10**40, -(10**40)]),
    lambda r: r.choice([0.0, -0.0, 1.5, 1e308, -1e-308, float("nan"), float("inf")]),
    lambda r: r.choice(["", "x", "NaN", "0x7fc00000", "-Infinity", "../..", "/", "a\0b", "\ud800", "µ", "r8", "<i4"]),
    lambda r: r.choice(["bytes", "gzip", "blosc", "transpose", "sharding_indexed", "struct", "|O", ">M8[s]"]),
    lambda r: [JUNK[r.randrange(6)](r) for _ in range(r.randrange(4))],
    lambda r: {r.choice(["name", "id", "type", "extension", "must_understand", "x"]): JUNK[r.randrange(6)](r)},
    lambda r: [[r.choice(["a", "b", ""]), r.choice(["<i4", "|S5", [["c", "<f8"]]])]],
    lambda r: {"name": r.choice(["bytes", "struct", "rectilinear", "zstd"]), "configuration": JUNK[r.randrange(8)](r)},
]


def more_documents() -> list[dict[str, bytes]]:
    """The templates, and the documents that each dialect writes for sharded and plain arrays."""
    found = [dict(documents) for documents in TEMPLATES.values()]
    index = [{"name": "bytes", "configuration": {"endian": "little"}}]
    inner = [*index, {"name": "zstd", "configuration": {"level": 3, "checksum": False}}]
    settings = {"chunk_shape": [1, 1], "codecs": inner, "index_codecs": index, "index_location": "end"}
    for dialect in DIALECTS:
        plain = a_plain_array(dialect)
        sharded = replace(plain, codecs=(CodecSpec("sharding_indexed", Configuration(settings)),))
        for metadata in (plain, sharded):
            try:
                found.append(dialect.write("/g/a", metadata, {"a": 1, "filters": [{"id": "zlib", "level": 1}]}))
            except ZarrscopeError:
                continue
    return found


class Fuzzer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.starts = more_documents()
        self.values = [json.loads(text) for documents in self.starts for text in documents.values()]
        self.nodes = self.refusals = 0

    def broken(self, value: Any, depth: int = 0) -> Any:
        """The value with one of its parts, at any depth, replaced."""
        r = self.random
        if isinstance(value, dict) and value and depth < 8 and r.random() < 0.85:
            out = dict(value)
            name = r.choice([*out])
            match r.randrange(6):
                case 0:
                    del out[name]
                case 1:
                    out[r.choice([*r.choice(self.values), "surprise", "extensions", "@context"])] = out[name]
                case 2:
                    other = r.choice(self.values)
                    out[name] = r.choice([*other.values(), None]) if other else None
                case _:
                    out[name] = self.broken(out[name], depth + 1)
            return out
        if isinstance(value, list) and value and depth < 8 and r.random() < 0.8:
            i = r.randrange(len(value))
            match r.randrange(5):
                case 0:
                    return value[:i] + value[i + 1 :]
                case 1:
                    return value * r.randrange(2, 40)
                case _:
                    return [*value[:i], self.broken(value[i], depth + 1), *value[i + 1 :]]
        if r.random() < 0.05:
            for _ in range(r.randrange(1, 250)):
                value = [value]
            return value
        return r.choice(JUNK)(r)

    def text(self, value: Any) -> bytes:
        data = json.dumps(value).encode("utf-8", "surrogatepass")
        r = self.random
        if r.random() < 0.1 and data:
            cut = bytearray(data)
            for _ in range(r.randrange(1, 4)):
                cut[r.randrange(len(cut))] = r.randrange(256)
            data = bytes(cut[: r.randrange(len(cut)) + 1]) if r.random() < 0.5 else bytes(cut)
        return data

    def step(self) -> None:
        """Tries one input. Raises an error if the outcome is neither a node nor a ZarrscopeError."""
        documents = dict(self.random.choice(self.starts))
        key = self.random.choice([*documents])
        value = json.loads(documents[key])
        for _ in range(self.random.randrange(1, 4)):
            value = self.broken(value)
        documents[key] = self.text(value)
        try:
            found = detect({k: v for k, v in documents.items() if "/" not in k}, lenient=self.random.random() < 0.3)
        except ZarrscopeError:
            found = None
            self.refusals += 1
        for dialect in [found.dialect] if found is not None else DIALECTS:
            self._read(dialect, documents)

    def _read(self, dialect: Dialect, documents: dict[str, bytes]) -> None:
        for path in ("/", "/g", "/g/a"):
            try:
                dialect.consolidated(documents)
                node = dialect.parse(path, own(dialect, path, documents))
                if node is None:
                    continue
                self.nodes += 1
                metadata = node.metadata
                hash(metadata)
                if isinstance(metadata, ArrayMetadata):
                    metadata.grid.grid_shape(metadata.shape)
                    metadata.keys.key((0,) * metadata.ndim)
                    if metadata.problem is None:
                        spec = ArraySpec(metadata.grid.chunk_shape, metadata.dtype, metadata.fill)
                        CodecPipeline(metadata.codecs, spec)
                    dialect.write(path, metadata, node.attributes)
            except ZarrscopeError as error:
                self.refusals += bool(str(error))


def run(count: int, seed: int) -> Fuzzer:
    """Tries `count` inputs. Raises the first failure, with the seed that reproduces it in `__notes__`."""
    fuzzer = Fuzzer(seed)
    for i in range(count):
        state = fuzzer.random.getstate()
        try:
            fuzzer.step()
        except Exception as error:
            fuzzer.random.setstate(state)
            error.add_note(f"input {i} of seed {seed}")
            raise
    return fuzzer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = time.perf_counter()
    nodes = refusals = done = failures = 0
    while done < options.count:
        piece = min(5000, options.count - done)
        try:
            fuzzer = run(piece, options.seed + done)
            nodes, refusals = nodes + fuzzer.nodes, refusals + fuzzer.refusals
        except Exception:
            failures += 1
            traceback.print_exc()
            if failures == 5:
                sys.exit(1)
        done += piece
    spent = time.perf_counter() - start
    print(f"{done:,} inputs in {spent:.0f} s: {nodes:,} nodes, {refusals:,} refusals, {failures} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
