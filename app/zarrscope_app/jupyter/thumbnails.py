"""Sends the thumbnails of a plate, a well or a series to a browser: each once, and again when it has changed.

A message is {"thumbnails": [[path, kind]]} with one buffer for each thumbnail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope_app.jupyter.pictures import encoded
from zarrscope_app.presenters.image.overview import Cell

AT_ONCE = 24
"""The most thumbnails in one message."""


class ThumbnailStream:
    """Sends the thumbnails of the session in front. `send(content, buffers)` sends a message. Use it on the kernel's
    thread."""

    def __init__(self, owner: Owner, send: Callable[[dict[str, Any], list[bytes]], None]) -> None:
        self._owner, self._send = owner, send
        self._kinds: tuple[str, ...] = ("png",)
        self._cells: Sequence[Cell] = ()
        self._sent: dict[str, np.ndarray[Any, Any]] = {}
        self._ticket: Ticket | None = None

    def anew(self, kinds: Sequence[str]) -> None:
        """Called when another browser shows the widget: all thumbnails are sent again."""
        self._kinds, self._sent = tuple(kinds), {}
        self._go()

    def renew(self) -> None:
        """Called when another session comes to the front: its thumbnails are sent, whatever was sent before."""
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None
        self._cells, self._sent = (), {}

    def show(self, cells: Sequence[Cell]) -> None:
        """Sets the visible cells."""
        self._cells = cells
        self._go()

    def _go(self) -> None:
        if self._ticket is not None:
            return
        there = {cell.path: cell.rgb for cell in self._cells if cell.rgb is not None}
        self._sent = {path: rgb for path, rgb in self._sent.items() if path in there}
        wanted = [(path, rgb) for path, rgb in there.items() if self._sent.get(path) is not rgb][:AT_ONCE]
        if not wanted:
            return
        kinds = self._kinds

        def done(outcome: JobResult[list[tuple[str, bytes]]]) -> None:
            self._ticket = None
            made = outcome.get()
            self._sent.update(wanted)
            named = [[path, kind] for (path, _), (kind, _) in zip(wanted, made, strict=True)]
            self._send({"thumbnails": named}, [data for _, data in made])
            self._go()

        self._ticket = self._owner.decode(lambda: [encoded(rgb, kinds) for _, rgb in wanted], done)
