"""Saves edits of several documents, of one hierarchy or of several: all of them, or none.

No store changes several values at once. So a dry run of every save comes first; then the documents are saved one after
the other. If one fails, those saved before it are restored. The error names documents that could not be restored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zarrscope.errors import ZarrscopeError

if TYPE_CHECKING:
    from zarrscope.jsondoc.document import Document
    from zarrscope.nodes.hierarchy import Hierarchy
    from zarrscope.stores.dry_run import Operation


@dataclass(frozen=True)
class DocumentEdit:
    """A node's document as it was read, and the edited document to store."""

    hierarchy: Hierarchy
    path: str
    before: Document
    after: Document
    allow_nan: bool = False


def dry_run_together(edits: Sequence[DocumentEdit]) -> list[tuple[Hierarchy, list[Operation]]]:
    """For each edit: a hierarchy for a dry run, and the operations that saving the edit would carry out. Raises the
    errors of `save_together`, as far as they can be known in advance.
    """
    told = []
    for edit in edits:
        log: list[Operation] = []
        tried = edit.hierarchy.dry_run(log)
        tried.save(edit.path, edit.after, allow_nan=edit.allow_nan)
        told.append((tried, log))
    return told


def save_together(edits: Sequence[DocumentEdit]) -> list[Document]:
    """Saves all edits, or none.

    Parameters
    ----------
    edits
        Edited documents; one for each node.

    Returns
    -------
    list of Document
        The documents as stored, in the order of `edits`.

    Raises
    ------
    Conflict, Refused, ReadOnly, NotStandard, BadMetadata, Unreadable
        The errors of `Hierarchy.save` for one of the documents. The others are unchanged, unless the advice names them.
    """
    dry_run_together(edits)
    saved: list[Document] = []
    try:
        for edit in edits:
            saved.append(edit.hierarchy.save(edit.path, edit.after, allow_nan=edit.allow_nan))
    except ZarrscopeError as error:
        kept = _take_back(list(zip(edits, saved, strict=False)))
        if kept:
            names = ", ".join(f"{edit.hierarchy.url} {edit.path}" for edit in kept)
            error.advice = f"These were saved and could not be restored: {names}. Check them first."
        raise
    return saved


def _take_back(done: list[tuple[DocumentEdit, Document]]) -> list[DocumentEdit]:
    """Restores the documents that were saved, in reverse order. Returns the edits for which that failed."""
    kept = []
    for edit, document in reversed(done):
        try:
            edit.hierarchy.save(edit.path, edit.before.read_at(document.version), allow_nan=True)
        except ZarrscopeError:
            kept.append(edit)
    return kept
