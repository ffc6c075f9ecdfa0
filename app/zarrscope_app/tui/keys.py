"""The meaning of each key: in an input, on a sheet (a dialog), in the displayed pane, and in the whole application.

Each key is handled completely before the next, however many arrive at once: the application passes every key to `key`,
which acts at once on the presenters and the widgets. Nothing here waits for a message of Textual's.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

from textual import events
from textual.widget import Widget
from textual.widgets.input import Selection

from zarrscope_app.presenters import Session, Workspace
from zarrscope_app.presenters import strings_terminal as words
from zarrscope_app.presenters.commands import COMMANDS, IN_TERMINALS, LABELS, NODE_COMMANDS, OFFERS, terminal_keys
from zarrscope_app.presenters.form.presenter import EditStatus
from zarrscope_app.presenters.session.actions import ACTIONS, choose_axis_key, open_name, perform, toggle_channel
from zarrscope_app.presenters.session.bookmarks import bookmarked
from zarrscope_app.presenters.session.state_text import is_view
from zarrscope_app.tui.application import Application
from zarrscope_app.tui.asking import ask_export, ask_node_act, edit_outside
from zarrscope_app.tui.conflict import ask_side
from zarrscope_app.tui.entry import InputLine
from zarrscope_app.tui.error_line import is_remark
from zarrscope_app.tui.form_keys import LEAVING, edit_field, form_key
from zarrscope_app.tui.form_lines import FormLines
from zarrscope_app.tui.lines import Lines, ProblemLines
from zarrscope_app.tui.picker import Picker
from zarrscope_app.tui.places import ask_comparison, ask_place, ask_recent, ask_version, next_place, open_place
from zarrscope_app.tui.plate import PlateLines
from zarrscope_app.tui.sheet import KeySheet, Sheet
from zarrscope_app.tui.tree_lines import TreeLines

NAMES = {
    "Left": "left", "Right": "right", "Up": "up", "Down": "down", "PgUp": "pageup", "PgDown": "pagedown",
    "Home": "home", "End": "end", "Space": "space", "Esc": "escape",
}  # fmt: skip
"""Textual's name of each key that the table of commands names differently."""


def _textual_key(keys: str) -> str:
    *modifiers, key = keys.split("+") if keys != "+" else [keys]
    name = NAMES.get(key, key.lower())
    return "+".join([*(m.lower() for m in modifiers), name])


KEYS = {
    **{_textual_key(k): c.id for c in COMMANDS for k in c.keys},
    **{_textual_key(k): id for id, keys in IN_TERMINALS.items() for k in keys if not k.isalpha()},
}


class Keyboard:
    """Handles the keys of one application."""

    def __init__(self, app: Application) -> None:
        self.app = app
        self._accept: Callable[[str], object] | None = None
        self._after: Widget | None = None
        self._edits_value = False
        """Whether the line of input at the bottom holds the value of a field of the form."""
        self._sought = ""
        """The last text of the filter, for the keys n and N."""

    @property
    def session(self) -> Session:
        """The session of the displayed hierarchy."""
        return self.app.session

    @property
    def workspace(self) -> Workspace:
        """All open hierarchies."""
        return self.app.workspace

    def key(self, event: events.Key) -> None:
        """Handles a key in the current state."""
        app = self.app
        app.drop_pixels()
        if event.key == "ctrl+z":  # also out of a dialog, and while a text is typed
            app.to_shell()
            return
        if isinstance(app.screen, Sheet):
            self._sheet_key(app.screen, event)
            return
        app.bring_pane()
        focused = app.focus_below
        if isinstance(focused, InputLine):
            self._entry_key(focused, event)
        elif isinstance(focused, Lines) and focused.key(event):
            app.after_key()
        elif isinstance(focused, Lines) and event.key == "enter" and focused.count():
            self.choose(focused)
        elif focused is app.tree_lines and event.key == "escape" and (box := app.part("filter", InputLine)).display:
            self._end_input(box)
        elif event.key in ("tab", "shift+tab"):
            (app.screen.focus_next if event.key == "tab" else app.screen.focus_previous)()
        elif self._pane_key(event) or self._app_key(event):
            app.after_key()

    def paste(self, text: str) -> None:
        """Handles pasted text: inserts it into an input; elsewhere opens it if it is a view, but never runs it as a
        command."""
        focused = self.app.focus_below
        if isinstance(focused, InputLine):
            focused.paste(text)
            self._typed(focused)
        elif is_view(text):
            open_place(self, text)

    # ------------------------------------------------------------------ sheets
    def _sheet_key(self, sheet: Sheet, event: events.Key) -> None:
        if sheet.takes(event):
            return
        self.app.pop_screen()
        sheet.answer(event)

    # ------------------------------------------------------------------ one line of input
    def ask(self, label: str, text: str, accept: Callable[[str], object], after: Widget | None = None) -> None:
        """Asks for a line of text at the bottom of the screen. Afterwards the widget `after` gets the focus, or the
        form if `after` is None; a value of the form is replaced by what is typed, unless the cursor is moved first."""
        entry = self.app.part("entry", InputLine)
        entry.placeholder, entry.value, entry.display = label, text, True
        entry.selection = Selection(0 if after is None else len(text), len(text))
        self._accept, self._after, self._edits_value = accept, after, False
        self.focus(entry)

    def ask_value(self, label: str, text: str, accept: Callable[[str], object]) -> None:
        """Asks for the value of a field of the form. An arrow key that leaves the line takes the text and moves on to
        another field or section; Ctrl+S takes it and saves."""
        self.ask(label, text, accept)
        self._edits_value = True

    def type(self, text: str) -> None:
        """Types into the line of input at the bottom."""
        self.app.part("entry", InputLine).paste(text)

    def ask_credentials(self) -> None:
        """Asks on one line for the credentials of a bucket that denied access."""
        question = self.session.credentials
        if question is not None:
            self.ask(question.line_label, question.line, self.session.use_credentials, self.app.tree_lines)

    def show_sheet(self, sheet: Sheet, answered: Callable[[str | None], object]) -> None:
        """Shows a sheet over the screen."""
        self.app.show_sheet(sheet, answered)

    def focus(self, widget: Widget) -> None:
        """Sets the focus at once. `Widget.focus` sets it one message later: the next key would go to the old widget."""
        self.app.screen_stack[0].set_focus(widget, scroll_visible=False)

    def filter(self) -> None:
        """Moves the focus to the input above the tree."""
        box = self.app.part("filter", InputLine)
        box.display = True
        self.app.part("side", Widget).display = True
        self.focus(box)

    def _entry_key(self, entry: InputLine, event: events.Key) -> None:
        if event.key == "escape":
            self._end_input(entry)
        elif self._edits_value and event.key in LEAVING:
            self._leave_value(entry, event.key)
        elif event.key != "enter":
            entry.key(event)
            self._typed(entry)
        elif entry.id == "filter" and open_name(self.session, entry.value, self.app.tree_lines.node_tree):
            self._end_input(entry)
        elif entry.id == "filter":
            self.focus(self.app.tree_lines)
            self._sought = entry.value.strip().lower()
            self.next_match(1, here=True)
        else:
            self._take_text(entry)

    def _take_text(self, entry: InputLine) -> None:
        """Passes the text of an input to whoever asked for it."""
        accept, text = self._accept, entry.value
        self._end_input(entry)
        if accept is not None:
            accept(text)

    def _leave_value(self, entry: InputLine, key: str) -> None:
        """Takes the text of a value, and then moves the cursor of the form, or saves."""
        self._take_text(entry)
        if key == "ctrl+s":
            self.save()
        else:
            self.app.part("attributes", FormLines).move_by_key(key)
        self.app.after_key()

    def _typed(self, entry: InputLine) -> None:
        if entry.id == "filter":
            self.app.tree_lines.node_tree.filter(entry.value)

    def _end_input(self, entry: InputLine) -> None:
        if entry.id == "filter":
            entry.value, entry.display = "", False
            self._typed(entry)
            self.focus(self.app.tree_lines)
            return
        entry.display = False
        self._accept = None
        self.focus(self._after or self.app.part("attributes", Widget))

    # ------------------------------------------------------------------ chosen lines
    def choose(self, lines: Lines) -> None:
        """Handles Enter or a click on the line under the cursor."""
        s = self.session
        if isinstance(lines, TreeLines):
            row = lines.row(lines.cursor)
            if row is not None:
                lines.node_tree.enter(row.id)
                self.session.select(row.path)
                if row.expandable and not row.expanded:
                    lines.node_tree.expand(row.id)
        elif isinstance(lines, PlateLines):
            if lines.cell is not None and lines.cell.path:
                s.select(lines.cell.path)
        elif isinstance(lines, ProblemLines):
            item = lines.item()
            if item is not None and item.path:
                s.select(item.path)
        elif isinstance(lines, FormLines):
            edit_field(self, lines)

    # ------------------------------------------------------------------ keys of one pane
    def _pane_key(self, event: events.Key) -> bool:
        """Handles keys of the displayed pane."""
        key, tab = event.character if event.is_printable else event.key, self.session.state.tab
        picture, focused = self.app.picture, self.app.focus_below
        if tab == "attributes" and focused is not self.app.tree_lines:
            return form_key(self, self.app.part("attributes", FormLines), key or event.key)
        if tab != "image" or focused is not picture:
            return False
        if picture.cursor is not None and event.key in ("left", "right", "up", "down", "escape"):
            if event.key == "escape":
                picture.toggle_cursor()
            rows = {"up": -1, "down": 1}.get(event.key, 0)
            picture.move_cursor(rows, {"left": -1, "right": 1}.get(event.key, 0))
            return True
        if event.key == "enter":
            self.app.show_pixels()
            return True
        pans = {"ctrl+left": (0, -0.25), "ctrl+right": (0, 0.25), "ctrl+up": (-0.25, 0), "ctrl+down": (0.25, 0)}
        if event.key in pans:
            picture.pan(*pans[event.key])
            return True
        return False

    # ------------------------------------------------------------------ keys that mean the same everywhere
    def _app_key(self, event: events.Key) -> bool:
        character = (event.character or "") if event.is_printable else ""
        if character and self.app.focus_below is self.app.tree_lines and character in ("g", "G", "j", "k", "h", "l"):
            return False
        if character.isdecimal() and character != "0":
            toggle_channel(self.session, int(character))
            return True
        found = KEYS.get(event.key) or KEYS.get(character.lower())
        if character == "q" or event.key == "ctrl+c":
            self.app.leave()
        elif character == ":" or event.key == "ctrl+p":
            self.show_commands()
        elif event.key == "ctrl+o":
            self.session.set_tab("attributes")
            edit_outside(self)
        elif event.key == "ctrl+x":
            self.stop_job()
        elif event.key == "ctrl+a" and self.app.focus_below is self.app.tree_lines:
            self._edit_listed()
        elif event.key == "escape":
            if not self.session.stop_waiting() and is_remark(self.session.state):
                self.session.dismiss()
        elif character in ("n", "N") and self._sought and self.app.focus_below is self.app.tree_lines:
            self.next_match(1 if character == "n" else -1)
        elif character == "\\":
            side = self.app.part("side", Widget)
            side.display = not side.display
            if not side.display:
                self.focus(self.app.pane)
        elif character in ("[", "]"):
            self._turn(1 if character == "]" else -1)
        elif character == "v":
            if self.session.state.tab == "image" and self.app.picture.toggle_cursor():
                self.focus(self.app.picture)
        elif found in OWN:
            OWN[found](self)
        elif found is not None and perform(self.session, found):
            pass
        else:
            return bool(character) and choose_axis_key(self.session, character)
        return True

    # ------------------------------------------------------------------ commands by name
    def show_commands(self) -> None:
        """Shows all commands, with and without keys."""
        useless = {*OFFERS} - {*self.session.state.offers}
        undo = self.session.nodes.undo_label
        useless |= set() if undo else {"undo-node"}
        listed = [c for c in COMMANDS if (c.id in OWN or c.id in ACTIONS) and c.id not in useless]
        keys, labels = {"undo": words.UNDO_KEY}, {"undo-node": undo}
        items = [
            (c.id, labels.get(c.id) or c.label.rstrip("…"), keys.get(c.id) or next(iter(terminal_keys(c)), ""))
            for c in listed
        ]
        if self.session.edit.state.status is EditStatus.CONFLICT:
            items.insert(0, ("merge", words.MERGE, "d"))
        self.app.show_sheet(Picker(words.COMMANDS, items), self._command)

    def _command(self, id: str | None) -> None:
        if id in OWN:
            OWN[id](self)
        elif id is not None:
            perform(self.session, id)
        self.app.after_key()

    def show_bookmarks(self) -> None:
        """Shows the bookmarked views, to go to one or to save the displayed one."""
        marks = self.app.bookmarks
        items = [(mark.text, mark.label, "") for mark in reversed(marks.items)]
        first = [("+", words.ADD_BOOKMARK, ""), *([("-", words.REMOVE_BOOKMARK, "")] if items else [])]
        self.app.show_sheet(Picker(words.BOOKMARKS, [*first, *items]), self._bookmark)

    def _bookmark(self, text: str | None) -> None:
        marks = self.app.bookmarks
        if text == "+":
            self.app.notify(bookmarked(marks.add(self.session.bookmark_label, self.session.view_text())))
        elif text == "-":
            items = [(mark.label, mark.label, "") for mark in marks.items]
            self.app.show_sheet(Picker(words.REMOVE_BOOKMARK, items), lambda label: marks.remove(label or ""))
        elif text is not None:
            open_place(self, text)

    def choose_theme(self) -> None:
        """Asks for the light or the dark theme."""
        here = self.app.themes.choice
        items = [(id, name, "▸" if id == here else "") for id, name in words.THEMES]
        self.app.show_sheet(Picker(words.THEME, items), self.app.themes.choose)

    def stop_job(self) -> None:
        """Stops the latest job, or a check or comparison; if it has ended, clears its result."""
        jobs, problems = self.session.jobs, self.session.problems
        if problems.checking or problems.comparing:
            problems.stop()
            problems.stop_comparing()
            return
        running = jobs.running
        for job in running[-1:] or jobs.items:
            (jobs.cancel if running else jobs.dismiss)(job.id)

    def next_match(self, by: int, *, here: bool = False) -> None:
        """Moves the cursor of the tree to the next row whose name contains the searched text; continues at the top
        after the end."""
        tree = self.app.tree_lines
        count = tree.count()
        for step in range(0 if here else 1, count + 1):
            line = (tree.cursor + by * step) % count
            row = tree.row(line)
            if row is not None and row.depth and self._sought in row.name.lower():
                tree.move(line)
                return

    def open_for_writing(self) -> None:
        """Opens the hierarchy for writing, or read-only again; never if the program was started read-only."""
        if self.app.read_only:
            self.session.edit.tell(words.NEVER_WRITABLE)
        else:
            perform(self.session, "writable")

    def save(self) -> None:
        """Saves, or opens for writing first; never if the program was started read-only."""
        if self.app.read_only and self.session.edit.state.waits:
            self.session.edit.tell(words.NEVER_WRITABLE)
        else:
            perform(self.session, "save")

    def to_tree(self) -> Widget:
        """The tree's widget, which gets the focus after a question."""
        return self.app.tree_lines

    def go_to_front(self) -> None:
        """Moves the cursor of the tree to the selected node of the hierarchy in front."""
        self.app.go_to_front()

    def suspended(self) -> AbstractContextManager[None]:
        """A context in which another program uses the terminal."""
        return self.app.suspend()

    def _edit_listed(self) -> None:
        """Opens one form for all images that the tree lists of the hierarchy in front."""
        self.session.select_listed(self.app.tree_lines.node_tree)
        self.app.part("attributes", FormLines).go_to_first()
        self._edit()

    def _find_channel(self) -> None:
        """Asks for the name of a channel, which is then shown alone; elsewhere than in an image of several channels,
        filters the tree."""
        if self.session.state.tab != "image" or len(self.session.slice.state.channels) < 2:
            self.filter()
        else:
            self.ask(LABELS["channel-name"], "", self._show_channel, self.app.picture)

    def _three_views(self) -> None:
        """Shows the two other planes through the crosshair, or the picture alone."""
        tab = next((tab for tab in self.session.state.tabs if tab.id == "image"), None)
        if tab is None or not tab.enabled or not self.app.picture.toggle_cross():
            self.app.notify(words.NO_THIRD_AXIS)
            return
        self.session.set_tab("image")
        self.app.bring_pane()
        self.focus(self.app.picture)

    def _show_channel(self, text: str) -> None:
        if text.strip() and self.session.slice.show_named(text) is None:
            self.app.notify(LABELS["channel-unknown"])

    def _edit(self) -> None:
        form = self.app.part("attributes", FormLines)
        if form.cursor == 0:  # the title of the first section, unless the cursor was moved before
            form.go_to_first()
        self.session.set_tab("attributes")
        self.app.bring_pane()
        self.focus(self.app.pane)

    def _turn(self, by: int) -> None:
        """Goes to the next tab that has something to show."""
        tabs = [t.id for t in self.session.state.tabs if t.enabled]
        here = tabs.index(self.session.state.tab) if self.session.state.tab in tabs else 0
        if tabs:
            self.session.set_tab(tabs[(here + by) % len(tabs)])


OWN: dict[str, Callable[[Keyboard], object]] = {
    "quit": lambda keys: keys.app.leave(),
    "close": lambda keys: keys.app.close_place(),
    "open-url": lambda keys: ask_place(keys),
    "open-recent": lambda keys: ask_recent(keys),
    "versions": lambda keys: ask_version(keys),
    "next-place": lambda keys: next_place(keys),
    "compare": lambda keys: ask_comparison(keys),
    "keys": lambda keys: keys.app.show_sheet(KeySheet(OWN.keys() | ACTIONS.keys())),
    "find": lambda keys: keys.filter(),
    "find-channel": lambda keys: keys._find_channel(),
    "three-views": lambda keys: keys._three_views(),
    "zoom-in": lambda keys: keys.app.picture.zoom(0.8),
    "zoom-out": lambda keys: keys.app.picture.zoom(1.25),
    "fit": lambda keys: keys.app.picture.fit(),
    "copy-path": lambda keys: keys.app.copy_to_clipboard(keys.session.state.address),
    "edit": lambda keys: keys._edit(),
    "credentials": lambda keys: keys.ask_credentials(),
    "writable": lambda keys: keys.open_for_writing(),
    "bookmarks": lambda keys: keys.show_bookmarks(),
    "theme": lambda keys: keys.choose_theme(),
    "export": lambda keys: ask_export(keys),
    "review": lambda keys: keys.app.review(),
    "go-to": lambda keys: keys.ask(LABELS["go-to"], "", keys.session.slice.type_place, keys.app.picture),
    "limits": lambda keys: keys.ask(LABELS["limits"], "", keys.session.slice.type_limits, keys.app.picture),
    "copy-view": lambda keys: keys.app.copy_to_clipboard(keys.session.view_text()),
    "paste-view": lambda keys: keys.ask(LABELS["view-to-paste"], "", partial(open_place, keys), keys.app.pane),
}
for _id in NODE_COMMANDS:
    OWN[_id] = partial(ask_node_act, id=_id)
OWN["merge"] = ask_side
OWN["save"] = lambda keys: keys.save()
OWN["undo-node"] = lambda keys: keys.session.nodes.undo()
"""Commands that the terminal carries out itself; `perform` of the presenters carries out the others."""
