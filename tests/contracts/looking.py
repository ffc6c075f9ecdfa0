"""Opens a session without a host, steps through the planes of an array, and waits for each picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import zarrscope
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import RowState, Session, SessionStatus, TileState

SECONDS = 60.0
PLANES, SIDE, CHUNK = 12, 32, 16


def fill(store: Any) -> None:
    """Makes the array /a, in which all values of plane z are z + 1, and a group /more that contains an array."""
    with zarrscope.open(store, "w-") as h:
        h.create_array("/more/inside", shape=(4,), dtype="u1")
        array = h.create_array("/a", shape=(PLANES, SIDE, SIDE), dtype="u1", chunks=(1, CHUNK, CHUNK))
        array[...] = np.arange(1, PLANES + 1, dtype="u1")[:, None, None]


class Looking:
    """A session and its picture. `asked`: the number of times the session asked for credentials."""

    def __init__(self, session: Session, mailbox: Mailbox) -> None:
        self.session, self.mailbox, self.picture = session, mailbox, session.slice
        self.asked = 0
        self._asking = False
        session.slice.changed.connect(lambda: session.slice.fit((SIDE, SIDE)))
        session.changed.connect(self._count)

    def _count(self) -> None:
        asking = "credentials" in self.session.state.offers
        self.asked += asking and not self._asking
        self._asking = asking

    def until(self, met: Callable[[], bool]) -> None:
        try:
            self.mailbox.run_until(met, SECONDS)
        except TimeoutError as error:
            tiles = [f"{tile.state.value}: {tile.sentence}" for tile in self.picture.frame.tiles]
            error.add_note(f"{self.session.state.status}: {self.session.state.sentence!r}; tiles: {tiles}")
            raise

    def open(self) -> None:
        self.until(lambda: self.session.state.status is not SessionStatus.OPENING)
        assert self.session.state.status is SessionStatus.READY, self.session.state.sentence

    def look(self) -> None:
        """Selects the array, and waits for its first plane."""
        self.open()
        self.session.select("/a")
        self.shows(0)

    def go(self, z: int) -> None:
        self.picture.move(0, z)

    def shows(self, z: int) -> None:
        """Waits for plane z, and checks the value of a pixel."""
        picture = self.picture
        self.until(self.whole)
        assert picture.index[0] == z
        picture.hover(3, 3)
        self.until(lambda: bool(picture.probe.values) and not picture.probe.pending)
        assert [value for _, value in picture.probe.values] == [str(z + 1)], picture.probe

    def whole(self) -> bool:
        """Whether the picture is complete, without a failed tile."""
        ready = self.session.state.status is SessionStatus.READY and self.session.node is not None
        tiles = self.picture.frame.tiles
        whole = ready and bool(tiles) and self.picture._is_whole()
        return whole and not any(tile.state is TileState.FAILED for tile in tiles)

    def failed(self) -> bool:
        """Whether all tiles of the picture failed."""
        tiles = self.picture.frame.tiles
        return bool(tiles) and all(tile.state is TileState.FAILED for tile in tiles)

    def row(self, path: str) -> int:
        found = self.session.tree.find(path)
        assert found is not None, f"{path} is not in the tree"
        return found

    def expand(self, path: str) -> None:
        row = self.row(path)
        self.session.tree.expand(row)
        self.until(lambda: self.session.tree.row(row).state is RowState.READY)
