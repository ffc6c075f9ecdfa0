"""The advice of an error as an application gives it, which has buttons and keys instead of options."""

from __future__ import annotations

from zarrscope.errors import Denied, ZarrscopeError

TAKE_AS_MISSING = (
    "The server gives the same answer for missing values. If you may read every value there, take it as missing."
)
"""Beside this sentence stands the command that does so."""


def advice_of(error: ZarrscopeError) -> str:
    """The advice, which may name a command that the applications offer; "" if there is none."""
    return TAKE_AS_MISSING if error.advice == Denied.UNTOLD_ADVICE else error.advice or ""
