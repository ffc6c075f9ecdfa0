"""Changes the documents of several nodes, and makes their common form and their differences; any thread may do this."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from zarrscope.errors import ZarrscopeError
from zarrscope.jsondoc.document import Document
from zarrscope.model.frozen import frozen
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.draft import diff_of
from zarrscope_app.presenters.form.merged import Merged, MergedNode, merged
from zarrscope_app.presenters.form.view_models import Diff

ChangesParts = Callable[[Sequence[MergedNode]], Mapping[str, Document]]
"""An action: a function that returns the documents it changes as path → new document. Raises ZarrscopeError."""


@frozen
class ChangedNodes:
    """The result of an action: the changed documents, the form of all nodes, and new diffs, each by path. If it was
    refused, no document is changed, and `refusal` is the reason."""

    documents: Mapping[str, Document]
    form: Merged
    diffs: Mapping[str, tuple[Document, Document, Diff]]
    refusal: str = ""


def change_nodes(
    parts: Sequence[MergedNode], change: ChangesParts | None, known: Mapping[str, tuple[Document, Document]]
) -> ChangedNodes:
    """Applies `change` to the documents of `parts` (None: no change). `known`: path → the two documents, of which the
    differences are known."""
    try:
        made = change(parts) if change is not None else {}
    except ZarrscopeError as error:
        return ChangedNodes({}, merged(parts), {}, words.refusal(error, 300))
    now = [replace(part, document=made.get(part.path, part.document)) for part in parts]
    diffs = {
        part.path: (part.base, part.document, _diff_of(part))
        for part in now
        if part.document.bytes != part.base.bytes and known.get(part.path) != (part.base, part.document)
    }
    return ChangedNodes(made, merged(now), diffs)


def _diff_of(part: MergedNode) -> Diff:
    return diff_of(part.base, part.document, part.prefix, part.facts.read_channels)
