"""Dialects: the documents of a node, the keys of its chunks, and the translation of the documents into canonical
metadata.

A dialect is pure: it names keys and translates documents, and the hierarchy does the I/O. Therefore the hierarchy can
fetch several documents in parallel, take documents from consolidated metadata without a request, count its requests,
and plan a change without making it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

from zarrscope.dialects.defects import as_far_as_read
from zarrscope.errors import ZarrscopeError
from zarrscope.errors.visible import visible
from zarrscope.model.frozen import frozen
from zarrscope.model.metadata import ArrayMetadata, ChunkKeys, Defect, ExtensionReport, GroupMetadata
from zarrscope.model.schema import Fault
from zarrscope.model.storage import Entry

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


class Insight(NamedTuple):
    """The content of a child's documents."""

    metadata: ArrayMetadata | GroupMetadata | None
    error: ZarrscopeError | None
    attributes: Mapping[str, Any] = MappingProxyType({})


class Child:
    """A name found under a group. `kind` None: only its documents show the kind (fetch dialect.outline(path)).

    `metadata` and `error` may be read when they are first used, so that a listing of thousands of names and kinds does
    not read them. They are read in the caller's thread, which at most waits for a local disk.
    """

    __slots__ = ("_insight", "_look", "kind", "name", "origin")

    def __init__(
        self,
        name: str,
        kind: NodeKind | None = None,
        metadata: ArrayMetadata | GroupMetadata | None = None,
        error: ZarrscopeError | None = None,
        *,
        look: Callable[[], Insight] | None = None,
        origin: str = "",
        attributes: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.name = name
        self.kind = kind
        self.origin = origin
        """The origin in a listing: "" the store listed it, "consolidated" metadata, "declared" by OME-Zarr metadata, or
        the "index" of a web server."""
        self._insight = Insight(metadata, error, attributes)
        self._look = look

    @property
    def metadata(self) -> ArrayMetadata | GroupMetadata | None:
        """The metadata of the child; None when its documents were not read, or are broken."""
        return self._seen().metadata

    @property
    def error(self) -> ZarrscopeError | None:
        """Why its documents cannot be read or understood."""
        return self._seen().error

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes of the child, if they were read together with its metadata; nothing is fetched for them alone.
        Empty if its documents were not read, or are broken."""
        return as_far_as_read(self._seen().attributes)

    @property
    def told(self) -> bool:
        """Whether more than its name and kind is known, or can be read on demand."""
        return self._look is not None or self._insight[:2] != (None, None)

    def of(self, kind: NodeKind | None, look: Callable[[], Insight]) -> Child:
        """Sets the kind of this child, now that it is known, and returns it."""
        self.kind, self._look = kind, look
        return self

    def failing(self, error: ZarrscopeError) -> Child:
        """A copy of this child with an error."""
        return Child(self.name, self.kind, self.metadata, error, attributes=self.attributes)

    def _seen(self) -> Insight:
        look = self._look
        if look is not None:
            self._insight = look()
            self._look = None
        return self._insight

    def __repr__(self) -> str:
        return visible(f"<Child {self.name} {self.kind}>")


@frozen
class Erasure:
    """The keys and prefixes to erase when a node and everything beneath it is removed."""

    keys: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()


@frozen
class Detected:
    """The dialect of a hierarchy, the names of other dialects whose documents lie at its root, too, and warnings."""

    dialect: Dialect
    other_dialects: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    defect: Defect | None = None
    """The defect of the document that states the rules of the whole hierarchy. Every node has it: names are listed, but
    nothing is read without `lenient`, and nothing written."""


class Dialect(Protocol):
    """Everything that depends on the dialect: documents, keys of chunks, and nodes. It does no I/O.

    `path` is "/" or "/a/b". Keys are keys in the store. Errors are BadMetadata or Unsupported with a pointer and a key.

    The methods here are those that most dialects share; each dialect overrides the ones in which it differs.
    """

    @property
    def name(self) -> str:
        """The id: "v3", "v2", "n5", "v1", "draft-2022-05", "draft-2020", "draft-2019-06", "draft-2019-05"."""

    @property
    def title(self) -> str:
        """The name shown to people: "Zarr v3"."""

    # ------------------------------------------------------------------ options of opening
    @property
    def lenient(self) -> bool:
        """Whether nodes that demand unknown extensions are opened; nothing may be written then."""

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
        """Whether the kind of a node shows in which keys of `outline` exist; otherwise its document states the kind."""
        return False

    @property
    def case_blind(self) -> bool:
        """Whether names of one group must differ in more than upper and lower case."""
        return False

    @property
    def extensions(self) -> tuple[ExtensionReport, ...]:
        """The extensions that the hierarchy as a whole demands; they apply to every node, implicit groups included."""
        return ()

    # ------------------------------------------------------------------ abilities
    @property
    def ome_zarr(self) -> str:
        """The newest version of OME-Zarr that is written in this dialect: "0.4", "0.5"; "" where none is."""
        return ""

    @property
    def names_in(self) -> str | None:
        """The attribute that holds the names of dimensions; None where the document has a member for them."""
        return DIMENSIONS

    @property
    def filters_in(self) -> str | None:
        """The attribute that holds codecs, where the dialect has no other place for them."""
        return None

    @property
    def wanted_separator(self) -> str | None:
        """The separator in chunk keys of new image arrays, where it is not the default."""
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
        """This dialect, set up as the documents at the root demand, if they belong to it. Called when one of its
        `signs` (detection.py) exists.

        Raises BadMetadata or Unsupported for a document that no other dialect could take either.
        """
        return Detected(self)

    def recognize_odd(self, documents: Mapping[str, bytes]) -> Detected | None:
        """This dialect, for a document that states its node type but a wrong `zarr_format`. Called when no dialect
        recognized the documents; opening the node then raises the fault.
        """
        return None

    def recognize_broken(self, documents: Mapping[str, bytes], beneath: Collection[str]) -> Detected | None:
        """This dialect, if the document at the root that is its sign is broken, but its text or the keys `beneath`
        show it all the same. Called when no dialect recognized the documents.

        `beneath` has the names at the root, those of prefixes with a slash, the documents one level down, and some keys
        under meta/.
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
        """The prefix whose list_dir holds the children of `path`."""

    def children(self, path: str, entries: Iterable[Entry]) -> Iterator[Child]:
        """Names, and kinds if the listing shows them, in the order of arrival; each name once."""

    def chunk_keys(self, path: str, ndim: int, separator: str | None = None) -> ChunkKeys:
        """The ChunkKeys a new array at `path` gets."""

    def erase(self, path: str, kind: NodeKind) -> Erasure: ...

    def check_name(self, name: str) -> None:
        """Raises Refused for a name that a new node may not have."""

    # ------------------------------------------------------------------ documents
    def parse(self, path: str, documents: Mapping[str, StoredDocument]) -> Node | None:
        """Parses a node from its documents, absent ones left out; None when they describe no node."""

    def claimed(self, path: str, documents: Mapping[str, StoredDocument]) -> NodeKind | None:
        """The kind that documents state although `parse` refused them, if they state one; never raises."""

    def guessed(self, path: str, documents: Mapping[str, StoredDocument], beneath: Collection[str]) -> NodeKind:
        """The likely kind of a node whose document cannot be understood at all, by its text and by what lies `beneath`:
        names, those of prefixes with a slash, and the documents one level down ("a/zarr.json").
        """
        return self.claimed(path, documents) or "group"

    def consolidated(self, documents: Mapping[str, StoredDocument]) -> dict[str, StoredDocument] | None:
        """The copies of other documents that the root's `documents` hold, by store key; None when they hold none."""
        return None

    @property
    def consolidated_group(self) -> str | None:
        """The path of a group that exists only to hold consolidated metadata; it is not listed."""
        return None

    def consolidated_location(self, key: str) -> tuple[str, str] | None:
        """(key of the document that holds them, JSON pointer) of the consolidated copy of the document `key`; None
        where the dialect copies no such document."""
        return None

    def consolidate(self, texts: Mapping[str, str], root: bytes | None) -> dict[str, bytes]:
        """The documents that hold copies of all documents, whose JSON `texts` are given by key; `root` is the value now
        stored at the place of the copies. Empty where the dialect copies no documents.
        """
        return {}

    def faults(self, documents: Mapping[str, StoredDocument]) -> list[tuple[str, Fault]]:
        """Yields (key, violation of the registered schemas) for documents that zarrscope reads and other readers may
        refuse."""
        return []

    def adapt(self, metadata: ArrayMetadata) -> ArrayMetadata:
        """The metadata of a new array as this dialect stores it: the same values, with the dialect's own codecs where
        it allows no others."""
        return metadata

    def write(
        self, path: str, metadata: ArrayMetadata | GroupMetadata, attributes: Mapping[str, Any]
    ) -> dict[str, bytes]:
        """The documents that create or replace the node; none of them has `faults`. Raises Unsupported for metadata
        that the dialect cannot express.
        """
