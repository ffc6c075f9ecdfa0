"""The Textual application: the open hierarchies, the panes of the one in front, and keys. It paints snapshots and
forwards keys to the presenters.

Other threads call `post`, which sends a message to the application (never call_from_thread, which blocks the caller).
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from psygnal import SignalInstance
from rich.console import RenderableType
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.driver import Driver
from textual.filter import LineFilter
from textual.message import Message
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Static

from zarrscope.errors.visible import visible_lines
from zarrscope.runtime.threads import Background
from zarrscope.view import cache as caches
from zarrscope.view.loader import ChunkLoader
from zarrscope_app.presenters import VIEWS, CoalescedCall, Session, Settings, Workspace, strings
from zarrscope_app.presenters import strings_terminal as words
from zarrscope_app.presenters.commands import FOOTERS, LABELS, command
from zarrscope_app.presenters.form.presenter import EditStatus
from zarrscope_app.presenters.session.bookmarks import Bookmarks
from zarrscope_app.presenters.session.polling import GrowthPolling
from zarrscope_app.presenters.settings import MemorySettings
from zarrscope_app.tui import emoji
from zarrscope_app.tui.characters import CellRendering
from zarrscope_app.tui.closing import Leaving
from zarrscope_app.tui.conflict import Conflicts
from zarrscope_app.tui.control_filter import Inert
from zarrscope_app.tui.copying import TellsCopies
from zarrscope_app.tui.driver import sparing
from zarrscope_app.tui.early_keys import EarlyKeys
from zarrscope_app.tui.ending import has_job_control
from zarrscope_app.tui.entry import InputLine, Painter
from zarrscope_app.tui.error_line import error_text, form_text, is_remark, status_lines
from zarrscope_app.tui.keys import Keyboard
from zarrscope_app.tui.line_layout import height, path_line
from zarrscope_app.tui.lines import ChunkLines, Lines
from zarrscope_app.tui.load_early import load_early
from zarrscope_app.tui.main_screen import MainScreen
from zarrscope_app.tui.picture import PictureWidget
from zarrscope_app.tui.pixels import Pixels
from zarrscope_app.tui.plate import PlateLines
from zarrscope_app.tui.sheet import Sheet
from zarrscope_app.tui.tabs import Controls, TabLine
from zarrscope_app.tui.terminal import Terminal
from zarrscope_app.tui.theme import CSS, Themes
from zarrscope_app.tui.tree_lines import TreeLines
from zarrscope_app.tui.views import make_widget, pane_id, refresh

INERT = Inert()
PART = TypeVar("PART", bound=Widget)
MANY_FAULTS = 20
"""After this many exceptions without a key press between them the program ends, because painting fails every time."""


class Call(Message):
    """Message: a function to run on the application's thread."""

    def __init__(self, call: Callable[[], None]) -> None:
        super().__init__()
        self.call = call


class Explorer(TellsCopies):
    """The terminal application."""

    CSS = CSS
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [("tab", "app.focus_next"), ("shift+tab", "app.focus_previous")]  # noqa: RUF012 -- Textual's form
    TITLE = "zarrscope"
    tree_lines: TreeLines
    picture: PictureWidget

    def __init__(
        self,
        url: str,
        *further: str,
        writable: bool = False,
        follow_links: bool = False,
        missing_is_fill: bool = False,
        terminal: Terminal | None = None,
        background: Background | None = None,
        read_only: bool = False,
        settings: Settings | None = None,
        theme: str = "auto",
        **options: Any,
    ) -> None:
        """The addresses `further` are shown in the same tree. `settings` stores edits that outlive the application, and
        recent addresses, and the theme if `theme` is "auto" (theme.py)."""
        self.terminal = terminal or Terminal()
        super().__init__(**options)
        settings = settings or MemorySettings()
        self.themes = Themes(self, settings, self.terminal, theme)
        load_early()
        self.read_only = read_only
        """Whether the hierarchy cannot be opened for writing while the program runs."""
        loader = None if background is None else ChunkLoader(background, caches.default_limit())
        make = partial(Session, background=background, loader=loader)
        self.workspace = Workspace(self.post, settings, make)
        how = {"writable": writable, "follow_links": follow_links, "missing_is_fill": missing_is_fill}
        self._front, *_ = [self.workspace.open(place, **how) for place in (url, *further)]
        self.workspace.bring(self._front)
        self._heard: list[tuple[SignalInstance, Callable[..., object]]] = []
        """The signals of the hierarchy in front, and the functions connected with them."""
        self.bookmarks = Bookmarks(settings)
        self.keyboard = Keyboard(self)
        self.early_keys = EarlyKeys(self.keyboard.key)
        self._leaving = Leaving(self)
        self._conflicts = Conflicts(self.keyboard)
        self.event_loop: asyncio.AbstractEventLoop | None = None
        """The event loop of the application, after it has started."""
        self.leaving: Callable[[int], None] = lambda code: None
        """Called with the exit status when the application begins to leave (zarrscope_app.tui.ending)."""
        self.faults: list[str] = []
        """Tracebacks of exceptions that did not end the program."""
        self.unkept = ""  # unsaved edits that could not be stored for the next start, as lines to print
        self._faults_in_a_row = 0
        self._repaint = CoalescedCall(self.post, self._paint)
        self._said: dict[str, Any] = {}
        self._here = ("", False, False)
        self._views = {view.id for view in VIEWS}
        """The views that have a pane."""
        self._shown: dict[str, Static] = {}

    @property
    def session(self) -> Session:
        """The hierarchy in front."""
        return self._front

    def get_default_screen(self) -> MainScreen:
        return MainScreen(id="_default")

    def get_line_filters(self) -> Sequence[LineFilter]:
        return (INERT, *super().get_line_filters())

    def get_driver_class(self) -> type[Driver]:
        return sparing(super().get_driver_class(), self.terminal, self._answered, lambda: self.early_keys.modes())

    def _answered(self, answer: str) -> None:
        """Takes an answer of the terminal that came too late for the start; called on another thread."""
        self.post(lambda: self.themes.take(answer))

    def _fatal_error(self) -> None:
        """Prints the traceback without the values of variables, which may contain passwords, and without control
        sequences."""
        from rich.text import Text

        self.leaving(1)
        self.panic(Text(visible_lines(traceback.format_exc())))

    def post(self, call: Callable[[], None]) -> None:
        """Runs a call on the application's thread; any thread may call this."""
        self.post_message(Call(call))

    def on_call(self, message: Call) -> None:
        try:
            message.call()
        except Exception as error:
            self.fault(error)

    # ------------------------------------------------------------------ the screen
    def compose(self) -> ComposeResult:
        s = self.session
        yield Static(id="head", markup=False)
        yield Static(id="error-bar", markup=False)
        with Horizontal(id="body"):
            with Vertical(id="side"):
                yield InputLine(id="filter", placeholder=LABELS["filter"])
                yield TreeLines(s, id="tree")
            with Vertical():
                yield TabLine(s, id="tabs")
                with ContentSwitcher(id="panes", initial="info"):
                    for view in VIEWS:
                        yield make_widget(s, view)
        yield InputLine(id="entry")
        yield Static(id="status", markup=False)
        yield Static(id="footer", markup=False)

    def on_mount(self) -> None:
        # Without colours a background is invisible; with sixteen, the Linux console shows the dark grey as black.
        self.set_class(self.terminal.colors in ("16", "mono"), "few-colors")
        self.themes.show()
        self.theme_changed_signal.subscribe(self, lambda _: self._repaint.soon())
        self.tree_lines = self.query_one("#tree", TreeLines)
        self.picture = self.query_one("#picture", PictureWidget)
        self.picture.rendering = self.part("overview", PlateLines).rendering = CellRendering.of(self.terminal)
        self.part("chunks", ChunkLines).ascii_bars = not self.terminal.has_all_signs
        self._pixels = Pixels(self.picture, self.terminal, self.suspend)
        self._panes = self.query_one("#panes", ContentSwitcher)
        self._shown = {str(line.id): line for line in self.query(Static)}
        self.set_interval(0.1, lambda: self.session.slice.tick())
        self.early_keys.poll(self.set_interval, lambda: (self.session, self.tree_lines.row(0)))
        GrowthPolling(lambda: self.session, lambda every, poll: self.set_interval(every, poll).stop).show()
        self.event_loop = asyncio.get_running_loop()
        self.keyboard.focus(self.tree_lines)
        self.workspace.changed.connect(self._follow)
        self._follow()
        self._paint()

    def _follow(self) -> None:
        """Shows the hierarchy in front on all panes, and all open hierarchies in the tree."""
        front, tree = self.workspace.current, self.workspace.tree
        if front is None or tree is None:
            return
        for signal, call in self._heard:
            signal.disconnect(call, missing_ok=True)
        self._heard = []
        if tree is not self.tree_lines.node_tree:
            self.tree_lines.follow_tree(tree)
        if front is not self._front:
            self._pixels.drop()
            self._front = front
            for part in self.screen_stack[0].walk_children():
                if isinstance(part, Painter):
                    part.follow(front)
        views = (presenter.changed for presenter in front.tabs.presenters.values())
        for signal in (front.changed, front.jobs.changed, front.slice.probed, *views):
            self._hear(signal, self._repaint.soon)
        self._hear(front.slice.painted, self.picture.show)
        self._hear(front.slice.painted, self._pixels.painted)
        self._hear(tree.changed, self._tree_changed)
        self._repaint.soon()

    def _hear(self, signal: SignalInstance, call: Callable[..., object]) -> None:
        signal.connect(call, check_nargs=False)
        self._heard.append((signal, call))

    def go_to_front(self) -> None:
        """Moves the cursor of the tree to the selected node of the hierarchy in front."""
        self.tree_lines.go_to_front()

    def _tree_changed(self, _: int) -> None:
        self.tree_lines.show()
        if self._said.get("status") != self._status():  # while a group is listed, only the tree and this line change
            self._repaint.soon()

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width >= 120, "wide")
        if self._shown:
            self._repaint.soon()

    def _paint(self) -> None:
        s, state = self.session, self.session.state
        if self.title != state.title:
            self.title = state.title
        crumbs = [emoji.parts(label) for label, _ in state.crumbs]
        self._say("head", path_line(crumbs, state.facts, self.size.width))
        acts = [f"  [r] {state.retry}"] if state.retry else []
        acts += [f"  [Esc] {LABELS['dismiss']}"] if is_remark(state) else []
        acts += [f"  [{offer.keys[0].lower()}] {offer.label}" for offer in map(command, state.offers)]
        self._say("error-bar", error_text(state.severity, state.sentence, "".join(acts), self.size.width))
        self._shown["error-bar"].display = bool(state.sentence)
        for severity in ("warning", "information"):
            self._shown["error-bar"].set_class(state.severity == severity, severity)
        self._say("tabs", self.part("tabs", TabLine).line())
        self._add_panes()
        self.bring_pane()
        if (pane := self._mounted(state.tab)) is not None:
            refresh(pane)
        self._say("controls", self.part("controls", Controls).line() if state.tab == "image" else "")
        if state.tab == "image":
            self.picture.show()
        self._say("status", self._status())
        here = (state.path, self.focus_below is self.tree_lines, bool(s.edit.state.changes))
        if here != self._here:
            self._here = here
            self.tree_lines.show_selected()
        self._foot()
        self._conflicts.follow(len(self.screen_stack) == 1 and not isinstance(self.focus_below, InputLine))

    def _add_panes(self) -> None:
        """Adds panes for views of other packages, which a session has once it is open."""
        for view in self.session.tabs.views:
            if view.id not in self._views:
                self._views.add(view.id)
                made = make_widget(self.session, view)
                made.display = False
                self._panes.mount(made)
                self.call_after_refresh(self._repaint.soon)
            presenter = self.session.tabs.presenters[view.id]
            if all(signal is not presenter.changed for signal, _ in self._heard):
                self._hear(presenter.changed, self._repaint.soon)

    def _mounted(self, tab: str) -> Widget | None:
        """A pane; None while it is being mounted."""
        return next((pane for pane in self._panes.children if pane.id == pane_id(tab)), None)

    @property
    def pane(self) -> Widget:
        """The widget in front that handles keys."""
        tab = self.session.state.tab
        found = self._mounted(tab)
        if tab == "image" or found is None:
            return self.picture
        return next((part for part in (found, *found.query("*")) if part.can_focus), found)

    @property
    def focus_below(self) -> Widget | None:
        """The focused widget of the main screen, even while a sheet covers it."""
        return self.screen_stack[0].focused

    def part(self, id: str, kind: type[PART]) -> PART:
        """A widget of the screen, whether a sheet covers it or not."""
        return self.screen_stack[0].query_one(f"#{id}", kind)

    def bring_pane(self) -> None:
        """Shows the pane of the tab in front, and gives it the focus, because a hidden pane must not keep it."""
        panes, tab = self._panes, self.session.state.tab
        if panes.current == pane_id(tab) or self._mounted(tab) is None:
            return
        focused = self.focus_below
        panes.current = pane_id(tab)
        if focused is not self.tree_lines and not isinstance(focused, InputLine):
            self.keyboard.focus(self.pane)

    def after_key(self) -> None:
        """Updates the parts that a key may have changed besides the presenters: the line under the cursor, and the
        focus."""
        self._repaint.soon()

    def _say(self, id: str, text: RenderableType) -> None:
        """Sets a text. The layout, which is slow, is redone only if the number of lines changes."""
        before = self._said.get(id)
        if before != text:
            self._said[id] = text
            self._shown[id].update(text, layout=id == "error-bar" or height(before) != height(text))

    def _status(self) -> RenderableType:
        return status_lines(self.session, self._note(), self.size.width)

    def _note(self) -> str:
        """The left part of the status line: a note on the thing under the cursor."""
        s = self.session
        if self.copied:
            return self.copied
        in_tree = self.focus_below in (self.tree_lines, self.part("filter", InputLine))
        about = self.tree_lines.note() if in_tree else ""
        if about and about not in (s.waiting, s.state.sentence):  # the right part and the error bar say these
            return about
        if self._pixels.waiting:
            return words.PIXELS_COME
        if s.state.tab == "attributes":  # without fields, the pane itself says why
            stated = s.edit.state.sentence if s.edit.state.fields else ""
            return self.terminal.spelled(form_text(stated, self.read_only))
        if s.state.tab in ("overview", "values"):
            return self.part(s.state.tab, Lines).cursor_text()
        found = s.slice.state.measurement
        if found.kind:
            told = "   ".join(f"{row.label}: {row.text}" for row in found.rows)
            return found.sentence or told or f"{found.title} {strings.percent(found.progress or 0)}"
        note = s.slice.note if not s.slice.probe.sentence else ""  # the probe's sentence reports a value that failed
        said = (s.slice.state.refusal.sentence, s.slice.probe.text or s.slice.probe.sentence, note)
        failed = s.slice.frame.failed and s.state.tab == "image"
        broken = words.read_again(s.slice.broken, s.slice.frame.over, s.state.sentence) if failed else ""
        # The right part of the line needs the room while it names a request without an answer; so does a job.
        quiet = s.waiting or s.state.tab != "image" or s.jobs.items
        return "   ".join(filter(None, said)) or broken or ("" if quiet else self.terminal.note)

    def _foot(self) -> None:
        focused = self.focus_below
        where = "tree" if focused is self.tree_lines else self.session.state.tab
        asked = ""
        if where == "attributes" and self.session.edit.state.status is EditStatus.CONFLICT:
            where = "conflict"
        if isinstance(focused, InputLine):
            # A proposed text hides the placeholder, which names the text that is asked for.
            where, asked = "input", f"   {focused.placeholder}"
        self._say("footer", f" {self.terminal.spelled(FOOTERS.get(where, FOOTERS['info']))}{asked}")

    def on_descendant_focus(self, _: events.DescendantFocus) -> None:
        self._repaint.soon()

    def on_picture_probed(self, _: PictureWidget.Probed) -> None:
        self._repaint.soon()

    def on_lines_moved(self, _: Lines.Moved) -> None:
        self._repaint.soon()

    # ------------------------------------------------------------------ events
    async def on_event(self, event: events.Event) -> None:
        """Handles keys and pasted text at once, one after the other; they never wait in a widget's queue.

        An exception does not end the application: it is shown, and the edits are kept. Only an exception before there
        is a screen is passed on to Textual.
        """
        try:
            if not self._shown or not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
                await super().on_event(event)
            elif isinstance(event, events.Key):
                self._faults_in_a_row, self.copied = 0, ""
                self.early_keys.key(event)
            else:
                self.keyboard.paste(event.text)
        except Exception as error:
            if not self._shown:
                raise
            self.fault(error)

    def fault(self, error: Exception) -> None:
        """Shows an unexpected exception in the error bar, and in full after the program has ended."""
        self._faults_in_a_row += 1
        if self._faults_in_a_row > MANY_FAULTS:
            super()._handle_exception(error)
            return
        told = visible_lines("".join(traceback.format_exception(error)))
        if told not in self.faults[:MANY_FAULTS]:  # report an error of painting once, because reporting paints again
            self.faults.append(told)
            self.session.report(error)

    def _handle_exception(self, error: Exception) -> None:
        if self._shown:
            self.fault(error)
        else:
            super()._handle_exception(error)

    def on_lines_chosen(self, message: Lines.Chosen) -> None:
        self.keyboard.choose(message.lines)

    # ------------------------------------------------------------------ sheets
    def show_sheet(self, sheet: Sheet, answered: Callable[[str | None], object] | None = None) -> None:
        """Shows a sheet over the screen; `answered` gets the choice, or None."""
        sheet.answered = answered
        sheet.spell(self.terminal.spelled)
        self.push_screen(sheet)

    def to_shell(self) -> None:
        """Suspends the program, as Ctrl+Z does elsewhere, if there is a shell that can bring it back."""
        if has_job_control():
            self.action_suspend_process()
        else:
            self.notify(words.NO_SHELL)

    def show_pixels(self) -> None:
        """Shows the picture in the terminal's pixels instead of cells, once its chunks have arrived."""
        if not self._pixels.begin((self.size.height, self.size.width)):
            self.notify(words.NO_PIXELS)

    def drop_pixels(self) -> None:
        """Cancels a requested picture in pixels."""
        self._pixels.drop()

    # ------------------------------------------------------------------ leaving
    def review(self) -> None:
        """Shows the changes of the displayed node on a sheet."""
        self._leaving.review()

    def leave(self) -> None:
        """Leaves the program; asks once about unsaved changes."""
        self._leaving.leave()

    def close_place(self) -> None:
        """Closes the hierarchy in front; leaves the program if it is the only one."""
        self._leaving.close()

    def exit(self, result: int | None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        self.leaving(return_code)
        super().exit(result, return_code, message)

    def call_soon(self, call: Callable[[], None]) -> bool:
        """Runs `call` on the application's thread, before any queued messages; returns False if the application is not
        running."""
        if self.event_loop is None:
            return False
        try:
            self.event_loop.call_soon_threadsafe(call)
        except RuntimeError:  # the application has ended
            return False
        return True

    def keep(self) -> None:
        """Stores unsaved edits for the next start; what cannot be stored is then in `unkept`."""
        self.unkept = self.workspace.keep_unsaved()

    def leave_at_once(self, code: int) -> None:
        """Stores unsaved edits for the next start, and leaves without asking."""
        try:
            self.keep()
            self.on_unmount()
        finally:
            self.exit(return_code=code)

    async def action_quit(self) -> None:
        self.leave()

    def on_unmount(self) -> None:
        for session in self.workspace.sessions:
            session.close()
