"""The consolidated copy of all documents: read as what is at hand, and kept in step with every edit.

Where the copy of a document lies, its dialect says (`copied_at`). Only what changed is replaced; all other bytes of the
document that holds the copies stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from zarrscope.dialects import Dialect, Source
from zarrscope.document import Document
from zarrscope.errors import Conflict
from zarrscope.jsontext import CONSOLIDATED_LIMIT
from zarrscope.store import Entry, Store
from zarrscope.walking import Keys

ATTEMPTS = 20


class Copies:
    """The documents of all nodes by store key, as one document carries them along. Never changed: see `changed`."""

    def __init__(self, dialect: Dialect, documents: Mapping[str, Source]) -> None:
        self.dialect = dialect
        self.documents = documents
        self._keys = Keys(documents)

    @classmethod
    def found(cls, dialect: Dialect, documents: Mapping[str, bytes]) -> Copies | None:
        """What the root's documents carry along, the root's own among them. Raises BadMetadata, Unsupported."""
        copies = dialect.consolidated(documents)
        if copies is None:
            return None
        own = documents.keys() & set(dialect.documents("/"))
        return cls(dialect, {key: documents[key] for key in own if not key.endswith(".zmetadata")} | copies)

    def list_dir(self, prefix: str) -> Iterator[Entry]:
        """As a store's list_dir, over the keys of the copies."""
        return self._keys.list_dir(prefix)

    def changed(self, changes: Mapping[str, bytes | None]) -> Copies:
        """The same with `changes` made in it; None: removed."""
        kept = {key: value for key, value in self.documents.items() if key not in changes}
        return Copies(self.dialect, kept | {key: value for key, value in changes.items() if value is not None})

    def store(self, store: Store, changes: Mapping[str, bytes | None]) -> None:
        """Repeats the changes in the document that holds the copies. Raises Conflict, Unreadable, BadMetadata."""
        places = {key: place for key in changes if (place := self.dialect.copied_at(key)) is not None}
        for holder in {key for key, _ in places.values()}:
            self._store(store, holder, {places[key][1]: changes[key] for key in places if places[key][0] == holder})

    def _store(self, store: Store, holder: str, changes: Mapping[str, bytes | None]) -> None:
        for _ in range(ATTEMPTS):
            found = store.get_versioned(holder)
            if found is None:
                return
            document = Document(found[0], holder, found[1], limit=CONSOLIDATED_LIMIT)
            changed = _changed(document, changes)
            if changed is document:
                return
            try:
                store.set(holder, changed.bytes, expect=found[1])
                return
            except Conflict as conflict:
                lost = conflict
        raise lost


def _changed(document: Document, changes: Mapping[str, bytes | None]) -> Document:
    """`document` with the copies at these pointers replaced (None: removed); the same object where there are none."""
    for pointer, value in changes.items():
        if not document.has(pointer.rpartition("/")[0]):
            continue
        if value is not None:
            document = document.set(pointer, Document(value, document.key).value)
        elif document.has(pointer):
            document = document.remove(pointer)
    return document
