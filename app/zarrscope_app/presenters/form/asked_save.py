"""Texts that were typed while the hierarchy was read-only, and their save: it is made as soon as the hierarchy is open
for writing and the texts are applied, unless a document is another one by then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from zarrscope_app.presenters.form.draft import Draft, digest


class AskedSave:
    """Remembers the documents on show when a person asked to save them, or to open them for writing."""

    def __init__(self) -> None:
        self._bases: dict[str, str] | None = None
        self._asked = False

    def note(self, drafts: Mapping[str, Draft]) -> None:
        """Remembers what is stored of these documents, before they are opened for writing."""
        self._bases, self._asked = _digests(drafts), False

    def ask(self, drafts: Mapping[str, Draft]) -> None:
        """Remembers that these documents shall be saved, and what is stored of them."""
        self._bases, self._asked = _digests(drafts), True

    def forget(self) -> None:
        """Called when something else is typed or shown, and when the hierarchy stays read-only."""
        self._bases = None

    def due(self, drafts: Mapping[str, Draft]) -> Literal["", "save", "look"]:
        """Tells once what to do with these documents, which were read again and edited: save them, or let the person
        look first, because somebody else changed one of them meanwhile; "" if neither."""
        asked = self._bases
        if asked is None or asked.keys() != drafts.keys():
            return ""
        self._bases = None
        return "look" if asked != _digests(drafts) else "save" if self._asked else ""


def _digests(drafts: Mapping[str, Draft]) -> dict[str, str]:
    return {path: digest(draft.base) for path, draft in drafts.items()}
