"""Describes the operations of a change of stores in words: one line per operation, and a sentence for all of them; also
lists the operations that erase data, about which a person is asked first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from zarrscope.stores.dry_run import Operation
from zarrscope_app.presenters import strings

_VERBS = (
    (("set",), "set"),
    (("copy",), "copied"),
    (("move_prefix",), "moved"),
    (("erase", "erase_prefix"), "erased"),
)


def line(operation: Operation, here: str) -> str:
    """One operation as a line: "set    a/zarr.json  312 B". The line names the store if it is not `here`."""
    places = _place(operation.key, operation.store, here)
    if operation.source is not None:
        places = f"{_place(operation.source, operation.source_url or here, here)} → {places}"
    return f"{operation.act.removesuffix('_prefix'):<5}  {places}  {_amount(operation)}".rstrip()


def _place(key: str, store: str, here: str) -> str:
    inside = strings.clean(key) if key else "/"
    return inside if store == here else f"{strings.clean(store)} {inside}"


def _amount(operation: Operation) -> str:
    parts = []
    if operation.act in ("move_prefix", "erase_prefix"):
        parts.append(strings.counted(operation.keys, "key"))
    elif operation.act == "erase" and not operation.keys:
        return "(not stored)"
    if operation.size is not None:
        parts.append(strings.size(operation.size))
    return f"({', '.join(parts)})" if parts else ""


def summary(operations: Sequence[Operation]) -> str:
    """All operations in one sentence: "2 values set (312 B), 12 copied (3.1 MiB), 3 erased"."""
    parts = []
    for acts, verb in _VERBS:
        found = [each for each in operations if each.act in acts]
        keys = sum(each.keys for each in found)
        if keys:
            sizes = [each.size for each in found if each.keys]
            told = "" if None in sizes else f" ({strings.size(sum(size or 0 for size in sizes))})"
            parts.append(f"{strings.counted(keys, 'value')} {verb}{told}")
    return ", ".join(parts) if parts else "Nothing changes"


def erasing(operations: Sequence[Operation], *, first: bool = False) -> list[Operation]:
    """The operations that erase stored data; with `first`, only those before the first write, which erase the target of
    a move or a copy, but not the source of a move."""
    chosen = takewhile(lambda each: each.act.startswith("erase"), operations) if first else operations
    return [each for each in chosen if each.destroys]


def to_json(operations: Sequence[Operation]) -> list[dict[str, Any]]:
    """The operations as JSON, for scripts."""
    return [
        {
            "operation": each.act,
            "key": each.key,
            "store": each.store,
            "bytes": each.size,
            "keys": each.keys,
            **({"source": each.source, "source_store": each.source_url} if each.source is not None else {}),
        }
        for each in operations
    ]
