"""The keys of the form of attributes: they edit the field under the cursor, add, rename and remove members."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from zarrscope_app.presenters import KINDS, Field
from zarrscope_app.presenters import strings_terminal as words
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.form.presenter import EditStatus
from zarrscope_app.tui.application import Application
from zarrscope_app.tui.asking import Asks, ask_to_write
from zarrscope_app.tui.conflict import ask_side
from zarrscope_app.tui.editors import EDITORS, ask_line
from zarrscope_app.tui.form_lines import FormLines
from zarrscope_app.tui.sheet import Sheet

LEAVING = ("up", "down", "ctrl+up", "ctrl+down", "ctrl+s")
"""The keys that take the text of a value and leave its line."""
BEGINS = frozenset("0123456789.-")
"""The characters that begin to edit the field under the cursor: with letters, its keys act."""


class FormKeyboard(Asks, Protocol):
    """The part of `Keyboard` (keys.py) that the form needs."""

    @property
    def app(self) -> Application:
        """The application."""

    def ask_value(self, label: str, text: str, accept: Callable[[str], object]) -> None:
        """Asks for the value of a field."""

    def type(self, text: str) -> None:
        """Types into the line of input."""


def edit_field(keys: FormKeyboard, form: FormLines) -> None:
    """Expands or collapses the list or object under the cursor, or asks for another value of the field. Of a hierarchy
    that was opened read-only, the value waits until it is open for writing."""
    field, edit = form.field(), keys.session.edit
    if field is None:
        return
    if field.kind in ("list", "object"):
        edit.fold(field.pointer, not field.folded)
    elif _may_type(keys):
        EDITORS[field.editor](keys, field)


def form_key(keys: FormKeyboard, form: FormLines, key: str) -> bool:
    """Handles a key while the form is displayed, and returns whether it was one of the form's."""
    edit, field = keys.session.edit, form.field()
    in_conflict = edit.state.status is EditStatus.CONFLICT
    if key in BEGINS and field is not None and field.kind not in ("list", "object") and field.editor != "check":
        if _may_type(keys):
            ask_line(keys, field)
            keys.type(key)  # replaces the value
    elif in_conflict and key in ("m", "t"):
        edit.resolve("mine" if key == "m" else "theirs")
    elif key == "d" and in_conflict:
        ask_side(keys)
    elif key == "d":
        keys.app.review()
    elif key == "u":
        edit.undo()
    elif key == "ctrl+r":
        edit.redo()
    elif key == "w":
        edit.next_way()
    elif key in ("n", "x", "c", "N") and edit.state.status is EditStatus.READ_ONLY:
        ask_to_write(keys)
    elif key == "n":
        _add(keys, field)
    elif key == "x" and field:
        edit.remove(field.pointer)
    elif key == "c" and field and edit.may_retype(field.pointer):
        keys.show_sheet(Sheet.of_kinds(field), lambda kind: _retyped(keys, field.pointer, kind))
    elif key == "N" and field and field.can_rename:
        keys.ask(LABELS["rename"], field.label, lambda name: edit.rename(field.pointer, name))
    elif key == "N" and field:
        edit.rename(field.pointer, "")
    else:
        return key == "c"
    return True


def _may_type(keys: FormKeyboard) -> bool:
    """Whether a value may be typed: always, unless the program was started read-only; then says so."""
    if keys.app.read_only and keys.session.edit.state.status is EditStatus.READ_ONLY:
        keys.session.edit.tell(words.NEVER_WRITABLE)
        return False
    return True


def _add(keys: FormKeyboard, field: Field | None) -> None:
    """Adds a member: asks for its name, unless `field` is a list, and then for its value."""
    edit = keys.session.edit
    at = field.pointer if field and field.kind in ("list", "object") else ""
    if field and field.kind == "list":
        keys.ask(LABELS["value-typed"], "", lambda text: edit.add_typed(at, "", text))
    else:
        keys.ask(LABELS["new-name"], "", lambda name: _named(keys, at, name))


def _named(keys: FormKeyboard, at: str, name: str) -> None:
    edit = keys.session.edit
    if edit.takes_name(at, name):
        keys.ask(LABELS["value-typed"], "", lambda text: edit.add_typed(at, name, text))


def _retyped(keys: FormKeyboard, pointer: str, kind: str | None) -> None:
    if kind is not None:
        keys.session.edit.retype(pointer, next(k for k in KINDS if k == kind))
