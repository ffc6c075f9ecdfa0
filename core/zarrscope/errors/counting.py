"""Numbers with their nouns, for the messages of errors."""

from __future__ import annotations


def counted(n: int, noun: str, plural: str = "") -> str:
    """A number with its noun: (1, "dimension") → "1 dimension"; (2, "axis", "axes") → "2 axes"."""
    return f"{n} {noun if n == 1 else plural or noun + 's'}"
