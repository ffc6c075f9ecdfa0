"""Codecs: from a chunk's bytes to its elements and back, named per dialect on the codec and nowhere else.

Codecs are resolved when an array is opened: configuration and compatibility errors come then, never in mid-scroll.

    pipeline = CodecPipeline(metadata.codecs, ArraySpec(chunk_shape, metadata.dtype, metadata.fill))
    elements = pipeline.decode(data, out)      pipeline.encode(elements)      pipeline.shard: inner chunks by byte range

kinds.py says what a codec is and holds the registry; pipeline.py runs a list of them; array, compress, zstd, sharding
and the rest hold the codecs. Importing this imports none of the libraries that do the work.
"""

# Each of these fills the registry, in the order in which tables show it.
from zarrscope.codecs import array, compress, zstd, sharding, numeric, streams, packbits, objects, floats, n5  # noqa: F401, I001
from zarrscope.codecs.kinds import (
    CODECS,
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
from zarrscope.codecs.lookup import codec_id, codec_name, codec_table, resolve
from zarrscope.codecs.settings import Settings
from zarrscope.codecs.sharding import Shard, ShardIndex

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
    "is_fill",
    "resolve",
]
