"""Assigning does what numpy's assignment does, or fails as it fails; text and bytes of any length in every shape."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import zarrscope
from zarrscope.errors import Refused, Unsupported
from zarrscope.model.dtype import data_type
from zarrscope.stores.memory import MemoryStore

NUMBERS = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")
OTHERS = ("U3", "S3", "V3", "M8[s]", "m8[ms]")
RECORD = np.dtype([("a", "<i2"), ("b", "<f4")])
KINDS = (OverflowError, ValueError, TypeError)
SELECTIONS: tuple[Any, ...] = (
    ...,
    slice(1, 3),
    (0, ...),
    (slice(None), 1),
    (2, 3),
    (slice(None, None, -2), slice(1, 4)),
)


def array(dtype: Any, shape: tuple[int, ...] = (4, 5), chunks: tuple[int, ...] = (2, 3), **options: Any) -> Any:
    return zarrscope.open(MemoryStore(), "a").create_array("a", shape=shape, chunks=chunks, dtype=dtype, **options)


@pytest.mark.parametrize(
    ("name", "wrong"), [("int4", 8), ("int4", -9), ("uint2", 4), ("uint4", [1, -1]), ("int2", 2**70)]
)
def test_python_integers_outside_of_a_small_type_are_refused(name: str, wrong: Any) -> None:
    made = array(data_type(name), (2,), (2,), fill_value=1)
    for selection in (..., 0) if isinstance(wrong, int) else (...,):
        with pytest.raises(OverflowError):
            made[selection] = wrong
    assert made[...].tolist() == [1, 1]
    made[...] = [0, 1]
    assert made[...].tolist() == [0, 1]


SCALARS = st.one_of(
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, 1, -1, 127, 128, 255, 256, -129, 2**31, 2**32, 2**40, 2**63, 2**64, -(2**63) - 1]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([float("nan"), float("inf"), -0.0, 1e300, 0.5, 70000.0]),
    st.booleans(),
    st.complex_numbers(allow_nan=True),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.none(),
    st.sampled_from(["12", "1.5", "NaT", "2020-01-01", "x", (1, 2.5), (1, "x"), {"a": 1}, object]),
)
TYPED = st.one_of(
    st.builds(lambda v, t: _typed(v, t), SCALARS, st.sampled_from([*NUMBERS, *OTHERS, "O"])),
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=5), st.lists(st.lists(SCALARS, max_size=5), max_size=4), TYPED)


def _typed(value: Any, dtype: str) -> Any:
    """The value as an array or numpy scalar of this type, if it has a type."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = np.array(value, dtype)
        except (*KINDS, OverflowError):
            return value
    return [made[()], np.broadcast_to(made, (5,)) if made.ndim == 0 else made][made.nbytes % 2]


def outcome(target: Any, index: Any, values: Any) -> type[Exception] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            target[index] = values
        except KINDS as error:
            return next(kind for kind in KINDS if isinstance(error, kind))
    return None


@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from([*NUMBERS, *OTHERS, RECORD]), st.sampled_from(SELECTIONS), VALUES)
def test_it_does_what_numpy_does(dtype: Any, index: Any, values: Any) -> None:
    ours, theirs = array(dtype, fill_value=0), np.zeros((4, 5), dtype)
    before = ours[...]
    expected = outcome(theirs, index, values)
    assert outcome(ours, index, values) is expected
    found = ours[...]
    wanted = before if expected is not None else theirs
    assert found.dtype == wanted.dtype
    assert found.tobytes() == np.ascontiguousarray(wanted).tobytes()


@pytest.mark.parametrize(
    ("dtype", "values", "kind"),
    [
        ("u1", 256, OverflowError),
        ("u1", -1, OverflowError),
        ("u1", [0] * 4 + [256], OverflowError),
        ("i4", float("nan"), ValueError),
        ("i4", 2**40, OverflowError),
        ("i8", 2**63, OverflowError),
        ("f4", 1j, TypeError),
        ("i4", "x", ValueError),
        ("str", np.zeros(5), ValueError),
        ("str", 1.5, ValueError),
        ("str", ["a", None, "b", "c", "d"], ValueError),
        ("str", b"a", ValueError),
        ("bytes", "a", ValueError),
        ("bytes", [1, 2, 3, 4, 5], ValueError),
        ("bytes", np.zeros(5), ValueError),
        ("f4", np.zeros(4), ValueError),
        ("V3", np.array([1, 2.5], object), ValueError),
        ("V3", np.array([1, 2, 3, 4, 5], object), TypeError),
    ],
)
def test_what_does_not_fit_raises_and_writes_nothing(dtype: Any, values: Any, kind: type[Exception]) -> None:
    made = array(dtype)
    keys = list(made.store.list_prefix(""))
    with pytest.raises(kind):
        made[...] = values
    assert list(made.store.list_prefix("")) == keys


def items(kind: Any, shape: tuple[int, ...]) -> Any:
    made = np.empty(shape, object)
    for i in range(made.size):
        made.flat[i] = kind(f"{'ä' * (i % 3)}{i}".encode()) if kind is bytes else "ä" * (i % 3) + str(i)
    return made


@pytest.mark.parametrize("dialect", ["v3", "v2", "draft-2020"])
@pytest.mark.parametrize(("dtype", "kind"), [("str", str), ("bytes", bytes)])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (4, 5), (2, 3, 4), (0,), (3, 0)])
def test_text_and_bytes_of_any_length_in_every_shape(
    dialect: str, dtype: Any, kind: Any, shape: tuple[int, ...]
) -> None:
    hierarchy = zarrscope.open(MemoryStore(), "a", dialect=dialect)
    values = items(kind, shape)
    chunks = tuple(max(1, n // 2) for n in shape)
    forms = {
        "array": values,
        "list": values.tolist(),
        "fixed": values.astype("S12") if kind is bytes else values.astype("U12"),
        "read-only": values.copy(),
        "turned": values.T.copy().T,
    }
    forms["read-only"].flags.writeable = False
    if kind is str:
        forms["numpy's own text"] = values.astype(np.dtypes.StringDType())
    for i, given_as in enumerate(forms.values()):
        for j, cut in enumerate((chunks, tuple(max(1, n) for n in shape))):
            made = hierarchy.create_array(f"a{i}{j}", shape=shape, chunks=cut, dtype=dtype)
            made[...] = given_as
            found = made[...]
            assert np.shape(found) == shape
            assert all(
                type(a) is kind and a == b for a, b in zip(np.array(found, object).flat, values.flat, strict=True)
            )
            made[...] = kind(b"z") if kind is bytes else "z"
            assert all(each in ("z", b"z") for each in np.array(made[...], object).flat)


@pytest.mark.parametrize(
    ("dtype", "name"), [("str", "string"), (str, "string"), ("bytes", "bytes"), (bytes, "bytes"), ("T", "string")]
)
def test_the_names_mean_what_zarr_python_means(dtype: Any, name: str) -> None:
    from zarr.dtype import parse_dtype

    assert array(dtype).metadata.dtype.name == name
    if dtype is not bytes:  # zarr-python takes that for bytes of length 0, and refuses it
        theirs = type(parse_dtype(dtype, zarr_format=3)).__name__
        assert theirs == {"string": "VariableLengthUTF8", "bytes": "VariableLengthBytes"}[name]


@pytest.mark.parametrize("dtype", ["S", "U", "V", "S0", "|V0", np.dtype("S"), np.dtype("U")])
def test_types_without_a_length_are_not_made(dtype: Any) -> None:
    with pytest.raises(Refused, match="would hold nothing"):
        array(dtype)


@pytest.mark.parametrize("codec", ["blosc", "numcodecs.blosc"])
@pytest.mark.parametrize("shards", [None, (4, 6)])
def test_what_the_library_cannot_write_is_refused_at_creation(codec: str, shards: Any) -> None:
    import numcodecs.blosc

    if "snappy" in numcodecs.blosc.list_compressors():
        pytest.skip("this blosc library has snappy")
    with pytest.raises(Unsupported, match="has no snappy") as caught:
        array("i4", shards=shards, codecs=[{"name": codec, "configuration": {"cname": "snappy"}}])
    assert (caught.value.pointer or "").endswith("/configuration/cname")
