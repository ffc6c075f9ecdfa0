"""Saved views (image, plane, contrast …) in a window: copies them to the clipboard, pastes and bookmarks them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from zarrscope.errors import ZarrscopeError
from zarrscope_app.presenters import Workspace, strings
from zarrscope_app.presenters.commands import LABELS, command
from zarrscope_app.presenters.session.state_text import is_view
from zarrscope_app.qt.toolkit.core import Qt
from zarrscope_app.qt.toolkit.gui import QGuiApplication
from zarrscope_app.qt.toolkit.widgets import QDialog, QDialogButtonBox, QLineEdit, QMenu, QVBoxLayout, QWidget

from .text import Label, literal
from .theme import icon

_WIDTH = 560


class ViewDialog(QDialog):
    """Asks for the text of a view. Only a text that begins like one can be opened."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setWindowTitle(command("paste-view").label.rstrip("…"))
        told = Label(LABELS["view-missing"])
        told.setWordWrap(True)
        self.text = QLineEdit()
        self.text.setAccessibleName(LABELS["view-to-paste"])
        buttons = QDialogButtonBox()
        confirm = buttons.addButton(LABELS["open"], QDialogButtonBox.ButtonRole.AcceptRole)
        cancel = buttons.addButton(strings.CANCEL, QDialogButtonBox.ButtonRole.RejectRole)
        assert confirm is not None
        assert cancel is not None
        confirm.setEnabled(False)
        confirm.clicked.connect(self.accept)
        cancel.clicked.connect(self.reject)
        self.text.textChanged.connect(lambda text: confirm.setEnabled(is_view(text)))
        column = QVBoxLayout(self)
        column.setSpacing(12)
        for part in (told, self.text, buttons):
            column.addWidget(part)
        confirm.setDefault(True)  # in the dialog, else Qt forgets it when another button had the focus
        self.resize(_WIDTH, self.sizeHint().height())


class Views:
    """The views of one workspace. `failed(error)` shows why a text is not a view, `say(sentence)` the result of a
    command."""

    def __init__(
        self, workspace: Workspace, failed: Callable[[BaseException], None], say: Callable[[str], None], parent: QWidget
    ) -> None:
        self._workspace, self._failed, self._say, self._parent = workspace, failed, say, parent

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
        if is_view(text):
            self.show(text)
            return
        dialog = ViewDialog(self._parent)
        dialog.accepted.connect(lambda: self.show(dialog.text.text()))
        dialog.open()

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
        add.triggered.connect(lambda _=False: self._say(self._workspace.add_bookmark()))
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
