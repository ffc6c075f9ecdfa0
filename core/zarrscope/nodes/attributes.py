"""A node's attributes as a mapping that saves every change.

A change writes the document that holds the attributes once. The rest of the document keeps its text and order. The
write raises Conflict if the stored document changes while it is being edited, or if another writer changed the same
attribute since this node read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Protocol

from zarrscope.dialects import NodeKind, StoredDocument
from zarrscope.dialects.defects import UnreadAttributes, as_far_as_read, as_stored
from zarrscope.errors import BadMetadata, Conflict, Refused, ZarrscopeError
from zarrscope.errors.visible import visible
from zarrscope.jsondoc.document import Document, same_json
from zarrscope.jsondoc.parse import CONSOLIDATED_LIMIT, parsed_once
from zarrscope.jsondoc.pointers import pointer_of
from zarrscope.model.storage import ABSENT
from zarrscope.nodes.detect import document_limit, fetch
from zarrscope.nodes.document_keys import attributes_at
from zarrscope.nodes.edit import save
from zarrscope.nodes.listing import nothing_at

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON
    from zarrscope.model.metadata import ArrayMetadata, GroupMetadata
    from zarrscope.nodes.context import NodeContext

_ABSENT: object = object()


class Attributed(Protocol):
    """The interface of groups and arrays that Attributes needs."""

    attributes: Mapping[str, Any]

    @property
    def path(self) -> str:
        """The path of the node, "/" or such as "/a/b"."""

    @property
    def metadata(self) -> ArrayMetadata | GroupMetadata:
        """The canonical metadata, which hold no attributes."""


class Attributes(MutableMapping[str, Any]):
    """The attributes of a node as they were read when the node was opened, or as this node last saved them.

    Values are copies: to change a list or an object, assign the whole value again.

    Parameters
    ----------
    node
        The group or array.
    context
        A function that returns the context of the node's hierarchy; called when attributes are saved or read again.

    Raises
    ------
    ReadOnly
        On every change, if the hierarchy is open for reading only.
    Conflict
        Somebody else changed the same attributes, or the document while it was being saved. `refresh` reads the stored
        attributes.
    Refused
        JSON cannot hold the value, or the name is a member that the format itself uses.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> group = zarrscope.open(MemoryStore(), mode="w-").root
    >>> group.attrs["stain"] = "DAPI"
    >>> dict(group.attrs)
    {'stain': 'DAPI'}
    """

    def __init__(self, node: Attributed, context: Callable[[], NodeContext]) -> None:
        self._node = node
        self._context = context

    def __getitem__(self, name: str) -> JSON:
        return deepcopy(self._node.attributes[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._node.attributes)

    def __len__(self) -> int:
        return len(self._node.attributes)

    def __contains__(self, name: object) -> bool:
        return name in self._node.attributes

    def __repr__(self) -> str:
        stored = self._node.attributes
        return visible(f"<Attributes {stored if isinstance(stored, UnreadAttributes) else dict(stored)!r}>")

    def __setitem__(self, name: str, value: object) -> None:
        self._change({name: value})

    def __delitem__(self, name: str) -> None:
        if name not in self._node.attributes:
            raise KeyError(name)
        self._change({name: _ABSENT})

    def update(self, *others: Mapping[str, Any] | Iterable[tuple[str, Any]], **more: Any) -> None:  # type: ignore[override]  # typing splits it into overloads, and has no name for the first
        """Sets several attributes in one write.

        Parameters
        ----------
        *others, **more
            Mappings or pairs of names and values, as for `dict.update`.

        Raises
        ------
        ReadOnly, Conflict, Refused
            The hierarchy was not opened for writing; somebody changed the document meanwhile; a value is not JSON.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> h = zarrscope.open(MemoryStore(), mode="w-")
        >>> h.root.attrs.update(channel=3, gain=1.5)
        >>> dict(h.root.attrs)
        {'channel': 3, 'gain': 1.5}
        """
        self._change(dict(*others, **more))

    def put(self, attributes: Mapping[str, Any]) -> None:
        """Replaces all attributes by the given ones, in one write.

        Parameters
        ----------
        attributes
            The names and values.

        Raises
        ------
        ReadOnly, Conflict, Refused
            The hierarchy was not opened for writing; somebody changed the document meanwhile; a value is not JSON.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> h = zarrscope.open(MemoryStore(), mode="w-")
        >>> h.root.attrs.put({"only": True})
        >>> dict(h.root.attrs)
        {'only': True}
        """
        self._change({**dict.fromkeys(as_far_as_read(self._node.attributes), _ABSENT), **attributes})

    def clear(self) -> None:
        """Removes all attributes, in one write.

        Raises
        ------
        ReadOnly, Conflict
            The hierarchy was not opened for writing; somebody changed the document meanwhile.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> h = zarrscope.open(MemoryStore(), mode="w-")
        >>> h.root.attrs["x"] = 1
        >>> h.root.attrs.clear()
        >>> len(h.root.attrs)
        0
        """
        self.put({})

    def asdict(self) -> dict[str, Any]:
        """Returns the attributes as a dict. It is a copy: a change of it is not saved.

        Returns
        -------
        dict
            The names and values.

        Raises
        ------
        BadMetadata
            The document is too broken to show attributes.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> h = zarrscope.open(MemoryStore(), mode="w-")
        >>> h.root.attrs["axes"] = ["y", "x"]
        >>> h.root.attrs.asdict()
        {'axes': ['y', 'x']}
        """
        return deepcopy(dict(self._node.attributes))

    def refresh(self) -> None:
        """Reads the stored attributes again.

        Raises
        ------
        NotFound, BadMetadata, Unreadable
            The node is gone; its document is broken; it cannot be read.

        Examples
        --------
        >>> import zarrscope
        >>> from zarrscope.stores.memory import MemoryStore
        >>> h = zarrscope.open(MemoryStore(), mode="w-")
        >>> group, same = h.root, h.root
        >>> same.attrs["x"] = 1
        >>> group.attrs.refresh()
        >>> dict(group.attrs)
        {'x': 1}
        """
        context = self._context()
        node = context.own_node(self._node.path)
        if node is None:
            raise nothing_at(context, self._node.path)
        self._node.attributes = as_stored(node.attributes)

    def _change(self, changes: Mapping[str, Any]) -> None:
        with parsed_once():
            self._changed(changes)

    def _changed(self, changes: Mapping[str, Any]) -> None:
        for name in changes:
            if not isinstance(name, str):
                raise TypeError(f"the name of an attribute is text, not {name!r}")
        context, path = self._context(), self._node.path
        metadata = self._node.metadata
        dialect = next((each for each in context.dialects if each.name == metadata.dialect), context.dialect)
        key, pointer = dialect.attributes_at(path, metadata.kind)
        context.need_writing(key)
        old = read_document(context, key)
        if pointer and old.version is ABSENT:
            raise Refused(
                f"{path} has no document that could hold attributes",
                store=context.url,
                key=key,
                advice="Create the group first: create_group writes one.",
            )
        need_object(old, pointer, path, context.url)
        documents: dict[str, StoredDocument] = {**fetch(context.store, context.keys_of(path)), key: old.bytes}
        if old.version is ABSENT:
            del documents[key]
        before = context.parsed(path, documents)
        stored = as_far_as_read(before.attributes) if before is not None else {}
        known = as_far_as_read(self._node.attributes)
        try:
            new = old.with_object(pointer)
            for name, value in changes.items():
                if not same_json(stored.get(name, _ABSENT), known.get(name, _ABSENT)):
                    raise Conflict(
                        f"The attribute {name!r} of {path} was changed since it was read",
                        theirs=old.bytes,
                        advice="Look at it again with attrs.refresh(), then change it.",
                    )
                place = pointer + pointer_of([name])
                if value is not _ABSENT:
                    new = new.set(place, value)
                elif new.has(place):
                    new = new.remove(place)
        except ZarrscopeError as error:
            raise error.located(store=context.url, key=key) from None
        after = context.parsed(path, {**documents, key: new.bytes})
        shown: Mapping[str, Any] = after.attributes if after is not None else {}
        for name, value in changes.items():
            if value is not _ABSENT and name not in shown:
                raise Refused(
                    f"{name!r} is not an attribute: {dialect.title} itself uses it",
                    store=context.url,
                    key=key,
                    advice="Choose another name.",
                )
        if new.bytes != old.bytes:
            save(context, path, new)
        self._node.attributes = as_stored(shown)


def same_node(one: Attributed, other: Attributed) -> bool:
    """Whether two nodes of one store have the same path, and were read with the same metadata and attributes."""
    return (
        one.path == other.path
        and one.metadata == other.metadata
        and (one.attributes is other.attributes or same_json(one.attributes, other.attributes))
    )


def need_object(document: Document, pointer: str, path: str, url: str) -> None:
    """Raises BadMetadata if the document has a value at the pointer to the attributes that is not a JSON object."""
    place = {"store": url, "key": document.key}
    if pointer and not isinstance(document.value, dict):
        raise BadMetadata(f"The document of {path} is not a JSON object", **place, advice="Restore it from a copy.")
    if not isinstance(document.get(pointer, None), dict | None):
        raise BadMetadata(
            f"The attributes of {path} are not a JSON object",
            **place,
            pointer=pointer or None,
            advice=f"Write an object in their place first: zarrscope attrs set STORE {path} '' '{{}}'.",
        )


def read_document(context: NodeContext, key: str) -> Document:
    """Reads the document at `key` from the store; an absent one is "{}" with the version ABSENT."""
    found = context.store.get_versioned(key, document_limit(context.store, "zarr.json"))
    if found is None:
        return Document(b"{}", key, ABSENT)
    try:
        return Document(found[0], key, found[1], limit=CONSOLIDATED_LIMIT)
    except ZarrscopeError as error:
        raise error.located(store=context.url, key=key) from None


def document_as_opened(context: NodeContext, path: str, kind: NodeKind) -> Document:
    """The document with the attributes of a node, as it was read when the node was opened; an absent one is "{}". Its
    version is that of these bytes. Asks the store only for what was not read yet."""
    if not context.store.remote or len(context.dialects) > 1:
        return read_document(context, attributes_at(context, path)[0])
    key = context.dialect.attributes_at(path, kind)[0]
    value = context.as_read(key)
    if value is None:
        return Document(b"{}", key, ABSENT)
    version = context.store._version_of(value)
    if version is None:
        return read_document(context, key)
    try:
        return Document(value, key, version, limit=CONSOLIDATED_LIMIT)
    except ZarrscopeError as error:
        raise error.located(store=context.url, key=key) from None
