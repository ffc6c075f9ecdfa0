"""Data types: the names of the specification, the type strings of v2 and the drafts, and the numpy dtypes for both.

A DataType is canonical: named as in v3 ("int16", "string", "r24" …), in memory always in native byte order (the `bytes`
codec decides the stored order; fields of structured types keep their own). A type that zarrscope cannot decode has no
`numpy`; its array can still be listed and its metadata shown. Fill values are in fill_value.py.

Specification: v3 core "Data types", zarr-extensions data-types, numpy's array interface; spec A.13, C.2. A wrong
document raises BadMetadata with a pointer relative to the data type; an unknown name is not an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from zarrscope.errors import BadMetadata
from zarrscope.errors.visible import visible
from zarrscope.model.frozen import frozen
from zarrscope.model.plugins import plugin
from zarrscope.model.schema import Schema, integer, one_of
from zarrscope.runtime.lazy_numpy import np

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

Element = Any
"""One decoded element: a numpy scalar, or a str, bytes or other object for a type of variable length. The code that
uses one knows its kind from the data type."""

MAX_ITEMSIZE = 1 << 20
MAX_NESTING = 8
MAX_FIELDS = 4096


@frozen
class DataType:
    """The data type of an array. `name` is spelled as in Zarr v3.

    `code` describes decoded values: by numpy's type string where that is enough, so that numpy need not be imported,
    else by a dtype; it is None if zarrscope does not support the type. `itemsize` is the stored size of one element in
    bytes; for texts and bytes it is 0, because it varies, and their elements are Python objects.
    `configuration` is the type's configuration as canonical JSON text ("" when it has none), so that the type is
    hashable.
    """

    name: str
    code: np.dtype[Any] | str | None
    itemsize: int
    configuration: str = ""
    advice: str = ""
    """Advice for the user if zarrscope does not support the type; else ""."""

    @cached_property
    def numpy(self) -> np.dtype[Any] | None:
        """The dtype of decoded values."""
        return np.dtype(self.code) if isinstance(self.code, str) else self.code

    @property
    def kind(self) -> str:
        """numpy's letter for the kind of the type ("i", "u", "f" …); "" if the type is not supported. Does not import
        numpy for types that are given by their type string."""
        if isinstance(self.code, str):
            return "b" if self.code == "?" else self.code[0]
        return "" if self.code is None else self.code.kind

    @property
    def variable(self) -> bool:
        """Whether the stored size of elements differs, so that they decode to Python objects."""
        return self.kind == "O"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DataType):
            return NotImplemented
        mine = self.name, self.itemsize, self.configuration, self.advice, self.code is None
        theirs = other.name, other.itemsize, other.configuration, other.advice, other.code is None
        # Two structs with the same name may still differ in the byte order of fields, which only the dtype shows.
        return mine == theirs and (self.code is other.code or self.code == other.code or self.numpy == other.numpy)

    def __hash__(self) -> int:
        return hash((self.name, self.itemsize, self.configuration))

    def __str__(self) -> str:
        """Text for a person: "int16", "datetime64[ns]". Presenters write longer forms such as "string of 5 code
        points".
        """
        return visible(f"{self.name}{self.configuration}" if self.configuration else self.name)


@frozen
class Fill:
    """The fill value: a numpy scalar with its exact bits, or a str/bytes for variable-length types.

    `defined` is False if the document leaves the fill value undefined (null): zero, empty or False is shown then (spec
    A.12). For an unsupported data type, `value` is the JSON value of the document.
    """

    value: Element
    defined: bool = True

    @classmethod
    def deferred(cls, make: Callable[[], Any], defined: bool = True) -> Fill:
        """A fill value that is made when it is first used, because making it imports numpy, which takes long. `make`
        must not raise."""
        fill = cls.__new__(cls)
        object.__setattr__(fill, "make", make)
        object.__setattr__(fill, "defined", defined)
        return fill

    if not TYPE_CHECKING:  # hidden from type checkers, which would otherwise accept any attribute name

        def __getattr__(self, name: str) -> Any:
            if name != "value":
                raise AttributeError(name)
            value = self.make()
            object.__setattr__(self, "value", value)
            return value

    def _identity(self) -> tuple[Any, ...]:
        value = self.value
        exact = value.tobytes() if isinstance(value, np.generic | np.ndarray) else value
        return type(value).__name__, exact, self.defined

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fill) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(repr(self._identity()))


TypeConfiguration = Mapping[str, Any]


def spell(value: JSON, limit: int = 60) -> str:
    """The text of a JSON value for a message, cut to `limit` characters."""
    import json

    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(type(value).__name__)
    return text if len(text) <= limit else text[: limit - 1] + "…"


# ---------------------------------------------------------------------------------------------- v3 names
CORE = {
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
CORE_NAMES = frozenset(CORE) - {"complex_float32", "complex_float64"}
"""The names of v3's core types, which documents write as plain strings; r<bits> is not among them."""

SMALL = (
    "bfloat16",
    *("int2", "int4", "uint2", "uint4"),
    *("float8_e3m4", "float8_e4m3", "float8_e5m2", "float8_e4m3fn"),
    *("float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"),
    *("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"),
)
_PAIRS = [f"complex_{name}" for name in ("float16", *SMALL) if "int" not in name]

UNITS = {unit: unit for unit in ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic")}
UNITS |= {"μs": "us", "µs": "us"}


def _core(name: str, configuration: TypeConfiguration) -> DataType:
    code = CORE[name]
    canonical = {"complex_float32": "complex64", "complex_float64": "complex128"}.get(name, name)
    return DataType(canonical, code, int(code[1:] or 1))


def _small(name: str, configuration: TypeConfiguration) -> DataType:
    size = 2 if name == "bfloat16" else 1
    try:
        import ml_dtypes
    except ImportError:
        from zarrscope.errors.installing import how_to_install

        return DataType(name, None, size, advice=f"It needs ml_dtypes. {how_to_install('codecs')}.")
    scalar = getattr(ml_dtypes, name, None)
    if scalar is None:
        return DataType(name, None, size, advice="Install a newer ml_dtypes to read it.")
    return DataType(name, np.dtype(scalar), size)


def _pair(name: str, configuration: TypeConfiguration) -> DataType:
    size = 4 if name in ("complex_bfloat16", "complex_float16") else 2
    return DataType(name, None, size, advice="It is a pair of small floats, which numpy has no type for.")


def _raw(name: str, configuration: TypeConfiguration) -> DataType:
    """r<bits>: raw bits, kept as void (v3 core "Raw data types")."""
    bits = int(name[1:]) if len(name) < 12 else MAX_ITEMSIZE * 8 + 8
    if bits == 0 or bits % 8:
        raise BadMetadata(f"The raw data type {spell(name)} does not hold a whole number of bytes", pointer="")
    return DataType(f"r{bits}", f"V{checked_size(bits // 8)}", bits // 8)


def _string(name: str, configuration: TypeConfiguration) -> DataType:
    return DataType("string", "O", 0)


def _bytes(name: str, configuration: TypeConfiguration) -> DataType:
    return DataType("bytes", "O", 0)


def _sized(kind: str) -> Callable[[str, TypeConfiguration], DataType]:
    def make(name: str, configuration: TypeConfiguration) -> DataType:
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
        return fixed_size(kind, checked_size(length, "/configuration/length_bytes") // unit)

    return make


def fixed_size(kind: str, count: int) -> DataType:
    """The data type for numpy's kind U with `count` characters, or for S or V with `count` bytes."""
    size = count * (4 if kind == "U" else 1)
    name = {"U": "fixed_length_utf32", "S": "null_terminated_bytes", "V": "raw_bytes"}[kind]
    # numpy takes "V0" and "S0" for types without a size, so empty elements are held as one byte of padding.
    return DataType(name, f"{kind}{count}", size, _canonical({"length_bytes": size}))


def checked_size(size: int, pointer: str = "") -> int:
    """Returns `size`, the bytes of one element. Raises BadMetadata if it is more than MAX_ITEMSIZE."""
    if size > MAX_ITEMSIZE:
        raise BadMetadata(f"One element would take {size:,} bytes; zarrscope allows {MAX_ITEMSIZE:,}", pointer=pointer)
    return size


def _temporal(name: str, configuration: TypeConfiguration) -> DataType:
    unit, scale = configuration.get("unit"), configuration.get("scale_factor", 1)
    if not isinstance(unit, str) or unit not in UNITS:
        raise BadMetadata(
            f"{name} needs a unit, one of {', '.join(sorted(set(UNITS)))}, not {spell(unit)}",
            pointer="/configuration/unit",
        )
    if type(scale) is not int or not 1 <= scale < 2**31:
        raise BadMetadata(
            f"scale_factor of {name} must be a whole number from 1 to 2147483647, not {spell(scale)}",
            pointer="/configuration/scale_factor",
        )
    return time_type("M" if name == "numpy.datetime64" else "m", UNITS[unit], scale)


def time_type(kind: str, unit: str, scale: int) -> DataType:
    """A date and time (`kind` "M") or a duration ("m") that counts steps of `scale` units."""
    name = {"M": "numpy.datetime64", "m": "numpy.timedelta64"}[kind]
    text = f"{kind}8" if unit == "generic" else f"{kind}8[{scale}{unit}]"
    return DataType(name, text, 8, _canonical({"unit": unit, "scale_factor": scale}))


def _struct(name: str, configuration: TypeConfiguration) -> DataType:
    return _struct_at(configuration, 0)


def _struct_at(configuration: TypeConfiguration, depth: int) -> DataType:
    """The type of struct{fields: [{name, data_type}]}, or of its former spelling structured{fields: [[name, type]]}."""
    fields = configuration.get("fields")
    here = "/configuration/fields"
    if not isinstance(fields, list) or not fields:
        raise BadMetadata(f"A struct needs a list of fields, not {spell(fields)}", pointer=here)
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
    return record_type(parts, here)


def record_type(parts: Sequence[tuple[Any, DataType, str | None, tuple[int, ...]]], here: str) -> DataType:
    """A structured type without padding, from (name, type, byte order, shape of the sub-array) for each field."""
    if len(parts) > MAX_FIELDS:
        raise BadMetadata(f"{len(parts):,} fields are more than zarrscope allows ({MAX_FIELDS:,})", pointer=here)
    seen: set[str] = set()
    described: list[dict[str, Any]] = []
    numpy_fields: list[tuple[Any, ...]] = []
    size = 0
    missing = ""
    for i, (name, kind, order, shape) in enumerate(parts):
        if not isinstance(name, str) or (not name and kind.name != "raw_bytes") or (name and name in seen):
            raise BadMetadata(f"Field names must be different, non-empty strings, unlike {spell(name)}", pointer=here)
        seen.add(name)
        count = 1
        for n in shape:
            count *= n
        size = checked_size(size + kind.itemsize * count, f"{here}/{i}")
        form = to_json(kind)
        described.append(
            {"name": name, "data_type": {"name": "subarray", "configuration": {"data_type": form, "shape": [*shape]}}}
            if shape
            else {"name": name, "data_type": form}
        )
        if (made := kind.numpy) is None or kind.variable:
            missing = missing or kind.advice or f"Its field {name!r} of type {kind.name} has no fixed size."
        else:
            stored = made if made.fields else made.newbyteorder("<" if order != "big" else ">")
            numpy_fields.append((name, stored, shape) if shape else (name, stored))
    text = _canonical({"fields": described})
    if missing:
        return DataType("struct", None, size, text, missing)
    return DataType("struct", np.dtype(numpy_fields), size, text)


@frozen
class TypeRow:
    """One row of the table: the function that makes the type from (name, configuration), and the schema of its
    configuration."""

    make: Callable[[str, TypeConfiguration], DataType]
    members: Mapping[str, Schema] | None = None
    """The schemas of the members; None if there is no configuration."""

    @property
    def required(self) -> tuple[str, ...]:
        """The members that the configuration of the type must have."""
        return tuple(self.members or ())


_TIME: Mapping[str, Schema] = {
    "unit": one_of("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "μs", "ns", "ps", "fs", "as", "generic"),
    "scale_factor": integer(1, 2**31 - 1),
}
_FIELDS: Mapping[str, Schema] = {"fields": {"type": "array", "minItems": 1}}

DATA_TYPES: dict[str, TypeRow] = {
    **dict.fromkeys(CORE, TypeRow(_core)),
    "string": TypeRow(_string),
    "bytes": TypeRow(_bytes),
    "variable_length_bytes": TypeRow(_bytes),
    "fixed_length_utf32": TypeRow(_sized("U"), {"length_bytes": integer(4, multipleOf=4)}),
    "null_terminated_bytes": TypeRow(_sized("S"), {"length_bytes": integer(1)}),
    "raw_bytes": TypeRow(_sized("V"), {"length_bytes": integer(1)}),
    "numpy.datetime64": TypeRow(_temporal, _TIME),
    "numpy.timedelta64": TypeRow(_temporal, _TIME),
    "struct": TypeRow(_struct, _FIELDS),
    "structured": TypeRow(_struct, _FIELDS),
    **dict.fromkeys(SMALL, TypeRow(_small)),
    **dict.fromkeys(_PAIRS, TypeRow(_pair)),
}
"""The table of all built-in data types by their names in v3; r<bits> is matched by its pattern. A new type needs a row
here, a function that makes it, and an example in tests/contracts. Other packages add types by entry points
"zarrscope.data_types": functions like `TypeRow.make`."""

RAW_NAME = r"r([0-9]+)"


def data_type(value: JSON, depth: int = 0) -> DataType:
    """The type that a v3 document names: a string, or {name, configuration}. Unknown names have no `numpy`.

    Raises BadMetadata if the value is not an extension, or its configuration is wrong.
    """
    name: JSON = value
    configuration: JSON = {}
    if isinstance(value, Mapping):
        name, configuration = value.get("name"), value.get("configuration", {})
        if not isinstance(name, str):
            at = "/name" if "name" in value else ""
            raise BadMetadata(f"A data type needs a name, a string, not {spell(name)}", pointer=at)
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
    if re.fullmatch(RAW_NAME, name):
        return _raw(name, configuration)
    row = DATA_TYPES.get(name)
    make = row.make if row is not None else plugin("data_types", name)
    return make(name, configuration) if make else unknown(name, configuration)


def is_data_type(name: str) -> bool:
    """Whether zarrscope knows a data type of this name: built in, or added by another package."""
    return name in DATA_TYPES or bool(re.fullmatch(RAW_NAME, name)) or plugin("data_types", name) is not None


def _prefixed(name: str) -> str:
    """Advice for an unknown type with a prefix in its name. ZEP 9 sketches prefixed names for its third phase, which is
    not adopted."""
    if ":" not in name or "://" in name:
        return ""
    return " Names with a prefix are of phase 3 of ZEP 9, which is not part of any released specification."


def unknown(name: str, configuration: TypeConfiguration | None = None) -> DataType:
    """A DataType for a name that zarrscope does not know. It keeps the name, and has no `numpy`."""
    return DataType(
        name,
        None,
        0,
        _canonical(configuration) if configuration else "",
        "zarrscope has no data type of that name; a package may add it (entry points 'zarrscope.data_types')."
        + _prefixed(name),
    )


def to_json(dtype: DataType) -> JSON:
    """A data type in the form of v3: a string if it has no configuration, else {name, configuration}."""
    if not dtype.configuration:
        return dtype.name
    import json

    return {"name": dtype.name, "configuration": json.loads(dtype.configuration)}


def _canonical(configuration: TypeConfiguration) -> str:
    import json

    return json.dumps(configuration, sort_keys=True, separators=(",", ":"), default=str)


def is_small(dtype: DataType) -> bool:
    """Whether this is a type of ml_dtypes: a number, though numpy gives its kind as void."""
    return dtype.name in SMALL
