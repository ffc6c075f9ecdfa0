"""Any sequence of operations leaves the same values in a store as in a dict.

Tried for every kind in the table of stores that can be written, against the server that it is made for. Wrappers and
stores of other packages have theirs beside their tests.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.places import PLACES, WRITABLE, Services
from contracts.store import machine
from zarrscope.stores.store import Store

DISTANT = {"redis": 10, "s3": 3, "gs": 3, "abfs": 3, "ssh": 8, "sftp": 4}
"""Fewer examples where each operation is a request."""


def test_every_distant_kind_is_told_as_such() -> None:
    assert {*DISTANT} <= {*WRITABLE}


@pytest.mark.parametrize("kind", WRITABLE)
def test_any_operations_leave_what_a_dict_would_hold(kind: str, services: Services, tmp_path: Path) -> None:
    with PLACES[kind](tmp_path, services, {}) as place:

        def empty() -> Store:
            store = place.opened("a")
            store.erase_prefix("")
            return store

        machine(empty, DISTANT.get(kind, 25))().runTest()
