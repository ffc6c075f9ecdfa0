"""The layout of the lines at the edges of the screen: their height, and texts at both ends."""

from __future__ import annotations


def height(text: object) -> int:
    """The number of lines of a text; 0 for none."""
    plain = "" if text is None else str(text)
    return plain.count("\n") + 1 if plain else 0


def apart(left: str, right: str, width: int) -> str:
    """Two texts at both ends of a line."""
    return f"{left}{' ' * max(2, width - len(left) - len(right) - 1)}{right}"
