"""The tabs of one session: the views that fit the selected node, and the one in front."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from zarrscope.model.plugins import failing
from zarrscope.runtime.threads import Owner
from zarrscope.view.loader import ChunkLoader
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.node_details import NodeDetails
from zarrscope_app.presenters.session.view_models import Tab
from zarrscope_app.presenters.views import TITLES, VIEWS, View, ViewPresenter

MADE = TypeVar("MADE")
OTHER = TypeVar("OTHER")


class Tabs:
    """The tabs of a session.

    `presenters`: id of a view → its presenter. Errors of a view of another distribution are passed to `failed`.
    """

    def __init__(self, owner: Owner, loader: ChunkLoader, failed: Callable[[BaseException], object]) -> None:
        self._owner, self._loader, self._failed = owner, loader, failed
        self.views: tuple[View, ...] = ()
        self.presenters: dict[str, ViewPresenter] = {}
        self.front = "info"
        self._chosen = ""
        self._leading = "info"
        """The tab that the selected node leads with."""
        self._together = self._away = False
        """Whether several nodes are edited together, and whether the person then went to another tab than the form,
        which then stays in the background until the person chooses a tab for a single node."""
        self._shown = False
        """Whether the views have shown a node. They keep showing it if the hierarchy cannot be opened again."""
        self._fit = frozenset({"problems"})
        self.add(VIEWS)

    def add(self, views: tuple[View, ...]) -> None:
        """Adds views, and makes their presenters; views that were already added stay."""
        for view in views:
            if view.id not in self.presenters:
                made = self._ask(view, partial(view.presenter, self._owner, self._loader), None)
                if made is not None:
                    self.presenters[view.id] = made
                    self.views = (*self.views, view)

    def _ask(self, view: View, act: Callable[[], MADE], otherwise: OTHER) -> MADE | OTHER:
        """The result of `act`, or `otherwise` if `act` is code of a plugin and fails."""
        try:
            return act()
        except Exception as error:
            if view.id in TITLES:
                raise
            self._failed(failing("views", view.id, error))
            return otherwise

    def show(self, details: NodeDetails) -> None:
        """Called when another node was selected: shows the node in each view that fits, and brings the tab that the
        person chose to the front if it fits, else the first view that `leads`."""
        self._shown = True
        fit = {view.id for view in self.views if self._ask(view, partial(view.when, details), False)}
        for view in self.views:
            presenter = self.presenters[view.id]
            if view.id in fit:
                self._ask(view, partial(presenter.show_node, details), None)
            else:
                why = view.otherwise if details.node is not None else details.info.problem
                self._ask(view, partial(presenter.show_nothing, why), None)
        self._fit = frozenset(fit)
        self._leading = next((view.id for view in self.views if view.leads and view.id in fit), "info")
        self._bring_front()

    def show_also(self, id: str, details: NodeDetails) -> None:
        """Shows the displayed node in one more view, which fits only now that more was read about it."""
        view = next(view for view in self.views if view.id == id)
        self._ask(view, partial(self.presenters[id].show_node, details), None)
        self._fit |= {id}
        self._leading = next((each.id for each in self.views if each.leads and each.id in self._fit), "info")
        self._bring_front()

    def _bring_front(self) -> None:
        wanted = "attributes" if self._together and not self._away else self._chosen
        self.front = wanted if wanted in self._enabled else self._leading

    @property
    def _enabled(self) -> frozenset[str]:
        """The tabs that can be chosen. The form of several nodes needs no node that opens."""
        return self._fit | {"attributes"} if self._together else self._fit

    def edit_together(self, together: bool) -> None:
        """Brings the form to the front while several nodes are edited in it, because no other tab shows them. The tab
        that was in front comes back afterwards; if the person chooses another one, that stays."""
        self._together = together
        self._bring_front()

    def show_again(self, details: NodeDetails) -> None:
        """Shows the displayed node again in views of other distributions, after its attributes were saved."""
        for view in self.views:
            if view.id not in TITLES and view.id in self._fit:
                self._ask(view, partial(self.presenters[view.id].show_node, details), None)

    def bring(self, id: str) -> bool:
        """Brings a tab to the front, as the person's choice; returns False if there is no tab with that id."""
        view = next((view for view in self.views if view.id == id), None)
        if view is not None:
            self.front = id
            self._away = self._together and id != "attributes"
            self._chosen = "" if view.leads else id
        return view is not None

    def lead_to(self, id: str) -> None:
        """Brings a tab to the front until another node is shown, not as the person's choice."""
        if id in self._enabled:
            self.front = id

    def bring_problems(self, sentence: str) -> None:
        """Brings *Problems* to the front, as the only enabled tab; called when the hierarchy cannot be opened.

        If no node was shown before, the other views show the reason `sentence`. The tab that the person chose comes
        back with the next node.
        """
        self.front, self._fit = "problems", frozenset({"problems"})
        if not self._shown:
            for view in self.views:
                self._ask(view, partial(self.presenters[view.id].show_nothing, sentence), None)

    def snapshot(self) -> tuple[Tab, ...]:
        """The tabs in their order; a presenter may have a `title` of its own that replaces that of its view."""
        return tuple(Tab(view.id, self._title(view), view.id in self._enabled) for view in self.views)

    def _title(self, view: View) -> str:
        title: object = getattr(self.presenters[view.id], "title", "")
        return strings.clean(title, 60) if isinstance(title, str) and title else view.title
