"""Keeps Python's lock (the GIL) while Qt handles an event of a list whose model is written in Python.

While Qt lays out or paints the rows of such a list it calls the model some sixty times a row. Python's lock would be
taken and released for each call, and each time a worker that computes may take it for a millisecond
(`sys.setswitchinterval`): a hundred waits in one painting while a large group is listed. PyQt keeps the lock while one
of Qt's functions is called from Python, so passing the events on from Python makes it one wait for each event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrscope_app.qt.toolkit.core import QEvent, Qt
from zarrscope_app.qt.toolkit.widgets import QAbstractScrollArea, QHeaderView, QTableView, QTreeView, QWidget

if TYPE_CHECKING:
    _View = QAbstractScrollArea
else:
    _View = object  # the view is the only Qt class among the bases


class KeepsLock(_View):
    """The first base of a view: `class Rows(KeepsLock, QTreeView)`. With PySide6, which gives the lock up for Qt's
    functions, it changes nothing."""

    def event(self, event: QEvent | None) -> bool:
        """Events of the view itself: timers, which also begin its layout, and keys."""
        return super().event(event)

    def viewportEvent(self, event: QEvent | None) -> bool:
        """Events of its content: painting, the mouse, a new size."""
        return super().viewportEvent(event)


class TreeView(KeepsLock, QTreeView):
    """A tree that keeps the lock."""


class TableView(KeepsLock, QTableView):
    """A table that keeps the lock, with headers that do."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setHorizontalHeader(_header(Qt.Orientation.Horizontal, self))
        self.setVerticalHeader(_header(Qt.Orientation.Vertical, self))


class _Header(KeepsLock, QHeaderView):
    pass


def _header(orientation: Qt.Orientation, table: QTableView) -> _Header:
    """A header like those that Qt makes for a table."""
    header = _Header(orientation, table)
    header.setSectionsClickable(True)
    header.setHighlightSections(True)
    return header
