"""The largest decoded chunk that is accepted, and the setting that allows larger ones."""

import os

VARIABLE = "ZARRSCOPE_CHUNK_LIMIT"
"""The environment variable that sets the limit, in bytes. It is read when this module is imported."""


def _stated(text: str) -> int:
    """The number of bytes in the value of the variable; 1 GiB if it is empty or not a number."""
    return int(text) if text.isascii() and text.isdigit() and int(text) else 1 << 30


MAX_CHUNK_BYTES = _stated(os.environ.get(VARIABLE, ""))
"""A chunk that decodes to more bytes is refused (spec F.2), and so is a chunk of strings with more bytes of text."""


def how_to_allow(size: int) -> str:
    """The advice to a person whose chunk needs `size` bytes of memory."""
    return f"If this is intended and the memory suffices, start again with the environment variable {VARIABLE}={size}."
