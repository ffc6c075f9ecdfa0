"""Data types: the names of the specification, the type strings of v2 and the drafts, and what numpy makes of both.

A DataType is canonical: named as in v3 ("int16", "string", "r24" …), in memory always native byte order (the stored
order is the `bytes` codec's business; fields of structured types keep their own). A type we cannot decode has no
`numpy`: its array still lists and shows its metadata. Fill values are in fill.py.

Specification: v3 core "Data types", zarr-extensions data-types, numpy's array interface; spec A.13, C.2.
Errors are BadMetadata (the document is wrong) with a pointer relative to the data type; an unknown name is no error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from zarrscope.errors import BadMetadata, Unsupported
from zarrscope.frozen import frozen
from zarrscope.plugins import plugin

MAX_ITEMSIZE = 1 << 20
MAX_NESTING = 8
MAX_FIELDS = 4096


@frozen
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
        return self.numpy is not None and self.numpy.kind == "O"

    def __str__(self) -> str:
        """For a person: "int16", "datetime64[ns]", "string of 5 code points" is left to presenters."""
        return f"{self.name}{self.configuration}" if self.configuration else self.name


@frozen
class Fill:
    """The fill value: a numpy scalar with its exact bits, or a str/bytes for variable-length types.

    `defined` is False where the document leaves it open (null): zero, empty or False is shown then (spec A.12).
    For a data type that is not supported here, `value` is the JSON as it stands.
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


Json = Any
Configuration = Mapping[str, Any]


def spell(value: Json, limit: int = 60) -> str:
    """A JSON value as a message shows it: its text, cut to `limit` characters."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(type(value).__name__)
    return text if len(text) <= limit else text[: limit - 1] + "…"


# ---------------------------------------------------------------------------------------------- v3 names
_CORE = {
    "bool": "?",
    "int8": "i1",
    "int16": "i2",
    "int32": "i4",
    "int64": "i8",
    "uint8": "u1",
    "uint16": "u2",
    "uint32": "u4",
    "uint64": "u8",
    "float16": "f2",
    "float32": "f4",
    "float64": "f8",
    "complex64": "c8",
    "complex128": "c16",
    "complex_float32": "c8",
    "complex_float64": "c16",
}
CORE_NAMES = frozenset(_CORE) - {"complex_float32", "complex_float64"}
"""The core types of v3 but r<bits>: written as plain strings."""

_SMALL = (
    "bfloat16",
    *("int2", "int4", "uint2", "uint4"),
    *("float8_e3m4", "float8_e4m3", "float8_e5m2", "float8_e4m3fn"),
    *("float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"),
    *("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"),
)
_PAIRS = [f"complex_{name}" for name in ("float16", *_SMALL) if "int" not in name]

_UNITS = {unit: unit for unit in ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic")}
_UNITS |= {"μs": "us", "µs": "us"}


def _core(name: str, configuration: Configuration) -> DataType:
    kind = np.dtype(_CORE[name])
    canonical = {"complex_float32": "complex64", "complex_float64": "complex128"}.get(name, name)
    return DataType(canonical, kind, kind.itemsize)


def _small(name: str, configuration: Configuration) -> DataType:
    size = 2 if name == "bfloat16" else 1
    try:
        import ml_dtypes
    except ImportError:
        return DataType(name, None, size, advice="Install ml_dtypes to read it: pip install 'zarrscope[codecs]'.")
    scalar = getattr(ml_dtypes, name, None)
    if scalar is None:
        return DataType(name, None, size, advice="Install a newer ml_dtypes to read it.")
    return DataType(name, np.dtype(scalar), size)


def _pair(name: str, configuration: Configuration) -> DataType:
    size = 4 if name in ("complex_bfloat16", "complex_float16") else 2
    return DataType(name, None, size, advice="It is a pair of small floats, which numpy has no type for.")


def _raw(name: str, configuration: Configuration) -> DataType:
    """r<bits>: raw bits, kept as void (v3 core "Raw data types")."""
    bits = int(name[1:]) if len(name) < 12 else MAX_ITEMSIZE * 8 + 8
    if bits == 0 or bits % 8:
        raise BadMetadata(f"The raw data type {spell(name)} does not hold a whole number of bytes", pointer="")
    return DataType(f"r{bits}", np.dtype(f"V{_checked_size(bits // 8)}"), bits // 8)


def _string(name: str, configuration: Configuration) -> DataType:
    return DataType("string", np.dtype(object), 0)


def _bytes(name: str, configuration: Configuration) -> DataType:
    return DataType("bytes", np.dtype(object), 0)


def _sized(kind: str) -> Callable[[str, Configuration], DataType]:
    def make(name: str, configuration: Configuration) -> DataType:
        length = configuration.get("length_bytes")
        if type(length) is not int or length < 0:
            raise BadMetadata(
                f"{name} needs length_bytes, a whole number of bytes, not {spell(length)}",
                pointer="/configuration/length_bytes",
            )
        unit = 4 if kind == "U" else 1
        if length % unit:
            raise BadMetadata(
                f"length_bytes of {name} must be a multiple of {unit}, not {length}",
                pointer="/configuration/length_bytes",
            )
        return _fixed(kind, _checked_size(length, "/configuration/length_bytes") // unit)

    return make


def _fixed(kind: str, count: int) -> DataType:
    """U, S or V of `count` characters, bytes, bytes."""
    size = count * (4 if kind == "U" else 1)
    name = {"U": "fixed_length_utf32", "S": "null_terminated_bytes", "V": "raw_bytes"}[kind]
    # numpy reads "V0" and "S0" as "of no size yet"; such elements hold nothing, one byte of padding stands for them.
    return DataType(name, np.dtype(f"{kind}{count}"), size, _canonical({"length_bytes": size}))


def _checked_size(size: int, pointer: str = "") -> int:
    if size > MAX_ITEMSIZE:
        raise BadMetadata(f"One element would take {size:,} bytes; zarrscope allows {MAX_ITEMSIZE:,}", pointer=pointer)
    return size


def _temporal(name: str, configuration: Configuration) -> DataType:
    unit, scale = configuration.get("unit"), configuration.get("scale_factor", 1)
    if not isinstance(unit, str) or unit not in _UNITS:
        raise BadMetadata(
            f"{name} needs a unit, one of {', '.join(sorted(set(_UNITS)))}, not {spell(unit)}",
            pointer="/configuration/unit",
        )
    if type(scale) is not int or not 1 <= scale < 2**31:
        raise BadMetadata(
            f"scale_factor of {name} must be a whole number from 1 to 2147483647, not {spell(scale)}",
            pointer="/configuration/scale_factor",
        )
    return _time("M" if name == "numpy.datetime64" else "m", _UNITS[unit], scale)


def _time(kind: str, unit: str, scale: int) -> DataType:
    name = {"M": "numpy.datetime64", "m": "numpy.timedelta64"}[kind]
    text = f"{kind}8" if unit == "generic" else f"{kind}8[{scale}{unit}]"
    return DataType(name, np.dtype(text), 8, _canonical({"unit": unit, "scale_factor": scale}))


def _struct(name: str, configuration: Configuration) -> DataType:
    return _struct_at(configuration, 0)


def _struct_at(configuration: Configuration, depth: int) -> DataType:
    """struct{fields: [{name, data_type}]} and its former spelling structured{fields: [[name, type]]}."""
    fields = configuration.get("fields")
    here = "/configuration/fields"
    if not isinstance(fields, list) or not fields:
        raise BadMetadata(f"A struct needs fields, a list, not {spell(fields)}", pointer=here)
    parts: list[tuple[str, DataType, str | None, tuple[int, ...]]] = []
    for i, field in enumerate(fields):
        if isinstance(field, list) and len(field) == 2:
            field = {"name": field[0], "data_type": field[1]}
        if not isinstance(field, Mapping) or not {"name", "data_type"} <= set(field):
            raise BadMetadata(f"A field is {{name, data_type}}, not {spell(field)}", pointer=f"{here}/{i}")
        try:
            kind = data_type(field["data_type"], depth + 1)
        except BadMetadata as error:
            raise error.beneath(f"{here}/{i}/data_type") from None
        parts.append((field["name"], kind, "little", ()))
    return _record(parts, here)


def _record(parts: Sequence[tuple[Any, DataType, str | None, tuple[int, ...]]], here: str) -> DataType:
    """A structured type from (name, type, byte order, shape of a sub-array) per field, packed."""
    if len(parts) > MAX_FIELDS:
        raise BadMetadata(f"{len(parts):,} fields are more than zarrscope allows ({MAX_FIELDS:,})", pointer=here)
    seen: set[str] = set()
    described: list[dict[str, Any]] = []
    numpy_fields: list[tuple[Any, ...]] = []
    size = 0
    missing = ""
    for i, (name, kind, order, shape) in enumerate(parts):
        if not isinstance(name, str) or (not name and kind.name != "raw_bytes") or (name and name in seen):
            raise BadMetadata(f"Field names must be different, non-empty strings; {spell(name)} is not", pointer=here)
        seen.add(name)
        count = 1
        for n in shape:
            count *= n
        size = _checked_size(size + kind.itemsize * count, f"{here}/{i}")
        form = to_json(kind)
        described.append(
            {"name": name, "data_type": {"name": "subarray", "configuration": {"data_type": form, "shape": [*shape]}}}
            if shape
            else {"name": name, "data_type": form}
        )
        if kind.numpy is None or kind.variable:
            missing = missing or kind.advice or f"Its field {name!r} of type {kind.name} has no fixed size."
        else:
            stored = kind.numpy if kind.numpy.fields else kind.numpy.newbyteorder("<" if order != "big" else ">")
            numpy_fields.append((name, stored, shape) if shape else (name, stored))
    text = _canonical({"fields": described})
    if missing:
        return DataType("struct", None, size, text, missing)
    return DataType("struct", np.dtype(numpy_fields), size, text)


DATA_TYPES: dict[str, Callable[[str, Configuration], DataType]] = {
    **dict.fromkeys(_CORE, _core),
    "string": _string,
    "bytes": _bytes,
    "variable_length_bytes": _bytes,
    "fixed_length_utf32": _sized("U"),
    "null_terminated_bytes": _sized("S"),
    "raw_bytes": _sized("V"),
    "numpy.datetime64": _temporal,
    "numpy.timedelta64": _temporal,
    "struct": _struct,
    "structured": _struct,
    **dict.fromkeys(_SMALL, _small),
    **dict.fromkeys(_PAIRS, _pair),
}
"""Name → what makes the DataType from (name, configuration). r<bits> is matched by its pattern."""

_RAW = r"r([0-9]+)"


def data_type(value: Json, depth: int = 0) -> DataType:
    """The type that a v3 document names: a string, or {name, configuration}. Unknown names have no `numpy`.

    Raises BadMetadata where the value is no extension at all, or its configuration is wrong.
    """
    name: Any = value
    configuration: Any = {}
    if isinstance(value, Mapping):
        name, configuration = value.get("name"), value.get("configuration", {})
        if not isinstance(name, str):
            raise BadMetadata(f"A data type needs a name, a string, not {spell(name)}", pointer="/name")
        if not isinstance(configuration, Mapping):
            raise BadMetadata(
                f"The configuration of a data type is an object, not {spell(configuration)}", pointer="/configuration"
            )
    elif not isinstance(value, str):
        raise BadMetadata(f"A data type is a string or an object, not {spell(value)}", pointer="")
    if not name:
        raise BadMetadata("A data type has an empty name", pointer="")
    if depth > MAX_NESTING:
        raise BadMetadata(f"Structs nest deeper than {MAX_NESTING} levels", pointer="")
    if name in ("struct", "structured"):
        return _struct_at(configuration, depth)
    if re.fullmatch(_RAW, name):
        return _raw(name, configuration)
    make = DATA_TYPES.get(name) or plugin("data_types", name)
    return make(name, configuration) if make else unknown(name, configuration)


def _prefixed(name: str) -> str:
    """What a name with a prefix is: ZEP 9 sketches those for its third phase, which nobody has adopted."""
    if ":" not in name or "://" in name:
        return ""
    return " Names with a prefix are of phase 3 of ZEP 9, which is not part of any released specification."


def unknown(name: str, configuration: Configuration | None = None) -> DataType:
    """A type nobody here knows: kept by name."""
    return DataType(
        name,
        None,
        0,
        _canonical(configuration) if configuration else "",
        "zarrscope has no data type of that name; a package may add it (entry points 'zarrscope.data_types')."
        + _prefixed(name),
    )


def to_json(dtype: DataType) -> Json:
    """How v3 writes it: a string for types without configuration, else {name, configuration}."""
    if not dtype.configuration:
        return dtype.name
    return {"name": dtype.name, "configuration": json.loads(dtype.configuration)}


def _canonical(configuration: Configuration) -> str:
    return json.dumps(configuration, sort_keys=True, separators=(",", ":"), default=str)


# ---------------------------------------------------------------------------------------------- type strings
_TYPESTR = r"([<>|=]?)([biufcmMSUVO])([0-9]*)(?:\[([^\]]*)\])?"
_UNIT = r"([0-9]*)([A-Za-zμµ]+)"
_NUMBERS = {np.dtype(code).str[1:]: name for name, code in _CORE.items() if name in CORE_NAMES}
_ORDERS = {"<": "little", ">": "big"}

OBJECT = DataType(
    "object", np.dtype(object), 0, advice="Arrays of Python objects need an object codec (vlen-utf8, json2 …)."
)
"""v2's "|O": what the elements are, only the object codec can tell."""


def parse_typestr(value: Json) -> tuple[DataType, str | None]:
    """A v2 dtype, type string or field list, as (type, byte order "little"|"big"|None where it has none).

    Raises BadMetadata for what numpy's grammar does not allow (spec A.9, F.27).
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
        _checked_size(count * (4 if kind == "U" else 1))
        return _fixed(kind, count), (_ORDERS.get(order, "little") if kind == "U" else None)
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
        return _time(kind, "generic", 1)
    match = re.fullmatch(_UNIT, unit)
    if match is None or match[2] not in _UNITS:
        raise BadMetadata(f"{spell(value)} has no unit of time that numpy knows", pointer="")
    scale = int(match[1]) if match[1] and len(match[1]) < 11 else (0 if match[1] else 1)
    if not 1 <= scale < 2**31:
        raise BadMetadata(f"{spell(value)}: the number before the unit must lie in 1 … 2147483647", pointer="")
    return _time(kind, _UNITS[match[2]], scale)


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
    return _record(parts, "")


def typestr(dtype: DataType, endian: str | None = None) -> Json:
    """How v2 and the drafts of 2019 and 2020 write it. Raises Unsupported for types they cannot say."""
    if dtype.variable:
        return "|O"
    kind = dtype.numpy
    if is_small(dtype):
        return dtype.name  # as tensorstore does; nobody else has them in v2
    if kind is None:
        raise Unsupported(
            f"Zarr v2 has no data type {dtype.name}",
            feature=f"data type {dtype.name}",
            advice="Write it as Zarr v3, or convert the values first.",
        )
    if kind.fields:
        return _descr(kind)
    return kind.newbyteorder(">" if endian == "big" else "<").str


def _descr(kind: np.dtype[Any]) -> list[list[Any]]:
    fields: list[list[Any]] = []
    members: Mapping[str, Any] = kind.fields or {}
    for name in kind.names or ():
        inner = members[name][0]
        shape = [*inner.shape]
        base = inner.base
        form: Json = _descr(base) if base.fields else base.str
        fields.append([name, form, shape] if shape else [name, form])
    return fields


def from_numpy(dtype: Any) -> DataType:
    """The data type for values of a numpy dtype (or what numpy.dtype accepts, or a v3 name). Raises Unsupported."""
    if isinstance(dtype, DataType):
        return dtype
    if isinstance(dtype, str) and (dtype in DATA_TYPES or re.fullmatch(_RAW, dtype)) and dtype != "bytes":
        return data_type(dtype)
    if dtype is str:
        return data_type("string")
    try:
        kind = np.dtype(dtype)
    except TypeError as error:
        raise Unsupported(f"{dtype!r} is not a data type", feature=f"data type {dtype!r}") from error
    if kind.name in _SMALL:
        return data_type(kind.name)
    if kind.kind == "O" or kind.kind == "T":
        return data_type("string")
    if kind.fields:
        return _parse_descr(_descr(kind), 0)
    try:
        return parse_typestr(kind.str)[0]
    except BadMetadata as error:
        raise Unsupported(error.message, feature=f"data type {kind}") from None


def is_small(dtype: DataType) -> bool:
    """A type of ml_dtypes: a number to numpy, though numpy calls its kind void."""
    return dtype.name in _SMALL
