"""The Textual application: one session, its panes, and keys. It paints snapshots and forwards keys to the presenters.

`post` sends a message to the application (never call_from_thread, which blocks the caller).
"""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from textual import events
from textual.app import App, ComposeResult
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
from zarrscope_app.presenters import VIEWS, CoalescedCall, Forgetful, JobState, Session, Settings, strings
from zarrscope_app.presenters import strings_terminal as words
from zarrscope_app.presenters.commands import FOOTERS, LABELS, command
from zarrscope_app.presenters.session.bookmarks import Bookmarks
from zarrscope_app.presenters.session.kept_views import LastLooks
from zarrscope_app.tui.driver import sparing
from zarrscope_app.tui.entry import Entry
from zarrscope_app.tui.inert import Inert
from zarrscope_app.tui.keys import Keyboard
from zarrscope_app.tui.lines import Lines, TreeLines
from zarrscope_app.tui.picture import Picture
from zarrscope_app.tui.pixels import Pixels
from zarrscope_app.tui.plate import PlateLines
from zarrscope_app.tui.sheet import Sheet
from zarrscope_app.tui.signs import Look
from zarrscope_app.tui.tabs import Controls, TabLine
from zarrscope_app.tui.terminal import Terminal
from zarrscope_app.tui.views import make_widget, pane_id, refresh

INERT = Inert()
PART = TypeVar("PART", bound=Widget)
MANY_FAULTS = 20
"""After this many exceptions without a key between them the program ends, because painting fails every time."""


class Call(Message):
    """A function to run on the application's thread."""

    def __init__(self, call: Callable[[], None]) -> None:
        super().__init__()
        self.call = call


class Explorer(App[int]):
    """The terminal application."""

    CSS = """
    Screen { layout: vertical; overflow: hidden; }
    #head, #tabs, #status, #footer { height: 1; width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
    #head { background: $primary 40%; }
    #footer { color: $text-muted; background: $surface; }
    #error-bar { height: auto; max-height: 3; background: $error 30%; display: none; }
    #body { height: 1fr; }
    #side { width: 26; border-right: vkey $primary 40%; }
    #side Entry { display: none; height: 1; border: none; padding: 0; }
    #entry { display: none; height: 1; border: none; padding: 0; background: $surface; }
    #controls { height: auto; max-height: 6; padding-left: 1; }
    #panes { height: 1fr; }
    .wide #side { width: 40; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [("tab", "app.focus_next"), ("shift+tab", "app.focus_previous")]  # noqa: RUF012 -- Textual's form
    TITLE = "zarrscope"
    session: Session
    tree_lines: TreeLines
    picture: Picture

    def __init__(
        self,
        url: str,
        *,
        writable: bool = False,
        follow_links: bool = False,
        missing_is_fill: bool = False,
        terminal: Terminal | None = None,
        background: Background | None = None,
        read_only: bool = False,
        settings: Settings | None = None,
        **options: Any,
    ) -> None:
        """`settings`: the storage for edits that outlive the application."""
        self.terminal = terminal or Terminal()
        super().__init__(**options)
        self.read_only = read_only
        """Whether the hierarchy cannot be opened for writing while the program runs."""
        self.session = Session(
            url,
            self.post,
            writable=writable,
            follow_links=follow_links,
            missing_is_fill=missing_is_fill,
            background=background,
            loader=None if background is None else ChunkLoader(background, caches.default_limit()),
        )
        self.bookmarks = Bookmarks(settings or Forgetful())
        if settings is not None:
            self.session.keep_edits(settings)
            self.session.looks = LastLooks(settings)
        self.keyboard = Keyboard(self)
        self.event_loop: asyncio.AbstractEventLoop | None = None
        """The event loop of the application, after it has started."""
        self.leaving: Callable[[int], None] = lambda code: None
        """Called with the exit status when the application begins to leave (zarrscope_app.tui.ending)."""
        self.faults: list[str] = []
        """Tracebacks of exceptions that did not end the program."""
        self._faults_in_a_row = 0
        self._repaint = CoalescedCall(self.post, self._paint)
        self._said: dict[str, Any] = {}
        self._here = ("", False, False)
        self._views = {view.id for view in VIEWS}
        """The views that have a pane."""
        self._shown: dict[str, Static] = {}

    def get_line_filters(self) -> Sequence[LineFilter]:
        return (INERT, *super().get_line_filters())

    def get_driver_class(self) -> type[Driver]:
        return sparing(super().get_driver_class(), self.terminal)

    def _fatal_error(self) -> None:
        """A traceback without the values of variables, which may contain passwords, and without control sequences."""
        from rich.text import Text

        self.leaving(1)
        self.panic(Text(visible_lines(traceback.format_exc())))

    def post(self, call: Callable[[], None]) -> None:
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
                yield Entry(id="filter", placeholder=LABELS["filter"])
                yield TreeLines(s, id="tree")
            with Vertical():
                yield TabLine(s, id="tabs")
                with ContentSwitcher(id="panes", initial="info"):
                    for view in VIEWS:
                        yield make_widget(s, view)
        yield Entry(id="entry")
        yield Static(id="status", markup=False)
        yield Static(id="footer", markup=False)

    def on_mount(self) -> None:
        s = self.session
        self.tree_lines = self.query_one("#tree", TreeLines)
        self.picture = self.query_one("#picture", Picture)
        self.picture.look = self.part("overview", PlateLines).look = Look.of(self.terminal)
        self._pixels = Pixels(self.picture, self.terminal, self.suspend)
        self._panes = self.query_one("#panes", ContentSwitcher)
        self._shown = {str(line.id): line for line in self.query(Static)}
        heard = (s.changed, s.edit.changed, s.slice.changed, s.slice.probed, s.values.changed, s.metadata.changed)
        overview = s.tabs.presenters["overview"]
        for found in (*heard, s.chunks.changed, s.problems.changed, s.jobs.changed, overview.changed):
            found.connect(self._repaint.soon, check_nargs=False)
        s.tree.changed.connect(self._tree_changed)
        s.slice.painted.connect(self.picture.show, check_nargs=False)
        self.set_interval(0.1, s.slice.tick)
        self.event_loop = asyncio.get_running_loop()
        self.keyboard.focus(self.tree_lines)
        self._paint()

    def _tree_changed(self, _: int) -> None:
        self.tree_lines.show()
        if self._said.get("status") != self._status():  # while a group is listed nothing else on the screen changes
            self._repaint.soon()

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width >= 120, "wide")
        if self._shown:
            self._repaint.soon()

    def _paint(self) -> None:
        s, state = self.session, self.session.state
        if self.title != state.title:
            self.title = state.title
        crumbs = " ▸ ".join(label for label, _ in state.crumbs)
        self._say("head", _apart(f" {crumbs}", state.facts, self.size.width))
        acts = [f"  [r] {strings.RETRY}"] if state.retry else []
        acts += [f"  [{offer.keys[0].lower()}] {offer.label}" for offer in map(command, state.offers)]
        self._say("error-bar", f"! {state.sentence}{''.join(acts)}")
        self._shown["error-bar"].display = bool(state.sentence)
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
            self.tree_lines.refresh()
        self._foot()

    def _add_panes(self) -> None:
        """Adds panes for views of other distributions, which the session has once it is open."""
        for view in self.session.tabs.views:
            if view.id not in self._views:
                self._views.add(view.id)
                self.session.tabs.presenters[view.id].changed.connect(self._repaint.soon, check_nargs=False)
                made = make_widget(self.session, view)
                made.display = False
                self._panes.mount(made)
                self.call_after_refresh(self._repaint.soon)

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
        if focused is not self.tree_lines and not isinstance(focused, Entry):
            self.keyboard.focus(self.pane)

    def after_key(self) -> None:
        """Updates the parts that a key may have changed besides the presenters: the line under the cursor, and the
        focus."""
        self._repaint.soon()

    def _say(self, id: str, text: Any) -> None:
        """Sets a text. The layout is only redone if the number of lines changes, because it is slow, and a held key
        sets many texts."""
        before = self._said.get(id)
        if before != text:
            self._said[id] = text
            self._shown[id].update(text, layout=id == "error-bar" or _height(before) != _height(text))

    def _status(self) -> Any:
        return _apart(f" {self._note()}", self.session.state.status_text, self.size.width)

    def _note(self) -> str:
        """The left part of the status line: a note on the thing under the cursor."""
        s = self.session
        row = self.tree_lines.row(self.tree_lines.cursor) if self.focus_below is self.tree_lines else None
        if row is not None and (row.badge or row.sentence):
            return row.badge or row.sentence
        if s.jobs.items:
            job = s.jobs.items[-1]
            return words.job_line(job.name, job.progress, job.text) if job.state is JobState.RUNNING else job.sentence
        if self._pixels.waiting:
            return words.PIXELS_COME
        if s.state.tab == "attributes":
            return s.edit.state.sentence
        if s.state.tab == "overview":
            return self.part("overview", PlateLines).told()
        found = s.slice.state.measurement
        if found.kind:
            told = "   ".join(f"{row.label}: {row.text}" for row in found.rows)
            return found.sentence or told or f"{found.title} {strings.percent(found.progress or 0)}"
        note = s.slice.note if not s.slice.probe.sentence else ""  # the readout itself shows a failure
        said = (s.slice.state.refusal.sentence, s.slice.probe.text or s.slice.probe.sentence, note)
        return "   ".join(filter(None, said)) or self.terminal.note

    def _foot(self) -> None:
        focused = self.focus_below
        where = (
            "input" if isinstance(focused, Entry) else "tree" if focused is self.tree_lines else self.session.state.tab
        )
        self._say("footer", " " + self.terminal.spelled(FOOTERS.get(where, FOOTERS["info"])))

    def on_descendant_focus(self, _: events.DescendantFocus) -> None:
        self._repaint.soon()

    def on_picture_probed(self, _: Picture.Probed) -> None:
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
                self._faults_in_a_row = 0
                self.keyboard.key(event)
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
        sheet.answered, sheet.foot = answered, self.terminal.spelled(sheet.foot)
        self.push_screen(sheet)

    def to_shell(self) -> None:
        """Suspends the program, as Ctrl+Z does elsewhere, if there is a shell that can bring it back."""
        if has_job_control():
            self.action_suspend_process()
        else:
            self.notify(words.NO_SHELL)

    def show_pixels(self) -> None:
        """Shows the picture in the terminal's own pixels, when it has arrived."""
        if not self._pixels.begin((self.size.height, self.size.width)):
            self.notify(words.NO_PIXELS)

    def drop_pixels(self) -> None:
        """Cancels a requested picture in pixels."""
        self._pixels.drop()

    # ------------------------------------------------------------------ leaving
    def review(self, quit_after: bool) -> None:
        """Shows the changes on a sheet: those of the displayed node, or before leaving those of all nodes."""
        edit = self.session.edit
        diff = edit.diff_of_all() if quit_after else edit.diff()
        self.show_sheet(Sheet.of_diff(diff.unified), lambda answer: self._reviewed(answer, quit_after))

    def _reviewed(self, answer: str | None, quit_after: bool) -> None:
        edit = self.session.edit
        if answer == "save" and quit_after:
            edit.save_all(self._saved)
        elif answer == "save":
            edit.save()
        elif answer == "discard" and quit_after:
            self.session.discard_edits()
            self.exit(0)
        elif answer == "discard":
            edit.revert()

    def _saved(self, trouble: str | None) -> None:
        """Leaves, or goes to the node whose changes could not be saved."""
        if trouble is None:
            self.exit(0)
        else:
            self.session.select(trouble)
            self.session.set_tab("attributes")

    def exit(self, result: int | None = None, return_code: int = 0, message: Any = None) -> None:
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
        """Stores unsaved edits for the next start."""
        self.session.keep_unsaved()

    def leave_at_once(self, code: int) -> None:
        """Stores unsaved edits for the next start, and leaves without asking."""
        try:
            self.session.close()
        finally:
            self.exit(return_code=code)

    def leave(self) -> None:
        """Leaves; asks once if there are unsaved changes. A second request to leave does not wait for running saves."""
        if self.session.edit.when_saved(lambda _: self.leave()):
            return
        if self.session.edit.dirty_paths:
            self.review(quit_after=True)
        else:
            self.exit(0)

    async def action_quit(self) -> None:
        self.leave()

    def on_unmount(self) -> None:
        self.session.close()


def has_job_control() -> bool:
    """Whether the parent is a shell that can bring this process back: in the same session, but another
    process group."""
    try:
        parent = os.getppid()
        return os.getsid(parent) == os.getsid(0) and os.getpgid(parent) != os.getpgrp()
    except (AttributeError, OSError):  # Windows, or a parent that is gone
        return False


def _height(text: Any) -> int:
    plain = "" if text is None else str(text)
    return plain.count("\n") + 1 if plain else 0


def _apart(left: str, right: str, width: int) -> str:
    return f"{left}{' ' * max(2, width - len(left) - len(right) - 1)}{right}"
