"""JSON text (RFC 8259): bounded parsing of untrusted documents.

`parse_json` returns the value quickly; spans.py finds the place of each part. Both accept some deviations from the
standard that real hierarchies contain (spec F.15-F.19), and report each in a note: a byte order mark, the tokens NaN,
Infinity and -Infinity, names that appear twice (the last wins), numbers too large for a float (1e400 becomes infinity).
Everything else that breaks the standard is BadMetadata with line and column.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakValueDictionary

from zarrscope.errors import BadMetadata
from zarrscope.jsondoc.grammar import BEYOND, BOM, LITERALS, LONG, MAX_DEPTH, TWICE, fail, integer, without_collection
from zarrscope.model.storage import VersionedValue
from zarrscope.runtime.lazy_numpy import np
from zarrscope.runtime.tuning import JSON_PIECE

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

NODE_LIMIT = 16 << 20
"""The largest document of a node, in bytes, unless the caller or ZARRSCOPE_DOCUMENT_LIMIT sets another limit."""
CONSOLIDATED_LIMIT = 64 << 20
"""The largest document with consolidated metadata, in bytes; the same settings change it as NODE_LIMIT."""
SPARSE = 8
"""A document larger than NODE_LIMIT may contain at most one object, list or member per this many characters, because
each takes some hundred bytes of memory after parsing."""
_raised = 0
"""The highest limit that a caller has set: a document that could be read under it can be parsed, too."""

_PLACES_LIMIT = 4 << 20
"""In larger documents, errors have no pointer: finding it would take longer than reading the document."""
_NOTED_LIMIT = 1 << 20
"""In larger documents (bytes), notes have no pointer, because notes are made each time a document is read."""


class ParsedBytes(VersionedValue):
    """The bytes of a document with its parsed value, so that several steps of opening a node parse it only once. The
    value must not be changed. It keeps the version of the bytes that it is made of.
    """

    def __new__(cls, value: bytes) -> ParsedBytes:
        made = super().__new__(cls, value)
        if isinstance(value, VersionedValue):
            made.version = value.version
        return made

    parsed: tuple[Any, list[str]] | None = None


class _HasBytes(Protocol):
    """A document: its text with the parsed value."""

    bytes: bytes


_documents: WeakValueDictionary[int, _HasBytes] = WeakValueDictionary()
"""Hash of a long text → a document of it, as long as somebody uses that."""


def share(document: _HasBytes) -> None:
    """Lets `parsed_once` take the value of a document whose text it would parse: a form keeps the document that it has
    just saved, and the node is read again from the same bytes."""
    if len(document.bytes) > LONG:
        _documents[hash(document.bytes)] = document


def _shared(data: bytes) -> tuple[Any, list[str]] | None:
    found = _documents.get(hash(data)) if len(data) > LONG else None
    known = found.bytes if found is not None else None
    return known.parsed if isinstance(known, ParsedBytes) and known == data else None


class _Kept(dict[bytes, tuple[Any, list[str]]]):
    """Text → its value and its notes."""

    shares = False
    """Whether the values of documents in use are taken, too."""


_kept: ContextVar[_Kept | None] = ContextVar("_kept", default=None)


@contextmanager
def parsed_once(*, share: bool = False) -> Iterator[None]:
    """A context in which each text is parsed once, however often it is fetched: for operations that read one document
    repeatedly, such as an edit. The values must not be changed. `share`: a long text of which a Document is in use
    gets its value and is not parsed at all.
    """
    if _kept.get() is not None:
        yield
        return
    kept = _Kept()
    kept.shares = share
    token = _kept.set(kept)
    try:
        yield
    finally:
        _kept.reset(token)


def parse_json(data: bytes, *, key: str | None = None, limit: int = NODE_LIMIT, notes: list[str] | None = None) -> JSON:
    """The value of a JSON document, of at most `limit` bytes and 512 levels.

    `notes` gets a note for each deviation from the standard. An integer of more than 4300 digits becomes an infinite
    float, which no member accepts as a number. Raises BadMetadata with line and column.
    """
    try:
        held, kept = None, _kept.get()
        if len(data) <= max(limit, _raised):
            held = data.parsed if isinstance(data, ParsedBytes) else None
            if held is None and kept is not None:
                held = kept.get(data) or (_shared(data) if kept.shares else None)
        if held is None:
            text = decode_text(data, limit=limit)
            if text.startswith(BOM):
                text = text[1:]
            own_notes: list[str] = []
            held = parse_text(text, own_notes), own_notes
            if kept is not None:
                kept[bytes(data)] = held
        if isinstance(data, ParsedBytes):
            data.parsed = held
        if notes is not None:
            notes.extend(held[1])
        return held[0]
    except BadMetadata as error:
        raise error.located(key=key) from None


def raise_limit(limit: int) -> None:
    """Allows documents of up to `limit` bytes from now on."""
    global _raised
    _raised = max(_raised, limit)


def is_allowed(data: bytes, limit: int) -> bool:
    """Whether `decode_text` accepts the size of a text within this limit."""
    try:
        _check_size(data, limit)
    except BadMetadata:
        return False
    return True


def _check_size(data: bytes, limit: int) -> None:
    limit = max(limit, _raised)
    if len(data) > limit:
        raise BadMetadata(
            f"The document has {len(data):,} bytes; at most {limit:,} are read",
            advice="This is hardly metadata: check whether the key holds a chunk or a whole file. "
            "If it is, set ZARRSCOPE_DOCUMENT_LIMIT to more bytes.",
        )
    if len(data) > max(NODE_LIMIT, _raised) and SPARSE * sum(map(data.count, (b"{", b"[", b":"))) > len(data):
        raise BadMetadata(
            f"The document has {len(data):,} bytes, of which too many begin objects, lists and members",
            advice="This is hardly metadata. If it is, set ZARRSCOPE_DOCUMENT_LIMIT to more bytes.",
        )


def decode_text(data: bytes, *, limit: int = NODE_LIMIT) -> str:
    """The text of a document, a byte order mark kept as its first character. Raises BadMetadata."""
    _check_size(data, limit)
    if data[:2] == b"\x1f\x8b":
        raise BadMetadata("The document is compressed with gzip, not JSON text", advice="Store it uncompressed.")
    # Text of UTF-16 or UTF-32 begins with a mark, or has zero bytes beside its first characters.
    head = data[:4]
    if head[:2] in (b"\xff\xfe", b"\xfe\xff") or (b"\0" in head and head.replace(b"\0", b"")[:1] in (b"{", b"[")):
        wide = "UTF-32" if head.count(0) == 3 or head == b"\xff\xfe\0\0" else "UTF-16"
        raise BadMetadata(f"The document is {wide}; JSON is UTF-8", advice="Save it again as UTF-8.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise BadMetadata(f"Not UTF-8 text at line {line}, byte {column}: 0x{data[error.start]:02x}") from None


class _Odd(Exception):
    """Raised by the quick parser when a text is not standard JSON."""


def _even(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Odd
    return found


def _odd(token: str) -> JSON:
    raise _Odd


def _within(digits: str) -> float:
    """The float of a number. A search of the text for numbers such as 1e400 would take four times as long as parsing,
    and keep Python's lock all the while."""
    value = float(digits)
    if value in (_INFINITY, -_INFINITY):
        raise _Odd
    return value


def _finite(value: object) -> bool:
    """Whether no number in a value is infinite."""
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            pending.extend(each.values())
        elif isinstance(each, list):
            pending.extend(each)
        elif type(each) is float and each in (_INFINITY, -_INFINITY):
            return False
    return True


_INFINITY = float("inf")
_BLANKS = " \t\n\r"


class _Quick:
    """The attributes that a scanner takes from a json.JSONDecoder."""

    strict = True
    object_hook = None
    object_pairs_hook = staticmethod(_even)
    parse_constant = staticmethod(_odd)
    parse_float = staticmethod(_within)
    parse_int = int


def _scanner() -> Callable[[str, int], tuple[JSON, int]]:
    """The `scan_once` of json.JSONDecoder: a function of a text and a place in it, which returns a value and its end.

    It comes from the C module behind `json`, because importing `json` itself compiles six regular expressions, which
    takes twenty times as long as reading a short document.
    """
    try:
        made: Callable[[str, int], tuple[JSON, int]] = import_module("_json").make_scanner(_Quick)
    except (ImportError, AttributeError):  # another Python, or a later one whose scanner takes more attributes
        import json

        decoder = json.JSONDecoder(object_pairs_hook=_even, parse_constant=_odd, parse_float=_within)
        made = decoder.scan_once  # type: ignore[attr-defined]  # the stub lacks it
    return made


_scan = _scanner()
"""Made once, because making it takes longer than reading a short document."""


def parse_text(text: str, notes: list[str]) -> JSON:
    """The value of a JSON text; `notes` gets a note for each deviation from the standard. Raises BadMetadata."""
    with without_collection(len(text)):
        return _parse_quickly(text, notes)


def _parse_quickly(text: str, notes: list[str]) -> JSON:
    _check_depth(text)
    try:
        value, end = _scan(text, len(text) - len(text.lstrip(_BLANKS)))
    except (_Odd, ValueError, RecursionError, StopIteration):  # StopIteration: no value begins there
        return _parse_oddities(text, notes)
    return _parse_oddities(text, notes) if text[end:].strip(_BLANKS) else value


def _parse_oddities(text: str, notes: list[str]) -> JSON:
    import json

    odd: dict[str, None] = {}

    def constant(token: str) -> JSON:
        odd[token] = None
        return LITERALS[token]

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            odd[TWICE] = None
        return found

    try:
        try:
            value = json.loads(text, parse_constant=constant, object_pairs_hook=members)
        except json.JSONDecodeError:
            raise
        except ValueError:
            odd.clear()
            value = json.loads(text, parse_constant=constant, object_pairs_hook=members, parse_int=integer)
    except json.JSONDecodeError as error:
        if len(text) <= _PLACES_LIMIT:
            from zarrscope.jsondoc.spans import scan

            scan(text)
        raise BadMetadata(f"Not JSON: {error}") from None
    except RecursionError:
        raise BadMetadata("The document is nested too deeply") from None
    if not odd and not _finite(value):
        odd[BEYOND] = None
    if odd:
        from zarrscope.jsondoc.spans import scan

        notes.extend(scan(text).notes if len(text) <= _NOTED_LIMIT else [sentence_of(each) for each in odd])
    return value


def sentence_of(oddity: str) -> str:
    """The sentence for a deviation from standard JSON: a token, TWICE or BEYOND."""
    if oddity.startswith(TWICE):
        return "A name appears more than once in one object; the last one counts"
    if oddity.startswith(BEYOND):
        return "A number is beyond all that readers can hold, and reads as infinite"
    return f"{oddity} is not standard JSON"


def oddities(text: str) -> Counter[str]:
    """Counts non-standard JSON in one quick pass: tokens, "twice NAME", "beyond NUMBER"."""
    import json

    found: Counter[str] = Counter()

    def constant(token: str) -> JSON:
        found[token] += 1
        return LITERALS[token]

    def number(digits: str) -> float:
        value = float(digits)
        if value in (_INFINITY, -_INFINITY):
            found[f"{BEYOND} {digits}"] += 1
        return value

    def whole(digits: str) -> int | float:
        value = integer(digits)
        return number(digits) if type(value) is float else value

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = dict(pairs)
        if len(names) != len(pairs):
            for name, count in Counter(name for name, _ in pairs).items():
                if count > 1:
                    found[f"{TWICE} {name}"] += count - 1
        return names

    with without_collection(len(text)):
        json.loads(
            text.removeprefix(BOM),
            parse_constant=constant,
            parse_float=number,
            parse_int=whole,
            object_pairs_hook=members,
        )
    return found


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    if len(text) > LONG and not _may_be_deep(text):
        return
    depth = 0
    for match in re.finditer(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[{]|[\]}]', text, re.DOTALL):
        bracket = match.group()
        if bracket in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                fail(text, match.start(), f"More than {MAX_DEPTH} objects and arrays inside one another")
        elif bracket in "]}":
            depth -= 1


def _may_be_deep(text: str) -> bool:
    """Whether some value may be nested too deeply, counted by numpy in a tenth of the time. Brackets within strings
    count too, so a flat text may be reported as deep, but never a deep text as flat.
    """
    depth = lowest = 0
    opening, closing = b"[{", b"]}"
    table = bytes(1 if c in opening else 255 if c in closing else 0 for c in range(256))
    for at in range(0, len(text), JSON_PIECE):
        steps = np.frombuffer(text[at : at + JSON_PIECE].encode("utf-8", "replace").translate(table), np.int8)
        depths = np.cumsum(steps, dtype=np.int32)
        if depth + int(np.max(depths, initial=0)) - lowest > MAX_DEPTH:
            return True
        lowest = min(lowest, depth + int(np.min(depths, initial=0)))
        depth += int(depths[-1])
    return False
