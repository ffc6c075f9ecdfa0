"""The dock: address, tree, form, info, "Add to viewer". The panes are the desktop window's; layers are napari's."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from qtpy.QtCore import QSize, QTimer
from qtpy.QtGui import QCloseEvent, QColor, QPalette
from qtpy.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSplitter,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from zarrscope.background import Priority, shared
from zarrscope.errors import ZarrscopeError
from zarrscope_app.napari.layers import as_napari
from zarrscope_app.presenters import TABS, Session, words
from zarrscope_app.presenters.actions import perform
from zarrscope_app.presenters.commands import LABELS, OFFERS, command
from zarrscope_app.presenters.layers import Layer, Layers
from zarrscope_app.qt.bridge import Bridge
from zarrscope_app.qt.form import AttributesPane
from zarrscope_app.qt.look import follow
from zarrscope_app.qt.panes import InfoPane
from zarrscope_app.qt.tree import TreePane

if TYPE_CHECKING:
    import napari

TITLE = "Zarr explorer"
PAINT_MS = 10
"""Enough for Qt to have drawn what was added: it waits 5 ms for more to draw."""


class Explorer(QWidget):
    """`open(url)` shows a hierarchy; `add()` adds the selected node's layers to the viewer."""

    def __init__(self, napari_viewer: napari.Viewer, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.viewer = napari_viewer
        self.bridge = Bridge()
        self.layers = Layers(self.bridge.post)
        self.session: Session | None = None
        self.address = QLineEdit()
        self.address.setPlaceholderText(LABELS["open-url-title"])
        self.address.setAccessibleName(LABELS["address"])
        self.address.returnPressed.connect(lambda: self.open(self.address.text()))
        self.facts = QLabel()
        self.facts.setWordWrap(True)
        self.offers = {name: QPushButton(command(name).label) for name in OFFERS}
        for name, button in self.offers.items():
            button.clicked.connect(partial(self._asked, name))
            button.hide()
        self.tree = TreePane()
        self.tree.chosen.connect(self._select)
        self.tree.opened.connect(self._opened)
        self.form = AttributesPane()
        self.form.asked.connect(self._asked)
        self.info = InfoPane()
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        for name, pane in (("attributes", self.form), ("info", self.info)):
            self.tabs.addTab(pane, dict(TABS)[name])
        self.button = QPushButton(LABELS["add-to-viewer"])
        self.button.clicked.connect(self.add)
        self.button.setEnabled(False)
        split = QSplitter()
        split.setOrientation(split.orientation().Vertical)
        split.addWidget(self.tree)
        split.addWidget(self.tabs)
        column = QVBoxLayout(self)
        column.addWidget(self.address)
        column.addWidget(self.facts)
        for button in self.offers.values():
            column.addWidget(button)
        column.addWidget(split, 1)
        row = QHBoxLayout()
        row.addWidget(self.button)
        column.addLayout(row)
        self.setMinimumWidth(320)
        # napari's style sheet has no colour for every second row.
        self.form.view.setAlternatingRowColors(False)
        header = self.form.view.header()
        assert header is not None
        header.resizeSection(0, 170)
        self.form.view.setIndentation(10)
        self._owner = shared().owner(self.bridge.post)
        self._owner.fetch(_import_early, lambda _: None, Priority.IDLE)
        self._waiting: list[Layer] = []
        self._next = QTimer(self)
        self._next.setSingleShot(True)
        self._next.setInterval(PAINT_MS)
        self._next.timeout.connect(self._add_next)
        self._follow_theme()
        napari_viewer.events.theme.connect(self._follow_theme)

    def sizeHint(self) -> QSize:
        return QSize(340, 640)

    def _follow_theme(self, _: object = None) -> None:
        """napari colours by style sheet and leaves the palette alone: our icons and quiet texts read the palette."""
        from napari.utils.theme import get_theme

        theme = get_theme(self.viewer.theme)
        palette = QPalette()
        for role, color in (
            (QPalette.ColorRole.Window, theme.background),
            (QPalette.ColorRole.Base, theme.background),
            (QPalette.ColorRole.WindowText, theme.text),
            (QPalette.ColorRole.Text, theme.text),
            (QPalette.ColorRole.Highlight, theme.current),
            (QPalette.ColorRole.HighlightedText, theme.text),
        ):
            palette.setColor(role, QColor(color.as_hex("long")))
        follow(palette)
        self.setPalette(palette)

    # ------------------------------------------------------------------ one hierarchy
    def open(self, url: str, path: str | None = None) -> None:
        """Opens a place, read-only until the person asks to edit. Never blocks; failures are said in the dock."""
        self._drop()
        self.address.setText(url)
        session = self.session = Session(url.strip(), self.bridge.post, path=path)
        session.changed.connect(self._show, check_nargs=False)
        session.problems.changed.connect(self._show, check_nargs=False)
        self.tree.attach(session.tree)
        self.form.attach(session.edit)
        self.info.attach(session.metadata)
        self._show()

    def _show(self) -> None:
        if self.session is None:
            return
        state = self.session.state
        problems = self.session.problems.items
        self.facts.setText(state.sentence or words.joined(state.facts, problems[-1].headline if problems else ""))
        for name, button in self.offers.items():
            button.setVisible(name in state.offers)
        self.button.setEnabled(self.session.hierarchy is not None)

    def _select(self, path: str) -> None:
        if self.session is not None:
            self.session.select(path)

    def _opened(self, path: str) -> None:
        self._select(path)
        QTimer.singleShot(0, self.add)

    def _asked(self, command: str) -> None:
        if command == "review":
            self.form.show_diff(True)
        elif self.session is not None:
            perform(self.session, command)

    # ------------------------------------------------------------------ layers
    def add(self) -> None:
        """Adds the layers of the selected node, read in the background; what fails is said above the tree."""
        if self.session is not None:
            self.facts.setText(words.LOADING)
            self.layers.add(self.session, self._add)

    def _add(self, layers: list[Layer]) -> None:
        """One layer after another, each drawn before the next: napari takes its time over them, half a second a piece
        at first, and the picture of the first need not wait for the labels that are not shown."""
        self._waiting += layers
        self._next.start()

    def _add_next(self) -> None:
        if self._waiting:
            self._add_one(self._waiting.pop(0))
        if self._waiting:
            self._next.start()
        else:
            self._show()

    def _add_one(self, layer: Layer) -> None:
        from napari.layers import Layer as NapariLayer

        try:
            # napari reads the first plane right here.
            self.viewer.add_layer(NapariLayer.create(*as_napari(layer)))
        except ZarrscopeError as error:
            if self.session is not None:
                self.session.problems.add(error, self.session.state.path)

    # ------------------------------------------------------------------ the end
    def _drop(self) -> None:
        if self.session is not None:
            self.tree.attach(None)
            self.form.attach(None)
            self.info.attach(None)
            self.session.close()
            self.session = None

    def stop(self) -> None:
        """Gives everything back: nothing is called afterwards."""
        self.viewer.events.theme.disconnect(self._follow_theme)
        follow(None)
        self._next.stop()
        self._waiting.clear()
        self._owner.close()
        self._drop()
        self.layers.close()
        self.bridge.close()

    def closeEvent(self, event: QCloseEvent | None) -> None:
        self.stop()
        super().closeEvent(event)


def _import_early() -> None:
    """What napari imports for the thumbnail of the first image, 0.3 s: there is time for it while somebody looks for a
    place to open."""
    import importlib

    try:
        importlib.import_module("scipy.ndimage")
    except ImportError:  # napari will say it better
        pass


def open_explorer(napari_viewer: napari.Viewer | None = None) -> Explorer:
    """File ▸ IO Utilities: the dock."""
    viewer: Any = napari_viewer or _viewer()
    _, widget = viewer.window.add_plugin_dock_widget("zarrscope", TITLE)
    assert isinstance(widget, Explorer)
    return widget


def open_attributes(napari_viewer: napari.Viewer | None = None) -> Explorer | None:
    """Layers ▸ Metadata: the dock at the node that the active layer came from; None for a layer that is not ours."""
    viewer: Any = napari_viewer or _viewer()
    active = viewer.layers.selection.active
    source = active.metadata.get("zarrscope") if active is not None else None
    if not source:
        return None
    widget = open_explorer(viewer)
    widget.open(source["url"], source["path"])
    return widget


def _viewer() -> Any:
    import napari

    return napari.current_viewer()
