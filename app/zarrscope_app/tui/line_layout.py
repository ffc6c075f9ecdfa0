"""The layout of the lines at the edges of the screen: their height, and texts at both ends."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size


def height(text: object) -> int:
    """The number of lines of a text; 0 for none."""
    plain = "" if text is None else str(text)
    return plain.count("\n") + 1 if plain else 0


def apart(left: str, right: str, width: int, lines: int = 1) -> str:
    """Two texts at both ends of a line. If it is too short for both, the left one takes up to `lines` lines, and is
    cut, to half the last line at most."""
    room = max(width - cell_len(right) - 3, width // 2)
    if lines > 1 and cell_len(left) > room:
        fits = len(set_cell_size(left, width - 1).rstrip())
        at = left.rfind(" ", 1, fits + 1)
        end = fits if at < 1 else at
        return f"{left[:end]}\n{apart(f' {left[end:].lstrip()}', right, width, lines - 1)}"
    left = left if cell_len(left) <= room else set_cell_size(left, max(0, room - 1)).rstrip() + "…"
    return f"{left}{' ' * max(2, width - cell_len(left) - cell_len(right) - 1)}{right}"


def path_line(names: Sequence[str], right: str, width: int) -> str:
    """The names on the way to a node, and a text at the right end of the line. If it is too short for both, the first
    names are left out, because the last one is the node's."""
    shown = [*names]
    while len(shown) > 1 and cell_len(_path(shown, names)) + cell_len(right) + 3 > width:
        del shown[0]
    return apart(_path(shown, names), right, width)


def _path(shown: Sequence[str], names: Sequence[str]) -> str:
    return " " + " ▸ ".join(["…", *shown] if len(shown) < len(names) else shown)
