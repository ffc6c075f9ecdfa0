"""Folds Python code to the width of a terminal, so that code that is copied from the screen still runs.

A line breaks only within brackets, where Python allows it: between two words, or within a text, which becomes two texts
that Python joins. Other lines stay long.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

INDENT = "    "
RESERVE = 3
"""Columns that a text leaves free for the signs after it, as in `'…')[`: a line does not begin with a comma."""
_PIECES = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|[\[({]|, ?|[^'\"\[({,]+", re.DOTALL)
_CHARACTERS = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|.)|[^\\]", re.DOTALL)
"""The characters of a quoted text; an escape sequence is one."""


def folded_code(code: str, columns: int) -> Iterator[str]:
    """Yields the lines of `code`, folded to `columns` characters where that is possible."""
    for line in code.split("\n"):
        if len(line) <= columns:
            yield line
        elif line.startswith("# "):
            yield from textwrap.wrap(line, columns, subsequent_indent="# ", break_on_hyphens=False)
        else:
            yield from _folded(line, columns)


def _folded(line: str, columns: int) -> Iterator[str]:
    written, depth = "", 0
    for found in _PIECES.findall(line):
        piece: str = found
        quoted = piece[0] in "'\""
        room = columns - len(written) - (RESERVE if quoted else 0)
        if depth and len(piece.rstrip()) > room:
            alone = columns - len(INDENT) - RESERVE
            if quoted and len(piece) > alone and room > alone // 2:
                first, *parts = _parts(piece, room, alone)
                yield written + first
            else:
                yield written.rstrip()
                parts = _parts(piece, alone, alone) if quoted else [piece.lstrip()]
            yield from (INDENT + part for part in parts[:-1])
            written, piece = INDENT, parts[-1]
        written += piece
        if not quoted:
            depth += sum(map(piece.count, "[({")) - sum(map(piece.count, "])}"))
    yield written


def _parts(text: str, room: int, following: int) -> list[str]:
    """A quoted text in parts, of which the first has at most `room` columns and each other one `following`; they end
    after a slash if that leaves at least half of the room."""
    quote, parts, line = text[0], [], ""
    for character in _CHARACTERS.findall(text[1:-1]):
        if len(line) + len(character) + 2 > room and line:
            cut = line.rfind("/") + 1 or len(line)
            cut = len(line) if cut < room // 2 else cut
            parts.append(f"{quote}{line[:cut]}{quote}")
            line, room = line[cut:], following
        line += character
    return [*parts, f"{quote}{line}{quote}"]
