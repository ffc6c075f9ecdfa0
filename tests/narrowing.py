"""States which kind of node a path leads to, and that a value is there, for the test and for mypy."""

from __future__ import annotations

from typing import TypeVar

from zarrscope import Array, Group

T = TypeVar("T")


def as_array(node: object) -> Array:
    """The node, which is an array."""
    assert isinstance(node, Array), f"{node!r} is no array"
    return node


def as_group(node: object) -> Group:
    """The node, which is a group."""
    assert isinstance(node, Group), f"{node!r} is no group"
    return node


def not_none(value: T | None) -> T:
    """The value, which is not None."""
    assert value is not None
    return value
