"""Shortens texts that stand beside each other so that they can be told apart.

Names of files and images often share their beginning ("experiment 3, well A1, before…") and their end ("….zarr"), so
that neither an ellipsis at the end nor one in the middle leaves what distinguishes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import takewhile

HEAD = 3
"""The least number of characters of the beginning that are kept, if there is room."""
WORD = 12
"""The most characters before a difference that are shown with it, back to the beginning of its word."""


def elided(text: str, others: Iterable[str], fits: Callable[[str], bool]) -> str:
    """A text without its middle, or without other parts if the middle is what distinguishes it from `others`.

    Parameters
    ----------
    text
        A text that does not fit.
    others
        The texts beside it.
    fits
        Whether a text has room.

    Returns
    -------
    str
        The text with an ellipsis in place of each part that is left out.

    Examples
    --------
    >>> elided("cells of well A1.zarr", ["cells of well A2.zarr"], lambda text: len(text) <= 12)
    'cell…A1.zarr'
    >>> elided("a long name of a file", [], lambda text: len(text) <= 12)
    'a long… file'
    """
    kept = _most(len(text) - 1, lambda kept: _without_middle(text, kept), fits)
    plain = _without_middle(text, kept)
    hidden = range(kept - kept // 2, len(text) - kept // 2)
    differences = sorted({at for other in others if other != text and (at := _difference(text, other)) in hidden})
    if not differences:
        return plain
    start = _word(text, differences[0])
    needed = differences[-1] + 1 - start
    head = _most(start - 1, lambda head: f"{text[:head]}…{text[start:]}", fits)
    if head >= HEAD:
        return f"{text[:head]}…{text[start:]}"
    for lead in (f"{text[:HEAD]}…" if start > HEAD else text[:start], "…" if start else ""):
        shown = _most(len(text) - start - 1, partial(_from, text, start, lead), fits)
        if shown >= needed:
            return _from(text, start, lead, shown)
    return plain


def _from(text: str, start: int, lead: str, shown: int) -> str:
    return f"{lead}{text[start : start + shown]}…"


def _without_middle(text: str, kept: int) -> str:
    return f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"


def _difference(text: str, other: str) -> int:
    """The position of the first character of `text` that differs from that of `other`."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, other, strict=False)))


def _word(text: str, at: int) -> int:
    """The beginning of the word at a position."""
    start = at
    while start and text[start - 1].isalnum() and at - start < WORD:
        start -= 1
    return start


def _most(limit: int, made: Callable[[int], str], fits: Callable[[str], bool]) -> int:
    """The greatest number up to `limit` whose text fits; 0 if none does. Longer texts are wider."""
    low, high = 0, max(0, limit)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(made(middle)) else (low, middle - 1)
    return low


def cut_to_fit(text: str, fits: Callable[[str], bool]) -> str:
    """A text that does not fit, with an ellipsis in place of its end."""
    kept = _most(len(text) - 1, lambda kept: text[:kept] + "…", fits)
    return text[:kept] + "…"


def shortened_facts(text: str, measure: Callable[[str], int], width: int) -> str:
    """A line of facts (strings.joined) with an ellipsis at the end of the longest one. The others stay whole: they are
    short words that mean nothing in part. "" if they alone are too wide.

    Examples
    --------
    >>> shortened_facts("The only one in this folder · v3 · read-only", len, 30)
    'The only one… · v3 · read-only'
    """
    if measure(text) <= width:
        return text
    facts = text.split(" · ")
    longest = max(range(len(facts)), key=lambda at: measure(facts[at]))

    def made(kept: int) -> str:
        return " · ".join([*facts[:longest], facts[longest][:kept].rstrip() + "…", *facts[longest + 1 :]])

    kept = _most(len(facts[longest]) - 1, made, lambda shown: measure(shown) <= width)
    return made(kept) if kept else ""
