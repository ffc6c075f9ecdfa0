"""Consolidated metadata after reading: all documents by key, and these keys listed by prefix as a store lists them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from zarrscope.dialects import Dialect, StoredDocument
from zarrscope.model.storage import Entry

MAX_DEPTH = 64


def _own(dialect: Dialect) -> set[str]:
    """The keys of the root's own documents. A document that exists only to hold consolidated metadata is not one of
    them."""
    return {*dialect.documents("/", "array"), *dialect.documents("/", "group")}


class KeyTree:
    """A set of keys that can be listed by prefix, as a store lists its keys."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._beneath: dict[str, dict[Entry, None]] = {}
        for key in keys:
            self.add(key)

    def add(self, key: str) -> None:
        """Adds a key, and the prefixes above it that are not known yet."""
        above, slash, name = key.rpartition("/")
        entry = Entry(name, False)
        while True:
            prefix = above + slash
            known = self._beneath.get(prefix)
            if known is not None:
                known[entry] = None
                return
            self._beneath[prefix] = {entry: None}
            if not prefix:
                return
            above, slash, name = above.rpartition("/")
            entry = Entry(name, True)

    def list_dir(self, prefix: str) -> Iterator[Entry]:
        """Lists the names directly beneath a prefix, as a store with these keys would."""
        return iter(self._beneath.get(prefix, ()))


class ConsolidatedMetadata:
    """The documents of all nodes by store key, from consolidated metadata. Immutable: `changed` returns a new one."""

    def __init__(self, dialect: Dialect, documents: Mapping[str, StoredDocument]) -> None:
        self.dialect = dialect
        self.documents = documents

    @cached_property
    def _keys(self) -> KeyTree:
        return KeyTree(self.documents)

    @classmethod
    def read(cls, dialect: Dialect, documents: Mapping[str, bytes]) -> ConsolidatedMetadata | None:
        """Reads the copies that the root's documents hold; None if they hold none.

        Raises BadMetadata, Unsupported.
        """
        copies = dialect.consolidated(documents)
        return None if copies is None else cls.from_documents(dialect, documents, copies)

    @classmethod
    def from_documents(
        cls, dialect: Dialect, documents: Mapping[str, bytes], copies: Mapping[str, StoredDocument]
    ) -> ConsolidatedMetadata:
        """Consolidated metadata of the documents in `copies` and of the root's documents, which hold these copies."""
        return cls(dialect, {**{key: documents[key] for key in _own(dialect) if key in documents}, **copies})

    def list_dir(self, prefix: str) -> Iterator[Entry]:
        """The names directly beneath a prefix, as the store would list them, but read from the copies only."""
        return self._keys.list_dir(prefix)

    def changed(self, changes: Mapping[str, bytes | None]) -> ConsolidatedMetadata:
        """Returns the consolidated metadata with `changes` applied; None removes a document."""
        kept = {key: value for key, value in self.documents.items() if key not in changes}
        return ConsolidatedMetadata(
            self.dialect, kept | {key: value for key, value in changes.items() if value is not None}
        )
