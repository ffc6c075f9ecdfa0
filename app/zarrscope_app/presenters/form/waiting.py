"""Requests made while a hierarchy is read-only, which wait until it is open for writing."""

from __future__ import annotations

from collections.abc import Callable


class Waiting:
    """Texts and actions that wait until the hierarchy is open for writing. They belong to the displayed form, and are
    dropped when the form of another node is displayed."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        """Id of a field → the text typed into it."""
        self._acts: list[Callable[[], object]] = []

    def __bool__(self) -> bool:
        return bool(self.texts or self._acts)

    def add(self, act: Callable[[], object]) -> None:
        """Keeps an action until the hierarchy is open for writing."""
        self._acts.append(act)

    def forget(self) -> None:
        """Drops all texts and actions."""
        self.texts, self._acts = {}, []

    def type_texts(self, edit: Callable[[str, str], object]) -> None:
        """Calls `edit(field, text)` for each waiting text, and forgets the texts."""
        texts, self.texts = self.texts, {}
        for field, text in texts.items():
            edit(field, text)

    def do_acts(self) -> None:
        """Does the actions in the order in which they were added, and forgets them."""
        acts, self._acts = self._acts, []
        for act in acts:
            act()
