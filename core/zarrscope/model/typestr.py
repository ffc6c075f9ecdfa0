"""Type strings: the spelling of data types in v2, in the drafts and in numpy.

Specification: numpy's array interface; spec A.9, C.2, F.27. Errors are BadMetadata with a pointer relative to the type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zarrscope.errors import BadMetadata, Unsupported
from zarrscope.model.dtype import (
    CORE,
    CORE_NAMES,
    DATA_TYPES,
    MAX_FIELDS,
    MAX_ITEMSIZE,
    MAX_NESTING,
    RAW_NAME,
    SMALL,
    UNITS,
    DataType,
    checked_size,
    data_type,
    fixed_size,
    is_data_type,
    is_small,
    record_type,
    spell,
    time_type,
)
from zarrscope.model.node_path import close_to
from zarrscope.model.plugins import plugin
from zarrscope.runtime.lazy_numpy import np

if TYPE_CHECKING:
    import numpy.typing as npt

    from zarrscope.model.json_value import JSON

_TYPESTR = r"([<>|=]?)([biufcmMSUVO])([0-9]*)(?:\[([^\]]*)\])?"
_UNIT = r"([0-9]*)([A-Za-zμµ]+)"
_NUMBERS = {"b1" if code == "?" else code: name for name, code in CORE.items() if name in CORE_NAMES}
_ORDERS = {"<": "little", ">": "big"}

OBJECT = DataType("object", "O", 0, advice="Arrays of Python objects need an object codec (vlen-utf8, json2 …).")
"""The type that v2 spells "|O": the type of its elements is known only from the object codec among the filters."""


def parse_typestr(value: JSON) -> tuple[DataType, str | None]:
    """A v2 dtype (type string or field list) as (type, byte order "little"|"big"|None if it has none).

    Raises BadMetadata for a dtype that numpy's grammar does not allow (spec A.9, F.27).
    """
    if isinstance(value, list):
        return _parse_descr(value, 0), None
    if not isinstance(value, str):
        raise BadMetadata(f"A dtype is a string or a list of fields, not {spell(value)}", pointer="")
    match = re.fullmatch(_TYPESTR, value)
    if match is None:
        name = value.removeprefix("|").removeprefix("<")
        if name in DATA_TYPES and name not in ("struct", "structured", "bytes", "string"):
            known = data_type(name)
            if known.itemsize:  # tensorstore writes "bfloat16" and GDAL has been seen to write "int32"
                return known, "little" if known.itemsize > 1 else None
        raise BadMetadata(f"{spell(value)} is not a dtype that numpy's type strings allow", pointer="")
    order, kind, digits, unit = match.groups()
    count = int(digits) if digits and len(digits) < 12 else (MAX_ITEMSIZE + 1 if digits else None)
    if unit is not None and kind not in "mM":
        raise BadMetadata(f"{spell(value)}: only times have a unit", pointer="")
    if kind == "O":
        return OBJECT, None
    if kind in "mM":
        return _parse_time(value, kind, count, unit), _ORDERS.get(order, "little")
    if count is None:
        raise BadMetadata(f"{spell(value)} does not say how large an element is", pointer="")
    if kind in "SUV":
        checked_size(count * (4 if kind == "U" else 1))
        return fixed_size(kind, count), (_ORDERS.get(order, "little") if kind == "U" else None)
    name = _NUMBERS.get(f"{kind}{count}", "")
    if name:
        return data_type(name), (_ORDERS.get(order, "little") if count > 1 else None)
    if (kind, count) in (("f", 12), ("f", 16), ("c", 24), ("c", 32)):
        return DataType(value[1:], None, count, advice="Extended precision differs between processors."), None
    raise BadMetadata(f"{spell(value)} is not a dtype: there is no {kind!r} of {count} bytes", pointer="")


def _parse_time(value: str, kind: str, count: int | None, unit: str | None) -> DataType:
    if count not in (8, None):
        raise BadMetadata(f"{spell(value)}: times take 8 bytes", pointer="")
    if unit is None:
        return time_type(kind, "generic", 1)
    match = re.fullmatch(_UNIT, unit)
    if match is None or match[2] not in UNITS:
        raise BadMetadata(f"{spell(value)} has no unit of time that numpy knows", pointer="")
    scale = int(match[1]) if match[1] and len(match[1]) < 11 else (0 if match[1] else 1)
    if not 1 <= scale < 2**31:
        raise BadMetadata(f"{spell(value)}: the number before the unit must lie in 1 … 2147483647", pointer="")
    return time_type(kind, UNITS[match[2]], scale)


def _parse_descr(value: list[Any], depth: int) -> DataType:
    if depth > MAX_NESTING:
        raise BadMetadata(f"Structs nest deeper than {MAX_NESTING} levels", pointer="")
    if not value or len(value) > MAX_FIELDS:
        raise BadMetadata(f"A structured dtype has 1 to {MAX_FIELDS:,} fields, not {len(value):,}", pointer="")
    parts: list[tuple[Any, DataType, str | None, tuple[int, ...]]] = []
    for i, field in enumerate(value):
        if not isinstance(field, list) or len(field) not in (2, 3):
            raise BadMetadata(f"A field is [name, dtype] or [name, dtype, shape], not {spell(field)}", pointer=f"/{i}")
        shape = field[2] if len(field) == 3 else []
        shape = [shape] if type(shape) is int else shape
        if not isinstance(shape, list) or not all(type(n) is int and 0 <= n <= MAX_ITEMSIZE for n in shape):
            raise BadMetadata(f"{spell(field[2])} is not the shape of a field", pointer=f"/{i}/2")
        try:
            if isinstance(field[1], list):
                kind, order = _parse_descr(field[1], depth + 1), None
            else:
                kind, order = parse_typestr(field[1])
        except BadMetadata as error:
            raise error.beneath(f"/{i}/1") from None
        parts.append((field[0], kind, order, tuple(shape)))
    return record_type(parts, "")


def typestr(dtype: DataType, endian: str | None = None) -> JSON:
    """A data type as v2 and the drafts of 2019 and 2020 spell it. Raises Unsupported for types they cannot express."""
    if dtype.variable:
        return "|O"
    kind = dtype.numpy
    if is_small(dtype):
        return dtype.name  # the bare name, as tensorstore writes it; no other writer stores these types in v2
    if kind is None:
        raise Unsupported(
            f"Zarr v2 has no data type {dtype.name}",
            feature=f"data type {dtype.name}",
            advice="Write it as Zarr v3, or convert the values first.",
        )
    if kind.fields:
        return _descr(kind)
    if dtype.name not in DATA_TYPES and plugin("data_types", dtype.name) is not None:
        raise Unsupported(  # the numpy type of the values would not say that they belong to a plugin's data type
            f"Zarr v2 has no data type {dtype.name}",
            feature=f"data type {dtype.name}",
            advice="Write it as Zarr v3, or convert the values first.",
        )
    return kind.newbyteorder(">" if endian == "big" else "<").str


def _descr(kind: np.dtype[Any]) -> list[list[Any]]:
    fields: list[list[Any]] = []
    members: Mapping[str, Any] = kind.fields or {}
    for name in kind.names or ():
        inner = members[name][0]
        shape = [*inner.shape]
        base = inner.base
        form: JSON = _descr(base) if base.fields else base.str
        fields.append([name, form, shape] if shape else [name, form])
    return fields


def from_numpy(dtype: npt.DTypeLike | DataType) -> DataType:
    """The data type for values of a numpy dtype (or anything that numpy.dtype accepts, or a v3 name). Raises
    Unsupported.

    "str" and "bytes", and the types of these names, are text and bytes of any length, as with zarr-python.
    """
    if isinstance(dtype, DataType):
        return dtype
    if dtype is str or (isinstance(dtype, str) and dtype == "str"):
        return data_type("string")
    if dtype is bytes:
        return data_type("bytes")
    if isinstance(dtype, str) and (dtype in DATA_TYPES or re.fullmatch(RAW_NAME, dtype)):
        return data_type(dtype)
    try:
        kind = np.dtype(dtype)
    except TypeError as error:
        if isinstance(dtype, str) and is_data_type(dtype):
            return data_type(dtype)
        close = close_to(str(dtype), [*DATA_TYPES])
        advice = f"Did you mean {close}?" if close else "Name one such as uint8, int16, float32, bool or string."
        raise Unsupported(f"{dtype!r} is not a data type", feature=f"data type {dtype!r}", advice=advice) from error
    if kind.name in SMALL:
        return data_type(kind.name)
    if kind.kind == "O" or kind.kind == "T":
        return data_type("string")
    if kind.fields:
        return _parse_descr(_descr(kind), 0)
    try:
        return parse_typestr(kind.str)[0]
    except BadMetadata as error:
        raise Unsupported(error.message, feature=f"data type {kind}") from None
