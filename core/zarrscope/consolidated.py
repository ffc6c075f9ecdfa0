"""Where a hierarchy keeps its consolidated copy of all documents, and how an edit of one is repeated there.

v2: `.zmetadata` = {"metadata": {key: document}}. v3: the root's zarr.json holds `consolidated_metadata` of kind inline,
{"metadata": {path: document}}. Only what changed is replaced; all other bytes of the copy stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from zarrscope.document import Document


class Copies:
    """The copy of one dialect: `key` of the document that holds it."""

    def __init__(self, dialect: str) -> None:
        self._v3 = dialect == "v3"
        self.key = "zarr.json" if self._v3 else ".zmetadata"
        self._within = "/consolidated_metadata/metadata" if self._v3 else "/metadata"

    def pointer(self, key: str) -> str | None:
        """Where the copy of the document under `key` is; None when it has none."""
        name = key
        if self._v3:
            name = key.removesuffix("/zarr.json")
            if name == key:
                return None  # the root is the copy's holder, not in it
        return f"{self._within}/{name.replace('~', '~0').replace('/', '~1')}"

    def changed(self, document: Document, changes: Mapping[str, bytes | None]) -> Document:
        """`document` with `changes` (None: removed) made in it; the same object when nothing is to be done."""
        if not document.has(self._within):
            return document
        for key, value in changes.items():
            pointer = self.pointer(key)
            if pointer is None:
                continue
            if value is None:
                if document.has(pointer):
                    document = document.remove(pointer)
            else:
                document = document.set(pointer, Document(value, key).value)
        return document
