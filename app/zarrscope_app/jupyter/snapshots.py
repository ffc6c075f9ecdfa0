"""Snapshots of the presenters as JSON, for the browser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON


_AS_THEY_ARE = frozenset((str, int, bool, type(None)))


def plain(value: object) -> JSON:
    """A snapshot as JSON: enums by value, without arrays, and null for numbers that JSON lacks."""
    if type(value) in _AS_THEY_ARE:  # most values of a snapshot
        return value
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray | bytes):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
