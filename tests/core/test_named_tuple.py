"""The engine's named tuples are like those of typing.NamedTuple."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing
from typing import Generic, TypeVar

import pytest

from zarrscope.runtime.named_tuple import NamedTuple

T = TypeVar("T")


class Place(NamedTuple):
    """Where something is."""

    key: str
    span: tuple[int, int] | None = None
    """A comment."""

    @property
    def length(self) -> int:
        return 0 if self.span is None else self.span[1] - self.span[0]

    @classmethod
    def of(cls, key: str) -> Place:
        return cls(key, (0, 1))


class Usual(typing.NamedTuple):
    """Where something is."""

    key: str
    span: tuple[int, int] | None = None


class Result(NamedTuple, Generic[T]):
    value: T


def test_fields_defaults_and_methods() -> None:
    place = Place("a", span=(2, 5))
    assert tuple(place) == ("a", (2, 5))
    assert place.length == 3
    assert Place.of("b") == Place("b", (0, 1))
    assert Place("a").span is None
    assert place._replace(key="b").key == "b"
    with pytest.raises(TypeError):
        Place()  # type: ignore[call-arg]  # a field is missing
    with pytest.raises(AttributeError):
        place.key = "c"  # type: ignore[misc]  # it cannot be set


def test_it_is_described_like_the_usual_one() -> None:
    assert inspect.signature(Place).parameters.keys() == inspect.signature(Usual).parameters.keys()
    for name in ("_fields", "_field_defaults", "__doc__", "__module__", "__match_args__", "__slots__"):
        assert getattr(Place, name) == getattr(Usual, name), name
    assert Place.__qualname__ == "Place"
    assert repr(Place("a")) == "Place(key='a', span=None)"
    assert typing.get_type_hints(Place) == typing.get_type_hints(Usual)
    assert not hasattr(Place("a"), "__dict__")


def test_it_can_be_copied_pickled_and_stated_with_a_type() -> None:
    place = Place("a", (1, 2))
    assert pickle.loads(pickle.dumps(place)) == place
    assert type(pickle.loads(pickle.dumps(place))) is Place
    assert copy.deepcopy(place) == place
    assert Result[int](3).value == 3
