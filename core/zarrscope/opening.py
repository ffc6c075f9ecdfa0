"""Opening: from an address, or a store, to the hierarchy that is there, or to a new one.

The few documents that tell the dialect are fetched side by side (probing.py); what opens knows from then on which
documents every node has. Request counts: dialects.md A.1, A.14.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Literal

from zarrscope.dialects import LATE_PROBES, PROBES, Detected, dialect_named, opened_as
from zarrscope.errors import Conflict, NotFound, Refused
from zarrscope.hierarchy import Hierarchy
from zarrscope.jsontext import Held
from zarrscope.probing import Folder, detected_in, fetch, look_above, not_zarr
from zarrscope.store import Store

Mode = Literal["r", "r+", "a", "w-"]


def open(
    url: str | os.PathLike[str] | Store,
    mode: Mode = "r",
    *,
    dialect: str | None = None,
    lenient: bool = False,
    consolidated: bool = True,
    fallbacks: bool = True,
) -> Hierarchy:
    """The hierarchy at `url`: a path, a file:, http(s): or memory: address, a zip file, or a Store.

    mode: r read only · r+ read and write what exists · a the same, created when missing · w- created, must not exist.
    `dialect` names the dialect to open as, or to create (v3). `lenient` opens what demands extensions unknown here.
    `fallbacks` False refuses data types that are only known by the fallback their document offers (drafts, v3 of 2023).
    `consolidated` False reads each node's own documents even where a consolidated copy offers them.
    Raises NotFound (no hierarchy there), Unreadable, BadMetadata, Unsupported, Refused; with w- Conflict.
    """
    if mode not in ("r", "r+", "a", "w-"):
        raise Refused(f"There is no mode {mode!r}", advice="The modes are r, r+, a and w-.")
    if isinstance(url, Store):
        return _opened(url, mode, dialect, lenient, consolidated, fallbacks)
    from zarrscope.stores.address import split_address, store_at

    address = split_address(os.fspath(url))
    try:
        store = store_at(address.store_url, mode)
        found = _opened(store, mode, dialect, lenient, consolidated, fallbacks)
    except NotFound as error:
        above = look_above(address) if mode in ("r", "r+") else None
        if above is not None:
            error.advice = above
        raise
    found.entry = address.node_path or "/"
    return found


def _opened(
    store: Store,
    mode: Mode,
    dialect: str | None = None,
    lenient: bool = False,
    consolidated: bool = True,
    fallbacks: bool = True,
) -> Hierarchy:
    documents: dict[str, bytes] = {key: Held(value) for key, value in fetch(store, PROBES).items()}
    detected = detected_in(store, documents, dialect, lenient)
    if detected is None:
        if mode in ("a", "w-"):
            return _created(store, dialect or "v3")
        if store.listable and dialect is None:
            folder = Hierarchy(store, Detected(Folder.dialects()[0]), {}, writable=mode != "r", folder=True)
            if folder.has_nodes("/"):
                folder.warnings = (Folder.warning,)
                return folder
        raise not_zarr(store)
    if detected.dialect.fallbacks != fallbacks:
        detected = replace(detected, dialect=opened_as(detected.dialect, fallbacks=fallbacks))
    elsewhere = [key for key in detected.dialect.documents("/") if key not in PROBES and key not in documents]
    if any(key in documents for key in LATE_PROBES):
        elsewhere = [key for key in elsewhere if key not in LATE_PROBES]
    if elsewhere:  # drafts keep the root's documents apart from what tells the dialect
        documents.update(fetch(store, elsewhere))
    if mode == "w-":
        raise Conflict(
            f"There is a {detected.dialect.title} hierarchy already",
            store=store.url,
            advice="Open it with mode='r+', or choose another place.",
        )
    return Hierarchy(store, detected, documents, writable=mode != "r", use_consolidated=consolidated)


def reopened(store: Store) -> Hierarchy:
    """The hierarchy of a store that was open before."""
    return _opened(store, "r+" if store.writable else "r")


def _created(store: Store, dialect: str) -> Hierarchy:
    chosen = dialect_named(dialect)
    found = Hierarchy(store, Detected(chosen), {}, writable=True)
    found.create_group("/")
    return found
