"""Control characters and deceptive characters are spelled out wherever text of a file is displayed."""

from __future__ import annotations

import traceback
import unicodedata

import pytest

import zarrscope
from zarrscope.errors.visible import visible, visible_lines


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain µm 画像 אב", "plain µm 画像 אב"),
        ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
        ("a\nb\tc\rd\0e\x7f", "a⏎b␉c␍d␀e␡"),
        ("\x9b31m\x9d0;x\x9c", "\\x9b31m\\x9d0;x\\x9c"),
        ("photo\u202egnp.exe", "photo\\u202egnp.exe"),
        ("a\u200bb\ufeffc\u2028d\u00ade\ufe0f", "a\\u200bb\\ufeffc\\u2028d\\xade\\ufe0f"),
        ("\ud800 \U000e0041", "\\ud800 \\U000e0041"),
    ],
)
def test_what_steers_or_deceives_is_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_no_character_of_a_steering_category_is_left_in_all_of_unicode() -> None:
    every = "".join(map(chr, range(0x110000)))
    assert not {unicodedata.category(c) for c in visible(every)} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert {c for c in visible_lines(every) if unicodedata.category(c) == "Cc"} == {"\n", "\t"}


def test_a_traceback_prints_nothing_that_steers() -> None:
    error = zarrscope.ZarrscopeError("a\x1b[2J\nb", store="file:///\x9b", key="\u202e", advice="\ud800")
    try:
        raise error
    except zarrscope.ZarrscopeError:
        printed = traceback.format_exc()
    assert "a␛[2J⏎b" in printed
    assert visible_lines(printed) == printed
