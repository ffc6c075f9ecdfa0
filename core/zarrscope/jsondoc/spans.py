"""Finds the place of every value in a JSON text, for edits that keep all other characters and for errors that name the
line.

`scan` reads a text from end to end and reports its faults. `outline` is for a text that `parse_json` (parse.py) has
accepted, and finds each value only when it is asked for. Both modules accept the same deviations from the standard.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, overload

import numpy as np

from zarrscope.errors import BadMetadata
from zarrscope.jsondoc.grammar import BEYOND, BOM, LITERALS, LONG, MAX_DEPTH, TWICE, fail, integer
from zarrscope.jsondoc.parts import separators
from zarrscope.jsondoc.pointers import pointer_of
from zarrscope.model.frozen import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zarrscope.model.json_value import JSON

_SPACE = re.compile(r"[ \t\n\r]*+")
_STRING_PART = re.compile(r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+')
_STRING = re.compile(_STRING_PART.pattern + '"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?")
_WORD = re.compile(r"[-+.\w]++")

_NONSTANDARD = ("NaN", "Infinity", "-Infinity")

JSONType = Literal["object", "array", "string", "number", "literal"]


def _after_string(text: str, at: int) -> int:
    """The index behind the string that begins at `at` in a valid text."""
    match = _STRING.match(text, at)
    assert match is not None, "the text was valid"
    return match.end()


class JsonSpan:
    """One value of a text, with the text `text[start:stop]`. Objects have `names` beside `children`.

    Given the `text`, which must be valid, it finds its children when they are first asked for, so an edit in a large
    document reads only the path of its pointer. The children of a long value are made one by one (`_Children`).
    """

    __slots__ = ("_children", "_names", "_text", "kind", "start", "stop", "value")

    def __init__(self, kind: JSONType, start: int, stop: int = -1, value: JSON = None, text: str | None = None) -> None:
        self.kind: JSONType = kind
        self.start = start
        self.stop = stop
        self.value = value
        self._text = text
        self._names: Sequence[Name] = ()
        self._children: Sequence[JsonSpan] = ()

    @property
    def names(self) -> Sequence[Name]:
        """The names of an object's members, in the order of the text; empty for other values."""
        self._expand()
        return self._names

    @property
    def children(self) -> Sequence[JsonSpan]:
        """The values in an object or an array, in the order of the text; empty for other values."""
        self._expand()
        return self._children

    def index_of(self, name: str) -> int | None:
        """The index of an object's child with this name, the last of several; None if there is none."""
        if name not in self.value:
            return None
        if len(self.value) == len(self.children):
            return next(i for i, each in enumerate(self.value) if each == name)
        return next(i for i in reversed(range(len(self.names))) if self.names[i].value == name)

    def beginning(self, limit: int) -> JsonSpan:
        """A copy with only the first `limit` children, unless all were found already."""
        text = self._text
        if text is None and not isinstance(self._children, _Children):
            return self
        part = JsonSpan(self.kind, self.start, self.stop, self.value)
        if text is None or self.stop - self.start > LONG:
            part._names, part._children = self.names[:limit], self.children[:limit]
        else:
            part._names, part._children = _found(text, self, limit)
        return part

    def part(self, start: int, stop: int) -> tuple[Sequence[Name], Sequence[JsonSpan]]:
        """The names (of an object) and the children with these indices. The other children of a long value are not
        made."""
        held = self.beginning(stop) if self.stop - self.start <= LONG else self
        return held.names[start:stop], held.children[start:stop]

    def _expand(self) -> None:
        text = self._text
        if text is None:
            return
        if self.stop - self.start > LONG:
            edges = separators(text, self.start, self.stop)
            if len(edges) == 2 and after_space(text, self.start + 1) == self.stop - 1:
                edges = edges[:1]
            children = _Children(text, self, edges)
            self._names, self._children = _Names(children) if self.kind == "object" else (), children
        else:
            self._names, self._children = _found(text, self)
        self._text = None  # set last: another thread that reads it must not see half of the children


def _found(text: str, span: JsonSpan, limit: int | None = None) -> tuple[list[Name], list[JsonSpan]]:
    """The names and the children of a short object or array, at most `limit` of them."""
    names: list[Name] = []
    children: list[JsonSpan] = []
    at = after_space(text, span.start + 1)
    while at < span.stop - 1 and len(children) != limit:
        if span.kind == "object":
            stop = _after_string(text, at)
            names.append(Name(_unquote(text[at:stop]), at, stop))
            at = after_space(text, after_space(text, stop) + 1)
        child = _span_at(text, at)
        if span.kind == "array":
            child.value = span.value[len(children)]
        children.append(child)
        at = after_space(text, after_space(text, child.stop) + 1)
    if span.kind == "object" and len(names) == len(span.value):
        for name, child in zip(names, children, strict=True):
            child.value = span.value[name.value]
    return names, children


class Name(NamedTuple):
    """A member's name as spelled in the text, including its quotes."""

    value: str
    start: int
    stop: int


class _Children(Sequence[JsonSpan]):
    """The children of a long object or array, each made when it is asked for; `edges` as `separators` gives them."""

    def __init__(self, text: str, span: JsonSpan, edges: NDArray[np.int64]) -> None:
        self.text, self.edges = text, edges
        self._value, self._is_object = span.value, span.kind == "object"
        self._long: dict[int, JsonSpan] = {}
        """Long children that were requested: they keep the places that were found in them."""

    def __len__(self) -> int:
        return len(self.edges) - 1

    @overload
    def __getitem__(self, index: int) -> JsonSpan: ...

    @overload
    def __getitem__(self, index: slice) -> list[JsonSpan]: ...

    def __getitem__(self, index: int | slice) -> JsonSpan | list[JsonSpan]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = range(len(self))[index]
        kept = self._long.get(i)
        if kept is not None:
            return kept
        text = self.text
        at, stop = self.begin(i), int(self.edges[i + 1])
        while text[stop - 1] in " \t\n\r":
            stop -= 1
        if not self._is_object:
            value = self._value[i]
        else:
            name, at = name_at(text, at)
            value = self._value[name] if len(self._value) == len(self) else _read_at(text, at)[0]
        kind: JSONType = _KINDS.get(text[at], "number")
        child = JsonSpan(kind, at, stop, value, text if kind in ("object", "array") else None)
        if stop - at > LONG:
            self._long[i] = child
        return child

    def begin(self, i: int) -> int:
        """The offset at which the item begins, or the name of the member."""
        return after_space(self.text, int(self.edges[i]) + 1)


class _Names(Sequence[Name]):
    """The names of the members of a long object, each made when it is asked for. `_Children` holds the values."""

    def __init__(self, children: _Children) -> None:
        self._children = children

    def __len__(self) -> int:
        return len(self._children)

    @overload
    def __getitem__(self, index: int) -> Name: ...

    @overload
    def __getitem__(self, index: slice) -> list[Name]: ...

    def __getitem__(self, index: int | slice) -> Name | list[Name]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        text, at = self._children.text, self._children.begin(range(len(self))[index])
        stop = _after_string(text, at)
        return Name(_unquote(text[at:stop]), at, stop)


def parts_between(span: JsonSpan, start: int, stop: int) -> range:
    """The indices of the children that overlap `text[start:stop]`, and perhaps of some of their neighbours."""
    children = span.children
    if not isinstance(children, _Children):
        return range(len(children))
    first, last = np.searchsorted(children.edges, (start, stop))
    return range(max(0, int(first) - 1), min(len(children), int(last)))


def long_children(span: JsonSpan) -> list[JsonSpan]:
    """The children of a long value that may be long themselves, found without looking at each of the others."""
    children = span.children
    if not isinstance(children, _Children):
        return [*children]
    return [children[int(i)] for i in np.flatnonzero(np.diff(children.edges) > LONG)]


MOST_NOTES = 100
"""The most places that are listed for one document."""


@frozen
class Scan:
    """The result of `scan`: the values of a text with their places, and its non-standard JSON."""

    root: JsonSpan
    told: tuple[tuple[str, str], ...]
    """Each deviation from standard JSON: its name as in `oddities` (parse.py), and a sentence."""
    more: int = 0
    """The number of further deviations that are not listed."""

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for each place of non-standard JSON; if there are too many, the last one says how many are left
        out."""
        sentences = tuple(sentence for _, sentence in self.told)
        return (*sentences, f"And {self.more:,} more such places") if self.more else sentences


def outline(text: str, value: object) -> JsonSpan:
    """The value of a text that `parse_json` has accepted; its parts are found when they are asked for. They share the
    value, because a second copy would take as much memory again.
    """
    at = after_space(text, 1 if text.startswith(BOM) else 0)
    kind: JSONType = _KINDS.get(text[at], "number")
    return JsonSpan(kind, at, len(text.rstrip(" \t\n\r")), value, text if kind in ("object", "array") else None)


def name_at(text: str, at: int) -> tuple[str, int]:
    """The name of the member that begins at `at` in a valid text, and where its value begins."""
    stop = _after_string(text, at)
    return _unquote(text[at:stop]), after_space(text, after_space(text, stop) + 1)


def _span_at(text: str, at: int) -> JsonSpan:
    value, stop = _read_at(text, at)
    kind: JSONType = _KINDS.get(text[at], "number")
    return JsonSpan(kind, at, stop, value, text if kind in ("object", "array") else None)


def after_space(text: str, at: int) -> int:
    """The position of the first character at or after `at` that is not white space."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


_KINDS: Mapping[str, JSONType] = {
    "{": "object",
    "[": "array",
    '"': "string",
    **dict.fromkeys("tfnNI", "literal"),
}
_INFINITY = float("inf")
_read_at: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(parse_int=integer).raw_decode


def scan(text: str, limit: int | None = MOST_NOTES) -> Scan:
    """The value in `text` with the place of each of its parts. Raises BadMetadata with line, column and pointer.

    Reports the first `limit` deviations of each kind from the standard; None for all.
    """
    return _Scanner(text, limit).scan()


class _Scanner:
    """One pass over a text, without recursion, so that depth costs memory and not the stack."""

    def __init__(self, text: str, limit: int | None) -> None:
        self.text = text
        self.limit = limit
        self.open: list[JsonSpan] = []
        self.parts: list[tuple[list[Name], list[JsonSpan]]] = []
        """The parts that were found so far, for each open object or array."""
        self.twice: list[tuple[str, str]] = []
        self.tokens: list[tuple[str, str]] = []
        self.beyond: list[tuple[str, str]] = []
        self.more = 0

    def scan(self) -> Scan:
        text = self.text
        at = self._skip(1 if text.startswith(BOM) else 0)
        if at == len(text):
            self._fail(at, "The document is empty")
        if text[at] == "<":
            raise BadMetadata(
                "This is a web page or XML, not JSON",
                advice="Check the address, and whether the server asks for a login.",
            )
        root: JsonSpan | None = None
        while True:
            span = self._value(at)
            if root is None:
                root = span
            at = span.stop
            if at < 0:  # the value that begins here has parts of its own
                at = self._skip(span.start + 1)
                if self._char(at) == self._closer():
                    at = self._close(at)
                elif span.kind == "object":
                    at = self._name(at)
                    continue
                else:
                    continue
            while self.open:
                at = self._skip(at)
                char = self._char(at)
                if char == ",":
                    comma, at = at, self._skip(at + 1)
                    if self._char(at) == self._closer():
                        self._fail(comma, "A comma with nothing after it", advice="Remove the comma.")
                    if self.open[-1].kind == "object":
                        at = self._name(at)
                    break
                if char != self._closer():
                    self._unexpected(at, f"a comma or {self._closer()!r}")
                at = self._close(at)
            else:
                at = self._skip(at)
                if at != len(text):
                    self._fail(at, f"Something follows the end of the document: {text[at : at + 20]!r}")
                return Scan(root, (*self.twice, *self.tokens, *self.beyond), self.more)

    def _skip(self, at: int) -> int:
        return after_space(self.text, at)

    def _char(self, at: int) -> str:
        if at >= len(self.text):
            self._fail(at, "The document ends too early: a quote, bracket or brace is not closed")
        return self.text[at]

    def _closer(self) -> str:
        return "}" if self.open[-1].kind == "object" else "]"

    def _close(self, at: int) -> int:
        span = self.open.pop()
        self.parts.pop()
        span.stop = at + 1
        if span.kind == "array":
            span.value = [child.value for child in span.children]
        else:
            span.value = {name.value: child.value for name, child in zip(span.names, span.children, strict=True)}
            if len(span.value) != len(span.names):
                seen: set[str] = set()
                here = self._pointer()
                for name in span.names:
                    if name.value in seen and self._may_tell(self.twice):
                        pointer = here + pointer_of([name.value])
                        sentence = f"The name at {pointer} appears more than once; the last one counts"
                        self.twice.append((f"{TWICE} {name.value}", sentence))
                    seen.add(name.value)
        return at + 1

    def _value(self, at: int) -> JsonSpan:
        char = self._char(at)
        if char in "{[":
            span = JsonSpan("object" if char == "{" else "array", at)
            self._attach(span)
            names: list[Name] = []
            children: list[JsonSpan] = []
            span._names, span._children = names, children
            self.open.append(span)
            self.parts.append((names, children))
            if len(self.open) > MAX_DEPTH:
                self._fail(at, f"More than {MAX_DEPTH} objects and arrays inside one another")
            return span
        if char == '"':
            stop = self._string_end(at)
            span = JsonSpan("string", at, stop, _unquote(self.text[at:stop]))
        else:
            word = _WORD.match(self.text, at)
            spelled = word.group() if word else ""
            if spelled in LITERALS:
                span = JsonSpan("literal", at, at + len(spelled), LITERALS[spelled])
            elif number := _NUMBER.fullmatch(spelled):
                value = integer(spelled) if number.group(1) is number.group(2) is None else float(spelled)
                span = JsonSpan("number", at, at + len(spelled), value)
            else:
                self._unexpected(at, "a value")
        self._attach(span)
        if span.kind == "literal" and (token := self.text[span.start : span.stop]) in _NONSTANDARD:
            if self._may_tell(self.tokens):
                self.tokens.append((token, f"NaN or Infinity at {self._pointer()} is not standard JSON"))
        elif span.kind == "number" and span.value in (_INFINITY, -_INFINITY) and self._may_tell(self.beyond):
            sentence = f"The number at {self._pointer()} is too large for readers: it reads as infinite"
            self.beyond.append((f"{BEYOND} {self.text[span.start : span.stop]}", sentence))
        return span

    def _may_tell(self, told: list[tuple[str, str]]) -> bool:
        if self.limit is None or len(told) < self.limit:
            return True
        self.more += 1
        return False

    def _attach(self, span: JsonSpan) -> None:
        if self.open:
            self.parts[-1][1].append(span)

    def _name(self, at: int) -> int:
        """Reads a member's name and the colon. Returns the offset of its value."""
        if self._char(at) != '"':
            self._unexpected(at, "a name in double quotes")
        stop = self._string_end(at)
        self.parts[-1][0].append(Name(_unquote(self.text[at:stop]), at, stop))
        colon = self._skip(stop)
        if self._char(colon) != ":":
            self._unexpected(colon, "a colon")
        return self._skip(colon + 1)

    def _string_end(self, at: int) -> int:
        match = _STRING.match(self.text, at)
        if match:
            return match.end()
        part = _STRING_PART.match(self.text, at)
        bad = part.end() if part else at
        if bad >= len(self.text):
            self._fail(at, "The document ends within this string")
        if self.text[bad] == "\\":
            self._fail(bad, f"{self.text[bad : bad + 2]!r} is not an escape sequence of JSON")
        if self.text[bad] in "\r\n":
            self._fail(at, "This string is not closed on its line", advice="Write a line break in a string as \\n.")
        return self._fail(bad, f"A control character (0x{ord(self.text[bad]):02x}) in a string")

    def _unexpected(self, at: int, wanted: str) -> NoReturn:
        char = self._char(at)
        word = _WORD.match(self.text, at)
        spelled = word.group() if word else char
        advice = None
        if char in "/#":
            advice = "JSON has no comments."
        elif char in "'“”‘’`":
            advice = 'JSON strings are in double quotes: "…".'
        elif spelled in ("True", "False", "None", "nan", "inf", "-inf", "undefined"):
            advice = "JSON writes true, false and null."
        elif wanted == "a value" and (char.isdigit() or char in "+-."):
            advice = "A JSON number looks like 0, -12, 0.5 or 1e-3."
        elif wanted == "a value" and char == ",":
            advice = "There is a comma too many."
        found = spelled if len(spelled) <= 20 else spelled[:20] + "…"
        self._fail(at, f"Expected {wanted}, found {found!r}", advice=advice)

    def _pointer(self) -> str:
        """The pointer of the last value that began in the innermost open object or array; if that is empty, its own
        pointer.
        """
        tokens = []
        for span in self.open:
            if span.kind == "array" and span.children:
                tokens.append(str(len(span.children) - 1))
            elif span.names:
                tokens.append(span.names[-1].value)
        return pointer_of(tokens)

    def _fail(self, at: int, message: str, advice: str | None = None) -> NoReturn:
        pointer = self._pointer()
        if self.open and len(self.open[-1].names or self.open[-1].children) == len(self.open[-1].children) > 0:
            pointer = pointer.rpartition("/")[0]  # the last child is complete, so the fault lies in its parent
        fail(self.text, at, message, pointer, advice)


def _unquote(quoted: str) -> str:
    if "\\" not in quoted:
        return quoted[1:-1]
    value: str = json.loads(quoted)
    return value
