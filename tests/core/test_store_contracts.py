"""The store contract for databases and for stores on other machines, each made by its example (contracts/places.py)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager

import pytest

from contracts.places import DATABASES, PLACES, SERVICES, WRITABLE, Place, Services
from contracts.store import Reading, Writing
from zarrscope.stores.registry import STORES
from zarrscope.stores.store import Store

ELSEWHERE = {"http": "test_stores", "s3": "test_object_store", "gs": "test_object_store", "abfs": "test_object_store"}
"""Kinds whose contract runs in another file, because the tests there vary their servers."""
HERE = [name for name in (*DATABASES, *SERVICES) if name not in ELSEWHERE]


@pytest.fixture(scope="module")
def place(
    request: pytest.FixtureRequest, services: Services, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """One place for all tests of a kind, with one store that stays open; otherwise each test would log in."""
    make: AbstractContextManager[Place] = PLACES[request.param](tmp_path_factory.mktemp("place"), services, {})
    with make as found:
        held = found.opened()
        held.get("no")  # connects
        yield found
        held.close()


class OfThePlace(Writing):
    @pytest.fixture(autouse=True)
    def _place(self, place: Place) -> Iterator[None]:
        self.place = place
        self.opened: list[Store] = []
        yield
        for store in self.opened:
            store.close()

    def empty(self) -> Store:
        store = self.place.opened("a")
        self.opened.append(store)
        store.erase_prefix("")
        return store


@pytest.mark.parametrize("place", [name for name in HERE if name in WRITABLE], indirect=True, scope="module")
class TestWritable(OfThePlace):
    pass


READ_ONLY = [name for name in HERE if name not in WRITABLE]
if READ_ONLY:

    @pytest.mark.parametrize("place", READ_ONLY, indirect=True, scope="module")
    class TestReadable(Reading):
        @pytest.fixture(autouse=True)
        def _place(self, place: Place) -> None:
            self.place = place

        def filled(self, values: Mapping[str, bytes]) -> Store:
            self.place.rewrite(values)
            return self.place.opened("r")


def test_a_kind_with_a_contract_elsewhere_is_in_the_table() -> None:
    assert {*ELSEWHERE} <= {*STORES}
