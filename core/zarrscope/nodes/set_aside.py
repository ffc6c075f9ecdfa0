"""Keeps a node under another name in its own store until the node that replaces it is complete.

A store without a trash (stores/local/trash.py) has no other place. The node `/a` becomes `/a.replaced-20261130-…`, a
node like any other: if the process is killed, a person finds it beside the new one and moves it back. Where the store
can rename keys in one step (SQLite, LMDB, memory, folders of SFTP and SSH), it does. Elsewhere everything is copied,
documents last, before anything is erased. So at any moment all of the node is at its path, or all of it is aside.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from zarrscope.dialects import Dialect, NodeKind
from zarrscope.errors import Conflict, ZarrscopeError
from zarrscope.nodes.consolidated import documents_beneath, follow, has_copies
from zarrscope.nodes.detect import fetch
from zarrscope.nodes.document_keys import DocumentKeys
from zarrscope.nodes.edit import erase_node
from zarrscope.runtime.tuning import VALUES_AT_ONCE

if TYPE_CHECKING:
    from zarrscope.nodes.context import NodeContext

LONGEST = 100
"""The most characters of the node's name in the name aside: the drafts allow 255 in all."""


class SetAside:
    """One node that makes room. The caller of `put` holds the store's lock; `restore` and `erase` take it."""

    def __init__(self, nodes: NodeContext, path: str, dialect: Dialect, kind: NodeKind) -> None:
        above, _, name = path.rpartition("/")
        self.path = path
        self.aside = f"{above}/{name[:LONGEST]}.replaced-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}"
        """The path of the node while it is aside."""
        self._nodes, self._dialect, self._kind = nodes, dialect, kind
        was, there = dialect.erase(path, kind), dialect.erase(self.aside, kind)
        self._keys = [*zip(was.keys, there.keys, strict=True)]
        self._prefixes = [*zip(was.prefixes, there.prefixes, strict=True)]

    @property
    def place(self) -> str:
        """See FormerNode."""
        return f"at {self.aside}: move it back"

    def put(self) -> None:
        """Moves the node aside. If that fails, it is at its path as before."""
        if self._renamed(self._keys, self._prefixes):
            self._forget()
            follow(self._nodes, {}, gone=((*self._dialect.documents(self.path),), tuple(p for p, _ in self._prefixes)))
            return
        try:
            self._copy([*self._pairs()])
        except BaseException:
            with suppress(ZarrscopeError):
                self._erase_aside()
            raise
        try:
            erase_node(self._nodes, self._dialect, self.path, self._kind)
        except BaseException as error:
            try:
                self._back()
            except ZarrscopeError:  # the first error counts
                tell_place(error, self.place)
            raise

    def restore(self) -> None:
        """Moves the node back. Raises Conflict if anything is stored at its path by now."""
        with self._nodes.store.lock():
            taken = next((key for key, _ in self._pairs()), None)
            if taken is not None:
                raise Conflict(
                    f"Something is stored at {self.path}",
                    store=self._nodes.url,
                    key=taken,
                    advice=f"The former node is {self.place}.",
                )
            self._back()

    def erase(self) -> None:
        """Erases the node for good, after the new one is complete."""
        erase_node(self._nodes, self._dialect, self.aside, self._kind)

    # ------------------------------------------------------------------ moving
    def _renamed(self, keys: list[tuple[str, str]], prefixes: list[tuple[str, str]]) -> bool:
        store = self._nodes.store
        there = fetch(store, [key for key, _ in keys], passed_over=[])
        held = [pair for pair in prefixes if next(store.list_dir(pair[0]), None) is not None]
        return store._rename_within([pair for pair in keys if pair[0] in there], held)

    def _pairs(self, *, aside: bool = False) -> Iterator[tuple[str, str]]:
        """Yields (key at the path, key aside) of every value: of those at the path, or of those `aside`."""
        store = self._nodes.store
        found = fetch(store, [pair[aside] for pair in self._keys], passed_over=[])
        yield from (pair for pair in self._keys if pair[aside] in found)
        for prefix, to in self._prefixes:
            listed = to if aside else prefix
            for key in store.list_prefix(listed):
                pair = prefix + key[len(listed) :], to + key[len(listed) :]
                if pair not in self._keys:
                    yield pair

    def _copy(self, pairs: list[tuple[str, str]], *, back: bool = False) -> None:
        """Copies values, documents last, because they make the node."""
        store, own = self._nodes.store, DocumentKeys(self._dialect, self.path)
        last = {*self._dialect.documents(self.path)}
        for of_node, document in ((False, False), (False, True), (True, True)):
            some = [pair for pair in pairs if (pair[0] in last, own.is_document(pair[0])) == (of_node, document)]
            ordered = _turned(some) if back else some
            for start in range(0, len(ordered), VALUES_AT_ONCE):  # which are stored in no order
                for _ in store.bulk.copy_many(store, ordered[start : start + VALUES_AT_ONCE]):
                    pass
            store.bulk.flush()

    def _back(self) -> None:
        """The caller holds the lock."""
        if not self._renamed(_turned(self._keys), _turned(self._prefixes)):
            left = {*self._pairs()}
            self._copy([pair for pair in self._pairs(aside=True) if pair not in left], back=True)
            self._erase_aside()
        self._forget()
        if has_copies(self._nodes, self.path):
            follow(self._nodes, {**documents_beneath(self._nodes, self.path)})

    def _erase_aside(self) -> None:
        store = self._nodes.store
        store.erase_values([to for _, to in self._keys])
        for _, to in self._prefixes:
            store.erase_prefix(to)

    def _forget(self) -> None:
        from zarrscope.chunkio.write_watchers import forget_beneath

        self._nodes.forget()
        forget_beneath(self._nodes.url, self.path)


def tell_place(error: BaseException, place: str) -> None:
    """Adds to the advice of an error where the former node is."""
    if isinstance(error, ZarrscopeError):
        error.advice = f"The former node is whole {place}. {error.advice or ''}".strip()


def _turned(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(to, key) for key, to in pairs]
