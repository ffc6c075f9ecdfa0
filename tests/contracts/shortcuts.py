"""Checks the native shortcuts with any interpreter that can import zarrscope: `python tests/contracts/shortcuts.py`.

Each is compared with the plain way beside it and, where there is one, with the public functions of numcodecs: what one
writes the other reads, and damage is refused alike. Prints which shortcuts were used and with what they were proved.

Needs only what zarrscope needs, no pytest: it is run with the oldest and the newest numcodecs that we allow.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

if not __package__:
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root / name) for name in ("core", "app", "tests")]

import numpy as np
from numpy.typing import NDArray

import zarrscope
from narrowing import as_array
from zarrscope.codecs import ArraySpec, CodecPipeline, cblosc, czstd
from zarrscope.errors import BadChunk
from zarrscope.model.dtype import Fill
from zarrscope.model.metadata import CodecSpec, Configuration
from zarrscope.model.typestr import from_numpy
from zarrscope.runtime.shortcuts import states
from zarrscope.stores.local import exchange, linux, read, write

PLACES: dict[str, tuple[tuple[Any, str], ...]] = {
    "c-blosc reading": ((cblosc, "function"),),
    "c-blosc writing": ((cblosc, "compressing"),),
    "libzstd": ((czstd, "functions"),),
    "openat2": ((linux, "open_without_links"), (read, "open_without_links")),
    "O_TMPFILE": ((linux, "nameless"), (write, "nameless")),
    "renameat2": ((linux, "exchange"), (exchange, "exchange")),
    "O_PATH": ((linux, "real_path"),),
}
"""For each shortcut, the function that looks it up."""


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Turns these shortcuts off."""
    before = [(module, at, getattr(module, at)) for name in names for module, at in PLACES[name]]
    for module, at, _ in before:
        setattr(module, at, lambda: None)
    try:
        yield
    finally:
        for module, at, found in before:
            setattr(module, at, found)


def chunks() -> Iterator[NDArray[Any]]:
    """Chunks that are empty, tiny, large, easy or hard to compress."""
    random = np.random.default_rng(5)
    for shape, most in (((1,), 2), ((7, 5), 3), ((16, 16, 16), 90), ((64, 64, 32), 9), ((64, 64, 32), 1 << 16)):
        values = random.integers(0, most, shape)
        for code in ("u1", "<u2", "<f4", "<i8") if values.size < 1000 else ("<u2",):
            yield values.astype(code)


def pipeline(chunk: NDArray[Any], *codecs: tuple[str, dict[str, Any]]) -> CodecPipeline:
    named = (("bytes", {"endian": "little"} if chunk.itemsize > 1 else {}), *codecs)
    specs = tuple(CodecSpec(name, Configuration(how)) for name, how in named)
    return CodecPipeline(specs, ArraySpec(chunk.shape, from_numpy(chunk.dtype), Fill(0)))


def answer(made: CodecPipeline, data: bytes) -> Any:
    """The decoded chunk, or that decoding was refused."""
    try:
        return made.decode(data)
    except BadChunk:
        return None


def prove_codec(name: str, how: dict[str, Any], theirs: Callable[[bytes, int], bytes], *shortcuts: str) -> int:
    """Both implementations decode the other's output, intact and damaged, with the same result, as numcodecs does."""
    done = 0
    for chunk in chunks():
        if name == "blosc":
            how = {**how, "typesize": chunk.itemsize}
        made, raw = pipeline(chunk, (name, how)), chunk.tobytes()
        here = made.encode(chunk)
        with without(*shortcuts):
            plain = made.encode(chunk)
        for data in (here, plain, theirs(raw, chunk.itemsize)):
            for damaged in (data, data[: len(data) // 2], data[:-1], data[:-1] + bytes((data[-1] ^ 255,)), data + data):
                ours = answer(made, damaged)
                with without(*shortcuts):
                    other = answer(made, damaged)
                assert (ours is None) == (other is None), (name, how, chunk.shape, chunk.dtype, len(damaged))
                assert ours is None or np.array_equal(ours, other)
                done += 1
            assert np.array_equal(made.decode(data), chunk)
            with without(*shortcuts):
                assert np.array_equal(made.decode(data), chunk)
    return done


def prove_codecs() -> dict[str, int]:
    from numcodecs import blosc, zstd

    blosc.use_threads = False
    proved = {"zstd": 0, "blosc": 0}
    for level, checksum in product((0, 1, 9), (False, True)):

        def zstd_theirs(raw: bytes, _: int, level: int = level) -> bytes:
            return bytes(zstd.compress(raw, level))

        proved["zstd"] += prove_codec("zstd", {"level": level, "checksum": checksum}, zstd_theirs, "libzstd")
    shuffles = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}
    for cname, shuffle, level in product(blosc.list_compressors(), shuffles, (0, 5)):

        def blosc_theirs(
            raw: bytes, size: int, cname: str = cname, shuffle: str = shuffle, level: int = level
        ) -> bytes:
            return bytes(blosc.compress(np.frombuffer(raw, f"V{size}"), cname.encode(), level, shuffles[shuffle]))

        how = {"cname": cname, "shuffle": shuffle, "clevel": level, "blocksize": 0}
        proved["blosc"] += prove_codec("blosc", how, blosc_theirs, "c-blosc reading", "c-blosc writing")
    return proved


def prove_files(folder: Path) -> int:
    """Arrays are written and read, whole and in parts, without each shortcut in turn and without all of them."""
    done, values = 0, np.arange(48**3, dtype="<u2").reshape(48, 48, 48)
    everyone = tuple(PLACES)
    for number, left_out in enumerate([(), everyone, *((name,) for name in everyone)]):
        for codec in ("zstd", "blosc", "gzip"):
            path = folder / f"{number}-{codec}"
            with without(*left_out):
                group = zarrscope.open(path, "w-")
                for name, shards in (("whole", None), ("shards", (32, 32, 32))):
                    made = group.create_array(
                        f"/{name}",
                        shape=values.shape,
                        dtype="uint16",
                        chunks=(16, 16, 16),
                        shards=shards,
                        codecs=[codec],
                    )
                    made[...] = values
                    made[3:40, 5, ::7] = values[3:40, 5, ::7]
                group["/whole"].attrs["seen"] = [1, 2]
                (path / "way").symlink_to("whole")
            for others in ((), everyone):
                with without(*others):
                    again = zarrscope.open(path)
                    for name in ("whole", "shards", "way"):
                        array = as_array(again[f"/{name}"])
                        assert np.array_equal(array[...], values), (left_out, others, codec, name)
                        assert np.array_equal(array[20], values[20])
                        assert np.array_equal(array[:, 7, 3:30:4], values[:, 7, 3:30:4])
                        assert array[47, 47, 47] == values[47, 47, 47]
                        done += 1
                    assert again["/whole"].attrs["seen"] == [1, 2]
            names = {name for _, _, files in os.walk(path) for name in files}
            assert not [name for name in names if name.startswith(".zs-")], names
    return done


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = prove_files(Path(folder))
    found = list(states())
    print(
        json.dumps(
            {
                "python": platform.python_version(),
                "numcodecs": version("numcodecs"),
                "system": f"{platform.system()} {platform.release()}",
                "used": [state.name for state in found if state.used],
                "unused": {state.name: state.reason for state in found if not state.used},
                "compared": {**prove_codecs(), "arrays": files},
            }
        )
    )


if __name__ == "__main__":
    main()
