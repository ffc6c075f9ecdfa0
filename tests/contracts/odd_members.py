"""Documents of arrays with one malformed member, for every member and dialect: the node still opens.

Each member of the templates of dialect.py, at any depth, is replaced by each of `ODD`, or left out. And each document
of a family of nodes is replaced by each of `NO_OBJECT`: if its key, or another document, shows the kind of the node,
the node opens, its children are listed, and attributes in another document can be seen and changed.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import zarrscope
from contracts.dialect import TEMPLATES, array_path
from zarrscope.dialects import DIALECTS, Dialect
from zarrscope.stores.memory import MemoryStore

GONE: Any = object()
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 1.5, 2**63, 2**200),
    *("", "x", "3", "K", "<i4", "π\x1b[2J"),
    *([], [None], [-1, 2], ["a", "b", "c"], [[1]], [{}], [{"name": "x"}]),
    *({}, {"a": 1}, {"name": "x", "configuration": 5}, {"must_understand": False}),
    GONE,
)
SMALL = {(10000, 1000): [4, 6], (1000, 10000): [6, 4], (1000, 100): [2, 3], (100, 1000): [3, 2]}


def small(value: Any) -> Any:
    """The template, changed to an array that is read quickly."""
    if isinstance(value, dict):
        return {name: small(each) for name, each in value.items()}
    if isinstance(value, list):
        found = SMALL.get(tuple(value)) if all(type(each) is int for each in value) else None
        return found if found is not None else [small(each) for each in value]
    return value


def key_of(dialect: Dialect) -> str:
    keys = dialect.documents(array_path(dialect), "array")
    return next(key for key in keys if key in TEMPLATES[dialect.name])


def documents(dialect: Dialect) -> dict[str, Any]:
    """The documents of the dialect's template, with an attribute x, by key."""
    found = {key: small(json.loads(value)) for key, value in TEMPLATES[dialect.name].items()}
    key, pointer = dialect.attributes_at(array_path(dialect), "array")
    holder = found[key] if not pointer else found[key][pointer[1:]]
    holder["x"] = 1
    return found


def pointers(value: Any, above: str = "") -> Iterator[str]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in items:
        yield f"{above}/{name}"
        yield from pointers(each, f"{above}/{name}")


def at(value: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def with_odd(document: Any, pointer: str, odd: Any) -> Any:
    """A copy of the document with `odd` at the pointer, or without that member."""
    changed = copy.deepcopy(document)
    above, _, name = pointer.rpartition("/")
    place = at(changed, above)
    step: Any = int(name) if isinstance(place, list) else name
    if odd is GONE:
        del place[step]
    else:
        place[step] = odd
    return changed


def cases(dialect: Dialect) -> Iterator[tuple[str, Any, MemoryStore]]:
    """For each case: the pointer, the malformed value, and the store."""
    whole = documents(dialect)
    key = key_of(dialect)
    member, holder = dialect.attributes_at(array_path(dialect), "array")
    own = f"{holder}/x" if member == key else None
    for pointer in pointers(whole[key]):
        if pointer == own:
            continue
        for odd in ODD:
            changed = {**whole, key: with_odd(whole[key], pointer, odd)}
            store = MemoryStore()
            for each, value in changed.items():
                store.set(each, json.dumps(value, indent=1).encode())
            yield pointer, odd, store


# ---------------------------------------------------------------------------------------- whole documents
WRITABLE = [dialect for dialect in DIALECTS if dialect.name != "v1"]
NO_OBJECT = (b"[1, 2]", b"5", b"null", b'"x"', b"true", b"{", b"", b"\xff\xfe", b'{"a": 1,}')
Kind: TypeAlias = Literal["array", "group"]
NODES: tuple[tuple[str, Kind], ...] = (("/", "group"), ("/g", "group"), ("/g/a", "array"))


def family(dialect: Dialect) -> MemoryStore:
    """A group /g with an array /g/a. Each has an attribute x, as has the root if it can have attributes."""
    store = MemoryStore()
    h = zarrscope.open(store, "w-", dialect=dialect.name)
    h.root.attrs["x"] = 1
    h.create_group("/g", {"x": 1})
    h.create_array("/g/a", shape=(4,), dtype="u1", chunks=(2,), attributes={"x": 1})[...] = 3
    return store


def documents_that_are_no_object(dialect: Dialect) -> Iterator[tuple[str, Kind, str, bytes, MemoryStore]]:
    """For each case: the path, kind and key of the document, its text, and the store. The document of one node is not a
    JSON object, or not JSON."""
    whole = family(dialect)
    for path, kind in NODES:
        for key in dialect.documents(path, kind):
            for odd in NO_OBJECT if whole.get(key) is not None else ():
                store = MemoryStore()
                for each in whole.list():
                    store.set(each, odd if each == key else whole.get(each) or b"")
                yield path, kind, key, odd, store


def keys(store: MemoryStore) -> dict[str, bytes]:
    return {key: store.get(key) or b"" for key in store.list()}
