"""Saved views (image, plane, contrast …) in a window: copies them to the clipboard, pastes and bookmarks them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from zarrscope.errors import ZarrscopeError
from zarrscope_app.presenters import Workspace
from zarrscope_app.presenters.commands import LABELS, command
from zarrscope_app.presenters.session.state_text import is_view
from zarrscope_app.qt.toolkit.gui import QGuiApplication
from zarrscope_app.qt.toolkit.widgets import QInputDialog, QLineEdit, QMenu

from .text import literal
from .theme import icon


class Views:
    """The views of one workspace. `failed(error)` shows why a text is not a view, `say(sentence)` the result of a
    command."""

    def __init__(
        self, workspace: Workspace, failed: Callable[[BaseException], None], say: Callable[[str], None]
    ) -> None:
        self._workspace, self._failed, self._say = workspace, failed, say

    def copy(self) -> None:
        """Copies the displayed view to the clipboard."""
        clipboard = QGuiApplication.clipboard()
        text = self._workspace.view_text()
        if clipboard is not None and text:
            clipboard.setText(text)
            self._say(LABELS["view-copied"])

    def paste(self) -> None:
        """Opens the view that the clipboard contains; if it contains none, asks the person for the text of a view."""
        clipboard = QGuiApplication.clipboard()
        text = clipboard.text() if clipboard is not None else ""
        if not is_view(text):
            title = command("paste-view").label.rstrip("…")
            text, given = QInputDialog.getText(None, title, LABELS["view-to-paste"], QLineEdit.EchoMode.Normal)
            if not given:
                return
        self.show(text)

    def show(self, text: str) -> None:
        """Opens the view that a text describes."""
        try:
            self._workspace.restore(text)
        except ZarrscopeError as error:
            self._failed(error)

    def take(self, texts: Sequence[str]) -> list[str]:
        """Opens the views among dropped texts, and returns the other texts."""
        for text in filter(is_view, texts):
            self.show(text)
        return [text for text in texts if not is_view(text)]

    def fill(self, menu: QMenu) -> None:
        """Fills the menu with the bookmarks and the commands for them."""
        menu.clear()
        add = menu.addAction(LABELS["bookmark-add"])
        assert add is not None
        add.setEnabled(self._workspace.current is not None)
        add.triggered.connect(self._workspace.add_bookmark)
        menu.addSeparator()
        bookmarks = self._workspace.bookmarks
        for bookmark in bookmarks:
            action = menu.addAction(icon("recent"), literal(bookmark.label))
            assert action is not None
            action.triggered.connect(lambda _=False, text=bookmark.text: self.show(text))
        if bookmarks:
            menu.addSeparator()
            below = menu.addMenu(LABELS["bookmark-remove"])
            assert below is not None
            for bookmark in bookmarks:
                action = below.addAction(literal(bookmark.label))
                assert action is not None
                action.triggered.connect(partial(self._remove, bookmark.label))

    def _remove(self, label: str, _: bool = False) -> None:
        self._workspace.remove_bookmark(label)
