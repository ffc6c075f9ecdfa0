"""Searches folders without documents for nodes, with a limited number of requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol

from zarrscope.dialects import Dialect, NodeKind
from zarrscope.errors import Unreadable, ZarrscopeError
from zarrscope.model.node_path import join_path
from zarrscope.model.storage import Answer, Entry
from zarrscope.nodes.detect import PlainFolder
from zarrscope.runtime.threads import shared
from zarrscope.runtime.tuning import SEARCHED_AT_ONCE, SEARCHED_DOWN_AT_ONCE
from zarrscope.stores.store import Store


class Searched(Protocol):
    """The part of NodeContext, which is in a higher layer, that a search needs."""

    store: Store
    dialect: Dialect

    def keys_of(self, path: str, kind: NodeKind | None = None) -> tuple[str, ...]:
        """The keys of the documents of a node."""

    def answers(self, keys: Sequence[str]) -> dict[str, Answer]:
        """The documents at these keys, or the errors."""


def has_nodes(context: Searched, path: str) -> bool:
    """Whether there are nodes anywhere beneath `path`, as far as a search of limited size finds. Raises the first
    error of the search if it finds none. The folders of a remote store are searched several at once."""
    return _found(context, path, proof=False)


def shows_dialect(context: Searched, path: str) -> bool:
    """Whether a document beneath `path` shows that the store is of the context's dialect, as far as a search of limited
    size finds. Raises as `has_nodes` does.

    The first folder in each folder is searched next, because groups of N5 without documents are nested and of one form.
    """
    return _found(context, path, proof=True)


def has_folders(context: Searched, path: str) -> bool:
    """Whether there is a folder directly beneath `path`."""
    return any(entry.is_prefix for entry in islice(_entries(context, path), 1000))


def _found(context: Searched, path: str, proof: bool) -> bool:
    queue, names = [path], PlainFolder.names_down if proof else PlainFolder.names
    left = PlainFolder.searched_far if context.store.remote else PlainFolder.searched
    together = 1 if not context.store.remote else SEARCHED_DOWN_AT_ONCE if proof else SEARCHED_AT_ONCE
    failed: ZarrscopeError | None = None
    while queue and left:
        now = queue[: min(left, together)]
        left -= len(now)
        found: dict[str, tuple[bool, list[str], ZarrscopeError | None]] = {}
        most = min(100, names // len(now))

        def search(here: str) -> None:
            found[here] = _search(context, here, most, proof)  # noqa: B023 -- the loop waits for it

        shared().share(now, search, len(now), waits=True)
        queue = queue[len(now) :]
        nearest: list[str] = []
        for there, below, error in (found[here] for here in now):
            if there:
                return True
            failed = failed or error
            names -= 0 if context.store.listable else len(below)
            nearest += below[:1] if proof else ()
            queue += below[1:] if proof else below
        queue = nearest + queue
    if failed is not None:
        raise failed
    return False


def _search(context: Searched, here: str, most: int, proof: bool) -> tuple[bool, list[str], ZarrscopeError | None]:
    """Whether there are nodes directly beneath a path, the paths of its first `most` folders, and the first error."""
    try:
        found = islice(context.dialect.children(here, islice(_entries(context, here), 1000)), most)
        below = [join_path(here, child.name) for child in found]
    except Unreadable as error:  # one closed folder must not hide the nodes of all others
        return False, [], error
    keys = context.store.bulk.filter_existing([key for child in below for key in context.keys_of(child)])
    answers = context.answers(keys).items()
    errors = ((key, each) for key, each in answers if isinstance(each, ZarrscopeError))
    failed = next((each.located(store=context.store.url, key=key) for key, each in errors), None)
    held: Mapping[str, bytes] = {key: answer for key, answer in answers if isinstance(answer, bytes)}
    if proof:
        return any(context.dialect.is_proof(child, held) for child in below), below, failed
    return bool(held), below, failed


def _entries(context: Searched, path: str) -> Iterator[Entry]:
    """The entries beneath a group, from a listing or from the index page of a web server."""
    prefix = context.dialect.listing(path)
    if context.store.listable:
        return context.store.list_dir(prefix)
    return (Entry(name, True) for name in context.store._named_folders(prefix) or ())
