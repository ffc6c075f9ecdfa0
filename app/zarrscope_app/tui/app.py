"""The Textual application: one session, its panes, and keys. It paints snapshots and forwards keys.

`post` is a message to the application (never call_from_thread, which blocks the caller).
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

from textual import events
from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import ContentSwitcher, Input, Static

from zarrscope_app.presenters import OncePerTurn, Session, words
from zarrscope_app.presenters.actions import ACTIONS, choose_axis_key, perform, toggle_channel
from zarrscope_app.presenters.commands import COMMANDS, FOOTERS, LABELS, command
from zarrscope_app.presenters.edit import EditStatus
from zarrscope_app.tui.cells import STEP
from zarrscope_app.tui.lines import FormLines, Lines, ProblemLines, TableLines, TextLines, TreeLines
from zarrscope_app.tui.picture import Picture
from zarrscope_app.tui.sheet import Sheet

NAMES = {
    "Left": "left", "Right": "right", "Up": "up", "Down": "down", "PgUp": "pageup", "PgDown": "pagedown",
    "Home": "home", "End": "end", "Space": "space", "Esc": "escape",
}  # fmt: skip
"""Keys as commands write them → as Textual does."""


def _textual_key(keys: str) -> str:
    *modifiers, key = keys.split("+") if keys != "+" else [keys]
    name = NAMES.get(key, key.lower())
    return "+".join([*(m.lower() for m in modifiers), name])


KEYS = {_textual_key(k): c.id for c in COMMANDS for k in c.keys}


class Call(Message):
    """A function to run on the application's thread."""

    def __init__(self, call: Callable[[], None]) -> None:
        super().__init__()
        self.call = call


class Explorer(App[int]):
    CSS = """
    Screen { layout: vertical; overflow: hidden; }
    #head, #tabs, #status, #footer { height: 1; width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
    #head { background: $primary 40%; }
    #footer { color: $text-muted; background: $surface; }
    #strip { height: auto; max-height: 3; background: $error 30%; display: none; }
    #body { height: 1fr; }
    #side { width: 26; border-right: vkey $primary 40%; }
    #side Input { display: none; height: 1; border: none; padding: 0; }
    #entry { display: none; height: 1; border: none; padding: 0; background: $surface; }
    #controls { height: auto; max-height: 6; padding-left: 1; }
    #panes { height: 1fr; }
    .wide #side { width: 40; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [("tab", "app.focus_next"), ("shift+tab", "app.focus_previous")]  # noqa: RUF012 -- Textual's form
    TITLE = "zarrscope"

    def __init__(self, url: str, *, writable: bool = False, grey: bool | None = None, **options: Any) -> None:
        """`grey` None: as the terminal can."""
        super().__init__(**options)
        self._grey = self.console.color_system not in ("truecolor", "windows") if grey is None else grey
        self.session = Session(url, self.post, writable=writable)
        self._accept: Callable[[str], None] | None = None
        self._repaint = OncePerTurn(self.post, self._paint)
        self._said: dict[str, Any] = {}
        self._here = ("", False, False)
        self._shown: dict[str, Static] = {}

    def post(self, call: Callable[[], None]) -> None:
        self.post_message(Call(call))

    def on_call(self, message: Call) -> None:
        message.call()

    # ------------------------------------------------------------------ the screen
    def compose(self) -> ComposeResult:
        s = self.session
        yield Static(id="head", markup=False)
        yield Static(id="strip", markup=False)
        with Horizontal(id="body"):
            with Vertical(id="side"):
                yield Input(id="filter", placeholder=LABELS["filter"])
                yield TreeLines(s, id="tree")
            with Vertical():
                yield Static(id="tabs")
                with ContentSwitcher(id="panes", initial="info"):
                    with Vertical(id="image"):
                        yield Picture(s, id="picture", grey=self._grey)
                        yield Static(id="controls")
                    yield TableLines(s, id="values")
                    yield FormLines(s, id="attributes")
                    yield TextLines(s, id="info")
                    yield ProblemLines(s, id="problems")
        yield Input(id="entry")
        yield Static(id="status", markup=False)
        yield Static(id="footer", markup=False)

    def on_mount(self) -> None:
        s = self.session
        self._tree = self.query_one("#tree", TreeLines)
        self._picture = self.query_one("#picture", Picture)
        self._panes = self.query_one("#panes", ContentSwitcher)
        self._shown = {str(line.id): line for line in self.query(Static)}
        for found in (s.changed, s.edit.changed, s.slice.changed, s.slice.probed, s.values.changed, s.metadata.changed,
                      s.problems.changed):  # fmt: skip
            found.connect(self._repaint.soon, check_nargs=False)
        s.tree.changed.connect(self._tree_changed)
        s.slice.painted.connect(self._picture.show, check_nargs=False)
        self.set_interval(0.1, s.slice.tick)
        for number in ("SIGINT", "SIGTERM", "SIGHUP"):  # asyncio cancels a task at the first, which may swallow it
            if hasattr(signal, number):
                signal.signal(getattr(signal, number), lambda *_: self.post(self.exit))
        self._tree.focus()
        self._paint()

    def _tree_changed(self, _: int) -> None:
        self._tree.show()
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
        acts = [f"  [r] {words.RETRY}"] if state.retry else []
        acts += [f"  [{offer.keys[0].lower()}] {offer.label}" for offer in map(command, state.offers)]
        self._say("strip", f"! {state.sentence}{''.join(acts)}")
        self._shown["strip"].display = bool(state.sentence)
        self._say("tabs", _tab_line(s))
        panes = self._panes
        if panes.current != state.tab:
            panes.current = state.tab
        pane = panes.get_child_by_id(state.tab)
        if isinstance(pane, TextLines):
            s.metadata.load_documents()
            pane.set_text(s.metadata.text())
        elif isinstance(pane, Lines):
            pane.show()
        self._say("controls", _controls(s) if state.tab == "image" else "")
        if state.tab == "image":
            self._picture.show()
        self._say("status", _apart(f" {self._note()}", state.status_text, self.size.width))
        here = (state.path, self.focused is self._tree, bool(s.edit.state.changes))
        if here != self._here:
            self._here = here
            self._tree.refresh()
        self._foot()

    def _say(self, id: str, text: Any) -> None:
        """A layout is made only where the number of lines is another: it is dear, and a held key says much."""
        before = self._said.get(id)
        if before != text:
            self._said[id] = text
            self._shown[id].update(text, layout=id == "strip" or _height(before) != _height(text))

    def _note(self) -> str:
        """The left of the status line: what is said about the thing under the cursor."""
        s = self.session
        row = self._tree.row(self._tree.cursor) if self.focused is self._tree else None
        if row is not None and (row.badge or row.sentence):
            return row.badge or row.sentence
        if s.state.tab == "attributes":
            return s.edit.state.sentence
        return s.slice.probe.text or s.slice.probe.sentence or (words.GREY_ONLY if self._grey else "")

    def _foot(self) -> None:
        focused = self.focused
        where = "input" if isinstance(focused, Input) else "tree" if focused is self._tree else self.session.state.tab
        self._say("footer", " " + FOOTERS[where])

    def on_descendant_focus(self, _: events.DescendantFocus) -> None:
        self._repaint.soon()

    def on_picture_probed(self, _: Picture.Probed) -> None:
        self._repaint.soon()

    def on_lines_moved(self, _: Lines.Moved) -> None:
        self._repaint.soon()

    # ------------------------------------------------------------------ keys
    def on_key(self, event: events.Key) -> None:
        if isinstance(self.focused, Input):
            if event.key == "escape":
                self._end_input()
            return
        if self._pane_key(event) or self._app_key(event):
            event.stop()
            event.prevent_default()

    def _pane_key(self, event: events.Key) -> bool:
        """Keys that mean something in one pane only."""
        key, s = event.character if event.is_printable else event.key, self.session
        if s.state.tab == "attributes" and self.focused is not self._tree:
            return self._form_key(key or event.key)
        if s.state.tab != "image" or self.focused is not self._picture:
            return False
        if self._picture.cursor is not None and event.key in ("left", "right", "up", "down", "escape"):
            if event.key == "escape":
                self._picture.toggle_cursor()
            rows = {"up": -1, "down": 1}.get(event.key, 0)
            self._picture.move_cursor(rows, {"left": -1, "right": 1}.get(event.key, 0))
            return True
        pans = {"ctrl+left": (0, -0.25), "ctrl+right": (0, 0.25), "ctrl+up": (-0.25, 0), "ctrl+down": (0.25, 0)}
        if event.key in pans:
            self._picture.pan(*pans[event.key])
            return True
        return False

    def _form_key(self, key: str) -> bool:
        edit, form = self.session.edit, self.query_one("#attributes", FormLines)
        field = form.field()
        if edit.state.status is EditStatus.CONFLICT and key in ("m", "t"):
            edit.resolve("mine" if key == "m" else "theirs")
        elif key == "d":
            self._review(quit_after=False)
        elif key == "u":
            edit.undo()
        elif key == "ctrl+r":
            edit.redo()
        elif key == "n":
            at = field.pointer if field and field.kind in ("list", "object") else ""
            self._ask(LABELS["new-name"], "", lambda name: self._added(at, name))
        elif key == "x" and field and field.pointer:
            edit.remove(field.pointer)
        elif key == "N" and field and field.pointer:
            self._ask(LABELS["rename"], field.label, lambda name: edit.rename(field.pointer, name))
        else:
            return False
        return True

    def _added(self, at: str, name: str) -> None:
        pointer = self.session.edit.add(at, name)
        if pointer:
            self._ask(LABELS["value"], "", lambda text: self.session.edit.edit(pointer, text))

    def _app_key(self, event: events.Key) -> bool:
        character = (event.character or "") if event.is_printable else ""
        if character and self.focused is self._tree and character in ("g", "G", "j", "k", "h", "l"):
            return False
        if character.isdigit() and character != "0":
            toggle_channel(self.session, int(character))
            return True
        found = KEYS.get(event.key) or KEYS.get(character.lower())
        if character == "q" or event.key == "ctrl+c":
            self._leave()
        elif character == "\\":
            side = self.query_one("#side")
            side.display = not side.display
        elif character in ("[", "]"):
            self._turn(1 if character == "]" else -1)
        elif character == "v":
            self._picture.toggle_cursor()
        elif found in OWN:
            OWN[found](self)
        elif found is not None and perform(self.session, found):
            pass
        else:
            return bool(character) and choose_axis_key(self.session, character)
        return True

    def _edit(self) -> None:
        self.session.set_tab("attributes")
        # What is not shown cannot take the focus: the pane comes to the front now, not at the end of the turn.
        self.query_one("#panes", ContentSwitcher).current = "attributes"
        self.query_one("#attributes").focus()

    def _turn(self, by: int) -> None:
        """The next tab that has something to show."""
        tabs = [t.id for t in self.session.state.tabs if t.enabled]
        here = tabs.index(self.session.state.tab) if self.session.state.tab in tabs else 0
        if tabs:
            self.session.set_tab(tabs[(here + by) % len(tabs)])

    # ------------------------------------------------------------------ lines that were chosen
    def on_lines_chosen(self, message: Lines.Chosen) -> None:
        s = self.session
        if isinstance(message.lines, TreeLines):
            row = message.lines.row(message.line)
            if row is not None:
                s.select(row.path)
                if row.expandable and not row.expanded:
                    s.tree.expand(row.id)
        elif isinstance(message.lines, FormLines):
            field = message.lines.field()
            if field is None:
                return
            if field.kind in ("list", "object"):
                s.edit.fold(field.pointer, not field.folded)
            elif field.kind == "bool" and s.edit.state.status is not EditStatus.READ_ONLY:
                s.edit.edit(field.pointer, "false" if field.text == "true" else "true")
            elif s.edit.state.status is not EditStatus.READ_ONLY:
                self._ask(field.label, field.text, lambda text: s.edit.edit(field.pointer, text))

    # ------------------------------------------------------------------ one line of input
    def _ask(self, label: str, text: str, accept: Callable[[str], None]) -> None:
        entry = self.query_one("#entry", Input)
        entry.placeholder, entry.value, entry.display = label, text, True
        entry.cursor_position = len(text)
        self._accept = accept
        entry.focus()

    def _filter(self) -> None:
        box = self.query_one("#filter", Input)
        box.display = True
        self.query_one("#side").display = True
        box.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.id == "filter":
            self.session.tree.filter(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.input.id == "filter":
            self._tree.focus()
            return
        accept, self._accept = self._accept, None
        self._end_input()
        if accept is not None:
            accept(event.value)

    def _end_input(self) -> None:
        entry, box = self.query_one("#entry", Input), self.query_one("#filter", Input)
        if self.focused is box:
            box.value, box.display = "", False
            self._tree.focus()
            return
        entry.display = False
        self._accept = None
        self.query_one("#attributes").focus()

    # ------------------------------------------------------------------ leaving
    def _review(self, quit_after: bool) -> None:
        diff = self.session.edit.diff().unified
        self.push_screen(Sheet.of_diff(diff), lambda answer: self._reviewed(answer, quit_after))

    def _reviewed(self, answer: str | None, quit_after: bool) -> None:
        edit = self.session.edit
        if answer == "save":
            edit.save()
            if quit_after:
                edit.changed.connect(self._leave_when_saved, check_nargs=False)
        elif answer == "discard" and quit_after:
            self.exit(0)
        elif answer == "discard":
            edit.revert()

    def _leave_when_saved(self) -> None:
        if self.session.edit.state.status is EditStatus.CLEAN:
            self.exit(0)

    def _leave(self) -> None:
        """Asks once when there are changes."""
        if self.session.edit.state.changes:
            self._review(quit_after=True)
        else:
            self.exit(0)

    async def action_quit(self) -> None:
        self._leave()

    def on_unmount(self) -> None:
        self.session.close()


OWN: dict[str, Callable[[Explorer], object]] = {
    "quit": lambda app: app._leave(),
    "close": lambda app: app._leave(),
    "keys": lambda app: app.push_screen(Sheet.of_keys(OWN.keys() | ACTIONS.keys())),
    "find": lambda app: app._filter(),
    "zoom-in": lambda app: app._picture.zoom(0.8),
    "zoom-out": lambda app: app._picture.zoom(1.25),
    "fit": lambda app: app._picture.fit(),
    "copy-path": lambda app: app.copy_to_clipboard(app.session.state.address),
    "edit": lambda app: app._edit(),
}
"""Commands that are the host's to do; it can these and what `perform` does."""


def _height(text: Any) -> int:
    plain = "" if text is None else str(text)
    return plain.count("\n") + 1 if plain else 0


def _apart(left: str, right: str, width: int) -> str:
    return f"{left}{' ' * max(2, width - len(left) - len(right) - 1)}{right}"


def _tab_line(session: Session) -> Any:
    from rich.text import Text

    line = Text(no_wrap=True)
    for tab in session.state.tabs:
        if tab.enabled:
            style = "reverse bold" if tab.id == session.state.tab else ""
            line.append(f" {tab.title} ", style)
    line.append("  [ ]", "dim")
    return line


def _controls(session: Session) -> Any:
    """Sliders and channels: one line each way, as far as they fit."""
    from rich.text import Text

    state = session.slice.state
    line = Text(no_wrap=True)
    for axis in state.axes:
        if axis.role == "slider":
            style = "bold reverse" if axis.name == state.current_axis else ""
            line.append(f" {axis.name} ", style)
            line.append(f"{axis.text}  {axis.position}  ")
    if line:
        line.append("\n")
    for number, channel in enumerate(state.channels, 1):
        line.append(f"{number}", "dim")
        r, g, b = (c // STEP * STEP for c in channel.color)
        line.append("●" if channel.visible else "○", f"rgb({r},{g},{b})")
        line.append(f"{channel.label} ", "" if channel.visible else "dim")
        line.append(f"{channel.text}  ", "dim")
    return line
