"""The form of a node, driven through its presenter without a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import zarrscope
from zarrscope.errors import ZarrscopeError
from zarrscope.runtime.threads import Mailbox, shared
from zarrscope_app.presenters.form.presenter import EditPresenter, EditStatus
from zarrscope_app.presenters.form.view_models import Way
from zarrscope_app.presenters.node_details import read_details

SECONDS = 60


class OneForm:
    """The form of one node of a store, without a session."""

    def __init__(self, place: Path, mailbox: Mailbox) -> None:
        self.hierarchy = zarrscope.open(str(place), "r+")
        self._mailbox, self._owner = mailbox, shared().owner(mailbox)
        self.edit = EditPresenter(self._owner)
        self.edit.attach(self.hierarchy, writable=True)

    def nodes(self) -> Iterator[str]:
        yield "/"
        try:
            yield from (path for path, _ in self.hierarchy.walk())
        except ZarrscopeError:
            return  # it cannot be listed

    def show(self, path: str, way: Way) -> bool:
        """Shows a node; returns whether its form opens in this view."""
        edit = self.edit
        edit.expect(path)
        try:
            edit.show_node(read_details(self.hierarchy, path))
        except ZarrscopeError:
            return False
        self._mailbox.run_until(lambda: edit.state.status is not EditStatus.EMPTY or not edit.state.ways, SECONDS)
        edit.show_way(way)
        return edit.state.status is EditStatus.CLEAN and edit.state.way == way

    def save(self) -> bool:
        """Saves the form; returns whether that is done."""
        edit = self.edit
        self._mailbox.run_until(lambda: not edit.busy, SECONDS)
        edit.save()
        self._mailbox.run_until(lambda: not edit.busy and edit.state.status is not EditStatus.SAVING, SECONDS)
        return edit.state.status is EditStatus.CLEAN

    def drop(self) -> None:
        """Drops edits that cannot be saved."""
        self.edit.reload()
        self._mailbox.run_until(lambda: self.edit.state.status is EditStatus.CLEAN, SECONDS)

    def close(self) -> None:
        self._owner.close()
        self.hierarchy.close()
