"""Hostile names: sibling nodes whose names resemble one another, paths, or the names of documents.

`planted` makes them as others may have: documents and chunks are put where the dialect says, whether or not zarrscope
would give a node that name. `Plot.owners` tells which node each key belongs to, learnt from what each planting stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import zarrscope
from zarrscope.dialects import DIALECTS
from zarrscope.errors import ZarrscopeError
from zarrscope.model.metadata import GroupMetadata
from zarrscope.nodes.array import Array
from zarrscope.nodes.create import new_array
from zarrscope.nodes.hierarchy import Hierarchy
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store

DIALECT_NAMES = [dialect.name for dialect in DIALECTS if dialect.name != "v1"]

SEPARATORS = ["\\", "a\\", "\\a", "a\\b", "..\\a", "a\\..", "C:\\a", "a", "b", "a:b", "a::b", "a|b", "zip:a", "a;b"]
DOTS = ["...", "....", ".a", "..a", "a.", "a..", "a.b", "~", "~root"]
SPACES = [" ", " a", "a ", "a b", "a\tb", "a\nb", "a\r", "\u00a0a", "a\u3000"]
PERCENTS = ["%", "%2F", "a%2Fb", "%2e%2e", "a%5Cb", "%61", "%25", "a+b", "a?b", "a#b", "a&b=c"]
CONTROLS = ["\x01", "\x1b[31m", "\x7f", "\x85", "\u202ea", "\u200ba", "\ufeffa"]
FORMS = [
    "\u00e9",
    "e\u0301",
    "\u00c5",
    "\u212b",
    "A\u030a",
    "K",
    "\u212a",
    "\ufb01",
    "fi",
    "\u1e9e",
    "ss",
    "\U0001f600",
]
CASES = ["A", "B", "labels", "Labels", "LABELS", "\u0130", "i", "I", "\u0131"]
DOCUMENTS = [
    *("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata", "attributes.json", "meta", "data", "root", "attrs"),
    *("x.array", "x.group", "x.array.json", "x.group.json", "x", "__x", "consolidated", "root.array", "root.group"),
    *("c", "c0", "c.0", "0", "0.0", "0.0.0", "00", "1", ".zs-0", ".zarrscope-copying.json", "con", "NUL.txt"),
]
OTHERS = ["*", "?", "-x", "--yes", "<a>", '"', "'", "$HOME", "[0]", "{}", "null", "x" * 200, "\u00e9" * 100]
HOSTILE = [*SEPARATORS, *DOTS, *SPACES, *PERCENTS, *CONTROLS, *FORMS, *CASES, *DOCUMENTS, *OTHERS]
"""All names; no two are the same text."""


class _Taken(Exception):
    """Another node has this key, or a folder of this name."""


class Plot:
    """A hierarchy of siblings with hostile names. /NAME are arrays and groups in turn; a group contains an array "in"
    and a group with the name of another node. Attributes and values tell the nodes apart."""

    def __init__(self, dialect: str, store: Store, names: list[str]) -> None:
        made = MemoryStore()
        self.store: Store = made
        self.hierarchy = zarrscope.open(made, "w-", dialect=dialect)
        self.dialect = self.hierarchy.dialect
        self.owners: dict[str, str] = dict.fromkeys(made.list(), "/")
        self.nodes: dict[str, str] = {}
        """The kind of each node, by path."""
        self.refused: list[str] = []
        """Names that cannot exist beside another, because a file and a folder cannot have the same name."""
        self.values: dict[str, int] = {}
        for i, name in enumerate(names):
            before = self.nodes, self.values, self.owners
            self.nodes, self.values, self.owners = {**self.nodes}, {**self.values}, {**self.owners}
            try:
                if i % 2:
                    self._array(f"/{name}", i % 250 + 1)
                else:
                    self._group(f"/{name}")
                    self._array(f"/{name}/in", i % 250 + 1)
                    self._group(f"/{name}/{names[(i + 1) % len(names)]}")
            except _Taken:
                self.refused.append(name)
                self.nodes, self.values, self.owners = before
                made.erase_values([key for key in made.list() if key not in self.owners])
        for key in made.list():
            store.bulk.put(key, made.get(key) or b"")
        self.store = store
        self.hierarchy = zarrscope.open(store, "r+", dialect=dialect)

    def _put(self, path: str, documents: dict[str, bytes]) -> None:
        if any(key in self.owners for key in documents):
            raise _Taken
        for key, value in documents.items():
            self.store.set(key, value)

    def _own(self, path: str) -> None:
        new = [key for key in self.store.list() if key not in self.owners]
        self.owners |= dict.fromkeys(new, path)
        folders = {key[:at] for key in self.owners for at, c in enumerate(key) if c == "/"}
        if not folders.isdisjoint(self.owners):
            raise _Taken

    def _group(self, path: str) -> None:
        self._put(path, self.dialect.write(path, GroupMetadata(self.dialect.name), {"who": path}))
        self.nodes[path] = "group"
        self._own(path)

    def _array(self, path: str, value: int) -> None:
        options: dict[str, Any] = {"chunks": (2, 3), "shards": None, "codecs": ["gzip"], "fill_value": 0}
        made = new_array(
            self.dialect, path, shape=(4, 6), dtype="uint8", dimension_names=None, separator=None, **options
        )
        self._put(path, self.dialect.write(path, made, {"who": path}))
        Array(self.store, path, made)[...] = value
        self.nodes[path], self.values[path] = "array", value
        self._own(path)

    # ------------------------------------------------------------------ the promises
    def owned(self, path: str) -> set[str]:
        """The keys of the node and of all nodes beneath it."""
        return {key for key, owner in self.owners.items() if f"{owner}/".startswith(f"{path}/")}

    def shown(self, hierarchy: Hierarchy, path: str) -> str | None:
        """The error in the node that opens at `path`; None if it is the one that was created there."""
        try:
            node = hierarchy[path]
        except ZarrscopeError as error:
            return f"{path!r} does not open: {error}"
        if node.path != path or node.kind != self.nodes[path] or node.attributes.get("who") != path:
            return f"{path!r} opens {node.path!r}, a {node.kind} of {node.attributes.get('who')!r}"
        if isinstance(node, Array) and not np.array_equal(node[...], np.full((4, 6), self.values[path], "uint8")):
            return f"{path!r} has the values of another"
        return None


def signature(store: Store) -> dict[str, bytes | None]:
    return {key: store.get(key) for key in store.list()}
