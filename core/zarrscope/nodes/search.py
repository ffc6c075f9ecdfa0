"""Searches folders without documents for nodes, with a limited number of requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Protocol

from zarrscope.dialects import Dialect, NodeKind
from zarrscope.errors import Unreadable, ZarrscopeError
from zarrscope.model.node_path import join_path
from zarrscope.model.storage import Answer, Entry
from zarrscope.nodes.detect import PlainFolder, is_named_n5
from zarrscope.runtime.threads import shared
from zarrscope.runtime.tuning import SEARCHED_AT_ONCE
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
    queue, names = [path], PlainFolder.names
    left = PlainFolder.searched_far if context.store.remote else PlainFolder.searched
    failed: ZarrscopeError | None = None
    while queue and left:
        now = queue[: min(left, SEARCHED_AT_ONCE if context.store.remote else 1)]
        left -= len(now)
        found: dict[str, tuple[bool, list[str], ZarrscopeError | None]] = {}
        most = min(100, names // len(now))

        def search(here: str) -> None:
            found[here] = _search(context, here, most)  # noqa: B023 -- the loop waits for it

        shared().share(now, search, len(now), waits=True)
        queue = queue[len(now) :]
        for there, below, error in (found[here] for here in now):
            if there:
                return True
            failed = failed or error
            names -= 0 if context.store.listable else len(below)
            queue += below
    if failed is not None:
        raise failed
    return False


def _search(context: Searched, here: str, most: int) -> tuple[bool, list[str], ZarrscopeError | None]:
    """Whether there are nodes directly beneath a path, the paths of its first `most` folders, and the first error. If
    any folder may be a group of the dialect, only arrays count."""
    dialect = context.dialect
    try:
        found = islice(dialect.children(here, islice(_entries(context, here), 1000)), most)
        below = [join_path(here, child.name) for child in found]
    except Unreadable as error:  # one closed folder must not hide the nodes of all others
        return False, [], error
    keys = context.store.bulk.filter_existing([key for child in below for key in context.keys_of(child)])
    answers = context.answers(keys).items()
    errors = ((key, each) for key, each in answers if isinstance(each, ZarrscopeError))
    failed = next((each.located(store=context.store.url, key=key) for key, each in errors), None)
    held = {key: answer for key, answer in answers if isinstance(answer, bytes)}
    if dialect.implicit == "prefix":
        return any(dialect.stated_kind(child, held) == "array" for child in below), below, failed
    return bool(held), below, failed


def _entries(context: Searched, path: str) -> Iterator[Entry]:
    """The entries beneath a group, from a listing or from the index page of a web server."""
    prefix = context.dialect.listing(path)
    if context.store.listable:
        return context.store.list_dir(prefix)
    return (Entry(name, True) for name in context.store._named_folders(prefix) or ())


def shows_n5(context: Searched, asked_for: bool) -> str:
    """Why a store whose root has no attributes.json, which N5 allows, holds a hierarchy of N5: its name says so, or
    arrays of N5 lie beneath the root. "" if it holds none. `asked_for`: the caller says that it is N5.
    """
    store = context.store
    if asked_for or is_named_n5(store):
        if not store.files.is_folder("") and next(_entries(context, "/"), None) is None:
            return ""
        return "it was opened as such" if asked_for else "its name ends in .n5"
    # the pages of a web server would cost many requests
    return "arrays of N5 lie beneath it" if store.listable and has_nodes(context, "/") else ""
