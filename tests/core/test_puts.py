"""Many values are stored concurrently where each takes a round trip: bounded, complete, finished when the block
ends.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
import pytest

import zarrscope
from zarrscope import convert
from zarrscope.errors import ReadOnly, Unreadable
from zarrscope.runtime.tuning import PUTS_AT_ONCE
from zarrscope.stores import puts as module
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.object_puts import ManyPuts
from zarrscope.stores.object_reads import Sent
from zarrscope.stores.puts import WhenDone
from zarrscope.stores.remote import RemoteStore, loop
from zarrscope.stores.store import Store
from zarrscope.stores.wrappers import Counting, FaultRule, Faults, Gate, PrefixStore, ReadOnlyStore, Wrapper

MANY = 3 * PUTS_AT_ONCE


def far(store: Wrapper) -> Wrapper:
    store.remote = True
    return store


def writing(store: Wrapper, count: int, size: int = 1) -> threading.Thread:
    """A thread that stores values in `store`, and ends when all are stored."""

    def work() -> None:
        with store.bulk.puts() as puts:
            for i in range(count):
                puts.put(f"c/{i}", [bytes([i % 256]) * size])

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_so_many_are_under_way_and_no_more() -> None:
    inner = MemoryStore()
    gate = Gate(inner)
    thread = writing(far(gate), MANY)
    assert gate.waiting(PUTS_AT_ONCE)
    assert len(gate.arrived) == PUTS_AT_ONCE
    assert list(inner.list()) == []
    gate.release()
    thread.join(60)
    assert {key: inner.get(key) for key in inner.list()} == {f"c/{i}": bytes([i]) for i in range(MANY)}


def test_their_bytes_are_bounded_and_a_larger_value_goes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PUT_BYTES", 10)
    for size, together in ((4, 2), (50, 1)):
        gate = Gate(MemoryStore())
        thread = writing(far(gate), 5, size)
        assert gate.waiting(together)
        assert len(gate.arrived) == together
        gate.release()
        thread.join(60)
        assert len(list(gate.store.list())) == 5


def test_what_may_change_afterwards_was_stored_as_it_was() -> None:
    gate = Gate(MemoryStore())
    value = bytearray(b"before")
    with far(gate).bulk.puts() as puts:
        puts.put("a", [value])
        value[:] = b"after!"
        gate.release()
    assert gate.store.get("a") == b"before"


def failed_key(store: Store) -> str | None:
    """Puts many values, one of which fails; returns the key that the error names."""

    def work() -> None:
        with store.bulk.puts() as puts:
            for i in range(10_000):
                puts.put(f"c/{i}", [b"x"])

    with pytest.raises(Unreadable, match="network failed") as caught:
        work()
    return caught.value.key


def test_the_first_failure_is_raised_and_nothing_begins_after_it() -> None:
    inner = MemoryStore()
    counted = Counting(inner)
    store = far(Faults(counted, FaultRule(matches=lambda operation, key: key == "c/5")))

    assert failed_key(store) == "c/5"
    stored = counted.requests["set"]
    assert stored < 10_000
    assert len(list(inner.list())) == stored


class Precondition:
    """A precondition that is met, or fails with `error`, when `answer` is set."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.asked, self.answer = error, threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.asked.set()
        assert self.answer.wait(60)
        if self.error is not None:
            raise self.error


def test_values_are_taken_but_not_stored_before_the_precondition_is_met() -> None:
    inner, precondition = MemoryStore(), Precondition()
    with far(Wrapper(inner)).bulk.puts(precondition) as puts:
        for i in range(PUTS_AT_ONCE - 1):  # none of them waits
            puts.put(f"c/{i}", [b"x"])
        assert precondition.asked.wait(60)
        assert list(inner.list()) == []
        precondition.answer.set()
        puts.checked()
    assert len(list(inner.list())) == PUTS_AT_ONCE - 1


def test_a_failed_precondition_stores_nothing() -> None:
    inner, precondition = MemoryStore(), Precondition(Unreadable("the array was erased"))

    def work() -> None:
        with far(Wrapper(inner)).bulk.puts(precondition) as puts:
            puts.put("a", [b"x"])
            puts.add(partial(inner.set, "b", b"x"))
            precondition.answer.set()
            with pytest.raises(Unreadable, match="erased"):
                puts.checked()
            puts.put("c", [b"x"])

    with pytest.raises(Unreadable, match="erased"):
        work()
    assert list(inner.list()) == []


def test_more_values_than_may_be_held_wait_for_the_precondition() -> None:
    inner, precondition = MemoryStore(), Precondition()
    taken: list[int] = []

    def work() -> None:
        with far(Wrapper(inner)).bulk.puts(precondition) as puts:
            for i in range(MANY):
                puts.put(f"c/{i}", [b"x"])
                taken.append(i)

    thread = threading.Thread(target=work)
    thread.start()
    assert precondition.asked.wait(60)
    thread.join(0.2)
    assert len(taken) < PUTS_AT_ONCE
    precondition.answer.set()
    thread.join(60)
    assert len(list(inner.list())) == MANY


def test_a_local_store_checks_first() -> None:
    store, order = MemoryStore(), list[str]()
    with store.bulk.puts(lambda: order.append("checked")) as puts:
        order.append("block")
        puts.put("a", [b"x"])
    assert order == ["checked", "block"]
    with pytest.raises(Unreadable), store.bulk.puts(partial(_fail, Unreadable("gone"))):
        order.append("not reached")
    assert len(order) == 2


def _fail(error: Exception) -> None:
    raise error


def test_a_failure_of_the_last_one_is_raised_at_the_end() -> None:
    store = far(Faults(MemoryStore(), FaultRule()))
    with pytest.raises(Unreadable), store.bulk.puts() as puts:
        puts.put("a", [b"x"])


def test_a_block_that_fails_waits_for_what_is_under_way() -> None:
    gate = Gate(MemoryStore())
    held, ended = threading.Event(), threading.Event()

    def work() -> None:
        with suppress(KeyError), far(gate).bulk.puts() as puts:
            puts.put("a", [b"x"])
            held.wait(60)
            raise KeyError
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert gate.waiting()
    held.set()
    assert not ended.wait(0.1)
    gate.release()
    assert ended.wait(60)
    thread.join(60)
    assert gate.store.get("a") == b"x"


# ---------------------------------------------------------------------------------------------- on an event loop
class OnLoop(MemoryStore):
    """A store whose requests run on an event loop: each waits until it is released, or fails."""

    remote = True

    def __init__(self) -> None:
        super().__init__()
        self.running, self.peak, self.cancelled = 0, 0, 0
        self.open = threading.Event()
        self.fails: set[str] = set()

    def _puts_begun_at_once(self) -> int:
        return 8

    async def _wait_and_put(self, key: str, value: bytes) -> None:
        self.running += 1
        self.peak = max(self.peak, self.running)
        try:
            while not self.open.is_set():
                await asyncio.sleep(0.001)
            if key in self.fails:
                raise Unreadable("The network failed", advice="This fault was made for a test.")
            self.set(key, value)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1

    def _begin_put(self, key: str, value: bytes, done: WhenDone) -> Callable[[], object]:
        work = partial(self._wait_and_put, key, value)
        return RemoteStore._begun(cast(RemoteStore, self), work, key, done)

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        return loop()


def seen(happened: Callable[[], bool]) -> bool:
    end = time.monotonic() + 30
    while not happened() and time.monotonic() < end:
        time.sleep(0.002)
    return happened()


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_store_with_a_loop_says_how_many(wrapped: bool) -> None:
    inner = OnLoop()
    store: Store = PrefixStore(inner, "x/") if wrapped else inner

    def work() -> None:
        with store.bulk.puts() as puts:
            for i in range(30):
                puts.put(f"c/{i}", [bytes([i])])

    thread = threading.Thread(target=work)
    thread.start()
    assert seen(lambda: inner.running == 8)
    inner.open.set()
    thread.join(60)
    assert inner.peak == 8
    assert {key: store.get(key) for key in store.list()} == {f"c/{i}": bytes([i]) for i in range(30)}


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_failure_on_a_loop_names_the_value_and_ends_the_rest(wrapped: bool) -> None:
    inner = OnLoop()
    store: Store = PrefixStore(inner, "x/") if wrapped else inner
    inner.open.set()
    inner.fails = {"c/5", "x/c/5"}

    assert failed_key(store) == "c/5"
    assert inner.running == 0
    assert len(list(inner.list())) < 10_000


def test_a_block_that_fails_waits_for_the_loop() -> None:
    store = OnLoop()
    ended = threading.Event()

    def work() -> None:
        with suppress(KeyError), store.bulk.puts() as puts:
            puts.put("a", [b"x"])
            raise KeyError
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert seen(lambda: store.running == 1)
    assert not ended.wait(0.1)
    store.open.set()
    assert ended.wait(60)
    thread.join(60)
    assert store.get("a") == b"x"


def test_an_interrupt_cancels_what_a_loop_is_doing() -> None:
    store = OnLoop()

    def work() -> None:
        with store.bulk.puts() as puts:
            for i in range(4):
                puts.put(f"c/{i}", [b"x"])
            assert seen(lambda: store.running == 4)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert (store.running, store.cancelled) == (0, 4)
    assert list(store.list()) == []


def test_what_is_not_to_be_written_is_not() -> None:
    with pytest.raises(ReadOnly):
        ReadOnlyStore(MemoryStore()).bulk.puts()


@pytest.mark.parametrize("shards", [None, (16, 16)])
def test_an_array_elsewhere_is_written_side_by_side(shards: tuple[int, int] | None) -> None:
    gate = Gate(MemoryStore(), lambda operation, key: operation == "set" and "/c/" in key)
    values = np.arange(64 * 64, dtype="u2").reshape(64, 64)
    values[:16, :16] = 0  # erased rather than stored
    h = zarrscope.open(far(gate), "w-")
    array = h.create_array("/a", shape=(64, 64), dtype="u2", chunks=(8, 8), shards=shards)
    thread = threading.Thread(target=lambda: array.__setitem__(..., values))
    thread.start()
    assert gate.waiting(8), "more than there are cores"
    gate.release()
    thread.join(60)
    assert np.array_equal(array[...], values)
    other = far(Gate(MemoryStore(), lambda operation, key: False))
    convert.run(convert.plan(h, other, "v3"))
    assert np.array_equal(zarrscope.open_array(other, "/a")[...], values)


def test_values_that_come_together_wake_the_event_loop_once() -> None:
    calls: list[tuple[Callable[..., object], tuple[Any, ...]]] = []

    class Loop:
        def call_soon_threadsafe(self, act: Callable[..., object], *told: Any) -> None:
            calls.append((act, told))

    class Bucket:
        _loop = Loop()
        sent: ClassVar[list[str]] = []

        def _send_put(self, key: str, value: bytes) -> Sent:
            self.sent.append(key)
            return Sent(asyncio.Future(loop=loop()), None, 0, 0, 1)

    store: Any = Bucket()
    many, done = ManyPuts(store), list[BaseException | None]()
    for key in "abc":
        cancel = many.begin(key, b"", done.append)
    cancel()
    assert len(calls) == 2
    for act, told in reversed(calls):
        act(*told)
    assert store.sent == ["a", "b"]
    assert [type(error) for error in done] == [asyncio.CancelledError], "that of c, which was not sent yet"
    many.begin("d", b"", done.append)
    assert len(calls) == 3
    calls[-1][0]()
    assert store.sent == ["a", "b", "d"]
