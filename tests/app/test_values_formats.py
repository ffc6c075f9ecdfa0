"""Number formats of the table: plain, with a power of ten, or as bits; each shows the exact value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from zarrscope_app.presenters.values import in_two_lines, number


@pytest.mark.parametrize(
    ("value", "scientific", "hexadecimal"),
    [
        (np.uint16(31), "3.1e+1", "0x001f"),
        (np.int8(-1), "-1e+0", "0xff"),
        (np.uint64(2**64 - 1), "1.8446744073709551615e+19", "0xffffffffffffffff"),
        (np.float32(1.0), "1e+00", "0x3f800000"),
        (np.float32(0.1), "1e-01", "0x3dcccccd"),
        (np.float64("nan"), "NaN", "0x7ff8000000000000"),
        (np.bool_(True), "true", "0x01"),
        (np.complex64(1 - 2j), "1e+00-2e+00i", "1.0-2.0i"),
        (np.datetime64("2026-11-22"), "2026-11-22", "2026-11-22"),
        ("text", '"text"', '"text"'),
    ],
)
def test_forms_of_a_number(value: Any, scientific: str, hexadecimal: str) -> None:
    assert number(value, "scientific") == scientific
    assert number(value, "hexadecimal") == hexadecimal


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("1.25-3i", "1.25\n-3i"),
        ("-1.5e-01-2.3e-01i", "-1.5e-01\n-2.3e-01i"),
        ("1e+400+2.5E+03i", "1e+400\n+2.5E+03i"),
        ("nan+infi", "nan\n+infi"),
        ("-inf-nani", "-inf\n-nani"),
        ("0i", "0i"),
        ("…", "…"),
    ],
)
def test_a_complex_number_in_two_lines(text: str, lines: str) -> None:
    assert in_two_lines(text) == lines
