"""The difference between two contents of a part, so that a small change of a large part is sent in few bytes.

A difference is nested like the content: it holds what changed under its name or its position in a list. A new value is
a list of this one value. {"rows": {"3": {"text": ["0.5"]}}} sets the text of the fourth row to "0.5". Edits of a long
text are a list of three elements for each: the first character that is replaced, the one after the last, and the new
characters. {"text": [120, 123, "0.5", 200, 200, "x"]} replaces three characters and inserts one. Characters are counted
in the old text as browsers count them, in units of UTF-16.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from zarrscope.jsondoc.parts import common_beginning, common_end

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON


SHARE = 0.5
"""The largest difference that is sent in place of the content, as a share of the content's bytes. Each difference is
one from the content that was sent last in full, so that a page which is opened later needs no history."""
LONG = 200
"""Characters from which on a text is sent as edits of the earlier text."""
COUNTED = 1 << 16
"""Characters from which on a text counts as its length when messages are compared."""
AWAITED = "…"
"""Stands in a readout for a value that is being read."""
STANDS_FOR_AWAITED = "?"
"""It takes one byte."""
NUMBER = re.compile(rf"-?[0-9][-+.0-9e]*|{AWAITED}")
"""Numbers of a readout; the same expression is in elements.js."""
_PLAIN = (str, bool, int, float, type(None))
MOST_LINES = 1000
"""The most lines between the first change and the last that are searched for unchanged ones; of more, the whole is
replaced."""


def difference(old: JSON, new: JSON) -> JSON:
    """The difference of two values as JSON, or None if they are equal. Objects with other members, lists of another
    length, and lists of plain values are replaced as a whole."""
    pairs: Iterable[tuple[Any, Any, Any]]
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        pairs = ((name, old[name], new[name]) for name in new)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new) and _is_nested(new):
        pairs = ((str(at), old[at], new[at]) for at in range(len(new)))
    elif isinstance(old, str) and isinstance(new, str) and old != new and len(new) >= LONG:
        return _text_edits(old, new)
    else:
        return None if type(old) is type(new) and old == new else [new]
    changed = ((name, a, b) for name, a, b in pairs if a is not b and not (type(a) is type(b) in _PLAIN and a == b))
    return {name: found for name, a, b in changed if (found := difference(a, b)) is not None} or None


def is_small(found: JSON, content: JSON) -> bool:
    """Whether a difference takes so much less than the content that it is sent in its place."""
    return _length(found) <= SHARE * _length(content)


def _length(value: JSON, levels: int = 2) -> int:
    """The length of a value as JSON. A long text in the first levels counts without its escapes: one of megabytes would
    be written as JSON for its length alone."""
    if isinstance(value, str) and len(value) > COUNTED:
        return len(value)
    if isinstance(value, dict) and levels:
        return sum(len(name) + 6 + _length(each, levels - 1) for name, each in value.items())
    if isinstance(value, list) and any(isinstance(each, str) and len(each) > COUNTED for each in value):
        return sum(2 + _length(each, 0) for each in value)
    return len(json.dumps(value))


def with_text_edits(old: str, edits: list[Any]) -> str:
    """The text after edits, whose characters a browser may have counted."""
    units, made, at = old.encode("utf-16-le", "surrogatepass"), b"", 0
    for start, end, inserted in zip(edits[::3], edits[1::3], edits[2::3], strict=True):
        made += units[2 * at : 2 * start] + inserted.encode("utf-16-le", "surrogatepass")
        at = end
    return (made + units[2 * at :]).decode("utf-16-le", "surrogatepass")


def readout_change(old: str, new: str) -> list[str]:
    """The change that makes one line with numbers from another with the same words: [numbers], or [numbers, end] if
    `end` replaces the part of the line after the last of these numbers. [] if the new line itself is as short.

    Numbers have a space between them; "" stands for an unchanged number, STANDS_FOR_AWAITED for AWAITED.
    """
    before, after = _numbers(old), _numbers(new)
    words, others = NUMBER.split(old), NUMBER.split(new)
    same = next((at for at, (was, now) in enumerate(zip(words, others, strict=False)) if was != now), len(words))
    same = min(same, len(before), len(after))
    given = ["" if was == now else STANDS_FOR_AWAITED if now == AWAITED else now
             for was, now in zip(before[:same], after, strict=False)]  # fmt: skip
    change = [" ".join(given)]
    if words[same:] == others[same:]:
        change = [change[0].rstrip()]
    elif same:
        rest = [text for pair in zip(others[same:], after[same:], strict=False) for text in pair]
        change.append("".join([*rest, others[-1]]))
    else:
        return []
    return change if len(json.dumps(change)) < len(json.dumps(new)) else []


def with_readout_change(old: str, change: list[str]) -> str:
    """The line after a change, as the browser makes it."""
    made, at = "", 0
    for number, found in zip(change[0].split(" "), NUMBER.finditer(old), strict=False):
        new = AWAITED if number == STANDS_FOR_AWAITED else number or found[0]
        made, at = made + old[at : found.start()] + new, found.end()
    return made + (change[1] if len(change) > 1 else old[at:])


def readout_words(line: str) -> str:
    """The part of a line that a change of its numbers leaves alone."""
    return NUMBER.sub(AWAITED, line)


def _numbers(line: str) -> list[str]:
    return NUMBER.findall(line)


def checksum(text: str) -> int:
    """A number by which kernel and browser recognise that they have the same text."""
    return zlib.adler32(text.encode("utf-16-le", "surrogatepass"))


def _text_edits(old: str, new: str) -> list[Any]:
    """The edits that make one text from another, or the new text in a list if they are not shorter."""
    edits: list[Any] = []
    at = units = 0
    for start, end, inserted in _changed(old, new):
        units += _units(old[at:start])
        edits += [units, units := units + _units(old[start:end]), inserted]
        at = end
    return edits if sum(map(len, edits[2::3])) <= SHARE * len(new) else [new]


def _changed(old: str, new: str) -> Iterator[tuple[int, int, str]]:
    """The changed places: (the first character in the old text, the one after the last, the new characters)."""
    start, end, last = _inside(old, new)
    if not 0 < max(old.count("\n", start, end), new.count("\n", start, last)) < MOST_LINES:
        yield start, end, new[start:last]
        return
    before, after = old[start:end].splitlines(keepends=True), new[start:last].splitlines(keepends=True)
    for how, a, b, c, d in SequenceMatcher(None, before, after).get_opcodes():
        lines, others = "".join(before[a:b]), "".join(after[c:d])
        if how != "equal":
            first, stop, rest = _inside(lines, others)
            yield start + first, start + stop, others[first:rest]
        start += len(lines)


def _inside(old: str, new: str) -> tuple[int, int, int]:
    """Where two texts differ: the first different character, and in each text the one after the last."""
    most = min(len(old), len(new))
    start = common_beginning(old, new, 0, 0, most)
    shared = common_end(old, new, len(old), len(new), most - start)
    return start, len(old) - shared, len(new) - shared


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _is_nested(items: list[Any]) -> bool:
    return any(isinstance(item, dict | list) for item in items)
