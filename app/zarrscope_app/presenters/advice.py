"""The advice of an error as an application gives it, which has buttons and keys instead of options."""

from __future__ import annotations

import re

from zarrscope.errors import ZarrscopeError

_OPTION = re.compile(r"--missing-is-fill \(storage_options=\{[^{}]*\}\) treats it as missing")
"""The option of the command line and of Python. Beside the sentence stands a command that does the same."""


def advice_of(error: ZarrscopeError) -> str:
    """The advice, which may name a command that the applications offer; "" if there is none."""
    return _OPTION.sub("take it as missing", error.advice or "")
