"""What is asked for while a place is open for reading only, until it is open for writing."""

from __future__ import annotations

from collections.abc import Callable


class Waiting:
    """Texts and acts that wait. They are about the form on show: another node's form forgets them."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        """Field → text as typed."""
        self._acts: list[Callable[[], object]] = []

    def __bool__(self) -> bool:
        return bool(self.texts or self._acts)

    def add(self, act: Callable[[], object]) -> None:
        self._acts.append(act)

    def forget(self) -> None:
        self.texts, self._acts = {}, []

    def type_texts(self, edit: Callable[[str, str], object]) -> None:
        """Types the texts with `edit(field, text)`."""
        texts, self.texts = self.texts, {}
        for field, text in texts.items():
            edit(field, text)

    def do_acts(self) -> None:
        acts, self._acts = self._acts, []
        for act in acts:
            act()
