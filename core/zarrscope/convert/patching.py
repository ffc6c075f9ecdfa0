"""Writes edited elements into an image's finest level and updates its coarser levels beneath them.

    patch = convert.plan_patch(image_of_a_writable_hierarchy, edits)    # reads the stored values, writes nothing
    for level in patch.levels: print(level.path, level.elements)
    convert.write_patch(patch)

Only chunks that hold a changed element are written, each atomically. Before a chunk is written, its elements are
compared with those that the plan read: if an edited element differs, that is a Conflict; other elements keep what
another writer stored meanwhile. In a coarser level, the elements that depend on the edits are computed again, by the
method that reproduces the level's stored values. A level whose shape does not
divide that of the level above stays unchanged, and `Patch.left` names it. The finest level is written first: if a run
failed, planning the same `Edits` again gives the remaining ones. After the program was killed, edits that are made anew
hold no element that was stored already, so the coarser levels have to be rebuilt (`rebuild`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zarrscope.convert.downsampling import Method, check_method, coarser_shape, downsample
from zarrscope.errors import Conflict, Refused, ZarrscopeError
from zarrscope.model.storage import never
from zarrscope.nodes.array import Array
from zarrscope.stores.local.failures import is_full
from zarrscope.view.editable import Edits
from zarrscope.view.image import Image

Region = tuple[slice, ...]
SAMPLED = 16
"""The most blocks of a level that are examined to find its method."""


@dataclass(frozen=True)
class PatchPiece:
    """Changed elements within one stored chunk (one shard, where there are shards)."""

    region: Region
    """The smallest box around the changed elements."""
    values: NDArray[Any]
    elements: int
    counts: tuple[tuple[Any, int], ...]
    """For each new value: (value, number of elements that get it)."""
    changed: NDArray[np.bool_]
    """The changed elements of the region; the others keep their stored values."""
    stored: bytes
    """A digest of the values that were stored in the region."""
    replaced: bytes
    """A digest of the stored values of the changed elements alone."""


@dataclass(frozen=True)
class PatchLevel:
    """The changes to one level."""

    array: Array
    pieces: tuple[PatchPiece, ...]
    method: Method | None = None
    """The method by which the level is made from the level above; None for the finest level."""

    @property
    def path(self) -> str:
        """The path of the level's array in the hierarchy."""
        return self.array.path

    @property
    def elements(self) -> int:
        """Elements that get another value."""
        return sum(piece.elements for piece in self.pieces)


@dataclass(frozen=True)
class Patch:
    """The plan of a patch. `left`: (path, reason) of each level that stays unchanged."""

    levels: tuple[PatchLevel, ...]
    left: tuple[tuple[str, str], ...] = ()

    @property
    def pieces(self) -> int:
        """The number of chunks to write; of shards, if the array is sharded."""
        return sum(len(level.pieces) for level in self.levels)


def plan_patch(image: Image, edits: Edits, cancelled: Callable[[], bool] = never) -> Patch:
    """Plans to write `edits`, which belong to the finest level of `image`; reads the elements around them.

    Raises Refused if the array now has another shape or type, or if `cancelled`; BadChunk and Unreadable if chunks
    cannot be read.
    """
    finest = image.levels[0].array
    if finest.shape != edits.shape or finest.dtype != edits.dtype:
        raise Refused(
            f"{finest.path} has another shape or type than the edited array",
            store=finest.store.url,
            key=finest.path,
            advice="Open it again; the edits belong to the former array.",
        )
    levels, left = [PatchLevel(finest, tuple(_pieces(finest, edits, cancelled)))], []
    above, changes = finest, edits
    for level in image.levels[1:]:
        array = level.array
        factors = _factors(above, array)
        if factors is None:
            left.append((array.path, "its shape or type does not fit the level above"))
            continue
        found = list(_blocks(changes, factors, array.shape))
        method = _method(above, array, found[:SAMPLED], factors)
        below = Edits(array.shape, array.dtype)
        for region in found:
            if cancelled():
                raise Refused("The job was cancelled")
            below.set_region(
                region, downsample(_edited(above, changes, _finer(region, factors, above)), factors, method)
            )
        levels.append(PatchLevel(array, tuple(_pieces(array, below, cancelled)), method))
        above, changes = array, below
    return Patch(tuple(levels), tuple(left))


def write_patch(
    patch: Patch, progress: Callable[[float], None] = lambda _: None, cancelled: Callable[[], bool] = never
) -> int:
    """Writes the patch, the finest level first, and returns the number of elements written. Asks `cancelled` between
    chunks.

    Raises Conflict if another writer changed edited elements meanwhile, Refused if it was cancelled, and the errors of
    writing. Chunks that were written before stay; planning the same edits again gives the rest.
    """
    total, done = max(1, patch.pieces), 0
    above: PatchLevel | None = None
    others = False  # whether another writer has changed elements of the levels so far since they were planned
    for level in patch.levels:
        others_above = others
        for piece in level.pieces:
            if cancelled():
                raise Refused(
                    f"Stopped: {done} of {total} chunks are written", advice="Write the same edits again to finish."
                )
            stored, values = np.asarray(level.array[piece.region]), piece.values
            if _digest(stored) != piece.stored:
                others = True
                if _digest(stored[piece.changed]) != piece.replaced:
                    raise Conflict(
                        f"Somebody else changed the edited elements of {level.path} meanwhile",
                        store=level.array.store.url,
                        key=level.path,
                        advice=f"{done} of {total} chunks are written. "
                        "Start again, to compare with the present values.",
                    )
            if others_above and above is not None:
                values = _made_again(above.array, level, piece.region)
            if others:
                values = np.where(piece.changed, values, stored)
            try:
                level.array[piece.region] = values
            except ZarrscopeError as error:
                if done:
                    error.advice = _advice(error, f"{done} of {total} chunks are written")
                raise
            done += 1
            progress(done / total)
        above = level
    return sum(level.elements for level in patch.levels)


def _advice(error: ZarrscopeError, told: str) -> str:
    """The next step after a write failed in the middle. Its own advice tells of one chunk, not of those before."""
    if is_full(error):
        return f"Make room, then write the same edits again to finish: {told}."
    return " ".join(filter(None, (error.advice, f"{told}: write the same edits again to finish.")))


# ---------------------------------------------------------------------- pieces
def _pieces(array: Array, edits: Edits, cancelled: Callable[[], bool]) -> Iterator[PatchPiece]:
    """The pieces to write in one level, one for each stored chunk that changes."""
    edges = [array.metadata.grid.edges(axis, n) for axis, n in enumerate(array.shape)]
    boxes: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for block in edits.blocks:
        for place, box in _within_chunks(block.region, edges):
            before = boxes.get(place)
            boxes[place] = box if before is None else [
                (min(a, c), max(b, d)) for (a, b), (c, d) in zip(before, box, strict=True)
            ]  # fmt: skip
    for place in sorted(boxes):
        if cancelled():
            raise Refused("The job was cancelled")
        region = tuple(slice(lo, hi) for lo, hi in boxes[place])
        stored = np.asarray(array[region])
        new = edits.over(tuple(range(part.start, part.stop) for part in region), stored)
        changed = stored != new
        if not changed.any():
            continue
        inner = tuple(slice(int(np.min(at)), int(np.max(at)) + 1) for at in np.nonzero(changed))
        outer = tuple(slice(p.start + i.start, p.start + i.stop) for p, i in zip(region, inner, strict=True))
        kinds, counts = np.unique(new[changed], return_counts=True)
        told = tuple(zip(kinds.tolist(), counts.tolist(), strict=True))
        mask, old, after = changed[inner], stored[inner], np.ascontiguousarray(new[inner])
        digests = _digest(old), _digest(old[mask])
        yield PatchPiece(outer, after, int(mask.sum()), told, mask, *digests)


def _within_chunks(region: Region, edges: list[Any]) -> Iterator[tuple[tuple[int, ...], list[tuple[int, int]]]]:
    """Yields (index of a chunk, the part of the region within it) for each chunk that the region touches."""
    spans = []
    for part, along in zip(region, edges, strict=True):
        spans.append(range(along.chunk_of(part.start), along.chunk_of(part.stop - 1) + 1))
    for place in product(*spans):
        box = []
        for part, along, chunk in zip(region, edges, place, strict=True):
            begin, end = along.span(chunk)
            box.append((max(begin, part.start), min(end, part.stop)))
        yield place, box


def _digest(values: NDArray[Any]) -> bytes:
    return blake2b(np.ascontiguousarray(values).tobytes(), digest_size=16).digest()


# ---------------------------------------------------------------------- coarser levels
def _factors(above: Array, array: Array) -> tuple[int, ...] | None:
    """The factor from the level above along each axis; None if the shapes do not fit whole factors."""
    if above.dtype != array.dtype or above.ndim != array.ndim or not prod(array.shape):
        return None
    factors = tuple(max(1, round(n / m)) for n, m in zip(above.shape, array.shape, strict=True))
    fits = all(m in (n // f, -(-n // f)) for n, m, f in zip(above.shape, array.shape, factors, strict=True))
    return factors if fits else None


def _blocks(edits: Edits, factors: tuple[int, ...], shape: tuple[int, ...]) -> Iterator[Region]:
    """The regions of a coarser level of `shape` that cover the edited elements of the level above."""
    for block in edits.blocks:
        found = np.nonzero(block.was_set)
        region = []
        for at, corner, f, n in zip(found, block.corner, factors, shape, strict=True):
            lo, hi = (int(np.min(at)) + corner) // f, -(-(int(np.max(at)) + 1 + corner) // f)
            region.append(slice(lo, min(hi, n)))
        if all(part.start < part.stop for part in region):  # the coarser level may leave out a partial last block
            yield tuple(region)


def _finer(region: Region, factors: tuple[int, ...], above: Array) -> Region:
    """The part of the level above from which a region is computed."""
    parts = zip(region, factors, above.shape, strict=True)
    return tuple(slice(part.start * f, min(part.stop * f, n)) for part, f, n in parts)


def _made_again(above: Array, level: PatchLevel, region: Region) -> NDArray[Any]:
    """A region of a coarser level, computed from the present values of the level above."""
    factors = _factors(above, level.array)
    assert factors is not None, "the plan has left out levels that do not fit"
    assert level.method is not None, "every coarser level has a method"
    return downsample(np.asarray(above[_finer(region, factors, above)]), factors, level.method)


def _edited(array: Array, edits: Edits, region: Region) -> NDArray[Any]:
    return edits.over(tuple(range(part.start, part.stop) for part in region), np.asarray(array[region]))


def _method(above: Array, array: Array, regions: list[Region], factors: tuple[int, ...]) -> Method:
    """The method by which a level was made from the one above: the mode if it reproduces the stored values better than
    nearest does, else nearest."""
    unlike = dict.fromkeys(("nearest", "mode"), 0)
    methods: tuple[Method, ...] = ("nearest", "mode")
    try:
        check_method("mode", array.metadata.dtype)
    except Refused:
        methods = ("nearest",)
    for region in regions:
        stored = np.asarray(array[region])
        finer = np.asarray(above[_finer(region, factors, above)])
        for method in methods:
            made = downsample(finer, factors, method)
            assert made.shape == coarser_shape(finer.shape, factors) == stored.shape
            unlike[method] += int((made != stored).sum())
    return "mode" if unlike["mode"] < unlike["nearest"] and "mode" in methods else "nearest"
