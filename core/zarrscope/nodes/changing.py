"""The methods of a Hierarchy that create, edit and erase nodes. An Array writes its own elements (array.py).

The methods call functions of create.py, edit.py, attributes.py and consolidated.py. move.py moves and copies nodes.
Specification: v3 core, v2, spec A.8, A.9.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from zarrscope.errors import ZarrscopeError
from zarrscope.model.metadata import ArrayMetadata, GroupMetadata
from zarrscope.model.node_path import clean_path
from zarrscope.model.storage import never
from zarrscope.nodes.context import NodeContext
from zarrscope.nodes.group import Group

# Methods import the modules that only they need, so that opening and reading do not import them.
if TYPE_CHECKING:
    import numpy.typing as npt

    from zarrscope.jsondoc.document import Document
    from zarrscope.model.dtype import DataType
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.create import CodecLike
    from zarrscope.nodes.new_documents import NewDocuments
    from zarrscope.nodes.overwrite import FormerNode
    from zarrscope.stores.dry_run import Operation


class ChangingHierarchy:
    """The methods of a Hierarchy that change stored data. The hierarchy must be opened in a mode other than "r".

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> h = zarrscope.open(MemoryStore(), mode="w-")
    >>> _ = h.create_group("/images", {"stain": "DAPI"})
    >>> h.erase("/images")
    """

    _nodes: NodeContext

    if TYPE_CHECKING:

        def open_node(self, path: str) -> Group | Array:
            """Opens a node, as Hierarchy does, which inherits from this class."""
            raise NotImplementedError  # Hierarchy defines it

    # ------------------------------------------------------------------ creating
    def create_group(self, path: str, attributes: Mapping[str, Any] | None = None, *, overwrite: bool = False) -> Group:
        """Creates a group, and the groups above it that are missing.

        Parameters
        ----------
        path
            The path of the new group.
        attributes
            The attributes to store in it.
        overwrite
            Whether a node at the path, and everything beneath it, is replaced. A folder with a trash keeps it there
            (`zarrscope trash`). Elsewhere it is kept under another name until the new node is complete, and comes back
            if that fails; where the store cannot rename keys, this takes as much room once more.

        Returns
        -------
        Group
            The new group.

        Raises
        ------
        Exists
            There is a node at the path already. It is a Conflict and a FileExistsError.
        Refused, ReadOnly
            The name is not allowed or lies beneath an array; the root cannot be overwritten; the hierarchy was not
            opened for writing.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> h = zarrscope.open(MemoryStore(), mode="w-")
        >>> dict(h.create_group("/images", {"stain": "DAPI"}).attributes)
        {'stain': 'DAPI'}
        """
        path = clean_path(path)
        from zarrscope.nodes.folders import within

        nodes = within(self._nodes, path)
        _create(nodes, path, GroupMetadata(nodes.dialect.name), attributes or {}, overwrite).settle()
        made = self.open_node(path)
        assert isinstance(made, Group)
        return made

    def create_array(
        self,
        path: str,
        *,
        shape: int | Sequence[int] | None = None,
        dtype: npt.DTypeLike | DataType | None = None,
        data: npt.ArrayLike | None = None,
        chunks: int | Sequence[int] | None = None,
        shards: int | Sequence[int] | None = None,
        codecs: CodecLike | Sequence[CodecLike] | None = None,
        fill_value: object = ...,
        dimension_names: Sequence[str | None] | None = None,
        attributes: Mapping[str, Any] | None = None,
        separator: str | None = None,
        overwrite: bool = False,
    ) -> Array:
        """Creates an array, and the groups above it that are missing. create.py chooses the defaults.

        Parameters
        ----------
        path
            The path of the new array.
        shape, dtype, dimension_names, attributes
            The elements and axes of the array, as its document describes them. One number as `shape` is one axis.
        data
            The values to store, in place of `shape` and `dtype`. By default the array has fill values. If the values
            cannot be stored, the array is erased again.
        fill_value
            The value of elements that are not stored: by default 0, False or "", for times NaT. None leaves it
            undefined, which v2 can express.
        chunks, shards
            The shapes of chunks and of shards; one number holds for all axes. Without `shards` each chunk is stored by
            itself.
        codecs
            The codec or codecs of chunks, with `shards` of the inner chunks: names, {"name", "configuration"} or
            CodecSpec.
        separator
            The character between the numbers of a chunk's key: "/" or ".".
        overwrite
            Whether a node at the path, and everything beneath it, is replaced, as in `create_group`.

        Returns
        -------
        Array
            The new array.

        Raises
        ------
        Exists
            There is a node at the path already. It is a Conflict and a FileExistsError.
        ValueError
            Neither `data` nor both `shape` and `dtype` are given; or all of them are.
        Unsupported
            The dialect cannot express the array.
        Refused, ReadOnly
            The name is not allowed or lies beneath an array; the hierarchy was not opened for writing.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> h = zarrscope.open(MemoryStore(), mode="w-")
        >>> a = h.create_array("/a", shape=(64, 64), dtype="uint16", chunks=(16, 16), shards=(64, 64), codecs=["zstd"])
        >>> a.chunks, a.shards
        ((16, 16), (64, 64))
        """
        path = clean_path(path)
        from zarrscope.nodes.create import new_array, values_of
        from zarrscope.nodes.folders import within

        values = values_of(data, shape, dtype)
        if values is not None:
            shape, dtype = values.shape, values.dtype
        assert shape is not None
        assert dtype is not None
        nodes = within(self._nodes, path)
        metadata = new_array(
            nodes.dialect,
            path,
            shape=shape,
            dtype=dtype,
            chunks=chunks,
            shards=shards,
            codecs=codecs,
            fill_value=fill_value,
            dimension_names=dimension_names,
            separator=separator,
        )
        from zarrscope.nodes.array import Array
        from zarrscope.nodes.stored_array import StoredArray

        StoredArray(nodes.store, path, metadata).need_encoding()
        created = _create(nodes, path, metadata, attributes or {}, overwrite)
        began = time.monotonic()
        made = self.open_node(path)
        assert isinstance(made, Array)
        if made._stored.opened is not None:
            made._stored.opened.note_creation(time.monotonic() - began)
        if values is not None:
            try:
                made[...] = values
            except BaseException as error:
                with suppress(ZarrscopeError):  # the first error counts
                    self.erase(path)
                created.undo(error)
                raise
        created.settle()
        return made

    # ------------------------------------------------------------------ editing
    def document(self, path: str) -> Document:
        """Reads the document that holds a node's attributes from the store; if a v2 node has no .zattrs, it is "{}".

        Parameters
        ----------
        path
            The path of the node.

        Returns
        -------
        Document
            The text of the document and its version; `set` and `remove` return an edited document for `save`.

        Raises
        ------
        NotFound, BadMetadata, Unreadable
            There is no such node; its document is not JSON; it cannot be read.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> h = zarrscope.open(MemoryStore(), mode="w-")
        >>> h.document("/").get("/node_type")
        'group'
        """
        from zarrscope.nodes.attributes import read_document
        from zarrscope.nodes.document_keys import attributes_at

        return read_document(self._nodes, attributes_at(self._nodes, clean_path(path))[0])

    def save(self, path: str, document: Document, *, allow_nan: bool = False) -> Document:
        """Stores an edited document of a node if nobody else changed it since it was read.

        Parameters
        ----------
        path, document
            The path of the node, and the edited result of `document(path)`.
        allow_nan
            Allows an edit to add values that JSON forbids or leaves open, such as NaN. Without it, only those that are
            already stored may stay.

        Returns
        -------
        Document
            The document at its new version.

        Raises
        ------
        Conflict
            Somebody changed the document meanwhile; the error holds the stored one.
        BadMetadata
            The document would no longer describe a node.
        ReadOnly, NotStandard
            The hierarchy was not opened for writing; the edit needs `allow_nan`.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> h = zarrscope.open(MemoryStore(), mode="w-")
        >>> _ = h.save("/", h.document("/").set("/attributes", {"stain": "DAPI"}))
        >>> dict(h.root.attributes)
        {'stain': 'DAPI'}
        """
        from zarrscope.nodes.edit import save

        return save(self._nodes, clean_path(path), document, allow_nan=allow_nan)

    def erase(self, path: str) -> None:
        """Removes a node and everything beneath it. If `path` has no node, removes the keys that are stored beneath it.

        Implicit groups above vanish if they exist only because of this node. `zarrscope.moving` has `move`, `copy` and
        `rename`.

        Parameters
        ----------
        path
            The path of the node.

        Raises
        ------
        NotFound
            Nothing is stored at the path.
        Refused, ReadOnly
            The path is the root, or the name is not allowed; the hierarchy was not opened for writing.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> h = zarrscope.open(MemoryStore(), mode="w-")
        >>> _ = h.create_group("/g")
        >>> h.erase("/g")
        >>> "/g" in h
        False
        """
        from zarrscope.nodes.edit import erase

        erase(self._nodes, clean_path(path))

    def consolidate(self, cancelled: Callable[[], bool] = never) -> int | None:
        """Writes consolidated metadata: copies of all documents at the root, which a reader gets with one request.

        Parameters
        ----------
        cancelled
            Called between nodes; when it returns true, nothing is written.

        Returns
        -------
        int or None
            The number of documents copied; None after a cancellation.

        Raises
        ------
        Unsupported
            The dialect has no consolidated metadata.
        ReadOnly, Conflict, Unreadable
            The hierarchy was not opened for writing; somebody changed the root's document meanwhile; a document cannot
            be read.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> h = zarrscope.open(MemoryStore(), mode="w-")
        >>> _ = h.create_group("/g")
        >>> h.consolidate() is not None
        True
        """
        from zarrscope.nodes.consolidated import consolidate

        return consolidate(self._nodes, cancelled)

    def dry_run(self, log: list[Operation]) -> Self:
        """Returns a hierarchy for a dry run, which reads the stored data and writes nothing.

        Parameters
        ----------
        log
            A list; every write operation that the store would have carried out is appended to it.

        Returns
        -------
        Hierarchy
            The hierarchy for the dry run.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> h = zarrscope.open(MemoryStore(), mode="w-")
        >>> log = []
        >>> _ = h.dry_run(log).create_group("/g")
        >>> len(log) > 0, "/g" in h
        (True, False)
        """
        from zarrscope.stores.dry_run import DryRunStore

        nodes = copy.copy(self._nodes)
        nodes.store = DryRunStore(nodes.store, log)
        nodes.collected_warnings = [*nodes.collected_warnings]
        nodes.forget()
        tried = copy.copy(self)
        nodes.owns_store = False
        tried._nodes = nodes
        return tried


def _create(
    nodes: NodeContext,
    path: str,
    metadata: ArrayMetadata | GroupMetadata,
    attributes: Mapping[str, Any],
    overwrite: bool,
) -> _Created:
    """Creates a node, in place of one that is there if `overwrite`. If it fails, nothing is left of it, and the former
    node is restored."""
    from zarrscope.nodes.edit import create_node, key_of

    made = _Created(nodes)
    if not overwrite:
        made.new.update(create_node(nodes, path, metadata, attributes))
        return made
    from zarrscope.nodes.overwrite import make_room

    nodes.need_writing(key_of(nodes, path))  # it says more than the lock of a store that is read-only
    try:
        with nodes.store.lock():
            made.former = make_room(nodes, path, metadata, attributes)
            made.new.update(create_node(nodes, path, metadata, attributes))
    except BaseException as error:
        made.undo(error)
        raise
    return made


class _Created:
    """A new node, and the one in whose place it is."""

    def __init__(self, nodes: NodeContext) -> None:
        self.nodes = nodes
        self.new: NewDocuments = {}
        self.former: FormerNode | None = None

    def undo(self, error: BaseException) -> None:
        """Erases the documents that were created, and restores the former node, after `error`, which counts."""
        from zarrscope.nodes.new_documents import erase_new
        from zarrscope.nodes.overwrite import take_back

        with suppress(ZarrscopeError):
            erase_new(self.nodes, self.new)
        take_back(self.nodes, self.former, error)

    def settle(self) -> None:
        """Erases a former node that was kept aside until the new one is complete; what is in a trash stays there."""
        from zarrscope.nodes.overwrite import InTrash, erase_former

        if self.former is not None and not isinstance(self.former, InTrash):
            erase_former(self.nodes, self.former)
