"""The window: address line, tree, tabs, channels panel, status bar. It displays one open session at a time.

It paints the presenters' snapshots and forwards gestures. It decides only things that belong to a desktop: dialogs,
focus, geometry, the clipboard.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from zarrscope_app.presenters import (
    CoalescedCall,
    EditStatus,
    Session,
    SessionStatus,
    Settings,
    SliceState,
    Workspace,
    strings,
)
from zarrscope_app.presenters.commands import LABELS, command
from zarrscope_app.presenters.image.blending import Other
from zarrscope_app.presenters.image.linking import shared_link
from zarrscope_app.presenters.session.actions import (
    can_undo,
    choose_axis_key,
    neighbours,
    open_name,
    perform,
    review,
    toggle_channel,
)
from zarrscope_app.presenters.session.state_text import is_view
from zarrscope_app.presenters.session.view_models import SessionState
from zarrscope_app.presenters.tree.matching import is_pattern
from zarrscope_app.qt.toolkit.core import QByteArray, Qt
from zarrscope_app.qt.toolkit.gui import (
    QCloseEvent,
    QDragEnterEvent,
    QDragMoveEvent,
    QDropEvent,
    QKeyEvent,
    QKeySequence,
)
from zarrscope_app.qt.toolkit.widgets import (
    QApplication,
    QFileDialog,
    QMainWindow,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from .about import show_about, show_keys
from .address import AddressLine, dropped_places, take_drag
from .bridge import Bridge
from .channels import ChannelsPanel
from .closing import LeavingSessions
from .demo import open_demo
from .error_bar import ErrorBar
from .export_dialog import ExportDialog
from .form import AttributesPane
from .image import ImagePane
from .jobs_bar import JobsBar
from .menus import NEEDS_SESSION, Menus
from .nodes import NodeActions
from .open_in import ELSEWHERE, open_elsewhere
from .overview import OverviewPane
from .panels import Panels
from .panes import InfoPane, ValuesPane, WelcomePane
from .place_menus import fill_places, fill_sessions
from .problems import ProblemsPane
from .saved_views import Views
from .text import ElidedLabel, Label, tip
from .theme import icon
from .tree import TreePane
from .views import ViewTabs

_ZOOM = 1.25


class Window(QMainWindow):
    """A window over one `Workspace`. `settings` stores geometry and recent addresses; with None nothing is stored."""

    def __init__(self, settings: Settings | None = None, new_window: Callable[[], Any] | None = None) -> None:
        super().__init__()
        self.bridge = Bridge()
        self._status_soon = CoalescedCall(self.bridge.post, self._status)
        self.workspace = Workspace(self.bridge.post, settings)
        self.views = Views(self.workspace, self.tell, self._say, self)
        self._settings, self._new_window = settings, new_window
        self._session: Session | None = None
        self._shown: tuple[Session, SessionState] | None = None
        """The session, and the snapshot of its state, that the status bar and the title displayed last."""
        self._form_awaited = False  # whether nodes were chosen together whose form is not displayed yet
        self.setWindowIcon(icon("zarrscope"))
        self.setWindowTitle("zarrscope")
        self.setAcceptDrops(True)
        self.menus = Menus(self, self.run)
        fill_places(self.menus, self.workspace, self.open)
        self.menus.menus["bookmarks"].aboutToShow.connect(lambda: self.views.fill(self.menus.menus["bookmarks"]))
        self.menus.menus["window"].aboutToShow.connect(lambda: fill_sessions(self.menus, self.workspace))
        self._build()
        self._closing = LeavingSessions(self.workspace, self.form, self)
        self.workspace.changed.connect(self._workspace_changed)
        self.workspace.unopened.connect(lambda found: self.error_bar.show_error(found.headline, found.details))
        self._restore_geometry()
        self._workspace_changed()
        self.address.line.setFocus()  # so that an address can be typed at once

    # ---------------------------------------------------------------- parts
    def _build(self) -> None:
        post = self.bridge.post
        self.address = AddressLine()
        self.address.entered.connect(self.open)
        self.address.went.connect(self._select)
        self.address.asked.connect(self.run)
        self.error_bar = ErrorBar()
        self.tree = TreePane()
        self.tree.saving = lambda: self._session is not None and self._session.edit.saving
        self.tree.chosen.connect(self._select)
        self.tree.entered.connect(self._entered)
        self.nodes = NodeActions(self.tree, self.menus, lambda: self._session, self, self._say)
        self.tabs = ViewTabs(post)
        self.image: ImagePane = self.tabs.pages["image"]
        self.tree.opened.connect(lambda path: self.image.canvas.setFocus())
        self.tree.together_opened.connect(partial(self.run, "edit"))
        self.tree.together_chosen.connect(partial(self._await_form, True))
        self.image.zoomed.connect(self._status_soon.soon)
        self.image.hovered.connect(self._status_soon.soon)
        self.values: ValuesPane = self.tabs.pages["values"]
        self.form: AttributesPane = self.tabs.pages["attributes"]
        self.info: InfoPane = self.tabs.pages["info"]
        self.problems: ProblemsPane = self.tabs.pages["problems"]
        self.overview: OverviewPane = self.tabs.pages["overview"]
        self.overview.chosen.connect(self._select)
        self.image.blending.others = self._images_seen
        self.form.asked.connect(self.run)
        self.form.typed.connect(self._edit_changed)
        self.values.copied.connect(self._say)
        self.problems.chosen.connect(self._select)
        self.problems.asked.connect(self.nodes.mend)
        self.channels = ChannelsPanel()
        self.channels.left.connect(self.image.take_focus)
        self.tabs.currentChanged.connect(self._tab_chosen)
        titles = {"tree": (self.tree, LABELS["tree"]), "channels": (self.channels, LABELS["channels"])}
        self.panels = Panels(self.tabs, titles)
        for id in self.panels.panels:
            self.panels.follow(id, self.menus.actions[f"panel-{id}"])
        self.welcome = WelcomePane()
        self.welcome.asked.connect(self.run)
        self.welcome.picked.connect(self.open)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.welcome)
        self._stack.addWidget(self.panels)
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.address)
        column.addWidget(self.error_bar)
        column.addWidget(self._stack)
        self.jobs_bar = JobsBar()
        column.addWidget(self.jobs_bar.failure)
        column.setStretch(2, 1)
        self.setCentralWidget(inside)
        self._probe, self._view_text = ElidedLabel(), Label()
        for label in (self._probe, self._view_text):
            label.setContentsMargins(8, 0, 8, 0)
        bar = self.statusBar()
        assert bar is not None
        bar.setSizeGripEnabled(False)
        bar.addWidget(self._probe, 1)
        bar.addPermanentWidget(self._view_text)
        bar.addPermanentWidget(self.jobs_bar)
        bar.setContentsMargins(8, 0, 8, 0)
        self.setMinimumSize(640, 420)

    # ---------------------------------------------------------------- sessions
    def open(self, url: str, writable: bool = False, follow_links: bool = False, missing_is_fill: bool = False) -> None:
        """Opens an address, or displays its session if it is open; `url` may also be the text of a saved view."""
        if is_view(url):
            self.views.show(url)
            return
        self.workspace.open(url, writable=writable, follow_links=follow_links, missing_is_fill=missing_is_fill)

    def tell(self, error: BaseException, retry: Callable[[], None] | None = None) -> None:
        """Shows an error in the error bar."""
        found = strings.problem(error)
        self.error_bar.show_error(found.headline, found.details, retry)

    def _workspace_changed(self) -> None:
        session = self.workspace.current
        self.tree.attach(self.workspace.tree)
        self._stack.setCurrentWidget(self.panels if session is not None else self.welcome)
        if session is not self._session:
            self._attach(session)  # at the end, because hidden widgets take no focus
        if session is None:
            self.welcome.show_recent(self.workspace.recent)
        self.menus.enable(NEEDS_SESSION, session is not None)
        self.nodes.enable(session)

    def _attach(self, session: Session | None) -> None:
        if self._session is not None:
            old = self._session
            old.changed.disconnect(self._session_changed)
            shared_link().leave(old.slice)
            old.slice.changed.disconnect(self._slice_changed)
            old.slice.painted.disconnect(self._status_soon.soon)
            old.slice.probed.disconnect(self._status_soon.soon)
            old.edit.changed.disconnect(self._edit_changed)
            old.problems.changed.disconnect(self.tabs.show_views)
        self._session, self._form_awaited = session, False
        self.tabs.attach(session)
        self.channels.attach(session.slice if session is not None else None)
        self.jobs_bar.attach(*((session.jobs, session.nodes) if session is not None else (None,)))
        if session is not None:
            session.changed.connect(self._session_changed)
            session.slice.changed.connect(self._slice_changed)
            session.nodes.prepare()
            shared_link().join(session.slice)
            session.slice.painted.connect(self._status_soon.soon)
            session.slice.probed.connect(self._status_soon.soon)
            session.edit.changed.connect(self._edit_changed)
            session.problems.changed.connect(self.tabs.show_views)
            self.tabs.focus_picture(meanwhile=self.tree.view)
        self._session_changed()
        self._edit_changed()
        self.tabs.show_views()
        self._slice_changed()

    def _session_changed(self) -> None:
        session = self._session
        if session is None:
            self._shown = None
            self.menus.offer(())
            self.address.show_place(None)
            self.address.show_neighbours(None)
            self.error_bar.clear()
            self.setWindowTitle("zarrscope")
            return
        state, before = session.state, self._shown
        self._shown = (session, state)
        if before is not None and before == (session, replace(state, status_text=before[1].status_text)):
            self._status()  # as for each plane that a slider passes
            return
        self.setWindowTitle(f"{state.title} – zarrscope" if state.title else "zarrscope")
        self.address.show_place(state)
        self.address.show_neighbours(neighbours(session))
        if not state.sentence:
            self.error_bar.clear()
        elif state.sentence != self.error_bar.sentence:
            self.error_bar.show_error(
                state.sentence,
                state.details,
                session.retry if state.retry else None,
                session.dismiss,
                [(command(offer).label, partial(self.run, offer)) for offer in state.offers],
                state.severity,
                state.retry,
            )
        self.tabs.show_views()
        if state.status is SessionStatus.READY:
            self.tree.show_path(state.path)
        self.menus.offer(state.offers)
        self.menus.actions["writable"].setCheckable(True)
        self.menus.actions["writable"].setChecked(state.writable)
        self.nodes.enable(session)
        self._slice_changed()

    def _slice_changed(self) -> None:
        session = self._session
        picture = session.slice.state if session is not None and session.tabs.front == "image" else SliceState()
        self.panels.fit("channels", bool(picture.channels or picture.labels))
        self._status()

    def _edit_changed(self) -> None:
        state = self._session.edit.brief if self._session is not None else None
        self.nodes.together.show()
        self._focus_awaited_form()
        prevented = state is not None and state.status in (EditStatus.INVALID, EditStatus.CONFLICT)
        self.menus.enable(("save",), state is not None and (self.form.can_save or prevented))
        self.menus.enable(("undo",), self._session is not None and can_undo(self._session))
        self.menus.enable(("redo",), state is not None and state.can_redo)
        self.menus.enable(("revert", "copy-commands"), state is not None and state.changes > 0)
        self.menus.enable(("review",), state is not None and (state.changes > 0 or state.waits))

    def _entered(self, text: str) -> None:
        if self._session is not None:
            self.tree.leave_filter(open_name(self._session, text, self.workspace.tree))
            self._await_form(is_pattern(text.strip()))

    def _await_form(self, awaited: bool) -> None:
        """Notes whether nodes were chosen together, in order to edit them: the form then gets the keyboard focus."""
        self._form_awaited = awaited
        if self._session is not None:
            self._session.owner.post(self._focus_awaited_form)  # if they were chosen before, the form does not change

    def _focus_awaited_form(self) -> None:
        if self._form_awaited and self._session is not None and self._session.edit.several:
            self._form_awaited = False
            if self._session.tabs.front == "attributes":
                self.tabs.show_views()  # hidden widgets take no focus
                self.form.focus_form()

    def _select(self, path: str) -> None:
        self.tabs.leave_focus()
        if self._session is not None:
            self._session.select(path)

    def _tab_chosen(self, place: int) -> None:
        if self._session is not None:
            self._session.set_tab(self.tabs.id_at(place))

    def _status(self) -> None:
        session = self._session
        if session is None:
            self._probe.clear()
            self._view_text.clear()
            self._view_text.setToolTip(tip(""))
            return
        image = session.tabs.front == "image"
        probe = session.slice.probe
        refused = session.slice.state.refusal.sentence
        remark = session.slice.state.projection.remark if probe.text else ""
        broken = session.slice.broken if image else ""
        said = [part for part in (refused, probe.text, remark) if part] or [broken]
        self._probe.setText("   ".join(said) if image else "")
        self._probe.setToolTip(tip("\n".join(said) if image else ""))
        zoom = self.image.zoom_text() if image else ""
        self._view_text.setText("  ·  ".join(filter(None, (zoom, session.status_text))))
        self._view_text.setToolTip(tip(broken))

    # ---------------------------------------------------------------- commands
    def run(self, id: str) -> None:
        """Carries out a command of the table of commands: here if it needs the desktop, otherwise by the presenters."""
        acts: dict[str, Callable[[], Any]] = {
            "open-file": self._open_file,
            "open-folder": self._open_folder,
            "open-url": self.address.edit,
            "open-demo": self._open_demo,
            "close": self._closing.close_current,
            "next-place": self.workspace.bring_next,
            "quit": QApplication.closeAllWindows,
            "find": self._find,
            "zoom-in": lambda: self.tabs.zoomed.zoom_by(_ZOOM),
            "zoom-out": lambda: self.tabs.zoomed.zoom_by(1 / _ZOOM),
            "fit": lambda: self.tabs.zoomed.fit(),
            "smooth": self.image.toggle_smooth,
            "three-views": self.image.toggle_cross,
            "grid": self.image.toggle_grid,
            "solid": self.image.toggle_solid,
            "blend": self.image.blending.toggle,
            "link": self._link_or_not,
            "copy-image": self._copy_image,
            "go-to": self.image.sliders.focus_current,
            "limits": self.channels.focus_limits,
            "find-channel": self.channels.find_channel,
            "new-window": lambda: self._new_window and self._new_window(),
            "review": self._review,
            "keys": partial(show_keys, self),
            "about": partial(show_about, self),
            "copy-view": self.views.copy,
            "paste-view": self.views.paste,
            "export": self._export,
            **{f"panel-{id}": partial(self.panels.toggle, id) for id in self.panels.panels},
            "panels-reset": self.panels.reset,
        }
        if id in ("save", "review", "writable"):
            self.form.commit()
        if id in ELSEWHERE and self._session is not None:
            open_elsewhere(self._session, id, self._say)
            return
        if id in acts:
            acts[id]()
        elif not self.nodes.run(id) and self._session is not None:
            perform(self._session, id)
            chunks = self.tabs.pages["chunks"]
            parts = {"edit": self.form.focus_form, "compare": self.problems.focus_other, "missing": chunks.focus_map}
            if id in parts:
                self.tabs.show_views()  # hidden widgets take no focus
                parts[id]()

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        assert event is not None
        session, key = self._session, event.text()
        if session is not None and event.matches(QKeySequence.StandardKey.Undo) and can_undo(session):
            self.run("undo")  # a save has just ended, and the menu does not know it yet
        elif session is None or (self._typing() and not (event.key() == Qt.Key.Key_Escape and session.edit.saving)):
            super().keyPressEvent(event)
        elif len(key) == 1 and key in "123456789":
            toggle_channel(session, int(key))
        elif (id := self.menus.plain_command(event)) is not None:
            self.run(id)
        elif event.matches(QKeySequence.StandardKey.Copy):
            self.run("copy-path")
        elif event.key() == Qt.Key.Key_Escape:
            if not (self.tree.cancel_current() or self.tree.clear_filter()):
                self.error_bar.dismiss()
        elif not (len(key) == 1 and key.isalpha() and choose_axis_key(session, key)):
            super().keyPressEvent(event)

    def _typing(self) -> bool:
        focus = QApplication.focusWidget()
        return focus is not None and focus.inherits("QLineEdit")

    def _link_or_not(self) -> None:
        session = self._session
        shared_link().set_linked(not shared_link().linked, session.slice if session is not None else None)
        self._say(LABELS["linked" if shared_link().linked else "unlinked"])

    def _copy_image(self) -> None:
        self.image.copy()
        self._say(LABELS["copied-image"])

    def _images_seen(self) -> tuple[Other, ...]:
        """The images that were displayed in any window of this process, which can be laid over the picture."""
        windows = [found for found in QApplication.topLevelWidgets() if isinstance(found, Window)]
        return tuple(seen for found in windows for session in found.workspace.sessions for seen in session.seen)

    def _open_file(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, LABELS["open-file-title"], self.workspace.folder)
        if path:
            self.open(path)

    def _open_folder(self) -> None:
        path = QFileDialog.getExistingDirectory(self, LABELS["open-folder-title"], self.workspace.folder)
        if path:
            self.open(path)

    def _open_demo(self) -> None:
        open_demo(self.bridge.post, self.statusBar(), self.open, lambda error: self.tell(error, self._open_demo))

    def _say(self, sentence: str) -> None:
        bar = self.statusBar()
        if bar is not None and sentence:
            bar.showMessage(sentence, 10_000)

    def _find(self) -> None:
        if self.form.has_keyboard and self._session is not None and self._session.state.tab == "attributes":
            self.form.find_text()
            return
        self.tree.filter.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.tree.filter.selectAll()

    def _export(self) -> None:
        if self._session is not None:
            ExportDialog(self._session, self).show()

    def _review(self) -> None:
        if self._session is not None:
            review(self._session)
            self.form.show_diff()

    def dragEnterEvent(self, event: QDragEnterEvent | None) -> None:
        if event is not None and dropped_places(event):
            take_drag(event)

    def dragMoveEvent(self, event: QDragMoveEvent | None) -> None:
        if event is not None:
            take_drag(event)

    def dropEvent(self, event: QDropEvent | None) -> None:
        self.workspace.drop(self.views.take(dropped_places(event)))
        if event is not None:
            take_drag(event)

    # ---------------------------------------------------------------- closing
    def closeEvent(self, event: QCloseEvent | None) -> None:
        assert event is not None
        if not self._closing.may_close_all():
            event.ignore()
            return
        self._store_geometry()
        self.workspace.changed.disconnect(self._workspace_changed)
        self._attach(None)
        self.hide()  # stopped jobs may need a moment to remove what is unfinished
        self._closing.close_all()
        self.bridge.close()
        event.accept()

    def _store_geometry(self) -> None:
        if self._settings is not None:
            self._settings.store("qt.window", self.saveGeometry().data().hex())
            self._settings.store("qt.panels", self.panels.layout_text())

    def _restore_geometry(self) -> None:
        self.resize(1200, 800)
        for name in ("qt.window", "qt.panels"):
            text = self._settings.load(name) if self._settings is not None else None
            try:
                if text and name == "qt.window":
                    self.restoreGeometry(QByteArray(bytes.fromhex(text)))
                elif text:
                    self.panels.restore_layout(text)
            except ValueError:
                continue
