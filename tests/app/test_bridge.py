"""Calls from worker threads to the window's thread: order, batches between which input is handled, nested loops,
errors.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest
from qtpy.QtCore import QEventLoop, QTimer
from qtpy.QtWidgets import QApplication

from zarrscope_app.qt import bridge as bridges
from zarrscope_app.qt.bridge import Bridge

CALLS = 20


def passes(told: list[Any], wanted: int) -> None:
    for _ in range(200):
        QApplication.processEvents()
        if len(told) >= wanted:
            return
    raise AssertionError(f"{len(told)} of {wanted} calls came: {told}")


def test_calls_of_other_threads_run_here_in_their_order(qapp: Any) -> None:
    bridge, told = Bridge(), list[tuple[int, bool]]()
    here = threading.get_ident()

    def arrived(number: int) -> None:
        told.append((number, threading.get_ident() == here))

    def post() -> None:
        for number in range(1000):
            bridge.post(partial(arrived, number))

    worker = threading.Thread(target=post)
    worker.start()
    while worker.is_alive():
        QApplication.processEvents()
    passes(told, 1000)
    assert told == [(number, True) for number in range(1000)]


def test_a_timer_comes_between_two_turns(qapp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call here takes the whole time of its batch; Qt alone would handle just as many queued signals before the
    timer."""
    monkeypatch.setattr(bridges, "TURN", 0.0)
    bridge, told = Bridge(), list[object]()
    QApplication.processEvents()
    for number in range(CALLS):
        bridge.post(partial(told.append, number))
    QTimer.singleShot(0, lambda: told.append("timer"))
    passes(told, CALLS + 1)
    assert told.index("timer") < CALLS
    assert [each for each in told if each != "timer"] == list(range(CALLS))


def test_a_timer_begins_each_turn_but_the_first(qapp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the application's event loop Qt handles a signal that was emitted in a turn before timers that are due, so
    that two or three turns ran between them."""
    monkeypatch.setattr(bridges, "TURN", 0.0)
    bridge, told, signals = Bridge(), list[int](), list[None]()
    loop, patience = QEventLoop(), QTimer()
    patience.timeout.connect(loop.quit)
    bridge._posted.connect(lambda: signals.append(None))
    for number in range(CALLS):
        bridge.post(partial(told.append, number))
    bridge.post(loop.quit)
    patience.start(60_000)
    loop.exec()
    assert told == list(range(CALLS))
    assert len(signals) == 1


def test_calls_that_come_together_need_few_signals(qapp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridges, "TURN", 60.0)
    bridge, told, turns = Bridge(), list[int](), list[None]()
    bridge._posted.connect(lambda: turns.append(None))
    for number in range(CALLS):
        bridge.post(partial(told.append, number))
    passes(told, CALLS)
    assert told == list(range(CALLS))
    assert len(turns) <= 2


def test_an_event_loop_within_a_call_runs_the_calls_after_it(qapp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call may open a dialog with an event loop of its own; calls for results then run in that loop."""
    monkeypatch.setattr(bridges, "TURN", 60.0)
    bridge, told = Bridge(), list[str]()
    loop = QEventLoop()

    def dialog() -> None:
        told.append("opened")
        QTimer.singleShot(5000, loop.quit)
        loop.exec()
        told.append("closed")

    bridge.post(dialog)
    bridge.post(lambda: told.append("meanwhile"))
    bridge.post(loop.quit)
    passes(told, 3)
    assert told == ["opened", "meanwhile", "closed"]


def test_a_call_that_fails_holds_up_no_other(qapp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridges, "TURN", 60.0)
    bridge, told = Bridge(), list[str]()
    monkeypatch.setattr("sys.excepthook", lambda *_: told.append("fault"))

    def fail() -> None:
        raise RuntimeError("as a slot may")

    bridge.post(fail)
    bridge.post(lambda: told.append("next"))
    passes(told, 2)
    assert sorted(told) == ["fault", "next"]


def test_after_close_nothing_runs(qapp: Any) -> None:
    bridge, told = Bridge(), list[str]()

    def close() -> None:
        told.append("first")
        bridge.close()

    bridge.post(close)
    bridge.post(lambda: told.append("second"))
    passes(told, 1)
    bridge.post(lambda: told.append("third"))
    for _ in range(5):
        QApplication.processEvents()
    assert told == ["first"]
