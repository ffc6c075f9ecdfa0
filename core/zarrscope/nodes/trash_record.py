"""The entries of a trash: each has a record (trash.json) with the former place of a node."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from zarrscope.dialects import NodeKind, dialect_named
from zarrscope.errors import BadMetadata, NotFound, ZarrscopeError
from zarrscope.jsondoc.parse import parse_json
from zarrscope.model.node_path import clean_path
from zarrscope.stores.store import Store

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

RECORD = "trash.json"
STORED = "stored/"
RECORD_LIMIT = 1 << 20


@dataclass(frozen=True)
class Thrown:
    """An entry of the trash. `when`: the time in UTC, in ISO 8601 format. `place`: the address of its files."""

    id: str
    path: str
    kind: NodeKind
    when: str
    dialect: str
    place: str = ""
    keys: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    implicit: tuple[str, ...] = ()
    """Groups above that existed only because of this node; restoring it restores them."""
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def record(self) -> bytes:
        """The JSON that is stored beside the files in the trash, from which the node is put back."""
        told = {
            "zarrscope": "a node in the trash",
            "path": self.path,
            "kind": self.kind,
            "when": self.when,
            "dialect": self.dialect,
            "keys": [*self.keys],
            "prefixes": [*self.prefixes],
            "implicit": [*self.implicit],
        }
        return json.dumps(told, indent=2).encode()


def files_of(trash: Store, id: str) -> str:
    """The address of the files of an entry."""
    return f"{trash.url}/{id}"


def listed(trash: Store) -> list[Thrown]:
    """All entries, including those without files: a process may have been killed before or after moving the files."""
    found = []
    for id in sorted(entry.name for entry in trash.list_dir("") if entry.is_prefix):
        with suppress(NotFound, BadMetadata):  # files of other programs are left alone
            found.append(read(trash, id))
    return found


def read(trash: Store, id: str) -> Thrown:
    """The entry of that id. Raises NotFound, and BadMetadata if its record names other files than the node's."""
    found = trash.get(f"{id}/{RECORD}", None, RECORD_LIMIT) if id and "/" not in id else None
    if found is None:
        raise NotFound(f"There is no {id!r} in the trash", store=trash.url, advice="zarrscope trash list names them.")
    told: JSON = parse_json(found, key=f"{id}/{RECORD}")
    try:
        thrown = Thrown(
            id,
            path=str(told["path"]),
            kind="array" if told["kind"] == "array" else "group",
            when=str(told["when"]),
            dialect=str(told["dialect"]),
            place=files_of(trash, id),
            keys=tuple(map(str, told["keys"])),
            prefixes=tuple(map(str, told["prefixes"])),
            implicit=tuple(map(str, told["implicit"])),
        )
        erasure = dialect_named(thrown.dialect).erase(clean_path(thrown.path), thrown.kind)
        moment = datetime.fromisoformat(thrown.when)
    except (KeyError, TypeError, ValueError, ZarrscopeError) as error:
        raise _bad(trash, id) from error
    if moment.tzinfo is None or {*erasure.keys} != {*thrown.keys} or erasure.prefixes != thrown.prefixes:
        raise _bad(trash, id)  # the record names other files than the node's
    return thrown


def _bad(trash: Store, id: str) -> BadMetadata:
    return BadMetadata(
        "The record of the trash cannot be understood",
        store=trash.url,
        key=f"{id}/{RECORD}",
        advice=f"The files lie beneath {id}/{STORED}, under the keys that they had.",
    )
