"""The readers and writers that are compared; each runs and is timed in its own process.

    python -m bench.engines NAME        answers one JSON line for each on stdin (peers.py asks)

A process serves one engine, so that none pays for what another imported or started; the one for zarr-python 2.18 runs
in another environment. Each engine is used as its documentation says for speed, without a cache, on every core this
process may use. Nothing but numpy is imported here before the engine is made.
"""

from __future__ import annotations

import gc
import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
Selection = tuple[Any, ...]


# ------------------------------------------------------------------------------------------------- engines
class Zarrscope:
    packages: ClassVar = ("zarrscope", "numcodecs", "zstandard", "isal", "deflate")

    def __init__(self) -> None:
        import zarrscope

        self.library = zarrscope

    def open(self, path: str, node: str, **options: Any) -> Any:
        return self.library.open(path, storage_options=options or None)[f"/{node}"]

    def read(self, array: Any, selection: Selection) -> Any:
        return array[selection]

    def create(self, path: str, plan: dict[str, Any]) -> Any:
        dialect = "v2" if plan["v2"] else "v3"
        hierarchy = self.library.open(path, "w-", dialect=dialect)
        made = {key: plan[key] for key in ("shape", "dtype", "chunks", "shards", "codecs")}
        return hierarchy.create_array("/a", **made)

    def write(self, array: Any, values: Any) -> None:
        array[...] = values

    def children(self, path: str) -> list[tuple[str, str | None]]:
        root: Any = self.library.open(path)["/"]
        return [(child.name, child.kind) for child in root.children()]

    def names(self, path: str) -> int:
        root: Any = self.library.open(path)["/"]
        return len([*root.list_names()])


class Before(Zarrscope):
    """Another checkout of zarrscope, which may be so old that `open` has no storage options."""

    def open(self, path: str, node: str, **options: Any) -> Any:
        return self.library.open(path)[f"/{node}"]


class Viewer(Zarrscope):
    """Reads as the viewers do: through the chunk loader and its bounded cache, which is empty at first."""

    def open(self, path: str, node: str, **options: Any) -> Any:
        from zarrscope.view.loader import ChunkLoader

        self.loader = ChunkLoader()
        return super().open(path, node, **options)

    def read(self, array: Any, selection: Selection) -> Any:
        return self.loader.read(array, selection)


class TensorStore:
    packages: ClassVar = ("tensorstore",)
    requests: int | None = None

    def __init__(self) -> None:
        import tensorstore

        self.library = tensorstore
        shared = {"http_request_concurrency": {"limit": self.requests}} if self.requests else {}
        self.context = tensorstore.Context(shared)

    def open(self, path: str, node: str) -> Any:
        where = "/".join(part for part in (path, node) if part)
        if path.startswith("http"):
            driver, store = ("zarr" if "v2" in path else "zarr3"), where + "/"
        else:
            driver, store = ("zarr3" if os.path.exists(f"{where}/zarr.json") else "zarr"), f"file://{where}/"
        spec = {"driver": driver, "kvstore": store}
        return self.library.open(spec, open=True, read=True, context=self.context).result()

    def read(self, array: Any, selection: Selection) -> Any:
        return array[selection].read().result()

    def create(self, path: str, plan: dict[str, Any]) -> Any:
        if plan["v2"]:
            metadata = {"shape": plan["shape"], "chunks": plan["chunks"], "dtype": plan["dtype"], "fill_value": 0}
            spec: dict[str, Any] = {"driver": "zarr", "metadata": {**metadata, "compressor": plan["compressor"]}}
        else:
            outer, codecs = plan["chunks"], plan["codecs"]
            if plan["shards"]:
                index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
                inner = {"chunk_shape": outer, "codecs": codecs, "index_codecs": index}
                outer, codecs = plan["shards"], [{"name": "sharding_indexed", "configuration": inner}]
            grid = {"name": "regular", "configuration": {"chunk_shape": outer}}
            name = np.dtype(plan["dtype"]).name
            metadata = {"shape": plan["shape"], "data_type": name, "chunk_grid": grid, "codecs": codecs}
            spec = {"driver": "zarr3", "metadata": {**metadata, "fill_value": 0}}
        return self.library.open({**spec, "kvstore": f"file://{path}/a/"}, create=True).result()

    def write(self, array: Any, values: Any) -> None:
        array.write(values).result()

    def children(self, path: str) -> list[tuple[str, str]]:
        """tensorstore has no groups: this lists keys, and reads the documents of v3 concurrently."""
        store = self.library.KvStore.open(f"file://{path}/").result()
        kinds: dict[str, str] = {}
        documents = {}
        for key in store.list().result():
            name, _, document = key.decode().partition("/")
            if document in (".zarray", ".zgroup"):
                kinds[name] = "array" if document == ".zarray" else "group"
            elif document == "zarr.json":
                documents[name] = store.read(key)
        for name, promise in documents.items():
            kinds[name] = json.loads(promise.result().value)["node_type"]
        return list(kinds.items())


class TensorStore128(TensorStore):
    """tensorstore with 128 concurrent requests, for remote stores."""

    requests = 128


class TensorStoreCaching(TensorStore):
    """tensorstore with a cache of 1 GiB of decoded chunks, as zarrscope's viewers have; empty at first."""

    cache = 1 << 30

    def open(self, path: str, node: str) -> Any:
        self.context = self.library.Context({"cache_pool": {"total_bytes_limit": self.cache}})
        return super().open(path, node)


class Zarr3:
    packages: ClassVar = ("zarr", "numcodecs")

    def __init__(self) -> None:
        import zarr

        self.library = zarr
        zarr.config.set({"threading.max_workers": CORES})

    def open(self, path: str, node: str) -> Any:
        return self.library.open_array(path, path=node or "", mode="r")

    def read(self, array: Any, selection: Selection) -> Any:
        return array[selection]

    def create(self, path: str, plan: dict[str, Any]) -> Any:
        from bench.volumes import compressors

        return self.library.create_array(
            path,
            name="a",
            shape=plan["shape"],
            dtype=plan["dtype"],
            chunks=tuple(plan["chunks"]),
            shards=tuple(plan["shards"]) if plan["shards"] else None,
            compressors=compressors(plan["compression"], "v2" if plan["v2"] else "v3"),
            fill_value=0,
            zarr_format=2 if plan["v2"] else 3,
        )

    def write(self, array: Any, values: Any) -> None:
        array[...] = values

    def children(self, path: str) -> list[tuple[str, str]]:
        group = self.library.open_group(path, mode="r")
        return [(name, "array" if isinstance(node, self.library.Array) else "group") for name, node in group.members()]


class Zarrs(Zarr3):
    packages: ClassVar = ("zarrs", "zarr")

    def __init__(self) -> None:
        import zarrs  # noqa: F401 - its pipeline is named below

        super().__init__()
        self.library.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})

    def read(self, array: Any, selection: Selection) -> Any:
        """Uses slices only, because zarrs leaves selections with integers to zarr-python's own pipeline."""
        slices = tuple(slice(i, i + 1) if isinstance(i, int) else i for i in selection)
        return array[slices][tuple(0 if isinstance(i, int) else slice(None) for i in selection)]


class Zarr2:
    packages: ClassVar = ("zarr", "numcodecs")

    def __init__(self) -> None:
        os.environ["ZARR_V3_EXPERIMENTAL_API"] = "1"  # for the draft of 2020
        import zarr

        self.library = zarr

    def open(self, path: str, node: str) -> Any:
        if os.path.exists(f"{path}/zarr.json"):
            return self.library.open_array(path, path=node, mode="r", zarr_version=3)
        return self.library.open_array(path, path=node, mode="r")

    def read(self, array: Any, selection: Selection) -> Any:
        return array[selection]

    def create(self, path: str, plan: dict[str, Any]) -> Any:
        from bench.volumes import compressors

        if not plan["v2"]:
            raise NotImplementedError("zarr-python 2.18 writes no v3")
        made = {key: plan[key] for key in ("shape", "dtype", "chunks")}
        compressor = compressors(plan["compression"], "v2")
        return self.library.open_array(path, path="a", mode="w", compressor=compressor, fill_value=0, **made)

    def write(self, array: Any, values: Any) -> None:
        array[...] = values

    def children(self, path: str) -> list[tuple[str, str]]:
        new = os.path.exists(f"{path}/zarr.json")
        version: dict[str, Any] = {"zarr_version": 3} if new else {}
        group = self.library.open_group(path, mode="r", **version)
        return [(name, "array") for name in group.array_keys()] + [(name, "group") for name in group.group_keys()]


class Scan:
    """Lists the names in a folder without reading metadata: the lower bound for every listing."""

    def names(self, path: str) -> int:
        with os.scandir(path) as entries:
            return sum(entry.is_dir() for entry in entries)


def _distant(name: str) -> Callable[[], Any]:
    def make() -> Any:
        from bench import distant_engines

        return getattr(distant_engines, name)()

    return make


def _limit() -> Any:
    from bench.limit import Limit

    return Limit()


ENGINES: dict[str, Callable[[], Any]] = {
    "zarrscope": Zarrscope,
    "before": Before,
    "zarrscope viewer": Viewer,
    "tensorstore": TensorStore,
    "tensorstore caching": TensorStoreCaching,
    "tensorstore-128": TensorStore128,
    "zarrs": Zarrs,
    "zarr 3": Zarr3,
    "zarr 2.18": Zarr2,
    "limit": _limit,
    "scandir": Scan,
    # Variants of zarrscope in separate processes, for other settings or ways to read the same values.
    **dict.fromkeys(("zarrscope, folder", "zarrscope, SFTP", "zarrscope, HTTP"), Zarrscope),
    "tensorstore, S3": _distant("TensorStoreS3"),
    "zarr 3, obstore": _distant("Zarr3Obstore"),
    "zarr 3, fsspec": _distant("Zarr3Fsspec"),
    "limit, S3": _distant("Wire"),
    "zarr 2.18, database": _distant("Zarr2Database"),
}


# ------------------------------------------------------------------------------------------------- selections
def _plane(axis: int) -> Callable[[random.Random, tuple[int, ...]], Selection]:
    """A selection of one index along `axis` and along all axes before the last three, and of all elements of the
    others."""

    def choose(chance: random.Random, shape: tuple[int, ...]) -> Selection:
        fixed = {*range(len(shape) - 3), len(shape) + axis}
        return tuple(chance.randrange(n) if i in fixed else slice(None) for i, n in enumerate(shape))

    return choose


def _region(chance: random.Random, shape: tuple[int, ...]) -> Selection:
    """A selection of 64 elements along each of the last three axes; for flatter arrays, a part of about as many
    elements."""
    edge = {1: 1 << 18, 2: 512}.get(len(shape), 64)
    chosen: list[Any] = []
    for i, n in enumerate(shape):
        start = chance.randrange(max(1, n - edge + 1))
        chosen.append(chance.randrange(n) if i < len(shape) - 3 else slice(start, start + min(edge, n)))
    return tuple(chosen)


CASES: dict[str, tuple[int, Callable[[random.Random, tuple[int, ...]], Selection]]] = {
    "full": (1, lambda chance, shape: (slice(None),) * len(shape)),
    "xy plane": (6, _plane(-3)),
    "xz plane": (4, _plane(-2)),
    "yz plane": (4, _plane(-1)),
    "region 64^3": (12, _region),
    "element": (20, lambda chance, shape: tuple(chance.randrange(n) for n in shape)),
}
"""The number of selections in a round, and how each is chosen. All engines get the same selections."""


def selections(case: str, shape: tuple[int, ...], seed: int) -> Iterator[Selection]:
    count, choose = CASES[case]
    chance = random.Random(f"{case} {seed}")
    for _ in range(count):
        yield choose(chance, shape)


# ------------------------------------------------------------------------------------------------- serving
class Server:
    """Answers requests of peers.py: the name of a method, whose result must be JSON."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.array: Any = None

    def open(self, path: str, node: str, options: dict[str, Any] | None = None) -> dict[str, Any]:
        self.array = self.engine.open(path, node, **(options or {}))
        return {"shape": list(self.array.shape)}

    def check(self, case: str, picture: str, shape: list[int], seed: int = 0) -> dict[str, Any]:
        """Whether the engine reads the expected values: the first `shape` of the picture's elements."""
        volume = np.load(picture, mmap_mode="r").reshape(-1)[: int(np.prod(shape))].reshape(shape)
        for selection in selections(case, tuple(shape), seed):
            found = np.asarray(self.engine.read(self.array, selection))
            if not np.array_equal(found, volume[selection]):
                return {"wrong": f"other values at {selection}"}
        return {}

    def read(self, case: str, seed: int, count: int | None = None) -> dict[str, Any]:
        """Seconds for one selection, as the mean of a round; with `cpu`, the processor time of all threads of this
        process."""
        chosen = list(selections(case, tuple(self.array.shape), seed))[:count]
        seconds = 0.0
        cpu = time.process_time()
        for selection in chosen:
            began = time.perf_counter()
            result = self.engine.read(self.array, selection)
            seconds += time.perf_counter() - began
            del result
        return {"seconds": seconds / len(chosen), "cpu": (time.process_time() - cpu) / len(chosen)}

    def walk(self, start: int, stop: int) -> dict[str, Any]:
        """Seconds for each plane while stepping along the third axis from the end, as with a slider."""
        seconds = []
        front = (0,) * (len(self.array.shape) - 3)
        for z in range(start, stop):
            began = time.perf_counter()
            result = self.engine.read(self.array, (*front, z, slice(None), slice(None)))
            seconds.append(time.perf_counter() - began)
            del result
        return {"seconds": seconds}

    def reopen(self, path: str, node: str, times: int = 5) -> dict[str, Any]:
        began = time.perf_counter()
        for _ in range(times):
            self.engine.open(path, node)
        return {"seconds": (time.perf_counter() - began) / times}

    def names(self, path: str) -> dict[str, Any]:
        began = time.perf_counter()
        found = self.engine.names(path)
        return {"seconds": time.perf_counter() - began, "nodes": found}

    def children(self, path: str) -> dict[str, Any]:
        began = time.perf_counter()
        found = self.engine.children(path)
        seconds = time.perf_counter() - began
        return {"seconds": seconds, "arrays": sum(kind == "array" for _, kind in found), "nodes": len(found)}

    def write(self, path: str, picture: str, plan: dict[str, Any]) -> dict[str, Any]:
        values = np.load(picture)
        array = self.engine.create(path, plan)
        began = time.perf_counter()
        self.engine.write(array, values)
        return {"seconds": time.perf_counter() - began}

    def versions(self) -> dict[str, Any]:
        from importlib.metadata import version

        names = getattr(self.engine, "packages", ())
        return {"versions": {name: version(name) for name in ("numpy", *names)}}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the output of libraries goes to stderr, because stdout carries the answers
    server = Server(ENGINES[sys.argv[1]]())
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = getattr(server, asked.pop("do"))(**asked)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        gc.collect()
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
