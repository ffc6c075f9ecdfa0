"""The menus of the window: what they list, and when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contracts.slides import image
from zarrscope_app.presenters.commands import COMMANDS, LABELS, MENUS, OFFERS, SUBMENUS, command

pytestmark = pytest.mark.needs("qt", "display")
WAIT = 60_000


@pytest.fixture
def window(qtbot: Any, tmp_path: Path) -> Any:
    """A window with an image, which needs nothing that a session offers."""
    from qt_robot import window_on

    image(tmp_path / "cells.zarr", ("DAPI",))
    window, session = window_on(qtbot, str(tmp_path / "cells.zarr"))
    qtbot.waitUntil(lambda: session.node is not None and not session.state.selecting, timeout=WAIT)
    return window


def listed(window: Any, menu: str) -> list[str]:
    """The texts of the visible entries of a menu, without their keys."""
    found = window.menus.menus[menu]
    found.aboutToShow.emit()
    entries = [action for action in found.actions() if action.isVisible() and not action.isSeparator()]
    return [action.text().partition("\t")[0] for action in entries]


def test_what_is_not_offered_is_not_listed(window: Any, qtbot: Any) -> None:
    """*Take as missing* and its like could be chosen where nothing was wrong, and then did nothing."""
    names = {command(id).label for id in OFFERS}
    assert not names & {*listed(window, "file"), *listed(window, "edit")}
    window.workspace.current.changed.emit()
    window._workspace_changed()
    assert not names & {*listed(window, "file"), *listed(window, "edit")}
    window.menus.offer(("follow-links",))
    assert command("follow-links").label in listed(window, "file")
    assert window.menus.actions["follow-links"].isEnabled()


def test_the_view_menu_fits_a_small_screen(window: Any) -> None:
    """It was 830 pixels high."""
    assert window.menus.menus["view"].sizeHint().height() <= 640
    for id, title in SUBMENUS.items():
        assert title in listed(window, "view")
        assert listed(window, id) == [found.label for found in COMMANDS if found.below == id]


def test_every_entry_stands_in_one_menu_and_keeps_its_key(window: Any) -> None:
    """The list of open places dropped *Next open place*, and F6 with it."""
    for id, _ in MENUS:
        window.menus.menus[id].aboutToShow.emit()
    for found in COMMANDS:
        if found.menu and found.id in window.menus.actions:
            at = [name for name, menu in window.menus.menus.items() if window.menus.actions[found.id] in menu.actions()]
            assert at == [found.below or found.menu], found.id


def test_the_menu_says_whether_a_check_begins_or_stops(window: Any, qtbot: Any) -> None:
    assert {LABELS["check-begin"], LABELS["compare-begin"]} < {*listed(window, "node")}
    problems = window.workspace.current.problems
    problems.check()
    if problems.checking:
        assert LABELS["check-to-stop"] in listed(window, "node")
    qtbot.waitUntil(lambda: not problems.checking, timeout=WAIT)
    assert LABELS["check-begin"] in listed(window, "node")
