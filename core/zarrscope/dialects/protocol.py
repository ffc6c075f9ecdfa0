"""The interface of dialects. A dialect (a version of Zarr, a draft, or N5) names the keys of a node's documents and
chunks, and translates the documents into canonical metadata and back.

A dialect does no I/O: the hierarchy (zarrscope/nodes) fetches and stores the documents. Therefore the hierarchy can
fetch several documents in parallel, take documents from consolidated metadata without a request, count its requests,
and plan a change without making it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, Protocol

from zarrscope.dialects.defects import as_far_as_read
from zarrscope.errors import ZarrscopeError
from zarrscope.errors.visible import visible
from zarrscope.model.frozen import frozen
from zarrscope.model.metadata import ArrayMetadata, ChunkKeys, Defect, ExtensionReport, GroupMetadata
from zarrscope.model.schema import SchemaFault
from zarrscope.model.storage import Entry
from zarrscope.runtime.named_tuple import NamedTuple

DIMENSIONS = "_ARRAY_DIMENSIONS"
"""The attribute in which xarray stores the names of dimensions."""

NodeKind = Literal["array", "group"]
StoredDocument = bytes | Mapping[str, Any]
"""A document: its stored bytes, or its parsed object if it came from consolidated metadata."""


@frozen
class Node:
    """A node as its documents describe it."""

    path: str
    metadata: ArrayMetadata | GroupMetadata
    attributes: Mapping[str, Any]
    warnings: tuple[str, ...] = ()


class ParsedChild(NamedTuple):
    """The parsed documents of a child: its metadata, or the error of parsing them, and its attributes."""

    metadata: ArrayMetadata | GroupMetadata | None
    error: ZarrscopeError | None
    attributes: Mapping[str, Any] = MappingProxyType({})


NOTHING = ParsedChild(None, None)
"""The value for a child whose documents were not read."""


class Child:
    """A child of a group, as a listing found it. If `kind` is None, only the child's documents
    (`dialect.outline(path)`) show whether it is an array or a group.

    `read(name)` reads the documents when `metadata`, `error` or `attributes` is first used, so that a listing of
    thousands of names and kinds reads none. It runs in the caller's thread, which at most waits for a local disk.
    """

    __slots__ = ("_parsed", "_read", "kind", "name", "origin")

    def __init__(
        self,
        name: str,
        kind: NodeKind | None = None,
        metadata: ArrayMetadata | GroupMetadata | None = None,
        error: ZarrscopeError | None = None,
        *,
        read: Callable[[str], ParsedChild] | None = None,
        origin: str = "",
        attributes: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.name = name
        self.kind = kind
        self.origin = origin
        """The origin in a listing: "" the store listed it, "consolidated" metadata, "declared" by OME-Zarr metadata, or
        the "index" of a web server."""
        seen = metadata is not None or error is not None or attributes
        self._parsed = ParsedChild(metadata, error, attributes) if seen else NOTHING
        self._read = read

    @property
    def metadata(self) -> ArrayMetadata | GroupMetadata | None:
        """The metadata of the child; None if its documents were not read, or are broken."""
        return self._seen().metadata

    @property
    def error(self) -> ZarrscopeError | None:
        """The error of reading or parsing the child's documents; None if there was none, or if they were not read."""
        return self._seen().error

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes of the child, if they were read together with its metadata; nothing is fetched for them alone.
        Empty if its documents were not read, or are broken."""
        return as_far_as_read(self._seen().attributes)

    @property
    def has_details(self) -> bool:
        """Whether more than the child's name and kind is known, or can be read by `read`."""
        return self._read is not None or self._parsed is not NOTHING

    def of(self, kind: NodeKind | None, read: Callable[[str], ParsedChild]) -> Child:
        """Sets the kind of this child and the function that reads its documents, and returns the child."""
        self.kind, self._read = kind, read
        return self

    def with_reader(self, read: Callable[[str], ParsedChild]) -> Child:
        """Sets the function that reads this child's documents, unless more than its name and kind is known already.
        Returns the child."""
        if self._read is None and self._parsed is NOTHING:
            self._read = read
        return self

    def failing(self, error: ZarrscopeError) -> Child:
        """A copy of this child with this error."""
        return Child(self.name, self.kind, self.metadata, error, origin=self.origin, attributes=self.attributes)

    def _seen(self) -> ParsedChild:
        read = self._read
        if read is not None:
            self._parsed = read(self.name)
            self._read = None
        return self._parsed

    def __repr__(self) -> str:
        return visible(f"<Child {self.name} {self.kind}>")


@frozen
class Erasure:
    """The keys and prefixes to erase when a node and everything beneath it is removed."""

    keys: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()


@frozen
class Detected:
    """The dialect of a hierarchy, the names of other dialects whose documents also lie at its root, and warnings."""

    dialect: Dialect
    other_dialects: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    defect: Defect | None = None
    """The defect of the root document that states the rules of the whole hierarchy; None if that document is sound.
    With a defect names can be listed, but nodes are read only with `lenient`, and nothing is written."""


class Dialect(Protocol):
    """The interface of a dialect: its documents, the keys of its chunks, and its options. It does no I/O.

    A `path` is "/" or such as "/a/b". Keys are keys in the store. Methods raise BadMetadata or Unsupported, with the
    key of the document and a JSON pointer.

    The methods here do what most dialects do; a dialect overrides those in which it differs.
    """

    @property
    def name(self) -> str:
        """The id of the dialect, such as "v3", "v2", "n5", "v1", "draft-2022-05" or "draft-2020"."""

    @property
    def title(self) -> str:
        """The name of the dialect in texts for users, such as "Zarr v3"."""

    # ------------------------------------------------------------------ options of opening
    @property
    def lenient(self) -> bool:
        """Whether nodes that demand unknown extensions are opened. If so, nothing may be written."""

    @property
    def fallbacks(self) -> bool:
        """Whether unknown data types are read as the fallback that their document offers."""
        return True

    # ------------------------------------------------------------------ layout of documents and keys
    @property
    def implicit(self) -> Literal["prefix", "descendant"]:
        """When a prefix without documents counts as a group. "prefix": always (drafts, N5). "descendant": only if
        documents of nodes lie somewhere beneath the prefix (v3, v2: with a warning, read-only).
        """
        return "descendant"

    @property
    def apart(self) -> bool:
        """Whether documents are stored apart from chunks: then every key beneath `listing(path)` is a document of a
        node beneath `path`.
        """
        return False

    @property
    def named_kinds(self) -> bool:
        """Whether the kind of a node follows from which keys of `outline` exist; otherwise its document states it."""
        return False

    @property
    def case_blind(self) -> bool:
        """Whether two names in a group must differ in more than upper and lower case."""
        return False

    @property
    def extensions(self) -> tuple[ExtensionReport, ...]:
        """The extensions that the hierarchy as a whole demands; they apply to every node, implicit groups included."""
        return ()

    # ------------------------------------------------------------------ abilities
    @property
    def ome_zarr(self) -> str:
        """The newest version of OME-Zarr that is written in this dialect, such as "0.5"; "" if there is none."""
        return ""

    @property
    def names_in(self) -> str | None:
        """The attribute that holds the names of dimensions; None where the document has a member for them."""
        return DIMENSIONS

    def carried(self, attributes: Mapping[str, Any], kind: NodeKind) -> tuple[Mapping[str, Any], str]:
        """The attributes of a node of another dialect as they are stored in this one. Those that would get another
        meaning here are kept elsewhere, and a sentence names them, else ""; `restored` returns them."""
        return attributes, ""

    def restored(self, attributes: Mapping[str, Any]) -> Mapping[str, Any]:
        """The attributes of a node with those that `carried` has put elsewhere in their own places."""
        return attributes

    @property
    def filters_in(self) -> str | None:
        """The attribute in which filters are stored; None if the documents have a member for them."""
        return None

    @property
    def wanted_separator(self) -> str | None:
        """The separator in the chunk keys of new image arrays; None for the dialect's default."""
        return None

    @property
    def undefined_fill(self) -> bool:
        """Whether a document may leave the fill value undefined."""
        return True

    @property
    def zero_fill(self) -> bool:
        """Whether the fill value is always zero."""
        return False

    @property
    def blocks(self) -> bool:
        """Whether chunks are blocks with a header that states their size."""
        return False

    @property
    def nodes_beneath_arrays(self) -> bool:
        """Whether nodes may lie beneath an array."""
        return False

    @property
    def numcodecs(self) -> bool:
        """Whether arrays use the codecs of numcodecs, so that every reader of the dialect has them."""
        return True

    # ------------------------------------------------------------------ at the root
    def recognize(self, documents: Mapping[str, bytes]) -> Detected | None:
        """Recognizes a hierarchy of this dialect by the documents at its root: returns the dialect with the options
        that they state, or None. Called if a document under one of the dialect's `signs` (detection.py) exists.

        Raises BadMetadata or Unsupported for a document that belongs to no other dialect either.
        """
        return Detected(self)

    def recognize_odd(self, documents: Mapping[str, bytes]) -> Detected | None:
        """Returns this dialect if the root's document states a node type, but a wrong `zarr_format`; else None. Called
        if `recognize` of every dialect returned None; opening the root then raises the error.
        """
        return None

    def recognize_broken(self, documents: Mapping[str, bytes], beneath: Collection[str]) -> Detected | None:
        """Returns this dialect if its document at the root is broken, but the text of the document or the keys
        `beneath` show that the hierarchy is of this dialect; else None. Called if no dialect recognized the documents.

        `beneath` has the names at the root (prefixes end in a slash), the keys of documents one level down, and some
        keys under meta/.
        """
        return None

    # ------------------------------------------------------------------ keys
    def documents(self, path: str, kind: NodeKind | None = None) -> tuple[str, ...]:
        """The keys to fetch in parallel for the node at `path`: all that may exist, or those of one kind."""

    def outline(self, path: str) -> tuple[str, ...]:
        """The keys of `documents` that a listing needs: they show kind and shape, but perhaps no attributes."""
        return self.documents(path)

    def attributes_at(self, path: str, kind: NodeKind) -> tuple[str, str]:
        """The key of the document that holds a node's attributes, and the JSON pointer to them: ("a/.zattrs", "")."""

    def listing(self, path: str) -> str:
        """The prefix in the store whose entries (`list_dir`) show the children of the group at `path`."""

    def children(self, path: str, entries: Iterable[Entry]) -> Iterator[Child]:
        """The children that the `entries` of a listing show, each name once, in the order of the entries. `kind` is
        None if the listing does not show it."""

    def chunk_keys(self, path: str, ndim: int, separator: str | None = None) -> ChunkKeys:
        """The ChunkKeys of a new array at `path`; `separator` None is the dialect's default."""

    def erase(self, path: str, kind: NodeKind) -> Erasure:
        """The keys and prefixes to erase when the node at `path` is removed, for all its documents, its chunks and the
        nodes beneath it."""

    def check_name(self, name: str) -> None:
        """Raises Refused for a name that a new node may not have."""

    # ------------------------------------------------------------------ documents
    def parse(self, path: str, documents: Mapping[str, StoredDocument]) -> Node | None:
        """Parses a node from those of its documents that exist; None if they describe no node."""

    def stated_kind(self, path: str, documents: Mapping[str, StoredDocument]) -> NodeKind | None:
        """The kind that the documents state, even if `parse` refuses them; None if they state none. Never raises."""

    def is_proof(self, path: str, documents: Mapping[str, StoredDocument]) -> bool:
        """Whether the documents of a node show that a store without a document at the root is of this dialect. Never
        raises."""
        return self.stated_kind(path, documents) is not None

    def guessed_kind(self, path: str, documents: Mapping[str, StoredDocument], beneath: Collection[str]) -> NodeKind:
        """The likely kind of a node whose document cannot be parsed, guessed from its text and the keys `beneath` it:
        names (prefixes end in a slash), and the keys of documents one level down ("a/zarr.json").
        """
        return self.stated_kind(path, documents) or "group"

    def consolidated(self, documents: Mapping[str, StoredDocument]) -> dict[str, StoredDocument] | None:
        """The copies of other documents (consolidated metadata) in the root's `documents`, by store key; None if the
        root has no copies."""
        return None

    @property
    def consolidated_group(self) -> str | None:
        """The path of a group that exists only to hold consolidated metadata, and is not listed; None if there is
        none."""
        return None

    def consolidated_location(self, key: str) -> tuple[str, str] | None:
        """The location of the copy of the document `key` in consolidated metadata: (key of the document that holds the
        copies, JSON pointer in it); None if this document is never copied."""
        return None

    def consolidate(self, texts: Mapping[str, str], root: bytes | None) -> dict[str, bytes]:
        """Makes the documents of consolidated metadata, by key; empty if the dialect has no consolidated metadata.
        `texts`: the JSON texts of the documents to copy, by key. `root`: the stored document that will hold the copies.
        """
        return {}

    def faults(self, documents: Mapping[str, StoredDocument]) -> list[tuple[str, SchemaFault]]:
        """Violations of the registered schemas, as (key, fault), in documents that zarrscope reads and other readers
        may refuse."""
        return []

    def adapt(self, metadata: ArrayMetadata) -> ArrayMetadata:
        """Adapts the metadata of a new array to this dialect: codecs that the dialect does not have are replaced by its
        own, and the values stay the same."""
        return metadata

    def write(
        self, path: str, metadata: ArrayMetadata | GroupMetadata, attributes: Mapping[str, Any]
    ) -> dict[str, bytes]:
        """The documents, by key, that create or replace the node at `path`. They have no `faults`. Raises Unsupported
        for metadata that the dialect cannot express.
        """
