"""Dialogs with several questions: rename, move, copy and erase nodes; export; edit attributes in an editor.

The plan or the size is shown on a sheet that follows the presenter, and nothing is done before a person answers.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Protocol

from psygnal import SignalInstance
from textual import events
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Region
from textual.widget import Widget
from textual.widgets import Static

from zarrscope_app.presenters import Session, strings
from zarrscope_app.presenters import strings_terminal as words
from zarrscope_app.presenters.commands import LABELS, NODE_COMMANDS
from zarrscope_app.presenters.nodes.acts import ActField
from zarrscope_app.presenters.nodes.presenter import NodesPresenter
from zarrscope_app.presenters.session.exporting import ExportPresenter
from zarrscope_app.tui.lines import fold
from zarrscope_app.tui.picker import Picker
from zarrscope_app.tui.sheet import Sheet


class Asks(Protocol):
    """The part of `Keyboard` (keys.py) that the questions need."""

    @property
    def session(self) -> Session:
        """The session of the hierarchy in front."""

    def ask(self, label: str, text: str, accept: Callable[[str], object], after: Widget | None = None) -> None:
        """Asks for a line of text, proposed as `text`; `accept` gets the answer. `after` has the focus then; None: the
        form."""

    def show_sheet(self, sheet: Sheet, answered: Callable[[str | None], object]) -> None:
        """Shows a sheet over the screen; `answered` gets the choice, None after Esc."""

    def to_tree(self) -> Widget:
        """The tree's widget, which gets the focus after a question."""

    def suspended(self) -> AbstractContextManager[None]:
        """A context in which another program uses the terminal."""

    def open_for_writing(self) -> None:
        """Opens the hierarchy again so that its attributes can be edited."""


class FollowingSheet(Sheet):
    """A sheet whose text is updated whenever a presenter has changed. A row marked by "▸" is scrolled into sight."""

    rows_of_one = 1
    """The number of lines that belong to a marked row."""

    def __init__(self, text: Callable[[], str], foot: str, answers: dict[str, str], changed: SignalInstance) -> None:
        super().__init__("", foot, answers)
        self._make, self._changed = text, changed

    def content(self) -> Widget:
        return Static(self._folded(), id="following", markup=False)

    def _folded(self) -> str:
        """The text, folded so that the second line of a note or a plan stands beneath the first."""
        width = self.text_width(self.app.size.width)
        return "\n".join(line for whole in self._make().split("\n") for line, _ in fold(whole, width))

    def on_mount(self) -> None:
        self._changed.connect(self._again, check_nargs=False)

    def on_unmount(self) -> None:
        self._changed.disconnect(self._again, missing_ok=True)

    def _again(self) -> None:
        for shown in self.query("#following"):
            assert isinstance(shown, Static)
            text = self._folded()
            shown.update(text)
            self.call_after_refresh(self._show_row, shown, text)

    def _show_row(self, shown: Static, text: str) -> None:
        """Scrolls to the row that the sign "▸" marks."""
        width, marked = shown.size.width, f"\n{text}".find("\n▸")
        if marked < 0 or not width:
            return
        above = Content(text[:marked].removesuffix("\n")).get_height({}, width) if marked else 0
        for box in self.query(VerticalScroll):
            box.scroll_to_region(Region(0, above, width, self.rows_of_one), animate=False)


def ask_to_write(keys: Asks, then: Callable[[], object] = lambda: None) -> None:
    """Asks whether a hierarchy that was opened read-only shall be opened for writing, to edit its attributes. `then`
    goes on with the edit; its text waits until the hierarchy is open for writing."""

    def answered(answer: str | None) -> None:
        if answer == "open":
            keys.open_for_writing()
            then()

    keys.show_sheet(Sheet(words.OPEN_TO_EDIT, words.OPEN_FOOT, {"enter": "open", "y": "open"}), answered)


# ---------------------------------------------------------------------- nodes
class ActSheet(FollowingSheet):
    """The form of an action on a node, and beneath it the plan of the action, as far as it is made."""

    def __init__(self, nodes: NodesPresenter) -> None:
        super().__init__(self._form, words.PLAN_FOOT, {}, nodes.changed)
        self._acts = nodes
        self._at = 0

    def _form(self) -> str:
        """The fields, their consequences, and the planned operations. Where not all hints have room, only that of the
        field under the cursor is written, so that the plan stays in sight."""
        whole = self._written(every_hint=True)
        size = self.app.size
        lines = sum(1 for line in whole.split("\n") for _ in fold(line, self.text_width(size.width)))
        return whole if lines <= self.text_height(size.height) else self._written(every_hint=False)

    def _written(self, *, every_hint: bool) -> str:
        state = self._acts.state
        rows = [state.title, ""]
        for number, field in enumerate(state.fields):
            named = dict(field.choices)
            value = {"flag": "[x]" if field.text else "[ ]"}.get(field.kind, named.get(field.text, field.text))
            here = number == self._at
            value = f"◂ {value} ▸" if here and field.kind == "choice" else value
            rows.append(f"{'▸' if here else ' '} {field.label}: {value}{'▏' if here and not _picked(field) else ''}")
            rows += [f"    ! {field.error}"] if field.error else []
            rows += [f"    {field.hint}"] if field.hint and (here or every_hint) else []
        rows += ["", *(part for part in (state.sentence, state.undo, state.final) if part)]
        return "\n".join([*rows, *(f"  {line}" for line in state.lines)])

    def takes(self, event: events.Key) -> bool:
        """Moves between fields or changes one; Enter closes the sheet only if the plan is ready, and otherwise goes to
        the field that keeps it from being made."""
        fields = self._acts.state.fields
        if event.key in ("up", "down", "tab", "shift+tab"):
            by = 1 if event.key in ("down", "tab") else -1
            self._at = max(0, min(self._at + by, len(fields) - 1))
            self._again()
            return True
        if event.key in ("pageup", "pagedown"):
            return self.scrolls(event.key)
        if self._at < len(fields) and event.key not in ("enter", "escape"):
            text = _typed(fields[self._at], event)
            if text is not None:
                self._acts.set_field(fields[self._at].id, text)
                self._again()
            return True
        if event.key != "enter" or self._acts.state.ready:
            return False
        self._acts.carry_out()
        state = self._acts.state
        self._at = next((at for at, field in enumerate(state.fields) if field.id == state.at_fault), self._at)
        self._again()
        return True

    def answer(self, event: events.Key) -> None:
        if event.key == "enter" and self._acts.state.ready:
            self._acts.carry_out()
        else:
            self._acts.cancel()


def _picked(field: ActField) -> bool:
    return field.kind in ("choice", "flag")


def _typed(field: ActField, event: events.Key) -> str | None:
    """The text of a field after a key was pressed in it; None if the key has no effect there."""
    if field.kind == "flag":
        return ("" if field.text else "yes") if event.key in ("space", "left", "right") else None
    if field.kind == "choice":
        if event.key not in ("left", "right", "space"):
            return None
        texts = [text for text, _ in field.choices]
        at = texts.index(field.text) if field.text in texts else 0
        return texts[(at + (-1 if event.key == "left" else 1)) % len(texts)] if texts else None
    if event.key == "backspace":
        return field.text[:-1]
    if event.key == "ctrl+u":
        return ""
    return field.text + event.character if event.is_printable and event.character else None


def ask_node_act(keys: Asks, id: str) -> None:
    """Starts an action on the selected node: shows its form, with the plan beneath it."""
    nodes = keys.session.nodes
    nodes.begin(NODE_COMMANDS[id], keys.session.state.path)
    keys.show_sheet(ActSheet(nodes), lambda _: None)


# ---------------------------------------------------------------------- exports
def ask_export(keys: Asks) -> None:
    """Asks for the content, format and target of an export; then shows the size, and runs the export as a job."""
    export = keys.session.export
    whats = export.whats()
    if not whats:
        keys.show_sheet(Sheet(words.NOTHING_TO_EXPORT, words.BACK_FOOT, {}), lambda _: None)
        return
    with suppress(OSError):  # it may have been erased meanwhile
        export.start_in(os.getcwd())  # the folder of the shell, as for every other program of a terminal
    export.begin()
    items = [(id, title, "") for id, title in whats]

    def what_chosen(what: str | None) -> None:
        if what is None:
            return
        formats = [(found.id, found.title, found.endings[0]) for found in export.formats(what)]
        keys.show_sheet(
            Picker(LABELS["export-format"], formats), lambda format: _ask_target(keys, what, format) if format else None
        )

    keys.show_sheet(Picker(LABELS["export-what"], items), what_chosen)


def _ask_target(keys: Asks, what: str, format: str) -> None:
    export = keys.session.export
    export.choose(what, format)

    def ask() -> None:
        keys.ask(LABELS["export-target"], export.state.target, typed, keys.to_tree())

    def typed(target: str) -> None:
        export.prepare(what, format, target)
        keys.show_sheet(ExportSheet(export), decided)

    def decided(answer: str | None) -> None:
        if answer == "retype":
            ask()
        elif answer is not None:
            export.run(overwrite=answer == "overwrite")

    ask()


class ExportSheet(FollowingSheet):
    """The size of an export, or the reason why it cannot be written; then Enter asks for the target again."""

    def __init__(self, export: ExportPresenter) -> None:
        answers = {"y": "write", "o": "overwrite", "enter": "retype"}
        super().__init__(self._described, words.EXPORT_FOOT, answers, export.changed)
        self._export = export

    def _described(self) -> str:
        state = self._export.state
        told = [strings.clean(state.target, 200), "", state.sentence, *state.notes]
        return "\n".join([*told, *([words.TAKEN] if state.taken and state.ready else [])])

    def takes(self, event: events.Key) -> bool:
        """A key that cannot write leaves the sheet open: the sentence on it says why."""
        state = self._export.state
        if event.key in ("y", "o") and (not state.ready or (state.taken and event.key == "y")):
            return True
        return event.key not in ("y", "o", "enter", "escape") and (super().takes(event) or event.is_printable)


# ---------------------------------------------------------------------- the person's editor
def editor_command() -> list[str]:
    """The editor that the person has configured, found in the same way as git does."""
    told = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
    return shlex.split(told, posix=os.name != "nt")


def edit_outside(keys: Asks, text: str | None = None) -> None:
    """Opens the attributes as JSON in $EDITOR. The edited text is checked before it is applied, and
    nothing is saved. The text waits if the hierarchy is read-only."""
    edit = keys.session.edit
    if edit.state.way != "document":
        edit.show_way("json")
    before = edit.state.text if text is None else text
    try:
        after = _edited(keys, before)
    except OSError as error:
        edit.tell(words.no_editor(error))
        return
    if after is None or after == edit.state.text:  # also if a fault was taken back
        return

    def checked(line: int, sentence: str) -> None:
        if not sentence:
            edit.edit_text(after)
            return
        told = words.wrong_json(line, sentence, after)
        keys.show_sheet(
            Sheet(told, words.EDITOR_FOOT, {"e": "again"}), lambda a: edit_outside(keys, after) if a else None
        )

    edit.try_json(after, checked)


def _edited(keys: Asks, text: str) -> str | None:
    """The text after editing; None if the editor ended with an error."""
    handle, name = tempfile.mkstemp(suffix=".json", prefix="zarrscope-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        with keys.suspended():
            done = subprocess.run([*editor_command(), name], check=False)
        return Path(name).read_text(encoding="utf-8", errors="backslashreplace") if done.returncode == 0 else None
    finally:
        os.unlink(name)
