"""Collects the members of a document that break its format, so that the others can still be used.

A node with defects can be opened. Its attributes can be seen and repaired. Reading or writing its values raises the
defect, with the text of `problem` (model/metadata.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from zarrscope.errors import BadMetadata, Unsupported
from zarrscope.errors.visible import visible
from zarrscope.model.dtype import DataType, Fill, unknown
from zarrscope.model.fill_value import undefined
from zarrscope.model.metadata import ArrayMetadata, ChunkGrid, ChunkKeys, CodecSpec, Defect, GroupMetadata, RegularGrid

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

P = ParamSpec("P")
T = TypeVar("T")


class StoredAttributes(dict[str, Any]):
    """The attributes of a node as they were read. A change would not be saved, so it raises TypeError."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("node.attributes is for reading only: node.attrs saves changes")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)  # copies are plain


def as_stored(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """These attributes, for reading only."""
    return StoredAttributes(attributes) if isinstance(attributes, dict) else attributes


class UnreadAttributes(Mapping[str, Any]):
    """The attributes of a node whose document is too broken to show them. Every access raises the defect, because an
    empty mapping would say that the node has no attributes.
    """

    def __init__(self, defect: Defect) -> None:
        self.defect = defect

    def __getitem__(self, name: str) -> JSON:
        raise self.defect.error

    def __iter__(self) -> Iterator[str]:
        raise self.defect.error

    def __len__(self) -> int:
        raise self.defect.error

    def __contains__(self, name: object) -> bool:
        raise self.defect.error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnreadAttributes) and other.defect == self.defect

    def __hash__(self) -> int:
        return hash(self.defect)

    def __repr__(self) -> str:
        return visible(f"<attributes that cannot be read: {self.defect.message}>")


def as_far_as_read(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The attributes, or an empty mapping if they cannot be read: for callers that look for one attribute and report
    the problem of the node elsewhere."""
    return {} if isinstance(attributes, UnreadAttributes) else attributes


def placed(attributes: Mapping[str, Any], store: str) -> Mapping[str, Any]:
    """The attributes; if they cannot be read, their defect gets the address of the store."""
    return UnreadAttributes(attributes.defect.placed(store)) if isinstance(attributes, UnreadAttributes) else attributes


class Defects:
    """Collects the defects of the document at `key`, in the order of reading."""

    def __init__(self, key: str) -> None:
        self.key = key
        self._found: list[Defect] = []

    def attempt(self, read: Callable[P, T], *args: P.args, **settings: P.kwargs) -> T | None:
        """Calls `read` and returns its result. If it finds a defect, keeps the defect and returns None."""
        try:
            return read(*args, **settings)
        except (BadMetadata, Unsupported) as error:
            self.add(error)
            return None

    def attributes(
        self, read: Callable[P, Mapping[str, Any]], *args: P.args, **settings: P.kwargs
    ) -> Mapping[str, Any]:
        """The attributes that `read` returns. If it finds a defect, keeps it and returns UnreadAttributes."""
        found = self.attempt(read, *args, **settings)
        return found if found is not None else UnreadAttributes(self._found[-1])

    def add(self, error: BadMetadata | Unsupported) -> Defect:
        """Keeps an error of reading as a defect."""
        feature = error.feature if isinstance(error, Unsupported) else None
        place = error.pointer or "", error.key if error.key is not None else self.key
        self._found.append(Defect(error.message, *place, error.own_advice or "", feature))
        return self._found[-1]

    def nothing_of(self, kind: str, dialect: str) -> ArrayMetadata | GroupMetadata:
        """The metadata of a node of which only the kind ("array" or "group") is known: stand-ins, and the defects."""
        if kind == "array":
            return self.nothing_of_array(dialect)
        return GroupMetadata(dialect, defects=self.found)

    def nothing_of_array(self, dialect: str) -> ArrayMetadata:
        """The metadata of an array whose document is not a JSON object: stand-ins only, and the defects."""
        return self.array(shape=None, dtype=None, grid=None, keys=None, codecs=None, fill=None, dialect=dialect)

    @property
    def found(self) -> tuple[Defect, ...]:
        """The defects that were collected so far."""
        return tuple(self._found)

    def array(
        self,
        *,
        shape: tuple[int, ...] | None,
        dtype: DataType | None,
        grid: ChunkGrid | None,
        keys: ChunkKeys | None,
        codecs: tuple[CodecSpec, ...] | None,
        fill: Fill | None,
        dialect: str,
        stored_type: object = None,
        **others: Any,
    ) -> ArrayMetadata:
        """The metadata of an array. The caller passes None for a member that could not be understood; a stand-in
        replaces it, and `unread` of the metadata names it.

        `stored_type`: the data type as the document names it, if `dtype` is None.
        """
        parts = {"shape": shape, "dtype": dtype, "grid": grid, "keys": keys, "codecs": codecs, "fill": fill}
        known = shape if shape is not None else ()
        named = dtype if dtype is not None else unknown(stored_type if isinstance(stored_type, str) else "unknown")
        return ArrayMetadata(
            shape=known,
            dtype=named,
            grid=grid if grid is not None else RegularGrid(tuple(max(1, n) for n in known)),
            keys=keys if keys is not None else ChunkKeys(""),
            codecs=codecs if codecs is not None else (),
            fill=fill if fill is not None else undefined(named),
            dialect=dialect,
            defects=self.found,
            unread=tuple(name for name, part in parts.items() if part is None),
            **others,
        )


def need_sound(metadata: ArrayMetadata | GroupMetadata) -> None:
    """Raises the first defect, if there is one: metadata with defects are neither written nor converted to another
    dialect."""
    for defect in metadata.defects:
        raise defect.error
