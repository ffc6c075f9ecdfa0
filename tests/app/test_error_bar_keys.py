"""The Tab key visits the buttons of the error bar as they stand there."""

from __future__ import annotations

from typing import Any

import pytest
from qtpy.QtCore import QPoint
from qtpy.QtWidgets import QAbstractButton

from zarrscope_app.qt.error_bar import ErrorBar

pytestmark = pytest.mark.needs("qt", "display")


def test_tab_goes_from_left_to_right(qtbot: Any) -> None:
    """The offers, which are made last, came after all other buttons of the window."""
    bar = ErrorBar()
    qtbot.addWidget(bar)
    bar.resize(1000, 60)
    for _ in range(2):
        offers = [("Other credentials", lambda: None), ("Follow links", lambda: None)]
        bar.show_error("It failed", "The whole story", retry=lambda: None, offers=offers)
    qtbot.wait(50)  # until the new buttons have their places
    buttons = [each for each in bar.findChildren(QAbstractButton) if each.isVisible()]
    buttons.sort(key=lambda each: each.mapTo(bar, QPoint()).x())
    visited: list[Any] = [buttons[0]]
    while len(visited) < 4:
        following = visited[-1].nextInFocusChain()
        while following not in buttons:
            following = following.nextInFocusChain()
        visited.append(following)
    assert visited == buttons[:4]
    assert [each.text() for each in buttons[:4]] == ["Details", "Other credentials", "Follow links", "Retry"]
