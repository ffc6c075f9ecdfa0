"""Ctrl-C takes effect between operations: none is left half done, and waits end."""

# ruff: noqa: PT012 - where within the block an interrupt is raised is what these tests are about
from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.http_server import WebServer, web_server
from narrowing import as_array
from zarrscope.runtime import interrupts
from zarrscope.runtime.interrupts import (
    Interrupted,
    adopt,
    check,
    current,
    install,
    operation,
    uninterrupted_steps,
    wait,
)
from zarrscope.runtime.keyed_locks import KeyedLocks
from zarrscope.runtime.threads import Background, Mailbox
from zarrscope.view import loader as chunks

ENDS = 100.0
"""The most seconds that a helper thread waits, so that a failed test does not keep the process alive."""


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Installs Python's own handler for the test, and checks that it is still installed afterwards."""
    numbers = [number for number in (signal.SIGINT, signal.SIGTERM) if number is not None]
    before = [signal.getsignal(number) for number in numbers]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert interrupts._active is None
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def strike(number: int = signal.SIGINT) -> None:
    signal.raise_signal(number)


def test_an_interrupt_waits_for_the_end() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), operation():
        with operation():  # inner ones end nothing
            strike()
        done.append(1)
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_is_the_context_of_the_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt) as caught, operation():
        strike()
        raise ValueError("met")
    assert isinstance(caught.value.__context__, ValueError)


def test_an_operation_stops_where_it_can_and_cleans_up_undisturbed() -> None:
    cleaned = []
    with pytest.raises(Interrupted) as caught, operation():
        strike()
        try:
            check()
        finally:
            check()  # told already
            cleaned.append(1)
    assert cleaned == [1]
    assert caught.value.__context__ is None


def test_a_second_interrupt_stops_the_cleaning_up() -> None:
    with pytest.raises(Interrupted), operation():
        strike()
        try:
            check()
        except Interrupted:
            strike()
            check()
        pytest.fail("went on")


def test_who_does_not_stop_for_long_is_broken_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "PATIENCE_SECONDS", -1.0)
    with pytest.raises(Interrupted), operation():
        strike()
        strike()
        pytest.fail("went on")


def test_an_interrupt_that_was_swallowed_is_raised_at_the_end() -> None:
    with pytest.raises(Interrupted), operation():
        strike()
        try:
            check()
        except KeyboardInterrupt:
            pass


def test_the_handler_of_an_application_stays_and_is_obeyed() -> None:
    came = []
    signal.signal(signal.SIGINT, lambda *_: came.append(current()))
    mine = signal.getsignal(signal.SIGINT)
    with operation():
        strike()
        assert came == [None]
        assert signal.getsignal(signal.SIGINT) is mine


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no SIGHUP")
def test_an_application_may_end_on_other_signals_too() -> None:
    install(signal.SIGTERM)
    done = []
    with pytest.raises(Interrupted) as caught, operation():
        strike(signal.SIGTERM)
        done.append(1)
    assert done == [1]
    assert caught.value.signal == signal.SIGTERM
    with pytest.raises(Interrupted):  # between operations: at once
        strike(signal.SIGTERM)
    with pytest.raises(Interrupted), operation():
        strike()


def test_each_step_of_an_iterator_is_an_operation() -> None:
    came = []

    @uninterrupted_steps
    def steps() -> Iterator[int]:
        for n in range(3):
            strike()
            came.append(n)
            yield n

    found = steps()
    with pytest.raises(KeyboardInterrupt):
        next(found)
    assert came == [0]
    with pytest.raises(KeyboardInterrupt):
        next(found)
    assert came == [0, 1], "it goes on where it was"


def test_steps_taken_together_come_one_by_one_and_an_error_comes_after_them() -> None:
    came = []

    def numbers() -> Iterator[int]:
        for n in range(5):
            came.append(n)
            if n == 1:
                strike()
            yield n
        raise OSError("gone")

    found = interrupts.steps(numbers(), together=3)
    with pytest.raises(KeyboardInterrupt):
        next(found)
    assert came == [0, 1, 2], "the operation ended before the interrupt"
    assert [next(found), next(found), next(found), next(found)] == [1, 2, 3, 4]
    with pytest.raises(OSError, match="gone"):
        next(found)
    assert list(found) == []


def test_other_threads_have_no_operations() -> None:
    found: list[Any] = []

    def work() -> None:
        with operation():
            found.append((current(), interrupts.begin()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(None, None)]


def test_helpers_stop_with_the_operation_and_others_do_not() -> None:
    told: dict[str, bool] = {}
    ready, go = threading.Semaphore(0), threading.Event()

    def helper(name: str, of: interrupts.InterruptibleOperation | None) -> None:
        with adopt(of):
            ready.release()
            go.wait(ENDS)
            try:
                check()
                told[name] = False
            except Interrupted:
                told[name] = True

    with pytest.raises(Interrupted), operation():
        threads = [threading.Thread(target=helper, args=args) for args in (("helper", current()), ("other", None))]
        for thread in threads:
            thread.start()
            ready.acquire()
        strike()
        go.set()
        for thread in threads:
            thread.join()
    assert told == {"helper": True, "other": False}


def test_shared_work_stops_and_what_is_under_way_is_waited_for() -> None:
    background = Background(decode_threads=3)
    begun, ended = [], []

    def work(n: int) -> None:
        begun.append(n)
        if n == 5:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
        ended.append(n)

    with pytest.raises(KeyboardInterrupt):
        background.share(iter(range(10_000_000)), work)
    assert sorted(begun) == sorted(ended)
    assert len(begun) < 9_000_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="a signal for one thread")
def test_the_one_who_waits_for_the_others_item_is_interrupted() -> None:
    """A thread that waits for a lock is not woken by a signal that another thread gets or that arrives just before."""
    fetching = threading.Event()

    def items() -> Iterator[str]:
        yield "for the one who asks"
        fetching.set()
        time.sleep(0.2)  # the other one waits for the lock by now, or is early and passes
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        while True:  # until the operation is interrupted, or pytest ends the test
            check()
            time.sleep(0.01)

    def work(item: str) -> None:
        if threading.current_thread() is threading.main_thread():
            fetching.wait(ENDS)

    with pytest.raises(KeyboardInterrupt):
        Background(decode_threads=2).share(items(), work)


def test_a_child_forked_within_an_operation_has_pythons_handler() -> None:
    with operation():
        child = os.fork()
        if not child:
            fine = signal.getsignal(signal.SIGINT) is signal.default_int_handler and current() is None
            os._exit(0 if fine else 1)
        _, status = os.waitpid(child, 0)
    assert status == 0


# ---------------------------------------------------------------------------------------------- waiting in vain
def interrupt(when: Callable[[], object], act: Callable[[], object]) -> None:
    """Runs `act`, which waits for something that never comes, and sends SIGINT after `when`. `act` must end with
    KeyboardInterrupt; if it does not end, pytest's time limit fails the test."""

    def send() -> None:
        when()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    sender = threading.Thread(target=send)
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        act()
    sender.join()


def values_of(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("served")
    h = zarrscope.open(folder, "w-", dialect="v3")
    for name, shards in (("plain", None), ("shards", (16, 16))):
        array = h.create_array(f"/{name}", shape=(64, 64), chunks=(8, 8), shards=shards, dtype="u2")
        array[...] = np.arange(64 * 64).reshape(64, 64)
    return values_of(folder)


WAITS: dict[str, Callable[[Any], object]] = {
    "all": lambda h: h["/plain"][...],
    "pixel": lambda h: h["/plain"][3, 3],
    "shards": lambda h: h["/shards"][...],
    "inner chunk": lambda h: h["/shards"][3, 3],
    "loader": lambda h: chunks.ChunkLoader().read(h["/plain"], (slice(0, 40), slice(0, 40))),
    "value": lambda h: h.store.get("plain/c/0/0"),
    "chunk": lambda h: h["/plain"].read_chunk((0, 0)),
    "document": lambda h: zarrscope.open(h.url),
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals to one thread")
@pytest.mark.parametrize("name", WAITS)
def test_who_waits_for_a_server_that_never_answers_is_interrupted(name: str, served: dict[str, bytes]) -> None:
    def held(server: WebServer) -> Callable[[], object]:
        return lambda: server.wait_held(1)

    with web_server(dict(served)) as server:
        h = zarrscope.open(server.url)
        for path in ("/plain", "/shards"):
            _ = h[path]
        server.gate.clear()
        try:
            interrupt(held(server), lambda: WAITS[name](h))
        finally:
            server.gate.set()
        assert (np.asarray(as_array(h["/plain"])[...]) == np.arange(64 * 64).reshape(64, 64)).all(), (
            "nothing stays locked"
        )


def test_who_waits_for_the_turn_of_another_thread_is_interrupted() -> None:
    turns = KeyedLocks()
    held, over = threading.Event(), threading.Event()

    def holder() -> None:
        with turns.hold("name"):
            held.set()
            over.wait(ENDS)

    thread = threading.Thread(target=holder)
    thread.start()
    held.wait(ENDS)

    def act() -> None:
        with operation(), turns.hold("name"):
            pass

    try:
        interrupt(lambda: time.sleep(0.05), act)
    finally:
        over.set()
        thread.join()
    with turns.hold("name", timeout=0) as mine:
        assert mine


def test_waiting_gives_what_happened() -> None:
    answers = iter(("", "", "came"))
    assert wait(lambda seconds: next(answers)) == "came"


def test_a_mailbox_keeps_what_was_not_run() -> None:
    mailbox = Mailbox()
    came: list[int] = []
    mailbox(lambda: came.append(1))
    mailbox(lambda: came.append(2))
    mailbox.run_until(lambda: len(came) == 2, timeout=ENDS)
    with pytest.raises(TimeoutError):
        mailbox.run_until(lambda: False, timeout=0.01)
    assert came == [1, 2]
