"""Dragging with the right button changes the contrast: sideways its width, upwards its centre."""

from __future__ import annotations

from typing import Any

import pytest

from zarrscope_app.presenters.image.view_models import ChannelView
from zarrscope_app.presenters.image.window_level import Limits, dragged, limits_of


def channel(lo: float | None, hi: float | None, visible: bool = True) -> ChannelView:
    return ChannelView("x", (255, 255, 255), visible, lo, hi, 1.0, False, 0.0, 100.0)


def test_channels_on_show_are_dragged() -> None:
    channels = (channel(10.0, 20.0), channel(0.0, 1.0, visible=False), channel(None, None), channel(0.0, 100.0))
    assert limits_of(channels) == (Limits(0, 10.0, 20.0), Limits(3, 0.0, 100.0))


@pytest.mark.parametrize(
    ("right", "up", "lo", "hi"),
    [
        (0.0, 0.0, 100.0, 200.0),
        (0.25, 0.0, 50.0, 250.0),
        (-0.25, 0.0, 125.0, 175.0),
        (0.0, 0.5, 50.0, 150.0),
        (0.0, -1.0, 200.0, 300.0),
    ],
)
def test_sideways_is_the_width_and_upwards_the_level(right: float, up: float, lo: float, hi: float) -> None:
    assert dragged([Limits(2, 100.0, 200.0)], right, up) == (Limits(2, lo, hi),)


@pytest.mark.needs("qt")
def test_dragging_with_the_right_button_changes_contrast_and_nothing_else(
    qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from types import SimpleNamespace

    from qtpy.QtCore import QEvent, QPointF, Qt
    from qtpy.QtGui import QMouseEvent
    from qtpy.QtWidgets import QApplication

    from zarrscope_app.qt.canvas import ImageCanvas

    canvas = ImageCanvas(lambda call: None)
    qtbot.addWidget(canvas)
    canvas.resize(400, 200)
    took: list[tuple[int, float, float]] = []
    presenter = SimpleNamespace(
        state=SimpleNamespace(channels=(channel(100.0, 200.0),)),
        set_levels=lambda *given: took.append(given),
        hover=lambda y, x: None,
    )
    monkeypatch.setattr(canvas, "_presenter", presenter)
    before = canvas.center
    button, none = Qt.MouseButton.RightButton, Qt.MouseButton.NoButton

    def mouse(kind: Any, x: float, y: float, changed: Any, held: Any) -> None:
        at = QPointF(x, y)
        keys = Qt.KeyboardModifier.NoModifier
        QApplication.sendEvent(canvas, QMouseEvent(kind, at, QPointF(canvas.mapToGlobal(at)), changed, held, keys))

    mouse(QEvent.Type.MouseButtonPress, 100, 100, button, button)
    mouse(QEvent.Type.MouseMove, 200, 100, none, button)
    mouse(QEvent.Type.MouseMove, 100, 0, none, button)
    mouse(QEvent.Type.MouseButtonRelease, 100, 0, button, none)
    mouse(QEvent.Type.MouseMove, 300, 50, none, none)
    monkeypatch.undo()
    assert took == [(0, 50.0, 250.0), (0, 50.0, 150.0)]
    assert canvas.center == before
