"""The edit of one member of the attributes by a text as a person types it."""

from __future__ import annotations

from collections.abc import Callable

from zarrscope.errors import Refused
from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.pointers import tokens_of
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form.field_editors import Editor, FieldPlace, refusal, row_for
from zarrscope_app.presenters.form.field_tree import kind_of
from zarrscope_app.presenters.form.line_ends import with_own_ends
from zarrscope_app.presenters.form.view_models import FieldKind
from zarrscope_app.presenters.typed_numbers import typed_number
from zarrscope_app.presenters.typed_times import typed_time

_MISSING = object()


def typed_value(editor: Editor, text: str) -> str:
    """The number that a person typed into a field with this editor; a date becomes its milliseconds."""
    return typed_number(typed_time(text) if editor == "date" else text)


def why_wrong(kind: FieldKind, row: str, text: str, is_number: Callable[[str], bool] = strings.is_number) -> str:
    """The reason why a text is invalid for a field; "" if it is valid. `kind`: the type of its value; `row`: the id of
    its editor (field_editors.py), which may check more."""
    if kind == "number" and not is_number(text):
        return strings.NOT_A_NUMBER
    if kind == "bool" and text.strip().lower() not in ("true", "false"):
        return strings.NOT_A_BOOL
    return refusal(row, text)


def with_member(document: Document, pointer: str, kind: FieldKind, text: str) -> Document:
    """The document with another value at `pointer`; the text is read according to the kind of the value."""
    if (kind == "null" and text.strip() != "null") or kind == "text":
        return document.set(pointer, text)
    return document.set_text(pointer, text.strip().lower() if kind == "bool" else text.strip())


def edited(document: Document, prefix: str, pointer: str, text: str) -> Document:
    """The document after a text was typed for the member at `pointer` of the attributes. Raises ZarrscopeError."""
    value = document.get(prefix + pointer, _MISSING)
    if value is _MISSING:
        return document
    kind = kind_of(value)
    row = row_for(FieldPlace(tuple(tokens_of(pointer)), value, document.get(prefix, {})))
    if kind == "number":
        text = typed_value(row.editor, text)
    elif isinstance(value, str):
        text = with_own_ends(value, text)
    if why := why_wrong(kind, row.id, text):
        raise Refused(why.rstrip("."), pointer=pointer)
    return with_member(document, prefix + pointer, kind, text)
