"""Moves, renames and copies nodes with everything beneath them, within a hierarchy or between two of one dialect.

Values get new keys: documents stay byte for byte, and chunks are never decoded. If the store is a file system, a move
renames folders, which takes no longer for large nodes. Otherwise everything is copied and compared, and only then
erased at the old place. If it is interrupted, the node is complete at its old place or at its new one:

- chunks are copied first, then documents, the deepest first and the node's own last; with it, the new node exists;
- a move first erases the node's document at the old place; without it, the old node does not exist, and the remaining
  keys belong to no node;
- if documents are stored apart from chunks (the drafts), documents are copied, then chunks are moved in one step, then
  the old documents are erased.

While a copy runs, an extra key reserves the new place, so two copies never mix. If an interrupted copy has left keys
there, the next copy is refused until they are erased (`replace`). Specification: reference.md A.2 (keys), A.6 "Delete";
stores/files.py for moves of a prefix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice, product
from threading import Lock

from zarrscope.dialects import Dialect
from zarrscope.dialects.defects import as_far_as_read
from zarrscope.errors import Conflict, NotFound, Refused, Unsupported, ZarrscopeError
from zarrscope.model.metadata import ArrayMetadata
from zarrscope.model.node_path import clean_path, declared_paths, join_path
from zarrscope.model.storage import ABSENT, never
from zarrscope.nodes.consolidated import documents_beneath, follow, has_copies, holder_of
from zarrscope.nodes.context import NodeContext
from zarrscope.nodes.detect import fetch, need_known_absence
from zarrscope.nodes.document_keys import DocumentKeys
from zarrscope.nodes.edit import create_groups, erase_node, key_of, need_node, need_place, vanished, vanishing
from zarrscope.nodes.folders import within
from zarrscope.nodes.hierarchy_like import HierarchyLike
from zarrscope.nodes.new_documents import NewDocuments, erased_on_failure
from zarrscope.nodes.overwrite import FormerNode, put_aside, restored_on_failure
from zarrscope.nodes.walk import Tree
from zarrscope.runtime.threads import shared
from zarrscope.runtime.tuning import VALUES_AT_ONCE
from zarrscope.stores.store import Store

CLAIM = ".zarrscope-copying.json"
"""The key beneath the new place that marks a running copy. No dialect takes it for a document."""
ROUNDS = 3
"""How often values that others change during a move are copied again before the move is given up."""


@dataclass(frozen=True)
class MoveProgress:
    """The progress of a move or copy: the values copied or compared so far."""

    doing: str
    """ "copying" or "comparing"."""
    path: str
    done: int


@dataclass(frozen=True)
class Moved:
    """The result of a move or copy. `keys`: values stored at the new place. `at_once`: chunks were renamed, not
    copied."""

    path: str
    to: str
    keys: int
    nbytes: int
    at_once: bool = False
    cancelled: bool = False
    notes: tuple[str, ...] = ()
    remains: bool = False
    """Whether it was cancelled, and copied values could not be removed again."""


def copy(
    source: HierarchyLike,
    path: str,
    to: str,
    target: HierarchyLike | None = None,
    *,
    replace: bool = False,
    progress: Callable[[MoveProgress], None] | None = None,
    cancelled: Callable[[], bool] = never,
) -> Moved:
    """Copies the node at `path`, and everything beneath it, to the path `to` of `target` (or of the same hierarchy).

    `replace` erases the node at `to`, at the end if the store can list its keys: it is restored after a failure.
    Missing groups above `to` are created. `progress` is called by several threads, one at a time. If the copy is
    `cancelled`, the copied values are removed again. Raises NotFound, Conflict (`to` is not empty), Refused (`to` lies
    within `path`, its name is not allowed, or `target` has another dialect: convert instead), ReadOnly, Unreadable.
    """
    return _Carrying(source._nodes, path, to, (target or source)._nodes, replace, progress, cancelled).copy()


def move(
    source: HierarchyLike,
    path: str,
    to: str,
    target: HierarchyLike | None = None,
    *,
    replace: bool = False,
    progress: Callable[[MoveProgress], None] | None = None,
    cancelled: Callable[[], bool] = never,
) -> Moved:
    """Moves the node at `path`, and everything beneath it, to the path `to` of `target` (or of the same hierarchy).

    `replace`, `progress`, `cancelled` and the errors are those of `copy`. An implicit group above that contained only
    this node no longer exists afterwards. Also raises Conflict if others keep changing the node while it is moved; then
    nothing was erased.
    """
    return _Carrying(source._nodes, path, to, (target or source)._nodes, replace, progress, cancelled).move()


def rename(hierarchy: HierarchyLike, path: str, name: str) -> Moved:
    """Gives the node at `path` another name in the same group. See `move`."""
    path = clean_path(path)
    if "/" in name:
        raise Refused(f"{name!r} is a path, not a name", advice="Move the node to give it another place.")
    return move(hierarchy, path, join_path(path.rpartition("/")[0], name))


class _Cancelled(Exception):
    """The caller cancelled the move or copy."""


class _Gone(Conflict):
    """The node to move or copy was erased meanwhile."""


class _Carrying:
    """One move or copy: `pairs` are the keys, and `prefixes` the prefixes, of the old and the new place."""

    def __init__(
        self,
        source: NodeContext,
        path: str,
        to: str,
        target: NodeContext,
        replace: bool,
        progress: Callable[[MoveProgress], None] | None,
        cancelled: Callable[[], bool],
    ) -> None:
        self.path, self.to = clean_path(path), clean_path(to)
        self.replace, self.progress, self.cancelled = replace, progress, cancelled
        self.dialect, self.kind = need_node(source, self.path)
        self.source = within(source, self.path, self.dialect)
        self.target = within(target, self.to, self.dialect)
        self.own: dict[str, bytes] = {}
        """The node's own documents at the old place."""
        before, after = self.dialect.erase(self.path, self.kind), self.target.dialect.erase(self.to, self.kind)
        self.pairs = tuple(zip(before.keys, after.keys, strict=False))
        self.prefixes = tuple(zip(before.prefixes, after.prefixes, strict=False))
        self.claim = (after.prefixes[-1] if after.prefixes else "") + CLAIM
        self.documents: dict[str, bytes] = {}
        """Documents at the new place, for updating consolidated metadata."""
        self.keys = self.nbytes = self.done = 0
        self.remains = False
        self._guard = Lock()

    # ------------------------------------------------------------------ checks
    def _check(self, moving: bool) -> None:
        source, target, path, to = self.source, self.target, self.path, self.to
        if to == "/" or (moving and path == "/"):
            raise Refused(
                "The root cannot be moved" if moving and path == "/" else "A node cannot replace the root",
                store=target.url,
                advice="Rename the folder itself, or convert to a new place.",
            )
        if moving:
            source.need_writing(key_of(source, path))
        if not _alike(self.dialect, target.dialect):
            raise Refused(
                f"{path} is {self.dialect.title}, and {target.url} is {target.dialect.title}",
                store=source.url,
                advice=f"Convert it: zarrscope convert SOURCE DESTINATION --node {path} --to {target.dialect.name}.",
            )
        if _overlap(source.store, path, target.store, to, self.prefixes):
            raise Refused(
                f"{path} cannot be {'moved' if moving else 'copied'} to {to}: one lies within the other",
                store=target.url,
                advice="Choose another path.",
            )

    def _make_room(self, former: list[FormerNode], new: NewDocuments, *, moving: bool) -> None:
        """Checks that the node is still there, checks or clears the new place, and creates missing groups above it. The
        node that was there is added to `former`, the documents of the groups to `new`."""
        self.dialect, self.kind = need_node(self.source, self.path)
        self.own = fetch(self.source.store, self.dialect.documents(self.path))
        same = moving and self.source.store.url == self.target.store.url
        above = need_place(self.target, self.to, instead_of=self.path if same else "")
        taken = None
        with suppress(NotFound):
            taken = need_node(self.target, self.to, remains=True)
        if taken is not None:
            if not self.replace:
                raise Conflict(
                    f"Something is already stored at {self.to}",
                    store=self.target.url,
                    key=key_of(self.target, self.to),
                    advice="Choose another path, or replace the data there. A copy may have stopped halfway.",
                )
            former.extend(filter(None, [put_aside(self.target, self.to, *taken, stays=False)]))
        create_groups(self.target, above, new)

    # ------------------------------------------------------------------ carrying out
    def copy(self) -> Moved:
        need_known_absence(self.source.store)
        self._check(moving=False)
        try:
            with restored_on_failure(self.target) as former, erased_on_failure(self.target) as new:
                with self.target.store.lock():
                    self._make_room(former, new, moving=False)
                self._carry()
        except _Cancelled:
            return self._result(cancelled=True)
        return self._result()

    def move(self) -> Moved:
        self._check(moving=True)
        notes, above = self._mentions(), vanishing(self.source, self.path)
        try:
            with restored_on_failure(self.target) as former, erased_on_failure(self.target) as new:
                with self._locks():
                    self._make_room(former, new, moving=True)
                    moved = self._renamed()
                if not moved:
                    self._carry()
                    try:
                        self._settle()
                    except _Cancelled:
                        self._clear()
                        raise
        except _Cancelled:
            return self._result(cancelled=True)
        if not moved:
            self.target.store.bulk.flush()
            with self.source.store.lock():
                self._need_same(fetch(self.source.store, self.dialect.documents(self.path)))
                erase_node(self.source, self.dialect, self.path, self.kind)
        return self._result(at_once=moved, notes=notes + vanished(self.source, above))

    @contextmanager
    def _locks(self) -> Iterator[None]:
        """Locks both stores, always in the same order, so that two moves cannot block one another."""
        with ExitStack() as held:
            stores = {store.url: store for store in (self.source.store, self.target.store)}
            for url in sorted(stores):
                held.enter_context(stores[url].lock())
            yield

    def _result(self, *, at_once: bool = False, cancelled: bool = False, notes: tuple[str, ...] = ()) -> Moved:
        return Moved(self.path, self.to, self.keys, self.nbytes, at_once, cancelled, notes, self.remains)

    def _mentions(self) -> tuple[str, ...]:
        """References to the node in the OME-Zarr metadata of groups above; the move would break them."""
        notes, above = list[str](), self.path
        while above != "/":
            above = above.rpartition("/")[0] or "/"
            try:
                node = self.source.node_at(above)
            except ZarrscopeError:
                continue
            for declared in declared_paths(as_far_as_read(node.attributes)) if node is not None else ():
                with suppress(Refused):
                    where = clean_path(join_path(above, declared))
                    if declared != "labels" and f"{where}/".startswith(f"{self.path}/"):
                        notes.append(f"The attributes of {above} name {declared!r}: they were not changed")
        return tuple(dict.fromkeys(notes))

    # ------------------------------------------------------------------ by renaming
    def _renamed(self) -> bool:
        """Moves by renaming folders. Returns False if that is not possible."""
        source, target = self.source, self.target
        if self.dialect.apart:
            return self._renamed_apart()
        (prefix, to), *others = self.prefixes
        if others or self.pairs or not target.store.files.can_move_prefix(source.store, prefix, to):
            return False
        followed = has_copies(source, self.path) or has_copies(target, self.to)
        documents = documents_beneath(source, self.path) if followed else {}
        try:
            target.store.files.move_prefix(source.store, prefix, to)
        except Unsupported:
            return False
        self.documents = {to + key[len(prefix) :]: value for key, value in documents.items()}
        self._followed(((), (prefix,)))
        return True

    def _renamed_apart(self) -> bool:
        """Copies the documents, which are few. Then renames the folder of chunks."""
        source, target = self.source.store, self.target.store
        chunks = [(p, q) for p, q in self.prefixes if p != self.dialect.listing(self.path)]
        held = [(p, q) for p, q in chunks if next(source.list_prefix(p), None) is not None]
        loose = [key for key, _ in self.pairs if key not in self.dialect.documents(self.path) and source.get(key)]
        if len(held) != 1 or loose or not target.files.can_move_prefix(source, *held[0]):
            return False
        try:
            self._store_documents(self._documents_apart())
            target.files.move_prefix(source, *held[0])
        except ZarrscopeError as error:
            with suppress(ZarrscopeError):
                target.erase_values(self.documents)
            if isinstance(error, Unsupported):
                self.documents = {}
                return False
            raise
        erase_node(self.source, self.dialect, self.path, self.kind)
        return True

    def _documents_apart(self) -> list[tuple[str, str]]:
        own = [pair for pair in self.pairs if pair[0] in self.dialect.documents(self.path)]
        listing = self.dialect.listing(self.path)
        return own + [pair for pair in self._keys() if pair[0].startswith(listing) and pair not in own]

    def _followed(self, gone: tuple[tuple[str, ...], tuple[str, ...]]) -> None:
        """Updates consolidated metadata and caches of both hierarchies after folders were renamed."""
        from zarrscope.chunkio.write_watchers import forget_beneath

        if self.source is self.target:
            follow(self.source, self.documents, gone=gone)
        else:
            follow(self.target, {**self.documents})
            follow(self.source, {}, gone=gone)
        for hierarchy, path in ((self.source, self.path), (self.target, self.to)):
            hierarchy.forget()
            forget_beneath(hierarchy.url, path)

    # ------------------------------------------------------------------ value by value
    def _carry(self) -> None:
        """Copies everything, chunks first. If this is cancelled or fails, the copies are removed again."""
        store = self.target.store
        store.set(self.claim, b'{"zarrscope": "an unfinished copy"}', expect=ABSENT)
        try:
            documents: list[tuple[str, str]] = []
            self._copy_values(self._chunks(documents))
            self._store_documents(documents)
            if not self.keys:
                raise self._gone()
        except BaseException as error:
            if not isinstance(error, Conflict) or isinstance(error, _Gone):  # else another process writes there
                self._clear()
            if self.remains and isinstance(error, ZarrscopeError):
                error.advice = f"Make room, then erase what is left at {self.to}. {error.advice or ''}".rstrip()
            raise
        store.erase(self.claim)

    def _clear(self) -> None:
        """Removes the copies at the new place, as far as that is possible."""
        try:
            erase_node(self.target, self.target.dialect, self.to, self.kind)
        except ZarrscopeError:
            self.remains = True

    def _chunks(self, documents: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Yields all (old key, new key) except those of documents, which are appended to the list `documents`."""
        own = DocumentKeys(self.dialect, self.path)
        for pair in self._keys():
            if own.is_document(pair[0]):
                documents.append(pair)
            else:
                yield pair

    def _copy_values(self, pairs: Iterator[tuple[str, str]]) -> None:
        source, target = self.source.store, self.target.store

        def work(batch: list[tuple[str, str]]) -> None:
            for _, size in target.bulk.copy_many(source, batch, self.cancelled):
                with self._guard:
                    self.keys += 1
                    self.nbytes += size or 0
                    self._step("copying", 1)
            self._go_on()

        shared().share(_batches(pairs, VALUES_AT_ONCE if source.remote else 1), work)

    def _store_documents(self, pairs: list[tuple[str, str]]) -> None:
        """Stores the documents, the deepest first, the node's own last; each atomically, and only where nothing is
        stored."""
        values = fetch(self.source.store, [key for key, _ in pairs])
        self._need_same(values)
        last = self.dialect.documents(self.path)
        first = {self.dialect.attributes_at(self.path, self.kind)[0]} if len(last) > 1 else set()
        ordered = sorted(pairs, key=lambda pair: (pair[0] in last, -pair[0].count("/"), pair[0] not in first, pair[0]))
        for key, to in ordered:
            self._go_on()
            if key in values:
                self.target.store.set(to, values[key], expect=ABSENT)
                self.documents[to] = values[key]
                self.keys += 1
                self.nbytes += len(values[key])
        self.target.forget()
        follow(self.target, {**self.documents})

    def _need_same(self, found: dict[str, bytes]) -> None:
        """Raises Conflict if somebody removed the node, or changed its kind, since it was looked up."""
        gone = next((key for key in self.own if key not in found), None)
        if gone is not None:
            raise self._gone(gone)

    def _gone(self, key: str | None = None) -> _Gone:
        return _Gone(
            f"{self.path} was moved or erased by others meanwhile",
            store=self.source.url,
            key=key,
            advice="Check where it is now.",
        )

    def _settle(self) -> None:
        """Copies values again that others changed during the move, until old and new place hold the same values."""
        source, target = self.source.store, self.target.store
        for _ in range(ROUNDS):
            again: list[str] = []

            def work(batch: list[tuple[str, str]], again: list[str] = again) -> None:
                self._go_on()
                found = list(target.bulk.compare_many(source, batch))
                with self._guard:
                    again += found
                    self._step("comparing", len(batch))

            self.done = 0
            shared().share(_batches(self._keys(), VALUES_AT_ONCE), work)
            if not again:
                self._go_on()  # the last moment: from here on the old place is erased
                return
            changed = {to: key for key, to in self._keys() if to in {*again}}
            stored = {to for to, _ in target.bulk.copy_many(source, ((key, to) for to, key in changed.items()))}
            target.erase_values(to for to in changed if to not in stored)
            documents = fetch(target, [to for to in changed if to in self.documents])
            follow(self.target, {**documents})
        raise Conflict(
            f"Others keep changing {self.path} while it is moved",
            store=self.source.url,
            advice=f"Nothing was erased; a copy is at {self.to}. Try again when they are done.",
        )

    # ------------------------------------------------------------------ keys
    def _keys(self) -> Iterator[tuple[str, str]]:
        """Yields (old key, new key) for every stored key; where the store cannot list, for every key that may exist."""
        store = self.source.store
        copies = {holder_of(self.dialect)} - {*self.dialect.documents(self.path)} if self.path == "/" else ()
        own = {key for key, _ in self.pairs}
        yield from self.pairs
        for prefix, to in self.prefixes:
            for key in store.list_prefix(prefix) if store.listable else self._unlisted(prefix):
                if key not in own and key not in copies and key.rpartition("/")[2] != CLAIM:
                    yield key, to + key[len(prefix) :]

    def _unlisted(self, prefix: str) -> Iterator[str]:
        """The keys beneath `prefix` of nodes that are known without listing (consolidated, or named by OME-Zarr)."""
        if self.kind == "array":
            paths = [self.path]
        else:
            paths = [self.path, *(where for where, _ in Tree(self.source, self.path).walk())]
        for path in paths:
            yield from (key for key in self.dialect.documents(path) if key.startswith(prefix))
            node = self.source.node_at(path)
            if node is not None and isinstance(node.metadata, ArrayMetadata):
                metadata = node.metadata
                for index in product(*map(range, metadata.grid.grid_shape(metadata.shape))):
                    key = metadata.keys.key(index)
                    if key.startswith(prefix):
                        yield key

    def _step(self, doing: str, n: int) -> None:
        self.done += n
        if self.progress is not None:
            self.progress(MoveProgress(doing, self.path, self.done))

    def _go_on(self) -> None:
        if self.cancelled():
            raise _Cancelled


def _alike(one: Dialect, other: Dialect) -> bool:
    """Whether both hierarchies write documents and chunks in the same form under the same keys."""
    keys = [(each.name, each.documents("/a/b"), each.chunk_keys("/a/b", 2)) for each in (one, other)]
    return keys[0] == keys[1]


def _overlap(source: Store, path: str, target: Store, to: str, prefixes: tuple[tuple[str, str], ...]) -> bool:
    """Whether one place lies within the other: by path in one store, by folder for two stores that share files."""
    if source.url == target.url:
        return f"{to}/".startswith(f"{path.rstrip('/')}/") or f"{path}/".startswith(f"{to}/")
    for prefix, other in prefixes:
        folders = source._folder_of(prefix), target._folder_of(other)
        if folders[0] is not None and folders[1] is not None:
            one, two = (f"{folder.rstrip('/')}/" for folder in folders if folder is not None)
            if one.startswith(two) or two.startswith(one):
                return True
    return False


def _batches(pairs: Iterator[tuple[str, str]], size: int) -> Iterator[list[tuple[str, str]]]:
    while batch := list(islice(pairs, size)):
        yield batch
