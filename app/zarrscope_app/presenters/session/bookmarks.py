"""Bookmarked views: kept in the settings, so that every host has the same."""

from __future__ import annotations

import json
from itertools import count

from zarrscope.errors.visible import visible
from zarrscope.model.frozen import frozen
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.settings import Settings

MAX_BOOKMARKS = 100
_LABEL = 90
"""The most characters of a label."""


def bookmarked(label: str) -> str:
    """The message after a view was bookmarked."""
    return f"Bookmarked: {visible(label)}."


@frozen
class Bookmark:
    """A view that a person saved under a name; `text` describes the view, for `Workspace.restore`."""

    label: str
    text: str


class Bookmarks:
    """The bookmarked views, oldest first."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @property
    def items(self) -> tuple[Bookmark, ...]:
        """All bookmarks; a text that does not describe a view is left out."""
        try:
            found = json.loads(self._settings.load("bookmarks") or "[]")
        except (ValueError, RecursionError):
            return ()
        return tuple(
            Bookmark(strings.clean(item["label"], _LABEL), item["text"])
            for item in (found if isinstance(found, list) else ())
            if isinstance(item, dict) and all(isinstance(item.get(name), str) for name in ("label", "text"))
        )[:MAX_BOOKMARKS]

    def add(self, label: str, text: str) -> str:
        """Saves a view, and returns its name. If another view has the name `label`, a number makes it unique: two
        details of one plane have the same label, as have images of the same name in two folders."""
        kept = [found for found in self.items if found.text != text]
        taken = {found.label for found in kept}
        label = name = strings.clean(label, _LABEL - 6)  # room for the number
        numbers = count(2)
        while name in taken:
            name = f"{label} ({next(numbers)})"
        self._keep([*kept, Bookmark(name, text)][-MAX_BOOKMARKS:])
        return name

    def remove(self, label: str) -> None:
        """Removes the bookmark of this name."""
        self._keep([found for found in self.items if found.label != label])

    def _keep(self, bookmarks: list[Bookmark]) -> None:
        told = [{"label": found.label, "text": found.text} for found in bookmarks]
        self._settings.store("bookmarks", json.dumps(told))
