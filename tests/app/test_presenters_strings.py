"""The text of numbers, sizes, units and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from zarrscope.errors import Unreadable, Unsupported
from zarrscope_app.presenters import strings


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1024, "1.0 KiB"),
        (3328599655, "3.1 GiB"),
        (150 << 20, "150 MiB"),
        (2**2016, "about 10^606 B"),
    ],
)
def test_sizes(nbytes: int, text: str) -> None:
    assert strings.size(nbytes) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.uint64(2**64 - 1), "18446744073709551615"),
        (np.int64(-(2**63)), "-9223372036854775808"),
        (np.float32(0.1), "0.1"),
        (np.float64(0.1), "0.1"),
        (np.float64(1e300), "1e+300"),
        (np.nan, "NaN"),
        (-np.inf, "-∞"),
        (np.complex64(-0.5 - 2j), "-0.5-2.0i"),
        (np.bool_(True), "true"),
        ("a\x1b[31mb", '"a␛[31mb"'),
        (b"\x00\xff", "0x00ff"),
        (b"cell 7", "b'cell 7'"),
        (np.bytes_(b"it's"), 'b"it\'s"'),
        (b"back\\slash", "0x6261636b5c736c617368"),
        (b"x" * 300, "b'" + "x" * 197 + "…"),
        (np.array((1, 2.5), [("n", "i4"), ("x", "f4")])[()], "(n: 1, x: 2.5)"),
        (np.datetime64("2026-01-02"), "2026-01-02"),
    ],
)
def test_values_are_exact(value: Any, text: str) -> None:
    assert strings.exact(value) == text


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e-12, 123456789.125, 2**60 + 0.0])
def test_a_float_reads_back_the_same(value: float) -> None:
    assert np.float64(strings.exact(np.float64(value))) == value
    assert np.float32(strings.exact(np.float32(value))) == np.float32(value)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (166.4, "micrometer", "166.4 µm"),
        (15.5, "micrometer", "15.5 µm"),
        (90, "degree", "90°"),
        (3, None, "3"),
        (0.5, "furlong", "0.5 furlong"),
    ],
)
def test_lengths(value: float, unit: str | None, text: str) -> None:
    assert strings.length(value, unit) == text


def test_counts_and_shapes() -> None:
    assert strings.too_much(4096, 3328599655) == "4,096 chunks, 3.1 GiB: zoom in, or press Load."
    assert (
        strings.stored_in(1536, (1, 1, 16, 256, 256), 24)
        == "Stored in 1,536 pieces (chunks) of 1 × 1 × 16 × 256 × 256, packed into 24 files (shards)."
    )
    assert strings.stored_in(1, (4,)) == "Stored in 1 piece (chunk) of 4."


def test_a_direction_override_cannot_disguise_a_name() -> None:
    assert strings.clean("photo\u202egnp.exe") == "photo\\u202egnp.exe"


def test_an_error_says_what_happened_where_and_what_to_do() -> None:
    error = Unreadable("The server answered 503", store="https://x", key="c/0", advice="Try again.")
    problem = strings.problem(error, "/a")
    assert problem.headline == "The server answered 503. Try again."
    assert "c/0" in problem.place
    assert "https://x" in problem.details
    assert problem.retry


def test_a_hierarchy_that_was_rewritten_is_refreshed() -> None:
    """The applications have a command for it; a script opens the array again."""
    error = Unreadable("The array /a became smaller", advice="Nothing was written. Open it again.")
    assert strings.problem(error).headline == "The array /a became smaller. Nothing was written. Refresh."


def test_an_error_of_ours_is_no_traceback() -> None:
    problem = strings.problem(ZeroDivisionError("x\ny"))
    assert "ZeroDivisionError" in problem.headline
    assert "\n" not in problem.headline
    assert strings.problem(Unsupported("Needs x", feature="x", advice="Install y.")).headline == "Needs x. Install y."
