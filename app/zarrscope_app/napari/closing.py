"""Asks about running jobs and unsaved changes before the dock or napari's window closes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol
from weakref import ref

from qtpy.QtCore import QEvent, QObject
from qtpy.QtWidgets import QDockWidget, QWidget

from zarrscope_app.napari.background_planes import loop_runs
from zarrscope_app.napari.layer_menu import LayerMenu
from zarrscope_app.presenters import Session
from zarrscope_app.presenters.jobs import JobsPresenter, stop_all
from zarrscope_app.presenters.layers import label_edits
from zarrscope_app.presenters.session.open_places import OpenPlaces
from zarrscope_app.qt.closing import SECONDS_TO_STOP, may_stop
from zarrscope_app.qt.form import AttributesPane
from zarrscope_app.qt.review import CloseQuestion


class ClosingDock(Protocol):
    """The members of the dock that this module uses."""

    form: AttributesPane
    layer_menu: LayerMenu
    session: Session | None
    places: OpenPlaces

    def bring(self, session: Session) -> None:
        """Shows an open hierarchy in the tabs."""

    def show_form(self) -> None:
        """Brings the form to the front."""


class AsksBeforeClosing(QObject):
    """Guards the dock `widget`. The close button of a dock calls napari's `destroyOnClose`, which removes the dock
    without asking; so that method is replaced."""

    def __init__(self, dock: ClosingDock, widget: QWidget) -> None:
        super().__init__(widget)
        # No strong references: napari's window and its frames are released when napari closes them.
        self._dock, self._widget = ref(dock), ref(widget)
        self._frame: ref[Any] | None = None
        self._window: ref[QWidget] | None = None

    def watch(self) -> None:
        """Begins to guard the dock, once it has its place in a window."""
        widget = self._widget()
        frame: Any = widget  # Any: napari's class has methods that Qt's class lacks
        while frame is not None and not isinstance(frame, QDockWidget):
            frame = frame.parent()
        if widget is None or frame is None or (self._frame is not None and self._frame() is frame):
            return
        self._frame = ref(frame)
        if hasattr(frame, "destroyOnClose"):
            frame.destroyOnClose = partial(_destroy, ref(self), self._frame)
        window = widget.window()
        if window is not None:
            self._window = ref(window)
            window.installEventFilter(self)

    def stop(self) -> None:
        """Stops guarding the dock."""
        frame: Any = self._frame() if self._frame is not None else None  # Any: as above
        window = self._window() if self._window is not None else None
        self._frame = self._window = None
        if frame is not None and "destroyOnClose" in vars(frame):
            del frame.destroyOnClose
        if window is not None:
            window.removeEventFilter(self)

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        """Handles the window's close event, also if napari's menus close it: UnwrittenLabels asks about painted labels
        then. If a script closes the viewer, no question is asked."""
        if event is None or event.type() != QEvent.Type.Close or not (event.spontaneous() or loop_runs()):
            return False
        window = self._window() if self._window is not None else None
        if window is None or watched is not window:
            return False
        if self.may_close(window.close, event.spontaneous()):
            if (dock := self._dock()) is not None:
                stop_all(_jobs(dock), SECONDS_TO_STOP)  # the process may end with the window
            return False
        event.ignore()
        return True

    def may_close(self, close: Callable[[], object], labels: bool) -> bool:
        """Whether the dock or the window may close now. If the person chooses to save, `close` is called after saving.
        With `labels` the person is also asked about painted labels, which closing the window would lose."""
        dock = self._dock()
        if dock is None or dock.session is None:
            return True
        painted = dock.layer_menu.painting.unsaved if labels else []
        front = dock.session
        if not may_stop(_jobs(dock), self._widget()):
            return False
        return self._may_leave_all(dock, sorted(dock.places.sessions, key=lambda each: each is front), close, painted)

    def may_close_place(self, close: Callable[[], object]) -> bool:
        """Whether the hierarchy in front may be closed now. If the person chooses to save, `close` is called after
        saving."""
        dock = self._dock()
        if dock is None or dock.session is None:
            return True
        if not may_stop((dock.session.jobs,), self._widget()):
            return False
        return self._may_leave_all(dock, [dock.session], close, [])

    def _may_leave_all(
        self, dock: ClosingDock, sessions: Sequence[Session], close: Callable[[], object], painted: Sequence[Any]
    ) -> bool:
        """Asks about each hierarchy; the question about the hierarchy in front includes the painted layers. No edits
        are discarded before all questions are answered."""
        dock.form.commit()
        dropped: list[Session] = []
        for session in sessions:
            if not self._may_leave(session, close, painted if session is dock.session else [], dropped):
                return False
        for session in dropped:
            session.discard_edits()
        return True

    def _may_leave(
        self, session: Session, close: Callable[[], object], painted: Sequence[Any], dropped: list[Session]
    ) -> bool:
        """Asks about the unsaved edits of one hierarchy, and about painted layers. The session is appended to `dropped`
        if the person chooses to discard its edits."""
        if session.edit.when_edited(close):
            return False
        asked = session.edit.closing()
        if asked is None and not painted:
            return True
        asked = label_edits.closing([layer.name for layer in painted], asked) if painted else asked
        assert asked is not None
        question = CloseQuestion(asked, self._widget())
        question.exec()
        if question.answer == "save" and asked.opens:
            session.set_writable(True)
        elif question.answer == "save":
            session.edit.save_all(lambda trouble: self._saved(session, trouble, close))
        elif question.answer == "discard":
            dropped.append(session)
        return question.answer == "discard"

    def _saved(self, session: Session, trouble: str | None, close: Callable[[], object]) -> None:
        if trouble is None:
            close()
        elif (dock := self._dock()) is not None and session in dock.places.sessions:
            dock.bring(session)
            session.select(trouble)
            dock.show_form()


def _jobs(dock: ClosingDock) -> tuple[JobsPresenter, ...]:
    """The jobs of all open hierarchies, and those that write painted labels."""
    return (*(session.jobs for session in dock.places.sessions), dock.layer_menu.painting.edits.jobs)


def _destroy(asks: ref[AsksBeforeClosing], frame: ref[Any]) -> None:
    """Called when the dock's close button is clicked."""
    asking, found = asks(), frame()
    if found is not None:
        destroy = partial(type(found).destroyOnClose, found)
        if asking is None or asking.may_close(destroy, labels=False):
            destroy()
