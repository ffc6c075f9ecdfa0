"""A trash for nodes on stores that are folders: erased nodes can be restored.

    thrown = trash.put(hierarchy, "/labels/old")          # renamed into the trash beside the store
    trash.restore(hierarchy, thrown.id)                   # moved back with its chunks and attributes
    trash.empty(hierarchy)                                # erased for good

A node is moved with everything beneath it by renaming its folder, never by copying, so a large node takes no longer. An
entry of the trash is a folder. It contains a record (trash.json) of the former places, which is written first, and
beneath `stored/` the files under their former keys, so a person can also take them out by hand. If a node is one folder
(v2, v3, N5), a crash leaves it complete at one place or the other. If documents lie apart from chunks (the drafts), the
documents are moved first and restored last; after a crash in between, `restore` brings both together again.

The consolidated copies are updated afterwards, as with every edit. Specification: reference.md A.6 "Delete".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from zarrscope.dialects import Dialect, dialect_named
from zarrscope.errors import Conflict, Refused, Unreadable, Unsupported, ZarrscopeError
from zarrscope.model.node_path import clean_path
from zarrscope.model.storage import ABSENT, never
from zarrscope.nodes.consolidated import documents_beneath, follow, has_copies
from zarrscope.nodes.context import NodeContext
from zarrscope.nodes.edit import create_groups, key_of, need_node, need_place, vanished, vanishing
from zarrscope.nodes.hierarchy_like import HierarchyLike
from zarrscope.nodes.new_documents import erased_on_failure
from zarrscope.nodes.trash_record import RECORD, STORED, Thrown, files_of, listed, read
from zarrscope.stores.dry_run import DryRunStore
from zarrscope.stores.local.failures import FULL
from zarrscope.stores.local.trash import remove_empty_trash, trash_store, writable_trash
from zarrscope.stores.store import Store

__all__ = ["Thrown", "available", "empty", "entries", "identify", "place", "put", "restore"]

NO_ROOM = (
    "Nothing was changed. The disk is full, and the trash needs a little room: make room, then try again, or erase the "
    "node for good."
)
_ID = re.compile(r"\d{8}-\d{6}-\d{6}")


def available(hierarchy: HierarchyLike) -> bool:
    """Whether the hierarchy's store has a trash: it must be a folder, and the folder above it must be writable.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> available(zarrscope.open(MemoryStore(), "w-"))
    False
    """
    return writable_trash(hierarchy.store)


def place(hierarchy: HierarchyLike) -> str | None:
    """The address of the trash of the hierarchy's store, even if it is empty; None if the store has no trash.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> place(zarrscope.open(MemoryStore(), "w-")) is None
    True
    """
    trash = _trash(hierarchy.store)
    return trash.url if trash is not None else None


def put(hierarchy: HierarchyLike, path: str) -> Thrown:
    """Moves a node, and all beneath it, into the trash of its store.

    Parameters
    ----------
    hierarchy
        Opened for writing.
    path
        The path of the node, or a path without a node that has keys beneath it.

    Returns
    -------
    Thrown
        The entry; `restore` takes its `id`.

    Raises
    ------
    Unsupported
        The store has no trash, or a part of the node lies on another disk. Nothing has changed.
    NotFound, Refused, ReadOnly
        Nothing is stored there; the path is the root; the store cannot be written.

    Examples
    --------
    >>> import tempfile, zarrscope
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     h = zarrscope.open(f"{folder}/cells.zarr", "w-")
    ...     _ = h.create_group("/old", {"n": 1})
    ...     thrown = put(h, "/old")
    ...     gone = "/old" not in h
    ...     _ = restore(h, thrown.id)
    ...     gone, h["/old"].attributes["n"]
    (True, 1)
    """
    return throw_away(hierarchy._nodes, clean_path(path))


def throw_away(nodes: NodeContext, path: str) -> Thrown:
    """See `put`, for the context of a hierarchy; `path` is clean."""
    nodes.need_writing(key_of(nodes, path))
    if path == "/":
        raise Refused("The root is the hierarchy itself", store=nodes.url, advice="Move the folder itself.")
    trash = _need_trash(nodes.store)
    try:
        with nodes.store.lock():
            dialect, kind = need_node(nodes, path, remains=True)
            above = vanishing(nodes, path)
            moment = datetime.now(UTC)
            erasure = dialect.erase(path, kind)
            thrown = Thrown(
                f"{moment:%Y%m%d-%H%M%S-%f}",
                path,
                kind,
                moment.isoformat(timespec="seconds"),
                dialect.name,
                keys=tuple(sorted(erasure.keys, key=lambda key: key not in dialect.documents(path))),
                prefixes=erasure.prefixes,
                implicit=tuple(above),
            )
            _Carrier(nodes, trash, thrown, dialect, path).away()
            _forget(nodes, path)
            follow(nodes, {}, gone=((*thrown.keys, *dialect.documents(path)), thrown.prefixes))
    except BaseException as error:
        _tidy(nodes.store)  # without the lock: under it, erased folders are only put aside
        if isinstance(error, Unreadable) and error.errno in FULL:
            error.advice = NO_ROOM
        raise
    return replace(thrown, place=files_of(trash, thrown.id), notes=vanished(nodes, above))


def entries(hierarchy: HierarchyLike) -> tuple[Thrown, ...]:
    """Lists the entries in the trash of the hierarchy's store, the oldest first.

    Parameters
    ----------
    hierarchy
        Opened in any mode.

    Returns
    -------
    tuple of Thrown
        Empty if the store has no trash.

    Raises
    ------
    Unreadable
        The folder cannot be read.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> entries(zarrscope.open(MemoryStore(), "w-"))
    ()
    """
    trash = _trash(hierarchy.store)
    if trash is None:
        return ()
    return tuple(each for each in listed(trash) if _held(trash, f"{each.id}/{STORED}"))


def identify(hierarchy: HierarchyLike, *names: str) -> str:
    """The id of an entry. Each of the names may be an id, or the former path of a node, for which the latest entry
    counts; the first name that fits is used. If none fits, returns the first name.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> identify(zarrscope.open(MemoryStore(), "w-"), "/old", "old")
    '/old'
    """
    found = entries(hierarchy)
    for name in names:
        meant = [each.id for each in found if name in (each.id, each.path, each.path[1:])]
        if meant:
            return meant[-1]
    return names[0]


def restore(hierarchy: HierarchyLike, id: str, to: str | None = None) -> Thrown:
    """Moves a node from the trash to its former place.

    Parameters
    ----------
    hierarchy
        Opened for writing.
    id
        The id of the entry.
    to
        Another path than the former one.

    Returns
    -------
    Thrown
        The entry, which is no longer in the trash; `path` is the present path of the node.

    Raises
    ------
    Conflict
        Another node or key exists there. Nothing has changed.
    NotFound, Unsupported, Refused, ReadOnly
        There is no such entry; the store has no trash; a node is not allowed at that path; the store cannot be written.

    Examples
    --------
    >>> import tempfile, zarrscope
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     h = zarrscope.open(f"{folder}/cells.zarr", "w-")
    ...     _ = h.create_group("/old")
    ...     restore(h, put(h, "/old").id, "/older").path
    '/older'
    """
    return bring_back(hierarchy._nodes, id, to)


def bring_back(nodes: NodeContext, id: str, to: str | None = None) -> Thrown:
    """See `restore`, for the context of a hierarchy."""
    trash = _need_trash(nodes.store)
    thrown = read(trash, id)
    path = clean_path(to) if to is not None else thrown.path
    nodes.need_writing(key_of(nodes, path))
    if thrown.dialect not in {each.name for each in nodes.dialects}:
        raise Refused(
            f"{thrown.path} in the trash is a node of {dialect_named(thrown.dialect).title}, but the hierarchy is "
            f"{nodes.dialect.title}",
            store=nodes.url,
            advice=f"Its files lie at {files_of(trash, id)}.",
        )
    dialect = dialect_named(thrown.dialect)
    with nodes.store.lock():
        carrier = _Carrier(nodes, trash, thrown, dialect, path)
        carrier.need_room()
        above = need_place(nodes, path) if len(nodes.dialects) == 1 else []
        with erased_on_failure(nodes) as new:
            create_groups(nodes, [each for each in above if each not in thrown.implicit], new)
            carrier.back()
        _forget(nodes, path)
        if has_copies(nodes, path):
            follow(nodes, {**documents_beneath(nodes, path)})
    erase_thrown(nodes, id)
    return replace(thrown, path=path)


def erase_thrown(nodes: NodeContext, id: str) -> None:
    """Erases an entry of the trash for good."""
    _need_trash(nodes.store).erase_prefix(f"{id}/")
    _tidy(nodes.store)


def empty(
    hierarchy: HierarchyLike,
    ids: Collection[str] | None = None,
    *,
    older_than: timedelta | None = None,
    cancelled: Callable[[], bool] = never,
) -> tuple[Thrown, ...]:
    """Erases entries of the trash for good.

    Parameters
    ----------
    hierarchy
        Opened for writing.
    ids
        The ids of the entries; None erases all.
    older_than
        Erases only entries that are older than this.
    cancelled
        Called between entries; when it returns true, the rest stays.

    Returns
    -------
    tuple of Thrown
        The erased entries.

    Raises
    ------
    NotFound, ReadOnly
        There is no such entry; the store cannot be written.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> empty(zarrscope.open(MemoryStore(), "w-"))
    ()
    """
    nodes = hierarchy._nodes
    nodes.need_writing("")
    trash = _trash(nodes.store)
    if trash is None:
        return ()
    found = listed(trash) if ids is None else [read(trash, id) for id in ids]
    now = datetime.now(UTC)
    gone = []
    for thrown in found:
        if cancelled():
            break
        if older_than is None or now - datetime.fromisoformat(thrown.when) >= older_than:
            trash.erase_prefix(f"{thrown.id}/")
            gone.append(thrown)
    for entry in trash.list_dir("") if ids is None and older_than is None else ():
        if _ID.fullmatch(entry.name) and next(trash.list_prefix(f"{entry.name}/"), None) is None:
            trash.erase_prefix(f"{entry.name}/")  # the process was killed before it had written a record
    _tidy(nodes.store)
    return tuple(gone)


# ---------------------------------------------------------------------------------------------- carrying
class _Carrier:
    """Moves the files of one entry. `path`: the present or future path of the node in the hierarchy."""

    def __init__(self, nodes: NodeContext, trash: Store, thrown: Thrown, dialect: Dialect, path: str) -> None:
        self.nodes, self.store, self.trash, self.thrown = nodes, nodes.store, trash, thrown
        self.inside = f"{thrown.id}/{STORED}"
        there = dialect.erase(path, thrown.kind)
        was = dialect.erase(thrown.path, thrown.kind)
        by_key = dict(zip(was.keys, there.keys, strict=True))
        by_prefix = dict(zip(was.prefixes, there.prefixes, strict=True))
        self.keys = [(by_key[key], self.inside + key) for key in thrown.keys]
        """(key in the store, key in the trash); documents first."""
        self.prefixes = [(by_prefix[prefix], self.inside + prefix) for prefix in thrown.prefixes]

    def away(self) -> None:
        held = [pair for pair in self.prefixes if _held(self.store, pair[0])]
        if not all(self.trash.files.can_move_prefix(self.store, *pair) for pair in held):
            raise _no_trash(self.store, "a part of it lies on another disk, or is a link")
        self.trash.set(f"{self.thrown.id}/{RECORD}", self.thrown.record, expect=ABSENT)
        try:
            for key, to in self.keys:
                value = self.store.get(key)
                if value is not None:
                    self.trash.set(to, value)
                    self.store.erase(key)
            for prefix, to in held:
                self.trash.files.move_prefix(self.store, prefix, to)
        except ZarrscopeError:
            with suppress(ZarrscopeError):
                self.back()
                self.trash.erase_prefix(f"{self.thrown.id}/")
            raise

    def need_room(self) -> None:
        """Raises Conflict if other values are stored where those of the entry must go."""
        for key, to in self.keys:
            value = self.trash.get(to)
            if value is not None and self.store.get(key) not in (None, value):
                raise self._taken(key)
        for prefix, to in self.prefixes:
            if _held(self.trash, to) and _held(self.store, prefix):
                raise self._taken(prefix)

    def _taken(self, key: str) -> Conflict:
        return Conflict(
            f"Another node is at {self.thrown.path}",
            store=self.store.url,
            key=key,
            advice="Restore it under another path, or move the other node.",
        )

    def back(self) -> None:
        for prefix, to in self.prefixes:
            if _held(self.trash, to):
                self.store.files.move_prefix(self.trash, to, prefix)
        for key, to in reversed(self.keys):
            value = self.trash.get(to)
            if value is not None:
                self.store.set(key, value)
                self.trash.erase(to)


def _held(store: Store, prefix: str) -> bool:
    return next(store.list_dir(prefix), None) is not None


def _forget(nodes: NodeContext, path: str) -> None:
    from zarrscope.chunkio.write_watchers import forget_beneath

    nodes.forget()
    forget_beneath(nodes.url, path)


# ---------------------------------------------------------------------------------------------- place of the trash
def _trash(store: Store) -> Store | None:
    """The trash as a store; a dry run if the hierarchy's store is one."""
    trash = trash_store(store)
    if trash is not None and isinstance(store, DryRunStore):
        return DryRunStore(trash, store.log)
    return trash


def _need_trash(store: Store) -> Store:
    trash = _trash(store)
    if trash is None:
        raise _no_trash(store, "only a folder of this computer has one")
    if not writable_trash(store):
        raise _no_trash(store, "nothing can be written beside the folder")
    return trash


def _no_trash(store: Store, why: str) -> Unsupported:
    return Unsupported(
        f"There is no trash for this: {why}",
        feature="a trash",
        store=store.url,
        advice="Nothing was changed. Erase it for good, or move it to another place.",
    )


def _tidy(store: Store) -> None:
    if not isinstance(store, DryRunStore):
        remove_empty_trash(store)
