"""The interface of an array for reading and writing its chunks: store, metadata and codecs.

nodes.Array implements it; this package does not depend on nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from zarrscope.chunkio.locator import EncodedChunk, Fetched, Locator
from zarrscope.errors import ZarrscopeError
from zarrscope.model.metadata import ArrayMetadata
from zarrscope.model.selection import ChunkIndex, Selection
from zarrscope.model.storage import Buffer, never
from zarrscope.stores.store import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from zarrscope.codecs import CodecPipeline
    from zarrscope.model.dtype import Element
    from zarrscope.model.scattered import CoordinateSelection, OrthogonalSelection

CountOfChunks = Callable[[int, int], object]
"""Takes the number of chunks that a read found not stored, and of all chunks that it read."""


class ArraySource(Protocol):
    """The members of an array that reading and writing its chunks needs."""

    @property
    def store(self) -> Store:
        """The store that holds the chunks."""

    @property
    def path(self) -> str:
        """The path of the node in the store: "/" or such as "/a/b"."""

    @property
    def metadata(self) -> ArrayMetadata:
        """The canonical metadata, whatever the dialect of the documents."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of elements along each axis, in C order."""

    @property
    def ndim(self) -> int:
        """The number of axes; 0 for an array of one element."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of decoded elements. Raises Unsupported if numpy cannot hold the data type."""

    @property
    def fill_value(self) -> Element:
        """The value of elements whose chunk is not stored: a numpy scalar, or str or bytes for variable types."""

    @property
    def locator(self) -> Locator:
        """Finds and fetches the encoded chunks; it is replaced when the metadata change."""

    def grid_chunk_pipeline(self, shape: ChunkIndex) -> CodecPipeline:
        """The codecs for a chunk of `shape`."""

    def chunk_pipeline(self, shape: ChunkIndex) -> CodecPipeline:
        """The codecs of one chunk; in a shard, those of an inner chunk."""

    def fetch(
        self, chunks: Iterable[ChunkIndex], cancelled: Callable[[], bool] = never
    ) -> Iterator[tuple[ChunkIndex, EncodedChunk]]:
        """Yields (chunk, encoded bytes or None or the error) in order of completion."""

    def fetch_together(
        self, chunks: Iterable[ChunkIndex], cancelled: Callable[[], bool] = never
    ) -> Iterator[Sequence[Fetched]]:
        """Like `fetch`, but yields chunks that arrive together in one sequence, so that one call can decode them."""

    def decode(self, chunk: ChunkIndex, data: Buffer, out: NDArray[Any] | None) -> NDArray[Any]:
        """Decodes the bytes of one chunk, into `out` if given. Raises BadChunk, Unsupported or Refused."""

    def check_size(self, shape: ChunkIndex) -> None:
        """Raises Refused for chunks that are too large to decode."""

    def choose_keys(self, selection: Selection | OrthogonalSelection | CoordinateSelection) -> None:
        """Called before writing: finds out which of the possible keys the stored chunks have."""

    def need_writing(self) -> None:
        """Raises ReadOnly if writing is not allowed."""

    def need_unchanged(self, *, writing: bool) -> None:
        """Raises NotFound or Conflict if the array was erased or replaced since it was opened."""

    def located(self, error: ZarrscopeError, key: str | None = None) -> ZarrscopeError:
        """Returns the error with the address of the store, and with `key` or, if that is None, the path of the
        array."""

    def failure(self, error: Exception, chunk: ChunkIndex) -> ZarrscopeError:
        """The error to raise for a chunk that cannot be read: `error` with its place, or a BadChunk caused by it."""
