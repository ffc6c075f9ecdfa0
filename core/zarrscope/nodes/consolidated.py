"""The consolidated copy of all documents: read as what is at hand, kept in step with every edit, and made anew.

Where the copy of a document lies, its dialect says (`copied_at`). Only what changed is replaced; all other bytes of the
document that holds the copies stay as they are. v3 and v2 let any group hold copies of what lies beneath it: those of
the groups above a changed node follow as well. Specification: dialects.md A.5, A.8.1, A.9.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from zarrscope.dialects import Dialect, Source
from zarrscope.document import Document
from zarrscope.errors import Conflict, Refused, Unsupported, ZarrscopeError
from zarrscope.jsontext import CONSOLIDATED_LIMIT
from zarrscope.probing import fetch
from zarrscope.store import ABSENT, Entry, Store, never
from zarrscope.walking import Keys

if TYPE_CHECKING:
    from zarrscope.hierarchy import Hierarchy

ATTEMPTS = 20
STALE = "The consolidated metadata is stale: it could not be brought in step"


def _own(dialect: Dialect) -> set[str]:
    """The root's documents, without one that is there for the copies alone."""
    return {*dialect.documents("/", "array"), *dialect.documents("/", "group")}


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
        own = {key: documents[key] for key in _own(dialect) if key in documents}
        return cls(dialect, own | copies)

    def list_dir(self, prefix: str) -> Iterator[Entry]:
        """As a store's list_dir, over the keys of the copies."""
        return self._keys.list_dir(prefix)

    def changed(self, changes: Mapping[str, bytes | None]) -> Copies:
        """The same with `changes` made in it; None: removed."""
        kept = {key: value for key, value in self.documents.items() if key not in changes}
        return Copies(self.dialect, kept | {key: value for key, value in changes.items() if value is not None})


# ---------------------------------------------------------------------------------------------- keeping step
def follow(
    hierarchy: Hierarchy,
    changes: Mapping[str, bytes | None],
    *,
    gone: tuple[Collection[str], Collection[str]] = ((), ()),
) -> None:
    """Brings the copies in step, after the documents: those changed (None: erased), and all at the keys and beneath the
    prefixes that are `gone`. A failure leaves a warning that says so."""
    if hierarchy.copies is not None:
        erased = [key for key in hierarchy.copies.documents if key in gone[0] or key.startswith(tuple(gone[1]))]
        hierarchy.copies = hierarchy.copies.changed({**dict.fromkeys(erased), **changes})
    try:
        for within in _holders(hierarchy, [*changes, *gone[0], *gone[1]]):
            _repeat(hierarchy.store, hierarchy.dialect, within, changes, gone)
    except ZarrscopeError as error:
        kept = (warning for warning in hierarchy.warnings if not warning.startswith(STALE))
        hierarchy.warnings = (*kept, f"{STALE} ({error.message}). Consolidate it anew")


def _holders(hierarchy: Hierarchy, keys: Collection[str]) -> list[str]:
    """Prefixes of the groups that may hold copies of documents at these keys: the root, those above in v3 and v2."""
    if holder_of(hierarchy.dialect) is None:
        return []
    found: dict[str, None] = {"": None} if hierarchy.copies is not None else {}
    if hierarchy.keeps_copies and not hierarchy.dialect.apart and len(hierarchy.dialects) == 1:
        for key in keys:
            above = key.rstrip("/").split("/")[: -1 if key.endswith("/") else -2]
            found |= dict.fromkeys("/".join(above[: n + 1]) + "/" for n in range(len(above)))
    return [*found]


def has_copies(hierarchy: Hierarchy, path: str) -> bool:
    """Whether the root, or a group above `path` whose copies are kept in step, holds copies of documents."""
    if hierarchy.copies is not None:
        return True
    holders = _holders(hierarchy, [hierarchy.dialect.documents(path)[0]])
    holder = _need_holder(hierarchy.dialect) if holders else ""
    found = fetch(hierarchy.store, [within + holder for within in holders])
    return any(hierarchy.dialect.consolidated({holder: value}) is not None for value in found.values())


def _repeat(
    store: Store,
    dialect: Dialect,
    within: str,
    changes: Mapping[str, bytes | None],
    gone: tuple[Collection[str], Collection[str]],
) -> None:
    """Repeats what concerns them in the copies that the group at the prefix `within` holds. Raises Conflict,
    Unreadable, BadMetadata."""
    holder = _need_holder(dialect)
    with store.turn(within + holder):
        for _ in range(ATTEMPTS):
            found = store.get_versioned(within + holder)
            if found is None:
                return
            copies = dialect.consolidated({holder: found[0]})
            if copies is None:
                return
            document = Document(found[0], within + holder, found[1], limit=CONSOLIDATED_LIMIT)
            held = [within + key for key in copies]
            told: dict[str, bytes | None] = dict.fromkeys(
                key for key in held if key in gone[0] or key.startswith(tuple(gone[1]))
            )
            # As stored now: who changed a document after us may have had his turn before us.
            told |= {key: store.get(key) for key in changes if key.startswith(within)}
            changed = _changed(document, dialect, within, told)
            if changed is document:
                return
            try:
                store.set(within + holder, changed.bytes, expect=found[1])
                return
            except Conflict as conflict:
                lost = conflict
    raise lost


def holder_of(dialect: Dialect) -> str | None:
    """The key of the document that holds the copies, relative to its group; None where the dialect has none."""
    keys = dialect.documents("/any", "array")
    place = dialect.copied_at(keys[0]) if keys else None
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


def _changed(document: Document, dialect: Dialect, within: str, changes: Mapping[str, bytes | None]) -> Document:
    """`document` with the copies of these keys replaced (None: removed); the same object where there are none."""
    for key, value in changes.items():
        place = dialect.copied_at(key[len(within) :])
        if place is None or not document.has(place[1].rpartition("/")[0]):
            continue
        if value is not None:
            document = document.set(place[1], _without_copies(Document(value, key)).value)
        elif document.has(place[1]):
            document = document.remove(place[1])
    return document


def _without_copies(document: Document) -> Document:
    """A group's own document, without the copies that it holds itself."""
    return document.remove("/consolidated_metadata") if document.has("/consolidated_metadata") else document


# ---------------------------------------------------------------------------------------------- made anew
def consolidate(hierarchy: Hierarchy, cancelled: Callable[[], bool] = never) -> int | None:
    """Writes a copy of all documents at the root, in place of one that is there; how many, None when cancelled.

    Every byte of each document is as in its own place. Raises Unsupported (the dialect has none), Refused (the root is
    an array), ReadOnly, BadMetadata (a document is broken), Conflict (the root changed meanwhile).
    """
    dialect, store = hierarchy.dialect, hierarchy.store
    if len(hierarchy.dialects) > 1:
        raise Unsupported(
            "A folder of several hierarchies has no consolidated metadata", feature="consolidated metadata"
        )
    holder = _need_holder(dialect)
    hierarchy.need_writing(holder)
    if hierarchy.root.kind == "array":
        raise Refused("The root is an array: there are no documents beneath it to copy", store=hierarchy.url)
    found = store.get_versioned(holder)
    texts: dict[str, str] = {}
    for key, value in documents_beneath(hierarchy, "/", cancelled).items():
        if dialect.copied_at(key) is not None and key != holder:
            texts[key] = _without_copies(Document(value, key, limit=CONSOLIDATED_LIMIT)).text.strip()
    if cancelled():
        return None
    version = ABSENT if found is None else found[1]
    for key, value in dialect.consolidate(texts, None if found is None else found[0]).items():
        store.set(key, value, expect=version if key == holder else None)
    hierarchy.copies = Copies.found(dialect, fetch(store, hierarchy.keys_of("/")))
    hierarchy.warnings = tuple(warning for warning in hierarchy.warnings if not warning.startswith(STALE))
    return len(texts)


def documents_beneath(hierarchy: Hierarchy, path: str, cancelled: Callable[[], bool] = never) -> dict[str, bytes]:
    """The stored documents of the node at `path` and of all nodes beneath it, by key; parents first."""
    paths = [path]
    for where, child in hierarchy.walk(path, cancelled):
        if child.error is not None and child.kind is None:
            raise child.error
        paths.append(where)
    found: dict[str, bytes] = {}
    for at in range(0, len(paths), 64):
        found |= fetch(hierarchy.store, [key for where in paths[at : at + 64] for key in hierarchy.keys_of(where)])
    return found
