"""Shows the picture over the whole screen in the terminal's own pixels (kitty, iTerm2, sixel), until a key is pressed.

Cells that Textual draws over such a picture erase it. So the application is suspended while the picture is shown, as it
is for an editor (docs: decisions/pixels-in-the-terminal.md).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from zarrscope.runtime.threads import JobResult, Ticket
from zarrscope.view.render import averaged
from zarrscope_app.presenters import strings_terminal as words
from zarrscope_app.tui.inline_pictures import drawn, kitty_removed, through_tmux
from zarrscope_app.tui.terminal import Terminal

if TYPE_CHECKING:
    from zarrscope_app.presenters.image.presenter import SlicePresenter
    from zarrscope_app.tui.picture import PictureWidget

OWN = ("kitty", "iterm2", "sixel")
LONGEST = 2048
"""The most pixels along the longer side of a picture; such a picture is about a megabyte to send."""
MOST_TIMES = 4
"""A pixel is the average of at most this many pixels in each direction."""


class Pixels:
    """Shows the part of the plane that the pane displays over the whole screen, as soon as its chunks have arrived. A
    key that is pressed earlier cancels the request."""

    def __init__(
        self, pane: PictureWidget, terminal: Terminal, suspended: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._pane = pane
        self._terminal, self._suspended = terminal, suspended
        self._wanted: tuple[int, int] | None = None
        """The size in pixels of the requested picture; None if no picture is requested."""
        self._cells = (0, 0)
        self._encoding: Ticket | None = None
        """The encoding of the picture for the terminal, in the background; None if there is none."""

    @property
    def _slice(self) -> SlicePresenter:
        return self._pane.session.slice

    def begin(self, cells: tuple[int, int]) -> bool:
        """Requests the picture for (lines, columns) of the terminal. Returns False if the terminal cannot display
        pictures."""
        frame, part = self._slice.frame, self._pane.rect
        if self._terminal.drawing not in OWN or not frame.shape[0] or part is None:
            return False
        rect = max(0.0, part[0]), max(0.0, part[1]), min(frame.shape[0], part[2]), min(frame.shape[1], part[3])
        cell = self._terminal.cell
        tall, wide = (rect[2] - rect[0]) * frame.aspect, rect[3] - rect[1]
        if tall <= 0 or wide <= 0:
            return False
        room = (cells[0] - 1) * cell[0], cells[1] * cell[1]
        scale = min(room[0] / tall, room[1] / wide, LONGEST / max(tall, wide))
        pixels = max(1, round(tall * scale)), max(1, round(wide * scale))
        self._cells = max(1, -(-pixels[0] // cell[0])), max(1, -(-pixels[1] // cell[1]))
        self._slice.viewport(rect, pixels)
        self._wanted = pixels
        self._pane.app.call_later(self.painted)  # perhaps all chunks are cached
        return True

    @property
    def waiting(self) -> bool:
        """Whether the picture was requested and has not arrived."""
        return self._wanted is not None

    def drop(self) -> None:
        """Cancels the request."""
        if self._encoding is not None:
            self._encoding.cancel()
            self._encoding = None
        if self._wanted is not None:
            self._wanted = None
            self._back()

    def painted(self) -> None:
        """Shows the requested picture, if all of its chunks have arrived."""
        frame = self._slice.frame
        if self._wanted is None or self._encoding is not None or frame.loading or not (frame.tiles or frame.blocked):
            return
        picture, cells, terminal = self._averaged(*self._wanted), self._cells, self._terminal
        owner, _ = self._slice.background
        # The screen of the application stays until the text is there.
        self._encoding = owner.decode(lambda: drawn(picture, cells, terminal), self._encoded)

    def _averaged(self, height: int, width: int) -> npt.NDArray[np.uint8]:
        """The picture in this size. Where the displayed level has more pixels, each is the average of some of them."""
        rect, tiles = self._slice.visible_rect, self._slice.frame.tiles
        sizes = ((tile.rgb.shape[0], tile.rect) for tile in tiles if tile.rgb is not None)
        density = max((rows / (bottom - top) for rows, (top, _, bottom, _) in sizes), default=0.0)
        times = min(MOST_TIMES, max(1, round(density * (rect[2] - rect[0]) / height)))
        picture = self._slice.picture(height * times, width * times)
        return averaged(picture, np.arange(height) * times, np.arange(width) * times) if times > 1 else picture

    def _encoded(self, outcome: JobResult[str]) -> None:
        self._wanted = self._encoding = None
        try:
            told = outcome.get()
            with self._suspended():
                show(told, self._terminal)
        finally:
            self._back()

    def _back(self) -> None:
        if self._pane.rect is not None:
            self._slice.viewport(self._pane.rect, self._pane.pixels)


def show(picture: str, terminal: Terminal) -> None:
    """Writes the text that draws a picture to the alternate screen of the terminal at stderr, and waits for a key; one
    that is pressed while the picture is being sent counts, too."""
    removed = kitty_removed() if terminal.drawing == "kitty" else ""
    removed = through_tmux(removed) if removed and terminal.passthrough else removed
    foot = f"\x1b[999;1H{words.PIXELS_FOOT}"
    with _single_keys() as wait_for_key:
        try:
            _write(f"\x1b[?1049h\x1b[2J\x1b[?25l\x1b[H{picture}{foot}")
            wait_for_key()
        finally:
            _write(f"{removed}\x1b[2J\x1b[?25h\x1b[?1049l")


def _write(text: str) -> None:
    stream = sys.__stderr__
    if stream is not None:
        stream.write(text)
        stream.flush()


@contextmanager
def _single_keys() -> Iterator[Callable[[], object]]:
    """A context in which keys arrive one by one, without Enter. Yields a function that waits for a key."""
    stream = sys.__stdin__
    if stream is None:
        yield lambda: None
        return
    try:
        import termios
        import tty
    except ImportError:  # Windows
        yield stream.readline
        return
    number = stream.fileno()
    before = termios.tcgetattr(number)
    tty.setcbreak(number, termios.TCSANOW)
    try:
        yield lambda: os.read(number, 64)
    finally:
        termios.tcsetattr(number, termios.TCSANOW, before)
