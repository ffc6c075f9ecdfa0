"""The interface of the application (app.py) for the code that handles keys (keys.py)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from textual.screen import Screen
from textual.widget import Widget

from zarrscope_app.presenters import Session, Workspace
from zarrscope_app.presenters.session.bookmarks import Bookmarks
from zarrscope_app.tui.picture import PictureWidget
from zarrscope_app.tui.sheet import Sheet
from zarrscope_app.tui.theme import Themes
from zarrscope_app.tui.tree_lines import TreeLines

PART = TypeVar("PART", bound=Widget)


class Application(Protocol):
    """The members of the application (app.py) that `Keyboard` uses."""

    workspace: Workspace
    picture: PictureWidget
    themes: Themes

    @property
    def session(self) -> Session:
        """The session of the hierarchy in front."""

    @property
    def tree_lines(self) -> TreeLines:
        """The tree's widget."""

    @property
    def screen(self) -> Screen[Any]:
        """The screen in front: a sheet, or the main screen."""

    @property
    def screen_stack(self) -> list[Screen[Any]]:
        """The main screen, and the sheets over it."""

    @property
    def pane(self) -> Widget:
        """The widget of the tab in front that handles keys."""

    @property
    def focus_below(self) -> Widget | None:
        """The focused widget of the main screen, even while a sheet covers it."""

    def part(self, id: str, kind: type[PART]) -> PART:
        """A widget of the main screen, whether a sheet covers it or not."""

    def bring_pane(self) -> None:
        """Shows the pane of the tab in front, and gives it the focus."""

    def after_key(self) -> None:
        """Updates the parts that a key may have changed besides the presenters."""

    def pop_screen(self) -> object:
        """Closes the sheet in front."""

    def show_sheet(self, sheet: Sheet, answered: Callable[[str | None], object] | None = None) -> None:
        """Shows a sheet over the screen; `answered` gets the choice, None after Esc."""

    def review(self) -> None:
        """Shows the changes of the displayed node on a sheet."""

    def leave(self) -> None:
        """Leaves the program; asks once about unsaved changes."""

    def close_place(self) -> None:
        """Closes the hierarchy in front; leaves the program if it is the only one."""

    def go_to_front(self) -> None:
        """Moves the cursor of the tree to the selected node of the hierarchy in front."""

    def copy_to_clipboard(self, text: str) -> None:
        """Asks the terminal to put a text on the clipboard, which not every terminal does."""

    def suspend(self) -> AbstractContextManager[None]:
        """A context in which another program uses the terminal."""

    def notify(self, message: str) -> None:
        """Shows a message for a while."""

    def to_shell(self) -> None:
        """Suspends the program, if there is a shell that can bring it back."""

    def show_pixels(self) -> None:
        """Shows the picture in the terminal's pixels instead of cells, once its chunks have arrived."""

    def drop_pixels(self) -> None:
        """Cancels a requested picture in pixels."""

    read_only: bool
    bookmarks: Bookmarks
