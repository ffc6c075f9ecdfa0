"""Makes text from a file safe to show: characters that control a terminal or mislead the reader are escaped.

Control characters become their pictures (U+2400 …, "␛" for ESC), a line end becomes "⏎". Controls without a picture,
direction controls, characters without width and lone surrogates become escapes as in JSON and Python (`\\x9b`,
`\\u202e`, `\\U000e0041`). Every other character stays. The classes are those of the Unicode Standard: Cc, Cf, Cs, Zl,
Zp, noncharacters, and Default_Ignorable_Code_Point.

Errors, representations, HTML and all front ends pass the text that they show through this module. It also gives numbers
their nouns.
"""

from __future__ import annotations

import re
from functools import cache

_UNSAFE = (
    r"\x00-\x1f\x7f-\x9f"  # Cc
    r"\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    r"\ud800-\udfff"  # Cs
    r"\ufdd0-\ufdef"
    r"\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    + "".join(f"\\U{plane:04x}fffe\\U{plane:04x}ffff" for plane in range(1, 17))
)
_LONGEST = 2000
_CONTROL = "[\x00-\x08\x0b-\x1f\x7f]"
"""Matches the unsafe characters of ASCII text other than line ends and tabs: 50 MB in 0.4 s instead of 6.6
(2026-11-23)."""


@cache  # not memoized: `errors` is the layer below `runtime`
def _unsafe() -> re.Pattern[str]:
    """Matches one unsafe character. It is compiled when it is first needed: that takes 0.6 ms, and the import of
    zarrscope happens at every start."""
    return re.compile(f"[{_UNSAFE}]")


@cache  # as `_unsafe`
def _unsafe_in_lines() -> re.Pattern[str]:
    """As `_unsafe`, for text that keeps its line ends and tabs."""
    return re.compile(f"(?![\n\t])[{_UNSAFE}]")


def visible(text: str) -> str:
    """`text` on one line, without characters that control a terminal or are invisible."""
    if text.isascii() and text.isprintable():
        return text
    return _unsafe().sub(_spelled, text)


def visible_lines(text: str) -> str:
    """`text` without characters that control a terminal or are invisible, except line ends and tabs."""
    return re.sub(_CONTROL, _spelled, text) if text.isascii() else _unsafe_in_lines().sub(_spelled, text)


def shortened(text: str) -> str:
    """`text` without the middle of more than 2,000 characters: messages quote values, and a value may be a megabyte."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST * 3 // 4]} … {text[-_LONGEST // 4 :]}"


def _spelled(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code == 0x0A:
        return "\N{RETURN SYMBOL}"  # its picture, U+240A, is missing in many fonts
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\N{SYMBOL FOR DELETE}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def counted(n: int, noun: str, plural: str = "") -> str:
    """A number with its noun: (1, "dimension") → "1 dimension"; (2, "axis", "axes") → "2 axes"."""
    return f"{n} {noun if n == 1 else plural or noun + 's'}"
