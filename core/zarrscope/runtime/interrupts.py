"""Raises interrupts (Ctrl-C, "interrupt kernel") between the engine's operations, never within one.

Python raises KeyboardInterrupt in the main thread between any two of its instructions: after a file was opened and
before its handle is stored, or inside the `__enter__` of a lock. So code that holds handles, locks or counters runs as
an *operation*: while one runs in the main thread, an interrupt is only recorded. It is raised at a point where the
operation can stop (`check`), or at its end. Threads that help an operation `adopt` it, so that they stop as well; other
threads never receive interrupts.

Like asyncio.Runner, this replaces Python's own handler of SIGINT, and no other handler, while an operation runs in the
main thread. An application that should end on other signals too calls `install` once.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import wraps
from importlib import import_module
from itertools import islice
from types import FrameType, ModuleType, TracebackType
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

LOOK_SECONDS = 0.05
"""Seconds after which a wait is interrupted to check whether a signal arrived."""
PATIENCE_SECONDS = 3.0
"""If an operation has not stopped after this time, another Ctrl-C interrupts it at any point."""

# The C module behind `signal`, without its enumerations: 0.4 µs per call instead of 4, and no import.
try:
    _plain: ModuleType = import_module("_signal")
except ImportError:
    _plain = import_module("signal")
INTERRUPT = int(_plain.SIGINT)
"""The number of the signal that Ctrl-C sends."""
_default = _plain.default_int_handler
_get_handler: Callable[[int], Any] = _plain.getsignal
_set_handler: Callable[[int, Any], Any] = _plain.signal
_ident = threading.get_ident


class Interrupted(KeyboardInterrupt):
    """Raised when a signal asked to end the current operation."""

    def __init__(self, number: int = INTERRUPT, operation: InterruptibleOperation | None = None) -> None:
        super().__init__()
        self.signal, self.operation = number, operation


class InterruptibleOperation:
    """An operation of the main thread that Ctrl-C and other signals may end."""

    __slots__ = ("installed", "signal", "since", "told")

    def __init__(self, installed: bool) -> None:
        self.installed = installed
        """Whether an application installed the handler, which therefore stays."""
        self.signal = 0
        """The signal that arrived during the operation; 0 if none did."""
        self.since = 0.0
        self.told = False
        """Whether `check` has raised the interrupt; code that cleans up afterwards is not interrupted again."""


_main = threading.main_thread().ident
_active: InterruptibleOperation | None = None
_adopted = threading.local()


def _deliver(number: int, frame: FrameType | None) -> None:
    """The signal handler. While an operation runs, it only records the signal, unless the operation does not stop."""
    operation = _active
    if operation is None:
        raise Interrupted(number)
    now = time.monotonic()
    if operation.signal and now - operation.since > PATIENCE_SECONDS:
        raise Interrupted(number, operation)
    if not operation.signal:
        operation.since = now
    operation.signal, operation.told = number, False


def begin() -> InterruptibleOperation | None:
    """Begins to hold interrupts back. Returns the argument for `end`; None if they are already held back, or cannot be
    held back."""
    global _active
    if _active is not None or _ident() != _main:
        return None
    handler = _get_handler(INTERRUPT)
    if handler is _default:
        operation = _active = InterruptibleOperation(False)  # assigned before a signal can use it
        try:
            _set_handler(INTERRUPT, _deliver)
        except ValueError:  # a sub-interpreter receives no signals
            return None
        return operation
    if handler is _deliver:
        operation = _active = InterruptibleOperation(True)
        return operation
    return None


def end(operation: InterruptibleOperation) -> None:
    """Stops holding interrupts back. Raises one that arrived since `begin`, unless it is already being raised."""
    global _active
    if operation.installed:
        _active = None
    else:
        try:
            _set_handler(INTERRUPT, _default)
        finally:  # restores the handler even if another interrupt arrives
            _active = None
    if operation.signal:
        error = sys.exc_info()[1]
        if not isinstance(error, Interrupted) or error.operation is not operation:
            raise Interrupted(operation.signal, operation)


class operation:
    """`with operation(): …` makes its block one operation: an interrupt is raised at its end, or by a `check` in it."""

    __slots__ = ("_begun",)

    def __enter__(self) -> None:
        self._begun = begin()

    def __exit__(self, *_: object) -> None:
        if self._begun is not None:
            end(self._begun)


class uninterrupted_within:
    """`with uninterrupted_within(context): …` makes the block, with entry and exit of `context`, one operation. So no
    interrupt comes between the entry and the block, where it would prevent the exit."""

    def __init__(self, context: AbstractContextManager[object]) -> None:
        self._context = context

    def __enter__(self) -> None:
        self._operation = begin()
        try:
            self._context.__enter__()
        except BaseException:
            self._end()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        try:
            return self._context.__exit__(kind, error, trace)
        finally:
            self._end()

    def _end(self) -> None:
        if self._operation is not None:
            end(self._operation)


def uninterrupted(call: Callable[P, T]) -> Callable[P, T]:
    """Decorates a function so that each call is one operation (see `operation`)."""

    @wraps(call)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        begun = begin() if _active is None else None
        if begun is None:
            return call(*args, **kwargs)
        try:
            return call(*args, **kwargs)
        finally:
            end(begun)

    return guarded


def uninterrupted_steps(make: Callable[P, Iterable[T]]) -> Callable[P, Iterator[T]]:
    """Makes each step of the iterator one operation. Between two steps the iterator's frame must hold no resources."""

    @wraps(make)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return steps(make(*args, **kwargs))

    return guarded


def steps(found: Iterable[T], together: int = 1) -> Iterator[T]:
    """Makes each step of the iterator one operation, or each `together` steps, which must then be quick: beginning and
    ending an operation takes 2 µs."""
    return _Steps(iter(found), together) if _ident() == _main else iter(found)


class _Steps(Generic[T]):
    __slots__ = ("_error", "_steps", "_taken", "_together")

    def __init__(self, steps: Iterator[T], together: int) -> None:
        self._steps, self._together = steps, together
        self._taken: deque[T] = deque()
        self._error: Exception | None = None
        """The exception that ended the iterator after the items in `_taken`."""

    def __iter__(self) -> _Steps[T]:
        return self

    def __next__(self) -> T:
        if self._taken:
            return self._taken.popleft()
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        begun = begin() if _active is None else None
        if begun is None:
            return next(self._steps)
        try:
            found = next(self._steps)
            if self._together > 1:
                self._take()
            return found
        finally:
            end(begun)

    def _take(self) -> None:
        try:
            self._taken.extend(islice(self._steps, self._together - 1))
        except Exception as error:  # `extend` has taken the items before the error
            self._error = error

    def close(self) -> None:
        close = getattr(self._steps, "close", None)
        if close is not None:
            uninterrupted(close)()


# ---------------------------------------------------------------------------------------------- stopping
def current() -> InterruptibleOperation | None:
    """The operation that this thread runs, or helps with."""
    if _ident() == _main:
        return _active
    found: InterruptibleOperation | None = getattr(_adopted, "operation", None)
    return found


def check() -> None:
    """Raises Interrupted if a signal arrived; in the main thread only once for each signal. Operations call it where
    they can stop.
    """
    operation = current()
    if operation is not None and operation.signal:
        stop(operation)


def stop(operation: InterruptibleOperation) -> None:
    """Raises Interrupted if a signal came for the operation."""
    if _ident() == _main:
        if operation.told:
            return
        operation.told = True
    raise Interrupted(operation.signal, operation)


class adopt:
    """`with adopt(operation): …` makes this thread a helper of an operation: it stops when the operation does."""

    __slots__ = ("_before", "_operation")

    def __init__(self, operation: InterruptibleOperation | None) -> None:
        self._operation = operation

    def __enter__(self) -> None:
        self._before = getattr(_adopted, "operation", None)
        _adopted.operation = self._operation

    def __exit__(self, *_: object) -> None:
        _adopted.operation = self._before


def wait(happened: Callable[[float], T]) -> T:
    """Calls `happened(seconds)`, which waits at most that long, until it returns true. Raises Interrupted."""
    while not (found := happened(LOOK_SECONDS)):
        check()
    return found


# ---------------------------------------------------------------------------------------------- applications
def install(*signals: int) -> None:
    """For applications: makes SIGINT and these signals, such as SIGTERM, raise Interrupted in the main thread.

    A signal that is ignored (`nohup`) stays ignored. Call it from the main thread, while no operation runs.
    """
    global _active
    _active = None
    for number in (INTERRUPT, *signals):
        if _get_handler(number) != _plain.SIG_IGN:
            _set_handler(number, _deliver)


def _after_fork() -> None:
    """In a child process, the thread that called fork becomes the main thread."""
    global _main, _active, _adopted
    _main, _adopted = _ident(), threading.local()
    if _active is not None and not _active.installed:
        _set_handler(INTERRUPT, _default)
    _active = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
