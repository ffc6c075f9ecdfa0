"""The message and the advice of an error as an application gives them, which has buttons and keys, not options."""

from __future__ import annotations

from zarrscope.errors import Denied, ZarrscopeError
from zarrscope.errors.visible import visible

TAKE_AS_MISSING = (
    "The server gives the same answer for missing values. If you may read every value there, take it as missing."
)
"""Beside this sentence stands the command that does so."""


def advice_of(error: ZarrscopeError) -> str:
    """The advice, which may name a command that the applications offer; "" if there is none."""
    return TAKE_AS_MISSING if error.advice == Denied.UNTOLD_ADVICE else error.advice or ""


def sentence_of(message: str, key: str | None) -> str:
    """The message of a fault as a sentence, with the document in front if it counts the lines of it."""
    text = visible(message.rstrip(".")) + "."
    if not key or not text.startswith("Line "):
        return text
    name = visible(key)
    return f"{name if len(name) <= 120 else name[:119] + '…'}: {text}"
