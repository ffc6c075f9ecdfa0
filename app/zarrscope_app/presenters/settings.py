"""The settings of an application: small private texts by name, such as recent addresses, bookmarks and unsaved edits.

`zarrscope_app.settings.FileSettings` stores them in files, `MemorySettings` in memory.
"""

from __future__ import annotations

from typing import Protocol


class Settings(Protocol):
    """Stores small private texts by name."""

    def load(self, name: str) -> str | None:
        """The text stored under a name; None if there is none, or if it cannot be read."""

    def store(self, name: str, text: str) -> None:
        """Stores a text under a name, in place of the former one."""

    def unwritable(self) -> str:
        """The place where nothing can be stored, or where the last text could not be; "" if texts outlive the process,
        or are not meant to."""

    def names(self, start: str) -> list[str]:
        """The names that begin with `start` and have a text."""

    def remove(self, name: str) -> None:
        """Removes the text of a name; a name without a text is no error."""


class MemorySettings:
    """Settings that last as long as the process: for tests, and for hosts that must not write files."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def load(self, name: str) -> str | None:
        """The text stored under a name in this process; None if there is none."""
        return self._texts.get(name)

    def store(self, name: str, text: str) -> None:
        """Stores a text under a name until the process ends."""
        self._texts[name] = text

    def unwritable(self) -> str:
        """Always "", because nothing is meant to outlive the process."""
        return ""

    def names(self, start: str) -> list[str]:
        """The names that begin with `start`, in the order of storing."""
        return [name for name in self._texts if name.startswith(start)]

    def remove(self, name: str) -> None:
        """Removes the text of a name; a name without a text is no error."""
        self._texts.pop(name, None)
