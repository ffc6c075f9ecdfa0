"""The pictures that a step of a slider sends to the notebook: one, unless the rest of it is late."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import zarrscope
from jupyter_hand import opened_page, run_first_cell, served, wait_for_kernel, wait_until
from zarrscope.runtime.threads import JobResult, Owner
from zarrscope_app.jupyter.pictures import TileStream
from zarrscope_app.presenters import Frame, Tile
from zarrscope_app.presenters.image.view_models import TileState

SIDE = 512
WHOLE = (0.0, 0.0, float(SIDE), float(SIDE))
MOST_BYTES = 60_000
MOST_HOVER_BYTES = 200


# ---------------------------------------------------------------------- the stream alone
class Timer:
    """A ticket of `HandOwner.later`."""

    def __init__(self, call: Callable[[], None]) -> None:
        self.call, self.cancelled = call, False

    def cancel(self) -> None:
        self.cancelled = True


class HandOwner:
    """An owner that works at once, and whose timers end when the test says so."""

    def __init__(self) -> None:
        self.timers: list[Timer] = []

    def decode(self, work: Callable[[], Any], done: Callable[[JobResult[Any]], None]) -> Timer:
        outcome = work()
        ticket = Timer(lambda: done(JobResult(value=outcome)))
        self.decoded = ticket
        return ticket

    def later(self, seconds: float, call: Callable[[], None]) -> Timer:
        self.timers.append(Timer(call))
        return self.timers[-1]

    def end_timers(self) -> None:
        for timer in self.timers:
            if not timer.cancelled:
                timer.call()
        self.timers.clear()


class Sent:
    """A stream and the tiles of each message that it has sent."""

    def __init__(self) -> None:
        self.owner = HandOwner()
        self.messages: list[list[str]] = []
        self._stream = TileStream("main", cast(Owner, self.owner), self._keep)

    def _keep(self, content: dict[str, Any], buffers: list[bytes]) -> None:
        self.messages.append([row[0] for row in content.get("tiles", ())])
        assert len(buffers) == len(self.messages[-1])

    def show(self, *tiles: Tile, loading: int = 0, over: str = "") -> None:
        self._stream.show(Frame((SIDE, SIDE), tiles, loading=loading, over=over))
        self.finish()

    def finish(self) -> None:
        """Ends the work that was asked for."""
        while (work := self.owner.__dict__.pop("decoded", None)) is not None:
            work.call()


def tile(level: int, version: int, state: TileState = TileState.PRESENT) -> Tile:
    return Tile((level, 0, 0), version, level, WHOLE, state, np.zeros((8, 8, 3), np.uint8))


@pytest.fixture
def sent() -> Sent:
    """A stream whose first picture, a coarse one, was sent at once."""
    sent = Sent()
    sent.show(tile(2, 1), loading=1)
    assert sent.messages == [["2/0/0"]]
    sent.show(tile(0, 2))
    sent.messages.clear()
    return sent


def test_a_step_sends_one_picture_if_its_rest_comes_soon(sent: Sent) -> None:
    sent.show(tile(2, 3, TileState.LOADING), loading=2)
    sent.show(tile(2, 4), loading=1)
    assert sent.messages == []
    sent.show(tile(0, 5))
    assert sent.messages == [["0/0/0"]]
    sent.owner.end_timers()
    assert sent.messages == [["0/0/0"]], "the timer does nothing more"


def test_a_picture_whose_rest_is_late_is_sent_unfinished(sent: Sent) -> None:
    sent.show(tile(2, 3), loading=1)
    sent.owner.end_timers()
    sent.finish()
    assert sent.messages == [["2/0/0"]]
    sent.show(tile(2, 4), loading=1)
    assert len(sent.messages) == 1, "the next one waits, too"
    sent.show(tile(0, 5))
    assert sent.messages == [["2/0/0"], ["0/0/0"]]


def test_what_is_said_over_the_picture_does_not_wait(sent: Sent) -> None:
    sent.show(tile(0, 2), loading=1, over="z 11 is shown; z 12 is loading")
    assert sent.messages == [[]]


# ---------------------------------------------------------------------- a browser, over its socket
def make_pyramid(folder: Path) -> None:
    """Makes an RGB image of 8 planes of 512 × 512 with three levels: waves with noise, which no codec makes small."""
    hierarchy = zarrscope.open(str(folder), "w-")
    axes = [{"name": "c", "type": "channel"}, *({"name": name, "type": "space"} for name in "zyx")]
    levels = [
        {"path": str(k), "coordinateTransformations": [{"type": "scale", "scale": [1, 1, 2**k, 2**k]}]}
        for k in range(3)
    ]
    window = {"start": 0, "end": 255, "min": 0, "max": 255}
    channels = [{"label": color, "color": color, "active": True, "window": window}
                for color in ("FF0000", "00FF00", "0000FF")]  # fmt: skip
    ome = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}], "omero": {"channels": channels}}
    hierarchy.create_group("/image", {"ome": ome})
    noise = np.random.default_rng(1)
    z, y, x = np.ogrid[:8, :SIDE, :SIDE]
    waves = np.stack([127 + 100 * np.sin((x * (c + 1) + y * (z + 3)) / 40) for c in range(3)])
    values = (waves + noise.normal(0, 8, waves.shape)).clip(0, 255).astype("uint8")
    for k in range(3):
        level = values[:, :, :: 1 << k, :: 1 << k]
        array = hierarchy.create_array(f"/image/{k}", shape=level.shape, dtype="uint8", chunks=(1, 1, 128, 128))
        array[...] = level


class Socket:
    """The messages of widgets that a page gets over its websockets, without the protocol's own parts."""

    def __init__(self, page: Any) -> None:
        self.received: list[bytes] = []
        page.on("websocket", lambda socket: socket.on("framereceived", self._keep))

    def _keep(self, data: str | bytes) -> None:
        if isinstance(data, bytes) and (begin := data.find(b'"data": {"method"')) > 0:
            self.received.append(data[begin:])

    @property
    def size(self) -> int:
        return sum(map(len, self.received))

    @property
    def pictures(self) -> int:
        return sum(b'"webp"' in data or b'"png"' in data for data in self.received)


@pytest.mark.needs("chromium", "jupyterlab")
@pytest.mark.slow
@pytest.mark.timeout(480)
def test_a_step_and_a_move_of_the_cursor_send_little_to_the_browser(tmp_path: Path) -> None:
    make_pyramid(tmp_path / "cells.zarr")
    cells = [f"from zarrscope_app.jupyter import explore\nexplore({str(tmp_path / 'cells.zarr')!r}, path='/image')"]
    with served(tmp_path, cells) as url, opened_page(url, []) as page:
        socket = Socket(page)
        page.reload()  # the sockets of the first visit were not listened to
        wait_for_kernel(page)
        run_first_cell(page)
        page.evaluate("() => { const s = document.querySelector('.zs').style; s.width = '1000px'; s.height = '700px' }")
        page.locator(".zs input[data-axis=z]").focus()
        _rest(page, socket, lambda: socket.pictures > 0)
        for key in ("Home", "ArrowRight", "End", "ArrowLeft"):
            socket.received.clear()
            page.keyboard.press(key)
            _rest(page, socket, lambda: socket.pictures > 0)
            assert socket.size <= MOST_BYTES, f"{key}: {[len(data) for data in socket.received]}"
        picture = page.locator(".zs [data-view=main] canvas").bounding_box()
        across, down = picture["x"] + picture["width"] / 2, picture["y"] + picture["height"] / 2
        page.mouse.move(across, down)
        _rest(page, socket, lambda: True)
        socket.received.clear()
        page.mouse.move(across + 37, down + 23)
        _rest(page, socket, lambda: any(b"probe" in data for data in socket.received))
        assert socket.pictures == 0
        assert socket.size <= MOST_HOVER_BYTES, socket.received


def _rest(page: Any, socket: Socket, happened: Callable[[], bool]) -> None:
    """Waits until `happened()`, the picture is whole, and nothing more has come for a second."""
    wait_until(lambda: happened() or page.wait_for_timeout(100))
    page.wait_for_function("() => !/loading/.test(document.querySelector('.zs').innerText)", timeout=90_000)
    before = -1
    while before != len(socket.received):
        before = len(socket.received)
        page.wait_for_timeout(1000)
