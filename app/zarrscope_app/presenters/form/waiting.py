"""Requests made while a hierarchy is read-only, which wait until it is open for writing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping


class Waiting:
    """Texts and actions that wait until the hierarchy is open for writing. Those of the displayed form are `texts` and
    the actions; those of another form wait until it is displayed again."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        """Id of a field → the text typed into it."""
        self._acts: list[Callable[[], object]] = []
        self._elsewhere: dict[str, tuple[dict[str, str], list[Callable[[], object]]]] = {}
        """Path of a node → its texts and actions."""
        self._together: dict[tuple[str, ...], dict[str, str]] = {}
        """Paths of several nodes → the texts of their common form."""

    def __bool__(self) -> bool:
        return bool(self.texts or self._acts)

    def add(self, act: Callable[[], object]) -> None:
        """Keeps an action until the hierarchy is open for writing."""
        self._acts.append(act)

    def go(self, path: str, to: str) -> None:
        """Puts aside the texts and actions of node `path`, and takes up those of node `to`."""
        if self:
            self._elsewhere[path] = self.texts, self._acts
        self.texts, self._acts = self._elsewhere.pop(to, ({}, []))

    def put_aside(self, paths: tuple[str, ...], texts: Mapping[str, str]) -> None:
        """Keeps the texts of a form of several nodes that is no longer displayed."""
        if texts:
            self._together[paths] = {**texts}

    def take_up(self, paths: tuple[str, ...]) -> dict[str, str]:
        """The texts that were put aside for these nodes, which are kept here no longer."""
        return self._together.pop(paths, {})

    def lines(self, path: str) -> Iterator[tuple[str, str]]:
        """Yields (paths of the nodes, text) for every text that waits; `path` is that of the displayed node."""
        for here, texts in ((path, self.texts), *((each, texts) for each, (texts, _) in self._elsewhere.items())):
            yield from ((here, text) for text in texts.values())
        for paths, texts in self._together.items():
            yield from ((", ".join(paths), text) for text in texts.values())

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
