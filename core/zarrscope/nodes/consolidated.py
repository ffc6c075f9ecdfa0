"""Updates consolidated metadata (copies of documents in a group above) with every edit, and writes them on request.

The dialect states the place of each copy (`consolidated_location`). An update replaces only the copies of
changed documents; all other bytes of the document that holds the copies stay as they are. In v3 and v2 any group may
hold consolidated metadata of the nodes beneath it, so an update covers every group above the changed node.
Specification: spec A.5, A.8.1, A.9.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zarrscope.dialects import Dialect
from zarrscope.errors import Conflict, Refused, Unsupported, ZarrscopeError
from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.members import with_members
from zarrscope.jsondoc.parse import CONSOLIDATED_LIMIT, ParsedBytes, decode_text, parse_json
from zarrscope.jsondoc.pointers import pointer_of, tokens_of
from zarrscope.model.storage import ABSENT, never
from zarrscope.nodes.consolidated_metadata import ConsolidatedMetadata
from zarrscope.nodes.detect import document_limit, fetch
from zarrscope.nodes.listing import nothing_at
from zarrscope.nodes.walk import Tree

if TYPE_CHECKING:
    from zarrscope.nodes.context import NodeContext

ATTEMPTS = 20
STALE = "The consolidated metadata is stale: it could not be updated"


# ---------------------------------------------------------------------------------------------- updating
def follow(
    hierarchy: NodeContext,
    changes: Mapping[str, bytes | None],
    *,
    gone: tuple[Collection[str], Iterable[str]] = ((), ()),
) -> None:
    """Updates the copies of the documents in `changes` (None: the document was erased), and removes the copies at the
    keys and beneath the prefixes in `gone`. A failure only adds a warning to the hierarchy.
    """
    gone = frozenset(gone[0]), tuple(gone[1])
    if hierarchy.consolidated_metadata is not None:
        erased = [key for key in hierarchy.consolidated_metadata.documents if key in gone[0] or key.startswith(gone[1])]
        hierarchy.consolidated_metadata = hierarchy.consolidated_metadata.changed({**dict.fromkeys(erased), **changes})
    try:
        for context in hierarchy.each:
            names = {key.rpartition("/")[2] for key in context.dialect.documents("/any")}
            own = {key: value for key, value in changes.items() if key.rpartition("/")[2] in names}
            told = changes if context is hierarchy else own
            for within in _holders(context, [*told, *gone[0], *gone[1]]):
                _repeat(context, within, told, gone)
    except ZarrscopeError as error:
        kept = (warning for warning in hierarchy.warnings if not warning.startswith(STALE))
        hierarchy.warnings = (*kept, f"{STALE} ({error.message}). Consolidate it again")


def _holders(hierarchy: NodeContext, keys: Collection[str]) -> list[str]:
    """Prefixes of the groups that may hold copies of the documents at these keys: the root, in v3 and v2 every group
    above the documents, and in v2 their own group too."""
    if holder_of(hierarchy.dialect) is None:
        return []
    found: dict[str, None] = {"": None} if hierarchy.consolidated_metadata is not None else {}
    if hierarchy.updates_consolidated and not hierarchy.dialect.apart:
        for key in keys:
            inside, name = key.endswith("/"), key.rpartition("/")[2]
            own = inside or hierarchy.dialect.consolidated_location(name) is not None
            above = key.rstrip("/").split("/")[: -1 if own else -2]
            found |= dict.fromkeys("/".join(above[: n + 1]) + "/" for n in range(len(above)))
    return [*found]


def has_copies(hierarchy: NodeContext, path: str) -> bool:
    """Whether the root, or a group above `path`, holds copies of documents that an edit at `path` would update."""
    if hierarchy.consolidated_metadata is not None:
        return True
    return any(_holds_copies(context, path) for context in hierarchy.each)


def _holds_copies(hierarchy: NodeContext, path: str) -> bool:
    holders = _holders(hierarchy, [hierarchy.dialect.documents(path)[0]])
    holder = _need_holder(hierarchy.dialect) if holders else ""
    found = fetch(hierarchy.store, [within + holder for within in holders])
    return any(hierarchy.dialect.consolidated({holder: value}) is not None for value in found.values())


def _repeat(
    hierarchy: NodeContext,
    within: str,
    changes: Mapping[str, bytes | None],
    gone: tuple[Collection[str], tuple[str, ...]],
) -> None:
    """Makes the changes that `follow` describes in the copies that the group at the prefix `within` holds. Raises
    Conflict, Unreadable, BadMetadata.

    The document that holds the copies may be large. It is parsed only if opening the hierarchy has not parsed it.
    """
    store, dialect = hierarchy.store, hierarchy.dialect
    holder = _need_holder(dialect)
    with store.lock(within + holder):
        for _ in range(ATTEMPTS):
            found = store.get_versioned(within + holder, document_limit(store, "zarr.json"))
            if found is None:
                return
            stored = hierarchy.held(within + holder, found[0])
            copies = dialect.consolidated({holder: stored})
            if copies is None:
                return
            told: dict[str, bytes | None] = {}
            if gone[0] or gone[1]:
                told = dict.fromkeys(
                    key for key in (within + each for each in copies) if key in gone[0] or key.startswith(gone[1])
                )
            # The documents are read again: after this writer stored a document, another writer may have changed it and
            # already updated its copy.
            told |= {key: store.get(key) for key in changes if key.startswith(within)}
            changed = _changed(stored, within, holder, dialect, told)
            if changed == stored:
                return
            try:
                store.set(within + holder, changed, expect=found[1])
                return
            except Conflict as conflict:
                lost = conflict
    raise lost


def holder_of(dialect: Dialect) -> str | None:
    """The key, relative to a group, of the document that holds the group's consolidated metadata; None if the dialect
    has no consolidated metadata."""
    keys = dialect.documents("/any", "array")
    place = dialect.consolidated_location(keys[0]) if keys else None
    return place[0] if place is not None else None


def _need_holder(dialect: Dialect) -> str:
    holder = holder_of(dialect)
    if holder is None:
        raise Unsupported(
            f"{dialect.title} has no consolidated metadata",
            feature=f"consolidated metadata in {dialect.title}",
            advice="Every node is read from its own documents.",
        )
    return holder


def _changed(
    stored: ParsedBytes, within: str, holder: str, dialect: Dialect, changes: Mapping[str, bytes | None]
) -> bytes:
    """Returns the document `stored` with its copies replaced by the documents in `changes` (None removes a copy)."""
    wanted: dict[tuple[str, ...], dict[str, Any]] = {}
    odd = False
    for key, value in changes.items():
        place = dialect.consolidated_location(key[len(within) :])
        if place is not None:
            *holding, name = tokens_of(place[1])
            own = None if value is None else _without_copies(Document(value, key, limit=CONSOLIDATED_LIMIT))
            odd = odd or (own is not None and bool(own.notes))
            copied = None if own is None else own if own.notes else own.value
            wanted.setdefault(tuple(holding), {})[name] = copied
    notes: list[str] = []
    parse_json(stored, limit=CONSOLIDATED_LIMIT, notes=notes)
    for above, copies in wanted.items():
        text = None if notes or odd else with_members(decode_text(stored, limit=CONSOLIDATED_LIMIT), above, copies)
        stored = (
            ParsedBytes(text.encode()) if text is not None else _changed_anyhow(stored, within + holder, above, copies)
        )
    return stored


def _changed_anyhow(stored: bytes, key: str, above: Sequence[str], copies: Mapping[str, Any]) -> ParsedBytes:
    """Replaces copies in the cases that `with_members` does not handle: a name appears twice, the first copy is added,
    the last one is removed, or the document to copy is not standard JSON.
    """
    document = Document(stored, key, limit=CONSOLIDATED_LIMIT)
    if document.has(pointer_of(above)):
        for name, value in copies.items():
            pointer = pointer_of([*above, name])
            if isinstance(value, Document):
                document = document.set_text(pointer, value.text.strip())  # text that is not standard JSON is copied
            elif value is not None:
                document = document.set(pointer, value)
            elif document.has(pointer):
                document = document.remove(pointer)
    return ParsedBytes(document.bytes)


def _without_copies(document: Document) -> Document:
    """A group's document without the consolidated metadata that it may contain."""
    return document.remove("/consolidated_metadata") if document.has("/consolidated_metadata") else document


# ---------------------------------------------------------------------------------------------- writing a new copy
def consolidate(hierarchy: NodeContext, cancelled: Callable[[], bool] = never) -> int | None:
    """Writes copies of all documents at the root, in place of older copies. Returns their number; None if cancelled.

    Each copy has the text of its document. Raises Unsupported (the dialect has no consolidated metadata), Refused (the
    root is an array), ReadOnly, BadMetadata (a document is broken), Conflict (the root changed meanwhile).
    """
    dialect, store = hierarchy.dialect, hierarchy.store
    if len(hierarchy.dialects) > 1:
        raise Unsupported(
            "A folder of several hierarchies has no consolidated metadata", feature="consolidated metadata"
        )
    holder = _need_holder(dialect)
    hierarchy.need_writing(holder)
    root = hierarchy.node_at("/")
    if root is None:
        raise nothing_at(hierarchy, "/")
    if root.metadata.kind == "array":
        raise Refused("The root is an array: there are no documents beneath it to copy", store=hierarchy.url)
    found = store.get_versioned(holder, document_limit(store, "zarr.json"))
    texts: dict[str, str] = {}
    for key, value in documents_beneath(hierarchy, "/", cancelled).items():
        if dialect.consolidated_location(key) is not None and key != holder:
            texts[key] = _without_copies(Document(value, key, limit=CONSOLIDATED_LIMIT)).text.strip()
    if cancelled():
        return None
    version = ABSENT if found is None else found[1]
    for key, value in dialect.consolidate(texts, None if found is None else found[0]).items():
        store.set(key, value, expect=version if key == holder else None)
    hierarchy.consolidated_metadata = ConsolidatedMetadata.read(dialect, fetch(store, hierarchy.keys_of("/")))
    hierarchy.warnings = tuple(warning for warning in hierarchy.warnings if not warning.startswith(STALE))
    return len(texts)


def documents_beneath(hierarchy: NodeContext, path: str, cancelled: Callable[[], bool] = never) -> dict[str, bytes]:
    """The stored documents of the node at `path` and of all nodes beneath it, by key; parents before children."""
    paths = [path]
    for where, child in Tree(hierarchy, path, cancelled).walk():
        if child.error is not None and child.kind is None:
            raise child.error
        paths.append(where)
    found: dict[str, bytes] = {}
    for at in range(0, len(paths), 64):
        found |= fetch(hierarchy.store, [key for where in paths[at : at + 64] for key in hierarchy.keys_of(where)])
    return found
