"""Fill values: every JSON form of every data type, read and written bit for bit (spec A.12, F.26).

A FillForm lists the JSON forms that one format of documents allows: v3 has hexadecimal floats and forbids null, v2 has
base64 and null, the 2022 draft has binary strings. No conversion loses bits: integers stay Python integers, and
hexadecimal and base64 become bytes, so NaN payloads and -0.0 are preserved.
"""

from __future__ import annotations

import binascii
import math
import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from zarrscope.errors import BadMetadata
from zarrscope.model.dtype import CORE_NAMES, DataType, Element, Fill, data_type, is_small, spell
from zarrscope.model.frozen import frozen
from zarrscope.runtime.lazy_numpy import np

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON


@frozen
class FillForm:
    """The forms of fill values that the documents of a format allow: `null`, hexadecimal and binary strings, raw bytes.

    `loose`: also reads numbers as text, whole floats for integers and 0 or 1 for booleans, as numpy did for v2.
    """

    name: str
    null: bool
    hexadecimal: bool
    raw: Literal["ints", "base64", "hexadecimal"]
    loose: bool = False


V3 = FillForm("Zarr v3", null=False, hexadecimal=True, raw="ints")
V2 = FillForm("Zarr v2", null=True, hexadecimal=False, raw="base64", loose=True)
DRAFT_2019 = FillForm("the 2019 drafts", null=True, hexadecimal=False, raw="base64")
DRAFT_2020 = FillForm("the 2020 draft", null=True, hexadecimal=True, raw="base64", loose=True)
DRAFT_2022 = FillForm("the 2022 draft", null=False, hexadecimal=True, raw="hexadecimal")

_BITS = r"0x([0-9a-fA-F]+)|0b([01]+)"
_INFINITIES = {"Infinity": math.inf, "+Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}
_LOOSE = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf, "nan": math.nan}
NAT = -(2**63)


def _wrong(value: JSON, dtype: DataType, expected: str, pointer: str = "") -> BadMetadata:
    return BadMetadata(
        f"The fill value {spell(value)} is not one of data type {dtype.name}: {expected}",
        pointer=pointer,
    )


def undefined(dtype: DataType) -> Fill:
    """The value that is shown for an undefined fill value: zero, empty, False."""
    return Fill.deferred(partial(zero, dtype), defined=False)


def zero(dtype: DataType) -> Element:
    """The fill value of arrays that state none: 0, False, "" or b""; None if the data type has no such value here."""
    if dtype.code is None:
        return None
    if dtype.name == "string":
        return ""
    if dtype.name == "bytes":
        return b""
    if dtype.variable:
        return None
    return np.zeros((), dtype.numpy)[()]


def parse_fill(value: JSON, dtype: DataType, form: FillForm = V3, *, lenient: bool = False) -> Fill:
    """The fill value that the JSON `value` stands for. Raises BadMetadata with a pointer relative to the value.

    `lenient` reads null as an undefined fill value where the form forbids null.
    """
    if dtype.code is None:
        return Fill(spell(value, 10_000), defined=value is not None)
    if value is None:
        if form.null or lenient:
            return undefined(dtype)
        raise BadMetadata(
            f"The fill value is null, which {form.name} does not allow for {dtype.name}",
            pointer="",
            advice="Write a value such as 0, or open it anyway, read-only (lenient=True); the value is undefined then.",
        )
    if _is_plain(value, dtype):
        return Fill.deferred(partial(_parse, value, dtype, form))
    return Fill(_parse(value, dtype, form))


def _is_plain(value: JSON, dtype: DataType) -> bool:
    """Whether `value` is a plain JSON number or boolean, a form that every format allows for the type."""
    if dtype.name not in CORE_NAMES:
        return False
    match dtype.kind:
        case "b":
            return type(value) is bool
        case "i":
            return type(value) is int and -(2 ** (8 * dtype.itemsize - 1)) <= value < 2 ** (8 * dtype.itemsize - 1)
        case "u":
            return type(value) is int and 0 <= value < 2 ** (8 * dtype.itemsize)
        case "f":
            return (type(value) in (int, float) and abs(value) < 2**53) or (
                isinstance(value, str) and value in _INFINITIES
            )
    return False


def element(data: bytes, kind: np.dtype[Any]) -> Element:
    """The element that these bytes represent. Types of size zero are handled apart, because numpy cannot read them from
    memory."""
    return np.frombuffer(data, kind)[0] if kind.itemsize else np.zeros((), kind)[()]


def _parse(value: JSON, dtype: DataType, form: FillForm) -> Element:
    kind = dtype.numpy
    assert kind is not None
    if dtype.variable:
        return _parse_variable(value, dtype)
    if kind.fields is not None:
        return _parse_struct(value, dtype, form)
    if is_small(dtype):
        return _small_int(value, dtype) if "int" in dtype.name else _float(value, dtype, kind, form)
    match kind.kind:
        case "b":
            if value is True or value is False:
                return np.bool_(value)
            if (form.loose or form == V3) and type(value) in (int, float) and value in (0, 1):
                return np.bool_(value)  # zarrita wrote 0 for False in v3, too
            raise _wrong(value, dtype, "true or false")
        case "i" | "u":
            return _integer(value, dtype, kind, form)
        case "f":
            return _float(value, dtype, kind, form)
        case "c":
            return _complex(value, dtype, kind, form)
        case "M" | "m":
            if value == "NaT":
                value = NAT
            if type(value) is not int or not -(2**63) <= value < 2**63:
                raise _wrong(value, dtype, 'a whole number of 64 bits, or "NaT"')
            return np.array(value, "i8").view(kind)[()]
        case "U":
            return _text(value, dtype, kind, form)
        case _:
            return _raw(value, dtype, kind, form)


def _integer(value: JSON, dtype: DataType, kind: np.dtype[Any], form: FillForm) -> Element:
    limits = np.iinfo(kind)
    number = value
    if form.raw == "hexadecimal" and isinstance(value, str) and re.fullmatch(_BITS, value):
        return _from_bits(value, dtype, kind)
    text = form.loose and isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,20}", value)
    if text or (isinstance(value, float) and value.is_integer()):  # 0.0 in place of 0 is unambiguous
        number = int(value)
    if type(number) is not int or not limits.min <= number <= limits.max:
        raise _wrong(value, dtype, f"a whole number from {limits.min} to {limits.max}")
    return kind.type(number)


def _small_int(value: JSON, dtype: DataType) -> Element:
    bits = int(dtype.name[-1])
    low, high = (0, 2**bits - 1) if dtype.name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if type(value) is not int or not low <= value <= high:
        raise _wrong(value, dtype, f"a whole number from {low} to {high}")
    assert dtype.numpy is not None
    return dtype.numpy.type(value)


def _float(value: JSON, dtype: DataType, kind: np.dtype[Any], form: FillForm) -> Element:
    number = value
    if isinstance(value, str):
        if form.hexadecimal and value.startswith(("0x", "0b")):
            return _from_bits(value, dtype, kind)
        number = _INFINITIES.get(value)
        if number is None and form.loose:
            number = _LOOSE.get(value.lower())
            if number is None and re.fullmatch(r"[+-]?[0-9]{1,40}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,4})?", value):
                number = float(value)
    if type(number) is int:
        try:
            number = float(number)
        except OverflowError:
            number = math.copysign(math.inf, number)
    if type(number) is not float:
        digits = 2 * kind.itemsize
        raise _wrong(value, dtype, f'a number, "NaN", "Infinity", "-Infinity" or "0x" and {digits} digits', "")
    with np.errstate(all="ignore"):
        scalar = kind.type(number)
    lost = math.isnan(float(scalar)) if math.isfinite(number) else str(float(scalar)) != str(number)
    if lost:  # small floats may lack zero, negative numbers, infinities or NaN
        raise _wrong(value, dtype, f"{dtype.name} has no such value")
    return scalar


def _from_bits(text: str, dtype: DataType, kind: np.dtype[Any]) -> Element:
    """Reads 0x… or 0b…: the bits as one unsigned number, most significant digit first, of exactly the type's width."""
    match = re.fullmatch(_BITS, text)
    width = 8 * kind.itemsize
    digits = 0 if match is None else 4 * len(match[1]) if match[1] else len(match[2])
    if match is None or digits != width:
        raise _wrong(text, dtype, f'"0x" needs exactly {width // 4} digits, "0b" {width}')
    number = int(match[1], 16) if match[1] else int(match[2], 2)
    return np.frombuffer(number.to_bytes(kind.itemsize, "little"), kind.newbyteorder("<")).astype(kind)[0]


def _complex(value: JSON, dtype: DataType, kind: np.dtype[Any], form: FillForm) -> Element:
    half = np.dtype(f"f{kind.itemsize // 2}")
    if isinstance(value, list) and len(value) == 2:
        parts = []
        for i, part in enumerate(value):
            try:
                parts.append(_float(part, dtype, half, form))
            except BadMetadata as error:
                raise error.beneath(f"/{i}") from None
        return np.array(parts, half).view(kind)[0]
    if form.raw == "hexadecimal" and isinstance(value, str) and value.startswith(("0x", "0b")):
        return _from_bits(value, dtype, kind)
    if form.loose and type(value) in (int, float):
        return np.array([_float(value, dtype, half, form), 0], half).view(kind)[0]
    raise _wrong(value, dtype, "a pair [real, imaginary]")


def _text(value: JSON, dtype: DataType, kind: np.dtype[Any], form: FillForm) -> Element:
    if form.loose and value == 0 and type(value) is int:
        value = ""
    capacity = kind.itemsize // 4
    if not isinstance(value, str) or len(value) > capacity:
        raise _wrong(value, dtype, f"text of at most {capacity} characters")
    return np.array(value, kind)[()]


def _raw(value: JSON, dtype: DataType, kind: np.dtype[Any], form: FillForm) -> Element:
    """Reads S and V: the bytes of one element, padded with zero bytes."""
    size = kind.itemsize
    data: bytes | None = None
    if isinstance(value, list):
        data = _octets(value)
    elif isinstance(value, str):
        if form.raw == "hexadecimal" and (match := re.fullmatch(_BITS, value)):
            digits = 4 * len(match[1]) if match[1] else len(match[2])
            if digits == 8 * size:
                data = (int(match[1], 16) if match[1] else int(match[2], 2)).to_bytes(size, "big")
        else:
            data = _from_base64(value)
            if form.loose and (data is None or len(data) > size) and value.isascii() and len(value) <= size:
                data = value.encode()  # early writers stored the text itself instead of base64
    elif form.loose and type(value) is int and value == 0:
        data = b""
    exact = kind.kind == "V" and bool(value) and data != b""
    if data is None or len(data) > size or (exact and len(data) != size):
        raise _wrong(value, dtype, f"{size} bytes as {_RAW_FORMS[form.raw]}")
    if kind.kind == "S":
        return np.array(data, kind)[()]
    return element(data.ljust(size, b"\0"), kind)


_RAW_FORMS = {
    "ints": "a list of numbers from 0 to 255, or base64",
    "base64": "base64",
    "hexadecimal": '"0x" and two digits for each',
}


def _octets(value: list[Any]) -> bytes | None:
    return bytes(value) if all(type(n) is int and 0 <= n < 256 for n in value) else None


def _from_base64(text: str) -> bytes | None:
    try:
        return binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
    except (binascii.Error, UnicodeEncodeError):
        return None


def _to_base64(data: bytes) -> str:
    return binascii.b2a_base64(data, newline=False).decode("ascii")


def _parse_variable(value: JSON, dtype: DataType) -> Element:
    if dtype.name == "object":
        if isinstance(value, list):  # numpy would take a list for several elements
            raise _wrong(value, dtype, "null, true, false, a number, text or an object")
        return value
    if type(value) is int and value == 0:
        return zero(dtype)
    if dtype.name == "string":
        if isinstance(value, str):
            return value
        raise _wrong(value, dtype, "text")
    data = _octets(value) if isinstance(value, list) else _from_base64(value) if isinstance(value, str) else None
    if data is None:
        raise _wrong(value, dtype, "base64, or a list of numbers from 0 to 255")
    return data


def _parse_struct(value: JSON, dtype: DataType, form: FillForm) -> Element:
    kind = dtype.numpy
    assert kind is not None
    if isinstance(value, str):
        data = _from_base64(value)
        if data is None or len(data) != kind.itemsize:
            raise _wrong(value, dtype, f"base64 of {kind.itemsize} bytes")
        return element(data, kind)
    if type(value) is int and value == 0 and form.loose:
        return zero(dtype)
    names = kind.names or ()
    if isinstance(value, list) and form.loose and len(value) == len(names):
        value = dict(zip(names, value, strict=True))
    if not isinstance(value, Mapping) or set(value) != set(names):
        raise _wrong(value, dtype, f"an object with the members {', '.join(names)}")
    record = np.zeros((), kind)
    for name, field in zip(names, _fields(dtype), strict=True):
        if not isinstance(field, DataType):
            raise _wrong(value, dtype, "base64, since it has fields that are arrays")
        try:
            record[name] = _parse(value[name], field, form)
        except BadMetadata as error:
            raise error.beneath(f"/{name.replace('~', '~0').replace('/', '~1')}") from None
    return record[()]


def _fields(dtype: DataType) -> list[DataType | None]:
    """The types of a struct's fields; None for a field that is itself an array."""
    import json

    described = json.loads(dtype.configuration)["fields"]
    return [
        None
        if isinstance(field["data_type"], dict) and field["data_type"]["name"] == "subarray"
        else data_type(field["data_type"])
        for field in described
    ]


# ---------------------------------------------------------------------------------------------- writing
def fill_json(fill: Fill, dtype: DataType, form: FillForm = V3) -> JSON:
    """A fill value as JSON in a form that `form` allows; null if it is undefined and `form` allows null."""
    if dtype.numpy is None:
        import json

        return json.loads(fill.value) if isinstance(fill.value, str) else fill.value
    if not fill.defined and form.null:
        return None
    return _json(fill.value, dtype, form)


def _json(value: Element, dtype: DataType, form: FillForm) -> JSON:
    kind = dtype.numpy
    assert kind is not None
    if dtype.variable:
        return _to_base64(value) if isinstance(value, bytes) else value
    if kind.fields is not None:
        fields = _fields(dtype)
        if form.null or None in fields:
            return _to_base64(np.asarray(value, kind).tobytes())
        names = kind.names or ()
        return {
            name: _json(value[name], field, form)
            for name, field in zip(names, fields, strict=True)
            if isinstance(field, DataType)
        }
    if is_small(dtype):
        return int(value) if "int" in dtype.name else _float_json(value, form)
    match kind.kind:
        case "b":
            return bool(value)
        case "i" | "u":
            return int(value)
        case "f":
            return _float_json(value, form)
        case "c":
            return [_float_json(value.real, form), _float_json(value.imag, form)]
        case "M" | "m":
            return int(np.asarray(value, kind).view("i8")[()])
        case "U":
            return str(value)
        case "S":  # v2 readers expect every byte of the element, also the zero bytes that pad it
            return _to_base64(bytes(value).ljust(kind.itemsize, b"\0") if form.null else bytes(value))
        case _:
            data = np.asarray(value, kind).tobytes()
            if form.raw == "hexadecimal":
                return "0x" + data.hex()
            return (
                [*data]
                if dtype.name.startswith("r") and dtype.name[1:].isdigit() and form.raw == "ints"
                else _to_base64(data)
            )


def _float_json(value: Element, form: FillForm) -> JSON:
    number = float(value)
    if math.isnan(number):
        bits = np.asarray(value).astype(np.asarray(value).dtype.newbyteorder(">")).tobytes()
        usual = np.asarray(np.asarray(value).dtype.type(math.nan))
        plain = usual.astype(usual.dtype.newbyteorder(">")).tobytes()
        return "NaN" if bits == plain or not form.hexadecimal else "0x" + bits.hex()
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    # str() gives the shortest decimal number that reads back to the same bits at the type's precision: 0.1, where
    # converting to a Python float gives 0.10000000149011612.
    return float(str(value)) if isinstance(value, np.float16 | np.float32) else number
