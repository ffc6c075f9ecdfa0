"""The branches and tags of an Icechunk repository: listed in Info, and opened from a list in the window and the
terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zarrscope
from terminal_hand import Screen, explore
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import MemorySettings, SessionStatus, Workspace
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.node_details import read_details

SECONDS = 60.0


@pytest.fixture
def repository(tmp_path: Path) -> str:
    """A repository whose array is 1 in the branch main and the tag v1, and 2 in the branch "dev|x"."""
    icechunk = pytest.importorskip("icechunk")
    import zarr

    place = tmp_path / "repository"
    made = icechunk.Repository.create(icechunk.local_filesystem_storage(str(place)))
    session = made.writable_session("main")
    zarr.open_group(session.store, mode="w").create_array("a", shape=(4,), chunks=(2,), dtype="u2")[...] = 1
    first = session.commit("first")
    made.create_branch("dev|x", first)
    made.create_tag("v1", snapshot_id=first)
    session = made.writable_session("dev|x")
    zarr.open_array(session.store, path="a")[...] = 2
    session.commit("second")
    return str(place)


def test_each_version_has_an_address_that_opens_it(repository: str) -> None:
    kind = zarrscope.open(repository).recognition
    assert kind is not None
    assert [(each.kind, each.name, each.shown) for each in kind.versions] == [
        ("branch", "dev|x", False),
        ("branch", "main", True),
        ("tag", "v1", False),
    ]
    for each, value in zip(kind.versions, (2, 1, 1), strict=True):
        found: Any = zarrscope.open(each.address)
        assert found["a"][0] == value
        told = found.recognition
        assert told is not None
        assert [other.name for other in told.versions if other.shown] == [each.name]


def test_info_of_the_root_lists_them(repository: str) -> None:
    hierarchy = zarrscope.open(repository)
    shown = {
        path: [(item.label, item.text) for item in read_details(hierarchy, path).info.sections[0].items]
        for path in ("/", "/a")
    }
    assert ("Branch", "dev|x · …|icechunk:@branch.dev%7Cx") in shown["/"]
    assert ("Branch (shown)", "main · …|icechunk:@branch.main") in shown["/"]
    assert ("Tag", "v1 · …|icechunk:@tag.v1") in shown["/"]
    assert not any("icechunk:@" in text for _, text in shown["/a"])


def test_the_workspace_offers_the_others(repository: str, mailbox: Mailbox) -> None:
    workspace = Workspace(mailbox, MemorySettings())
    session = workspace.open(repository)
    mailbox.run_until(lambda: session.state.status is SessionStatus.READY, SECONDS)
    assert [each.label for each in workspace.versions] == ["branch dev|x", "tag v1"]
    other = workspace.open(workspace.versions[1].url)
    mailbox.run_until(lambda: other.state.status is SessionStatus.READY, SECONDS)
    assert [each.label for each in workspace.versions] == ["branch dev|x", "branch main"]
    for each in (session, other):
        workspace.close(each)
    assert workspace.versions == ()


def test_the_terminal_opens_another_version(repository: str) -> None:
    async def steps(screen: Screen) -> None:
        await screen.command("versions")
        await screen.until(lambda: "branch dev|x" in screen.painted(), "the versions are listed")
        assert LABELS["versions"] in screen.painted()
        await screen.press("enter")
        await screen.until(lambda: "@branch.dev" in screen.app.session.state.title, "the other version is open")

    explore(repository, steps)


def test_the_terminal_says_that_there_are_none(tmp_path: Path) -> None:
    zarrscope.open(tmp_path / "v.zarr", "w-").create_group("/g")

    async def steps(screen: Screen) -> None:
        await screen.command("versions")
        await screen.until(lambda: "no Icechunk repository" in screen.painted(), "it says so")

    explore(str(tmp_path / "v.zarr"), steps, (120, 24))


def test_the_menu_of_the_window_opens_another_version(repository: str, qtbot: Any) -> None:
    from qt_robot import window_on

    window, session = window_on(qtbot, repository)
    qtbot.waitUntil(lambda: session.state.status is SessionStatus.READY, timeout=int(SECONDS * 1000))
    menu = window.menus.menus["versions"]
    menu.aboutToShow.emit()
    assert [action.text() for action in menu.actions()] == ["branch dev|x", "tag v1"]
    menu.actions()[1].trigger()
    other = window.workspace.current
    assert other is not None
    qtbot.waitUntil(lambda: "@tag.v1" in other.state.title, timeout=int(SECONDS * 1000))
