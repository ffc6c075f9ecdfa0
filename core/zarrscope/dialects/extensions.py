"""Extensions of ZEP 9 that are understood or explained here: found by name, never fetched (no URI is dereferenced)."""

from __future__ import annotations

from typing import Any

from zarrscope.dialects.reading import Members
from zarrscope.dtype import spell
from zarrscope.errors import BadMetadata
from zarrscope.metadata import ChunkGrid, CodecSpec, ExtensionReport, Outcome, RectilinearGrid, RegularGrid, Runs

MAX_EDGES = 10_000_000
"""The most chunks along one axis that a rectilinear grid may list (spec F.22)."""


def grid(spec: CodecSpec, settings: Members, shape: tuple[int, ...]) -> ChunkGrid | None:
    """The chunk grid of that name for an array of `shape`, or None when the name is unknown. Raises BadMetadata."""
    return _rectilinear(settings, shape) if spec.name == "rectilinear" else None


def _rectilinear(settings: Members, shape: tuple[int, ...]) -> RectilinearGrid:
    """rectilinear{kind "inline", chunk_shapes: per axis a length, or a list of lengths and [length, count] pairs}."""
    settings.choice("kind", "inline")
    value = settings.need("chunk_shapes", list)
    pointer = settings.at("chunk_shapes")
    if len(value) != len(shape):
        raise BadMetadata(
            f"chunk_shapes has {len(value)} entries, the array has {len(shape)} dimensions", pointer=pointer
        )
    return RectilinearGrid(
        tuple(_axis(item, n, f"{pointer}/{i}") for i, (item, n) in enumerate(zip(value, shape, strict=True)))
    )


def _axis(value: Any, length: int, pointer: str) -> int | Runs:
    if _is_length(value):
        return int(value)
    if not isinstance(value, list) or not value or len(value) > MAX_EDGES:
        raise BadMetadata(
            f"An axis of chunk_shapes is a length or a list of lengths, not {spell(value)}", pointer=pointer
        )
    runs: list[tuple[int, int]] = []
    total = count = 0
    for i, item in enumerate(value):
        size, repeat = item if isinstance(item, list) and len(item) == 2 else (item, 1)
        if not (_is_length(size) and _is_length(repeat)):
            raise BadMetadata(
                f"A chunk length is a whole number from 1, or [length, count], not {spell(item)}",
                pointer=f"{pointer}/{i}",
            )
        total += size * repeat
        count += repeat
        runs.append((size, repeat))
    if count > MAX_EDGES:
        raise BadMetadata(f"{count:,} chunks along one axis are more than {MAX_EDGES:,}", pointer=pointer)
    if total < length:
        raise BadMetadata(f"The chunks cover {total:,} of {length:,} elements", pointer=pointer)
    return tuple(runs)


def _is_length(value: Any) -> bool:
    return type(value) is int and 1 <= value < 2**63


def grid_form(value: ChunkGrid) -> dict[str, Any]:
    """How v3 writes a chunk grid."""
    if isinstance(value, RegularGrid):
        return {"name": "regular", "configuration": {"chunk_shape": [*value.chunk_shape]}}
    shapes = [
        axis if isinstance(axis, int) else [[*run] if run[1] > 1 else run[0] for run in axis] for axis in value.axes
    ]
    return {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": shapes}}


def understood(spec: CodecSpec, pointer: str) -> ExtensionReport | None:
    """The report of an item of `extensions` that changes nothing in how arrays are read, or None."""
    last = spec.name.rstrip("/").rpartition("/")[2]
    advice = _HARMLESS.get(last)
    if advice is None:
        return None
    return ExtensionReport(
        "extension",
        spec.name,
        understood=True,
        required=spec.must_understand,
        outcome=Outcome.IGNORED if last == "consolidated-metadata" else Outcome.USED,
        advice=advice,
        pointer=pointer,
        configuration=spec.configuration,
    )


_HARMLESS = {
    "array-statistics": "Its smallest and largest value are offered as first contrast window.",
    "consolidated-metadata": "It copies documents to one place; the documents themselves are read.",
}

_EXPLAINED = {
    "offset": "It moves the array's origin; indices shown without it would be wrong.",
    "@context": "JSON-LD context of ZEP 9 phase 3, which is not part of any released specification.",
}


def explain(name: str) -> str:
    """What a name outside the specification is, as far as its text tells; "" when it tells nothing."""
    known = _EXPLAINED.get(name.rstrip("/").rpartition("/")[2])
    if known:
        return known
    if name.startswith(("http://", "https://")):
        return "It is named by a web address, which zarrscope never opens; its writer can say what it means."
    return ""
