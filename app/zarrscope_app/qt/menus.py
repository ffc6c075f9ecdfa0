"""Menus and keys of a window, built from the table of commands.

Keys with Ctrl, Alt or a function key are Qt shortcuts. Plain keys ("A", "Left") are not: they reach the window only if
the focused widget did not use them, so they never interfere with typing or with moving in the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from zarrscope_app.presenters.commands import COMMANDS, MENUS, OFFERS, SUBMENUS, Command, is_plain
from zarrscope_app.qt.toolkit.core import Qt
from zarrscope_app.qt.toolkit.gui import QAction, QKeyEvent, QKeySequence
from zarrscope_app.qt.toolkit.widgets import QMainWindow, QMenu

from .theme import icon

_SUBMENUS = ("open-recent", "versions", "bookmarks")
NEEDS_SESSION = (
    "close",
    "refresh",
    "writable",
    "back",
    "forward",
    "copy-path",
    "copy-python",
    "reveal",
    "terminal",
    "copy-view",
    "export",
    "check",
    "open-neuroglancer",
    "open-vizarr",
    "open-napari",
    "open-fiji",
)
"""Commands that are enabled only while a hierarchy is open."""


class Menus:
    """The menus and keys of a window. `actions[id]` and `menus[id]` belong to `window`; a command calls `run(id)`."""

    def __init__(self, window: QMainWindow, run: Callable[[str], None]) -> None:
        self.actions: dict[str, QAction] = {}
        self.menus: dict[str, QMenu] = {}
        self._plain: dict[str, str] = {}
        bar = window.menuBar()
        assert bar is not None
        for id, title in MENUS:
            menu = bar.addMenu(title)
            assert menu is not None
            self.menus[id] = menu
            group = 0
            for found in sorted((each for each in COMMANDS if each.menu == id), key=lambda each: each.group):
                if found.group != group:
                    menu.addSeparator()
                    group = found.group
                if found.id in _SUBMENUS:
                    self._submenu(menu, found.id, found.label, found.icon)
                    continue
                if found.below and found.below not in self.menus:
                    self._submenu(menu, found.below, SUBMENUS[found.below])
                action = self._action(window, found)
                action.triggered.connect(lambda _=False, id=found.id: run(id))
                self.menus[found.below or id].addAction(action)
        self.offer(())

    def _submenu(self, menu: QMenu, id: str, title: str, icon_name: str = "") -> None:
        below = menu.addMenu(title)
        assert below is not None
        if icon_name:
            below.setIcon(icon(icon_name))
        self.menus[id] = below

    def _action(self, window: QMainWindow, found: Command) -> QAction:
        keys = [key for key in found.keys if not is_plain(key)]
        plain = [key for key in found.keys if is_plain(key)]
        # Qt shows text after a tab as the key, but does not register it as a shortcut.
        text = found.label if keys or not plain else f"{found.label}\t{plain[0]}"
        action = QAction(text, window)
        if found.icon:
            action.setIcon(icon(found.icon))
        action.setShortcuts([QKeySequence(key) for key in keys])
        self.actions[found.id] = action
        self._plain.update(dict.fromkeys(plain, found.id))
        return action

    def plain_command(self, event: QKeyEvent) -> str | None:
        """The command of a plain key that no widget used; None if the key has no command."""
        text = event.text().upper()
        held = event.modifiers() & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier)
        if text in self._plain and text.strip() and not held:
            return self._plain[text]
        return self._plain.get(QKeySequence(event.keyCombination()).toString(QKeySequence.SequenceFormat.PortableText))

    def enable(self, ids: tuple[str, ...], enabled: bool) -> None:
        """Enables these commands, or greys them out."""
        for id in ids:
            self.actions[id].setEnabled(enabled)

    def offer(self, ids: Container[str]) -> None:
        """Shows these commands of OFFERS, and hides the others: they mean nothing without the sentence beside them."""
        for id in OFFERS:
            self.actions[id].setEnabled(id in ids)
            self.actions[id].setVisible(id in ids)
