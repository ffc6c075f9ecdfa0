"""Processes that write one document at the same moment, each with a store of its own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.synchronize import Barrier
from typing import Any

from zarrscope.errors import Conflict
from zarrscope.model.storage import Version
from zarrscope.stores.address import open_store
from zarrscope.stores.store import Store

_start: list[Barrier] = []
_stores: dict[str, Store] = {}


class Writers:
    """Processes that write to one store."""

    def __init__(self, pool: Any, count: int) -> None:
        self._pool, self._count = pool, count

    def race(
        self, address: str, options: Mapping[str, Any], key: str, values: list[bytes], version: Version
    ) -> list[Version | None]:
        """Lets all processes store a value in place of `version`; returns each new version, or None for a conflict."""
        assert len(values) == self._count
        asked = [(address, dict(options), key, value, version) for value in values]
        found: list[Version | None] = self._pool.map_async(_write, asked, chunksize=1).get(100)
        return found


@contextmanager
def writers(count: int) -> Iterator[Writers]:
    context = multiprocessing.get_context("spawn")  # a fork would copy locks that threads of this process hold
    with context.Pool(count, _begin, [context.Barrier(count)]) as pool:
        yield Writers(pool, count)


def _begin(start: Barrier) -> None:
    _start.append(start)


def _write(asked: tuple[str, dict[str, Any], str, bytes, Version]) -> Version | None:
    address, options, key, value, version = asked
    if address not in _stores:
        while _stores:
            _stores.popitem()[1].close()
        _stores[address] = open_store(address, "a", options)
        _stores[address].get(key)  # it is connected
    _start[0].wait(90)
    try:
        return _stores[address].set(key, value, version)
    except Conflict:
        return None


__all__ = ["Writers", "writers"]
