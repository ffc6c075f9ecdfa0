"""Chunk grids, and the extensions (ZEP 9) that zarrscope understands or explains. An extension is recognized by its
name; a URI is never fetched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zarrscope.dialects.reading import Members, token
from zarrscope.errors import BadMetadata, Unsupported
from zarrscope.errors.visible import counted
from zarrscope.model.dtype import spell
from zarrscope.model.frozen import frozen
from zarrscope.model.metadata import (
    ChunkGrid,
    CodecSpec,
    ExtensionOutcome,
    ExtensionReport,
    RectilinearGrid,
    RegularGrid,
    Runs,
)
from zarrscope.model.plugins import plugin
from zarrscope.model.schema import Schema, integer, one_of

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

MAX_EDGES = 10_000_000
"""The most chunks along one axis that a rectilinear grid may list (spec F.22)."""


def grid(spec: CodecSpec, settings: Members, shape: tuple[int, ...]) -> ChunkGrid | None:
    """The chunk grid that `spec` names, for an array of `shape`; None for an unknown name. Raises BadMetadata."""
    row = CHUNK_GRIDS.get(spec.name)
    if row is not None:
        return row.make(settings, shape)
    made = plugin("chunk_grids", spec.name)
    grid: ChunkGrid | None = None if made is None else made(spec.configuration, shape)
    return grid


def _regular(settings: Members, shape: tuple[int, ...]) -> RegularGrid:
    return RegularGrid(settings.chunk_shape("chunk_shape", shape))


def _rectilinear(settings: Members, shape: tuple[int, ...]) -> RectilinearGrid:
    """Reads the grid "rectilinear": `kind` is "inline"; `chunk_shapes` has for each axis the length of all chunks, or a
    list of lengths and [length, count] pairs."""
    settings.choice("kind", "inline")
    value = settings.need("chunk_shapes", list)
    pointer = settings.at("chunk_shapes")
    if len(value) != len(shape):
        raise BadMetadata(
            f"chunk_shapes has {counted(len(value), 'entry', 'entries')}, "
            f"the array has {counted(len(shape), 'dimension')}",
            pointer=pointer,
        )
    return RectilinearGrid(
        tuple(_axis(item, n, f"{pointer}/{i}") for i, (item, n) in enumerate(zip(value, shape, strict=True)))
    )


def _axis(value: JSON, length: int, pointer: str) -> int | Runs:
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


def _is_length(value: object) -> bool:
    return type(value) is int and 1 <= value < 2**63


@frozen
class GridRow:
    """One type of chunk grid: the function that makes a grid from its configuration and the array's shape, and the
    members of the configuration.
    """

    make: Callable[[Members, tuple[int, ...]], ChunkGrid]
    members: Mapping[str, Schema]
    """The schemas of the members, all of which are required."""
    per_axis: str
    """The member with an entry for each axis."""


CHUNK_GRIDS: dict[str, GridRow] = {
    "regular": GridRow(_regular, {"chunk_shape": {"type": "array", "items": integer(1)}}, "chunk_shape"),
    "rectilinear": GridRow(
        _rectilinear,
        {"kind": one_of("inline"), "chunk_shapes": {"type": "array", "items": {"type": ["integer", "array"]}}},
        "chunk_shapes",
    ),
}
"""The table of all built-in chunk grids; those of other packages have entry points "zarrscope.chunk_grids"."""


def understood(spec: CodecSpec, pointer: str) -> ExtensionReport | None:
    """The report of an extension that zarrscope knows and that does not change how arrays are read; None for any other.
    The member `extensions` of a document states such extensions."""
    last = spec.name.rstrip("/").rpartition("/")[2]
    advice = _HARMLESS.get(last)
    made = None if advice else plugin("extensions", spec.name)
    if made is not None:
        advice = str(made(spec.configuration))
    if advice is None:
        return None
    return ExtensionReport(
        "extension",
        spec.name,
        understood=True,
        required=spec.must_understand,
        outcome=ExtensionOutcome.IGNORED if last == "consolidated-metadata" else ExtensionOutcome.USED,
        advice=advice,
        pointer=pointer,
        configuration=spec.configuration,
    )


_HARMLESS = {
    "array-statistics": "Its smallest and largest value are offered as first contrast window.",
    "consolidated-metadata": "It copies documents to one place; the documents themselves are read.",
}

_PHASE_3 = "It is of phase 3 of ZEP 9, a sketch of names as web addresses, which no released specification has."
_EXPLAINED = {
    "offset": "It moves the array's origin; indices shown without it would be wrong.",
    "parent-ref": "It points to the group whose extensions hold here, too.",
}


def explain(name: str) -> str:
    """An explanation of an extension name that is not in the core specification; "" when there is none."""
    if name == "@context" or name.startswith(ZARR_DEV + "v3/"):
        return _PHASE_3
    known = _EXPLAINED.get(name.rstrip("/").rpartition("/")[2])
    if known:
        return known
    if name.startswith(("http://", "https://")):
        return "It is named by a web address, which zarrscope never opens; its writer can say what it means."
    if ":" in name:
        return _PHASE_3
    return ""


ZARR_DEV = "https://zarr.dev/"


def refuse_phase_3(document: Mapping[str, Any]) -> None:
    """Raises Unsupported for a document with a member whose name is a web address, as ZEP 9 sketches for phase 3."""
    for name in document:
        if name.startswith(ZARR_DEV + "v3/"):
            raise Unsupported(
                f"The member {name!r} replaces a member of the specification, which is not supported",
                feature="ZEP 9 phase 3",
                pointer=token(name),
                advice=_PHASE_3,
            )


# ---------------------------------------------------------------------------------------------- for child nodes
@frozen
class Inherited:
    """An extension that applies to a node, stated by the node or by a group above it (ZEP 9 "Application to subnodes").

    It is only displayed and does not change how arrays are read, because the ZEP leaves open which extensions apply to
    children.
    """

    report: ExtensionReport
    origin: str
    """The path of the node whose document states the extension."""
    form: str
    """"own" (stated by the node), "above" (by a group above), "copy" (by both), "reference" (to the extension of the
    same name in another node), or "parent-ref" (to all extensions of another node)."""
    target: str | None = None
    """The path of the node that a reference names; None if there is no reference, or if it leaves the hierarchy."""
    resolved: tuple[ExtensionReport, ...] = ()
    """The extensions of `target` that the reference names."""


def inherited(path: str, declared: Mapping[str, Sequence[ExtensionReport]]) -> list[Inherited]:
    """The extensions that apply to the node at `path`: its own and those of the groups above it.

    `declared` has the reports of the node and of every group above it, by path. An extension may contain a reference: a
    path relative to its node, which cannot go above the root. The reference names the extension of the same name in
    that other node, or of the name without "-ref"; a parent-ref names all extensions there.
    """
    found: list[Inherited] = []
    above = [path, *(_up(path, n) for n in range(1, path.strip("/").count("/") + 2) if path != "/")]
    named: set[str] = set()
    for origin in above:
        for report in declared.get(origin or "/", ()):
            if report.point != "extension":
                continue
            place = origin or "/"
            form = "own" if place == path else "above"
            target: str | None = None
            resolved: tuple[ExtensionReport, ...] = ()
            reference = report.configuration.get("reference")
            if isinstance(reference, str):
                form = "parent-ref" if report.name.endswith("parent-ref") else "reference"
                target = _resolve(place, reference)
                there = [r for r in declared.get(target or "", ()) if r.point == "extension" and target != place]
                wanted = {report.name, report.name.removesuffix("-ref")}
                resolved = tuple(r for r in there if form == "parent-ref" or r.name in wanted)
            elif place == path and any(
                r.name == report.name and r.configuration == report.configuration
                for other in above[1:]
                for r in declared.get(other or "/", ())
            ):
                form = "copy"
            if place == path or report.name not in named:
                found.append(Inherited(report, place, form, target, resolved))
            named.add(report.name)
    return found


def _up(path: str, levels: int) -> str:
    parts = path.strip("/").split("/")
    return "/" + "/".join(parts[: max(0, len(parts) - levels)])


def _resolve(path: str, reference: str) -> str | None:
    """The path that a relative reference leads to, or None when it is absolute or leaves the hierarchy (spec F.10)."""
    if reference.startswith("/") or ":" in reference:
        return None
    parts = [part for part in path.split("/") if part]
    for step in reference.split("/"):
        if step == "..":
            if not parts:
                return None
            parts.pop()
        elif step not in ("", "."):
            parts.append(step)
    return "/" + "/".join(parts)
