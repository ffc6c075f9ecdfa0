"""Several hierarchies in one application: opens further ones, goes to the next one, and compares two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from textual.widget import Widget

from zarrscope.errors import ZarrscopeError
from zarrscope_app.presenters import Session, Workspace
from zarrscope_app.presenters import strings_terminal as words
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.session.actions import compare_or_stop
from zarrscope_app.presenters.session.state_text import is_view
from zarrscope_app.tui.picker import Picker
from zarrscope_app.tui.sheet import Sheet


class AsksPlaces(Protocol):
    """The part of the keyboard that these commands need (keys.py)."""

    @property
    def session(self) -> Session:
        """The session of the hierarchy in front."""

    @property
    def workspace(self) -> Workspace:
        """The open hierarchies."""

    def ask(self, label: str, text: str, accept: Callable[[str], object], after: Widget | None = None) -> None:
        """Asks for a line of text, proposed as `text`; `accept` gets the answer. `after` has the focus then; None: the
        form."""

    def show_sheet(self, sheet: Sheet, answered: Callable[[str | None], object]) -> None:
        """Shows a sheet over the screen; `answered` gets the choice, None after Esc."""

    def to_tree(self) -> Widget:
        """The tree's widget, which gets the focus after a question."""

    def go_to_front(self) -> None:
        """Moves the cursor of the tree to the selected node of the hierarchy in front."""


def open_place(keys: AsksPlaces, text: str) -> None:
    """Opens an address, or the text of a view, as a further hierarchy; brings it to the front if it is open."""
    text = text.strip()
    if not text:
        return
    try:
        if is_view(text):
            keys.workspace.restore(text)
        else:
            keys.workspace.open(text)
    except ZarrscopeError as error:
        keys.session.report(error)
        return
    keys.go_to_front()


def ask_place(keys: AsksPlaces) -> None:
    """Asks for an address to open."""
    keys.ask(LABELS["open-url-title"], "", lambda text: open_place(keys, text), keys.to_tree())


def ask_recent(keys: AsksPlaces) -> None:
    """Shows the recently opened addresses, to open one."""
    here = {url for session in keys.workspace.sessions for url in (session.url, session.given)}
    items = [(found.url, found.label, "") for found in keys.workspace.recent if found.url not in here]
    keys.show_sheet(
        Picker(LABELS["places"], items or [("", words.NOTHING_RECENT, "")]),
        lambda url: open_place(keys, url or ""),
    )


def ask_version(keys: AsksPlaces) -> None:
    """Shows the other branches and tags of the repository, to open one."""
    items = [(found.url, found.label, "") for found in keys.workspace.versions]
    keys.show_sheet(
        Picker(LABELS["versions"], items or [("", LABELS["no-versions"], "")]),
        lambda url: open_place(keys, url or ""),
    )


def next_place(keys: AsksPlaces) -> None:
    """Goes to the next hierarchy of the tree."""
    keys.workspace.bring_next()
    keys.go_to_front()


def ask_comparison(keys: AsksPlaces) -> None:
    """Stops a running comparison. Otherwise asks for the other side, proposing the same node of another open hierarchy,
    and whether to compare values."""
    session = keys.session
    problems = session.problems
    if not compare_or_stop(session):
        return
    path = "" if session.state.path == "/" else session.state.path
    others = [each.url.rstrip("/") + path for each in keys.workspace.sessions if each is not session]

    def typed(other: str) -> None:
        if not other.strip():
            return
        items = [("metadata", words.COMPARE_METADATA, ""), ("values", words.COMPARE_VALUES, "")]
        keys.show_sheet(
            Picker(LABELS["compare"], items),
            lambda answer: problems.compare(other, values=answer == "values") if answer else None,
        )

    keys.ask(LABELS["compare-with"], others[-1] if others else "", typed, keys.to_tree())
