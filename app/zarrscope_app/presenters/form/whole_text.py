"""The whole text of a faulty document as a view of the form: reads and saves the text, and gives its status and
sentences.

A node has one draft at a time: either of its attributes or of the whole text of a document.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

from zarrscope.errors import BadMetadata, Conflict, NotStandard
from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.nonstandard import brought_in
from zarrscope.jsondoc.parse import parsed_once
from zarrscope.jsondoc.unparsed import UnparsedDocument
from zarrscope.nodes.attributes import document_as_opened
from zarrscope.nodes.internals import node_context
from zarrscope.nodes.mending import consequence, whole_document
from zarrscope_app.presenters.form import json_text, words
from zarrscope_app.presenters.form.draft import Draft
from zarrscope_app.presenters.form.view_models import EditStatus, Way

if TYPE_CHECKING:
    from collections.abc import Callable

    from zarrscope.nodes.hierarchy import Hierarchy

WHOLE: Way = "document"


class Doubtful(NotStandard):
    """A text that is JSON, but describes no valid node: it is saved only after the person has confirmed it."""


def read_draft(
    hierarchy: Hierarchy, path: str, kind: Literal["group", "array"], key: str = "", *, opened: bool = False
) -> Draft:
    """Makes the draft of a node's attributes. If `key` names a document, or the attributes' document is not a JSON
    object, makes the draft of that whole document instead. Waits for the store. `opened`: the node was opened a moment
    ago, and the draft is made of the document that was read then, if that is known."""
    if key:
        return Draft(whole_document(hierarchy, path, key), "", whole=True)
    # In a folder of several hierarchies, each node has its own dialect.
    places = dict(dialect.attributes_at(path, kind) for dialect in node_context(hierarchy).dialects)
    prefix = ""
    try:
        with parsed_once():  # for the place of the attributes, and for the document
            document = document_as_opened(node_context(hierarchy), path, kind) if opened else hierarchy.document(path)
        prefix = places[document.key]
        readable = not prefix or isinstance(document.value, dict)
    except BadMetadata as error:
        own = error.key if error.key in places else next(iter(places))
        document, readable = whole_document(hierarchy, path, own), False
    draft = Draft(document, prefix if readable else "", whole=not readable)
    draft.alone = not readable
    return draft


def stored(hierarchy: Hierarchy, path: str, draft: Draft) -> Document:
    """The document of a draft as it is stored now. Waits for the store."""
    with parsed_once():
        return whole_document(hierarchy, path, draft.base.key) if draft.whole else hierarchy.document(path)


def save(hierarchy: Hierarchy, path: str, draft: Draft, document: Document) -> Document:
    """Stores the document of a draft. Raises as `need_confirmed` and `Hierarchy.save` do."""
    need_confirmed(hierarchy, path, draft, document)
    return hierarchy.save(path, document, allow_nan=draft.confirmed == document.bytes)


def need_confirmed(hierarchy: Hierarchy, path: str, draft: Draft, document: Document) -> None:
    """Raises Conflict if somebody else changed a whole document meanwhile; otherwise Doubtful if the document describes
    no valid node and the person has not confirmed it. Does nothing for a draft of attributes, or for a text that the
    person has confirmed."""
    if not draft.whole or draft.confirmed == document.bytes:
        return
    if stored(hierarchy, path, draft).version != draft.base.version:
        raise Conflict("The document was changed since it was read", key=document.key)
    if reason := consequence(hierarchy, path, document):
        raise Doubtful("; ".join((reason, *brought_in(draft.base, document))), key=document.key)


def refused(error: NotStandard) -> str:
    """The sentence that asks the person to confirm a text."""
    if isinstance(error, Doubtful):
        return words.confirm(words.still_faulty(error.key or "", error.message))
    return words.not_standard(error.message)


def ways_of(draft: Draft, faulty: str, plain: tuple[Way, ...]) -> tuple[Way, ...]:
    """The available views of a node: `plain` are the views of its attributes; `faulty` is the key of its faulty
    document, or ""."""
    if not draft.whole:
        return (*plain, WHOLE) if faulty else plain
    return (WHOLE,) if draft.alone and not isinstance(draft.base.value, dict) else (*plain, WHOLE)


def status_of(draft: Draft, writable: bool) -> tuple[EditStatus, str] | None:
    """The status of the form and its sentence while the text is not JSON; None while it is."""
    if not isinstance(draft.now, UnparsedDocument):
        return None
    told = words.not_json(draft.now.key, json_text.fault_of(draft.now.fault).sentence, writable)
    return (EditStatus.INVALID, told) if writable else (EditStatus.READ_ONLY, told)


def judgement(hierarchy: Hierarchy | None, path: str, draft: Draft) -> Callable[[], str] | None:
    """A function that returns the reason why the text describes no valid node, or ""; it waits for the store, so call
    it on another thread. None if the text is not JSON."""
    if hierarchy is None or isinstance(draft.now, UnparsedDocument):
        return None
    return partial(consequence, hierarchy, path, draft.now)
