"""Any sequence of operations gives the same hierarchy as a dict of paths, in every dialect, with consolidated metadata
kept up to date.

Every dialect is tried in memory, in a folder and in a dry run, and in every kind of the table of stores that can be
written, against the server that it is made for: there with few examples, and not each dialect with each kind.
`ZARRSCOPE_MACHINE_EXAMPLES=100` tries every dialect in every kind with that many.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import zarrscope
from contracts.operations import NAMES
from contracts.places import PLACES, WRITABLE, Services
from narrowing import as_array
from temporary import new_folder
from zarrscope.errors import ZarrscopeError
from zarrscope.nodes import move as moving
from zarrscope.nodes.array import Array
from zarrscope.nodes.hierarchy import Hierarchy
from zarrscope.stores.dry_run import DryRunStore
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store

PATHS = st.lists(st.sampled_from(["a", "b", "x.y"]), min_size=1, max_size=3).map(lambda names: "/" + "/".join(names))
VALUES = st.integers(1, 200)
MANY = int(os.environ.get("ZARRSCOPE_MACHINE_EXAMPLES", "0"))
PAIRS = [
    (name, kind)
    for number, kind in enumerate(WRITABLE)
    for at, name in enumerate(NAMES)
    if MANY or name == "v3" or at == number % len(NAMES)
]
EXAMPLES = {"s3": 3, "gs": 3, "abfs": 3, "ssh": 3, "sftp": 3}
"""Fewer where each operation takes several requests."""
BEGINNING = (("/a", None), ("/a/b", 7), ("/a/a", None), ("/x.y", 9))
STORES: dict[str, Callable[[], Store]] = {
    "memory": MemoryStore,
    "local": lambda: LocalStore(new_folder(), sync=False),
    "dry run": lambda: DryRunStore(MemoryStore()),
}


def above(path: str) -> list[str]:
    parts = path.split("/")[1:-1]
    return ["/" + "/".join(parts[: n + 1]) for n in range(len(parts))]


def beneath(model: dict[str, int | None], path: str) -> list[str]:
    return [each for each in model if f"{each}/".startswith(f"{path}/")]


def machine(name: str, empty: Callable[[], Store], examples: int) -> Any:
    class Operations(RuleBasedStateMachine):
        """`model`: the value that fills an array; None for a group."""

        hierarchy: Hierarchy
        model: dict[str, int | None]

        @initialize(bare=st.booleans())
        def begin(self, bare: bool) -> None:
            self.hierarchy = zarrscope.open(empty(), "w-", dialect=name)
            self.model = {}
            for path, value in () if bare else BEGINNING:  # else few of the first operations find a node
                self.create(path, value)

        def _fits(self, path: str) -> bool:
            return path not in self.model and all(self.model.get(each) is None for each in above(path))

        def _put(self, path: str, value: int | None) -> None:
            self.model |= {each: None for each in above(path) if each not in self.model}
            self.model[path] = value

        @rule(path=PATHS, value=st.one_of(st.none(), VALUES))
        def create(self, path: str, value: int | None) -> None:
            if not self._fits(path):
                with pytest.raises(ZarrscopeError):
                    self.hierarchy.create_group(path)
                return
            if value is None:
                self.hierarchy.create_group(path)
            else:
                array = self.hierarchy.create_array(path, shape=(3, 2), dtype="uint8", chunks=(2, 2), codecs=["gzip"])
                array[...] = value
            self._put(path, value)

        @rule(path=PATHS)
        def erase(self, path: str) -> None:
            if path not in self.model:
                with pytest.raises(ZarrscopeError):
                    self.hierarchy.erase(path)
                return
            self.hierarchy.erase(path)
            for each in beneath(self.model, path):
                del self.model[each]

        @rule(path=PATHS, to=PATHS, moves=st.booleans(), replace=st.booleans())
        def carry(self, path: str, to: str, moves: bool, replace: bool) -> None:
            act = moving.move if moves else moving.copy
            tangled = f"{to}/".startswith(f"{path}/") or f"{path}/".startswith(f"{to}/")
            free = self._fits(to) or (
                replace and to in self.model and all(self.model[each] is None for each in above(to))
            )
            if path not in self.model or tangled or not free:
                with pytest.raises(ZarrscopeError):
                    act(self.hierarchy, path, to, replace=replace)
                return
            act(self.hierarchy, path, to, replace=replace)
            for each in beneath(self.model, to):
                del self.model[each]
            taken = {to + each[len(path) :]: self.model[each] for each in beneath(self.model, path)}
            if moves:
                for each in beneath(self.model, path):
                    del self.model[each]
            for each, value in taken.items():
                self._put(each, value)

        @rule(path=PATHS, value=VALUES)
        def store(self, path: str, value: int) -> None:
            if self.model.get(path) is not None:
                as_array(self.hierarchy[path])[...] = value
                self.model[path] = value

        @rule()
        def consolidate(self) -> None:
            if name in ("v3", "v2", "draft-2020"):
                self.hierarchy.consolidate()

        @invariant()
        def same(self) -> None:
            if not hasattr(self, "model"):
                return
            again = zarrscope.open(self.hierarchy.store, dialect=name)
            assert again.consolidated == self.hierarchy.consolidated
            found = {path: child.kind for path, child in again.walk()}
            assert found == {path: "group" if value is None else "array" for path, value in self.model.items()}
            for path, value in self.model.items():
                node = again[path]
                assert not isinstance(node, Array) or (node[...] == value).all()
            assert self.hierarchy.warnings == ()
            if again._nodes.consolidated_metadata is not None:
                own = {key for path in found for key in again._nodes.keys_of(path)} & {*again.store.list()}
                assert {
                    key for key in again._nodes.consolidated_metadata.documents if key not in again._nodes.keys_of("/")
                } == own

    case = Operations.TestCase
    case.settings = settings(max_examples=examples, stateful_step_count=20, deadline=None)
    return case


for _name in NAMES:
    for _kind in STORES:
        globals()[f"Test_{_name}_{_kind}".replace("-", "_")] = machine(_name, STORES[_kind], MANY or 12)


def test_every_dialect_and_every_kind_is_tried() -> None:
    assert {name for name, _ in PAIRS} == {*NAMES}
    assert {kind for _, kind in PAIRS} == {*WRITABLE} >= {*EXAMPLES}


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_any_operations_leave_the_nodes_of_a_model(name: str, kind: str, services: Services, tmp_path: Path) -> None:
    with PLACES[kind](tmp_path, services, {}) as place:

        def empty() -> Store:
            store = place.opened("a")
            store.erase_prefix("")
            return store

        machine(name, empty, MANY or EXAMPLES.get(kind, 10))().runTest()
