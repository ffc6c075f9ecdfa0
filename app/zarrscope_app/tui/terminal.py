"""The abilities of the terminal: its colours, characters and pictures, and whether its background is light. The
terminal is asked if the environment does not state them.

Over SSH the environment says little, because sshd does not pass COLORTERM on. So the terminal itself is asked, by
control sequences that all terminals answer or ignore, with a time-out; DA1, which every terminal answers, comes last
and ends the waiting. See ECMA-48, XTerm Control Sequences (DA1, OSC 11, XTGETTCAP, XTVERSION), the kitty graphics
protocol. Answers after the time-out are removed from the input (late_answers.py).
"""

from __future__ import annotations

import io
import os
import re
import select
import struct
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal, TextIO, get_args

from zarrscope.model.frozen import frozen
from zarrscope_app.presenters import strings_terminal as words

Colors = Literal["truecolor", "256", "16", "mono"]
DrawingMethod = Literal["kitty", "iterm2", "sixel", "blocks", "braille", "ascii"]
PROBE_SECONDS = 0.5
"""Seconds to wait for an answer. A connection across the Atlantic takes 0.15 s."""
LATE_SECONDS = 1.5
"""Seconds since the questions for which a verb that draws one picture waits at its end, if no answer has come: the
shell would take a later one for typed text."""
SLOW_SECONDS = 0.04
"""The link to a terminal counts as slow if the terminal takes more seconds than this to answer."""
CONSOLE_FONT = "cp437"
"""The code page of the default font of the Linux console. Other console fonts have its blocks and lines, too."""
_KITTY = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"
"""The question for kitty's pictures."""
_VERSION = "\x1b[>c"
"""DA2, which GNU screen answers with its number, 83."""
_QUESTIONS = (
    "\x1bP+q524742\x1b\\",  # XTGETTCAP of "RGB"
    "\x1b[>q",  # XTVERSION
    "\x1b]11;?\x1b\\",  # the colour of the background
    "\x1b[16t",  # the size of a cell, in pixels
    "\x1b[c",  # DA1
)
_MONO = re.compile(r"vt[1-4]\d\d|wy\d|hp\d")
"""Old terminals without colours."""
_DA1 = re.compile(rb"\x1b\[\?([0-9;]*)c")
_TRUE_COLOR = re.compile(
    r"(?:kitty|foot|ghostty|contour|Konsole|VTE|WezTerm|iTerm2|XTerm\((?:33[1-9]|3[4-9]\d|[4-9]\d\d))", re.IGNORECASE
)
"""The names in answers to XTVERSION of terminals that have true colour. Not all of them answer XTGETTCAP: kitty 0.26
and the xterm of Debian do not."""
_BACKGROUND = re.compile(rb"\x1b\]11;(?:rgba?:)?([0-9a-fA-F/#]+)")
_LIGHT_NUMBERS = ("7", *map(str, range(9, 16)))
"""The colours of COLORFGBG, of sixteen, that count as a light background. Vim distinguishes them in the same way."""
_WEIGHTS = (0.299, 0.587, 0.114)
"""The shares of red, green and blue in the lightness (ITU-R BT.601)."""


@frozen
class Answers:
    """The terminal's answers. `attributes` are those of DA1, None if it did not answer in time."""

    attributes: frozenset[int] | None = None
    true_color: bool = False
    kitty: bool = False
    name: str = ""
    cell: tuple[int, int] | None = None
    """(height, width) of a cell in pixels."""
    screen: bool = False
    """Whether GNU screen answered."""
    seconds: float = 0.0
    lightness: float | None = None
    """The lightness of the background, from 0 (black) to 1 (white); None if it was not answered."""
    read: bytes = b""
    """All bytes that were read meanwhile: the answers, and keys that the person pressed."""


@frozen
class Terminal:
    """The abilities used for drawing. `note` is a hint how to improve the display, shown in dimmed text."""

    colors: Colors = "truecolor"
    drawing: DrawingMethod = "blocks"
    slow: bool = False
    note: str = ""
    cell: tuple[int, int] = (20, 10)
    passthrough: bool = False
    """Whether pictures are wrapped so that tmux passes them on."""
    unicode: bool = True
    font: str = ""
    """The code page whose signs the font has; "" for all of Unicode. The console of Linux takes UTF-8, but its font has
    256 or 512 characters, and shows others as a lozenge."""
    light: bool = False
    """Whether the background is light."""
    mouse: bool = True
    """Whether the mouse is reported. Not in GNU screen, which then keeps Esc to itself until the next key."""
    read: bytes = b""
    """The input that was read while the terminal was asked: its answers, and keys that the person pressed."""

    @property
    def has_all_signs(self) -> bool:
        """Whether the terminal can show all signs that the screens use."""
        return self.unicode and not self.font

    def spelled(self, foot: str) -> str:
        """A text with the names of keys instead of their signs, if the terminal lacks those."""
        if not self.has_all_signs:
            for sign, name in words.IN_ASCII:
                foot = foot.replace(sign, name)
        return foot


def read_answers(told: bytes, seconds: float = 0.0) -> Answers:
    """Parses the bytes that a terminal sent as answers."""
    da1 = _DA1.search(told)
    named = re.search(rb"\x1bP>\|([^\x1b]*)", told)
    name = named[1].decode("ascii", "replace") if named else ""
    cell = re.search(rb"\x1b\[6;(\d+);(\d+)t", told)
    return Answers(
        attributes=frozenset(int(n) for n in da1[1].split(b";") if n) if da1 else None,
        true_color=b"\x1bP1+r524742" in told or _TRUE_COLOR.match(name) is not None,
        kitty=re.search(rb"\x1b_G[^\x1b]*;OK", told) is not None,
        name=name,
        cell=(int(cell[1]), int(cell[2])) if cell and int(cell[1]) and int(cell[2]) else None,
        screen=b"\x1b[>83;" in told,
        seconds=seconds,
        lightness=_lightness(told),
    )


def with_cell(answers: Answers) -> Answers:
    """The answers with the size of a cell from the system, if the terminal did not state it. xterm does not answer by
    default, but reports the size of its window with that in cells."""
    return answers if answers.cell is not None else replace(answers, cell=_cell_of_window())


def _cell_of_window() -> tuple[int, int] | None:
    """(height, width) of a cell of the terminal at stderr; None if the terminal reports no pixels, as over a serial
    line."""
    try:
        import fcntl
        import termios
    except ImportError:  # Windows
        return None
    if sys.__stderr__ is None:
        return None
    try:
        told = fcntl.ioctl(sys.__stderr__.fileno(), termios.TIOCGWINSZ, bytes(8))
    except (OSError, ValueError):
        return None
    lines, columns, width, height = struct.unpack("HHHH", told)
    found = (height // lines, width // columns) if lines and columns else (0, 0)
    return found if all(found) else None


def _lightness(told: bytes) -> float | None:
    """The lightness of the background in an answer: "rgb:ffff/ffff/ffff", of one to four digits each, or "#ffffff"."""
    found = _BACKGROUND.search(told)
    if found is None:
        return None
    text = found[1].decode("ascii")
    wide = (len(text) - 1) // 3
    parts = [text[1 + i * wide :][:wide] for i in range(3)] if text.startswith("#") else text.split("/")[:3]
    try:
        levels = [int(part, 16) / (16 ** len(part) - 1) for part in parts]
    except (ValueError, ZeroDivisionError):
        return None
    return sum(w * level for w, level in zip(_WEIGHTS, levels, strict=True)) if len(levels) == 3 else None


def has_light_background(environ: Mapping[str, str], answers: Answers) -> bool:
    """Whether the background of the terminal is light: by its answer, else by COLORFGBG ("0;15"), which some terminals
    set; dark if neither tells."""
    if answers.lightness is not None:
        return answers.lightness > 0.5
    return environ.get("COLORFGBG", "").rpartition(";")[2] in _LIGHT_NUMBERS


def _maybe_screen(environ: Mapping[str, str]) -> bool:
    """Whether this may be GNU screen. tmux on another computer may state the same TERM."""
    return environ.get("TERM", "").startswith("screen") and "TMUX" not in environ


def worth_asking(environ: Mapping[str, str]) -> bool:
    """Whether the terminal may know more than TERM says: not on a console or a very old terminal."""
    return not environ.get("TERM", "").startswith(("linux", "vt", "dumb", "ansi"))


def questions(environ: Mapping[str, str]) -> str:
    """The questions to a terminal. tmux and GNU screen would take the one for kitty's pictures as the title of the
    pane, and pass it on to no terminal. GNU screen passes others on as they are, so it is only asked for its number."""
    if _maybe_screen(environ):
        return _VERSION + _QUESTIONS[-1]
    within = "TMUX" in environ or environ.get("TERM", "").startswith("tmux")
    return "".join(_QUESTIONS if within else (_KITTY, *_QUESTIONS))


def ask(seconds: float = PROBE_SECONDS) -> Answers:
    """Asks the terminal of stdin and stderr. No other code may read from it meanwhile. No answer within the time-out is
    a valid result."""
    try:
        import termios
        import tty
    except ImportError:  # Windows: only the environment can be used
        return Answers()
    stdin, stderr = sys.__stdin__, sys.__stderr__
    if stdin is None or stderr is None:
        return Answers()
    try:
        inward, outward = stdin.fileno(), stderr.fileno()
        before = termios.tcgetattr(inward)
    except (OSError, ValueError, termios.error):
        return Answers()
    asked, told, began = questions(os.environ).encode(), b"", time.monotonic()
    try:
        tty.setcbreak(inward, termios.TCSANOW)
        os.write(outward, asked)
        while (left := began + seconds - time.monotonic()) > 0 and not _DA1.search(told):
            if not select.select([inward], [], [], left)[0]:
                break
            read = os.read(inward, 4096)
            if not read:
                break
            told += read
    except OSError:
        pass
    finally:
        termios.tcsetattr(inward, termios.TCSANOW, before)
    return replace(read_answers(told, time.monotonic() - began), read=told)


@contextmanager
def without_late_answers(answers: Answers, seconds: float = LATE_SECONDS) -> Iterator[None]:
    """A context in which answers that did not come in time are not echoed, and are gone at its end, with everything
    typed meanwhile; they may take `seconds` since the questions. Does nothing if the terminal has answered or was not
    asked."""
    stdin = sys.__stdin__
    if answers.attributes is not None or not answers.seconds or stdin is None:
        yield
        return
    import termios
    import tty

    inward, end = stdin.fileno(), time.monotonic() + seconds - answers.seconds
    before = termios.tcgetattr(inward)
    tty.setcbreak(inward, termios.TCSANOW)
    told = answers.read
    try:
        yield
        while not _DA1.search(told) and select.select([inward], [], [], max(0.0, end - time.monotonic()))[0]:
            read = os.read(inward, 4096)
            if not read:
                break
            told += read
    finally:
        termios.tcsetattr(inward, termios.TCSAFLUSH, before)


def known_colors(environ: Mapping[str, str]) -> Colors | None:
    """The number of colours that the environment states for certain; None if the terminal may have more
    than TERM says."""
    if environ.get("NO_COLOR"):
        return "mono"
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit") or environ.get("WT_SESSION"):
        return "truecolor"
    term = environ.get("TERM", "")
    if term.endswith("-direct") or term in ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "iterm2"):
        return "truecolor"
    return None


def colors_of_term(environ: Mapping[str, str]) -> Colors:
    """The number of colours according to TERM."""
    term = environ.get("TERM", "")
    if "256color" in term or sys.platform == "win32":
        return "256"
    return "mono" if _MONO.match(term) or term.endswith(("-m", "-mono")) else "16"


def terminal(
    environ: Mapping[str, str],
    answers: Answers,
    *,
    encoding: str = "utf-8",
    colors: str = "auto",
    drawing: str = "auto",
) -> Terminal:
    """The abilities to draw with: from options, else from the environment and the terminal."""
    known: Colors | None = next((c for c in get_args(Colors) if c == colors), None)
    if colors == "never":
        known = "mono"
    elif colors == "always":
        known = known_colors({k: v for k, v in environ.items() if k != "NO_COLOR"})
    elif known is None:
        known = known_colors(environ)
    found: Colors = known or ("truecolor" if answers.true_color else colors_of_term(environ))
    chosen: DrawingMethod | None = next((d for d in get_args(DrawingMethod) if d == drawing), None)
    unicode = encoding.lower().replace("_", "-") in ("utf-8", "utf8", "cp65001")
    tmux = "TMUX" in environ or answers.name.startswith("tmux")
    slow = bool(environ.get("SSH_CONNECTION") or environ.get("SSH_TTY")) or answers.seconds > SLOW_SECONDS
    note = words.colors_note(found) if chosen in (None, "blocks") else ""
    best: DrawingMethod = chosen or _best_drawing(environ, answers, found, unicode, tmux)
    if not unicode and best in ("blocks", "braille", "ascii"):
        best, note = "ascii", words.NO_UNICODE_IN_TMUX if tmux else words.NO_UNICODE
    if best in ("kitty", "iterm2", "sixel"):
        note = words.PIXELS_NOTE
    font = CONSOLE_FONT if unicode and environ.get("TERM", "").startswith("linux") else ""
    light = has_light_background(environ, answers)
    mouse = not (answers.screen or "STY" in environ)
    told = Terminal(
        found, best, slow, note, answers.cell or (20, 10), unicode=unicode, font=font, light=light, mouse=mouse,
        read=answers.read,
    )  # fmt: skip
    if tmux and best in ("kitty", "iterm2"):
        return replace(told, passthrough=True, note=words.PASSTHROUGH)
    return told


def tmux_shows_ascii(environ: Mapping[str, str]) -> bool:
    """Whether the tmux around this program shows an underscore for each character beyond ASCII, as it does for a client
    that was started without a locale of UTF-8. tmux is asked, in milliseconds, only if the locale here is none of
    UTF-8 either."""
    locale = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""
    if locale in ("C.UTF-8", "C.utf8", "UTF-8"):  # set by Python, where there is no locale (PEP 538)
        locale = ""
    if "TMUX" not in environ or "PYTHONIOENCODING" in environ or re.search("utf-?8", locale, re.IGNORECASE):
        return False
    import subprocess

    question = ["tmux", "display-message", "-p", "#{client_utf8}"]
    try:
        done = subprocess.run(question, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.stdout.strip() == b"0"


def speak_ascii_in_tmux(stream: TextIO | None) -> None:
    """Gives `stream` ASCII for its encoding if tmux would not show more."""
    if isinstance(stream, io.TextIOWrapper) and tmux_shows_ascii(os.environ):
        stream.reconfigure(encoding="ascii", errors="replace")


def _best_drawing(
    environ: Mapping[str, str], answers: Answers, colors: Colors, unicode: bool, tmux: bool
) -> DrawingMethod:
    if not tmux and colors != "mono":
        if answers.kitty:
            return "kitty"
        if answers.name.startswith(("iTerm2", "WezTerm")) or environ.get("LC_TERMINAL") == "iTerm2":
            return "iterm2"
    if colors != "mono" and 4 in (answers.attributes or ()):
        return "sixel"
    if not unicode:
        return "ascii"
    return "braille" if colors == "mono" and not environ.get("TERM", "").startswith("linux") else "blocks"
