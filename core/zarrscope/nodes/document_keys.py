"""The keys that hold documents, among all keys beneath a node."""

from __future__ import annotations

from zarrscope.dialects import Dialect


class DocumentKeys:
    """Distinguishes documents of nodes from other keys: by prefix where documents are stored apart from chunks, else by
    the name at the end of the key.
    """

    def __init__(self, dialect: Dialect, path: str) -> None:
        self._dialect = dialect
        self._listing = dialect.listing(path) if dialect.apart else None
        self._own = frozenset(dialect.documents(path))

    def is_document(self, key: str) -> bool:
        """Whether the key is that of a document."""
        if key in self._own:
            return True
        if self._listing is not None:
            return key.startswith(self._listing)
        return key in self._dialect.documents("/" + key.rpartition("/")[0])
