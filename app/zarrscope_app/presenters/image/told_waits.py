"""The sentence about a chunk that does not come, over the picture that waits for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from zarrscope.runtime.waits import PendingRequest

if TYPE_CHECKING:
    from zarrscope_app.presenters.image.tile_manager import TileManager


class TellsWaits(ABC):
    """Part of a SlicePresenter: the chunk for which the picture waits."""

    _tiles: TileManager
    _waiting = ""
    """The sentence about that chunk; "" for a short wait."""

    def tell_wait(self, sentence: Callable[[PendingRequest | None], str]) -> None:
        """Updates the sentence, which `sentence` makes. Call it every second while chunks are awaited."""
        told = sentence(min(self._tiles.waits, key=lambda wait: wait.since, default=None))
        if told != self._waiting:
            self._waiting = told
            self._repaint()

    @abstractmethod
    def _repaint(self) -> None:
        """Makes a new frame."""
