"""The sentence about a chunk that does not come, over the picture that waits for it; and about a node that does not
come, over the picture of the former node, which is shown until then."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from zarrscope.runtime.waits import PendingRequest
from zarrscope_app.presenters.image import words

if TYPE_CHECKING:
    from zarrscope_app.presenters.image.tile_manager import TileManager
    from zarrscope_app.presenters.image.view_models import Frame


class WaitMessages(ABC):
    """Part of a SlicePresenter: the chunk for which the picture waits."""

    _tiles: TileManager
    _waiting = ""
    """The sentence about that chunk; "" for a short wait."""

    _next_node = ""
    """The sentence about a node that was chosen, and for whose documents the session waits."""

    def tell_wait(self, sentence: Callable[[PendingRequest | None], str], next_node: str = "") -> None:
        """Updates the sentence, which `sentence` makes. Call it every second while chunks or a node are awaited."""
        told = sentence(min(self._tiles.waits, key=lambda wait: wait.since, default=None))
        if (told, next_node) != (self._waiting, self._next_node):
            self._waiting, self._next_node = told, next_node
            self._repaint()

    def _over(self, late: str, loading: int, failures: Sequence[words.Failure]) -> str:
        """The sentence over the picture; "" for none."""
        if self._next_node or loading:
            return self._next_node or words.over(late, self._waiting)
        return late or words.unread(failures, len(self._tiles.tiles)) or words.blank(self._tiles.tiles)

    @property
    @abstractmethod
    def frame(self) -> Frame:
        """The tiles to paint, and the sentences about them."""

    @property
    def broken(self) -> str:
        """The reason why tiles failed, for a place beside the status, which tells their number; "" if none failed or
        `frame.over` says it."""
        return words.broken(self._tiles.failures) if not self.frame.over else ""

    @abstractmethod
    def _repaint(self) -> None:
        """Makes a new frame."""
