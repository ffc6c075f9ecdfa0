"""A cache of the documents of a remote store.

The tree, the picture and the metadata of a node need the same few documents, and each request costs a round trip. The
cache answers repeated requests, combines simultaneous requests for the same document, and remembers absence. It belongs
to one Hierarchy that only reads; a hierarchy that is opened again starts with an empty cache. Measured 2026-11-21: a
first picture over HTTP takes three round trips instead of eleven (tests/bench/run.py "picture"). Consolidated metadata
are no more up to date than this cache, because they are read once as well.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import TypeGuard

from zarrscope.errors import Denied, ZarrscopeError
from zarrscope.model.storage import Answer, never
from zarrscope.nodes.detect import documents_at
from zarrscope.runtime.interrupts import uninterrupted, wait
from zarrscope.runtime.tuning import DOCUMENT_BYTES as MOST_BYTES
from zarrscope.runtime.tuning import LARGE_DOCUMENT
from zarrscope.runtime.waits import asking, waiting
from zarrscope.stores.store import Store

LATE = 64
"""The most documents that LatelyRead keeps."""

EACH = 200
"""The memory in bytes that an entry of the cache takes besides its value."""


class DocumentCache:
    """Remembers fetched documents by key: None for an absent one, Denied for one that the store does not return."""

    def __init__(self, store: Store, found: Mapping[str, bytes], asked: Iterable[str]) -> None:
        """`found`: the documents that a first request for the keys `asked` returned."""
        self.store = store
        self._guard = threading.Lock()
        self._values: OrderedDict[str, bytes | Denied | None] = OrderedDict()
        self._bytes = 0
        self._coming: dict[str, threading.Event] = {}
        for key in asked:
            self._keep(key, found.get(key))

    @uninterrupted
    def answers(self, keys: Sequence[str], cancelled: Callable[[], bool] = never) -> dict[str, Answer]:
        """The values; errors are returned as values and not cached. Some may be missing after `cancelled()`."""
        answers: dict[str, Answer] = {}
        while missing := [key for key in keys if key not in answers]:
            mine, others = self._claimed(missing, answers)
            if mine:
                self._fetch(mine, answers, cancelled)
            for came in others:
                with asking(self.store.url, missing[0]), waiting():
                    wait(came.wait)
            if cancelled():
                break
        return answers

    def clear(self) -> None:
        """Empties the cache."""
        with self._guard:
            self._values.clear()
            self._bytes = 0

    def _claimed(self, keys: Sequence[str], answers: dict[str, Answer]) -> tuple[list[str], list[threading.Event]]:
        """Adds cached documents to `answers`. Returns the keys to fetch now, and events for keys that other threads
        fetch.
        """
        mine, others = [], []
        with self._guard:
            own = threading.Event()
            for key in keys:
                if key in self._values:
                    self._values.move_to_end(key)
                    value = self._values[key]
                    answers[key] = copy(value) if isinstance(value, Denied) else value
                elif key in self._coming:
                    if self._coming[key] is not own:
                        others.append(self._coming[key])
                else:
                    self._coming[key] = own
                    mine.append(key)
        return mine, others

    def _fetch(self, keys: list[str], answers: dict[str, Answer], cancelled: Callable[[], bool]) -> None:
        came = self._coming[keys[0]]
        try:
            for key, answer in documents_at(self.store, keys, cancelled):
                answers[key] = answer
        finally:
            with self._guard:
                for key in keys:
                    del self._coming[key]
                    answer = answers.get(key)
                    if key in answers and (not isinstance(answer, ZarrscopeError) or _lasts(answer)):
                        self._keep(key, answer)
            came.set()

    def _keep(self, key: str, value: bytes | Denied | None) -> None:
        self._values[key] = value
        self._bytes += EACH + _size(value)
        while self._bytes > MOST_BYTES and len(self._values) > 1:
            _, dropped = self._values.popitem(last=False)
            self._bytes -= EACH + _size(dropped)


class LatelyRead:
    """The documents that were read last from a store that is written as well, so that nothing is cached: each is given
    once to the one who shows it with its node. It may have been replaced since, which its version shows."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._values: OrderedDict[str, bytes | None] = OrderedDict()

    @uninterrupted
    def note(self, answers: Mapping[str, Answer]) -> None:
        """Keeps these documents (None for an absent one), except errors and large ones."""
        with self._guard:
            for key, answer in answers.items():
                self._values.pop(key, None)
                if not isinstance(answer, ZarrscopeError) and _size(answer) <= LARGE_DOCUMENT:
                    self._values[key] = answer
            while len(self._values) > LATE:
                self._values.popitem(last=False)

    @uninterrupted
    def take(self, key: str) -> tuple[bytes | None] | None:
        """The document that was read at `key`, and no more afterwards; None if there is none to give."""
        with self._guard:
            return (self._values.pop(key),) if key in self._values else None

    @uninterrupted
    def clear(self) -> None:
        """Forgets all documents."""
        with self._guard:
            self._values.clear()


def _lasts(error: ZarrscopeError) -> TypeGuard[Denied]:
    """Whether the server denies every absent value in this way, so that requesting it again is useless."""
    return isinstance(error, Denied) and error.untold


def _size(value: Answer) -> int:
    return len(value) if isinstance(value, bytes) else 0
