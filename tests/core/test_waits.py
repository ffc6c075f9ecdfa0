"""Jobs that read report the request they wait for, and end when they are stopped or cancelled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

import zarrscope
from contracts.http_server import WebServer, web_server
from zarrscope.errors import Unreadable
from zarrscope.nodes.array import Array
from zarrscope.nodes.hierarchy import Hierarchy
from zarrscope.runtime.threads import Background, JobResult, Mailbox
from zarrscope.runtime.waits import PendingRequest, asking, current_job, waiting
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.wrappers import FaultRule, Faults, Gate
from zarrscope.view.loader import ChunkLoader, ChunkResult, ChunkState

SECONDS = 30.0


@pytest.fixture
def server() -> Iterator[WebServer]:
    values: dict[str, bytes] = {}
    with zarrscope.open(values, "w-") as h:
        h.create_array("/a", shape=(4, 4), dtype="u1", chunks=(2, 2))[...] = 1
    with web_server(values) as found:
        yield found


@pytest.fixture
def background() -> Background:
    return Background(fetch_threads=1, decode_threads=1)


def until(happened: Callable[[], object], seconds: float = SECONDS) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.005)


def held(error: PendingRequest | None) -> Unreadable:
    return Unreadable(f"stopped, {error.key if error is not None else '?'}")


def test_a_job_names_the_request_and_the_place_that_do_not_answer(server: WebServer, background: Background) -> None:
    mailbox = Mailbox()
    owner = background.owner(mailbox)
    server.gate.clear()
    told: list[JobResult[Hierarchy]] = []
    ticket = owner.read(lambda: zarrscope.open(server.url), told.append)
    until(lambda: ticket.waiting is not None and ticket.waiting.key)
    assert ticket.waiting is not None
    assert (ticket.waiting.place, ticket.waiting.key) == (server.url, "zarr.json")
    assert ticket.waiting.since <= time.monotonic()
    assert owner.waits() == [ticket.waiting]
    assert owner.busy
    server.gate.set()
    mailbox.run_until(lambda: bool(told), SECONDS)
    assert told[0].error is None
    assert ticket.waiting is None
    assert not owner.busy
    owner.close()


@pytest.mark.parametrize("how", ["stop", "cancel"])
def test_the_thread_of_a_job_is_free_at_once(server: WebServer, background: Background, how: str) -> None:
    """The pool has one thread: the next job starts when the first one has ended, long before the time-out."""
    mailbox = Mailbox()
    owner = background.owner(mailbox)
    server.gate.clear()
    told: list[JobResult[Hierarchy]] = []
    ticket = owner.read(lambda: zarrscope.open(server.url), told.append)
    assert server.wait_held(1)
    if how == "stop":
        assert owner.stop(held)
    else:
        ticket.cancel()
    assert not owner.stop(held)
    ran = threading.Event()
    owner.fetch(ran.set, lambda _: None)
    assert ran.wait(SECONDS)
    assert server.wait_closed(1), "the request was cancelled, too"
    mailbox.run()
    assert [str(result.error) for result in told] == (["stopped, zarr.json."] if how == "stop" else [])
    owner.close()


def test_a_job_that_waits_for_a_thread_is_stopped_too(background: Background) -> None:
    mailbox = Mailbox()
    owner = background.owner(mailbox)
    gate = threading.Event()
    told: list[JobResult[bool]] = []
    owner.fetch(gate.wait, lambda _: None)
    owner.read(lambda: True, told.append)
    assert owner.stop(held)
    mailbox.run_until(lambda: bool(told), SECONDS)
    gate.set()
    assert isinstance(told[0].error, Unreadable)
    owner.close()


def test_what_may_change_data_is_not_stopped(background: Background) -> None:
    mailbox = Mailbox()
    owner = background.owner(mailbox)
    gate = threading.Event()
    told: list[JobResult[bool]] = []
    owner.fetch(gate.wait, told.append)
    assert not owner.stop(held)
    gate.set()
    mailbox.run_until(lambda: bool(told), SECONDS)
    assert told[0].value
    owner.close()


def test_what_another_job_fetches_is_fetched_again_when_that_one_is_stopped(server: WebServer) -> None:
    background, mailbox = Background(fetch_threads=2, decode_threads=1), Mailbox()
    owner, other = background.owner(mailbox), background.owner(mailbox)
    with zarrscope.open(server.url) as h:
        server.gate.clear()
        first: list[JobResult[object]] = []
        second: list[JobResult[object]] = []
        owner.read(lambda: h["/a"].path, first.append)
        assert server.wait_held(1)
        waits = other.read(lambda: h["/a"].path, second.append)
        until(lambda: waits.waiting is not None)
        assert owner.stop(held)
        server.gate.set()
        mailbox.run_until(lambda: bool(first and second), SECONDS)
    assert isinstance(first[0].error, Unreadable)
    assert second[0].value == "/a"
    owner.close()
    other.close()


def test_chunks_that_are_given_up_have_failed_and_can_be_requested_again(server: WebServer) -> None:
    background, mailbox = Background(fetch_threads=2, decode_threads=1), Mailbox()
    owner, loader = background.owner(mailbox), ChunkLoader(background)
    with zarrscope.open(server.url) as h:
        array = h["/a"]
        assert isinstance(array, Array)
        server.gate.clear()
        told: list[ChunkResult] = []
        ended: list[bool] = []
        ticket = loader.request(owner, array, [(0, 0), (0, 1)], told.append, lambda: ended.append(True))
        assert server.wait_held(2)
        assert ticket.waiting is not None
        assert ticket.waiting.key in ("a/c/0/0", "a/c/0/1")
        assert owner.stop(held)
        mailbox.run_until(lambda: bool(ended), SECONDS)
        assert [result.state for result in told] == [ChunkState.FAILED] * 2
        assert {str(result.error) for result in told} <= {"stopped, a/c/0/0.", "stopped, a/c/0/1."}
        assert server.wait_closed(2)
        server.gate.set()
        again: list[ChunkResult] = []
        loader.request(owner, array, [(0, 0)], again.append)
        mailbox.run_until(lambda: bool(again), SECONDS)
        assert again[0].state is ChunkState.PRESENT
    owner.close()


def _gets(wanted: str, operation: str, key: str) -> bool:
    return (operation, key) == ("get", wanted)


@pytest.mark.parametrize(
    ("asks", "failures", "states", "fetches"),
    [
        ("again", 1, [ChunkState.PRESENT] * 2, 4),
        ("after the first was cancelled", 1, [ChunkState.PRESENT] * 2, 4),
        ("again", 2, [ChunkState.FAILED] * 2, 4),
        ("for the same picture", 1, [ChunkState.FAILED] * 2, 2),
    ],
)
def test_another_attempt_does_not_get_the_failure_of_the_fetch_before(
    asks: str, failures: int, states: list[ChunkState], fetches: int
) -> None:
    """A moved picture, however, gets it at once: it asks for no other attempt."""
    values = MemoryStore()
    zarrscope.open(values, "w-").create_array("/a", shape=(4, 4), dtype="u1", chunks=(2, 2))[...] = 1
    faults = [FaultRule(matches=partial(_gets, key), times=failures) for key in ("a/c/0/0", "a/c/0/1")]
    gate = Gate(Faults(values, *faults), _of_chunks)
    background, mailbox = Background(fetch_threads=2, decode_threads=1), Mailbox()
    owner, loader = background.owner(mailbox), ChunkLoader(background)
    array = zarrscope.open(gate)["/a"]
    assert isinstance(array, Array)
    told: list[ChunkResult] = []
    ended: list[bool] = []
    chunks = [(0, 0), (0, 1)]
    first = loader.request(owner, array, chunks, lambda _: None)
    assert gate.waiting(2)
    if asks == "after the first was cancelled":
        first.cancel()
    loader.request(owner, array, chunks, told.append, lambda: ended.append(True), again=asks == "again")
    first.cancel()
    gate.release()
    mailbox.run_until(lambda: bool(ended), SECONDS)
    assert [result.state for result in told] == states
    assert len(gate.arrived) == fetches
    owner.close()


def _of_chunks(operation: str, key: str) -> bool:
    return operation == "get" and "/c/" in key


def test_threads_without_a_job_name_nothing() -> None:
    with asking("http://x", "key"), waiting():
        assert current_job() is None
