"""Stores several values in parallel if each takes a round trip.

A caller that encodes chunks calls `put` for each one, and encodes the next while it is being stored. At most
PUTS_AT_ONCE values, of PUT_BYTES together, are stored in parallel; beyond that `put` waits. The first failure is raised
by the caller's next call, or at the end of the `with` block, and queued values are then dropped. When the block ends,
no store operation is running any more. In a local store each value is written in the caller's thread, before `put`
returns.

A store with an event loop needs no thread for each value (`_begin_put`), and states how many values may be stored in
parallel (bench "s3 write": 128 values at 30 ms a request take 70 ms instead of 200, and half of the processor time).

A precondition may be checked before the first value is stored. In a remote store this takes a round trip, during which
the caller encodes: values are held meanwhile, within the same bounds, and dropped if the precondition fails.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from types import TracebackType
from typing import Protocol

from zarrscope.model.storage import Buffer
from zarrscope.runtime.interrupts import LOOK_SECONDS, adopt, check, current
from zarrscope.runtime.pool import Priority, ThreadPool
from zarrscope.runtime.tuning import PUT_BYTES, PUTS_AT_ONCE
from zarrscope.stores.keys import check_key

_pool = ThreadPool("puts", PUTS_AT_ONCE, 0)


WhenDone = Callable[[BaseException | None], None]
"""A function that is called once, on any thread: with the error, or with None when the value is stored."""


class PutTarget(Protocol):
    """The interface of a store that Puts needs."""

    remote: bool

    def _put(self, key: str, parts: Sequence[Buffer]) -> None: ...

    def _puts_begun_at_once(self) -> int: ...

    def _begin_put(self, key: str, value: bytes, done: WhenDone) -> Callable[[], object]: ...


class Puts:
    """`with Puts(store) as puts: puts.put(key, value) …`: at the end of the block all values are stored, or the first
    error is raised."""

    def __init__(self, store: PutTarget, precondition: Callable[[], object] | None = None) -> None:
        self._store, self._precondition = store, precondition
        self._beside = store.remote
        self._changed = threading.Condition()
        self._running = 0
        self._bytes = 0
        self._queued = 0
        """The number of threads that wait until their value may be stored."""
        self._begun: dict[int, Callable[[], object] | None] = {}
        """For each value that is being stored on the store's event loop, by a number, the function that cancels its
        request; None until `_begin_put` has returned it."""
        self._numbers = count()
        self._held: list[Callable[[], object]] | None = None
        """The functions that store the values held until the precondition is checked; None if that is not running."""
        self._over = False
        self._error: BaseException | None = None
        operation = current()
        self._operation = None if operation is None or operation.told else operation

    def put(self, key: str, parts: Sequence[Buffer]) -> None:
        """Stores the parts, one after the other, as the value of `key`. Their memory may be reused afterwards."""
        check_key(key)
        if not self._beside:
            self._store._put(key, parts)
            return
        value = bytes(parts[0]) if len(parts) == 1 else b"".join(parts)
        most = self._store._puts_begun_at_once()
        if most:
            self._begin(key, value, most)
        else:
            self.add(partial(self._store._put, key, (value,)), len(value))

    def add(self, act: Callable[[], object], size: int = 0) -> None:
        """Queues `act`, which stores or erases one value of `size` bytes. Raises the first error of earlier values."""
        if not self._beside:
            act()
            return
        with self._changed:
            self._enter(size, PUTS_AT_ONCE)
        self._once_checked(partial(_pool.put, Priority.NOW, partial(self._do, act, size)))

    def checked(self) -> None:
        """Waits until the precondition is checked. Raises its error, or the first error of earlier values."""
        with self._changed:
            while self._held is not None:
                self._changed.wait(LOOK_SECONDS)
                check()
            if self._error is not None:
                raise self._error

    def _once_checked(self, start: Callable[[], object]) -> None:
        with self._changed:
            if self._held is not None:
                self._held.append(start)
                return
        start()

    def _check(self, precondition: Callable[[], object]) -> None:
        failed: BaseException | None = None
        try:
            with adopt(self._operation):
                precondition()
        except BaseException as error:  # raised later, in the thread of the `with` block
            failed = error
        with self._changed:
            self._error = self._error or failed
            held, self._held = self._held or [], None
            self._changed.notify_all()
        for start in held:
            start()
        self._ended(0, None, None)

    def _begin(self, key: str, value: bytes, most: int) -> None:
        """Stores the value on the event loop of the store."""
        with self._changed:
            self._enter(len(value), most)
            number = next(self._numbers)
            self._begun[number] = None
        self._once_checked(partial(self._begin_now, key, value, number))

    def _begin_now(self, key: str, value: bytes, number: int) -> None:
        if self._error is not None or self._over:
            self._ended(len(value), number, None)
            return
        try:
            cancel = self._store._begin_put(key, value, partial(self._ended, len(value), number))
        except BaseException as error:  # raised later, in the thread of the `with` block, like every other failure
            self._ended(len(value), number, error)
            return
        with self._changed:
            if number in self._begun:
                self._begun[number] = cancel

    def _enter(self, size: int, most: int) -> None:
        """Waits until a value of `size` bytes may be stored, and counts it. Raises the first error of earlier
        values."""
        while self._error is None and self._is_full(size, most):
            self._queued += 1
            try:
                self._changed.wait(LOOK_SECONDS)
            finally:
                self._queued -= 1
            check()
        if self._error is not None:
            raise self._error
        self._running += 1
        self._bytes += size

    def _is_full(self, size: int, most: int) -> bool:
        return self._running > 0 and (self._running >= most or self._bytes + size > PUT_BYTES)

    def _do(self, act: Callable[[], object], size: int) -> None:
        failed: BaseException | None = None
        try:
            if self._error is None and not self._over:
                with adopt(self._operation):
                    act()
        except BaseException as error:  # raised later, in the thread of the `with` block
            failed = error
        finally:
            self._ended(size, None, failed)

    def _ended(self, size: int, number: int | None, failed: BaseException | None) -> None:
        with self._changed:
            if number is not None:
                del self._begun[number]
            self._error = self._error or failed
            self._running -= 1
            self._bytes -= size
            if self._queued or not self._running:
                self._changed.notify_all()

    def __enter__(self) -> Puts:
        if self._precondition is not None and not self._beside:
            self._precondition()
        elif self._precondition is not None:
            self._held, self._running = [], 1
            _pool.put(Priority.NOW, partial(self._check, self._precondition))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = kind is not None
        try:
            if kind is not None and issubclass(kind, KeyboardInterrupt):
                self._cancel()
            self._wait(interruptible=kind is None)
        except KeyboardInterrupt:
            self._cancel()
            raise
        finally:
            self._over = True
            self._wait(interruptible=False)
        if kind is None and self._error is not None:
            raise self._error

    def _wait(self, *, interruptible: bool) -> None:
        """Waits until no operation is running. Each one ends when its store answers, or after its time-out."""
        while True:
            with self._changed:
                if not self._running:
                    return
                self._changed.wait(LOOK_SECONDS)
            if interruptible:
                check()

    def _cancel(self) -> None:
        """Cancels the requests on the store's event loop. Threads notice an interrupt themselves (`adopt`)."""
        with self._changed:
            begun = [cancel for cancel in self._begun.values() if cancel is not None]
        for cancel in begun:
            cancel()
