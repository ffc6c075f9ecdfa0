"""The attributes as JSON text: makes this text from a document, and a document from the edited text."""

from __future__ import annotations

import re
from typing import NamedTuple

from zarrscope.errors import BadMetadata, ZarrscopeError
from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.parts import common_beginning, common_end, line_pieces, start_of_line
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
    return _attributes(document, prefix).text


class _Attributes(NamedTuple):
    """The text of the attributes as it is stored, as it is shown, and the indentation that is not shown."""

    stored: str
    text: str
    indent: str


def _attributes(document: Document, prefix: str) -> _Attributes:
    span = document.span_at(prefix)
    stored = document.text[span.start : span.stop] if span is not None else "{}"
    text = stored.replace("\r\n", "\n") if "\r" in stored else stored  # looking for one character is quicker
    if (end := text.rfind("\n")) >= 0:
        line = text[end + 1 :]
    else:
        line = document.text[document.text.rfind("\n", 0, span.start) + 1 : span.start] if span is not None else ""
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    plain = _without(text, indent)
    return _Attributes(stored, text, "") if plain is None else _Attributes(stored, plain, indent)


def _without(text: str, indent: str) -> str | None:
    """The text without the indentation of all lines but the first; None if a line is indented otherwise."""
    if not indent:
        return text
    pieces = []
    for piece in line_pieces(text):
        if piece.count(f"\n{indent}") == piece.count("\n"):
            pieces.append(piece.replace(f"\n{indent}", "\n"))
            continue
        first, *rest = piece.split("\n")
        if not all(line.startswith(indent) or not line.strip() for line in rest):
            return None
        pieces.append("\n".join([first, *(line.removeprefix(indent) for line in rest)]))
    return "".join(pieces)


def _with_indent(text: str, indent: str, newline: str) -> str:
    """The text with an indentation before each line but the first, unless that is blank."""
    pieces = []
    for piece in line_pieces(text):
        first, *rest = piece.split("\n")
        pieces.append(newline.join([first, *(indent + line if line.strip() else line for line in rest)]))
    return "".join(pieces)


def with_text(document: Document, prefix: str, text: str) -> Document:
    """The document with another text for its attributes, indented as the attributes were before. Lines that are not
    edited stay as they are stored. Raises BadMetadata."""
    stored, before, indent = _attributes(document, prefix)
    if text == before:
        return document
    most = min(len(before), len(text))
    same = common_beginning(before, text, 0, 0, most)
    begin = before.rfind("\n", 0, same) + 1
    after = len(before) - common_end(before, text, len(before), len(text), most - same)
    end = found if (found := before.find("\n", after)) >= 0 else len(before)
    # the edited lines, then the same ones as they are stored
    newline = "\r\n" if "\r" in stored and "\r\n" in stored else "\n"
    lead = "\n" if begin else ""
    new = _with_indent(lead + text[begin : len(text) - len(before) + end], indent, newline)
    new = new.removeprefix(newline if begin else "")
    start = start_of_line(stored, before.count("\n", 0, begin))
    stop = len(stored)
    if end < len(before):
        stop = start_of_line(stored, before.count("\n", 0, end) + 1) - 1
        stop -= stored.startswith("\r\n", stop - 1)
    span = document.span_at(prefix)
    if span is not None:
        try:
            return document.replaced(prefix, span.start + start, span.start + stop, new)
        except BadMetadata:
            pass  # the line that this error names is one of the document, not of the text
    return document.set_text(prefix, "".join([stored[:start], new, stored[stop:]]))


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
        draft.need_object(with_text(draft.now, draft.prefix, text))
    except ZarrscopeError as error:
        try:
            Document(text)
        except BadMetadata as exact:
            return fault_of(exact)  # with the place in this text, not in the document
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
    for i, line in enumerate(text[: start_of_line(text, MOST_LINES)].split("\n")[:MOST_LINES]):
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
