"""Several sessions side by side, the places opened of late, and a text that brings a view back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from psygnal import Signal

from zarrscope_app.presenters.session import Session
from zarrscope_app.presenters.turn import Post


class Settings(Protocol):
    """Where a host keeps what outlives it: small texts by name (zarrscope_app.settings has one on files)."""

    def load(self, name: str) -> str | None: ...

    def store(self, name: str, text: str) -> None: ...


class Forgetful:
    """Settings that last as long as the process: for tests, and for hosts that must not write."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def load(self, name: str) -> str | None:
        return self._texts.get(name)

    def store(self, name: str, text: str) -> None:
        self._texts[name] = text


@dataclass(frozen=True)
class Recent:
    url: str
    label: str


class Workspace:
    """`current` is the session in front, None for an empty window (then show `words.EMPTY_WINDOW` and `recent`)."""

    changed = Signal()

    def __init__(self, post: Post, settings: Settings | None = None) -> None:
        raise NotImplementedError

    @property
    def sessions(self) -> tuple[Session, ...]:
        raise NotImplementedError

    @property
    def current(self) -> Session | None:
        raise NotImplementedError

    @property
    def recent(self) -> tuple[Recent, ...]:
        raise NotImplementedError

    def open(self, url: str, *, writable: bool = False) -> Session:
        """Opens a place, or brings it to the front when it is open already."""
        raise NotImplementedError

    def bring(self, session: Session) -> None:
        """To the front."""
        raise NotImplementedError

    def close(self, session: Session) -> None:
        raise NotImplementedError

    def close_all(self) -> None:
        raise NotImplementedError

    def clear_recent(self) -> None:
        raise NotImplementedError

    def view_text(self) -> str:
        """The current view (place, indices, axes, contrast) as JSON text, "" for an empty window."""
        raise NotImplementedError

    def restore(self, text: str) -> Session | None:
        """Opens what `view_text` described. None for a text that is none of ours."""
        raise NotImplementedError
