"""The attributes as JSON text: makes this text from a document, and a document from the edited text."""

from __future__ import annotations

import re

from zarrscope.errors import ZarrscopeError
from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.unparsed import UnparsedDocument
from zarrscope.model.frozen import frozen
from zarrscope.runtime.tuning import JSON_PIECE
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form import line_ends, words
from zarrscope_app.presenters.form.draft import Draft, JsonText
from zarrscope_app.presenters.form.view_models import Field, TextShape

WHOLE = "text"
"""The id of the field under which a draft keeps a typed text that is not JSON."""
LINE = "line/"
"""The prefix of the ids of lines, for hosts that paint lines."""
MOST_LINES = 5000
_PLACE = re.compile(r"(?:Line|Not UTF-8 text at line) (\d+), (?:column|byte) (\d+):.*", re.DOTALL)


@frozen
class TextFault:
    """The reason why a text is not JSON. `line` counts from 1; 0 if the fault is not in a single line."""

    line: int
    sentence: str


def shape_of(text: str) -> TextShape:
    """The shape of a text, counted in steps: one call for a text of megabytes would keep Python's lock."""
    lines = 1 + sum(text.count("\n", at, at + JSON_PIECE) for at in range(0, len(text), JSON_PIECE))
    longest = at = 0
    while len(text) - at > longest:
        if end := text.rfind("\n", at, at + longest + 1) + 1:  # lines that are no longer are passed over together
            at = end
            continue
        end = text.find("\n", at + longest)
        longest = (end if end >= 0 else len(text)) - at
        at += longest + 1
    return TextShape(lines, longest)


def text_of(document: Document, prefix: str) -> str:
    """The text of the attributes without indentation; "{}" if there are none."""
    raw = document.text_at(prefix) if document.has(prefix) else "{}"
    first, *rest = raw.replace("\r\n", "\n").split("\n")
    indent = _indent(document, raw)
    if all(line.startswith(indent) or not line.strip() for line in rest):
        rest = [line.removeprefix(indent) for line in rest]
    return "\n".join([first, *rest])


def with_text(document: Document, prefix: str, text: str) -> Document:
    """The document with another text for its attributes, indented as the attributes were before. Raises BadMetadata."""
    if text == text_of(document, prefix):
        return document
    raw = document.text_at(prefix) if document.has(prefix) else "{}"
    first, *rest = text.split("\n")
    indent = _indent(document, raw)
    newline = "\r\n" if "\r\n" in document.text else "\n"
    return document.set_text(prefix, newline.join([first, *(indent + line if line.strip() else line for line in rest)]))


def _indent(document: Document, raw: str) -> str:
    """The white space at the beginning of the line on which the attributes end."""
    last = raw.replace("\r\n", "\n").rpartition("\n")
    if last[1]:
        return last[2][: len(last[2]) - len(last[2].lstrip(" \t"))]
    line = next((line for line in document.text.splitlines() if raw in line), "")
    return line[: len(line) - len(line.lstrip(" \t"))]


def shown(draft: Draft) -> tuple[str, TextFault | None]:
    """The text of the attributes. If the typed text is not JSON: the typed text, and its fault; the fault is None
    otherwise."""
    if draft.whole:
        now = draft.now
        return line_ends.shown(now.text), fault_of(now.fault) if isinstance(now, UnparsedDocument) else None
    typed, sentence = draft.errors.get(WHOLE, ("", ""))
    if not sentence:
        if draft.json is None or draft.json.document is not draft.now:
            draft.json = _json_text(draft.now, draft.prefix)
        return draft.json.text, None
    return typed, fault_in(typed, draft) or TextFault(0, sentence)


def fault_in(text: str, draft: Draft) -> TextFault | None:
    """The fault that makes `text` invalid for the attributes, or for the whole document; None if there is none."""
    if draft.whole:
        found = draft.with_text(text)
        return fault_of(found.fault) if isinstance(found, UnparsedDocument) else None
    try:
        Document(text)
        draft.need_object(with_text(draft.now, draft.prefix, text))
    except ZarrscopeError as error:
        return fault_of(error)
    return None


def told_of(draft: Draft, fault: TextFault) -> str:
    """The sentence about a faulty text, with the name of the document."""
    return words.is_not_json(draft.now.key, fault.sentence)


def edited(draft: Draft, text: str, document: Document | None = None) -> Document:
    """The document (None: that of the draft) with `text` as returned by an editor. Raises BadMetadata; for the text of
    a whole document nothing is raised, because that may be invalid."""
    document = document if document is not None else draft.now
    if draft.whole:
        return draft.with_text(line_ends.with_own_ends(document.text, text))
    made = with_text(document, draft.prefix, text)
    draft.json = _json_text(made, draft.prefix)
    return made


def _json_text(document: Document, prefix: str) -> JsonText:
    text = text_of(document, prefix)
    return JsonText(document, text, shape_of(text))


def fault_of(error: ZarrscopeError) -> TextFault:
    """The fault that an error of `with_text` describes, with the number of its line."""
    found = _PLACE.fullmatch(error.message)
    sentence = words.refusal(error, 300)
    return TextFault(int(found[1]) if found else 0, sentence)


def lines_of(text: str, fault: TextFault | None) -> tuple[Field, ...]:
    """The text as fields, one per line, each with its line number as label."""
    found = []
    for i, line in enumerate(text.split("\n")[:MOST_LINES]):
        wrong = fault.sentence if fault is not None and max(fault.line, 1) == i + 1 else ""
        found.append(
            Field(
                f"{LINE}{i}",
                str(i + 1),
                "text",
                line,
                strings.clean(line, 200),
                0,
                wrong,
                kinds=("text",),
                title=str(i + 1),
            )
        )
    return tuple(found)


def with_line(text: str, id: str, line: str) -> str:
    """The text with one line replaced."""
    lines = text.split("\n")
    lines[int(id.removeprefix(LINE))] = line
    return "\n".join(lines)
