"""zarrscope, the engine: opens anything that ever called itself Zarr. No GUI in here, ever."""

from zarrscope.errors import (
    BadChunk,
    BadMetadata,
    Conflict,
    NotFound,
    ReadOnly,
    Refused,
    Unreadable,
    Unsupported,
    ZarrscopeError,
)

__all__ = [
    "BadChunk",
    "BadMetadata",
    "Conflict",
    "NotFound",
    "ReadOnly",
    "Refused",
    "Unreadable",
    "Unsupported",
    "ZarrscopeError",
]
