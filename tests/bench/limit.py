"""The decode limit: the time of a full read if locating, fetching and planning took no time.

All encoded chunks of a form are in memory, and are decoded into one array that is there already, each by the library
that is quickest for its codec, on as many threads as this process has cores. `Limit` looks like the other engines.
It knows the forms of volumes.py and nothing else, and it checks nothing.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bench.engines import CORES
from bench.volumes import FORMS, Form, Shape

Decoder = Callable[[Any, Any], Any]
"""A function (encoded, buffer) that returns None if it decoded into the buffer, else the decoded bytes."""


def decoders(compression: str) -> list[Decoder]:
    if compression == "raw":
        return [lambda data, out: data]
    if compression.startswith("blosc"):
        from numcodecs import blosc

        blosc.use_threads = False  # zarrscope's threads are used instead
        return [lambda data, out: _done(blosc.decompress(data, out))]
    if compression == "gzip":
        import deflate
        from isal import igzip_lib

        def in_one(data: Any, out: Any) -> Any:
            return deflate.gzip_decompress(data, out.nbytes)

        return [in_one, lambda data, out: igzip_lib.decompress(data, igzip_lib.DECOMP_GZIP)]
    import zstandard
    from numcodecs import zstd

    def streamed(data: Any, out: Any) -> None:
        zstandard.ZstdDecompressor().stream_reader(data).readinto(out)

    return [lambda data, out: _done(zstd.decompress(data, out)), streamed]


def _done(_: object) -> None:
    return None


class Loaded:
    """The encoded chunks of one layout, with the position of each, and the array that they are decoded into."""

    def __init__(self, path: str) -> None:
        self.form = next(form for form in FORMS.values() if form.folder == Path(path).name)
        self.shape, self.pieces = _pieces(self.form, Path(path))
        self.out = np.zeros(self.shape, np.uint16, order=self.form.order)
        self.decoder: Decoder | None = None


class Limit:
    packages: ClassVar = ("numcodecs", "zstandard", "isal", "deflate")

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(CORES)

    def open(self, path: str, node: str) -> Loaded:
        loaded = Loaded(path)
        loaded.decoder = min(decoders(loaded.form.compression), key=lambda each: self._seconds(loaded, each))
        return loaded

    def read(self, loaded: Loaded, selection: Any) -> NDArray[np.uint16]:
        """Decodes all chunks, whatever the selection is."""
        assert loaded.decoder is not None
        self._decode(loaded, loaded.decoder)
        return loaded.out

    def _seconds(self, loaded: Loaded, decoder: Decoder) -> float:
        times = []
        for _ in range(3):
            began = time.perf_counter()
            self._decode(loaded, decoder)
            times.append(time.perf_counter() - began)
        return min(times)

    def _decode(self, loaded: Loaded, decoder: Decoder) -> None:
        todo = deque(loaded.pieces)
        for worker in [self._threads.submit(_work, loaded, decoder, todo) for _ in range(CORES)]:
            worker.result()


def _work(loaded: Loaded, decoder: Decoder, todo: deque[tuple[tuple[slice, ...], bytes]]) -> None:
    form, out = loaded.form, loaded.out
    stored = np.dtype(f"{form.byte_order}u2")
    scratch = np.empty(0, stored)
    plain = form.order == "C" and not form.delta and stored == out.dtype
    while True:
        try:
            where, data = todo.popleft()
        except IndexError:
            return
        target = out[where]
        in_place = plain and target.flags.c_contiguous
        if scratch.size != target.size:
            scratch = np.empty(target.size, stored)
        found = decoder(data, target if in_place else scratch)
        if in_place and found is None:
            continue
        values = scratch if found is None else np.frombuffer(found, stored)
        if form.delta:
            values = np.add.accumulate(values, dtype=stored)
        target[...] = values.reshape(target.shape, order=form.order)


# ------------------------------------------------------------------------------------------------- stored chunks
def _pieces(form: Form, path: Path) -> tuple[Shape, list[tuple[tuple[slice, ...], bytes]]]:
    """The array's shape, and each encoded chunk with its position. All chunks of these layouts lie completely inside
    the array."""
    volume = np.load(path.parent / "picture.npy", mmap_mode="r").shape
    shape = form.reshape((volume[0] // form.part, *volume[1:]))
    chunks = form.chunks(shape)
    pieces = []
    if form.shards is None:
        for index in _grid(shape, chunks):
            pieces.append((_place(index, chunks), (path / key(form, index)).read_bytes()))
        return shape, pieces
    shards = form.shards(shape)
    inner = tuple(outer // n for outer, n in zip(shards, chunks, strict=True))
    for index in _grid(shape, shards):
        stored = (path / key(form, index)).read_bytes()
        table = np.frombuffer(stored[-16 * int(np.prod(inner)) - 4 : -4], "<u8").reshape(*inner, 2)
        for at in product(*map(range, inner)):
            start, length = (int(n) for n in table[at])
            whole = tuple(i * n + j for i, n, j in zip(index, inner, at, strict=True))
            pieces.append((_place(whole, chunks), stored[start : start + length]))
    return shape, pieces


def key(form: Form, index: Shape) -> str:
    """The key of a chunk."""
    numbers = [str(i) for i in index]
    if form.dialect == "v2":
        return f"{form.node}/{'/'.join(numbers)}" if form.node else ".".join(numbers)
    if form.dialect.startswith("draft"):
        root = "data/root" if form.dialect == "draft-2020" else "data"
        return f"{root}/{form.node}/c{'/'.join(numbers)}"
    return "/".join(["c", *numbers])


def _grid(shape: Shape, chunks: Shape) -> Iterator[Shape]:
    return product(*(range(n // c) for n, c in zip(shape, chunks, strict=True)))


def _place(index: Shape, chunks: Shape) -> tuple[slice, ...]:
    return tuple(slice(i * n, i * n + n) for i, n in zip(index, chunks, strict=True))
