"""Takes the terminal's late answers out of its input, so that they are not read as keys, and the keys out of the input
that was read while the answers were awaited, so that they are not lost.

The terminal is asked about its abilities when the application starts (terminal.py). Over a slow link it may answer
after the time-out; Textual does not know these answers, and would take their characters for keys.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable

from textual._xterm_parser import XTermParser
from textual.driver import Driver
from textual.message import Message

HELD_SECONDS = 0.1
"""The most seconds that the beginning of an answer waits for its rest, if it may also be a key such as Esc."""
LOST_SECONDS = 2.0
"""The most seconds that the beginning of an answer waits for its rest, if it cannot be a key. It is dropped then."""
_LONGEST = 4096
_ANSWER = re.compile(
    r"\x1b\]1[01];[^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC 10 and 11: the colours of text and background
    r"|\x1bP(?:>\||[01]\+r)[^\x1b]*\x1b\\"  # XTVERSION, XTGETTCAP
    r"|\x1b_G[^\x1b]*\x1b\\"  # kitty's pictures
    r"|\x1b\[6;\d+;\d+t"  # the size of a cell
    r"|\x1b\[[?>][\d;]*c"  # DA1, DA2
)
_SURE = (
    r"\x1b\]1[01];[^\x07\x1b]*\x1b?|\x1bP(?:>\||[01]\+r)[^\x1b]*\x1b?|\x1b_G[^\x1b]*\x1b?"
    r"|\x1b\[[?>][\d;]+|\x1b\[6;[\d;]*"
)
_BEGUN = re.compile(rf"(?:(?P<sure>{_SURE})|\x1b(?:\](?:1[01]?)?|P(?:>|[01]\+?)?|_|\[(?:\?|>|6)?)?)\Z")
"""Matches the beginning of an answer at the end of the text; "sure" if no key begins like this."""


class AnswerFilter:
    """Removes answers from the terminal's input, in whichever pieces they arrive."""

    def __init__(self, answered: Callable[[str], None]) -> None:
        """`answered` gets each removed answer."""
        self._answered = answered
        self._held = ""
        self._sure = False
        self._since = 0.0

    def passed(self, text: str) -> str:
        """The part of the input, after the text held before, that is no answer and cannot become one."""
        if not self._held and "\x1b" not in text:
            return text
        text = _ANSWER.sub(self._taken, self._held + text)
        begun = _BEGUN.search(text)
        at = begun.start() if begun is not None and len(text) - begun.start() <= _LONGEST else len(text)
        self._held, self._since = text[at:], time.monotonic()
        self._sure = begun is not None and begun["sure"] is not None
        return text[:at]

    def _taken(self, found: re.Match[str]) -> str:
        self._answered(found.group())
        return ""

    def overdue(self) -> str:
        """The held text if it has waited so long that it must be a key, because the rest of an answer would have come
        by now; else ""."""
        waited = time.monotonic() - self._since
        if not self._held or waited < (LOST_SECONDS if self._sure else HELD_SECONDS):
            return ""
        held, self._held = self._held, ""
        return "" if self._sure else held


class Parser(XTermParser):
    """Textual's parser of the input, without answers."""

    def __init__(self, debug: bool, answered: Callable[[str], None], earlier: str = "") -> None:
        """`earlier`: input that was read before the application ran; its answers are known already."""
        super().__init__(debug)
        self._filter = AnswerFilter(answered)
        self._earlier = AnswerFilter(lambda answer: None).passed(earlier)

    def feed(self, data: str) -> Iterable[Message]:
        """The events of the input without answers."""
        passed = self._before() + (self._filter.passed(data) if data else "")
        # An empty text would mean the end of the input.
        return super().feed(passed) if passed or not data else ()

    def _before(self) -> str:
        """The keys of the earlier input, once."""
        before, self._earlier = self._earlier, ""
        return before

    def tick(self) -> Iterable[Message]:
        """The events of input that has waited for its rest long enough, and of the earlier input."""
        if before := self._before():
            yield from super().feed(before)
        if overdue := self._filter.overdue():
            yield from super().feed(overdue)
        yield from super().tick()


def use_in(driver: type[Driver], answered: Callable[[str], None], earlier: bytes = b"") -> None:
    """Lets the driver of a terminal read its input with `Parser`. `answered` gets each late answer, on the thread that
    reads; `earlier` is input that was read before. Textual's drivers take their parser from the names of their module,
    and offer no other way to choose it."""
    names = vars(sys.modules[driver.__module__])
    left = [earlier.decode("utf-8", "ignore")]  # only for the first parser: the driver makes another one after Ctrl+Z
    if "XTermParser" in names:
        names["XTermParser"] = lambda debug=False: Parser(debug, answered, left.pop() if left else "")
