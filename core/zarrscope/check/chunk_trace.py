"""One stored chunk in detail: its first bytes, and the size of the data after each codec that decodes it."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.codecs.codec import ArrayToBytes
from zarrscope.errors import ZarrscopeError
from zarrscope.model.storage import ByteRange

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zarrscope.codecs import CodecPipeline
    from zarrscope.model.selection import ChunkIndex
    from zarrscope.model.storage import Buffer
    from zarrscope.nodes.array import Array

FIRST = 64
"""The number of bytes that are reported of a stored value."""


@dataclass(frozen=True)
class CodecStep:
    """A codec, and the bytes of the data after it has decoded them; None for elements that are Python objects."""

    codec: str
    nbytes: int | None


@dataclass(frozen=True)
class ChunkTrace:
    """One stored chunk, and how it was decoded. Times are in seconds."""

    nbytes: int
    """The number of stored bytes; in a shard, those of the inner chunk."""
    first: bytes
    """The first stored bytes, at most FIRST."""
    steps: tuple[CodecStep, ...]
    """The codecs in the order of decoding; empty if the chunk cannot be decoded."""
    reading: float
    decoding: float
    error: Exception | None
    """The reason why the chunk cannot be decoded."""


def trace_chunk(array: Array, chunk: ChunkIndex) -> ChunkTrace | None:
    """Reads and decodes one chunk; in a shard, an inner chunk. None if it is not stored.

    Raises Unreadable, BadChunk or Refused if its bytes cannot be read.
    """
    stored = array._stored
    began = time.perf_counter()
    payload = next((found for _, found in stored.fetch([chunk])), None)
    if isinstance(payload, ZarrscopeError):
        raise stored.located(payload, stored.locator.key(chunk))
    if payload is None:
        return None
    data = memoryview(payload).cast("B")
    read = time.perf_counter()
    error: Exception | None = None
    steps: tuple[CodecStep, ...] = ()
    try:
        stored.decode(chunk, data, None)
    except (ZarrscopeError, MemoryError) as failed:
        error = failed
    decoded = time.perf_counter()
    if error is None:
        with suppress(ZarrscopeError):  # a remote shard that was replaced meanwhile: its new chunk was decoded above
            steps = decode_steps(stored.chunk_pipeline(stored.locator.stored_chunk_shape(chunk)), data)
    return ChunkTrace(data.nbytes, bytes(data[:FIRST]), steps, read - began, decoded - read, error)


def decode_steps(pipeline: CodecPipeline, data: Buffer) -> tuple[CodecStep, ...]:
    """Decodes a chunk codec by codec, and returns the size after each. Raises BadChunk."""
    steps = []
    here = data
    for codec in reversed(pipeline.codecs):
        made: Any = codec
        here = made.decode(here, None) if isinstance(codec, ArrayToBytes) else made.decode(here)
        steps.append(CodecStep(codec.name, _nbytes(here)))
    return tuple(steps)


def _nbytes(data: Buffer | NDArray[Any]) -> int | None:
    if not isinstance(data, np.ndarray):
        return memoryview(data).nbytes
    return None if data.dtype.hasobject else data.nbytes


def first_bytes(array: Array, chunk: ChunkIndex, span: tuple[int, int] | None = None) -> bytes | None:
    """The first bytes of the value that holds a grid chunk, read without the rest; None if none is stored. `span`: the
    byte range of an inner chunk, whose first bytes are read instead.

    Raises Unreadable.
    """
    start, stop = span or (0, FIRST)
    found = array.store.get(array.metadata.keys.key(chunk), ByteRange(start, min(FIRST, stop - start)))
    return None if found is None else bytes(found)
