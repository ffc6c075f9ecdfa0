"""Lines of output for people, folded to the width of the terminal at blanks, with aligned continuation lines."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

LEAST_ROOM = 16
"""If fewer columns remain beside a label, continuation lines are indented by four instead."""
_LABEL = re.compile(r" *\S+(?: \S+)*  +(?=\S)|  *")
"""The label of an item with the blanks behind it, or the indentation of another line."""


def line_width() -> int:
    """The columns of the terminal, or COLUMNS if that is set; 0 (no limit) if stdout is no terminal, even if COLUMNS is
    set: GNU readline sets it for the children of every program that uses it, and pipes want sentences whole."""
    if not on_terminal():
        return 0
    import shutil  # only here: verbs load this module, and shutil loads four more

    return shutil.get_terminal_size().columns


def on_terminal() -> bool:
    """Whether stdout is a terminal."""
    try:
        return sys.stdout.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


def folded(text: str, width: int) -> str:
    """A text in lines of at most `width` columns; 0: unchanged. A word that is longer, such as an address, stays whole,
    and so does a shape ("2 × 64")."""
    return "\n".join(line for each in text.split("\n") for line in _folded(each, width)) if width else text


def _folded(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    found = _LABEL.match(line)
    label = found[0] if found else ""
    words = line[len(label) :].replace(" × ", "\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}")
    words = words.replace(" · ", "\N{NO-BREAK SPACE}· ")
    return [part.replace("\N{NO-BREAK SPACE}", " ") for part in joined(label, words.split(" "), " ", width)]


def joined(label: str, parts: Sequence[str], gap: str, width: int) -> list[str]:
    """`parts` with `gap` between them behind a label, in lines of at most `width` columns (0: one line), those after
    the first aligned with the first part."""
    indent = " " * (len(label) if width - len(label) >= LEAST_ROOM else 4)
    lines = [label + parts[0]]
    for part in parts[1:]:
        if width and len(lines[-1]) + len(gap) + len(part) > width:
            lines.append(indent + part)
        else:
            lines[-1] += gap + part
    return lines
