"""The dock: address, tree, form, info, "Add to viewer". Its panes are the window's widgets; napari shows the layers.

Unsaved edits are kept when the dock is closed, and offered when the address is opened again.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import ref

from qtpy.QtCore import QEvent, QSize, Qt, QTimer
from qtpy.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QKeyEvent, QShowEvent
from qtpy.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QSplitter, QVBoxLayout, QWidget

from zarrscope.errors import ZarrscopeError
from zarrscope.runtime.threads import shared
from zarrscope.stores.address import absolute_address
from zarrscope_app.napari.add_as import AddAs
from zarrscope_app.napari.browsing import BrowseButton
from zarrscope_app.napari.chooser import Chooser
from zarrscope_app.napari.closing import AsksBeforeClosing
from zarrscope_app.napari.dock_sentence import DockSentence
from zarrscope_app.napari.dropping import TakesNodes
from zarrscope_app.napari.in_turn import InTurn
from zarrscope_app.napari.layer_menu import LayerMenu
from zarrscope_app.napari.layers import as_napari, insert, renew_layers, source_of
from zarrscope_app.napari.part_panel import PartPanel
from zarrscope_app.napari.planes import unwrapped, watch
from zarrscope_app.napari.shortcuts import Shortcuts
from zarrscope_app.napari.viewer_state import canvas_of, palette_of
from zarrscope_app.napari.waits import Waits
from zarrscope_app.napari.when_open import WhenOpen
from zarrscope_app.presenters import Session, SessionStatus, Settings, strings
from zarrscope_app.presenters.commands import LABELS, OFFERS, command
from zarrscope_app.presenters.image.choice import HOW_TO_CHOOSE, SeveralImages
from zarrscope_app.presenters.layers import unwritten_labels
from zarrscope_app.presenters.layers.layer_kinds import planner
from zarrscope_app.presenters.layers.layer_part import cut
from zarrscope_app.presenters.layers.presenter import Layer, Layers, not_added
from zarrscope_app.presenters.session.actions import open_name, perform, review
from zarrscope_app.presenters.session.open_in import plain
from zarrscope_app.presenters.session.open_places import OpenPlaces
from zarrscope_app.presenters.session.opening import target_of
from zarrscope_app.presenters.session.state_text import decode_view, is_view
from zarrscope_app.qt.address import dropped_places, take_drag
from zarrscope_app.qt.bridge import Bridge
from zarrscope_app.qt.credentials import ask_credentials
from zarrscope_app.qt.form import AttributesPane
from zarrscope_app.qt.jobs_bar import JobsBar
from zarrscope_app.qt.selected_together import SelectedTogether
from zarrscope_app.qt.text import WrappedLabel
from zarrscope_app.qt.theme import follow
from zarrscope_app.qt.tree import TreePane
from zarrscope_app.qt.views import ViewTabs
from zarrscope_app.settings import FileSettings

if TYPE_CHECKING:
    import napari

VIEWS_SHOWN = ("attributes", "chunks", "info", "problems")
"""The built-in views that the dock shows; napari itself shows the picture."""


class Explorer(QWidget):
    """The dock's widget. `open(target)` shows a hierarchy; `add()` adds the selected node's layers to the viewer."""

    def __init__(
        self, napari_viewer: napari.Viewer, parent: QWidget | None = None, settings: Settings | None = None
    ) -> None:
        """`settings` stores unsaved edits until their address is opened again; with None they are stored in files."""
        super().__init__(parent)
        self._settings = settings if settings is not None else FileSettings()
        self.viewer = unwrapped(napari_viewer)
        self.bridge = Bridge()
        self.said = DockSentence(self._show, self)
        self.layers = Layers(self.bridge.post)
        self.layers.late.changed.connect(self._show)
        self.layers.ended.connect(lambda: self.said.tell(why) if (why := self.layers.refusal) else self._show())
        self.planes = watch(self.viewer)
        self.planes.dock = ref(self)
        self.planes.listeners.add(id(self))
        self.waits = Waits(lambda: self.session, self.layers.late, self.planes.background.late)
        self.planes.changed.connect(self._planes_changed)
        self.destroyed.connect(partial(_forget, self.planes.listeners, id(self)))
        self.session: Session | None = None
        sessions: list[Session] = []
        self.places = OpenPlaces(sessions, self.bridge.post, self.bring)
        self.destroyed.connect(partial(_close_all, sessions))  # napari's window deletes the dock without closing it
        self.address = QLineEdit()
        self.address.setPlaceholderText(LABELS["open-url-title"])
        self.address.setAccessibleName(LABELS["address"])
        self.address.returnPressed.connect(lambda: self.open(self.address.text()))
        self.address.setAcceptDrops(False)  # drops go to the dock, which opens them
        self.setAcceptDrops(True)
        self.browse = BrowseButton()
        self.browse.chosen.connect(self.open)
        self.browse.added.connect(lambda place: self.open(place or self.address.text(), further=True))
        self.browse.closed.connect(self.close_place)
        self.facts = WrappedLabel()
        self.offers = {name: QPushButton(command(name).label) for name in OFFERS}
        for name, button in self.offers.items():
            button.clicked.connect(partial(self._asked, name))
            button.hide()
        self.retry = QPushButton(strings.RETRY)
        self.retry.clicked.connect(self._retry)
        self.retry.hide()
        self.bring_back = QPushButton(unwritten_labels.BRING_BACK)
        self.bring_back.clicked.connect(self.planes.labels.bring_back)
        self.bring_back.hide()
        self.tree = TreePane(margin=0)
        self.tree.saving = lambda: self.session is not None and self.session.edit.saving
        self.tree.chosen.connect(self._select)
        self.tree.entered.connect(self._entered)
        self.tree.opened.connect(self._opened)
        self.tree.asked.connect(self._asked)
        self.tree.selected.connect(self._select_several)
        self.together = SelectedTogether(self.tree, lambda: self.session)
        self._marked = ("", "")  # the address and path of the node that was marked in the tree
        self._several: tuple[str, ...] = ()  # the nodes that are selected together in the tree
        self.tabs = ViewTabs(self.bridge.post, ("napari", "qt"), VIEWS_SHOWN)
        self.form: AttributesPane = self.tabs.pages["attributes"]
        self.form.asked.connect(self._asked)
        self.info = self.tabs.pages["info"]
        self.chooser = Chooser()
        self.chooser.chosen.connect(self._chosen)
        self.part = PartPanel(self.add)
        self._adds_once_open = False
        self.button = QPushButton(LABELS["add-to-viewer"])
        self.button.clicked.connect(self._add_or_cancel)
        self.button.setEnabled(False)
        self.add_as = AddAs(lambda: self.session)
        self.add_as.chosen.connect(self.add)
        self._kind = ""
        split = QSplitter(Qt.Orientation.Vertical)
        split.addWidget(self.tree)
        split.addWidget(self.tabs)
        self._owner = shared().owner(self.bridge.post)
        self.layer_menu = LayerMenu(self, self._owner, self)
        self.jobs_bar = JobsBar(narrow=True, results=False)  # `said` shows them, whole
        self.jobs_bar.attach(self.layer_menu.painting.edits.jobs)
        self.closing = AsksBeforeClosing(self, self)
        self.dropping = TakesNodes(self._opened, self)
        self.shortcuts = Shortcuts(self.viewer, {"tree": self._go_to_tree, "add": self.add}, self)
        column = QVBoxLayout(self)
        line = QHBoxLayout()
        line.addWidget(self.address, 1)
        line.addWidget(self.browse)
        column.addLayout(line)
        column.addWidget(self.facts)
        for button in (self.retry, self.bring_back, *self.offers.values()):
            column.addWidget(button)
        self.when_open = WhenOpen(
            self.viewer.layers, (split, self.part, self.button, self.add_as), self.layer_menu, self
        )
        column.addWidget(self.when_open.hint)
        column.addWidget(split, 1)
        column.addWidget(self.chooser)
        column.addWidget(self.part)
        column.addWidget(self.jobs_bar.failure)
        column.addWidget(self.jobs_bar)
        row = QHBoxLayout()
        row.addWidget(self.button, 1)
        row.addWidget(self.add_as)
        row.addWidget(self.layer_menu)
        column.addLayout(row)
        column.addStretch()  # holds the address at the top while nothing else is shown
        self.setMinimumWidth(300)
        # napari's style sheet defines no alternate row colour.
        for table in (self.form.view, self.form.conflict.table):
            table.setAlternatingRowColors(False)
        self.form.view.setIndentation(10)
        self._turns = InTurn(lambda layer: self._add_one(layer), self._show, self)
        self._waiting = self._turns.waiting
        self._follow_theme()
        self.viewer.events.theme.connect(self._follow_theme)
        self._show()

    def sizeHint(self) -> QSize:
        return QSize(340, 640)

    def dragEnterEvent(self, event: QDragEnterEvent | None) -> None:
        if event is not None and event.source() is None and dropped_places(event):
            take_drag(event)

    def dropEvent(self, event: QDropEvent | None) -> None:
        places = dropped_places(event)
        if event is not None and places:
            take_drag(event)
            for place in places:
                self.open(place, further=True)

    def _follow_theme(self, _: object = None) -> None:
        """Adapts the palette, from which icons and dimmed texts take their colours, to napari's theme."""
        palette = palette_of(self.viewer.theme)
        follow(palette)
        self.setPalette(palette)

    # ------------------------------------------------------------------ hierarchies
    def open(self, target: object, path: str | None = None, *, further: bool = False) -> None:
        """Opens an address, or an object that zarrscope.open takes, read-only until the person asks to edit. With
        `further` the hierarchy appears in the tree beside those that are open; otherwise it replaces them.

        For a copied view its address is opened and its layers are added. Never blocks; the dock shows failures. Raises
        TypeError for any other object.
        """
        view = None
        if isinstance(target, str) and is_view(target):
            try:
                view = decode_view(target)
            except ZarrscopeError as error:
                self.said.tell(strings.problem(error).headline)
                return
            target, path = view["url"], str(view["path"])
        found = target_of(target, path)
        url = absolute_address(found.url)
        if further and (known := self.places.at(url)) is not None:
            self.places.go(known, found, view)
            self.bring(known)
            return
        if not further:
            self._drop()
        session = self.places.open(found, url)
        session.slice.solid_and_blend.drawn.add("solid")
        session.layers_say = True
        overview: Any = session.tabs.presenters["overview"]
        overview.drawn = False
        if view is not None:
            session.show_view(view)
            self._adds_once_open = True
        session.keep_edits(self._settings)
        session.placed.connect(self._show_address)
        session.changed.connect(self._show, check_nargs=False)
        session.problems.changed.connect(self._show, check_nargs=False)
        self.bring(session)

    def bring(self, session: Session) -> None:
        """Shows an open hierarchy in the tabs; the tree shows all open hierarchies."""
        if session is not self.session:
            self._leave()
            self.session = session
            self._show_address()
            self.tabs.attach(session)
        self.said.clear()
        self.tree.attach(self.places.tree(session))
        self._show()

    def _show_address(self) -> None:
        self.address.setText(plain(self.session.url) if self.session is not None else "")

    def close_place(self) -> None:
        """Closes the hierarchy in front, and shows its neighbour in the tree. Layers in the viewer stay. If there are
        unsaved edits, the person is asked first."""
        session = self.session
        if session is None or not self.closing.may_close_place(self.close_place):
            return
        self._leave()
        self.tree.attach(None)
        self.tabs.attach(None)
        self.session = None
        self.address.clear()
        left = self.places.close(session)
        if left is not None:
            self.bring(left)
        self._show()

    def open_selected(self) -> None:
        """Opens the node of the selected layer, if zarrscope added it and no hierarchy is open."""
        active = self.viewer.layers.selection.active
        source = source_of(active) if active is not None else {}
        if self.session is None and "url" in source:
            self.open(source["url"], source.get("path"))

    def _show(self) -> None:
        self.when_open.show(self.session is not None)
        held, unread = self.planes.labels.sentence, self.planes.unread.sentence
        # The sentence about removed labels that are not written stays, beside the answer to the last action
        said = self.waits.sentence or unread or self.said.text
        told = " ".join(filter(None, (self.said.text, held))) if held else said
        self.bring_back.setVisible(bool(held))
        self.browse.set_open(len(self.places.sessions))
        if self.session is None:
            self.facts.setText(told)
            self.retry.setVisible(bool(unread))
            for button in (self.button, self.add_as):
                button.setEnabled(False)
            return
        self.tabs.show_views()
        self.together.show()
        state = self.session.state
        if state.status is SessionStatus.READY and (shown := (self.session.url, state.path)) != self._marked:
            self._marked = shown  # once: the person may be on the way to another row
            self.tree.show_path(state.path)
        problems = self.session.problems.items
        facts = strings.joined(state.facts, problems[-1].headline if problems else "")
        self.facts.setText(state.sentence or told or facts)
        self.retry.setVisible(bool(unread) or bool(state.retry))
        self.retry.setText(self.planes.again or state.retry)
        for name, button in self.offers.items():
            button.setVisible(name in state.offers)
        self.button.setEnabled(self.session.hierarchy is not None)
        several = LABELS["add-several"].format(count=len(self._several))
        self.button.setText(strings.CANCEL if self.adding else several if self._several else LABELS["add-to-viewer"])
        self.add_as.setEnabled(self.button.isEnabled() and not self.adding)
        if self.places.renewed(self.session):
            renew_layers(self.viewer, self.session, self.layers)
        if self._adds_once_open and self.session.hierarchy is not None and self.session.node is not None:
            self._adds_once_open = False
            self.add()

    def _planes_changed(self) -> None:
        """Lists the problems of failed planes in the sessions of their hierarchies, as long as they fail."""
        for session in self.places.sessions:
            self.planes.unread.tell_session(session, lambda layer: str(source_of(layer).get("url", "")))
        self._show()

    def _retry(self) -> None:
        if self.session is not None and self.session.state.retry:
            self.session.retry()
        self.planes.retry(self.session)

    def _entered(self, text: str) -> None:
        if self.session is not None:
            self.tree.leave_filter(open_name(self.session, text, self.places.tree(self.session)))

    def _select(self, path: str) -> None:
        self.chooser.clear()
        self.said.clear()
        if self.session is not None:
            self.session.select(path)

    def _select_several(self, paths: list[str]) -> None:
        self._several = tuple(paths) if len(paths) > 1 else ()
        self._show()

    def _opened(self, path: str) -> None:
        if path not in self._several:  # else the form of several nodes stays
            self._select(path)
        QTimer.singleShot(0, self.add)

    def _asked(self, command: str) -> None:
        if command in ("save", "review", "writable"):
            self.form.commit()
        if command == "review" and self.session is not None:
            review(self.session)
            self.form.show_diff(True)
        elif command == "credentials":
            ask_credentials(self.session, self)
        elif self.session is not None:
            perform(self.session, command)

    def _go_to_tree(self) -> None:
        if (window := self.window()) is not None:
            window.activateWindow()
        self.tree.view.setFocus()

    def show_changes(self) -> None:
        """Brings the form to the front, and shows the unsaved changes."""
        self.show_form()
        self.form.show_diff(True)

    def show_form(self) -> None:
        """Brings the form to the front."""
        self.show_tab("attributes")

    def show_tab(self, id: str) -> None:
        """Brings a view to the front, by its id in presenters/views.py."""
        self.tabs.setCurrentWidget(self.tabs.pages[id])

    def write_labels(self) -> None:
        """Shows the changes that writing the painted labels of the selected layer would make."""
        self.layer_menu.painting.write(self.session)

    def save_local_copy(self) -> None:
        """Offers to save the selected labels to a local copy."""
        self.layer_menu.painting.save_copy()

    # ------------------------------------------------------------------ layers
    def add(self, kind: str = "") -> None:
        """Adds the layers of the selected nodes, or of the chosen image, read in the background. Failures are shown
        above the tree. `kind` is "image", "labels" or "points", or "" for the kind that the file states."""
        if self.session is not None:
            try:
                only = partial(cut, part=self.part.part)
            except ZarrscopeError as error:
                self.said.tell(strings.problem(error).headline)
                return
            if self.session.hierarchy is None:
                self._adds_once_open = self.session.state.status is SessionStatus.OPENING
                return
            self.said.clear()
            self.facts.setText(strings.LOADING)
            canvas = canvas_of(self.viewer, self)
            self._kind, plans = kind, planner(kind)
            choice = self.chooser.choice
            self.layers.add(self.session, self._add, self._choose, choice, canvas, only, plans, self._several)
            self.button.setText(strings.CANCEL)

    @property
    def adding(self) -> bool:
        """Whether layers are being added to the viewer."""
        return self.layers.busy or bool(self._waiting)

    def _add_or_cancel(self) -> None:
        if self.adding:
            self.layers.cancel()
            self._turns.stop()
            self.said.tell(strings.STOPPED)
        else:
            self.add()

    def add_when_open(self) -> None:
        """Calls `add` as soon as the address has been opened."""
        self._adds_once_open = True
        self._show()

    def _choose(self, several: SeveralImages) -> None:
        self.chooser.ask(f"{several.message}. {HOW_TO_CHOOSE}", several.choices)
        self._show()

    def _chosen(self, _: object) -> None:
        self.add(self._kind)

    def _add(self, layers: list[Layer]) -> None:
        """Adds layers one by one, up to half a second each: the first is drawn before labels that are not shown."""
        self.chooser.lead(self.session, layers)
        self._turns.put(layers)

    def _add_one(self, layer: Layer) -> None:
        try:
            insert(self.viewer, *as_napari(layer))
            self.planes.go_to_asked(self.viewer.layers[-1])
        except Exception as error:  # reading failed, or napari refused the data: its rules change with its versions
            if self.session is not None:
                self.session.problems.add(not_added(layer, error), layer.source["path"])

    # ------------------------------------------------------------------ the end
    def _leave(self) -> None:
        """Leaves the hierarchy in front: stops adding layers, commits typed text, and clears the selections."""
        if self.session is not None:
            self.layers.cancel()
            self.form.commit()
            self.chooser.clear()
            self._several = ()

    def _drop(self) -> None:
        self._leave()
        if self.session is not None:
            self.tree.attach(None)
            self.tabs.attach(None)
            self.session = None
            self.places.close_all()

    def stop(self) -> None:
        """Releases all resources. No callback is called afterwards."""
        self.viewer.events.theme.disconnect(self._follow_theme)
        self.when_open.stop()
        follow(None)
        self.closing.stop()
        self.dropping.stop()
        self.shortcuts.stop()
        self._turns.stop()
        self._owner.close()
        if id(self) in self.planes.listeners:
            self.planes.listeners.discard(id(self))
            self.planes.changed.disconnect(self._planes_changed)
        self._drop()
        self.layers.close()
        self.bridge.close()

    def showEvent(self, event: QShowEvent | None) -> None:
        super().showEvent(event)
        self.open_selected()
        self.closing.watch()
        self.dropping.watch(self)

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        if event is None or event.key() != Qt.Key.Key_Escape or not self.waits.stop():
            super().keyPressEvent(event)

    def event(self, event: QEvent | None) -> bool:
        """Handles removal: napari does not close a dock that it removes from its window. Unsaved changes are then kept,
        and offered when the address is opened again."""
        if event is not None and event.type() == QEvent.Type.ParentChange and self.parent() is None:
            self._drop()
        return super().event(event)

    def closeEvent(self, event: QCloseEvent | None) -> None:
        self.stop()
        super().closeEvent(event)


def _close_all(sessions: list[Session], _: object = None) -> None:
    """Closes all sessions; unsaved edits are kept in their files."""
    while sessions:
        sessions.pop().close()


def _forget(listeners: set[int], name: int, _: object = None) -> None:
    listeners.discard(name)
