"""Document: a JSON file as text, with the version at which it was read. An edit replaces one part; all other bytes
stay.

Values are addressed by JSON pointers (RFC 6901): "" is the whole document, "/attributes/scale/0" an item. Numbers keep
their spelling, members their order, and unknown members stay unchanged; new values are formatted like their neighbours.
A Document never changes: each edit returns a new one. Pure: no I/O. To read a value only, use `parse_json`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from zarrscope.errors import BadMetadata, NotFound, Refused
from zarrscope.errors.visible import visible
from zarrscope.jsondoc.grammar import LONG
from zarrscope.jsondoc.parse import (
    NODE_LIMIT,
    ParsedBytes,
    decode_text,
    is_allowed,
    oddities,
    parse_json,
    share,
)
from zarrscope.jsondoc.pointers import advice_on_missing, index_in, pointer_of, tokens_of
from zarrscope.jsondoc.sharing import Splice, shared_value, spliced
from zarrscope.jsondoc.spans import JsonSpan, outline
from zarrscope.jsondoc.style import Style, begin, escape_surrogates, indent_at, on_lines, plain
from zarrscope.model.storage import Version

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

_MISSING: object = object()
"""Marks a default that was not given, and a member that is to be removed."""
_ABSENT: object = object()
"""Marks that there is no value at a pointer."""


def same_json(a: object, b: object) -> bool:
    """Whether two values are equal as JSON. 1, 1.0 and true differ; NaN equals NaN; the order of members does not
    count.
    """
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same_json(a[name], b[name]) for name in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same_json, a, b))
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return repr(a) == repr(b)
    return bool(a == b)


class Document:
    """A JSON file. `key` and `version` record its key and the version that was read; they are not interpreted here.

    Raises BadMetadata with line and column when the text is not JSON.
    """

    def __init__(
        self, source: bytes | str, key: str = "", version: Version | None = None, *, limit: int = NODE_LIMIT
    ) -> None:
        if isinstance(source, str):
            source = escape_surrogates(source).encode()
        # ParsedBytes: other readers of these bytes need not parse them again
        self.bytes: bytes = source if isinstance(source, ParsedBytes) else ParsedBytes(source)
        self.key = key
        self.version = version
        self._limit = limit
        notes: list[str] = []
        self.value: JSON = parse_json(self.bytes, key=key or None, limit=limit, notes=notes)
        """The parsed document. It is shared: do not change it."""
        self.notes: tuple[str, ...] = tuple(notes)
        """One sentence for each deviation from standard JSON in the text: NaN, Infinity, repeated names."""
        share(self)

    # ------------------------------------------------------------------ reading
    @cached_property
    def text(self) -> str:
        """The text of the file, with its byte order mark if it has one. Raises BadMetadata if it is not UTF-8."""
        return decode_text(self.bytes, limit=self._limit)

    @cached_property
    def oddities(self) -> Counter[str]:
        """Counts the non-standard JSON in the text, by kind (parse.py)."""
        return oddities(self.text) if self.notes else Counter()

    @cached_property
    def _root(self) -> JsonSpan:
        return outline(self.text, self.value)

    @cached_property
    def _style(self) -> Style:
        return Style.of(self.text, self._root, self.key)

    def get(self, pointer: str, default: object = _MISSING) -> JSON:
        """The value at a pointer. Raises NotFound when there is none and no default was given."""
        value = self.value
        for token in tokens_of(pointer):
            if isinstance(value, dict) and token in value:
                value = value[token]
            elif isinstance(value, list) and (index := index_in(token, len(value))) is not None:
                value = value[index]
            elif default is not _MISSING:
                return default
            else:
                raise self._nothing_at(pointer)
        return value

    def has(self, pointer: str) -> bool:
        """Whether there is a value at a pointer, null included."""
        return self.get(pointer, _ABSENT) is not _ABSENT

    def text_at(self, pointer: str) -> str:
        """The exact text of the value at a pointer. Raises NotFound."""
        span = self._need(pointer).span
        return self.text[span.start : span.stop]

    def span_at(self, pointer: str) -> JsonSpan | None:
        """The place of the value at a pointer in `text`; None if there is no value."""
        found = self._find(pointer)
        return None if found is None else found.span

    # ------------------------------------------------------------------ editing
    def set(self, pointer: str, value: object) -> Document:
        """Returns the document with this value at the pointer; a new member is put last. Equal values within it keep
        their text.

        `value` is None, bool, int, float, str, list or dict (tuples, mappings and numpy scalars are accepted too).
        Raises NotFound when the object or array for it does not exist, Refused for values that JSON cannot hold.
        """
        try:
            value = plain(value, pointer)
            found = self._find(pointer)
            if found is None:
                return self.add(pointer, value)
            splices: list[Splice] = []
            later: list[tuple[str, Any]] = []
            self._compare(found.span, value, tokens_of(pointer), found.parent, splices, later)
            document = self._spliced(splices)
            for place, new in later:
                document = document.remove(place) if new is _MISSING else document.add(place, new)
        except RecursionError:
            raise self._too_deep(pointer) from None
        except Refused as error:
            raise error.located(key=self.key or None, pointer=pointer) from None
        return document

    def set_text(self, pointer: str, json_text: str) -> Document:
        """Returns the document with exactly this JSON text at the pointer. Raises BadMetadata if it is not JSON;
        otherwise like `set`.
        """
        new = self._checked(json_text)
        found = self._find(pointer)
        if found is None:
            return self._insert(pointer, new, None)
        return self._spliced([(found.span.start, found.span.stop, new)])

    def set_texts(self, texts: Mapping[str, str]) -> Document:
        """Returns the document with JSON texts at several pointers, none within another. Existing values are replaced
        in one pass.

        Raises as `set_text` does.
        """
        splices: list[Splice] = []
        later: dict[str, str] = {}
        for pointer, json_text in texts.items():
            found = self._find(pointer)
            if found is None:
                later[pointer] = json_text
            else:
                splices.append((found.span.start, found.span.stop, self._checked(json_text)))
        document = self._spliced(splices)
        for pointer, json_text in later.items():
            document = document.set_text(pointer, json_text)
        return document

    def replaced(self, pointer: str, start: int, stop: int, new: str) -> Document:
        """Returns the document with `new` in place of `text[start:stop]`, which is a part of the value at the pointer.

        Only the values around this part are parsed. Raises BadMetadata if there is then no value that ends where the
        old one ended, NotFound.
        """
        old, new = self._need(pointer).span, escape_surrogates(new)
        made = self._spliced([(start, stop, new)])
        now = made.span_at(pointer)
        if now is None or (now.start, now.stop) != (old.start, old.stop + len(new) - (stop - start)):
            raise BadMetadata("The text is not one value", pointer=pointer, key=self.key or None)
        return made

    def with_object(self, pointer: str) -> Document:
        """Returns the document with an empty object at the pointer if there is nothing, or null, so that members can be
        set in it.
        """
        if not self.has(pointer):
            return self.add(pointer, {})
        return self.set(pointer, {}) if self.get(pointer) is None else self

    def add(self, pointer: str, value: object, position: int | None = None) -> Document:
        """Returns the document with a new member, or a new item before the given index ("-" for the end), as RFC 6902
        "add".

        `position` is the place of the member among its siblings; None is last. Raises NotFound, or Refused if it
        exists.
        """
        try:
            return self._insert(pointer, plain(value, pointer), position)
        except RecursionError:
            raise self._too_deep(pointer) from None
        except Refused as error:
            raise error.located(key=self.key or None, pointer=pointer) from None

    def remove(self, pointer: str) -> Document:
        """Returns the document without this member or item. All members of a repeated name are removed. Raises
        NotFound, Refused for "".
        """
        found = self._need(pointer)
        if found.parent is None:
            raise Refused("The whole document cannot be removed, only replaced", pointer=pointer, key=self.key or None)
        parent, last = found.parent, len(found.parent.children) - 1
        if last == 0:
            return self._spliced([(parent.start + 1, parent.stop - 1, "")])
        if found.index == last:
            start, stop = parent.children[last - 1].stop, parent.children[last].stop
        else:
            start, stop = begin(parent, found.index), begin(parent, found.index + 1)
        document = self._spliced([(start, stop, "")])
        if parent.kind == "object" and document.has(pointer):
            return document.remove(pointer)
        return document

    def rename(self, pointer: str, name: str) -> Document:
        """Returns the document with the member renamed to `name`, in its old place. Raises NotFound, Refused when that
        name is taken.
        """
        found = self._need(pointer)
        parent = found.parent
        if parent is None or parent.kind != "object":
            raise Refused("Only a member of an object has a name", pointer=pointer, key=self.key or None)
        if parent.names[found.index].value == name:
            return self
        again = len(parent.value) != len(parent.names) and any(
            parent.names[i].value == parent.names[found.index].value for i in range(found.index)
        )
        if name in parent.value or again:
            raise Refused(
                f"The name {name!r} is taken" if name in parent.value else "This name appears more than once",
                pointer=pointer,
                key=self.key or None,
                advice="Choose another name, or remove the other member first.",
            )
        old = parent.names[found.index]
        return self._spliced([(old.start, old.stop, self._style.quoted(name))])

    def move(self, pointer: str, position: int) -> Document:
        """Returns the document with this member or item moved to `position` among its siblings. Commas, line breaks and
        indentation stay.
        """
        found = self._need(pointer)
        parent = found.parent
        if parent is None:
            raise Refused("The whole document has no siblings", pointer=pointer, key=self.key or None)
        to = max(0, min(position, len(parent.children) - 1))
        first, last = sorted((found.index, to))
        slots = [(begin(parent, i), parent.children[i].stop) for i in range(first, last + 1)]
        order = list(range(len(slots)))
        order.insert(to - first, order.pop(found.index - first))
        return self._spliced(
            [
                (start, stop, self.text[slice(*slots[i])])
                for (start, stop), i in zip(slots, order, strict=True)
                if slots[i] != (start, stop)
            ]
        )

    def read_at(self, version: Version | None) -> Document:
        """A copy of this document with another version, after it was saved. It is not parsed again."""
        same = copy(self)
        same.version = version
        return same

    # ------------------------------------------------------------------ details
    def _find(self, pointer: str) -> _Found | None:
        found = _Found(self._root, None, 0)
        for token in tokens_of(pointer):
            span = found.span
            if span.kind == "object":
                index = span.index_of(token)
            else:
                index = index_in(token, len(span.children)) if span.kind == "array" else None
            if index is None:
                return None
            found = _Found(span.children[index], span, index)
        return found

    def _need(self, pointer: str) -> _Found:
        found = self._find(pointer)
        if found is None:
            raise self._nothing_at(pointer)
        return found

    def _nothing_at(self, pointer: str) -> NotFound:
        advice = advice_on_missing(self._root.value, tokens_of(pointer))
        return NotFound("There is no such value in the document", pointer=pointer, key=self.key or None, advice=advice)

    def _too_deep(self, pointer: str) -> Refused:
        return Refused("The value is nested too deeply", pointer=pointer, key=self.key or None)

    def _compare(
        self,
        span: JsonSpan,
        value: JSON,
        tokens: list[str],
        parent: JsonSpan | None,
        splices: list[Splice],
        later: list[tuple[str, Any]],
    ) -> None:
        """Plans the smallest edit that makes the value at `span` equal `value`: replacements, then removals and
        additions.
        """
        if same_json(span.value, value):
            return
        if span.kind == "object" and isinstance(value, dict) and span.value.keys() & value.keys():
            last = {name.value: i for i, name in enumerate(span.names)}
            for name, i in last.items():
                if name in value:
                    self._compare(span.children[i], value[name], [*tokens, name], span, splices, later)
                else:
                    later.append((pointer_of([*tokens, name]), _MISSING))
            later.extend((pointer_of([*tokens, name]), value[name]) for name in value if name not in last)
        elif span.kind == "array" and isinstance(value, list) and span.children and value:
            children, count = span.children, len(value)
            for i, (old, item) in enumerate(zip(span.value, value, strict=False)):
                if not same_json(old, item):
                    self._compare(children[i], item, [*tokens, str(i)], span, splices, later)
            if count < len(children):
                splices.append((children[count - 1].stop, children[-1].stop, ""))
            elif count > len(children):
                gap, indent = self._gap(span)
                added = [gap + self._member(span, "", item, indent) for item in value[len(children) :]]
                splices.append((children[-1].stop, children[-1].stop, "".join(added)))
        else:
            splices.append((span.start, span.stop, self._replacement(span, parent, value)))

    def _replacement(self, span: JsonSpan, parent: JsonSpan | None, value: object) -> str:
        if span.children and (span.kind == "array") == isinstance(value, list):
            lines = on_lines(self.text, span)
        elif parent is None:
            lines = self._style.lines
        else:
            lines = on_lines(self.text, parent)
        indent = indent_at(self.text, span.start) if lines else None
        return self._style.spelled(value, indent)

    def _insert(self, pointer: str, value: JSON, position: int | None) -> Document:
        """Adds a value, or JSON text unchanged (Verbatim)."""
        tokens = tokens_of(pointer)
        if not tokens:
            if isinstance(value, Verbatim):
                return self._spliced([(self._root.start, self._root.stop, value)])
            return self.set(pointer, value)
        above = pointer_of(tokens[:-1])
        parent = self._need(above).span
        token, count = tokens[-1], len(parent.children)
        if parent.kind == "object":
            if token in parent.value:
                raise Refused("The object already has a member of this name", pointer=pointer, key=self.key or None)
            at = count if position is None else max(0, min(position, count))
        elif parent.kind == "array":
            index = count if token == "-" else index_in(token, count + 1)
            if index is None:
                raise Refused(f"The list has {count} items", pointer=pointer, key=self.key or None)
            at = index
        else:
            raise Refused(f"The value at {above} is no object and no array", pointer=pointer, key=self.key or None)

        text, style = self.text, self._style
        if count == 0:
            around = self._find_parent(above)
            outer = indent_at(text, parent.start)
            lines = style.lines if around is None else on_lines(text, around)
            indent = outer + style.unit if lines else None
            before, after = (style.newline + outer + style.unit, style.newline + outer) if lines else ("", "")
            member = self._member(parent, token, value, indent)
            return self._spliced([(parent.start + 1, parent.stop - 1, before + member + after)])
        gap, indent = self._gap(parent)
        member = self._member(parent, token, value, indent)
        if at == count:
            return self._spliced([(parent.children[-1].stop, parent.children[-1].stop, gap + member)])
        return self._spliced([(begin(parent, at), begin(parent, at), member + gap)])

    def _gap(self, parent: JsonSpan) -> tuple[str, str | None]:
        """The text between the parts of a non-empty object or array, and the indentation of a new part (None: on the
        same line)."""
        count = len(parent.children)
        if count > 1:
            gap = self.text[parent.children[-2].stop : begin(parent, count - 1)]
        else:
            lead = self.text[parent.start + 1 : begin(parent, 0)]
            gap = "," + (lead if "\n" in lead else self._style.comma)
        indent = gap[gap.rfind("\n") + 1 :] if "\n" in gap else None
        return gap, indent if indent is None or indent.isspace() else ""

    def _find_parent(self, pointer: str) -> JsonSpan | None:
        found = self._find(pointer)
        return None if found is None else found.parent

    def _member(self, parent: JsonSpan, name: str, value: object, indent: str | None) -> str:
        spelled = value if isinstance(value, Verbatim) else self._style.spelled(value, indent)
        if parent.kind == "array":
            return spelled
        colon = self._style.colon
        if parent.names:
            here = self.text[parent.names[-1].stop : parent.children[-1].start]
            colon = colon if "\n" in here else here
        return self._style.quoted(name) + colon + spelled

    def _checked(self, json_text: str) -> Verbatim:
        text = escape_surrogates(json_text).strip(" \t\r\n\ufeff")
        parse_json(text.encode(), limit=self._limit)
        return Verbatim(text)

    def _spliced(self, splices: Iterable[Splice]) -> Document:
        planned = [*splices]
        if not planned:
            return self
        text = spliced(self.text, planned)
        new_bytes = ParsedBytes(text.encode())
        if new_bytes == self.bytes:
            return self
        if len(new_bytes) > LONG and not self.notes and is_allowed(new_bytes, self._limit):
            shared = shared_value(self.text, self._root, planned)
            new_bytes.parsed = (shared[0], []) if shared is not None else None
        made = self._of(new_bytes, self.version)
        made.text = text  # not decoded once more
        return made

    def _of(self, source: bytes, version: Version | None) -> Document:
        return Document(source, self.key, version, limit=self._limit)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Document) and (self.bytes, self.key, self.version) == (
            other.bytes,
            other.key,
            other.version,
        )

    def __hash__(self) -> int:
        return hash((self.bytes, self.key))

    def __repr__(self) -> str:
        return visible(f"<Document {self.key} of {len(self.bytes)} bytes>")


class Verbatim(str):
    """JSON text that is inserted unchanged."""

    __slots__ = ()


@dataclass(frozen=True)
class _Found:
    span: JsonSpan
    parent: JsonSpan | None
    index: int
