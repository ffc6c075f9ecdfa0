"""Whether a store is still being written: compares the result of a refresh with the former state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from time import sleep
from typing import TYPE_CHECKING, Any

from zarrscope.errors import BadMetadata, ZarrscopeError
from zarrscope.nodes.internals import node_context
from zarrscope_app.presenters import strings

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy

PAUSES = (0.1, 0.4)
"""Seconds to wait before an existing document that cannot be parsed is read again."""


class Changing:
    """Remembers the shapes of displayed arrays, to notice which have changed. Use it on the host's thread."""

    def __init__(self) -> None:
        self._shapes: dict[str, dict[str, tuple[int, ...]]] = {}
        self.sentence = ""
        """A sentence about the changes of the displayed node since it was last shown; "" if there are none."""

    def show(self, path: str, arrays: Sequence[Any]) -> None:
        """Compares the shapes of the `arrays` of the node at `path` with those when the node was last shown."""
        now = {array.path: tuple(array.shape) for array in arrays}
        before = self._shapes.get(path, now)
        self._shapes[path] = now
        others = [name for name in now if name in before and before[name] != now[name]]
        self.sentence = _text(before[others[0]], now[others[0]]) if others else ""


def _text(before: Sequence[int], now: Sequence[int]) -> str:
    return f"changing: {strings.shape(before)} → {strings.shape(now)}"


def see_what_grew(hierarchy: Hierarchy, path: str) -> None:
    """Makes nodes be read from their own documents if a consolidated copy is older than the document at `path`. Call it
    in a worker."""
    with suppress(ZarrscopeError):
        node_context(hierarchy).drop_stale_copies(path)


def open_patiently(read: Callable[[], Hierarchy], again: bool) -> Hierarchy:
    """Opens a hierarchy by `read`; with `again`, once more after a pause if its root document cannot be parsed, because
    it may just be being written. Call it in a worker."""
    for pause in PAUSES if again else ():
        with suppress(BadMetadata):
            hierarchy = read()
            if hierarchy.root.problem is None:
                return hierarchy
        sleep(pause)
    return read()
