"""The two laws of Background (runtime/threads.py), and that jobs are dropped, prioritised and isolated from errors.
No test sleeps: they wait at gates.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from zarrscope.runtime import cpu as cores_module
from zarrscope.runtime.cpu import cores
from zarrscope.runtime.threads import Background, JobResult, Mailbox, Priority, shared


def test_callbacks_run_on_the_owners_thread_only() -> None:
    mailbox = Mailbox()
    owner = Background(4, 2).owner(mailbox)
    threads: list[threading.Thread] = []
    values: list[int] = []

    def done(outcome: JobResult[int]) -> None:
        threads.append(threading.current_thread())
        values.append(outcome.get())

    for i in range(20):
        (owner.fetch if i % 2 else owner.decode)(lambda i=i: i, done)
    mailbox.run_until(lambda: len(values) == 20)
    assert set(threads) == {threading.current_thread()}
    assert sorted(values) == list(range(20))


def test_a_cancelled_ticket_never_calls_back_even_when_its_result_is_already_posted() -> None:
    mailbox = Mailbox()
    owner = Background(1, 1).owner(mailbox)
    called: list[str] = []
    ran = threading.Event()
    first = owner.decode(ran.set, lambda outcome: called.append("cancelled one"))
    assert ran.wait(10)
    second = owner.decode(lambda: None, lambda outcome: called.append("other"))
    first.cancel()
    mailbox.run_until(lambda: second.finished)
    assert called == ["other"]
    assert first.cancelled
    assert not first.finished


def test_a_later_call_is_made_on_the_owners_thread_unless_it_is_cancelled_or_the_owner_closed() -> None:
    mailbox = Mailbox()
    owner, other = Background(1, 1).owner(mailbox), Background(1, 1).owner(mailbox)
    called: list[object] = []
    cancelled = owner.later(0.01, lambda: called.append("cancelled"))
    other.later(0.01, lambda: called.append("closed"))
    ticket = owner.later(0.05, lambda: called.append(threading.current_thread()))
    cancelled.cancel()
    other.close()
    assert not called, "it waits elsewhere"
    mailbox.run_until(lambda: ticket.finished)
    assert called == [threading.current_thread()]
    assert other.later(0.0, lambda: called.append("closed")).cancelled


def test_a_call_that_was_posted_is_not_made_once_it_is_cancelled() -> None:
    mailbox = Mailbox()
    posted = threading.Event()

    def post(call: Callable[[], None]) -> None:
        mailbox(call)
        posted.set()

    called: list[str] = []
    ticket = Background(1, 1).owner(post).later(0.0, lambda: called.append("late"))
    assert posted.wait(10)
    ticket.cancel()
    mailbox.run()
    assert not called
    assert not ticket.finished


def test_cancelled_before_it_began_never_runs_and_running_work_is_told() -> None:
    mailbox = Mailbox()
    background = Background(1, 1)
    owner = background.owner(mailbox)
    begun, go_on, saw = threading.Event(), threading.Event(), []
    ran: list[str] = []

    def long(cancelled: Callable[[], bool]) -> None:
        begun.set()
        assert go_on.wait(10)
        saw.append(cancelled())

    running = owner.fetch(long, lambda outcome: ran.append("callback"))
    queued = owner.fetch(lambda: ran.append("queued"), lambda outcome: ran.append("callback"))
    assert begun.wait(10)
    running.cancel()
    queued.cancel()
    go_on.set()
    last = owner.fetch(lambda: None, lambda outcome: None)
    mailbox.run_until(lambda: last.finished)
    assert saw == [True]
    assert ran == []


def test_what_is_visible_goes_before_what_is_nearby() -> None:
    mailbox = Mailbox()
    owner = Background(1, 1).owner(mailbox)
    gate, begun = threading.Event(), threading.Event()
    order: list[int] = []

    def hold() -> None:
        begun.set()
        assert gate.wait(10)

    owner.decode(hold, lambda outcome: None)
    assert begun.wait(10)
    wanted = [
        (Priority.IDLE, 3),
        (Priority.NEARBY, 2),
        (Priority.VISIBLE, 0),
        (Priority.VISIBLE, 1),
    ]
    tickets = [owner.decode(lambda n=n: order.append(n), lambda outcome: None, priority) for priority, n in wanted]
    gate.set()
    mailbox.run_until(lambda: all(ticket.finished for ticket in tickets))
    assert order == [0, 1, 2, 3]


def test_an_error_comes_as_an_outcome_and_a_failing_callback_kills_nothing() -> None:
    mailbox = Mailbox()
    background = Background(1, 1)
    owner = background.owner(mailbox)
    outcomes: list[JobResult[None]] = []

    def fail() -> None:
        raise ValueError("no")

    def done(outcome: JobResult[None]) -> None:
        outcomes.append(outcome)
        raise RuntimeError("the callback fails too")

    owner.decode(fail, done)
    owner.decode(fail, done)
    mailbox.run_until(lambda: len(outcomes) == 2)
    with pytest.raises(ValueError, match="no"):
        outcomes[0].get()
    inline = background.owner(lambda call: call())  # the callback fails inside the worker
    inline.decode(fail, done)
    after = owner.decode(lambda: 5, lambda outcome: None)
    mailbox.run_until(lambda: after.finished)


def test_closing_an_owner_drops_everything_and_leaves_others_alone() -> None:
    mailbox = Mailbox()
    background = Background(1, 1)
    one, other = background.owner(mailbox), background.owner(mailbox)
    gate, begun = threading.Event(), threading.Event()
    called: list[str] = []

    def hold() -> None:
        begun.set()
        assert gate.wait(10)

    one.decode(hold, lambda outcome: called.append("one"))
    one.decode(lambda: called.append("ran"), lambda outcome: called.append("one"))
    kept = other.decode(lambda: None, lambda outcome: called.append("other"))
    assert begun.wait(10)
    one.close()
    gate.set()
    mailbox.run_until(lambda: kept.finished)
    assert called == ["other"]
    assert one.decode(lambda: called.append("late"), lambda outcome: None).cancelled


def test_sharing_does_every_item_once() -> None:
    done: list[int] = []
    Background(1, 3).share(range(1000), done.append)
    assert sorted(done) == list(range(1000))


def test_helpers_really_share_the_items() -> None:
    background = Background(1, 2)
    both = threading.Barrier(2, timeout=10)
    background.share(range(2), lambda item: both.wait())  # passes only when two threads hold an item at once


def test_sharing_inside_shared_work_on_a_busy_pool_does_not_deadlock() -> None:
    background = Background(1, 2)
    done: list[tuple[int, int]] = []
    background.share(range(8), lambda a: background.share(range(8), lambda b: done.append((a, b))))
    assert sorted(done) == [(a, b) for a in range(8) for b in range(8)]

    gate = threading.Event()
    owner = background.owner(Mailbox())
    for _ in range(2):
        owner.decode(gate.wait, lambda outcome: None)
    # no helper is free: the calling thread does everything
    background.share(range(4), lambda item: done.append((99, item)))
    gate.set()
    assert [(99, i) for i in range(4)] == done[-4:]


@pytest.mark.parametrize("place", ["work", "items"])
def test_the_first_error_stops_sharing_and_is_raised_here(place: str) -> None:
    def items() -> Iterator[int]:
        yield from range(3)
        if place == "items":
            raise ValueError("broken source")
        yield from range(10_000)

    done: list[int] = []

    def work(item: int) -> None:
        done.append(item)
        if place == "work" and len(done) == 3:
            raise ValueError("broken work")

    with pytest.raises(ValueError, match="broken"):
        Background(1, 2).share(items(), work)
    assert len(done) < 100


def test_threads_start_when_needed_and_end_when_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zarrscope.runtime.pool.IDLE_SECONDS", 0.01)
    background = Background(8, 2)
    assert background.fetch_pool.threads == background.decode_pool.threads == 0
    mailbox = Mailbox()
    owner = background.owner(mailbox)
    names: list[str] = []
    thread: list[threading.Thread] = []

    def work() -> None:
        thread.append(threading.current_thread())
        names.append(thread[0].name)

    ticket = owner.fetch(work, lambda outcome: None)
    mailbox.run_until(lambda: ticket.finished)
    assert names[0].startswith("zarrscope-fetch-")
    assert thread[0].daemon
    thread[0].join(10)
    assert not thread[0].is_alive()
    again = owner.fetch(work, lambda outcome: None)
    mailbox.run_until(lambda: again.finished)


def test_without_threads_work_is_done_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    background = Background(2, 2)
    mailbox = Mailbox()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    ticket = background.owner(mailbox).decode(lambda: 7, lambda outcome: None)
    done: list[int] = []
    background.share(range(5), done.append)
    mailbox.run_until(lambda: ticket.finished)
    assert sorted(done) == list(range(5))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_the_child_of_a_fork_starts_afresh() -> None:
    done: list[int] = []
    shared().share(range(8), done.append)
    child = os.fork()
    if child == 0:  # pragma: no cover - the child is another process
        status = 1
        try:
            mailbox = Mailbox()
            ticket = shared().owner(mailbox).fetch(lambda: 1, lambda outcome: None)
            mailbox.run_until(lambda: ticket.finished, timeout=20)
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_cores_counts_what_this_process_may_use() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("files", "expected", "threads"),
    [
        ({"self": "0::/a/b\n", "a/cpu.max": "150000 100000\n", "a/b/cpu.max": "max 100000\n"}, [1.5], 2),
        ({"self": "0::/\n", "cpu.max": "400000 100000\n"}, [4.0], 4),
        ({"self": "0::/../outside\n", "cpu.max": "max 100000\n"}, [], 64),
        (
            {
                "self": "4:memory:/x\n3:cpu,cpuacct:/x\n1:name=systemd:/x\n",
                "cpu,cpuacct/x/cpu.cfs_quota_us": "50000\n",
                "cpu,cpuacct/x/cpu.cfs_period_us": "100000\n",
                "cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
                "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            },
            [0.5],
            1,
        ),
        ({"self": "0::/a\n", "a/cpu.max": "rubbish"}, [], 64),
        ({}, [], 64),
    ],
)
def test_the_quota_of_a_container_limits_the_cores(
    files: dict[str, str], expected: list[float], threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert list(cores_module._quotas(str(tmp_path), str(tmp_path / "self"))) == expected
    monkeypatch.setattr(cores_module, "CONTROLS", str(tmp_path))
    monkeypatch.setattr(cores_module, "MEMBERSHIP", str(tmp_path / "self"))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    assert cores() == threads


_AT_EXIT = """
import atexit, threading, time
from zarrscope.runtime import pool
from zarrscope.runtime.threads import Mailbox, shared

def after() -> None:
    print([each.name for each in threading.enumerate() if each.name.startswith("zarrscope")])
    owner.fetch(lambda: print("in place"), print)

atexit.register(after)
mailbox = Mailbox()
owner = shared().owner(mailbox)
begun = threading.Event()
"""


def test_no_thread_of_a_pool_outlives_the_end_of_the_process() -> None:
    code = """
pool.END_SECONDS = 30.0  # on a busy machine the jobs take longer than the usual limit
work = pool.ThreadPool._work

def work_and_linger(self: pool.ThreadPool) -> None:
    work(self)
    time.sleep(0.1)  # as a thread that is not given the processor for its last lines

pool.ThreadPool._work = work_and_linger
owner.fetch(lambda: (begun.set(), time.sleep(0.2)), print)
for _ in range(1000):
    owner.fetch(lambda: time.sleep(0.2), print)
begun.wait()
"""
    ended = subprocess.run([sys.executable, "-c", _AT_EXIT + code], capture_output=True, text=True, timeout=60)
    assert ended.stdout == "[]\nin place\n", ended.stderr


def test_a_job_after_the_end_runs_in_place_even_if_a_thread_did_not_end_in_time() -> None:
    code = """
pool.END_SECONDS = 0.0
owner.fetch(lambda: (begun.set(), time.sleep(600)), print)
begun.wait()
"""
    ended = subprocess.run([sys.executable, "-c", _AT_EXIT + code], capture_output=True, text=True, timeout=60)
    assert ended.stdout == "['zarrscope-fetch-1']\nin place\n", ended.stderr
