"""Documents of a remote store are fetched once for all users of a hierarchy, and again when it is opened again."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import zarrscope
from zarrscope.errors import Unreadable
from zarrscope.nodes.document_cache import DocumentCache
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store
from zarrscope.stores.wrappers import Counting, FaultRule, Faults, Gate


class Distant(Counting):
    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.remote = True


def test_each_is_asked_for_once_absence_included() -> None:
    store = Counting(MemoryStore({"a": b"1", "b": b"2"}))
    known = DocumentCache(store, {"a": b"0"}, ["a", "x"])
    assert known.answers(["a", "b", "no", "x"]) == {"a": b"0", "b": b"2", "no": None, "x": None}
    assert known.answers(["no", "b", "b"]) == {"no": None, "b": b"2"}
    assert store.keys == {("get", "b"): 1, ("get", "no"): 1}


def test_two_who_want_the_same_wait_for_one_request() -> None:
    gate = Gate(MemoryStore({"a": b"1", "b": b"2", "c": b"3"}))
    known = DocumentCache(gate, {}, [])
    found: list[Any] = []
    first = threading.Thread(target=lambda: found.append(known.answers(["a", "b"])), name="first")
    first.start()
    assert gate.waiting(1)
    second = threading.Thread(target=lambda: found.append(known.answers(["b", "a"])), name="second")
    second.start()
    assert known.answers([]) == {}
    gate.release()
    for thread in (first, second):
        thread.join(20)
    assert found == [{"a": b"1", "b": b"2"}] * 2
    assert sorted(gate.arrived) == ["a", "b"]


def test_a_failure_is_told_and_not_kept() -> None:
    store = Faults(MemoryStore({"a": b"1", "b": b"2"}), FaultRule(matches=lambda _, key: key == "a", times=1))
    known = DocumentCache(store, {}, [])
    answers = known.answers(["a", "b"])
    assert isinstance(answers["a"], Unreadable)
    assert answers["b"] == b"2"
    assert known.answers(["a"]) == {"a": b"1"}


def test_what_was_cancelled_is_not_taken_for_absent() -> None:
    known = DocumentCache(MemoryStore({"a": b"1"}), {}, [])
    assert known.answers(["a"], cancelled=lambda: True) == {}
    assert known.answers(["a"]) == {"a": b"1"}


def test_it_holds_no_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zarrscope.nodes.document_cache.MOST_BYTES", 3000)
    store = Counting(MemoryStore({str(i): bytes(1000) for i in range(10)}))
    known = DocumentCache(store, {}, [])
    keys = [str(i) for i in range(10)]
    assert known.answers(keys).keys() == set(keys)
    store.reset()
    known.answers(["9"])
    assert store.requests.total() == 0
    known.answers(["0"])
    assert store.requests.total() == 1


@pytest.mark.parametrize("mode", ["r", "r+"])
def test_a_hierarchy_that_only_reads_asks_once_and_one_opened_anew_again(mode: Any) -> None:
    memory = MemoryStore()
    zarrscope.open(memory, "w-").create_group("/g", {"n": 1})
    store = Distant(memory)
    hierarchy = zarrscope.open(store, mode)
    for _ in range(3):
        assert hierarchy["/g"].attributes == {"n": 1}
    assert store.keys["get", "g/zarr.json"] == (1 if mode == "r" else 3)
    other = zarrscope.open(memory, "r+")
    other.save("/g", other.document("/g").set("/attributes/n", 2))
    assert hierarchy["/g"].attributes == {"n": 1 if mode == "r" else 2}
    hierarchy._nodes.forget()
    assert hierarchy["/g"].attributes == {"n": 2}
    assert zarrscope.open(store)["/g"].attributes == {"n": 2}


def test_several_nodes_are_fetched_side_by_side() -> None:
    memory = MemoryStore()
    made = zarrscope.open(memory, "w-")
    for name in "abc":
        made.create_group(f"/{name}")
    store = Distant(memory)
    hierarchy = zarrscope.open(store)
    store.reset()
    hierarchy._nodes.prefetch(["/a", "b", "c", "../out", "missing"])
    assert store.requests == {"get": 4}
    for name in "abc":
        assert hierarchy[name].kind == "group"
    with pytest.raises(zarrscope.NotFound):
        hierarchy["missing"]
    assert store.keys["get", "missing/zarr.json"] == 1
