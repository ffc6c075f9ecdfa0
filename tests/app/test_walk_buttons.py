"""The arrows beside the path, which step through a plate by the mouse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contracts.slides import image, plate
from zarrscope_app.presenters.image.walking import Walker
from zarrscope_app.presenters.session.actions import neighbours

pytestmark = pytest.mark.needs("qt", "display")
WAIT = 60_000


@pytest.fixture
def window(qtbot: Any, tmp_path: Path) -> Any:
    """A window with a plate of three wells with two fields each."""
    from qt_robot import window_on

    plate(tmp_path / "plate.zarr", fields=2)
    window, session = window_on(qtbot, str(tmp_path / "plate.zarr"))
    overview: Any = session.tabs.presenters["overview"]
    qtbot.waitUntil(lambda: bool(overview.state.cells), timeout=WAIT)
    return window


def go(qtbot: Any, window: Any, act: Any, path: str) -> list[tuple[bool, bool]]:
    """Does something, waits until the node at `path` is displayed, and returns which arrows are visible and enabled."""
    session = window.workspace.current
    act()
    qtbot.waitUntil(lambda: session.state.path == path and not session.state.selecting, timeout=WAIT)
    return [(button.isVisible(), button.isEnabled()) for button in window.address.steps.values()]


def test_arrows_lead_through_the_fields_of_a_plate(window: Any, qtbot: Any) -> None:
    before, after = window.address.steps.values()
    select = window.workspace.current.select
    assert not before.isVisible(), "the plate itself is in no collection"
    assert go(qtbot, window, lambda: select("/A/1"), "/A/1") == [(True, False), (True, True)]
    assert go(qtbot, window, lambda: select("/A/1/0"), "/A/1/0") == [(True, False), (True, True)]
    assert go(qtbot, window, after.click, "/A/1/1") == [(True, True), (True, True)]
    assert go(qtbot, window, after.click, "/A/2/0") == [(True, True), (True, True)]
    for path in ("/A/2/1", "/A/3/0", "/A/3/1"):
        state = go(qtbot, window, after.click, path)
    assert state == [(True, True), (True, False)], "the last field of the last well"
    go(qtbot, window, before.click, "/A/3/0")
    assert before.toolTip() == "Previous well, field or image (F7)"
    assert not any(visible for visible, _ in go(qtbot, window, lambda: select("/"), "/"))


def test_an_image_alone_has_no_arrows(qtbot: Any, tmp_path: Path) -> None:
    from qt_robot import window_on

    image(tmp_path / "a.zarr", ("DAPI",))
    window, session = window_on(qtbot, str(tmp_path / "a.zarr"))
    qtbot.waitUntil(lambda: session.node is not None and not session.state.selecting, timeout=WAIT)
    assert neighbours(session) is None
    assert not any(button.isVisible() for button in window.address.steps.values())


def test_a_well_that_was_not_read_may_lead_on() -> None:
    nobody: Any = None
    hierarchy: Any = object()
    walker = Walker(nobody)
    walker.enter(hierarchy)
    walker.walks["/"] = ("/A/1", "/A/2")
    assert walker.neighbours(hierarchy, "/A/1/0") == (True, True)
    walker.walks["/A/1"] = ("/A/1/0",)
    assert walker.neighbours(hierarchy, "/A/1/0") == (False, True)
    assert walker.neighbours(hierarchy, "/B") is None
    assert walker.neighbours(nobody, "/A/1/0") is None
