"""Restores the passwords and tokens in an address that was shown or stored without them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrscope.errors import Refused
from zarrscope.errors.confidential import private

if TYPE_CHECKING:
    pass


def whole_address(text: str) -> str:
    """Restores the password or token in `text`; an address that lacks none is returned as it is. Raises Refused if this
    process does not know them."""
    try:
        return private(text)
    except KeyError:
        raise Refused(
            f"This process does not know the password or token of {text}: they are never stored",
            advice="Give the whole address again, or write it into a file that ZARRSCOPE_ADDRESSES names.",
        ) from None
