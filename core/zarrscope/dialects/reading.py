"""Reads JSON documents member by member. Every error states the key of the document, the JSON pointer of the member and
the expected value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zarrscope.errors import BadMetadata, ZarrscopeError
from zarrscope.errors.visible import counted
from zarrscope.jsondoc.grammar import LONG
from zarrscope.jsondoc.parse import NODE_LIMIT, parse_json
from zarrscope.jsondoc.pointers import pointer_of
from zarrscope.model.dtype import spell

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

MAX_RANK = 32
MAX_LENGTH = 2**63 - 1
_KINDS: dict[type, str] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


_ABSENT = object()


class within:
    """Completes the location in errors that are raised in a `with` block: puts `pointer` in front of their JSON
    pointer, and sets `key` if they have no key."""

    __slots__ = ("key", "pointer")

    def __init__(self, pointer: str = "", *, key: str | None = None) -> None:
        self.pointer = pointer
        self.key = key

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ZarrscopeError):
            if self.pointer:
                error.beneath(self.pointer)
            error.located(key=self.key)


def token(name: str | int) -> str:
    """One step of a JSON pointer: "/" and the escaped name (RFC 6901)."""
    return pointer_of([str(name)])


class Members:
    """A JSON object that records which members were read; `unread()` returns the others. `pointer` is its JSON pointer
    in the document, `what` its name in messages."""

    def __init__(self, value: JSON, pointer: str = "", what: str = "document") -> None:
        if type(value) is not dict and not isinstance(value, Mapping):
            raise BadMetadata(f"The {what} must be a JSON object, not {spell(value)}", pointer=pointer)
        self.value: Mapping[str, JSON] = value
        self.pointer = pointer
        self.what = what
        self._asked: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self.value

    def at(self, name: str) -> str:
        """The JSON pointer of a member in the document, whether or not the member exists."""
        return self.pointer + token(name)

    def any(self, name: str, default: JSON = None) -> JSON:
        """The member, of whatever type, or the default if it is absent."""
        self._asked.add(name)
        return self.value.get(name, default)

    def need(self, name: str, *kinds: type) -> JSON:
        """The member, of one of these types (bool does not count as int). Raises BadMetadata when absent or of another
        type."""
        self._asked.add(name)
        if name not in self.value:
            raise BadMetadata(
                f"The {self.what} has no member {name!r}, which its format demands",
                pointer=self.pointer,
                advice="Add it, or restore the document from a copy.",
            )
        return self.get(name, *kinds)

    def get(self, name: str, *kinds: type, default: JSON = None) -> JSON:
        """The member, or the default when absent. Raises BadMetadata when it is of another type."""
        self._asked.add(name)
        value = self.value.get(name, _ABSENT)
        if value is _ABSENT:
            return default
        if kinds and type(value) not in kinds and not (dict in kinds and isinstance(value, Mapping)):
            wanted = " or ".join(_KINDS.get(kind, kind.__name__) for kind in kinds)
            raise BadMetadata(f"{name} must be {wanted}, not {spell(value)}", pointer=self.at(name))
        return value

    def ints(
        self, name: str, *, minimum: int = 0, maximum: int = MAX_LENGTH, length: int | None = None
    ) -> tuple[int, ...]:
        """The member as a list of `length` whole numbers from `minimum` to `maximum`, such as a shape (spec D.5.11,
        F.1). Raises BadMetadata."""
        value = self.need(name, list)
        if len(value) > MAX_RANK:
            raise BadMetadata(
                f"{name} has {len(value)} dimensions; zarrscope reads at most {MAX_RANK}", pointer=self.at(name)
            )
        for i, n in enumerate(value):
            if type(n) is not int or not minimum <= n <= maximum:
                raise BadMetadata(
                    f"{name} must hold whole numbers from {minimum}, not {spell(n)}", pointer=self.at(name) + token(i)
                )
        if length is not None and len(value) != length:
            raise BadMetadata(
                f"{name} has {counted(len(value), 'entry', 'entries')}, the array has {counted(length, 'dimension')}",
                pointer=self.at(name),
            )
        return tuple(value)

    def chunk_shape(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Reads one chunk length per dimension: 0 is allowed only where the array's length is 0 too
        (spec A.8.2, D.8)."""
        found = self.ints(name, length=len(shape))
        for axis, (chunk, length) in enumerate(zip(found, shape, strict=True)):
            if chunk == 0 and length:
                pointer = self.at(name) + token(axis)
                raise BadMetadata("A chunk length of 0 fits only an array length of 0", pointer=pointer)
        return found

    def choice(self, name: str, *allowed: str, default: str | None = None) -> str:
        """Reads a member that must be one of the `allowed` words."""
        value = self.get(name, str, default=default) if default is not None else self.need(name, str)
        if value not in allowed:
            raise BadMetadata(
                f"{name} must be {' or '.join(spell(a) for a in allowed)}, not {spell(value)}", pointer=self.at(name)
            )
        return str(value)

    def unread(self) -> list[str]:
        """The names of members that were not read, in the order of the document."""
        return [name for name in self.value if name not in self._asked]


def load(
    documents: Mapping[str, bytes | Mapping[str, Any]],
    key: str,
    notes: list[str],
    *,
    limit: int = NODE_LIMIT,
    what: str = "document",
) -> Members | None:
    """The document `key` as Members, or None when it is not in `documents`. Raises BadMetadata."""
    source = documents.get(key)
    if source is None:
        return None
    try:
        if isinstance(source, bytes | bytearray | memoryview):
            data = source if isinstance(source, bytes) else bytes(source)
            return Members(parse_json(data, limit=limit, notes=notes), what=what)
        return Members(source, what=what)
    except BadMetadata as error:
        raise error.located(key=key) from None


def glance(documents: Mapping[str, bytes | Mapping[str, Any]], key: str) -> Mapping[str, Any]:
    """The members of a document that may be broken: empty if it cannot be read at all.

    Unlike `load`, it collects no notes and is four times as fast: a listing calls it for each document. A long one is
    loaded, because the quick parser would keep Python's lock until its end.
    """
    import json

    source = documents.get(key)
    if isinstance(source, bytes) and len(source) <= LONG:
        try:
            value = json.loads(source)
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}
    try:
        members = load(documents, key, [])
    except BadMetadata:
        return {}
    return {} if members is None else members.value


def text_of(documents: Mapping[str, bytes | Mapping[str, Any]], key: str) -> bytes:
    """The stored bytes of a document, for guessing its kind; empty if the document is absent or came already parsed."""
    source = documents.get(key)
    return source if isinstance(source, bytes) else b""


def attributes_of(members: Members) -> Mapping[str, Any]:
    """The member `attributes`; empty if it is absent or null. Raises BadMetadata if it is not a JSON object."""
    value = members.any("attributes")
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise BadMetadata(f"attributes must be an object, not {spell(value)}", pointer=members.at("attributes"))
    return value


def odd_number(value: JSON, number: int) -> bool:
    """Whether `value` is the string of this number, such as "3" for 3. Such a document is read with a note."""
    return type(value) is str and value == str(number)


def stays_inside(key: str) -> bool:
    """Whether a key that a document states lies beneath the document's own prefix; other keys are refused (spec
    F.10)."""
    return all(part not in ("", ".", "..") for part in key.split("/"))


def prefix_of(path: str) -> str:
    """The prefix of a node's keys in dialects whose keys follow paths: "" for the root, "a/b/" for "/a/b"."""
    inner = path.strip("/")
    return inner + "/" if inner else ""
