"""Extensions of ZEP 9 that are understood or explained here: found by name, never fetched (no URI is dereferenced)."""

from __future__ import annotations

from typing import Any

from zarrscope.dialects.reading import Members
from zarrscope.errors import Unsupported
from zarrscope.metadata import ChunkGrid, CodecSpec, ExtensionReport, Outcome, RegularGrid


def grid(spec: CodecSpec, settings: Members, shape: tuple[int, ...]) -> ChunkGrid | None:
    """The chunk grid of that name for an array of `shape`, or None when the name is unknown."""
    return None


def grid_form(value: ChunkGrid) -> dict[str, Any]:
    """How v3 writes a chunk grid."""
    if isinstance(value, RegularGrid):
        return {"name": "regular", "configuration": {"chunk_shape": [*value.chunk_shape]}}
    raise Unsupported("Zarr v3 has no such chunk grid", feature="chunk grid")


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
