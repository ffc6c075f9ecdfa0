"""The table of the window's widgets: a factory for each view of the presenters' table.

A factory is called with `post` and returns a widget with `attach(presenter or None)`. A view of another distribution
names its factory by `widgets={"qt": "module:factory"}`; if it names none, its text is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from zarrscope.errors import Unsupported
from zarrscope_app.presenters import VIEWS, Post, Session, View
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.views import ViewPresenter, text_of, widget_factory
from zarrscope_app.qt.follow import follow
from zarrscope_app.qt.toolkit.core import QSignalBlocker
from zarrscope_app.qt.toolkit.widgets import QPlainTextEdit, QSizePolicy, QTabWidget, QVBoxLayout, QWidget

from .chunks import ChunksPane
from .form import AttributesPane
from .image import ImagePane
from .overview import OverviewPane
from .panes import InfoPane, ValuesPane
from .polling import PollsWhileVisible
from .problems import ProblemsPane
from .text import literal
from .theme import fixed_font

WIDGETS: dict[str, Callable[[Post], QWidget]] = {
    "overview": lambda post: OverviewPane(),
    "image": ImagePane,
    "values": lambda post: ValuesPane(),
    "attributes": lambda post: AttributesPane(),
    "chunks": lambda post: ChunksPane(),
    "info": lambda post: InfoPane(),
    "problems": lambda post: ProblemsPane(),
}


def make_widget(view: View, post: Post, hosts: tuple[str, ...] = ("qt",)) -> QWidget:
    """The widget of a view. `hosts` are the names of front ends in order of preference: a view of another distribution
    gets the widget that it names for the first of them, or else for the next."""
    made = WIDGETS.get(view.id)
    if made is not None:
        return made(post)
    try:
        for host in hosts:
            factory = widget_factory(view, host)
            if factory is not None:
                made_there: QWidget = factory(post)
                return made_there
    except Unsupported as error:
        return TextPane(view, error.message)
    return TextPane(view)


class ViewTabs(QTabWidget):
    """A tab for each view of the displayed session. Views of other distributions are added when a session has them."""

    def __init__(self, post: Post, hosts: tuple[str, ...] = ("qt",), only: Sequence[str] = ()) -> None:
        """`hosts`: the front ends whose widgets are used, if a view names one for them. `only`: the built-in views that
        always have a tab; with () every view has a tab while it fits the node."""
        super().__init__()
        self._post, self._hosts, self._only = post, hosts, only
        self._built_in = only or tuple(WIDGETS)
        self._session: Session | None = None
        self._attached: set[str] = set()
        self._focus_kept_by: QWidget | None = None
        """The widget that has the focus until the picture of a new session can be shown."""
        self.pages: dict[str, Any] = {}
        self.setDocumentMode(True)
        if only and (bar := self.tabBar()) is not None:
            bar.setDrawBase(False)  # in a dock of napari it would be a white line above the tabs
        self.setAccessibleName(LABELS["views"])
        self.currentChanged.connect(self._room_for_current)
        for view in VIEWS:
            if view.id in self._built_in:
                self._add(view)
        self.pages["chunks"].has_image = "image" in self.pages
        if "image" in self.pages:
            self.pages["image"].turned.connect(self._hand_over_focus)
        self.polling = PollsWhileVisible(self, lambda: self._session)
        self._room_for_current()

    def _add(self, view: View) -> None:
        self.pages[view.id] = make_widget(view, self._post, self._hosts)
        self.addTab(self.pages[view.id], literal(view.title))

    def _room_for_current(self) -> None:
        """Makes the least width of the window that of the displayed tab, not that of the widest tab; a dock has its own
        width."""
        for place, page in enumerate(self.pages.values()):
            front = QSizePolicy.Policy.Preferred if place == self.currentIndex() else QSizePolicy.Policy.Ignored
            page.setSizePolicy(QSizePolicy.Policy.Ignored if self._only else front, front)

    def attach(self, session: Session | None) -> None:
        """Shows another session's views."""
        self._session = session
        self._attached.clear()
        for page in self.pages.values():
            page.attach(None)
        self.show_views()

    def focus_picture(self, meanwhile: QWidget) -> None:
        """Gives the focus to the picture once there is one, so that its keys work at once, and until then to another
        widget. Qt would give the focus of a page whose tab is closed to a button nearby."""
        self._focus_kept_by = meanwhile
        meanwhile.setFocus()

    def leave_focus(self) -> None:
        """Cancels `focus_picture`: the focus stays where it is, because the person has chosen a node."""
        self._focus_kept_by = None

    def _hand_over_focus(self) -> None:
        keeper, page = self._focus_kept_by, self.currentWidget()
        if keeper is None or page is not self.pages["image"]:
            return
        if self.isTabEnabled(self.currentIndex()) and page.can_take_focus:
            self.leave_focus()
            above = keeper.window()
            if above is not None and above.focusWidget() is keeper:  # also in a window behind others
                page.take_focus()

    def show_views(self) -> None:
        """Attaches the views that the session has now, writes the titles, closes the tabs that do not fit, and brings
        the session's tab to the front. Emits no signal, because it is not a choice of the person."""
        if self._session is None:
            return
        blocker = QSignalBlocker(self)
        for view in self._session.tabs.views:
            if view.id not in self._attached and (view.id in self._built_in or view.id not in WIDGETS):
                if view.id not in self.pages:
                    self._add(view)
                self._attached.add(view.id)
                self.pages[view.id].attach(self._session.tabs.presenters[view.id])
        tabs = {tab.id: tab for tab in self._session.tabs.snapshot()}
        closed = []
        for place, id in enumerate(self.pages):
            title = literal(tabs[id].title) if id in tabs else self.tabText(place)
            enabled = id in self._only or (id in tabs and tabs[id].enabled)
            if title != self.tabText(place):  # Qt lays out all tabs again, even for the same text
                self.setTabText(place, title)
            if not enabled:
                closed.append(place)
            elif not self.isTabEnabled(place):
                self.setTabEnabled(place, True)
            if id == "overview" and enabled:
                self.setTabVisible(place, True)
        front = self._session.tabs.front
        if not self._only and front in self.pages:
            self.setCurrentWidget(self.pages[front])
        self._close(closed)
        blocker.unblock()
        self._room_for_current()
        self._hand_over_focus()

    def _close(self, places: list[int]) -> None:
        """Closes tabs, that in front last: Qt brings another open one to the front at once, and lays out its page."""
        for place in sorted(places, key=lambda place: place == self.currentIndex()):
            if self.isTabEnabled(place):
                self.setTabEnabled(place, False)
            if self.id_at(place) == "overview":  # hidden, not only disabled, because few nodes have an overview
                self.setTabVisible(place, False)

    @property
    def zoomed(self) -> Any:
        """The page with `zoom_by` and `fit` on which the commands of the zoom act: that in front, else the picture."""
        front = self.currentWidget()
        return front if hasattr(front, "zoom_by") else self.pages["image"]

    def id_at(self, place: int) -> str:
        """The id of the view in a tab."""
        return [*self.pages][place]


class TextPane(QWidget):
    """The text of a view that has no widget for this front end; or, in place of the text, the error message `fault`."""

    def __init__(self, view: View, fault: str = "") -> None:
        super().__init__()
        self._view, self._fault = view, fault
        self._presenter: ViewPresenter | None = None
        self.text = QPlainTextEdit(fault)
        self.text.setReadOnly(True)
        self.text.setFont(fixed_font())
        self.text.setAccessibleName(view.title)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.text)

    def attach(self, presenter: ViewPresenter) -> None:
        """Shows the text of another session."""
        old, self._presenter = self._presenter, presenter
        follow(old, presenter, self._changed)

    def _changed(self) -> None:
        text = self._fault or text_of(self._view, self._presenter)
        if text != self.text.toPlainText():
            self.text.setPlainText(text)
