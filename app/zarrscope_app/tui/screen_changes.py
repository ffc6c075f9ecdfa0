"""Compares the content of the terminal with the new content, and writes only the cells that differ.

Textual writes whole lines of widgets, with a full style before each piece. Over SSH a line costs more than its two
changed cells. `ScreenChanges` reads Textual's output, stores it as cells, and makes the shortest text that changes the
terminal's content to these cells. The sequences are those of ECMA-48: CUP moves, CUF skips, SGR styles.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache

from rich.cells import get_character_cell_size

_PIECES = re.compile(
    r"\x1b\[([0-9;]*)m"  # 1: a style
    r"|([^\x1b\n]+)"  # 2: text
    r"|\x1b\[(\d+);(\d+)H"  # 3, 4: a position of the cursor
    r"|\x1b\[(\d*)C"  # 5: cells to skip
    r"|(\n)"  # 6: the next line
    r"|(\x1b\[\?2026[hl])"  # 7: a frame begins or ends
    r"|(\x1b\[\?(?:1049|1047|47)[hl])"  # 8: another screen
    r"|(\x1b\[[<=>?]?[0-9;:]*[ -/]*[@-~]|\x1b[\]_P^X].*?(?:\x07|\x1b\\)|\x1b.?)",  # 9: anything else
    re.DOTALL,
)
_UNKNOWN = -1
"""The style of a cell whose content is unknown."""
_SKIP = 4
"""The most unchanged cells between two changed ones that are written again, because a skip takes as many bytes."""
MOST_STYLES = 1 << 16
"""The most styles that are cached; when there are more, the cache is cleared and the whole screen is written."""

_SIGNS = {
    **dict.fromkeys("▸▶❯→►", ">"), **dict.fromkeys("◂◀←◄", "<"), **dict.fromkeys("▾▼↓", "v"),
    **dict.fromkeys("▴▲↑", "^"),
    **dict.fromkeys("─━═▁▔‾–—", "-"), **dict.fromkeys("│┃║▏▕▎▌▐", "|"), **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╯╰┏┓┗┛", "+"),
    **dict.fromkeys("•●◉·", "*"), **dict.fromkeys("○◌", "o"), **dict.fromkeys("█■▓▒▀▄", "#"), **dict.fromkeys("░", ":"),
    **dict.fromkeys("▂▃▅▆▇▉▊▋▍▎", " "),  # ends of scrollbars
    "…": "~", "⏎": "$", "✎": "*", "×": "x", "µ": "u",
}  # fmt: skip
"""The ASCII replacement of each sign that the screens use, for terminals without Unicode."""
_CORNERS = dict(zip("╭╮╯╰", "┌┐┘└", strict=True))
"""The corners of sheets, for fonts that have lines, but no round corners."""

CellStyle = tuple[str, str, str]
"""(foreground, background, the other attributes), each in SGR parameters; "" is the terminal's default."""


@lru_cache(maxsize=4096)
def _width(character: str) -> int:
    return get_character_cell_size(character)


class _Fallbacks(dict[int, str]):
    """A table for str.translate that replaces characters that an encoding lacks by others of the same width, and all
    signs by ASCII. With a Latin-1 locale the terminal often expects UTF-8, and Latin-1 bytes would shift the line."""

    def __init__(self, encoding: str, font: str) -> None:
        super().__init__()
        self._encoding, self._font = encoding, font

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if self._font:
            character = _CORNERS.get(character, character)
        if not self._font or not character.encode(self._font, "ignore"):
            character = _SIGNS.get(character, character)
        try:
            character.encode(self._encoding)
        except UnicodeEncodeError:
            character = "?" * _width(character)
        except LookupError:
            character = "?" * _width(character) if not character.isascii() else character
        self[code] = character
        return character


class _Row:
    __slots__ = ("awkward", "shown", "styles", "text", "was_awkward", "were")

    def __init__(self, columns: int) -> None:
        self.text = [" "] * columns
        self.styles = [0] * columns
        self.shown = [" "] * columns
        self.were = [_UNKNOWN] * columns
        self.awkward = self.was_awkward = False
        """Whether the row contains characters that are not one cell wide: terminals disagree about their width."""

    def widen(self, columns: int) -> None:
        more = columns - len(self.text)
        if more > 0:
            self.text += [" "] * more
            self.styles += [0] * more
            self.shown += [" "] * more
            self.were += [_UNKNOWN] * more

    def mend(self, start: int, end: int) -> None:
        """Replaces halves of wide characters by blanks if the other half was overwritten."""
        if start and start < len(self.text) and _width(self.text[start - 1][:1] or " ") == 2 and self.text[start]:
            self.text[start - 1] = " "
        while end < len(self.text) and not self.text[end]:
            self.text[end] = " "
            end += 1
        self.awkward = any(len(character) != 1 for character in self.text)


class ScreenChanges:
    """Computes screen changes: `feed` takes the output, `changes` returns the text to write in its place."""

    def __init__(self, *, colored: bool = True, encoding: str = "utf-8", font: str = "") -> None:
        """`font`: the code page whose signs the terminal's font has; "" for all of Unicode."""
        self._colored = colored
        unicode = encoding.lower().replace("_", "-") in ("utf-8", "utf8") and not font
        self._table = None if unicode else _Fallbacks(encoding, font)
        self._rows: list[_Row] = []
        self._touched: set[int] = set()
        self._x = self._y = 0
        self._style = 0
        self._ids: dict[CellStyle, int] = {("", "", ""): 0}
        self._styles: list[CellStyle] = [("", "", "")]
        self._next: dict[tuple[int, str], int] = {}
        """(style, SGR parameters) → the style after them."""
        self._blanks: dict[int, int] = {}
        self._steps: dict[tuple[int, int], str] = {}
        """(style, style) → the sequence that changes the first into the second."""
        self._home = (0, 0)
        self._lines = self._columns = sys.maxsize
        """The size of the terminal, which would move cells beyond it into its last line and column."""
        self.synchronized = False
        """Whether the terminal displays a frame only when it is complete (mode 2026)."""

    # ------------------------------------------------------------------ the new content
    def feed(self, data: str) -> str:
        """Takes output. Returns the part that is not content of the screen and must be written at once."""
        passed: list[str] = []
        for found in _PIECES.finditer(data):
            kind = found.lastindex
            if kind == 1:
                self._turn(found[1])
            elif kind == 2:
                self._put(found[2])
            elif kind == 4:
                self._y, self._x = int(found[3]) - 1, int(found[4]) - 1
            elif kind == 5:
                self._x += int(found[5] or 1)
            elif kind == 6:
                self._y += 1
            elif kind == 7:
                self.synchronized = True
            else:
                passed.append(found[0])
                if kind == 8 and found[0].endswith("h"):
                    self.paint_anew()
        return "".join(passed)

    def forget(self, size: tuple[int, int] | None = None) -> None:
        """Called when the terminal's content is unknown: the next output is written completely. `size`: the new lines
        and columns, if they have changed; output of the old layout, which may still come, is not written beyond."""
        if size is not None:
            self._lines, self._columns = size
        self._rows = []
        self._touched = set()

    def paint_anew(self) -> None:
        """Writes everything again, for example after another program used the terminal."""
        for y, row in enumerate(self._rows):
            row.were = [_UNKNOWN] * len(row.were)
            self._touched.add(y)

    def _turn(self, parameters: str) -> None:
        key = (self._style, parameters)
        found = self._next.get(key)
        if found is None:
            front, back, rest = _after(self._styles[self._style], parameters)
            found = self._next[key] = self._id((front, back, rest) if self._colored else ("", "", rest))
        self._style = found

    def _id(self, style: CellStyle) -> int:
        found = self._ids.get(style)
        if found is None:
            found = self._ids[style] = len(self._styles)
            self._styles.append(style)
        return found

    def _blank(self) -> int:
        """The current style for a blank: without the foreground, unless the blank has a line (such as an underline)."""
        found = self._blanks.get(self._style)
        if found is None:
            _, back, rest = self._styles[self._style]
            lined = {"4", "7", "9", "21", "53"} & {*rest.split(";")}
            found = self._blanks[self._style] = self._style if lined else self._id(("", back, ""))
        return found

    def _put(self, text: str) -> None:
        if self._table is not None and not text.isascii():
            text = text.translate(self._table)
        y = self._y
        while y >= len(self._rows):
            self._rows.append(_Row(0))
        row, start = self._rows[y], self._x
        self._touched.add(y)
        if not text.isascii() and any(_width(character) != 1 for character in set(text)):
            self._put_wide(row, text)
            return
        end = self._x = start + len(text)
        row.widen(end)
        row.text[start:end] = text
        row.styles[start:end] = [self._blank() if text.isspace() else self._style] * (end - start)
        if row.awkward:
            row.mend(start, end)

    def _put_wide(self, row: _Row, text: str) -> None:
        start = self._x
        for character in text:
            wide = _width(character)
            if wide == 0:
                if 0 < self._x <= len(row.text):
                    row.text[self._x - 1] += character
                continue
            row.widen(self._x + wide)
            row.text[self._x : self._x + wide] = [character, *[""] * (wide - 1)]
            row.styles[self._x : self._x + wide] = [self._style] * wide
            self._x += wide
        row.mend(start, self._x)

    # ------------------------------------------------------------------ the text to write
    @property
    def pending(self) -> bool:
        """Whether `changes` may return something."""
        return bool(self._touched)

    def changes(self) -> str:
        """The text that brings the terminal to the new content; "" if there is no change."""
        out: list[str] = []
        style = 0
        for y in sorted(self._touched):
            row = self._rows[y]
            if y >= self._lines:
                break
            if row.text == row.shown and row.styles == row.were:
                continue
            style = self._write_row(y, row, style, out)
            row.shown, row.were, row.was_awkward = row.text.copy(), row.styles.copy(), row.awkward
        self._touched.clear()
        if style:
            out.append("\x1b[m")
        home = (self._y, self._x)
        if (out or home != self._home) and home != (0, 0):  # input methods open at the cursor
            out.append(f"\x1b[{home[0] + 1};{home[1] + 1}H")
        self._home = home
        told = "".join(out)
        if len(self._styles) > MOST_STYLES:
            self._start_over()
        return f"\x1b[?2026h{told}\x1b[?2026l" if told.count("H") > 2 and self.synchronized else told

    def _start_over(self) -> None:
        self._ids, self._styles, self._next, self._steps, self._blanks = {("", "", ""): 0}, [("", "", "")], {}, {}, {}
        self._style = 0
        self.forget()

    def _write_row(self, y: int, row: _Row, style: int, out: list[str]) -> int:
        """Writes the cells of a row that differ; returns the style at its end."""
        text, styles, steps, step_to = row.text, row.styles, self._steps, self._step
        at = None
        if row.awkward or row.was_awkward:
            changed = list(range(len(text)))
        else:
            pairs = zip(text, row.shown, styles, row.were, strict=True)
            changed = [x for x, (a, b, c, d) in enumerate(pairs) if c != d or a != b]
        for x in changed:
            if x >= self._columns:
                break
            if not text[x]:  # the right half of a wide character
                continue
            if at != x:
                if at is not None and x - at <= _SKIP and all(styles[i] == style for i in range(at, x)):
                    out.append("".join(text[at:x]))
                elif at is not None:
                    out.append(f"\x1b[{x - at}C" if x - at > 1 else "\x1b[C")
                else:
                    out.append(f"\x1b[{y + 1};{x + 1}H")
            character, wanted = text[x], styles[x]
            if wanted != style and character == "▀":
                other = self._turned_over(wanted)
                if other != wanted and (other == style or len(step_to(style, other)) < len(step_to(style, wanted))):
                    wanted, character = other, "▄"
            if wanted != style:
                step = steps.get((style, wanted))
                out.append(step_to(style, wanted) if step is None else step)
                style = wanted
            out.append(character)
            at = x + 1
            if row.awkward and (len(character) != 1 or not character.isascii()) and _width(character[:1] or " ") != 1:
                at = None  # the terminal may use another width for the character
        return style

    def _turned_over(self, style: int) -> int:
        """The style in which a lower half block looks like an upper one in `style`; if there is none,
        `style` itself."""
        front, back, rest = self._styles[style]
        if not front.startswith("38") or not back.startswith("48"):
            return style
        return self._id((f"3{back[1:]}", f"4{front[1:]}", rest))

    def _step(self, old: int, new: int) -> str:
        found = self._steps.get((old, new))
        if found is None:
            if len(self._steps) > MOST_STYLES:
                self._steps.clear()
            found = self._steps[old, new] = _sequence(self._styles[old], self._styles[new])
        return found


def _after(style: CellStyle, parameters: str) -> CellStyle:
    """The style that an SGR sequence with `parameters` makes of `style`."""
    front, back, rest = style
    parts = parameters.split(";")
    i = 0
    while i < len(parts):
        code = int(parts[i] or 0)
        if code == 0:
            front = back = rest = ""
        elif code in (38, 48):
            length = 5 if parts[i + 1 : i + 2] == ["2"] else 3
            told = ";".join(parts[i : i + length])
            front, back = (told, back) if code == 38 else (front, told)
            i += length - 1
        elif code in (39, 49):
            front, back = ("", back) if code == 39 else (front, "")
        elif 30 <= code <= 37 or 90 <= code <= 97:
            front = str(code)
        elif 40 <= code <= 47 or 100 <= code <= 107:
            back = str(code)
        else:
            rest = ";".join(sorted({*filter(None, rest.split(";")), str(code)}))
        i += 1
    return front, back, rest


def _sequence(old: CellStyle, new: CellStyle) -> str:
    """The shorter of two sequences from style `old` to `new`: only the differences, or a reset and all of `new`."""
    whole = ";".join(part for part in (new[2], new[0], new[1]) if part)
    whole = f"\x1b[;{whole}m" if whole else "\x1b[m"
    if old[2] and old[2] != new[2]:
        return whole
    parts = [new[2]] if old[2] != new[2] else []
    for before, after, none in ((old[0], new[0], "39"), (old[1], new[1], "49")):
        if before != after:
            parts.append(after or none)
    told = f"\x1b[{';'.join(parts)}m"
    return told if len(told) <= len(whole) else whole
