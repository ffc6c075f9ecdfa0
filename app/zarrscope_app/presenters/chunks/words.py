"""The bytes of one stored chunk in words: its range, its first bytes, the sizes after each codec."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zarrscope_app.presenters import strings
from zarrscope_app.presenters.chunks.view_models import ChosenPart
from zarrscope_app.presenters.node_description import Item

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from zarrscope.check.chunk_trace import ChunkTrace
    from zarrscope.model.selection import ChunkIndex

PER_LINE = 8
"""The bytes in a line of a dump."""
MOST_NAMED = 3
"""The most channels of a chunk that are named."""


def held_along(axis: str, start: int, stop: int, channels: Sequence[str]) -> str:
    """The elements of a chunk along an axis: "y 128–255", "c 1 (GFP)". `channels`: the names of all channels, along
    their axis."""
    span = f"{axis} {start}" + (f"–{stop - 1}" if stop - start > 1 else "")
    named = [name for name in channels[start:stop] if name]
    more = ", …" if len(named) > MOST_NAMED else ""
    return f"{span} ({', '.join(named[:MOST_NAMED])}{more})" if named else span


def whole_value(size: int) -> str:
    """The byte range of a chunk that has a key of its own."""
    return f"0–{strings.count(size - 1)}, the whole value" if size else "none, the value is empty"


def index_place(index_size: int, size: int, at_start: bool) -> str:
    """The byte range of a shard's index."""
    start = 0 if at_start else max(0, size - index_size)
    return f"{strings.count(start)}–{strings.count(max(start, start + index_size - 1))} of the shard"


def inner_place(span: tuple[int, int]) -> str:
    """The byte range of a chunk in its shard."""
    if span[1] <= span[0]:
        return "none, the chunk is empty"
    return f"{strings.count(span[0])}–{strings.count(span[1] - 1)} of the shard"


def inner_title(inner: ChunkIndex, shard: ChunkIndex) -> str:
    """The title of the details of a chunk in a shard."""
    return f"Chunk {', '.join(map(str, inner))} in shard {', '.join(map(str, shard))}"


def inside_title(shard: ChunkIndex) -> str:
    """The title of the map of the chunks in a shard."""
    return f"Chunks in shard {', '.join(map(str, shard))}"


def inside_text(sizes: NDArray[np.int64]) -> str:
    """How many chunks of a shard are stored, and their bytes. A negative size: not stored."""
    there = sizes[sizes >= 0]
    text = f"{strings.count(there.size)} of {strings.counted(sizes.size, 'chunk')}"
    return f"{text}, {strings.size(int(there.sum()))}"


def dump(data: bytes) -> str:
    """Bytes as lines of an offset, hexadecimal numbers, and ASCII characters; a point for all others."""
    lines = []
    for start in range(0, len(data), PER_LINE):
        part = data[start : start + PER_LINE]
        letters = "".join(chr(each) if 32 <= each < 127 else "." for each in part)
        lines.append(f"{start:02x}  {part.hex(' '):<{3 * PER_LINE - 1}}  {letters}")
    return "\n".join(lines)


def bytes_part(first: bytes | None) -> tuple[ChosenPart, ...]:
    """The first bytes of a stored value, under a title; nothing if there are none."""
    return (ChosenPart("First bytes", text=dump(first)),) if first else ()


def trace_parts(trace: ChunkTrace) -> tuple[ChosenPart, ...]:
    """The size after each codec, and the first stored bytes."""
    steps = [Item("stored", f"{strings.count(trace.nbytes)} B")]
    for step in trace.steps:
        size = f"{strings.count(step.nbytes)} B" if step.nbytes is not None else "Python objects"
        steps.append(Item(strings.clean(step.codec, 40), size))
    decoded = (ChosenPart("Size after each codec", tuple(steps)),) if trace.steps else ()
    return (*decoded, *bytes_part(trace.first))


def trace_sentence(trace: ChunkTrace) -> str:
    """The time that reading and decoding took."""
    reading, decoding = (strings.short(float(f"{each * 1000:.2g}")) for each in (trace.reading, trace.decoding))
    return f"Read in {reading} ms, decoded in {decoding} ms."
