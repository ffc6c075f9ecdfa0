"""A class with @frozen behaves like a frozen dataclass: each test compares the two."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar

import pytest

from zarrscope.model.frozen import frozen


@frozen
class Ours:
    """A place."""

    key: str
    span: tuple[int, int] | None = None
    notes: list[str] = field(default_factory=list, compare=False)
    kind: ClassVar[str] = "place"

    @property
    def long(self) -> bool:
        return len(self.key) > 3


@dataclass(frozen=True)
class Theirs:
    """A place."""

    key: str
    span: tuple[int, int] | None = None
    notes: list[str] = field(default_factory=list, compare=False)
    kind: ClassVar[str] = "place"

    @property
    def long(self) -> bool:
        return len(self.key) > 3


@frozen
class Own:
    value: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own) and self.value % 2 == other.value % 2

    def __hash__(self) -> int:
        return self.value % 2


def same(act: Callable[[Any], Any]) -> None:
    assert act(Ours) == act(Theirs)


def test_made_with_names_places_and_defaults() -> None:
    same(lambda C: [vars(C("a")), vars(C("a", (1, 2))), vars(C(span=None, key="b")), vars(C("c", notes=["n"]))])
    assert Ours("a").notes is not Ours("b").notes


@pytest.mark.parametrize(
    "wrong",
    [
        lambda C: C(),
        lambda C: C("a", None, [], 4),
        lambda C: C("a", key="b"),
        lambda C: C("a", other=1),
        lambda C: C(span=(1, 2)),
        lambda C: C("a", None, [], other=1),
    ],
)
def test_wrong_arguments_are_type_errors(wrong: Callable[[Any], Any]) -> None:
    for each in (Ours, Theirs):
        with pytest.raises(TypeError):
            wrong(each)


def test_equal_and_hashed_by_what_is_compared() -> None:
    for each in (Ours, Theirs):
        one, alike, other = each("a", (1, 2), ["x"]), each("a", (1, 2), ["y"]), each("b", (1, 2))
        assert one == alike
        assert hash(one) == hash(alike)
        assert one != other
        assert one != ("a", (1, 2), ["x"])  # type: ignore[comparison-overlap]  # unequal types are the point
    assert Ours("a") != Theirs("a")  # type: ignore[comparison-overlap]  # unequal types are the point


def test_nothing_can_be_changed() -> None:
    for each in (Ours, Theirs):
        made = each("a")
        with pytest.raises(FrozenInstanceError):
            made.key = "b"  # type: ignore[misc]  # frozen: the assignment must fail
        with pytest.raises(FrozenInstanceError):
            made.other = "b"  # type: ignore[union-attr]  # no such field: the assignment must fail
        with pytest.raises(FrozenInstanceError):
            del made.key


def test_replaced_copied_pickled_and_shown() -> None:
    same(lambda C: vars(replace(C("a", (1, 2)), key="long")))
    same(lambda C: [each.name for each in fields(C)])
    same(lambda C: repr(C("a", (1, 2), ["n"])).replace("Ours", "Theirs"))
    same(lambda C: [C("a").long, C("long").long, C.kind])
    made = Ours("a", (1, 2), ["n"])
    for again in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert vars(again) == vars(made)
    match made:
        case Ours("a", (first, _)):
            assert first == 1
        case _:
            raise AssertionError


def test_fields_that_are_made_when_they_are_needed_equal_those_of_a_dataclass() -> None:
    @frozen
    class Fresh:
        key: str
        notes: list[str] = field(default_factory=list, compare=False)
        kind: ClassVar[str] = "place"

    match Fresh("a"):
        case Fresh(key, _):
            assert key == "a"
    assert is_dataclass(Fresh("a"))
    threads = [threading.Thread(target=fields, args=(Fresh,)) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [(each.name, each.compare) for each in fields(Fresh)] == [("key", True), ("notes", False)]
    assert replace(Fresh("a", ["n"]), key="b").notes == ["n"]
    assert Fresh("a").notes == []


def test_what_a_class_defines_itself_stays() -> None:
    assert Own(1) == Own(3)
    assert hash(Own(1)) == hash(Own(3)) == 1
    assert Own(1) != Own(2)
