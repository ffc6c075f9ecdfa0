"""The table of the terminal's editors: the effect of Enter on a field of the form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from zarrscope_app.presenters import Field, Session, strings
from zarrscope_app.presenters.form.field_editors import Editor
from zarrscope_app.tui.sheet import PICKS, Sheet


class AsksForValues(Protocol):
    """The part of the keyboard (keys.py) that asks for a text or a choice."""

    @property
    def session(self) -> Session:
        """The session of the hierarchy in front."""

    def ask_value(self, label: str, text: str, accept: Callable[[str], object]) -> None:
        """Asks for the value of a field, proposed as `text`; `accept` gets the answer."""

    def show_sheet(self, sheet: Sheet, answered: Callable[[str | None], object]) -> None:
        """Shows a sheet over the screen; `answered` gets the choice, None after Esc."""


def ask_line(keys: AsksForValues, field: Field) -> None:
    """Asks for the text of a field."""
    label = strings.proposals(field.label if field.title == field.kind else field.title, field.choices)
    keys.ask_value(label, field.text, lambda text: keys.session.edit.edit(field.pointer, text))


def _choice(keys: AsksForValues, field: Field) -> None:
    if not 0 < len(field.choices) <= len(PICKS):
        ask_line(keys, field)
        return

    def answered(text: str | None) -> None:
        if text:
            keys.session.edit.edit(field.pointer, text)
        elif text is not None:
            ask_line(keys, field)

    keys.show_sheet(Sheet.of_choices(field), answered)


EDITORS: dict[Editor, Callable[[AsksForValues, Field], None]] = {
    "line": ask_line,
    "choice": _choice,
    "check": lambda keys, field: keys.session.edit.edit(field.pointer, "false" if field.text == "true" else "true"),
    "colour": ask_line,
    "date": ask_line,
    "none": ask_line,
}
"""The function that Enter calls for each editor. Of the fields with the editor "none", only a null gets here: Enter
expands or collapses lists and objects instead."""
