"""Data types: the names of the specification, what numpy makes of them, and every JSON form of a fill value.

A DataType is canonical: named as in v3 ("int16", "string", "r24" …), in memory always native byte order (the stored
order is the `bytes` codec's business; fields of structured types keep their own). A type we cannot decode has no
`numpy`: its array still lists and shows its metadata.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class DataType:
    """`name` as v3 spells it; `numpy` the dtype of decoded values, None when not supported here.

    `itemsize` is the stored size of one element in bytes, 0 when it varies (string, bytes: `numpy` is object).
    `configuration` is canonical JSON text of the type's configuration ("" when it has none), so that the type hashes.
    """

    name: str
    numpy: np.dtype[Any] | None
    itemsize: int
    configuration: str = ""
    advice: str = ""
    """For a type that is not supported here: what a person can do."""

    @property
    def variable(self) -> bool:
        return self.numpy is not None and self.itemsize == 0


@dataclass(frozen=True, eq=False)
class Fill:
    """The fill value: a numpy scalar with its exact bits, or a str/bytes for variable-length types.

    `defined` is False where the document leaves it open (null): zero, empty or False is shown then (spec A.12).
    """

    value: Any
    defined: bool = True

    def _identity(self) -> tuple[Any, ...]:
        value = self.value
        exact = value.tobytes() if isinstance(value, np.generic | np.ndarray) else value
        return type(value).__name__, exact, self.defined

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fill) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(repr(self._identity()))
