"""The dock's menu for existing layers: paint and write labels, save display settings, copy the view."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from qtpy.QtGui import QGuiApplication
from qtpy.QtWidgets import QMenu, QWidget

from zarrscope.runtime.threads import Owner
from zarrscope_app.napari.dock_sentence import DockSentence
from zarrscope_app.napari.layers import source_of
from zarrscope_app.napari.menu_button import MenuButton
from zarrscope_app.napari.painting import Painting
from zarrscope_app.napari.viewer_state import direction, on_show, part, projection, shown
from zarrscope_app.napari.writer import save_selected
from zarrscope_app.presenters import Session
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.layers import shown_layers
from zarrscope_app.presenters.layers.layer_commands import LAYER_COMMANDS, MENU
from zarrscope_app.presenters.session.state_text import encode_view
from zarrscope_app.qt.text import tip

if TYPE_CHECKING:
    from napari.viewer import Viewer


class MenuDock(Protocol):
    """The members of the dock that its menu uses."""

    @property
    def viewer(self) -> Viewer:
        """napari's viewer."""

    @property
    def session(self) -> Session | None:
        """The displayed session."""

    @property
    def said(self) -> DockSentence:
        """The sentence about the last operation on layers."""

    def show_changes(self) -> None:
        """Brings the form to the front, and shows the unsaved changes."""


class LayerMenu(MenuButton):
    """The button that opens the menu; `painting` manages the labels that are being edited."""

    def __init__(self, dock: MenuDock, owner: Owner, parent: QWidget) -> None:
        super().__init__(MENU)
        self._dock = dock
        self.painting = Painting(dock.viewer, owner, dock.said, parent)
        acts: dict[str, Callable[[], object]] = {
            "paint-labels": self.painting.paint,
            "write-labels": lambda: self.painting.write(dock.session),
            "save-local-copy": self.painting.save_copy,
            "save-layers": lambda: save_selected(dock.viewer, dock.said.tell, dock.said.tell_result, parent),
            "take-styles": self.take_styles,
            "copy-view": self.copy_view,
        }
        menu = QMenu(self)
        menu.setToolTipsVisible(True)
        for found in LAYER_COMMANDS:
            action = menu.addAction(found.label)
            assert action is not None
            action.setToolTip(tip(found.explanation))
            action.triggered.connect(partial(_without_state, acts[found.id]))
        self.setMenu(menu)

    def _layers_of(self, path: str) -> list[Any]:
        """The layers that came from a node of the displayed hierarchy."""
        hierarchy = self._dock.session.hierarchy if self._dock.session is not None else None
        url = hierarchy.url if hierarchy is not None else None
        layers = self._dock.viewer.layers
        return [one for one in layers if (source := source_of(one)).get("url") == url and source.get("path") == path]

    def _chosen(self) -> tuple[str, list[Any]]:
        """The path of the active layer's node, else of the node selected in the tree, and the layers that came from
        that node."""
        session = self._dock.session
        source = source_of(active) if (active := self._dock.viewer.layers.selection.active) is not None else {}
        for path in (source.get("path"), session.state.path if session is not None else None):
            if path is not None and (found := self._layers_of(path)):
                return path, found
        return "", []

    def take_styles(self) -> None:
        """Puts contrast, colours and visibility of a node's layers into its form, and shows the changes."""
        path, layers = self._chosen()
        session = self._dock.session
        if session is None or not layers:
            self._dock.said.tell(shown_layers.NO_LAYERS)
            return
        changes = shown_layers.changes_of([shown(layer) for layer in layers])
        if not changes:
            self._dock.said.tell(shown_layers.NO_COLORS)
            return
        session.select(path)
        if not session.state.writable:
            session.set_writable(True)
        session.edit.take(path, changes)
        self._dock.show_changes()

    def view_text(self) -> str:
        """The displayed view as one text to copy; "" if no layer came from the node."""
        session, (path, layers) = self._dock.session, self._chosen()
        if session is None or not layers:
            return ""
        told = session.view() if session.state.path == path else {"url": session.view()["url"], "path": path}
        beside = [one for one in self._dock.viewer.layers if source_of(one).get("url") == source_of(layers[0])["url"]]
        looks = [shown(layer) for layer in beside if "path" in source_of(layer)]
        viewer = self._dock.viewer
        place = (*on_show(viewer, layers), direction(viewer), projection(viewer, layers), part(viewer, layers))
        return encode_view(shown_layers.view_of_layers(told, looks, *place))

    def copy_view(self) -> None:
        """Puts the displayed view on the clipboard."""
        clipboard, text = QGuiApplication.clipboard(), self.view_text()
        if clipboard is not None and text:
            clipboard.setText(text)
            self._dock.said.tell_result(LABELS["view-copied"])
        else:
            self._dock.said.tell(shown_layers.NO_LAYERS)


def _without_state(act: Callable[[], object], _: bool = False) -> None:
    """Calls the function of a menu entry without the argument that Qt passes (whether the entry is checked)."""
    act()
