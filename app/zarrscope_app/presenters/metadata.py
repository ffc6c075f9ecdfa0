"""What a node is, in words: shape, type, chunks with their meaning, codecs, extensions, conventions, warnings."""

from __future__ import annotations

from dataclasses import dataclass

from psygnal import Signal


@dataclass(frozen=True)
class Item:
    """One line: label, text, and what it means for somebody who does not know the word."""

    label: str
    text: str
    hint: str = ""


@dataclass(frozen=True)
class Section:
    title: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Info:
    """Everything about one node. `documents`: (key in the store, text as stored), once they have been read."""

    path: str = "/"
    title: str = ""
    subtitle: str = ""
    """One line: "5-D uint16 · 2 × 3 × 64 × 1,024 × 1,024 · 768 MiB"."""
    sections: tuple[Section, ...] = ()
    warnings: tuple[str, ...] = ()
    problem: str = ""
    """Why the node cannot be decoded, "" when it can."""
    documents: tuple[tuple[str, str], ...] = ()
    loading: bool = False


class MetadataPresenter:
    changed = Signal()

    @property
    def state(self) -> Info:
        raise NotImplementedError

    def load_documents(self) -> None:
        """Reads the node's JSON documents in the background; `changed` when `state.documents` is there."""
        raise NotImplementedError

    def text(self) -> str:
        """All of it as plain text, to copy."""
        raise NotImplementedError
