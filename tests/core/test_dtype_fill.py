"""Data types by every spelling, and fill values bit for bit in every JSON form (spec A.12, A.13, F.26, F.27)."""

from __future__ import annotations

import json
import math
import pickle
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zarrscope.errors import BadMetadata, Unsupported, ZarrscopeError
from zarrscope.model.dtype import DATA_TYPES, DataType, data_type, to_json
from zarrscope.model.fill_value import DRAFT_2019, DRAFT_2020, DRAFT_2022, V2, V3, FillForm, fill_json, parse_fill, zero
from zarrscope.model.typestr import from_numpy, parse_typestr, typestr

FORMS = [V3, V2, DRAFT_2019, DRAFT_2020, DRAFT_2022]
TIME = {"name": "numpy.datetime64", "configuration": {"unit": "us", "scale_factor": 10}}
STRUCT = {
    "name": "struct",
    "configuration": {"fields": [{"name": "a", "data_type": "int32"}, {"name": "b", "data_type": "float64"}]},
}


def bits(value: Any) -> bytes:
    return np.asarray(value).tobytes()


# ---------------------------------------------------------------------------------------------- types
@pytest.mark.parametrize(
    ("text", "name", "numpy", "endian"),
    [
        ("<i4", "int32", "i4", "little"),
        (">u2", "uint16", "u2", "big"),
        ("|u1", "uint8", "u1", None),
        ("i1", "int8", "i1", None),
        ("|b1", "bool", "?", None),
        ("bool", "bool", "?", None),
        ("<c16", "complex128", "c16", "little"),
        (">f2", "float16", "f2", "big"),
        ("|S5", "null_terminated_bytes", "S5", None),
        (">U3", "fixed_length_utf32", "U3", "big"),
        ("|V7", "raw_bytes", "V7", None),
        ("<M8[ns]", "numpy.datetime64", "M8[ns]", "little"),
        (">m8[25s]", "numpy.timedelta64", "m8[25s]", "big"),
        ("<M8", "numpy.datetime64", "M8", "little"),
        ("|O", "object", "O", None),
    ],
)
def test_type_strings(text: str, name: str, numpy: str, endian: str | None) -> None:
    dtype, order = parse_typestr(text)
    assert (dtype.name, order) == (name, endian)
    assert dtype.numpy == np.dtype(numpy)
    assert parse_typestr(typestr(dtype, order)) == (dtype, order)


def test_structured_type_strings_keep_the_order_of_each_field() -> None:
    descr = [["a", "<i4"], ["b", ">f8", [2, 2]], ["c", [["x", "|u1"], ["y", ">u2"]]]]
    dtype, endian = parse_typestr(descr)
    assert endian is None
    assert dtype.numpy == np.dtype([("a", "<i4"), ("b", ">f8", (2, 2)), ("c", [("x", "u1"), ("y", ">u2")])])
    assert typestr(dtype) == descr


@pytest.mark.parametrize(
    "value",
    [
        *("", "i", "<i3", "<u10000", "!S1", "f", "<f3", "|S", "<M8[parsec]", "<M4[s]", "<i4[s]", "|V2147483647"),
        *("<U300000", "<M8[0s]", "<M8[99999999999s]", "|S99999999999999999999"),
        *(1, None, {}, [], [["a"]], [["a", "<i4"], ["a", "<i4"]], [["", "<i4"]], [[1, "<i4"]]),
        *([["a", "<i4", [-1]]], [["a", "<i4", [1 << 20]]]),
    ],
)
def test_what_is_no_type_string_is_refused_with_its_place(value: Any) -> None:
    with pytest.raises(BadMetadata) as caught:
        parse_typestr(value)
    assert caught.value.pointer is not None


def test_nesting_and_sizes_have_limits() -> None:
    deep: Any = "|u1"
    for _ in range(9):
        deep = [["x", deep]]
    assert parse_typestr(deep[0][1])[0].itemsize == 1
    with pytest.raises(BadMetadata):
        parse_typestr([["x", deep]])
    with pytest.raises(BadMetadata):
        parse_typestr([[f"f{i}", "|u1"] for i in range(4097)])
    nested: Any = "int8"
    for _ in range(12):
        nested = {"name": "struct", "configuration": {"fields": [{"name": "x", "data_type": nested}]}}
    with pytest.raises(BadMetadata) as caught:
        data_type(nested)
    assert (caught.value.pointer or "").startswith("/configuration/fields/0/data_type")


@pytest.mark.parametrize("name", sorted(DATA_TYPES))
def test_every_registered_name_makes_a_type_that_hashes_and_writes_itself(name: str) -> None:
    configuration = {
        "fixed_length_utf32": {"length_bytes": 8},
        "null_terminated_bytes": {"length_bytes": 3},
        "raw_bytes": {"length_bytes": 3},
        "numpy.datetime64": {"unit": "ns", "scale_factor": 1},
        "numpy.timedelta64": {"unit": "μs", "scale_factor": 5},
        "struct": STRUCT["configuration"],
        "structured": {"fields": [["a", "int32"], ["b", "float64"]]},
    }.get(name)
    dtype = data_type({"name": name, "configuration": configuration} if configuration else name)
    assert hash(dtype) == hash(data_type(to_json(dtype)))
    assert data_type(json.loads(json.dumps(to_json(dtype)))) == dtype
    assert dtype.numpy is not None or dtype.advice


def test_names_nobody_knows_are_kept_and_explained() -> None:
    for value in ("int33", {"name": "https://example.com/t", "configuration": {"a": [1]}}):
        dtype = data_type(value)
        assert dtype.numpy is None
        assert dtype.advice
        assert to_json(dtype) == value
        assert parse_fill({"any": "thing"}, dtype).defined


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        (None, ""),
        (7, ""),
        (["int32"], ""),
        ("", ""),
        ({"a": 1}, ""),
        ({"name": "int32", "configuration": 5}, "/configuration"),
        ("r12", ""),
        ("r0", ""),
        ("r99999999999999", ""),
        ({"name": "numpy.datetime64", "configuration": {"unit": "parsec"}}, "/configuration/unit"),
        (
            {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 0}},
            "/configuration/scale_factor",
        ),
        ({"name": "fixed_length_utf32", "configuration": {"length_bytes": 6}}, "/configuration/length_bytes"),
        ({"name": "raw_bytes"}, "/configuration/length_bytes"),
        ({"name": "struct", "configuration": {"fields": []}}, "/configuration/fields"),
    ],
)
def test_what_is_no_data_type_is_refused_with_its_place(value: Any, pointer: str) -> None:
    with pytest.raises(BadMetadata) as caught:
        data_type(value)
    assert caught.value.pointer == pointer


def test_types_from_numpy() -> None:
    assert from_numpy(np.uint16).name == "uint16"
    assert from_numpy(">f4") == data_type("float32")
    assert from_numpy("U3").itemsize == 12
    assert from_numpy(str).name == from_numpy(object).name == "string"
    assert from_numpy([("a", "i4"), ("b", "f8")]) == data_type(STRUCT)
    assert from_numpy("bfloat16").itemsize == 2
    with pytest.raises(Unsupported):
        from_numpy("no such thing")


# ---------------------------------------------------------------------------------------------- fill values by bits
@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("0x7fc00001", "float32", struct.pack("<I", 0x7FC00001)),
        ("0xff800001", "float32", struct.pack("<I", 0xFF800001)),
        ("0xfff8000000000123", "float64", struct.pack("<Q", 0xFFF8000000000123)),
        ("0x7e01", "float16", struct.pack("<H", 0x7E01)),
        ("NaN", "float32", struct.pack("<I", 0x7FC00000)),
        ("-Infinity", "float64", struct.pack("<d", -math.inf)),
        ("+Infinity", "float32", struct.pack("<f", math.inf)),
        (-0.0, "float64", b"\0" * 7 + b"\x80"),
        (0.1, "float32", struct.pack("<f", 0.1)),
        (2**64 - 1, "uint64", b"\xff" * 8),
        (-(2**63), "int64", b"\0" * 7 + b"\x80"),
        (2**53 + 1, "int64", struct.pack("<q", 2**53 + 1)),
        (["Infinity", -0.0], "complex64", struct.pack("<ff", math.inf, -0.0)),
        (["0x7ff8000000000001", "NaN"], "complex128", struct.pack("<QQ", 0x7FF8000000000001, 0x7FF8000000000000)),
        (True, "bool", b"\x01"),
        ([1, 2, 255], "r24", b"\x01\x02\xff"),
        ("NaN", "bfloat16", struct.pack("<H", 0x7FC0)),
        ("0x7fc1", "bfloat16", struct.pack("<H", 0x7FC1)),
        ("NaT", TIME, struct.pack("<q", -(2**63))),
        (-(2**63), TIME, struct.pack("<q", -(2**63))),
        ({"a": -1, "b": "0x7ff8000000000009"}, STRUCT, struct.pack("<iQ", -1, 0x7FF8000000000009)),
        ("AAAAAAAAAAAAAAAA", STRUCT, b"\0" * 12),
    ],
)
def test_bits_of_v3(value: Any, kind: Any, expected: bytes) -> None:
    dtype = data_type(kind)
    fill = parse_fill(value, dtype, V3)
    assert bits(fill.value) == expected
    again = parse_fill(json.loads(json.dumps(fill_json(fill, dtype, V3))), dtype, V3)
    assert again == fill


@pytest.mark.parametrize(
    ("value", "text", "expected"),
    [
        (["Infinity", "NaN"], "<c8", struct.pack("<fI", math.inf, 0x7FC00000)),
        ("YWI=", "|S5", b"ab\0\0\0"),
        ("YWJj", "|V3", b"abc"),
        (-9223372036854775808, "<M8[ns]", struct.pack("<q", -(2**63))),
        (18446744073709551615, "<u8", b"\xff" * 8),
        ("0", "|i1", b"\0"),
        (0.0, "<i4", b"\0" * 4),
        (0, "|b1", b"\0"),
        ("", "<U4", b"\0" * 16),
        (0, "|S2", b"\0\0"),
        ("Av/+/v/9WloA/g==", [["a", "|u1"], ["b", "<u8"], ["c", "|u1"]], bytes.fromhex("02fffefefffd5a5a00fe")),
    ],
)
def test_bits_of_v2(value: Any, text: Any, expected: bytes) -> None:
    dtype = parse_typestr(text)[0]
    fill = parse_fill(value, dtype, V2)
    raw = bits(fill.value)
    assert raw.ljust(len(expected), b"\0") == expected
    assert parse_fill(fill_json(fill, dtype, V2), dtype, V2) == fill


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("0b0111111000000000", "float16", 0x7E00),
        ("0x7e00", "float16", 0x7E00),
        ("0xfffe", "int16", 0xFFFE),
        ("0x0102", "r16", 0x0201),
    ],
)
def test_bits_of_the_2022_draft(value: str, kind: str, expected: int) -> None:
    fill = parse_fill(value, data_type(kind), DRAFT_2022)
    assert bits(fill.value) == struct.pack("<H", expected)
    assert parse_fill(fill_json(fill, data_type(kind), DRAFT_2022), data_type(kind), DRAFT_2022) == fill


def test_variable_length_fills() -> None:
    string, octets = data_type("string"), data_type("bytes")
    assert parse_fill("µ", string).value == "µ"
    assert parse_fill("YWI=", octets).value == parse_fill([97, 98], octets).value == b"ab"
    assert parse_fill(0, string, V2).value == ""
    assert fill_json(parse_fill([97, 98], octets), octets) == "YWI="


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (300, "uint8"),
        (-1, "uint8"),
        (1.5, "int32"),
        (True, "int32"),
        ("NaN", "int32"),
        ("0x00", "uint8"),
        ([1], "int32"),
        ({}, "float64"),
        ("nan", "float64"),
        ("0x7fc", "float32"),
        ("0x7fc000000", "float32"),
        ("0xZZ", "float32"),
        ("0b0", "float32"),
        ([1], "complex64"),
        ([1, 2, 3], "complex64"),
        (5, "complex64"),
        ([1, 2], "r24"),
        ([1, 2, 256], "r24"),
        ("NaN", "float4_e2m1fn"),
        ("Infinity", "float8_e4m3fnuz"),
        (1e9, "float8_e4m3fnuz"),
        (0.0, "float8_e8m0fnu"),
        (-1, "float8_e8m0fnu"),
        (8, "int4"),
        (16, "uint4"),
        ("x", "bool"),
        (5, "string"),
        ("not base64!", "bytes"),
        (1.5, TIME),
        ({"a": 1}, STRUCT),
        ({"a": 1, "b": 2, "c": 3}, STRUCT),
        ({"a": 1, "b": "x"}, STRUCT),
        ("AAAA", STRUCT),
        (None, "int8"),
    ],
)
def test_fills_of_the_wrong_type_or_width_are_refused(value: Any, kind: Any) -> None:
    with pytest.raises(BadMetadata):
        parse_fill(value, data_type(kind), V3)


def test_null_is_undefined_where_a_text_allows_it() -> None:
    dtype = data_type("float32")
    for form in (V2, DRAFT_2019, DRAFT_2020):
        fill = parse_fill(None, dtype, form)
        assert not fill.defined
        assert fill.value == 0
        assert fill_json(fill, dtype, form) is None
    for form in (V3, DRAFT_2022):
        with pytest.raises(BadMetadata, match="lenient"):
            parse_fill(None, dtype, form)
        assert not parse_fill(None, dtype, form, lenient=True).defined


def test_fills_differ_when_their_bits_do() -> None:
    dtype = data_type("float64")
    assert parse_fill(0.0, dtype) != parse_fill(-0.0, dtype)
    assert parse_fill("NaN", dtype) == parse_fill("NaN", dtype)
    assert parse_fill("NaN", dtype) != parse_fill("0x7ff8000000000001", dtype)
    assert hash(parse_fill("NaN", dtype)) == hash(parse_fill("NaN", dtype))


@given(st.integers(0, 2**32 - 1))
def test_every_float32_survives_v3_and_the_2022_draft(pattern: int) -> None:
    dtype = data_type("float32")
    fill = parse_fill(f"0x{pattern:08x}", dtype, V3)
    assert bits(fill.value) == struct.pack("<I", pattern)
    for form in (V3, DRAFT_2022):
        assert parse_fill(json.loads(json.dumps(fill_json(fill, dtype, form))), dtype, form) == fill


@given(st.floats(allow_nan=False, width=64))
def test_every_float64_survives_every_form(value: float) -> None:
    dtype = data_type("float64")
    for form in FORMS:
        fill = parse_fill(value if math.isfinite(value) else "-Infinity" if value < 0 else "Infinity", dtype, form)
        assert bits(fill.value) == struct.pack("<d", value)
        assert parse_fill(json.loads(json.dumps(fill_json(fill, dtype, form))), dtype, form) == fill


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)


@given(_json, st.sampled_from([*sorted(DATA_TYPES), "r24", "int33"]), st.sampled_from(FORMS))
def test_any_json_is_a_fill_or_a_named_error(value: Any, name: str, form: FillForm) -> None:
    try:
        dtype = data_type(STRUCT if name in ("struct", "structured") else TIME if name.startswith("numpy.") else name)
        fill = parse_fill(value, dtype, form)
    except ZarrscopeError:
        return
    json.dumps(fill_json(fill, dtype, form))
    hash(fill)


@given(_json)
def test_any_json_is_a_type_or_a_named_error(value: Any) -> None:
    for read in (data_type, lambda v: parse_typestr(v)[0]):
        try:
            dtype = read(value)
        except ZarrscopeError:
            continue
        assert zero(dtype) is not None or dtype.numpy is None or dtype.name == "object"


def test_a_list_is_no_fill_value_of_objects() -> None:
    """numpy would take a list for several elements."""
    with pytest.raises(BadMetadata, match="fill value"):
        parse_fill(["a", 1, 2.5], parse_typestr("|O")[0], V2)
    assert parse_fill({"a": 1}, parse_typestr("|O")[0], V2).value == {"a": 1}


# ---------------------------------------------------------------------- made when first used
def test_a_type_string_and_its_dtype_are_the_same_type() -> None:
    given, told = data_type("uint16"), DataType("uint16", np.dtype("u2"), 2)
    assert given == told
    assert hash(given) == hash(told)
    assert given.numpy == told.numpy == np.dtype("u2")
    assert given.kind == told.kind == "u"
    assert given != DataType("uint16", None, 2)
    assert pickle.loads(pickle.dumps(given)) == given


def test_structs_differ_in_the_byte_order_of_their_fields() -> None:
    little, big = (parse_typestr([["a", f"{order}u2"]])[0] for order in "<>")
    assert little.configuration == big.configuration
    assert little != big


@pytest.mark.parametrize(
    ("name", "value"), [("bool", True), ("int8", -128), ("uint64", 2**64 - 1), ("float32", 0.1), ("float64", "NaN")]
)
def test_a_plain_fill_value_is_made_when_it_is_first_used(name: str, value: Any) -> None:
    dtype = data_type(name)
    fill = parse_fill(value, dtype)
    assert "value" not in vars(fill)
    again = pickle.loads(pickle.dumps(fill))
    assert type(fill.value) is dtype.numpy.type if dtype.numpy else False
    assert again == fill
    assert hash(again) == hash(fill)
    assert fill_json(fill, dtype) == value


@pytest.mark.parametrize(
    ("name", "value"), [("int8", -129), ("uint8", 256), ("uint8", -1), ("bool", 2), ("int16", True)]
)
def test_a_plain_fill_value_out_of_range_is_refused_at_once(name: str, value: Any) -> None:
    with pytest.raises(BadMetadata):
        parse_fill(value, data_type(name))
