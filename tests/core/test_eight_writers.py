"""Eight processes write one document at the same moment: one succeeds in each round, and its value is stored.

For every kind in the table of stores that can be written: as eight threads with stores of their own, and as eight
programs wherever two programs can have one place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contracts.places import PLACES, WRITABLE, Services
from contracts.racing import Writers, writers
from zarrscope.errors import Conflict
from zarrscope.model.storage import ABSENT, Version
from zarrscope.stores.store import Store

Race = Callable[[list[bytes], Version], list[Version | None]]
"""Stores each value in place of that version, all at the same moment; returns the new versions, and None for a
conflict."""
OF_ONE_PROGRAM = {
    "memory": "lives in a process",
    "object": "lives in a process",
    "dbm": "compares and stores within one program alone, as remote.md says",
}
ROUNDS = 3


@pytest.fixture(scope="module")
def eight() -> Iterator[Writers]:
    with writers(8) as found:
        yield found


def _one_wins_each_round(store: Store, race: Race) -> None:
    version = store.set("n", b"0", ABSENT)
    for number in range(ROUNDS):
        values = [f"{number}-{writer}".encode() for writer in range(8)]
        told = race(values, version)
        won = [writer for writer in range(8) if told[writer] is not None]
        assert len(won) == 1
        found = store.get_versioned("n")
        assert found is not None
        assert found[0] == values[won[0]], "nothing is lost"
        assert found[1] == told[won[0]]
        version = found[1]


@pytest.mark.parametrize("kind", WRITABLE)
def test_of_eight_threads_one_wins_each_time(kind: str, services: Services, tmp_path: Path) -> None:
    with PLACES[kind](tmp_path, services, {}) as place, ThreadPoolExecutor(8) as pool:
        stores = [place.opened("a") for _ in range(8)]

        def race(values: list[bytes], version: Version) -> list[Version | None]:
            start = threading.Barrier(8)

            def attempt(store: Store, value: bytes) -> Version | None:
                start.wait(60)
                try:
                    return store.set("n", value, version)
                except Conflict:
                    return None

            return [*pool.map(attempt, stores, values)]

        _one_wins_each_round(stores[0], race)
        for store in stores:
            store.close()


@pytest.mark.parametrize("kind", [kind for kind in WRITABLE if kind not in OF_ONE_PROGRAM])
def test_of_eight_programs_one_wins_each_time(kind: str, services: Services, tmp_path: Path, eight: Writers) -> None:
    with PLACES[kind](tmp_path, services, {}) as place:
        if not place.address:
            pytest.skip(
                "no server is installed that programs could meet at: packaging/check --servers --system installs it"
            )
        store = place.opened("a")
        _one_wins_each_round(
            store, lambda values, version: eight.race(place.address, place.options, "n", values, version)
        )
        store.close()


def test_only_kinds_of_the_table_are_left_out() -> None:
    assert {*OF_ONE_PROGRAM} < {*WRITABLE}
