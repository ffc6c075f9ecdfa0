"""The warnings and errors of one session, each with its place and what to do next."""

from __future__ import annotations

from psygnal import Signal

from zarrscope_app.presenters.node_details import NodeDetails
from zarrscope_app.presenters.strings import Problem, counted, problem

LIMIT = 1000
"""A store with ten thousand broken nodes is one problem, not ten thousand rows."""


class ProblemsPresenter:
    """A list without repeats, newest last. `changed()` after each change, on the host's thread."""

    changed = Signal()

    def __init__(self) -> None:
        self._items: dict[tuple[str, str], Problem] = {}

    @property
    def items(self) -> tuple[Problem, ...]:
        return tuple(self._items.values())

    @property
    def count(self) -> int:
        return len(self._items)

    @property
    def title(self) -> str:
        """The title of the tab: "Problems", or with the number of them "Problems 2"."""
        return f"Problems {self.count}" if self._items else "Problems"

    @property
    def sentence(self) -> str:
        if not self._items:
            return "No problems were found."
        return f"{counted(self.count, 'problem')}."

    def show_node(self, details: NodeDetails) -> None:
        """The problems are those of the whole session."""

    def show_nothing(self, sentence: str = "") -> None:
        """The problems are those of the whole session."""

    def add(self, item: Problem | BaseException, path: str = "") -> Problem:
        found = problem(item, path) if isinstance(item, BaseException) else item
        key = (found.path, found.headline)
        if key not in self._items and len(self._items) < LIMIT:
            self._items[key] = found
            self.changed.emit()
        return found

    def clear(self, path: str | None = None) -> None:
        """Forgets all problems, or those of one node."""
        kept = {} if path is None else {k: p for k, p in self._items.items() if p.path != path}
        if len(kept) != len(self._items):
            self._items = kept
            self.changed.emit()
