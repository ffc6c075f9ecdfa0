"""The queue in which a thread waits for answers: nothing is lost, neither an answer nor a signal."""

from __future__ import annotations

import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from zarrscope.runtime.answers import AnswerQueue

TIMERS = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers that send signals are POSIX")


def test_answers_come_in_order_and_none_is_lost() -> None:
    answers: AnswerQueue[tuple[int, int]] = AnswerQueue()

    def put(thread: int) -> None:
        for number in range(2000):
            answers.put((thread, number))

    threads = [threading.Thread(target=put, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    taken = [answers.get(timeout=60.0) for _ in range(8000)]
    for thread in threads:
        thread.join()
    assert answers.empty()
    for number in range(4):
        assert [at for thread, at in taken if thread == number] == [*range(2000)]


def test_no_answer_is_said_after_the_time() -> None:
    answers: AnswerQueue[int] = AnswerQueue()
    began = time.monotonic()
    with pytest.raises(queue.Empty):
        answers.get(timeout=0.05)
    assert time.monotonic() - began >= 0.05
    with pytest.raises(queue.Empty):
        answers.get(timeout=-1.0)
    answers.put(1)
    answers.put(2)
    assert [answers.get(timeout=0.0), answers.get(timeout=0.0)] == [1, 2]
    with pytest.raises(queue.Empty):  # the lock was released for an answer that was taken without a wait
        answers.get(timeout=0.05)


_SIGNALLED = """
import queue, signal, sys, time
from zarrscope.runtime.answers import AnswerQueue

answers = AnswerQueue()

def handler(number, frame):
    time.sleep(0.1)  # until after the end of the wait
    if sys.argv[1] == "answers":
        answers.put("from the handler")

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    print(answers.get(timeout=0.1))
except queue.Empty:
    print("nothing")
"""


@TIMERS
@pytest.mark.parametrize(("handler", "expected"), [("answers", "from the handler"), ("only waits", "nothing")])
def test_a_signal_as_the_time_ends_does_not_make_the_wait_endless(handler: str, expected: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SIGNALLED, handler], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == expected


@TIMERS
def test_a_handler_may_put_while_the_thread_puts() -> None:
    answers: AnswerQueue[str] = AnswerQueue()
    stop = threading.Event()
    former = signal.signal(signal.SIGALRM, lambda *_: answers.put("handler"))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    taken: list[str] = []

    def take() -> None:
        while not stop.is_set() or not answers.empty():
            try:
                taken.append(answers.get(timeout=0.05))
            except queue.Empty:
                continue

    taker = threading.Thread(target=take)
    taker.start()
    try:
        put = 0
        while taken.count("handler") < 20 and put < 1_000_000:
            answers.put("thread")
            put += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
        stop.set()
        taker.join(timeout=60)
    assert not taker.is_alive()
    assert taken.count("thread") == put
    assert taken.count("handler") >= 20


def test_no_module_waits_for_a_time_at_the_queue_that_may_wait_for_ever() -> None:
    root = Path(__file__).parents[2]
    found = [
        path.relative_to(root).as_posix()
        for part in ("core", "app")
        for path in (root / part).rglob("*.py")
        if "SimpleQueue()" in (text := path.read_text(encoding="utf-8")) and ".get(timeout" in text
    ]
    assert found == []
