"""Bookmarked views: kept in the settings, so that every host has the same."""

from __future__ import annotations

import json

from zarrscope.model.frozen import frozen
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.settings import Settings

MAX_BOOKMARKS = 100


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
            Bookmark(strings.clean(item["label"], 90), item["text"])
            for item in (found if isinstance(found, list) else ())
            if isinstance(item, dict) and all(isinstance(item.get(name), str) for name in ("label", "text"))
        )[:MAX_BOOKMARKS]

    def add(self, label: str, text: str) -> None:
        """Saves a view; it replaces a bookmark of the same name."""
        kept = [found for found in self.items if found.label != label]
        self._keep([*kept, Bookmark(label, text)][-MAX_BOOKMARKS:])

    def remove(self, label: str) -> None:
        """Removes the bookmark of this name."""
        self._keep([found for found in self.items if found.label != label])

    def _keep(self, bookmarks: list[Bookmark]) -> None:
        told = [{"label": found.label, "text": found.text} for found in bookmarks]
        self._settings.store("bookmarks", json.dumps(told))
