"""Finds the hierarchy that a store holds by the documents at its root, fetched in parallel (spec A.1, A.14).

dialects.detect decides by these documents. This module fetches them, looks in more places if they do not suffice, and
reports these places if there is no hierarchy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from zarrscope.dialects import (
    LATE_PROBES,
    PROBES,
    Detected,
    Dialect,
    detect,
    detect_broken,
    detect_listed,
    dialect_named,
    late_probes,
    opened_as,
    parse_cache,
    plugin_faults,
)
from zarrscope.errors import BadMetadata, Denied, NotFound, TooLarge, Unreadable, ZarrscopeError
from zarrscope.jsondoc.parse import CONSOLIDATED_LIMIT, NODE_LIMIT, ParsedBytes, raise_limit
from zarrscope.model.storage import Answer, DocumentRequest, Request, never
from zarrscope.runtime.interrupts import operation
from zarrscope.runtime.memo import Memo
from zarrscope.runtime.named_tuple import NamedTuple
from zarrscope.stores.keys import folder_in_place
from zarrscope.stores.store import Store

if TYPE_CHECKING:
    from zarrscope.stores.address import Address

MAX_PARENTS = 8
"""The most folders above a path that are examined to find a hierarchy around it."""


MOST_VERSIONED = 64
"""The most documents whose versions are learned with them. Of a bucket, each then takes 0.1 ms more of computing."""

DOCUMENT_LIMIT = "ZARRSCOPE_DOCUMENT_LIMIT"
"""The environment variable that sets the largest document, in bytes."""


def document_limit(store: Store, *keys: str) -> int:
    """The most bytes that each document at these keys may have: more if one may be consolidated metadata."""
    limit = store.document_limit
    if limit is None:
        told = os.environ.get(DOCUMENT_LIMIT, "")
        limit = int(told) if told.isascii() and told.isdigit() else NODE_LIMIT
    if limit > NODE_LIMIT:
        raise_limit(limit)
    if "zarr.json" in keys or any(key.endswith(".zmetadata") for key in keys):
        return max(limit, CONSOLIDATED_LIMIT)
    return limit


def documents_at(
    store: Store, keys: Sequence[str], cancelled: Callable[[], bool] = never
) -> Iterator[tuple[str, Answer]]:
    """Fetches documents in parallel. Yields (key, document or None or the error) as they arrive."""
    for i, answer in store.get_many(_requests(keys), cancelled, document_limit(store, *keys)):
        _advise(answer)
        yield keys[i], answer


def _requests(keys: Sequence[str]) -> list[Request]:
    """Requests for these documents; with their versions unless there are many, because a bucket then answers slower."""
    if len(keys) > MOST_VERSIONED:
        return [(key, None) for key in keys]
    return [DocumentRequest(key) for key in keys]


def _advise(answer: Answer) -> None:
    if isinstance(answer, TooLarge):
        answer.advice = f"This is probably not metadata. If it is, set {DOCUMENT_LIMIT} to more bytes."


def fetch(
    store: Store,
    keys: Sequence[str],
    cancelled: Callable[[], bool] = never,
    passed_over: list[Unreadable] | None = None,
) -> dict[str, bytes]:
    """The existing documents at `keys`, fetched in parallel. Raises the first error.

    If `passed_over` is given, errors of documents that are too large or denied are added to it instead of raised,
    because the other documents may be enough.
    """
    found: dict[str, bytes] = {}
    with operation():  # one for all documents, because each step would begin and end its own: 2 µs
        keys = store.bulk.filter_existing(keys)
        requests, limit = _requests(keys), document_limit(store, *keys)
        for i, answer in store._answers_in_operation(requests, cancelled, limit):
            if isinstance(answer, bytes):
                found[keys[i]] = answer
            elif answer is not None:
                _advise(answer)
                answer.located(store=store.url, key=keys[i])
                if passed_over is None or not isinstance(answer, Denied | TooLarge):
                    raise answer
                passed_over.append(answer)
    return found


def need_known_absence(store: Store) -> None:
    """Raises Denied if the store answers alike for denied and for absent values: a copy would then lack the denied
    values, and nobody would notice.
    """
    if not store.tells_absence and not store.missing_is_fill:
        raise Denied(
            "The source gives the same answer for missing and for denied values, so a copy might be incomplete",
            untold=True,
            store=store.url,
            advice="If you may read every value there, give --missing-is-fill "
            "(storage_options={'missing_is_fill': True}): then every value that the source denies is taken as missing.",
        )


def is_untold(error: Unreadable) -> bool:
    """Whether access was denied by a store that gives the same answer for values that do not exist."""
    return isinstance(error, Denied) and error.untold


def skipped_warnings(passed_over: Sequence[Unreadable]) -> tuple[str, ...]:
    """The warning about documents that could not be read and were skipped."""
    warnings: list[str] = []
    for error in [error for error in passed_over if not is_untold(error)][:5]:
        warnings.append(f"{error.key} was passed over: {error.message.rstrip('.')}")
    for error in [error for error in passed_over if is_untold(error)][:1]:
        warnings.append(
            f"The server does not distinguish missing from denied values, such as {error.key}: "
            f"{error.message.rstrip('.')}. Such values read as fill values only with --missing-is-fill"
        )
    return tuple(warnings)


def detected_in(
    store: Store, documents: dict[str, bytes], dialect: str | None, lenient: bool, passed_over: list[Unreadable]
) -> Detected | None:
    """Detects the hierarchy in a store, and adds the documents that it fetches to `documents`. If none is found and a
    document could not be read, raises the error of that document.
    """
    detected = _detected_in(store, documents, dialect, lenient, passed_over)
    if detected is None and passed_over:
        error = passed_over[0]
        if isinstance(error, Denied) and error.untold and not documents:
            error.deny_all()
        raise error
    if detected is None or not passed_over:
        return detected
    return replace(detected, warnings=(*detected.warnings, *skipped_warnings(passed_over)))


def _detected_in(
    store: Store, documents: dict[str, bytes], dialect: str | None, lenient: bool, passed_over: list[Unreadable]
) -> Detected | None:
    fault: BadMetadata | None = None
    try:
        try:
            detected = parse_cache.detected(documents, lenient)
            if detected is None:
                late = fetch(store, late_probes(), passed_over=passed_over)
                documents.update((key, ParsedBytes(value)) for key, value in late.items())
                detected = detect(documents, lenient=lenient)
        except BadMetadata as error:
            detected, fault = None, error
        if dialect is not None and (detected is None or detected.dialect.name != dialect):
            chosen = dialect_named(dialect, lenient=lenient)
            documents.update(fetch(store, chosen.documents("/"), passed_over=passed_over))
            return Detected(chosen) if any(key in documents for key in chosen.documents("/")) else None
        if detected is None and store.listable and not passed_over and fault is None:
            keys = list(islice(store.list_prefix("meta/"), 8))
            detected = detect_listed(fetch(store, keys), lenient=lenient)
        if detected is None and documents and not passed_over:
            detected = _in_spite_of(fault, store, documents, lenient)
        if detected is None and fault is not None:
            raise fault
    except ZarrscopeError as error:
        raise error.located(store=store.url) from None
    return detected


def _in_spite_of(
    fault: BadMetadata | None, store: Store, documents: dict[str, bytes], lenient: bool
) -> Detected | None:
    """The dialect of a hierarchy whose document at the root is broken, as the keys around that document show it; None
    if they show none. The nodes below it can then still be read."""
    beneath = keys_beneath(store, "", ("zarr.json", "attributes.json"))
    if store.listable:
        beneath |= {f"data/{entry.name}/" for entry in islice(store.list_dir("data/"), 100) if entry.is_prefix}
        beneath |= {*islice(store.list_prefix("meta/"), 200)}
    found = detect_broken(documents, beneath, lenient=lenient)
    if found is None:
        return None
    key = next(key for key in PROBES + LATE_PROBES if key in documents)
    told = f"{fault.key or key} is broken: {fault.message.rstrip('.')}" if fault is not None else f"{key} is broken"
    warning = f"{told}. The format was recognized by the keys around it"
    if found.defect is not None and fault is not None:
        message = f"{found.defect.message}: {fault.message}"
        found = replace(found, defect=replace(found.defect, message=message, pointer=fault.pointer or ""))
    return replace(found, warnings=(warning,))


def keys_beneath(store: Store, prefix: str, documents: Sequence[str]) -> set[str]:
    """The names beneath a prefix, those of prefixes with a slash, and the keys of these `documents` one level down, as
    far as a search of limited size finds; relative to the prefix. Empty where the store cannot list."""
    if not store.listable:
        return set()
    try:
        names = {entry.name + "/" * entry.is_prefix for entry in islice(store.list_dir(prefix), 1000)}
        folders = sorted(name for name in names if name.endswith("/"))[: 20 if store.remote else 100]
        found = fetch(store, [f"{prefix}{folder}{name}" for folder in folders for name in documents], passed_over=[])
    except Unreadable:
        return set()
    return names | {key[len(prefix) :] for key in found}


class PlainFolder:
    """A folder that is not a hierarchy itself but contains some: each node beneath has its own dialect, v3 or v2."""

    @staticmethod
    def dialects() -> tuple[Dialect, ...]:
        """The dialects that a node beneath may have, in the order in which they are tried."""
        return dialect_named("v3"), dialect_named("v2")

    searched = 200
    """The most folders that are searched for a first hierarchy."""
    searched_far = 10
    """The same limit for stores in which each folder costs a round trip."""
    names = 200
    """The most names of a web server's index pages that are examined. Any page with links may look like an index."""
    names_down = 50
    """The same limit where the search goes down instead of across: it needs few names of each level."""
    sentence = "This folder is not a hierarchy itself, but contains hierarchies"


def folders_in_place(store: Store, keys: Iterable[str]) -> Iterator[Unreadable]:
    """An error for each of these documents in whose place there is a folder."""
    return (folder_in_place(store.url, key) for key in keys if store._is_folder(key))


def need_no_folder(store: Store, keys: Iterable[str]) -> None:
    """Raises Unreadable if there is a folder in the place of one of these documents, all of which are absent."""
    error = next(folders_in_place(store, keys), None)
    if error is not None:
        raise error


LISTED_AT_ROOT = 1000
"""The most entries that are looked at where no hierarchy is: a bucket lists that many in one page."""


def not_zarr(store: Store) -> ZarrscopeError:
    """The error for a store without a hierarchy. If the store can be listed, the advice names up to five of its
    entries."""
    from zarrscope.stores.file_address import ARCHIVES  # only a place without a hierarchy needs it

    for error in folders_in_place(store, PROBES):
        return error
    looked, archive = ", ".join(PROBES[:-1]), ""
    advice = "Check the address; a hierarchy is opened at its root."
    if store.listable:
        entries = [*islice(store.list_dir(""), LISTED_AT_ROOT)]
        for entry in entries:
            if entry.is_prefix and entry.name in PROBES:  # a bucket tells of it only in listings
                return folder_in_place(store.url, entry.name)
        names = sorted({entry.name for entry in entries[:6]})
        if len(entries) == 1 and not entries[0].is_prefix and names[0].lower().endswith(ARCHIVES):
            archive = names[0]
        advice = (
            f"It holds {', '.join(names[:5])}{' …' if len(names) > 5 else ''}. " if names else "It is empty. "
        ) + advice
    for fault in plugin_faults():
        advice += f" {fault.message}."
    found = NotFound(f"There is no Zarr hierarchy: none of {looked} is there", store=store.url, advice=advice)
    found.archive = archive
    return found


def look_above(address: Address) -> str | None:
    """The advice for an address that has no node but lies inside a hierarchy; None if it does not lie inside one."""
    for above, detected in hierarchies_above(address):
        return f"It lies inside {above.public_url}, a hierarchy in {detected.dialect.title}: open that one."
    return None


def hierarchies_above(address: Address) -> Iterator[tuple[Address, Detected]]:
    """Yields the hierarchies that an address without a node lies inside, the innermost first; the path of the address
    in each is the node of the yielded address."""
    from zarrscope.stores.address import open_store, parents

    for above in islice(parents(address), 1, MAX_PARENTS + 1):
        try:
            detected = detect(fetch(open_store(above.store_url), PROBES, passed_over=[]))
        except ZarrscopeError:
            continue
        if detected is not None:
            yield above, detected


class FoundRoot(NamedTuple):
    """The contents of a store's root: the detected dialect, and the documents that were read."""

    detected: Detected | None
    """The dialect, with any warnings and defects of the root document; None if there is no hierarchy."""
    documents: dict[str, bytes]
    asked: frozenset[str]
    """The requested keys; those that are not in `documents` are absent."""


FIRST = ("zarr.json", ".zmetadata", ".zgroup")
"""The keys that are requested first from a remote store. They suffice for v3, and for v2 with consolidated metadata."""
FIRST_OF_N5 = ("attributes.json", "zarr.json", ".zgroup")


def is_named_n5(store: Store) -> bool:
    """Whether the address of the store ends in ".n5"."""
    return store.url.partition("?")[0].rstrip("/").lower().endswith(".n5")


_needed_all: Memo[bool] = Memo(256)
"""For each remote folder: whether the last hierarchy that was opened in it needed more than these keys. The hierarchies
beside it are probably alike, so all keys are then requested at once. That saves a round trip; a wrong guess costs
requests."""


def found_in(
    store: Store,
    dialect: str | None = None,
    lenient: bool = False,
    fallbacks: bool = True,
    consolidated: bool = True,
) -> FoundRoot:
    """Detects the hierarchy in the store and fetches its root documents. `consolidated`: whether consolidated metadata
    will be used."""
    passed_over: list[Unreadable] = []
    documents: dict[str, bytes] = {}
    asked: list[str] = []

    def ask(keys: Sequence[str]) -> None:
        new = [key for key in keys if key not in asked]
        if not new:
            return
        asked.extend(new)
        for key, value in fetch(store, new, passed_over=passed_over).items():
            documents[key] = ParsedBytes(value)

    place, first, enough = "", FIRST, False
    if store.remote and dialect is not None:  # the caller knows the format, so no other one is searched for first
        ask(dialect_named(dialect, lenient=lenient).documents("/"))
        enough = _detects(documents, dialect, lenient)
    elif store.remote:
        place = store.url.partition("?")[0].rstrip("/").rpartition("/")[0]
        first = FIRST_OF_N5 if is_named_n5(store) else FIRST
        ask(PROBES if _needed_all.get(place) else first)
        enough = _tell_all(documents, lenient, consolidated)
    if not enough:
        ask(PROBES)
    detected = detected_in(store, documents, dialect, lenient, passed_over)
    if detected is None:
        return FoundRoot(None, documents, frozenset(asked))
    if "://" in place:  # the address names a folder within a host or bucket
        told = {key: value for key, value in documents.items() if key in first}
        _needed_all.put(place, not _tell_all(told, lenient, consolidated))
    if detected.dialect.fallbacks != fallbacks:
        detected = replace(detected, dialect=opened_as(detected.dialect, fallbacks=fallbacks))
    elsewhere = [key for key in detected.dialect.documents("/") if key not in PROBES and key not in documents]
    if elsewhere and any(key in documents for key in LATE_PROBES):
        elsewhere = [key for key in elsewhere if key not in LATE_PROBES]
    if elsewhere:
        # Drafts keep the root's documents under other keys than the document that identifies the dialect.
        ask(elsewhere)
    return FoundRoot(detected, documents, frozenset({*asked, *documents}))


def _detects(documents: dict[str, bytes], dialect: str, lenient: bool) -> bool:
    """Whether the documents identify this dialect."""
    try:
        detected = parse_cache.detected(documents, lenient)
    except ZarrscopeError:
        return False
    return detected is not None and detected.dialect.name == dialect


def _tell_all(documents: dict[str, bytes], lenient: bool, consolidated: bool) -> bool:
    """Whether the documents of FIRST suffice: they identify the dialect, and no others of the root are needed."""
    try:
        detected = parse_cache.detected(documents, lenient)
        if detected is None:
            return False
        copies = detected.dialect.consolidated_location(detected.dialect.documents("/")[0])
        if copies is not None and copies[0] in FIRST:
            return consolidated and detected.dialect.consolidated(documents) is not None
    except ZarrscopeError:
        return False
    return True
