"""Restores the confidential parts of an address that was shown without them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrscope.errors import Refused
from zarrscope.errors.confidential import private

if TYPE_CHECKING:
    pass


def whole_address(text: str) -> str:
    """The whole address for `text`, which may be an address without its confidential parts. Raises Refused if these are
    not known here."""
    try:
        return private(text)
    except KeyError:
        raise Refused(
            f"The password or token of {text} is not known here: it is never stored",
            advice="Give the whole address again, or write it into a file that ZARRSCOPE_ADDRESSES names.",
        ) from None
