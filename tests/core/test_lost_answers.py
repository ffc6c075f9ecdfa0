"""Puts to a bucket whose answer is lost: each is stored once, and a value of another program is never taken for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contracts.places import PLACES, Place, Services
from zarrscope.errors import Conflict, Unreadable
from zarrscope.model.storage import ABSENT
from zarrscope.stores.object_store import ObjectStore


@pytest.fixture(params=["s3", "gs", "abfs"])
def place(request: pytest.FixtureRequest, services: Services, tmp_path: Path) -> Iterator[Place]:
    with PLACES[request.param](tmp_path, services, {}) as found:
        yield found


def opened(place: Place) -> ObjectStore:
    """A store of another program."""
    store = place.opened("a")
    assert isinstance(store, ObjectStore)
    return store


def lose_puts(store: ObjectStore, seen: Sequence[bool | None], *before: Callable[[], object]) -> None:
    """Makes the next puts of a store fail, as if their connection broke: after the service has `seen` them, or before
    (False). None: the put does not fail. `before`: run before each of them."""
    real, todo, first = store._obstore, [*seen], [*before]

    class Losing:
        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

        async def put_async(self, *told: Any, **options: Any) -> Any:
            if first:
                await asyncio.get_running_loop().run_in_executor(None, first.pop(0))  # it needs this loop itself
            lost = todo.pop(0) if todo else None
            answer = await real.put_async(*told, **options) if lost is not False else None
            if lost is not None:
                raise OSError("the answer was lost")
            return answer

    lossy: Any = Losing()
    store._obstore = lossy
    store.network = replace(store.network, pause=0.0)


@pytest.mark.parametrize("seen", [True, False])
def test_a_set_whose_answer_is_lost_is_stored_once(place: Place, seen: bool) -> None:
    store = opened(place)
    version = store.set("n", b"1")
    lose_puts(store, [seen])
    after = store.set("n", b"2", version)
    assert store.get_versioned("n") == (b"2", after)
    with pytest.raises(Conflict):
        store.set("n", b"3", version)
    lose_puts(store, [seen])
    made = store.set("m", b"2", ABSENT)
    assert store.get_versioned("m") == (b"2", made)


def test_an_equal_value_of_another_writer_is_not_taken_for_the_own(place: Place) -> None:
    """Two programs count: both store 1 in place of 0. One request never arrives, but its writer finds a 1."""
    store = opened(place)
    version = store.set("n", b"0")
    lose_puts(store, [False], lambda: opened(place).set("n", b"1", version))
    with pytest.raises(Unreadable, match="lost") as caught:
        store.set("n", b"1", version)
    assert "not known whether this value was stored" in (caught.value.advice or "")
    with pytest.raises(Conflict):
        store.set("n", b"1", version)


def test_a_repeated_set_that_finds_another_value_is_a_conflict(place: Place) -> None:
    """The answer is lost, the value is not there yet: the request is repeated, and another writer was first."""
    store = opened(place)
    version = store.set("n", b"0")

    def other() -> None:
        opened(place).set("n", b"1", version)

    lose_puts(store, [False, None], lambda: None, other)
    with pytest.raises(Conflict) as caught:
        store.set("n", b"1", version)
    assert caught.value.theirs == b"1"


def test_a_set_that_never_arrives_is_an_error(place: Place) -> None:
    store = opened(place)
    version = store.set("n", b"1")
    lose_puts(store, [False] * store.network.attempts)
    with pytest.raises(Unreadable, match="lost"):
        store.set("n", b"2", version)
    assert store.get_versioned("n") == (b"1", version)


def test_of_many_puts_those_that_fail_are_sent_again(place: Place) -> None:
    store = opened(place)
    store.set("n", b"1")
    lose_puts(store, [None, True, False, None, False])
    with store.bulk.puts() as puts:
        for i in range(20):
            puts.put(f"c/{i}", [b"%d" % i])
    assert dict(store.get_many([(f"c/{i}", None) for i in range(20)])) == {i: b"%d" % i for i in range(20)}
    lose_puts(store, [False] * 5 * store.network.attempts)
    with pytest.raises(Unreadable, match="lost") as caught, store.bulk.puts() as puts:
        puts.put("d", [b"1"])
    assert caught.value.key == "d"
