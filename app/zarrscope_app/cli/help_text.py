"""The layout of `--help`: click's, but also for terminals of fewer than 50 columns, where click's lines are too long,
and with examples that continue on a further line."""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

LEAST_WIDTH = 20
"""The narrowest terminal, in columns, for which help is laid out."""
_EXAMPLE = re.compile(r"( *)(\S.*?)(?:( {2,})(\S.*))?")
"""A line of a paragraph with click's mark against rewrapping: its indentation, a command, and a remark on it."""
_WORD = re.compile(r"""(?:--?[a-z][a-z-]* (?=[^-|\s]))?(?:'[^']*'|"[^"]*"|\S)+""")
"""A word of a shell command, or an option with its value; blanks in quotation marks belong to it."""


class HelpText(click.HelpFormatter):
    """Text of `--help` for a terminal of any width."""

    def __init__(self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None) -> None:
        if width is None:
            import shutil  # only here: verbs load this module, and shutil loads four more

            width = max(LEAST_WIDTH, min(shutil.get_terminal_size().columns, max_width or 80)) - 2
        super().__init__(indent_increment, width, max_width)

    def write_text(self, text: str) -> None:
        """Writes a paragraph, as click does, with its examples folded."""
        super().write_text("\n".join(self._folded(text.split("\n"))))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Writes a list of terms and their meanings, as click does, with terms of two fifths of a line at most."""
        room = self.width - self.current_indent
        narrow = min(col_max, room * 2 // 5)
        told = [(self._broken(term, room), meaning) for term, meaning in rows]
        super().write_dl(told, narrow, col_spacing)

    def _folded(self, lines: list[str]) -> list[str]:
        """The lines of a help text, with those that click would not wrap folded to the width."""
        out: list[str] = []
        verbatim = False
        for line in lines:
            verbatim = bool(line.strip()) and (verbatim or line.strip() == "\b")
            out += folded_example(line, self.width - self.current_indent) if verbatim else [line]
        return out

    @staticmethod
    def _broken(term: str, room: int) -> str:
        """An option that is longer than a line, broken after its choices."""
        if len(term) <= room:
            return term
        parts = re.split(r"(?<=\|)", term)
        lines = [parts[0]]
        for part in parts[1:]:
            if len(lines[-1]) + len(part) <= room:
                lines[-1] += part
            else:
                lines.append(f"      {part}")
        return "\n".join(lines)


def folded_example(line: str, width: int) -> list[str]:
    """A command and its remark, each on lines of its own if they do not fit into `width` columns together. Every line
    of a command that goes on ends with a backslash, so that a shell accepts the whole."""
    found = _EXAMPLE.fullmatch(line)
    if found is None or len(line) <= width:
        return [line]
    indent, command, _, remark = found.groups()
    room = width - len(indent)
    least = room - 6  # of a word on a line of its own, with its indentation and the backslash
    words = [part for word in _WORD.findall(command) for part in (word.split(" ", 1) if len(word) > least else [word])]
    lines = _joined(words, room, " \\")
    if remark:
        lines += [f"    {part}" for part in _joined(remark.split(), room - 4, indent="")]
    return [indent + part for part in lines]


def _joined(words: list[str], room: int, mark: str = "", indent: str = "    ") -> list[str]:
    """Words in lines of at most `room` columns, those after the first with `indent`; `mark` ends each but the last."""
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + 1 + len(word) + len(mark) <= room:
            lines[-1] += f" {word}"
        else:
            lines[-1] += mark
            lines.append(indent + word)
    return lines


class HelpContext(click.Context):
    """The context of a command whose help is laid out by HelpText."""

    formatter_class = HelpText
