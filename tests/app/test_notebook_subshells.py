"""Gestures that a notebook sends over a subshell of the kernel arrive on another thread than that of the widget."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import zarrscope
from zarrscope.runtime.threads import Mailbox
from zarrscope.stores.memory import MemoryStore
from zarrscope_app.presenters import MemorySettings

pytest.importorskip("anywidget")

from zarrscope_app.jupyter import Explorer, widget

SECONDS = 60.0


class Shown:
    """A widget that shows an array of 9 planes, and the threads on which its picture changed."""

    def __init__(self) -> None:
        store = MemoryStore()
        array = zarrscope.open(store, "a").create_array("/a", shape=(9, 8, 8), dtype="u1", chunks=(1, 8, 8))
        array[...] = np.arange(9, dtype="u1")[:, None, None]
        self.mailbox = Mailbox()
        self.widget = Explorer(store.url, path="/a", settings=MemorySettings(), post=self.mailbox, held=store)
        self.session = self.widget.session
        self.mailbox.run_until(lambda: self.session.slice.state.kind == "image", SECONDS)
        self.threads: set[int] = set()
        self.session.slice.changed.connect(lambda *_: self.threads.add(threading.get_ident()))

    @property
    def index(self) -> int:
        return self.session.slice.state.axes[0].index

    def step(self, to: int, number: int) -> dict[str, object]:
        """The message of a step to an index."""
        return {"do": "slice.set_index", "args": [self.session.slice.state.axes[0].name, to], "n": number}

    def elsewhere(self, *messages: dict[str, object]) -> None:
        """Hands messages over on another thread, as a subshell does, and waits until it ends."""

        def subshell() -> None:
            for message in messages:
                self.widget._receive(self.widget, message, [])

        thread = threading.Thread(target=subshell)
        thread.start()
        thread.join(SECONDS)
        assert not thread.is_alive()


@pytest.fixture
def shown() -> Iterator[Shown]:
    made = Shown()
    yield made
    made.widget.close()


def test_a_gesture_is_carried_out_on_the_thread_of_the_widget(shown: Shown) -> None:
    before = shown.index
    shown.elsewhere(shown.step(7, 1))
    assert shown.index == before, "a cell may be running on the thread of the widget"
    shown.mailbox.run_until(lambda: shown.index == 7, SECONDS)
    assert shown.threads == {threading.get_ident()}


def test_gestures_keep_their_order(shown: Shown) -> None:
    shown.elsewhere(*(shown.step(at, at) for at in (1, 2, 8)))
    shown.mailbox.run()
    assert shown.index == 8


def test_a_gesture_on_the_widgets_own_thread_is_carried_out_at_once(shown: Shown) -> None:
    shown.widget._receive(shown.widget, shown.step(3, 1), [])
    assert shown.index == 3


def test_a_gesture_that_waits_for_a_closed_widget_does_nothing(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    monkeypatch.setattr(widget, "perform_gesture", lambda *given: done.append(given))
    shown.elsewhere(shown.step(7, 1))
    shown.widget.close()
    shown.mailbox.run()
    assert done == []
