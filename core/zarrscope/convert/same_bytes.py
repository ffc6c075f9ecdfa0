"""Decides when the same bytes mean the same elements in two arrays, so that chunks need not be decoded to be copied.

Specification: reference.md H.8.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from zarrscope.dialects import dialect_named
from zarrscope.dialects.pipeline import bytes_codec
from zarrscope.model.codec_table import completed
from zarrscope.model.dtype import DataType
from zarrscope.model.metadata import ArrayMetadata, CodecSpec
from zarrscope.nodes.create import as_spec


def meaning(metadata: ArrayMetadata) -> tuple[Any, ...]:
    """A value that is equal for two arrays with the same grid if the same bytes mean the same elements in both."""
    undefined = None if metadata.dtype.numpy is None else metadata.dtype.numpy.descr
    return (metadata.dtype.name, str(undefined), _decoding(metadata.codecs, metadata.dtype, metadata.ndim))


def _decoding(codecs: Sequence[CodecSpec], dtype: DataType | None, ndim: int) -> tuple[str, ...]:
    """The part of a list of codecs that matters for decoding: a compression level does not."""
    told: list[str] = []
    plain = True
    for spec in codecs:
        settings: dict[str, Any] = completed(spec.name, spec.configuration)[0]
        if spec.name in ("gzip", "zstd", "blosc", "crc32c"):
            settings = {}
        elif spec.name == "transpose" and settings.get("order") == [*range(ndim)]:
            continue
        elif spec.name == "bytes":
            wide = dtype is None or not plain or dtype.itemsize > 1
            settings = {"endian": settings.get("endian", "little")} if wide else {}
            if dtype is not None and plain and not bytes_codec(dtype, "little").configuration:
                settings = {}
        elif spec.name == "sharding_indexed":
            inner = _decoding([as_spec(item) for item in settings["codecs"]], dtype, ndim)
            index = _decoding([as_spec(item) for item in settings["index_codecs"]], None, ndim + 1)
            end = settings.get("index_location", "end")
            settings = {"chunk_shape": settings["chunk_shape"], "codecs": inner, "index": index, "at": end}
        plain = plain and spec.name == "transpose"
        told.append(f"{spec.name} {json.dumps(settings, sort_keys=True, default=str)}")
    return tuple(told)


def rare(metadata: ArrayMetadata) -> list[str]:
    """The names of the array's codecs that only zarr-python with numcodecs or imagecodecs reads; none in dialects whose
    codecs all come from numcodecs."""
    if dialect_named(metadata.dialect).numcodecs:
        return []
    return [spec.name for spec in metadata.codecs if spec.name.startswith(("numcodecs.", "imagecodecs_"))]
