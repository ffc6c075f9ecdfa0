"""The contract of remote stores about missing and denied values (core/zarrscope/stores/store.py, "absence is known").

Subclass, give `serving(answer)`: a context that opens a store over VALUES on a server which answers, of the keys that
`answer` names, as it says. Each backend translates its service's words; the rules are the same.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import pytest

import zarrscope
from narrowing import as_array
from zarrscope.errors import Denied, NotFound, Unreadable
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store


def made() -> dict[str, bytes]:
    memory = MemoryStore()
    h = zarrscope.open(memory, "w-", dialect="v2")
    h.create_array("/a", shape=(4,), dtype="u1", chunks=(2,), codecs=())[...] = 7
    h.create_array("/sparse", shape=(4,), dtype="u1", chunks=(2,), codecs=())[:2] = 7
    return {key: memory.get(key) or b"" for key in memory.list()}


VALUES = made()
CHUNK, GAP = "a/0", "sparse/1"


class Absence:
    def serving(self, answer: str, **settings: Any) -> AbstractContextManager[Store]:
        """`answer`: "honest"; "denied chunk" (403 for CHUNK alone); "no listing" (403 for all that is not there);
        "expired" (all is refused because of who asks, after the first ten answers where settings say so)."""
        raise NotImplementedError

    def without_bucket(self) -> AbstractContextManager[Store]:
        raise NotImplementedError

    def test_absent_is_what_is_not_there(self) -> None:
        with self.serving("honest") as store:
            assert store.get(CHUNK) == VALUES[CHUNK]
            assert store.get(GAP) is None
            assert store.tells_absence

    def test_denied_is_not_absent(self) -> None:
        for settings in ({}, {"missing_is_fill": True}):
            with self.serving("denied chunk", **settings) as store:
                assert store.get(GAP) is None
                for _ in range(2):
                    with pytest.raises(Denied) as caught:
                        store.get(CHUNK)
                    assert not caught.value.untold
                    assert (caught.value.store, caught.value.key) == (store.url, CHUNK)
                assert isinstance(dict(store.get_many([(CHUNK, None), (GAP, None)]))[0], Denied)
                assert store.tells_absence
                with pytest.raises(Denied):
                    as_array(zarrscope.open(store)["a"])[...]

    def test_what_nobody_can_tell_is_said(self) -> None:
        with self.serving("no listing") as store:
            assert store.get(CHUNK) == VALUES[CHUNK]
            with pytest.raises(Denied) as caught:
                store.get(GAP)
            assert caught.value.untold
            assert "missing-is-fill" in str(caught.value)
            assert not store.tells_absence
            hierarchy = zarrscope.open(store)
            assert any("does not distinguish" in warning for warning in hierarchy.warnings)
            assert as_array(hierarchy["a"])[...].tolist() == [7] * 4
            with pytest.raises(Denied):
                as_array(hierarchy["sparse"])[...]
        with self.serving("no listing", missing_is_fill=True) as store:
            hierarchy = zarrscope.open(store)
            assert as_array(hierarchy["sparse"])[...].tolist() == [7, 7, 0, 0]
            assert store.taken_as_missing > 0

    def test_expired_credentials_make_nothing_absent(self) -> None:
        for settings in ({}, {"missing_is_fill": True}):
            with self.serving("expired", **settings) as store:
                for key in ("zarr.json", CHUNK, GAP):
                    with pytest.raises(Unreadable) as caught:
                        store.get(key)
                    assert "credentials" in (caught.value.advice or "") or "Access" in (caught.value.advice or "")
                with pytest.raises(Unreadable):
                    zarrscope.open(store)

    def test_a_bucket_that_is_not_there_is_not_empty(self) -> None:
        with self.without_bucket() as store, pytest.raises(NotFound, match=r"no (such )?bucket"):
            zarrscope.open(store)


__all__ = ["CHUNK", "GAP", "VALUES", "Absence"]
