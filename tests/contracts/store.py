"""Promises of every store, wrapper and transformer (core/zarrscope/stores/store.py). Subclass, give `store`, and run.

`Reading` needs `filled(values) -> Store` only; `Writing` adds `empty() -> Store` and a state machine against a dict.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from machine import platform
from narrowing import not_none
from zarrscope.errors import Conflict, ReadOnly, Refused, Unreadable, Unsupported
from zarrscope.model.buffers import Arena
from zarrscope.model.storage import ABSENT, ByteRange, Entry, Version
from zarrscope.stores.store import Store

VALUES: Mapping[str, bytes] = {
    "zarr.json": b'{"zarr_format":3}',
    "a/b": b"0123456789",
    "a/c": b"",
    "a/d/e": b"deep",
    "a/f/g": bytes(range(256)) * 300,
    "ab/c": b"another",
    "a b/ü/日本.json": "größe".encode(),
    "100%/x#y?z&w=1+2" if platform() != "win32" else "100%/x#y&w=1+2": b"odd",  # Windows has no ? in names
}
BAD_KEYS = ["", "/", "/a", "a/", "a//b", "..", "../a", "a/../../b", "./a", "a/.", "a\0b", "x" * 4097, "/etc/passwd"]


class Reading:
    """A store that holds VALUES."""

    def filled(self, values: Mapping[str, bytes]) -> Store:
        raise NotImplementedError

    @pytest.fixture
    def store(self, request: pytest.FixtureRequest) -> Any:
        store = self.filled(VALUES)
        yield store
        store.close()

    def test_values_are_what_was_stored(self, store: Store) -> None:
        assert {key: store.get(key) for key in VALUES} == VALUES

    @pytest.mark.parametrize("key", ["no", "a/no", "no/no/no", "a", "a/d", "a/b/c", "zarr.json/x", "A/B.json"])
    def test_absence_is_none(self, store: Store, key: str) -> None:
        assert store.get(key) is None
        assert store.get(key, ByteRange(0, 1)) is None
        assert store.get(key, ByteRange(0, 0)) is None
        assert store.get(key, ByteRange.last(1)) is None
        assert store.get_versioned(key) is None

    @pytest.mark.parametrize(
        "part",
        [
            ByteRange(0, None), ByteRange(3, None), ByteRange(3, 4), ByteRange(8, 100), ByteRange(10, 1),
            ByteRange(1000, 5), ByteRange(1000, None), ByteRange(0, 0), ByteRange(4, 0), ByteRange.last(3),
            ByteRange.last(10), ByteRange.last(1000), ByteRange.last(0),
        ],
        ids=str,
    )  # fmt: skip
    @pytest.mark.parametrize("key", ["a/b", "a/c", "a/f/g"])
    def test_ranges_are_clipped_slices(self, store: Store, key: str, part: ByteRange) -> None:
        assert store.get(key, part) == part.of(VALUES[key])

    def test_no_more_is_read_than_can_be_used(self, store: Store) -> None:
        size = len(VALUES["a/f/g"])
        for limit in (size, size + 1):
            assert store.get("a/f/g", limit=limit) == VALUES["a/f/g"]
            assert store.get_versioned("a/f/g", limit) == store.get_versioned("a/f/g")
        assert store.get("no", limit=0) is None
        assert store.get("a/c", limit=0) == b""
        assert store.get("a/f/g", ByteRange(5, 10), limit=10) == VALUES["a/f/g"][5:15]
        assert store.get("a/f/g", ByteRange.last(7), limit=10) == VALUES["a/f/g"][-7:]
        for read in (
            lambda limit: store.get("a/f/g", limit=limit),
            lambda limit: store.get_versioned("a/f/g", limit),
            lambda limit: store.get("a/f/g", ByteRange(1, None), limit=limit),
        ):
            for limit in (0, 10, size - 2):
                with pytest.raises(Unreadable, match=f"limit of {limit:,} bytes") as caught:
                    read(limit)
                assert (caught.value.store, caught.value.key) == (store.url, "a/f/g")
        answers = dict(
            store.get_many([("a/b", None), ("a/f/g", None), ("no", None), ("a/f/g", ByteRange(0, 3))], limit=10)
        )
        assert (answers[0], answers[2], answers[3]) == (VALUES["a/b"], None, VALUES["a/f/g"][:3])
        assert isinstance(answers[1], Unreadable)
        assert answers[1].key == "a/f/g"

    def test_readers_and_surveys_read_no_more_than_can_be_used(self, store: Store) -> None:
        reader = store.bulk.reader(Arena(), 10)
        reader.seek("a/f/g")
        for ask in (reader.whole, lambda: reader.part(ByteRange(0, 11)), lambda: reader.part(ByteRange(3, None))):
            with pytest.raises(Unreadable, match="limit of 10 bytes"):
                ask()
        assert bytes(reader.part(ByteRange(0, 10)) or b"") == VALUES["a/f/g"][:10]
        reader.seek("a/b")
        assert bytes(reader.whole() or b"") == VALUES["a/b"]
        reader.close()
        if store.listable:
            found = {each.name: each for each in store.bulk.scan_children("a/", ("g", "e"), read=True, limit=10)}
            assert found["d"].value == VALUES["a/d/e"]
            assert isinstance(found["f"].value, Unreadable)
            children = store.bulk.scan_children("a/", ("g", "e"), read=False, limit=10)
            assert {each.name: each.document for each in children} == {"d": "e", "f": "g"}

    def test_partial_values_come_in_order_and_keys_may_repeat(self, store: Store) -> None:
        requests = [("a/b", ByteRange(5, 2)), ("no", None), ("a/b", None), ("a/b", ByteRange.last(1)), ("a/c", None)]
        assert store.get_partial_values(requests) == [b"56", None, b"0123456789", b"9", b""]
        assert store.get_partial_values([]) == []

    def test_many_answers_each_once(self, store: Store) -> None:
        keys = [*VALUES, "no"] * 20
        answers = list(store.get_many([(key, None) for key in keys]))
        assert sorted(i for i, _ in answers) == list(range(len(keys)))
        assert all(answer == VALUES.get(keys[i]) for i, answer in answers)

    def test_views_have_the_bytes_and_the_limits_of_many_answers(self, store: Store) -> None:
        requests = [("a/b", None), ("a/f/g", None), ("no", None), ("a/f/g", ByteRange(0, 3)), ("a/c", None)]
        views = dict(store.bulk.get_views(requests, limit=10))
        found = {i: bytes(view) for i, view in views.items() if isinstance(view, bytes | memoryview)}
        assert found == {0: VALUES["a/b"], 3: VALUES["a/f/g"][:3], 4: b""}
        assert views[2] is None
        assert isinstance(views[1], Unreadable)
        assert views[1].key == "a/f/g"
        assert list(store.bulk.get_views([("a/b", None)], lambda: True)) == []
        with pytest.raises(Refused):
            list(store.bulk.get_views([("../b", None)]))

    def test_many_ends_early_when_cancelled(self, store: Store) -> None:
        stop = threading.Event()
        answers = []
        for answer in store.get_many([("a/b", None)] * 200, stop.is_set):
            answers.append(answer)
            stop.set()
        assert 1 <= len(answers) < 200
        assert list(store.get_many([("a/b", None)], lambda: True)) == []

    def test_many_may_be_left(self, store: Store) -> None:
        for _ in store.get_many([("a/b", None)] * 200):
            break
        assert store.get("a/b") == VALUES["a/b"]

    def test_version_belongs_to_the_value(self, store: Store) -> None:
        found = store.get_versioned("a/b")
        assert found is not None
        assert found[0] == VALUES["a/b"]
        assert store.get_versioned("a/b") == found
        other = store.get_versioned("a/d/e")
        assert other is not None
        assert other[1] != found[1]

    @pytest.mark.parametrize("key", BAD_KEYS, ids=lambda key: repr(key)[:20])
    def test_keys_that_could_leave_are_refused(self, store: Store, key: str) -> None:
        for act in (
            lambda: store.get(key),
            lambda: store.get_versioned(key),
            lambda: list(store.get_many([(key, None)])),
        ):
            with pytest.raises(Refused):
                act()

    def test_listing(self, store: Store) -> None:
        if not store.listable:
            for act in (store.list, lambda: store.list_prefix("a/"), lambda: store.list_dir("")):
                with pytest.raises(Unsupported):
                    list(act())
            return
        assert sorted(store.list()) == sorted(VALUES)
        assert sorted(store.list_prefix("a/")) == ["a/b", "a/c", "a/d/e", "a/f/g"]
        assert sorted(store.list_prefix("a/d/")) == ["a/d/e"]
        assert list(store.list_prefix("no/")) == []
        assert sorted(store.list_prefix("/")) == sorted(VALUES)

    def test_listing_of_one_level(self, store: Store) -> None:
        if not store.listable:
            with pytest.raises(Unsupported):
                next(iter(store.list_dir("")))
            return
        assert self.level(store, "") == [
            ("100%", True), ("a", True), ("a b", True), ("ab", True), ("zarr.json", False),
        ]  # fmt: skip
        assert self.level(store, "a/") == [("b", False), ("c", False), ("d", True), ("f", True)]
        assert self.level(store, "/") == self.level(store, "")
        assert self.level(store, "no/") == []
        assert self.level(store, "zarr.json/") == []
        for entry in store.list_dir("a/"):
            assert entry.size in (None, len(VALUES.get("a/" + entry.name, b"")))

    @staticmethod
    def level(store: Store, prefix: str) -> list[tuple[str, bool]]:
        return sorted((entry.name, entry.is_prefix) for entry in store.list_dir(prefix))

    def test_surveying_tells_what_the_prefixes_of_one_level_hold(self, store: Store) -> None:
        if not store.listable:
            with pytest.raises(Unsupported):
                list(store.bulk.scan_children("", ("b",), read=True))
            return
        for read in (True, False):
            top = {found.name: found[1:] for found in store.bulk.scan_children("", ("no", "c", "b"), read=read)}
            c, another = (VALUES["a/c"], VALUES["ab/c"]) if read else (None, None)
            assert top == {"a": ("c", c), "ab": ("c", another), "a b": (None, None), "100%": (None, None)}
            below = {found.name: found[1:] for found in store.bulk.scan_children("a/", ("g", "e"), read=read)}
            assert below == {"d": ("e", b"deep" if read else None), "f": ("g", VALUES["a/f/g"] if read else None)}
        assert list(store.bulk.scan_children("no/", ("b",), read=True)) == []
        assert {found.document for found in store.bulk.scan_children("", ("d", "f"), read=True)} == {None}, (
            "a prefix is no value"
        )
        derived = Store._scan_children(store, "a/", ("g", "e"), True)
        assert set(derived) == set(store.bulk.scan_children("a/", ("g", "e"), read=True))
        for name in BAD_KEYS:
            with pytest.raises(Refused):
                list(store.bulk.scan_children("", (name,), read=True))

    def test_derived_listings_equal_native_ones(self, store: Store) -> None:
        if not store.listable:
            assert not store.listable
            return
        for prefix in ("", "a/", "a/d/", "no/"):
            native = {(entry.name, entry.is_prefix) for entry in store._list_dir(prefix)}
            assert native == {(entry.name, entry.is_prefix) for entry in Store._list_dir(store, prefix)}

    @pytest.mark.parametrize("prefix", ["a", "../", "a/../", "a//", "/a/"])
    def test_bad_prefixes_are_refused(self, store: Store, prefix: str) -> None:
        if store.listable:
            with pytest.raises(Refused):
                list(store.list_dir(prefix))
            with pytest.raises(Refused):
                list(store.list_prefix(prefix))
        if store.writable:
            with pytest.raises(Refused):
                store.erase_prefix(prefix)

    def test_a_store_that_cannot_be_written_says_so(self, store: Store) -> None:
        if store.writable:
            store.set("a/b", b"new")
            assert store.get("a/b") == b"new"
            return
        for act in (
            lambda: store.set("a/b", b"new"),
            lambda: store.set("a/b", b"new", ABSENT),
            lambda: store.erase("a/b"),
            lambda: store.erase_prefix("a/"),
            lambda: store.erase_values(["a/b"]),
            lambda: store.set_partial_values([("a/b", 0, b"x")]),
        ):
            with pytest.raises(ReadOnly) as caught:
                act()
            assert caught.value.store == store.url
        assert store.get("a/b") == VALUES["a/b"]

    def test_reads_from_many_threads(self, store: Store) -> None:
        wrong: list[str] = []

        def read() -> None:
            wrong.extend(key for key in [*VALUES] * 5 if store.get(key) != VALUES[key])

        threads = [threading.Thread(target=read) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []

    def test_a_closed_store_opens_again(self, store: Store) -> None:
        assert store.get("a/b") == VALUES["a/b"]
        store.close()
        assert store.get("a/b") == VALUES["a/b"]


class Writing(Reading):
    """A store that can be written and listed."""

    def empty(self) -> Store:
        raise NotImplementedError

    def filled(self, values: Mapping[str, bytes]) -> Store:
        store = self.empty()
        for key, value in values.items():
            store.set(key, value)
        return store

    def test_an_empty_store(self) -> None:
        store = self.empty()
        assert list(store.list()) == []
        assert list(store.list_dir("")) == []
        assert store.get("zarr.json") is None
        store.erase("zarr.json")
        store.erase_prefix("a/")
        store.erase_prefix("")

    @pytest.mark.parametrize("key", BAD_KEYS, ids=lambda key: repr(key)[:20])
    def test_bad_keys_are_not_written(self, store: Store, key: str) -> None:
        for act in (
            lambda: store.set(key, b"x"),
            lambda: store.erase(key),
            lambda: store.set_partial_values([(key, 0, b"x")]),
        ):
            with pytest.raises(Refused):
                act()
        assert sorted(store.list()) == sorted(VALUES)

    def test_names_that_differ_in_case_are_two_or_the_second_is_refused(self, store: Store) -> None:
        """If the backend takes both names for one (Windows, macOS), no operation may change the other's value."""
        found = store.get_versioned("a/b")
        assert found is not None
        acts: list[Any] = [
            lambda: store.set("A/b", b"x"),
            lambda: store.set("a/B", b"x"),
            lambda: store.set("A/b", b"x", found[1]),
            lambda: store.set("A/new", b"x", ABSENT),
            lambda: store.bulk.put("a/B", b"x"),
            lambda: store.erase("a/B"),
            lambda: store.erase("A/b"),
            lambda: store.erase_prefix("A/"),
            lambda: store.erase_prefix("a/D/"),
            lambda: store.set_partial_values([("A/b", 0, b"x")]),
        ]
        for act in acts:
            with suppress(Refused, Conflict):
                act()
            assert {key: store.get(key) for key in VALUES} == VALUES
            assert set(VALUES) <= set(store.list())
        store.set("a/b", b"2", found[1])
        assert store.get("a/b") == b"2"

    def test_set_with_the_version_read(self, store: Store) -> None:
        found = store.get_versioned("a/b")
        assert found is not None
        version = store.set("a/b", b"one", found[1])
        assert store.get_versioned("a/b") == (b"one", version)
        version = store.set("a/b", b"two", version)
        assert store.set("a/b", b"three", version) != version

    def test_conflict_carries_what_is_stored_and_changes_nothing(self, store: Store) -> None:
        found = store.get_versioned("a/b")
        assert found is not None
        store.set("a/b", b"theirs")
        with pytest.raises(Conflict) as caught:
            store.set("a/b", b"mine", found[1])
        assert caught.value.theirs == b"theirs"
        assert caught.value.key == "a/b"
        assert store.get("a/b") == b"theirs"

    def test_conflict_when_it_is_gone(self, store: Store) -> None:
        found = store.get_versioned("a/b")
        assert found is not None
        store.erase("a/b")
        with pytest.raises(Conflict) as caught:
            store.set("a/b", b"mine", found[1])
        assert caught.value.theirs is None
        assert store.get("a/b") is None

    def test_absent_stores_only_what_is_new(self, store: Store) -> None:
        version = store.set("new/x", b"1", ABSENT)
        assert store.get_versioned("new/x") == (b"1", version)
        with pytest.raises(Conflict) as caught:
            store.set("new/x", b"2", ABSENT)
        assert caught.value.theirs == b"1"
        assert store.get("new/x") == b"1"

    def test_a_value_put_is_its_parts_one_after_the_other(self, store: Store) -> None:
        store.bulk.put("a/b", b"one")
        store.bulk.put("new/x", b"", memoryview(b"two"), bytearray(b"three"), b"")
        store.bulk.put("new/y", *[bytes([i % 256]) for i in range(3000)])
        store.bulk.put("new/z")
        store.bulk.flush()
        assert store.get("a/b") == b"one"
        assert store.get("new/x") == b"twothree"
        assert store.get("new/y") == bytes(i % 256 for i in range(3000))
        assert store.get("new/z") == b""
        version = store.get_versioned("new/x")
        assert version is not None
        store.bulk.put("new/x", b"other")
        with pytest.raises(Conflict):
            store.set("new/x", b"mine", version[1])
        for key in BAD_KEYS:
            with pytest.raises(Refused):
                store.bulk.put(key, b"x")

    def test_turns_come_one_after_the_other(self, store: Store) -> None:
        inside: dict[str, list[int]] = {"a/b": [], "": []}
        most: list[int] = []

        def work(i: int) -> None:
            for key in ("a/b", ""):
                with store.lock(key), store.lock(key):  # a lock may be taken again by its own thread
                    inside[key].append(i)
                    most.append(len(inside[key]))
                    store.set("a/b", b"%d" % i)
                    inside[key].remove(i)

        self.at_once(work, 4)
        assert most == [1] * 8
        assert list(store.files.stale_temporaries()) == []

    def test_one_of_many_creators_wins(self) -> None:
        store = self.empty()
        won: list[int] = []
        start = threading.Barrier(8)

        def create(i: int) -> None:
            start.wait()
            try:
                store.set("a/zarr.json", b"%d" % i, ABSENT)
                won.append(i)
            except Conflict:
                pass

        self.at_once(create, 8)
        assert len(won) == 1
        assert store.get("a/zarr.json") == b"%d" % won[0]

    def test_no_update_is_lost(self) -> None:
        store = self.empty()
        store.set("n", b"0")

        def count(_: int) -> None:
            for _ in range(10):
                while True:
                    found = store.get_versioned("n")
                    assert found is not None
                    try:
                        store.set("n", b"%d" % (int(found[0]) + 1), found[1])
                        break
                    except Conflict:
                        continue

        self.at_once(count, 4)
        assert store.get("n") == b"40"

    def test_readers_see_the_old_value_or_the_new(self) -> None:
        store = self.empty()
        values = [bytes([i]) * 200_000 for i in range(2)]
        store.set("a/b", values[0])
        done = threading.Event()
        seen: list[bytes | None] = []

        def read(i: int) -> None:
            if i == 0:
                for turn in range(60):
                    store.set("a/b", values[turn % 2])
                done.set()
                return
            while not done.is_set():
                value = store.get("a/b")
                if value not in values:
                    seen.append(value)
                names = {entry.name for entry in store.list_dir("a/")}
                if names != {"b"}:
                    seen.append(repr(names).encode())

        self.at_once(read, 3)
        assert seen == []

    @staticmethod
    def at_once(work: Any, count: int) -> None:
        failed: list[BaseException] = []

        def run(i: int) -> None:
            try:
                work(i)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]

    def test_partial_writes(self, store: Store) -> None:
        store.set_partial_values([("a/b", 2, b"XY"), ("a/b", 8, b"ZZZ"), ("new", 0, b"n")])
        assert store.get("a/b") == b"01XY4567ZZZ"
        assert store.get("new") == b"n"

    @pytest.mark.parametrize("parts", [[(11, b"x")], [(-1, b"x")], [(0, b"abc"), (2, b"x")], [(9, b"aaa"), (12, b"x")]])
    def test_partial_writes_leave_no_gap_and_do_not_overlap(self, store: Store, parts: list[tuple[int, bytes]]) -> None:
        with pytest.raises(Refused):
            store.set_partial_values([("a/b", start, value) for start, value in parts])
        assert store.get("a/b") == VALUES["a/b"]

    def test_erasing(self, store: Store) -> None:
        store.erase("a/d/e")
        store.erase("a/d/e")
        assert store.get("a/d/e") is None
        assert self.level(store, "a/") == [("b", False), ("c", False), ("f", True)], "an empty prefix is none"
        store.erase("a")
        store.erase_values(["a/b", "no"])
        assert sorted(store.list_prefix("a/")) == ["a/c", "a/f/g"]
        store.erase_prefix("a/")
        assert "a" not in {entry.name for entry in store.list_dir("")}
        assert store.get("ab/c") == VALUES["ab/c"], "a prefix ends at its slash"
        store.erase_prefix("")
        assert list(store.list()) == []


KEYS = st.sampled_from(["a", "b", "c/d", "c/e", "c/f/g", "c/f/h", "i.j/k", "zarr.json", "ü/ß"])
BYTES = st.binary(max_size=40)


def machine(empty: Any, examples: int = 25) -> Any:
    """Makes a test case that applies the same operations to a store from `empty()` and to a dict."""

    class StoreMachine(RuleBasedStateMachine):
        store: Store
        model: dict[str, bytes]
        versions: dict[str, Version]

        @initialize()
        def begin(self) -> None:
            self.store, self.model, self.versions = empty(), {}, {}

        @rule(key=KEYS, value=BYTES)
        def set(self, key: str, value: bytes) -> None:
            self.versions[key] = self.store.set(key, value)
            self.model[key] = value

        @rule(key=KEYS, value=BYTES)
        def create(self, key: str, value: bytes) -> None:
            if key in self.model:
                with pytest.raises(Conflict):
                    self.store.set(key, value, ABSENT)
            else:
                self.versions[key] = self.store.set(key, value, ABSENT)
                self.model[key] = value

        @rule(key=KEYS, value=BYTES)
        def replace(self, key: str, value: bytes) -> None:
            found = self.store.get_versioned(key)
            assert (None if found is None else found[0]) == self.model.get(key)
            if found is not None:
                assert found[1] == self.versions[key]
                self.versions[key] = self.store.set(key, value, found[1])
                self.model[key] = value

        @rule(key=KEYS, start=st.integers(0, 50), value=BYTES)
        def patch(self, key: str, start: int, value: bytes) -> None:
            old = self.model.get(key, b"")
            if start > len(old):
                with pytest.raises(Refused):
                    self.store.set_partial_values([(key, start, value)])
                return
            self.store.set_partial_values([(key, start, value)])
            self.model[key] = old[:start] + value + old[start + len(value) :]
            self.versions[key] = not_none(self.store.get_versioned(key))[1]

        @rule(key=KEYS)
        def erase(self, key: str) -> None:
            self.store.erase(key)
            self.model.pop(key, None)

        @rule(prefix=st.sampled_from(["c/", "c/f/", "i.j/", "no/", "a/"]))
        def erase_prefix(self, prefix: str) -> None:
            self.store.erase_prefix(prefix)
            for key in [key for key in self.model if key.startswith(prefix)]:
                del self.model[key]

        @rule(key=KEYS, start=st.one_of(st.none(), st.integers(0, 50)), length=st.integers(0, 50))
        def read_part(self, key: str, start: int | None, length: int) -> None:
            part = ByteRange(start, length)
            assert self.store.get(key, part) == (None if key not in self.model else part.of(self.model[key]))

        @invariant()
        def same(self) -> None:
            if not hasattr(self, "model"):
                return
            assert {key: self.store.get(key) for key in self.store.list()} == self.model
            for prefix in ("", "c/", "c/f/"):
                inside = [key[len(prefix) :] for key in self.model if key.startswith(prefix)]
                expected = {(rest.partition("/")[0], "/" in rest) for rest in inside}
                entries = [*self.store.list_dir(prefix)]
                assert {(entry.name, entry.is_prefix) for entry in entries} == expected
                assert len(entries) == len(expected)

        def teardown(self) -> None:
            if hasattr(self, "store"):
                self.store.close()

    case = StoreMachine.TestCase
    case.settings = settings(max_examples=examples, stateful_step_count=25, deadline=None)
    return case


__all__ = ["BAD_KEYS", "VALUES", "Entry", "Reading", "Writing", "machine"]
