"""Codecs: from a chunk's bytes to its elements and back, named per dialect on the codec and nowhere else.

Codecs are resolved when an array is opened: configuration and compatibility errors come then, never in mid-scroll.

    pipeline = CodecPipeline(metadata.codecs, ArraySpec(chunk_shape, metadata.dtype, metadata.fill))
    elements = pipeline.decode(data, out)      pipeline.encode(elements)      pipeline.shard: inner chunks by byte range

kinds.py says what a codec is and holds the registry; pipeline.py runs a list of them; array, blosc, compress, zstd,
sharding and the rest hold the codecs. Importing this imports none of the libraries that do the work.
"""

from typing import TYPE_CHECKING, Any

# These fill the registry; lookup.py brings those that few arrays have when one of them is asked for.
from zarrscope.codecs import array, blosc, compress, sharding, zstd  # noqa: F401
from zarrscope.codecs.kinds import (
    ArraySpec,
    ArrayToArray,
    ArrayToBytes,
    BytesSpec,
    BytesToBytes,
    Codec,
    codec,
    is_fill,
)
from zarrscope.codecs.lookup import codec_id, codec_name, codec_table, every_codec, resolve
from zarrscope.codecs.pipeline import CodecPipeline
from zarrscope.codecs.settings import Settings
from zarrscope.codecs.sharding import Shard, ShardIndex

if TYPE_CHECKING:
    from zarrscope.codecs.kinds import CODECS


def __getattr__(name: str) -> Any:
    if name == "CODECS":
        return every_codec()
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
    "Settings",
    "Shard",
    "ShardIndex",
    "codec",
    "codec_id",
    "codec_name",
    "codec_table",
    "every_codec",
    "is_fill",
    "resolve",
]
