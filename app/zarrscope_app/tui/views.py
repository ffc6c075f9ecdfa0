"""The table of the terminal's widgets: a factory for each view of the presenters' table.

A factory is called with the session and the view's id, and returns a widget of that id. A view of another package names
its factory by `widgets={"tui": "module:factory"}`; that is called with the view's presenter. If it names none, its text
is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.containers import Vertical
from textual.widget import Widget

from zarrscope.errors import Unsupported
from zarrscope_app.presenters import Session, View
from zarrscope_app.presenters.views import text_of, widget_factory
from zarrscope_app.tui.entry import Painter
from zarrscope_app.tui.form_lines import FormLines
from zarrscope_app.tui.lines import ChunkLines, InfoLines, Lines, ProblemLines, TextLines
from zarrscope_app.tui.picture import PictureWidget
from zarrscope_app.tui.plate import PlateLines
from zarrscope_app.tui.table import TableLines
from zarrscope_app.tui.tabs import Controls

WIDGETS: dict[str, Callable[[Session, str], Widget]] = {
    "overview": lambda s, id: PlateLines(s, id=id),
    "image": lambda s, id: Vertical(PictureWidget(s, id="picture"), Controls(s, id="controls"), id=id),
    "values": lambda s, id: TableLines(s, id=id),
    "attributes": lambda s, id: FormLines(s, id=id),
    "chunks": lambda s, id: ChunkLines(s, id=id),
    "info": lambda s, id: InfoLines(s, id=id),
    "problems": lambda s, id: ProblemLines(s, id=id),
}


def pane_id(view: str) -> str:
    """The id of a view's widget; views of other packages get an id that no other widget on the screen has."""
    return view if view in WIDGETS else f"view-{view}"


class ViewLines(TextLines):
    """The text of a view that has no terminal widget; or, in place of the text, the error message `fault`."""

    def __init__(self, session: Session, view: View, fault: str = "") -> None:
        super().__init__(session, id=pane_id(view.id))
        self._view, self._fault = view, fault

    def show(self) -> None:
        self.set_text(self._fault or text_of(self._view, self.session.tabs.presenters[self._view.id]))


class Plugged(Painter, Vertical):
    """The container of the widget that a plugged-in view names. Another session gets a widget of its own."""

    def __init__(self, session: Session, view: View, factory: Callable[[Any], Widget]) -> None:
        self.widget = factory(session.tabs.presenters[view.id])
        super().__init__(self.widget, id=pane_id(view.id))
        self.session = self._shown = session
        self._view, self._factory = view, factory

    def show(self) -> None:
        """Replaces the widget if it belongs to another session."""
        if self._shown is not self.session:
            self._shown = self.session
            self.widget = self._factory(self.session.tabs.presenters[self._view.id])
            self.call_next(self._replace)

    async def _replace(self) -> None:
        await self.remove_children()
        await self.mount(self.widget)


def make_widget(session: Session, view: View) -> Widget:
    """The widget of a view, with the id from `pane_id`."""
    made = WIDGETS.get(view.id)
    if made is not None:
        return made(session, view.id)
    try:
        factory = widget_factory(view, "tui")
        if factory is not None:
            return Plugged(session, view, factory)
    except Unsupported as error:
        return ViewLines(session, view, error.message)
    return ViewLines(session, view)


def refresh(widget: Widget) -> None:
    """Repaints a widget that paints snapshots; others follow their presenters themselves."""
    if isinstance(widget, Lines | Plugged):
        widget.show()
