"""Collects the members of a document that break its format, so that the others can still be used.

A node with defects can be opened. Its attributes can be seen and repaired. Reading or writing its values raises the
defect, with the text of `problem` (model/metadata.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from zarrscope.errors import BadMetadata, Unsupported
from zarrscope.model.dtype import DataType, Fill, unknown
from zarrscope.model.fill_value import undefined
from zarrscope.model.metadata import ArrayMetadata, ChunkGrid, ChunkKeys, CodecSpec, Defect, GroupMetadata, RegularGrid

P = ParamSpec("P")
T = TypeVar("T")


class Defects:
    """The defects of the document at `key`, in the order of reading."""

    def __init__(self, key: str) -> None:
        self.key = key
        self._found: list[Defect] = []

    def attempt(self, read: Callable[P, T], *args: P.args, **settings: P.kwargs) -> T | None:
        """Calls `read` and returns its result. If it finds a defect, keeps the defect and returns None."""
        try:
            return read(*args, **settings)
        except (BadMetadata, Unsupported) as error:
            feature = error.feature if isinstance(error, Unsupported) else None
            place = error.pointer or "", error.key if error.key is not None else self.key
            self._found.append(Defect(error.message, *place, error.advice or "", feature))
            return None

    def nothing_of_array(self, dialect: str) -> ArrayMetadata:
        """The metadata of an array whose document is not a JSON object: its key alone shows that it is an array."""
        return self.array(shape=None, dtype=None, grid=None, keys=None, codecs=None, fill=None, dialect=dialect)

    @property
    def found(self) -> tuple[Defect, ...]:
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
        stored_type: Any = None,
        **others: Any,
    ) -> ArrayMetadata:
        """The metadata, with stand-ins for members that could not be understood (None). `stored_type` is then the data
        type as the document names it.
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
    """Raises the first defect: metadata with defects are never written again, nor converted to another dialect."""
    for defect in metadata.defects:
        raise defect.error
