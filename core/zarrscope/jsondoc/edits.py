"""Several edits to a document at once. They name their places by pointers and need no document."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Protocol

from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.pointers import is_beside, within


class ValueEdit(Protocol):
    """One edit: a JSON pointer and the value that it gets."""

    @property
    def pointer(self) -> str:
        """The JSON pointer of the value; its parent must exist."""

    @property
    def text(self) -> str:
        """The value as JSON text."""

    @property
    def fresh(self) -> bool:
        """Whether the value is formatted like its neighbours, not as in `text`."""


def apply(document: Document, prefix: str, edits: Sequence[ValueEdit]) -> Document:
    """The document with all edits applied; their pointers are relative to `prefix`, see `within`.

    Raises Refused, NotFound and BadMetadata as `Document.set` and `Document.set_text` do.
    """
    inner = any(not is_beside(edit.pointer) for edit in edits)
    made = document.with_object(prefix) if inner and prefix else document
    made = made.set_texts({within(prefix, edit.pointer): edit.text for edit in edits if not edit.fresh})
    for edit in edits:
        if edit.fresh:
            made = made.set(within(prefix, edit.pointer), json.loads(edit.text))
    return made
