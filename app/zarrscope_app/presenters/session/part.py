"""The base class of the parts of a session: declares the members that every part may use, although another part defines
them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy
    from zarrscope.runtime.threads import Owner
    from zarrscope_app.presenters.form.presenter import EditPresenter
    from zarrscope_app.presenters.image.presenter import SlicePresenter
    from zarrscope_app.presenters.problems import ProblemsPresenter
    from zarrscope_app.presenters.session.tabs import Tabs
    from zarrscope_app.presenters.session.view_models import SessionState
    from zarrscope_app.presenters.strings import Problem


class SessionPart(ABC):
    """The base class of all parts. In a session it is last in the method resolution order, so that a call finds the
    definition in another part and not the declaration in this class."""

    url: str
    owner: Owner
    tabs: Tabs
    edit: EditPresenter
    slice: SlicePresenter
    problems: ProblemsPresenter

    @property
    @abstractmethod
    def hierarchy(self) -> Hierarchy | None:
        """The opened hierarchy; None before it is open."""

    @property
    @abstractmethod
    def state(self) -> SessionState:
        """The present state."""

    @abstractmethod
    def reload(self) -> None:
        """Opens the hierarchy and reads the selected node again."""

    @abstractmethod
    def set_writable(self, writable: bool) -> None:
        """Opens the same address for writing, or read-only again."""

    @abstractmethod
    def select(self, path: str) -> None:
        """Selects a node."""

    @abstractmethod
    def set_tab(self, tab: str) -> None:
        """Brings a tab to the front."""

    @abstractmethod
    def report(self, error: BaseException) -> None:
        """Shows an error in the error bar and among the problems."""

    @abstractmethod
    def _show_problem(self, problem: Problem) -> None:
        """Shows a problem in the error bar; a problem without a headline clears the bar."""

    @abstractmethod
    def _go_on(self) -> None:
        """Reads denied data again, after other credentials were given. All other data stay as they are."""

    @abstractmethod
    def _refresh(self) -> None:
        """Publishes a new state."""
