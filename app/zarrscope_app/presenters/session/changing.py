"""Finds out whether a store is still being written: compares the shapes of displayed arrays with their previous
shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from time import sleep
from typing import TYPE_CHECKING, Any

from zarrscope.errors import BadMetadata, ZarrscopeError
from zarrscope.model.metadata import ArrayMetadata
from zarrscope.nodes.internals import node_context
from zarrscope.runtime.threads import JobResult, Owner, Priority, Ticket
from zarrscope_app.presenters import strings

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy

POLL_SECONDS = 5.0
"""The seconds between two calls of `Changing.poll`, each of which reads the document of a displayed array."""
NOT_YET = " (refresh to see it)"
PAUSES = (0.1, 0.4)
"""Seconds to wait before an existing document that cannot be parsed is read again."""


class Changing:
    """Remembers the shapes of displayed arrays, to find out which shapes have changed. Use it on the host's thread."""

    def __init__(self, tell: Callable[[], object] = lambda: None) -> None:
        self._shapes: dict[str, dict[str, tuple[int, ...]]] = {}
        self._on_show: tuple[str, str] | None = None
        """The paths of the displayed node and of the first of its arrays; None if no array is displayed."""
        self._reading: Ticket | None = None
        self._tell = tell
        self.sentence = ""
        """A sentence about the changes of the displayed node since it was last shown; "" if there are none."""

    def show(self, path: str, arrays: Sequence[Any]) -> None:
        """Compares the shapes of the `arrays` of the node at `path` with those when the node was last shown. Without
        arrays, as for a node that could not be read, it keeps the former shapes."""
        now = {array.path: tuple(array.shape) for array in arrays}
        before = self._shapes.get(path, now)
        if now:
            self._shapes[path] = now
        others = [name for name in now if name in before and before[name] != now[name]]
        self.sentence = _text(before[others[0]], now[others[0]]) if others else ""
        self._on_show = (path, next(iter(now))) if now else None
        self.cancel()

    def poll(self, owner: Owner, hierarchy: Hierarchy | None) -> None:
        """Reads in the background whether the shape of the displayed array has changed; the display stays unchanged.
        Does nothing for remote stores, where each call would cost a request."""
        at = self._on_show
        if hierarchy is None or at is None or self._reading is not None or hierarchy.store.remote:
            return

        def shape() -> tuple[int, ...] | None:
            with suppress(ZarrscopeError):
                found = node_context(hierarchy).own_node(at[1])
                about = found.metadata if found is not None else None
                return about.shape if isinstance(about, ArrayMetadata) else None
            return None  # the node does not exist any more, or is just being written

        def seen(outcome: JobResult[tuple[int, ...] | None]) -> None:
            self._reading = None
            now, before = outcome.value, self._shapes[at[0]].get(at[1])
            if (
                now is not None
                and before is not None
                and now != before
                and (text := f"{_text(before, now)}{NOT_YET}") != self.sentence
            ):
                self.sentence = text
                self._tell()

        self._reading = owner.fetch(shape, seen, Priority.IDLE)

    def cancel(self) -> None:
        """Cancels a running `poll`."""
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None


def _text(before: Sequence[int], now: Sequence[int]) -> str:
    return f"changing: {strings.shape(before)} → {strings.shape(now)}"


def see_what_grew(hierarchy: Hierarchy, path: str) -> None:
    """Drops consolidated metadata that are older than the document at `path`, so that nodes are read from their own
    documents. Call it in a worker."""
    with suppress(ZarrscopeError):
        node_context(hierarchy).drop_stale_copies(path)


def open_patiently(read: Callable[[], Hierarchy], again: bool) -> Hierarchy:
    """Opens a hierarchy by `read`; with `again`, repeats this after each of PAUSES while the root document cannot be
    parsed, because another program may just be writing it. Call it in a worker."""
    for pause in PAUSES if again else ():
        with suppress(BadMetadata):
            hierarchy = read()
            if hierarchy.root.problem is None:
                return hierarchy
        sleep(pause)
    return read()
