"""Sends changed tiles to a browser: encoded in a worker, each within a budget of bytes.

A tile is sent as lossless PNG if that is small enough: flat areas, labels, enlarged pixels. Otherwise it is sent as
WebP of the best quality that fits, to browsers that read WebP; the exact values are shown beneath the picture anyway.

A message is {"view": id, "frame": {the members that changed}, "order": [keys in the order of painting] if that changed,
"tiles": [[key, rect, state, sentence, kind]]} with one buffer for each tile; a tile of kind "" has no buffer, because
only its state or sentence changed. Two members come once: "fresh" means that earlier tiles belong to another session,
and "rect" is the part of the plane to show first.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope.view.png import png
from zarrscope_app.jupyter.snapshots import plain
from zarrscope_app.presenters import Frame, Rect, Tile

BYTES_PER_PIXEL = 50_000 / 512**2
"""The budget of bytes for a pixel. With it, a step to another 512 × 512 pixels takes less than 60 kB, with two coarse
pictures before the whole one."""
LEAST_BYTES = 4_000
"""The smallest budget of a tile."""
QUALITIES = (90, 75, 50, 25, 10, 2, 0)
"""Qualities of WebP: the first one that fits the budget is used. If none fits, the picture is noise and the last is
used."""
SAMPLED = 16
"""One of this many rows is compressed to judge whether the whole picture compresses well."""
BATCH = 1 << 20
"""Pixels that are encoded together, so that the first tiles are visible while others are still being encoded."""
WAIT_SECONDS = 0.15
"""An unfinished picture waits this long for its rest. Most arrive by then: a coarse picture before them would be seen
for a moment, and cost a message. A person hardly notices the wait."""
AHEAD = 3
"""The most messages that are sent before the browser has painted them."""
SIGNS = ("failed", "undecodable")


def _packs_well(rgb: npt.NDArray[np.uint8], budget: int) -> bool:
    """Whether the PNG of a picture is likely to fit the budget, judged by some of its rows."""
    if rgb.nbytes <= budget:
        return True
    sample = np.ascontiguousarray(rgb[:: SAMPLED if rgb.shape[0] > 4 * SAMPLED else 1])
    return bool(len(png(sample, 1)) * (rgb.shape[0] / sample.shape[0]) <= 2 * budget)


def encoded(rgb: npt.NDArray[np.uint8], kinds: Sequence[str]) -> tuple[str, bytes]:
    """(kind, bytes) of a picture for a browser that can read these `kinds`."""
    budget = max(LEAST_BYTES, int(rgb.shape[0] * rgb.shape[1] * BYTES_PER_PIXEL))
    webp = "webp" in kinds
    if not webp or _packs_well(rgb, budget):
        data = png(rgb, 6)
        if len(data) <= budget or not webp:
            return "png", data
    try:
        from PIL import Image
    # Pillow may be missing in an environment that was made by hand: then the messages are large.
    except ImportError:
        return "png", png(rgb, 6)
    picture, data = Image.fromarray(rgb), b""
    for quality in QUALITIES:
        buffer = io.BytesIO()
        picture.save(buffer, "WEBP", quality=quality, method=0)
        data = buffer.getvalue()
        if len(data) <= budget:
            break
    return "webp", data


def _name(tile: Tile) -> str:
    return "/".join(map(str, tile.key))


class TileStream:
    """Sends the picture of one slice presenter to the browsers that show a widget.

    `send(content, buffers)` sends a message. Call all methods on the kernel's thread.
    """

    def __init__(self, view: str, owner: Owner, send: Callable[[dict[str, Any], list[bytes]], None]) -> None:
        self._view, self._owner, self._send = view, owner, send
        self._kinds: tuple[str, ...] = ("png",)
        self._latest: tuple[Frame, dict[str, Any]] | None = None
        self._ticket: Ticket | None = None
        self._wait: Ticket | None = None
        self._waited = False
        """Whether the unfinished picture has waited long enough."""
        self._paced = False
        """Whether the browser reports painted messages; then at most AHEAD messages are sent before it paints them."""
        self._ahead = 0
        self._rect: Rect | None = None
        self._placed = self._fresh = False
        self._forget()

    def _forget(self) -> None:
        self._placed = False
        self._sent: dict[str, tuple[int, str, str]] = {}
        self._order: list[str] = []
        self._told: dict[str, Any] = {}

    def anew(self, kinds: Sequence[str]) -> None:
        """Called when a browser shows the widget, perhaps again: everything is sent again, in formats that the browser
        can read."""
        self._kinds = tuple(kinds)
        self._paced, self._ahead = False, 0
        self._forget()
        self._go()

    def renew(self) -> None:
        """Called when another session comes to the front: tiles of the former one are forgotten here and in the
        browser."""
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None
        self._end_wait()
        self._latest, self._rect, self._fresh = None, None, True
        self._forget()

    def place(self, rect: Rect | None) -> None:
        """Sets the part of the plane that browsers show first; None: the part that a browser chooses."""
        if rect is not None or self._placed:
            self._rect, self._placed = rect, False

    def painted(self) -> None:
        """Called when a browser has painted a message."""
        self._ahead = max(0, self._ahead - 1) if self._paced else 0
        self._paced = True
        self._go()

    def show(self, frame: Frame, **about: Any) -> None:
        """Sends a frame, with `about` in the same message, as soon as the browser has painted the one before."""
        self._latest = (frame, about)
        self._go()

    def _go(self) -> None:
        if self._latest is None or self._ticket is not None or (self._paced and self._ahead >= AHEAD):
            return
        frame, about = self._latest
        if self._awaits_rest(frame):
            return
        tiles = {_name(tile): tile for tile in frame.tiles if tile.rgb is not None}
        told = {
            "shape": list(frame.shape), "aspect": frame.aspect, "sentence": frame.sentence, "blocked": frame.blocked,
            "loading": frame.loading, "failed": frame.failed, "level": frame.level, "over": frame.over,
            **plain(about),
        }  # fmt: skip
        order = list(tiles)
        message: dict[str, Any] = {"view": self._view}
        if changed := {name: value for name, value in told.items() if self._told.get(name, ...) != value}:
            message["frame"] = changed
        if order != self._order or self._fresh:
            message["order"] = order
        if self._fresh:
            message["fresh"], self._fresh = True, False
        if self._rect is not None and not self._placed and frame.shape[0]:
            message["rect"], self._placed = list(self._rect), True
        batch, words = self._changed(tiles)
        self._told, self._order = told, order
        self._sent = {name: sent for name, sent in self._sent.items() if name in tiles}
        if batch:
            self._encode(message, batch, words)
        elif words or len(message) > 1:
            self._tell(message, words, [])

    def _awaits_rest(self, frame: Frame) -> bool:
        """Whether the rest of an unfinished picture is awaited for a moment; the first picture never waits."""
        if not frame.loading or frame.over or frame.blocked or not self._sent or self._waited:
            self._end_wait()
            return False
        if self._wait is None:
            self._wait = self._owner.later(WAIT_SECONDS, self._over)
        return True

    def _over(self) -> None:
        self._wait, self._waited = None, True
        self._go()

    def _end_wait(self) -> None:
        self._waited = False
        if self._wait is not None:
            self._wait.cancel()
            self._wait = None

    def _changed(self, tiles: dict[str, Tile]) -> tuple[list[Tile], list[Tile]]:
        """Tiles whose picture must be sent next, and tiles of which only the state changed."""
        batch: list[Tile] = []
        words: list[Tile] = []
        pixels = 0
        for name, tile in tiles.items():
            sent = self._sent.get(name)
            if sent is None or sent[0] != tile.version:
                assert tile.rgb is not None
                pixels += tile.rgb.shape[0] * tile.rgb.shape[1]
                if pixels <= BATCH or not batch:
                    batch.append(tile)
            elif (tile.state.value in SIGNS or sent[1] in SIGNS) and sent[1:] != (tile.state.value, tile.sentence):
                words.append(tile)
        return batch, words

    def _encode(self, message: dict[str, Any], batch: list[Tile], words: list[Tile]) -> None:
        kinds, pictures = self._kinds, [tile.rgb for tile in batch]

        def work() -> list[tuple[str, bytes]]:
            return [encoded(rgb, kinds) for rgb in pictures if rgb is not None]

        def done(outcome: JobResult[list[tuple[str, bytes]]]) -> None:
            self._ticket = None
            self._tell(message, words, list(zip(batch, outcome.get(), strict=True)))
            self._go()

        self._ticket = self._owner.decode(work, done)

    def _tell(self, message: dict[str, Any], words: list[Tile], pictures: list[tuple[Tile, tuple[str, bytes]]]) -> None:
        rows = [[_name(tile), [*tile.rect], tile.state.value, tile.sentence, kind] for tile, (kind, _) in pictures]
        rows += [[_name(tile), [*tile.rect], tile.state.value, tile.sentence, ""] for tile in words]
        if rows:
            message["tiles"] = rows
        for tile in (*(tile for tile, _ in pictures), *words):
            self._sent[_name(tile)] = (tile.version, tile.state.value, tile.sentence)
        self._ahead += 1
        self._send(message, [data for _, (_, data) in pictures])
