"""Hierarchies: groups and arrays in a store, opened lazily, created, edited and erased.

A hierarchy knows its dialect (opening.py), and so which documents every node has. A node costs one round trip, none
when the hierarchy carries consolidated metadata; children stream while they are listed (request counts: dialects.md
A.14). A node that cannot be decoded here still opens and shows its metadata.

Nothing is written but by create_group, create_array, save, resize, erase (editing.py), consolidate (consolidated.py),
moving and copying (moving.py) and Array's own writing.
What lies beneath a group: listing.py. Specification: v3 core, v2, dialects.md A.1, A.8, A.9.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from zarrscope.array import Array
from zarrscope.dialects import (
    PROBES,
    Child,
    Detected,
    Dialect,
    Kind,
    Node,
    Source,
)
from zarrscope.dialects.remembered import parsed
from zarrscope.errors import NotFound, ReadOnly, Refused, ZarrscopeError
from zarrscope.group import Group as Group
from zarrscope.jsontext import CONSOLIDATED_LIMIT
from zarrscope.listing import children
from zarrscope.metadata import ArrayMetadata, ExtensionReport, GroupMetadata
from zarrscope.naming import clean_path, join_path
from zarrscope.probing import Folder, fetch, nothing_at
from zarrscope.store import ABSENT, Answer, ByteRange, Store, never

# What only some callers need is imported by the methods that they call: opening and reading are quick without it.
if TYPE_CHECKING:
    from zarrscope.consolidated import Copies
    from zarrscope.dialects.extensions import Inherited
    from zarrscope.document import Document
    from zarrscope.known import Known
    from zarrscope.stores.rehearsal import Operation
    from zarrscope.walking import Tree


class Hierarchy:
    """Nodes in a store. Safe from any thread."""

    def __init__(
        self,
        store: Store,
        detected: Detected,
        documents: Mapping[str, bytes],
        *,
        writable: bool = False,
        use_consolidated: bool = True,
        folder: bool = False,
    ) -> None:
        self.store = store
        self.dialect: Dialect = detected.dialect
        self.dialects: tuple[Dialect, ...] = Folder.dialects() if folder else (detected.dialect,)
        self.also = detected.also
        self.warnings: tuple[str, ...] = detected.warnings
        self.writable = writable and store.writable and not detected.dialect.lenient
        self.entry = "/"
        """The node that the address named, where it named one inside the store."""
        self.understood: set[str] = set()
        """Groups that demand nothing unknown: beneath them may be written, as far as they are concerned."""
        self._at_hand: dict[str, bytes] | None = dict(documents)
        """What detection fetched serves the root's first opening."""
        self._known: Known | None = None
        if store.remote and not self.writable:
            from zarrscope.known import Known

            self._known = Known(store, documents, {*PROBES, *documents})
        self.copies: Copies | None = None
        self.keeps_copies = use_consolidated
        """Consolidated copies follow what is changed."""
        if use_consolidated and documents and not folder:
            try:
                if self.dialect.consolidated(documents) is not None:
                    from zarrscope.consolidated import Copies

                    self.copies = Copies.found(self.dialect, documents)
            except ZarrscopeError as error:
                self.warnings += (f"The consolidated metadata is passed over: {error.message}",)

    @property
    def url(self) -> str:
        return self.store.url

    @property
    def consolidated(self) -> bool:
        """Nodes are read from a copy of all documents at the root."""
        return self.copies is not None

    @property
    def root(self) -> Group | Array:
        return self.open_node("/")

    def __getitem__(self, path: str) -> Group | Array:
        return self.open_node(path)

    def __contains__(self, path: str) -> bool:
        try:
            return self.node_at(clean_path(path)) is not None
        except ZarrscopeError as error:
            return not isinstance(error, NotFound)

    def __repr__(self) -> str:
        return f"<Hierarchy {self.dialect.title} {self.url}>"

    def _repr_html_(self) -> str:
        """For notebooks: bounded, and made of what is at hand."""
        from zarrscope import html

        return html.of(self)

    # ------------------------------------------------------------------ nodes
    def open_node(self, path: str, kind: Kind | None = None) -> Group | Array:
        """The node at `path`; where its kind is known already, only its own documents are asked for.

        Raises NotFound (it says what is there instead), BadMetadata, Unreadable, Unsupported.
        """
        path = clean_path(path)
        node = self.node_at(path, kind)
        if node is None:
            raise self.nothing_at(path)
        return self._made(node)

    def _made(self, node: Node) -> Group | Array:
        if isinstance(node.metadata, ArrayMetadata):
            return Array(self.store, node.path, node.metadata, node.attributes, warnings=node.warnings, hierarchy=self)
        return Group(self, node.path, node.metadata, node.attributes, node.warnings)

    def node_at(self, path: str, kind: Kind | None = None) -> Node | None:
        keys = self.keys_of(path, kind)
        documents: dict[str, Source] = {}
        copies = self.copies.documents if self.copies is not None else {}
        copied = {key: copies[key] for key in keys if key in copies}
        if copied and not self.prefers_own:
            documents = copied
        elif path == "/" and self._at_hand is not None:
            at_hand, self._at_hand = self._at_hand, None
            documents = {key: at_hand[key] for key in keys if key in at_hand}
        if not documents:
            documents = {**self._fetched(keys)} or copied
        node = self.parsed(path, documents)
        if node is None and kind == "array":  # it is none any more
            return self.node_at(path)
        return node if node is not None else self.implicit_group(path)

    def answers(self, keys: Sequence[str], cancelled: Callable[[], bool] = never) -> dict[str, Answer]:
        """The documents at these keys, fetched side by side as far as they are not known; errors as values.

        Some are missing once `cancelled()`.
        """
        if self._known is not None:
            return self._known.answers(keys, cancelled)
        return {keys[i]: answer for i, answer in self.store.get_many([(key, None) for key in keys], cancelled)}

    def _fetched(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The documents that are there. The first failure is raised."""
        found: dict[str, bytes] = {}
        for key, answer in self.answers(keys).items():
            if isinstance(answer, ZarrscopeError):
                raise answer.located(store=self.store.url, key=key)
            if answer is not None:
                found[key] = answer
        return found

    def prefetch(self, paths: Sequence[str]) -> None:
        """Fetches the documents of several nodes side by side, where each of them would be a round trip of its own."""
        if self._known is not None:
            copies = self.copies.documents if self.copies is not None else {}
            wanted: list[str] = []
            for path in paths:
                with suppress(Refused):  # whoever opens it tells
                    keys = self.keys_of(clean_path(path))
                    wanted += keys if not any(key in copies for key in keys) else ()
            self.answers(wanted)

    def own_node(self, path: str) -> Node | None:
        """The node as its own documents say now, whatever a consolidated copy says."""
        return self.parsed(path, fetch(self.store, self.keys_of(path)))

    def forget(self) -> None:
        """What was fetched before no longer holds: it is read again."""
        self._at_hand = None
        if self._known is not None:
            self._known.clear()

    @property
    def prefers_own(self) -> bool:
        """A document of one's own costs no round trip here, and is never out of date."""
        return self.store.listable and not self.store.remote

    def keys_of(self, path: str, kind: Kind | None = None) -> tuple[str, ...]:
        """The documents of a node, whatever its kind where that is unknown."""
        return tuple(key for dialect in self.dialects for key in dialect.documents(path, kind))

    def outline_of(self, path: str) -> tuple[str, ...]:
        """The documents of a node that a listing needs."""
        return tuple(key for dialect in self.dialects for key in dialect.outline(path))

    def parsed(self, path: str, documents: Mapping[str, Source]) -> Node | None:
        try:
            for dialect in self.dialects:
                node = parsed(dialect, path, documents)
                if node is not None:
                    return node
        except ZarrscopeError as error:
            raise error.located(store=self.store.url) from None
        return None

    def dialect_of(self, node: Node) -> Dialect:
        """The dialect of one node: in a folder, any of several."""
        return next((each for each in self.dialects if each.name == node.metadata.dialect), self.dialect)

    def _attributes_at(self, path: str) -> tuple[str, str]:
        node = self.node_at(path)
        if node is None:
            raise self.nothing_at(path)
        return self.dialect_of(node).attributes_at(path, node.metadata.kind)  # type: ignore[arg-type]

    def implicit_group(self, path: str, *, listed: bool = False) -> Node | None:
        """The group that has no document but nodes beneath it; None when there are none. `listed`: its prefix is."""
        group = GroupMetadata(self.dialect.name, implicit=True, extensions=self.dialect.extensions)
        if (path == "/" or listed) and self.dialect.implicit == "prefix":
            return Node(path, group, {})
        from zarrscope.walking import MAX_DEPTH

        if not self.store.listable or path.count("/") > MAX_DEPTH:
            return None
        warnings: tuple[str, ...] = ()
        if self.dialect.implicit == "prefix":
            if next(self.store.list_dir(self.dialect.listing(path)), None) is None:
                return None
        elif self.has_nodes(path):
            warnings = ("This group has no document of its own; nodes lie beneath it",)
        else:
            return None
        return Node(path, group, {}, warnings)

    def has_nodes(self, path: str) -> bool:
        """Whether documents of nodes lie anywhere beneath, as far as a bounded search finds."""
        queue = [path]
        for _ in range(10 if self.store.remote else Folder.searched):
            if not queue:
                return False
            here = queue.pop(0)
            entries = islice(self.store.list_dir(self.dialect.listing(here)), 1000)
            below = [join_path(here, child.name) for child in islice(self.dialect.children(here, entries), 100)]
            if fetch(self.store, [key for child in below for key in self.keys_of(child)]):
                return True
            queue += below
        return False

    def nothing_at(self, path: str) -> NotFound:
        """Why there is no node, and what is there instead."""
        return nothing_at(self, path)

    def extensions(self, path: str) -> list[Inherited]:
        """The extensions of ZEP 9 at `path`: its own and those of the groups above it, references resolved.

        For display: they change nothing in how arrays are read. A group above that cannot be opened tells nothing. All
        documents are fetched side by side.
        """
        path = clean_path(path)
        parts = [part for part in path.split("/") if part]
        places = ["/" + "/".join(parts[:n]) for n in range(len(parts) + 1)]
        documents: dict[str, Source] = dict(self.copies.documents) if self.copies is not None else {}
        missing = [key for where in places for key in self.keys_of(where) if key not in documents]
        for key, answer in self.answers(missing).items():
            if isinstance(answer, bytes):
                documents[key] = answer
        declared: dict[str, tuple[ExtensionReport, ...]] = {}
        for where in places:
            try:
                node = self.parsed(where, {key: documents[key] for key in self.keys_of(where) if key in documents})
            except ZarrscopeError:
                continue
            declared[where] = node.metadata.extensions if node is not None else self.dialect.extensions
        from zarrscope.dialects.extensions import inherited

        return inherited(path, declared)

    def children(self, path: str, cancelled: Callable[[], bool] = never) -> Iterator[Child]:
        """See Group.children."""
        path = clean_path(path)
        return self.shown(path, children(self, path, cancelled))

    def shown(self, path: str, found: Iterator[Child]) -> Iterator[Child]:
        """The children without a group that holds nothing but the consolidated copy."""
        alone = self.dialect.copies_alone
        if alone is None or self.copies is None or alone.rpartition("/")[0] != path.rstrip("/"):
            return found
        return (child for child in found if join_path(path, child.name) != alone or not self._holds_copies_only(alone))

    def _holds_copies_only(self, path: str) -> bool:
        prefix = self.dialect.listing(path)
        holder = self.dialect.copied_at(self.dialect.documents(path)[0])
        if self.copies is not None and not self.prefers_own:
            return not any(key.startswith(prefix) for key in self.copies.documents)
        return holder is not None and all(prefix + entry.name == holder[0] for entry in self.store.list_dir(prefix))

    def tree(self, path: str = "/", cancelled: Callable[[], bool] = never) -> Tree:
        """All that lies beneath `path`, listed in as few requests as the dialect allows."""
        from zarrscope.walking import Tree

        return Tree(self, path, cancelled)

    def walk(self, path: str = "/", cancelled: Callable[[], bool] = never) -> Iterator[tuple[str, Child]]:
        """(path, child) of every node beneath `path`, parents first, kinds known. See Tree.walk."""
        return self.tree(path, cancelled).walk()

    def misplaced_chunks(self, array: Array) -> str | None:
        """Says so when chunks lie where only lenient reading looks for them (v2, A.9). One round trip."""
        keys = [where.key((0,) * array.ndim) for where in (array.metadata.keys, *array.metadata.lenient_keys)]
        if len(keys) == 1:
            return None
        own, *others = self.store.get_partial_values([(key, ByteRange(0, 1)) for key in keys])
        found = [key for key, value in zip(keys[1:], others, strict=True) if value is not None]
        if own is not None or not found:
            return None
        return f"There is no chunk {keys[0]}, but {found[0]}, which is read only when opened leniently"

    # ------------------------------------------------------------------ creating
    def create_group(self, path: str, attributes: Mapping[str, Any] | None = None) -> Group:
        """A new group, and those above it that are missing. Raises Conflict (the path is taken), Refused, ReadOnly."""
        path = clean_path(path)
        from zarrscope.editing import create_node

        create_node(self, path, GroupMetadata(self.dialect.name), attributes or {})
        made = self.open_node(path)
        assert isinstance(made, Group)
        return made

    def create_array(
        self,
        path: str,
        *,
        shape: Sequence[int],
        dtype: Any,
        chunks: Sequence[int] | None = None,
        shards: Sequence[int] | None = None,
        codecs: Sequence[Any] | None = None,
        fill_value: Any = 0,
        dimension_names: Sequence[str | None] | None = None,
        attributes: Mapping[str, Any] | None = None,
        separator: str | None = None,
    ) -> Array:
        """A new array of fill values, and the groups above it that are missing; see creating.py for the defaults.

        `codecs`: CodecSpec, names, or {"name", "configuration"}, of the inner chunks where `shards` are given.
        Raises Conflict when the path is taken, Refused, ReadOnly, Unsupported (the dialect cannot express it).
        """
        path = clean_path(path)
        from zarrscope.creating import new_array
        from zarrscope.editing import create_node

        metadata = new_array(
            self.dialect,
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
        problem = Array(self.store, path, metadata).problem
        if problem is not None:
            raise problem
        create_node(self, path, metadata, attributes or {})
        made = self.open_node(path)
        assert isinstance(made, Array)
        return made

    # ------------------------------------------------------------------ editing
    def document(self, path: str) -> Document:
        """The JSON file that holds the node's attributes, as stored now; for v2's .zattrs "{}" when there is none.

        `dialect.attributes_at(path, kind)` says where in it they are.
        """
        from zarrscope import document

        path = clean_path(path)
        key, _ = self._attributes_at(path)
        found = self.store.get_versioned(key)
        if found is None:
            return document.Document(b"{}", key, ABSENT)
        try:
            return document.Document(found[0], key, found[1], limit=CONSOLIDATED_LIMIT)
        except ZarrscopeError as error:
            raise error.located(store=self.url, key=key) from None

    def attributes_pointer(self, path: str) -> str:
        """Where in `document(path)` the attributes are: "/attributes", or "" for all of it."""
        return self._attributes_at(clean_path(path))[1]

    def save(self, path: str, document: Document) -> Document:
        """Stores the document if what is stored is still the version that was read; returns it at its new version.

        Raises Conflict (with theirs), ReadOnly, BadMetadata when the node would no longer be one.
        """
        from zarrscope.editing import save

        return save(self, clean_path(path), document)

    def resize(self, path: str, metadata: ArrayMetadata, shape: tuple[int, ...]) -> ArrayMetadata:
        """Writes the array's new shape into its document, nothing else. Use Array.resize, which erases chunks too."""
        from zarrscope.editing import resize

        return resize(self, path, metadata, shape)

    def erase(self, path: str) -> None:
        """Removes the node and all beneath it; where no node is, what lies there. Raises NotFound, Refused, ReadOnly.

        Groups above that are there only because of it (implicit ones) are gone with it. See moving.py for move, copy.
        """
        from zarrscope.editing import erase

        erase(self, clean_path(path))

    def consolidate(self, cancelled: Callable[[], bool] = never) -> int | None:
        """Writes a copy of all documents at the root, in place of a stale one. See consolidated.consolidate."""
        from zarrscope.consolidated import consolidate

        return consolidate(self, cancelled)

    def rehearse(self, log: list[Operation]) -> Hierarchy:
        """This hierarchy to try things on: nothing is written, `log` gets every operation. See stores/rehearsal.py."""
        from zarrscope.stores.rehearsal import Rehearsal

        tried = copy.copy(self)
        tried.store = Rehearsal(self.store, log)
        tried.forget()
        return tried

    def need_writing(self, key: str) -> None:
        """Raises ReadOnly where nothing may be written."""
        if not self.writable:
            advice = "Open it with mode='r+'."
            if self.dialect.lenient:
                advice = "What is opened leniently cannot be written: its demands are not understood here."
            raise ReadOnly("This hierarchy is open for reading only", store=self.url, key=key, advice=advice)
