"""The differences between two hierarchies in words: one line for each, and a sentence about the comparison."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from zarrscope_app.presenters import strings

if TYPE_CHECKING:
    from zarrscope.check.diff import NodeDifference

LIMIT = 1000
"""The most differences that are listed; further ones are counted."""
COMPARED = "difference"
"""The severity of a difference in the list of problems."""


def line(found: NodeDifference) -> str:
    """One line for a person: "/0  shape  [4, 6] → [4, 5]"."""
    from zarrscope.check.diff import ABSENT  # loaded only if it is needed

    what = found.what + (f" {found.pointer}" if found.pointer else "")
    if found.what == "node":
        text = f"only on the {'left' if found.right is ABSENT else 'right'}: {found.path}"
        return strings.clean(f"{text} ({found.left if found.right is ABSENT else found.right})")
    at = f" at {list(found.index)}" if found.index is not None else ""
    many = f" ({strings.counted(found.count, 'value differs', 'values differ')})" if found.count else ""
    return strings.clean(f"{found.path}  {what}{at}: {_spelled(found.left)} → {_spelled(found.right)}{many}")


def _spelled(value: object) -> str:
    from zarrscope.check.diff import ABSENT

    if value is ABSENT:
        return "nothing"
    if hasattr(value, "item"):
        value = value.item()
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = str(value)
    return text if len(text) <= 200 else text[:199] + "…"


def problem_of(found: NodeDifference, path: str) -> strings.Problem:
    """Makes an entry of the list of problems from a difference. `path`: the node of this hierarchy at which the
    comparison began."""
    node = "/" + "/".join(part for part in f"{path}/{found.path}".split("/") if part)
    said = line(found)
    return strings.Problem(COMPARED, said, said, place=strings.clean(found.pointer or ""), path=node)


def extent(path: str) -> str:
    """A node and all beneath it, in words: "the whole hierarchy", "/A/1 and all beneath"."""
    return "the whole hierarchy" if path == "/" else f"{strings.clean(path, 120)} and all beneath"


def place(path: str) -> str:
    """The node at which a check or a comparison is: "at the root", "at /A/1"."""
    return "at the root" if path.strip("/") == "" else f"at {strings.clean(path, 60)}"


def comparing(scope: str, other: str, at: str) -> str:
    """The sentence during a comparison: "Comparing the whole hierarchy with copy.zarr, now at /0…"."""
    return f"Comparing {extent(scope)} with {strings.clean(other, 80)}{f', now {place(at)}' if at else ''}…"


def compared(scope: str, other: str, count: int, *, whole: bool, values: bool) -> str:
    """The sentence after a comparison, which says what was compared, and what was not."""
    found = strings.counted(count, "difference") if count else "No difference" if whole else "No difference so far"
    looked = "metadata, attributes and all values" if values else "metadata and attributes, not the values"
    told = f"{found}: {extent(scope)} compared with {strings.clean(other, 80)}: {looked}."
    return told if whole else f"{told} Stopped: the rest was not compared."
