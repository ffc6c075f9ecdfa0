"""Arrays: reading and writing stored values with numpy's basic indexing.

Reading `array[selection]` blocks and caches nothing. It fetches only the chunks that the selection touches
(chunkio/locator.py), many at once from a remote store, and decodes them on all cores (chunkio/read.py). Chunks that are
not stored read as the fill value. Viewers read through view.loader.ChunkLoader, which has a cache.

Writing `array[selection] = values` stores whole chunks (or shards). If a chunk is written in part, changes that others
made meanwhile are kept (chunkio/write.py). Specification: v3 core "Chunk grids", "Stored representation".
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from zarrscope.dialects.defects import UnreadAttributes, as_stored
from zarrscope.errors import ZarrscopeError
from zarrscope.errors.visible import visible
from zarrscope.model.metadata import ArrayMetadata, CodecSpec, ExtensionReport
from zarrscope.model.selection import ChunkIndex, Edges, select
from zarrscope.nodes.stored_array import StoredArray
from zarrscope.stores.store import Store

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from zarrscope.model.dtype import Element
    from zarrscope.nodes.attributes import Attributes
    from zarrscope.nodes.hierarchy_like import HierarchyLike
    from zarrscope.nodes.indexers import BlockIndexer, OrthogonalIndexer, PointIndexer
    from zarrscope.nodes.opened import Opened


class Array:
    """An array of a hierarchy, read and written by numpy's basic indexing.

    `Hierarchy` opens and creates arrays. An array that zarrscope cannot decode still has its shape, metadata and
    attributes; `problem` holds the reason. Any thread may use an array, and pickle passes it to other processes.

    Two arrays are equal if they have the same place, metadata and attributes; their values are not compared.

    Parameters
    ----------
    store
        The store that holds the chunks and documents of the array.
    path
        The path of the array in the hierarchy.
    metadata
        The metadata from the array's document.
    attributes
        The attributes, as they were read.
    warnings
        Warnings from opening the array.
    hierarchy
        The hierarchy in which the array was opened; None for an unpickled array.
    opened
        The documents from which the array was opened; they show whether the stored array has changed since.

    Attributes
    ----------
    attributes
        The attributes as they were read or last saved, for reading only. See `attrs`.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> h = zarrscope.open(MemoryStore(), mode="w-")
    >>> cells = h.create_array("/cells", shape=(4, 6), dtype="uint16", chunks=(2, 3))
    >>> cells[1, :3] = [7, 8, 9]
    >>> cells[1, ::2].tolist()
    [7, 9, 0]
    """

    kind: Literal["array"] = "array"

    def __init__(
        self,
        store: Store,
        path: str,
        metadata: ArrayMetadata,
        attributes: Mapping[str, Any] | None = None,
        *,
        warnings: tuple[str, ...] = (),
        hierarchy: HierarchyLike | None = None,
        opened: Opened | None = None,
    ) -> None:
        context = hierarchy._nodes if hierarchy is not None else None
        self._stored = StoredArray(store, path, metadata, warnings=warnings, context=context, opened=opened)
        self.hierarchy = hierarchy
        self.attributes = as_stored(attributes if attributes is not None else {})

    # ------------------------------------------------------------------ properties
    @property
    def path(self) -> str:
        """The path of the array in the hierarchy, such as "/a/b"; "/" for the root."""
        return self._stored.path

    @property
    def name(self) -> str:
        """The last part of the path; "" for a root."""
        return self.path.rpartition("/")[2]

    @property
    def store(self) -> Store:
        """The store that holds the chunks."""
        return self._stored.store

    @property
    def metadata(self) -> ArrayMetadata:
        """The metadata in canonical form, the same for all formats."""
        return self._stored.metadata

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings from opening and using the array."""
        return self._stored.warnings

    @property
    def attrs(self) -> Attributes:
        """The attributes as a mapping that can be changed; every change is saved at once. `attributes` is read-only."""
        from zarrscope.nodes.attributes import Attributes
        from zarrscope.nodes.context import context_of

        return Attributes(self, lambda: self._stored.context or context_of(self._stored.documents))

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of elements along each axis."""
        return self._stored.metadata.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of decoded values, in native byte order. Raises Unsupported if there is none in numpy."""
        return self._stored.dtype

    @property
    def nbytes(self) -> int:
        """The decoded size in bytes; 0 if unknown. For types of varying length, the size of the references."""
        numpy = self.metadata.dtype.numpy
        return self.size * (numpy.itemsize if numpy is not None else self.metadata.dtype.itemsize)

    @property
    def fill_value(self) -> Element:
        """The value of elements whose chunk is not stored: a numpy scalar, or str or bytes for varying lengths."""
        return self._stored.fill_value

    @property
    def dimension_names(self) -> tuple[str | None, ...] | None:
        """The name of each axis, None for an axis without a name; None if the document states no names."""
        return self.metadata.dimension_names

    @property
    def chunks(self) -> tuple[int, ...]:
        """The shape of the smallest part that can be read separately: an inner chunk of a shard, or, without shards
        that can be read in parts, a chunk of the grid."""
        return self._stored.locator.chunk_shape

    @property
    def shards(self) -> tuple[int, ...] | None:
        """The shape of a shard; None if each chunk is stored by itself."""
        return self.metadata.grid.chunk_shape if self._stored.locator.tiers else None

    @property
    def chunk_grid_shape(self) -> tuple[int, ...]:
        """The number of chunks along each axis."""
        return self._stored.locator.grid_shape

    @property
    def nchunks(self) -> int:
        """The number of chunks in the grid, stored or not."""
        return prod(self.chunk_grid_shape)

    @property
    def filters(self) -> tuple[CodecSpec, ...]:
        """The codecs from elements to elements, as they are applied when a chunk is written. The order "F" of v2 is a
        transpose here, as in `metadata`."""
        return self._stored.codecs_of_kind("array→array")

    @property
    def compressors(self) -> tuple[CodecSpec, ...]:
        """The codecs from bytes to bytes, as they are applied when a chunk is written: compressors and checksums."""
        return self._stored.codecs_of_kind("bytes→bytes")

    @property
    def order(self) -> str:  # with Literal in an annotation of a property, jedi 0.20 completes no name of the object
        """The order of the elements within a stored chunk: "F" if all axes are reversed, else "C"."""
        first = next((spec for spec in self.filters if spec.name == "transpose"), None)
        reversed_axes = [*range(self.ndim)][::-1]
        return "F" if first is not None and first.configuration.get("order") == reversed_axes else "C"

    @property
    def problem(self) -> ZarrscopeError | None:
        """The error because of which this array cannot be decoded; None if none is known. Makes no request."""
        return self._stored.problem

    @property
    def writable(self) -> bool:
        """Whether the store, and the mode in which the hierarchy was opened, allow writing."""
        return self._stored.writable

    @property
    def extensions(self) -> tuple[ExtensionReport, ...]:
        """A report of each extension that the array uses, codecs included: whether zarrscope understands it."""
        from zarrscope.codecs.registry import codec_reports

        told = {report.name for report in self.metadata.extensions if report.point == "codec"}
        codecs = (report for report in codec_reports(self.metadata.codecs) if report.name not in told)
        return (*self.metadata.extensions, *codecs)

    def edges(self, axis: int) -> Edges:
        """The chunk edges along an axis. In a rectilinear grid chunks may differ in size from `chunks`.

        Parameters
        ----------
        axis
            The number of the axis.

        Returns
        -------
        Edges
            `chunk_of(position)` is the index of the chunk that holds a position, `span(chunk)` the start and stop of a
            chunk.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> a = zarrscope.open(MemoryStore(), "w-").create_array("/a", shape=(10,), dtype="u1", chunks=(4,))
        >>> a.edges(0).chunk_of(5), a.edges(0).span(1)
        (1, (4, 8))
        """
        return self._stored.edges(axis)

    # ------------------------------------------------------------------ reading
    def __getitem__(self, index: object) -> Any:
        """Reads the elements that `index` selects: an array, or a scalar if numpy's indexing returns a scalar.

        Parameters
        ----------
        index
            Integers, slices and an ellipsis, as in numpy. One of them may be a list or a mask, or all of them lists;
            `oindex` and `vindex` take more.

        Returns
        -------
        numpy.ndarray or scalar
            A new array.

        Raises
        ------
        IndexError
            The index does not fit the array.
        BadChunk, Unreadable, Unsupported
            A chunk cannot be decoded; the store did not return it; zarrscope lacks a codec or the data type.
        Refused
            The result does not fit into memory, or a chunk is larger than allowed.
        """
        self._stored.need_sound()
        if (by_lists := _by_lists(self._stored, index)) is not None:
            return by_lists[0][by_lists[1]]
        selection = select(index, self.shape)
        out = self._stored.read(selection).reshape(selection.shape)
        return out[()] if selection.scalar else out

    @property
    def oindex(self) -> OrthogonalIndexer:
        """Reading and writing by a list or a mask of positions along each axis: `array.oindex[[0, 5], :, mask]`."""
        from zarrscope.nodes.indexers import OrthogonalIndexer

        self._stored.need_sound()
        return OrthogonalIndexer(self._stored)

    @property
    def vindex(self) -> PointIndexer:
        """Reading and writing point by point: `array.vindex[[0, 5], [1, 2]]`, or a mask of the array's shape."""
        from zarrscope.nodes.indexers import PointIndexer

        self._stored.need_sound()
        return PointIndexer(self._stored)

    @property
    def blocks(self) -> BlockIndexer:
        """Reading and writing whole chunks, or shards, by their numbers: `array.blocks[1, 0:2]`."""
        from zarrscope.nodes.indexers import BlockIndexer

        self._stored.need_sound()
        return BlockIndexer(self._stored)

    def read_chunk(self, index: ChunkIndex) -> NDArray[Any]:
        """Reads one chunk, clipped to the array's edge. A chunk that is not stored consists of the fill value.

        Parameters
        ----------
        index
            The index of the chunk along each axis of the grid `chunk_grid_shape`.

        Returns
        -------
        numpy.ndarray
            The elements; the caller must not change them.

        Raises
        ------
        IndexError
            The grid has no chunk with this index.
        BadChunk, Unreadable, Unsupported
            The same errors as reading by `array[...]`.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> a = zarrscope.open(MemoryStore(), "w-").create_array("/a", shape=(10,), dtype="u1", chunks=(4,))
        >>> a.read_chunk((2,)).tolist()
        [0, 0]
        """
        self._stored.need_sound()
        return self._stored.read_chunk(tuple(map(operator.index, index)))

    # ------------------------------------------------------------------ writing
    def __setitem__(self, index: object, values: ArrayLike) -> None:
        """Stores `values`, broadcast as numpy does.

        Parameters
        ----------
        index
            The elements to replace, as for reading.
        values
            The values to store.

        Raises
        ------
        ReadOnly, Unsupported, Unreadable
            The array was not opened for writing; a codec cannot encode; a chunk that is written in part cannot be read.
        NotFound, Conflict
            The array was erased or replaced meanwhile.
        """
        self._stored.need_sound()
        if (by_lists := _by_lists(self._stored, index)) is not None:
            by_lists[0][by_lists[1]] = values
        else:
            self._stored.write(select(index, self.shape), values)

    def resize(self, shape: int | Sequence[int]) -> None:
        """Changes the shape, then erases the chunks that lie wholly outside the new shape.

        A chunk that lies partly outside is kept, so all its values can be read again if the array grows back.

        Parameters
        ----------
        shape
            The new number of elements along each axis.

        Raises
        ------
        TypeError, ValueError
            A length is not a whole number; there is not one length per axis, or one is negative or too large.
        Conflict, ReadOnly
            Somebody changed the array's document meanwhile; the hierarchy was not opened for writing.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> a = zarrscope.open(MemoryStore(), "w-").create_array("/a", shape=(10,), dtype="u1")
        >>> a.resize((12,))
        >>> a.shape
        (12,)
        """
        self._stored.need_sound()
        self._stored.resize(shape)

    def append(self, values: ArrayLike, axis: int = 0) -> tuple[int, ...]:
        """Makes the array longer along one axis, and stores values there. Wrong values are refused before it grows.

        In memory and in folders the new shape is stored last, so that a killed process leaves the former array. Other
        stores cannot make processes wait; there it is stored first, so that one of two gets a Conflict.

        Parameters
        ----------
        values
            The values to add; along the other axes they are as long as the array.
        axis
            The axis along which the array grows.

        Returns
        -------
        tuple of int
            The new shape.

        Raises
        ------
        ValueError, OverflowError
            The values have another shape, or the data type cannot hold them.
        Conflict
            Somebody else changed the array's shape since it was opened, so that their values might be overwritten.
        ReadOnly, Unsupported, Unreadable
            As for writing by `array[...]`. If writing fails, the array keeps its former shape, or gets it back.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> a = zarrscope.open(MemoryStore(), "w-").create_array("/a", shape=(0, 2), chunks=(4, 2), dtype="u1")
        >>> a.append([[1, 2], [3, 4]])
        (2, 2)
        >>> a[...].tolist()
        [[1, 2], [3, 4]]
        """
        self._stored.need_sound()
        from zarrscope.nodes.growing import append

        return append(self._stored, values, axis)

    # ------------------------------------------------------------------ Python protocols
    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def __bool__(self) -> bool:
        return True  # also without elements, as in zarr-python: numpy's truth would depend on the shape

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Array):
            return NotImplemented
        from zarrscope.nodes.attributes import same_node

        return self is other or (self.store.url == other.store.url and same_node(self, other))

    def __hash__(self) -> int:
        return hash((self.store.url, self.path))

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """All values, for numpy. Raises ValueError for copy=False: stored values must be read into new memory."""
        if copy is False:
            raise ValueError("a stored array cannot become a numpy array without a copy")
        return np.asarray(self[...], dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        attributes = self.attributes if isinstance(self.attributes, UnreadAttributes) else dict(self.attributes)
        # Remote stores pickle themselves, with the settings needed to reopen them (stores/remote.py). Other stores are
        # reopened from their URL.
        knows = any("__reduce__" in kind.__dict__ for kind in type(self.store).__mro__[:-1])
        store = self.store if knows else self.store.url
        links = self.store.allow_outside
        return _reopened, (store, self.writable, self.path, self.metadata, attributes, self._stored.opened, links)

    def __repr__(self) -> str:
        return visible(f"<Array {self.path} {self.shape} {self.metadata.dtype.name} in {self.store.url}>")

    def _repr_html_(self) -> str:
        """An HTML summary of bounded size for notebooks; it requests nothing from the store."""
        from zarrscope.nodes import html

        return html.of_array(self)


def _reopened(
    store: Store | str,
    writable: bool,
    path: str,
    metadata: ArrayMetadata,
    attributes: Mapping[str, Any],
    opened: Opened | None = None,
    follow_links: bool = False,
) -> Array:
    from zarrscope.runtime.threads import keep_to_worker
    from zarrscope.stores.address import open_store

    keep_to_worker()
    found = open_store(store, "r+" if writable else "r", follow_links=follow_links) if isinstance(store, str) else store
    return Array(found, path, metadata, attributes, opened=opened)


def _by_lists(stored: StoredArray, index: object) -> tuple[OrthogonalIndexer | PointIndexer, tuple[Any, ...]] | None:
    parts = index if isinstance(index, tuple) else (index,)
    if not any(isinstance(part, (list, tuple, range, np.ndarray)) for part in parts):
        return None
    from zarrscope.nodes.indexers import by_lists

    return by_lists(stored, parts)
