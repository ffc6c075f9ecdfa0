"""Hierarchies: groups and arrays in a store, opened lazily, created, edited and erased.

`open(url)` fetches the few documents that tell the dialect side by side, and knows from then on which documents every
node has. A node costs one round trip, none when the hierarchy carries consolidated metadata; children stream while they
are listed (request counts: dialects.md A.14). A node that cannot be decoded here still opens and shows its metadata.

Nothing is written but by create_group, create_array, save, erase and Array's own writing; each document is stored
atomically and only over the version that was read. The consolidated copy follows every edit, second: when that fails,
`warnings` says that it is stale. Specification: v3 core, v2, dialects.md A.1, A.8, A.9.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from zarrscope.array import Array
from zarrscope.creating import new_array
from zarrscope.dialects import (
    PROBES,
    Child,
    Detected,
    Dialect,
    Kind,
    Node,
    Source,
    dialect_named,
)
from zarrscope.dialects.extensions import Inherited, inherited
from zarrscope.document import Document
from zarrscope.errors import BadMetadata, Conflict, NotFound, ReadOnly, Refused, ZarrscopeError
from zarrscope.jsontext import CONSOLIDATED_LIMIT
from zarrscope.metadata import ArrayMetadata, ExtensionReport, GroupMetadata
from zarrscope.naming import close_to, declared_paths
from zarrscope.probing import Folder, detected_in, fetch, look_above, not_zarr
from zarrscope.store import ABSENT, Entry, Store, never

if TYPE_CHECKING:
    pass

Mode = Literal["r", "r+", "a", "w-"]

MAX_DEPTH = 64
BATCH = 64
"""So many children's documents are fetched side by side."""


def open(
    url: str | os.PathLike[str] | Store,
    mode: Mode = "r",
    *,
    dialect: str | None = None,
    lenient: bool = False,
    consolidated: bool = True,
) -> Hierarchy:
    """The hierarchy at `url`: a path, a file:, http(s): or memory: address, a zip file, or a Store.

    mode: r read only · r+ read and write what exists · a the same, created when missing · w- created, must not exist.
    `dialect` names the dialect to open as, or to create (v3). `lenient` opens what demands extensions unknown here.
    `consolidated` False reads each node's own documents even where a consolidated copy offers them.
    Raises NotFound (no hierarchy there), Unreadable, BadMetadata, Unsupported, Refused; with w- Conflict.
    """
    if mode not in ("r", "r+", "a", "w-"):
        raise Refused(f"There is no mode {mode!r}", advice="The modes are r, r+, a and w-.")
    if isinstance(url, Store):
        return _opened(url, mode, dialect, lenient, consolidated)
    from zarrscope.stores.address import open_store, split_address

    address = split_address(os.fspath(url))
    try:
        store = open_store(address.store_url, mode)
        found = _opened(store, mode, dialect, lenient, consolidated)
    except NotFound as error:
        above = look_above(address) if mode in ("r", "r+") else None
        if above is not None:
            error.advice = above
        raise
    found.entry = address.node_path or "/"
    return found


def _opened(store: Store, mode: Mode, dialect: str | None, lenient: bool, consolidated: bool) -> Hierarchy:
    documents = fetch(store, PROBES)
    detected = detected_in(store, documents, dialect, lenient)
    if detected is None:
        if mode in ("a", "w-"):
            return _created(store, dialect or "v3")
        if store.listable and dialect is None:
            folder = Hierarchy(store, Detected(Folder.dialects[0]), {}, writable=mode != "r", folder=True)
            if folder._has_nodes("/"):
                folder.warnings = (Folder.warning,)
                return folder
        raise not_zarr(store)
    elsewhere = [key for key in detected.dialect.documents("/") if key not in PROBES and key not in documents]
    if elsewhere:  # drafts keep the root's documents apart from what tells the dialect
        documents.update(fetch(store, elsewhere))
    if mode == "w-":
        raise Conflict(
            f"There is a {detected.dialect.title} hierarchy already",
            store=store.url,
            advice="Open it with mode='r+', or choose another place.",
        )
    return Hierarchy(store, detected, documents, writable=mode != "r", use_consolidated=consolidated)


def _created(store: Store, dialect: str) -> Hierarchy:
    chosen = dialect_named(dialect)
    found = Hierarchy(store, Detected(chosen), {}, writable=True)
    found.create_group("/")
    return found


def clean_path(path: str) -> str:
    """ "/a/b" for "a/b", "/a//b/", "a\\b". Raises Refused for "." and "..": they could leave the hierarchy."""
    parts = [part for part in path.replace("\\", "/").split("/") if part]
    if any(part in (".", "..") for part in parts):
        raise Refused(f"The path {path!r} has '.' or '..' in it", advice="Name the node by its path from the root.")
    return "/" + "/".join(parts)


def join_path(path: str, name: str) -> str:
    return f"{path.rstrip('/')}/{name}"


class Group:
    """A group node: its attributes, and its children as they are found."""

    kind: Literal["group"] = "group"

    def __init__(
        self,
        hierarchy: Hierarchy,
        path: str,
        metadata: GroupMetadata,
        attributes: Mapping[str, Any],
        warnings: tuple[str, ...] = (),
    ) -> None:
        self.hierarchy = hierarchy
        self.path = path
        self.metadata = metadata
        self.attributes = attributes
        self.warnings = warnings

    @property
    def name(self) -> str:
        """The last part of the path; "" for the root."""
        return self.path.rpartition("/")[2]

    @property
    def extensions(self) -> tuple[ExtensionReport, ...]:
        """What the group's document demands or offers beyond the core, and what is done about each."""
        return self.metadata.extensions

    @property
    def problem(self) -> ZarrscopeError | None:
        """What this group demands and zarrscope does not have; None otherwise."""
        return self.metadata.problem

    def children(self, cancelled: Callable[[], bool] = never) -> Iterator[Child]:
        """Every child once, its kind known, in the order of arrival; one whose documents are broken has `error`.

        Streams: the first come before all are listed. Raises Unsupported when the store cannot list and nothing else
        tells what there is, or when the group demands an extension that is not understood here.
        """
        if self.problem is not None:
            raise self.problem.located(store=self.hierarchy.url, key=self.hierarchy.dialect.documents(self.path)[0])
        return self.hierarchy.children(self.path, cancelled)

    def __getitem__(self, path: str) -> Group | Array:
        return self.hierarchy[join_path(self.path, path)]

    def __repr__(self) -> str:
        return f"<Group {self.path} in {self.hierarchy.url}>"


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
        self._dialects: tuple[Dialect, ...] = Folder.dialects if folder else (detected.dialect,)
        self.also = detected.also
        self.warnings: tuple[str, ...] = detected.warnings
        self.writable = writable and store.writable and not detected.dialect.lenient
        self.entry = "/"
        """The node that the address named, where it named one inside the store."""
        self._at_hand: dict[str, bytes] | None = dict(documents)
        """What detection fetched serves the root's first opening."""
        self._copies: dict[str, Source] | None = None
        self._listed: dict[str, dict[str, bool]] = {}
        if use_consolidated and documents and not folder:
            try:
                copies = self.dialect.consolidated(documents)
            except ZarrscopeError as error:
                self.warnings += (f"The consolidated metadata is passed over: {error.message}",)
            else:
                self._take_copies(copies, documents)

    @classmethod
    def reopen(cls, store: Store) -> Hierarchy:
        """The hierarchy of a store that was open before."""
        return _opened(store, "r+" if store.writable else "r", None, False, True)

    @property
    def url(self) -> str:
        return self.store.url

    @property
    def consolidated(self) -> bool:
        """Nodes are read from a copy of all documents at the root."""
        return self._copies is not None

    @property
    def root(self) -> Group | Array:
        return self.open_node("/")

    def __getitem__(self, path: str) -> Group | Array:
        return self.open_node(path)

    def __contains__(self, path: str) -> bool:
        try:
            return self._node(clean_path(path)) is not None
        except ZarrscopeError as error:
            return not isinstance(error, NotFound)

    def __repr__(self) -> str:
        return f"<Hierarchy {self.dialect.title} {self.url}>"

    # ------------------------------------------------------------------ nodes
    def open_node(self, path: str) -> Group | Array:
        """The node at `path`. Raises NotFound (it says what is there instead), BadMetadata, Unreadable, Unsupported."""
        path = clean_path(path)
        node = self._node(path)
        if node is None:
            raise self._nothing_at(path)
        return self._made(node)

    def _made(self, node: Node) -> Group | Array:
        if isinstance(node.metadata, ArrayMetadata):
            return Array(self.store, node.path, node.metadata, node.attributes, warnings=node.warnings, hierarchy=self)
        return Group(self, node.path, node.metadata, node.attributes, node.warnings)

    def _node(self, path: str) -> Node | None:
        keys = self._keys(path)
        documents: dict[str, Source] = {}
        copies = self._copies or {}
        copied = {key: copies[key] for key in keys if key in copies}
        if copied and not self._prefers_own:
            documents = copied
        elif path == "/" and self._at_hand is not None:
            at_hand, self._at_hand = self._at_hand, None
            documents = {key: at_hand[key] for key in keys if key in at_hand}
        if not documents:
            documents = {**fetch(self.store, keys)} or copied
        node = self._parsed(path, documents)
        return node if node is not None else self._implicit(path)

    @property
    def _prefers_own(self) -> bool:
        """A document of one's own costs no round trip here, and is never out of date."""
        return self.store.listable and not self.store.remote

    def _keys(self, path: str) -> tuple[str, ...]:
        """The documents of a node, whatever its kind."""
        return tuple(key for dialect in self._dialects for key in dialect.documents(path))

    def _parsed(self, path: str, documents: Mapping[str, Source]) -> Node | None:
        try:
            for dialect in self._dialects:
                node = dialect.parse(path, documents)
                if node is not None:
                    return node
        except ZarrscopeError as error:
            raise error.located(store=self.store.url) from None
        return None

    def _speaks(self, node: Node) -> Dialect:
        """The dialect of one node: in a folder, any of several."""
        return next((each for each in self._dialects if each.name == node.metadata.dialect), self.dialect)

    def _attributes_at(self, path: str) -> tuple[str, str]:
        node = self._node(path)
        if node is None:
            raise self._nothing_at(path)
        return self._speaks(node).attributes_at(path, node.metadata.kind)  # type: ignore[arg-type]

    def _implicit(self, path: str, *, listed: bool = False) -> Node | None:
        """The group that has no document but nodes beneath it; None when there are none. `listed`: its prefix is."""
        group = GroupMetadata(self.dialect.name, implicit=True, extensions=self.dialect.extensions)
        if (path == "/" or listed) and self.dialect.implicit == "prefix":
            return Node(path, group, {})
        if not self.store.listable or path.count("/") > MAX_DEPTH:
            return None
        warnings: tuple[str, ...] = ()
        if self.dialect.implicit == "prefix":
            if next(self.store.list_dir(self.dialect.listing(path)), None) is None:
                return None
        elif self._has_nodes(path):
            warnings = ("This group has no document of its own; nodes lie beneath it",)
        else:
            return None
        return Node(path, group, {}, warnings)

    def _has_nodes(self, path: str) -> bool:
        """Whether documents of nodes lie anywhere beneath, as far as a bounded search finds."""
        queue = [path]
        for _ in range(10 if self.store.remote else Folder.searched):
            if not queue:
                return False
            here = queue.pop(0)
            entries = islice(self.store.list_dir(self.dialect.listing(here)), 1000)
            below = [join_path(here, child.name) for child in islice(self.dialect.children(here, entries), 100)]
            if fetch(self.store, [key for child in below for key in self._keys(child)]):
                return True
            queue += below
        return False

    def _nothing_at(self, path: str) -> NotFound:
        """Why there is no node, and what is there instead."""
        if path == "/":
            return NotFound(
                f"The root is no node of {self.dialect.title}",
                store=self.url,
                key=self.dialect.documents("/")[0],
                advice="Its documents may have been erased meanwhile.",
            )
        above, name = path.rpartition("/")[0] or "/", path.rpartition("/")[2]
        while True:
            try:
                node = self._node(above)
            except ZarrscopeError:
                node = None
            if node is not None or above == "/":
                break
            above, name = above.rpartition("/")[0] or "/", above.rpartition("/")[2]
        if node is not None and node.metadata.kind == "array":
            advice = f"{above} is an array; no nodes lie beneath an array."
        else:
            try:
                names = sorted(child.name for child in islice(self.children(above), 1000))
            except ZarrscopeError:
                names = []
            close = close_to(name, names)
            advice = f"{above} holds {', '.join(names[:8]) or 'nothing'}{' …' if len(names) > 8 else ''}."
            if close:
                advice += f" Did you mean {join_path(above, close)}?"
        return NotFound(f"There is no node {path}", store=self.url, key=self._keys(path)[0], advice=advice)

    def extensions(self, path: str) -> list[Inherited]:
        """The extensions of ZEP 9 at `path`: its own and those of the groups above it, references resolved.

        For display: they change nothing in how arrays are read. A group above that cannot be opened tells nothing.
        """
        path = clean_path(path)
        declared: dict[str, tuple[ExtensionReport, ...]] = {}
        parts = [part for part in path.split("/") if part]
        for where in ("/" + "/".join(parts[:n]) for n in range(len(parts) + 1)):
            try:
                node = self._node(where)
            except ZarrscopeError:
                continue
            if node is not None:
                declared[where] = node.metadata.extensions
        return inherited(path, declared)

    # ------------------------------------------------------------------ children
    def children(self, path: str, cancelled: Callable[[], bool] = never) -> Iterator[Child]:
        """See Group.children."""
        path = clean_path(path)
        if self._copies is not None and not self._prefers_own:
            yield from self._copied_children(path)
            return
        found = self._found_beneath(path)
        seen: set[str] = set()
        while not cancelled():
            batch: list[Child] = []
            for child in found:
                if child.name not in seen:
                    seen.add(child.name)
                    batch.append(child)
                if len(batch) == BATCH:
                    break
            if not batch:
                return
            yield from self._with_kinds(path, batch, cancelled)

    def _found_beneath(self, path: str) -> Iterator[Child]:
        if self.store.listable:
            return self.dialect.children(path, self.store.list_dir(self.dialect.listing(path)))
        declared = [Child(name) for name in self._declared_beneath(path)]
        if not declared:
            self.store._need_listing()
        return iter(declared)

    def _with_kinds(self, path: str, batch: Sequence[Child], cancelled: Callable[[], bool]) -> Iterator[Child]:
        """The children that turn out to be nodes; kinds from their documents, fetched side by side."""
        keys = {child.name: self._keys(join_path(path, child.name)) for child in batch if child.kind is None}
        copies = self._copies or {}
        documents: dict[str, Source] = {key: copies[key] for group in keys.values() for key in group if key in copies}
        wanted = [key for group in keys.values() for key in group if not any(k in documents for k in group)]
        failed: dict[str, ZarrscopeError] = {}
        for i, answer in self.store.get_many([(key, None) for key in wanted], cancelled):
            if isinstance(answer, ZarrscopeError):
                failed[wanted[i]] = answer
            elif answer is not None:
                documents[wanted[i]] = answer
        if cancelled():
            return
        for child in batch:
            if child.kind is not None:
                yield child
                continue
            error = next((failed[key] for key in keys[child.name] if key in failed), None)
            if error is not None:
                yield Child(child.name, error=error)
                continue
            made = self._child(path, child.name, {k: documents[k] for k in keys[child.name] if k in documents})
            if made is not None:
                yield made

    def _child(self, path: str, name: str, documents: Mapping[str, Source]) -> Child | None:
        where = join_path(path, name)
        try:
            node = self._parsed(where, documents)
            if node is None and not documents:
                node = self._implicit(where, listed=True)
        except ZarrscopeError as error:
            return Child(name, self._claimed(where, documents), error=error)
        return None if node is None else Child(name, node.metadata.kind, node.metadata)  # type: ignore[arg-type]

    def _claimed(self, path: str, documents: Mapping[str, Source]) -> Kind | None:
        kinds = (dialect.claimed(path, documents) for dialect in self._dialects)
        return next((kind for kind in kinds if kind is not None), None)

    def _copied_children(self, path: str) -> Iterator[Child]:
        copies = self._copies or {}
        names = self._listed.get(self.dialect.listing(path), {})
        entries = (Entry(name, is_prefix) for name, is_prefix in names.items())
        for child in self.dialect.children(path, entries):
            where = join_path(path, child.name)
            keys = self.dialect.documents(where)
            documents = {key: copies[key] for key in keys if key in copies}
            made = self._child(path, child.name, documents) if documents else None
            if made is None and not documents:  # documents of nodes lie beneath, so it is a group
                made = Child(child.name, "group", GroupMetadata(self.dialect.name, implicit=True))
            if made is not None:
                yield made

    def _take_copies(self, copies: dict[str, Source] | None, documents: Mapping[str, Source]) -> None:
        if copies is None:
            return
        own = set(self.dialect.documents("/"))
        for key in own & documents.keys():
            if key not in copies and key != ".zmetadata":
                copies[key] = documents[key]
        self._copies = copies
        listed: dict[str, dict[str, bool]] = {}
        for key in copies:
            at = 0
            while (slash := key.find("/", at)) >= 0:
                listed.setdefault(key[:at], {})[key[at:slash]] = True
                at = slash + 1
            listed.setdefault(key[:at], {}).setdefault(key[at:], False)
        self._listed = listed

    def _declared_beneath(self, path: str) -> list[str]:
        """Names that OME-Zarr metadata of this group or of one above it tells of: for stores that cannot list."""
        names: dict[str, None] = {}
        above = path
        while True:
            try:
                node = self._node(above)
            except ZarrscopeError:
                node = None
            for declared in declared_paths(node.attributes) if node is not None else ():
                try:
                    full = clean_path(join_path(above, declared))
                except Refused:  # leads out of the group: nobody's node (F.10)
                    continue
                if full.startswith(path.rstrip("/") + "/") and full != path:
                    names[full[len(path.rstrip("/")) + 1 :].partition("/")[0]] = None
            if above == "/":
                return list(names)
            above = above.rpartition("/")[0] or "/"

    # ------------------------------------------------------------------ creating
    def create_group(self, path: str, attributes: Mapping[str, Any] | None = None) -> Group:
        """A new group, and those above it that are missing. Raises Conflict (the path is taken), Refused, ReadOnly."""
        path = clean_path(path)
        self._create(path, GroupMetadata(self.dialect.name), attributes or {})
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
        self._create(path, metadata, attributes or {})
        made = self.open_node(path)
        assert isinstance(made, Array)
        return made

    def _create(self, path: str, metadata: ArrayMetadata | GroupMetadata, attributes: Mapping[str, Any]) -> None:
        self.need_writing(self.dialect.documents(path)[0])
        if len(self._dialects) > 1:
            raise Refused(
                "New nodes need a hierarchy, and this is a folder of several",
                store=self.url,
                advice="Open one of those beneath it and create the node there.",
            )
        names = [name for name in path.split("/") if name]
        for name in names:
            self.dialect.check_name(name)
        plan: list[tuple[str, dict[str, bytes]]] = []
        above = "/"
        for name in names:
            node = self._own_node(above)
            if node is not None and node.metadata.kind == "array":
                raise Refused(
                    f"{above} is an array: no node can be made beneath it",
                    store=self.url,
                    advice="Choose another path.",
                )
            if node is None:
                plan.append((above, self.dialect.write(above, GroupMetadata(self.dialect.name), {})))
            above = join_path(above, name)
        taken = self._own_node(path)
        if taken is not None:
            raise Conflict(
                f"There is a node {path} already: {'an array' if taken.metadata.kind == 'array' else 'a group'}",
                store=self.url,
                key=self.dialect.documents(path)[0],
                advice="Choose another path, or erase that node first.",
            )
        plan.append((path, self.dialect.write(path, metadata, attributes)))
        for where, documents in plan:
            last = self.dialect.attributes_at(where, metadata.kind)[0]  # type: ignore[arg-type]
            # a document of attributes first: the node appears with them, not before them
            for key, value in sorted(documents.items(), key=lambda item: item[0] != last):
                try:
                    self.store.set(key, value, expect=ABSENT)
                except Conflict:
                    if where == path:
                        raise  # somebody made this node meanwhile; a group above made by others is as good as ours
                self._copy(key, lambda value=value: value)  # type: ignore[misc]
        self._at_hand = None

    def _own_node(self, path: str) -> Node | None:
        """The node as its own documents say now, whatever a consolidated copy says."""
        return self._parsed(path, fetch(self.store, self._keys(path)))

    # ------------------------------------------------------------------ editing
    def document(self, path: str) -> Document:
        """The JSON file that holds the node's attributes, as stored now; for v2's .zattrs "{}" when there is none.

        `dialect.attributes_at(path, kind)` says where in it they are.
        """
        path = clean_path(path)
        key, _ = self._attributes_at(path)
        found = self.store.get_versioned(key)
        if found is None:
            return Document(b"{}", key, ABSENT)
        try:
            return Document(found[0], key, found[1], limit=CONSOLIDATED_LIMIT)
        except ZarrscopeError as error:
            raise error.located(store=self.url, key=key) from None

    def attributes_pointer(self, path: str) -> str:
        """Where in `document(path)` the attributes are: "/attributes", or "" for all of it."""
        return self._attributes_at(clean_path(path))[1]

    def save(self, path: str, document: Document) -> Document:
        """Stores the document if what is stored is still the version that was read; returns it at its new version.

        Raises Conflict (with theirs), ReadOnly, BadMetadata when the node would no longer be one.
        """
        path = clean_path(path)
        self.need_writing(document.key)
        if document.version is None:
            raise Refused(
                "A document without a version cannot be saved", key=document.key, advice="Read it anew first."
            )
        documents: dict[str, Source] = {**fetch(self.store, self._keys(path))}
        before = self._parsed(path, documents)
        documents[document.key] = document.bytes
        after = self._parsed(path, documents)
        if before is not None and (after is None or after.metadata.kind != before.metadata.kind):
            raise BadMetadata(
                f"Saved like this, {path} would no longer be the node it is", store=self.url, key=document.key
            )
        version = self.store.set(document.key, document.bytes, expect=document.version)
        if path == "/":
            self._at_hand = None
        self._copy(document.key, lambda: document.bytes)
        return document.read_at(version)

    def resize(self, path: str, metadata: ArrayMetadata, shape: tuple[int, ...]) -> ArrayMetadata:
        """Writes the array's new shape into its document, nothing else. Use Array.resize, which erases chunks too."""
        self.need_writing(self.dialect.documents(path)[0])
        changed = replace(metadata, shape=shape)
        node = self._own_node(path)
        if node is None:
            raise self._nothing_at(path)
        old, new = (self._speaks(node).write(path, each, node.attributes) for each in (metadata, changed))
        for key, value in new.items():
            was, now = json.loads(old[key]), json.loads(value)
            stored = self.store.get_versioned(key)
            if was == now or stored is None:
                continue
            document = Document(stored[0], key, stored[1], limit=CONSOLIDATED_LIMIT)
            for member in now:
                if was.get(member) != now[member]:
                    document = document.set(f"/{member}", now[member])
            self.save(path, document)
        return changed

    def erase(self, path: str) -> None:
        """Removes the node and all beneath it. Raises NotFound, ReadOnly."""
        path = clean_path(path)
        self.need_writing(self.dialect.documents(path)[0])
        node = self._own_node(path) or self._node(path)
        if node is None:
            raise self._nothing_at(path)
        erasure = self._speaks(node).erase(path, node.metadata.kind)  # type: ignore[arg-type]
        self.store.erase_values(erasure.keys)
        for prefix in erasure.prefixes:
            self.store.erase_prefix(prefix)
        self._at_hand = None
        if path == "/":
            self._copies = None
        elif self._copies is not None:
            gone = [k for k in self._copies if k in erasure.keys or k.startswith(tuple(erasure.prefixes))]
            self._change_copies(dict.fromkeys(gone))

    def need_writing(self, key: str) -> None:
        """Raises ReadOnly where nothing may be written."""
        if not self.writable:
            advice = "Open it with mode='r+'."
            if self.dialect.lenient:
                advice = "What is opened leniently cannot be written: its demands are not understood here."
            raise ReadOnly("This hierarchy is open for reading only", store=self.url, key=key, advice=advice)

    # ------------------------------------------------------------------ the consolidated copy
    def _copy(self, key: str, value: Callable[[], bytes]) -> None:
        if self._copies is not None:
            self._change_copies({key: value()})

    def _change_copies(self, changes: Mapping[str, bytes | None]) -> None:
        """Brings the consolidated copy in step: the same change, second. A failure leaves a warning."""
        copies = dict(self._copies or {})
        for key, value in changes.items():
            if value is None:
                copies.pop(key, None)
            else:
                copies[key] = value
        try:
            self._store_copies(changes)
        except ZarrscopeError as error:
            stale = "The consolidated metadata is stale: it could not be brought in step"
            self.warnings = (*(w for w in self.warnings if not w.startswith(stale)), f"{stale} ({error.message})")
        self._take_copies(copies, {})

    def _store_copies(self, changes: Mapping[str, bytes | None]) -> None:
        from zarrscope.consolidated import Copies

        holder = Copies(self.dialect.name)
        for _ in range(20):
            found = self.store.get_versioned(holder.key)
            if found is None:
                return
            document = Document(found[0], holder.key, found[1], limit=CONSOLIDATED_LIMIT)
            changed = holder.changed(document, changes)
            if changed is document:
                return
            try:
                self.store.set(holder.key, changed.bytes, expect=found[1])
                return
            except Conflict as conflict:
                lost = conflict
        raise lost
