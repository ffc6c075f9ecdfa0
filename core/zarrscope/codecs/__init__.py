"""Codecs decode a chunk's bytes to its elements and encode them again. model/codec_table.py has a row for each codec.

Codecs are resolved when an array is opened, so errors in configuration and compatibility are raised then, not later
while chunks are read.

    pipeline = CodecPipeline(metadata.codecs, ArraySpec(chunk_shape, metadata.dtype, metadata.fill))
    elements = pipeline.decode(data, out)      pipeline.encode(elements)
    shard_of(pipeline)        # the layout of its shards, for reading inner chunks by byte range

codec.py defines codecs; registry.py finds one by its name; pipeline.py runs a list of codecs; array, blosc, compress,
zstd, sharding and the other modules hold the codecs. Importing this package imports no compression library, and the
module of shards only when one of its names is used, because most arrays have none.
"""

from typing import TYPE_CHECKING, Any

from zarrscope.codecs.codec import (
    ArraySpec,
    ArrayToArray,
    ArrayToBytes,
    BytesSpec,
    BytesToBytes,
    Codec,
    codec,
    is_fill,
)
from zarrscope.codecs.pipeline import CodecPipeline
from zarrscope.codecs.registry import every_codec, resolve
from zarrscope.codecs.settings import CodecSettings

if TYPE_CHECKING:
    from zarrscope.codecs.sharding import Shard, ShardIndex, shard_of
    from zarrscope.model.codec_table import CodecRow

    CODECS: dict[str, CodecRow]


def __getattr__(name: str) -> Any:
    if name == "CODECS":
        return every_codec()
    if name in ("Shard", "ShardIndex", "shard_of"):
        from zarrscope.codecs import sharding

        return getattr(sharding, name)
    raise AttributeError(f"module 'zarrscope.codecs' has no attribute {name!r}")


__all__ = [
    "CODECS",
    "ArraySpec",
    "ArrayToArray",
    "ArrayToBytes",
    "BytesSpec",
    "BytesToBytes",
    "Codec",
    "CodecPipeline",
    "CodecSettings",
    "Shard",
    "ShardIndex",
    "codec",
    "every_codec",
    "is_fill",
    "resolve",
    "shard_of",
]
