"""A save that was asked for while the hierarchy was read-only; it is made as soon as the hierarchy is open for writing
and the typed texts are applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from zarrscope_app.presenters.form.draft import Draft, digest


class AskedSave:
    """Remembers the documents on show when a person asked to save them."""

    def __init__(self) -> None:
        self._bases: dict[str, str] | None = None

    def ask(self, drafts: Mapping[str, Draft]) -> None:
        """Remembers that these documents shall be saved, and what is stored of them."""
        self._bases = _digests(drafts)

    def forget(self) -> None:
        """Called when something else is typed or shown, and when the hierarchy stays read-only."""
        self._bases = None

    def due(self, drafts: Mapping[str, Draft]) -> Literal["", "save", "look"]:
        """Tells once what to do with these documents, which were read again and edited: save them, or let the person
        look first, because somebody else changed one of them meanwhile; "" if nobody asked to save them."""
        asked = self._bases
        if asked is None or asked.keys() != drafts.keys():
            return ""
        self._bases = None
        return "save" if asked == _digests(drafts) else "look"


def _digests(drafts: Mapping[str, Draft]) -> dict[str, str]:
    return {path: digest(draft.base) for path, draft in drafts.items()}
