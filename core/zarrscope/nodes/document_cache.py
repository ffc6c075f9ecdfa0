"""Documents of a distant store that were fetched before: nobody waits twice for the same one.

Where a request costs a round trip, the same few documents are wanted by all who look at a node: the tree, the picture,
the metadata. They share what came, also while it is still on its way, and that something is absent. It holds for the
life of one Hierarchy that only reads, until that forgets; opened anew, it reads anew. 2026-11-21: a first picture over
HTTP takes three round trips instead of eleven (tests/bench/run.py "picture"); consolidated metadata, read once, was no
fresher.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence

from zarrscope.errors import ZarrscopeError
from zarrscope.store import Answer, Store, never

MOST_BYTES = 64 * 1024 * 1024
EACH = 200
"""What one entry costs beside its value."""


class Known:
    """Documents by key; None: absent. Safe from any thread."""

    def __init__(self, store: Store, found: Mapping[str, bytes], asked: Iterable[str]) -> None:
        """`found` of the keys that were `asked` for already."""
        self.store = store
        self._guard = threading.Lock()
        self._values: OrderedDict[str, bytes | None] = OrderedDict()
        self._bytes = 0
        self._coming: dict[str, threading.Event] = {}
        for key in asked:
            self._keep(key, found.get(key))

    def answers(self, keys: Sequence[str], cancelled: Callable[[], bool] = never) -> dict[str, Answer]:
        """The values; errors as values, and not kept. Some are missing once `cancelled()`."""
        answers: dict[str, Answer] = {}
        while missing := [key for key in keys if key not in answers]:
            mine, others = self._claimed(missing, answers)
            if mine:
                self._fetch(mine, answers, cancelled)
            for came in others:
                came.wait()
            if cancelled():
                break
        return answers

    def clear(self) -> None:
        """Everything is asked for again."""
        with self._guard:
            self._values.clear()
            self._bytes = 0

    def _claimed(self, keys: Sequence[str], answers: dict[str, Answer]) -> tuple[list[str], list[threading.Event]]:
        """What is known goes to `answers`. Of the rest: the keys to fetch now, and when those come that others do."""
        mine, others = [], []
        with self._guard:
            own = threading.Event()
            for key in keys:
                if key in self._values:
                    self._values.move_to_end(key)
                    answers[key] = self._values[key]
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
            for i, answer in self.store.get_many([(key, None) for key in keys], cancelled):
                answers[keys[i]] = answer
        finally:
            with self._guard:
                for key in keys:
                    del self._coming[key]
                    answer = answers.get(key)
                    if key in answers and not isinstance(answer, ZarrscopeError):
                        self._keep(key, answer)
            came.set()

    def _keep(self, key: str, value: bytes | None) -> None:
        self._values[key] = value
        self._bytes += EACH + len(value or b"")
        while self._bytes > MOST_BYTES and len(self._values) > 1:
            _, dropped = self._values.popitem(last=False)
            self._bytes -= EACH + len(dropped or b"")
