"""Saves the documents of several nodes, all of them or none, and merges them with documents that others stored
meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from zarrscope.errors import Conflict
from zarrscope.jsondoc.document import Document
from zarrscope.model.frozen import frozen
from zarrscope.nodes.save_together import DocumentEdit, save_together
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form.draft import Draft
from zarrscope_app.presenters.form.whole_text import need_confirmed, stored

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy


@frozen
class Saved:
    """The result of a save, by path. `saved`: the stored documents. `met`: if somebody else changed a stored document
    meanwhile, nothing was saved, and these are the drafts after merging; a draft may be in conflict."""

    saved: Mapping[str, Document] = field(default_factory=dict)
    met: Mapping[str, Draft] = field(default_factory=dict)


def saving(hierarchy: Hierarchy, drafts: Mapping[str, Draft]) -> Callable[[], Saved]:
    """Copies the present drafts, and returns a function that saves the copies; any thread may call this function."""
    edits = [
        DocumentEdit(hierarchy, path, d.base, d.now.read_at(d.base.version), d.confirmed == d.now.bytes)
        for path, d in drafts.items()
    ]
    copies = {path: draft.copy() for path, draft in drafts.items()}

    def work() -> Saved:
        try:
            for path, draft in copies.items():
                need_confirmed(hierarchy, path, draft, draft.now)
            return Saved(dict(zip(drafts, save_together(edits), strict=True)))
        except Conflict:
            for path, draft in copies.items():
                draft.meet(stored(hierarchy, path, draft))
            return Saved(met=copies)

    return work


def why_unsaved(error: BaseException, drafts: Mapping[str, Draft]) -> str:
    """The reason why nothing was saved, with the path of the node whose document the error names."""
    told, key = strings.problem(error).headline, getattr(error, "key", "")
    return next((f"{path}: {told}" for path, draft in drafts.items() if draft.now.key == key), told)
