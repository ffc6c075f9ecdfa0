"""Edits to the members of one large object in a JSON text, in one pass over the text.

A Document (document.py) can edit any value, but searches level by level. Consolidated metadata may hold thousands of
documents as members of one object, in megabytes of text; an edit changes a few of them. This module finds the members
in one pass, and edits only the changed ones, each as a small Document. The text must be valid JSON without repeated
names. All other characters stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.grammar import BOM
from zarrscope.jsondoc.pointers import pointer_of
from zarrscope.jsondoc.spans import after_space, name_at

_skip = json.JSONDecoder(parse_int=float).raw_decode
"""Finds the end of a value. The value is not used; numbers are parsed as floats, because these have no limit of
digits."""


class MemberSpan(NamedTuple):
    """`text[begin:stop]` is the whole member, `text[start:stop]` its value."""

    name: str
    begin: int
    start: int
    stop: int


class ObjectSpan(NamedTuple):
    """An object: `text[start:stop]`."""

    start: int
    stop: int
    items: list[MemberSpan]


def members_of(text: str, place: Sequence[str]) -> ObjectSpan | None:
    """The members of the object at `place`, a list of names from the root; None if there is no such object.

    Text after the object is not read, and text before it once.
    """
    at = after_space(text, 1 if text.startswith(BOM) else 0)
    for name in place:
        found = _value_of(text, at, name)
        if found is None:
            return None
        at = found
    if not text.startswith("{", at):
        return None
    items, start = [], at
    at = after_space(text, at + 1)
    while text[at] != "}":
        begin, (name, value) = at, name_at(text, at)
        _, stop = _skip(text, value)
        items.append(MemberSpan(name, begin, value, stop))
        at = after_space(text, stop)
        if text[at] == ",":
            at = after_space(text, at + 1)
    return ObjectSpan(start, at + 1, items)


def _value_of(text: str, at: int, wanted: str) -> int | None:
    """The offset at which the value of a member begins, in the object that begins at `at`."""
    if not text.startswith("{", at):
        return None
    at = after_space(text, at + 1)
    while text[at] != "}":
        name, value = name_at(text, at)
        if name == wanted:
            return value
        at = after_space(text, _skip(text, value)[1])
        if text[at] == ",":
            at = after_space(text, at + 1)
    return None


def with_members(text: str, place: Sequence[str], changes: Mapping[str, Any]) -> str | None:
    """The text with these members of the object at `place` set, or removed for None. Returns None if there is no such
    object, or it has no member whose format new ones could follow; use a Document then.
    """
    found = members_of(text, place)
    if found is None or not found.items:
        return None
    known = {member.name for member in found.items}
    added = {name: value for name, value in changes.items() if value is not None and name not in known}
    gone = {name for name, value in changes.items() if value is None and name in known}
    if gone == known:
        return None
    kept = [member for member in found.items if member.name not in gone]
    pieces, at = [], 0
    for i, member in enumerate(found.items):
        if member.name in gone:
            if member.begin > kept[-1].begin:  # no kept member follows: the comma before goes, too
                pieces.append(text[at : kept[-1].stop])
                at = found.items[-1].stop
                break
            pieces.append(text[at : member.begin])
            at = found.items[i + 1].begin
        elif changes.get(member.name) is not None:
            pieces += [text[at : member.start], _replaced(text, member, changes[member.name])]
            at = member.stop
    text = "".join([*pieces, text[at:]])
    return _extended(text, place, added) if added else text


def _replaced(text: str, member: MemberSpan, value: object) -> str:
    lead = _line_before(text, member.begin)
    changed = Document(lead + text[member.start : member.stop]).set("", value)
    return changed.text[len(lead) :]


def _extended(text: str, place: Sequence[str], added: Mapping[str, Any]) -> str | None:
    """The text with new members at the end of the object, laid out like its last two."""
    found = members_of(text, place)
    if found is None or not found.items:
        return None
    lead = _line_before(text, found.start) + text[found.start : found.items[0].begin]
    begin = found.items[-2:][0].begin
    document = Document(lead + text[begin : found.stop])
    for name, value in added.items():
        document = document.add(pointer_of([name]), value)
    return text[:begin] + document.text[len(lead) :] + text[found.stop :]


def _line_before(text: str, at: int) -> str:
    """A line break and the indentation of the line; "" in the first line."""
    begin = text.rfind("\n", 0, at) + 1
    line = text[begin:at]
    return "\n" + line[: len(line) - len(line.lstrip(" \t"))] if begin else ""
