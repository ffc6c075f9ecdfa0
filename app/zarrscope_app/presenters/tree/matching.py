"""Finds nodes whose paths match a pattern: "*.zarr", "A/*/0", "**/labels"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from zarrscope.errors import Refused, ZarrscopeError
from zarrscope.model.node_path import natural
from zarrscope_app.presenters.form import words

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy

MOST = 2000
"""The most nodes that one pattern may match."""
_ANY_DEPTH = "**"


def is_pattern(text: str) -> bool:
    """Whether a text contains a wildcard, "*" or "?", and so stands for several names."""
    return "*" in text or "?" in text


def matching(
    hierarchy: Hierarchy, pattern: str, cancelled: Callable[[], bool] = lambda: False, most: int = MOST
) -> list[str]:
    """The paths of the nodes that match, in natural order; each part of the pattern between slashes matches one name,
    "**" any number of names.

    Waits for the store. Raises Refused if none match, or more than `most`.
    """
    found: dict[str, None] = {}
    _walk(hierarchy, "", [part for part in pattern.split("/") if part], found, cancelled, most)
    if not found:
        raise Refused(words.nothing_matches(pattern), store=hierarchy.url)
    if len(found) > most:
        raise Refused(words.too_many_match(pattern, most), store=hierarchy.url)
    return sorted(found, key=natural)


def _walk(
    hierarchy: Hierarchy,
    path: str,
    parts: Sequence[str],
    found: dict[str, None],
    cancelled: Callable[[], bool],
    most: int,
) -> None:
    if cancelled() or len(found) > most:
        return
    if not parts:
        if path and path in hierarchy:
            found[path] = None
        return
    head, *rest = parts
    if head != _ANY_DEPTH and not is_pattern(head):
        _walk(hierarchy, f"{path}/{head}", rest, found, cancelled, most)
        return
    if head == _ANY_DEPTH:
        _walk(hierarchy, path, rest, found, cancelled, most)
    fits = re.compile(re.escape(head).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)
    for name in _children(hierarchy, path or "/"):
        if head == _ANY_DEPTH:
            _walk(hierarchy, f"{path}/{name}", parts, found, cancelled, most)
        elif fits.fullmatch(name):
            _walk(hierarchy, f"{path}/{name}", rest, found, cancelled, most)


def _children(hierarchy: Hierarchy, path: str) -> list[str]:
    try:
        node = hierarchy[path]
        return [child.name for child in node.children()] if node.kind == "group" else []
    except ZarrscopeError:
        return []
