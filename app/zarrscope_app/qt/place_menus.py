"""Menus that are filled as they open: recent addresses, and the open sessions of this window."""

from __future__ import annotations

from collections.abc import Callable

from zarrscope_app.presenters import Recent, Workspace
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.image.linking import shared_link
from zarrscope_app.qt.toolkit.widgets import QMenu

from .menus import Menus
from .text import literal, tip


def fill_places(menus: Menus, workspace: Workspace, open_place: Callable[[str], None]) -> None:
    """Has the menus of recent addresses, and of the versions of a repository, filled as they open."""
    recent, versions = menus.menus["open-recent"], menus.menus["versions"]
    recent.aboutToShow.connect(lambda: _fill_recent(recent, workspace, open_place))
    versions.aboutToShow.connect(lambda: _fill_versions(versions, workspace, open_place))


def _fill(menu: QMenu, places: tuple[Recent, ...], open_place: Callable[[str], None]) -> None:
    menu.clear()
    for place in places:
        action = menu.addAction(literal(place.label))
        assert action is not None
        action.setToolTip(tip(place.url))
        action.triggered.connect(lambda _=False, url=place.url: open_place(url))


def _fill_versions(menu: QMenu, workspace: Workspace, open_place: Callable[[str], None]) -> None:
    """Lists the other branches and tags of the repository in front."""
    _fill(menu, workspace.versions, open_place)
    if menu.isEmpty():
        none = menu.addAction(LABELS["no-versions"])
        assert none is not None
        none.setEnabled(False)


def _fill_recent(menu: QMenu, workspace: Workspace, open_place: Callable[[str], None]) -> None:
    """Lists the recent addresses, newest first, and the command to clear them."""
    _fill(menu, workspace.recent, open_place)
    menu.addSeparator()
    clear = menu.addAction(LABELS["clear-recent"])
    assert clear is not None
    clear.setEnabled(bool(workspace.recent))
    clear.triggered.connect(workspace.clear_recent)


def fill_sessions(menus: Menus, workspace: Workspace) -> None:
    """Lists the window commands, and the open sessions of this window."""
    menu = menus.menus["window"]
    menu.clear()
    for id in ("next-place", "new-window"):  # an action that is in no menu loses its key
        menu.addAction(menus.actions[id])
    linked = menus.actions["link"]
    linked.setCheckable(True)
    linked.setChecked(shared_link().linked)
    menu.addAction(linked)
    menu.addSeparator()
    for id in ("panel-tree", "panel-channels", "panels-reset"):
        menu.addAction(menus.actions[id])
    menu.addSeparator()
    for session in workspace.sessions:
        action = menu.addAction(literal(session.state.title))
        assert action is not None
        action.setCheckable(True)
        action.setChecked(session is workspace.current)
        action.triggered.connect(lambda _=False, session=session: workspace.bring(session))
