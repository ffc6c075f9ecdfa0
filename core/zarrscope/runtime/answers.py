"""A queue from which a thread takes answers as they arrive, and waits for them no longer than it says.

queue.SimpleQueue would do, but in CPython 3.11 and 3.12 its `get(timeout=…)` never returns if a signal arrives and the
time ends while the handler runs: the time that is left is then negative, and its lock takes that for "without end". So
a Ctrl-C that interrupts.py only records would be lost now and then.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")


class AnswerQueue(Generic[T]):
    """Any thread, and a handler of a signal, may put answers; one thread at a time takes them.

    It holds no lock while it changes, so an interrupt at any point leaves it usable.

    Examples
    --------
    >>> answers = AnswerQueue()
    >>> answers.put("first")
    >>> answers.get(timeout=1.0)
    'first'
    """

    __slots__ = ("_arrived", "_kept")

    def __init__(self) -> None:
        self._kept: deque[T] = deque()
        self._arrived = threading.Lock()  # held while nothing has arrived since the last look
        self._arrived.acquire()

    def put(self, answer: T) -> None:
        """Adds an answer."""
        self._kept.append(answer)
        with suppress(RuntimeError):  # nobody holds it: an earlier answer has not been taken
            self._arrived.release()

    def __len__(self) -> int:
        return len(self._kept)

    def empty(self) -> bool:
        """Whether no answer waits to be taken."""
        return not self._kept

    def get(self, timeout: float) -> T:
        """Takes the first answer, and waits for it at most `timeout` seconds. Raises queue.Empty."""
        end = time.monotonic() + timeout
        while True:
            with suppress(IndexError):
                return self._kept.popleft()
            if not self._arrived.acquire(timeout=max(0.0, end - time.monotonic())) and not self._kept:
                raise queue.Empty
