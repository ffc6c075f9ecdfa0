"""Joined emoji in names and values: a terminal shows their parts.

Presenters escape the joiner (U+200D) and the variation selectors (U+FE0E, U+FE0F), which have no width. Whether a
terminal joins the emoji around them is not known, and with it their width; the parts without them have a certain width.
Both are escaped everywhere but between or after emoji, as all other invisible characters are, and in the documents.
"""

from __future__ import annotations

import re

_EMOJI = (
    r"\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935"
    r"\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_SELECTOR = re.compile(rf"(?<=[{_EMOJI}])\\ufe0[ef]|(?<=[0-9#*])\\ufe0f(?=\u20e3)")
_JOINER = re.compile(rf"(?<=[{_EMOJI}])\\u200d(?=[{_EMOJI}])")


def parts(text: str) -> str:
    """A cleaned text with joined emoji as their parts, in place of the escapes between them."""
    if text.isascii() or "\\u" not in text:
        return text
    return _JOINER.sub("", _SELECTOR.sub("", text))
