"""Which hierarchy a store holds: the documents that tell, fetched side by side (spec A.1, A.14).

dialects.detect judges; this fetches for it, looks further where the first documents tell nothing, and says what was
looked for where there is no hierarchy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from zarrscope.dialects import PROBES, Detected, Dialect, detect, detect_listed, dialect_named, late_probes, remembered
from zarrscope.errors import NotFound, ZarrscopeError
from zarrscope.naming import close_to, join_path
from zarrscope.store import Store, never

if TYPE_CHECKING:
    from zarrscope.hierarchy import Hierarchy
    from zarrscope.stores.address import Address

MAX_PARENTS = 8
"""How far up a path that is no hierarchy is looked at for one that it lies in."""


def fetch(store: Store, keys: Sequence[str], cancelled: Callable[[], bool] = never) -> dict[str, bytes]:
    """The values that are there, fetched side by side. The first failure is raised."""
    found: dict[str, bytes] = {}
    keys = store.likely(keys)
    for i, answer in store.get_many([(key, None) for key in keys], cancelled):
        if isinstance(answer, ZarrscopeError):
            raise answer.located(store=store.url, key=keys[i])
        if answer is not None:
            found[keys[i]] = answer
    return found


def detected_in(store: Store, documents: dict[str, bytes], dialect: str | None, lenient: bool) -> Detected | None:
    """Adds to `documents` what it fetches beyond them."""
    try:
        detected = remembered.detected(documents, lenient)
        if detected is None:
            documents.update(fetch(store, late_probes()))
            detected = detect(documents, lenient=lenient)
        if dialect is not None and (detected is None or detected.dialect.name != dialect):
            chosen = dialect_named(dialect, lenient=lenient)
            documents.update(fetch(store, chosen.documents("/")))
            return Detected(chosen) if any(key in documents for key in chosen.documents("/")) else None
        if detected is None and store.listable:
            keys = list(islice(store.list_prefix("meta/"), 8))
            detected = detect_listed(fetch(store, keys), lenient=lenient)
    except ZarrscopeError as error:
        raise error.located(store=store.url) from None
    return detected


class Folder:
    """The root where no hierarchy begins, though some lie beneath: each node speaks its own dialect, v3 or v2."""

    @staticmethod
    def dialects() -> tuple[Dialect, ...]:
        return dialect_named("v3"), dialect_named("v2")

    searched = 200
    """So many folders are looked into for a first hierarchy; fewer where each costs a round trip."""
    warning = "This folder is no hierarchy itself; hierarchies lie beneath it"


def not_zarr(store: Store) -> NotFound:
    looked = ", ".join(PROBES[:-1])
    advice = "Check the address; a hierarchy is opened at its root."
    if store.listable:
        names = sorted({entry.name for entry in islice(store.list_dir(""), 6)})
        advice = (
            f"It holds {', '.join(names[:5])}{' …' if len(names) > 5 else ''}. " if names else "It is empty. "
        ) + advice
    return NotFound(f"There is no Zarr hierarchy: none of {looked} is there", store=store.url, advice=advice)


def look_above(address: Address) -> str | None:
    """What to say when nothing is at `address` but a hierarchy lies around it."""
    from zarrscope.stores.address import open_store, parents

    for above in islice(parents(address), 1, MAX_PARENTS + 1):
        try:
            detected = detect(fetch(open_store(above.store_url), PROBES))
        except ZarrscopeError:
            continue
        if detected is not None:
            return f"It lies inside {above.store_url}, a {detected.dialect.title} hierarchy: open that one."
    return None


def nothing_at(hierarchy: Hierarchy, path: str) -> NotFound:
    """Why there is no node, and what is there instead."""
    if path == "/":
        return NotFound(
            f"The root is no node of {hierarchy.dialect.title}",
            store=hierarchy.url,
            key=hierarchy.dialect.documents("/")[0],
            advice="Its documents may have been erased meanwhile.",
        )
    above, name = path.rpartition("/")[0] or "/", path.rpartition("/")[2]
    while True:
        try:
            node = hierarchy.node_at(above)
        except ZarrscopeError:
            node = None
        if node is not None or above == "/":
            break
        above, name = above.rpartition("/")[0] or "/", above.rpartition("/")[2]
    if node is not None and node.metadata.kind == "array":
        advice = f"{above} is an array; no nodes lie beneath an array."
    else:
        try:
            names = sorted(child.name for child in islice(hierarchy.children(above), 1000))
        except ZarrscopeError:
            names = []
        close = close_to(name, names)
        advice = f"{above} holds {', '.join(names[:8]) or 'nothing'}{' …' if len(names) > 8 else ''}."
        if close:
            advice += f" Did you mean {join_path(above, close)}?"
    return NotFound(f"There is no node {path}", store=hierarchy.url, key=hierarchy.keys_of(path)[0], advice=advice)
