"""The state of an open hierarchy: store, dialect and cached documents. It finds the node at a path.

Functions that list, edit, move and consolidate take a NodeContext. hierarchy.Hierarchy holds one and has the public
methods. A NodeContext itself neither lists nor writes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from zarrscope.dialects import (
    Child,
    Detected,
    Dialect,
    Node,
    NodeKind,
    StoredDocument,
    bare_root_dialects,
    dialect_named,
)
from zarrscope.dialects.defects import Defects, UnreadAttributes, placed
from zarrscope.dialects.parse_cache import parsed
from zarrscope.errors import BadMetadata, Denied, NotFound, ReadOnly, Refused, TooLarge, Unreadable, ZarrscopeError
from zarrscope.jsondoc.parse import ParsedBytes
from zarrscope.model.metadata import ArrayMetadata, GroupMetadata
from zarrscope.model.node_path import clean_path, join_path
from zarrscope.model.storage import Answer, never
from zarrscope.nodes.detect import (
    PlainFolder,
    documents_at,
    fetch,
    found_in,
    is_untold,
    keys_beneath,
    need_no_folder,
    not_zarr,
)
from zarrscope.runtime.tuning import LARGE_DOCUMENT
from zarrscope.stores.store import Store

# Methods import modules that only they need, so that opening and reading stay quick.
if TYPE_CHECKING:
    from zarrscope.nodes.consolidated_metadata import ConsolidatedMetadata
    from zarrscope.nodes.document_cache import DocumentCache, LatelyRead
    from zarrscope.stores.recognition import Recognition


class Described(Protocol):
    """A node with metadata: a Node, a Group or an Array."""

    @property
    def metadata(self) -> ArrayMetadata | GroupMetadata:
        """The canonical metadata; their `kind` tells groups and arrays apart."""


class NodeContext:
    """A store, its dialect and its cached documents, as one open hierarchy sees them. Any thread may use it."""

    def __init__(
        self,
        store: Store,
        detected: Detected,
        documents: Mapping[str, bytes],
        *,
        writable: bool = False,
        use_consolidated: bool = True,
        folder: bool = False,
        asked: Collection[str] = (),
    ) -> None:
        """`asked`: the keys that were requested at the root; those that are not in `documents` are absent."""
        self.store = store
        self.dialect: Dialect = detected.dialect
        self.dialects: tuple[Dialect, ...] = PlainFolder.dialects() if folder else (detected.dialect,)
        self.other_dialects = detected.other_dialects
        self.outside: frozenset[str] = frozenset()
        """In a folder of several hierarchies, the folders around the one that `folders.within` has found: they are
        no groups, and stay so."""
        self.collected_warnings = [*detected.warnings]
        """The `warnings`, in a list that contexts of the same hierarchy share."""
        self.defect = None if detected.dialect.lenient else detected.defect
        """The defect of the document that states the rules of the whole hierarchy; every node has it."""
        self.asked_to_write = writable
        self.writable = writable and store.writable and not detected.dialect.lenient and self.defect is None
        self.owns_store = False
        """Whether `zarrscope.open` opened the store, so that closing the hierarchy closes it."""
        self.recognition: Recognition | None = None
        """The kind of the place, if it was found out by looking at it."""
        self._from_consolidated: set[str] = set()
        """The paths of nodes whose metadata came from a consolidated copy."""
        self.checked_groups: set[str] = set()
        """Groups that demand no unknown extension, so that they do not prevent writing beneath them."""
        self.indexed: set[str] = set()
        """Groups whose children the index of a web server names."""
        self.refused: dict[str, int] = {}
        """Group → the HTTP status with which a web server refused to name its children; 0 if it did not answer."""
        self.passed_over: dict[str, Unreadable] = {}
        """Node path → the error of a document that could not be read, if the other documents suffice to show the
        node."""
        self._probed_documents: dict[str, bytes] | None = dict(documents)
        """The documents that detection fetched; the first opening of the root uses them."""
        self._parsed = {
            key: each for key, each in documents.items() if isinstance(each, ParsedBytes) and len(each) > LARGE_DOCUMENT
        }
        self._document_cache: DocumentCache | None = None
        self._lately_read: LatelyRead | None = None
        if store.remote:
            from zarrscope.nodes.document_cache import DocumentCache, LatelyRead

            if self.writable:
                self._lately_read = LatelyRead()
                self._lately_read.note({key: documents.get(key) for key in {*asked, *documents}})
            else:
                self._document_cache = DocumentCache(store, documents, {*asked, *documents})
        self.consolidated_metadata: ConsolidatedMetadata | None = None
        self.updates_consolidated = use_consolidated
        """Whether edits also update consolidated metadata."""
        if use_consolidated and documents and not folder:
            try:
                copied = self.dialect.consolidated(documents)
                if copied is not None:
                    from zarrscope.nodes.consolidated_metadata import ConsolidatedMetadata

                    self.consolidated_metadata = ConsolidatedMetadata.from_documents(self.dialect, documents, copied)
            except ZarrscopeError as error:
                self.warnings += (f"The consolidated metadata is ignored: {error.message}",)

    @property
    def url(self) -> str:
        """The address of the store, without passwords."""
        return self.store.url

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the hierarchy."""
        return tuple(self.collected_warnings)

    @warnings.setter
    def warnings(self, told: Sequence[str]) -> None:
        self.collected_warnings[:] = told

    @property
    def each(self) -> tuple[NodeContext, ...]:
        """A context for each dialect that nodes may have here: several in a folder of several hierarchies."""
        return (self,) if len(self.dialects) == 1 else tuple(self.with_dialect(dialect) for dialect in self.dialects)

    def with_dialect(self, dialect: Dialect, outside: Sequence[str] = ()) -> NodeContext:
        """This context with one dialect alone. `outside`: see the attribute."""
        made = copy(self)
        made.dialect, made.dialects, made.outside = dialect, (dialect,), frozenset(outside)
        return made

    @property
    def consolidated(self) -> bool:
        """Whether nodes are read from a copy of all documents at the root."""
        return self.consolidated_metadata is not None

    def __contains__(self, path: str) -> bool:
        try:
            return self.node_at(clean_path(path)) is not None
        except ZarrscopeError as error:
            return not isinstance(error, NotFound)

    def node_at(self, path: str, kind: NodeKind | None = None) -> Node | None:
        """The node at a canonical path, implicit groups included; None if there is none. With `kind`, only the
        documents of that kind are requested. Raises Unreadable."""
        keys = self.keys_of(path, kind)
        documents: dict[str, StoredDocument] = {}
        passed_over: list[Unreadable] = []
        copies = self.consolidated_metadata.documents if self.consolidated_metadata is not None else {}
        copied = {key: copies[key] for key in keys if key in copies}
        if copied and not self.prefers_own:
            documents = copied
        elif path == "/" and self._probed_documents is not None:
            at_hand, self._probed_documents = self._probed_documents, None
            documents = {key: at_hand[key] for key in keys if key in at_hand}
        if not documents:
            documents = {**self._fetched(keys, passed_over)} or copied
        if copied and documents is copied:
            self._from_consolidated.add(path)
        node = self._with_warnings(self.described(path, documents), passed_over)
        if node is None and kind == "array":  # the node is no longer an array
            return self.node_at(path)
        if node is not None and path != "/" and self.store.files.ignores_spelling and self._is_misspelled(keys):
            return None
        if node is None and (path != "/" or len(self.dialects) == 1):  # `open` tells it of a folder of hierarchies
            need_no_folder(self.store, self.outline_of(path))
        return node if node is not None else self.implicit_group(path)

    def _is_misspelled(self, keys: Sequence[str]) -> bool:
        """Whether the file system ignores case or Unicode form, and these keys lead to a node with another spelling of
        the name."""
        return any(self.store.files.spelled(key) != key for key in keys)

    def answers(self, keys: Sequence[str], cancelled: Callable[[], bool] = never) -> dict[str, Answer]:
        """The documents at these keys; unknown ones are fetched in parallel. Errors are returned as values.

        Some documents may be missing after `cancelled()`.
        """
        if self._document_cache is not None:
            return self._document_cache.answers(keys, cancelled)
        return dict(documents_at(self.store, keys, cancelled))

    def _with_warnings(self, node: Node | None, passed_over: Sequence[Unreadable]) -> Node | None:
        """Returns the node with warnings about documents that could not be read. Raises the first of their errors if
        the other documents describe no node.
        """
        if not passed_over:
            return node
        if node is None:
            raise passed_over[0]
        attributes, _ = self.dialect_of(node).attributes_at(node.path, node.metadata.kind)
        self.passed_over[node.path] = passed_over[0]
        told = [
            f"{error.key} was passed over: {error.message.rstrip('.')}" for error in passed_over if not is_untold(error)
        ]
        told += [
            f"Attributes may be missing, because the store answers for {error.key} as for values that do not exist: "
            f"{error.message.rstrip('.')}"
            for error in passed_over
            if is_untold(error) and error.key == attributes
        ]
        return replace(node, warnings=(*node.warnings, *told))

    def _fetched(self, keys: Sequence[str], passed_over: list[Unreadable]) -> dict[str, bytes]:
        """The existing documents. Errors of denied or too large ones go to `passed_over`; others are raised."""
        found: dict[str, bytes] = {}
        answers = self.answers(keys)
        if self._lately_read is not None:
            self._lately_read.note(answers)
        for key, answer in answers.items():
            if isinstance(answer, Denied | TooLarge):
                passed_over.append(answer.located(store=self.store.url, key=key))
            elif isinstance(answer, ZarrscopeError):
                raise answer.located(store=self.store.url, key=key)
            elif answer is not None:
                found[key] = answer
        return found

    def prefetch(self, paths: Sequence[str]) -> None:
        """Fetches the documents of several nodes in parallel, so that they do not cost one round trip each."""
        if self._document_cache is not None:
            copies = self.consolidated_metadata.documents if self.consolidated_metadata is not None else {}
            wanted: list[str] = []
            for path in paths:
                with suppress(Refused):  # opening the node will raise the error
                    keys = self.keys_of(clean_path(path))
                    wanted += keys if not any(key in copies for key in keys) else ()
            self.answers(wanted)

    def is_copied(self, path: str) -> bool:
        """Whether the node at `path`, which was opened, came from a consolidated copy."""
        return path in self._from_consolidated

    def own_node(self, path: str) -> Node | None:
        """The node according to its own documents as stored now, not to a consolidated copy."""
        passed_over: list[Unreadable] = []
        found = fetch(self.store, self.keys_of(path), passed_over=passed_over)
        return self._with_warnings(
            self.parsed(path, {key: self.held(key, each) for key, each in found.items()}), passed_over
        )

    def held(self, key: str, value: bytes) -> ParsedBytes:
        """Returns `value` in the form that was parsed when the hierarchy was opened, if the bytes are still the same;
        else unparsed."""
        known = self._parsed.get(key)
        return known if known is not None and known == value else ParsedBytes(value)

    def forget(self) -> None:
        """Clears cached documents, so that they are read again."""
        self._probed_documents = None
        if self._document_cache is not None:
            self._document_cache.clear()
        if self._lately_read is not None:
            self._lately_read.clear()

    def as_read(self, key: str) -> bytes | None:
        """The document at `key` as it was read when its node was opened, None if it was absent; reads it if that is not
        known. Gives what no cache keeps only once. Raises Unreadable."""
        if self._lately_read is not None and (found := self._lately_read.take(key)) is not None:
            return found[0]
        answer = self.answers([key]).get(key)
        if isinstance(answer, ZarrscopeError):
            raise answer.located(store=self.store.url, key=key)
        return answer

    def drop_stale_copies(self, path: str) -> bool:
        """Stops using consolidated metadata if it is older than the documents of the node at `path`.

        A program that extends an array rarely updates consolidated metadata. This takes a request for each document of
        the node, or none if no consolidated metadata is in use. Raises Unreadable, BadMetadata.
        """
        if self.consolidated_metadata is None or self.prefers_own:
            return False
        own, copy = self.own_node(path), self.node_at(path)
        if own is None or copy is None or (own.metadata, own.attributes) == (copy.metadata, copy.attributes):
            return False
        self.consolidated_metadata = None
        self.warnings += (f"The consolidated metadata is older than {path}: it is ignored",)
        return True

    @property
    def prefers_own(self) -> bool:
        """Whether nodes' own documents are read first: on a local disk they cost no round trip, and they are never
        stale."""
        return self.store.listable and not self.store.remote

    def keys_of(self, path: str, kind: NodeKind | None = None) -> tuple[str, ...]:
        """The keys of a node's documents; for an unknown kind those of both kinds."""
        if len(self.dialects) == 1:
            return self.dialect.documents(path, kind)
        return tuple(key for dialect in self.dialects for key in dialect.documents(path, kind))

    def outline_of(self, path: str) -> tuple[str, ...]:
        """The keys of a node's documents that a listing needs."""
        return tuple(key for dialect in self.dialects for key in dialect.outline(path))

    def parsed(self, path: str, documents: Mapping[str, StoredDocument]) -> Node | None:
        """The node that these documents describe; None if they describe none. Raises BadMetadata or Unsupported, with
        the address of the store."""
        try:
            for dialect in self.dialects:
                node = parsed(dialect, path, documents)
                if node is not None:
                    return self._ruled(node)
        except ZarrscopeError as error:
            raise error.located(store=self.store.url) from None
        return None

    def _ruled(self, node: Node) -> Node:
        """The node; its defects name the store, and one that all nodes share precedes them: that of the root document
        with the hierarchy's rules."""
        found = node.metadata.defects if self.defect is None else (self.defect, *node.metadata.defects)
        if not found:
            return node
        metadata = replace(node.metadata, defects=tuple(defect.placed(self.store.url) for defect in found))
        return replace(node, metadata=metadata, attributes=placed(node.attributes, self.store.url))

    def described(self, path: str, documents: Mapping[str, StoredDocument]) -> Node | None:
        """The node as `parsed` gives it; if its document cannot be understood at all, a node with this defect, of the
        kind that its text or the keys beneath it show."""
        try:
            return self.parsed(path, documents)
        except BadMetadata as error:
            return self.broken(path, documents, error)

    def broken(self, path: str, documents: Mapping[str, StoredDocument], error: BadMetadata) -> Node:
        """The node at `path` if its document cannot be understood because of `error`."""
        dialect = next(each for each in self.dialects if any(key in documents for key in each.documents(path)))
        names = [key.rpartition("/")[2] for key in dialect.outline("/")]
        kind = dialect.guessed_kind(path, documents, keys_beneath(self.store, dialect.listing(path), names))
        defects = Defects(next(key for key in dialect.documents(path) if key in documents))
        named = "an array" if kind == "array" else "a group"
        guess = f"That it is {named} is a guess from its text and the keys around it."
        defect = replace(defects.add(error), advice=f"{error.located(key=defects.key).advice} {guess}")
        metadata = replace(defects.nothing_of(kind, dialect.name), defects=(defect,))
        return self._ruled(Node(path, metadata, UnreadAttributes(defect)))

    def faulty_keys(self, path: str, metadata: ArrayMetadata | GroupMetadata) -> tuple[str, ...]:
        """The keys of the node's own documents that have defects."""
        own = self.own_keys(path)
        return tuple(dict.fromkeys(defect.key for defect in metadata.defects if defect.key in own))

    def own_keys(self, path: str) -> tuple[str, ...]:
        """The keys of a node's documents; at the root also the broken document that states the rules of all nodes."""
        return self.keys_of(path) + ((self.defect.key,) if path == "/" and self.defect is not None else ())

    def dialect_of(self, node: Described) -> Dialect:
        """The dialect of one node. In a plain folder of several hierarchies, each node has its own."""
        if len(self.dialects) == 1:
            return self.dialect
        return next((each for each in self.dialects if each.name == node.metadata.dialect), self.dialect)

    def implicit_group(self, path: str, *, listed: bool = False) -> Node | None:
        """The implicit group at `path`: a group without a document, but with nodes beneath it; None if there are
        no nodes. `listed`: a listing has shown its prefix."""
        group = GroupMetadata(self.dialect.name, implicit=True, extensions=self.dialect.extensions)
        if (path == "/" or listed) and self.dialect.implicit == "prefix":
            return self._ruled(Node(path, group, {}))
        from zarrscope.nodes.consolidated_metadata import MAX_DEPTH
        from zarrscope.nodes.search import has_folders, has_nodes, shows_dialect

        folder = len(self.dialects) > 1
        searched = self.store.listable or folder or self.dialect.name in bare_root_dialects()
        if not searched or path.count("/") > MAX_DEPTH:
            return None
        warnings: tuple[str, ...] = ()
        if not (self.store.listable or folder):
            # The root's page shows whether the server has index pages: a page of an absent folder would deny it.
            if not (has_folders(self, "/") and shows_dialect(self, path)):
                return None
        elif self.dialect.implicit == "prefix":
            if next(self.store.list_dir(self.dialect.listing(path)), None) is None:
                return None
        elif folder and path == "/":
            pass  # a folder was opened because it has nodes, and is nothing but that
        elif has_nodes(self, path):
            warnings = ("This group has no document of its own; nodes lie beneath it",)
        else:
            return None
        return self._ruled(Node(path, group, {}, warnings))

    @property
    def searches(self) -> bool:
        """Whether each folder without documents is searched for nodes, at the cost of some requests."""
        return self.store.remote and len(self.dialects) > 1

    def shown(self, path: str, found: Iterator[Child]) -> Iterator[Child]:
        """The children to show. This leaves out the group in which some dialects keep nothing but consolidated
        metadata, and the trash that lies beside several hierarchies in one folder (stores/local/trash.py).
        """
        if len(self.dialects) > 1:
            return (child for child in found if not (child.name.startswith(".") and child.name.endswith(".trash")))
        alone = self.dialect.consolidated_group
        if alone is None or self.consolidated_metadata is None or alone.rpartition("/")[0] != path.rstrip("/"):
            return found
        return (child for child in found if join_path(path, child.name) != alone or not self._holds_copies_only(alone))

    def _holds_copies_only(self, path: str) -> bool:
        prefix = self.dialect.listing(path)
        holder = self.dialect.consolidated_location(self.dialect.documents(path)[0])
        if self.consolidated_metadata is not None and not self.prefers_own:
            return not any(key.startswith(prefix) for key in self.consolidated_metadata.documents)
        return holder is not None and all(prefix + entry.name == holder[0] for entry in self.store.list_dir(prefix))

    def need_writing(self, key: str) -> None:
        """Raises ReadOnly if writing is not allowed. A broken document that states the rules of all nodes may be
        written alone: it has to be corrected first."""
        mending = self.defect is not None and self.defect.key == key and self.store.writable
        if not self.writable and not mending:
            advice = "Open it with mode='r+'."
            if self.asked_to_write and not self.store.writable:
                default = "This place can only be read: make the change in a copy on a disk or in a bucket."
                advice = self.store._only_read or default
            if self.defect is not None:
                advice = f"{self.defect.key} at the root is broken: restore it first."
            elif self.dialect.lenient:
                advice = "It demands unknown extensions and was opened anyway, read-only, so it cannot be written."
            raise ReadOnly("This hierarchy is open for reading only", store=self.url, key=key, advice=advice)


def context_of(store: Store) -> NodeContext:
    """The context of the hierarchy in a store, for an array that has no context, such as an unpickled one. Raises
    NotFound."""
    detected, documents, asked = found_in(store)
    detected = detected or with_bare_root(store, documents)
    if detected is None:
        raise not_zarr(store)
    return NodeContext(store, detected, documents, writable=store.writable, asked=asked)


def with_bare_root(store: Store, documents: Mapping[str, bytes], chosen: str | None = None) -> Detected | None:
    """The hierarchy of a store whose root has no document, if its dialect allows that and nodes of it lie beneath; else
    None. `documents`: those at the root. `chosen`: the dialect that the caller asked for; then folders suffice.
    """
    from zarrscope.nodes.search import has_folders, shows_dialect

    for name in bare_root_dialects():
        if chosen not in (None, name):
            continue
        found = Detected(dialect_named(name))
        context = NodeContext(store, found, {})
        if shows_dialect(context, "/"):
            why = "nodes of it lie beneath the root"
        elif chosen is not None and not documents and has_folders(context, "/"):
            why = "it was opened as such"
        else:
            continue
        return replace(found, warnings=(f"The root has no document; it is shown as {found.dialect.title}: {why}",))
    return None
