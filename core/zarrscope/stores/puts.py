"""Stores several values in parallel if each takes a round trip.

A caller that encodes chunks passes each one on and continues with the next. At most PUTS_AT_ONCE values, of PUT_BYTES
together, are being stored at once; beyond that the caller waits. The first failure is raised at the caller's next call,
or at the end, and queued values are then dropped. At the end of the block no store operation is running. To a local
store a value is written at once, in the caller's thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Protocol

from zarrscope.model.storage import Buffer
from zarrscope.runtime.interrupts import LOOK_SECONDS, adopt, check, current
from zarrscope.runtime.pool import Pool, Priority
from zarrscope.runtime.tuning import PUT_BYTES, PUTS_AT_ONCE
from zarrscope.stores.keys import check_key

_pool = Pool("puts", PUTS_AT_ONCE, 0)


class Target(Protocol):
    """The interface of a store for putting values."""

    remote: bool

    def _put(self, key: str, parts: Sequence[Buffer]) -> None: ...


class Puts:
    """`with Puts(store) as puts: puts.put(key, value) …`: all values are stored when the block ends, or its error is
    raised."""

    def __init__(self, store: Target) -> None:
        self._store = store
        self._beside = store.remote
        self._changed = threading.Condition()
        self._running = 0
        self._bytes = 0
        self._over = False
        self._error: BaseException | None = None
        operation = current()
        self._operation = None if operation is None or operation.told else operation

    def put(self, key: str, parts: Sequence[Buffer]) -> None:
        """Stores the parts, one after the other, as the value of `key`. They may change afterwards."""
        check_key(key)
        if not self._beside:
            self._store._put(key, parts)
            return
        value = bytes(parts[0]) if len(parts) == 1 else b"".join(parts)
        self.add(partial(self._store._put, key, (value,)), len(value))

    def add(self, act: Callable[[], object], size: int = 0) -> None:
        """Queues `act`, which stores or erases one value of `size` bytes. Raises the first error so far."""
        if not self._beside:
            act()
            return
        with self._changed:
            while self._error is None and self._is_full(size):
                self._changed.wait(LOOK_SECONDS)
                check()
            if self._error is not None:
                raise self._error
            self._running += 1
            self._bytes += size
        _pool.put(Priority.NOW, partial(self._do, act, size))

    def _is_full(self, size: int) -> bool:
        return self._running > 0 and (self._running >= PUTS_AT_ONCE or self._bytes + size > PUT_BYTES)

    def _do(self, act: Callable[[], object], size: int) -> None:
        failed: BaseException | None = None
        try:
            if self._error is None and not self._over:
                with adopt(self._operation):
                    act()
        except BaseException as error:  # raised where the block is
            failed = error
        finally:
            with self._changed:
                self._error = self._error or failed
                self._running -= 1
                self._bytes -= size
                self._changed.notify_all()

    def __enter__(self) -> Puts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = kind is not None
        try:
            self._wait(interruptible=kind is None)
        finally:
            self._over = True
            self._wait(interruptible=False)
        if kind is None and self._error is not None:
            raise self._error

    def _wait(self, *, interruptible: bool) -> None:
        """Waits until nothing is being stored. Each operation ends when its store answers, or after its time-out."""
        while True:
            with self._changed:
                if not self._running:
                    return
                self._changed.wait(LOOK_SECONDS)
            if interruptible:
                check()
