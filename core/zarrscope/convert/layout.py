"""Chooses chunks, shards and codecs of a converted array: those that the caller asks for, else the source's or similar
ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from zarrscope.dialects import dialect_named
from zarrscope.dialects.pipeline import bytes_codec
from zarrscope.errors import Refused
from zarrscope.model.codec_table import kind_of
from zarrscope.model.dtype import DataType
from zarrscope.model.metadata import ArrayMetadata, CodecSpec, Configuration, RegularGrid
from zarrscope.nodes.create import CodecLike as CodecLike
from zarrscope.nodes.create import as_spec, default_codecs, guess_chunks, sharding, with_defaults


@dataclass(frozen=True)
class Layout:
    """The chunks, shards and codecs that the caller chose; None keeps those of the source. Raises Refused for lengths
    below 1."""

    chunks: tuple[int, ...] | None = None
    shards: tuple[int, ...] | None = None
    codecs: tuple[CodecLike, ...] | None = None

    def __post_init__(self) -> None:
        for name, lengths in (("chunks", self.chunks), ("shards", self.shards)):
            if lengths is not None and any(n < 1 for n in lengths):
                raise Refused(f"{name} {lengths} are not possible: each length must be at least 1")

    def candidates(self, draft: ArrayMetadata, notes: list[str]) -> Iterator[tuple[ArrayMetadata, list[str]]]:
        """Yields layouts with the notes that apply to each, the closest to the source first."""
        dtype = draft.dtype
        outer, inner, codecs = unfolded(draft)
        had_shards = outer != inner
        told: list[str] = []
        if self.chunks is not None and len(self.chunks) == draft.ndim:
            inner = self.chunks
            outer = inner if not had_shards else tuple(-(-o // i) * i for o, i in zip(outer, inner, strict=True))
            draft = replace(draft, grid=RegularGrid(inner))
        elif self.chunks is not None:
            notes.append(f"The chunks {self.chunks} do not fit {draft.ndim} axes: the array keeps its own")
        if self.shards is not None and len(self.shards) == draft.ndim:
            outer = self.shards
            if any(o % i for o, i in zip(outer, inner, strict=True)):
                raise Refused(f"Chunks {inner} do not divide shards {outer}: each length must be a multiple")
        elif self.shards is not None:
            notes.append(f"The shards {self.shards} do not fit {draft.ndim} axes: the array is written without shards")
        wants_shards = self.shards is not None and len(self.shards) == draft.ndim
        if self.codecs is None and self.chunks is None and not wants_shards:
            yield laid(draft), []  # first choice: the layout of the source
        if not isinstance(draft.grid, RegularGrid):
            told.append(f"The chunks of different sizes become chunks of {inner}")
        first = codecs if self.codecs is None else _completed(self.codecs, dtype)
        choices: list[tuple[tuple[CodecSpec, ...], list[str]]] = [(first, [])]
        if self.codecs is None:
            known = [s for s in codecs if s.name in ("gzip", "zstd", "blosc")][:1]
            gzip = CodecSpec("gzip", Configuration({"level": 5}))
            plain = _serializer(dtype)
            for specs in ((*plain, *known), default_codecs(dtype), (*plain, gzip), plain):
                choices.append((tuple(specs), [f"Its codecs become {', '.join(s.name for s in specs)}"]))
        for specs, why in choices:
            if outer != inner or wants_shards:
                shard = (sharding(inner, specs),)
                yield replace(draft, grid=RegularGrid(outer), codecs=shard), [*told, *why]
        if wants_shards:
            return  # the caller asked for this layout: offer no other
        for specs, why in choices:
            dissolved = [f"Shards are dissolved into chunks of {inner}"] if had_shards else []
            yield replace(draft, grid=RegularGrid(inner), codecs=specs), [*told, *dissolved, *why]


def laid(draft: ArrayMetadata) -> ArrayMetadata:
    """The metadata for their dialect. If it is not N5, the codec `bytes` and the compression of N5's block codec take
    the place of that codec.
    """
    if dialect_named(draft.dialect).blocks or not _is_block(draft.codecs):
        return draft
    return replace(draft, codecs=_unblocked(draft))


def _is_block(codecs: Sequence[CodecSpec]) -> bool:
    return any(spec.name in ("n5_default", "n5_block") for spec in codecs)


def _unblocked(draft: ArrayMetadata) -> tuple[CodecSpec, ...]:
    block = next(spec for spec in draft.codecs if spec.name in ("n5_default", "n5_block"))
    inner = [as_spec(item) for item in block.configuration.get("codecs", [])]
    return (
        bytes_codec(draft.dtype, "little"),
        *(s for s in inner if kind_of(s.name) == "bytes→bytes" and not s.name.startswith("n5.")),
    )


def unfolded(draft: ArrayMetadata) -> tuple[tuple[int, ...], tuple[int, ...], tuple[CodecSpec, ...]]:
    """Returns (shape of a shard, shape of a chunk, codecs of a chunk). Without shards, both shapes are the same."""
    grid = draft.grid.chunk_shape
    if not isinstance(draft.grid, RegularGrid):
        grid = guess_chunks(grid, draft.dtype.itemsize or 16)
    if draft.codecs and draft.codecs[0].name == "sharding_indexed":
        settings = draft.codecs[0].configuration
        return grid, tuple(settings["chunk_shape"]), tuple(as_spec(item) for item in settings["codecs"])
    if _is_block(draft.codecs):
        return grid, grid, _unblocked(draft)
    return grid, grid, draft.codecs


def _serializer(dtype: DataType) -> tuple[CodecSpec, ...]:
    """The array→bytes codec for a data type, as a list of codecs without compression."""
    if dtype.variable:
        return default_codecs(dtype)[:1]
    return (bytes_codec(dtype, "little"),)


def _completed(codecs: Sequence[CodecLike], dtype: DataType) -> tuple[CodecSpec, ...]:
    """The codecs that the caller asked for. If all are bytes→bytes, an array→bytes codec is added before them."""
    specs = tuple(with_defaults(as_spec(codec), dtype) for codec in codecs)
    if any(kind_of(spec.name) in ("array→bytes", "array→array") for spec in specs):
        return specs
    return (*_serializer(dtype), *specs)


def coarser(base: ArrayMetadata, shape: Sequence[int]) -> tuple[RegularGrid, tuple[CodecSpec, ...]]:
    """The grid and codecs for a level of `shape` below `base`: the same chunks, cut to the length of the level."""
    outer, inner, codecs = unfolded(base)
    inner = tuple(min(c, max(1, n)) for c, n in zip(inner, shape, strict=True))
    if base.codecs and base.codecs[0].name == "sharding_indexed":
        outer = tuple(-(-min(o, max(1, n)) // c) * c for o, n, c in zip(outer, shape, inner, strict=True))
        settings = {**base.codecs[0].configuration, "chunk_shape": list(inner)}
        return RegularGrid(outer), (CodecSpec("sharding_indexed", Configuration(settings)), *base.codecs[1:])
    return RegularGrid(inner), base.codecs if dialect_named(base.dialect).blocks or not _is_block(
        base.codecs
    ) else codecs
