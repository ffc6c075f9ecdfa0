"""Several documents are saved as one: all of them, or none."""

from __future__ import annotations

from typing import Any

import pytest

import zarrscope
from zarrscope.errors import Conflict, ReadOnly, Unreadable, ZarrscopeError
from zarrscope.model.storage import Version
from zarrscope.nodes.hierarchy import Hierarchy
from zarrscope.nodes.save_together import DocumentEdit, dry_run_together, save_together
from zarrscope.stores.memory import MemoryStore

KEY = "zarr.json"


class Failing(MemoryStore):
    """Refuses writes after it was told to."""

    fails = False

    def set(self, key: str, value: bytes, expect: Version | None = None) -> Version:
        if self.fails:
            raise Unreadable("The disk is full", key=key)
        return super().set(key, value, expect)


def edits(stores: list[MemoryStore]) -> list[DocumentEdit]:
    found = []
    for store in stores:
        h = zarrscope.open(store, mode="r+")
        document = h.document("/")
        found.append(DocumentEdit(h, "/", document, document.set("/attributes/n", 2)))
    return found


@pytest.fixture
def stores() -> list[MemoryStore]:
    made: list[MemoryStore] = [MemoryStore(), MemoryStore(), Failing()]
    for store in made:
        zarrscope.open(store, mode="w-").root.attrs.put({"n": 1})
    return made


def numbers(stores: list[MemoryStore]) -> list[int]:
    return [zarrscope.open(store).root.attributes["n"] for store in stores]


def test_all_are_saved(stores: list[MemoryStore]) -> None:
    saved = save_together(edits(stores))
    assert numbers(stores) == [2, 2, 2]
    assert [document.get("/attributes/n") for document in saved] == [2, 2, 2]


def test_a_dry_run_writes_nothing_and_lists_the_operations(stores: list[MemoryStore]) -> None:
    told = dry_run_together(edits(stores))
    assert [[operation.key for operation in log] for _, log in told] == [[KEY]] * 3
    assert numbers(stores) == [1, 1, 1]


def test_when_the_last_fails_those_before_it_are_taken_back(stores: list[MemoryStore]) -> None:
    before = [store.get(KEY) for store in stores]
    wanted = edits(stores)
    stores[2].fails = True  # type: ignore[attr-defined]  # it is a Failing
    with pytest.raises(Unreadable, match="full"):
        save_together(wanted)
    assert [store.get(KEY) for store in stores] == before


def test_a_document_that_others_changed_stops_all(stores: list[MemoryStore]) -> None:
    wanted = edits(stores)
    zarrscope.open(stores[1], mode="r+").root.attrs["n"] = 7
    with pytest.raises(Conflict):
        save_together(wanted)
    assert numbers(stores) == [1, 7, 1]


def test_what_may_not_be_written_stops_all_before_the_first_write(stores: list[MemoryStore]) -> None:
    wanted = edits(stores[:2])
    h = zarrscope.open(stores[2])
    document = h.document("/")
    with pytest.raises(ReadOnly):
        save_together([*wanted, DocumentEdit(h, "/", document, document.set("/attributes/n", 2))])
    assert numbers(stores) == [1, 1, 1]


def test_what_cannot_be_taken_back_is_named(stores: list[MemoryStore], monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = edits(stores)
    stores[2].fails = True  # type: ignore[attr-defined]  # it is a Failing
    first, save = wanted[0].hierarchy, Hierarchy.save
    calls = []

    def once(self: Hierarchy, path: str, document: Any, **how: Any) -> Any:
        if self is first:  # not the store of the dry run
            calls.append(path)
            if len(calls) > 1:
                raise Unreadable("The disk went away")
        return save(self, path, document, **how)

    monkeypatch.setattr(Hierarchy, "save", once)
    with pytest.raises(ZarrscopeError, match="could not be restored") as told:
        save_together(wanted)
    assert first.url in str(told.value)
    assert numbers(stores) == [2, 1, 1]
