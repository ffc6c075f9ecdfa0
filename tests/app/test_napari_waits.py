"""The dock tells which request is late, also for planes and layers, and Esc stops it; without a dock napari's
notifications tell it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from qtpy import QtTest
from qtpy.QtCore import Qt, QTimer

from contracts.http_server import WebServer, planes_server
from napari_hand import Hand
from zarrscope.view.loader import shared
from zarrscope_app.napari import planes
from zarrscope_app.presenters.layers import late_reads
from zarrscope_app.presenters.session import waiting_words as words

pytestmark = pytest.mark.needs("qt", "display")
QTest: Any = QtTest.QTest  # PyQt6 declares its static functions as methods


@pytest.fixture
def server() -> Iterator[WebServer]:
    with planes_server() as found:
        yield found


def escape(hand: Hand) -> None:
    hand.in_loop(lambda: QTest.keyClick(hand.dock, Qt.Key.Key_Escape))


def facts(hand: Hand) -> str:
    return str(hand.dock.facts.text())


def forget(layer: Any) -> None:
    """Forgets the chunks of a layer: its neighbouring planes may have been read ahead."""
    shared().invalidate(layer.data.array)


def shown(hand: Hand, server: WebServer) -> Any:
    hand.in_loop(lambda: hand.dock.open(f"{server.url}/", "/a"))
    hand.wait(lambda: hand.dock.session is not None and hand.dock.session.node is not None)
    hand.in_loop(hand.dock.add)
    hand.wait(lambda: hand.viewer.layers and not hand.dock._waiting and hand.viewer.layers[0].loaded)
    return hand.viewer.layers[0]


def test_a_plane_that_is_late_is_told_and_can_be_stopped(hand: Hand, server: WebServer) -> None:
    layer = shown(hand, server)
    server.gate.clear()
    forget(layer)
    hand.in_loop(lambda: hand.viewer.dims.set_current_step(0, 3))
    hand.wait(lambda: re.fullmatch(r"Waiting \d+ s for a/c/3/0/0 from \S+ · Esc stops", facts(hand)))
    assert not layer.loaded
    escape(hand)
    hand.wait(lambda: "left empty" in facts(hand) and "Stopped after" in facts(hand))
    assert layer.loaded
    hand.wait(lambda: hand.dock.retry.isVisibleTo(hand.dock))
    server.gate.set()
    hand.in_loop(hand.dock.retry.click)
    hand.wait(lambda: layer.get_value((3, 5, 5)) is not None and "Stopped" not in facts(hand))


def test_a_plane_that_is_tried_again_is_told(hand: Hand, server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZARRSCOPE_PAUSE", "3")
    layer = shown(hand, server)
    server.failing.add("a/c/")
    forget(layer)
    hand.in_loop(lambda: hand.viewer.dims.set_current_step(0, 3))
    hand.wait(lambda: re.search(r"answered 503; trying again in \d+ s \(2 of 4\) · Esc stops", facts(hand)))
    server.failing.clear()
    hand.wait(lambda: layer.loaded and "trying again" not in facts(hand))


def test_layers_that_are_late_are_told_and_can_be_stopped(hand: Hand, server: WebServer) -> None:
    hand.in_loop(lambda: hand.dock.open(f"{server.url}/", "/a"))
    hand.wait(lambda: hand.dock.session is not None and hand.dock.session.node is not None)
    server.gate.clear()
    hand.in_loop(hand.dock.add)
    hand.wait(lambda: re.match(r"Waiting \d+ s for a/c/", facts(hand)))
    assert hand.dock.adding
    escape(hand)
    hand.wait(lambda: not hand.dock.adding)
    assert "Stopped after" in facts(hand)
    server.gate.set()
    hand.in_loop(hand.dock.add)
    hand.wait(lambda: hand.viewer.layers)


def test_without_a_dock_a_late_plane_is_told_once(
    make_napari_viewer: Any, qtbot: Any, server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_reads, "TOLD_WITHOUT_DOCK_SECONDS", 1.0)
    told: list[str] = []
    monkeypatch.setattr("napari.utils.notifications.show_info", told.append)
    viewer = make_napari_viewer()
    planes.watch(viewer)
    (layer,) = viewer.open(f"{server.url}/a", plugin="zarrscope")
    server.gate.clear()
    forget(layer)
    done: list[bool] = []

    def step() -> None:
        viewer.dims.set_current_step(0, 3)
        done.append(True)

    QTimer.singleShot(0, step)
    qtbot.waitUntil(lambda: bool(done and told), timeout=60_000)
    qtbot.wait(1500)
    server.gate.set()
    qtbot.waitUntil(lambda: layer.loaded, timeout=60_000)
    (only,) = told
    assert re.fullmatch(r"Waiting \d+ s for c/3/0/0 from 127\.0\.0\.1:\d+", only)


def test_the_add_key_while_nothing_is_open_says_nothing_new(hand: Hand, server: WebServer) -> None:
    """It said "Loading…" for ever."""
    hand.in_loop(lambda: hand.dock.open(f"{server.url}/nothing/here.zarr"))
    hand.wait(lambda: hand.dock.session is not None and hand.dock.session.state.retry)
    before = facts(hand)
    hand.in_loop(hand.dock.add)
    end = time.monotonic() + 0.3
    hand.wait(lambda: time.monotonic() > end)
    assert facts(hand) == before
    assert not hand.dock.adding


def test_the_add_key_while_a_place_opens_adds_it_then(hand: Hand, server: WebServer) -> None:
    server.gate.clear()
    hand.in_loop(lambda: hand.dock.open(f"{server.url}/", "/a"))
    hand.in_loop(hand.dock.add)
    server.gate.set()
    hand.wait(lambda: hand.viewer.layers)


def test_a_wait_without_a_key_that_stops_it() -> None:
    assert words.waiting("http://h:80/x", "c/0", 3, ends="") == "Waiting 3 s for c/0 from h:80"
